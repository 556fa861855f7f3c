/* gfinn-gas: two gas containers with a wall that moves and lets heat through, from the data of
 * GFINN (Zhang, Shin, Karniadakis 2022, section 4.1; their code zzhang222/gfinn_gc).
 *
 *     E = p^2/2 + U1(q, S1) + U2(2 - q, S2),  U = (exp(S)/V)^(2/3),  kappa = 10/(T1 T2)
 *
 * Their data are steps of 0.02 of a Runge-Kutta method of order 3 (rk3 here), whose energy drifts;
 * the exact flow is another motion. So a model is judged twice: by the same method against such
 * data, and by its exact flow against the true exact flow. The paper shows curves and no table. */
#include "cli/reproduce/reproduce.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { n_motions = 80, n_test = 20, n_steps = 400, quick_motions = 30, quick_steps = 100 };
enum { n_states = 4, hidden_motions = 10, far = 100 }; /* the laws at so many times the horizon */

static const double h = 0.02;

#define HEAD                                                                                       \
    "system \"two gas containers\"\n"                                                              \
    "coordinate q in (0, 2)\n"                                                                     \
    "entropy S1, S2\n"                                                                             \
    "let V1 = q\n"                                                                                 \
    "let V2 = 2 - q\n"
#define TAIL "start q = 1.3, p.q = 0, S1 = 2, S2 = 2\nstep 0.02\nuntil 8\n"

static const char truth[] = HEAD "hamiltonian p.q^2/2 + (exp(S1)/V1)^(2/3) + (exp(S2)/V2)^(2/3)\n"
                                 "heat exchange T1 <-> T2: 10/(T1*T2)\n" TAIL;

/* What is left to learn, from much structure to little. */
static const struct {
    const char *row, *text, *given, *data, *flow;
} ways[] = {
    {"U1, U2, kappa",
     HEAD "part U1 = unknown of V1, S1\n"
          "part U2 = unknown of V2, S2\n"
          "hamiltonian p.q^2/2 + U1 + U2\n"
          "heat exchange wall T1 <-> T2: unknown chebyshev(2) of T1, T2\n" TAIL,
     "given: p^2/2, volumes, which heats which", "<=1e-5", "<=1e-5"},
    {"H(q, p, S1, S2), kappa",
     HEAD "hamiltonian H = unknown chebyshev(4)\n"
          "heat exchange wall T1 <-> T2: unknown chebyshev(2)\n" TAIL,
     "given: brackets, M dE = 0; as GFINN", NULL, NULL},
};

/* ---- data ---- */

typedef struct motions {
    size_t n, steps, columns;
    double *starts, *rows; /* (n, states), (n, steps + 1, columns) */
} motions;

/* q, p, S1, S2 uniform in their box. */
static double *draw(size_t n, uint64_t seed) {
    static const double middle[n_states] = {1, 0, 2, 2}, half[n_states] = {0.8, 1, 1, 1};
    double *starts = calloc(n * n_states, sizeof *starts);
    cls_random random;
    cls_random_seed(&random, seed);
    for (size_t i = 0; starts && i < n * n_states; i++) {
        size_t k = i % n_states;
        starts[i] = middle[k] + half[k] * (2 * cls_random_uniform(&random) - 1);
    }
    return starts;
}

static cls_status move(const cls_system *s, const char *scheme, const motions *like, double **rows,
                       cls_error *error) {
    cls_simulate_options o = cls_simulate_defaults();
    o.scheme = scheme;
    o.h = h;
    o.monitor = 0;
    *rows = calloc(like->n * (like->steps + 1) * cls_system_column_count(s), sizeof **rows);
    if (!*rows) return cli_no_memory(error);
    return cls_ensemble_run(s, &o, like->n, like->starts, like->steps, 1, 0, *rows, error);
}

static cls_status make(const cls_system *s, size_t n, size_t steps, uint64_t seed, motions *out,
                       cls_error *error) {
    *out = (motions){n, steps, cls_system_column_count(s), draw(n, seed), NULL};
    return out->starts ? move(s, "rk3", out, &out->rows, error) : cli_no_memory(error);
}

static void clear(motions *m) {
    free(m->starts);
    free(m->rows);
}

/* The first `states` of q, p, S1, S2 of the first n motions. */
static cls_status as_table(const cls_system *s, const motions *m, size_t n, size_t states,
                           cls_table **out, cls_error *error) {
    const char *names[2 + n_states] = {"trajectory", "time"};
    double row[2 + n_states];
    for (size_t k = 0; k < states; k++) names[2 + k] = cls_system_state_name(s, k);
    cls_status status = cls_table_create(2 + states, names, out, error);
    for (size_t i = 0; !status && i < n * (m->steps + 1); i++) {
        row[0] = (double)(i / (m->steps + 1));
        row[1] = h * (double)(i % (m->steps + 1));
        for (size_t k = 0; k < states; k++) row[2 + k] = m->rows[i * m->columns + 1 + k];
        status = cls_table_append(*out, row, error);
    }
    return status;
}

/* ---- scores ---- */

/* Mean square over q, p, S1, S2; the states are the first columns behind the time. */
static double distance(const motions *m, const double *a, const double *b, size_t columns) {
    size_t rows = m->n * (m->steps + 1);
    double sum = 0;
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 1; k <= n_states; k++) {
            double d = a[i * m->columns + k] - b[i * columns + k];
            sum += d * d / (double)(rows * n_states);
        }
    return sum;
}

/* The laws over 100 times the horizon from one start. */
static cls_status run_far(cli_findings *f, const char *row, const cls_system *model,
                          const motions *test, cls_error *error) {
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    o.h = h;
    cls_status status = cls_simulator_create(model, &o, &sim, error);
    if (!status) status = cls_simulator_start(sim, 0, test->starts, error);
    cls_status failed = status ? status : cls_simulator_advance(sim, far * test->steps, NULL);
    cls_simulate_info info = status ? (cls_simulate_info){0} : cls_simulator_info(sim);
    if (!status) {
        cli_add_number(f, row, "energy drift, 100 x", NULL, "<=1e-11",
                       failed ? INFINITY : info.energy_relative,
                       "discrete-gradient, 100 times the horizon");
        cli_add_number(f, row, "entropy falls, 100 x", NULL, "0",
                       failed ? INFINITY : (double)info.entropy_falls, NULL);
    }
    cls_simulator_free(&sim);
    return status;
}

static cls_status judge(cli_findings *f, size_t k, const cls_system *s, const cls_system *model,
                        const motions *test, cls_error *error) {
    double *steps = NULL, *flow = NULL, *own = NULL;
    size_t columns = cls_system_column_count(model);
    cls_status status = move(model, "rk3", test, &steps, error);
    double data = status ? INFINITY : distance(test, test->rows, steps, columns);
    status = move(s, "bdf", test, &flow, error);
    double exact = INFINITY;
    if (!status && move(model, "bdf", test, &own, NULL) == CLS_OK)
        exact = distance(test, flow, own, columns);
    if (!status) {
        cli_add_number(f, ways[k].row, "MSE, data", NULL, f->quick ? NULL : ways[k].data, data,
                       ways[k].given);
        cli_add_number(f, ways[k].row, "MSE, exact flow", NULL, f->quick ? NULL : ways[k].flow,
                       exact, NULL);
    }
    if (!status) status = run_far(f, ways[k].row, model, test, error);
    free(steps);
    free(flow);
    free(own);
    return status;
}

static cls_status run_way(cli_findings *f, size_t k, const cls_system *s, const cls_table *data,
                          const motions *test, cls_error *error) {
    cls_model *model = NULL;
    cls_learn_info info = {0};
    cls_status status =
        cli_learn_text(f, ways[k].text, "gas containers", data, "made here", &model, &info, error);
    if (!status) status = judge(f, k, s, cls_model_system(model), test, error);
    if (!status) cli_add_number(f, ways[k].row, "seconds to learn", NULL, NULL, info.seconds, NULL);
    cls_learn_report_free(&info.report);
    cls_model_free(&model);
    return status;
}

/* Positions and momenta alone: the form of ideal gases, four constants and both entropies of every
 * motion unknown. Origins of the entropies are no constants: they are in the hidden starts. */
static const char ideal[] =
    "system \"two gas containers\"\ncoordinate q in (0, 2)\nentropy S1, S2\n"
    "parameter m = unknown in (0.1, 10), c1 = unknown in (0.5, 5), c2 = unknown in (0.5, 5)\n"
    "parameter alpha = unknown in (0.1, 1000)\n"
    "hamiltonian p.q^2/(2*m) + (exp(S1)/q)^(1/c1) + (exp(S2)/(2 - q))^(1/c2)\n"
    "heat exchange T1 <-> T2: alpha/(T1*T2)\n" TAIL;

static cls_status run_hidden(cli_findings *f, const cls_system *s, const motions *learn,
                             cls_error *error) {
    static const struct {
        const char *name, *off, *note;
        double value;
    } constants[] = {{"m", "m, off by", "true: 1", 1},
                     {"c1", "c1, off by", "true: 3/2", 1.5},
                     {"c2", "c2, off by", "true: 3/2", 1.5},
                     {"alpha", "alpha, off by", "true: 10", 10}};
    const char *row = "constants, from (q, p)";
    cls_table *data = NULL;
    cls_model *model = NULL;
    cls_learn_info info = {0};
    cls_status status = as_table(s, learn, hidden_motions, 2, &data, error);
    if (!status)
        status = cli_learn_text(f, ideal, "ideal gas containers", data, "made here", &model, &info,
                                error);
    const cls_learn_report *r = status ? NULL : info.report;
    for (size_t k = 0; !status && k < sizeof constants / sizeof *constants; k++) {
        double value = INFINITY;
        for (size_t i = 0; r && i < r->n_parameters; i++)
            if (strcmp(r->parameters[i].name, constants[k].name) == 0)
                value = r->parameters[i].value;
        cli_add_number(f, row, constants[k].name, NULL, NULL, value, constants[k].note);
        cli_add_number(f, row, constants[k].off, NULL, "<=1e-2",
                       fabs(value / constants[k].value - 1), NULL);
    }
    cls_learn_report_free(&info.report);
    cls_table_free(&data);
    cls_model_free(&model);
    return status;
}

/* What their method of order 3 makes of the true system: a model of the flow cannot come nearer to
 * the data by it. */
static cls_status floor_of(cli_findings *f, const cls_system *s, const motions *test,
                           cls_error *error) {
    double *flow = NULL;
    cls_status status = move(s, "bdf", test, &flow, error);
    if (!status)
        cli_add_number(f, "true formulas", "MSE, flow by data", NULL, NULL,
                       distance(test, test->rows, flow, test->columns),
                       "their Runge-Kutta steps are another motion");
    free(flow);
    return status;
}

static cls_status run(cli_findings *f, cls_error *error) {
    cls_system *s = NULL;
    cls_table *data = NULL;
    motions learn = {0}, test = {0};
    size_t n = f->quick ? quick_motions : n_motions, steps = f->quick ? quick_steps : n_steps;
    cls_status status = cls_system_parse(truth, "gas containers", NULL, &s, error);
    if (!status) status = make(s, n, steps, 2, &learn, error);
    if (!status) status = make(s, f->quick ? 5 : n_test, steps, 3, &test, error);
    if (!status) status = as_table(s, &learn, learn.n, n_states, &data, error);
    if (!status) status = floor_of(f, s, &test, error);
    for (size_t k = 0; !status && k < sizeof ways / sizeof *ways; k++)
        if (!(f->quick && k)) status = run_way(f, k, s, data, &test, error);
    if (!status) status = run_hidden(f, s, &learn, error);
    cls_table_free(&data);
    clear(&learn);
    clear(&test);
    cls_system_free(&s);
    return status;
}

const cli_item cli_gfinn_gas = {
    .name = "gfinn-gas",
    .doc = "gas containers of GFINN: both energies and the conductance learned",
    .text =
        "GFINN (Zhang, Shin, Karniadakis 2022), gas containers, by their formulas: 80 motions of\n"
        "400 steps of 0.02 to learn from, 20 to test, starts uniform in q = 1 +- 0.8, p = 0 +- 1,\n"
        "S = 2 +- 1; steps of their Runge-Kutta method of order 3 (--quick: 30 motions of 100\n"
        "steps, the first model only). The paper shows curves, no numbers. Judged are runs by the\n"
        "same method against the data, and exact flows (bdf) against exact flows, as mean squares\n"
        "over q, p, S1, S2. No temperature is in the data. The first model is given the kinetic\n"
        "energy and that each energy depends on its own volume and entropy; the second nothing\n"
        "but a bracket, an energy of the whole state and heat that flows between two\n"
        "temperatures, which is what GFINN is given. The constants of ideal gases are learned "
        "from\n"
        "q and p of 10 motions alone: both entropies are hidden.\n",
    .run = run,
};
