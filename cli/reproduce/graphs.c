/* ephs-graphs: the bond graphs of the EPHS thesis, figures 3.3 and 7.1 to 7.6, from the systems of its
 * experiments; what stands in red there, a network in the place of a component, is `unknown` here. */
#include "cli/reproduce/reproduce.h"
#include <math.h>
#include <string.h>

#define MECHANICS                                                                                  \
    "parameter m = 2, c = 1, theta0 = 300\nstorage spring(q): q^2/(2*c)\n"                         \
    "storage mass(p): p^2/(2*m)\ngyrator link(q, p): 1\nenvironment air(entropy s_e): theta0\n"    \
    "connect spring.q, link.q\nconnect mass.p, link.p, damper.p\nstart q = 1, p = 1, s_e = "       \
    "0.2\nstep 0.1\n"
#define ISOTHERMAL MECHANICS "connect air.s_e, damper.s\n"
#define THERMAL                                                                                    \
    MECHANICS "storage body(entropy s_d): exp(s_d)\nconnect body.s_d, damper.s, conduction.s\n"    \
              "connect conduction.out, air.s_e\nstart s_d = 5.8\n"

typedef struct graph {
    cli_figure figure;
    const char *row, *text;
    int unknown; /* components that are learned: a motion needs them */
} graph;

static const graph graphs[] = {
    {{"ephs-figure-3-3", "EPHS thesis, figure 3.3: isothermal damped oscillator",
      "storages of position and momentum, a gyrator-like link, a resistive element", NULL},
     "figure 3.3",
     ISOTHERMAL "resistive damper(p, entropy s): 0.5\n",
     0},
    {{"ephs-figure-7-1", "EPHS thesis, figure 7.1: the same with its environment",
      "spring, mass, reversible coupling, damper, isothermal environment", NULL},
     "figure 7.1",
     ISOTHERMAL "resistive damper(p, entropy s): 0.5\n",
     0},
    {{"ephs-figure-7-2", "EPHS thesis, figure 7.2: the damper as a network",
      "the same with the resistive structure in red", NULL},
     "figure 7.2",
     ISOTHERMAL "resistive damper(p, entropy s): unknown network(8)\n",
     1},
    {{"ephs-figure-7-5", "EPHS thesis, figure 7.5: damper with a temperature of its own",
      "spring, mass, damper with its thermal capacity, conduction to the environment", NULL},
     "figure 7.5",
     THERMAL "resistive damper(p, entropy s): 0.5\n"
             "resistive conduction(entropy s, entropy out): 2\n",
     0},
    {{"ephs-figure-7-6", "EPHS thesis, figure 7.6: damper and conduction as networks",
      "the same with both irreversible components in red", NULL},
     "figure 7.6",
     THERMAL "resistive damper(p, entropy s): unknown network(8)\n"
             "resistive conduction(entropy s, entropy out): unknown network(8)\n",
     1},
};

/* The relative drift of the energy over 100 units of time, and falls of the entropy. */
static cls_status add_laws(cli_findings *f, const graph *g, const cls_system *s, cls_error *error) {
    cls_simulate_options o = cls_simulate_defaults();
    cls_simulator *sim = NULL;
    double state[16];
    o.monitor = 1;
    cls_status status = cls_system_start(s, NULL, state, error);
    if (!status) status = cls_simulator_create(s, &o, &sim, error);
    if (!status) status = cls_simulator_start(sim, 0, state, error);
    if (!status) status = cls_simulator_advance(sim, 1000, error);
    cls_simulate_info info = status ? (cls_simulate_info){0} : cls_simulator_info(sim);
    if (!status) {
        cli_add_number(f, g->row, "|dE|, 1,000 steps", NULL, "<=1e-13", info.energy_relative, NULL);
        cli_add_number(f, g->row, "entropy falls", NULL, "<=0", (double)info.entropy_falls, NULL);
    }
    cls_simulator_free(&sim);
    return status;
}

static cls_status draw(cli_findings *f, const graph *g, const cls_system *s, cls_error *error) {
    char path[1024];
    if (!f->folder) return CLS_OK;
    snprintf(path, sizeof path, "%.900s/%s.svg", f->folder, g->figure.name);
    cls_status status = cls_bond_graph(s, path, error);
    if (!status) f->figures[f->n_figures++] = g->figure;
    return status;
}

static cls_status run(cli_findings *f, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t i = 0; !status && i < sizeof graphs / sizeof *graphs; i++) {
        const graph *g = &graphs[i];
        cls_system *s = NULL;
        status = cls_system_parse(g->text, g->row, NULL, &s, error);
        if (!status) status = draw(f, g, s, error);
        if (!status && !g->unknown) status = add_laws(f, g, s, error);
        cls_system_free(&s);
    }
    return status;
}

const cli_item cli_ephs_graphs = {
    .name = "ephs-graphs",
    .doc =
        "bond graphs of the oscillator, isothermal and not, and the laws they imply (EPHS thesis)",
    .text = "Figures 3.3, 7.1, 7.2, 7.5 and 7.6 as `clausius show SYSTEM --graph` draws them, with "
            "-o.\n"
            "Where all components are known: both laws over 1,000 steps of 0.1.\n",
    .run = run,
};
