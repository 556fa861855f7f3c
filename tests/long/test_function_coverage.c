/* Bands of learned functions that can be believed: 90 % intervals at five quantiles of the data contain the true
 * function in 85 to 95 of 100 cases, for noise of every row alone and for noise that remembers. Each case
 * has a function of its own, of ten shapes: some that the dictionary of terms holds (there the choice is nearly
 * always right, and the band too wide), some that it only comes near to (there it may be too narrow).
 *
 * Runs when CLAUSIUS_LONG is set (make check-long); CLAUSIUS_COVERAGE_CASES=20 for a look. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <clausius/learn.h>
#include <clausius/random.h>
#include <clausius/system.h>
#include <clausius/table.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 240, CASES = 200, PLACES = 5, PARTS = 10 };
static const double STEP = 0.1, NOISE = 0.03;
static const double QUANTILE = 1.6449; /* of the normal distribution: 90 % lie inside */
static const double SHARE[PLACES] = {0.05, 0.25, 0.5, 0.75, 0.95};

/* ---- motions x'' = -V'(x) - L(v^2) v ---- */

enum { POTENTIALS = 5, SHAPES = 10 };
static const char *const shape_name[SHAPES] = {
    "x^2", "x^2 + a x^4", "x^2 + a x^3 + b x^4", "1 - cos x",         "log cosh x",
    "k",   "k + a s",     "k + a/(1 + s/4)",     "k + a sqrt(1 + s)", "k + a exp(-s/3)"};

/* A case has a shape of its own and numbers of its own: a potential of x, or a friction of s = v^2. */
typedef struct scene {
    size_t shape;
    double a, b;
} scene;

static double potential(const scene *s, double x) {
    double square = x * x;
    switch (s->shape) {
    case 0: return 2 * square;
    case 1: return 2 * square + s->a * square * square;
    case 2: return 2 * square + s->b * square * x + (0.2 + s->a / 4) * square * square;
    case 3: return (4 + s->b) * (1 - cos(x));
    case 4: return 4 * log(cosh(x));
    default: return 2 * square;
    }
}

static double potential_slope(const scene *s, double x) {
    double h = 1e-4; /* of order four: off by 1e-13 */
    return (8 * (potential(s, x + h) - potential(s, x - h)) -
            (potential(s, x + 2 * h) - potential(s, x - 2 * h))) /
           (12 * h);
}

static double friction(const scene *s, double square) {
    double k = 0.05 + 0.05 * fabs(s->b), a = 0.05 + 0.1 * fabs(s->a);
    switch (s->shape) {
    case 6: return k + a / 2 * square;
    case 7: return k + a / (1 + square / 4);
    case 8: return k + a / 2 * sqrt(1 + square);
    case 9: return k + a * exp(-square / 3);
    default: return k;
    }
}

static double truth(const scene *s, double input) {
    return s->shape < POTENTIALS ? potential(s, input) : friction(s, input);
}

static scene draw(cls_random *r, size_t number) {
    return (scene){.shape = number % SHAPES,
                   .a = 2 * cls_random_uniform(r) - 1 < 0 ? -0.2 * cls_random_uniform(r)
                                                          : 0.5 * cls_random_uniform(r),
                   .b = 0.6 * cls_random_uniform(r) - 0.3};
}

static const char potentials[] =
    "coordinate x [m]\ntemperature T [K]\n"
    "part V of x = unknown\nthermal lagrangian v.x^2/2 - V + 100*T*(log(T) - 1)\n"
    "friction F on T: x <- -k*v.x\nparameter k = 0.05\nstart x = 1, v.x = 0, T = 300\n";
static const char frictions[] =
    "coordinate x [m]\ntemperature T [K]\n"
    "thermal lagrangian v.x^2/2 - 2*x^2 + 100*T*(log(T) - 1)\n"
    "friction F on T: x <- unknown of v.x^2\nstart x = 1, v.x = 0, T = 300\n";

static double rate(const scene *s, double x, double v) {
    double drag = s->shape < POTENTIALS ? 0.05 : friction(s, v * v);
    return -potential_slope(s, x) - drag * v;
}

static void advance(const scene *s, double h, double *x, double *v) {
    double a = rate(s, *x, *v), v2 = *v + h / 2 * a, b = rate(s, *x + h / 2 * *v, v2);
    double v3 = *v + h / 2 * b, c = rate(s, *x + h / 2 * v2, v3), v4 = *v + h * c;
    double d = rate(s, *x + h * v3, v4);
    *x += h / 6 * (*v + 2 * v2 + 2 * v3 + v4);
    *v += h / 6 * (a + 2 * b + 2 * c + d);
}

/* Noise with this memory from row to row, of x and of v. */
static void measure(const scene *s, cls_random *r, double memory, double *time, double *x,
                    double *v) {
    double at = 1.3 + 0.4 * cls_random_uniform(r), speed = 0;
    double e = cls_random_normal(r), f = cls_random_normal(r), rest = sqrt(1 - memory * memory);
    for (size_t i = 0; i < ROWS; i++) {
        time[i] = (double)i * STEP;
        x[i] = at + NOISE * e;
        v[i] = speed + 2 * NOISE * f;
        e = memory * e + rest * cls_random_normal(r);
        f = memory * f + rest * cls_random_normal(r);
        for (int k = 0; k < PARTS; k++) advance(s, STEP / PARTS, &at, &speed);
    }
}

/* ---- counting ---- */

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

typedef struct tally {
    size_t inside[SHAPES], all[SHAPES];
} tally;

/* The places of the curve that are nearest to quantiles of the data. */
static void judge(const scene *s, const cls_learned_function *f, double *input, tally *t) {
    qsort(input, ROWS, sizeof *input, ascending);
    double base = f->relative ? truth(s, f->middle) : 0;
    for (size_t q = 0; q < PLACES; q++) {
        double want = input[(size_t)(SHARE[q] * ROWS)];
        size_t at = 0;
        for (size_t i = 1; i < f->n; i++)
            if (fabs(f->at[i] - want) < fabs(f->at[at] - want)) at = i;
        double off = f->value[at] - (truth(s, f->at[at]) - base);
        t->inside[s->shape] += fabs(off) <= QUANTILE * f->error[at];
        t->all[s->shape]++;
    }
}

static void learn_one(size_t number, cls_system *const *systems, double memory, tally *t) {
    const char *names[] = {"time", "x", "v.x"}, *file[] = {"made"};
    double time[ROWS], x[ROWS], v[ROWS];
    const double *columns[] = {time, x, v};
    cls_table *table;
    cls_model *m;
    cls_learn_info info;
    cls_error error;
    cls_random r;
    cls_learn_options o = cls_learn_defaults();
    o.test = 0;
    cls_random_seed(&r, 100 + number);
    scene s = draw(&r, number);
    measure(&s, &r, memory, time, x, v);
    assert_int_equal(cls_table_borrow(3, names, ROWS, columns, &table, &error), CLS_OK);
    const cls_table *tables[] = {table};
    cls_status status =
        cls_learn(systems[s.shape >= POTENTIALS], NULL, 1, tables, file, &o, &m, &info, &error);
    if (status != CLS_OK) printf("case %zu: %s\n", number, error.message);
    assert_int_equal(status, CLS_OK);
    assert_non_null(info.report);
    assert_int_equal(info.report->n_functions, 1);
    for (size_t i = 0; i < ROWS && s.shape >= POTENTIALS; i++) x[i] = v[i] * v[i];
    judge(&s, &info.report->functions[0], x, t);
    cls_learn_report_free(&info.report);
    cls_model_free(&m);
    cls_table_free(&table);
}

static void check(double memory) {
    const char *asked = getenv("CLAUSIUS_COVERAGE_CASES");
    size_t cases = asked ? (size_t)atoi(asked) : CASES, inside = 0, all = 0;
    tally t = {{0}, {0}};
    cls_system *systems[2];
    assert_int_equal(cls_system_parse(potentials, "made", NULL, &systems[0], NULL), CLS_OK);
    assert_int_equal(cls_system_parse(frictions, "made", NULL, &systems[1], NULL), CLS_OK);
    for (size_t i = 0; i < cases; i++) learn_one(i, systems, memory, &t);
    cls_system_free(&systems[0]);
    cls_system_free(&systems[1]);
    for (size_t s = 0; s < SHAPES; s++) {
        inside += t.inside[s];
        all += t.all[s];
        printf("memory %.1f, %-22s %3zu of %3zu inside\n", memory, shape_name[s], t.inside[s],
               t.all[s]);
    }
    double share = (double)inside / (double)all;
    printf("memory %.1f, together %.1f %%\n", memory, 100 * share);
    if (!asked) assert_true(share >= 0.85 && share <= 0.95);
}

static void white_noise(void **unused) {
    (void)unused;
    check(0);
}

static void noise_that_remembers(void **unused) {
    (void)unused;
    check(0.8);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(white_noise),
                                       cmocka_unit_test(noise_that_remembers)};
    if (argc > 1) cmocka_set_test_filter(argv[1]); /* one of them */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
