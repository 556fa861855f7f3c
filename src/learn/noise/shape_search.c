/* Which short sums of terms (shapes.c) a fit looks like.
 *
 * Near a fit in polynomials the sum of squares is quadratic in their coefficients. A function is a vector of
 * such coefficients, so that the sum of squares of any sum of functions is |A theta - y|^2 with a column of
 * some twenty to a hundred numbers for each (noisy_shapes.c makes y and the way to A). Thousands of terms with
 * all their constants are looked at in the time of one simulation; what is found is fitted to the data after
 * that.
 *
 * The search: from each of the best single terms and of the best pairs on, the term that pays most is added, constants are moved to
 * where they are best, terms that do not pay go, one is exchanged for another, until nothing pays. A price is
 * that of Bayes' criterion: log of the rows for a coefficient and for each constant, and what it costs to name
 * the term (terms.c). */
#include "base/base.h"
#include "learn/noise/shapes.h"
#include "solve/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BEGINNINGS = 6, PAIRS = 12, GROWN = 3, ANY = 3, ROUNDS = 12, SWEEPS = 3, PROBES = 12 };
static const double COPY =
    1e-6; /* what is left of a column beside the others, squared, in units of itself */
static const double MOST_PAIRS = 1e9; /* products that are made for pairs: less than a second */

typedef struct search {
    const clsi_shapes *s;
    const clsi_shape_target *t;
    double *grid;            /* (s->n, m) */
    double *square;          /* (s->n) 0: not finite at the points */
    cls_program **program;   /* (s->n) of the first of each term's grid; NULL for the others */
    double *in, *f;          /* (d + 2, n), (n) */
    double *basis;           /* (CLSI_SHAPE_TERMS, m) orthonormal */
    double *own;             /* (CLSI_SHAPE_TERMS, m) columns of the set that is worked on */
    double *probe;           /* (m) */
    double *unit, *along;    /* (s->n, m) columns of length one; (s->n) their products with y */
    double *tangent, *slope; /* the same of derivatives in a constant, beside the columns */
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

/* Are the values of the column that was made a sum of what the target holds? */
static int is_held(const search *k) {
    static const double BESIDE = 1e-4;
    size_t n = k->t->n;
    double all = clsi_vector_dot(n, k->f, k->f), left = all;
    for (size_t v = 0; v < k->t->n_span; v++) {
        double along = clsi_vector_dot(n, k->t->span + v * n, k->f);
        left -= along * along;
    }
    return !k->t->span || left <= BESIDE * all;
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
        int there = make_column(k, last, shape, a) && is_held(k);
        k->square[i] = there ? clsi_vector_dot(k->t->m, a, a) : 0;
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

static void remake(search *k, const clsi_shape_set *set) {
    for (size_t i = 0; i < set->n; i++)
        (void)make_column(k, program_of(k, &set->term[i]), &set->term[i], k->own + i * k->t->m);
}

/* Two terms of a law may each be next to nothing without the other: no single one is a way to them. */
typedef struct beginning {
    double gain;
    size_t one, two; /* of the list */
} beginning;

static int same_pair(const search *k, const beginning *a, const beginning *b) {
    const clsi_shape *l = k->s->list;
    return (same_term(&l[a->one], &l[b->one]) && same_term(&l[a->two], &l[b->two])) ||
           (same_term(&l[a->one], &l[b->two]) && same_term(&l[a->two], &l[b->one]));
}

/* Best first, no two terms twice. */
static void insert_pair(const search *k, beginning *out, size_t *n, beginning pair) {
    size_t at = 0, end = 0;
    while (end < *n && !same_pair(k, &out[end], &pair)) end++;
    if (end < *n && out[end].gain >= pair.gain) return;
    while (at < end && out[at].gain >= pair.gain) at++;
    if (at == PAIRS) return;
    if (end == *n && *n < PAIRS) ++*n;
    if (end == PAIRS) end--;
    memmove(out + at + 1, out + at, (end - at) * sizeof *out);
    out[at] = pair;
}

/* Columns of length one; of terms with one constant what is left of the derivative in it beside them. */
static void make_units(search *k) {
    static const double SMALL = 1e-4;
    size_t m = k->t->m;
    const cls_program *program = NULL;
    for (size_t i = 0; i < k->s->n; i++) {
        double *u = k->unit + i * m, *v = k->tangent + i * m, size = sqrt(k->square[i]);
        clsi_shape shape = k->s->list[i];
        if (k->program[i]) program = k->program[i];
        for (size_t e = 0; e < m && size > 0; e++) u[e] = k->grid[i * m + e] / size;
        k->along[i] = clsi_vector_dot(m, u, k->t->y);
        if (shape.n_constants != 1 || !(size > 0)) continue;
        shape.c[0] += SMALL * fmax(fabs(shape.c[0]), 1e-3 * (shape.high[0] - shape.low[0]));
        if (!make_column(k, program, &shape, v)) continue;
        clsi_vector_add(m, -1, k->grid + i * m, v);
        double before = clsi_vector_dot(m, v, v);
        clsi_vector_add(m, -clsi_vector_dot(m, u, v), u, v);
        double rest = clsi_vector_dot(m, v, v), root = rest > COPY * before ? 1 / sqrt(rest) : 0;
        for (size_t e = 0; e < m; e++) v[e] *= root;
        k->slope[i] = clsi_vector_dot(m, v, k->t->y);
    }
}

/* What columns i and j explain of the squares of y: (a^2 + b^2 - 2 a b c)/(1 - c^2) for columns of length one,
 * a and b their products with y, c that of the two. */
static double explained(const search *k, size_t i, size_t j) {
    size_t m = k->t->m;
    double a = k->along[i], b = k->along[j];
    double c = clsi_vector_dot(m, k->unit + i * m, k->unit + j * m), rest = 1 - c * c;
    return rest > COPY ? (a * a + b * b - 2 * a * b * c) / rest : -INFINITY;
}

/* The same with their derivatives beside them: a grid is coarse where the data are sharp, and the right term
 * with a wrong constant looks worse than many wrong ones. */
static double explained_nearby(const search *k, size_t i, size_t j) {
    size_t m = k->t->m;
    const double *u = k->unit + i * m, *v = k->tangent + i * m, *w = k->unit + j * m;
    const double *x = k->tangent + j * m;
    double a = k->along[i], b = k->slope[i], uw = clsi_vector_dot(m, u, w);
    double vw = clsi_vector_dot(m, v, w), ux = clsi_vector_dot(m, u, x);
    double vx = clsi_vector_dot(m, v, x);
    double p = 1 - uw * uw - vw * vw, q = 1 - ux * ux - vx * vx, r = -uw * ux - vw * vx;
    double s = k->along[j] - uw * a - vw * b, t = k->slope[j] - ux * a - vx * b;
    double det = p * q - r * r;
    if (!(p > COPY) || !(q > COPY) || !(det > COPY * p * q)) return -INFINITY;
    return a * a + b * b + (q * s * s - 2 * r * s * t + p * t * t) / det;
}

/* The pairs of terms that explain most; `constants`: those with so many, at most one in each, which may be near
 * those of the grid; ANY: all, on the grid. Where the list is long, one of the two is among the simplest. */
static size_t find_pairs(search *k, size_t constants, beginning *out) {
    size_t N = k->s->n, n = 0, simple = (size_t)(MOST_PAIRS / (double)(N * k->t->m + 1));
    for (size_t i = 0; i < N; i++) {
        const clsi_shape *one = &k->s->list[i], *two = k->s->list;
        double own = clsi_shape_price(one, k->t->rows);
        if (!(k->square[i] > 0) || (constants < ANY && one->n_constants > 1)) continue;
        for (size_t j = 0; j < i && j < simple; j++, two++) {
            if (!(k->square[j] > 0)) continue;
            if (constants < ANY &&
                (two->n_constants > 1 || one->n_constants + two->n_constants != constants))
                continue;
            double gain = (constants < ANY ? explained_nearby(k, i, j) : explained(k, i, j)) - own;
            if (!(gain > -INFINITY) || (n == PAIRS && !(gain > out[n - 1].gain))) continue;
            gain -= clsi_shape_price(two, k->t->rows);
            if (n == PAIRS && !(gain > out[n - 1].gain)) continue;
            insert_pair(k, out, &n, (beginning){gain, i, j});
        }
    }
    return n;
}

/* Pairs with their constants where they are best: the best ones grow. */
static void grow_pairs(search *k, size_t constants, clsi_shape_set *out, size_t *n) {
    beginning pair[PAIRS];
    clsi_shape_set set[PAIRS];
    size_t count = find_pairs(k, constants, pair);
    for (size_t i = 0; i < count; i++) {
        set[i] = (clsi_shape_set){0};
        put(k, &set[i], 0, pair[i].one);
        put(k, &set[i], 1, pair[i].two);
        move_constants(k, &set[i]);
        set[i].cost = cost_of(k, &set[i]);
    }
    for (size_t grown = 0; grown < GROWN && grown < count; grown++) {
        size_t best = 0;
        for (size_t i = 1; i < count; i++)
            if (set[i].cost < set[best].cost) best = i;
        if (!(set[best].cost < INFINITY)) return;
        clsi_shape_set one = set[best];
        set[best].cost = INFINITY;
        remake(k, &one);
        grow(k, &one);
        insert(out, n, &one);
    }
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

cls_status clsi_shapes_search(const clsi_shapes *s, const clsi_shape_target *t, clsi_shape_set *out,
                              size_t *n, cls_error *error) {
    search k = {.s = s, .t = t};
    size_t m = t->m, begin[BEGINNINGS];
    *n = 0;
    k.grid = clsi_calloc(s->n * (3 * m + 3) + 1, sizeof *k.grid);
    k.program = clsi_calloc(s->n + 1, sizeof *k.program);
    k.in = clsi_calloc((s->d + CLSI_SHAPE_CONSTANTS + 1) * t->n + 1, sizeof *k.in);
    k.basis = clsi_calloc((2 * CLSI_SHAPE_TERMS + 1) * m + 1, sizeof *k.basis);
    cls_status status = k.grid && k.program && k.in && k.basis ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) {
        k.square = k.grid + s->n * m;
        k.along = k.square + s->n;
        k.slope = k.along + s->n;
        k.unit = k.slope + s->n;
        k.tangent = k.unit + s->n * m;
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
    if (status == CLS_OK) {
        make_units(&k);
        for (size_t constants = 0; constants <= ANY; constants++) grow_pairs(&k, constants, out, n);
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
