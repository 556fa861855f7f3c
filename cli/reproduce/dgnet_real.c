/* dgnet-real: the real pendulum of Schmidt and Lipson (Science 2009) in the protocol of Deep
 * Energy-based Modeling of Discrete-Time Physics (DGNet) and Hamiltonian Neural Networks.
 *
 * 556 rows of an angle q and a speed p, 1/6 s apart with gaps. Rows 0 to 443 are learned from; a run
 * from row 444 to row 553 is compared with the rows there by their energy, 2.4 (1 - cos q) + p^2. The
 * differences are those of one step of 1/6 s from each of these rows against the next row, over the
 * time to it: theirs take the step for 1/6 s where it is longer, and so do these.
 *
 * The data are not part of the project: they are read from
 * $CLAUSIUS_DATA/schmidt-lipson/real_pend_h_1.txt. */
#include "cli/reproduce/reproduce.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { n_training = 444, n_test = 110, n_rows = 556, n_parts = 10 };

static const double dt = 1.0 / 6;

#define HEAD "system \"a real pendulum\"\ncoordinate q\nreservoir room = 300\n"
#define TAIL "start q = 1, p.q = 0\nstep 0.1\nuntil 10\n"

static const struct {
    const char *row, *text, *given;
} ways[] = {
    {"H(q, p), one friction",
     HEAD "parameter g = unknown near 0.1 in (0, inf)\n"
          "hamiltonian H = unknown of q, p.q\n"
          "friction on room: q <- -g*v.q\n" TAIL,
     "given: q' = H_p, p' = -H_q - g H_p; as DGNet"},
    {"a pendulum's form",
     HEAD "parameter a = unknown near 1 in (0, inf), k = unknown near 2.4 in (0, inf)\n"
          "parameter offset = unknown near 0, c = unknown near 0.01 in (0, inf)\n"
          "parameter d = unknown near 0.01 in (0, inf), mu = unknown near 0.01 in (0, inf)\n"
          "hamiltonian H = a*p.q^2 + k*(1 - cos(q - offset))\n"
          "friction on room: q <- -c*v.q - d*softabs(v.q, 0.02)*v.q - mu*tanh(v.q/0.02)\n" TAIL,
     "given: the form, six constants are learned"},
};
enum { n_ways = sizeof ways / sizeof *ways, MOST = 8 }; /* MOST: states, with accounts of heat */

static cls_status read_data(cls_table **out, cls_error *error) {
    const char *folder = getenv("CLAUSIUS_DATA");
    cls_read_options o = cls_read_defaults();
    char path[4096];
    if (!folder)
        return cli_fail(error, CLS_IO,
                        "the recordings of Schmidt and Lipson are not part of clausius: set "
                        "CLAUSIUS_DATA to a folder with schmidt-lipson/real_pend_h_1.txt (the "
                        "supplement of doi.org/10.1126/science.1165893)");
    snprintf(path, sizeof path, "%s/schmidt-lipson/real_pend_h_1.txt", folder);
    o.columns = "trial, time, q, p.q";
    cls_status status = cls_table_read_with(path, &o, out, error);
    if (!status && cls_table_rows(*out) != n_rows)
        status = cli_fail(error, CLS_DATA, "%s: expected 556 rows, found %zu", path,
                          cls_table_rows(*out));
    return status;
}

static double energy_of(double q, double p) {
    return 2.4 * (1 - cos(q)) + p * p;
}

typedef struct score {
    double energy, difference;
} score;

/* The run from the first test row, and steps from each of them; infinite where one fails. */
static cls_status judge(const cls_table *data, const cls_system *model, score *out,
                        cls_error *error) {
    const double *t = cli_series(data, "time"), *q = cli_series(data, "q");
    const double *p = cli_series(data, "p.q");
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    o.scheme = "discrete-gradient-4";
    o.h = dt / n_parts;
    o.monitor = 0;
    *out = (score){0};
    cls_status status = cls_simulator_create(model, &o, &sim, error);
    double start[MOST] = {q[n_training], p[n_training]};
    if (!status) status = cls_simulator_start(sim, 0, start, error);
    for (size_t i = n_training; !status && i < n_training + n_test; i++) {
        if (i > n_training) {
            uint64_t steps = (uint64_t)floor((t[i] - t[i - 1]) / o.h + 0.5);
            status = cls_simulator_advance(sim, steps, error);
        }
        const double *z = cls_simulator_state(sim);
        double off = energy_of(z[0], z[1]) - energy_of(q[i], p[i]);
        out->energy += off * off / n_test;
    }
    for (size_t i = n_training; !status && i < n_training + n_test; i++) {
        double from[MOST] = {q[i], p[i]}, to[] = {q[i + 1], p[i + 1]}, gap = t[i + 1] - t[i];
        status = cls_simulator_start(sim, 0, from, error);
        if (!status) status = cls_simulator_advance(sim, n_parts, error);
        for (size_t k = 0; !status && k < 2; k++) {
            double slope = (cls_simulator_state(sim)[k] - from[k]) / dt;
            double off = slope - (to[k] - from[k]) / gap;
            out->difference += off * off / (2 * n_test);
        }
    }
    cls_simulator_free(&sim);
    return status;
}

static cls_status run_way(cli_findings *f, size_t k, const cls_table *data, cls_table *training,
                          cls_error *error) {
    cls_model *model = NULL;
    cls_learn_info info = {0};
    score found = {0};
    cls_status status = cli_learn_text(f, ways[k].text, "pendulum", training, "real_pend_h_1.txt",
                                       &model, &info, error);
    if (!status) status = judge(data, cls_model_system(model), &found, error);
    if (!status) {
        cli_add_number(f, ways[k].row, "energy", "4.92e-4", "<=4.92e-4", found.energy,
                       ways[k].given);
        cli_add_number(f, ways[k].row, "difference", "1.37e-3", "<=1.37e-3", found.difference,
                       "theirs: NODE; DGNet 1.38e-3");
        cli_add_number(f, ways[k].row, "parameters", NULL, NULL, (double)info.parameters, NULL);
    }
    cls_learn_report_free(&info.report);
    cls_model_free(&model);
    return status;
}

static cls_status run(cli_findings *f, cls_error *error) {
    static const char *const names[] = {"time", "q", "p.q"};
    cls_table *data = NULL, *training = NULL;
    cls_status status = read_data(&data, error);
    if (!status) status = cls_table_create(3, names, &training, error);
    for (size_t i = 0; !status && i < n_training; i++) {
        double row[3];
        for (size_t k = 0; k < 3; k++) row[k] = cli_series(data, names[k])[i];
        status = cls_table_append(training, row, error);
    }
    for (size_t k = f->quick ? 1 : 0; !status && k < n_ways; k++)
        status = run_way(f, k, data, training, error);
    cls_table_free(&training);
    cls_table_free(&data);
    return status;
}

const cli_item cli_dgnet_real = {
    .name = "dgnet-real",
    .doc = "the real pendulum in DGNet's protocol (CLAUSIUS_DATA)",
    .text = "A recording of Schmidt and Lipson (Science 2009), read from "
            "$CLAUSIUS_DATA/schmidt-lipson:\n"
            "rows 0 to 443 to learn from, a run from row 444 to row 553. `energy`: mean square of "
            "the\n"
            "difference in 2.4 (1 - cos q) + p^2 between run and rows. `difference`: of one step "
            "of 1/6 s\n"
            "from each row against the next row, over the time to it. The published figures are "
            "the best\n"
            "of their table (energy: DGNet; difference: NODE). The first model is given what DGNet "
            "is, and is\n"
            "learned by the default command, at the true times; the second is given a pendulum "
            "(--quick:\n"
            "only this).\n",
    .run = run,
};
