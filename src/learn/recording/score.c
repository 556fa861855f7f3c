/* Scores on rows that were kept back, in the units of the columns, beside models that know nothing.
 *
 * A free run goes on from the state at the last row that was learned from. A prediction over a
 * horizon begins with a state that is fitted to the rows before it (parameters fixed), a sixteenth of
 * the time scale, half of it where a state is hidden; it is compared with all rows of the horizon. Beside them: the
 * last value; a linear model y_k = sum_i A_i y_k-i + b fitted to the rows learned from, which
 * takes rows for equally distant. */
#include "learn/shooting/multiple.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ARX = 2 };

typedef struct error_sum {
    double square, count;
} error_sum;

static void add_error(error_sum *e, double difference) {
    e->square += difference * difference;
    e->count++;
}

static double rmse(const error_sum *e) {
    return e->count > 0 ? sqrt(e->square / e->count) : NAN;
}

/* One trajectory's rows: [begin, train) to learn from, [train, end) kept back. */
typedef struct passage {
    size_t begin, train, end, segment;
} passage;

static passage passage_of(const clsi_recording *d, size_t trajectory) {
    passage p = {SIZE_MAX, 0, 0, 0};
    for (size_t s = 0; s < d->n_segments; s++) {
        const clsi_segment *g = &d->segment[s];
        if (g->trajectory != trajectory) continue;
        if (p.begin == SIZE_MAX) {
            p.begin = p.train = g->first;
            p.segment = s;
        }
        if (g->train) {
            p.train = g->first + g->train;
            p.segment = s;
        }
        p.end = g->end;
    }
    return p;
}

static size_t segment_of(const clsi_recording *d, size_t row) {
    for (size_t s = 0; s < d->n_segments; s++)
        if (row >= d->segment[s].first && row < d->segment[s].end) return s;
    return 0;
}

/* ---- states from rows ---- */

/* Priors (nz) of a start of a trajectory: integrals of inputs begin anywhere where nobody knows where it begins. */
static void priors_of(const clsi_multiple *m, size_t trajectory, double *prior) {
    const clsi_integrals *f = m->integrals;
    memcpy(prior, m->prior, m->nz * sizeof *prior);
    for (size_t k = 0; f && k < f->n && !clsi_beginnings_known(m, trajectory); k++)
        prior[f->state[k]] = 10 * clsi_integrals_size(f, m->data->n, k);
}

cls_status clsi_fit_state(clsi_multiple *m, const double *theta, size_t first, size_t n,
                          const double *from, double *x, cls_error *error) {
    clsi_piece piece = {first, n, segment_of(m->data, first)};
    double *own = clsi_calloc(3 * m->nz + 1, sizeof *own), *prior = own ? own + 2 * m->nz : NULL;
    const clsi_multiple before = *m;
    clsi_arrow a;
    clsi_arrow_info info;
    cls_error quiet = {0};
    if (!own) return clsi_no_memory(error);
    cls_status status = CLS_OK;
    if (from)
        memcpy(own, from, m->nz * sizeof *own);
    else
        status = clsi_multiple_start(m, theta, piece.segment, first, own, &quiet);
    memcpy(own + m->nz, own, m->nz * sizeof *own);
    priors_of(m, m->data->segment[piece.segment].trajectory, prior);
    m->prior = prior;
    m->piece = &piece;
    m->n_pieces = 1;
    m->x = own;
    m->x_guess = own + m->nz;
    m->low = m->high = theta;
    clsi_multiple_problem(m, 2, &a);
    double *fixed = clsi_calloc(m->n_theta + 1, sizeof *fixed);
    if (!fixed) status = clsi_no_memory(error);
    if (status == CLS_OK) {
        if (m->n_theta) memcpy(fixed, theta, m->n_theta * sizeof *fixed);
        status = clsi_arrow_minimize(&a, 15, 1e-6, fixed, own, &info, &quiet);
    }
    memcpy(x, own, m->nz * sizeof *x);
    free(fixed);
    free(own);
    *m = before;
    return status;
}

/* The window that ends last before the row, NULL: none of its trajectory. */
static const clsi_piece *last_piece(const clsi_multiple *m, const passage *p, size_t *w) {
    const clsi_piece *found = NULL;
    for (size_t i = 0; i < m->n_pieces; i++) {
        const clsi_piece *q = &m->piece[i];
        if (q->first < p->begin || q->first + q->n > p->train) continue;
        if (found && found->first > q->first) continue;
        found = q;
        *w = i;
    }
    return found;
}

size_t clsi_state_rows(const clsi_multiple *m) {
    double share = 16;
    for (size_t e = 0; e < m->nz; e++)
        if (m->hidden[e]) share = 2; /* what no column says is known by what it does */
    double rows = fmax(8, m->data->time_scale / share / m->data->interval);
    return (size_t)ceil(fmax(rows, 4.0 * (double)m->nz / (double)m->ny));
}

/* ---- free runs ---- */

/* Where a free run over [p->train, p->end) begins: a row and a state. */
static int run_start(clsi_multiple *m, const double *theta, const passage *p, size_t *row,
                     double *z) {
    size_t w = 0, n = clsi_state_rows(m);
    const clsi_piece *piece = last_piece(m, p, &w);
    if (piece) {
        *row = piece->first;
        memcpy(z, m->x + w * m->nz, m->nz * sizeof *z);
        return 1;
    }
    size_t first = p->begin, last = p->train > p->begin ? p->train : p->end;
    if (last == p->train && last - first > n) first = last - n; /* the rows before */
    if (n > last - first) n = last - first;
    *row = first;
    return clsi_fit_state(m, theta, first, n, NULL, z, NULL) == CLS_OK;
}

static int free_run(clsi_multiple *m, const double *theta, const passage *p, error_sum *sums) {
    size_t row = 0, ny = m->ny;
    double *z = clsi_calloc(m->nz + 1, sizeof *z);
    int fine = z && run_start(m, theta, p, &row, z);
    if (fine)
        fine = clsi_track_run(m->track[0], theta, clsi_signal_of(m->data, p->segment), z,
                              p->end - row, m->data->time + row, m->y_scratch, NULL, NULL);
    for (size_t i = p->train; i < p->end && fine; i++)
        for (size_t c = 0; c < ny; c++) {
            double y = m->data->y[i * ny + c];
            if (isfinite(y))
                add_error(&sums[c], clsi_difference(&m->data->channel[c],
                                                    m->y_scratch[(i - row) * ny + c], y));
        }
    free(z);
    return fine;
}

/* ---- trivial models ---- */

typedef struct arx {
    size_t ny, n; /* n = ny ARX + nu + 1 coefficients for each channel */
    double *a;    /* (ny, n) */
    double *mean; /* (ny) of the rows learned from; values are differences from them */
} arx;

/* Over the rows that were learned from; zero of none. */
static double mean_of(const clsi_recording *d, size_t c) {
    double sum = 0, count = 0;
    for (size_t s = 0; s < d->n_segments; s++) {
        const clsi_segment *g = &d->segment[s];
        for (size_t i = g->first; i < g->first + g->train; i++) {
            double y = d->y[i * d->ny + c];
            sum += isfinite(y) ? y : 0;
            count += isfinite(y) != 0;
        }
    }
    return count > 0 ? sum / count : 0;
}

static int usable(const clsi_recording *d, size_t i) {
    for (size_t k = 0; k <= ARX; k++)
        for (size_t c = 0; c < d->ny; c++)
            if (!isfinite(d->y[(i - k) * d->ny + c])) return 0;
    return i > 0;
}

static void arx_row(const clsi_recording *d, const arx *x, size_t i, const double *y, double *row) {
    for (size_t k = 1; k <= ARX; k++)
        for (size_t c = 0; c < d->ny; c++)
            row[(k - 1) * d->ny + c] = *(y - k * d->ny + c) - x->mean[c];
    for (size_t k = 0; k < d->nu; k++) {
        double u = d->u[(i - 1) * d->nu + k];
        row[ARX * d->ny + k] = isfinite(u) ? u : 0;
    }
    row[ARX * d->ny + d->nu] = 1;
}

static int fit_arx(const clsi_recording *d, arx *x) {
    size_t ny = d->ny, n = x->n = ny * ARX + d->nu + 1;
    x->ny = ny;
    x->a = clsi_calloc(ny * n + n * n * 2 + n * ny + n + ny, sizeof *x->a);
    if (!x->a) return 0;
    double *S = x->a + ny * n, *C = S + n * n, *b = C + n * n, *row = b + n * ny;
    x->mean = row + n;
    for (size_t c = 0; c < ny; c++) x->mean[c] = mean_of(d, c);
    unsigned char *hidden = clsi_calloc(n, 1);
    for (size_t s = 0; s < d->n_segments && hidden; s++) {
        const clsi_segment *g = &d->segment[s];
        for (size_t i = g->first + ARX; i < g->first + g->train; i++) {
            if (!usable(d, i)) continue;
            arx_row(d, x, i, d->y + i * ny, row);
            for (size_t p = 0; p < n; p++) {
                for (size_t q = 0; q < n; q++) S[p * n + q] += row[p] * row[q];
                for (size_t c = 0; c < ny; c++)
                    b[c * n + p] += row[p] * (d->y[i * ny + c] - x->mean[c]);
            }
        }
    }
    int fine = hidden && clsi_seen_inverse(n, S, 1e-12, C, hidden) >= 0;
    for (size_t c = 0; c < ny && fine; c++)
        for (size_t p = 0; p < n; p++)
            for (size_t q = 0; q < n; q++) x->a[c * n + p] += C[p * n + q] * b[c * n + q];
    free(hidden);
    return fine;
}

/* Runs from row `at` (its values and those before are known) to row `end`. */
static void run_arx(const clsi_recording *d, const arx *x, size_t at, size_t end, double *scratch,
                    error_sum *sums) {
    size_t ny = d->ny;
    double *row = scratch + (end - at + ARX) * ny;
    for (size_t k = 0; k < ARX; k++)
        for (size_t c = 0; c < ny; c++) { /* where a value is missing, the last one there was */
            size_t from = at - ARX + 1 + k;
            while (from > 0 && !isfinite(d->y[from * ny + c])) from--;
            double y = d->y[from * ny + c];
            scratch[k * ny + c] = isfinite(y) ? y : x->mean[c];
        }
    for (size_t i = at + 1; i < end; i++) {
        double *y = scratch + (i - at + ARX - 1) * ny;
        arx_row(d, x, i, y, row);
        for (size_t c = 0; c < ny; c++) {
            double sum = 0, limit = 100 * d->channel[c].std;
            for (size_t p = 0; p < x->n; p++) sum += x->a[c * x->n + p] * row[p];
            y[c] = x->mean[c] + fmin(fmax(sum, -limit), limit); /* unstable ones stay finite */
            double measured = d->y[i * ny + c];
            if (isfinite(measured))
                add_error(&sums[c], clsi_difference(&d->channel[c], y[c], measured));
        }
    }
}

static void run_persistence(const clsi_recording *d, size_t at, size_t end, error_sum *sums) {
    for (size_t c = 0; c < d->ny; c++) {
        double last = NAN;
        for (size_t i = at + 1; i-- > 0 && !isfinite(last);) last = d->y[i * d->ny + c];
        for (size_t i = at + 1; i < end; i++)
            if (isfinite(d->y[i * d->ny + c]))
                add_error(&sums[c], clsi_difference(&d->channel[c], last, d->y[i * d->ny + c]));
    }
}

/* The mean of what was learned from, over rows [at, end). */
static void run_mean(const clsi_recording *d, size_t at, size_t end, error_sum *sums) {
    for (size_t c = 0; c < d->ny; c++) {
        double mean = mean_of(d, c);
        for (size_t i = at; i < end; i++)
            if (isfinite(d->y[i * d->ny + c]))
                add_error(&sums[c], clsi_difference(&d->channel[c], mean, d->y[i * d->ny + c]));
    }
}

/* ---- predictions ---- */

enum { MOST_PREDICTIONS = 200 };
static const double UNEXPLAINED = 6; /* times the median: no start explains these rows */

/* One horizon's worth of rows [begin, end): how far model, last value and linear model are off, and
 * how far the model is with a start that is fitted to these very rows. */
typedef struct prediction {
    size_t begin, end;
    error_sum *sums; /* (3, ny) */
    double *own;     /* (ny) */
} prediction;

static void add_run(const clsi_multiple *m, size_t first, size_t begin, size_t end,
                    error_sum *sums) {
    const clsi_recording *d = m->data;
    for (size_t k = begin; k < end; k++)
        for (size_t c = 0; c < m->ny; c++) {
            double y = d->y[k * m->ny + c], model = m->y_scratch[(k - first) * m->ny + c];
            if (isfinite(y)) add_error(&sums[c], clsi_difference(&d->channel[c], model, y));
        }
}

/* A run from a start that is fitted to rows [first, first + n), to row `end`. */
static int fitted_run(clsi_multiple *m, const double *theta, size_t segment, size_t first, size_t n,
                      size_t end, double *z) {
    return clsi_fit_state(m, theta, first, n, NULL, z, NULL) == CLS_OK &&
           clsi_track_run(m->track[0], theta, clsi_signal_of(m->data, segment), z, end - first,
                          m->data->time + first, m->y_scratch, NULL, NULL);
}

static void predict(clsi_multiple *m, const double *theta, size_t segment, const arx *x,
                    double *scratch, double *z, prediction *p) {
    size_t ny = m->ny, back = clsi_state_rows(m), first = p->begin - back;
    if (fitted_run(m, theta, segment, first, back, p->end, z))
        add_run(m, first, p->begin, p->end, p->sums);
    run_persistence(m->data, p->begin - 1, p->end, p->sums + ny);
    if (x->a) run_arx(m->data, x, p->begin - 1, p->end, scratch, p->sums + 2 * ny);
    error_sum *own = p->sums + 3 * ny;
    if (fitted_run(m, theta, segment, p->begin, p->end - p->begin, p->end, z))
        add_run(m, p->begin, p->begin, p->end, own);
    for (size_t c = 0; c < ny; c++) p->own[c] = own[c].count > 0 ? rmse(&own[c]) : INFINITY;
}

/* All predictions of a passage, from *n on. */
static void predict_passage(clsi_multiple *m, const double *theta, const passage *p, double horizon,
                            const arx *x, double *scratch, double *z, prediction *list, size_t *n) {
    const clsi_recording *d = m->data;
    size_t back = clsi_state_rows(m), i = p->train > p->begin + back ? p->train : p->begin + back;
    while (i < p->end && *n < MOST_PREDICTIONS) {
        size_t end = i, s = segment_of(d, i - 1);
        while (end < p->end && d->time[end] - d->time[i - 1] <= horizon * (1 + 1e-9)) end++;
        int inside = i - back >= d->segment[s].first && end <= d->segment[s].end;
        double reach = end > i ? d->time[end - 1] - d->time[i - 1] : 0;
        /* a shorter rest says nothing of the horizon */
        if (inside && end >= i + 3 && reach > horizon - 1.5 * d->interval) {
            list[*n].begin = i;
            list[*n].end = end;
            predict(m, theta, s, x, scratch, z, &list[(*n)++]);
        }
        i = end > i ? end : i + 1;
    }
}

/* Those that no start explains are no fault of the parameters: an unknown force acted. */
static int is_unexplained(const clsi_multiple *m, size_t n, const prediction *list, size_t i,
                          double *sorted) {
    for (size_t c = 0; c < m->ny && n >= 5; c++) {
        for (size_t k = 0; k < n; k++) sorted[k] = list[k].own[c];
        double middle = clsi_median(n, sorted);
        const clsi_channel *ch = &m->data->channel[c];
        if (list[i].own[c] > fmax(UNEXPLAINED * middle, 5 * fmax(ch->floor, ch->noise))) return 1;
    }
    return 0;
}

/* ---- all of it ---- */

static const double MISFIT = 1.6; /* times the noise, whose estimate is good to a third */

/* What is left is more than noise: errors, which are those of noise, do not contain it. */
static void tell_misfit(const clsi_channel *ch, double left, clsi_text *notes) {
    if (!(left > MISFIT * ch->noise && left > 1e-3 * ch->std && ch->noise > 0)) return;
    clsi_text_printf(notes,
                     "%s is fitted to %.2g, %.2g times its noise: the model or its inputs lack "
                     "something, which the standard errors do not contain\n",
                     ch->name, left, left / ch->noise);
}

/* Values of a channel that there are to learn from. */
static size_t count_given(const clsi_recording *d, size_t c) {
    size_t n = 0;
    for (size_t s = 0; s < d->n_segments; s++)
        for (size_t i = 0; i < d->segment[s].train; i++)
            n += isfinite(d->y[(d->segment[s].first + i) * d->ny + c]) != 0;
    return n;
}

static const double MOST_ROWS = 0.5; /* a fit of fewer than that is one of something else */

/* Rows that no window has, or that were cut out. 1: most of them. */
static int lacks_rows(const cls_learned_channel *ch, clsi_text *notes) {
    if ((double)ch->rows >= MOST_ROWS * (double)ch->given) return 0;
    clsi_text_printf(notes,
                     "%s: only %zu of %zu rows are explained, the others were left out: whatever "
                     "it is fitted to, this is no model of the recording\n",
                     ch->name, ch->rows, ch->given);
    return 1;
}

static void fitted_errors(clsi_multiple *m, const double *theta, cls_learn_report *report,
                          clsi_text *notes, double *list) {
    if (!clsi_multiple_simulate(m, theta)) return;
    for (size_t c = 0; c < m->ny; c++) {
        size_t n = clsi_multiple_residuals(m, c, list, NULL);
        double sum = 0;
        for (size_t i = 0; i < n; i++) sum += list[i] * list[i];
        report->channels[c].fitted = n ? sqrt(sum / (double)n) : NAN;
        report->channels[c].rows = n;
        report->channels[c].given = count_given(m->data, c);
        tell_misfit(&m->data->channel[c], report->channels[c].fitted, notes);
    }
}

static void compare_runs(clsi_multiple *m, const double *theta, const double *before, const arx *x,
                         double *scratch, error_sum *sums, cls_learn_report *report) {
    const clsi_recording *d = m->data;
    size_t ny = m->ny;
    int fails = 0, fails_before = 0;
    memset(sums, 0, 5 * ny * sizeof *sums);
    for (size_t t = 0; t < d->n_trajectories; t++) {
        passage p = passage_of(d, t);
        if (p.train >= p.end) continue;
        fails |= !free_run(m, theta, &p, sums);
        if (before) fails_before |= !free_run(m, before, &p, sums + ny);
        size_t at = p.train > p.begin + ARX ? p.train - 1 : p.begin + ARX - 1;
        run_persistence(d, at, p.end, sums + 2 * ny);
        run_mean(d, p.train, p.end, sums + 4 * ny);
        if (x->a && at + 1 >= ARX) run_arx(d, x, at, p.end, scratch, sums + 3 * ny);
    }
    for (size_t c = 0; c < ny; c++) {
        cls_learned_channel *ch = &report->channels[c];
        ch->test_rows = (size_t)sums[4 * ny + c].count; /* also where the model cannot be run */
        ch->run = fails ? INFINITY : rmse(&sums[c]);
        ch->run_before = fails_before ? INFINITY : rmse(&sums[ny + c]); /* NAN: not asked for */
        ch->run_persistence = rmse(&sums[2 * ny + c]);
        ch->run_arx = rmse(&sums[3 * ny + c]);
        ch->run_mean = rmse(&sums[4 * ny + c]);
    }
}

static void put_predictions(const clsi_multiple *m, size_t n, const prediction *list,
                            double *sorted, error_sum *sums, size_t h, cls_learn_report *report,
                            clsi_text *notes) {
    size_t ny = m->ny;
    memset(sums, 0, 3 * ny * sizeof *sums);
    for (size_t i = 0; i < n; i++) {
        if (is_unexplained(m, n, list, i, sorted)) {
            clsi_text_printf(
                notes,
                "not scored %.3g ahead: %g to %g of the rows kept back, which no start "
                "explains\n",
                report->horizon[h], m->data->time[list[i].begin], m->data->time[list[i].end - 1]);
            continue;
        }
        for (size_t k = 0; k < 3 * ny; k++) {
            sums[k].square += list[i].sums[k].square;
            sums[k].count += list[i].sums[k].count;
        }
    }
    for (size_t c = 0; c < ny; c++) {
        report->channels[c].ahead[h] = rmse(&sums[c]);
        report->channels[c].ahead_persistence[h] = rmse(&sums[ny + c]);
        report->channels[c].ahead_arx[h] = rmse(&sums[2 * ny + c]);
    }
}

static cls_status compare_predictions(clsi_multiple *m, const double *theta, const arx *x,
                                      double *scratch, error_sum *sums, cls_learn_report *report,
                                      clsi_text *notes, cls_error *error) {
    const clsi_recording *d = m->data;
    size_t ny = m->ny, n;
    prediction *list = clsi_calloc(MOST_PREDICTIONS, sizeof *list);
    error_sum *room = clsi_calloc(MOST_PREDICTIONS * 4 * ny, sizeof *room);
    double *own = clsi_calloc(MOST_PREDICTIONS * (ny + 1) + m->nz + 1, sizeof *own);
    double *sorted = own ? own + MOST_PREDICTIONS * ny : NULL;
    cls_status status = list && room && own ? CLS_OK : clsi_no_memory(error);
    for (size_t h = 0; h < report->n_horizons && status == CLS_OK; h++) {
        memset(room, 0, MOST_PREDICTIONS * 4 * ny * sizeof *room);
        for (size_t i = 0; i < MOST_PREDICTIONS; i++)
            list[i] = (prediction){.sums = room + i * 4 * ny, .own = own + i * ny};
        n = 0;
        for (size_t t = 0; t < d->n_trajectories; t++) {
            passage p = passage_of(d, t);
            if (p.train < p.end)
                predict_passage(m, theta, &p, report->horizon[h], x, scratch,
                                sorted + MOST_PREDICTIONS, list, &n);
        }
        put_predictions(m, n, list, sorted, sums, h, report, notes);
    }
    free(list);
    free(room);
    free(own);
    return status;
}

/* Better than every trivial model where it was compared: in the free run, or where that is beyond
 * anybody, at some horizon. */
static const double MARGIN = 0.95; /* less is luck */
static const double EXACT = 1.5;   /* times the noise: its estimate is good to a third */
static const double LUCK = 2.5;    /* times the noise: what one noisy last value may be off by */

/* Nobody has to beat a linear model where both are exact: at the noise, or at a thousandth of what
 * the last value is off by. */
static int loses(double run, double other, double persistence, double noise) {
    return run >= other && run > fmax(EXACT * noise, 1e-3 * persistence);
}

/* Nothing happens that would have to be predicted: the last value, or the mean, is off by noise alone, and
 * so is the model. Conserved quantities are so, and whatever has come to rest. */
static int is_quiet(double run, double trivial, double accuracy, double fitted) {
    return trivial <= LUCK * accuracy && run <= LUCK * fmax(accuracy, fitted);
}

/* Rows that it was fitted to are off by more than half of what they are off from their mean: what it
 * predicts is luck, as with an angle that turns by more than half a turn from row to row. */
static const double FOLLOWED = 0.5;

static int follows_nothing(const cls_learned_channel *ch, double noise) {
    return ch->fitted > FOLLOWED * ch->run_mean && ch->fitted > EXACT * noise;
}

static const double CLEARLY =
    0.7; /* ahead, where the free run is lost: a chaotic motion well known */

typedef enum opinion { QUIET, BAD, GOOD } opinion;

/* noise: of the column, or the accuracy that it is taken for where all its values are equal */
static opinion opinion_of(const cls_learn_report *report, size_t c, double noise) {
    const cls_learned_channel *ch = &report->channels[c];
    double trivial = fmin(ch->run_persistence, ch->run_mean);
    int run = ch->run < MARGIN * trivial &&
              !loses(ch->run, ch->run_arx, ch->run_persistence, noise) &&
              !loses(MARGIN * ch->run, ch->run_before, ch->run_persistence, noise);
    int ahead = 0;
    for (size_t h = 0; h < report->n_horizons; h++)
        ahead |= ch->ahead[h] < CLEARLY * fmin(ch->ahead_persistence[h], ch->run_mean) &&
                 !loses(ch->ahead[h] / CLEARLY, ch->ahead_arx[h], ch->ahead_persistence[h], noise);
    if (isinf(ch->run)) return BAD; /* a run that stops, however well it begins */
    if (is_quiet(ch->run, trivial, noise, ch->fitted)) return QUIET;
    return (run || ahead) && !follows_nothing(ch, noise) ? GOOD : BAD;
}

static int is_better(const clsi_multiple *m, const cls_learn_report *report) {
    int bad = 0, good = 0;
    for (size_t c = 0; c < report->n_channels; c++) {
        const clsi_channel *ch = &m->data->channel[c];
        double noise = ch->still ? fmax(ch->noise, ch->floor) : ch->noise;
        opinion o = report->channels[c].test_rows ? opinion_of(report, c, noise) : QUIET;
        bad |= o == BAD;
        good |= o == GOOD;
    }
    return bad ? 0 : good ? 1 : -1;
}

static cls_status score(clsi_multiple *m, const double *theta, const double *before,
                        cls_learn_report *report, clsi_text *notes, cls_error *error) {
    size_t room = (m->data->n + 2 * ARX + 4) * m->ny + m->data->nu + 2;
    double *scratch = clsi_calloc(room, sizeof *scratch);
    error_sum *sums = clsi_calloc(5 * m->ny, sizeof *sums);
    arx x = {0};
    if (!scratch || !sums) {
        free(scratch);
        free(sums);
        return clsi_no_memory(error);
    }
    if (!fit_arx(m->data, &x)) {
        free(x.a);
        x.a = NULL;
    }
    for (size_t c = 0; c < m->ny; c++)
        if (m->data->channel[c].counted)
            clsi_text_printf(notes, "%s counts turns: it is used as it is, not modulo one turn\n",
                             m->data->channel[c].name);
    fitted_errors(m, theta, report, notes, scratch);
    compare_runs(m, theta, before, &x, scratch, sums, report);
    cls_status status = compare_predictions(m, theta, &x, scratch, sums, report, notes, error);
    report->better = is_better(m, report);
    for (size_t c = 0; c < m->ny && m->n_pieces; c++) /* none: it was not fitted by windows */
        if (lacks_rows(&report->channels[c], notes)) report->better = 0;
    free(x.a);
    free(scratch);
    free(sums);
    return status;
}

cls_status clsi_score(clsi_multiple *m, const double *theta, const double *before,
                      cls_learn_report *report, clsi_text *notes, cls_error *error) {
    size_t n = m->data->n * m->data->ny;
    double *kept = clsi_calloc(2 * n + 1, sizeof *kept);
    unsigned char *wild = clsi_calloc(n + 1, 1);
    cls_status status = kept && wild ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) {
        size_t alone = clsi_wild_hide(m->data, wild, kept + n, kept);
        if (alone) clsi_wild_tell(alone, n, "not scored", notes);
        status = score(m, theta, before, report, notes, error);
        memcpy(m->data->y, kept, n * sizeof *kept);
    }
    free(wild);
    free(kept);
    return status;
}
