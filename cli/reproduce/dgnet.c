/* Noise as in Deep Energy-based Modeling of Discrete-Time Physics (DGNet) and Hamiltonian Neural
 * Networks: H(q, p) from 25 noisy motions, by the default command.
 *
 * 100 rows over t = 0 .. 20, normal noise of 0.1 on q and p, 25 motions to learn from, 15 seeds. 15
 * motions to test begin with |q| and |p| between 0.2 and 1, in both systems: as their program does. Their "energy" is q^2 + p^2 for both systems: the mean square of its error along
 * motions that are predicted from their true starts. The true energy stands beside it. */
#include "cli/reproduce/dtlm.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { n_motions = 25, n_tests = 15, n_steps = 99, n_seeds = 15, n_quick = 2, n_parts = 10 };

static const double sigma = 0.1;

static const struct {
    const char *name, *truth, *form, *draws;
    const char *paper, *goal; /* of q^2 + p^2 */
} problems[] = {
    {"spring", "hamiltonian H = p.q^2 + q^2",
     "parameter a = unknown near 1, b = unknown near 1\nhamiltonian H = a*p.q^2 + b*q^2",
     "let r~U(0.1,1), let a~U(0,2*pi), q = r*cos(a), p.q = r*sin(a)", "6.2e-4", "<=1e-4"},
    {"pendulum", "hamiltonian H = p.q^2 + 3*(1 - cos(q))",
     "parameter a = unknown near 1, b = unknown near 3\nhamiltonian H = a*p.q^2 + b*(1 - cos(q))",
     "let r~U(1.3,2.3), let a~U(0,2*pi), q = r*cos(a), p.q = r*sin(a)", "1.08e-2", "<=3e-4"},
};
enum { n_problems = sizeof problems / sizeof *problems };

static const char test_draws[] = "let a~U(-0.8,0.8), let b~U(-0.8,0.8), q = a + 0.2*a/sqrt(a^2), "
                                 "p.q = b + 0.2*b/sqrt(b^2)";

/* What is given of H. */
static const struct {
    const char *label, *unknown;
    int judged;
} ways[] = {{"", "hamiltonian H = unknown", 1},
            {", not even in p", "hamiltonian H = unknown of q, p.q", 0},
            {", two constants", NULL, 0}}; /* the form is given: what can be reached */
enum { n_ways = sizeof ways / sizeof *ways };

static cls_status make_system(const char *formula, const char *name, cls_system **out,
                              cls_error *error) {
    char text[256];
    snprintf(text, sizeof text,
             "system \"%s\"\ncoordinate q\n%s\nstart q = 1, p.q = 0\nstep 0.2\nuntil 20\n", name,
             formula);
    return cls_system_parse(text, name, NULL, out, error);
}

/* time, trajectory, q and p with noise. */
static cls_status make_data(const cli_motions *m, uint64_t seed, cls_table **out,
                            cls_error *error) {
    static const char *const names[] = {"time", "trajectory", "q", "p.q"};
    cls_random random;
    cls_random_seed(&random, seed);
    cls_status status = cls_table_create(4, names, out, error);
    for (size_t i = 0; !status && i < m->n * (m->steps + 1); i++) {
        const double *from = m->rows + i * m->columns;
        double row[4] = {from[0], (double)(i / (m->steps + 1)),
                         from[1] + sigma * cls_random_normal(&random), 0};
        row[3] = from[2] + sigma * cls_random_normal(&random);
        status = cls_table_append(*out, row, error);
    }
    return status;
}

typedef struct score {
    double theirs, energy; /* mean squares of q^2 + p^2 and of the true energy */
    size_t failures;       /* motions that cannot be run to their end */
} score;

static double energy_of(size_t k, double q, double p) {
    return k ? p * p + 3 * (1 - cos(q)) : p * p + q * q;
}

static cls_status judge(const cli_motions *test, size_t k, const cls_system *model, score *out,
                        cls_error *error) {
    cls_simulate_options options = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    options.scheme = "discrete-gradient-4";
    options.h = 20.0 / n_steps / n_parts;
    options.monitor = 0;
    cls_status status = cls_simulator_create(model, &options, &sim, error);
    for (size_t i = 0; !status && i < test->n; i++) {
        double sum = 0, own = 0;
        const double *row = test->rows + i * (test->steps + 1) * test->columns;
        double start[2] = {row[1], row[2]};
        int fails = cls_simulator_start(sim, 0, start, NULL) != CLS_OK;
        for (size_t r = 0; !fails && r <= test->steps; r++, row += test->columns) {
            if (r) fails = cls_simulator_advance(sim, n_parts, NULL) != CLS_OK;
            const double *z = cls_simulator_state(sim);
            double a = z[0] * z[0] + z[1] * z[1] - row[1] * row[1] - row[2] * row[2];
            double b = energy_of(k, z[0], z[1]) - energy_of(k, row[1], row[2]);
            sum += a * a / (n_steps + 1);
            own += b * b / (n_steps + 1);
        }
        out->failures += (size_t)(fails || !isfinite(sum));
        out->theirs += (fails ? INFINITY : sum) / (double)test->n;
        out->energy += (fails ? INFINITY : own) / (double)test->n;
        if (cli_interrupted()) status = cli_fail(error, CLS_INTERRUPTED, "interrupted");
    }
    cls_simulator_free(&sim);
    return status;
}

/* The default command on the data of a seed. */
static cls_status run_seed(const cli_findings *f, size_t k, const cls_system *truth,
                           const cls_system *unknown, uint64_t seed, score *out, size_t *terms,
                           cls_error *error) {
    cli_motions training = {0}, test = {0};
    cls_table *data = NULL;
    cls_model *model = NULL;
    cls_learn_info info = {0};
    double h = 20.0 / n_steps;
    cls_status status = cli_motions_make(truth, problems[k].draws, 2 * seed, n_motions, n_steps, h,
                                         &training, error);
    if (!status) status = make_data(&training, seed, &data, error);
    if (!status)
        status =
            cli_motions_make(truth, test_draws, 2 * seed + 1, n_tests, n_steps, h, &test, error);
    cli_findings silent = *f;
    silent.quiet = 1;
    if (!status)
        status = cli_learning(&silent, unknown, data, problems[k].name, cls_learn_defaults(),
                              &model, &info, error);
    if (!status) status = judge(&test, k, cls_model_system(model), out, error);
    *terms = info.parameters;
    cls_learn_report_free(&info.report);
    cls_model_free(&model);
    cls_table_free(&data);
    free(training.rows);
    free(test.rows);
    return status;
}

static cls_status run_way(cli_findings *f, size_t k, size_t way, cls_error *error) {
    cls_system *truth = NULL, *unknown = NULL;
    size_t seeds = f->quick ? n_quick : n_seeds, failures = 0, fewest = SIZE_MAX, most = 0;
    double mean = 0, worst = 0, energy = 0;
    cli_progress p = {0};
    char row[64];
    snprintf(row, sizeof row, "%s%s", problems[k].name, ways[way].label);
    cli_progress_begin(&p, row, "seeds", (double)seeds, f->quiet);
    cls_status status = make_system(problems[k].truth, problems[k].name, &truth, error);
    const char *told = ways[way].unknown ? ways[way].unknown : problems[k].form;
    if (!status) status = make_system(told, problems[k].name, &unknown, error);
    for (uint64_t seed = 1; !status && seed <= seeds; seed++) {
        score s = {0};
        size_t terms = 0;
        status = run_seed(f, k, truth, unknown, seed, &s, &terms, error);
        mean += s.theirs / (double)seeds;
        energy += s.energy / (double)seeds;
        worst = fmax(worst, s.theirs);
        failures += s.failures;
        fewest = terms < fewest ? terms : fewest;
        most = terms > most ? terms : most;
        cli_progress_update(&p, (double)seed, NULL);
    }
    cli_progress_end(&p);
    cls_system_free(&truth);
    cls_system_free(&unknown);
    const char *goal = ways[way].judged ? problems[k].goal : NULL;
    if (!status) {
        cli_add_number(f, row, "MSE of q^2 + p^2", problems[k].paper, goal, mean, NULL);
        cli_add_number(f, row, "  worst seed", NULL, NULL, worst, NULL);
        cli_add_number(f, row, "MSE of the energy", NULL, NULL, energy, NULL);
        cli_add_number(f, row, "motions that fail", NULL, ways[way].judged ? "<=0" : NULL,
                       (double)failures, NULL);
        cli_add_number(f, row, "fewest terms", NULL, NULL, (double)fewest, NULL);
        cli_add_number(f, row, "most terms", NULL, NULL, (double)most, NULL);
    }
    return status;
}

static cls_status run(cli_findings *f, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t k = 0; !status && k < n_problems; k++)
        for (size_t way = 0; !status && way < n_ways; way++)
            if (!f->only || strcmp(f->only, problems[k].name) == 0)
                status = run_way(f, k, way, error);
    return status;
}

const cli_item cli_dgnet_noise = {
    .name = "dgnet-noise",
    .doc = "the energy H(q, p) of spring and pendulum from noisy motions",
    .text = "25 motions of 100 rows over t = 0 .. 20 to learn from, normal noise of 0.1 on q and "
            "p; 15 to\n"
            "test, which begin with |q| and |p| between 0.2 and 1; mean over 15 seeds (--quick: "
            "2). The\n"
            "error is theirs: the mean square of q^2 + p^2 predicted minus true, from true starts, "
            "for both\n"
            "systems; DGNet's figures stand beside it. Given to both: q' = H_p, p' = -H_q. Ours "
            "also takes H\n"
            "for even in p, the default of the program; the rows `not even in p` do not. Nothing "
            "is said\n"
            "about the form of H, terms are chosen by the data. In the rows `two constants` the "
            "form is\n"
            "given, H = a p^2 + b q^2 and a p^2 + b (1 - cos q): what the data allow.\n",
    .run = run,
};
