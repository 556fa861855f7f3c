/* Few columns that explain a right-hand side.
 *
 * Two ways propose: greedy selection (orthogonal least squares: the column that reduces what is left
 * most, then exchanges as long as another in the place of one is better) and the l1 path (the order
 * in which coefficients of minimise |A x - b|^2 + w |x|_1 leave zero as w falls). Both are the pool. Out of it the
 * best subset of up to four is found by trying all, longer ones by dropping from the whole pool, the
 * cheapest first. Everything after the pool happens in its triangle. */
#include "explain/formulas.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GREEDY = 10, L1 = 6, SMALL = 4, PATH = 40, SWEEPS = 60, EXCHANGES = 6, WIDE = 8, BEAM = 40 };

static double dot(size_t n, const double *a, const double *b) {
    double sum = 0;
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Columns of norm 1 by their products: enough to search by, not to solve. */
typedef struct products {
    size_t n;
    double *G, *g, bb;                         /* (n, n), (n) with b, b.b */
    size_t found, set[GREEDY + 1][GREEDY + 1]; /* set[k]: k columns, k <= found, by greedy */
} products;

static void add_to_pool(size_t *pool, size_t *n, size_t most, size_t k) {
    for (size_t i = 0; i < *n; i++)
        if (pool[i] == k) return;
    if (*n < most) pool[(*n)++] = k;
}

/* ---- the l1 path ---- */

static cls_status l1_path(const products *p, size_t *pool, size_t *n_pool, cls_error *error) {
    double *x = clsi_calloc(2 * p->n, sizeof *x), weight = 0;
    size_t most = *n_pool + L1 < CLSI_POOL ? *n_pool + L1 : CLSI_POOL;
    if (!x) return clsi_no_memory(error);
    double *r = x + p->n; /* products of the columns with what is left */
    memcpy(r, p->g, p->n * sizeof *r);
    for (size_t k = 0; k < p->n; k++) weight = fmax(weight, fabs(r[k]));
    for (int step = 0; step < PATH && *n_pool < most; step++, weight *= 0.75)
        for (int sweep = 0; sweep < SWEEPS; sweep++) {
            double change = 0;
            for (size_t k = 0; k < p->n; k++) {
                double old = x[k], c = r[k] + old;
                x[k] = c > weight ? c - weight : c < -weight ? c + weight : 0;
                double d = x[k] - old;
                for (size_t i = 0; d != 0 && i < p->n; i++) r[i] -= d * p->G[k * p->n + i];
                change = fmax(change, fabs(d));
                if (x[k] != 0) add_to_pool(pool, n_pool, most, k);
            }
            if (change < 1e-3 * weight) break;
        }
    free(x);
    return CLS_OK;
}

/* ---- greedy, with exchanges ---- */

/* Columns that, added to k others, leave least: the best WIDE of them, best first, and what then is
 * left, squared. */
typedef struct additions {
    size_t n, column[WIDE];
    double left[WIDE];
} additions;

static void insert(additions *a, size_t column, double left) {
    size_t at = a->n < WIDE ? a->n++ : WIDE;
    while (at > 0 && left < a->left[at - 1]) {
        if (at < WIDE) {
            a->column[at] = a->column[at - 1];
            a->left[at] = a->left[at - 1];
        }
        at--;
    }
    if (at == WIDE) return;
    a->column[at] = column;
    a->left[at] = left;
}

static void best_additions(const products *p, size_t k, const size_t *set, additions *out) {
    double L[GREEDY][GREEDY], z[GREEDY], rest = p->bb;
    out->n = 0;
    for (size_t a = 0; a < k; a++) {
        for (size_t b = 0; b <= a; b++) {
            double sum = p->G[set[a] * p->n + set[b]];
            for (size_t l = 0; l < b; l++) sum -= L[a][l] * L[b][l];
            L[a][b] = a == b ? sqrt(fmax(sum, 1e-12)) : sum / L[b][b];
        }
        z[a] = p->g[set[a]];
        for (size_t l = 0; l < a; l++) z[a] -= L[a][l] * z[l];
        z[a] /= L[a][a];
        rest -= z[a] * z[a];
    }
    for (size_t c = 0; c < p->n; c++) {
        double y[GREEDY], norm = p->G[c * p->n + c], along = p->g[c];
        for (size_t a = 0; a < k; a++) {
            y[a] = p->G[c * p->n + set[a]];
            for (size_t l = 0; l < a; l++) y[a] -= L[a][l] * y[l];
            y[a] /= L[a][a];
            norm -= y[a] * y[a];
            along -= y[a] * z[a];
        }
        if (norm > 1e-7) insert(out, c, fmax(rest - along * along / norm, 0));
    }
}

/* Sets of k columns that are followed side by side: what looks best with few terms need not be part
 * of what is best with more. */
typedef struct beam {
    size_t n, set[BEAM][GREEDY + 1];
    double left[BEAM];
} beam;

static int rising(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static void keep(beam *b, size_t k, const size_t *set, double left) {
    size_t sorted[GREEDY + 1], at;
    memcpy(sorted, set, k * sizeof *set);
    qsort(sorted, k, sizeof *sorted, rising);
    for (size_t i = 0; i < b->n; i++)
        if (!memcmp(b->set[i], sorted, k * sizeof *sorted)) return;
    if (b->n == BEAM && !(left < b->left[BEAM - 1])) return;
    if (b->n < BEAM) b->n++;
    for (at = b->n - 1; at > 0 && left < b->left[at - 1]; at--) {
        memcpy(b->set[at], b->set[at - 1], k * sizeof *sorted);
        b->left[at] = b->left[at - 1];
    }
    memcpy(b->set[at], sorted, k * sizeof *sorted);
    b->left[at] = left;
}

/* Another in the place of one, as long as that is better. */
static void exchange(const products *p, size_t k, const beam *from, beam *to) {
    size_t now[GREEDY + 1];
    additions a;
    for (size_t i = 0; i < from->n; i++) {
        double left = from->left[i];
        int better = 1;
        memcpy(now, from->set[i], k * sizeof *now);
        for (int pass = 0; pass < EXCHANGES && better; pass++) {
            better = 0;
            for (size_t j = 0; j < k; j++) {
                size_t out = now[j];
                memmove(now + j, now + j + 1, (k - j - 1) * sizeof *now);
                best_additions(p, k - 1, now, &a);
                now[k - 1] = a.n && a.left[0] < 0.98 * left ? a.column[0] : out;
                if (now[k - 1] == out) continue;
                left = a.left[0];
                better = 1;
            }
        }
        keep(to, k, now, left);
    }
}

static cls_status greedy(products *p, size_t *pool, size_t *n_pool, cls_error *error) {
    beam *b = clsi_calloc(3, sizeof *b);
    size_t set[GREEDY + 1];
    additions a;
    if (!b) return clsi_no_memory(error);
    b[0].n = 1; /* the empty set */
    for (size_t k = 1; k <= GREEDY; k++) {
        b[1].n = b[2].n = 0;
        for (size_t i = 0; i < b[0].n; i++) {
            memcpy(set, b[0].set[i], (k - 1) * sizeof *set);
            best_additions(p, k - 1, set, &a);
            for (size_t j = 0; j < a.n; j++) {
                set[k - 1] = a.column[j];
                keep(&b[1], k, set, a.left[j]);
            }
        }
        if (!b[1].n) break;
        exchange(p, k, &b[1], &b[2]);
        b[0] = b[2];
        memcpy(p->set[k], b[0].set[0], k * sizeof *set);
        p->found = k;
        for (size_t j = 0; j < k; j++) add_to_pool(pool, n_pool, CLSI_POOL - L1, p->set[k][j]);
        if (!(b[0].left[0] > 1e-14 * p->bb)) break;
    }
    free(b);
    return CLS_OK;
}

/* ---- subsets of the pool ---- */

typedef struct triangle {
    size_t n;
    double R[CLSI_POOL][CLSI_POOL]; /* column j in R[j][0..n) */
    double c[CLSI_POOL], rest, whole;
    double cost[CLSI_POOL];
    const double *least; /* errors of the best subsets, or NULL: they are looked for */
} triangle;

/* Q R = the pool by twice Gram and Schmidt; P is overwritten by Q. */
static void factor(size_t rows, double *P, const double *b, triangle *t) {
    memset(t->R, 0, sizeof t->R);
    for (size_t j = 0; j < t->n; j++) {
        double *p = P + j * rows;
        for (int pass = 0; pass < 2; pass++)
            for (size_t k = 0; k < j; k++) {
                double f = dot(rows, P + k * rows, p);
                t->R[j][k] += f;
                for (size_t i = 0; i < rows; i++) p[i] -= f * P[k * rows + i];
            }
        double norm = t->R[j][j] = sqrt(dot(rows, p, p));
        for (size_t i = 0; i < rows; i++) p[i] = norm > 1e-12 ? p[i] / norm : 0;
    }
    t->whole = dot(rows, b, b);
    for (size_t j = 0; j < t->n; j++) t->c[j] = dot(rows, P + j * rows, b);
    /* what the whole pool leaves, without cancellation */
    t->rest = 0;
    for (size_t i = 0; i < rows; i++) {
        double r = b[i];
        for (size_t j = 0; j < t->n; j++) r -= t->c[j] * P[j * rows + i];
        t->rest += r * r;
    }
}

/* Least squares for some columns of the triangle: what is left, squared; x may be NULL. */
static double solve_subset(const triangle *t, size_t k, const size_t *at, double *x) {
    double Q[CLSI_POOL * CLSI_POOL], S[CLSI_POOL][CLSI_POOL] = {{0}}, r[CLSI_POOL], g[CLSI_POOL];
    size_t n = t->n;
    memcpy(r, t->c, sizeof r);
    for (size_t j = 0; j < k; j++) {
        double *q = Q + j * CLSI_POOL;
        memcpy(q, t->R[at[j]], sizeof t->R[0]);
        for (int pass = 0; pass < 2; pass++)
            for (size_t l = 0; l < j; l++) {
                double f = dot(n, Q + l * CLSI_POOL, q);
                S[j][l] += f;
                for (size_t i = 0; i < n; i++) q[i] -= f * Q[l * CLSI_POOL + i];
            }
        double norm = S[j][j] = sqrt(dot(n, q, q));
        if (!(norm > 1e-9)) return INFINITY; /* columns that are the same */
        for (size_t i = 0; i < n; i++) q[i] /= norm;
        g[j] = dot(n, q, r);
        for (size_t i = 0; i < n; i++) r[i] -= g[j] * q[i];
    }
    for (size_t j = k; x && j-- > 0;) {
        x[j] = g[j];
        for (size_t l = j + 1; l < k; l++) x[j] -= S[l][j] * x[l];
        x[j] /= S[j][j];
    }
    return t->rest + dot(t->n, r, r);
}

static void take(const triangle *t, size_t k, const size_t *at, clsi_choice *out) {
    double left = solve_subset(t, k, at, NULL), cost = 0;
    for (size_t j = 0; j < k; j++) cost += t->cost[at[j]];
    /* first the least error; then what costs less and is as good but for a quarter */
    if (t->least ? !(left <= 1.5625 * t->least[k - 1] && (!out->n || cost < out->x[0]))
                 : out->n && !(left < out->error))
        return;
    out->n = k;
    memcpy(out->column, at, k * sizeof *at);
    out->error = left;
    out->x[0] = cost;
}

/* All subsets of up to SMALL. */
static void try_all(const triangle *t, clsi_choice *choice) {
    size_t at[SMALL];
    for (at[0] = 0; at[0] < t->n; at[0]++) {
        take(t, 1, at, &choice[0]);
        for (at[1] = at[0] + 1; at[1] < t->n; at[1]++) {
            take(t, 2, at, &choice[1]);
            for (at[2] = at[1] + 1; at[2] < t->n; at[2]++) {
                take(t, 3, at, &choice[2]);
                for (at[3] = at[2] + 1; at[3] < t->n; at[3]++) take(t, 4, at, &choice[3]);
            }
        }
    }
}

static void drop(const triangle *t, clsi_choice *choice) {
    size_t at[CLSI_POOL], other[CLSI_POOL], k = 0;
    for (size_t j = 0; j < t->n; j++) { /* columns that the ones before make are left out */
        at[k] = j;
        if (isfinite(solve_subset(t, k + 1, at, NULL))) k++;
    }
    for (; k > 0; k--) {
        take(t, k, at, &choice[k - 1]);
        size_t cheapest = 0;
        double least = INFINITY;
        for (size_t j = 0; j < k && k > 1; j++) {
            size_t n = 0;
            for (size_t l = 0; l < k; l++)
                if (l != j) other[n++] = at[l];
            double left = solve_subset(t, n, other, NULL);
            if (left < least) {
                least = left;
                cheapest = j;
            }
        }
        memmove(at + cheapest, at + cheapest + 1, (k - cheapest - 1) * sizeof *at);
    }
}

static void finish(const triangle *t, const size_t *pool, const double *norm, clsi_choice *c) {
    c->error = sqrt(fmax(solve_subset(t, c->n, c->column, c->x), 0) / t->whole);
    for (size_t j = 0; j < c->n; j++) {
        c->column[j] = pool[c->column[j]];
        c->x[j] /= norm[c->column[j]];
    }
}

/* ---- all of it ---- */

/* Columns of A as rows of C, of norm 1, and their products. */
static void turn(size_t rows, const double *A, const double *b, double *C, double *norm,
                 products *p) {
    size_t n = p->n;
    for (size_t k = 0; k < n; k++) {
        double *c = C + k * rows;
        for (size_t i = 0; i < rows; i++) c[i] = A[i * n + k];
        norm[k] = sqrt(dot(rows, c, c));
        if (!(norm[k] > 0)) norm[k] = 1;
        for (size_t i = 0; i < rows; i++) c[i] /= norm[k];
        p->g[k] = dot(rows, c, b);
        for (size_t l = 0; l <= k; l++)
            p->G[k * n + l] = p->G[l * n + k] = dot(rows, c, C + l * rows);
    }
    p->bb = dot(rows, b, b);
}

/* What greedy selection found beside what the pool gives. */
static void compare(const triangle *t, const products *p, const size_t *pool, clsi_choice *choice) {
    size_t at[GREEDY];
    for (size_t k = 1; k <= GREEDY; k++) {
        size_t n = 0;
        for (size_t j = 0; j < k; j++)
            for (size_t l = 0; l < t->n && p->found >= k; l++)
                if (pool[l] == p->set[k][j]) {
                    at[n++] = l;
                    break;
                }
        if (n == k) take(t, k, at, &choice[k - 1]);
    }
}

static void search(triangle *t, const products *p, const size_t *pool, const double *norm,
                   clsi_choice *choice, size_t *lengths) {
    double least[CLSI_POOL];
    for (size_t k = 0; k < CLSI_POOL; k++) choice[k] = (clsi_choice){0};
    drop(t, choice);
    compare(t, p, pool, choice);
    try_all(t, choice);
    for (size_t k = 0; k < CLSI_POOL; k++) least[k] = choice[k].error;
    for (size_t k = 0; k < SMALL; k++) choice[k] = (clsi_choice){0};
    t->least = least;
    try_all(t, choice);
    for (*lengths = 0; *lengths < t->n && choice[*lengths].n; ++*lengths)
        finish(t, pool, norm, &choice[*lengths]);
}

cls_status clsi_select(size_t rows, size_t n, double *A, const double *b, const double *cost,
                       clsi_choice *choice, size_t *lengths, cls_error *error) {
    size_t pool[CLSI_POOL], n_pool = 0;
    triangle *t = clsi_calloc(1, sizeof *t);
    products *p = clsi_calloc(1, sizeof *p);
    double *C = clsi_calloc(rows * n + 1, sizeof *C), *norm = clsi_calloc(n + 1, sizeof *norm);
    double *G = clsi_calloc(n * n + n + 1, sizeof *G);
    double *P = clsi_calloc(rows * CLSI_POOL, sizeof *P);
    cls_status status = t && p && C && norm && G && P ? CLS_OK : clsi_no_memory(error);
    *lengths = 0;
    if (status == CLS_OK) {
        p->n = n;
        p->G = G;
        p->g = G + n * n;
        turn(rows, A, b, C, norm, p);
        status = greedy(p, pool, &n_pool, error);
        if (status == CLS_OK) status = l1_path(p, pool, &n_pool, error);
    }
    if (status == CLS_OK) {
        t->n = n_pool;
        for (size_t j = 0; j < n_pool; j++) {
            memcpy(P + j * rows, C + pool[j] * rows, rows * sizeof *P);
            t->cost[j] = cost[pool[j]];
        }
        factor(rows, P, b, t);
        search(t, p, pool, norm, choice, lengths);
    }
    free(t);
    free(p);
    free(C);
    free(G);
    free(norm);
    free(P);
    return status;
}
