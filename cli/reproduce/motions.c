/* Motions for the items of Deep DTLM: made as --sample would draw them, given away as positions,
 * and models judged by them.
 *
 * A run of a model starts from the first two positions of a motion and is compared with it: mean
 * squares of positions and of the true energy of what was predicted, and the variance in time of
 * the model's own energy. */
#include "cli/reproduce/dtlm.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- data ---- */

cls_status cli_motions_make(const cls_system *s, const char *draws, uint64_t seed, size_t n,
                            uint64_t steps, double h, cli_motions *out, cls_error *error) {
    cli_draws d;
    cls_random random;
    cls_simulate_options options = cls_simulate_defaults();
    size_t states = cls_system_state_count(s);
    *out = (cli_motions){.s = s, .n = n, .columns = cls_system_column_count(s), .steps = steps};
    out->rows = calloc(n * (steps + 1) * out->columns, sizeof *out->rows);
    double *starts = calloc(n * states, sizeof *starts);
    cls_status status = cli_draws_parse(draws, NULL, &d, error);
    if (!status && (!out->rows || !starts)) status = cli_no_memory(error);
    options.scheme = "bdf";
    options.h = h;
    options.monitor = 0;
    cls_random_seed(&random, seed);
    for (size_t i = 0; !status && i < n; i++) {
        cli_draws_next(&d, &random);
        cls_assignments given = {d.n_given, d.names, d.given};
        status = cls_system_start(s, &given, starts + i * states, error);
    }
    if (!status) status = cls_ensemble_run(s, &options, n, starts, steps, 1, 0, out->rows, error);
    cli_draws_free(&d);
    free(starts);
    return status;
}

static double at(const cli_motions *m, size_t trajectory, uint64_t row, size_t column) {
    return m->rows[(trajectory * (m->steps + 1) + row) * m->columns + column];
}

/* The positions are the first columns after the time. */
cls_status cli_motions_positions(const cli_motions *m, double sigma, uint64_t seed, cls_table **out,
                                 cls_error *error) {
    const char *names[16] = {"trajectory", "time"};
    size_t n = cls_system_coordinate_count(m->s);
    double row[16];
    cls_random random;
    cls_random_seed(&random, seed);
    for (size_t j = 0; j < n; j++) names[2 + j] = cls_system_state_name(m->s, j);
    cls_status status = cls_table_create(n + 2, names, out, error);
    for (size_t i = 0; !status && i < m->n * (m->steps + 1); i++) {
        row[0] = (double)(i / (m->steps + 1));
        for (size_t j = 0; j <= n; j++)
            row[1 + j] = at(m, i / (m->steps + 1), i % (m->steps + 1), j);
        for (size_t j = 0; j < n && sigma > 0; j++)
            row[2 + j] += sigma * cls_random_normal(&random);
        status = cls_table_append(*out, row, error);
    }
    return status;
}

/* ---- judging a model ---- */

static size_t energy_of(const cls_system *s) {
    return (size_t)cli_column(s, "energy");
}

static double variance_of(size_t n, const double *x) {
    double mean = 0, sum = 0;
    for (size_t i = 0; i < n; i++) mean += x[i] / (double)n;
    for (size_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean) / (double)n;
    return sum;
}

typedef struct judge {
    const cli_motions *truth;
    cls_simulator *sim;
    double *own, *state, *target, *energies;
} judge;

/* One trajectory from its first two positions; what cannot be followed counts as infinite. */
static void follow(const judge *j, const cls_system *model, size_t i, cli_score *sum) {
    const cli_motions *m = j->truth;
    size_t n = cls_system_coordinate_count(m->s), energy = energy_of(m->s);
    size_t own_energy = energy_of(model);
    double position = 0, off = 0, rows_ = (double)(m->steps + 1);
    for (size_t k = 0; k < n; k++) {
        j->state[k] = at(m, i, 0, 1 + k);
        j->target[k] = at(m, i, 1, 1 + k);
    }
    cls_status status = cls_simulator_aim(j->sim, 0, j->target, j->state, NULL);
    for (uint64_t r = 0; !status && r <= m->steps; r++) {
        if (r) status = cls_simulator_advance(j->sim, 1, NULL);
        const double *z = cls_simulator_state(j->sim);
        if (!status) status = cls_simulator_row(j->sim, j->own, NULL);
        if (!status) j->energies[r] = j->own[own_energy];
        if (!status) status = cls_system_row(m->s, 0, z, j->own, NULL); /* the true energy */
        if (status) break;
        double difference = j->own[energy] - at(m, i, r, energy);
        off += difference * difference / rows_;
        for (size_t k = 0; k < n; k++) {
            difference = z[k] - at(m, i, r, 1 + k);
            position += difference * difference / (rows_ * (double)n);
        }
    }
    sum->value[0] += (status ? INFINITY : position) / (double)m->n;
    sum->value[1] += (status ? INFINITY : off) / (double)m->n;
    sum->value[2] += (status ? INFINITY : variance_of(m->steps + 1, j->energies)) / (double)m->n;
}

cls_status cli_motions_judge(const cli_motions *truth, const cls_system *model, const char *scheme,
                             double h, cli_score *out, cls_error *error) {
    cls_simulate_options options = cls_simulate_defaults();
    judge j = {.truth = truth};
    size_t columns = cls_system_column_count(model) + truth->columns;
    size_t states = cls_system_state_count(model);
    options.scheme = scheme;
    options.h = h;
    options.monitor = 0;
    options.accuracy = 1e-8;
    cls_status status = cls_simulator_create(model, &options, &j.sim, error);
    j.own = calloc(columns + 2 * states + truth->steps + 1, sizeof *j.own);
    if (!status && !j.own) status = cli_no_memory(error);
    if (!status) {
        j.state = j.own + columns;
        j.target = j.state + states;
        j.energies = j.target + states;
        for (size_t i = 0; i < truth->n && !cli_interrupted(); i++) follow(&j, model, i, out);
    }
    if (!status && cli_interrupted()) status = cli_fail(error, CLS_INTERRUPTED, "interrupted");
    cls_simulator_free(&j.sim);
    free(j.own);
    return status;
}

/* ---- one motion to draw ---- */

static cls_status curve_columns(const cli_motions *m, cls_table **out, cls_error *error) {
    const char *names[16] = {"time"};
    size_t n = cls_system_coordinate_count(m->s);
    for (size_t k = 0; k < n; k++) names[1 + k] = cls_system_state_name(m->s, k);
    names[n + 1] = "energy";
    names[n + 2] = "modelled energy - first";
    return cls_table_create(n + 3, names, out, error);
}

cls_status cli_motions_truth(const cli_motions *truth, cls_table **out, cls_error *error) {
    size_t n = cls_system_coordinate_count(truth->s), energy = energy_of(truth->s);
    cls_status status = curve_columns(truth, out, error);
    for (uint64_t r = 0; !status && r <= truth->steps; r++) {
        double row[16];
        for (size_t k = 0; k <= n; k++) row[k] = at(truth, 0, r, k);
        row[n + 1] = at(truth, 0, r, energy);
        row[n + 2] = row[n + 1] - at(truth, 0, 0, energy);
        status = cls_table_append(*out, row, error);
    }
    return status;
}

/* As far as the model goes: one that runs away ends before. */
cls_status cli_motions_curve(const cli_motions *truth, const cls_system *model, const char *scheme,
                             double h, cls_table **out, cls_error *error) {
    size_t n = cls_system_coordinate_count(truth->s), energy = energy_of(truth->s);
    size_t own_energy = energy_of(model);
    double row[16], *own = calloc(cls_system_column_count(model) + truth->columns, sizeof *own);
    double state[16], target[16], origin = 0;
    cls_simulate_options options = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    options.scheme = scheme;
    options.h = h;
    options.monitor = 0;
    options.accuracy = 1e-8;
    cls_status status = own ? curve_columns(truth, out, error) : cli_no_memory(error);
    if (!status) status = cls_simulator_create(model, &options, &sim, error);
    for (size_t k = 0; k < n; k++) {
        state[k] = at(truth, 0, 0, 1 + k);
        target[k] = at(truth, 0, 1, 1 + k);
    }
    int goes = !status && !cls_simulator_aim(sim, 0, target, state, NULL);
    for (uint64_t r = 0; goes && !status && r <= truth->steps; r++) {
        if (r && cls_simulator_advance(sim, 1, NULL)) break;
        const double *z = cls_simulator_state(sim);
        if (cls_simulator_row(sim, own, NULL)) break;
        if (!r) origin = own[own_energy];
        row[n + 2] = own[own_energy] - origin; /* a learned V has an origin of its own */
        if (cls_system_row(truth->s, 0, z, own, NULL)) break;
        row[0] = (double)r * h;
        memcpy(row + 1, z, n * sizeof *z);
        row[n + 1] = own[energy];
        status = cls_table_append(*out, row, error);
    }
    cls_simulator_free(&sim);
    free(own);
    return status;
}

/* ---- leapfrog and its last half kick ---- */

/* What the kinetic energy would be more with p1 = v + (h/2) f0 in place of v + (h/2) f1, where
 * v = (q1 - q0)/h and p0 = v - (h/2) f0. */
static double old_kick(size_t n, double h, const double *z0, const double *z1) {
    double more = 0;
    for (size_t k = 0; k < n; k++) {
        double v = (z1[k] - z0[k]) / h, p = 2 * v - z0[n + k];
        more += (p * p - z1[n + k] * z1[n + k]) / 2;
    }
    return more;
}

cls_status cli_motions_kicks(const cli_motions *truth, double h, double *right, double *old,
                             cls_error *error) {
    size_t n = cls_system_coordinate_count(truth->s), rows = truth->steps + 1;
    size_t energy = energy_of(truth->s);
    cls_simulate_options options = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    options.scheme = "leapfrog";
    options.h = h;
    options.monitor = 0;
    cls_status status = cls_simulator_create(truth->s, &options, &sim, error);
    double *a = calloc(2 * rows + truth->columns + 4 * n, sizeof *a);
    if (!status && !a) status = cli_no_memory(error);
    for (size_t i = 0; !status && i < truth->n; i++) {
        double *b = a + rows, *row = b + rows, *state = row + truth->columns,
               *before = state + 2 * n;
        for (size_t k = 0; k < n; k++) {
            state[k] = at(truth, i, 0, 1 + k);
            before[k] = at(truth, i, 1, 1 + k);
        }
        status = cls_simulator_aim(sim, 0, before, state, error);
        for (size_t r = 0; !status && r < rows; r++) {
            memcpy(before, cls_simulator_state(sim), 2 * n * sizeof *before);
            if (r) status = cls_simulator_advance(sim, 1, error);
            if (!status) status = cls_simulator_row(sim, row, error);
            a[r] = row[energy];
            b[r] = a[r] + (r ? old_kick(n, h, before, cls_simulator_state(sim)) : 0);
        }
        *right += variance_of(rows, a) / (double)truth->n;
        *old += variance_of(rows, b) / (double)truth->n;
    }
    cls_simulator_free(&sim);
    free(a);
    return status;
}
