/* What to measure: where columns leave parameters or hidden states open, the column that would tell
 * most of them.
 *
 * Sensitivities know it before anybody measures: the information of the fit is made once more with the
 * rows that a column would have, at a hundredth of its own spread. Parameters: as many directions
 * in the null space as eigenvalues of the information (starts eliminated, scaled to a diagonal of ones) are zero.
 * Hidden states: the same for the start of the longest window, parameters given, in units of what is
 * supposed of them. Costs one evaluation
 * of the derivatives for each column. */
#include "learn/shooting/multiple.h"
#include <math.h>
#include <omp.h>

#include <stdlib.h>
#include <string.h>

enum { MOST_COLUMNS = 24 };
static const double RCOND = 1e-10;

typedef struct adviser {
    clsi_multiple *m;
    clsi_observer *more; /* columns that were not measured */
    clsi_track **track;  /* of it, one for each thread */
    size_t n_tracks, n;
    const char *column[MOST_COLUMNS];
    double sigma[MOST_COLUMNS];
    size_t chosen; /* the one that is measured as well; n: none */
} adviser;

static int is_measured(const clsi_recording *d, const char *name) {
    for (size_t c = 0; c < d->ny; c++)
        if (strcmp(d->channel[c].name, name) == 0) return 1;
    return 0;
}

/* Something that an instrument shows: not an account, not an entropy, not an input. */
static int is_measurable(const cls_system *s, const char *name) {
    static const char *const never[] = {"time", "energy", "entropy",
                                        "work", "heat",   "entropy.outside"};
    for (size_t i = 0; i < sizeof never / sizeof *never; i++)
        if (strcmp(name, never[i]) == 0) return 0;
    for (size_t i = 0; i < s->m; i++)
        if (strcmp(name, s->entropy[i].name) == 0) return 0;
    for (size_t i = 0; i < s->nu; i++)
        if (strcmp(name, s->input[i].name) == 0) return 0;
    return strncmp(name, "p.", 2) != 0 && clsi_system_column_node(s, name) != CLS_NO_NODE;
}

static void list_columns(adviser *a) {
    const cls_system *s = a->m->system;
    for (size_t i = 0; i < s->n_columns && a->n < MOST_COLUMNS; i++)
        if (is_measurable(s, s->columns[i]) && !is_measured(a->m->data, s->columns[i]))
            a->column[a->n++] = s->columns[i];
}

static cls_status prepare(adviser *a, cls_error *error) {
    const clsi_observer *o = a->m->observer;
    cls_status status = clsi_observer_create(o->system, o->scheme, o->n_theta, o->theta, a->n,
                                             a->column, &a->more, error);
    if (status != CLS_OK) return status;
    a->more->most_step = o->most_step;
    a->track = clsi_calloc(a->m->n_tracks, sizeof(clsi_track *));
    if (!a->track) return clsi_no_memory(error);
    for (; a->n_tracks < a->m->n_tracks && status == CLS_OK; a->n_tracks++)
        status = clsi_track_create(a->more, &a->track[a->n_tracks], error);
    return status;
}

static void clear(adviser *a) {
    for (size_t i = 0; i < a->n_tracks; i++) clsi_track_free(&a->track[i]);
    free(a->track);
    clsi_observer_free(&a->more);
}

/* ---- the fit with one column more ---- */

static size_t rows_of(void *context, size_t w) {
    const adviser *a = context;
    return a->m->piece[w].n * (a->m->ny + (a->chosen < a->n)) + a->m->nz;
}

static int window_of(void *context, size_t w, const double *theta, const double *x, double *r,
                     double *J) {
    adviser *a = context;
    clsi_multiple *m = a->m;
    const clsi_piece *p = &m->piece[w];
    size_t all = m->n_theta + m->nz, n = p->n, ny = m->ny, at = n * ny;
    clsi_arrow own;
    clsi_multiple_problem(m, INFINITY, &own);
    if (!own.windows(m, w, 1, theta, x, &r, J ? &J : NULL)) return 0;
    if (a->chosen >= a->n) return 1;
    /* the priors move to the end */
    memmove(r + at + n, r + at, m->nz * sizeof *r);
    if (J) memmove(J + (at + n) * all, J + at * all, m->nz * all * sizeof *J);
    double *y = clsi_calloc(n * a->n * (1 + all) + 1, sizeof *y), *Y = y ? y + n * a->n : NULL;
    int fine = y && clsi_track_run(a->track[omp_get_thread_num()], theta,
                                   clsi_signal_of(m->data, p->segment), x, n,
                                   m->data->time + p->first, y, J ? Y : NULL, NULL);
    for (size_t i = 0; i < n && fine; i++) {
        r[at + i] = 0; /* as the model says */
        for (size_t j = 0; j < all && J; j++)
            J[(at + i) * all + j] = Y[(i * a->n + a->chosen) * all + j] / a->sigma[a->chosen];
    }
    free(y);
    return fine;
}

/* A hundredth of what each column varies by along the windows. */
static int measure_spreads(adviser *a, const double *theta) {
    clsi_multiple *m = a->m;
    double *y = clsi_calloc(m->data->n * a->n + 1, sizeof *y);
    double low[MOST_COLUMNS], high[MOST_COLUMNS];
    int fine = y != NULL;
    for (size_t c = 0; c < a->n; c++) low[c] = INFINITY, high[c] = -INFINITY;
    for (size_t w = 0; w < m->n_pieces && fine; w++) {
        const clsi_piece *p = &m->piece[w];
        fine = clsi_track_run(a->track[0], theta, clsi_signal_of(m->data, p->segment),
                              m->x + w * m->nz, p->n, m->data->time + p->first, y, NULL, NULL);
        for (size_t i = 0; i < p->n * a->n && fine; i++) {
            low[i % a->n] = fmin(low[i % a->n], y[i]);
            high[i % a->n] = fmax(high[i % a->n], y[i]);
        }
    }
    for (size_t c = 0; c < a->n; c++) {
        double size = fmax(fabs(low[c]), fabs(high[c]));
        a->sigma[c] = 0.01 * fmax((high[c] - low[c]) / 3.5, 1e-6 * size);
        if (!(a->sigma[c] > 0)) a->sigma[c] = 1;
    }
    free(y);
    return fine;
}

/* Parameters that stay open (P), and how many directions; -1: not evaluable. */
static int open_parameters(adviser *a, const double *theta, unsigned char *open) {
    size_t P = a->m->n_theta;
    double *S = clsi_calloc(3 * P * P + 1, sizeof *S);
    clsi_arrow problem = {.context = a,
                          .n_theta = P,
                          .n_x = a->m->nz,
                          .n_windows = a->m->n_pieces,
                          .rows = rows_of,
                          .window = window_of,
                          .low = a->m->low,
                          .high = a->m->high,
                          .huber = INFINITY};
    clsi_arrow_scores scores = {.n_blocks = 1, .S = S, .Q = S + P * P};
    int nullity = -1;
    if (S && clsi_arrow_information(&problem, theta, a->m->x, &scores, NULL) == CLS_OK)
        nullity = clsi_seen_inverse(P, S, RCOND, S + 2 * P * P, open);
    free(S);
    return nullity;
}

/* Directions of a start that its rows leave wider than ten times what is supposed of it anyway. D
 * (nz, nz) the information, overwritten; room for nz (nz + 1) numbers. */
static int unseen_states(const clsi_multiple *m, double *D, double *room, unsigned char *open) {
    size_t nz = m->nz;
    double *V = room, *value = room + nz * nz;
    int nullity = 0;
    for (size_t e = 0; e < nz; e++) {
        open[e] = 0;
        for (size_t f = 0; f < nz; f++) D[e * nz + f] *= m->prior[e] * m->prior[f];
    }
    clsi_symmetric_eigen(nz, D, value, V);
    for (size_t k = 0; k < nz; k++) {
        if (value[k] > 0.01) continue;
        int any = 0; /* what is known without rows is not open: integrals of inputs */
        for (size_t e = 0; e < nz; e++)
            if (m->hidden[e] && fabs(V[k * nz + e]) > 0.1) any = open[e] = 1;
        nullity += any;
    }
    return nullity;
}

/* Components of the start of the longest window that stay open (nz), parameters given; the number of
 * directions, -1: not evaluable. */
static int open_states(adviser *a, const double *theta, unsigned char *open) {
    clsi_multiple *m = a->m;
    size_t w = 0, nz = m->nz, all = m->n_theta + nz;
    for (size_t i = 1; i < m->n_pieces; i++)
        if (m->piece[i].n > m->piece[w].n) w = i;
    size_t rows = rows_of(a, w);
    double *r = clsi_calloc(rows * (1 + all) + nz * (2 * nz + 1) + 1, sizeof *r), *J = r + rows;
    double *D = J + rows * all;
    int nullity = -1;
    if (r && window_of(a, w, theta, m->x + w * nz, r, J)) {
        for (size_t i = 0; i + nz < rows; i++) /* without the priors */
            for (size_t e = 0; e < nz; e++)
                for (size_t f = 0; f < nz; f++)
                    D[e * nz + f] += J[i * all + m->n_theta + e] * J[i * all + m->n_theta + f];
        nullity = unseen_states(m, D, D + nz * nz, open);
    }
    free(r);
    return nullity;
}

/* ---- in words ---- */

typedef int (*opening)(adviser *a, const double *theta, unsigned char *open);

/* The column that leaves least open of `before` directions; a->n: none helps. */
static size_t best_column(adviser *a, const double *theta, opening how, int before,
                          unsigned char *open, int *left) {
    size_t best = a->n;
    *left = before;
    for (size_t c = 0; c<a->n && * left> 0; c++) {
        a->chosen = c;
        int now = how(a, theta, open);
        if (now < 0 || now >= *left) continue;
        *left = now;
        best = c;
    }
    a->chosen = a->n;
    return best;
}

static void tell(adviser *a, const double *theta, opening how, int before, unsigned char *open,
                 clsi_text *notes) {
    int left;
    size_t best = best_column(a, theta, how, before, open, &left);
    if (best == a->n)
        clsi_text_append(notes, "; no single column of the system would tell\n");
    else
        clsi_text_printf(notes, "; a column %s would tell%s\n", a->column[best],
                         left ? " some of it" : "");
}

cls_status clsi_advise(clsi_multiple *m, const double *theta, const char *const *names, int nullity,
                       clsi_text *notes, cls_error *error) {
    adviser a = {.m = m};
    size_t most = m->n_theta > m->nz ? m->n_theta : m->nz;
    unsigned char *open = clsi_calloc(most + 1, 1);
    if (!open) return clsi_no_memory(error);
    list_columns(&a);
    cls_status status = prepare(&a, error);
    a.chosen = a.n;
    if (status == CLS_OK && measure_spreads(&a, theta)) {
        if (nullity > 0 && open_parameters(&a, theta, open) > 0) {
            clsi_text_append(notes, "not identifiable from these columns:");
            for (size_t i = 0; i < m->n_theta; i++)
                if (open[i]) clsi_text_printf(notes, " %s", names[i]);
            tell(&a, theta, open_parameters, nullity, open, notes);
        }
        int states = open_states(&a, theta, open);
        if (states > 0) {
            const cls_system *s = m->system;
            clsi_text_append(notes, "not observable from these columns:");
            for (size_t e = 0; e < m->nz; e++)
                if (open[e]) clsi_text_printf(notes, " %s", cls_node_name(s->g, s->form->z[e]));
            tell(&a, theta, open_states, states, open, notes);
        }
    }
    clear(&a);
    free(open);
    return status;
}
