/* The Legendre transform in closed form, for functions quadratic in the velocities (or momenta).
 *
 *   f(x) = f0 + c.x + x.M x/2     ->     f*(y) = (y-c).M^-1 (y-c)/2 - f0,   x = M^-1 (y-c)
 *
 * f0, c, M are expressions in everything else. The same function turns L into H and H into L. M^-1
 * is written as a division where M is diagonal, so that kinetic energy reads p^2/(2 m) and its
 * discrete gradient is the plain mean; by cofactors up to 4 x 4; beyond that the caller keeps the
 * velocities and solves numerically. Whether M is invertible is judged at one generic point: the
 * transform does not promise that M stays invertible everywhere (the audit looks). */
#include "base/base.h"
#include "expr/graph.h"
#include "system/dense.h"
#include "system/system.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FULL = 4, MAX_DEPTH = 1000 };

/* -a with the minus pushed into sums, so that -(U - W) is written W - U. */
static cls_node negate(cls_graph *g, cls_node a, int depth) {
    if (a == CLS_NO_NODE || depth == MAX_DEPTH) return cls_neg(g, a);
    cls_op op = cls_node_op(g, a);
    if (op == CLS_OP_NEG) return cls_node_arg(g, a, 0);
    if (op != CLS_OP_SUB && op != CLS_OP_ADD) return cls_neg(g, a);
    cls_node left = negate(g, cls_node_arg(g, a, 0), depth + 1), right = cls_node_arg(g, a, 1);
    return op == CLS_OP_SUB ? cls_add(g, left, right) : cls_sub(g, left, right);
}

/* A diagonal matrix with an inverse. */
static int has_inverse(size_t n, const double *a) {
    double least = INFINITY, most = 0;
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, fabs(a[i]));
        most = fmax(most, fabs(a[i]));
    }
    return least > 1e-13 * most;
}

/* M is whole (n, n) or, when its size is n, a diagonal. Numbers for all symbols of M, somewhere
 * without symmetry; 1 if M is invertible there, -1 when out
 * of memory. A value that is not finite says nothing about M and does not count against it. */
static int invertible(cls_graph *g, size_t n, size_t size, const cls_node *M) {
    size_t count;
    cls_node *symbols = clsi_list_symbols(g, size, M, &count);
    double *in = clsi_calloc(count, sizeof *in), *a = clsi_calloc(size, sizeof *a), *work = NULL;
    size_t *pivot = clsi_calloc(n, sizeof *pivot);
    cls_program *program = NULL;
    int good = -1;
    if (!symbols || !in || !a || !pivot) goto done;
    for (size_t i = 0; i < count; i++) in[i] = 0.6180339887 + 0.1 * sin(1.0 + 3.7 * (double)i);
    if (cls_program_create(g, count, symbols, size, M, &program, NULL) != CLS_OK) goto done;
    work = clsi_calloc(cls_program_work_size(program), sizeof *work);
    if (!work) goto done;
    cls_program_prepare(program, work);
    cls_program_run(program, work, in, a);
    good = 1;
    for (size_t i = 0; i < size; i++)
        if (!isfinite(a[i])) goto done;
    good = size == n ? has_inverse(n, a)
                     : clsi_lu_factor(n, a, pivot) == 0 && clsi_lu_quality(n, a) > 1e-13;
done:
    free(work);
    cls_program_free(&program);
    free(pivot);
    free(a);
    free(in);
    free(symbols);
    return good;
}

static int is_diagonal(const cls_graph *g, size_t n, const cls_node *M) {
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            if (i != j && !cls_is_constant(g, M[i * n + j], 0)) return 0;
    return 1;
}

/* Determinant by the first row; n <= 4. */
static cls_node determinant(cls_graph *g, size_t n, const cls_node *M) {
    if (n == 1) return M[0];
    cls_node minor[(MAX_FULL - 1) * (MAX_FULL - 1)], sum = cls_constant(g, 0);
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 1; i < n; i++)
            for (size_t j = 0, c = 0; j < n; j++)
                if (j != k) minor[(i - 1) * (n - 1) + c++] = M[i * n + j];
        cls_node term = cls_mul(g, M[k], determinant(g, n - 1, minor));
        sum = k % 2 ? cls_sub(g, sum, term) : cls_add(g, sum, term);
    }
    return sum;
}

static void invert(cls_graph *g, size_t n, const cls_node *M, cls_node *inverse) {
    cls_node det = clsi_simplify_written(g, determinant(g, n, M)),
             minor[(MAX_FULL - 1) * (MAX_FULL - 1)];
    for (size_t r = 0; r < n; r++) {
        for (size_t c = 0; c < n; c++) {
            size_t k = 0;
            for (size_t i = 0; i < n; i++)
                for (size_t j = 0; j < n; j++)
                    if (i != c && j != r) minor[k++] = M[i * n + j];
            cls_node cofactor = n == 1 ? cls_constant(g, 1) : determinant(g, n - 1, minor);
            if ((r + c) % 2) cofactor = cls_neg(g, cofactor);
            inverse[r * n + c] = cls_div(g, clsi_simplify_written(g, cofactor), det);
        }
    }
}

static cls_node half_square(cls_graph *g, cls_node d, cls_node mass) {
    cls_node two = cls_constant(g, 2);
    return cls_div(g, cls_pow(g, d, two), cls_mul(g, two, mass));
}

/* d.M^-1 d/2 and M^-1 d. */
static cls_node kinetic(cls_graph *g, size_t n, const cls_node *M, const cls_node *d,
                        cls_node *x_of_y) {
    cls_node sum = cls_constant(g, 0);
    if (is_diagonal(g, n, M)) {
        for (size_t i = 0; i < n; i++) {
            sum = cls_add(g, sum, half_square(g, d[i], M[i * n + i]));
            x_of_y[i] = cls_div(g, d[i], M[i * n + i]);
        }
        return sum;
    }
    cls_node A[MAX_FULL * MAX_FULL];
    invert(g, n, M, A);
    for (size_t i = 0; i < n; i++) {
        cls_node square = cls_pow(g, d[i], cls_constant(g, 2));
        sum = cls_add(g, sum, cls_div(g, cls_mul(g, A[i * n + i], square), cls_constant(g, 2)));
        for (size_t j = 0; j < i; j++)
            sum = cls_add(g, sum, cls_mul(g, A[i * n + j], cls_mul(g, d[i], d[j])));
        x_of_y[i] = cls_constant(g, 0);
        for (size_t j = 0; j < n; j++)
            x_of_y[i] = cls_add(g, x_of_y[i], cls_mul(g, A[i * n + j], d[j]));
    }
    return sum;
}

/* Simplifies *a; 1 if it does not contain x then. */
static int is_free_of(cls_graph *g, size_t n, const cls_node *x, cls_node *a) {
    *a = clsi_simplify_written(g, *a);
    return *a != CLS_NO_NODE && !cls_depends(g, *a, n, x);
}

/* c_i = f_xi at x = 0, f0 = f at x = 0, M = f_xx; 0 when M still contains x, -1 when the graph
 * fails. */
static int quadratic_form(cls_graph *g, cls_node f, size_t n, const cls_node *x, cls_node *c,
                          cls_node *f0, cls_node *M) {
    cls_node *zero = clsi_calloc(n, sizeof *zero);
    if (!zero) return -1;
    for (size_t i = 0; i < n; i++) zero[i] = cls_constant(g, 0);
    int good =
        cls_gradient(g, f, n, x, c) == CLS_OK && cls_jacobian(g, n, c, n, x, M) == CLS_OK ? 1 : -1;
    for (size_t i = 0; i < n * n && good == 1; i++)
        if (M[i] == CLS_NO_NODE || cls_node_op(g, M[i]) != CLS_OP_CONSTANT)
            good = is_free_of(g, n, x, &M[i]);
    if (good == 1 && (cls_substitute(g, n, c, n, x, zero, c) != CLS_OK ||
                      cls_substitute(g, 1, &f, n, x, zero, f0) != CLS_OK))
        good = -1;
    for (size_t i = 0; i < n && good == 1; i++) c[i] = clsi_simplify_written(g, c[i]);
    free(zero);
    return good;
}

/* The same for more than a few: only a diagonal M is inverted on paper, so only it is looked for,
 * entry by entry. M has its diagonal (n). */
static int diagonal_form(cls_graph *g, cls_node f, size_t n, const cls_node *x, cls_node *c,
                         cls_node *f0, cls_node *M) {
    cls_node *zero = clsi_calloc(n, sizeof *zero);
    clsi_rows rows = {0};
    int good = zero && cls_gradient(g, f, n, x, c) == CLS_OK &&
                       clsi_sparse_jacobian(g, n, c, n, x, &rows) == CLS_OK
                   ? 1
                   : -1;
    for (size_t i = 0; i < n && good == 1; i++) M[i] = zero[i] = cls_constant(g, 0);
    for (size_t i = 0; i < n && good == 1; i++)
        for (size_t k = rows.start[i]; k < rows.start[i + 1] && good == 1; k++) {
            cls_node entry = clsi_simplify_written(g, rows.node[k]), *found = &entry;
            if (cls_is_constant(g, entry, 0)) continue;
            size_t m = cls_symbols_of(g, 1, found, 0, NULL);
            good = rows.column[k] == i && (m == 0 || !cls_depends(g, entry, n, x));
            if (good) M[i] = entry;
        }
    if (good == 1 && (cls_substitute(g, n, c, n, x, zero, c) != CLS_OK ||
                      cls_substitute(g, 1, &f, n, x, zero, f0) != CLS_OK))
        good = -1;
    for (size_t i = 0; i < n && good == 1; i++) c[i] = clsi_simplify_written(g, c[i]);
    clsi_rows_clear(&rows);
    free(zero);
    return good;
}

static int legendre_many(cls_graph *g, cls_node f, size_t n, const cls_node *x, const cls_node *y,
                         cls_node *conjugate, cls_node *x_of_y) {
    cls_node *c = clsi_calloc(n, sizeof *c), *M = clsi_calloc(n, sizeof *M), f0;
    int good = c && M ? diagonal_form(g, f, n, x, c, &f0, M) : -1;
    if (good == 1) good = invertible(g, n, n, M);
    cls_node sum = cls_constant(g, 0);
    for (size_t i = 0; i < n && good == 1; i++) {
        c[i] = cls_sub(g, y[i], c[i]);
        sum = cls_add(g, sum, half_square(g, c[i], M[i]));
        x_of_y[i] = cls_div(g, c[i], M[i]);
    }
    if (good == 1) *conjugate = cls_add(g, sum, negate(g, f0, 0));
    free(c);
    free(M);
    return good;
}

int clsi_legendre(cls_graph *g, cls_node f, size_t n, const cls_node *x, const cls_node *y,
                  cls_node *conjugate, cls_node *x_of_y) {
    if (n > MAX_FULL) return legendre_many(g, f, n, x, y, conjugate, x_of_y);
    cls_node *c = clsi_calloc(n, sizeof *c), *M = clsi_calloc(n * n, sizeof *M), f0;
    int good = c && M ? quadratic_form(g, f, n, x, c, &f0, M) : -1;
    if (good == 1) good = invertible(g, n, n * n, M);
    for (size_t i = 0; i < n && good == 1; i++) c[i] = cls_sub(g, y[i], c[i]);
    if (good == 1) *conjugate = cls_add(g, kinetic(g, n, M, c, x_of_y), negate(g, f0, 0));
    free(c);
    free(M);
    return good;
}
