/* dtel-forced: a van der Waals gas against an external pressure, DTEL, section 4.4, Figures 8
 * and 9: reduced variables, gamma = 0.1, V = 1.5, Tr = 1.01, at rest, h = 0.01, t <= 50, pA = 1.8
 * and 0.
 *
 * The paper prints no numbers here, only the claim that its scheme is nearer to the reference than
 * GENERIC-motivated Euler at the same step. Expected are the numbers of docs/physics/dtel.md: the
 * reference at t = 1 and 50, and the largest error of V of dtel begun from p0. V does not depend on
 * xc, so that the misprints E10 do not touch them. */
#include "cli/reproduce/reproduce.h"
#include <math.h>

static const double step = 0.01;
enum { n_steps = 5000, at_one = 100 };

typedef struct pressure {
    const char *set, *label;
    const char *V_1, *V_50;
    const char *dtel, *paper_start, *generic, *gradient; /* errors of V */
    cli_figure figure;
} pressure;

static const char *const of_V[] = {"V", NULL};
#define IN_FIGURE                                                                                  \
    "Vr by RK-4 (black), DTEL (green, dashed) on it, the GENERIC-motivated method (blue, "         \
    "dotted) visibly off in a detailed section"

/* The errors of the paper's start and of discrete-gradient were found by an independent program in
 * sigma; generic-euler is only claimed to be worse than dtel with the paper's start. */
static const pressure pressures[] = {
    {"pA=1.8",
     "pA = 1.8",
     "1.160888584758",
     "1.217269004238",
     "1.28e-4",
     "2.660e-3",
     ">=2.660e-3",
     "1.431e-4",
     {"dtel-figure-8", "DTEL, figure 8: V(t) against pA = 1.8, h = 0.01", IN_FIGURE, of_V}},
    {"pA=0",
     "pA = 0",
     "1.925972008621",
     "37.840363448620",
     "7.72e-3",
     "9.683e-3",
     ">=9.683e-3",
     "1.40e-5",
     {"dtel-figure-9", "DTEL, figure 9: V(t) with pA = 0, h = 0.01", IN_FIGURE, of_V}},
};

/* The reference itself: V(1) and V(50), to 1e-10. */
static void add_reference(cli_findings *f, const pressure *p, const cls_table *reference) {
    const double *V = cli_series(reference, "V");
    cli_cell one = {.column = "reference",
                    .expected = p->V_1,
                    .tolerance = 1e-10,
                    .ours = V[at_one],
                    .note = "to 1e-10"};
    cli_cell end = {.column = "reference",
                    .expected = p->V_50,
                    .tolerance = 1e-10,
                    .ours = V[n_steps],
                    .note = "to 1e-10"};
    cli_add_cell(f, one, "V(1), %s", p->label);
    cli_add_cell(f, end, "V(50), %s", p->label);
}

static cls_status add_error(cli_findings *f, const pressure *p, const cli_motion *m,
                            const cls_table *reference, const char *scheme, cls_first_step first,
                            cli_cell cell, cls_error *error) {
    cls_table *t = NULL;
    cls_status status = cli_short_run(m, scheme, first, step, n_steps, &t, error);
    if (status) return status;
    cell.ours = cli_max_distance(t, reference, "V");
    cli_add_cell(f, cell, "V error, %s", p->label);
    cli_keep_curve(f, cell.column, &t);
    return CLS_OK;
}

static cls_status run_pressure(cli_findings *f, const pressure *p, cls_error *error) {
    const struct {
        const char *scheme;
        cls_first_step first;
        cli_cell cell;
    } lines[] = {
        {"dtel", CLS_FIRST_MOMENTUM, {.column = "dtel from p0", .expected = p->dtel}},
        {"dtel",
         CLS_FIRST_PAPER,
         {.column = "dtel, q1 = q0 as in the paper",
          .expected = p->paper_start,
          .note = "the start costs accuracy"}},
        {"generic-euler",
         CLS_FIRST_MOMENTUM,
         {.column = "generic-euler",
          .expected = p->generic,
          .note = "the figures: dtel is nearer"}},
        {"discrete-gradient",
         CLS_FIRST_MOMENTUM,
         {.column = "discrete-gradient", .expected = p->gradient}},
    };
    cli_motion m = {0};
    cls_table *reference = NULL;
    cls_status status = cli_motion_load("van-der-waals-forced", p->set, NULL, NULL, &m, error);
    if (!status)
        status = cli_short_run(&m, "bdf", CLS_FIRST_MOMENTUM, step, n_steps, &reference, error);
    if (!status) add_reference(f, p, reference);
    for (size_t i = 0; !status && i < sizeof lines / sizeof *lines; i++)
        status =
            add_error(f, p, &m, reference, lines[i].scheme, lines[i].first, lines[i].cell, error);
    if (!status && f->folder) {
        cli_keep_curve(f, "bdf", &reference);
        status = cli_draw_curves(f, &p->figure, error);
    }
    cls_table_free(&reference);
    cli_forget_curves(f);
    cli_motion_free(&m);
    return status;
}

static cls_status run(cli_findings *f, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t i = 0; !status && i < sizeof pressures / sizeof *pressures; i++)
        status = run_pressure(f, &pressures[i], error);
    return status;
}

const cli_item cli_dtel_forced = {
    .name = "dtel-forced",
    .doc = "van der Waals gas against an external pressure: reference values and errors of V",
    .text = "System van-der-waals-forced, reduced variables, gamma = 0.1, V = 1.5, Tr = 1.01, at "
            "rest,\n"
            "pA = 1.8 and pA = 0, h = 0.01, t <= 50; the largest error of V against bdf at the "
            "same times.\n"
            "The paper shows Figures 8 and 9 and no numbers. Its printed S0 is not helium-4's and "
            "its xc\n"
            "is misprinted (E10), but V does not depend on xc when the start is given by Tr.\n",
    .run = run,
};
