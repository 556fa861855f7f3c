/* Presolve: unknowns that stand alone are solved on paper.
 *
 * An equation r_k = 0 that is affine in its own unknown u_k, with a coefficient free of unknowns,
 * gives u_k = -r_k(u_k = 0) / coefficient; put into everything else, the system is smaller by one.
 * Explicit schemes lose all their unknowns this way, and the discrete gradient of a mass on a
 * gas spring goes from three unknowns to two. Newton is invariant under it, so only time changes;
 * but solving on paper is elimination without pivoting and without a second iteration. Two masses
 * with a stiff friction k between them need each other: with one eliminated, the coefficient of the
 * other is k - k + ..., and h k eps of it is wrong. So a coefficient that is more than the
 * unknown's own (proportional to h) is divided by only where no other equation looks back. */
#include "scheme/scheme.h"
#include "base/base.h"
#include "expr/graph.h"
#include <stdlib.h>
#include <string.h>

/* Whether the coefficient is c h or c: nothing acts back on the unknown within the step. */
static int is_plain(clsi_step *st, cls_node slope) {
    cls_graph *g = st->g;
    cls_node by_h = cls_derivative(g, slope, st->h);
    cls_node rest = clsi_simplify_written(g, cls_sub(g, slope, cls_mul(g, st->h, by_h)));
    return cls_is_constant(g, rest, 0) || cls_is_constant(g, clsi_simplify_written(g, by_h), 0);
}

/* Whether another equation contains u_k, and its unknown stands in equation k. */
static int is_mutual(const clsi_step *st, size_t k) {
    for (size_t j = 0; j < st->n_unknowns; j++)
        if (j != k && cls_depends(st->g, st->residual[j], 1, &st->unknown[k]) &&
            cls_depends(st->g, st->residual[k], 1, &st->unknown[j]))
            return 1;
    return 0;
}

/* Whether a is h times what its derivative in h is, and that. */
static int is_times_h(const clsi_step *st, cls_node a, cls_node *by_h) {
    cls_node none = cls_constant(st->g, 0), at_zero;
    if (cls_substitute(st->g, 1, &a, 1, &st->h, &none, &at_zero) != CLS_OK) return 0;
    *by_h = cls_derivative(st->g, a, st->h);
    return cls_is_constant(st->g, at_zero, 0) && !cls_depends(st->g, *by_h, 1, &st->h);
}

/* -rest/slope. What one body gives by conduction another one takes, to the last bit as long as both have the same
 * difference of temperatures: kappa (T1 - T2) + kappa (T3 - T2) collected is kappa (T1 + T3 - 2 T2), which rounds
 * otherwise, and near rest that made the entropy of lawful steps fall. */
static cls_node solution(const clsi_step *st, cls_node rest, cls_node slope) {
    cls_node top = rest, bottom = slope;
    if (st->as_written && is_times_h(st, rest, &top) && is_times_h(st, slope, &bottom))
        return cls_neg(st->g, cls_div(st->g, top, bottom));
    return clsi_simplify_written(st->g, cls_neg(st->g, cls_div(st->g, rest, slope)));
}

/* u_k from its own equation, or CLS_NO_NODE when that equation is not of the kind. */
static cls_node solve_alone(clsi_step *st, size_t k) {
    cls_graph *g = st->g;
    /* simplification may find that unknowns cancel */
    cls_node slope = clsi_simplify_written(g, cls_derivative(g, st->residual[k], st->unknown[k]));
    if (slope == CLS_NO_NODE || cls_is_constant(g, slope, 0)) return CLS_NO_NODE;
    if (cls_depends(g, slope, st->n_unknowns, st->unknown)) return CLS_NO_NODE;
    if (is_mutual(st, k) && !is_plain(st, slope)) return CLS_NO_NODE;
    cls_node rest = st->residual[k], zero = cls_constant(g, 0);
    (void)cls_substitute(g, 1, &rest, 1, &st->unknown[k], &zero, &rest);
    return solution(st, rest, slope);
}

void clsi_step_drop(clsi_step *st, size_t k) {
    size_t after = (st->n_unknowns - k - 1) * sizeof(cls_node);
    memmove(st->unknown + k, st->unknown + k + 1, after);
    memmove(st->residual + k, st->residual + k + 1, after);
    memmove(st->guess + k, st->guess + k + 1, after);
    memmove(st->of_state + k, st->of_state + k + 1,
            (st->n_unknowns - k - 1) * sizeof *st->of_state);
    st->n_unknowns--;
}

static void put_in(clsi_step *st, cls_node unknown, cls_node value) {
    cls_graph *g = st->g;
    (void)cls_substitute(g, st->n_unknowns, st->residual, 1, &unknown, &value, st->residual);
    (void)cls_substitute(g, st->nz, st->next, 1, &unknown, &value, st->next);
    (void)cls_substitute(g, st->nz, st->change, 1, &unknown, &value, st->change);
    (void)cls_substitute(g, st->n_positive, st->positive, 1, &unknown, &value, st->positive);
    (void)cls_substitute(g, CLSI_ACCOUNTS, st->gain, 1, &unknown, &value, st->gain);
}

/* ---- many unknowns: one pass ---- */

/* Unknowns whose equation is c h u = something without them, all put in at once. Those that stand in
 * the solution of another stay, and so does what acts back within the step (is_plain): positions of
 * coordinates go, heat balances stay. */
typedef struct batch {
    clsi_columns column;  /* of the unknowns */
    unsigned char *state; /* (n_unknowns) */
    cls_node *from, *to;
    size_t n;
    clsi_repeats *repeats; /* equations of one shape are solved once */
} batch;
enum { OPEN, GOES, STAYS };

/* The unknowns in `a` are not among those that go; when so, they stay. */
static int stays_in(clsi_step *st, const batch *b, cls_node a) {
    size_t n;
    cls_node *symbols = clsi_list_symbols(st->g, 1, &a, &n);
    int good = symbols != NULL;
    for (int pass = 0; pass < 2 && good; pass++)
        for (size_t i = 0; i < n && good; i++) {
            uint32_t of = symbols[i] < b->column.size ? b->column.of[symbols[i]] : 0;
            if (of && pass == 0) good = b->state[of - 1] != GOES;
            if (of && pass == 1) b->state[of - 1] = STAYS;
        }
    free(symbols);
    return good;
}

static int is_free_of_unknowns(clsi_step *st, const batch *b, cls_node a) {
    size_t n, found = 0;
    cls_node *symbols = clsi_list_symbols(st->g, 1, &a, &n);
    if (!symbols) return 0;
    for (size_t i = 0; i < n; i++) found += symbols[i] < b->column.size && b->column.of[symbols[i]];
    free(symbols);
    return found == 0;
}

/* u_k from its own equation, or CLS_NO_NODE. */
static cls_node solve_plain(clsi_step *st, const batch *b, size_t k) {
    cls_graph *g = st->g;
    cls_node slope = clsi_simplify_written(g, cls_derivative(g, st->residual[k], st->unknown[k]));
    if (slope == CLS_NO_NODE || cls_is_constant(g, slope, 0)) return CLS_NO_NODE;
    if (!is_free_of_unknowns(st, b, slope) || !is_plain(st, slope)) return CLS_NO_NODE;
    cls_node rest = st->residual[k], zero = cls_constant(g, 0);
    (void)cls_substitute(g, 1, &rest, 1, &st->unknown[k], &zero, &rest);
    return solution(st, rest, slope);
}

/* The solution depends on the equation, on which symbol is its own, which is h, and which are unknowns. */
enum { MARKS = 64 };
static size_t find_marks(const clsi_step *st, const batch *b, size_t k, size_t count,
                         const cls_node *node, cls_node *marks) {
    size_t n = 0;
    marks[n++] = st->unknown[k];
    marks[n++] = st->h;
    for (size_t i = 0; i < count && n < MARKS; i++)
        if (node[i] < b->column.size && b->column.of[node[i]]) marks[n++] = node[i];
    return n;
}

static cls_node solve_repeated(clsi_step *st, const batch *b, size_t k) {
    clsi_cone cone;
    cls_node marks[MARKS], value = CLS_NO_NODE;
    const cls_node *members;
    size_t found, n_marks, n = clsi_repeats_members(b->repeats, st->residual[k], &members);
    if (n && (n_marks = find_marks(st, b, k, n, members, marks)) < MARKS &&
        clsi_repeats_again(b->repeats, n_marks, marks, &found, &value))
        return value;
    if (!clsi_cone_create(st->g, 1, &st->residual[k], &cone))
        return clsi_graph_fail(st->g, CLS_MEMORY, "out of memory");
    n_marks = find_marks(st, b, k, cone.n, cone.node, marks);
    if (n_marks == MARKS) {
        value = solve_plain(st, b, k);
    } else if (!clsi_repeats_find(b->repeats, &cone, n_marks, marks, &found, &value)) {
        value = solve_plain(st, b, k);
        clsi_repeats_keep(b->repeats, value != CLS_NO_NODE, &value);
    }
    clsi_cone_free(&cone);
    return value;
}

static void try_unknown(clsi_step *st, batch *b, size_t k) {
    if (b->state[k] == STAYS) return;
    cls_node value = solve_repeated(st, b, k);
    if (value == CLS_NO_NODE || !stays_in(st, b, value)) return;
    b->state[k] = GOES;
    b->from[b->n] = st->unknown[k];
    b->to[b->n++] = value;
}

/* All that the step consists of at once: it is made of the same nodes. */
static void put_all_in(clsi_step *st, const batch *b) {
    struct {
        cls_node *node;
        size_t n;
    } parts[] = {{st->residual, st->n_unknowns},
                 {st->next, st->nz},
                 {st->change, st->nz},
                 {st->positive, st->n_positive},
                 {st->gain, CLSI_ACCOUNTS}};
    enum { PARTS = sizeof parts / sizeof *parts };
    size_t n = 0, at = 0;
    for (size_t i = 0; i < PARTS; i++) n += parts[i].n;
    cls_node *all = b->n ? clsi_malloc(n * sizeof *all) : NULL;
    if (b->n && !all) clsi_graph_fail(st->g, CLS_MEMORY, "out of memory");
    if (!all) return;
    for (size_t i = 0; i < PARTS; at += parts[i++].n)
        memcpy(all + at, parts[i].node, parts[i].n * sizeof *all);
    (void)cls_substitute(st->g, n, all, b->n, b->from, b->to, all);
    at = 0;
    for (size_t i = 0; i < PARTS; at += parts[i++].n)
        memcpy(parts[i].node, all + at, parts[i].n * sizeof *all);
    free(all);
}

static void drop_gone(clsi_step *st, const batch *b) {
    size_t kept = 0;
    for (size_t k = 0; k < st->n_unknowns; k++) {
        if (b->state[k] == GOES) continue;
        st->unknown[kept] = st->unknown[k];
        st->residual[kept] = st->residual[k];
        st->guess[kept] = st->guess[k];
        st->of_state[kept++] = st->of_state[k];
    }
    st->n_unknowns = kept;
}

static cls_status presolve_many(clsi_step *st, cls_error *error) {
    batch b = {.state = clsi_calloc(st->n_unknowns, 1),
               .from = clsi_calloc(2 * st->n_unknowns, sizeof(cls_node))};
    int good =
        b.state && b.from && clsi_columns_create(st->g, st->n_unknowns, st->unknown, &b.column);
    if (good) {
        b.to = b.from + st->n_unknowns;
        b.repeats = clsi_repeats_create(st->g);
        for (size_t k = 0; k < st->n_unknowns - st->n_lifted; k++) try_unknown(st, &b, k);
        put_all_in(st, &b);
        drop_gone(st, &b);
    }
    clsi_repeats_free(&b.repeats);
    free(b.state);
    free(b.from);
    free(b.column.of);
    return good ? cls_graph_status(st->g, error) : clsi_no_memory(error);
}

cls_status clsi_step_presolve(clsi_step *st, cls_error *error) {
    int progress = 1;
    if (st->n_unknowns > CLSI_MANY_UNKNOWNS) return presolve_many(st, error);
    while (progress) {
        progress = 0;
        for (size_t k = 0; k < st->n_unknowns; k++) {
            cls_node value = solve_alone(st, k), unknown = st->unknown[k];
            if (value == CLS_NO_NODE) continue;
            clsi_step_drop(st, k--);
            put_in(st, unknown, value);
            progress = 1;
        }
    }
    return cls_graph_status(st->g, error);
}
