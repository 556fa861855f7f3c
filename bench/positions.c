/* One step of training from positions alone: loss (12), gradient, Adam update, as the library does
 * it; the peer is bench/positions_torch.py, bench/positions runs both.
 *
 *     positions FILE     writes the problem, then for each line on stdin does as many steps as fit
 *                        into 0.3 s and answers with the seconds of the best
 *
 * The mass on a spring seen through its position, q = r cos(t + a): 200 windows of three positions,
 * h = 0.2, network 1-200-200-1, double precision, one thread, processor time. FILE: windows,
 * parameters, half, center; x (windows, 3) scaled; theta; loss; gradient. */
#include "learn/learn.h"
#include "solve/optimize.h"
#include <clausius/random.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WINDOWS = 200 };

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(const char *what) {
    fprintf(stderr, "bench/positions: %s\n", what);
    exit(1);
}

/* Every window a trajectory of its own, as in a batch drawn at random. */
static cls_table *make_table(void) {
    const char *const names[] = {"trajectory", "time", "q"};
    cls_table *t;
    cls_random random;
    cls_random_seed(&random, 1);
    if (cls_table_create(3, names, &t, NULL)) die("no table");
    for (int i = 0; i < WINDOWS; i++) {
        double r = 0.1 + 0.9 * cls_random_uniform(&random), a = 7 * cls_random_uniform(&random);
        for (int k = 0; k < 3; k++)
            if (cls_table_append(t, (double[]){i, 0.2 * k, r * cos(0.2 * k + a)}, NULL))
                die("no row");
    }
    return t;
}

typedef struct training {
    clsi_points *points;
    clsi_unknowns *unknowns;
    clsi_residual *residual;
    clsi_problem problem;
    size_t n;
    double *theta, *gradient, *m, *v, weight1, weight2, loss;
} training;

static void prepare(const cls_system *s, const cls_table *data, training *t) {
    const char *name = "made here";
    cls_error error;
    cls_random random;
    cls_learn_options o = cls_learn_defaults();
    o.n_unknown = s->n_unknown;
    o.unknown = (const char *const *)s->unknown;
    if (clsi_points_create(s, 1, &data, &name, &clsi_rule_pairs, 0, 0, &t->points, &error) ||
        clsi_unknowns_create(s, NULL, &o, t->points, &t->unknowns, &error) ||
        clsi_residual_create(t->points, t->unknowns, &t->residual, &error))
        die(error.message);
    clsi_residual_problem(t->residual, &t->problem);
    t->n = t->problem.n_parameters;
    t->theta = calloc(4 * t->n, sizeof(double));
    if (!t->theta) die("no memory");
    t->gradient = t->theta + t->n;
    t->m = t->gradient + t->n;
    t->v = t->m + t->n;
    t->weight1 = t->weight2 = 1;
    cls_random_seed(&random, 1);
    const clsi_field *f = t->unknowns->list[0].learned.field;
    f->kind->initialise(f, &random, t->theta);
}

static void gradient(training *t) {
    if (t->problem.gradient(&t->problem, t->theta, t->problem.n_rows, NULL, &t->loss, t->gradient))
        die("no gradient");
}

static void step(training *t) {
    gradient(t);
    t->weight1 *= 0.9;
    t->weight2 *= 0.999;
    clsi_adam_step(t->n, 1e-6, t->weight1, t->weight2, t->gradient, t->m, t->v, t->theta);
}

static void write_problem(training *t, const char *path) {
    const clsi_unknown *u = &t->unknowns->list[0];
    const clsi_intervals *all = t->points->intervals;
    double head[] = {WINDOWS, (double)t->n, u->learned.half[0], u->learned.center[0]};
    FILE *f = fopen(path, "wb");
    if (!f) die("cannot write the problem");
    gradient(t);
    fwrite(head, sizeof *head, 4, f);
    fwrite(u->x + all->n * all->nodes, sizeof(double), 3 * WINDOWS, f);
    fwrite(t->theta, sizeof(double), t->n, f);
    fwrite(&t->loss, sizeof(double), 1, f);
    fwrite(t->gradient, sizeof(double), t->n, f);
    if (fclose(f)) die("cannot write the problem");
}

int main(int argc, char **argv) {
    cls_error error;
    cls_system *s;
    training t = {0};
    char line[64];
    if (argc != 2) die("give a file for the problem");
    omp_set_num_threads(1);
    if (cls_system_parse("coordinate q\nhamiltonian p.q^2/2 + V\n"
                         "part V = unknown network(200, 200)\n",
                         "bench", NULL, &s, &error))
        die(error.message);
    cls_table *data = make_table();
    prepare(s, data, &t);
    write_problem(&t, argv[1]);
    while (fgets(line, sizeof line, stdin)) {
        double best = 1e9, stop = now() + 0.3;
        while (now() < stop) {
            double begin = now();
            step(&t);
            best = fmin(best, now() - begin);
        }
        printf("%.9g\n", best);
        fflush(stdout);
    }
    clsi_residual_free(&t.residual);
    clsi_unknowns_free(&t.unknowns);
    clsi_points_free(&t.points);
    cls_table_free(&data);
    cls_system_free(&s);
    free(t.theta);
    return 0;
}
