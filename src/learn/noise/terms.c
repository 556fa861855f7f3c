/* Which terms of a basis noisy data justify.
 *
 * Near a fit the sum of squares is quadratic in all coefficients, those of terms that are not in it
 * yet included: L(t) = t.S t/2 - b.t + const, b = S theta - g. Its least value over a set M of terms
 * is -b_M.S_MM^-1 b_M/2, so that one evaluation of S and g over the whole dictionary tells what each
 * term would gain and what each is worth, without a fit for any of them. Bayes' criterion: a term
 * stays when it lowers the sum of squares (in units of the noise) by more than log N, and by what it
 * costs to name it: twice the log of the number of terms up to its degree, so that of two terms that
 * explain the same the simpler one is taken. The sums over sets are made by the sweep operator, one
 * pivot for each move.
 *
 * It is a search by single moves and by exchanges of one for another, not over all sets; that costs
 * (moves + exchanges) P^2, a number of exchanges being that of the terms there are. Of the terms that laws are
 * written in all sets of up to three are looked at as well: r^2, r and the height of a spring that swings
 * explain next to nothing without each other, and no way of single moves that pay leads there. */
#include "learn/noise/terms.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranges ---- */

enum { FREE_DEGREE = 2 }; /* terms up to it need no simpler one beside them */
static const double TAIL = 0.01, MORE = 0.1, NEARLY = 0.2;

cls_status clsi_terms_calm(clsi_unknowns *us, const clsi_points *p, cls_error *error) {
    size_t most = 0;
    for (size_t i = 0, end; i < us->n; i = end) {
        end = clsi_group_end(us, i);
        if (end - i > most) most = end - i;
    }
    double *sorted = clsi_calloc(most * p->n + 1, sizeof *sorted);
    if (!sorted) return clsi_no_memory(error);
    for (size_t i = 0; i < us->n; i++) {
        clsi_unknown *u = &us->list[i];
        clsi_learned *l = &u->learned;
        size_t group = clsi_group_end(us, i) - i, n = group * p->n;
        if (u->again || l->field->kind->raw || clsi_field_word(u->spec, "unscaled")) continue;
        for (size_t k = 0; k < l->d; k++) {
            int even = k >= l->field->even_first && k - l->field->even_first < l->field->even_count;
            for (size_t s = 0; s < n; s++)
                sorted[s] = l->center[k] + l->half[k] * u[s / p->n].x[s % p->n * l->d + k];
            clsi_sort(n, sorted);
            size_t tail = (size_t)(TAIL * (double)n);
            double low = sorted[tail], high = sorted[n - 1 - tail], more = MORE * (high - low);
            if (!(high > low)) continue;
            low -= more, high += more;
            double center = (low + high) / 2, half = (high - low) / 2;
            if (even || fabs(center) < NEARLY * half) {
                center = 0;
                half = fmax(fabs(low), fabs(high));
            }
            for (size_t s = 0; s < n; s++) {
                double *x = &u[s / p->n].x[s % p->n * l->d + k];
                *x = (l->center[k] + l->half[k] * *x - center) / half;
            }
            l->center[k] = center;
            l->half[k] = half;
        }
    }
    free(sorted);
    clsi_unknowns_share(us);
    return CLS_OK;
}

/* ---- bases with fewer terms ---- */

int clsi_terms_free(const clsi_unknowns *us, size_t i) {
    const clsi_unknown *u = &us->list[i];
    return u->natural || (!u->spec && clsi_field_powers(u->learned.field, 0) != NULL);
}

const char *clsi_terms_next(const char **rest, size_t *length) {
    const char *term = *rest + strspn(*rest, " ");
    size_t n = strcspn(term, ";");
    int last = !term[n];
    *rest = term + n + !last;
    *length = n - (size_t)last; /* without the bracket */
    return term;
}

int clsi_terms_positive(const clsi_unknowns *us, size_t i) {
    static const char *const positive[] = {"1/sqrt(", "sqrt("};
    const clsi_unknown *u = &us->list[i];
    if (!u->spec || strncmp(u->spec, "terms(", 6)) return 0;
    if (u->kind != CLSI_PART_FRICTION && u->kind != CLSI_PART_HEAT) return 0;
    for (const char *rest = u->spec + 6; *rest;) {
        size_t n;
        const char *at = clsi_terms_next(&rest, &n);
        int one = n == 1 && *at == '1';
        for (size_t k = 0; k < 2; k++) one |= !strncmp(at, positive[k], strlen(positive[k]));
        if (!one) return 0;
    }
    return 1;
}

/* "terms(a; b; c)" without those that are not kept. */
static void keep_formulas(const char *whole, size_t n, const unsigned char *keep, clsi_text *out) {
    const char *rest = strchr(whole, '(') + 1;
    size_t kept = 0, length;
    clsi_text_append(out, "terms(");
    for (size_t k = 0; k < n; k++) {
        const char *term = clsi_terms_next(&rest, &length);
        if (keep[k]) clsi_text_printf(out, "%s%.*s", kept++ ? "; " : "", (int)length, term);
    }
    clsi_text_append(out, ")");
}

static cls_status thin(clsi_learned *l, const unsigned char *keep, cls_error *error) {
    clsi_text spec = {0};
    size_t n = l->field->n_parameters, kept = 0;
    const char *whole = l->field->spec;
    for (size_t k = 0; k < n; k++) kept += keep[k];
    if (kept == n) return CLS_OK;
    if (l->field->kind->raw) {
        keep_formulas(whole, n, keep, &spec);
    } else {
        clsi_text_printf(&spec, "%.*s, only", (int)strlen(whole) - 1, whole);
        for (size_t k = 0; k < n; k++)
            if (keep[k]) clsi_text_printf(&spec, " %zu", k);
        clsi_text_append(&spec, ")");
    }
    char *text = clsi_text_take(&spec);
    if (!text) return clsi_no_memory(error);
    clsi_field *field;
    cls_status status = clsi_field_create(l->d, text, (const char *const *)l->input, &field, error);
    free(text);
    if (status != CLS_OK) return status;
    clsi_field_free(&l->field);
    l->field = field;
    return CLS_OK;
}

cls_status clsi_terms_keep(clsi_unknowns *us, const unsigned char *keep, cls_error *error) {
    cls_status status = CLS_OK;
    size_t at = 0;
    us->n_theta = 0;
    for (size_t i = 0; i < us->n && status == CLS_OK; i++) {
        clsi_learned *l = &us->list[i].learned;
        if (us->list[i].again) continue;
        size_t n = l->field->n_parameters;
        if (clsi_terms_free(us, i)) status = thin(l, keep + at, error);
        at += n;
        l->offset = us->n_theta;
        us->n_theta += l->field->n_parameters;
    }
    clsi_unknowns_share(us);
    return status;
}

/* Of term k of a polynomial basis; two powers of even inputs count as one. */
static int degree_of(const clsi_learned *l, size_t k) {
    const unsigned char *powers = clsi_field_powers(l->field, k);
    int all = 0, even = 0;
    for (size_t j = 0; powers && j < l->d; j++) {
        all += powers[j];
        if (j >= l->field->even_first && j - l->field->even_first < l->field->even_count)
            even += powers[j];
    }
    return all - even / 2;
}

/* A velocity, a momentum, a temperature (or its logarithm), an entropy. */
static int is_moving(const cls_system *s, const char *input) {
    const char *name = strncmp(input, "log(", 4) == 0 ? input + 4 : input;
    size_t n = strcspn(name, ")");
    if (strncmp(name, "v.", 2) == 0 || strncmp(name, "p.", 2) == 0) return 1;
    for (size_t i = 0; i < s->m; i++)
        for (int k = 0; k < 2; k++) {
            const char *heat = k ? s->entropy[i].name : s->temperature[i].name;
            if (strlen(heat) == n && strncmp(name, heat, n) == 0) return 1;
        }
    return 0;
}

/* Of positions alone, or a constant. */
static int is_still(const cls_system *s, const clsi_learned *l, size_t k) {
    const unsigned char *powers = clsi_field_powers(l->field, k);
    for (size_t j = 0; j < l->d; j++)
        if (powers[j] && is_moving(s, l->input[j])) return 0;
    return 1;
}

/* Is unknown i a term of an energy that has others, which may be a potential? */
static int may_be_potential(const clsi_unknowns *us, size_t i) {
    const clsi_unknown *u = &us->list[i];
    int found = 0;
    if (us->s->ode || u->natural || !clsi_terms_free(us, i) || !clsi_is_energy(u) ||
        u->kind != CLSI_PART_LET)
        return 0;
    for (size_t k = 0; k < u->learned.field->n_parameters && !found; k++)
        found = is_still(us->s, &u->learned, k) && degree_of(&u->learned, k) > 0;
    return found;
}

/* Inputs in term k of a polynomial basis. */
static size_t inputs_of(const clsi_learned *l, size_t k) {
    const unsigned char *powers = clsi_field_powers(l->field, k);
    size_t n = 0;
    for (size_t j = 0; powers && j < l->d; j++) n += powers[j] > 0;
    return n;
}

void clsi_terms_low(const clsi_unknowns *us, int energy, int other, size_t together,
                    unsigned char *keep) {
    for (size_t i = 0; i < us->n; i = clsi_group_end(us, i)) {
        const clsi_learned *l = &us->list[i].learned;
        int most = clsi_is_energy(&us->list[i]) ? energy : other, chosen = clsi_terms_free(us, i);
        for (size_t k = 0; k < l->field->n_parameters; k++)
            keep[l->offset + k] =
                !chosen || (degree_of(l, k) <= most && inputs_of(l, k) <= together);
    }
}

size_t clsi_terms_still(const clsi_unknowns *us, unsigned char *moving) {
    size_t n = 0;
    for (size_t i = 0; i < us->n; i = clsi_group_end(us, i)) {
        const clsi_learned *l = &us->list[i].learned;
        int still = may_be_potential(us, i);
        for (size_t k = 0; k < l->field->n_parameters; k++) {
            moving[l->offset + k] = (unsigned char)(still && !is_still(us->s, l, k));
            n += moving[l->offset + k];
        }
    }
    return n;
}

void clsi_terms_prices(const clsi_unknowns *us, size_t rows, double *price) {
    for (size_t i = 0; i < us->n; i = clsi_group_end(us, i)) {
        const clsi_learned *l = &us->list[i].learned;
        size_t n = l->field->n_parameters;
        for (size_t k = 0; k < n; k++) {
            size_t simpler = us->list[i].natural ? k + 1 : 0; /* those stand in order */
            for (size_t j = 0; j < n && !us->list[i].natural; j++)
                simpler += degree_of(l, j) <= degree_of(l, k);
            price[l->offset + k] = log((double)rows) + 2 * log((double)simpler);
        }
    }
}

static int is_next(const unsigned char *simple, const unsigned char *powers, size_t d) {
    int less = 0;
    for (size_t i = 0; i < d; i++) {
        if (simple[i] > powers[i]) return 0;
        less += powers[i] - simple[i];
    }
    return less == 1 || less == 2;
}

void clsi_terms_parents(const clsi_unknowns *us, size_t P, unsigned char *parent) {
    memset(parent, 0, P * P);
    for (size_t i = 0; i < us->n; i = clsi_group_end(us, i)) {
        const clsi_learned *l = &us->list[i].learned;
        size_t n = l->field->n_parameters, at = l->offset;
        if (!clsi_terms_free(us, i) || us->list[i].natural) continue;
        for (size_t k = 0; k < n; k++)
            for (size_t j = 0; j < n && degree_of(l, k) > FREE_DEGREE; j++)
                parent[(at + k) * P + at + j] = (unsigned char)is_next(
                    clsi_field_powers(l->field, j), clsi_field_powers(l->field, k), l->d);
    }
}

/* ---- the choice ---- */

/* Gauss-Jordan on pivot k of M (n, n), in place; twice is nothing at all. */
static void sweep(size_t n, double *M, size_t k) {
    double d = M[k * n + k];
    for (size_t j = 0; j < n; j++)
        if (j != k) M[k * n + j] /= d;
    for (size_t i = 0; i < n; i++) {
        double b = M[i * n + k];
        if (i == k || b == 0) continue;
        for (size_t j = 0; j < n; j++)
            if (j != k) M[i * n + j] -= b * M[k * n + j];
        M[i * n + k] = -b / d;
    }
    M[k * n + k] = 1 / d;
}

/* What terms cost that stand without a simpler one next to them: the price of that one. A smooth function
 * has the simpler ones as well; a term far out alone is noise, or takes the place of one nearer. */
static double orphans(const clsi_terms_choice *c, const unsigned char *keep) {
    double sum = 0;
    for (size_t k = 0; k < c->P && c->parent; k++) {
        double least = INFINITY;
        for (size_t j = 0; j < c->P && keep[k] && least > 0; j++)
            if (c->parent[k * c->P + j]) least = fmin(least, keep[j] ? 0 : c->price[j]);
        if (isfinite(least)) sum += least;
    }
    return sum;
}

/* What is left of a term beside the others, in units of itself; less is a copy of them. */
static const double COPY = 1e-7;
static const double LITTLE = 1e-6; /* an exchange that pays less is rounding: it would be undone */

/* What it pays to turn term k over; the sums of squares are twice L. `alone` is what orphans cost now. */
static double gain_of(const clsi_terms_choice *c, const double *M, unsigned char *keep, size_t k,
                      double alone) {
    size_t n = c->P + 1;
    double own = M[k * n + k], b = M[k * n + c->P];
    if (!keep[k] && !(own > COPY)) return -INFINITY;
    double gain = keep[k] ? c->price[k] - b * b / own : b * b / own - c->price[k];
    if (gain + alone <= 0) return gain; /* no more than that can be saved */
    keep[k] = !keep[k];
    gain += alone - orphans(c, keep);
    keep[k] = !keep[k];
    return gain;
}

/* A term that may go: alone, or for another one of its part. */
static int may_go(const clsi_terms_choice *c, const unsigned char *keep, const size_t *kept,
                  size_t k, int exchanged) {
    return keep[k] && !c->locked[k] && kept[c->part[k]] > (exchanged ? 0 : 1);
}

/* The move that pays most: which[0] is turned over, and which[1] with it (P: it is alone). 0: none pays. */
static int best_move(const clsi_terms_choice *c, double *M, unsigned char *keep, const size_t *kept,
                     size_t *which) {
    size_t P = c->P, n = P + 1;
    double best = 0, lonely = orphans(c, keep);
    which[0] = which[1] = P;
    for (size_t k = 0; k < P; k++) {
        double gain = gain_of(c, M, keep, k, lonely);
        if (!(gain > best) || (keep[k] && !may_go(c, keep, kept, k, 0))) continue;
        best = gain;
        which[0] = k;
    }
    if (which[0] < P) return 1;
    best = LITTLE;
    for (size_t k = 0; k < P; k++) {
        if (!may_go(c, keep, kept, k, 1)) continue;
        double b = M[k * n + P], without = c->price[k] - b * b / M[k * n + k] + lonely;
        sweep(n, M, k);
        keep[k] = 0;
        double rest = orphans(c, keep);
        for (size_t j = 0; j < P; j++) {
            int alone = kept[c->part[k]] < 2 && c->part[j] != c->part[k];
            double gain =
                keep[j] || j == k || alone ? 0 : without - rest + gain_of(c, M, keep, j, rest);
            if (!(gain > best)) continue;
            best = gain;
            which[0] = k;
            which[1] = j;
        }
        sweep(n, M, k);
        keep[k] = 1;
    }
    return which[0] < P;
}

enum { MOST_FEW = 3, MOST_REPLACED = 8 };

/* What the terms at which[n] of the list `at` gain, by the part's matrix A and right side b, the other parts' terms
 * being free; -INFINITY: one of them is a copy of the others. */
static double gain_of_few(const clsi_terms_choice *c, size_t m, const size_t *at, const double *A,
                          const double *b, const size_t *which, size_t n) {
    double L[MOST_REPLACED][MOST_REPLACED] = {{0}}, y[MOST_REPLACED], gain = 0;
    for (size_t i = 0; i < n; i++) { /* Cholesky's factor, and the forward solve beside it */
        for (size_t j = 0; j < i; j++) {
            double sum = A[which[i] * m + which[j]];
            for (size_t l = 0; l < j; l++) sum -= L[i][l] * L[j][l];
            L[i][j] = sum / L[j][j];
        }
        double own = A[which[i] * m + which[i]], left = b[which[i]];
        for (size_t l = 0; l < i; l++) own -= L[i][l] * L[i][l], left -= L[i][l] * y[l];
        if (!(own > COPY)) return -INFINITY;
        L[i][i] = sqrt(own);
        y[i] = left / L[i][i];
        gain += y[i] * y[i] - c->price[at[which[i]]];
    }
    return gain;
}

/* The best set of at most three of the m terms; how many. */
static size_t best_few(const clsi_terms_choice *c, size_t m, const size_t *at, const double *A,
                       const double *b, size_t *best, double *most) {
    size_t n = 0;
    for (size_t i = 0; i < m; i++)
        for (size_t j = 0; j <= i; j++)
            for (size_t l = 0; l <= j; l++) { /* one term: i = j = l, two: j = l */
                size_t which[MOST_FEW] = {i, j, l}, count = i == j ? 1 : j == l ? 2 : 3;
                if (i == j && j != l) continue;
                double gain = gain_of_few(c, m, at, A, b, which, count);
                if (!(gain > *most)) continue;
                *most = gain;
                n = count;
                memcpy(best, which, sizeof which);
            }
    return n;
}

static void make_matrix(const clsi_terms_choice *c, double *M, double *scale) {
    size_t P = c->P, n = P + 1;
    for (size_t i = 0; i < P; i++) {
        double s = c->S[i * P + i];
        scale[i] = s > 0 ? 1 / sqrt(s) : 0;
    }
    for (size_t i = 0; i < P; i++) {
        double b = -c->g[i];
        for (size_t j = 0; j < P; j++) {
            M[i * n + j] = c->S[i * P + j] * scale[i] * scale[j];
            b += c->S[i * P + j] * c->theta[j];
        }
        M[i * n + P] = M[P * n + i] = b * scale[i];
    }
}

/* The terms of a part that may be in it: at; A (m, m) and b behind it of the quadratic model with the other parts free,
 * made anew (what many turns leave of M is not good to a unit of a sum of 1e8); their number. */
static size_t list_part(const clsi_terms_choice *c, const unsigned char *keep, size_t part,
                        double *M, double *scale, size_t *at, double *A) {
    size_t P = c->P, n = P + 1, m = 0;
    make_matrix(c, M, scale);
    for (size_t k = 0; k < P; k++)
        if (keep[k] && (c->part[k] != part || c->locked[k]) && M[k * n + k] > COPY) sweep(n, M, k);
    for (size_t k = 0; k < P; k++)
        if (c->few[k] && c->part[k] == part && !c->locked[k] && isfinite(c->price[k]) &&
            M[k * n + k] > COPY)
            at[m++] = k;
    for (size_t i = 0; i < m; i++) {
        for (size_t j = 0; j < m; j++) A[i * m + j] = M[at[i] * n + at[j]];
        A[m * m + i] = M[at[i] * n + P];
    }
    return m;
}

/* All terms of a part for the best three, in keep; 1: that pays, or there were none. work: room for two matrices, at
 * for P. */
static int replace_part(const clsi_terms_choice *c, unsigned char *keep, size_t part, size_t *at,
                        double *work) {
    size_t n = c->P + 1, before[MOST_REPLACED], best[MOST_FEW], count = 0, fewer;
    double *M = work, *scale = M + n * n, *A = scale + n;
    size_t m = list_part(c, keep, part, M, scale, at, A);
    for (size_t i = 0; i < m; i++) {
        if (!keep[at[i]]) continue;
        if (count == MOST_REPLACED) return 0;
        before[count++] = i;
    }
    if (count && count < MOST_FEW) return 0; /* single moves and exchanges have seen these */
    double most = gain_of_few(c, m, at, A, A + m * m, before, count);
    if (!(most > -INFINITY)) return 0;
    most += LITTLE;
    if (!(fewer = best_few(c, m, at, A, A + m * m, best, &most))) return 0;
    for (size_t i = 0; i < count; i++) keep[at[before[i]]] = 0;
    for (size_t i = 0; i < fewer; i++) keep[at[best[i]]] = 1;
    return 1;
}

/* The quadratic model swept over what is kept; what cannot be told apart is not. */
static void begin_sweeps(const clsi_terms_choice *c, double *M, double *scale, unsigned char *keep,
                         size_t *kept, size_t parts, unsigned char *swept) {
    size_t P = c->P, n = P + 1;
    make_matrix(c, M, scale);
    memset(kept, 0, parts * sizeof *kept);
    memset(swept, 0, P);
    for (size_t k = 0; k < P; k++) {
        if (keep[k] && !(M[k * n + k] > COPY)) keep[k] = c->locked[k];
        if (!keep[k] || !(M[k * n + k] > COPY)) continue;
        kept[c->part[k]]++;
        swept[k] = 1;
        sweep(n, M, k);
    }
}

cls_status clsi_terms_choose(const clsi_terms_choice *c, unsigned char *keep, double *found,
                             size_t *moves, cls_error *error) {
    size_t P = c->P, n = P + 1;
    double *M = clsi_calloc(n * n + P + (c->few ? 2 * n * n + n : 0), sizeof *M),
           *scale = M + n * n;
    size_t parts = 0; /* a function in many places has the number of the first of these */
    for (size_t k = 0; k < P; k++) parts = c->part[k] >= parts ? c->part[k] + 1 : parts;
    size_t *kept = clsi_calloc(parts + P + 1, sizeof *kept), *at = kept + parts, which[2];
    unsigned char *swept = clsi_calloc(P + 1, 1);
    *moves = 0;
    if (!M || !kept || !swept) {
        free(M);
        free(kept);
        free(swept);
        return clsi_no_memory(error);
    }
    for (size_t part = 0; part < parts && c->few; part++) {
        size_t any = 0;
        for (size_t k = 0; k < P; k++) any += c->part[k] == part && keep[k];
        if (!any) (void)replace_part(c, keep, part, at, scale + P);
    }
    for (int more = 1; more;) {
        begin_sweeps(c, M, scale, keep, kept, parts, swept);
        for (; *moves < 4 * P && best_move(c, M, keep, kept, which); ++*moves)
            for (size_t i = 0; i < 2 && which[i] < P; i++) {
                size_t k = which[i];
                kept[c->part[k]] += keep[k] ? (size_t)-1 : 1;
                swept[k] = keep[k] = !keep[k];
                sweep(n, M, k);
            }
        more = 0;
        for (size_t part = 0; part < parts && c->few && *moves < 4 * P; part++)
            more += replace_part(c, keep, part, at, scale + P);
        *moves += (size_t)more;
    }
    for (size_t k = 0; k < P; k++)
        found[k] = swept[k] ? M[k * n + P] * scale[k] : keep[k] ? c->theta[k] : 0;
    for (size_t k = 0; k < P; k++) /* a part of which the data tell nothing keeps a term, at zero */
        if (!c->locked[k] && !kept[c->part[k]]) kept[c->part[k]] = keep[k] = 1;
    free(M);
    free(kept);
    free(swept);
    return CLS_OK;
}

/* ---- fits beside the one that was chosen ---- */

typedef struct neighbours {
    const clsi_terms_choice *c;
    const double *scale;
    double *M, *base; /* swept over what is kept; (P) the coefficients there */
    unsigned char *swept;
    size_t n, room;
    double *direction, *gain; /* (room, P), (room) */
} neighbours;

static const double FAR = -12; /* a gain below it weighs less than a hundredth of a percent */

static void take_neighbour(neighbours *s, double gain) {
    size_t P = s->c->P;
    if (!(gain > FAR) || s->n == s->room) return;
    double *to = s->direction + s->n * P;
    for (size_t i = 0; i < P; i++)
        to[i] = (s->swept[i] ? s->M[i * (P + 1) + P] * s->scale[i] : 0) - s->base[i];
    s->gain[s->n++] = gain;
}

static void turn(neighbours *s, size_t k) {
    sweep(s->c->P + 1, s->M, k);
    s->swept[k] = !s->swept[k];
}

/* b^2/own: what term k explains, or would. */
static double worth_of(const neighbours *s, size_t k) {
    size_t n = s->c->P + 1;
    double own = s->M[k * n + k], b = s->M[k * n + s->c->P];
    return own > COPY || s->swept[k] ? b * b / own : 0;
}

/* Each of the open terms beside what is swept, where `gain` is what it has already, without its price. */
static void add_each(neighbours *s, const unsigned char *open, double gain, double memory,
                     const double *price, double added) {
    for (size_t k = 0; k < s->c->P; k++) {
        double worth = open[k] && !s->swept[k] ? worth_of(s, k) : 0;
        double all = gain + worth / memory - (price ? price[k] : added);
        if (!(worth > 0) || !(all > FAR)) continue;
        turn(s, k);
        take_neighbour(s, all);
        turn(s, k);
    }
}

static void weigh(neighbours *s) {
    size_t P = s->c->P;
    double sum = 1;
    for (size_t i = 0; i < s->n; i++) sum += exp(fmin(s->gain[i], 100) / 2);
    for (size_t i = 0; i < s->n; i++) {
        double root = sqrt(exp(fmin(s->gain[i], 100) / 2) / sum);
        for (size_t j = 0; j < P; j++) s->direction[i * P + j] *= root;
    }
}

cls_status clsi_terms_neighbours(const clsi_terms_choice *c, const unsigned char *keep,
                                 const unsigned char *open, double added, double memory, size_t *n,
                                 double **direction, cls_error *error) {
    enum { MOST = 400 };
    size_t P = c->P, width = P + 1;
    neighbours s = {.c = c, .room = MOST};
    s.M = clsi_calloc(width * width + 2 * P + MOST, sizeof *s.M);
    s.swept = clsi_calloc(P + 1, 1);
    s.direction = clsi_calloc(MOST * P + 1, sizeof *s.direction);
    *n = 0;
    *direction = NULL;
    if (!s.M || !s.swept || !s.direction) {
        free(s.M);
        free(s.swept);
        free(s.direction);
        return clsi_no_memory(error);
    }
    double *scale = s.M + width * width;
    s.scale = scale;
    s.base = scale + P;
    s.gain = s.base + P;
    make_matrix(c, s.M, scale);
    for (size_t k = 0; k < P; k++)
        if (keep[k] && s.M[k * width + k] > COPY) turn(&s, k);
    for (size_t k = 0; k < P; k++) s.base[k] = s.swept[k] ? s.M[k * width + P] * scale[k] : 0;
    add_each(&s, open, 0, memory, NULL, added);
    for (size_t k = 0; k < P; k++) {
        if (!s.swept[k] || c->locked[k]) continue;
        double gain = c->price[k] - worth_of(&s, k) / memory;
        turn(&s, k);
        take_neighbour(&s, gain);
        add_each(&s, open, gain, memory, c->price, 0);
        turn(&s, k);
    }
    weigh(&s);
    *n = s.n;
    *direction = s.direction;
    free(s.M);
    free(s.swept);
    return CLS_OK;
}
