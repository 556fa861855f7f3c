/* The recipe for recordings: short windows first, twice as long from stage to stage, up to whole
 * segments, with scales that the residuals set and with what no parameters explain cut out.
 *
 *  1. windows of max(a quarter of the time scale, 8 rows, 4 states for each channel);
 *  2. Levenberg-Marquardt over parameters and free starts (solve/arrow.h), Huber's loss at two
 *     sigma, sigma = 1.4826 median |r| of each channel, not below its floor; where the first windows leave
 *     more than noise, once more with plain squares before it: what cools down is at rest in most of its
 *     rows, and the few that tell something are no outliers;
 *  3. windows whose root mean square is six times the median (and five floors), at most a quarter
 *     of the rows in all, are cut out and named: pushes that no column records, a slipped sensor;
 *  4. a doubling is refused when it makes the residuals four times larger; once more without its
 *     worst windows, else the length before it was the last;
 *  5. where the motion multiplies a difference of its start by more than 100 a window ends: what
 *     lies behind says nothing about parameters there, and is a window of its own;
 *  6. at the end sigma^2 grows by 1 + 2 sum rho, the autocorrelation of the residuals, so that
 *     channels with slow errors do not count more than they know, and all is fitted once more. */
#include "learn/learner.h"
#include "learn/shooting/multiple.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SHORTEST = 8,
    ITERATIONS = 20,
    LAST_ITERATIONS = 30,
    PATIENCE = 200, /* at the very end: valleys of hidden starts are narrow and curved */
    DECADES = 6,
    DECADE_ITERATIONS = 8
};
static const double HUBER = 2, ENOUGH = 1e-4, LAST_ENOUGH = 1e-7;

typedef struct recipe_work {
    clsi_recipe *r;
    clsi_multiple *m;
    double *list;      /* (rows) */
    size_t *which;     /* (rows) */
    double *rms;       /* (ny): robust scales after the last stage */
    double *old_theta; /* (n_theta) */
    double *old_x;     /* of old_piece */
    clsi_piece *old_piece;
    size_t old_n;
    double *old_rms;
    double *near; /* (n_theta) how large the file says that parameters are; 0: it does not */
    int trying;   /* where to begin: what it finds may be left again */
    cls_error *error;
} recipe_work;

/* ---- scales ---- */

/* sigma of each channel from its residuals; rms gets the same without the floor. */
static int set_scales(recipe_work *k) {
    clsi_multiple *m = k->m;
    if (!clsi_multiple_simulate(m, k->r->theta)) return 0;
    for (size_t c = 0; c < m->ny; c++) {
        size_t n = clsi_multiple_residuals(m, c, k->list, NULL);
        for (size_t i = 0; i < n; i++) k->list[i] = fabs(k->list[i]);
        k->rms[c] = 1.4826 * clsi_median(n, k->list);
        m->sigma[c] = fmax(k->rms[c], m->data->channel[c].floor);
        if (!(m->sigma[c] > 0)) m->sigma[c] = 1;
    }
    return 1;
}

static void first_scales(recipe_work *k) {
    clsi_multiple *m = k->m;
    for (size_t c = 0; c < m->ny; c++) {
        const clsi_channel *ch = &m->data->channel[c];
        m->sigma[c] = fmax(fmax(ch->noise, ch->floor), 0.01 * ch->std);
        if (!(m->sigma[c] > 0)) m->sigma[c] = 1;
    }
}

/* Scales change from stage to stage: the curve is in shares of the columns' spread. */
static void note_loss(void *listener, size_t iterations, double sum) {
    const recipe_work *k = listener;
    const clsi_multiple *m = k->m;
    double share = 0, rows = 0, n = 0;
    for (size_t w = 0; w < m->n_pieces; w++) rows += (double)m->piece[w].n;
    for (size_t c = 0; c < m->ny; c++) {
        double part = m->sigma[c] / m->data->channel[c].std;
        if (!isfinite(part)) continue; /* a column that stands still */
        share += part * part;
        n++;
    }
    clsi_loss_curve_add(k->r->curve, (double)(k->r->iterations + iterations),
                        sqrt(2 * sum / (rows * (double)m->ny) * share / n), NAN);
}

static cls_status minimize_by(recipe_work *k, double huber, size_t iterations, double enough) {
    clsi_wide q;
    clsi_arrow_info info = {0};
    cls_status status = clsi_wide_open(k->m, huber, k->r->theta, &q, k->error);
    if (status != CLS_OK) return status;
    q.arrow.tell = k->r->curve && !k->trying ? note_loss : NULL;
    q.arrow.listener = k;
    status = clsi_arrow_minimize(&q.arrow, iterations, enough, q.theta, k->m->x, &info, k->error);
    clsi_wide_settle(&q, k->r->theta);
    k->r->iterations += info.iterations;
    k->r->loss = info.final;
    k->r->ended = info.reason;
    return status;
}

static cls_status minimize(recipe_work *k, size_t iterations, double enough) {
    return minimize_by(k, HUBER, iterations, enough);
}

/* ---- stages ---- */

static size_t cut_bad(recipe_work *k) {
    return clsi_cut_bad(k->m, k->r->theta, k->list, k->which, &k->r->notes);
}

static cls_status remember(recipe_work *k) {
    clsi_multiple *m = k->m;
    double *x = clsi_calloc(m->n_pieces * m->nz + 1, sizeof *x);
    clsi_piece *piece = clsi_calloc(m->n_pieces + 1, sizeof *piece);
    if (!x || !piece) {
        free(x);
        free(piece);
        return clsi_no_memory(k->error);
    }
    free(k->old_x);
    free(k->old_piece);
    k->old_x = x;
    k->old_piece = piece;
    k->old_n = m->n_pieces;
    memcpy(x, m->x, m->n_pieces * m->nz * sizeof *x);
    memcpy(piece, m->piece, m->n_pieces * sizeof *piece);
    memcpy(k->old_theta, k->r->theta, m->n_theta * sizeof(double));
    memcpy(k->old_rms, k->rms, m->ny * sizeof(double));
    return CLS_OK;
}

static cls_status go_back(recipe_work *k, size_t rows) {
    clsi_multiple *m = k->m;
    memcpy(k->r->theta, k->old_theta, m->n_theta * sizeof(double));
    /* the old windows: a plan of their length, and their starts */
    m->n_pieces = k->old_n;
    free(m->piece);
    free(m->x);
    m->piece = k->old_piece;
    m->x = k->old_x;
    k->old_piece = NULL;
    k->old_x = NULL;
    return clsi_multiple_plan(m, rows, k->r->theta, k->error);
}

static int is_worse(const recipe_work *k) {
    for (size_t c = 0; c < k->m->ny; c++) {
        double std = k->m->data->channel[c].std;
        if (k->rms[c] > 4 * fmax(k->old_rms[c], k->m->data->channel[c].floor) &&
            k->rms[c] > 0.02 * std)
            return 1;
    }
    return 0;
}

/* Windows of so many rows, fitted; twice, with scales between. */
/* Which window has no value, and where it begins. */
static void blame(const recipe_work *k) {
    clsi_multiple *m = k->m;
    clsi_arrow a;
    clsi_multiple_problem(m, 2, &a);
    for (size_t w = 0; w < m->n_pieces && m->system; w++) {
        double *r = clsi_calloc(a.rows(a.context, w) + 1, sizeof *r), sum = 0;
        int fine = r && a.windows(a.context, w, 1, k->r->theta, m->x + w * m->nz, &r, NULL);
        for (size_t i = 0; fine && i < a.rows(a.context, w); i++) sum += r[i];
        free(r);
        if (!r || (fine && isfinite(sum))) continue;
        clsi_text t = {0};
        for (size_t e = 0; e < m->nz; e++)
            clsi_text_printf(&t, "%s%s = %.4g", e ? ", " : "", clsi_point_name(m->system, e),
                             m->x[w * m->nz + e]);
        (void)clsi_fail(k->error, CLS_NUMERIC,
                        "the equations have no finite value in the rows from time %.6g on, where "
                        "the search stood at %.200s (what it tried, not the data): a root or a "
                        "logarithm of something negative? Values "
                        "near its end scatter beyond it by noise; write what is meant there, such "
                        "as sqrt(softplus(h)) or sqrt(softabs(h, 0.001)), or leave these rows out",
                        m->data->time[m->piece[w].first], t.data ? t.data : "");
        clsi_text_clear(&t);
        return;
    }
}

static cls_status run_stage(recipe_work *k, size_t rows, size_t iterations) {
    cls_status status = clsi_multiple_plan(k->m, rows, k->r->theta, k->error);
    if (status == CLS_OK && clsi_cut_long(k->m, k->r->theta) < 0) status = clsi_no_memory(k->error);
    if (status == CLS_OK && (status = minimize(k, iterations, ENOUGH)) == CLS_NUMERIC) blame(k);
    if (status == CLS_OK && !set_scales(k))
        status = clsi_fail(k->error, CLS_NUMERIC, "the fitted motion cannot be simulated");
    k->r->stages++;
    k->r->window = rows;
    return status;
}

/* The loss of one residual: a half where noise is all that is left. */
static double mean_loss(const recipe_work *k) {
    size_t rows = 0;
    for (size_t w = 0; w < k->m->n_pieces; w++) rows += k->m->piece[w].n;
    return k->r->loss / (double)(rows * k->m->ny);
}

/* From the same beginning by squares, then by Huber's loss. */
static cls_status by_squares(recipe_work *k, size_t rows, size_t iterations) {
    first_scales(k);
    cls_status status = clsi_multiple_plan(k->m, rows, k->r->theta, k->error);
    if (status == CLS_OK && clsi_cut_long(k->m, k->r->theta) < 0) status = clsi_no_memory(k->error);
    if (status == CLS_OK) status = minimize_by(k, INFINITY, iterations, ENOUGH);
    return status == CLS_OK ? minimize(k, iterations, ENOUGH) : status;
}

/* Windows and what was found in them. */
typedef struct finding {
    size_t n_pieces;
    clsi_piece *piece;
    double *x, *x_guess, *theta, loss; /* guesses lie behind x */
    const char *ended;
} finding;

/* Theta is copied to theta, which is the caller's. */
static finding finding_of(const recipe_work *k, double *theta) {
    const clsi_multiple *m = k->m;
    memcpy(theta, k->r->theta, m->n_theta * sizeof *theta);
    return (finding){m->n_pieces, m->piece, m->x, m->x_guess, theta, k->r->loss, k->r->ended};
}

static void set_finding(recipe_work *k, const finding *f) {
    clsi_multiple *m = k->m;
    m->n_pieces = f->n_pieces;
    m->piece = f->piece;
    m->x = f->x;
    m->x_guess = f->x_guess;
    memcpy(k->r->theta, f->theta, m->n_theta * sizeof *f->theta);
    k->r->loss = f->loss;
    k->r->ended = f->ended;
}

/* Where short windows cannot tell two parameters apart, a search may leave along their valley for sizes from which it
 * never comes back: a resistance beside a capacitor of 1e100. FAR: how many times what the file says (`unknown near
 * 0.03`) is such a size; WITHIN: how far a search goes that stays. */
static const double FAR = 100, WITHIN = 10;

/* What the file says of a parameter (0: nothing). */
static void note_near(recipe_work *k) {
    for (size_t i = 0; i < k->m->n_theta; i++)
        k->near[i] = k->r->open && !k->r->open[i] ? fabs(k->r->theta[i]) : 0;
}

static int ran_away(const recipe_work *k) {
    int far = 0;
    for (size_t i = 0; i < k->m->n_theta; i++)
        far |= k->near[i] > 0 && fabs(k->r->theta[i]) > FAR * k->near[i];
    return far;
}

/* From the same beginning, not far from what the file says. */
static cls_status within(recipe_work *k, size_t rows, size_t iterations) {
    clsi_multiple *m = k->m;
    size_t P = m->n_theta;
    const double *all_low = m->low, *all_high = m->high;
    double *low = clsi_calloc(2 * P + 1, sizeof *low), *high = low + P;
    if (!low) return clsi_no_memory(k->error);
    for (size_t i = 0; i < P; i++) {
        double size = k->near[i] > 0 ? WITHIN * k->near[i] : INFINITY;
        low[i] = fmax(all_low[i], -size);
        high[i] = fmin(all_high[i], size);
    }
    m->low = low;
    m->high = high;
    first_scales(k);
    cls_status status = run_stage(k, rows, iterations);
    m->low = all_low;
    m->high = all_high;
    free(low);
    return status;
}

/* What was found leaves this much; from theta at the beginning, (3, n_theta) with room, the search is made once more in
 * another way, and what leaves less goes on. */
static cls_status once_more(recipe_work *k, double *begin, size_t rows, size_t iterations,
                            cls_status (*way)(recipe_work *k, size_t rows, size_t iterations)) {
    size_t P = k->m->n_theta;
    double left = mean_loss(k);
    cls_status status = CLS_OK;
    finding one = finding_of(k, begin + P), none = {.theta = begin, .ended = one.ended};
    set_finding(k, &none); /* starts from the data */
    cls_error quiet = {0}, *loud = k->error;
    k->error = &quiet;
    cls_status other = way(k, rows, iterations);
    k->error = loud;
    finding two = finding_of(k, begin + 2 * P);
    int better = other == CLS_OK && mean_loss(k) < left && set_scales(k);
    finding *worse = better ? &one : &two;
    if (!better) set_finding(k, &one);
    free(worse->piece);
    free(worse->x);
    if (other == CLS_MEMORY)
        status = clsi_no_memory(k->error);
    else if (!better && !set_scales(k))
        status = clsi_fail(k->error, CLS_NUMERIC, "the fitted motion cannot be simulated");
    return status;
}

/* The first windows. Huber's loss pulls rows that are far away with a constant force only, and many rows in which
 * nothing happens can hold parameters where the few in which something does are never explained. Where more than noise is left the search is begun
 * once more by squares; where parameters left for sizes that nobody said, not far from what was said. */
static cls_status first_stage(recipe_work *k, size_t rows, size_t iterations) {
    size_t P = k->m->n_theta;
    double *begin = clsi_calloc(3 * P + 1, sizeof *begin);
    if (!begin) return clsi_no_memory(k->error);
    memcpy(begin, k->r->theta, P * sizeof *begin);
    cls_status status = run_stage(k, rows, iterations);
    if (status == CLS_OK && mean_loss(k) > 1 && !clsi_multiple_is_over(k->m))
        status = once_more(k, begin, rows, iterations, by_squares);
    if (status == CLS_OK && ran_away(k) && !clsi_multiple_is_over(k->m))
        status = once_more(k, begin, rows, iterations, within);
    free(begin);
    return status;
}

static size_t first_rows(const clsi_multiple *m) {
    double rows = m->data->time_scale / 4 / m->data->interval;
    rows = fmax(rows, SHORTEST);
    return (size_t)ceil(fmax(rows, 4.0 * (double)m->nz / (double)m->ny));
}

static size_t longest(const clsi_multiple *m) {
    size_t most = 0;
    for (size_t s = 0; s < m->data->n_segments; s++)
        if (m->data->segment[s].train > most) most = m->data->segment[s].train;
    return most;
}

static cls_status grow(recipe_work *k, size_t rows) {
    size_t most = longest(k->m);
    cls_status status = CLS_OK;
    while (rows < most && status == CLS_OK && !clsi_multiple_is_over(k->m)) {
        size_t next = 2 * rows < most ? 2 * rows : most;
        status = remember(k);
        if (status == CLS_OK) status = run_stage(k, next, ITERATIONS);
        if (status == CLS_OK && is_worse(k) && cut_bad(k)) status = run_stage(k, next, ITERATIONS);
        if (status != CLS_OK || is_worse(k)) {
            clsi_text_printf(
                &k->r->notes,
                "windows of %zu rows (%.3g) are explained far worse than those of %zu, "
                "which were kept\n",
                next, (double)next * k->m->data->interval, rows);
            status = go_back(k, rows);
            if (status == CLS_OK && !set_scales(k)) status = CLS_NUMERIC;
            k->r->window = rows;
            break;
        }
        cut_bad(k);
        rows = next;
    }
    return status;
}

/* 1 + 2 sum of the autocorrelation while it is positive, of the residuals inside of windows: what a
 * mean of them is worth. Slow misfit counts here, which the autoregression of doubt.c would forget. */
static double inflation_of(size_t n, const double *r, const size_t *which) {
    double sum = 1, power = 0;
    for (size_t i = 0; i < n; i++) power += r[i] * r[i] / (double)n;
    for (size_t lag = 1; lag < n / 4 && power > 0; lag++) {
        double product = 0;
        size_t count = 0;
        for (size_t i = 0; i + lag < n; i++) {
            if (which[i] != which[i + lag]) continue;
            product += r[i] * r[i + lag];
            count++;
        }
        double rho = count > 4 ? product / (double)count / power : 0;
        if (rho <= 2 / sqrt((double)n)) break;
        sum += 2 * rho;
    }
    return sum;
}

static cls_status inflate(recipe_work *k) {
    clsi_multiple *m = k->m;
    if (!clsi_multiple_simulate(m, k->r->theta)) return CLS_NUMERIC;
    for (size_t c = 0; c < m->ny; c++) {
        size_t n = clsi_multiple_residuals(m, c, k->list, k->which);
        double limit = 3 * m->sigma[c]; /* outliers say nothing of correlation */
        for (size_t i = 0; i < n; i++) k->list[i] = fmax(fmin(k->list[i], limit), -limit);
        k->r->inflation[c] = inflation_of(n, k->list, k->which);
        m->sigma[c] *= sqrt(k->r->inflation[c]);
    }
    return CLS_OK;
}

/* Where a search with no more than bounds begins: short windows tell which order of magnitude the
 * parameters have. All that are open are made smaller together, ten times each time; a few
 * iterations of each, and the best goes on. */
static cls_status find_start(recipe_work *k, size_t rows) {
    clsi_recipe *r = k->r;
    size_t P = k->m->n_theta;
    double best = INFINITY, *begin = clsi_calloc(2 * P + 1, sizeof *begin), *found = begin + P;
    if (!begin) return clsi_no_memory(k->error);
    memcpy(begin, r->theta, P * sizeof *begin);
    memcpy(found, r->theta, P * sizeof *begin);
    cls_status status = CLS_OK;
    int open = 0;
    for (size_t i = 0; i < P && r->open; i++) open |= r->open[i];
    k->trying = 1;
    for (int decade = 0; decade < DECADES && open && status == CLS_OK; decade++) {
        for (size_t i = 0; i < P; i++) {
            double small = begin[i] * pow(10, -decade);
            r->theta[i] = r->open[i] && small > k->m->low[i] ? small : begin[i];
        }
        k->m->n_pieces = 0; /* starts from the data, not from the last trial */
        status = clsi_multiple_plan(k->m, rows, r->theta, k->error);
        cls_error quiet = {0}, *loud = k->error;
        k->error = &quiet;
        if (status == CLS_OK && clsi_cut_long(k->m, r->theta) >= 0 &&
            minimize(k, DECADE_ITERATIONS, ENOUGH) == CLS_OK && r->loss < best) {
            best = r->loss;
            memcpy(found, r->theta, P * sizeof *found);
        }
        k->error = loud;
    }
    k->trying = 0;
    memcpy(r->theta, found, P * sizeof *found);
    k->m->n_pieces = 0;
    free(begin);
    return status;
}

/* Longer windows; what was found is known by its scatter. */
static cls_status refine(recipe_work *k, size_t rows) {
    cls_status status = run_stage(k, rows, ITERATIONS);
    if (status == CLS_OK && cut_bad(k)) status = run_stage(k, rows, ITERATIONS);
    if (status == CLS_OK) status = grow(k, rows);
    if (status == CLS_OK) status = inflate(k);
    if (status == CLS_OK) status = run_stage(k, k->r->window, 0);
    return status;
}

static cls_status cook(recipe_work *k) {
    size_t rows = first_rows(k->m), most = longest(k->m);
    if (rows > most) rows = most;
    first_scales(k);
    note_near(k);
    cls_status status = find_start(k, rows);
    if (status == CLS_OK) status = first_stage(k, rows, 2 * LAST_ITERATIONS);
    if (status == CLS_OK && !clsi_multiple_is_over(k->m)) status = refine(k, rows);
    if (status == CLS_OK) status = inflate(k);
    if (status == CLS_OK && !clsi_multiple_is_over(k->m))
        status = minimize(k, PATIENCE, LAST_ENOUGH);
    clsi_beginnings_note(k->m);
    if (status == CLS_OK) clsi_beginnings_tell(k->m, &k->r->notes);
    if (status == CLS_OK && !clsi_multiple_is_over(k->m) && strcmp(k->r->ended, "iterations") == 0)
        clsi_text_printf(
            &k->r->notes,
            "the search was still getting better after %d iterations: values may be off by "
            "more than their errors say\n",
            PATIENCE);
    return status;
}

static cls_status open_kitchen(clsi_recipe *r, recipe_work *k, cls_error *error) {
    clsi_multiple *m = r->m;
    *k = (recipe_work){.r = r, .m = m, .error = error};
    k->list = clsi_calloc(m->data->n + 1, sizeof *k->list);
    k->which = clsi_calloc(m->data->n + 1, sizeof *k->which);
    k->rms = clsi_calloc(2 * m->ny + 2 * m->n_theta + 1, sizeof *k->rms);
    if (!r->inflation) r->inflation = clsi_calloc(m->ny, sizeof *r->inflation);
    if (!k->list || !k->which || !k->rms || !r->inflation) return clsi_no_memory(error);
    k->old_rms = k->rms + m->ny;
    k->old_theta = k->old_rms + m->ny;
    k->near = k->old_theta + m->n_theta;
    return CLS_OK;
}

static void close_kitchen(recipe_work *k) {
    free(k->list);
    free(k->which);
    free(k->rms);
    free(k->old_x);
    free(k->old_piece);
}

cls_status clsi_recipe_run(clsi_recipe *r, cls_error *error) {
    recipe_work k;
    cls_status status = open_kitchen(r, &k, error);
    if (status == CLS_OK) status = cook(&k);
    close_kitchen(&k);
    return status;
}

cls_status clsi_recipe_stage(clsi_recipe *r, size_t rows, int last, cls_error *error) {
    recipe_work k;
    size_t most = longest(r->m);
    cls_status status = open_kitchen(r, &k, error);
    if (rows > most) rows = most;
    int first = !r->m->n_pieces;
    if (status == CLS_OK && first) first_scales(&k);
    if (status == CLS_OK)
        status = first ? first_stage(&k, rows, ITERATIONS) : run_stage(&k, rows, ITERATIONS);
    if (status == CLS_OK)
        status = minimize(&k, last ? PATIENCE : ITERATIONS, last ? LAST_ENOUGH : ENOUGH);
    if (status == CLS_OK && !set_scales(&k))
        status = clsi_fail(error, CLS_NUMERIC, "the fitted motion cannot be simulated");
    close_kitchen(&k);
    return status;
}

cls_status clsi_recipe_search(clsi_recipe *r, size_t rows, cls_error *error) {
    recipe_work k;
    cls_status status = open_kitchen(r, &k, error);
    if (status == CLS_OK) first_scales(&k);
    if (status == CLS_OK) status = find_start(&k, rows);
    close_kitchen(&k);
    return status;
}

size_t clsi_recipe_first(const clsi_multiple *m) {
    size_t rows = first_rows(m), most = longest(m);
    return rows < most ? rows : most;
}

size_t clsi_recipe_longest(const clsi_multiple *m) {
    return longest(m);
}
