/* dtel-noether: a gas between two pistons, DTEL, Example 1.
 *
 * The gas feels only x + y, so that moving both pistons the same way is a symmetry, and friction
 * -gamma v adds its share: g = gamma (x - y) + vx - vy is conserved. The paper prints
 * gamma (x - y) + vy - vx, which is not (E3). g is linear in (x, y, p), so that Runge-Kutta methods
 * keep it too; schemes that take friction at another velocity than the one that moves the piston do
 * not. */
#include "cli/reproduce/reproduce.h"
#include <math.h>
#include <string.h>

static const double step = 0.1;
enum { n_steps = 1000 };

static double printed_drift(const cls_table *t) {
    const double *x = cli_series(t, "x"), *y = cli_series(t, "y");
    const double *p = cli_series(t, "p.x"), *r = cli_series(t, "p.y");
    double most = 0, first = 0.1 * (x[0] - y[0]) + r[0] - p[0];
    for (size_t k = 0; k < cls_table_rows(t); k++)
        most = cli_worse(most, 0.1 * (x[k] - y[k]) + r[k] - p[k] - first);
    return most;
}

/* The schemes that promise g; the others are shown. */
static int promises(const char *scheme) {
    return !strcmp(scheme, "dtel") || !strcmp(scheme, "discrete-gradient");
}

static cls_status add_scheme(cli_findings *f, const cli_motion *m, const char *scheme,
                             cls_error *error) {
    cls_table *t = NULL;
    cls_status status = cli_short_run(m, scheme, CLS_FIRST_MOMENTUM, step, n_steps, &t, error);
    if (status == CLS_NUMERIC && !promises(scheme)) {
        cli_notice("%s", error->message);
        *error = (cls_error){0};
        return CLS_OK;
    }
    if (status) return status;
    cli_cell g = {.column = scheme,
                  .expected = promises(scheme) ? "<=1e-13" : NULL,
                  .ours = cli_max_drift(t, "g", cli_series(t, "g")[0], 0)};
    cli_cell printed = {.column = scheme,
                        .expected = ">=0.1",
                        .ours = printed_drift(t),
                        .note = "the printed sign is not conserved (E3)"};
    cli_add_cell(f, g, "gamma (x - y) + vx - vy");
    if (promises(scheme)) cli_add_cell(f, printed, "gamma (x - y) + vy - vx");
    cls_table_free(&t);
    return CLS_OK;
}

static cls_status run(cli_findings *f, cls_error *error) {
    cli_motion m = {0};
    cls_status status = cli_motion_load("two-pistons", "gamma=0.1, c=3/2",
                                        "x=1, y=2, v.x=0.5, v.y=0, S=1", NULL, &m, error);
    for (size_t i = 0; !status && i < cls_scheme_count(); i++) {
        const char *scheme = cls_scheme_at(i)->name;
        if (cls_scheme_applies(scheme, m.system, NULL) == CLS_OK)
            status = add_scheme(f, &m, scheme, error);
    }
    cli_motion_free(&m);
    return status;
}

const cli_item cli_dtel_noether = {
    .name = "dtel-noether",
    .doc = "two pistons: the conserved quantity of Example 1, and the printed one that is not",
    .text = "System two-pistons, gamma = 0.1, h = 0.1, 1000 steps from x = 1, y = 2, vx = 1/2, vy "
            "= 0,\n"
            "S = 1; the largest drift of g = gamma (x - y) + vx - vy, with each scheme that "
            "applies. g is\n"
            "linear, so that Runge-Kutta methods keep it as well. The paper prints gamma (x - y) + "
            "vy - vx\n"
            "(E3), which drifts even in the exact motion.\n",
    .run = run,
};
