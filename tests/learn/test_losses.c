/* Fits that go on from the fit of the residual, as a caller sees them: stopped anywhere and resumed
 * they end with the same bits, whatever the number of threads; anchors hold in them; the best
 * parameters are kept; batches are of whole windows. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "learn/shooting/shoot.h"
#include "tests/learn/made_data.h"
#include <stdio.h>
#include <unistd.h>

#define SPRING                                                                                     \
    "coordinate q\n"                                                                               \
    "entropy S\n"                                                                                  \
    "hamiltonian H = p.q^2/2 + q^2/2 + exp(S)\n"                                                   \
    "friction F on S: q <- -0.3*(1 + q^2)*v.q\n"                                                   \
    "start q = 1, p.q = 0.5, S = 0.2\n"

static const range box[] = {{"q", -1, 1}, {"p.q", -1, 1}, {"S", 0, 0.5}};
static const char *const parts[] = {"F"};

static cls_system *parse(const char *text) {
    cls_error e;
    cls_system *s;
    if (cls_system_parse(text, "test", NULL, &s, &e)) fail_msg("%s", e.message);
    return s;
}

/* Seen by `progress`. */
typedef struct observer {
    uint64_t calls, stop_at; /* stop_at 0: never */
    uint64_t done;           /* iterations, counted by each fit */
    double least;            /* validation in this fit */
} observer;

static int observe(void *context, const cls_learn_progress *p) {
    observer *o = context;
    if (p->done < o->done) o->least = INFINITY;
    o->done = p->done;
    if (p->validation < o->least) o->least = p->validation;
    return ++o->calls == o->stop_at;
}

typedef struct job {
    const cls_system *s;
    const cls_table *t;
    cls_learn_options o;
    observer seen;
    cls_learn_info info;
} job;

static job job_of(const cls_system *s, const cls_table *t, const char *field, const char *loss) {
    job j = {.s = s, .t = t, .o = cls_learn_defaults()};
    j.o.unknown = parts;
    j.o.n_unknown = 1;
    j.o.field = field;
    j.o.loss = loss;
    j.o.validate = 0.2;
    j.o.checkpoint_every = 0;
    j.o.progress = observe;
    return j;
}

static cls_model *run(job *j, uint64_t stop_at) {
    cls_error e;
    cls_model *m;
    const char *name = "made here";
    j->seen = (observer){.stop_at = stop_at, .least = INFINITY};
    j->o.context = &j->seen;
    cls_status status = cls_learn(j->s, NULL, 1, &j->t, &name, &j->o, &m, &j->info, &e);
    if (status == CLS_INTERRUPTED && stop_at) return NULL; /* before there was anything */
    if (status) fail_msg("%s", e.message);
    return m;
}

static void same_model(const cls_model *a, const cls_model *b, const char *what) {
    assert_int_equal(a->n_theta, b->n_theta);
    if (memcmp(a->theta, b->theta, a->n_theta * sizeof *a->theta) != 0)
        fail_msg("%s: other parameters", what);
}

/* It can be simulated. */
static void check_usable(const cls_model *m) {
    cls_error e;
    cls_simulator *sim;
    double start[8];
    cls_simulate_options o = cls_simulate_defaults();
    o.h = 0.1;
    if (cls_system_start(cls_model_system(m), NULL, start, &e) ||
        cls_simulator_create(cls_model_system(m), &o, &sim, &e) ||
        cls_simulator_start(sim, 0, start, &e) || cls_simulator_advance(sim, 20, &e))
        fail_msg("%s", e.message);
    cls_simulator_free(&sim);
}

/* Stopped at every so many reports, in whatever phase that is, and resumed. */
static void resume_everywhere(job *j, uint64_t every, const char *what) {
    static char path[64];
    snprintf(path, sizeof path, "/tmp/clausius-losses-%ld", (long)getpid());
    unlink(path);
    j->o.checkpoint = NULL;
    cls_model *whole = run(j, 0);
    uint64_t reports = j->seen.calls, stops = 0;
    j->o.checkpoint = path;
    for (uint64_t at = 1; at < reports; at += every) {
        j->o.resume = 0;
        cls_model *part = run(j, at);
        if (part) check_usable(part);
        if (part) assert_int_equal(j->info.stopped, 1);
        stops += part != NULL;
        cls_model_free(&part);
        j->o.resume = 1;
        cls_model *rest = run(j, 0);
        same_model(whole, rest, what);
        assert_true(access(path, F_OK) != 0); /* finished: nothing to go on with */
        cls_model_free(&rest);
    }
    if (!stops) fail_msg("%s: stopped only %d times in %d", what, (int)stops, (int)reports);
    cls_model_free(&whole);
}

static void stopped_and_resumed_it_is_the_same(void **unused) {
    (void)unused;
    cls_system *s = parse(SPRING);
    cls_table *t = make_data(s, 3, box, 6, 16, 0.1, 5);
    static const struct {
        const char *field, *loss;
        uint64_t iterations, every;
    } cases[] = {{"chebyshev(2)", "shooting", 8, 4},
                 {"network(3)", "shooting", 12, 11},
                 {"chebyshev(2)", "derivative", 8, 2},
                 {"network(3)", "derivative", 12, 9}};
    for (size_t k = 0; k < 4; k++) {
        job j = job_of(s, t, cases[k].field, cases[k].loss);
        char what[64];
        snprintf(what, sizeof what, "%s of %s", cases[k].loss, cases[k].field);
        j.o.max_iterations = cases[k].iterations;
        j.o.window = 8;
        resume_everywhere(&j, cases[k].every, what);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

static void a_checkpoint_of_another_loss_is_refused(void **unused) {
    (void)unused;
    char path[64];
    cls_error e;
    cls_model *m;
    const char *name = "made here";
    cls_system *s = parse(SPRING);
    cls_table *t = make_data(s, 3, box, 8, 12, 0.1, 5);
    snprintf(path, sizeof path, "/tmp/clausius-losses-%ld", (long)getpid());
    job j = job_of(s, t, "network(3)", "derivative");
    j.o.checkpoint = path;
    m = run(&j, 6);
    assert_int_equal(access(path, F_OK), 0);
    cls_model_free(&m);
    j.o.resume = 1;
    j.o.loss = "shooting";
    j.o.progress = NULL;
    assert_int_equal(
        cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &j.o, &m, &j.info, &e),
        CLS_USAGE);
    assert_non_null(strstr(e.message, "another training"));
    assert_null(m);
    unlink(path);
    cls_table_free(&t);
    cls_system_free(&s);
}

static void threads_do_not_matter(void **unused) {
    (void)unused;
    static const char *const losses[] = {"shooting", "derivative"};
    static const char *const fields[] = {"chebyshev(3)", "network(5)"};
    cls_system *s = parse(SPRING);
    cls_table *t = make_data(s, 3, box, 24, 20, 0.1, 5);
    for (size_t l = 0; l < 2; l++)
        for (size_t f = 0; f < 2; f++) {
            cls_model *one = NULL;
            for (int threads = 1; threads <= 4; threads *= 2) {
                job j = job_of(s, t, fields[f], losses[l]);
                j.o.max_iterations = 8;
                j.o.window = 10;
                j.o.threads = threads;
                cls_model *m = run(&j, 0);
                if (one) same_model(one, m, losses[l]);
                if (one)
                    cls_model_free(&m);
                else
                    one = m;
            }
            cls_model_free(&one);
        }
    cls_table_free(&t);
    cls_system_free(&s);
}

/* Noise, so that validation turns: what is kept is the best that was seen. */
static void the_best_is_kept_and_patience_ends(void **unused) {
    (void)unused;
    cls_system *s = parse(SPRING);
    cls_table *t = make_data(s, 3, box, 6, 12, 0.1, 5);
    cls_random random;
    cls_random_seed(&random, 3);
    for (size_t c = 0; c < cls_table_columns(t); c++) {
        const char *name = cls_table_name(t, c);
        if (!strcmp(name, "trajectory") || !strcmp(name, "time")) continue;
        double *column = (double *)cls_table_column(t, c);
        for (size_t i = 0; i < cls_table_rows(t); i++)
            column[i] += 0.02 * cls_random_normal(&random);
    }
    static const char *const losses[] = {"shooting", "derivative"};
    for (size_t l = 0; l < 2; l++) {
        job j = job_of(s, t, "network(10)", losses[l]);
        j.o.optimizer = "lm";
        j.o.max_iterations = 300;
        j.o.patience = 5;
        j.o.window = 3; /* no shorter stages before */
        cls_model *m = run(&j, 0);
        print_message("%s: %d iterations, validation %.4g\n", losses[l], (int)j.info.iterations,
                      j.info.loss_validation);
        assert_true(j.info.iterations < 500); /* 300 of the residual, as many of this loss */
        assert_true(j.info.loss_validation <= j.seen.least * (1 + 1e-9));
        check_usable(m);
        cls_model_free(&m);
    }
    cls_table_free(&t);
    cls_system_free(&s);
}

/* ---- batches ---- */

/* Trajectories of 30 intervals in windows of 12: 12, 12, and 12 that overlap. */
static void batches_are_of_whole_windows(void **unused) {
    (void)unused;
    cls_error e;
    const char *name = "made here";
    cls_system *s = parse(SPRING);
    cls_table *t = make_data(s, 3, box, 4, 30, 0.1, 5);
    cls_learn_options o = cls_learn_defaults();
    clsi_points *points;
    clsi_unknowns *us;
    clsi_motion motion;
    o.unknown = parts;
    o.n_unknown = 1;
    o.field = "chebyshev(2)";
    if (clsi_points_create(s, 1, (const cls_table *const *)&t, &name, &clsi_rule_quadrature, 0, 0,
                           &points, &e) ||
        clsi_unknowns_create(s, NULL, &o, points, &us, &e))
        fail_msg("%s", e.message);
    us->list[0].learned.floor = 0.01; /* positive by form, as learning makes it */
    if (clsi_motion_create(us, "implicit-midpoint", &motion, &e)) fail_msg("%s", e.message);
    for (int equal = 0; equal < 2; equal++) {
        clsi_shooting *shooting;
        clsi_problem p;
        clsi_shooting_options w = {.intervals = 12, .equal = equal};
        if (clsi_shooting_create(points, motion.step, &w, 0, &shooting, &e))
            fail_msg("%s", e.message);
        clsi_shooting_problem(shooting, &p);
        assert_int_equal(clsi_shooting_windows(shooting), 12);
        assert_int_equal(p.group, equal ? 36 : 0);
        assert_int_equal(p.n_rows, equal ? 12 * 36 : 4 * (36 + 36 + 18));
        clsi_shooting_free(&shooting);
    }
    clsi_motion_clear(&motion);
    clsi_unknowns_free(&us);
    clsi_points_free(&points);
    job j = job_of(s, t, "chebyshev(2)", "shooting");
    j.o.optimizer = NULL;
    cls_model *exact = run(&j, 0);
    double least = j.info.loss_final;
    cls_model_free(&exact);
    j.o.optimizer = "adam";
    j.o.from = NULL;
    j.o.window = 12;
    j.o.batch = 72; /* two windows */
    j.o.max_iterations = 600;
    cls_model *m = run(&j, 0);
    print_message("adam on windows: loss %.2e from %.2e, lm %.2e\n", j.info.loss_final,
                  j.info.loss_initial, least);
    assert_true(j.info.loss_final < j.info.loss_initial / 2);
    assert_string_equal(j.info.optimizer, "adam");
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
}

/* ---- anchors ---- */

#define BALL                                                                                       \
    "coordinate x\n"                                                                               \
    "temperature T\n"                                                                              \
    "thermal lagrangian G = unknown %s\n"                                                          \
    "friction F on T: unknown %s\n"                                                                \
    "anchor d p.x / d v.x = 2 at x = 0, v.x = 0, T = 1\n"                                          \
    "anchor p.x = 0 at x = 0.1, v.x = 0, T = 1\n"                                                  \
    "start x = 0.5, v.x = 0, T = 1\n"

#define TRUE_BALL                                                                                  \
    "coordinate x\n"                                                                               \
    "temperature T\n"                                                                              \
    "thermal lagrangian G = v.x^2 - x^2 - T*(log(T) - 1)*2\n"                                      \
    "friction F on T: x <- -0.4*v.x\n"                                                             \
    "start x = 0.5, v.x = 0, T = 1\n"

/* How far the momentum's slope is from 2, and the momentum at rest from 0. */
static void off(const cls_model *m, double *slope, double *rest) {
    const cls_system *s = cls_model_system(m);
    cls_program *p;
    double z[] = {0, 0, 1}, there[] = {0.1, 0, 1};
    cls_node dp = cls_derivative(s->g, s->form->p[0], s->v[0]);
    assert_int_equal(cls_program_create(s->g, 3, s->form->z, 1, &dp, &p, NULL), CLS_OK);
    assert_int_equal(cls_program_run_many(p, 1, 1, z, slope), CLS_OK);
    cls_program_free(&p);
    assert_int_equal(cls_program_create(s->g, 3, s->form->z, 1, &s->form->p[0], &p, NULL), CLS_OK);
    assert_int_equal(cls_program_run_many(p, 1, 1, there, rest), CLS_OK);
    cls_program_free(&p);
    *slope = fabs(*slope / 2 - 1);
    *rest = fabs(*rest);
}

static void anchors_hold(void **unused) {
    (void)unused;
    static const char *const losses[] = {"residual", "shooting", "derivative"};
    static const range around[] = {{"x", -1, 1}, {"v.x", -1, 1}, {"T", 0.8, 1.2}};
    cls_system *truth = parse(TRUE_BALL);
    cls_table *t = make_data(truth, 3, around, 20, 20, 0.05, 5);
    for (int network = 0; network < 2; network++)
        for (int l = 0; l < 3; l++) {
            char text[1024];
            double slope, rest;
            snprintf(text, sizeof text, BALL, network ? "network(8)" : "chebyshev(4)",
                     network ? "network(4)" : "chebyshev(2, constant)");
            cls_system *s = parse(text);
            job j = job_of(s, t, NULL, losses[l]);
            j.o.n_unknown = 0;
            int solved = !network && (!j.o.loss || strcmp(j.o.loss, "residual") == 0);
            j.o.max_iterations = solved ? 0 : network ? 60 : 6;
            j.o.window = 10;
            cls_model *m = run(&j, 0);
            off(m, &slope, &rest);
            print_message("%s, %s: slope off by %.1e, rest by %.1e, loss %.1e\n",
                          network ? "network" : "chebyshev", losses[l], slope, rest,
                          j.info.loss_final);
            assert_true(slope < (network ? 2e-2 : 1e-12) && rest < (network ? 2e-2 : 1e-12));
            cls_model_free(&m);
            cls_system_free(&s);
        }
    cls_table_free(&t);
    cls_system_free(&truth);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(stopped_and_resumed_it_is_the_same),
                                       cmocka_unit_test(a_checkpoint_of_another_loss_is_refused),
                                       cmocka_unit_test(threads_do_not_matter),
                                       cmocka_unit_test(the_best_is_kept_and_patience_ends),
                                       cmocka_unit_test(batches_are_of_whole_windows),
                                       cmocka_unit_test(anchors_hold)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
