/* Slopes and starts of many states, which exported C has as lists of entries (export/slopes.c): against differences, and
 * against the library's start. 140 beads with three states each are above the size from which there are lists; momenta
 * of neighbours and temperatures that depend on positions make the equations in them more than diagonals. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/export/exported.h"

enum { N = 140, NZ = 3 * N };

static const char inertia[] = "parameter m = 1, mu = 0.3, c = 2\n"
                              "coordinate x[1..140]\n";
static const char rest[] =
    "for i in 1..140: start x[i] = sin(i)/2, v.x[i] = cos(i)/3, S[i] = 0.1*cos(3*i)\n"
    "step 0.02\nuntil 1\n";

/* Velocities, temperatures and both laws' other sides: M is no diagonal. */
static const char thermal[] =
    "temperature T[1..140]\n"
    "thermal lagrangian sum(i in 1..140: m*v.x[i]^2/2 - x[i]^4/4 + c*T[i]*(log(T[i]) - 1)"
    " + 0.1*x[i]*T[i]) + sum(i in 1..139: mu*v.x[i]*v.x[i+1] - (x[i+1] - x[i])^2/2)\n"
    "for i in 1..140: friction F[i] on T[i]: x[i] <- -0.1*v.x[i]\n"
    "for i in 1..139: heat exchange T[i] <-> T[i+1]: 0.2\n";

/* The state is y itself; velocities are given at the start. */
static const char phase[] =
    "entropy S[1..140]\n"
    "hamiltonian sum(i in 1..140: p.x[i]^2/(2*m) + x[i]^4/4 + c*exp(S[i]/c + 0.1*x[i]))"
    " + sum(i in 1..139: mu*p.x[i]*p.x[i+1] + (x[i+1] - x[i])^2/2)\n"
    "for i in 1..140: friction F[i] on S[i]: x[i] <- -0.1*v.x[i]\n"
    "for i in 1..139: heat exchange S[i] <-> S[i+1]: 0.2\n";

static cls_system *parse(const char *kind) {
    char text[4000];
    cls_system *s;
    cls_error error = {0};
    snprintf(text, sizeof text, "system \"beads\"\n%s%s%s", inertia, kind, rest);
    if (cls_system_parse(text, "beads", NULL, &s, &error) != CLS_OK) fail_msg("%s", error.message);
    assert_int_equal(cls_system_state_count(s), NZ);
    return s;
}

typedef struct slopes {
    int (*rates)(const void *m, double *rate);
    int (*jacobian)(const void *m, double *slope);
    void (*row_jacobian)(const void *m, double *slope);
    int (*slopes_along)(const void *m, const double *v, double *rate, double *row);
    int (*start_at)(void *m, double time, int n, const int *columns, const double *values);
    int (*set)(void *m, int k, double value);
} slopes;

static void open_slopes(exported *x, slopes *f, const cls_system *s) {
    exported_open(x, s, NULL, NULL, "gcc -std=c99 -O1 -ffp-contract=off -fno-math-errno");
    TAKE(x, start, "ex_start");
    void *symbol;
#define TAKE_SLOPE(member)                                                                         \
    symbol = symbol_of(x, "ex_" #member);                                                          \
    memcpy(&f->member, &symbol, sizeof symbol)
    TAKE_SLOPE(rates);
    TAKE_SLOPE(jacobian);
    TAKE_SLOPE(row_jacobian);
    TAKE_SLOPE(slopes_along);
    TAKE_SLOPE(start_at);
    symbol = symbol_of(x, "ex_set_parameter");
    memcpy(&f->set, &symbol, sizeof symbol);
}

/* Both matrices J times a direction, without them. */
static void check_along(exported *x, const slopes *f, size_t columns, double *J) {
    double v[NZ], *got = malloc((NZ + columns) * sizeof *got);
    assert_non_null(got);
    for (size_t j = 0; j < NZ; j++) v[j] = cos((double)j);
    assert_int_equal(f->jacobian(x->motion, J), 0);
    f->row_jacobian(x->motion, J + (size_t)NZ * NZ);
    assert_int_equal(f->slopes_along(x->motion, v, got, got + NZ), 0);
    for (size_t i = 0; i < NZ + columns; i++) {
        double sum = 0, size = 1;
        for (size_t j = 0; j < NZ; j++) sum += J[i * NZ + j] * v[j], size += fabs(J[i * NZ + j]);
        if (!(fabs(got[i] - sum) <= 1e-12 * size)) fail_msg("row %zu: %g, not %g", i, got[i], sum);
    }
    free(got);
}

/* Both matrices, every seventh column, against central differences. */
static void check_slopes(exported *x, const slopes *f, size_t columns) {
    double *J = malloc((NZ + columns) * NZ * sizeof *J), *R = J + (size_t)NZ * NZ;
    double *up = malloc(2 * (NZ + columns) * sizeof *up), *low = up + NZ + columns;
    double state[NZ], at[NZ];
    assert_non_null(J);
    assert_non_null(up);
    memcpy(state, x->motion, sizeof state); /* stands first in the struct */
    for (size_t k = 0; k < (NZ + columns) * NZ; k++) J[k] = NAN;
    assert_int_equal(f->jacobian(x->motion, J), 0);
    f->row_jacobian(x->motion, R);
    for (size_t j = 0; j < NZ; j += 7) {
        for (int side = 0; side < 2; side++) {
            memcpy(at, state, sizeof at);
            at[j] += side ? -1e-5 : 1e-5;
            assert_int_equal(x->start(x->motion, 0, at), 0);
            assert_int_equal(f->rates(x->motion, side ? low : up), 0);
            x->row(x->motion, (side ? low : up) + NZ);
        }
        for (size_t i = 0; i < NZ + columns; i++) {
            double slope = (up[i] - low[i]) / 2e-5;
            if (!(fabs(J[i * NZ + j] - slope) <= 1e-6 * (1 + fabs(slope))))
                fail_msg("row %zu, column %zu: %g, not %g", i, j, J[i * NZ + j], slope);
        }
    }
    memcpy(at, state, sizeof at);
    assert_int_equal(x->start(x->motion, 0, at), 0);
    check_along(x, f, columns, J);
    free(J);
    free(up);
}

/* Five of the default start's values changed, on either side. */
static void check_start(exported *x, const slopes *f, const cls_system *s) {
    static const char *const names[] = {"x[3]", "v.x[4]", "p.x[77]", "T[5]", "S[6]"};
    static const double values[] = {0.3, -0.2, 0.7, 1.5, 0.2};
    size_t columns = cls_system_column_count(s);
    double *row = malloc(2 * columns * sizeof *row), *got = row + columns, state[NZ];
    int at[5];
    cls_error error = {0};
    assert_non_null(row);
    for (int k = 0; k < 5; k++)
        for (size_t c = 0; c < columns; c++)
            if (!strcmp(cls_system_column(s, c), names[k])) at[k] = (int)c;
    assert_int_equal(f->start_at(x->motion, 0, 5, at, values), 0);
    x->row(x->motion, got);
    for (int k = 0; k < 5; k++) assert_true(fabs(got[at[k]] - values[k]) < 1e-10);
    cls_assignments given = {5, names, values, NULL};
    if (cls_system_start(s, &given, state, &error) != CLS_OK) fail_msg("%s", error.message);
    assert_int_equal(cls_system_row(s, 0, state, row, &error), CLS_OK);
    for (size_t c = 0; c < columns; c++)
        if (!(fabs(got[c] - row[c]) <= 1e-9 * (1 + fabs(row[c]))))
            fail_msg("%s is %.17g, not %.17g", cls_system_column(s, c), got[c], row[c]);
    free(row);
}

static void check(const char *kind) {
    cls_system *s = parse(kind);
    exported x;
    slopes f;
    open_slopes(&x, &f, s);
    assert_int_equal(exported_compare(&x, s, NULL, 20, 1), 20);
    check_slopes(&x, &f, cls_system_column_count(s));
    check_start(&x, &f, s);
    x.defaults(x.motion);
    assert_int_equal(f.set(x.motion, 1, 0.2), 0); /* the same with symbols */
    check_slopes(&x, &f, cls_system_column_count(s));
    exported_close(&x);
    cls_system_free(&s);
}

static void of_momenta_and_entropies(void **unused) {
    (void)unused;
    check(phase);
}

static void of_velocities_and_temperatures(void **unused) {
    (void)unused;
    check(thermal);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(of_momenta_and_entropies),
                                       cmocka_unit_test(of_velocities_and_temperatures)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
