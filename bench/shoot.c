/* Shooting: loss and gradient of trajectories of 200 steps, as the library does it.
 *
 * A server as bench/steps.c: one request a line, one line of numbers back, seconds first.
 *
 *     gradient WIDTH WINDOWS       loss and gradient, one thread: seconds (processor time), loss,
 *                                  parameters
 *     continuous WIDTH WINDOWS     the same by the continuous adjoint: seconds, the difference of
 *                                  the gradient from the exact one (relative)
 *     write WIDTH WINDOWS FILE     the same problem for the peers (bench/shoot_jax.py, _torch.py)
 *
 * A damped oscillator that heats its damper, H = p^2/4 + q^2/2 + exp(S), friction a network
 * 3-WIDTH-WIDTH-1 of (q, p^2, S), implicit midpoint, h = 0.1, WINDOWS trajectories of 201 points,
 * weights 1/spread, starts measured: the shooting gradient of docs/physics/ports.md. */
#include "learn/shooting/shoot.h"
#include <clausius/simulate.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STEPS = 200 };

static const char *const truth = "coordinate q\n"
                                 "entropy S\n"
                                 "hamiltonian H = p.q^2/4 + q^2/2 + exp(S)\n"
                                 "friction F on S: q <- -0.5*v.q\n"
                                 "start q = 1, p.q = 1, S = 0.2\n";

typedef struct problem {
    size_t width, windows;
    cls_system *system;
    cls_table *table;
    clsi_points *points;
    clsi_unknowns *unknowns;
    clsi_motion motion;
    clsi_shooting *shooting;
    clsi_problem all;
    double *theta, *gradient, loss;
} problem;

static void check(cls_status status, const cls_error *error) {
    if (status == CLS_OK) return;
    fprintf(stderr, "bench/shoot: %s\n", error->message);
    exit(1);
}

/* Starts on a circle around the usual one, which is the first. */
static cls_table *make_data(const cls_system *s, size_t windows) {
    cls_error e;
    cls_table *t;
    cls_simulator *sim;
    cls_simulate_options o = cls_simulate_defaults();
    const char *const names[] = {"trajectory", "time", "q", "p.q", "S"};
    double start[3], row[5];
    o.scheme = "bdf";
    o.h = 0.1;
    check(cls_simulator_create(s, &o, &sim, &e), &e);
    check(cls_system_start(s, NULL, start, &e), &e);
    check(cls_table_create(5, names, &t, &e), &e);
    for (size_t w = 0; w < windows; w++) {
        double angle = 6.283185307179586 * (double)w / (double)windows;
        start[0] = cos(angle) - sin(angle);
        start[1] = cos(angle) + sin(angle);
        check(cls_simulator_start(sim, 0, start, &e), &e);
        for (size_t i = 0; i <= STEPS; i++) {
            row[0] = (double)w;
            row[1] = cls_simulator_time(sim);
            memcpy(row + 2, cls_simulator_state(sim), 3 * sizeof *row);
            check(cls_table_append(t, row, &e), &e);
            if (i < STEPS) check(cls_simulator_advance(sim, 1, &e), &e);
        }
    }
    cls_simulator_free(&sim);
    return t;
}

static void open_problem(size_t width, size_t windows, int continuous, problem *p) {
    static char field[64];
    static const char *const parts[] = {"F"};
    const char *name = "made here";
    cls_error e;
    cls_random random;
    *p = (problem){.width = width, .windows = windows};
    snprintf(field, sizeof field, "network(%zu, %zu)", width, width);
    check(cls_system_parse(truth, "oscillator", NULL, &p->system, &e), &e);
    p->table = make_data(p->system, windows);
    cls_learn_options o = cls_learn_defaults();
    o.unknown = parts;
    o.n_unknown = 1;
    o.field = field;
    check(clsi_points_create(p->system, 1, (const cls_table *const *)&p->table, &name,
                             &clsi_rule_quadrature, 0, 0, &p->points, &e),
          &e);
    check(clsi_unknowns_create(p->system, NULL, &o, p->points, &p->unknowns, &e), &e);
    check(clsi_motion_create(p->unknowns, "implicit-midpoint", &p->motion, &e), &e);
    if (continuous) check(clsi_motion_flow(&p->motion, p->unknowns, &e), &e);
    clsi_shooting_options w = {.intervals = 0, .continuous = p->motion.flow};
    check(clsi_shooting_create(p->points, p->motion.step, &w, 0, &p->shooting, &e), &e);
    clsi_shooting_problem(p->shooting, &p->all);
    p->theta = calloc(2 * p->all.n_parameters, sizeof *p->theta);
    p->gradient = p->theta + p->all.n_parameters;
    const clsi_learned *l = &p->unknowns->list[0].learned;
    cls_random_seed(&random, 1);
    l->field->kind->initialise(l->field, &random, p->theta);
}

static void close_problem(problem *p) {
    clsi_shooting_free(&p->shooting);
    clsi_motion_clear(&p->motion);
    clsi_unknowns_free(&p->unknowns);
    clsi_points_free(&p->points);
    cls_table_free(&p->table);
    cls_system_free(&p->system);
    free(p->theta);
}

/* What was computed for these parameters is not to be found again: the last bit of one moves. */
static void evaluate(problem *p) {
    p->theta[0] = p->theta[0] == 0.25 ? 0.25 + 0x1p-54 : 0.25;
    check(p->all.gradient(&p->all, p->theta, p->all.n_rows, NULL, &p->loss, p->gradient), NULL);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double best_time(problem *p) {
    double begin = seconds(), best = 1e9;
    while (seconds() - begin < 0.5) {
        double before = seconds();
        evaluate(p);
        if (seconds() - before < best) best = seconds() - before;
    }
    return best;
}

static void answer_gradient(size_t width, size_t windows) {
    problem p;
    open_problem(width, windows, 0, &p);
    evaluate(&p);
    double best = best_time(&p);
    printf("%.9g %.17g %zu\n", best, p.loss, p.all.n_parameters);
    close_problem(&p);
}

static void answer_continuous(size_t width, size_t windows) {
    problem p, exact;
    double off = 0, size = 0;
    open_problem(width, windows, 1, &p);
    open_problem(width, windows, 0, &exact);
    evaluate(&p);
    evaluate(&exact);
    for (size_t j = 0; j < p.all.n_parameters; j++) {
        off += pow(p.gradient[j] - exact.gradient[j], 2);
        size += pow(exact.gradient[j], 2);
    }
    printf("%.9g %.3g\n", best_time(&p), sqrt(off / size));
    close_problem(&p);
    close_problem(&exact);
}

static void put(FILE *f, size_t n, const double *x) {
    fwrite(x, sizeof *x, n, f);
}

/* width, windows, parameters, floor; centers, halves, weights (3 each); times (201); states
 * (windows, 201, 3); theta, loss, gradient. */
static void answer_write(size_t width, size_t windows, const char *path) {
    problem p;
    open_problem(width, windows, 0, &p);
    evaluate(&p);
    FILE *f = fopen(path, "wb");
    if (!f) {
        printf("error cannot write\n");
        return;
    }
    const clsi_learned *l = &p.unknowns->list[0].learned;
    double head[] = {(double)width, (double)windows, (double)p.all.n_parameters, l->floor};
    double weight[3];
    put(f, 4, head);
    put(f, 3, l->center);
    put(f, 3, l->half);
    for (size_t k = 0; k < 3; k++) weight[k] = 1 / clsi_points_spread(p.points, k);
    put(f, 3, weight);
    put(f, STEPS + 1, p.points->time);
    for (size_t i = 0; i < windows * (STEPS + 1); i++)
        for (size_t k = 0; k < 3; k++) put(f, 1, &p.points->z[k * p.points->n + i]);
    put(f, p.all.n_parameters, p.theta);
    put(f, 1, &p.loss);
    put(f, p.all.n_parameters, p.gradient);
    fclose(f);
    printf("0\n");
    close_problem(&p);
}

int main(void) {
    char line[512], path[256];
    size_t width, windows;
    omp_set_num_threads(1);
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "gradient %zu %zu", &width, &windows) == 2)
            answer_gradient(width, windows);
        else if (sscanf(line, "continuous %zu %zu", &width, &windows) == 2)
            answer_continuous(width, windows);
        else if (sscanf(line, "write %zu %zu %255s", &width, &windows, path) == 3)
            answer_write(width, windows, path);
        else
            printf("error what is this\n");
        fflush(stdout);
    }
    return 0;
}
