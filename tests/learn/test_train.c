/* Training: resuming gives the bits of a run that was never stopped, also after kill -9; threads
 * change nothing; early stopping stops; restarts and rollouts choose. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "learn/learn.h"
#include "solve/optimize.h"
#include "solve/train.h"
#include "tests/solve/toy_network.h"
#include <clausius/simulate.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <threads.h>
#include <unistd.h>

/* ---- files ---- */

typedef struct path {
    char text[80];
} path;

static path path_of(const char *name) {
    path p;
    snprintf(p.text, sizeof p.text, "/tmp/clausius-train-%d-%s", (int)getpid(), name);
    return p;
}

static size_t read_bytes(const char *name, char **bytes) {
    FILE *f = fopen(name, "rb");
    if (!f) fail_msg("%s is not there", name);
    fseek(f, 0, SEEK_END);
    size_t n = (size_t)ftell(f);
    rewind(f);
    *bytes = malloc(n + 1);
    assert_int_equal(fread(*bytes, 1, n, f), n);
    fclose(f);
    return n;
}

static void assert_same_file(const char *a, const char *b) {
    char *x, *y;
    size_t n = read_bytes(a, &x);
    assert_int_equal(read_bytes(b, &y), n);
    assert_memory_equal(x, y, n);
    free(x);
    free(y);
}

/* ---- optimisers ---- */

typedef struct stopper {
    uint64_t reports, stop_at;
    clsi_archive *archive;
} stopper;

static int save_and_stop(void *context, const clsi_progress *p, const double *theta) {
    stopper *s = context;
    (void)theta;
    if (++s->reports != s->stop_at) return 0;
    clsi_run_save(p->run, s->archive);
    return 1;
}

/* Stops at each of the first reports, goes on with a fresh optimiser, compares the end. */
static uint64_t resume_everywhere(const clsi_optimizer *optimizer, clsi_problem *p,
                                  const double *start, uint64_t most, size_t batch) {
    size_t n = p->n_parameters, bytes = n * sizeof(double);
    double *whole = malloc(bytes), *parts = malloc(bytes);
    stopper count = {0};
    clsi_optimize_options o = {.max_iterations = most,
                               .seed = 4,
                               .batch = batch,
                               .progress = save_and_stop,
                               .context = &count};
    clsi_optimize_info all, half, rest;
    memcpy(whole, start, bytes);
    assert_int_equal(optimizer->minimize(p, &o, whole, &all, NULL), CLS_OK);
    for (uint64_t at = 1; at <= count.reports; at++) {
        clsi_archive a = {0};
        stopper s = {.stop_at = at, .archive = &a};
        o.context = &s;
        memcpy(parts, start, bytes);
        assert_int_equal(optimizer->minimize(p, &o, parts, &half, NULL), CLS_OK);
        a.reading = 1;
        memset(parts, 0, bytes); /* all that counts is in the archive */
        o.resume = &a;
        assert_int_equal(optimizer->minimize(p, &o, parts, &rest, NULL), CLS_OK);
        o.resume = NULL;
        if (memcmp(whole, parts, bytes) != 0)
            fail_msg("%s: other bits after a stop at report %d", optimizer->name, (int)at);
        assert_true(rest.iterations == all.iterations && rest.final_loss == all.final_loss);
        assert_true(rest.initial_loss == all.initial_loss);
        assert_string_equal(rest.reason, all.reason);
        clsi_archive_clear(&a);
    }
    free(whole);
    free(parts);
    return count.reports;
}

static void optimisers_resume_with_the_same_bits(void **unused) {
    (void)unused;
    toy_network t;
    toy_create(&t, 5, 40, 1);
    double *start = toy_start(&t, 3);
    for (size_t k = 0; k < clsi_optimizer_count(); k++)
        assert_true(resume_everywhere(clsi_optimizer_at(k), &t.problem, start, 60, 30) >= 10);
    free(start);
    toy_free(&t);
}

/* A step that takes a third of the time after which the optimisers ask whether to stop. */
static void take_time(void) {
    thrd_sleep(&(struct timespec){.tv_nsec = 90000000}, NULL);
}

static cls_status slow_jacobian(clsi_problem *p, const double *theta, size_t count,
                                const size_t *rows, double *r, double *J) {
    take_time();
    return toy_jacobian(p, theta, count, rows, r, J);
}

static cls_status slow_gradient(clsi_problem *p, const double *theta, size_t count,
                                const size_t *rows, double *loss, double *gradient) {
    take_time();
    return toy_gradient(p, theta, count, rows, loss, gradient);
}

static int save_between(void *context, const clsi_progress *p) {
    stopper *s = context;
    clsi_run_save(p->run, s->archive);
    return 1;
}

/* Epochs of 16 steps; the stop comes after a few of the first. */
static void a_stop_does_not_wait_for_the_epoch(void **unused) {
    (void)unused;
    const clsi_optimizer *of[] = {&clsi_spring, &clsi_adam};
    toy_network t;
    toy_create(&t, 5, 40, 1);
    double *start = toy_start(&t, 3);
    size_t bytes = t.problem.n_parameters * sizeof(double);
    double *whole = malloc(bytes), *parts = malloc(bytes);
    for (size_t k = 0; k < 2; k++) {
        clsi_archive a = {0};
        stopper never = {0}, s = {.archive = &a};
        clsi_optimize_options o = {.max_iterations = 48,
                                   .seed = 4,
                                   .batch = 10,
                                   .progress = save_and_stop,
                                   .context = &never};
        clsi_optimize_info all, half, rest;
        memcpy(whole, start, bytes);
        memcpy(parts, start, bytes);
        assert_int_equal(of[k]->minimize(&t.problem, &o, whole, &all, NULL), CLS_OK);
        clsi_problem slow = t.problem;
        slow.jacobian = slow_jacobian;
        slow.gradient = slow_gradient;
        o.stop = save_between;
        o.context = &s;
        assert_int_equal(of[k]->minimize(&slow, &o, parts, &half, NULL), CLS_OK);
        assert_string_equal(half.reason, "stopped");
        assert_true(s.reports == 0 && half.iterations > 0 && half.iterations < 16);
        assert_true(half.final_loss < half.initial_loss); /* not the start itself */
        a.reading = 1;
        memset(parts, 0, bytes);
        o.resume = &a;
        o.stop = NULL;
        assert_int_equal(of[k]->minimize(&t.problem, &o, parts, &rest, NULL), CLS_OK);
        assert_memory_equal(whole, parts, bytes);
        assert_true(rest.iterations == all.iterations && rest.final_loss == all.final_loss);
        clsi_archive_clear(&a);
    }
    free(whole);
    free(parts);
    free(start);
    toy_free(&t);
}

/* Linear, 40 rows in 6 unknowns, with a part that no parameter explains: batches contradict. */
static cls_status noisy_jacobian(clsi_problem *p, const double *theta, size_t count,
                                 const size_t *rows, double *r, double *J) {
    (void)p;
    for (size_t i = 0; i < count; i++) {
        double row = (double)(rows ? rows[i] : i);
        r[i] = sin(7 * row * row);
        for (size_t j = 0; j < 6; j++) {
            double slope = cos((row + 1) * (double)((j + 1) * (j + 2)));
            r[i] += slope * (theta[j] - (double)j);
            if (J) J[6 * i + j] = slope;
        }
    }
    return CLS_OK;
}

static cls_status noisy_residual(clsi_problem *p, const double *theta, size_t count,
                                 const size_t *rows, double *r) {
    return noisy_jacobian(p, theta, count, rows, r, NULL);
}

/* r = (1, 5e-8 (theta - 1)): one step changes the loss in its fifteenth digit, and that is all. */
static cls_status flat_jacobian(clsi_problem *p, const double *theta, size_t count,
                                const size_t *rows, double *r, double *J) {
    (void)p;
    for (size_t i = 0; i < count; i++) {
        size_t row = rows ? rows[i] : i;
        r[i] = row ? 5e-8 * (theta[0] - 1) : 1;
        if (J) J[i] = row ? 5e-8 : 0;
    }
    return CLS_OK;
}

static cls_status flat_residual(clsi_problem *p, const double *theta, size_t count,
                                const size_t *rows, double *r) {
    return flat_jacobian(p, theta, count, rows, r, NULL);
}

/* To the very end: lm until nothing changes, spring through all its retreats. */
static void optimisers_resume_until_they_converge(void **unused) {
    (void)unused;
    const double start[6] = {0};
    clsi_problem p = {
        .n_parameters = 6, .n_rows = 40, .residual = noisy_residual, .jacobian = noisy_jacobian};
    clsi_problem flat = {
        .n_parameters = 1, .n_rows = 2, .residual = flat_residual, .jacobian = flat_jacobian};
    assert_int_equal(resume_everywhere(&clsi_lm, &flat, start, 200, 0), 1);
    uint64_t steps = resume_everywhere(&clsi_lm, &p, start, 200, 0);
    uint64_t epochs = resume_everywhere(&clsi_spring, &p, start, 100000, 10);
    print_message("lm %d steps, spring %d epochs\n", (int)steps, (int)epochs);
    assert_true(steps > 2 && steps < 200 && epochs > 20 && epochs < 25000);
}

static void a_foreign_state_is_refused(void **unused) {
    (void)unused;
    toy_network t;
    toy_create(&t, 3, 20, 1);
    double numbers[8] = {1, 2, 3, 4, 5, 6, 7, 8}, *theta = toy_start(&t, 3);
    for (size_t k = 0; k < clsi_optimizer_count(); k++) {
        clsi_archive a = {.reading = 1, .n = 8, .values = numbers};
        clsi_optimize_options o = {.max_iterations = 5, .resume = &a};
        clsi_optimize_info info;
        cls_error error;
        assert_int_equal(clsi_optimizer_at(k)->minimize(&t.problem, &o, theta, &info, &error),
                         CLS_DATA);
        assert_non_null(strstr(error.message, "damaged"));
    }
    free(theta);
    toy_free(&t);
}

static void archives_keep_every_bit(void **unused) {
    (void)unused;
    clsi_archive a = {0};
    uint64_t words[] = {0, 1, UINT64_MAX, 0x8000000000000001, 0x7ff0000000000001}, word;
    double numbers[] = {-0.0, INFINITY, NAN, 5e-324}, back[4];
    size_t size = 7;
    int flag = 1, other = 0;
    for (int i = 0; i < 5; i++) clsi_archive_word(&a, &words[i]);
    clsi_archive_doubles(&a, 4, numbers);
    clsi_archive_size(&a, 7, &size);
    clsi_archive_flag(&a, &flag);
    a.reading = 1;
    for (int i = 0; i < 5; i++) {
        clsi_archive_word(&a, &word);
        assert_true(word == words[i]);
    }
    clsi_archive_doubles(&a, 4, back);
    assert_memory_equal(numbers, back, sizeof back);
    assert_false(clsi_archive_whole(&a));
    size = 0;
    clsi_archive_size(&a, 7, &size);
    clsi_archive_flag(&a, &other);
    assert_true(size == 7 && other == 1 && clsi_archive_whole(&a));
    a.at = a.n - 2;
    clsi_archive_size(&a, 6, &size); /* a 7 */
    assert_true(a.failed);
    clsi_archive_clear(&a);
}

/* ---- trainings of the toy ---- */

typedef struct learning {
    toy_network *toy;
    uint64_t reports, stop_at, kill_at;
    double (*judge)(struct learning *l, const double *theta);
    uint64_t judged;
    int breaks;     /* the first rollout is broken off */
    size_t restart; /* as last initialised */
    uint64_t starts;
} learning;

static void initialise(void *context, uint64_t seed, double *theta) {
    learning *l = context;
    double *start = toy_start(l->toy, seed);
    memcpy(theta, start, l->toy->problem.n_parameters * sizeof *theta);
    free(start);
    l->restart = (size_t)l->starts++;
}

/* On points that are not trained on. */
static double validate(void *context, const double *theta) {
    learning *l = context;
    toy_network other;
    toy_create(&other, l->toy->width, 30, 99);
    double loss = clsi_full_loss(&other.problem, theta);
    toy_free(&other);
    return loss;
}

static double rollout(void *context, const double *theta) {
    learning *l = context;
    if (!l->judged++ && l->breaks) return -1;
    return sqrt(validate(context, theta));
}

static int progress(void *context, const clsi_training_progress *p) {
    learning *l = context;
    assert_true(p->iteration > 0);
    l->reports++;
    if (l->reports == l->kill_at) raise(SIGKILL);
    return l->reports == l->stop_at;
}

static clsi_training training_of(learning *l, const clsi_optimizer *optimizer) {
    return (clsi_training){.problem = &l->toy->problem,
                           .optimizer = optimizer,
                           .max_iterations = 40,
                           .seed = 3,
                           .restarts = 3,
                           .patience = 6,
                           .context = l,
                           .initialise = initialise,
                           .validate = validate,
                           .rollout = rollout,
                           .progress = progress,
                           .identity = "a test"};
}

/* Stopped again and again, each time by another process that knows only the file. `breaks`: every
 * other one while it rolls a candidate out. */
static void resume_trainings(int breaks) {
    toy_network toy;
    toy_create(&toy, 4, 30, 1);
    size_t n = toy.problem.n_parameters;
    double *whole = malloc(n * sizeof *whole), *parts = malloc(n * sizeof *parts);
    for (size_t k = 0; k < clsi_optimizer_count(); k++) {
        clsi_training_info all, rest = {.stopped = 1};
        learning l = {.toy = &toy};
        clsi_training t = training_of(&l, clsi_optimizer_at(k));
        assert_int_equal(clsi_train(&t, whole, &all, NULL), CLS_OK);
        assert_false(all.stopped);
        path file = path_of("toy.checkpoint");
        t.checkpoint = file.text;
        t.checkpoint_every = 1e9; /* only when stopped */
        int pieces = 0;
        for (; rest.stopped && pieces < 1000; pieces++) {
            l = (learning){.toy = &toy, .stop_at = 3, .breaks = breaks && pieces % 2 == 0};
            assert_int_equal(clsi_train(&t, parts, &rest, NULL), CLS_OK);
            assert_int_equal(access(t.checkpoint, F_OK) == 0, rest.stopped);
            t.resume = 1;
        }
        assert_true(pieces > 3);
        assert_memory_equal(whole, parts, n * sizeof *whole);
        assert_true(all.iterations == rest.iterations && all.restart == rest.restart);
        assert_true(all.validation == rest.validation && all.rollout == rest.rollout);
        assert_int_equal(all.early, rest.early);
    }
    free(whole);
    free(parts);
    toy_free(&toy);
}

static void trainings_resume_with_the_same_bits(void **unused) {
    (void)unused;
    resume_trainings(0);
}

static void rollouts_that_were_broken_off_are_made_up_for(void **unused) {
    (void)unused;
    resume_trainings(1);
}

/* Where the last parameters count, rollouts before the end would decide nothing. */
static void the_last_parameters_are_rolled_out_once(void **unused) {
    (void)unused;
    toy_network toy;
    toy_create(&toy, 4, 40, 1);
    double *theta = malloc(toy.problem.n_parameters * sizeof *theta);
    for (int last = 0; last < 2; last++) {
        clsi_training_info info;
        learning l = {.toy = &toy};
        clsi_training t = training_of(&l, &clsi_adam);
        t.restarts = 1;
        t.max_iterations = 1000;
        t.patience = 0;
        t.rollout = rollout;
        t.last = last;
        assert_int_equal(clsi_train(&t, theta, &info, NULL), CLS_OK);
        assert_true(l.reports >= 16);
        assert_true(last ? l.judged == 1 : l.judged > 1);
        assert_true(info.rollout == rollout(&l, theta));
    }
    free(theta);
    toy_free(&toy);
}

static void patience_ends_a_restart(void **unused) {
    (void)unused;
    toy_network toy;
    toy_create(&toy, 8, 15, 1); /* more parameters than rows: it learns by heart */
    size_t n = toy.problem.n_parameters;
    double *theta = malloc(n * sizeof *theta), *patient = malloc(n * sizeof *patient);
    clsi_training_info early, late;
    learning l = {.toy = &toy};
    clsi_training t = training_of(&l, &clsi_lbfgs);
    t.restarts = 1;
    t.max_iterations = 400;
    t.rollout = NULL;
    t.patience = 0;
    assert_int_equal(clsi_train(&t, patient, &late, NULL), CLS_OK);
    t.patience = 20;
    assert_int_equal(clsi_train(&t, theta, &early, NULL), CLS_OK);
    assert_true(early.early == 1 && late.early == 0);
    assert_true(early.iterations < late.iterations);
    assert_true(isnan(early.rollout));
    /* The iterate of least validation loss, not the last one. */
    assert_true(early.validation == validate(&l, theta));
    assert_true(late.validation <= early.validation);
    double last = validate(&l, patient);
    assert_true(last == late.validation);
    free(theta);
    free(patient);
    toy_free(&toy);
}

static void restarts_keep_the_best(void **unused) {
    (void)unused;
    toy_network toy;
    toy_create(&toy, 3, 60, 1);
    size_t n = toy.problem.n_parameters, best = 0;
    double *theta = malloc(n * sizeof *theta), least = INFINITY, greatest = 0;
    clsi_training_info info;
    learning l = {.toy = &toy};
    clsi_training t = training_of(&l, &clsi_lm);
    t.rollout = NULL;
    t.patience = 0;
    t.restarts = 1;
    for (size_t i = 0; i < 5; i++) {
        t.seed = 3 + UINT64_C(0x9e3779b97f4a7c15) * i;
        assert_int_equal(clsi_train(&t, theta, &info, NULL), CLS_OK);
        if (info.validation < least) best = i;
        least = fmin(least, info.validation);
        greatest = fmax(greatest, info.validation);
    }
    assert_true(least < greatest);
    t.seed = 3;
    t.restarts = 5;
    assert_int_equal(clsi_train(&t, theta, &info, NULL), CLS_OK);
    assert_true(info.validation == least && info.restart == best);
    assert_true(validate(&l, theta) == least);
    free(theta);
    toy_free(&toy);
}

/* Models of the first restart cannot be simulated; those of the second get worse. */
static double failing_rollout(void *context, const double *theta) {
    learning *l = context;
    (void)theta;
    l->judged++;
    if (l->restart == 0) return INFINITY;
    return l->restart == 1 ? pow(3, (double)l->judged) : 1e9;
}

static void rollouts_refuse_and_end(void **unused) {
    (void)unused;
    toy_network toy;
    toy_create(&toy, 6, 100, 1);
    double *theta = malloc(toy.problem.n_parameters * sizeof *theta);
    clsi_training_info info;
    learning l = {.toy = &toy};
    clsi_training t = training_of(&l, &clsi_lm);
    t.patience = 0;
    t.max_iterations = 100;
    t.rollout = failing_rollout;
    assert_int_equal(clsi_train(&t, theta, &info, NULL), CLS_OK);
    assert_int_equal(info.restart, 1); /* the only one that ever worked well */
    assert_true(isfinite(info.rollout) && info.rollout < 1e9);
    assert_true(info.early >= 1); /* restart 1, after three worse checks */
    free(theta);
    toy_free(&toy);
}

static void nothing_finite_is_an_error(void **unused) {
    (void)unused;
    toy_network toy;
    toy_create(&toy, 3, 10, 1);
    toy.target[5] = NAN;
    double *theta = malloc(toy.problem.n_parameters * sizeof *theta);
    clsi_training_info info;
    cls_error error;
    learning l = {.toy = &toy};
    clsi_training t = training_of(&l, &clsi_lm);
    assert_int_equal(clsi_train(&t, theta, &info, &error), CLS_NUMERIC);
    assert_non_null(strstr(error.message, "3 restarts"));
    assert_int_equal(l.starts, 3);
    free(theta);
    toy_free(&toy);
}

static void wrong_checkpoints_are_refused(void **unused) {
    (void)unused;
    toy_network toy;
    toy_create(&toy, 3, 20, 1);
    double *theta = malloc(toy.problem.n_parameters * sizeof *theta);
    clsi_training_info info;
    cls_error error;
    learning l = {.toy = &toy, .stop_at = 2};
    clsi_training t = training_of(&l, &clsi_spring);
    path file = path_of("wrong.checkpoint");
    t.checkpoint = file.text;
    assert_int_equal(clsi_train(&t, theta, &info, &error), CLS_OK);
    assert_true(info.stopped);
    t.resume = 1;
    t.identity = "another test";
    assert_int_equal(clsi_train(&t, theta, &info, &error), CLS_USAGE);
    assert_non_null(strstr(error.message, "it was:  a test"));
    t.identity = "a test";
    /* The same kind of file with a number too few, then half a file, then no file. */
    clsi_archive own, other;
    int found;
    assert_int_equal(clsi_checkpoint_read(t.checkpoint, "a test", &found, &own, &other, &error),
                     CLS_OK);
    own.n--;
    assert_int_equal(clsi_checkpoint_write(t.checkpoint, "a test", &own, &other, &error), CLS_OK);
    assert_int_equal(clsi_train(&t, theta, &info, &error), CLS_SYSTEM);
    own.n++;
    other.n--;
    assert_int_equal(clsi_checkpoint_write(t.checkpoint, "a test", &own, &other, &error), CLS_OK);
    assert_int_equal(clsi_train(&t, theta, &info, &error), CLS_DATA);
    clsi_archive_clear(&own);
    clsi_archive_clear(&other);
    assert_int_equal(truncate(t.checkpoint, 200), 0);
    assert_int_equal(clsi_train(&t, theta, &info, &error), CLS_DATA);
    unlink(t.checkpoint);
    l = (learning){.toy = &toy};
    assert_int_equal(clsi_train(&t, theta, &info, &error), CLS_OK);
    t.checkpoint = "/nowhere/checkpoint";
    t.resume = 0;
    assert_int_equal(clsi_train(&t, theta, &info, &error), CLS_IO);
    free(theta);
    toy_free(&toy);
}

/* ---- learning, end to end ---- */

static cls_table *pendulum_data(const cls_system *s, size_t trajectories, uint64_t steps,
                                double h) {
    const char *names[16] = {"trajectory"};
    double row[16], state[2];
    size_t columns = cls_system_column_count(s);
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *simulator;
    cls_table *t;
    cls_random random;
    cls_random_seed(&random, 17);
    o.scheme = "bdf";
    o.h = h;
    for (size_t c = 0; c < columns; c++) names[c + 1] = cls_system_column(s, c);
    assert_int_equal(cls_table_create(columns + 1, names, &t, NULL), CLS_OK);
    assert_int_equal(cls_simulator_create(s, &o, &simulator, NULL), CLS_OK);
    for (size_t i = 0; i < trajectories; i++) {
        for (int k = 0; k < 2; k++) state[k] = 3 * cls_random_uniform(&random) - 1.5;
        assert_int_equal(cls_simulator_start(simulator, 0, state, NULL), CLS_OK);
        for (uint64_t step = 0; step <= steps; step++) {
            row[0] = (double)i;
            assert_int_equal(cls_simulator_row(simulator, row + 1, NULL), CLS_OK);
            assert_int_equal(cls_table_append(t, row, NULL), CLS_OK);
            if (step < steps) assert_int_equal(cls_simulator_advance(simulator, 1, NULL), CLS_OK);
        }
    }
    cls_simulator_free(&simulator);
    return t;
}

typedef struct pupil {
    const char *optimizer, *model, *checkpoint;
    int resume;
    uint64_t stop_at, kill_at, reports;
    double last_validation, time_limit;
} pupil;

static int look(void *context, const cls_learn_progress *p) {
    pupil *u = context;
    u->reports++;
    u->last_validation = p->validation;
    if (u->reports == u->kill_at) raise(SIGKILL);
    return u->reports == u->stop_at;
}

/* V of the pendulum by a network (by a basis for `linear`), written to a file. */
static cls_learn_info teach(pupil *u) {
    static const char *const parts[] = {"V"}, *const name = "made here";
    cls_error error;
    cls_learn_info info;
    cls_system *s;
    cls_model *m;
    if (cls_system_load("pendulum", NULL, &s, &error)) fail_msg("%s", error.message);
    cls_table *t = pendulum_data(s, 20, 12, 0.02);
    cls_learn_options o = cls_learn_defaults();
    o.unknown = parts;
    o.n_unknown = 1;
    o.optimizer = u->optimizer;
    o.field = strcmp(u->optimizer, "linear") ? "network(5, 5)" : "chebyshev(6)";
    if (strcmp(u->optimizer, "linear")) { /* which neither iterates nor restarts */
        o.max_iterations = strcmp(u->optimizer, "adam") ? 25 : 100;
        o.restarts = 2;
    }
    o.progress = look;
    o.context = u;
    o.checkpoint = u->checkpoint;
    o.checkpoint_every = 0;
    o.resume = u->resume;
    o.time_limit = u->time_limit;
    if (cls_learn(s, NULL, 1, (const cls_table *const *)&t, &name, &o, &m, &info, &error))
        fail_msg("%s: %s", u->optimizer, error.message);
    if (cls_model_write(m, u->model, &error)) fail_msg("%s", error.message);
    cls_model_free(&m);
    cls_table_free(&t);
    cls_system_free(&s);
    return info;
}

static const char *const iterative[] = {"lm", "spring", "lbfgs", "adam"};

/* The child runs before this process has threads of its own. */
static void kill_9_and_resume_give_the_same_file(void **unused) {
    (void)unused;
    path model = path_of("killed.safetensors"), whole = path_of("whole.safetensors"), left[4];
    for (int k = 0; k < 4; k++) {
        left[k] = path_of(iterative[k]);
        pupil victim = {.optimizer = iterative[k],
                        .checkpoint = left[k].text,
                        .model = model.text,
                        .kill_at = 5};
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            teach(&victim);
            _exit(0);
        }
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        assert_int_equal(access(left[k].text, F_OK), 0);
        assert_int_equal(access(model.text, F_OK), -1);
    }
    for (int k = 0; k < 4; k++) {
        pupil plain = {.optimizer = iterative[k], .model = whole.text};
        pupil again = {.optimizer = iterative[k],
                       .model = model.text,
                       .checkpoint = left[k].text,
                       .resume = 1};
        cls_learn_info a = teach(&plain), b = teach(&again);
        assert_true(again.reports > 0 && again.reports + 4 == plain.reports);
        assert_true(a.iterations == b.iterations && a.rollout == b.rollout);
        assert_same_file(whole.text, model.text);
        assert_int_equal(access(left[k].text, F_OK), -1);
    }
    unlink(whole.text);
    unlink(model.text);
}

static void threads_change_nothing(void **unused) {
    (void)unused;
    static const char *const all[] = {"lm", "spring", "lbfgs", "adam", "linear"};
    static const int threads[] = {1, 2, 4};
    path model[3] = {path_of("1"), path_of("2"), path_of("4")};
    int before = omp_get_max_threads();
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i < 3; i++) {
            omp_set_num_threads(threads[i]);
            teach(&(pupil){.optimizer = all[k], .model = model[i].text});
            assert_same_file(model[0].text, model[i].text);
        }
    }
    omp_set_num_threads(before);
    for (int i = 0; i < 3; i++) unlink(model[i].text);
}

static void a_stop_leaves_a_usable_model(void **unused) {
    (void)unused;
    path model = path_of("stopped.safetensors"), checkpoint = path_of("stopped.checkpoint");
    pupil u = {
        .optimizer = "lm", .model = model.text, .checkpoint = checkpoint.text, .stop_at = 12};
    cls_learn_info info = teach(&u);
    assert_int_equal(info.stopped, 1);
    assert_int_equal(u.reports, 12);
    assert_true(isfinite(u.last_validation) && isfinite(info.rollout) && info.rollout < 0.5);
    assert_int_equal(access(checkpoint.text, F_OK), 0);
    cls_error error;
    cls_model *m;
    cls_simulator *simulator;
    double start[2] = {0.5, 0};
    if (cls_model_read(model.text, &m, &error)) fail_msg("%s", error.message);
    assert_int_equal(cls_simulator_create(cls_model_system(m), NULL, &simulator, &error), CLS_OK);
    assert_int_equal(cls_simulator_start(simulator, 0, start, &error), CLS_OK);
    assert_int_equal(cls_simulator_advance(simulator, 50, &error), CLS_OK);
    cls_simulator_free(&simulator);
    cls_model_free(&m);
    pupil late = {.optimizer = "lm", .model = model.text, .time_limit = 1e-9};
    assert_int_equal(teach(&late).stopped, 2);
    assert_int_equal(late.reports, 1);
    unlink(model.text);
    unlink(checkpoint.text);
}

/* The truth follows its data; a pendulum of another length does not. */
static void rollouts_tell_right_from_wrong(void **unused) {
    (void)unused;
    static const char *const text = "system \"a spring\"\ncoordinate q\n"
                                    "hamiltonian H = p.q^2/2 + %s*q^2/2\nstart q = 1, p.q = 0\n";
    const char *name = "made here";
    cls_system *s[3];
    cls_error error;
    for (int i = 0; i < 3; i++) {
        char written[256];
        snprintf(written, sizeof written, text, i == 0 ? "1" : i == 1 ? "1.05" : "2");
        if (cls_system_parse(written, "spring", NULL, &s[i], &error)) fail_msg("%s", error.message);
    }
    cls_table *t = pendulum_data(s[0], 20, 40, 0.02);
    clsi_points *points;
    assert_int_equal(clsi_points_create(s[0], 1, (const cls_table *const *)&t, &name,
                                        &clsi_rule_quadrature, 0.1, 0, &points, &error),
                     CLS_OK);
    assert_int_equal(points->n_held, 2);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(points->held[2 * i + 1] - points->held[2 * i], 41);
    double right = clsi_rollout(points, s[0], 1, NULL, NULL, NULL),
           near = clsi_rollout(points, s[1], 1, NULL, NULL, NULL);
    assert_true(right < 1e-4 && near > 20 * right &&
                clsi_rollout(points, s[2], 1, NULL, NULL, NULL) > 5 * near);
    cls_simulator *kept = NULL; /* one simulator for all steps: the same bits */
    for (size_t parts = 1; parts <= 16; parts *= 4)
        assert_true(clsi_rollout(points, s[0], parts, &kept, NULL, NULL) ==
                    clsi_rollout(points, s[0], parts, NULL, NULL, NULL));
    assert_non_null(kept);
    cls_simulator_free(&kept);
    clsi_points_free(&points);
    cls_table_free(&t);
    for (int i = 0; i < 3; i++) cls_system_free(&s[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kill_9_and_resume_give_the_same_file), /* first: it forks */
        cmocka_unit_test(optimisers_resume_with_the_same_bits),
        cmocka_unit_test(a_stop_does_not_wait_for_the_epoch),
        cmocka_unit_test(optimisers_resume_until_they_converge),
        cmocka_unit_test(a_foreign_state_is_refused),
        cmocka_unit_test(archives_keep_every_bit),
        cmocka_unit_test(trainings_resume_with_the_same_bits),
        cmocka_unit_test(rollouts_that_were_broken_off_are_made_up_for),
        cmocka_unit_test(the_last_parameters_are_rolled_out_once),
        cmocka_unit_test(patience_ends_a_restart),
        cmocka_unit_test(restarts_keep_the_best),
        cmocka_unit_test(rollouts_refuse_and_end),
        cmocka_unit_test(nothing_finite_is_an_error),
        cmocka_unit_test(wrong_checkpoints_are_refused),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(a_stop_leaves_a_usable_model),
        cmocka_unit_test(rollouts_tell_right_from_wrong),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
