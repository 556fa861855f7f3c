/* Nodes between the rows of the data, for systems with inputs.
 *
 * Between two rows an input is a line or stands still, and jumps or bends at the rows themselves: a quadrature
 * through rows would integrate something else. So the rates are taken at the two Gauss points of every
 * interval, where the inputs are what their hold says, exactly, and the states lie on polynomials through
 * neighbouring rows:
 *
 *     y(row i + n) - y(row i) = sum over intervals of h/2 (y'(node 1) + y'(node 2)).
 *
 * A state bends where a held input jumps: polynomials end there. They go through 2, 4, 6 or 8 rows, or where there is
 * noise they are cubics by least squares through up to 40; that one is taken by which rows are told best from their
 * neighbours, for each state by itself: some move far, others hardly more than their noise. Cubics take the place of the rows themselves, too: what is put into formulas has less noise by the root of
 * half their rows, and what is found less bias.
 * Order 4 in the distance of rows where inputs are smooth or held, 2 where they jump at each row.
 * Costs two evaluations of the rates for each row, and rows know their neighbours in space only: nothing is
 * simulated (decision 235). */
#include "base/base.h"
#include "data/table.h"
#include "learn/learn.h"
#include "simulate/signal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How many rows a polynomial is made of, and its degree. */
typedef struct fit {
    size_t rows, degree;
} fit;
enum { EXACT = 4, FITS = 9, MOST = 40, LOOK = 8, MOST_DEGREE = 7 };
static const fit FIT[FITS] = {{2, 1},  {4, 3},  {6, 5},  {8, 7}, {8, 3},
                              {12, 3}, {18, 3}, {28, 3}, {40, 3}};
static const double GAUSS =
    0.28867513459481288225; /* 1/(2 sqrt(3)) from the middle of an interval */

typedef struct between {
    const cls_system *s;
    clsi_points *p;
    size_t *begin, *end; /* (n_data) the rows that interval i, from row i on, may look at */
    double *coefficient; /* (n_data, MOST) of what is interpolated */
    size_t *first;       /* (n_data) the first row of these; SIZE_MAX: none */
    size_t *count;       /* (n_data) how many there are */
    unsigned char *best; /* (nz) which fit */
    double *least;       /* (nz) the squares that it leaves */
} between;

/* ---- inputs ---- */

static cls_status copy_inputs(const cls_system *s, size_t n_tables, const cls_table *const *tables,
                              const char *const *names, double *values, size_t n,
                              cls_error *error) {
    for (size_t k = 0; k < s->nu; k++) {
        if (s->input_formula[k] != CLS_NO_NODE) continue;
        for (size_t i = 0, at = 0; i < n_tables; at += cls_table_rows(tables[i++])) {
            int column = cls_table_find(tables[i], s->input[k].name);
            size_t rows = cls_table_rows(tables[i]);
            if (rows && column < 0)
                return clsi_no_column(tables[i], names[i], s->input[k].name, CLS_DATA, error);
            if (rows)
                memcpy(values + k * n + at, cls_table_column(tables[i], (size_t)column),
                       rows * sizeof *values);
        }
    }
    return CLS_OK;
}

/* Of the rows [begin, end), which follow each other: at themselves and at the nodes between them. */
static cls_status put_signal(const between *b, const cls_hold *hold, const double *values,
                             size_t begin, size_t end, double *own, cls_error *error) {
    clsi_points *p = b->p;
    size_t n = end - begin, nu = p->nu;
    double *u = own + nu * n, *to = p->z + p->nz * p->n;
    clsi_signal *signal = NULL;
    for (size_t k = 0; k < nu; k++)
        memcpy(own + k * n, values + k * p->n_data + begin, n * sizeof *own);
    cls_status status = clsi_signal_create(nu, n, p->time + begin, own, hold, &signal, error);
    for (size_t i = begin; i < end && status == CLS_OK; i++)
        for (size_t j = 0; j < (i + 1 < end ? 3 : 1); j++) {
            size_t at = j ? p->n_data + 2 * i + j - 1 : i;
            clsi_signal_at(signal, p->time[at], u);
            for (size_t k = 0; k < nu; k++) to[k * p->n + at] = u[k];
        }
    clsi_signal_free(&signal);
    return status;
}

/* Inputs by formulas of t. */
static cls_status put_formulas(const between *b, cls_error *error) {
    const cls_system *s = b->s;
    cls_status status = CLS_OK;
    for (size_t k = 0; k < s->nu && status == CLS_OK; k++) {
        cls_program *program = NULL;
        if (s->input_formula[k] == CLS_NO_NODE) continue;
        status = cls_program_create(s->g, 1, &s->t, 1, &s->input_formula[k], &program, error);
        if (status == CLS_OK)
            status = cls_program_run_many(program, b->p->n, b->p->n, b->p->time,
                                          b->p->z + (b->p->nz + k) * b->p->n);
        cls_program_free(&program);
    }
    return status;
}

/* ---- where polynomials end ---- */

static int jumps_at(const between *b, const cls_hold *hold, const double *values, size_t i) {
    size_t n = b->p->n_data;
    for (size_t k = 0; k < b->p->nu; k++)
        if (hold[k] == CLS_HOLD_ZERO && values[k * n + i] != values[k * n + i - 1]) return 1;
    return 0;
}

static void find_ends(between *b, const cls_hold *hold, const double *values,
                      const unsigned char *joined) {
    size_t n = b->p->n_data;
    for (size_t i = 0; i < n; i++)
        b->begin[i] = i && joined[i - 1] && !jumps_at(b, hold, values, i) ? b->begin[i - 1] : i;
    for (size_t i = n; i-- > 0;)
        b->end[i] = !joined[i] ? i + 1
                    : i + 2 < n && joined[i + 1] && !jumps_at(b, hold, values, i + 1)
                        ? b->end[i + 1]
                        : i + 2;
}

/* ---- polynomials ---- */

/* c (n) with sum c z = the value at x of the polynomial through (t, z), or its derivative where `sloped`, by least squares
 * where there are more points than its degree needs, without point `left_out`: with polynomials q that are
 * orthogonal over the points, c_j = sum_k q_k(x) q_k(t_j)/|q_k|^2. */
static void fit_at(size_t n, size_t degree, const double *t, double x, size_t left_out, int sloped,
                   double *c) {
    double q[2][MOST + 1], at[2] = {0, 1}, slope[2] = {0, 0}, norm = 1, h = t[n - 1] - t[0];
    memset(q[0], 0, sizeof q[0]);
    memset(c, 0, n * sizeof *c);
    for (size_t j = 0; j < n; j++) q[1][j] = 1;
    for (size_t k = 0; k <= degree; k++) {
        size_t a = k % 2, b = !a; /* the one before, this one */
        double square = 0, mean = 0;
        for (size_t j = 0; j < n; j++) {
            if (j == left_out) continue;
            square += q[b][j] * q[b][j];
            mean += q[b][j] * q[b][j] * (t[j] - t[0]);
        }
        mean /= square;
        for (size_t j = 0; j < n; j++)
            if (j != left_out) c[j] += (sloped ? slope[b] : at[b]) * q[b][j] / square;
        double beta = k ? square / norm : 0;
        for (size_t j = 0; j < n; j++)
            q[a][j] = (t[j] - t[0] - mean) * q[b][j] / h - beta * q[a][j];
        slope[a] = ((x - t[0] - mean) * slope[b] + at[b]) / h - beta * slope[a];
        at[a] = (x - t[0] - mean) * at[b] / h - beta * at[a];
        norm = square;
    }
}

/* The first of the rows about interval i (rows i and i + 1 in their middle) within what it may see, of which there may
 * be fewer. */
static size_t rows_about(const between *b, size_t i, fit *f) {
    size_t begin = b->begin[i], end = b->end[i], before = f->rows / 2 - 1;
    if (end - begin < f->rows) f->rows = end - begin;
    if (f->degree > f->rows - 1) f->degree = f->rows - 1;
    size_t first = i > begin + before ? i - before : begin;
    return first + f->rows > end ? end - f->rows : first;
}

/* Coefficients over all rows, applied to all states with this fit, into `out` (nz, n): from `to` on, every `stride`
 * numbers. */
static void apply(const between *b, size_t which, size_t n, double *out, size_t to, size_t stride,
                  double *room) {
    clsi_points *p = b->p;
    for (size_t k = 0; k < p->nz; k++) {
        const double *z = p->z + k * p->n;
        if (b->best[k] != which) continue;
        for (size_t i = 0; i < n; i++) {
            const double *c = b->coefficient + i * MOST;
            double sum = 0;
            for (size_t j = 0; j < b->count[i]; j++) sum += c[j] * z[b->first[i] + j];
            room[i] = sum;
        }
        for (size_t i = 0; i < n; i++) out[k * p->n + to + i * stride] = room[i];
    }
}

/* The rows themselves, on the polynomials of the interval behind them (of the last: before it). */
static void smooth_rows(between *b, const unsigned char *joined, size_t chosen, double *room) {
    clsi_points *p = b->p;
    for (size_t i = 0; i < p->n_data; i++) {
        fit f = FIT[chosen];
        size_t of = joined[i] || !i || !joined[i - 1] ? i : i - 1;
        b->first[i] = i;
        b->count[i] = b->coefficient[i * MOST] = 1;
        if (!joined[of]) continue;
        b->first[i] = rows_about(b, of, &f);
        b->count[i] = f.rows;
        fit_at(f.rows, f.degree, p->time + b->first[i], p->time[i], MOST, 0,
               b->coefficient + i * MOST);
    }
    apply(b, chosen, p->n_data, p->z, 0, 1, room);
}

/* Node `which` of all intervals: states, or their derivatives. */
static void place_node(between *b, const unsigned char *joined, size_t chosen, size_t which,
                       int sloped, double *room) {
    clsi_points *p = b->p;
    for (size_t i = 0; i + 1 < p->n_data; i++) {
        size_t at = p->n_data + 2 * i + which;
        fit f = FIT[chosen];
        b->first[i] = i; /* rows that do not follow each other: no window asks */
        b->count[i] = b->coefficient[i * MOST] = 1;
        p->time[at] = p->time[i];
        if (!joined[i]) continue;
        double middle = 0.5 * (p->time[i] + p->time[i + 1]), h = p->time[i + 1] - p->time[i];
        p->time[at] = middle + (which ? GAUSS : -GAUSS) * h;
        b->first[i] = rows_about(b, i, &f);
        b->count[i] = f.rows;
        fit_at(f.rows, f.degree, p->time + b->first[i], p->time[at], MOST, sloped,
               b->coefficient + i * MOST);
    }
    apply(b, chosen, p->n_data - 1, sloped ? p->rate : p->z, p->n_data + which, 2, room);
}

/* How far off rows are from the polynomial through rows about them, without themselves: which fit is the best so
 * far for each state. The same rows are asked of all: those that see LOOK others. A cubic through many must tell
 * clearly more than a polynomial through few. */
static const double CLEARLY = 0.7;

static void try_fit(between *b, size_t which) {
    clsi_points *p = b->p;
    fit f = FIT[which];
    for (size_t i = 0; i < p->n_data; i++) {
        size_t begin = b->begin[i], end = b->end[i], half = f.rows / 2;
        b->first[i] = SIZE_MAX;
        if (i < begin + LOOK / 2 || i + LOOK / 2 >= end) continue;
        b->first[i] = i > begin + half ? i - half : begin;
        size_t last = i + half < end ? i + half + 1 : end;
        b->count[i] = last - b->first[i];
        double c[MOST + 1];
        fit_at(b->count[i], f.degree, p->time + b->first[i], p->time[i], i - b->first[i], 0, c);
        c[i - b->first[i]] = c[b->count[i] - 1]; /* without the row itself there are MOST at most */
        memcpy(b->coefficient + i * MOST, c, (b->count[i] - 1) * sizeof *c);
    }
    for (size_t k = 0; k < p->nz; k++) {
        const double *z = p->z + k * p->n;
        double sum = 0;
        for (size_t i = 0; i < p->n_data; i++) {
            if (b->first[i] == SIZE_MAX) continue;
            const double *c = b->coefficient + i * MOST;
            size_t last = b->count[i] - 1, own = i - b->first[i];
            double off = -z[i];
            for (size_t j = 0; j < last; j++) off += c[j] * z[b->first[i] + (j == own ? last : j)];
            sum += off * off;
        }
        /* no row has enough neighbours, or nothing moves: as many as there are */
        if (which == 1 ? !(sum > b->least[k])
                       : sum < (which == EXACT ? CLEARLY : 1) * b->least[k]) {
            b->least[k] = sum;
            b->best[k] = (unsigned char)which;
        }
    }
}

/* All states at the nodes, and rows of noisy ones. */
static void place_states(between *b, const unsigned char *joined, double *room) {
    clsi_points *p = b->p;
    for (size_t k = 0; k < p->nz; k++) {
        b->least[k] = INFINITY;
        p->row_noise = fmax(p->row_noise, clsi_points_noise(p, k) / clsi_points_spread(p, k));
    }
    for (size_t f = 0; f < FITS; f++) try_fit(b, f);
    for (size_t f = 0; f < FITS; f++) {
        if (!memchr(b->best, (int)f, p->nz)) continue;
        for (size_t which = 0; which < 2; which++)
            for (int sloped = 0; sloped <= p->rule.sloped; sloped++)
                place_node(b, joined, f, which, sloped, room);
        if (f < EXACT) continue;
        p->smoothed = FIT[f].rows;
        smooth_rows(b, joined, f, room);
    }
}

cls_status clsi_points_between(const cls_system *s, size_t n_tables, const cls_table *const *tables,
                               const char *const *names, const unsigned char *joined,
                               clsi_points *p, cls_error *error) {
    size_t n = p->n_data;
    double *values = clsi_calloc(p->nu * (2 * n + 1) + n * (MOST + 1) + 1, sizeof *values);
    cls_hold *hold = clsi_calloc(p->nu + 1, sizeof *hold);
    size_t *rows = clsi_calloc(4 * n + 1, sizeof *rows);
    between b = {.s = s,
                 .p = p,
                 .begin = rows,
                 .end = rows + n,
                 .first = rows + 2 * n,
                 .count = rows + 3 * n};
    if (p->rule.sloped && !p->rate) p->rate = clsi_calloc(p->n * p->nz, sizeof *p->rate);
    b.best = clsi_calloc(p->nz + 1, 1);
    b.least = clsi_calloc(p->nz + 1, sizeof *b.least);
    cls_status status = values && hold && rows && b.best && b.least && (!p->rule.sloped || p->rate)
                            ? copy_inputs(s, n_tables, tables, names, values, n, error)
                            : clsi_no_memory(error);
    double *own = values ? values + p->nu * n : NULL;
    if (status == CLS_OK)
        status = clsi_holds(s, p->rule.hold, CLS_HOLD_AUTO, n, values, hold, error);
    if (status == CLS_OK) {
        b.coefficient = own + p->nu * (n + 1) + n;
        find_ends(&b, hold, values, joined);
        place_states(&b, joined, own);
    }
    for (size_t i = 0, end; i < n && status == CLS_OK; i = end) {
        for (end = i + 1; end < n && joined[end - 1];) end++;
        status = put_signal(&b, hold, values, i, end, own, error);
    }
    if (status == CLS_OK) status = put_formulas(&b, error);
    free(b.best);
    free(b.least);
    free(values);
    free(hold);
    free(rows);
    return status;
}

void clsi_node_weights(const clsi_points *p, const size_t *at, double *w) {
    memset(w, 0, p->width * sizeof *w);
    for (size_t k = 1; k + 1 < p->width; k += 2)
        w[k] = w[k + 1] = 0.25 / GAUSS * (p->time[at[k + 1]] - p->time[at[k]]);
}
