/* spnn-pendulum: the thermoelastic double pendulum of Structure-Preserving Neural Networks (Hernandez,
 * Badias, Gonzalez, Chinesta, Cueto 2021), from the data that the authors published.
 *
 * 50 motions of 200 rows, 0.3 apart: steps of another's energy-entropy-momentum scheme, whose
 * Newton iterations were stopped early (energies drift by 1e-5 to 1e-4), with a conduction so strong
 * that the entropies zigzag. No temperature is in them. Motions 0 to 39 are learned from, 40 to
 * 49 followed for 199 steps from their first row. The data are not part of the project: they are
 * read from $CLAUSIUS_DATA/spnn/database_double_pendulum.mat. */
#include "cli/reproduce/reproduce.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { n_motions = 50, n_training = 40, n_rows = 200, n_states = 10, n_quick = 16, far = 100 };

static const double h = 0.3;

#define HEAD                                                                                       \
    "system \"thermoelastic double pendulum\"\n"                                                   \
    "coordinate q1x, q1y, q2x, q2y\n"                                                              \
    "entropy s_a, s_b\n"                                                                           \
    "let lambda_a = sqrt(q1x^2 + q1y^2)\n"                                                         \
    "let lambda_b = sqrt((q2x - q1x)^2 + (q2y - q1y)^2)\n"
#define TAIL                                                                                       \
    "start q1x = 2, q1y = 0, q2x = 2, q2y = 1, p.q1x = 0, p.q1y = 0, p.q2x = 0, p.q2y = 0,\n"      \
    "      s_a = 0, s_b = 0\n"                                                                     \
    "step 0.3\nuntil 60\n"

typedef struct way {
    const char *row, *text, *given;
    int judged;
} way;

static const way ways[] = {
    {"U_a, U_b, kappa",
     HEAD "part U_a = unknown chebyshev(3) of lambda_a, s_a\n"
          "part U_b = unknown chebyshev(3) of lambda_b, s_b\n"
          "hamiltonian (p.q1x^2 + p.q1y^2)/2 + (p.q2x^2 + p.q2y^2)/4 + U_a + U_b\n"
          "heat exchange M theta_a <-> theta_b: unknown terms(1)\n" TAIL,
     "given: masses, lengths, which spring has which entropy", 1},
    {"H(q, p, s), kappa",
     HEAD "hamiltonian H = unknown monomial(2)\n"
          "heat exchange M theta_a <-> theta_b: unknown terms(1)\n" TAIL,
     "given: brackets, heat between two temperatures; as SPNN", 0},
};

static const char *const columns[] = {"trajectory", "q1x",   "q1y",   "q2x", "q2y", "p.q1x",
                                      "p.q1y",      "p.q2x", "p.q2y", "s_a", "s_b"};

/* ---- data ---- */

static cls_status read_data(double **out, cls_error *error) {
    const char *folder = getenv("CLAUSIUS_DATA");
    cls_read_options o = cls_read_defaults();
    cls_table *t = NULL;
    char path[4096];
    if (!folder)
        return cli_fail(error, CLS_IO,
                        "the data of SPNN are not part of clausius: set CLAUSIUS_DATA to a folder "
                        "with spnn/database_double_pendulum.mat (github.com/quercushernandez/"
                        "StructurePreservingNN, data/)");
    snprintf(path, sizeof path, "%s/spnn/database_double_pendulum.mat", folder);
    o.array = "Z(trajectory, column, time)";
    o.columns = "trajectory, q1x, q1y, q2x, q2y, p.q1x, p.q1y, p.q2x, p.q2y, s_a, s_b";
    o.dt = h;
    cls_status status = cls_table_read_with(path, &o, &t, error);
    double *rows = *out = calloc((size_t)n_motions * n_rows * n_states, sizeof *rows);
    if (!status && !rows) status = cli_no_memory(error);
    if (!status && cls_table_rows(t) != (size_t)n_motions * n_rows)
        status = cli_fail(error, CLS_DATA, "%s: expected 50 motions of 200 rows", path);
    for (size_t k = 0; !status && k < n_states; k++) {
        const double *column = cli_series(t, columns[1 + k]);
        const double *trajectory = cli_series(t, "trajectory"), *time = cli_series(t, "time");
        for (size_t i = 0; column && i < (size_t)n_motions * n_rows; i++) {
            size_t motion = (size_t)trajectory[i], row = (size_t)(time[i] / h + 0.5);
            if (motion < n_motions && row < n_rows)
                rows[(motion * n_rows + row) * n_states + k] = column[i];
        }
    }
    cls_table_free(&t);
    return status;
}

static cls_status as_table(const double *rows, size_t n, cls_table **out, cls_error *error) {
    const char *names[12] = {"time"};
    double row[12];
    memcpy(names + 1, columns, sizeof columns);
    cls_status status = cls_table_create(12, names, out, error);
    for (size_t i = 0; !status && i < n * n_rows; i++) {
        row[0] = h * (double)(i % n_rows);
        row[1] = (double)(i / n_rows);
        memcpy(row + 2, rows + i * n_states, n_states * sizeof *row);
        status = cls_table_append(*out, row, error);
    }
    return status;
}

/* ---- scores ---- */

typedef struct score {
    double q, p, s, steps;
    uint64_t falls;
} score;

/* Runs from the first rows of the last ten motions, 199 steps. A run that ends early counts as
 * infinite. */
static cls_status follow(const cls_system *model, const double *rows, score *out,
                         cls_error *error) {
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    double sum[3] = {0};
    size_t tests = n_motions - n_training;
    o.h = h;
    o.scheme = "eem";
    *out = (score){0};
    cls_status status = cls_simulator_create(model, &o, &sim, error);
    for (size_t i = n_training; !status && i < n_motions; i++) {
        const double *data = rows + i * n_rows * n_states;
        cls_status failed = cls_simulator_start(sim, 0, data, NULL);
        for (size_t r = 1; r < n_rows; r++) {
            if (!failed) failed = cls_simulator_advance(sim, 1, NULL);
            out->steps += !failed;
            const double *z = cls_simulator_state(sim);
            for (size_t k = 0; k < n_states; k++) {
                double d = failed ? INFINITY : z[k] - data[r * n_states + k];
                sum[k < 4 ? 0 : k < 8 ? 1 : 2] += d * d;
            }
        }
        out->falls += failed ? 0 : cls_simulator_info(sim).entropy_falls;
    }
    out->q = sum[0] / (double)(tests * (n_rows - 1) * 4);
    out->p = sum[1] / (double)(tests * (n_rows - 1) * 4);
    out->s = sum[2] / (double)(tests * (n_rows - 1) * 2);
    cls_simulator_free(&sim);
    return status;
}

static cls_status run_far(const cls_system *model, const double *rows, cls_simulate_info *info,
                          double *steps, cls_error *error) {
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    o.h = h;
    o.scheme = "eem";
    *steps = 0;
    cls_status status = cls_simulator_create(model, &o, &sim, error);
    if (!status)
        status = cls_simulator_start(sim, 0, rows + (size_t)n_training * n_rows * n_states, error);
    for (int i = 0; !status && i < far; i++) {
        if (cls_simulator_advance(sim, n_rows - 1, NULL)) break;
        *steps += n_rows - 1;
    }
    if (!status) *info = cls_simulator_info(sim);
    cls_simulator_free(&sim);
    return status;
}

/* ---- the table ---- */

static cls_status add_scores(cli_findings *f, const way *w, const cls_system *model,
                             const double *rows, cls_error *error) {
    score found;
    cls_simulate_info info = {0};
    double steps = 0;
    int judged = w->judged && !f->quick;
    cls_status status = follow(model, rows, &found, error);
    if (!status) status = run_far(model, rows, &info, &steps, error);
    if (!status) {
        cli_add_number(f, w->row, "MSE q", "3.7e-2", judged ? "<=1e-6" : NULL, found.q, w->given);
        cli_add_number(f, w->row, "MSE p", "1e-3", judged ? "<=1e-7" : NULL, found.p, NULL);
        cli_add_number(f, w->row, "MSE s", "3.2e-5", judged ? "<=3e-8" : NULL, found.s, NULL);
        cli_add_number(f, w->row, "entropy falls", "871", judged ? "0" : NULL, (double)found.falls,
                       "of 1,990 steps");
        cli_add_number(f, w->row, "steps, 100 x", NULL, judged ? "19900" : NULL, steps,
                       "theirs is NaN at ten times the horizon");
        cli_add_number(f, w->row, "energy drift, 100 x", NULL, judged ? "<=1e-11" : NULL,
                       info.energy_relative, NULL);
        cli_add_number(f, w->row, "entropy falls, 100 x", NULL, judged ? "0" : NULL,
                       (double)info.entropy_falls, NULL);
    }
    return status;
}

static cls_status run_way(cli_findings *f, const way *w, const double *rows, const cls_table *data,
                          cls_error *error) {
    cls_model *model = NULL;
    cls_learn_info info;
    cls_status status = cli_learn_text(f, w->text, "double pendulum", data,
                                       "database_double_pendulum.mat", &model, &info, error);
    if (!status) status = add_scores(f, w, cls_model_system(model), rows, error);
    if (!status) {
        cli_add_number(f, w->row, "theta, mean", NULL, NULL, info.temperature,
                       "by their formulas 292.5");
        cli_add_number(f, w->row, "  its error", NULL, NULL, info.temperature_error,
                       "as the rows say: a common T0 is seen through dS alone");
        cli_add_number(f, w->row, "seconds to learn", NULL, NULL, info.seconds, NULL);
    }
    cls_model_free(&model);
    return status;
}

static cls_status run(cli_findings *f, cls_error *error) {
    double *rows = NULL;
    cls_table *data = NULL;
    cls_status status = read_data(&rows, error);
    if (!status) status = as_table(rows, f->quick ? n_quick : n_training, &data, error);
    for (size_t k = 0; !status && k < sizeof ways / sizeof *ways; k++)
        if (!(f->quick && k)) status = run_way(f, &ways[k], rows, data, error);
    cls_table_free(&data);
    free(rows);
    return status;
}

const cli_item cli_spnn_pendulum = {
    .name = "spnn-pendulum",
    .doc = "thermoelastic double pendulum of SPNN, from the authors' data (CLAUSIUS_DATA)",
    .text =
        "Structure-Preserving Neural Networks (Hernandez et al. 2021): 50 motions of 200 rows, "
        "0.3\n"
        "apart, read from $CLAUSIUS_DATA/spnn; 40 to learn from, runs of 199 steps from the first\n"
        "row of the other ten, by eem (--quick: 16 motions, the first model only). Mean squares "
        "over the\n"
        "components of q, p and s. The paper's figures are the best that the authors' code gave\n"
        "(q 3.7e-2 to 8.2e-2, p 1e-3 to 4e-3); its network makes the entropy fall in 871 of the\n"
        "1,990 steps, and is not a number at ten times the horizon. No temperature is in the "
        "data.\n"
        "The first model is given the masses, the lengths of the springs and which entropy "
        "belongs\n"
        "to which; the second as little as SPNN: a bracket, an energy of the whole state, heat\n"
        "between two temperatures.\n",
    .run = run,
};
