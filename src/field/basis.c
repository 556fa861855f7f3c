/* Fields that are linear in their parameters: total-degree polynomial bases on scaled inputs.
 *
 *     phi(x) = sum over multi-indices a, 1 <= |a| <= D, of theta_a prod_i P_{a_i}(x_i)
 *
 * with P the Chebyshev polynomials or the monomials. The constant is left out: it is a gauge
 * freedom of every generating function (docs/physics/structure.md); where a field needs it (a
 * friction coefficient does), the spec says so: chebyshev(5, constant). Costs binomial(D + d, d)
 * terms a sample; rows are exact and cheap, because a row is the basis itself.
 *
 * chebyshev(4, even 1 3): even in the inputs 1, 2, 3 (counted from 0) together, two powers of which
 * count as one degree. This is what polynomials in their products are, without the products that
 * are equal (x^2 y^2 = (x y)^2): for three velocities and a temperature 175 terms, not 330.
 *
 * chebyshev(8, pairs): terms of at most two inputs, so that the function is a sum of functions of two;
 * chebyshev(8, additive): of one. For ten inputs 1,340 and 80 terms, not 43,757.
 *
 * chebyshev(8, split 2 2): no term has inputs 2, 3 (counted from 0) beside others, so that the function
 * is a sum of one of these and one of the rest: an energy of momenta and an energy of places;
 * chebyshev(8, split 2 2 2): the former of degree 2 at most.
 *
 * chebyshev(6, only 0 2 9): of these terms, counted from 0, the listed ones. It is what a choice of
 * terms leaves (src/learn/noise/terms.c). */
#include "field/linear_pairs.h"
#include "base/base.h"
#include "base/vectors.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_DEGREE = 30, MAX_TERMS = 20000 };

typedef struct basis {
    int degree, monomial;
    size_t n;               /* terms */
    unsigned char powers[]; /* (n, d) */
} basis;

static const basis *of(const clsi_field *f) {
    return f->data;
}

/* ---- creation ---- */

/* What stands in the parentheses. */
typedef struct wish {
    long degree;
    size_t first, count; /* inputs with an even total degree, two of which count as one */
    int constant;
    size_t together;           /* inputs in a term at most; 0: all */
    size_t apart, apart_count; /* inputs that stand in no term beside others; count 0: none */
    long apart_degree;         /* of these; 0: as of the others */
    const char *only;          /* numbers of terms, increasing; NULL: all */
} wish;

static int is_wanted(const wish *w, size_t d, const unsigned char *a) {
    long even = 0, all = 0, apart = 0;
    size_t together = 0;
    for (size_t i = 0; i < d; i++) {
        all += a[i];
        together += a[i] > 0;
        if (i >= w->first && i < w->first + w->count) even += a[i];
        if (i >= w->apart && i < w->apart + w->apart_count) apart += a[i];
    }
    if (w->together && together > w->together) return 0;
    if (apart && (apart < all || (w->apart_degree && apart > w->apart_degree))) return 0;
    return even % 2 == 0 && all - even / 2 <= w->degree && (all > 0 || w->constant);
}

/* Multi-indices in graded order; writes them if `out`, returns their number. */
static size_t enumerate(size_t d, const wish *w, unsigned char *out) {
    unsigned char a[CLSI_FIELD_MAX_INPUTS];
    size_t n = 0, tried = 0;
    long most = w->count ? 2 * w->degree : w->degree;
    for (long total = 0; total <= most; total++) {
        memset(a, 0, sizeof a);
        a[0] = (unsigned char)total;
        for (;;) {
            if (is_wanted(w, d, a)) {
                if (out) memcpy(out + n * d, a, d);
                n++;
            }
            if (n > MAX_TERMS || ++tried > 100 * MAX_TERMS) return MAX_TERMS + 1;
            /* next composition of `total` into d parts, in colex order */
            size_t i = 0;
            while (i < d && a[i] == 0) i++;
            if (i + 1 >= d) break;
            unsigned char rest = (unsigned char)(a[i] - 1);
            a[i] = 0;
            a[0] = rest;
            a[i + 1]++;
        }
    }
    return n;
}

/* "8", "5, constant", "4, even 1 3", "4, even 1 3, constant", each perhaps with ", pairs" or
 * ", additive", then perhaps with ", split 2 2" or ", split 2 2 2", then perhaps with ", only 0 2 9" */
static int read_wish(const char *text, size_t d, wish *w) {
    char *end;
    int used = 0;
    *w = (wish){.degree = strtol(text, &end, 10)};
    if (end == text || w->degree < 1 || w->degree > MAX_DEGREE) return 0;
    end += strspn(end, " ,");
    if (sscanf(end, "even %zu %zu%n", &w->first, &w->count, &used) == 2 && used) {
        if (w->count < 1 || w->first >= d || w->count > d - w->first) return 0;
        if (2 * w->degree > MAX_DEGREE) return 0;
        end += used;
        end += strspn(end, " ,");
    }
    if (strncmp(end, "constant", 8) == 0) {
        w->constant = 1;
        end += 8;
        end += strspn(end, " ,");
    }
    static const char *const words[] = {"additive", "pairs"};
    for (size_t k = 0; k < 2; k++)
        if (strncmp(end, words[k], strlen(words[k])) == 0) {
            w->together = k + 1;
            end += strlen(words[k]);
            end += strspn(end, " ,");
        }
    used = 0;
    if (sscanf(end, "split %zu %zu%n", &w->apart, &w->apart_count, &used) == 2 && used) {
        if (w->apart_count < 1 || w->apart >= d || w->apart_count > d - w->apart) return 0;
        end += used;
        used = 0;
        if (sscanf(end, " %ld%n", &w->apart_degree, &used) == 1) end += used;
        if (used && w->apart_degree < 1) return 0;
        end += strspn(end, " ,");
    }
    if (strncmp(end, "only ", 5) == 0) {
        w->only = end + 5;
        return strspn(w->only, "0123456789 ") == strlen(w->only);
    }
    return !*end;
}

/* Keeps the listed terms of n; their number, 0 when the list is none of increasing numbers below n. */
static size_t keep_listed(const char *list, size_t d, size_t n, unsigned char *powers) {
    size_t kept = 0, last = 0;
    for (;;) {
        char *end;
        unsigned long k = strtoul(list, &end, 10);
        if (end == list) return *end ? 0 : kept;
        if (k >= n || (kept && k <= last)) return 0;
        memmove(powers + kept++ * d, powers + k * d, d);
        last = k;
        list = end + strspn(end, " ");
    }
}

static cls_status create(clsi_field *f, const char *arguments, int monomial, cls_error *error) {
    wish w;
    if (!read_wish(arguments, f->d, &w))
        return clsi_fail(
            error, CLS_USAGE,
            "%s(%s): expected a degree from 1 to %d (half of that for even), then "
            "perhaps `, even FIRST COUNT` of the %zu inputs, then perhaps `, constant`, then "
            "perhaps `, pairs` or `, additive`, then perhaps `, split FIRST COUNT [DEGREE]`, then "
            "perhaps "
            "`, only` and the numbers of terms",
            f->kind->name, arguments, (int)MAX_DEGREE, f->d);
    size_t n = enumerate(f->d, &w, NULL);
    if (n > MAX_TERMS)
        return clsi_fail(error, CLS_USAGE, "%s(%ld) of %zu inputs has more than %d terms",
                         f->kind->name, w.degree, f->d, (int)MAX_TERMS);
    basis *b = clsi_calloc(1, sizeof *b + n * f->d);
    if (!b) return clsi_no_memory(error);
    *b = (basis){.degree = (int)(w.count ? 2 * w.degree : w.degree), .monomial = monomial, .n = n};
    enumerate(f->d, &w, b->powers);
    f->data = b;
    if (w.only && !(b->n = keep_listed(w.only, f->d, n, b->powers)))
        return clsi_fail(error, CLS_USAGE,
                         "%s(%s): `only` takes increasing numbers of terms, from 0 to %zu",
                         f->kind->name, arguments, n - 1);
    f->n_parameters = b->n;
    f->even_first = w.first;
    f->even_count = w.count;
    return CLS_OK;
}

static cls_status create_chebyshev(clsi_field *f, const char *arguments, cls_error *error) {
    return create(f, arguments, 0, error);
}

static cls_status create_monomial(clsi_field *f, const char *arguments, cls_error *error) {
    return create(f, arguments, 1, error);
}

static void initialise(const clsi_field *f, cls_random *random, double *theta) {
    (void)random;
    memset(theta, 0, f->n_parameters * sizeof *theta);
}

/* ---- one-dimensional polynomials ---- */

/* P_k(x) and P_k'(x), k <= D. */
static void polynomials(const basis *b, double x, double *p, double *dp) {
    p[0] = 1;
    dp[0] = 0;
    for (int k = 1; k <= b->degree; k++) {
        if (b->monomial || k == 1) {
            p[k] = x * p[k - 1];
            dp[k] = p[k - 1] + x * dp[k - 1];
        } else {
            p[k] = 2 * x * p[k - 1] - p[k - 2];
            dp[k] = 2 * p[k - 1] + 2 * x * dp[k - 1] - dp[k - 2];
        }
    }
}

typedef struct table {
    double p[CLSI_FIELD_MAX_INPUTS][MAX_DEGREE + 1], dp[CLSI_FIELD_MAX_INPUTS][MAX_DEGREE + 1];
} table;

static void fill_table(const clsi_field *f, const double *x, table *t) {
    for (size_t i = 0; i < f->d; i++) polynomials(of(f), x[i], t->p[i], t->dp[i]);
}

/* a value + b.gradient of one term: product rule by prefix and suffix would save little for the
 * few inputs there are. */
static double term(const clsi_field *f, const table *t, const unsigned char *powers, double a,
                   const double *b) {
    double value = 1, tangent = 0; /* tangent: derivative of the product along b */
    for (size_t i = 0; i < f->d; i++) {
        double p = t->p[i][powers[i]];
        tangent = tangent * p + (b ? value * b[i] * t->dp[i][powers[i]] : 0);
        value *= p;
    }
    return a * value + tangent;
}

/* ---- functions of one input, several samples side by side ----
 *
 * A recurrence waits for itself: eight of them take as long as one. One unknown function at the places of a large
 * array is asked for at millions of points. The operations of a sample are those above, in their order. */
enum { SIDE = 8 };

typedef struct side {
    double p[MAX_DEGREE + 1][SIDE], dp[MAX_DEGREE + 1][SIDE];
} side;

CLONES static void side_polynomials(const basis *b, const double *x, side *t) {
    for (size_t s = 0; s < SIDE; s++) t->p[0][s] = 1, t->dp[0][s] = 0;
    for (int k = 1; k <= b->degree; k++) {
        const double *p1 = t->p[k - 1], *dp1 = t->dp[k - 1];
        if (b->monomial || k == 1)
            for (size_t s = 0; s < SIDE; s++) {
                t->p[k][s] = x[s] * p1[s];
                t->dp[k][s] = p1[s] + x[s] * dp1[s];
            }
        else
            for (size_t s = 0; s < SIDE; s++) {
                t->p[k][s] = 2 * x[s] * p1[s] - t->p[k - 2][s];
                t->dp[k][s] = 2 * p1[s] + 2 * x[s] * dp1[s] - t->dp[k - 2][s];
            }
    }
}

CLONES static void side_sums(const basis *b, const double *theta, const side *t, double *sum,
                             double *slope) {
    for (size_t s = 0; s < SIDE; s++) sum[s] = slope[s] = 0;
    for (size_t k = 0; k < b->n; k++) {
        const double *p = t->p[b->powers[k]], *dp = t->dp[b->powers[k]];
        for (size_t s = 0; s < SIDE; s++) {
            sum[s] += theta[k] * p[s];
            slope[s] += dp[s] * theta[k];
        }
    }
}

static void evaluate_side(const basis *b, const double *theta, size_t n, const double *x,
                          double *value, double *gradient) {
    side t;
    double at[SIDE] = {0}, sum[SIDE], slope[SIDE];
    for (size_t s = 0; s < n; s += SIDE) {
        size_t many = n - s < SIDE ? n - s : SIDE;
        memcpy(at, x + s, many * sizeof *at);
        side_polynomials(b, at, &t);
        side_sums(b, theta, &t, sum, slope);
        if (value) memcpy(value + s, sum, many * sizeof *sum);
        if (gradient) memcpy(gradient + s, slope, many * sizeof *slope);
    }
}

/* Rows of the samples which[many], each with its own multiples of value and slope. */
static void side_rows(const basis *b, size_t many, const size_t *which, const double *x,
                      const double *a, const double *slope, size_t stride, double *out) {
    side t;
    double at[SIDE] = {0};
    for (size_t s = 0; s < many; s++) at[s] = x[which[s]];
    side_polynomials(b, at, &t);
    for (size_t k = 0; k < b->n; k++) {
        const double *p = t.p[b->powers[k]], *dp = t.dp[b->powers[k]];
        for (size_t s = 0; s < many; s++) {
            double tangent = 0 * p[s] + (slope ? slope[which[s]] * dp[s] : 0);
            out[which[s] * stride + k] += (a ? a[which[s]] : 0) * p[s] + tangent;
        }
    }
}

static void rows_side(const basis *b, size_t n, const double *x, const double *a,
                      const double *slope, size_t stride, double *out) {
    size_t which[SIDE], many = 0;
    for (size_t s = 0; s < n; s++) {
        if (!(a && a[s] != 0) && !(slope && slope[s] != 0)) continue;
        which[many++] = s;
        if (many < SIDE) continue;
        side_rows(b, many, which, x, a, slope, stride, out);
        many = 0;
    }
    if (many) side_rows(b, many, which, x, a, slope, stride, out);
}

/* ---- the interface ---- */

static void evaluate(const clsi_field *f, const double *theta, size_t n, const double *x,
                     double *value, double *gradient, double *scratch) {
    (void)scratch;
    const basis *b = of(f);
    table t;
    if (f->d == 1) {
        evaluate_side(b, theta, n, x, value, gradient);
        return;
    }
    for (size_t s = 0; s < n; s++) {
        fill_table(f, x + s * f->d, &t);
        double sum = 0, slope[CLSI_FIELD_MAX_INPUTS] = {0};
        for (size_t k = 0; k < b->n; k++) {
            const unsigned char *powers = b->powers + k * f->d;
            double prefix[CLSI_FIELD_MAX_INPUTS + 1], suffix = theta[k];
            prefix[0] = 1;
            for (size_t i = 0; i < f->d; i++) prefix[i + 1] = prefix[i] * t.p[i][powers[i]];
            sum += theta[k] * prefix[f->d];
            for (size_t i = f->d; gradient && i-- > 0;) {
                slope[i] += prefix[i] * t.dp[i][powers[i]] * suffix;
                suffix *= t.p[i][powers[i]];
            }
        }
        if (value) value[s] = sum;
        if (gradient) memcpy(gradient + s * f->d, slope, f->d * sizeof *slope);
    }
}

static void rows(const clsi_field *f, const double *theta, size_t n, const double *x,
                 const double *a, const double *b, size_t stride, double *out, double *scratch) {
    (void)theta, (void)scratch;
    const basis *basis_ = of(f);
    table t;
    if (f->d == 1) {
        rows_side(basis_, n, x, a, b, stride, out);
        return;
    }
    for (size_t s = 0; s < n; s++) {
        int any = a && a[s] != 0;
        for (size_t i = 0; i < f->d && b && !any; i++) any = b[s * f->d + i] != 0;
        if (!any) continue; /* the ends of a window, of which only the states are asked for */
        fill_table(f, x + s * f->d, &t);
        for (size_t k = 0; k < basis_->n; k++)
            out[s * stride + k] +=
                term(f, &t, basis_->powers + k * f->d, a ? a[s] : 0, b ? b + s * f->d : NULL);
    }
}

/* P_k''(x), k <= D, by the recurrence differentiated twice. */
static void second_polynomials(const basis *b, double x, const double *dp, double *ddp) {
    ddp[0] = ddp[1] = 0;
    for (int k = 2; k <= b->degree; k++)
        ddp[k] = b->monomial ? 2 * dp[k - 1] + x * ddp[k - 1]
                             : 4 * dp[k - 1] + 2 * x * ddp[k - 1] - ddp[k - 2];
}

static void second_rows(const clsi_field *f, const double *theta, size_t n, const double *x,
                        size_t i, size_t j, const double *c, size_t stride, double *out,
                        double *scratch) {
    (void)theta, (void)scratch;
    const basis *b = of(f);
    table t;
    double ddp[MAX_DEGREE + 1];
    for (size_t s = 0; s < n; s++) {
        fill_table(f, x + s * f->d, &t);
        second_polynomials(b, x[s * f->d + i], t.dp[i], ddp);
        for (size_t k = 0; k < b->n; k++) {
            const unsigned char *powers = b->powers + k * f->d;
            double product = c[s];
            for (size_t q = 0; q < f->d; q++)
                product *= (q != i && q != j ? t.p[q] : i != j ? t.dp[q] : ddp)[powers[q]];
            out[s * stride + k] += product;
        }
    }
}

static void reverse(const clsi_field *f, const double *theta, size_t n, const double *x,
                    const double *a, const double *b, double *out, double *scratch) {
    rows(f, theta, n, x, a, b, 0, out, scratch); /* stride 0: all samples into one row */
}

static size_t scratch_size(const clsi_field *f, size_t n) {
    (void)f, (void)n;
    return 0;
}

/* ---- discrete gradients ---- */

/* Of one input between u and w: P_k(u), P_k(w) and the divided difference P_k[u, w], by the
 * recurrence with (x P)[u, w] = (u + w)/2 P[u, w] + (P(u) + P(w))/2: no difference is divided. */
typedef struct quotients {
    double u[MAX_DEGREE + 1], w[MAX_DEGREE + 1], q[MAX_DEGREE + 1];
} quotients;

static void fill_quotients(const basis *b, double u, double w, quotients *t) {
    double mean = 0.5 * (u + w);
    t->u[0] = t->w[0] = 1;
    t->q[0] = 0;
    for (int k = 1; k <= b->degree; k++) {
        int two = !b->monomial && k > 1; /* P_k = 2 x P_(k-1) - P_(k-2), else x P_(k-1) */
        double f = two ? 2 : 1;
        t->u[k] = f * u * t->u[k - 1] - (two ? t->u[k - 2] : 0);
        t->w[k] = f * w * t->w[k - 1] - (two ? t->w[k - 2] : 0);
        t->q[k] =
            f * (mean * t->q[k - 1] + 0.5 * (t->u[k - 1] + t->w[k - 1])) - (two ? t->q[k - 2] : 0);
    }
}

/* b.gbar of one term, a product nested as `expression` nests it: outer factors by their mean, inner
 * ones by the mean of their product. */
static double discrete_term(size_t d, const quotients *t, const unsigned char *powers,
                            const double *b) {
    double sum = 0, u = 1, w = 1;
    for (size_t i = 0; i < d; i++) {
        size_t k = powers[i];
        sum = sum * 0.5 * (t[i].u[k] + t[i].w[k]) + b[i] * t[i].q[k] * 0.5 * (u + w);
        u *= t[i].u[k];
        w *= t[i].w[k];
    }
    return sum;
}

static void discrete_row(const clsi_field *f, const double *u, const double *w, const double *b,
                         double *row) {
    const basis *all = of(f);
    quotients t[CLSI_FIELD_MAX_INPUTS];
    for (size_t i = 0; i < f->d; i++) fill_quotients(all, u[i], w[i], &t[i]);
    for (size_t k = 0; k < all->n; k++) row[k] += discrete_term(f->d, t, all->powers + k * f->d, b);
}

CLSI_LINEAR_PAIRS_OPEN(discrete_row)

static const clsi_field_pairs discrete = CLSI_LINEAR_PAIRS(discrete_row);

/* P_k at a node, by the recurrence, so that equal polynomials are one node. */
static cls_node polynomial_node(cls_graph *g, const basis *b, cls_node x, int k) {
    cls_node before = cls_constant(g, 1), now = x, two = cls_constant(g, 2);
    if (k == 0) return before;
    if (b->monomial) return cls_pow(g, x, cls_constant(g, k));
    for (int i = 2; i <= k; i++) {
        cls_node next = cls_sub(g, cls_mul(g, two, cls_mul(g, x, now)), before);
        before = now;
        now = next;
    }
    return now;
}

/* Nested in the last input, then the one before, ...: sum over k of P_k(x_i) (rest), so that each
 * polynomial multiplies once. first..last: terms with equal powers of the inputs above i. */
static cls_node nested(const clsi_field *f, cls_graph *g, const cls_node *x, const cls_node *theta,
                       size_t i, unsigned char *fixed) {
    const basis *b = of(f);
    cls_node sum = cls_constant(g, 0);
    int above = 0;
    for (size_t j = i + 1; j < f->d; j++) above += fixed[j];
    for (int k = 0; k + above <= b->degree; k++) {
        fixed[i] = (unsigned char)k;
        cls_node inner;
        if (i > 0) {
            inner = nested(f, g, x, theta, i - 1, fixed);
        } else {
            inner = cls_constant(g, 0);
            for (size_t t = 0; t < b->n; t++)
                if (memcmp(b->powers + t * f->d, fixed, f->d) == 0) inner = theta[t];
        }
        if (cls_is_constant(g, inner, 0)) continue;
        sum = cls_add(g, sum, cls_mul(g, polynomial_node(g, b, x[i], k), inner));
    }
    return sum;
}

static cls_node expression(const clsi_field *f, cls_graph *g, const cls_node *x,
                           const cls_node *theta) {
    unsigned char fixed[CLSI_FIELD_MAX_INPUTS] = {0};
    return nested(f, g, x, theta, f->d - 1, fixed);
}

const clsi_field_kind clsi_field_chebyshev = {.name = "chebyshev",
                                              .doc = "Chebyshev polynomials of a total degree",
                                              .linear = 1,
                                              .create = create_chebyshev,
                                              .initialise = initialise,
                                              .evaluate = evaluate,
                                              .rows = rows,
                                              .second_rows = second_rows,
                                              .reverse = reverse,
                                              .scratch = scratch_size,
                                              .expression = expression,
                                              .pairs = &discrete};

const clsi_field_kind clsi_field_monomial = {.name = "monomial",
                                             .doc = "monomials of a total degree",
                                             .linear = 1,
                                             .create = create_monomial,
                                             .initialise = initialise,
                                             .evaluate = evaluate,
                                             .rows = rows,
                                             .second_rows = second_rows,
                                             .reverse = reverse,
                                             .scratch = scratch_size,
                                             .expression = expression,
                                             .pairs = &discrete};

const unsigned char *clsi_field_powers(const clsi_field *f, size_t k) {
    int is_basis = f->kind == &clsi_field_chebyshev || f->kind == &clsi_field_monomial;
    return is_basis && k < f->n_parameters ? of(f)->powers + k * f->d : NULL;
}
