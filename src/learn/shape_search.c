/* Which short sums of terms (shapes.c) a fit looks like.
 *
 * Near a fit in polynomials the sum of squares is quadratic in their coefficients. A function is a vector of
 * such coefficients, so that the sum of squares of any sum of functions is |A theta - y|^2 with a column of
 * some twenty to a hundred numbers for each (noisy_shapes.c makes y and the way to A). Thousands of terms with
 * all their constants are looked at in the time of one simulation; what is found is fitted to the data after
 * that.
 *
 * The search: from each of the best single terms on, the term that pays most is added, constants are moved to
 * where they are best, terms that do not pay go, one is exchanged for another, until nothing pays. A price is
 * that of Bayes' criterion: log of the rows for a coefficient and for each constant, and what it costs to name
 * the term (terms.c). */
#include "base/base.h"
#include "learn/shapes.h"
#include "solve/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BEGINNINGS = 6, ROUNDS = 12, SWEEPS = 3, PROBES = 12 };
static const double COPY =
    1e-6; /* what is left of a column beside the others, squared, in units of itself */

typedef struct search {
    const clsi_shapes *s;
    const clsi_shape_target *t;
    double *grid;          /* (s->n, m) */
    double *square;        /* (s->n) 0: not finite at the points */
    cls_program **program; /* (s->n) of the first of each term's grid; NULL for the others */
    double *in, *f;        /* (d + 2, n), (n) */
    double *basis;         /* (CLSI_SHAPE_TERMS, m) orthonormal */
    double *own;           /* (CLSI_SHAPE_TERMS, m) columns of the set that is worked on */
    double *probe;         /* (m) */
} search;

double clsi_shape_price(const clsi_shape *shape, double rows) {
    return (1 + (double)shape->n_constants) * log(rows) + 2 * log((double)shape->name);
}

/* ---- columns ---- */

/* The column of a term, from the program of its grid; 0: it is not finite. */
static int make_column(search *k, const cls_program *program, const clsi_shape *shape, double *a) {
    size_t n = k->t->n, d = k->s->d;
    for (size_t c = 0; c < CLSI_SHAPE_CONSTANTS; c++)
        for (size_t i = 0; i < n; i++) k->in[(d + c) * n + i] = shape->c[c];
    if (cls_program_run_many(program, n, n, k->in, k->f) != CLS_OK) return 0;
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isfinite(k->f[i])) return 0;
        least = fmin(least, fabs(k->f[i]));
        most = fmax(most, fabs(k->f[i]));
    }
    if (!(most > 0) || most > 1e12) return 0;
    clsi_times(k->t->m, n, k->t->W, k->f, a);
    return isfinite(clsi_vector_dot(k->t->m, a, a));
}

static int same_term(const clsi_shape *a, const clsi_shape *b) {
    return a->name == b->name && a->plain == b->plain;
}

/* The program of a shape: that of the first of its grid. */
static const cls_program *program_of(const search *k, const clsi_shape *shape) {
    for (size_t i = 0; i < k->s->n; i++)
        if (k->program[i] && same_term(&k->s->list[i], shape)) return k->program[i];
    return NULL;
}

static cls_status make_grid(search *k, cls_error *error) {
    const cls_program *last = NULL;
    for (size_t i = 0; i < k->s->n; i++) {
        const clsi_shape *shape = &k->s->list[i];
        if (i == 0 || !same_term(shape, shape - 1)) {
            cls_status status = clsi_shape_program(k->s, shape, &k->program[i], error);
            if (status != CLS_OK) return status;
            last = k->program[i];
        }
        double *a = k->grid + i * k->t->m;
        k->square[i] = make_column(k, last, shape, a) ? clsi_vector_dot(k->t->m, a, a) : 0;
    }
    return CLS_OK;
}

/* ---- sets ---- */

/* Orthonormal columns of the set without term `skip`, behind n that there are; what they leave of the squares
 * of y. */
static double project(search *k, const clsi_shape_set *set, size_t skip, size_t *n) {
    size_t m = k->t->m;
    double left = clsi_vector_dot(m, k->t->y, k->t->y);
    *n = 0;
    for (size_t i = 0; i < set->n; i++) {
        double *q = k->basis + *n * m, *a = k->own + i * m;
        if (i == skip) continue;
        memcpy(q, a, m * sizeof *q);
        double size = clsi_vector_dot(m, a, a);
        for (int twice = 0; twice < 2; twice++)
            for (size_t j = 0; j < *n; j++)
                clsi_vector_add(m, -clsi_vector_dot(m, k->basis + j * m, q), k->basis + j * m, q);
        double rest = clsi_vector_dot(m, q, q);
        if (!(rest > COPY * size)) continue;
        for (size_t e = 0; e < m; e++) q[e] /= sqrt(rest);
        double along = clsi_vector_dot(m, q, k->t->y);
        left -= along * along;
        ++*n;
    }
    return left;
}

static double prices_of(const search *k, const clsi_shape_set *set, size_t skip) {
    double sum = 0;
    for (size_t i = 0; i < set->n; i++)
        if (i != skip) sum += clsi_shape_price(&set->term[i], k->t->rows);
    return sum;
}

static double cost_of(search *k, const clsi_shape_set *set) {
    size_t n;
    double left = project(k, set, SIZE_MAX, &n);
    return n < set->n ? INFINITY : left + prices_of(k, set, SIZE_MAX);
}

/* What term i of the list explains beside the basis, less its price. */
static double gain_of(const search *k, size_t i, size_t n) {
    size_t m = k->t->m;
    const double *a = k->grid + i * m;
    if (!(k->square[i] > 0)) return -INFINITY;
    double along = clsi_vector_dot(m, a, k->t->y), rest = k->square[i];
    for (size_t j = 0; j < n; j++) {
        const double *q = k->basis + j * m;
        double part = clsi_vector_dot(m, a, q);
        along -= part * clsi_vector_dot(m, q, k->t->y);
        rest -= part * part;
    }
    if (!(rest > COPY * k->square[i])) return -INFINITY;
    return along * along / rest - clsi_shape_price(&k->s->list[i], k->t->rows);
}

static size_t best_of(const search *k, size_t n, double *gain) {
    size_t best = SIZE_MAX;
    *gain = -INFINITY;
    for (size_t i = 0; i < k->s->n; i++) {
        double g = gain_of(k, i, n);
        if (g > *gain) *gain = g, best = i;
    }
    return best;
}

static void put(search *k, clsi_shape_set *set, size_t at, size_t i) {
    set->term[at] = k->s->list[i];
    memcpy(k->own + at * k->t->m, k->grid + i * k->t->m, k->t->m * sizeof *k->own);
    if (at == set->n) set->n++;
}

static void take_out(search *k, clsi_shape_set *set, size_t at) {
    size_t m = k->t->m;
    set->n--;
    for (size_t i = at; i < set->n; i++) {
        set->term[i] = set->term[i + 1];
        memcpy(k->own + i * m, k->own + (i + 1) * m, m * sizeof *k->own);
    }
}

/* ---- constants ---- */

/* What term `at` leaves with another constant, the others being the basis of n. */
static double try_constant(search *k, const cls_program *program, clsi_shape shape, size_t c,
                           double value, size_t n, double left) {
    size_t m = k->t->m;
    shape.c[c] = value;
    if (!(value >= shape.low[c] && value <= shape.high[c])) return INFINITY;
    if (!make_column(k, program, &shape, k->probe)) return INFINITY;
    double square = clsi_vector_dot(m, k->probe, k->probe), rest = square;
    double along = clsi_vector_dot(m, k->probe, k->t->y);
    for (size_t j = 0; j < n; j++) {
        const double *q = k->basis + j * m;
        double part = clsi_vector_dot(m, k->probe, q);
        along -= part * clsi_vector_dot(m, q, k->t->y);
        rest -= part * part;
    }
    return rest > COPY * square ? left - along * along / rest : INFINITY;
}

/* One constant: steps that grow where they pay and shrink where they do not. */
static void move_constant(search *k, clsi_shape_set *set, size_t at, size_t c) {
    clsi_shape *shape = &set->term[at];
    const cls_program *program = program_of(k, shape);
    size_t n;
    double left = project(k, set, at, &n);
    double step = 0.15 * fmax(fabs(shape->c[c]), 1e-3 * (shape->high[c] - shape->low[c]));
    double now = try_constant(k, program, *shape, c, shape->c[c], n, left);
    for (size_t probe = 0; probe < PROBES; probe++) {
        double up = try_constant(k, program, *shape, c, shape->c[c] + step, n, left);
        double down = try_constant(k, program, *shape, c, shape->c[c] - step, n, left);
        if (up < now || down < now) {
            shape->c[c] += up < down ? step : -step;
            now = fmin(up, down);
            step *= 1.4;
        } else
            step *= 0.3;
    }
    (void)make_column(k, program, shape, k->own + at * k->t->m);
}

static void move_constants(search *k, clsi_shape_set *set) {
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t i = 0; i < set->n; i++)
            for (size_t c = 0; c < set->term[i].n_constants; c++) move_constant(k, set, i, c);
}

/* ---- moves ---- */

static int add_one(search *k, clsi_shape_set *set) {
    double gain;
    size_t n;
    if (set->n == CLSI_SHAPE_TERMS) return 0;
    (void)project(k, set, SIZE_MAX, &n);
    size_t best = best_of(k, n, &gain);
    if (best == SIZE_MAX || !(gain > 0)) return 0;
    put(k, set, set->n, best);
    return 1;
}

static int drop_one(search *k, clsi_shape_set *set) {
    double now = cost_of(k, set), best = now;
    size_t which = SIZE_MAX, n;
    for (size_t i = 0; i < set->n && set->n > 1; i++) {
        double cost = project(k, set, i, &n) + prices_of(k, set, i);
        if (cost < best) best = cost, which = i;
    }
    if (which == SIZE_MAX) return 0;
    take_out(k, set, which);
    return 1;
}

/* The best exchange of a term for another one. */
static int exchange_one(search *k, clsi_shape_set *set) {
    static const double LITTLE = 1e-6;
    double now = cost_of(k, set), best = now - LITTLE;
    size_t which = SIZE_MAX, by = SIZE_MAX, n;
    for (size_t i = 0; i < set->n; i++) {
        double gain, rest = project(k, set, i, &n) + prices_of(k, set, i);
        size_t other = best_of(k, n, &gain);
        if (other != SIZE_MAX && rest - gain < best) best = rest - gain, which = i, by = other;
    }
    if (which == SIZE_MAX) return 0;
    put(k, set, which, by);
    return 1;
}

static void grow(search *k, clsi_shape_set *set) {
    clsi_shape_set before = {.cost = INFINITY};
    for (int round = 0; round < ROUNDS; round++) {
        move_constants(k, set);
        while (drop_one(k, set)) move_constants(k, set);
        set->cost = cost_of(k, set);
        if (!(set->cost < before.cost)) break;
        before = *set;
        if (!add_one(k, set) && !exchange_one(k, set)) break;
    }
    if (before.cost < set->cost) *set = before;
}

/* ---- everything ---- */

static int same_set(const clsi_shape_set *a, const clsi_shape_set *b) {
    if (a->n != b->n) return 0;
    for (size_t i = 0; i < a->n; i++) {
        int found = 0;
        for (size_t j = 0; j < b->n; j++) found |= same_term(&a->term[i], &b->term[j]);
        if (!found) return 0;
    }
    return 1;
}

/* Best first, no set twice. */
static void insert(clsi_shape_set *out, size_t *n, const clsi_shape_set *set) {
    size_t at = 0;
    for (size_t i = 0; i < *n; i++) {
        if (!same_set(&out[i], set)) continue;
        if (set->cost < out[i].cost) out[i] = *set;
        return;
    }
    while (at < *n && out[at].cost <= set->cost) at++;
    if (at == CLSI_SHAPE_SETS) return;
    if (*n < CLSI_SHAPE_SETS) ++*n;
    memmove(out + at + 1, out + at, (*n - at - 1) * sizeof *out);
    out[at] = *set;
}

/* The single terms that explain most, none twice. */
static size_t find_beginnings(const search *k, size_t *out) {
    double gains[BEGINNINGS];
    size_t n = 0;
    for (size_t i = 0; i < k->s->n;) {
        size_t best = i, at = 0, end = i + 1;
        double most = gain_of(k, i, 0);
        for (; end < k->s->n && same_term(&k->s->list[i], &k->s->list[end]); end++) {
            double gain = gain_of(k, end, 0);
            if (gain > most) most = gain, best = end;
        }
        i = end;
        while (at < n && gains[at] >= most) at++;
        if (at == BEGINNINGS || !(most > -INFINITY)) continue;
        if (n < BEGINNINGS) n++;
        for (size_t j = n - 1; j > at; j--) gains[j] = gains[j - 1], out[j] = out[j - 1];
        gains[at] = most, out[at] = best;
    }
    return n;
}

/* Coefficients by the normal equations of orthonormal columns, backwards. */
static void solve(search *k, clsi_shape_set *set) {
    size_t m = k->t->m, n;
    double left[CLSI_SHAPE_TERMS];
    (void)project(k, set, SIZE_MAX, &n);
    for (size_t i = 0; i < n; i++) left[i] = clsi_vector_dot(m, k->basis + i * m, k->t->y);
    for (size_t i = n; i-- > 0;) {
        double sum = left[i];
        for (size_t j = i + 1; j < n; j++)
            sum -= clsi_vector_dot(m, k->basis + i * m, k->own + j * m) * set->theta[j];
        set->theta[i] = sum / clsi_vector_dot(m, k->basis + i * m, k->own + i * m);
    }
}

static void remake(search *k, const clsi_shape_set *set) {
    for (size_t i = 0; i < set->n; i++)
        (void)make_column(k, program_of(k, &set->term[i]), &set->term[i], k->own + i * k->t->m);
}

cls_status clsi_shapes_search(const clsi_shapes *s, const clsi_shape_target *t, clsi_shape_set *out,
                              size_t *n, cls_error *error) {
    search k = {.s = s, .t = t};
    size_t m = t->m, begin[BEGINNINGS];
    *n = 0;
    k.grid = clsi_calloc(s->n * (m + 1) + 1, sizeof *k.grid);
    k.program = clsi_calloc(s->n + 1, sizeof *k.program);
    k.in = clsi_calloc((s->d + CLSI_SHAPE_CONSTANTS + 1) * t->n + 1, sizeof *k.in);
    k.basis = clsi_calloc((2 * CLSI_SHAPE_TERMS + 1) * m + 1, sizeof *k.basis);
    cls_status status = k.grid && k.program && k.in && k.basis ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) {
        k.square = k.grid + s->n * m;
        k.f = k.in + (s->d + CLSI_SHAPE_CONSTANTS) * t->n;
        k.own = k.basis + CLSI_SHAPE_TERMS * m;
        k.probe = k.own + CLSI_SHAPE_TERMS * m;
        for (size_t i = 0; i < t->n; i++)
            for (size_t e = 0; e < s->d; e++) k.in[e * t->n + i] = t->x[i * s->d + e];
        status = make_grid(&k, error);
    }
    size_t beginnings = status == CLS_OK ? find_beginnings(&k, begin) : 0;
    for (size_t b = 0; b < beginnings; b++) {
        clsi_shape_set set = {0};
        put(&k, &set, 0, begin[b]);
        grow(&k, &set);
        insert(out, n, &set);
    }
    for (size_t i = 0; i < *n; i++) {
        remake(&k, &out[i]);
        solve(&k, &out[i]);
    }
    for (size_t i = 0; k.program && i < s->n; i++) cls_program_free(&k.program[i]);
    free(k.grid);
    free(k.program);
    free(k.in);
    free(k.basis);
    return status;
}
