/* Every table and figure of the five papers, and the items that make it: the first table of the
 * index page. What has nothing to compute (sketches, comparisons in words) says so. */
#include "cli/reproduce/reproduce.h"

#define SKETCH "a sketch: nothing to compute"
#define WORDS  "a comparison in words: nothing to compute"
#define CASES  "vnots-piston-a vnots-piston-b vnots-piston-c"
#define BODIES "vnots-body-a vnots-body-b vnots-body-c"
#define DTLM   "dtlm-table-2"

const cli_exhibit cli_exhibits[] = {
    {"V-NOTS", "Figure 1", "observable and hidden variables", NULL, NULL, SKETCH},
    {"V-NOTS", "Figure 2", "the piston between two gases", NULL, NULL, SKETCH},
    {"V-NOTS", "Figure 3", "motions of the piston with what was learned", CASES,
     "vnots-figure-3-a vnots-figure-3-b vnots-figure-3-c", NULL},
    {"V-NOTS", "Figure 4", "energy and mean error of the piston", CASES,
     "vnots-figure-4-a vnots-figure-4-b vnots-figure-4-c", NULL},
    {"V-NOTS", "Figure 5", "motions of the rigid body with what was learned", BODIES,
     "vnots-figure-5-a vnots-figure-5-b vnots-figure-5-c", NULL},
    {"V-NOTS", "Figure 6", "energy and mean error of the body", BODIES,
     "vnots-figure-6-a vnots-figure-6-b vnots-figure-6-c", NULL},

    {"EPHS thesis", "Figure 3.1", "undamped oscillator", NULL, NULL, SKETCH},
    {"EPHS thesis", "Figure 3.2", "isothermal damped oscillator", NULL, NULL, SKETCH},
    {"EPHS thesis", "Figure 3.3", "its bond graph", "ephs-graphs", "ephs-figure-3-3", NULL},
    {"EPHS thesis", "Figures 4.1, 4.2", "perceptron, neuron", NULL, NULL, SKETCH},
    {"EPHS thesis", "Figures 4.3 to 4.5", "sigmoid, tanh, ReLU", NULL, NULL,
     "graphs of textbook functions: nothing of the paper to compute"},
    {"EPHS thesis", "Figures 4.6, 5.1", "a network, a residual block", NULL, NULL, SKETCH},
    {"EPHS thesis", "Figures 6.1, 6.2", "phase portraits: O-NET, H-NET, HNN, structured",
     "ephs-6.4", "ephs-6.4", NULL},
    {"EPHS thesis", "Figures 6.3, 6.4", "errors of the four", "ephs-6.4", "ephs-6.4", NULL},
    {"EPHS thesis", "Figures 6.5, 6.6", "energy to t = 10", "ephs-6.4", "ephs-6.4", NULL},
    {"EPHS thesis", "Figures 6.7, 6.8", "energy to t = 100", "ephs-6.4", "ephs-6.4", NULL},
    {"EPHS thesis", "Figures 6.9 to 6.11", "damped: portrait, error, energy", "ephs-6.5",
     "ephs-6.5", NULL},
    {"EPHS thesis", "Figures 7.1, 7.2", "isothermal: bond graph, and with a network", "ephs-graphs",
     "ephs-figure-7-1 ephs-figure-7-2", NULL},
    {"EPHS thesis", "Figures 7.3, 7.4", "an unknown damper, and its reuse", "ephs-7.3", "ephs-7.3",
     NULL},
    {"EPHS thesis", "Figures 7.5, 7.6", "non-isothermal: bond graph, and with networks",
     "ephs-graphs", "ephs-figure-7-5 ephs-figure-7-6", NULL},
    {"EPHS thesis", "Figure 7.7", "damper and conduction as black boxes", "ephs-7.4", "ephs-7.4",
     NULL},
    {"EPHS thesis", "Figures 7.8, 7.9", "as components, and their reuse", "ephs-7.5", "ephs-7.5",
     NULL},

    {"DTEL", "Table 1", "this method and another one", NULL, NULL, WORDS},
    {"DTEL", "Example 1", "two pistons and what they keep", "dtel-noether", NULL, NULL},
    {"DTEL", "Table 2", "damped oscillator: largest errors", "dtel-table-2", NULL, NULL},
    {"DTEL", "Figure 1", "its position and entropy", "dtel-table-2", "dtel-figure-1", NULL},
    {"DTEL", "Figure 2", "its Hamiltonian by p+, p- and v", "dtel-table-2", "dtel-figure-2", NULL},
    {"DTEL", "Figure 3", "cylinder and piston", NULL, NULL, SKETCH},
    {"DTEL", "Table 3", "ideal gas: largest errors", "dtel-table-3", NULL, NULL},
    {"DTEL", "Figure 4", "its position", "dtel-table-3", "dtel-figure-4", NULL},
    {"DTEL", "Figure 5", "its Hamiltonian", "dtel-table-3", "dtel-figure-5", NULL},
    {"DTEL", "Table 4", "van der Waals gas: largest errors", "dtel-table-4", NULL, NULL},
    {"DTEL", "Figure 6", "its position", "dtel-table-4", "dtel-figure-6", NULL},
    {"DTEL", "Figure 7", "its Hamiltonian", "dtel-table-4", "dtel-figure-7", NULL},
    {"DTEL", "Figure 8", "volume against an external pressure", "dtel-forced", "dtel-figure-8",
     NULL},
    {"DTEL", "Figure 9", "volume without it", "dtel-forced", "dtel-figure-9", NULL},

    {"QP", "Table 1", "data of the double pendulum", NULL, NULL,
     "given numbers: those of the system thermoelastic-double-pendulum"},
    {"QP", "Figure 4.1", "the double pendulum", NULL, NULL, SKETCH},
    {"QP", "Figure 4.2", "rates of positions", "qp-pendulum", "qp-figure-4-2", NULL},
    {"QP", "Figure 4.3", "rates of momenta", "qp-pendulum", "qp-figure-4-3", NULL},
    {"QP", "Figure 4.4", "rates of entropies", "qp-pendulum", "qp-figure-4-4", NULL},
    {"QP", "Figure 4.5", "largest error in time", "qp-pendulum", "qp-figure-4-5", NULL},

    {"Deep DTLM", "Table 1", "approaches side by side", NULL, NULL, WORDS},
    {"Deep DTLM", "Table 2", "errors of positions and energy", DTLM, NULL, NULL},
    {"Deep DTLM", "Table 3", "variance of the modelled energy", "dtlm-table-3", NULL, NULL},
    {"Deep DTLM", "Figure 1", "leapfrog and proposed: position, energies", DTLM,
     "dtlm-figure-1-mass-spring dtlm-figure-1-pendulum dtlm-figure-1-2-body", NULL},
    {"Deep DTLM", "Figure 2", "all models: mass and spring", DTLM,
     "dtlm-figure-2 dtlm-figure-2-euler", NULL},
    {"Deep DTLM", "Figure 3", "all models: pendulum", DTLM, "dtlm-figure-3 dtlm-figure-3-euler",
     NULL},
    {"Deep DTLM", "Figure 4", "all models: two bodies", DTLM, "dtlm-figure-4 dtlm-figure-4-euler",
     NULL},
    {0},
};
