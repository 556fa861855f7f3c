/* The rates z' of a state as formulas, where the equations of motion can be solved for them.
 *
 * In y = (q, p, S) the motion is y' = rate(z, t), and M z' = rate with M = dy/dz: velocities and
 * temperatures instead of momenta and entropies. M is mostly empty: an equation with one derivative
 * that is not known yet gives it by a division, two equations with the same two give them by
 * Cramer's rule, and so on until nothing is left. Both are what Gaussian elimination would find
 * whatever it pivots on. Where neither goes on (three velocities that a mass matrix couples) there
 * is no formula here, and M is factored state by state (evaluate.c).
 *
 * The formulas are much shorter than M and the rates beside each other: logarithms of a free energy
 * have gone when S(T) was differentiated. Costs what M has entries. */
#include "base/base.h"
#include "expr/graph.h"
#include "scheme/scheme.h"
#include "simulate/rates.h"
#include <stdlib.h>
#include <string.h>

typedef struct elimination {
    cls_graph *g;
    size_t nz, left;
    clsi_rows M;
    size_t *start, *user;   /* columns: rows that have an entry there */
    cls_node *right, *rate; /* (nz): right-hand sides; CLS_NO_NODE where not known yet */
    cls_node *written;      /* (nz) rates before like terms were collected */
    size_t *open;           /* (nz) derivatives in a row that are not known yet; USED */
    size_t *next, n_next;   /* rows with one of them */
} elimination;

#define USED SIZE_MAX
enum { FEW = 64 }; /* rates whose sizes are compared: the work grows like their square */

/* Row `r` without what is known: the right-hand side, and columns and coefficients of at most two
 * that are not. */
static cls_node reduce(const elimination *e, size_t r, size_t column[2], cls_node factor[2]) {
    cls_node sum = e->right[r];
    size_t n = 0;
    for (size_t k = e->M.start[r]; k < e->M.start[r + 1]; k++) {
        cls_node known = e->rate[e->M.column[k]];
        if (known != CLS_NO_NODE) {
            sum = cls_sub(e->g, sum, cls_mul(e->g, e->M.node[k], known));
        } else if (n < 2) {
            column[n] = e->M.column[k];
            factor[n++] = e->M.node[k];
        }
    }
    return sum;
}

static void settle(elimination *e, size_t column, cls_node rate) {
    e->written[column] = rate;
    e->rate[column] = clsi_simplify_written(e->g, rate);
    e->left--;
    for (size_t k = e->start[column]; k < e->start[column + 1]; k++) {
        size_t r = e->user[k];
        if (e->open[r] != USED && --e->open[r] == 1) e->next[e->n_next++] = r;
    }
}

static void one_alone(elimination *e) {
    size_t r = e->next[--e->n_next], column[2];
    cls_node factor[2];
    if (e->open[r] != 1) return; /* another row was first: no derivative is left for this one */
    cls_node right = reduce(e, r, column, factor);
    e->open[r] = USED;
    settle(e, column[0], cls_div(e->g, right, factor[0]));
}

/* Rows r and o have the same two; 0: they do not. */
static int by_cramer(elimination *e, size_t r, size_t o) {
    cls_graph *g = e->g;
    size_t column[2], other[2];
    cls_node a[2], b[2], x = reduce(e, r, column, a), y = reduce(e, o, other, b);
    int turned = column[0] == other[1] && column[1] == other[0];
    if (!turned && (column[0] != other[0] || column[1] != other[1])) return 0;
    cls_node b0 = b[turned], b1 = b[!turned];
    cls_node det = cls_sub(g, cls_mul(g, a[0], b1), cls_mul(g, a[1], b0));
    e->open[r] = e->open[o] = USED;
    settle(e, column[0], cls_div(g, cls_sub(g, cls_mul(g, x, b1), cls_mul(g, a[1], y)), det));
    settle(e, column[1], cls_div(g, cls_sub(g, cls_mul(g, a[0], y), cls_mul(g, x, b0)), det));
    return 1;
}

static int two_together(elimination *e) {
    for (size_t r = 0; r < e->nz; r++) {
        size_t column[2];
        cls_node factor[2];
        if (e->open[r] != 2) continue;
        (void)reduce(e, r, column, factor);
        for (size_t k = e->start[column[0]]; k < e->start[column[0] + 1]; k++)
            if (e->user[k] > r && e->open[e->user[k]] == 2 && by_cramer(e, r, e->user[k])) return 1;
    }
    return 0;
}

/* The rows of each column. */
static int transpose(elimination *e) {
    e->start = clsi_calloc(e->nz + 2, sizeof *e->start);
    e->user = clsi_calloc(e->M.n + 1, sizeof *e->user);
    e->next = clsi_calloc(e->nz + 1, sizeof *e->next);
    e->open = clsi_calloc(e->nz + 1, sizeof *e->open);
    if (!e->start || !e->user || !e->next || !e->open) return 0;
    for (size_t k = 0; k < e->M.n; k++) e->start[e->M.column[k] + 2]++;
    for (size_t c = 0; c < e->nz; c++) e->start[c + 2] += e->start[c + 1];
    for (size_t r = 0; r < e->nz; r++) {
        e->open[r] = e->M.start[r + 1] - e->M.start[r];
        e->rate[r] = CLS_NO_NODE;
        if (e->open[r] == 1) e->next[e->n_next++] = r;
        for (size_t k = e->M.start[r]; k < e->M.start[r + 1]; k++)
            e->user[e->start[e->M.column[k] + 1]++] = r;
    }
    return 1;
}

/* Collected terms are shorter; what was written is often shared with other rates. Each in turn is
 * taken as it was written where that makes all of them together smaller. */
static int choose(elimination *e) {
    clsi_cone cone;
    if (e->nz > FEW) return 1;
    if (!clsi_cone_create(e->g, e->nz, e->rate, &cone)) return 0;
    size_t best = cone.n;
    clsi_cone_free(&cone);
    for (size_t k = 0; k < e->nz; k++) {
        cls_node collected = e->rate[k];
        e->rate[k] = e->written[k];
        if (collected == e->written[k]) continue;
        if (!clsi_cone_create(e->g, e->nz, e->rate, &cone)) return 0;
        if (cone.n < best)
            best = cone.n;
        else
            e->rate[k] = collected;
        clsi_cone_free(&cone);
    }
    return 1;
}

static cls_status eliminate(elimination *e, clsi_step *st) {
    const clsi_point *pt = clsi_point_start(st);
    size_t nz = st->nz;
    cls_node *y = st->exhausted ? NULL : clsi_calloc(nz, sizeof *y);
    if (!y) return CLS_MEMORY;
    clsi_point_rates(st, pt, y, e->right);
    cls_status status = clsi_sparse_jacobian(st->g, nz, y, nz, st->z0, &e->M);
    free(y);
    if (status != CLS_OK) return status;
    if (!transpose(e)) return CLS_MEMORY;
    for (size_t k = 0; k < e->M.n; k++) e->M.node[k] = clsi_simplify_written(e->g, e->M.node[k]);
    while (e->left) {
        if (e->n_next)
            one_alone(e);
        else if (!two_together(e))
            break;
    }
    if (!e->left && !choose(e)) return CLS_MEMORY;
    return cls_graph_status(st->g, NULL);
}

cls_status clsi_explicit_rates(const cls_system *s, cls_node *z, cls_node *t, cls_node *rate,
                               int *found, cls_error *error) {
    size_t nz = s->form->nz;
    clsi_step *st = NULL;
    elimination e = {.g = s->g, .nz = nz, .left = nz, .rate = rate};
    e.right = clsi_calloc(2 * nz + 1, sizeof *e.right);
    e.written = e.right + nz;
    cls_status status = e.right ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_step_create(s, &clsi_no_scheme, 0, &st, error);
    if (status == CLS_OK) {
        status = eliminate(&e, st);
        if (status != CLS_OK && cls_graph_status(s->g, error) == CLS_OK)
            status = clsi_no_memory(error);
        memcpy(z, st->z0, nz * sizeof *z);
        *t = st->t;
    }
    *found = status == CLS_OK && !e.left;
    clsi_step_free(&st);
    clsi_rows_clear(&e.M);
    free(e.right);
    free(e.start);
    free(e.user);
    free(e.next);
    free(e.open);
    return status;
}
