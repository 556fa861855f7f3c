/* The clausius side of the benchmarks, and the hand-written limit beside it.
 *
 * A server: bench/run writes one request per line, this program does the work once and answers with
 * one line of numbers, seconds first. So ours and the peers can take turns within one run, which is
 * what makes a ratio mean something on a noisy machine. */

/* clang-format off */
/* Requests:
 *     step SYSTEM SCHEME MONITOR N         seconds, steps, Newton iterations, retried steps; SYSTEM may be a model
 *     motion SYSTEM SCHEME MONITOR N       the same for one motion of N steps, which may die down on the way
 *     products N                           N rounds of products and sums in registers: seconds, operations
 *     hand SCHEME N                        the same by hand for the ideal gas
 *     equal SCHEME N                       Table 3 problem in N steps: seconds, error of x(10), N, iterations
 *     accurate SCHEME ACCURACY             the same for an adaptive scheme; internal steps instead of N
 *     equal-hand SCHEME N                  the same by hand
 *     create SYSTEM SCHEME                 load, derive and compile: seconds
 *     ensemble SYSTEM MEMBERS N THREADS    wall seconds, steps
 *     program NAME N, loop NAME N          a formula for N samples: seconds, samples, largest difference
 *     print N                              N numbers as %.17g: seconds, bytes
 *     reference N                          x(10) in long double: seconds, error against X_END, value */
/* clang-format on */
#include "limit.h"
#include "problem.h"
#include <clausius/clausius.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* For threads, where processor time adds up. */
static double wall_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void refuse(const char *why) {
    printf("error %s\n", why);
}

/* A system with a simulator and a start; all or nothing. */
typedef struct motion {
    cls_system *own; /* NULL when the system is a model's */
    cls_model *model;
    const cls_system *system;
    cls_simulator *sim;
    double start[64];
} motion;

static void close_motion(motion *m) {
    cls_simulator_free(&m->sim);
    cls_system_free(&m->own);
    cls_model_free(&m->model);
}

static cls_status open_with(motion *m, const char *system, const cls_simulate_options *o,
                            cls_error *error) {
    *m = (motion){0};
    cls_status status = cls_model_is_path(system) ? cls_model_read(system, &m->model, error)
                                                  : cls_system_load(system, NULL, &m->own, error);
    if (!status) m->system = m->model ? cls_model_system(m->model) : m->own;
    if (!status) status = cls_system_start(m->system, NULL, m->start, error);
    if (!status) status = cls_simulator_create(m->system, o, &m->sim, error);
    if (status) close_motion(m);
    return status;
}

static cls_status open_motion(motion *m, const char *system, const char *scheme, int monitor,
                              double h, cls_error *error) {
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = scheme;
    o.monitor = monitor;
    o.h = h;
    return open_with(m, system, &o, error);
}

/* n steps as runs of the system's own length, each from the start: a motion that has died down
 * would be solved in fewer Newton iterations. Or, where it is asked for, in one run. */
static void answer_step(const char *system, const char *scheme, int monitor, unsigned long n,
                        int whole) {
    motion m;
    cls_error error;
    cls_status status = open_motion(&m, system, scheme, monitor, 0, &error);
    if (status) return refuse(error.message);
    double h = cls_simulator_info(m.sim).h;
    /* a model is used as long as what it was learned from */
    double until = m.model ? 10 : cls_system_default_until(m.system);
    unsigned long run = whole ? n : (unsigned long)fmax(1, until / h), done = 0;
    unsigned long long newton = 0, retried = 0;
    double begin = cpu_seconds();
    while (!status && done < n) {
        status = cls_simulator_start(m.sim, 0, m.start, &error);
        if (!status) status = cls_simulator_advance(m.sim, run, &error);
        done += run;
        cls_simulate_info info = cls_simulator_info(m.sim);
        newton += info.newton_iterations;
        retried += info.retried_steps;
    }
    double seconds = cpu_seconds() - begin;
    close_motion(&m);
    if (status) return refuse(error.message);
    printf("%.9g %lu %llu %llu\n", seconds, done, newton, retried);
}

static void run_by_hand(const char *scheme, gas *g, double h, size_t n) {
    if (!strcmp(scheme, "dtel"))
        gas_dtel(g, h, n);
    else if (!strcmp(scheme, "discrete-gradient-4"))
        gas_discrete_gradient_4(g, h, n);
    else
        gas_discrete_gradient(g, h, n);
}

static void answer_hand(const char *scheme, unsigned long n) {
    unsigned long done = 0, newton = 0;
    volatile double keep = 0;
    double begin = cpu_seconds();
    for (; done < n; done += 1000) {
        gas g = gas_start();
        run_by_hand(scheme, &g, 0.01, 1000);
        keep += g.x;
        newton += g.newton;
    }
    printf("%.9g %lu %lu 0\n", cpu_seconds() - begin, done, newton);
}

/* The Table 3 problem again and again in n outputs; the best time. */
static void answer_motion(motion *m, unsigned long n) {
    cls_error error;
    cls_status status = CLS_OK;
    double best = INFINITY, spent = 0;
    for (int runs = 0; !status && !enough(spent, runs); runs++) {
        double begin = cpu_seconds();
        status = cls_simulator_start(m->sim, 0, m->start, &error);
        if (!status) status = cls_simulator_advance(m->sim, n, &error);
        double seconds = cpu_seconds() - begin;
        best = fmin(best, seconds);
        spent += seconds;
    }
    double miss = fabs(cls_simulator_state(m->sim)[0] - X_END);
    cls_simulate_info info = cls_simulator_info(m->sim);
    unsigned long long steps = info.internal_steps ? info.internal_steps : info.steps;
    close_motion(m);
    if (status) return refuse(error.message);
    printf("%.9g %.6e %llu %llu\n", best, miss, steps, (unsigned long long)info.newton_iterations);
}

static void answer_equal(const char *scheme, unsigned long n) {
    motion m;
    cls_error error;
    if (open_motion(&m, "ideal-gas-piston", scheme, 0, T_END / (double)n, &error))
        return refuse(error.message);
    answer_motion(&m, n);
}

/* One output, at the end: all steps are the scheme's own. */
static void answer_accurate(const char *scheme, double accuracy) {
    motion m;
    cls_error error;
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = scheme;
    o.monitor = 0;
    o.h = T_END;
    o.accuracy = accuracy;
    if (open_with(&m, "ideal-gas-piston", &o, &error)) return refuse(error.message);
    answer_motion(&m, 1);
}

static void answer_equal_hand(const char *scheme, unsigned long n) {
    double best = INFINITY, spent = 0;
    gas g = {0};
    for (int runs = 0; !enough(spent, runs); runs++) {
        double begin = cpu_seconds();
        g = gas_start();
        run_by_hand(scheme, &g, T_END / (double)n, n);
        double seconds = cpu_seconds() - begin;
        best = fmin(best, seconds);
        spent += seconds;
    }
    printf("%.9g %.6e %lu %lu\n", best, fabs(g.x - X_END), n, g.newton);
}

static void answer_create(const char *system, const char *scheme) {
    motion m;
    cls_error error;
    double begin = cpu_seconds();
    if (open_motion(&m, system, scheme, 1, 0, &error)) return refuse(error.message);
    printf("%.9g\n", cpu_seconds() - begin);
    close_motion(&m);
}

static void answer_ensemble(const char *system, size_t members, unsigned long n, int threads) {
    motion m;
    cls_error error;
    cls_status status = open_motion(&m, system, NULL, 0, 0, &error);
    if (status) return refuse(error.message);
    size_t k = cls_system_state_count(m.system), columns = cls_system_column_count(m.system);
    double *starts = malloc(members * k * sizeof *starts);
    double *rows = malloc(members * 2 * columns * sizeof *rows);
    cls_simulate_options o = cls_simulate_defaults();
    o.monitor = 0;
    for (size_t i = 0; starts && i < members * k; i++) starts[i] = m.start[i % k];
    double begin = wall_seconds();
    status = starts && rows
                 ? cls_ensemble_run(m.system, &o, members, starts, n, n, threads, rows, &error)
                 : CLS_MEMORY;
    double seconds = wall_seconds() - begin;
    free(starts);
    free(rows);
    close_motion(&m);
    if (status) return refuse("the ensemble failed");
    printf("%.9g %zu\n", seconds, members * n);
}

/* ---- formulas ---- */

typedef struct formula {
    const char *name, *text;
    void (*loop)(size_t n, const double *in, double *out);
} formula;

static const formula formulas[] = {
    {"arithmetic", "(x*y + z^2)/(1 + x^2) - (y - z)*x/2", loop_arithmetic},
    {"gas", "y^2/2 + exp(z)*x^(-2/3)", loop_gas}};

static cls_status compile(const char *text, cls_program **out, cls_error *error) {
    static const char *const names[] = {"x", "y", "z"};
    cls_node inputs[3], node;
    cls_graph *g;
    *out = NULL;
    cls_status status = cls_graph_create(NULL, &g, error);
    if (status) return status;
    for (int i = 0; i < 3; i++) inputs[i] = cls_symbol(g, names[i]);
    cls_scope scope = {.n = 3, .names = names, .nodes = inputs};
    status = cls_parse(g, text, &scope, NULL, 1, 1, &node, error);
    if (!status) status = cls_program_create(g, 3, inputs, 1, &node, out, error);
    cls_graph_free(&g);
    return status;
}

/* The formula for n samples in blocks that stay in the cache; `hand` chooses who does it. The
 * answer carries the largest relative difference between the two. */
static void answer_formula(const char *name, unsigned long n, int hand) {
    enum { BLOCK = 4096 };
    static double in[3 * BLOCK], out[BLOCK], other[BLOCK];
    const formula *f = !strcmp(name, "gas") ? &formulas[1] : &formulas[0];
    cls_program *p;
    cls_error error;
    if (compile(f->text, &p, &error)) return refuse(error.message);
    for (size_t i = 0; i < 3 * BLOCK; i++) in[i] = 1 + 0.5 * sin((double)i);
    unsigned long done = 0;
    double begin = cpu_seconds(), largest = 0;
    for (; done < n; done += BLOCK)
        if (hand)
            f->loop(BLOCK, in, out);
        else
            (void)cls_program_run_many(p, BLOCK, BLOCK, in, out);
    double seconds = cpu_seconds() - begin;
    if (hand)
        (void)cls_program_run_many(p, BLOCK, BLOCK, in, other);
    else
        f->loop(BLOCK, in, other);
    for (size_t i = 0; i < BLOCK; i++)
        largest = fmax(largest, fabs(out[i] - other[i]) / fabs(other[i]));
    cls_program_free(&p);
    printf("%.9g %lu %.3g\n", seconds, done, largest);
}

static void answer_print(unsigned long n) {
    double begin = cpu_seconds();
    size_t bytes = print_numbers(n);
    printf("%.9g %zu\n", cpu_seconds() - begin, bytes);
}

static void answer_products(unsigned long n) {
    double begin = cpu_seconds(), operations = separate_products(n);
    printf("%.9g %.17g\n", cpu_seconds() - begin, operations);
}

static void answer_reference(unsigned long n) {
    double begin = cpu_seconds();
    long double x = gas_reference(n);
    printf("%.9g %.3e %.12Lf\n", cpu_seconds() - begin, (double)(x - (long double)X_END), x);
}

/* ---- requests ---- */

enum { WORDS = 6 };

static size_t split(char *line, char **word) {
    size_t n = 0;
    for (char *w = strtok(line, " \n"); w && n < WORDS; w = strtok(NULL, " \n")) word[n++] = w;
    return n;
}

static unsigned long number(const char *word) {
    return strtoul(word, NULL, 10);
}

static void answer(char *line) {
    char *w[WORDS] = {0};
    size_t n = split(line, w);
#define IS(name, words) (n == (words) && !strcmp(w[0], name))
    if (IS("step", 5))
        answer_step(w[1], w[2], atoi(w[3]), number(w[4]), 0);
    else if (IS("motion", 5))
        answer_step(w[1], w[2], atoi(w[3]), number(w[4]), 1);
    else if (IS("hand", 3))
        answer_hand(w[1], number(w[2]));
    else if (IS("equal", 3))
        answer_equal(w[1], number(w[2]));
    else if (IS("accurate", 3))
        answer_accurate(w[1], strtod(w[2], NULL));
    else if (IS("equal-hand", 3))
        answer_equal_hand(w[1], number(w[2]));
    else if (IS("create", 3))
        answer_create(w[1], w[2]);
    else if (IS("ensemble", 5))
        answer_ensemble(w[1], number(w[2]), number(w[3]), atoi(w[4]));
    else if (IS("program", 3) || IS("loop", 3))
        answer_formula(w[1], number(w[2]), w[0][0] == 'l');
    else if (IS("print", 2))
        answer_print(number(w[1]));
    else if (IS("products", 2))
        answer_products(number(w[1]));
    else if (IS("reference", 2))
        answer_reference(number(w[1]));
    else
        refuse("unknown request");
#undef IS
}

int main(void) {
    char line[1024];
    setvbuf(stdout, NULL, _IOLBF, 0);
    while (fgets(line, sizeof line, stdin)) answer(line);
    return 0;
}
