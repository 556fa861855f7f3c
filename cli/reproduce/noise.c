/* dtlm-noise: positions with noise, residuals beside shooting (docs/physics/discrete-gradient.md,
 * "What beats it"; the paper has no noise).
 *
 * A residual puts noisy positions into formulas: an errors-in-variables fit, biased. Shooting
 * simulates windows with free starts and compares. The data of tables 2 and 3 with normal noise of
 * 1e-3 and 1e-2 on every position; V is a polynomial. Its degree is chosen without the truth: of 2,
 * 4, ... 12 the one with the least loss on validation trajectories, which are as noisy as the
 * others, each way by its own loss. Judged by runs from two exact positions of nullity motions, each
 * with the scheme that its equation belongs to. */
#include "cli/reproduce/dtlm.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { n_test = 15, n_trials = 5, n_quick = 2, n_ways = 3, highest = 12 };

static const struct {
    const char *system, *draws;
} problems[] = {
    {"mass-spring", "let r~U(0.1,1), let a~U(0,2*pi), q = r*cos(a), p.q = r*sin(a)"},
    {"pendulum", "let r~U(1.3,2.3), let a~U(0,2*pi), q = r*cos(a), p.q = r*sin(a)"},
};

static const struct {
    const char *label, *loss, *rule, *run;
} ways[n_ways] = {{"residual (12)", NULL, "discrete-gradient", "discrete-gradient"},
                  {"residual weak", NULL, "weak", "discrete-gradient-4"},
                  {"shooting", "shooting", "discrete-gradient-4", "discrete-gradient-4"}};

/* Sums over the trials. */
typedef struct outcome {
    cli_score score;
    double degree;
} outcome;

typedef struct noise {
    const char *label;
    double sigma;
} noise;

static int progress(void *context, const cls_learn_progress *p) {
    (void)context, (void)p;
    return cli_interrupted();
}

/* loss NULL: the residual of the rule. */
static cls_status learn(const cls_system *s, const cls_table *data, const char *loss,
                        const char *rule, int degree, uint64_t seed, cls_model **out,
                        double *validation, cls_error *error) {
    const char *name = "made here", *const unknown[] = {"V"};
    cls_learn_options o = cls_learn_defaults();
    cls_learn_info info;
    char field[32];
    snprintf(field, sizeof field, "chebyshev(%d)", degree);
    o.n_unknown = 1;
    o.unknown = unknown;
    o.field = field;
    o.loss = loss;
    o.scheme = rule;
    o.seed = seed;
    o.progress = progress;
    cls_status status = cls_learn(s, NULL, 1, &data, &name, &o, out, &info, error);
    if (!status && cli_interrupted()) status = cli_fail(error, CLS_INTERRUPTED, "interrupted");
    *validation = info.loss_validation;
    return status;
}

static cls_status choose_degree(const cls_system *s, const cls_table *data, int way, uint64_t seed,
                                int *out, cls_error *error) {
    double least = INFINITY, validation;
    cls_status status = CLS_OK;
    for (int degree = 2; !status && degree <= highest; degree += 2) {
        cls_model *model = NULL;
        status = learn(s, data, ways[way].loss, ways[way].rule, degree, seed, &model, &validation,
                       error);
        cls_model_free(&model);
        if (validation < least) *out = degree;
        least = fmin(least, validation);
    }
    return status;
}

static cls_status run_way(int way, const cls_system *s, const cls_table *data, uint64_t seed,
                          const cli_motions *test, outcome *out, cls_error *error) {
    cls_model *model = NULL;
    double validation;
    int degree = highest;
    cls_status status = choose_degree(s, data, way, seed, &degree, error);
    if (!status)
        status = learn(s, data, ways[way].loss, ways[way].rule, degree, seed, &model, &validation,
                       error);
    if (!status)
        status = cli_motions_judge(test, cls_model_system(model), ways[way].run, 0.2, &out->score,
                                   error);
    out->degree += degree;
    cls_model_free(&model);
    return status;
}

static cls_status run_trial(size_t k, double sigma, uint64_t seed, const cls_system *s,
                            outcome sums[n_ways], cls_error *error) {
    cli_motions training = {0}, test = {0};
    cls_table *data = NULL;
    cls_status status =
        cli_motions_make(s, problems[k].draws, 2 * seed, 25, 100, 0.2, &training, error);
    if (!status) status = cli_motions_positions(&training, sigma, seed, &data, error);
    if (!status)
        status =
            cli_motions_make(s, problems[k].draws, 2 * seed + 1, n_test, 100, 0.2, &test, error);
    for (int way = 0; !status && way < n_ways; way++)
        status = run_way(way, s, data, seed, &test, &sums[way], error);
    cls_table_free(&data);
    free(training.rows);
    free(test.rows);
    return status;
}

static void add(cli_findings *f, const char *label, const noise *n, const char *column,
                double value, const char *expected) {
    cli_add_cell(f, (cli_cell){.column = column, .ours = value, .expected = expected},
                 "%s, noise %s", label, n->label);
}

static cls_status run_problem(cli_findings *f, size_t k, const noise *n, const cls_system *s,
                              cli_progress *p, cls_error *error) {
    outcome sums[n_ways] = {0};
    uint64_t trials = f->quick ? n_quick : n_trials;
    const char *label = problems[k].system;
    cls_status status = CLS_OK;
    for (uint64_t i = 0; !status && i < trials; i++) {
        status = run_trial(k, n->sigma, i + 1, s, sums, error);
        cli_progress_update(p, (double)(i + 1), NULL);
    }
    for (int way = 0; !status && way < n_ways; way++) {
        double error_of = sums[way].score.value[0] / (double)trials;
        add(f, label, n, ways[way].label, error_of, NULL);
        add(f, label, n, "  its degree", sums[way].degree / (double)trials, NULL);
    }
    for (int way = 0; !status && way < n_ways - 1; way++)
        add(f, label, n, way ? "  weak / shooting" : "  (12) / shooting",
            sums[way].score.value[0] / sums[n_ways - 1].score.value[0], ">=1");
    return status;
}

static cls_status run(cli_findings *f, cls_error *error) {
    static const noise noises[] = {{"1e-3", 1e-3}, {"1e-2", 1e-2}};
    cls_status status = CLS_OK;
    for (size_t k = 0; !status && k < sizeof problems / sizeof *problems; k++) {
        cls_system *s = NULL;
        status = cls_system_load(problems[k].system, NULL, &s, error);
        for (int i = 0; !status && i < 2; i++) {
            cli_progress p = {0};
            cli_progress_begin(&p, problems[k].system, "trials", f->quick ? n_quick : n_trials,
                               f->quiet);
            status = run_problem(f, k, &noises[i], s, &p, error);
            cli_progress_end(&p);
        }
        cls_system_free(&s);
    }
    return status;
}

const cli_item cli_dtlm_noise = {
    .name = "dtlm-noise",
    .doc = "positions with noise: residuals beside shooting",
    .text =
        "Position mean square error of runs from two exact positions, 100 steps of 0.2, 15\n"
        "motions, mean over 5 trials (--quick: 2). V is learned as a polynomial from 25 motions\n"
        "of 101 noisy positions; its degree is the one of 2, 4, ... 12 with the least loss of its "
        "own on\n"
        "validation trajectories, as noisy as the others. Residual (12) is the paper's equation.\n",
    .run = run,
};
