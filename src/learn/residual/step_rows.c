/* Rows that are the step of a scheme between two neighbouring rows of the data.
 *
 * The step is that of src/scheme/between.c over the system with the parameters of the unknown parts
 * as symbols: r(z0, z1, w; theta), with a(z0, z1, w; theta) = 0 for what the data do not give. Data
 * that the scheme made have r = 0 at the parameters they were made with, to round-off, whatever the
 * step was. Where w is empty (every scheme over positions, momenta and entropies that has no stages
 * between) and the fields are linear, r is often affine in theta: then one solve finds them.
 *
 * w is found by Newton's method from the middle of the two ends; with mu a_w = -r_w,
 *
 *     dr/dtheta = r_theta + mu a_theta
 *
 * by one reverse walk for all parameters. Sixteen windows go side by side; shards in a fixed order, so
 * that no bit depends on the number of threads. Values and gradients where w is empty and all networks
 * stand at given points are by blocks (step_blocks.c). */
#include "base/base.h"
#include "expr/graph.h"
#include "expr/program.h"
#include "learn/learn.h"
#include "scheme/scheme.h"
#include "system/dense.h"
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

struct clsi_step_rows {
    cls_system *system; /* with theta as symbols */
    size_t nz, E, k, P;
    int affine;
    size_t *state;            /* (E) */
    unsigned char *holds;     /* (E, unknowns): which parts a row contains */
    cls_program *values;      /* base | w -> r (E), a (k), a_w (k, k), r_w (E, k) */
    cls_program *guess;       /* base -> w; NULL without unknowns */
    cls_program *reverse;     /* base | w | lambda (E), mu (k) -> d(lambda.r + mu.a)/dtheta */
    clsi_step_blocks *blocks; /* the same in blocks, where that can be; else NULL */
};

/* base: z0 (nz), z1 (nz), t, h, theta (P). */
static size_t base_size(const clsi_step_rows *s) {
    return 2 * s->nz + 2 + s->P;
}

/* ---- compiled ---- */

static cls_status compile_values(clsi_step_rows *s, const clsi_step *st, const cls_node *inputs,
                                 cls_error *error) {
    size_t E = s->E, k = s->k, n = E + k + k * k + E * k, before = base_size(s);
    clsi_parameters learned = {2 * s->nz + 2, s->P};
    cls_node *out = clsi_calloc(n, sizeof *out);
    if (!out) return clsi_no_memory(error);
    memcpy(out, st->row, E * sizeof *out);
    if (k) memcpy(out + E, st->residual, k * sizeof *out);
    cls_status status = CLS_OK;
    if (k) status = cls_jacobian(st->g, k, st->residual, k, st->unknown, out + E + k);
    if (k && status == CLS_OK)
        status = cls_jacobian(st->g, E, st->row, k, st->unknown, out + E + k + k * k);
    if (status != CLS_OK) (void)cls_graph_status(st->g, error);
    if (status == CLS_OK)
        status = clsi_program_create_open(st->g, learned, before, before + k, inputs, n, n, out,
                                          &s->values, error);
    if (status == CLS_OK && k)
        status = clsi_program_create_open(st->g, learned, before, before, inputs, k, k, st->guess,
                                          &s->guess, error);
    free(out);
    return status;
}

/* Is a slope free of the parameters everywhere? */
static int is_affine(const clsi_step_rows *s, const clsi_step *st, const cls_node *theta,
                     const cls_node *slopes) {
    for (size_t i = 0; i < s->k; i++)
        if (cls_depends(st->g, st->residual[i], s->P, theta)) return 0;
    for (size_t j = 0; j < s->P; j++)
        if (cls_depends(st->g, slopes[j], s->P, theta)) return 0;
    return 1;
}

/* inputs: base, w, and room for lambda and mu. */
static cls_status compile_reverse(clsi_step_rows *s, const clsi_step *st, const cls_node *theta,
                                  cls_node *inputs, cls_error *error) {
    cls_graph *g = st->g;
    size_t at = base_size(s) + s->k, n_in = at + s->E + s->k;
    cls_node sum = cls_constant(g, 0), *slopes = clsi_calloc(s->P, sizeof *slopes);
    if (!slopes) return clsi_no_memory(error);
    for (size_t i = 0; i < s->E + s->k; i++) {
        cls_node of = i < s->E ? st->row[i] : st->residual[i - s->E];
        inputs[at + i] = cls_fresh_symbol(g, i < s->E ? "lambda'" : "mu'");
        sum = cls_add(g, sum, cls_mul(g, inputs[at + i], of));
    }
    cls_status status = s->affine ? cls_gradient(g, sum, s->P, theta, slopes) : CLS_OK;
    if (status != CLS_OK) (void)cls_graph_status(g, error);
    if (status == CLS_OK) s->affine = s->affine && is_affine(s, st, theta, slopes);
    if (status == CLS_OK)
        status = clsi_program_create_reverse(g, (clsi_parameters){2 * s->nz + 2, s->P}, n_in,
                                             inputs, theta, sum, &s->reverse, error);
    free(slopes);
    return status;
}

/* Which parts row e contains; places of one function follow each other, and have its parameters. */
static cls_status find_parts(clsi_step_rows *s, const clsi_step *st, const clsi_unknowns *us,
                             const cls_node *theta, size_t e, cls_error *error) {
    clsi_cone cone;
    unsigned char *holds = s->holds + e * us->n;
    if (!clsi_cone_create(st->g, 1, &st->row[e], &cone)) return clsi_no_memory(error);
    for (size_t k = 0; k < us->n; k++) {
        const clsi_learned *l = &us->list[k].learned;
        holds[k] = s->k != 0;
        if (k && us->list[k].again && us->list[k - 1].learned.offset == l->offset)
            holds[k] = holds[k - 1];
        else
            for (size_t i = 0; i < l->field->n_parameters && !holds[k]; i++)
                holds[k] = clsi_cone_at(&cone, theta[l->offset + i]) != 0;
    }
    clsi_cone_free(&cone);
    return CLS_OK;
}

static cls_status compile(clsi_step_rows *s, const clsi_step *st, const clsi_unknowns *us,
                          const cls_node *theta, cls_error *error) {
    size_t nz = s->nz;
    cls_node *inputs = clsi_calloc(base_size(s) + 2 * s->k + s->E, sizeof *inputs);
    s->state = clsi_calloc(s->E, sizeof *s->state);
    s->holds = clsi_calloc(s->E * us->n, 1);
    cls_status status = inputs && s->state && s->holds ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) {
        memcpy(s->state, st->row_of, s->E * sizeof *s->state);
        memcpy(inputs, st->z0, nz * sizeof *inputs);
        memcpy(inputs + nz, st->z1, nz * sizeof *inputs);
        inputs[2 * nz] = st->t;
        inputs[2 * nz + 1] = st->h;
        memcpy(inputs + 2 * nz + 2, theta, s->P * sizeof *inputs);
        if (s->k) memcpy(inputs + base_size(s), st->unknown, s->k * sizeof *inputs);
        status = compile_values(s, st, inputs, error);
    }
    if (status == CLS_OK) status = compile_reverse(s, st, theta, inputs, error);
    for (size_t e = 0; e < s->E && status == CLS_OK; e++)
        status = find_parts(s, st, us, theta, e, error);
    free(inputs);
    return status;
}

static cls_status create(const clsi_points *points, const clsi_unknowns *us, clsi_opening how,
                         clsi_step_rows **out, cls_error *error) {
    clsi_step_rows *s = *out = clsi_calloc(1, sizeof *s);
    clsi_step *st = NULL;
    cls_node *theta = NULL;
    if (!s) return clsi_no_memory(error);
    s->affine = 1;
    for (size_t i = 0; i < us->n; i++) s->affine &= us->list[i].learned.field->kind->linear;
    cls_status status = clsi_unknowns_open(us, how, &s->system, &theta, error);
    if (status == CLS_OK)
        status = clsi_step_between(s->system, points->rule.scheme, us->n_theta, theta, &st, error);
    if (status == CLS_OK && st->n_rows == 0)
        status = clsi_fail(error, CLS_USAGE,
                           "no equation of a step by %s contains the unknown parts of '%s'",
                           points->rule.name, us->system->name);
    if (status == CLS_OK) {
        s->nz = st->nz;
        s->E = st->n_rows;
        s->k = st->n_unknowns;
        s->P = us->n_theta;
        status = compile(s, st, us, theta, error);
    }
    if (status == CLS_OK && how == CLSI_NODES)
        status = clsi_step_blocks_create(st, us, theta, &s->blocks, error);
    clsi_step_free(&st);
    free(theta);
    if (status != CLS_OK) clsi_step_rows_free(out);
    return status;
}

cls_status clsi_step_rows_create(const clsi_points *points, const clsi_unknowns *us,
                                 clsi_step_rows **out, cls_error *error) {
    cls_status status = create(points, us, CLSI_NODES, out, error);
    if (status != CLS_USAGE) return status;
    return create(points, us, CLSI_FORMULAS, out, error); /* no kernel for some slope */
}

void clsi_step_rows_free(clsi_step_rows **rows) {
    clsi_step_rows *s = *rows;
    if (!s) return;
    cls_program_free(&s->values);
    cls_program_free(&s->guess);
    cls_program_free(&s->reverse);
    clsi_step_blocks_free(&s->blocks);
    cls_system_free(&s->system);
    free(s->state);
    free(s->holds);
    free(s);
    *rows = NULL;
}

size_t clsi_step_rows_count(const clsi_step_rows *s) {
    return s->E;
}

clsi_step_blocks *clsi_step_rows_blocks(const clsi_step_rows *s) {
    return s->blocks;
}

int clsi_step_rows_affine(const clsi_step_rows *s) {
    return s->affine;
}

const unsigned char *clsi_step_rows_contain(const clsi_step_rows *s) {
    return s->holds;
}

size_t clsi_step_rows_state(const clsi_step_rows *s, size_t e) {
    return s->state[e];
}

/* ---- sixteen windows side by side, on one thread ---- */

enum { VALUES, GUESS, REVERSE, PROGRAMS, MOST_ITERATIONS = 50 };
enum { BUSY, SOLVED, LOST };

typedef struct side {
    const clsi_residual *r;
    const clsi_step_rows *s;
    const cls_program *program[PROGRAMS];
    double *lanes[PROGRAMS], *block;
    double *w, *before; /* (CLSI_LANES, k): the unknowns, and those of the iteration before */
    double *A, *d;      /* (k, k), (k) */
    double size[CLSI_LANES];
    size_t *pivot;
    size_t n, window[CLSI_LANES]; /* the windows in the lanes */
    int state[CLSI_LANES];
} side;

static cls_status side_open(const clsi_residual *r, const double *theta, side *out) {
    const clsi_step_rows *s = r->step;
    size_t k = s->k, size = 2 * CLSI_LANES * k + k * k + k;
    *out = (side){.r = r, .s = s, .program = {s->values, s->guess, s->reverse}};
    for (int i = 0; i < PROGRAMS; i++)
        size += out->program[i] ? clsi_lanes_size(out->program[i]) : 0;
    double *at = out->block = clsi_calloc(size + s->P, sizeof *at);
    out->pivot = clsi_calloc(k, sizeof *out->pivot);
    if (!at || !out->pivot) return CLS_MEMORY;
    const double *zero = at + size;
    for (int i = 0; i < PROGRAMS; i++) {
        if (!out->program[i]) continue;
        out->lanes[i] = at;
        clsi_lanes_prepare(out->program[i], at);
        clsi_lanes_set(out->program[i], at, theta ? theta : zero);
        at += clsi_lanes_size(out->program[i]);
    }
    out->w = at;
    out->before = out->w + CLSI_LANES * k;
    out->A = out->before + CLSI_LANES * k;
    out->d = out->A + k * k;
    return CLS_OK;
}

static void side_close(side *b) {
    free(b->block);
    free(b->pivot);
}

static double output(const side *b, size_t j, size_t lane) {
    return clsi_lanes_output(b->s->values, b->lanes[VALUES], j)[lane];
}

/* Idle lanes repeat the first. */
static void put_base(side *b, int p, const size_t *window, size_t n) {
    const clsi_points *d = b->r->points;
    size_t nz = b->s->nz;
    for (size_t k = 0; k < 2 * nz + 2; k++) {
        double *row = clsi_lanes_input(b->program[p], b->lanes[p], k);
        for (size_t i = 0; i < CLSI_LANES; i++) {
            size_t at = d->window[window[i < n ? i : 0]];
            row[i] = k < nz        ? d->z[k * d->n + at]
                     : k < 2 * nz  ? d->z[(k - nz) * d->n + at + 1]
                     : k == 2 * nz ? d->time[at]
                                   : d->time[at + 1] - d->time[at];
        }
    }
}

static void put_unknowns(side *b, int p, const unsigned char *lane, size_t n) {
    for (size_t j = 0; j < b->s->k; j++) {
        double *row = clsi_lanes_input(b->program[p], b->lanes[p], base_size(b->s) + j);
        for (size_t i = 0; i < CLSI_LANES; i++)
            row[i] = b->w[(lane ? lane[i < n ? i : 0] : i < n ? i : 0) * b->s->k + j];
    }
}

static void run(side *b, int p, size_t n) {
    clsi_lanes_early(b->program[p], n, b->lanes[p]);
    clsi_lanes_late(b->program[p], n, b->lanes[p]);
}

/* a_w, or its transpose, of a lane. */
static int factor(side *b, size_t lane, int transposed) {
    size_t k = b->s->k, at = b->s->E + k;
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < k; j++)
            b->A[transposed ? j * k + i : i * k + j] = output(b, at + i * k + j, lane);
    return clsi_lu_factor(k, b->A, b->pivot) == 0;
}

/* One update of a lane; where the equations have no value, half of the last update is taken back. */
static int update(side *b, size_t lane) {
    size_t k = b->s->k;
    double *w = b->w + lane * k, *before = b->before + lane * k, size = 0, scale = 0;
    int whole = 1;
    for (size_t i = 0; i < k; i++) whole &= isfinite(b->d[i] = output(b, b->s->E + i, lane)) != 0;
    if (!whole || !factor(b, lane, 0)) {
        if (isinf(b->size[lane])) return LOST; /* at the guess already */
        for (size_t i = 0; i < k; i++) w[i] = 0.5 * (w[i] + before[i]);
        return BUSY;
    }
    clsi_lu_solve(k, b->A, b->pivot, b->d);
    for (size_t i = 0; i < k; i++) {
        if (!isfinite(b->d[i])) return LOST;
        before[i] = w[i];
        w[i] -= b->d[i];
        size = fmax(size, fabs(b->d[i]));
        scale = fmax(scale, fabs(w[i]));
    }
    size = size > 0 ? size / fmax(scale, 1e-300) : 0;
    double last = b->size[lane];
    b->size[lane] = size;
    if (size < 1e-15 || (size < 1e-10 && size > 0.25 * last)) return SOLVED; /* round-off */
    return BUSY;
}

/* The windows in the lanes: w solved for, values at it. */
static void solve(side *b) {
    size_t k = b->s->k, busy = k ? b->n : 0;
    put_base(b, VALUES, b->window, b->n);
    if (k) {
        put_base(b, GUESS, b->window, b->n);
        run(b, GUESS, b->n);
    }
    for (size_t i = 0; i < b->n; i++) {
        b->state[i] = k ? BUSY : SOLVED;
        b->size[i] = INFINITY;
        for (size_t j = 0; j < k; j++)
            b->w[i * k + j] = clsi_lanes_output(b->s->guess, b->lanes[GUESS], j)[i];
    }
    for (int tries = 0; busy && tries < MOST_ITERATIONS; tries++) {
        put_unknowns(b, VALUES, NULL, b->n);
        run(b, VALUES, b->n);
        busy = 0;
        for (size_t i = 0; i < b->n; i++) {
            if (b->state[i] == BUSY) b->state[i] = update(b, i);
            busy += b->state[i] == BUSY;
        }
    }
    put_unknowns(b, VALUES, NULL, b->n);
    run(b, VALUES, b->n);
}

static double weight_of(const side *b, size_t lane, size_t e) {
    return b->r->weight[e * b->r->points->n_windows + b->window[lane]];
}

static double value_of(const side *b, size_t lane, size_t e) {
    return b->state[lane] == SOLVED ? weight_of(b, lane, e) * output(b, e, lane) : INFINITY;
}

/* Rows of the list (NULL: in order) from `at` on, as long as there are lanes: row i of them is
 * equation e[i] of lane[i]. Returns how many. */
enum { MOST_ROWS = 256 };
typedef struct row_list {
    size_t n;
    uint32_t e[MOST_ROWS];
    unsigned char lane[MOST_ROWS]; /* small: stacks of threads may be */
} row_list;

static size_t take(side *b, size_t first, const size_t *list, size_t at, size_t end, row_list *m) {
    size_t E = b->s->E;
    b->n = m->n = 0;
    for (; at < end && m->n < MOST_ROWS; at++, m->n++) {
        size_t row = list ? list[at] : first + at, window = row / E;
        if (!b->n || b->window[b->n - 1] != window) {
            if (b->n == CLSI_LANES) break;
            b->window[b->n++] = window;
        }
        m->lane[m->n] = (unsigned char)(b->n - 1);
        m->e[m->n] = (uint32_t)(row % E);
    }
    return m->n;
}

/* lambda (E) and mu (k) of lane `to` of the reverse program += c times those of row e there. */
static void add_seed(side *b, size_t from, size_t to, size_t e, double c) {
    const clsi_step_rows *s = b->s;
    size_t k = s->k, at = base_size(s) + k, r_w = s->E + k + k * k;
    clsi_lanes_input(s->reverse, b->lanes[REVERSE], at + e)[to] += c;
    if (!k || !factor(b, from, 1)) return;
    for (size_t j = 0; j < k; j++) b->d[j] = -output(b, r_w + e * k + j, from);
    clsi_lu_solve(k, b->A, b->pivot, b->d);
    for (size_t j = 0; j < k; j++)
        clsi_lanes_input(s->reverse, b->lanes[REVERSE], at + s->E + j)[to] += c * b->d[j];
}

static void clear_seeds(side *b) {
    size_t at = base_size(b->s) + b->s->k;
    for (size_t i = 0; i < b->s->E + b->s->k; i++)
        memset(clsi_lanes_input(b->s->reverse, b->lanes[REVERSE], at + i), 0,
               CLSI_LANES * sizeof(double));
}

/* J (m->n, P): one lane for each row. */
static void jacobian(side *b, const row_list *m, double *J) {
    size_t P = b->s->P;
    for (size_t at = 0; at < m->n; at += CLSI_LANES) {
        size_t n = m->n - at < CLSI_LANES ? m->n - at : CLSI_LANES, window[CLSI_LANES];
        for (size_t i = 0; i < n; i++) window[i] = b->window[m->lane[at + i]];
        put_base(b, REVERSE, window, n);
        put_unknowns(b, REVERSE, m->lane + at, n);
        clear_seeds(b);
        for (size_t i = 0; i < n; i++) {
            size_t lane = m->lane[at + i], e = m->e[at + i];
            if (b->state[lane] == SOLVED) add_seed(b, lane, i, e, weight_of(b, lane, e));
        }
        run(b, REVERSE, n);
        memset(J + at * P, 0, n * P * sizeof *J);
        for (size_t i = 0; i < n; i++)
            clsi_lanes_slopes(b->s->reverse, b->lanes[REVERSE], i, J + (at + i) * P);
    }
}

/* g += sum of r dr/dtheta over the rows; returns the sum of their squares. */
static double gradient(side *b, const row_list *m, double *g) {
    double sum = 0;
    put_base(b, REVERSE, b->window, b->n);
    put_unknowns(b, REVERSE, NULL, b->n);
    clear_seeds(b);
    for (size_t i = 0; i < m->n; i++) {
        double value = value_of(b, m->lane[i], m->e[i]);
        sum += value * value;
        if (isfinite(value))
            add_seed(b, m->lane[i], m->lane[i], m->e[i], value * weight_of(b, m->lane[i], m->e[i]));
    }
    run(b, REVERSE, b->n);
    clsi_lanes_add(b->s->reverse, b->n, b->lanes[REVERSE], g);
    return sum;
}

/* ---- shards ---- */

enum { SHARDS = 16, LONG = 64 };

/* Values and Jacobian, or the sums of squares and gradients (one of each for a shard). */
typedef struct wanted {
    double *out, *J;
    double *sum, *g;
} wanted;

static cls_status evaluate(const clsi_residual *r, const double *theta, size_t first, size_t count,
                           const size_t *list, const wanted *want) {
    size_t P = r->step->P;
    int failed = 0;
#pragma omp parallel reduction(| : failed) if (count > LONG)
    {
        side b;
        failed = side_open(r, theta, &b) != CLS_OK;
#pragma omp for schedule(dynamic)
        for (size_t s = 0; s < SHARDS; s++) {
            size_t end = clsi_shard_begin(r, count, SHARDS, s + 1);
            for (size_t at = clsi_shard_begin(r, count, SHARDS, s); at < end && !failed;) {
                row_list m;
                size_t n = take(&b, first, list, at, end, &m);
                solve(&b);
                for (size_t i = 0; want->out && i < n; i++)
                    want->out[at + i] = value_of(&b, m.lane[i], m.e[i]);
                if (want->J) jacobian(&b, &m, want->J + at * P);
                if (want->g) want->sum[s] += gradient(&b, &m, want->g + s * P);
                at += n;
            }
        }
        side_close(&b);
    }
    return failed ? CLS_MEMORY : CLS_OK;
}

cls_status clsi_step_rows_values(const clsi_residual *r, const double *theta, size_t first,
                                 size_t count, const size_t *list, double *out, double *J) {
    if (r->step->blocks && theta && !J)
        return clsi_step_blocks_values(r, theta, first, count, list, out);
    return evaluate(r, theta, first, count, list, &(wanted){.out = out, .J = J});
}

cls_status clsi_step_rows_gradient(const clsi_residual *r, const double *theta, size_t count,
                                   const size_t *list, double *loss, double *gradient_out) {
    size_t P = r->step->P;
    if (r->step->blocks && theta)
        return clsi_step_blocks_gradient(r, theta, count, list, loss, gradient_out);
    double *g = clsi_calloc(SHARDS * (P + 1), sizeof *g), total = 0;
    if (!g) return CLS_MEMORY;
    wanted want = {.g = g, .sum = g + SHARDS * P};
    cls_status status = evaluate(r, theta, 0, count, list, &want);
    double share = 1 / (double)(count ? count : 1);
    for (size_t s = 0; s < SHARDS; s++) total += want.sum[s];
    for (size_t j = 0; j < P; j++) {
        double sum = 0;
        for (size_t s = 0; s < SHARDS; s++) sum += g[s * P + j];
        gradient_out[j] = share * sum;
    }
    *loss = 0.5 * share * total;
    free(g);
    return status;
}
