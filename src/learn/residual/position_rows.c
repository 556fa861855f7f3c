/* The residual of positions evaluated: values, Jacobian rows, gradient of the loss.
 *
 * Row (window, j):  weight (right_j(interval) - left_j(next interval)), the momenta of positions.c.
 * Rows go in blocks of at most MOST points, a block of the networks. For values and gradients a
 * block runs the fields at its nodes (or between the ends of its intervals, where a potential's
 * slopes are discrete gradients), the program of p and f, and for a gradient the adjoint program
 * and the fields backwards from where they stand. Fields that only f has are evaluated where the
 * rule asks for f, and a point that two intervals share once: leapfrog has four nodes in a window
 * and needs one. Rows of the Jacobian go window by window. Shards are summed in their own order:
 * the same bits for any number of threads. Memory is kept from call to call in the residual: one
 * caller at a time. */
#include "base/base.h"
#include "expr/program.h"
#include "learn/residual/shards.h"
#include "learn/learn.h"
#include <stdlib.h>
#include <string.h>

/* Points of a field in a block at most, nodes in it. */
enum { MOST = 108, NODES = 4 * MOST, MOST_ROWS = 8 * MOST };
static const size_t NOWHERE = SIZE_MAX;

/* A row of the block: the slots of its intervals, its window and equation. */
typedef struct row {
    size_t a, b, window, equation;
} row;

typedef enum which_program { VALUES, SLOPES, ADJOINT, PROGRAMS } which_program;

typedef struct block {
    const clsi_residual *r;
    const double *theta;
    size_t most;                             /* points: as many as all fields take in a block */
    size_t n, interval[NODES];               /* slots */
    size_t n_used, used[MOST], place[NODES]; /* nodes where f is asked for; node -> number there */
    size_t ends, end[MOST + 2], pair[2 * MOST]; /* paired: data, and which are ends of which slot */
    size_t n_rows;
    row rows[MOST_ROWS];
    double *in;            /* (inputs + quantities, NODES) */
    double *out;           /* (Q + Q K, NODES) */
    double *value, *slope; /* (MOST), (MOST, d) */
    double **x;            /* (unknowns): inputs at nodes or ends, (MOST, d) */
    double **pass;         /* (unknowns) or NULL */
    double *part;          /* (n_theta) a shard's gradient of the fields that have no pass */
    double *work[PROGRAMS];
    double *scratch, *memory;
} block;

/* ---- memory ---- */

static size_t input_count(const clsi_residual *r) {
    return 4 * r->n + 1 + r->unknowns->n_symbols;
}

static const clsi_field *field_of(const clsi_residual *r, size_t k) {
    return r->unknowns->list[k].learned.field;
}

static size_t pass_size(const clsi_residual *r, size_t k) {
    const clsi_field *f = field_of(r, k);
    if (r->paired[k]) return f->kind->pairs->size(f);
    return f->kind->blocks ? f->kind->blocks->size(f) : 0;
}

static size_t most_of(const clsi_residual *r, size_t k) {
    const clsi_field_kind *kind = field_of(r, k)->kind;
    size_t most = r->paired[k] ? kind->pairs->most : kind->blocks ? kind->blocks->samples : MOST;
    return most < MOST ? most : MOST;
}

static const cls_program *program_of(const clsi_residual *r, which_program which) {
    return which == VALUES ? r->values : which == SLOPES ? r->slopes : r->adjoint;
}

static size_t work_size(const clsi_residual *r, which_program which) {
    const cls_program *p = program_of(r, which);
    return p ? clsi_many_size(p, NODES) : 0;
}

static void run(block *b, which_program which, size_t n) {
    clsi_many_run(program_of(b->r, which), NODES, b->work[which], n, NODES, b->in, b->out);
}

static int allocate(const clsi_residual *r, block *b) {
    size_t n = r->unknowns->n, Q = r->n_quantities, K = r->unknowns->n_symbols;
    size_t slopes = r->slope_start[Q] > K ? r->slope_start[Q] : K;
    size_t in = (input_count(r) + Q) * NODES, out = (Q + slopes) * NODES, scratch = 0, passes = 0;
    size_t d = CLSI_FIELD_MAX_INPUTS, programs = 0;
    b->most = MOST;
    for (which_program i = 0; i < PROGRAMS; i++) programs += work_size(r, i);
    for (size_t k = 0; k < n; k++) {
        if (most_of(r, k) < b->most) b->most = most_of(r, k);
        size_t need = field_of(r, k)->kind->scratch(field_of(r, k), MOST);
        scratch = need > scratch ? need : scratch;
        passes += pass_size(r, k);
    }
    b->x = clsi_calloc(2 * n, sizeof *b->x);
    size_t own = in + out + MOST * (1 + d) + n * MOST * d + r->unknowns->n_theta;
    b->memory = clsi_calloc(own + scratch + passes + programs, sizeof(double));
    if (!b->x || !b->memory) return 0;
    b->pass = b->x + n;
    b->in = b->memory;
    b->out = b->in + in;
    b->value = b->out + out;
    b->slope = b->value + MOST;
    b->scratch = b->slope + MOST * d;
    b->part = b->scratch + scratch;
    double *at = b->part + r->unknowns->n_theta;
    for (size_t k = 0; k < n; k++, at += MOST * d) b->x[k] = at;
    for (size_t k = 0; k < n; at += pass_size(r, k), k++)
        if (pass_size(r, k)) b->pass[k] = at;
    for (which_program i = 0; i < PROGRAMS; at += work_size(r, i), i++) {
        b->work[i] = at;
        if (program_of(r, i)) clsi_many_prepare(program_of(r, i), NODES, at);
    }
    return 1;
}

static void close_block(void *of) {
    block *b = of;
    free(b->memory);
    free(b->x);
    free(b);
}

static void *open_block(const clsi_residual *r) {
    block *b = clsi_calloc(1, sizeof *b);
    if (!b || allocate(r, b)) return b;
    close_block(b);
    return NULL;
}

static void begin(void *of, const clsi_residual *r, const double *theta) {
    block *b = of;
    b->r = r;
    b->theta = theta;
    for (size_t k = 0; k < r->unknowns->n; k++) {
        const clsi_field *f = field_of(r, k);
        const double *own = theta ? theta + r->unknowns->list[k].learned.offset : NULL;
        if (r->paired[k] && (theta || f->kind->linear))
            f->kind->pairs->open(f, own, b->pass[k]);
        else if (!r->paired[k] && b->pass[k] && theta)
            f->kind->blocks->open(f, own, b->pass[k]);
    }
}

/* ---- intervals and rows of a block ---- */

static size_t slot_of(block *b, size_t interval) {
    const clsi_intervals *all = b->r->points->intervals;
    for (size_t i = b->n > 2 ? b->n - 2 : 0; i < b->n; i++)
        if (b->interval[i] == interval) return i;
    if (all->paired) {
        int next = b->n && b->interval[b->n - 1] + 1 == interval; /* shares an end */
        if (!next) b->end[b->ends++] = interval;
        b->end[b->ends++] = interval + 1;
        b->pair[2 * b->n] = b->ends - 1; /* u: the right end */
        b->pair[2 * b->n + 1] = b->ends - 2;
    }
    b->interval[b->n] = interval;
    for (size_t k = 0; k < all->nodes; k++) b->place[b->n * all->nodes + k] = NOWHERE;
    return b->n++;
}

/* The ends of an interval are data, which its neighbours have too. */
static int is_shared(const block *b, size_t node, size_t other) {
    size_t n = b->r->points->intervals->nodes;
    return b->r->points->rule.positions->at_ends &&
           b->interval[node / n] + node % n == b->interval[other / n] + other % n;
}

/* Marks the nodes of a slot where f has a weight. */
static void use(block *b, size_t slot, const double *weight) {
    size_t nodes = b->r->points->intervals->nodes;
    for (size_t k = 0; k < nodes; k++) {
        size_t node = slot * nodes + k;
        if (weight[k] == 0 || b->place[node] != NOWHERE) continue;
        if (!b->n_used || !is_shared(b, node, b->used[b->n_used - 1])) b->used[b->n_used++] = node;
        b->place[node] = b->n_used - 1;
    }
}

static int has_room(const block *b) {
    size_t nodes = b->r->points->intervals->nodes;
    return (b->n + 2) * nodes <= (b->r->all_nodes ? b->most : NODES) && b->ends + 3 <= b->most &&
           b->n_used + 2 * nodes <= b->most && b->n_rows < MOST_ROWS;
}

static void clear(block *b) {
    b->n = b->ends = b->n_rows = b->n_used = 0;
}

/* The rows [at, end) of the list (NULL: of all, from `first` on) as far as they fit; returns the
 * first one that does not. */
static size_t take_rows(block *b, size_t first, const size_t *list, size_t at, size_t end) {
    size_t E = b->r->n_equations;
    const clsi_intervals *all = b->r->points->intervals;
    clear(b);
    for (; at < end && has_room(b); at++) {
        size_t number = list ? list[at] : first + at, interval = b->r->points->window[number / E];
        row *x = &b->rows[b->n_rows++];
        *x = (row){.window = number / E, .equation = number % E};
        x->a = slot_of(b, interval);
        x->b = slot_of(b, interval + 1);
        use(b, x->a, all->right);
        use(b, x->b, all->left);
    }
    return at;
}

/* ---- evaluated ---- */

static size_t point_of(const block *b, size_t node) {
    size_t nodes = b->r->points->intervals->nodes;
    return b->interval[node / nodes] * nodes + node % nodes;
}

static size_t node_count(const block *b) {
    return b->n * b->r->points->intervals->nodes;
}

/* How many points field k is evaluated at, or pairs of them. */
static size_t field_points(const block *b, size_t k) {
    return b->r->only_force[k] ? b->n_used : node_count(b);
}

/* The number of node i among them; NOWHERE: it is not used. */
static size_t field_point(const block *b, size_t k, size_t node) {
    return b->r->only_force[k] ? b->place[node] : node;
}

static void gather(const block *b, size_t k) {
    const clsi_unknown *u = &b->r->unknowns->list[k];
    const clsi_intervals *all = b->r->points->intervals;
    size_t d = u->learned.d, n = b->r->paired[k] ? b->ends : field_points(b, k);
    for (size_t i = 0; i < n; i++) {
        size_t point = b->r->paired[k]       ? all->n * all->nodes + b->end[i]
                       : b->r->only_force[k] ? point_of(b, b->used[i])
                                             : point_of(b, i);
        memcpy(b->x[k] + i * d, u->x + point * d, d * sizeof(double));
    }
}

static void fill_field(block *b, size_t k) {
    const clsi_unknown *u = &b->r->unknowns->list[k];
    const clsi_learned *l = &u->learned;
    const clsi_field_kind *kind = l->field->kind;
    size_t n = field_points(b, k);
    double *to = b->in + (2 * b->r->n + 1 + u->symbol) * NODES;
    double *slope = b->r->sloped[k] ? b->slope : NULL;
    memset(to, 0, (1 + l->d) * NODES * sizeof *to);
    if (!b->theta) return;
    gather(b, k);
    if (b->r->paired[k])
        kind->pairs->evaluate(b->pass[k], b->ends, b->x[k], b->n, b->pair, b->slope);
    else if (b->pass[k])
        kind->blocks->evaluate(b->pass[k], n, b->x[k], b->value, slope);
    else
        kind->evaluate(l->field, b->theta + l->offset, n, b->x[k], b->value, slope, b->scratch);
    for (size_t i = 0; i < node_count(b); i++) {
        size_t at = field_point(b, k, i);
        if (at == NOWHERE) continue;
        if (!b->r->paired[k]) to[i] = b->value[at];
        for (size_t j = 0; slope && j < l->d; j++) to[(j + 1) * NODES + i] = slope[at * l->d + j];
    }
}

static void fill_ends(block *b) {
    const clsi_intervals *all = b->r->points->intervals;
    double *u = b->in + (2 * b->r->n + 1 + b->r->unknowns->n_symbols) * NODES;
    for (size_t j = 0; j < all->dimension; j++)
        for (size_t i = 0; i < b->n; i++) {
            const double *q = all->q + j * all->n_data + b->interval[i];
            u[j * NODES + i] = q[1];
            u[(all->dimension + j) * NODES + i] = q[0];
        }
}

static void evaluate(block *b, int with_slopes) {
    const clsi_points *p = b->r->points;
    size_t n = node_count(b);
    for (size_t k = 0; k < p->nz; k++)
        for (size_t i = 0; i < n; i++) b->in[k * NODES + i] = p->z[k * p->n + point_of(b, i)];
    for (size_t i = 0; i < n; i++) b->in[p->nz * NODES + i] = p->time[point_of(b, i)];
    for (size_t k = 0; k < b->r->unknowns->n; k++) fill_field(b, k);
    if (p->intervals->paired) fill_ends(b);
    run(b, with_slopes ? SLOPES : VALUES, n);
}

/* Coefficients of p and f at node k of the row's left (0) and right (1) interval. */
typedef struct weights {
    double p[2][CLSI_MAX_NODES], f[2][CLSI_MAX_NODES];
} weights;

static void weigh(const block *b, const row *x, weights *c) {
    const clsi_points *p = b->r->points;
    const clsi_intervals *all = p->intervals;
    const double *h = all->h + p->window[x->window];
    double scale = b->r->weight[x->equation * p->n_windows + x->window];
    for (size_t k = 0; k < all->nodes; k++) {
        c->p[0][k] = scale * all->share[k];
        c->p[1][k] = -c->p[0][k];
        c->f[0][k] = scale * h[0] * all->right[k];
        c->f[1][k] = scale * h[1] * all->left[k];
    }
}

static double residual_of(const block *b, const row *x, weights *c) {
    size_t nodes = b->r->points->intervals->nodes;
    const double *p = b->out + x->equation * NODES, *f = p + b->r->n_equations * NODES;
    double sum = 0;
    weigh(b, x, c);
    for (size_t side = 0; side < 2; side++)
        for (size_t k = 0; k < nodes; k++) {
            size_t at = (side ? x->b : x->a) * nodes + k;
            sum += c->p[side][k] * p[at] + c->f[side][k] * f[at];
        }
    return sum;
}

/* ---- rows of the Jacobian ---- */

/* d(row)/d(symbols of unknown k) at the 2 nodes points of a row's window: a for the value, s (..,
 * d) for the slopes. Zero when there is none. */
static int symbol_slopes(const block *b, const row *x, size_t k, double *a, double *s) {
    const clsi_unknown *u = &b->r->unknowns->list[k];
    size_t Q = b->r->n_quantities, d = u->learned.d, nodes = b->r->points->intervals->nodes;
    int any = 0;
    weights c;
    weigh(b, x, &c);
    memset(a, 0, 2 * nodes * sizeof *a);
    memset(s, 0, 2 * nodes * d * sizeof *s);
    for (size_t part = 0; part < 2; part++) { /* p, then f */
        size_t end, first = clsi_slopes_of(b->r, x->equation + part * b->r->n_equations, u, &end);
        for (size_t i = 0; i < 2 * nodes; i++) {
            size_t side = i / nodes, node = (side ? x->b : x->a) * nodes + i % nodes;
            double f = (part ? c.f : c.p)[side][i % nodes];
            for (size_t q = first; q < end; q++) {
                size_t j = b->r->slope_of[q] - u->symbol;
                double slope = f * b->out[(Q + q) * NODES + node];
                any |= slope != 0;
                *(j ? &s[i * d + j - 1] : &a[i]) += slope;
            }
        }
    }
    return any;
}

static void field_row(block *b, const row *x, size_t k, double *J) {
    const clsi_unknown *u = &b->r->unknowns->list[k];
    const clsi_learned *l = &u->learned;
    const clsi_field_kind *kind = l->field->kind;
    size_t d = l->d, nodes = b->r->points->intervals->nodes;
    double a[2 * CLSI_MAX_NODES], s[2 * CLSI_MAX_NODES * CLSI_FIELD_MAX_INPUTS];
    double at[4 * CLSI_MAX_NODES * CLSI_FIELD_MAX_INPUTS], *to[2 * CLSI_MAX_NODES];
    if (!symbol_slopes(b, x, k, a, s)) return;
    for (size_t i = 0; i < 2 * nodes; i++) to[i] = J + l->offset;
    if (b->r->paired[k]) {
        static const size_t pair[] = {1, 0, 2, 1};
        size_t first = b->r->points->intervals->n * nodes + b->interval[x->a];
        memcpy(at, u->x + first * d, 3 * d * sizeof *at);
        kind->pairs->evaluate(b->pass[k], 3, at, 2, pair, NULL);
        kind->pairs->rows(b->pass[k], s, to);
        return;
    }
    for (size_t i = 0; i < 2 * nodes; i++) {
        size_t node = (i / nodes ? x->b : x->a) * nodes + i % nodes;
        memcpy(at + i * d, u->x + point_of(b, node) * d, d * sizeof *at);
    }
    if (b->pass[k] && b->theta) {
        kind->blocks->evaluate(b->pass[k], 2 * nodes, at, b->value, b->slope);
        kind->blocks->rows(b->pass[k], 2 * nodes, a, s, to);
    } else {
        kind->rows(l->field, b->theta ? b->theta + l->offset : NULL, 2 * nodes, at, a, s, 0,
                   J + l->offset, b->scratch);
    }
}

static void rows_of_shard(void *of, size_t first, const size_t *list, size_t begin_, size_t end,
                          double *out, double *J) {
    block *b = of;
    size_t P = b->r->unknowns->n_theta;
    for (size_t at = begin_; at < end;) {
        size_t stop = take_rows(b, first, list, at, end);
        weights c;
        evaluate(b, J != NULL);
        for (size_t i = 0; i < b->n_rows; i++) out[at + i] = residual_of(b, &b->rows[i], &c);
        if (J) memset(J + at * P, 0, b->n_rows * P * sizeof *J);
        for (size_t i = 0; J && i < b->n_rows; i++)
            for (size_t k = 0; k < b->r->unknowns->n; k++)
                field_row(b, &b->rows[i], k, J + (at + i) * P);
        at = stop;
    }
}

/* ---- gradient ---- */

/* Where the adjoint program reads dLoss/d(p, f) at the nodes, zero. */
static double *coefficients(block *b) {
    double *c = b->in + input_count(b->r) * NODES;
    memset(c, 0, b->r->n_quantities * NODES * sizeof *c);
    return c;
}

/* `share` of each row counts. */
static void residuals_back(block *b, double share, double *sum) {
    size_t nodes = b->r->points->intervals->nodes;
    double *into = coefficients(b);
    for (size_t i = 0; i < b->n_rows; i++) {
        const row *x = &b->rows[i];
        weights c;
        double value = residual_of(b, x, &c);
        double *p = into + x->equation * NODES, *f = p + b->r->n_equations * NODES;
        *sum += value * value;
        value *= share;
        for (size_t k = 0; k < 2 * nodes; k++) {
            size_t side = k / nodes, at = (side ? x->b : x->a) * nodes + k % nodes;
            p[at] += value * c.p[side][k % nodes];
            f[at] += value * c.f[side][k % nodes];
        }
    }
}

/* From dLoss/d symbols (in `out`) to the parameters. */
static void field_back(block *b, size_t k) {
    const clsi_unknown *u = &b->r->unknowns->list[k];
    const clsi_learned *l = &u->learned;
    const clsi_field_kind *kind = l->field->kind;
    const double *from = b->out + u->symbol * NODES;
    size_t n = field_points(b, k);
    double *slope = b->r->sloped[k] ? b->slope : NULL, *a = b->value;
    memset(a, 0, n * sizeof *a);
    memset(b->slope, 0, n * l->d * sizeof *slope);
    for (size_t i = 0; i < node_count(b); i++) {
        size_t at = field_point(b, k, i);
        if (at == NOWHERE) continue;
        a[at] += from[i];
        for (size_t j = 0; slope && j < l->d; j++)
            slope[at * l->d + j] += from[(j + 1) * NODES + i];
    }
    if (b->r->paired[k] && slope) {
        if (!b->theta) { /* evaluate was not called */
            gather(b, k);
            kind->pairs->evaluate(b->pass[k], b->ends, b->x[k], b->n, b->pair, NULL);
        }
        kind->pairs->add(b->pass[k], slope);
    } else if (b->pass[k] && b->theta && !b->r->paired[k]) {
        kind->blocks->add(b->pass[k], n, a, slope);
    } else if (!b->r->paired[k]) {
        gather(b, k);
        kind->reverse(l->field, b->theta ? b->theta + l->offset : NULL, n, b->x[k], a, slope,
                      b->part + l->offset, b->scratch);
    }
}

static int has_sums(const block *b, size_t k) {
    return b->r->paired[k] || (b->pass[k] && b->theta);
}

static void sums_begin(block *b) {
    for (size_t k = 0; k < b->r->unknowns->n; k++) {
        const clsi_field *f = field_of(b->r, k);
        if (has_sums(b, k))
            (b->r->paired[k] ? f->kind->pairs->clear : f->kind->blocks->clear)(b->pass[k]);
        else
            memset(b->part + b->r->unknowns->list[k].learned.offset, 0,
                   f->n_parameters * sizeof *b->part);
    }
}

static void sums_add(block *b) {
    run(b, ADJOINT, node_count(b));
    for (size_t k = 0; k < b->r->unknowns->n; k++) field_back(b, k);
}

/* The sums go to the gradient. */
static void sums_end(const void *of, double *gradient) {
    const block *b = of;
    for (size_t k = 0; k < b->r->unknowns->n; k++) {
        const clsi_field *f = field_of(b->r, k);
        size_t offset = b->r->unknowns->list[k].learned.offset;
        double *out = gradient + offset;
        if (has_sums(b, k))
            (b->r->paired[k] ? f->kind->pairs->close : f->kind->blocks->close)(b->pass[k], out);
        else if (!b->r->unknowns->list[k].again)
            for (size_t j = 0; j < f->n_parameters; j++) out[j] += b->part[offset + j];
    }
}

static double gradient_of_shard(void *of, const size_t *list, size_t begin_, size_t end,
                                double share) {
    block *b = of;
    double sum = 0;
    sums_begin(b);
    for (size_t at = begin_; at < end;) {
        at = take_rows(b, 0, list, at, end);
        evaluate(b, 0);
        residuals_back(b, share, &sum);
        sums_add(b);
    }
    return sum;
}

/* Do the two intervals from `first` on have near ends for some field? */
static int is_near(const clsi_residual *r, size_t first) {
    const clsi_intervals *all = r->points->intervals;
    for (size_t k = 0; k < r->unknowns->n; k++) {
        const clsi_field *f = field_of(r, k);
        const double *x = r->unknowns->list[k].x + (all->n * all->nodes + first) * f->d;
        if (!r->paired[k] || !f->kind->pairs->near) continue;
        if (f->kind->pairs->near(f, x + f->d, x) || f->kind->pairs->near(f, x + 2 * f->d, x + f->d))
            return 1;
    }
    return 0;
}

/* The rows in an order that puts near pairs into few blocks; NULL: no memory. */
static const size_t *near_first(const clsi_residual *r, size_t count, const size_t *list) {
    clsi_blocks *m = r->memory;
    size_t E = r->n_equations, n = 0;
    if (m->n_order < count) {
        free(m->order);
        m->order = clsi_calloc(count, sizeof *m->order);
        m->n_order = m->order ? count : 0;
    }
    for (int near = 1; near >= 0 && m->order; near--)
        for (size_t i = 0; i < count; i++) {
            size_t number = list ? list[i] : i;
            if (is_near(r, r->points->window[number / E]) == near) m->order[n++] = number;
        }
    return m->order;
}

static const clsi_rows_kind INTERVALS = {96,    4e6,           open_block,        close_block,
                                         begin, rows_of_shard, gradient_of_shard, sums_end};

cls_status clsi_position_rows(const clsi_residual *r, const double *theta, size_t first,
                              size_t count, const size_t *list, double *out, double *J) {
    return clsi_sharded_rows(&INTERVALS, r->memory, r, theta, first, count, list, out, J);
}

cls_status clsi_position_gradient(const clsi_residual *r, const double *theta, size_t count,
                                  const size_t *list, double *loss, double *gradient) {
    if (r->points->intervals->paired && count && !(list = near_first(r, count, list)))
        return CLS_MEMORY;
    return clsi_sharded_gradient(&INTERVALS, r->memory, r, theta, count, list, loss, gradient);
}

/* ---- the scale condition ---- */

/* p.v at the nodes of slot i, weighed; into the means and into the coefficients. */
static void add_product(block *b, size_t i, double share, double *pv, double *vv, double *into) {
    const clsi_points *p = b->r->points;
    size_t nodes = p->intervals->nodes;
    for (size_t j = 0; j < b->r->n; j++)
        for (size_t k = i * nodes; k < (i + 1) * nodes; k++) {
            double v = p->z[(b->r->n + j) * p->n + point_of(b, k)];
            double c = share * p->intervals->share[k % nodes] * v;
            *pv += c * b->out[j * NODES + k];
            *vv += c * v;
            into[j * NODES + k] += c;
        }
}

cls_status clsi_position_scale(const clsi_residual *r, const double *theta, size_t most,
                               double *row_, double *mean_pv, double *mean_vv) {
    const clsi_points *p = r->points;
    size_t stride = most ? (p->n_training + most - 1) / most : 1;
    double count = (double)((p->n_training + stride - 1) / stride);
    block *b = clsi_block_alone(&INTERVALS, r->memory, r, theta);
    *mean_pv = *mean_vv = 0;
    if (!b) return CLS_MEMORY;
    memset(row_, 0, r->unknowns->n_theta * sizeof *row_);
    sums_begin(b);
    for (size_t at = 0; at < p->n_training;) {
        size_t slot[MOST], n = 0;
        clear(b);
        for (; at < p->n_training && has_room(b) && n < MOST; at += stride)
            slot[n++] = slot_of(b, p->window[at]);
        evaluate(b, 0);
        double *into = coefficients(b);
        for (size_t i = 0; i < n; i++) add_product(b, slot[i], 1 / count, mean_pv, mean_vv, into);
        sums_add(b);
    }
    sums_end(b, row_);
    return CLS_OK;
}
