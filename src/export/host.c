/* What newton.inc and step.inc ask of where they are compiled, as macros with the numbers of one
 * exported model in them. The library's answers are in simulate/host.h: keep both in step. */
#include "export/export.h"
#include "expr/program.h"
#include "simulate/host.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void define(clsi_text *out, const char *macro, const char *argument, size_t value) {
    clsi_text_printf(out, "#define %s(%s) ((void)(%s), %zu)\n", macro, argument, argument, value);
}

/* A number that another value of a parameter may change. */
static void define_either(clsi_text *out, const char *macro, size_t given, size_t open) {
    if (given == open)
        define(out, macro, "nw", given);
    else
        clsi_text_printf(out, "#define %s(nw) ((nw)->changed ? %zu : %zu)\n", macro, open, given);
}

void clsi_append_number(clsi_text *out, double value) {
    if (isnan(value))
        clsi_text_append(out, "NAN");
    else if (isinf(value))
        clsi_text_append(out, value < 0 ? "-INFINITY" : "INFINITY");
    else
        clsi_text_printf(out, "%a", value);
}

int clsi_export_history(const clsi_export *e) {
    int open = e->open.sp ? clsi_history_length(e->open.sp) : 0, own = clsi_history_length(e->sp);
    return open > own ? open : own;
}

static void append_sizes(clsi_text *out, const clsi_export *e) {
    const clsi_stepper *sp = e->sp;
    const clsi_stepper *open = e->open.sp ? e->open.sp : sp;
    const clsi_newton nw = {.sp = sp};
    define(out, "CLSI_UNKNOWNS", "nw", sp->n_unknowns);
    define(out, "CLSI_MEASURED", "nw", sp->n_unknowns - sp->n_lifted);
    define(out, "CLSI_STATES", "nw", sp->nz);
    define(out, "CLSI_BASE", "nw", sp->n_base);
    /* a temperature that is a parameter is a positive quantity more */
    define_either(out, "CLSI_POSITIVE", sp->n_positive, open->n_positive);
    define(out, "CLSI_GUARDED", "nw", sp->n_guarded);
    define(out, "CLSI_LOGARITHMIC", "nw", (size_t)CLSI_LOGARITHMIC(&nw));
    clsi_text_append(out, "#define CLSI_FINITE(x, first, n) newton_finite(x, first, n)\n"
                          "#define CLSI_SIZE(nw, d) newton_size(nw, d)\n"
                          "#define CLSI_LEAST(nw) newton_least(nw, nw->in, nw->least)\n"
                          "#define CLSI_SMOOTH step_is_smooth\n"
                          "#define CLSI_AGE(k) CLSI_HISTORY * k\n"
                          "#define CLSI_HISTORY_OF(sim) CLSI_HISTORY\n"
                          "#define CLSI_TAKE_MANY(sim) 1\n"
                          "#define CLSI_PREDICT_MANY(length, a, u) \\\n"
                          "    step_predict_many(&sim->newton, length, a, u)\n"
                          "#define CLSI_PAST(i) sim->history + (sub * CLSI_HISTORY + i) * k\n");
    define(out, "CLSI_MAX_ITERATIONS", "nw", (size_t)sp->options.max_iterations);
    define(out, "CLSI_HEATS", "nw", CLSI_HEATS(&nw));
    define(out, "CLSI_COSTLY", "nw", sp->residual && CLSI_COSTLY(&nw));
    define(out, "CLSI_ENTROPIES", "nw", (size_t)CLSI_ENTROPIES(&nw));
    define_either(out, "CLSI_SPARSE", sp->lu != NULL, open->lu != NULL);
    define_either(out, "CLSI_ENTRIES", sp->n_jacobian, open->n_jacobian);
    define(out, "CLSI_TAKES_MANY", "sim", 0);
    define(out, "CLSI_STATE_COUNT", "sim", e->n_state);
    define(out, "CLSI_HAS_WORK", "sim", sp->s->has_work != 0);
    define(out, "CLSI_HAS_HEAT", "sim", sp->s->has_heat != 0);
    define(out, "CLSI_RECEIVERS", "sim", (size_t)(sp->s->has_work != 0) + (sp->s->has_heat != 0));
    define(out, "CLSI_INPUTS", "sim", sp->nu);
    clsi_text_printf(out, "#define CLSI_STEP_INPUTS %zu\n#define CLSI_SOME_UNKNOWNS %zu\n",
                     sp->n_base + sp->n_unknowns, sp->n_unknowns ? sp->n_unknowns : 1);
    define(out, "CLSI_PARAMETERS", "sim", e->n_parameters);
    define(out, "CLSI_FIRST_PARAMETER", "sim", sp->first_free);
    define(out, "CLSI_MAX_HALVINGS", "sim", (size_t)sp->options.max_halvings);
    define(out, "CLSI_STAGES_OF", "sim", sp->scheme->n_composition);
    define(out, "CLSI_OWED", "sim", sp->n_owed);
    define(out, "CLSI_BOOKS", "sim", sp->books != 0);
    define(out, "CLSI_CARRIES", "sim", sp->scheme->carries != 0);
    clsi_text_append(out, "#define CLSI_TOLERANCE(nw) ((void)(nw), ");
    clsi_append_number(out, sp->options.tolerance);
    clsi_text_append(out, ")\n#define CLSI_GUARDED_STATE(nw, k) ((void)(nw), clsi_guarded[k])\n"
                          "#define CLSI_LOW(nw, k) ((void)(nw), clsi_low[k])\n"
                          "#define CLSI_HIGH(nw, k) ((void)(nw), clsi_high[k])\n"
                          "#define CLSI_STAGE_OF(sim, i) ((void)(sim), clsi_stages[i])\n"
                          "#define CLSI_STEP(sim) ((sim)->h)\n"
                          "#define CLSI_TIME(sim) ((sim)->t0 + (double)(sim)->steps * (sim)->h)\n");
}

/* Unknown k is the rate of state k. */
static int is_in_order(const clsi_stepper *sp) {
    const clsi_newton nw = {.sp = sp};
    for (size_t k = 0; k < sp->n_unknowns; k++)
        if (CLSI_OF_STATE(&nw, (int)k) != (int)k) return 0;
    return 1;
}

/* An environment takes what one of the states is. */
static int has_outside(const clsi_stepper *sp) {
    const clsi_newton nw = {.sp = sp};
    for (size_t i = 0; i < sp->nz; i++)
        if (CLSI_OUTSIDE(&nw, i)) return 1;
    return 0;
}

/* Tables of at least one entry; ISO C has none without. */
static void append_lists(clsi_text *out, const clsi_export *e, int *ints, double *doubles) {
    const clsi_stepper *sp = e->sp;
    const clsi_newton nw = {.sp = sp};
    for (size_t k = 0; k < sp->n_unknowns; k++) ints[k] = CLSI_OF_STATE(&nw, (int)k);
    clsi_append_ints(out, e, "clsi_of_state", sp->n_unknowns, ints, "0");
    clsi_text_append(out, is_in_order(sp)
                              ? "#define CLSI_OF_STATE(nw, i) ((void)(nw), (i))\n"
                              : "#define CLSI_OF_STATE(nw, i) ((void)(nw), clsi_of_state[i])\n");
    for (size_t i = 0; i < sp->nz; i++) ints[i] = CLSI_OUTSIDE(&nw, i) != 0;
    clsi_append_ints(out, e, "clsi_outside", sp->nz, ints, "0");
    clsi_text_append(out, has_outside(sp)
                              ? "#define CLSI_OUTSIDE(nw, i) ((void)(nw), clsi_outside[i])\n"
                              : "#define CLSI_OUTSIDE(nw, i) ((void)(nw), 0)\n");
    for (size_t k = 0; k < sp->n_guarded; k++) ints[k] = (int)sp->guarded[k];
    clsi_append_ints(out, e, "clsi_guarded", sp->n_guarded, ints, "0");
    for (int high = 0; high < 2; high++) {
        for (size_t k = 0; k < sp->n_guarded; k++)
            doubles[k] = high ? CLSI_HIGH(&nw, k) : CLSI_LOW(&nw, k);
        clsi_append_doubles(out, e, high ? "clsi_high" : "clsi_low", sp->n_guarded, doubles, "0");
    }
    clsi_append_doubles(out, e, "clsi_stages", sp->scheme->n_composition, sp->scheme->composition,
                        "0");
}

static void append_tables(clsi_text *out, const clsi_export *e) {
    const clsi_stepper *sp = e->sp;
    size_t room = sp->n_unknowns + sp->nz + sp->n_guarded;
    int *ints = clsi_calloc(room, sizeof *ints);
    double *doubles = clsi_calloc(room, sizeof *doubles);
    clsi_text_append(out, "\n");
    if (ints && doubles)
        append_lists(out, e, ints, doubles);
    else
        out->failed = 1;
    free(ints);
    free(doubles);
}

static void append_runs(clsi_text *out, const clsi_export *e) {
    /* the Jacobian stands in its factors when this is called */
    clsi_text_append(
        out,
        e->sp->heat
            ? "\n#define CLSI_HEAT_ROOM(nw) (nw)->out + CLSI_UNKNOWNS(nw) + CLSI_POSITIVE(nw)\n"
              "#define CLSI_RUN_HEAT(nw, to) clsi_run_heat(nw, to)\n"
              "\nstatic void clsi_run_heat(clsi_newton *nw, double *to) {\n"
              "    double *room = nw->keep + CLSI_ROOM_BEHIND;\n"
              "    clsi_heat(nw->changed, nw->in, room, to);\n}\n"
            : "\n#define CLSI_HEAT_ROOM(nw) (nw)->out\n"
              "#define CLSI_RUN_HEAT(nw, to) ((void)(nw), (void)(to))\n");
    clsi_text_append(out, e->sp->guard ? "#define CLSI_RUN_GUARD(nw) clsi_run_guard(nw)\n"
                                       : "#define CLSI_RUN_GUARD(nw) ((void)(nw))\n");
    clsi_text_append(out,
                     "#define CLSI_RUN_EARLY(nw) clsi_run_early(nw)\n"
                     "#define CLSI_RUN_RESIDUAL_FIRST(nw, to) clsi_residual_first((nw)->changed, "
                     "(nw)->in, (nw)->keep, to)\n"
                     "#define CLSI_RUN_RESIDUAL_REST(nw, to) clsi_residual_rest((nw)->changed, "
                     "(nw)->in, (nw)->keep, to)\n"
                     "#define CLSI_RUN_GUESS(sim) clsi_run_guess(sim)\n"
                     "#define CLSI_RUN_NEXT(sim) clsi_run_next(sim)\n"
                     "#define CLSI_RUN_NEXT_HERE(sim) clsi_run_next_here(sim)\n"
                     "#define CLSI_RECEIVED(sim) clsi_received(sim)\n"
                     "#define CLSI_SET_INPUTS(sim, t, h) clsi_set_inputs(sim)\n"
                     "#define CLSI_RUN_MONITOR(sim, to) clsi_run_monitor(sim, (sim)->row_in, to)\n"
                     "#define CLSI_RUN_SCALE(sim, to) clsi_run_scale(sim, to)\n"
                     "#define CLSI_NORMALISE(sim) clsi_normalise_all(sim)\n");
    if (e->sp->guard)
        clsi_text_append(
            out, "\nstatic inline void clsi_run_guard(clsi_newton *nw) {\n"
                 "    clsi_guard_first(nw->changed, nw->in, nw->keep_guard, nw->guarded);\n"
                 "    clsi_guard_rest(nw->changed, nw->in, nw->keep_guard, nw->guarded);\n}\n");
}

static const char run_early[] =
    "\nstatic inline void clsi_run_early(clsi_newton *nw) {\n"
    "    CLSI_GUARD_EARLY(nw);\n"
    "    clsi_residual_early(nw->changed, nw->in, nw->keep, nw->out);\n}\n";

/* What the monitor has left there belongs to the state `at`. */
static const char run_warm[] =
    "\nstatic int clsi_is_warm(const clsi_newton *nw) {\n"
    "#ifdef CLSI_SCRIPT\n"
    "    for (int i = 0; i < CLSI_STATES(nw); i++)\n"
    "        if (!(nw->in[i] == nw->at[i])) return 0;\n"
    "    return 1;\n"
    "#else\n"
    "    return memcmp(nw->in, nw->at, sizeof nw->at) == 0;\n"
    "#endif\n}\n"
    "\nstatic inline void clsi_run_early(clsi_newton *nw) {\n"
    "    CLSI_GUARD_EARLY(nw);\n"
    "    if (clsi_is_warm(nw)) {\n"
    "        clsi_residual_warm(nw->changed, nw->in, nw->keep, nw->out);\n"
    "        return;\n"
    "    }\n"
    "    clsi_residual_early(nw->changed, nw->in, nw->keep, nw->out);\n"
    "    for (int i = 0; i < CLSI_STATES(nw); i++) nw->at[i] = nw->in[i];\n}\n";

/* The end of a step, and what is measured there. */
static void append_ends(clsi_text *out, const clsi_export *e) {
    const char *early = e->shares_now ? run_warm : run_early;
    const char *guard = strstr(early, "    CLSI_GUARD_EARLY(nw);\n");
    clsi_text_append_n(out, early, (size_t)(guard - early));
    if (e->sp->guard)
        clsi_text_append(
            out, "    clsi_guard_early(nw->changed, nw->in, nw->keep_guard, nw->guarded);\n");
    clsi_text_append(out, strchr(guard, '\n') + 1);
    clsi_text_printf(out,
                     "\nstatic void clsi_run_next(cls_simulator *sim) {\n"
                     "    double *room = sim->newton.keep%s;\n"
                     "%s"
                     "    clsi_next(sim->newton.changed, sim->newton.in, room, sim->next_out);\n}\n"
                     "\nstatic void clsi_run_next_here(cls_simulator *sim) {\n",
                     e->shares_begin ? "" : " + CLSI_ROOM_BEHIND",
                     e->shares_end ? "    sim->newton.ended = 0;\n" : "");
    clsi_text_append(out, e->shares_end ? "    sim->newton.ended = 1;\n"
                                          "    clsi_next_end(sim->newton.changed, sim->newton.in, "
                                          "sim->newton.keep, sim->next_out);\n}\n"
                                        : "    clsi_run_next(sim);\n}\n");
    clsi_text_append(out, "\nstatic void clsi_measure(clsi_newton *nw, const double *in, double "
                          "*out) {\n");
    if (e->shares_end)
        clsi_text_append(out, "    if (nw->ended)\n"
                              "        clsi_monitor_end(nw->changed, in, nw->keep, out);\n"
                              "    else\n    ");
    clsi_text_append(out, "    clsi_monitor(nw->changed, in, nw->keep, out);\n");
    if (e->shares_end) clsi_text_append(out, "    nw->ended = 0;\n");
    if (e->shares_now)
        clsi_text_append(out, "    for (int i = 0; i < CLSI_STATES(nw); i++) nw->at[i] = in[i];\n");
    clsi_text_append(out, "}\n");
}

/* Directions and attitudes of bodies, and programs over (z, received, t, u). */
static void append_functions(clsi_text *out, const clsi_export *e) {
    const cls_system *s = e->s;
    clsi_text_append(out,
                     "\nstatic void clsi_normalise_all(cls_simulator *sim) {\n    (void)sim;\n");
    for (size_t k = 0; k < s->n_units; k++)
        clsi_text_printf(out,
                         "    double *x%zu = sim->state + %zu;\n    clsi_normalise(%zu, x%zu);\n",
                         k, s->units[k].first, s->units[k].count, k);
    clsi_text_append(
        out,
        "}\n\n/* Work and heat that came in. */\n"
        "static double clsi_received(const cls_simulator *sim) {\n"
        "    int account = CLSI_STATES(&sim->newton);\n"
        "    double sum = 0, more = 0;\n"
        "    (void)sim, (void)account;\n"
        "    for (int k = 0; k < CLSI_RECEIVERS(sim); k++) {\n"
        "        sum += sim->state[account + k];\n"
        "        more += sim->state[CLSI_STATE_COUNT(sim) + account + k];\n"
        "    }\n"
        "    return sum + more;\n}\n"
        "\nstatic void clsi_put_parameters(const cls_simulator *sim, double *in) {\n"
        "    (void)sim, (void)in;\n"
        "    for (int k = 0; k < CLSI_PARAMETERS(sim); k++) in[k] = sim->parameter[k];\n"
        "}\n"
        "\n/* z, what was received, t, inputs, parameters: what programs about one state "
        "read. */\n"
        "static void clsi_place(const cls_simulator *sim, double *in) {\n"
        "    int nz = CLSI_STATES(&sim->newton);\n"
        "    for (int i = 0; i < nz; i++) in[i] = sim->state[i];\n"
        "    in[nz] = clsi_received(sim);\n"
        "    in[nz + 1] = CLSI_TIME(sim) + sim->ahead;\n"
        "    for (int k = 0; k < CLSI_INPUTS(sim); k++) in[nz + 2 + k] = sim->input[k];\n"
        "    double *last = in + nz + 2 + CLSI_INPUTS(sim);\n"
        "    clsi_put_parameters(sim, last);\n"
        "}\n"
        "\n/* Inputs are held over a step. */\n"
        "static void clsi_set_inputs(cls_simulator *sim) {\n"
        "    int u0 = CLSI_STATES(&sim->newton) + 4 + CLSI_OWED(sim), u1 = u0 + CLSI_INPUTS(sim);\n"
        "    (void)sim, (void)u0, (void)u1;\n"
        "    for (int k = 0; k < CLSI_INPUTS(sim); k++)\n"
        "        sim->newton.in[u0 + k] = sim->newton.in[u1 + k] = sim->input[k];\n"
        "}\n"
        "\n/* The entropy is that of the system and of the outside. */\n"
        "static void clsi_run_monitor(cls_simulator *sim, double *in, double "
        "*out) {\n"
        "    double outside = CLSI_HAS_HEAT(sim) ? sim->state[CLSI_STATE_COUNT("
        "sim) - 1] : 0;\n"
        "    double received = clsi_received(sim);\n"
        "    clsi_place(sim, in);\n    clsi_measure(&sim->newton, in, out);\n"
        "    out[CLSI_MONITOR_ENTROPY] += outside;\n"
        "    out[CLSI_MONITOR_SIZE] += fabs(outside);\n"
        "    if (CLSI_RECEIVERS(sim) && fabs(received) > sim->energy_scale)\n"
        "        sim->energy_scale = fabs(received);\n}\n\n"
        "static void clsi_run_scale(cls_simulator *sim, double *out) {\n"
        "    clsi_place(sim, sim->row_in);\n"
        "    clsi_scale(sim->newton.changed, sim->row_in, sim->newton.keep, out);\n}\n\n"
        "static void clsi_run_guess(cls_simulator *sim) {\n"
        "    double *u = sim->newton.in + CLSI_BASE(&sim->newton);\n"
        "    clsi_guess(sim->newton.changed, sim->newton.in, sim->newton.keep, u);\n}\n");
}

void clsi_append_host(clsi_text *out, const clsi_export *e) {
    clsi_text_printf(out,
                     "#ifdef CLSI_SCRIPT\n#define cls_simulator %s\n#else\n"
                     "typedef %s clsi_model;\n#define cls_simulator clsi_model\n#endif\n",
                     e->prefix, e->prefix);
    clsi_text_printf(out, "#define clsi_newton %s_newton\n", e->prefix);
    clsi_text_printf(out, "#define CLSI_HISTORY %d\n", clsi_export_history(e));
    clsi_text_append(out, "#define clsi_trouble clsi_outcome\n\ntypedef enum clsi_outcome {\n");
#define NAME(name, sentence) clsi_text_append(out, "    CLSI_" #name ",\n");
    CLSI_TROUBLES(NAME)
#undef NAME
    clsi_text_printf(
        out,
        "    CLSI_TROUBLE_COUNT\n} clsi_outcome;\n\n"
        "enum {\n    CLSI_MONITOR_ENERGY = %d,\n    CLSI_MONITOR_BETA = %d,\n"
        "    CLSI_MONITOR_ENTROPY = %d,\n    CLSI_MONITOR_SIZE = %d,\n    CLSI_MONITOR_HOT = %d,\n"
        "    CLSI_MONITOR_INVARIANTS = %d,\n    CLSI_SCALE_ENERGY = %d,\n"
        "    CLSI_SCALE_ENERGY_SLOPES = %d,\n    CLSI_SCALE_ENTROPY_SLOPES = %d,\n"
        "    CLSI_SCALE_COLD = %d,\n    CLSI_SCALE_POWER = %d,\n"
        "    CLSI_SCALES = %d\n};\n\n",
        CLSI_MONITOR_ENERGY, CLSI_MONITOR_BETA, CLSI_MONITOR_ENTROPY, CLSI_MONITOR_SIZE,
        CLSI_MONITOR_HOT, CLSI_MONITOR_INVARIANTS, CLSI_SCALE_ENERGY, CLSI_SCALE_ENERGY_SLOPES,
        CLSI_SCALE_ENTROPY_SLOPES, CLSI_SCALE_COLD, CLSI_SCALE_POWER, CLSI_SCALES);
    append_sizes(out, e);
    append_tables(out, e);
    clsi_append_sparse(out, e);
    clsi_append_slopes(out, e);
    append_runs(out, e);
    append_ends(out, e);
    append_functions(out, e);
    clsi_append_lawful(out, e);
}
