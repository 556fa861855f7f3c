/* dtlm-noise: positions with noise, residuals beside shooting (shared/physics/discrete-gradient.md,
 * "What beats it"; the paper has no noise).
 *
 * A residual puts noisy positions into formulas: an errors-in-variables fit, biased. Shooting
 * simulates windows with free starts and compares. The data of tables 2 and 3 with normal noise of
 * 1e-3 and 1e-2 on every position; polynomials of low degree, so that noise has little to fit;
 * judged by runs from two exact positions of unseen motions, each with the scheme that its
 * equation belongs to. */
#include "reproduce_dtlm.h"
#include <stdlib.h>

enum { n_test = 15, n_trials = 5, n_quick = 2, n_ways = 3 };

static const struct {
    const char *label, *system, *draws, *field;
} problems[] = {
    {"mass-spring", "mass-spring", "let r~U(0.1,1), let a~U(0,2*pi), q = r*cos(a), p.q = r*sin(a)",
     "chebyshev(4)"},
    {"pendulum", "pendulum", "let r~U(1.3,2.3), let a~U(0,2*pi), q = r*cos(a), p.q = r*sin(a)",
     "chebyshev(6)"},
};

static const struct {
    const char *label, *loss, *rule, *run;
} ways[n_ways] = {{"residual (12)", NULL, "discrete-gradient", "discrete-gradient"},
                  {"residual weak", NULL, "weak", "discrete-gradient-4"},
                  {"shooting", "shooting", "discrete-gradient-4", "discrete-gradient-4"}};

typedef struct noise {
    const char *label;
    double sigma;
} noise;

static int watch(void *owner, const cls_learn_progress *p) {
    (void)owner, (void)p;
    return cli_interrupted();
}

static cls_status run_way(size_t k, int way, const cls_system *s, const cls_table *data,
                          uint64_t seed, const cli_motions *test, cli_score *out,
                          cls_error *error) {
    const char *name = "made here", *const unknown[] = {"V"};
    cls_learn_options o = cls_learn_defaults();
    cls_learn_info info;
    cls_model *model = NULL;
    o.n_unknown = 1;
    o.unknown = unknown;
    o.field = problems[k].field;
    o.loss = ways[way].loss;
    o.scheme = ways[way].rule;
    o.seed = seed;
    o.watch = watch;
    cls_status status = cls_learn(s, NULL, 1, &data, &name, &o, &model, &info, error);
    if (!status && cli_interrupted()) status = cli_fail(error, CLS_INTERRUPTED, "interrupted");
    if (!status)
        status = cli_motions_judge(test, cls_model_system(model), ways[way].run, 0.2, out, error);
    cls_model_free(&model);
    return status;
}

static cls_status run_trial(size_t k, double sigma, uint64_t seed, const cls_system *s,
                            cli_score scores[n_ways], cls_error *error) {
    cli_motions training = {0}, test = {0};
    cls_table *data = NULL;
    cls_status status =
        cli_motions_make(s, problems[k].draws, 2 * seed, 25, 100, 0.2, &training, error);
    if (!status) status = cli_motions_positions(&training, sigma, seed, &data, error);
    if (!status)
        status =
            cli_motions_make(s, problems[k].draws, 2 * seed + 1, n_test, 100, 0.2, &test, error);
    for (int way = 0; !status && way < n_ways; way++)
        status = run_way(k, way, s, data, seed, &test, &scores[way], error);
    cls_table_free(&data);
    free(training.rows);
    free(test.rows);
    return status;
}

static cls_status add(cli_findings *f, const char *label, const noise *n, const char *column,
                      double value, const char *expected, cls_error *error) {
    cli_cell cell = {.column = column, .ours = value, .expected = expected};
    snprintf(cell.row, sizeof cell.row, "%s, noise %s", label, n->label);
    return cli_findings_add(f, &cell, error);
}

static cls_status run_problem(cli_findings *f, size_t k, const noise *n, const cls_system *s,
                              cli_progress *p, cls_error *error) {
    cli_score scores[n_ways] = {0};
    uint64_t trials = f->quick ? n_quick : n_trials;
    cls_status status = CLS_OK;
    for (uint64_t i = 0; !status && i < trials; i++) {
        status = run_trial(k, n->sigma, i + 1, s, scores, error);
        cli_progress_update(p, (double)(i + 1), NULL);
    }
    for (int way = 0; !status && way < n_ways; way++)
        status = add(f, problems[k].label, n, ways[way].label,
                     scores[way].value[0] / (double)trials, NULL, error);
    for (int way = 0; !status && way < n_ways - 1; way++)
        status = add(f, problems[k].label, n, way ? "  weak / shooting" : "  (12) / shooting",
                     scores[way].value[0] / scores[n_ways - 1].value[0], way ? NULL : ">=1", error);
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
            cli_progress_begin(&p, problems[k].label, "trials", f->quick ? n_quick : n_trials,
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
        "of 101 noisy positions; residual (12) is the paper's equation.\n",
    .run = run,
};
