/* Training: one step of the V-NOTS piston problem as the library does it, and the optimisers.
 *
 * A server as bench/steps.c: one request a line, one line of numbers back, seconds first.
 *
 *     step SIZE PAIRS LAYOUT THREADS   loss, gradient and Adam update: seconds, flops of the matrix
 *                                      products, parameters
 *     write SIZE PAIRS LAYOUT FILE     the same problem for the peers (bench/train_peer.py)
 *     optimise METHOD BATCH TARGET     the 4-32-32-1 problem: seconds, loss, iterations
 *     peak THREADS                     seconds, flops of multiply-adds in registers
 *
 * SIZE is `wide` (G 4-128x4-1, frictions 4-128x3-1), `narrow` (G 4-32-32-1, frictions 4-32-1) or
 * `narrow2` (all 4-32-32-1). LAYOUT is `apart`
 * (every pair a trajectory of its own: two points a pair) or `along` (trajectories of 21 points:
 * one and a bit). The residual is scheme (25) with the library's weights, double precision. One
 * thread is measured in processor time, more in wall time; a request does as many steps as fit into
 * 0.3 s and answers with the best. */
#include "field/network_kernels.h"
#include "learn/learn.h"
#include "solve/optimize.h"
#include <clausius/simulate.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds_of(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static clockid_t clock_for(int threads) {
    return threads > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID;
}

static void die(const char *what, const cls_error *error) {
    fprintf(stderr, "bench/train: %s: %s\n", what, error ? error->message : "");
    exit(1);
}

/* ---- the piston ---- */

typedef struct training {
    char name[192];
    cls_system *system;
    clsi_points *points;
    clsi_unknowns *unknowns;
    clsi_residual *residual;
    size_t rows;
    double *theta, *gradient, *m, *v;
    double weight1, weight2;
    struct training *next;
} training;

static const char *const text = "system \"the piston of V-NOTS, nothing known\"\n"
                                "coordinate x in (-2, 2)\n"
                                "temperature T1, T2\n"
                                "thermal lagrangian G = unknown network(%s)\n"
                                "friction F1 on T1: unknown network(%s)\n"
                                "friction F2 on T2: unknown network(%s)\n"
                                "start x = 0, v.x = -0.5, T1 = 0.65, T2 = 1.04\n";

/* Starts uniform in -1 < x, p < 1, 0 < S < 1, h = 0.01, by CVODE: the training set of the paper. */
static cls_table *make_data(size_t n, uint64_t steps) {
    cls_error error;
    cls_system *s;
    cls_table *t;
    cls_random random;
    if (cls_system_load("adiabatic-piston", NULL, &s, &error)) die("system", &error);
    size_t columns = cls_system_column_count(s), nz = cls_system_state_count(s);
    double *starts = calloc(n * nz, sizeof *starts), row[64];
    double *rows = calloc(n * (steps + 1) * columns, sizeof *rows);
    const char *names[64] = {"trajectory"};
    const char *const given[] = {"x", "p.x", "S1", "S2"};
    cls_random_seed(&random, 1);
    for (size_t i = 0; i < n; i++) {
        double values[4];
        for (int k = 0; k < 4; k++)
            values[k] = k < 2 ? 2 * cls_random_uniform(&random) - 1 : cls_random_uniform(&random);
        cls_assignments set = {.n = 4, .names = given, .values = values};
        if (cls_system_start(s, &set, starts + i * nz, &error)) die("start", &error);
    }
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = "bdf";
    o.h = 0.01;
    if (cls_ensemble_run(s, &o, n, starts, steps, 1, 0, rows, &error)) die("data", &error);
    for (size_t c = 0; c < columns; c++) names[c + 1] = cls_system_column(s, c);
    if (cls_table_create(columns + 1, names, &t, &error)) die("table", &error);
    for (size_t i = 0; i < n * (steps + 1); i++) {
        row[0] = (double)(i / (steps + 1));
        memcpy(row + 1, rows + i * columns, columns * sizeof *row);
        if (cls_table_append(t, row, &error)) die("table", &error);
    }
    free(starts);
    free(rows);
    cls_system_free(&s);
    return t;
}

static training *create(const char *size, size_t pairs, const char *layout) {
    cls_error error;
    cls_random random;
    training *t = calloc(1, sizeof *t);
    int wide = strcmp(size, "wide") == 0;
    uint64_t steps = strcmp(layout, "along") == 0 ? 20 : 1;
    const char *deep = wide ? "128, 128, 128, 128" : "32, 32";
    const char *flat = wide ? "128, 128, 128" : strcmp(size, "narrow") == 0 ? "32" : deep;
    char source[1024];
    const char *name = "made here", *const parts[] = {"G", "F1", "F2"};
    snprintf(source, sizeof source, text, deep, flat, flat);
    cls_table *table = make_data((pairs + steps - 1) / steps, steps);
    cls_learn_options o = cls_learn_defaults();
    o.unknown = parts;
    o.n_unknown = 3;
    if (cls_system_parse(source, "piston", NULL, &t->system, &error)) die("system", &error);
    if (clsi_points_create(t->system, 1, (const cls_table *const *)&table, &name, &clsi_rule_vnots,
                           0, pairs, &t->points, &error))
        die("points", &error);
    if (clsi_unknowns_create(t->system, NULL, &o, t->points, &t->unknowns, &error))
        die("unknowns", &error);
    if (clsi_residual_create(t->points, t->unknowns, &t->residual, &error)) die("residual", &error);
    cls_table_free(&table);
    size_t P = t->unknowns->n_theta;
    t->rows = t->points->n_training * t->residual->n_equations;
    t->theta = calloc(4 * P, sizeof *t->theta);
    t->gradient = t->theta + P;
    t->m = t->gradient + P;
    t->v = t->m + P;
    t->weight1 = t->weight2 = 1;
    cls_random_seed(&random, 2);
    for (size_t k = 0; k < t->unknowns->n; k++) {
        const clsi_learned *l = &t->unknowns->list[k].learned;
        l->field->kind->initialise(l->field, &random, t->theta + l->offset);
    }
    return t;
}

static training *find(const char *size, size_t pairs, const char *layout) {
    static training *all;
    char name[192];
    snprintf(name, sizeof name, "%s %zu %s", size, pairs, layout);
    for (training *t = all; t; t = t->next)
        if (strcmp(t->name, name) == 0) return t;
    training *t = create(size, pairs, layout);
    snprintf(t->name, sizeof t->name, "%s", name);
    t->next = all;
    return all = t;
}

/* ---- a step ---- */

static double gradient(training *t) {
    double loss;
    if (clsi_residual_gradient(t->residual, t->theta, t->rows, NULL, &loss, t->gradient)) exit(1);
    return loss;
}

static void step(training *t) {
    gradient(t);
    t->weight1 *= 0.9;
    t->weight2 *= 0.999;
    clsi_adam_step(t->unknowns->n_theta, 1e-6, t->weight1, t->weight2, t->gradient, t->m, t->v,
                   t->theta);
}

/* Points that the pairs have in all; they are numbered in order. */
static size_t distinct_points(const clsi_points *p) {
    size_t n = 0, last = SIZE_MAX;
    for (size_t w = 0; w < p->n_training; w++) {
        n += p->window[w] == last ? 1 : 2;
        last = p->window[w] + 1;
    }
    return n;
}

/* Two flops a weight, point and matrix unit: six units for the gradient of G, three for values. */
static double flops(const training *t) {
    double sum = 0;
    for (size_t k = 0; k < t->unknowns->n; k++) {
        const clsi_network *net = t->unknowns->list[k].learned.field->data;
        for (size_t l = 0; l < net->n_layers; l++)
            sum += (t->residual->sloped[k] ? 12.0 : 6.0) *
                   (double)(net->layer[l].in * net->layer[l].out);
    }
    return sum * (double)distinct_points(t->points);
}

static void answer_step(const char *size, size_t pairs, const char *layout, int threads) {
    omp_set_num_threads(threads);
    training *t = find(size, pairs, layout);
    clockid_t clock = clock_for(threads);
    double best = 1e9, stop = seconds_of(clock) + 0.3;
    step(t);
    do {
        double begin = seconds_of(clock);
        step(t);
        best = fmin(best, seconds_of(clock) - begin);
    } while (seconds_of(clock) < stop);
    printf("%.9g %.9g %zu\n", best, flops(t), t->unknowns->n_theta);
}

/* ---- for the peers ---- */

static void put(FILE *f, size_t n, const double *v) {
    if (fwrite(v, sizeof *v, n, f) != n) exit(1);
}

/* Numbers: pairs, points, parameters, floor; first point of each pair; then per point the scaled
 * inputs, what turns slopes in them into slopes in (x, v, T1, T2), v, T1, T2; per pair the length
 * and the weights of its rows; theta; loss, gradient. */
static void answer_write(const char *size, size_t pairs, const char *layout, const char *path) {
    training *t = find(size, pairs, layout);
    const clsi_points *p = t->points;
    const clsi_learned *l = &t->unknowns->list[0].learned;
    FILE *f = fopen(path, "wb");
    if (!f) exit(1);
    double head[] = {(double)p->n_training, (double)p->n_data, (double)t->unknowns->n_theta,
                     t->unknowns->list[1].learned.floor};
    put(f, 4, head);
    for (size_t w = 0; w < p->n_training; w++) put(f, 1, &(double){(double)p->window[w]});
    put(f, 4 * p->n_data, t->unknowns->list[0].x);
    for (size_t i = 0; i < p->n_data; i++) {
        const double *z = p->z + i;
        double v = z[p->n], T1 = z[2 * p->n], T2 = z[3 * p->n];
        double row[] = {1 / l->half[0],
                        2 * v / l->half[1],
                        1 / (T1 * l->half[2]),
                        1 / (T2 * l->half[3]),
                        v,
                        T1,
                        T2};
        put(f, 7, row);
    }
    for (size_t w = 0; w < p->n_training; w++) {
        double row[4] = {p->time[p->window[w] + 1] - p->time[p->window[w]]};
        for (size_t e = 0; e < 3; e++) row[1 + e] = t->residual->weight[e * p->n_windows + w];
        put(f, 4, row);
    }
    put(f, t->unknowns->n_theta, t->theta);
    double loss = gradient(t);
    put(f, 1, &loss);
    put(f, t->unknowns->n_theta, t->gradient);
    printf("0 %d\n", fclose(f) == 0);
}

/* ---- the optimisers ---- */

enum { INPUTS = 4, SAMPLES = 2000 };

typedef struct fit {
    clsi_problem problem;
    clsi_field *f;
    double x[SAMPLES * INPUTS], target[SAMPLES * INPUTS], *pass;
} fit;

/* Row 4 s + k: the slope of G along input k at sample s, less the target. */
static cls_status fit_jacobian(clsi_problem *p, const double *theta, size_t count,
                               const size_t *rows, double *r, double *J) {
    enum { BLOCK = CLSI_NETWORK_BLOCK };
    fit *t = p->context;
    const clsi_field_blocks *blocks = t->f->kind->blocks;
    if (J) memset(J, 0, count * p->n_parameters * sizeof *J);
    blocks->open(t->f, theta, t->pass);
    for (size_t at = 0; at < count; at += BLOCK) {
        size_t n = count - at < BLOCK ? count - at : BLOCK;
        double x[BLOCK * INPUTS], value[BLOCK], slope[BLOCK * INPUTS], b[BLOCK * INPUTS] = {0};
        double *row[BLOCK];
        for (size_t i = 0; i < n; i++) {
            size_t number = rows ? rows[at + i] : at + i;
            memcpy(x + i * INPUTS, t->x + number / INPUTS * INPUTS, INPUTS * sizeof *x);
            b[i * INPUTS + number % INPUTS] = 1;
            row[i] = J ? J + (at + i) * p->n_parameters : NULL;
        }
        blocks->evaluate(t->pass, n, x, value, slope);
        for (size_t i = 0; i < n; i++) {
            size_t number = rows ? rows[at + i] : at + i;
            r[at + i] = slope[i * INPUTS + number % INPUTS] - t->target[number];
        }
        if (J) blocks->rows(t->pass, n, NULL, b, row);
    }
    return CLS_OK;
}

static cls_status fit_residual(clsi_problem *p, const double *theta, size_t count,
                               const size_t *rows, double *r) {
    return fit_jacobian(p, theta, count, rows, r, NULL);
}

/* The target is smooth and no network: sin(x0 + x1/2) + x1^2 x2 / 2 + exp(x3/2) cos x2. */
static fit *fit_create(double **theta) {
    fit *t = calloc(1, sizeof *t);
    cls_random random;
    cls_random_seed(&random, 1);
    if (clsi_field_create(INPUTS, "network(32, 32)", NULL, &t->f, NULL)) exit(1);
    for (size_t i = 0; i < SAMPLES; i++) {
        double *x = t->x + i * INPUTS, *g = t->target + i * INPUTS;
        for (int k = 0; k < INPUTS; k++) x[k] = 2 * cls_random_uniform(&random) - 1;
        g[0] = cos(x[0] + x[1] / 2);
        g[1] = cos(x[0] + x[1] / 2) / 2 + x[1] * x[2];
        g[2] = x[1] * x[1] / 2 - exp(x[3] / 2) * sin(x[2]);
        g[3] = exp(x[3] / 2) * cos(x[2]) / 2;
    }
    t->pass = calloc(t->f->kind->blocks->size(t->f), sizeof *t->pass);
    t->problem = (clsi_problem){.context = t,
                                .n_parameters = t->f->n_parameters,
                                .n_rows = SAMPLES * INPUTS,
                                .residual = fit_residual,
                                .jacobian = fit_jacobian};
    *theta = calloc(t->f->n_parameters, sizeof **theta);
    t->f->kind->initialise(t->f, &random, *theta);
    return t;
}

static int give_up(void *context, const clsi_progress *progress, const double *theta) {
    (void)context;
    (void)theta;
    return progress->seconds > 60;
}

static void answer_optimise(const char *method, size_t batch, double target) {
    double *theta;
    clsi_optimize_info info;
    cls_error error;
    omp_set_num_threads(1);
    fit *t = fit_create(&theta);
    clsi_optimize_options o = {.max_iterations = 1000000,
                               .loss_tolerance = target,
                               .seed = 1,
                               .batch = batch,
                               .progress = give_up};
    double begin = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    if (clsi_optimizer_find(method)->minimize(&t->problem, &o, theta, &info, &error))
        die(method, &error);
    printf("%.9g %.9g %llu\n", seconds_of(CLOCK_PROCESS_CPUTIME_ID) - begin, info.final_loss,
           (unsigned long long)info.iterations);
    free(theta);
    free(t->pass);
    clsi_field_free(&t->f);
    free(t);
}

/* ---- the peak ---- */

#if defined(__AVX512F__)
enum { LANES = 8, CHAINS = 24 };
#elif defined(__AVX__)
enum { LANES = 4, CHAINS = 12 };
#else
enum { LANES = 2, CHAINS = 12 };
#endif
typedef double lanes __attribute__((vector_size(LANES * sizeof(double))));

/* Independent chains of multiply-adds; this file is compiled for this very machine. */
static double chains(size_t n) {
    lanes c[CHAINS], x, y;
    double sum = 0;
    for (int k = 0; k < LANES; k++) x[k] = 0.999, y[k] = 1e-3;
    for (int i = 0; i < CHAINS; i++) c[i] = x * (double)i;
    for (size_t k = 0; k < n; k++) {
#pragma GCC unroll 24
        for (int i = 0; i < CHAINS; i++) c[i] = c[i] * x + y;
    }
    for (int i = 0; i < CHAINS; i++)
        for (int k = 0; k < LANES; k++) sum += c[i][k];
    return sum;
}

static void answer_peak(int threads) {
    enum { N = 2000000 };
    double best = 1e9, keep = 0;
    for (int turn = 0; turn < 5; turn++) {
        double begin = seconds_of(clock_for(threads));
#pragma omp parallel num_threads(threads) reduction(+ : keep)
        keep += chains(N);
        best = fmin(best, seconds_of(clock_for(threads)) - begin);
    }
    printf("%.9g %.9g %.3g\n", best, 2.0 * N * CHAINS * LANES * threads, keep);
}

int main(void) {
    char line[512], a[64], b[64], c[256];
    size_t n;
    int threads;
    double target;
    while (fgets(line, sizeof line, stdin)) {
        if (sscanf(line, "step %63s %zu %63s %d", a, &n, b, &threads) == 4)
            answer_step(a, n, b, threads);
        else if (sscanf(line, "write %63s %zu %63s %255s", a, &n, b, c) == 4)
            answer_write(a, n, b, c);
        else if (sscanf(line, "optimise %63s %zu %lf", a, &n, &target) == 3)
            answer_optimise(a, n, target);
        else if (sscanf(line, "peak %d", &threads) == 1)
            answer_peak(threads);
        else
            printf("error what is this\n");
        fflush(stdout);
    }
    return 0;
}
