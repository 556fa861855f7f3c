/* Noisy data: terms that the noise allows, by multiple shooting, and what keeps it from failing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/learn/made_data.h"
#include "tests/sanitized.h"
#include "learn/noise/terms.h"
#include <clausius/learn.h>
#include <time.h>

static const char truth[] = "coordinate q\nhamiltonian H = p.q^2 + q^2 + q^4/4\n"
                            "start q = 1, p.q = 0\nstep 0.1\n";
static const char unknown[] = "coordinate q\nhamiltonian H = unknown\n"
                              "start q = 1, p.q = 0\nstep 0.1\n";
static const range box[] = {{"q", -1.2, 1.2}, {"p.q", -1, 1}};

/* Normal noise on q and p; every `wild`-th row is off by 3 (0: none). */
static void spoil(cls_table *t, double size, size_t wild) {
    static const char *const names[] = {"q", "p.q"};
    cls_random random;
    cls_random_seed(&random, 5);
    for (size_t k = 0; k < 2; k++) {
        double *z = (double *)cls_table_column(t, (size_t)cls_table_find(t, names[k]));
        for (size_t i = 0; i < cls_table_rows(t); i++)
            z[i] += size * cls_random_normal(&random) + (wild && i % wild == 7 ? 3 : 0);
    }
}

typedef struct outcome {
    size_t terms;
    double error; /* largest difference of q from the true motion, t = 0 .. 10 */
    cls_learn_info info;
} outcome;

static cls_system *parse(const char *text) {
    cls_error e;
    cls_system *s;
    if (cls_system_parse(text, "noisy", NULL, &s, &e)) fail_msg("%s", e.message);
    return s;
}

static double compare(const cls_system *a, const cls_system *b) {
    cls_error e;
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *x, *y;
    double start[2] = {0.9, 0.3}, most = 0;
    o.scheme = "discrete-gradient-4";
    o.h = 0.05;
    if (cls_simulator_create(a, &o, &x, &e) || cls_simulator_create(b, &o, &y, &e))
        fail_msg("%s", e.message);
    assert_int_equal(cls_simulator_start(x, 0, start, &e), CLS_OK);
    assert_int_equal(cls_simulator_start(y, 0, start, &e), CLS_OK);
    for (int i = 0; i < 200; i++) {
        if (cls_simulator_advance(x, 1, &e) || cls_simulator_advance(y, 1, &e))
            fail_msg("%s", e.message);
        most = fmax(most, fabs(cls_simulator_state(x)[0] - cls_simulator_state(y)[0]));
    }
    cls_simulator_free(&x);
    cls_simulator_free(&y);
    return most;
}

static outcome try(double size, size_t wild, const char *loss) {
    outcome out;
    cls_error e;
    cls_system *s = parse(truth), *u = parse(unknown);
    cls_table *t = make_data(s, 2, box, 15, 60, 0.1, 3);
    const cls_table *table = t;
    const char *name = "made here";
    cls_model *m;
    cls_learn_options o = cls_learn_defaults();
    o.loss = loss;
    spoil(t, size, wild);
    if (cls_learn(u, NULL, 1, &table, &name, &o, &m, &out.info, &e)) fail_msg("%s", e.message);
    out.terms = out.info.parameters;
    out.error = compare(s, cls_model_system(m));
    print_message("noise %g, every %zu wild, %s: %zu terms, off by %.1e\n", size, wild,
                  loss ? loss : "chosen", out.terms, out.error);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
    cls_system_free(&u);
    return out;
}

/* 90 terms are too many for any of these; errors are those of the noise, not of the terms. */
static void terms_fall_as_noise_rises(void **unused) {
    (void)unused;
    static const double sizes[] = {3e-3, 3e-2, 0.2};
    size_t last = SIZE_MAX;
    for (int i = 0; i < 3; i++) {
        outcome o = try(sizes[i], 0, NULL);
        assert_non_null(o.info.report);
        assert_non_null(strstr(o.info.report->choice, "noisy"));
        assert_true(o.terms <= last && o.terms <= 6);
        assert_true(o.error < 2 * sizes[i]);
        last = o.terms;
        cls_learn_report_free(&o.info.report);
    }
}

/* Clean data are no business of this, and a loss that is asked for is taken. */
static void the_choice_is_by_noise_and_can_be_overruled(void **unused) {
    (void)unused;
    outcome clean = try(0, 0, NULL), told = try(3e-2, 0, "residual"),
            asked = try(0, 0, "multiple-shooting");
    assert_null(clean.info.report);
    assert_null(told.info.report);
    assert_true(clean.error < 1e-2); /* the quadrature of its rows */
    assert_non_null(asked.info.report);
    assert_true(asked.error < 1e-3);
    cls_learn_report_free(&asked.info.report);
}

/* Huber's loss, and ranges of inputs that single values do not stretch. */
static void wild_rows_do_not_matter_much(void **unused) {
    (void)unused;
    outcome o = try(3e-2, 40, NULL);
    assert_true(o.error < 0.06);
    assert_true(o.terms <= 6);
    cls_learn_report_free(&o.info.report);
}

/* Energy and friction unknown: a multiple of both moves the same way, so that no terms at all seemed
 * to be as good as those there are, and nothing could be simulated. */
static void terms_of_everything_at_once(void **unused) {
    (void)unused;
    cls_error e;
    cls_system *s = parse("coordinate q\ntemperature T\n"
                          "thermal lagrangian G = v.q^2/2 - q^2/2 + 2*T*(log(T) - 1)\n"
                          "friction F on T: q <- -(0.1 + 0.1*v.q^2)*v.q\n"
                          "start q = 1, v.q = 0, T = 1\nstep 0.1\n");
    static const range warm[] = {{"q", -1, 1}, {"v.q", -1, 1}, {"T", 0.7, 1.3}};
    static const char *const parts[] = {"G", "F"}, *const columns[] = {"q", "v.q", "T"};
    cls_table *t = make_data(s, 3, warm, 12, 40, 0.1, 3);
    const cls_table *table = t;
    const char *name = "made here";
    cls_random random;
    cls_random_seed(&random, 5);
    for (size_t k = 0; k < 3; k++) {
        double *z = (double *)cls_table_column(t, (size_t)cls_table_find(t, columns[k]));
        for (size_t i = 0; i < cls_table_rows(t); i++) z[i] += 4e-3 * cls_random_normal(&random);
    }
    cls_model *m;
    cls_learn_info info;
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = 2;
    o.unknown = parts;
    if (cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &e)) fail_msg("%s", e.message);
    assert_non_null(info.report);
    assert_non_null(strstr(info.report->choice, "noisy"));
    assert_true(info.normalised && info.parameters >= 4 && info.parameters <= 12);
    double error = 0;
    for (size_t k = 0; k < info.report->n_channels; k++) /* rows kept back, in a free run */
        error = fmax(error, info.report->channels[k].run);
    print_message("G, F: %zu terms, free run off by %.1e\n", info.parameters, error);
    assert_true(error < 8e-3);
    /* the mean mass is one: F is known, and how well */
    for (size_t i = 0; i < info.report->n_functions; i++) {
        const cls_learned_function *f = &info.report->functions[i];
        for (size_t j = 0; strcmp(f->part, "F") == 0 && j < f->n; j++) {
            double squared = strcmp(f->input, "v.q") == 0 ? f->at[j] * f->at[j] : f->at[j];
            double off = fabs(f->value[j] - 0.1 - 0.1 * squared);
            assert_non_null(strstr(f->input, "v.q"));
            assert_true(f->error[j] < 0.02 && off < 5 * f->error[j]);
        }
    }
    cls_learn_report_free(&info.report);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* What a law says in one term takes several polynomials, each with its part of the noise: a cosine, and a
 * product about a point that is not zero. Terms that the polynomials are simpler than are not taken. */
static void laws_are_found_in_their_own_terms(void **unused) {
    (void)unused;
    static const struct {
        const char *text, *part, *columns[2], *found;
        range box[2];
    } laws[] = {
        {"coordinate q\nhamiltonian H = p.q^2/2 + 2*(1 - cos(q))\nstart q = 1, p.q = 0\nstep 0.1\n",
         "H",
         {"q", "p.q"},
         "terms(p.q^2; cos(q))",
         {{"q", -1.5, 1.5}, {"p.q", -1, 1}}},
        {"part r = x*y\node x' = x - r\node y' = r - y\nstart x = 1, y = 0.5\nstep 0.1\n",
         "r",
         {"x", "y"},
         "terms(x*y)",
         {{"x", 0.5, 2}, {"y", 0.5, 2}}},
    };
    for (size_t i = 0; i < 2; i++) {
        cls_error e;
        cls_system *s = parse(laws[i].text);
        cls_table *t = make_data(s, 2, laws[i].box, 12, 50, 0.1, 3);
        const cls_table *table = t;
        const char *name = "made here";
        cls_random random;
        cls_random_seed(&random, 5);
        for (size_t k = 0; k < 2; k++) {
            int c = cls_table_find(t, laws[i].columns[k]);
            double *z = (double *)cls_table_column(t, (size_t)c);
            for (size_t r = 0; r < cls_table_rows(t); r++)
                z[r] += 0.02 * cls_random_normal(&random);
        }
        cls_model *m;
        cls_learn_info info;
        cls_learn_options o = cls_learn_defaults();
        o.n_unknown = 1;
        o.unknown = &laws[i].part;
        if (cls_learn(s, NULL, 1, &table, &name, &o, &m, &info, &e)) fail_msg("%s", e.message);
        print_message("%s", info.report->notes);
        assert_string_equal(m->learned[0].field->spec, laws[i].found);
        assert_non_null(strstr(info.report->notes, laws[i].found));
        cls_learn_report_free(&info.report);
        cls_model_free(&m);
        cls_table_free(&t);
        cls_system_free(&s);
    }
}

/* Against all sets of six terms, one of which is a copy of another. */
enum { P = 6 };

static double least(const double *S, const double *b, unsigned set) { /* of t.S t/2 - b.t */
    double A[P * P], x[P];
    size_t n = 0, at[P];
    for (size_t k = 0; k < P; k++)
        if (set >> k & 1) at[n++] = k;
    for (size_t i = 0; i < n; i++) {
        x[i] = b[at[i]];
        for (size_t j = 0; j < n; j++) A[i * n + j] = S[at[i] * P + at[j]];
    }
    double value = 0;
    for (size_t k = 0; k < n; k++) { /* elimination; pivots are positive */
        value -= x[k] * x[k] / A[k * n + k] / 2;
        for (size_t i = k + 1; i < n; i++) {
            double f = A[i * n + k] / A[k * n + k];
            for (size_t j = 0; j < n; j++) A[i * n + j] -= f * A[k * n + j];
            x[i] -= f * x[k];
        }
    }
    return value;
}

/* A term that is nearly the copy of a simpler one, beside which neither pays: only an exchange leads
 * to the simpler one. */
static void of_equal_terms_the_simpler_is_taken(void **unused) {
    (void)unused;
    enum { N = 3 };
    cls_random random;
    cls_random_seed(&random, 4);
    double S[N * N] = {0}, b[N] = {0}, g[N], theta[N] = {0}, found[N];
    for (size_t i = 0; i < 200; i++) { /* y is of term 1; term 2 is nearly the same */
        double row[N] = {cls_random_normal(&random), cls_random_normal(&random), 0};
        row[2] = row[1] + 0.05 * cls_random_normal(&random);
        double y = row[0] + row[1] + cls_random_normal(&random);
        for (size_t k = 0; k < N; k++) {
            b[k] += row[k] * y;
            for (size_t j = 0; j < N; j++) S[k * N + j] += row[k] * row[j];
        }
    }
    for (size_t k = 0; k < N; k++) g[k] = -b[k];
    const size_t part[N] = {0};
    const unsigned char locked[N] = {0};
    const double price[N] = {5, 7, 8};
    unsigned char keep[N] = {1, 0, 1};
    size_t moves;
    clsi_terms_choice c = {N, S, g, theta, part, locked, price, NULL};
    assert_int_equal(clsi_terms_choose(&c, keep, found, &moves, NULL), CLS_OK);
    assert_true(keep[0] && keep[1] && !keep[2]);
    assert_int_equal(moves, 1);
}

/* T2 is the truth; T4 explains a little more of this noise, and T2 beside it nothing. Without a simpler
 * term next to it T4 has to pay for one as well; where it explains far more it is taken all the same. */
static void terms_far_out_alone_cost_more(void **unused) {
    (void)unused;
    enum { N = 3 }; /* T1, T2, T4 */
    const double S[N * N] = {1, 0, 0, 0, 1, 0.9, 0, 0.9, 1}, theta[N] = {0};
    const size_t part[N] = {0};
    const unsigned char locked[N] = {0}, parent[N * N] = {0, 0, 0, 0, 0, 0, 0, 1, 0};
    const double price[N] = {5, 6, 7};
    for (int far = 0; far < 2; far++) {
        double four = far ? 40 : 7.1, two = far ? 30 : 6.9, found[N];
        double g[N] = {-10, -two, -four};
        size_t moves;
        unsigned char keep[N] = {1, 0, 0};
        clsi_terms_choice c = {N, S, g, theta, part, locked, price, far ? parent : NULL};
        if (!far) {
            assert_int_equal(clsi_terms_choose(&c, keep, found, &moves, NULL), CLS_OK);
            assert_true(keep[0] && !keep[1] && keep[2]);
            memcpy(keep, (unsigned char[N]){1, 0, 0}, N);
            c.parent = parent;
        }
        assert_int_equal(clsi_terms_choose(&c, keep, found, &moves, NULL), CLS_OK);
        assert_true(keep[0] && (far ? keep[2] : keep[1] && !keep[2]));
    }
    cls_error e;
    clsi_field *f;
    const char *const inputs[] = {"a", "b"};
    if (clsi_field_create(2, "chebyshev(4)", inputs, &f, &e)) fail_msg("%s", e.message);
    clsi_unknown one = {.learned = {.field = f, .d = 2}};
    clsi_unknowns us = {.n = 1, .list = &one};
    unsigned char next[64 * 64];
    size_t n = f->n_parameters;
    assert_true(n <= 64);
    clsi_terms_parents(&us, n, next);
    for (size_t k = 0; k < n; k++)
        for (size_t j = 0; j < n; j++) {
            const unsigned char *a = clsi_field_powers(f, k), *b = clsi_field_powers(f, j);
            int less = a[0] + a[1] - b[0] - b[1], inside = b[0] <= a[0] && b[1] <= a[1];
            int wanted = a[0] + a[1] > 2 && inside && (less == 1 || less == 2);
            assert_int_equal(next[k * n + j], wanted);
        }
    clsi_field_free(&f);
}

static void terms_cost_what_it_takes_to_name_them(void **unused) {
    (void)unused;
    cls_error e;
    clsi_field *f;
    const char *const inputs[] = {"a", "b"};
    if (clsi_field_create(2, "chebyshev(4)", inputs, &f, &e)) fail_msg("%s", e.message);
    clsi_unknown part = {.learned = {.field = f, .d = 2}};
    clsi_unknowns us = {.n = 1, .list = &part};
    double price[64];
    clsi_terms_prices(&us, 100, price);
    for (size_t k = 0; k < f->n_parameters; k++) {
        const unsigned char *powers = clsi_field_powers(f, k);
        int degree =
            powers[0] + powers[1]; /* d (d + 3)/2 terms up to a degree, the constant left out */
        double simpler = degree * (degree + 3) / 2.0;
        assert_true(fabs(price[k] - log(100) - 2 * log(simpler)) < 1e-12);
    }
    clsi_field_free(&f);
}

static void single_moves_find_the_best_set(void **unused) {
    (void)unused;
    cls_random random;
    cls_random_seed(&random, 3);
    for (int trial = 0; trial < 20; trial++) {
        double rows[40][P], S[P * P] = {0}, g[P] = {0}, theta[P] = {0}, found[P], b[P] = {0};
        size_t part[P] = {0}, moves;
        unsigned char keep[P] = {1, 1, 0, 0, 0, 0}, locked[P] = {0};
        for (size_t i = 0; i < 40; i++) {
            for (size_t k = 0; k < P; k++) rows[i][k] = cls_random_normal(&random);
            rows[i][5] = rows[i][4]; /* cannot be told apart */
            double y = 3 * rows[i][2] - 2 * rows[i][4] + cls_random_normal(&random);
            for (size_t k = 0; k < P; k++) {
                b[k] += rows[i][k] * y;
                g[k] = -b[k]; /* at theta = 0 */
                for (size_t j = 0; j < P; j++) S[k * P + j] += rows[i][k] * rows[i][j];
            }
        }
        const double price[P] = {8, 8, 8, 8, 8, 8};
        clsi_terms_choice c = {P, S, g, theta, part, locked, price, NULL};
        assert_int_equal(clsi_terms_choose(&c, keep, found, &moves, NULL), CLS_OK);
        double best = INFINITY, ours = INFINITY;
        for (unsigned set = 1; set < 1 << P; set++) {
            if ((set & 48) == 48) continue; /* singular */
            double bic = 2 * least(S, b, set);
            unsigned same = 1;
            for (size_t k = 0; k < P; k++) {
                bic += set >> k & 1 ? price[k] : 0;
                same &= (set >> k & 1) == keep[k];
            }
            best = fmin(best, bic);
            if (same) ours = bic;
        }
        assert_true(ours <= best + 1e-9);
        assert_true(keep[2] && (keep[4] ^ keep[5]));
        assert_true(fabs(found[2] - 3) < 1 && fabs(found[4] + found[5] + 2) < 1);
    }
}

/* A basis of some of its terms is the whole one with zeros, and says what is wrong with a list. */
static void some_terms_of_a_basis(void **unused) {
    (void)unused;
    cls_error e;
    clsi_field *all, *some, *none;
    double theta[10] = {0}, few[2] = {0.7, -0.2}, x[2] = {0.3, -0.6}, value[2], slope[2][2];
    assert_int_equal(clsi_field_create(2, "chebyshev(3, constant)", NULL, &all, &e), CLS_OK);
    assert_int_equal(clsi_field_create(2, "chebyshev(3, constant, only 2 7)", NULL, &some, &e),
                     CLS_OK);
    assert_int_equal(all->n_parameters, 10);
    assert_int_equal(some->n_parameters, 2);
    theta[2] = few[0], theta[7] = few[1];
    all->kind->evaluate(all, theta, 1, x, &value[0], slope[0], NULL);
    some->kind->evaluate(some, few, 1, x, &value[1], slope[1], NULL);
    assert_true(value[0] == value[1] && !memcmp(slope[0], slope[1], sizeof slope[0]));
    assert_int_equal(clsi_field_create(2, "chebyshev(3, only 4 4)", NULL, &none, &e), CLS_USAGE);
    assert_non_null(strstr(e.message, "increasing"));
    assert_int_equal(clsi_field_create(2, "chebyshev(3, only 9)", NULL, &none, &e), CLS_USAGE);
    clsi_field_free(&all);
    clsi_field_free(&some);
}

/* Says so from its so many-th question on; processor seconds when that was. */
typedef struct listener {
    size_t asked, from;
    clock_t since;
} listener;

static int has_enough(void *context) {
    listener *l = context;
    if (++l->asked < l->from) return 0;
    if (!l->since) l->since = clock();
    return 1;
}

static const char damped[] =
    "coordinate q\nentropy S\nhamiltonian p.q^2/2 + q^2/2 + 0.3*q^4 + exp(S)\n"
    "friction on S: q <- -0.1*v.q\nstart q = 1, p.q = 0, S = 0\n";
static const char damped_unknown[] =
    "coordinate q\nentropy S\npart V of q = unknown\npart f of v.q = unknown\n"
    "hamiltonian p.q^2/2 + V + exp(S)\nfriction on S: q <- -f*v.q\nstart q = 1, p.q = 0, S = 0\n";

/* A stop ends the search for terms: no other dictionary, picture or sum is begun, each of which takes as
 * long as all before it. What there is by then is a model. */
static void a_stop_ends_the_search(void **unused) {
    (void)unused;
    SKIP_IF_SANITIZED(); /* minutes there */
    cls_system *s = parse(damped), *u = parse(damped_unknown);
    cls_table *t = make_data(s, 2, box, 8, 300, 0.05, 3);
    const cls_table *table = t;
    const char *name = "made here";
    double whole = 0, most = 0;
    size_t questions = 0;
    spoil(t, 3e-2, 0);
    for (size_t i = 0; i < 5; i++) { /* first without a stop */
        cls_error e = {0};
        cls_model *m;
        cls_learn_info info;
        listener l = {.from = i ? 1 + i * questions / 5 : SIZE_MAX};
        cls_learn_options o = cls_learn_defaults();
        clock_t began = clock();
        o.interrupted = has_enough;
        o.context = &l;
        if (cls_learn(u, NULL, 1, &table, &name, &o, &m, &info, &e)) fail_msg("%s", e.message);
        double after = (double)(clock() - (i ? l.since : began)) / CLOCKS_PER_SEC;
        if (i)
            most = fmax(most, after);
        else
            whole = after, questions = l.asked;
        cls_learn_report_free(&info.report);
        cls_model_free(&m);
    }
    print_message("%.2f s of %.2f after a stop\n", most, whole);
    assert_true(most < 0.2 * whole);
    cls_table_free(&t);
    cls_system_free(&s);
    cls_system_free(&u);
}

/* Parameters by multiple shooting: what would be fitted with longer windows is not planned, cut and simulated any more. */
static void a_stop_ends_the_stages(void **unused) {
    (void)unused;
    cls_system *s = parse(damped),
               *u = parse("parameter c = unknown near 0.4, k = unknown near 2\ncoordinate q\n"
                          "entropy S\nhamiltonian p.q^2/2 + k*q^2/2 + 0.3*q^4 + exp(S)\n"
                          "friction on S: q <- -c*v.q\nstart q = 1, p.q = 0, S = 0\n");
    cls_table *t = make_data(s, 2, box, 2, 4000, 0.05, 3);
    const cls_table *table = t;
    const char *name = "made here";
    double took[2];
    for (size_t i = 0; i < 2; i++) { /* first without a stop */
        cls_error e = {0};
        cls_model *m;
        cls_learn_info info;
        listener l = {.from = i ? 2 : SIZE_MAX};
        cls_learn_options o = cls_learn_defaults();
        o.ensemble = i ? 50 : 0; /* nor are standard errors and ensembles waited for */
        clock_t began = clock();
        o.interrupted = has_enough;
        o.context = &l;
        if (cls_learn(u, NULL, 1, &table, &name, &o, &m, &info, &e)) fail_msg("%s", e.message);
        took[i] = (double)(clock() - (i ? l.since : began)) / CLOCKS_PER_SEC;
        assert_int_equal(isnan(info.report->parameters[0].error), i);
        assert_int_equal(cls_model_doubt_count(m), i ? 0 : 2);
        cls_learn_report_free(&info.report);
        cls_model_free(&m);
    }
    print_message("%.2f s of %.2f after a stop\n", took[1], took[0]);
    assert_true(took[1] < 0.12 * took[0]); /* a fifth, when all stages were gone through */
    cls_table_free(&t);
    cls_system_free(&s);
    cls_system_free(&u);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stop_ends_the_search),
        cmocka_unit_test(a_stop_ends_the_stages),
        cmocka_unit_test(some_terms_of_a_basis),
        cmocka_unit_test(single_moves_find_the_best_set),
        cmocka_unit_test(of_equal_terms_the_simpler_is_taken),
        cmocka_unit_test(terms_far_out_alone_cost_more),
        cmocka_unit_test(terms_cost_what_it_takes_to_name_them),
        cmocka_unit_test(terms_fall_as_noise_rises),
        cmocka_unit_test(the_choice_is_by_noise_and_can_be_overruled),
        cmocka_unit_test(wild_rows_do_not_matter_much),
        cmocka_unit_test(terms_of_everything_at_once),
        cmocka_unit_test(laws_are_found_in_their_own_terms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
