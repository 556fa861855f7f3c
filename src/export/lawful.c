/* Explicit steps whose weights keep the energy, in exported C: what lawful.inc asks for, the tableau of the
 * method, and what a step costs at most. */
#include "export/export.h"
#include "expr/program.h"
#include "scheme/scheme.h"
#include <math.h>

int clsi_export_is_lawful(const clsi_export *e) {
    return e->sp->scheme->tableau != NULL;
}

static void append_table(clsi_text *out, const char *name, size_t n, const double *values) {
    for (size_t k = 0; k < n; k++) {
        clsi_text_append(out, k ? ", " : name);
        if (values[k] < 0 || values[k] > 0)
            clsi_append_number(out, values[k]);
        else
            clsi_text_append(out, "0");
    }
}

/* Rows of the tableau have what is below its diagonal: row i begins at i (i - 1)/2; the last one is the weights. */
static void append_tableau(clsi_text *out, const clsi_tableau *m) {
    const size_t n = (size_t)m->stages;
    append_table(out, "\nstatic const double clsi_tableau_c[] = {", n, m->c);
    for (size_t i = 1; i < n; i++)
        append_table(out, i > 1 ? ",\n    " : "};\nstatic const double clsi_tableau_a[] = {", i,
                     m->a + i * n);
    append_table(out, ",\n    ", n, m->b);
    clsi_text_printf(out, "};\n#define CLSI_STAGE_WEIGHTS(sim) clsi_tableau_a + %zu\n",
                     n * (n - 1) / 2);
}

static const char answers[] =
    "#define CLSI_LAWFUL(sim) ((void)(sim), 1)\n"
    "#define CLSI_STEP_LAWFUL(sim) lawful_step(sim)\n"
    "#define CLSI_STAGE_ROW(sim, i) clsi_tableau_a + (i) * ((i) - 1) / 2\n"
    "#define CLSI_STAGE_TIME(sim, i) ((void)(sim), clsi_tableau_c[i])\n"
    "#define CLSI_STAGE_ROOM(sim) (sim)->newton.in\n"
    "#define CLSI_INPUT_FIRST(sim, k) ((sim)->input[k])\n"
    "#define CLSI_INPUT_LAST(sim, k) ((sim)->input[k])\n"
    "#define CLSI_RUN_STAGE(sim, in, to) clsi_run_stage(sim, to)\n"
    "#define CLSI_RUN_ASCENT(sim, to) clsi_run_ascent(sim, to)\n"
    "#define CLSI_LAWFUL_ADD lawful_add\n"
    "#define CLSI_LAWFUL_PAIR lawful_pair\n"
    "#define CLSI_LAWFUL_LEAVE(sim, t, begun, from) lawful_leave(sim, t, begun, *(from))\n"
    "#define CLSI_LAWFUL_TAKE(sim, t, from, first) lawful_take(sim, t, *(from), first)\n"
    "#define CLSI_LAWFUL_BACK(sim, from) lawful_back(sim, *(from))\n"
    "#define CLSI_LAWFUL_HERE(sim) (sim)->state\n"
    /* what pointers are declared with: without parentheses JavaScript makes views of it (translate.c) */
    "#define CLSI_LAWFUL_ROOM(sim, depth, n) (sim)->saved + (depth) * (n)\n"
    "#define CLSI_LAWFUL_SETTLE(sim, from, depth) ((void)(sim), (void)(from), (void)(depth))\n"
    "#define CLSI_LAWFUL_LOST(sim) ((void)(sim))\n"
    "#define CLSI_LAWFUL_KNOWN(sim) ((void)(sim), 0)\n"
    "#define CLSI_LAWFUL_STAGE(sim, i) (sim)->lawful.stage + (i) * CLSI_STATE_COUNT(sim)\n"
    "#define CLSI_LAWFUL_PRODUCTS lawful_products\n"
    "\n/* The rates of a stage, whose state and inputs stand where the step reads its own. */\n"
    "static void clsi_run_stage(cls_simulator *sim, double *to) {\n"
    "    double *room = sim->newton.keep + CLSI_ROOM_BEHIND;\n"
    "    clsi_next(sim->newton.changed, sim->newton.in, room, to);\n}\n"
    "\n/* The energy and its slopes. */\n"
    "static void clsi_run_ascent(cls_simulator *sim, double *to) {\n"
    "    clsi_place(sim, sim->row_in);\n"
    "    clsi_ascent(sim->newton.changed, sim->row_in, sim->newton.keep, to);\n}\n";

/* As clsi_tangent of the library. */
static void append_tangent(clsi_text *out, const cls_system *s) {
    if (!s->n_units) {
        clsi_text_append(out, "#define CLSI_TANGENT(sim, slope) ((void)(sim), (void)(slope))\n");
        return;
    }
    clsi_text_append(out, "#define CLSI_TANGENT(sim, slope) clsi_tangent(sim, slope)\n"
                          "static void clsi_tangent(const cls_simulator *sim, double *slope) {\n"
                          "    double out;\n");
    for (size_t k = 0; k < s->n_units; k++) {
        size_t first = s->units[k].first, end = first + s->units[k].count;
        clsi_text_printf(out,
                         "    out = 0;\n"
                         "    for (int i = %zu; i < %zu; i++) out += slope[i] * sim->state[i];\n"
                         "    for (int i = %zu; i < %zu; i++) slope[i] -= out * sim->state[i];\n",
                         first, end, first, end);
    }
    clsi_text_append(out, "}\n");
}

void clsi_append_lawful(clsi_text *out, const clsi_export *e) {
    if (!clsi_export_is_lawful(e)) {
        clsi_text_append(out, "#define CLSI_LAWFUL(sim) ((void)(sim), 0)\n"
                              "#define CLSI_STEP_LAWFUL(sim) CLSI_FINE\n");
        return;
    }
    const clsi_tableau *m = e->sp->scheme->tableau;
    append_tableau(out, m);
    clsi_text_printf(out,
                     "#define CLSI_SECANTS %d\n#define CLSI_MOST_STAGES %d\n"
                     "#define CLSI_STAGE_COUNT(sim) ((void)(sim), %d)\n",
                     CLSI_SECANTS, m->stages, m->stages);
    append_tangent(out, e->s);
    clsi_text_append(out, answers);
}

void clsi_append_lawful_struct(clsi_text *out, const clsi_export *e) {
    if (!clsi_export_is_lawful(e)) return;
    clsi_text_printf(out,
                     "/* Stages of a step and their weights. */\ntypedef struct %s_lawful {\n"
                     "    double stage[%zu], change[%zu], slope[%zu];\n} %s_lawful;\n\n",
                     e->prefix, (size_t)e->sp->scheme->tableau->stages * e->n_state, e->n_state,
                     e->sp->nz + 1, e->prefix);
}

/* Operations of a program, those of networks included. */
static double cost_of(const cls_program *p) {
    double cost = (double)p->n_instructions;
    for (int k = 0; k < CLSI_STAGES; k++) cost += (double)p->field_cost[k];
    return cost;
}

/* What is added up: the stages before each, and for each that has a weight what it adds to the energy. */
static double cost_of_sums(const clsi_export *e) {
    const clsi_tableau *m = e->sp->scheme->tableau;
    double nz = (double)e->sp->nz, sum = 0;
    for (int i = 0; i < m->stages; i++) {
        for (int j = 0; j < i; j++) sum += m->a[i * m->stages + j] == 0 ? 0 : 2 * nz;
        if (m->b[i] != 0) sum += 2 * nz;
    }
    return sum;
}

/* The state by some weights: their sum, and what rounding takes. */
static double cost_of_end(const clsi_export *e) {
    const clsi_tableau *m = e->sp->scheme->tableau;
    double n = (double)e->n_state, sum = 9 * n;
    for (int i = 0; i < m->stages; i++) sum += m->b[i] == 0 ? 0 : 2 * n;
    return sum;
}

/* The scales are looked at for doubt, at most once in each of lawful_mended, step_has_fallen, step_has_lost and
 * step_scaled_force. */
enum { LOOKS = 4 };

void clsi_append_lawful_cost(clsi_text *out, const clsi_export *e) {
    const clsi_stepper *sp = e->sp;
    const int stages = sp->scheme->tableau->stages, halvings = sp->options.max_halvings;
    double rates = cost_of(sp->next), slopes = cost_of(sp->ascent), energy = cost_of(sp->monitor),
           end = cost_of_end(e);
    double least = stages * rates + cost_of_sums(e) + slopes + energy + 2 * end,
           most = least + (CLSI_SECANTS - 1) * (energy + end) + LOOKS * cost_of(sp->scale);
    clsi_text_printf(
        out,
        " * A step solves no equations: %d stages, the slopes of the energy once, and 1 to %d "
        "energies.\n * That is %.0f to %.0f operations: the rates of a stage %.0f, the slopes of "
        "the energy %.0f, an\n * energy %.0f, what is looked at for doubt %.0f, sums and the "
        "rest.\n",
        stages, CLSI_SECANTS, least, most, rates, slopes, energy, cost_of(sp->scale));
    if (halvings)
        clsi_text_printf(out,
                         " * A step that is too long is made in halves, these in halves again, %d "
                         "times in turn at most:\n * at most %.0f attempts of so many operations.",
                         halvings, exp2(halvings + 1) - 1);
    else
        clsi_text_append(out, " * A step that is too long is refused after this.");
    clsi_text_printf(out, "\n * Seen over %llu steps of %g from the default start%s: %s.\n",
                     (unsigned long long)e->tried_steps, e->sp->options.h,
                     e->n_inputs ? ", inputs at 0" : "",
                     e->deepest_halving ? "some had to be halved" : "none had to be halved");
    if (e->refused[0]) clsi_text_printf(out, " * Then a step was refused: %s.\n", e->refused);
}
