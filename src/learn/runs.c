/* Free runs to their ends: does what was learned run along every motion?
 *
 * Scores compare values; a run that stops has none, and predictions a little ahead hide it. So the model itself, by the
 * scheme and with the halvings that `simulate` would take, goes from the start of each motion for as long as its rows
 * reach, in steps as long as rows are apart on average, and where that stops once more in RUN_PARTS times as many: a
 * step may be too long for any model. Nothing is compared here. */
#include "learn/runs.h"
#include "base/base.h"
#include "learn/shooting/multiple.h"
#include "simulate/simulator.h"
#include <clausius/simulate.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_PARTS = 16 };

static cls_status prepare(clsi_runs *r, double h, cls_error *why) {
    if (r->sim && h == r->h) return CLS_OK;
    r->h = h;
    if (r->sim && clsi_simulator_set_step(r->sim, h)) return CLS_OK;
    cls_simulate_options o = cls_simulate_defaults();
    o.h = h;
    o.scheme = r->scheme;
    cls_simulator_free(&r->sim);
    return cls_simulator_create(r->s, &o, &r->sim, why);
}

/* *after: how far it came. */
static cls_status try_run(clsi_runs *r, const double *z, size_t n, const double *time,
                          const double *u, size_t parts, double *after, cls_error *why) {
    *after = 0;
    cls_status status = prepare(r, (time[n - 1] - time[0]) / (double)((n - 1) * parts), why);
    if (status == CLS_OK && u)
        status = cls_simulator_inputs_held(r->sim, n, time, u, r->hold ? r->hold : "auto", why);
    if (status == CLS_OK) status = cls_simulator_start(r->sim, time[0], z, why);
    for (size_t i = 1; i < n && status == CLS_OK; i++) {
        if (r->hurry && r->hurry(r->context)) return CLS_INTERRUPTED;
        status = cls_simulator_advance(r->sim, parts, why);
        *after = cls_simulator_time(r->sim) - time[0];
    }
    return status;
}

cls_status clsi_runs_add(clsi_runs *r, const double *z, size_t n, const double *time,
                         const double *u) {
    cls_error why = {0};
    double after = 0;
    if (n < 2 || !(time[n - 1] > time[0])) return CLS_OK;
    cls_status status = try_run(r, z, n, time, u, 1, &after, &why);
    if (status != CLS_OK && status != CLS_MEMORY && status != CLS_INTERRUPTED && r->parts != 1)
        status = try_run(r, z, n, time, u, RUN_PARTS, &after, &why);
    if (status == CLS_MEMORY || status == CLS_INTERRUPTED) return status;
    cls_learn_info *info = r->info;
    info->runs++;
    if (status == CLS_OK || info->runs_stopped++) return CLS_OK;
    info->runs_after = after;
    size_t length = strcspn(why.message, ";"); /* what follows is for those who chose h */
    if (length >= sizeof info->runs_why) length = sizeof info->runs_why - 1;
    memcpy(info->runs_why, why.message, length);
    info->runs_why[length] = 0;
    return CLS_OK;
}

/* The first window of a segment has a start that was fitted; rows kept back have none yet. */
static cls_status find_start(clsi_multiple *m, const double *theta, const clsi_segment *g,
                             size_t *row, double *z) {
    const clsi_piece *found = NULL;
    for (size_t w = 0; w < m->n_pieces; w++) {
        const clsi_piece *q = &m->piece[w];
        if (q->first < g->first || q->first >= g->end || (found && found->first <= q->first))
            continue;
        found = q;
        memcpy(z, m->x + w * m->nz, m->nz * sizeof *z);
    }
    *row = found ? found->first : g->first;
    if (found) return CLS_OK;
    size_t n = clsi_state_rows(m), most = g->end - g->first;
    return clsi_fit_state(m, theta, g->first, n < most ? n : most, NULL, z, NULL);
}

cls_status clsi_runs_of_recording(clsi_multiple *m, const double *theta, clsi_runs *r) {
    const clsi_recording *d = m->data;
    size_t nz =
        cls_system_state_count(r->s); /* with accounts of work and heat, which begin at zero */
    double *z = clsi_calloc(nz + d->nu * d->n + 1, sizeof *z), *u = z + nz;
    if (!z) return CLS_MEMORY;
    cls_status status = CLS_OK;
    for (size_t s = 0; s < d->n_segments && status == CLS_OK; s++) {
        const clsi_segment *g = &d->segment[s];
        size_t row;
        status = find_start(m, theta, g, &row, z);
        if (status == CLS_NUMERIC) { /* rows that no start explains: the scores say so */
            status = CLS_OK;
            continue;
        }
        size_t n = g->end - row;
        for (size_t k = 0; k < d->nu; k++)
            for (size_t i = 0; i < n; i++) u[k * n + i] = d->u[(row + i) * d->nu + k];
        if (status == CLS_OK) status = clsi_runs_add(r, z, n, d->time + row, d->nu ? u : NULL);
    }
    free(z);
    return status;
}
