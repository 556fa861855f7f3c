/* Trainings with all rows of files that do not fit: the problem whose rows come in pieces. */
#include "learn/stream/feed.h"
#include "base/base.h"
#include "solve/optimize.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct feeding {
    clsi_pieces pieces;
    clsi_problem sample, all; /* the rows in memory; those of the files, and the same conditions */
    clsi_feed feed;
    int drawn;            /* what is loaded are rows 0, 1, ...; else loads in their order: */
    size_t n_loads, load; /* how many, and which one is there; n_loads: none */
    uint64_t *first;      /* (n_loads + 1) windows before each */
} feeding;

/* ---- loads in their order ---- */

static cls_status load_in_order(feeding *f, size_t load) {
    clsi_pieces *p = &f->pieces;
    size_t windows, list[64], begin = load * p->together;
    size_t n = p->n - begin < p->together ? p->n - begin : p->together;
    if (f->load == load) return CLS_OK;
    for (size_t i = 0; i < n; i++) list[i] = begin + i;
    f->load = f->n_loads;
    const cls_learn_options *o = p->w->o;
    if (!o->team && o->interrupted && o->interrupted(o->context))
        p->status = clsi_fail(p->w->error, CLS_INTERRUPTED,
                              "interrupted in a pass over all rows; a checkpoint, where one is "
                              "asked for, has the state before it");
    cls_status status = clsi_pieces_load(p, n, list, &windows);
    p->at.team = NULL; /* ranks share loads */
    if (status == CLS_OK) f->load = load;
    return status;
}

/* The load of a row of all. */
static size_t load_of(const feeding *f, uint64_t window) {
    size_t low = 0, high = f->n_loads;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (f->first[middle] <= window)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static cls_status order_loads(feeding *f) {
    const clsi_pieces *p = &f->pieces;
    f->n_loads = f->load = (p->n + p->together - 1) / p->together;
    f->first = clsi_calloc(f->n_loads + 1, sizeof *f->first);
    for (size_t i = 0; f->first && i < p->n; i++)
        f->first[i / p->together + 1] += p->list[i].windows;
    for (size_t i = 0; f->first && i < f->n_loads; i++) f->first[i + 1] += f->first[i];
    return f->first ? CLS_OK : clsi_no_memory(p->w->error);
}

/* ---- rows ---- */

static size_t regular_of(const clsi_problem *p) {
    return p->n_rows - p->n_conditions;
}

/* Rows of what is loaded. */
static cls_status rows_here(feeding *f, const double *theta, size_t first, size_t count,
                            const size_t *list, double *r, double *J) {
    clsi_residual *of = f->pieces.w->residual;
    clsi_pieces_exchange(&f->pieces);
    cls_status status = clsi_residual_rows(&f->pieces.at, theta, first, count, list, r, J);
    clsi_pieces_exchange(&f->pieces);
    if (status == CLS_OK && of->scale_free)
        status = clsi_residual_divide_rows(of, theta, count, r, J);
    return status;
}

/* How many rows from `at` on are together: drawn ones, or neighbours of one load. */
static size_t run_of(const feeding *f, size_t count, const size_t *rows, size_t at, uint64_t last) {
    size_t end = at + 1, regular = regular_of(&f->all);
    while (end < count && rows[end] < regular &&
           (f->drawn || (rows[end] == rows[end - 1] + 1 && rows[end] < last)))
        end++;
    return end;
}

static cls_status all_jacobian(clsi_problem *p, const double *theta, size_t count,
                               const size_t *rows, double *r, double *J) {
    feeding *f = p->context;
    size_t P = p->n_parameters, regular = regular_of(p);
    cls_status status = CLS_OK;
    for (size_t at = 0, end; at < count && status == CLS_OK; at = end) {
        double *to = J ? J + at * P : NULL;
        if (rows[at] >= regular) {
            size_t row = rows[at] - regular + regular_of(&f->sample);
            status = f->sample.jacobian(&f->sample, theta, 1, &row, r + at, to);
            end = at + 1;
        } else if (f->drawn) {
            end = run_of(f, count, rows, at, 0);
            status = rows_here(f, theta, 0, end - at, rows + at, r + at, to);
        } else {
            size_t load = load_of(f, rows[at] / p->group);
            end = run_of(f, count, rows, at, f->first[load + 1] * p->group);
            status = load_in_order(f, load);
            if (status == CLS_OK)
                status = rows_here(f, theta, rows[at] - (size_t)f->first[load] * p->group, end - at,
                                   NULL, r + at, to);
        }
    }
    return status;
}

static cls_status all_residual(clsi_problem *p, const double *theta, size_t count,
                               const size_t *rows, double *r) {
    return all_jacobian(p, theta, count, rows, r, NULL);
}

/* ---- gradients ---- */

static cls_status gradient_here(feeding *f, const double *theta, size_t count, const size_t *list,
                                double *loss, double *gradient) {
    clsi_pieces_exchange(&f->pieces);
    cls_status status = clsi_residual_gradient(&f->pieces.at, theta, count, list, loss, gradient);
    clsi_pieces_exchange(&f->pieces);
    return status;
}

/* Sum of squares and its gradient over the loads [first, last) into part (1 + P). */
static cls_status add_loads(feeding *f, const double *theta, size_t first, size_t last,
                            double *gradient, double *part) {
    size_t P = f->all.n_parameters;
    cls_status status = CLS_OK;
    for (size_t i = first; i < last && status == CLS_OK; i++) {
        size_t count = (size_t)(f->first[i + 1] - f->first[i]) * f->all.group;
        double loss;
        if (!count) continue;
        status = load_in_order(f, i);
        if (status == CLS_OK) status = gradient_here(f, theta, count, NULL, &loss, gradient);
        if (status != CLS_OK) return status;
        part[0] += (double)count * loss;
        for (size_t j = 0; j < P; j++) part[1 + j] += (double)count * gradient[j];
    }
    return status;
}

/* The sum is made of so many parts, whoever makes them, and those in their order. */
enum { PARTS = 16 };

static cls_status add_parts(feeding *f, const double *theta, double *gradient, double *parts) {
    const cls_team *team = f->all.team;
    size_t size = 1 + f->all.n_parameters;
    int shared = team && team->ranks > 1;
    cls_status status = CLS_OK;
    for (size_t k = 0; k < PARTS && status == CLS_OK; k++)
        if (!shared || team->mine(team->context, "gradient", k, PARTS))
            status =
                add_loads(f, theta, cls_team_first(k, PARTS, f->n_loads),
                          cls_team_first(k + 1, PARTS, f->n_loads), gradient, parts + k * size);
    if (!shared) return status;
    status = cls_team_agree(team, status, f->pieces.w->error);
    return status == CLS_OK ? team->share(team->context, "gradient", NULL, PARTS,
                                          size * sizeof *parts, parts, 0, NULL)
                            : status;
}

static cls_status regular_gradient(feeding *f, const double *theta, double *loss,
                                   double *gradient) {
    size_t P = f->all.n_parameters;
    double *parts = clsi_calloc(PARTS * (1 + P), sizeof *parts);
    cls_status status = parts ? add_parts(f, theta, gradient, parts) : CLS_MEMORY;
    double share = 1 / (double)regular_of(&f->all);
    *loss = 0;
    memset(gradient, 0, P * sizeof *gradient);
    for (size_t k = 0; k < PARTS && status == CLS_OK; k++) {
        const double *part = parts + k * (1 + P);
        *loss += share * part[0];
        for (size_t j = 0; j < P; j++) gradient[j] += share * part[1 + j];
    }
    free(parts);
    return status;
}

/* Conditions: the last rows of the sample's problem. */
static cls_status condition_gradient(feeding *f, const double *theta, double *loss,
                                     double *gradient) {
    size_t n = f->all.n_conditions, *rows = clsi_calloc(n, sizeof *rows);
    if (!rows) return CLS_MEMORY;
    for (size_t i = 0; i < n; i++) rows[i] = regular_of(&f->sample) + i;
    cls_status status = f->sample.gradient(&f->sample, theta, n, rows, loss, gradient);
    free(rows);
    return status;
}

/* Mean of both, each with its share of all rows. */
static cls_status whole_gradient(feeding *f, const double *theta, double *loss, double *gradient) {
    const clsi_problem *p = &f->all;
    clsi_residual *of = f->pieces.w->residual;
    size_t P = p->n_parameters;
    cls_status status = regular_gradient(f, theta, loss, gradient);
    if (status == CLS_OK && of->scale_free)
        status = clsi_residual_divide_loss(of, theta, loss, gradient);
    if (status != CLS_OK || !p->n_conditions) return status;
    double share = (double)p->n_conditions / (double)p->n_rows, other = 0;
    double *own = clsi_calloc(P, sizeof *own);
    status = own ? condition_gradient(f, theta, &other, own) : CLS_MEMORY;
    *loss = (1 - share) * *loss + share * other;
    for (size_t j = 0; own && j < P; j++) gradient[j] = (1 - share) * gradient[j] + share * own[j];
    free(own);
    return status;
}

static cls_status all_gradient(clsi_problem *p, const double *theta, size_t count,
                               const size_t *rows, double *loss, double *gradient) {
    feeding *f = p->context;
    clsi_residual *of = f->pieces.w->residual;
    if (!rows) return whole_gradient(f, theta, loss, gradient);
    if (rows[0] >= regular_of(p)) return condition_gradient(f, theta, loss, gradient);
    cls_status status = gradient_here(f, theta, count, rows, loss, gradient);
    if (status == CLS_OK && of->scale_free)
        status = clsi_residual_divide_loss(of, theta, loss, gradient);
    return status;
}

/* ---- the training ---- */

static cls_status load_drawn(void *context, size_t n, const size_t *pieces, size_t *groups) {
    feeding *f = context;
    return clsi_pieces_load(&f->pieces, n, pieces, groups);
}

static double loss_of_sample(void *context, const double *theta) {
    feeding *f = context;
    return clsi_full_loss(&f->sample, theta);
}

static void set_problem(feeding *f, const clsi_problem *sample) {
    const clsi_pieces *p = &f->pieces;
    f->sample = f->all = *sample;
    f->all.context = f;
    f->all.n_rows = (size_t)p->windows * sample->group + sample->n_conditions;
    f->all.residual = all_residual;
    f->all.jacobian = all_jacobian;
    f->all.gradient = all_gradient;
    f->feed = (clsi_feed){f, p->n, p->together, load_drawn, loss_of_sample, 0};
}

static char *identity_of(const clsi_learner *w, const clsi_training *t) {
    clsi_text what = {0};
    clsi_text_printf(&what, "%s, all of %llu rows", t->optimizer->name,
                     (unsigned long long)w->beyond->rows);
    char *name = clsi_text_take(&what), *all = name ? clsi_learner_identity(w, name) : NULL;
    free(name);
    return all;
}

/* Batches of all rows in the place of those of the sample. One pass at least where the caller does not say how many
 * iterations, and patience for one. */
static cls_status train_drawn(feeding *f, const clsi_training *sample) {
    clsi_learner *w = f->pieces.w;
    clsi_training t = *sample;
    size_t rows = t.batch ? t.batch : t.optimizer->batch(f->all.n_parameters);
    size_t groups = (rows + f->all.group - 1) / f->all.group;
    uint64_t loads = (f->pieces.n + f->pieces.together - 1) / f->pieces.together;
    uint64_t pass = f->pieces.windows / groups + 2 * loads;
    enum { REPORT = 50 }; /* iterations between two reports, at most */
    f->drawn = 1;
    f->all.feed = &f->feed;
    t.problem = &f->all;
    if (w->own_iterations && t.max_iterations < pass) t.max_iterations = pass;
    if (t.patience && t.patience < pass / REPORT) t.patience = pass / REPORT;
    w->o->max_iterations = t.max_iterations; /* for whoever looks at the progress */
    cls_status status = clsi_train_or_resume(w, &t);
    w->info->samples = (size_t)f->feed.used;
    return status;
}

/* ---- all rows in every iteration ---- */

static void begin_here(void *context, uint64_t seed, double *theta) {
    const clsi_learner *w = context;
    (void)seed;
    memcpy(theta, w->begin + CLSI_BEGIN, w->unknowns->n_theta * sizeof *theta);
}

static void keep_begin(void *context, clsi_archive *a) {
    clsi_learner *w = context;
    clsi_archive_doubles(a, CLSI_BEGIN + w->unknowns->n_theta, w->begin);
    clsi_loss_curve_keep(&w->curve, a);
}

/* Was the sample's part over when the checkpoint was written? */
static cls_status is_begun(clsi_learner *w, const clsi_training *t, int *begun) {
    *begun = 0;
    if (!t->resume || !t->checkpoint) return CLS_OK;
    return clsi_checkpoint_head(t->checkpoint, t->identity, CLSI_BEGIN + w->unknowns->n_theta,
                                w->begin, begun, w->error);
}

static const double ENOUGH = 1e-6; /* of the loss: what an iteration over all rows has to gain */

enum { PASSES = 50 }; /* at most, where no number of iterations is given */

static cls_status train_whole(feeding *f, const clsi_training *sample) {
    clsi_learner *w = f->pieces.w;
    clsi_training t = *sample;
    clsi_training_info did = {0};
    int begun;
    t.problem = &f->all;
    t.initialise = begin_here;
    t.restarts = 1;
    t.keep = keep_begin;
    if (w->own_iterations) t.max_iterations = PASSES;
    f->all.enough = ENOUGH;
    cls_status status = is_begun(w, &t, &begun);
    status = cls_team_agree(t.team, status, w->error);
    if (status == CLS_OK && !begun) {
        clsi_training first = *sample;
        char *own = clsi_learner_identity(w, t.optimizer->name);
        first.identity = own;
        status = own ? clsi_train_or_resume(w, &first) : clsi_no_memory(w->error);
        free(own);
    }
    if (status != CLS_OK || w->info->stopped) return status;
    w->o->max_iterations = t.max_iterations;
    clsi_loss_curve_clear(&w->curve);
    status = order_loads(f);
    if (status == CLS_OK) status = clsi_train(&t, w->theta, &did, w->error);
    if (status != CLS_OK) return status;
    w->info->iterations = (uint64_t)w->begin[CLSI_BEGIN_ITERATIONS] + did.iterations;
    w->info->rollout = did.rollout;
    snprintf(w->info->ended, sizeof w->info->ended, "%s", did.reason);
    w->info->samples = (size_t)f->pieces.windows;
    return CLS_OK;
}

cls_status clsi_train_stream(clsi_learner *w, const clsi_training *sample) {
    feeding f = {0};
    clsi_training t = *sample;
    char *what = identity_of(w, sample);
    cls_status status = what ? CLS_OK : clsi_no_memory(w->error);
    t.identity = what;
    if (status == CLS_OK) status = clsi_pieces_open(&f.pieces, w, w->beyond);
    if (status == CLS_OK) {
        set_problem(&f, sample->problem);
        status = t.optimizer->batch ? train_drawn(&f, &t) : train_whole(&f, &t);
        w->info->windows = f.pieces.windows;
    }
    if (f.pieces.status != CLS_OK) status = f.pieces.status;
    clsi_pieces_close(&f.pieces);
    free(f.first);
    free(what);
    return status;
}
