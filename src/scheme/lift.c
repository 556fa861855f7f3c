/* Lifting: a number that is made of nearly all unknowns and used by many equations becomes an
 * unknown itself.
 *
 * Problem: in observables the discrete gradient has one factor for all components (correct() in
 * discrete_gradient.c), a mean field acts on every particle: each equation then contains the whole
 * system, the Jacobian is full and its derivation costs the square of the size. With w unknown and
 * w - formula = 0 an equation of its own, the others are local again, and the matrix has a border
 * of one row and one column (system/sparse_lu.c). Newton's method is the same: the new equation is
 * linear in w, so w follows the others in every update; whether the step is converged is asked of
 * the others alone. */
#include "base/base.h"
#include "expr/graph.h"
#include "expr/replace.h"
#include "scheme/scheme.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Unknowns that a local number is made of at most, and users that make lifting worth while. */
enum { LOCAL = 48, USERS = 8 };

/* The unknowns below a member of the cone, ascending; n = LOCAL + 1: too many to list. */
typedef struct support {
    uint32_t first, n;
} support;

typedef struct lifter {
    clsi_step *st;
    clsi_cone cone;
    clsi_columns column;
    support *of;     /* (cone.n) */
    uint32_t *users; /* (cone.n) */
    uint32_t *pool;
    size_t n_pool, room;
} lifter;

static int is_wide(const lifter *x, size_t k) {
    return x->of[k].n > LOCAL;
}

/* Joins the lists of the arguments at the end of the pool. */
static int find_support(lifter *x, size_t k) {
    const cls_graph *g = x->st->g;
    cls_node a = x->cone.node[k];
    uint32_t own = a < x->column.size ? x->column.of[a] : 0, list[2 * LOCAL + 2];
    size_t n = 0, args = cls_node_arg_count(g, a);
    if (own) list[n++] = own - 1;
    for (size_t i = 0; i < args; i++) {
        size_t at = clsi_cone_at(&x->cone, clsi_arg(g, a, i)) - 1;
        x->users[at]++;
        if (n > LOCAL || is_wide(x, at)) {
            n = LOCAL + 1;
            continue;
        }
        const uint32_t *other = x->pool + x->of[at].first;
        uint32_t joined[2 * LOCAL + 2];
        size_t m = 0, p = 0, q = 0;
        while (p < n || q < x->of[at].n) {
            uint32_t s = p < n ? list[p] : UINT32_MAX, t = q < x->of[at].n ? other[q] : UINT32_MAX;
            joined[m++] = s < t ? s : t;
            p += s <= t;
            q += t <= s;
        }
        memcpy(list, joined, m * sizeof *list);
        n = m;
    }
    x->of[k] = (support){(uint32_t)x->n_pool, (uint32_t)(n > LOCAL ? LOCAL + 1 : n)};
    if (n > LOCAL) return 1;
    for (size_t i = 0; i < args; i++) { /* what one argument has all of is its list, too */
        size_t at = clsi_cone_at(&x->cone, clsi_arg(g, a, i)) - 1;
        if (x->of[at].n != n) continue;
        x->of[k].first = x->of[at].first;
        return 1;
    }
    if (!clsi_grow(&x->pool, &x->room, x->n_pool + n, sizeof *x->pool)) return 0;
    if (n) memcpy(x->pool + x->n_pool, list, n * sizeof *list);
    x->n_pool += n;
    return 1;
}

/* Thousands may be lifted, of which each stands in the next: what they share is walked through once. */
typedef struct replacers {
    clsi_replacer *lift;  /* wide nodes by their unknowns */
    clsi_replacer *guess; /* unknowns by their guesses */
} replacers;

static int begin(replacers *r, const clsi_step *st) {
    *r = (replacers){clsi_replacer_create(st->g, NULL, NULL),
                     clsi_replacer_create(st->g, NULL, NULL)};
    int good = r->lift && r->guess;
    for (size_t k = 0; k < st->n_unknowns && good; k++)
        good = clsi_replacer_set(r->guess, st->unknown[k], st->guess[k]);
    return good;
}

/* w and its equation; the guess is the formula at the guesses of the others, lifted ones among them. 0: no memory. */
static int add_unknown(clsi_step *st, const replacers *r, cls_node wide) {
    cls_node formula = CLS_NO_NODE, guess = CLS_NO_NODE;
    (void)clsi_replace(r->lift, 1, &wide, &formula);
    (void)clsi_replace(r->guess, 1, &formula, &guess);
    cls_node w = clsi_step_unknown(st, guess, SIZE_MAX);
    if (st->exhausted) return 1;
    st->residual[st->n_unknowns - 1] = cls_sub(st->g, w, formula);
    return clsi_replacer_set(r->lift, wide, w) && clsi_replacer_set(r->guess, w, guess);
}

static void put_in(clsi_step *st, size_t before, clsi_replacer *r) {
    (void)clsi_replace(r, before, st->residual, st->residual);
    (void)clsi_replace(r, st->nz, st->next, st->next);
    (void)clsi_replace(r, st->nz, st->change, st->change);
    (void)clsi_replace(r, st->n_positive, st->positive, st->positive);
}

static cls_status lift(lifter *x, cls_error *error) {
    clsi_step *st = x->st;
    size_t before = st->n_unknowns;
    replacers r;
    int good = begin(&r, st);
    for (size_t k = 0; k < x->cone.n && good && !st->exhausted; k++) /* lower ones first: they */
        if (is_wide(x, k) && x->users[k] >= USERS)                   /* stand in higher ones */
            good = add_unknown(st, &r, x->cone.node[k]);
    st->n_lifted = st->n_unknowns - before;
    if (st->n_lifted && good && !st->exhausted) put_in(st, before, r.lift);
    clsi_replacer_free(&r.lift);
    clsi_replacer_free(&r.guess);
    if (!good) return clsi_no_memory(error);
    if (st->exhausted)
        return clsi_fail(error, CLS_NUMERIC, "the step has too many numbers that all depend on");
    return cls_graph_status(st->g, error);
}

/* ---- is there anything to lift? ---- */

enum { STRANGE = 64 }; /* rows unlike those before that are looked at one by one */

static int is_row_local(const clsi_columns *column, size_t n, const cls_node *members) {
    size_t found = 0;
    for (size_t k = 0; k < n; k++)
        found += members[k] < column->size && column->of[members[k]] != 0;
    return found <= LOCAL;
}

/* A row of a shape that is new. */
static int is_new_row_local(clsi_step *st, clsi_repeats *repeats, const clsi_columns *column,
                            size_t k) {
    clsi_cone cone;
    if (!clsi_cone_create(st->g, 1, &st->residual[k], &cone)) return 0;
    int local = is_row_local(column, cone.n, cone.node);
    size_t none;
    if (local && !clsi_repeats_find(repeats, &cone, 0, NULL, &none, NULL))
        clsi_repeats_keep(repeats, 0, NULL);
    clsi_cone_free(&cone);
    return local;
}

/* Whether all rows are seen to be made of few unknowns each, and so what they are made of: a walk over each row,
 * which for rows of few shapes is faster than lists for all nodes. 0: not so, or not seen. */
static int are_rows_local(clsi_step *st) {
    clsi_repeats *repeats = clsi_repeats_create(st->g);
    clsi_columns column;
    size_t strange = 0;
    int local = clsi_columns_create(st->g, st->n_unknowns, st->unknown, &column) && repeats != NULL;
    for (size_t k = 0; k < st->n_unknowns && local; k++) {
        const cls_node *members;
        size_t n = clsi_repeats_members(repeats, st->residual[k], &members);
        if (n)
            local = is_row_local(&column, n, members);
        else
            local = ++strange <= STRANGE + k / 16 && is_new_row_local(st, repeats, &column, k);
    }
    clsi_repeats_free(&repeats);
    free(column.of);
    return local;
}

cls_status clsi_step_lift(clsi_step *st, cls_error *error) {
    lifter x = {.st = st};
    cls_status status = CLS_OK;
    if (are_rows_local(st)) return CLS_OK;
    if (!clsi_cone_create(st->g, st->n_unknowns, st->residual, &x.cone))
        return clsi_no_memory(error);
    x.of = clsi_calloc(x.cone.n, sizeof *x.of);
    x.users = clsi_calloc(x.cone.n, sizeof *x.users);
    int good =
        x.of && x.users && clsi_columns_create(st->g, st->n_unknowns, st->unknown, &x.column);
    for (size_t k = 0; k < x.cone.n && good; k++) good = find_support(&x, k);
    status = good ? lift(&x, error) : clsi_no_memory(error);
    clsi_cone_free(&x.cone);
    free(x.of);
    free(x.users);
    free(x.pool);
    free(x.column.of);
    return status;
}
