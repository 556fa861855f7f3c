/* ephs-6.4 and ephs-6.5: neural ODEs with more and with less structure, the EPHS thesis, chapter 6.
 *
 * 6.4: the undamped oscillator (m = 2, c = 1) from (1, 1), 200 points. O-NET: both rates unknown.
 * H-NET: an unknown hamiltonian, learned by simulating (shooting). HNN: the same from derivatives.
 * Structured: q' = p/m known, p' unknown. And as components: an unknown spring. The thesis tests on
 * half of the training orbit; here all are also followed from (0.7, 0.7), where one orbit says
 * nothing about a black box.
 * 6.5: with a damper (d = 0.5, theta0 = 300) from (1, 1, 0.2), 100 points. */
#include "cli/reproduce/ephs.h"

/* ---- 6.4 ---- */

#define UNDAMPED                                                                                   \
    "parameter m = 2, c = 1\nstorage mass(p): p^2/(2*m)\ngyrator link(q, p): 1\n"                  \
    "connect spring.q, link.q\nconnect mass.p, link.p\nstart q = 1, p = 1\nstep 0.1\n"             \
    "output H = p^2/4 + q^2/2\n"

static const char undamped[] = UNDAMPED "storage spring(q): q^2/(2*c)\n";

#define TRUE_ENERGY                                                                                \
    "output E = p^2/4 + q^2/2\noutput H = p^2/4 + q^2/2\nstart q = 1, p = 1\nstep 0.1\n"
#define HAMILTONIAN                                                                                \
    "coordinate q\nhamiltonian unknown_H = unknown network(20)\noutput E = p.q^2/4 + q^2/2\n"      \
    "output H = p.q^2/4 + q^2/2\nstart q = 1, p.q = 1\nstep 0.1\n"

static const ephs_way ways_6_4[] = {
    {.row = "O-NET",
     .text = "part f of q, p = unknown network(20)\npart g of q, p = unknown network(20)\n"
             "ode q' = f\node p' = g\n" TRUE_ENERGY,
     .scheme = "implicit-midpoint",
     .iterations = 600,
     .paper = "9.5e-3",
     .paper_100 = "1.15e-1",
     .want = "<=1e-8",
     .want_100 = "<=1e-6"},
    {.row = "H-NET",
     .text = HAMILTONIAN,
     .loss = "shooting",
     .scheme = "discrete-gradient",
     .iterations = 300,
     .paper = "9.5e-4",
     .paper_100 = "2.7e-3",
     .want = "<=1e-8",
     .want_100 = "<=1e-6",
     .note = "energy by the true H: the learned one is kept exactly"},
    {.row = "HNN",
     .text = HAMILTONIAN,
     .loss = "derivative",
     .scheme = "discrete-gradient",
     .iterations = 300,
     .paper = "1.2e-2",
     .paper_100 = "3.0e-1",
     .note =
         "derivatives of midpoint data at h = 0.1 are wrong by O(h^2), and so is what they teach"},
    {.row = "structured ODE",
     .text = "parameter m = 2\npart f of q = unknown network(20)\node q' = p/m\n"
             "ode p' = f\n" TRUE_ENERGY,
     .scheme = "implicit-midpoint",
     .iterations = 600,
     .paper = "4.1e-3",
     .paper_100 = "1.8e-2",
     .want = "<=1e-8",
     .want_100 = "<=1e-6"},
    {.row = "component spring",
     .text = UNDAMPED "storage spring(q): unknown network(20)\n",
     .scheme = "discrete-gradient",
     .iterations = 600,
     .want = "<=1e-8",
     .want_100 = "<=1e-6",
     .energy = "<=1e-11"},
};
enum { n_6_4 = sizeof ways_6_4 / sizeof *ways_6_4 };

/* The last model from another orbit. */
static cls_status elsewhere(ephs_study *other, const ephs_study *s, const char *expected,
                            cls_error *error) {
    size_t i = other->n++;
    other->label[i] = s->label[i];
    cls_status status =
        ephs_follow(&other->truth, cls_model_system(s->model[i].model), &other->table[i], error);
    if (!status)
        cli_add_number(s->f, s->label[i], "from (0.7, 0.7), t < 100", NULL, expected,
                       ephs_most(other->table[i], "squared error", 100.05),
                       expected ? NULL : "another orbit than the one it was learned on");
    return status;
}

static cls_status run_6_4(cli_findings *f, cls_error *error) {
    static const char *const bound[n_6_4] = {NULL, NULL, NULL, "<=1e-6", "<=1e-6"};
    static const char *const columns[] = {"q:p", "log(squared error)", "H", NULL};
    ephs_study s = {0}, other = {0};
    cls_status status = ephs_begin(&s, f, undamped, NULL, 199, error);
    if (!status) status = ephs_begin(&other, f, undamped, "q=0.7, p.q=0.7", 1, error);
    for (size_t i = 0; !status && i < n_6_4; i++) {
        status = ephs_add(&s, &ways_6_4[i], error);
        if (!status) status = elsewhere(&other, &s, bound[i], error);
    }
    if (!status) status = ephs_draw(&s, "ephs-6.4", columns, error);
    if (!status) status = ephs_draw(&other, "ephs-6.4-elsewhere", columns, error);
    ephs_end(&other);
    ephs_end(&s);
    return status;
}

const cli_item cli_ephs_6_4 = {
    .name = "ephs-6.4",
    .doc = "undamped oscillator: O-NET, H-NET, HNN, structured ODE, component (EPHS thesis)",
    .text =
        "Largest squared error of (q, p) by implicit-midpoint, h = 0.1, learned on 0 <= t < 20.\n"
        "paper: the thesis' published weights, run again. |dE|: the true energy along the\n"
        "model's motion, by implicit-midpoint (ODE) or discrete-gradient. From (0.7, 0.7) a black\n"
        "box that saw one orbit is useless; one that knows the structure is not.\n",
    .run = run_6_4,
};

/* ---- 6.5 ---- */

#define ISOTHERMAL                                                                                 \
    "parameter m = 2, c = 1, theta0 = 300\nstorage spring(q): q^2/(2*c)\n"                         \
    "storage mass(p): p^2/(2*m)\ngyrator link(q, p): 1\nenvironment air(entropy s_e): theta0\n"    \
    "connect spring.q, link.q\nconnect mass.p, link.p, damper.p\nconnect air.s_e, damper.s\n"      \
    "start q = 1, p = 1, s_e = 0.2\nstep 0.1\noutput H = p^2/(2*m) + q^2/2\n"

static const char isothermal[] = ISOTHERMAL "resistive damper(p, entropy s): 0.5\n";

#define ISOTHERMAL_TRUTH                                                                           \
    "output E = p^2/4 + q^2/2 + 300*s_e\noutput S = s_e\noutput H = p^2/4 + q^2/2\n"               \
    "start q = 1, p = 1, s_e = 0.2\nstep 0.1\n"

static const ephs_way ways_6_5[] = {
    {.row = "O-NET",
     .text = "part f of q, p = unknown network(20)\npart g of q, p = unknown network(20)\n"
             "part k of q, p = unknown network(20)\node q' = f\node p' = g\n"
             "ode s_e' = k/1000\n" ISOTHERMAL_TRUTH,
     .scheme = "implicit-midpoint",
     .iterations = 600,
     .note = "it saw 10 units of time, and knows nothing about rest"},
    {.row = "structured ODE",
     .text = "parameter m = 2, c = 1\npart f of p/2 = unknown network(20)\n"
             "part k of (p/2)^2 = unknown network(20)\node q' = p/m\n"
             "ode p' = -q/c + f\node s_e' = k/1000\n" ISOTHERMAL_TRUTH,
     .scheme = "implicit-midpoint",
     .iterations = 600,
     .paper = "4.1e-5",
     .paper_100 = "1.6e-3",
     .want = "<=1e-6",
     .want_100 = "<=1e-4",
     .note = "in the thesis the entropy falls and has a rate of 4.5e-4 at rest"},
    {.row = "component damper",
     .text = ISOTHERMAL "resistive damper(p, entropy s): unknown network(8)\n",
     .scheme = "discrete-gradient",
     .iterations = 400,
     .want = "<=1e-12",
     .want_100 = "<=1e-12",
     .energy = "<=1e-11",
     .falls = "<=0"},
};
enum { n_6_5 = sizeof ways_6_5 / sizeof *ways_6_5 };

static cls_status run_6_5(cli_findings *f, cls_error *error) {
    static const char *const columns[] = {"q:p", "log(squared error)", "H", NULL};
    ephs_study s = {0};
    cls_status status = ephs_begin(&s, f, isothermal, NULL, 99, error);
    for (size_t i = 0; !status && i < n_6_5; i++) status = ephs_add(&s, &ways_6_5[i], error);
    if (!status) status = ephs_draw(&s, "ephs-6.5", columns, error);
    ephs_end(&s);
    return status;
}

const cli_item cli_ephs_6_5 = {
    .name = "ephs-6.5",
    .doc = "oscillator with a damper: O-NET, structured ODE, component (EPHS thesis)",
    .text =
        "Largest squared error of (q, p, s_e) by implicit-midpoint, h = 0.1, learned on\n"
        "0 <= t < 10. paper: the thesis' published weights, run again. |dE| and entropy falls:\n"
        "true energy and entropy over 100,000 steps.\n",
    .run = run_6_5,
};
