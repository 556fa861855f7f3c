/* Invariants, symmetries and Casimir functions, by null spaces.
 *
 * Rates of all monomials of degree one and two in y = (q, p, S) at many states are the rows of a
 * matrix; combinations of columns that vanish are constant along every motion. Found at half of the
 * states, each is tried at the other half:
 *
 *     digits = -log10 ( rms sum_k c_k f_k'  /  rms sum_k |c_k f_k'| )
 *
 * so that a slow variable is no invariant: its rate is small, but not against the rate of its terms.
 * Affine maps dq = A q + b, dp = -A^T p change the energy by E_q.(A q + b) - E_p.A^T p, linear in
 * (A, b): its null space are the symmetries, p.(A q + b) their momenta (Noether). Costs one
 * least-squares triangle of at most 560 columns. */
#include "base/misuse.h"
#include "explain/explain.h"
#include "solve/problem.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_QUADRATIC = 32, MOST_LINEAR = 512, MOST_MAPS = 12, LEAST_STATES = 256 };
static const double exact = 1e-10;

/* A monomial of y: y_i, or y_i y_j. */
typedef struct monomial {
    size_t i, j; /* j SIZE_MAX: linear */
} monomial;

typedef struct search {
    clsi_samples a;
    const cls_model *model;
    size_t n; /* monomials: the ny linear ones first */
    monomial *term;
    size_t n_known, capacity; /* directions that are not news: (n_known, n) */
    double *known;
    size_t n_momenta; /* of symmetries: (n_momenta, n) */
    double *momentum;
    char **symmetry; /* (n_momenta) in words */
    double *row;     /* scratch (n) */
    double *usual;   /* (ny) median rates */
    cls_invariants *out;
    double least;       /* digits */
    const char *scheme; /* whose step is asked, NULL: the flow */
    double h;
} search;

static double term_value(const monomial *t, const double *y) {
    return t->j == SIZE_MAX ? y[t->i] : y[t->i] * y[t->j];
}

static double term_rate(const monomial *t, const double *y, const double *rate) {
    return t->j == SIZE_MAX ? rate[t->i] : rate[t->i] * y[t->j] + y[t->i] * rate[t->j];
}

/* What the rate of a monomial is made of, without signs. */
static double term_size(const monomial *t, const double *y, const double *rate) {
    return t->j == SIZE_MAX ? fabs(rate[t->i])
                            : fabs(rate[t->i] * y[t->j]) + fabs(y[t->i] * rate[t->j]);
}

static cls_status make_terms(search *f, cls_error *error) {
    size_t ny = f->a.ny, quadratic = ny <= MOST_QUADRATIC ? ny * (ny + 1) / 2 : 0, n = 0;
    f->term = clsi_calloc(ny + quadratic, sizeof *f->term);
    f->row = clsi_calloc(ny + quadratic, sizeof *f->row);
    if (!f->term || !f->row) return clsi_no_memory(error);
    for (size_t i = 0; i < ny; i++) f->term[n++] = (monomial){i, SIZE_MAX};
    for (size_t i = 0; quadratic && i < ny; i++)
        for (size_t j = i; j < ny; j++) f->term[n++] = (monomial){i, j};
    f->n = n;
    return CLS_OK;
}

static size_t find_term(const search *f, size_t i, size_t j) {
    for (size_t k = 0; k < f->n; k++)
        if ((f->term[k].i == i && f->term[k].j == j) || (f->term[k].i == j && f->term[k].j == i))
            return k;
    return SIZE_MAX;
}

static char *term_text(const search *f, size_t k) {
    clsi_text t = {0};
    const monomial *m = &f->term[k];
    clsi_text_append(&t, clsi_sample_name(f->a.s, m->i));
    if (m->j == m->i)
        clsi_text_append(&t, "^2");
    else if (m->j != SIZE_MAX)
        clsi_text_printf(&t, "*%s", clsi_sample_name(f->a.s, m->j));
    return clsi_text_take(&t);
}

static char *combination_text(const search *f, const double *c) {
    clsi_text t = {0};
    for (size_t k = 0; k < f->n; k++) {
        if (c[k] == 0) continue;
        char *term = term_text(f, k);
        if (!term) t.failed = 1;
        if (term) clsi_term_print(&t, c[k], term);
        free(term);
    }
    return clsi_text_take(&t);
}

/* Its rate over those of its terms, at the states that nothing was found from. */
static double ratio_at(const search *f, const double *c, size_t at, size_t by) {
    double sum = 0, size = 0;
    /* relative to the state's own terms: corners where everything is large decide nothing */
    for (size_t i = f->a.n / 2; i < f->a.n; i++) {
        const double *y = f->a.value + i * f->a.width;
        double r = 0, s = 0;
        for (size_t k = 0; k < f->n; k++) {
            if (c[k] == 0) continue;
            r += c[k] * term_rate(&f->term[k], y + at, y + by);
            s += fabs(c[k]) * term_size(&f->term[k], y + at, y + by);
        }
        if (!(s > 0)) continue;
        sum += r * r / (s * s);
        size += 1;
    }
    return size > 0 ? sqrt(sum / size) : 0;
}

static double ratio_of(const search *f, const double *c) {
    return ratio_at(f, c, f->a.at, f->a.by);
}

static double digits_of(double ratio) {
    return fmin(16, -log10(fmax(ratio, 1e-16)));
}

static double drift_of(const search *f, const double *c) {
    double first = 0, worst = 0, size = 0;
    for (size_t i = 0; i < f->a.n_path; i++) {
        const double *y = f->a.path + i * f->a.ny;
        double value = 0, s = 0;
        for (size_t k = 0; k < f->n; k++) {
            value += c[k] * term_value(&f->term[k], y);
            s += fabs(c[k] * term_value(&f->term[k], y));
        }
        if (i == 0) first = value;
        worst = fmax(worst, fabs(value - first));
        size = fmax(size, s);
    }
    return f->a.n_path < 2 ? NAN : size > 0 ? worst / size : 0;
}

static cls_status know(search *f, const double *c, cls_error *error) {
    if (!clsi_grow(&f->known, &f->capacity, (f->n_known + 1) * f->n, sizeof *f->known))
        return clsi_no_memory(error);
    memcpy(f->known + f->n_known++ * f->n, c, f->n * sizeof *c);
    return CLS_OK;
}

/* ---- names ---- */

/* The declared invariant that it is, up to factor and constant; NULL: none. */
static const char *declared_name(const search *f, const double *c) {
    for (size_t d = 0; d < f->a.s->n_invariants; d++) {
        double mx = 0, my = 0, xx = 0, xy = 0, yy = 0;
        for (int pass = 0; pass < 2; pass++)
            for (size_t i = 0; i < f->a.n; i++) {
                const double *value = f->a.value + i * f->a.width;
                double x = 0, y = value[f->a.declared + d];
                for (size_t k = 0; k < f->n; k++) x += c[k] * term_value(&f->term[k], value);
                if (!pass) {
                    mx += x / (double)f->a.n;
                    my += y / (double)f->a.n;
                    continue;
                }
                xx += (x - mx) * (x - mx);
                xy += (x - mx) * (y - my);
                yy += (y - my) * (y - my);
            }
        if (xx > 0 && yy > 0 && fabs(1 - xy * xy / (xx * yy)) < 1e-10)
            return f->a.s->bound.invariants[d].name;
    }
    return NULL;
}

/* Do two directions agree, in units of the rates of the terms? */
static int parallel(size_t n, const double *a, const double *b) {
    double aa = 0, ab = 0, bb = 0;
    for (size_t k = 0; k < n; k++) {
        aa += a[k] * a[k];
        ab += a[k] * b[k];
        bb += b[k] * b[k];
    }
    return aa > 0 && bb > 0 && ab * ab > (1 - 1e-4) * aa * bb;
}

static int is_momentum(const search *f, const double *c, size_t *which) {
    for (size_t i = 0; i < f->n_momenta; i++)
        if (parallel(f->n, c, f->momentum + i * f->n)) {
            *which = i;
            return 1;
        }
    return 0;
}

/* Does a state stand in c that frictions change, so that Noether alone cannot be the reason? */
static char *reason(const search *f, const double *c) {
    size_t which;
    if (is_momentum(f, c, &which)) return clsi_strdup("the momentum of a symmetry (Noether)");
    int entropy = 0, other = 0;
    for (size_t k = 0; k < f->n; k++)
        if (c[k] != 0) {
            entropy |= f->term[k].i >= f->a.nq + f->a.np;
            other |= f->term[k].i < f->a.nq + f->a.np;
        }
    if (entropy && !other) return clsi_strdup("nothing heats it");
    return clsi_strdup("its rates cancel");
}

static cls_status report(search *f, const double *c, int linear, cls_error *error) {
    double ratio = ratio_of(f, c);
    cls_found what = {.kind = linear ? CLS_FOUND_LINEAR : CLS_FOUND_QUADRATIC,
                      .digits = digits_of(ratio),
                      .exact = ratio <= 10 * exact,
                      .drift = drift_of(f, c)};
    clsi_text name = {0};
    const char *declared = declared_name(f, c);
    size_t which;
    clsi_text_append(&name, "");
    if (declared) clsi_text_printf(&name, "declared as %s", declared);
    if (is_momentum(f, c, &which))
        clsi_text_printf(&name, "%s%s", declared ? "; " : "", f->symmetry[which]);
    cls_status status = know(f, c, error);
    if (status != CLS_OK) {
        clsi_text_clear(&name);
        return status;
    }
    return clsi_found_add(f->out, &what, combination_text(f, c), clsi_text_take(&name),
                          reason(f, c), clsi_strdup(""), error);
}

/* ---- what is not news ---- */

/* Products of the linear invariants. */
static cls_status know_products(search *f, cls_error *error) {
    size_t have = f->n_known, ny = f->a.ny;
    cls_status status = CLS_OK;
    for (size_t a = 0; a < have && f->n > ny; a++)
        for (size_t b = a; b < have && status == CLS_OK; b++) {
            memset(f->row, 0, f->n * sizeof *f->row);
            int linear = 1;
            for (size_t k = ny; k < f->n; k++)
                linear &= f->known[a * f->n + k] == 0 && f->known[b * f->n + k] == 0;
            for (size_t i = 0; i < ny && linear; i++)
                for (size_t j = 0; j < ny; j++)
                    f->row[find_term(f, i, j)] += f->known[a * f->n + i] * f->known[b * f->n + j];
            if (linear) status = know(f, f->row, error);
        }
    return status;
}

/* The energy, where it is quadratic. */
static cls_status know_energy(search *f, cls_error *error) {
    size_t n = f->n + 1, states = f->a.n;
    clsi_lsq *q = NULL;
    clsi_lsq_info info = {0};
    double mean = 0, spread = 0;
    if (f->a.s->ode || f->n == f->a.ny) return CLS_OK;
    double *A = clsi_calloc(states * n + states + n, sizeof *A);
    if (!A) return clsi_no_memory(error);
    double *b = A + states * n, *x = b + states;
    for (size_t i = 0; i < states; i++) {
        const double *y = f->a.value + i * f->a.width;
        for (size_t k = 0; k < f->n; k++) A[i * n + k] = term_value(&f->term[k], y);
        A[i * n + f->n] = 1;
        b[i] = y[f->a.energy];
        mean += b[i] / (double)states;
    }
    for (size_t i = 0; i < states; i++) spread += (b[i] - mean) * (b[i] - mean);
    spread = sqrt(spread / (double)states);
    cls_status status = clsi_lsq_create(n, 0, NULL, NULL, &q, error);
    if (status == CLS_OK) status = clsi_lsq_add(q, states, A, b, error);
    if (status == CLS_OK) status = clsi_lsq_solve(q, 1e-12, 0, NULL, NULL, x, &info, NULL, error);
    if (status == CLS_OK && info.residual <= (f->model ? pow(10, -f->least) : 1e-9) * spread)
        status = know(f, x, error);
    clsi_lsq_free(&q);
    free(A);
    return status;
}

/* ---- invariants ---- */

/* How fast the state is, in units of usual rates; at least 1. */
static double speed_of(const search *f, const double *y) {
    double speed = 1;
    for (size_t k = 0; k < f->a.ny; k++)
        if (f->usual[k] > 0) speed = fmax(speed, fabs(y[f->a.by + k]) / f->usual[k]);
    return speed;
}

/* The median of each rate. */
static cls_status measure_rates(search *f, cls_error *error) {
    double *one = clsi_calloc(f->a.n, sizeof *one);
    f->usual = clsi_calloc(f->a.ny, sizeof *f->usual);
    for (size_t k = 0; one && f->usual && k < f->a.ny; k++) {
        for (size_t i = 0; i < f->a.n; i++) one[i] = fabs(f->a.value[i * f->a.width + f->a.by + k]);
        f->usual[k] = clsi_median(f->a.n, one);
    }
    cls_status status = one && f->usual ? CLS_OK : clsi_no_memory(error);
    free(one);
    return status;
}

static cls_status find_invariants(search *f, size_t columns, double rcond, double zero,
                                  cls_error *error) {
    size_t rows = f->a.n / 2, count = 0;
    double *A = clsi_calloc((rows + 1) * columns, sizeof *A), *found = NULL;
    double *known = clsi_calloc(f->n_known * columns + 1, sizeof *known);
    cls_status status = A && known ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; status == CLS_OK && i < rows; i++) {
        const double *y = f->a.value + i * f->a.width;
        double unit = 1 / speed_of(f, y);
        for (size_t k = 0; k < columns; k++) {
            double size = unit * term_size(&f->term[k], y + f->a.at, y + f->a.by);
            A[i * columns + k] = unit * term_rate(&f->term[k], y + f->a.at, y + f->a.by);
            A[rows * columns + k] += size * size;
        }
    }
    for (size_t i = 0; status == CLS_OK && i < f->n_known; i++)
        memcpy(known + i * columns, f->known + i * f->n, columns * sizeof *known);
    clsi_null p = {rows, columns, A, A + rows * columns, rcond, zero, f->n_known, known};
    if (status == CLS_OK) status = clsi_null_rows(&p, &count, &found, error);
    free(A);
    free(known);
    for (size_t i = 0; status == CLS_OK && i < count; i++) {
        memset(f->row, 0, f->n * sizeof *f->row);
        memcpy(f->row, found + i * columns, columns * sizeof *found);
        double *c = clsi_calloc(f->n, sizeof *c);
        if (!c) status = clsi_no_memory(error);
        if (c) memcpy(c, f->row, f->n * sizeof *c);
        int fine = c && digits_of(ratio_of(f, c)) >= (rcond > exact ? f->least : 9);
        /* nearly: a motion must agree, so that it is no accident of where the states lie */
        if (fine && rcond > exact) fine = !(drift_of(f, c) > 0.02);
        if (fine) status = report(f, c, columns == f->a.ny, error);
        free(c);
    }
    free(found);
    return status;
}

/* ---- symmetries ---- */

static char *symmetry_text(const search *f, size_t n, const double *A, const double *b) {
    const cls_system *s = f->a.s;
    clsi_text t = {0};
    size_t shifts = 0, turns = 0, others = 0, scaled = 0;
    int equal = 1;
    double first = 0;
    for (size_t i = 0; i < n; i++) {
        if (b[i] != 0 && !shifts++) first = b[i];
        if (b[i] != 0) equal &= fabs(b[i] - first) < 1e-6;
        for (size_t j = 0; A && j < n; j++) {
            if (A[i * n + j] == 0) continue;
            scaled += i == j;
            if (fabs(A[i * n + j] + A[j * n + i]) > 1e-3)
                others++;
            else if (i < j)
                turns++;
        }
    }
    if (others == scaled && others && !shifts && !turns) {
        clsi_text_append(&t, "scaling of ");
        for (size_t i = 0, said = 0; i < n; i++)
            if (A[i * n + i] != 0)
                clsi_text_printf(&t, "%s%s by %.6g", said++ ? ", " : "", clsi_sample_name(s, i),
                                 A[i * n + i]);
        return clsi_text_take(&t);
    }
    if (others || (shifts && turns)) {
        clsi_text_append(&t, "a linear map of the coordinates");
        return clsi_text_take(&t);
    }
    size_t said = 0;
    for (size_t i = 0; i < n && shifts; i++)
        if (b[i] != 0) clsi_text_printf(&t, "%s%s", said++ ? ", " : "", clsi_sample_name(s, i));
    if (shifts)
        clsi_text_append(&t, shifts == 1 ? " shifted"
                             : equal     ? " shifted together"
                                         : " shifted against each other");
    for (size_t i = 0; i < n && turns; i++)
        for (size_t j = i + 1; j < n; j++)
            if (A[i * n + j] != 0)
                clsi_text_printf(&t, "%s(%s, %s)", said++ ? ", " : "rotation of ",
                                 clsi_sample_name(s, i), clsi_sample_name(s, j));
    return clsi_text_take(&t);
}

/* The momentum p.(A q + b) over the monomials. */
static void momentum_of(const search *f, size_t n, const double *map, int linear_only, double *c) {
    const double *b = map + (linear_only ? 0 : n * n);
    memset(c, 0, f->n * sizeof *c);
    for (size_t i = 0; i < n; i++) {
        c[f->a.nq + i] = b[i];
        for (size_t j = 0; !linear_only && j < n; j++) {
            size_t k = find_term(f, f->a.nq + i, j);
            if (k != SIZE_MAX) c[k] += map[i * n + j];
        }
    }
}

static cls_status keep_symmetry(search *f, size_t n, const double *map, int linear_only,
                                cls_error *error) {
    const double *b = map + (linear_only ? 0 : n * n);
    size_t at = f->n_momenta;
    double *grown = clsi_realloc(f->momentum, (at + 1) * f->n * sizeof *grown);
    if (grown) f->momentum = grown;
    char **names = clsi_realloc(f->symmetry, (at + 1) * sizeof *names);
    if (names) f->symmetry = names;
    char *text = symmetry_text(f, n, linear_only ? NULL : map, b);
    if (!grown || !names || !text) {
        free(text);
        return clsi_no_memory(error);
    }
    momentum_of(f, n, map, linear_only, f->momentum + at * f->n);
    f->symmetry[f->n_momenta++] = text;
    return CLS_OK;
}

static cls_status find_symmetries(search *f, double rcond, double zero, cls_error *error) {
    const clsi_samples *a = &f->a;
    size_t n = a->np, rows = a->n / 2, count = 0;
    int linear_only = n > MOST_MAPS || f->n == a->ny;
    size_t columns = linear_only ? n : n * n + n;
    if (!a->s->canonical || a->s->ode || !n || n > MOST_LINEAR) return CLS_OK;
    double *A = clsi_calloc((rows + 1) * columns, sizeof *A), *found = NULL;
    if (!A) return clsi_no_memory(error);
    double *size = A + rows * columns;
    for (size_t r = 0; r < rows; r++) {
        const double *y = a->value + r * a->width, *v = y + a->v, *slope = y + a->slope;
        double *row = A + r * columns, unit = 1 / speed_of(f, y);
        for (size_t i = 0; i < n && !linear_only; i++)
            for (size_t j = 0; j < n; j++) {
                double along = unit * slope[i] * y[j], against = unit * v[j] * y[a->nq + i];
                row[i * n + j] = along - against;
                size[i * n + j] += along * along + against * against;
            }
        for (size_t i = 0; i < n; i++) {
            row[columns - n + i] = unit * slope[i];
            size[columns - n + i] += row[columns - n + i] * row[columns - n + i];
        }
    }
    clsi_null p = {rows, columns, A, size, rcond, zero, 0, NULL};
    cls_status status = clsi_null_rows(&p, &count, &found, error);
    free(A);
    for (size_t i = 0; status == CLS_OK && i < count; i++)
        status = keep_symmetry(f, n, found + i * columns, linear_only, error);
    free(found);
    return status;
}

/* Those whose momentum does not stay: the energy allows it, forces or frictions do not. */
static cls_status report_broken(search *f, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t i = 0; status == CLS_OK && i < f->n_momenta; i++) {
        const double *c = f->momentum + i * f->n;
        double ratio = ratio_of(f, c);
        if (digits_of(ratio) >= f->least) continue;
        cls_found what = {.kind = CLS_FOUND_SYMMETRY,
                          .digits = 16,
                          .exact = 1,
                          .rate = ratio,
                          .drift = drift_of(f, c)};
        const char *why = "forces or frictions change its momentum";
        if (digits_of(ratio_at(f, c, 0, f->a.rate)) >= f->least)
            why = "the flow keeps its momentum, the scheme does not";
        status = clsi_found_add(f->out, &what, combination_text(f, c), clsi_strdup(f->symmetry[i]),
                                clsi_strdup(why), clsi_strdup(""), error);
    }
    return status;
}

/* ---- Casimir functions ---- */

/* Rows B grad f_k = 0 for every y of (q, p): columns are the monomials without entropies. */
static cls_status find_casimirs(search *f, cls_error *error) {
    const clsi_samples *a = &f->a;
    size_t nb = a->nq + a->np, n = 0, count = 0, states = a->n / 2;
    if (!a->n_bracket || f->n == a->ny) return CLS_OK;
    size_t *column = clsi_calloc(f->n, sizeof *column);
    for (size_t k = 0; column && k < f->n; k++)
        if (f->term[k].i < nb && (f->term[k].j == SIZE_MAX || f->term[k].j < nb)) column[n++] = k;
    double *A = clsi_calloc((states * nb + 1) * n + 1, sizeof *A), *found = NULL;
    double *c = clsi_calloc(f->n, sizeof *c);
    cls_status status = column && A && c ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; status == CLS_OK && i < states; i++) {
        const double *y = a->value + i * a->width, *B = y + a->bracket;
        for (size_t k = 0; k < n; k++) {
            const monomial *t = &f->term[column[k]];
            for (size_t e = 0; e < a->n_bracket; e++) {
                size_t r = a->bracket_row[e], s = a->bracket_column[e];
                double slope = 0;
                if (t->i == s) slope += t->j == SIZE_MAX ? 1 : y[t->j];
                if (t->j == s) slope += y[t->i];
                A[(i * nb + r) * n + k] += B[e] * slope;
                A[states * nb * n + k] += B[e] * B[e] * slope * slope;
            }
        }
    }
    clsi_null p = {states * nb, n, A, A + states * nb * n, exact, 1e-8, 0, NULL};
    if (status == CLS_OK) status = clsi_null_rows(&p, &count, &found, error);
    for (size_t i = 0; status == CLS_OK && i < count; i++) {
        memset(c, 0, f->n * sizeof *c);
        for (size_t k = 0; k < n; k++) c[column[k]] = found[i * n + k];
        double ratio = ratio_of(f, c);
        int kept = ratio <= 10 * exact;
        cls_found what = {.kind = CLS_FOUND_CASIMIR,
                          .digits = 16,
                          .exact = 1,
                          .rate = ratio,
                          .drift = drift_of(f, c)};
        status = clsi_found_add(
            f->out, &what, combination_text(f, c), clsi_strdup(""),
            clsi_strdup(kept ? "kept whatever the energy is, and by the frictions"
                        : f->scheme && ratio_at(f, c, 0, f->a.rate) <= 10 * exact
                            ? "kept whatever the energy is; the scheme changes it"
                            : "kept whatever the energy is; forces or frictions change it"),
            clsi_strdup(""), error);
    }
    free(A);
    free(c);
    free(column);
    free(found);
    return status;
}

/* ---- all of it ---- */

static cls_status search_all(search *f, cls_error *error) {
    /* Rates of learned parts differ from symmetric ones by their errors: the same search again with
     * a null space as wide as that. */
    double near = pow(10, -f->least);
    size_t passes = f->model && near > 100 * exact ? 2 : 1;
    cls_status status =
        find_symmetries(f, passes == 2 ? near : exact, passes == 2 ? 0.02 : 1e-8, error);
    for (size_t pass = 0; status == CLS_OK && pass < passes; pass++) {
        double rcond = pass ? near : exact, zero = pass ? 0.02 : 1e-8;
        status = find_invariants(f, f->a.ny, rcond, zero, error);
        if (status == CLS_OK) status = know_products(f, error);
        if (status == CLS_OK) status = know_energy(f, error);
        if (status == CLS_OK && f->n > f->a.ny)
            status = find_invariants(f, f->n, rcond, zero, error);
    }
    if (status == CLS_OK) status = find_casimirs(f, error);
    if (status == CLS_OK) status = report_broken(f, error);
    return status;
}

static void clear(search *f) {
    clsi_samples_clear(&f->a);
    free(f->term);
    free(f->row);
    free(f->known);
    free(f->usual);
    free(f->momentum);
    for (size_t i = 0; i < f->n_momenta; i++) free(f->symmetry[i]);
    free(f->symmetry);
}

static cls_status describe(search *f, const cls_system *s, cls_error *error) {
    clsi_text title = {0}, notes = {0};
    clsi_text_printf(&title, "laws found in %s%s", s->name, f->model ? ", learned" : "");
    if (f->scheme) clsi_text_printf(&title, ", of one step of %s with h = %g", f->scheme, f->h);
    if (f->n == f->a.ny)
        clsi_text_printf(&notes,
                         "quadratic functions were not looked for: %zu variables, at most %d\n",
                         f->a.ny, MOST_QUADRATIC);
    else
        clsi_text_append(&notes, "");
    f->out->title = clsi_text_take(&title);
    f->out->notes = clsi_text_take(&notes);
    f->out->states = f->a.n;
    return f->out->title && f->out->notes ? CLS_OK : clsi_no_memory(error);
}

cls_invariants_options cls_invariants_defaults(void) {
    return (cls_invariants_options){.size = sizeof(cls_invariants_options), .seed = 1};
}

cls_status cls_invariants_find(const cls_system *system, const cls_model *model,
                               const cls_invariants_options *options, cls_invariants **out,
                               cls_error *error) {
    NEED(error, out);
    *out = NULL;
    cls_invariants_options o = cls_invariants_defaults();
    TAKE_OPTIONS(&o, options);
    const cls_system *s = model ? cls_model_system(model) : system;
    NEED(error, s);
    if (o.states && (!o.n_states || o.stride < s->form->nz))
        return clsi_fail(error, CLS_USAGE, "states: %zu rows of %zu numbers, expected %zu or more",
                         o.n_states, o.stride, s->form->nz);
    if (s->form->nz > MOST_LINEAR)
        return clsi_fail(error, CLS_USAGE,
                         "'%s' has %zu variables; invariants are looked for in systems of at most "
                         "%d",
                         s->name, s->form->nz, MOST_LINEAR);
    search f = {.model = model, .least = o.least_digits > 0 ? o.least_digits : model ? 3 : 9};
    f.scheme = o.scheme;
    f.h = o.h > 0 ? o.h : cls_system_default_step(s);
    size_t ny = s->form->nz, terms = ny <= MOST_QUADRATIC ? ny * (ny + 3) / 2 : ny;
    size_t maps = s->n <= MOST_MAPS ? s->n * s->n + s->n : s->n;
    size_t most = terms > maps ? terms : maps;
    size_t wanted = 6 * most > LEAST_STATES ? 6 * most : LEAST_STATES;
    unsigned long before = clsi_failures();
    cls_status status = clsi_parameters_known(s, error);
    f.out = clsi_calloc(1, sizeof *f.out);
    if (!f.out) status = clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_samples_create(s, model, wanted, &o, 0, &f.a, error);
    if (status == CLS_OK) status = make_terms(&f, error);
    if (status == CLS_OK) status = measure_rates(&f, error);
    if (status == CLS_OK) status = search_all(&f, error);
    if (status == CLS_OK && !o.scheme) status = clsi_gauge_find(&f.a, model, f.out, error);
    if (status == CLS_OK) status = describe(&f, s, error);
    clear(&f);
    status = clsi_failed_since(before, status, error);
    *out = f.out;
    if (status != CLS_OK) cls_invariants_free(out);
    return status;
}
