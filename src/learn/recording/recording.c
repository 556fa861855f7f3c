/* Recordings: rows sorted by time, cut at gaps, and what they say about themselves (noise, the
 * steps of the instrument, the time scale of the motion) before any model is fitted.
 *
 * The time scale Tc = 2 pi rms(slope) / rms(curvature) is the period of an oscillation and some six
 * time constants of a decay; parabolas through more and more rows are taken until the curvature is
 * three times its own noise. It is not std(y)/std(slope), which a winding angle makes large. */
#include "learn/recording/recording.h"
#include "base/base.h"
#include "data/table.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WHOLE_TRAJECTORIES = 5, GAP = 20, NEARBY = 3 };

/* ---- columns ---- */

static int is_column(const cls_system *s, const char *name) {
    return strcmp(name, "time") != 0 && clsi_system_column_node(s, name) != CLS_NO_NODE;
}

static const char *unit_of(const cls_system *s, const char *name) {
    const clsi_variable *lists[] = {s->coordinate, s->momentum, s->entropy, s->temperature};
    const size_t counts[] = {s->nq, s->n, s->m, s->m};
    for (int l = 0; l < 4; l++)
        for (size_t i = 0; i < counts[l]; i++)
            if (strcmp(lists[l][i].name, name) == 0) return lists[l][i].unit;
    for (size_t i = 0; i < s->n_outputs; i++)
        if (strcmp(s->raw.outputs[i].name, name) == 0) return s->raw.outputs[i].unit;
    return NULL;
}

static int is_angle(const cls_system *s, const char *name) {
    for (size_t i = 0; i < s->nq; i++)
        if (strcmp(s->coordinate[i].name, name) == 0) return s->coordinate[i].angle;
    return 0;
}

/* Columns that the first table has and the system too; the others must have them. */
static cls_status find_channels(const cls_system *s, size_t n_tables,
                                const cls_table *const *tables, const char *const *names,
                                clsi_recording *r, cls_error *error) {
    const cls_table *t = tables[0];
    r->channel = clsi_calloc(cls_table_columns(t) + 1, sizeof *r->channel);
    if (!r->channel) return clsi_no_memory(error);
    for (size_t c = 0; c < cls_table_columns(t); c++) {
        const char *name = cls_table_name(t, c);
        if (!is_column(s, name)) continue;
        for (size_t i = 1; i < n_tables; i++)
            if (cls_table_find(tables[i], name) < 0)
                return clsi_no_column(tables[i], names[i], name, CLS_DATA, error);
        r->channel[r->ny++] =
            (clsi_channel){.name = name, .unit = unit_of(s, name), .angle = is_angle(s, name)};
    }
    if (r->ny) return CLS_OK;
    clsi_text list = {0};
    for (size_t i = 1; i < s->n_columns; i++)
        clsi_text_printf(&list, "%s%s", i > 1 ? ", " : "", s->columns[i]);
    cls_status status =
        clsi_fail(error, CLS_DATA,
                  "%s has no column that %s could be compared with; it has %s (--map NAME=COLUMN "
                  "gives a column another name)",
                  names[0], s->name, list.data ? list.data : "none");
    clsi_text_clear(&list);
    return status;
}

/* ---- rows ---- */

typedef struct row_key {
    double trajectory, time;
    size_t table, row;
} row_key;

static int before(const void *a, const void *b) {
    const row_key *x = a, *y = b;
    if (x->table != y->table) return x->table < y->table ? -1 : 1;
    if (x->trajectory != y->trajectory) return x->trajectory < y->trajectory ? -1 : 1;
    if (x->time != y->time) return x->time < y->time ? -1 : 1;
    return x->row < y->row ? -1 : 1;
}

static int same_motion(const row_key *a, const row_key *b) {
    return a->table == b->table && a->trajectory == b->trajectory;
}

static cls_status make_keys(size_t n_tables, const cls_table *const *tables,
                            const char *const *names, row_key *keys, size_t *n, cls_error *error) {
    *n = 0;
    for (size_t i = 0; i < n_tables; i++) {
        int time = clsi_table_time(tables[i]), group = cls_table_find(tables[i], "trajectory");
        if (time < 0) return clsi_no_column(tables[i], names[i], "time", CLS_DATA, error);
        const double *t = cls_table_column(tables[i], (size_t)time);
        const double *g = group < 0 ? NULL : cls_table_column(tables[i], (size_t)group);
        for (size_t k = 0; k < cls_table_rows(tables[i]); k++) {
            if (!isfinite(t[k]))
                return clsi_fail(error, CLS_DATA, "%s: row %zu: the time is %g", names[i], k + 1,
                                 t[k]);
            keys[(*n)++] = (row_key){g ? g[k] : 0, t[k], i, k};
        }
    }
    qsort(keys, *n, sizeof *keys, before);
    return CLS_OK;
}

static double cell(const clsi_recording *r, const cls_table *const *tables, const row_key *k,
                   size_t c) {
    const cls_table *t = tables[k->table];
    return cls_table_column(t, (size_t)cls_table_find(t, r->channel[c].name))[k->row];
}

/* Rows of equal times become one, their mean. */
static cls_status copy_rows(const cls_system *s, const cls_table *const *tables,
                            const char *const *names, const row_key *keys, size_t n, int average,
                            size_t *group, clsi_recording *r, cls_error *error) {
    for (size_t i = 0, next; i < n; i = next) {
        for (next = i + 1;
             next < n && same_motion(&keys[i], &keys[next]) && keys[next].time == keys[i].time;
             next++)
            ;
        if (next - i > 1 && !average)
            return clsi_fail(error, CLS_DATA,
                             "%s: rows %zu and %zu have the same time %g; remove one of them, or "
                             "say --average to take the mean of such rows; where the time begins "
                             "again, another motion needs another number in a column trajectory",
                             names[keys[i].table], keys[i].row + 1, keys[i + 1].row + 1,
                             keys[i].time);
        r->repeated += next - i - 1;
        for (size_t c = 0; c < r->ny; c++) {
            double sum = 0, count = 0;
            for (size_t k = i; k < next; k++) {
                double y = cell(r, tables, &keys[k], c);
                if (!isfinite(y)) continue;
                sum += y;
                count++;
            }
            r->y[r->n * r->ny + c] = count > 0 ? sum / count : NAN;
        }
        for (size_t k = 0; k < r->nu; k++) {
            const cls_table *t = tables[keys[i].table];
            int column = cls_table_find(t, s->input[k].name);
            r->u[r->n * r->nu + k] =
                column < 0 ? NAN : cls_table_column(t, (size_t)column)[keys[i].row];
        }
        if (i && !same_motion(&keys[i], &keys[i - 1])) r->n_trajectories++;
        group[r->n] = r->n_trajectories;
        r->time[r->n++] = keys[i].time;
    }
    r->n_trajectories += r->n > 0;
    return CLS_OK;
}

/* ---- inputs ---- */

static int is_given(const cls_system *s, size_t k) {
    return s->input_formula[k] != CLS_NO_NODE;
}

static cls_status check_inputs(const cls_system *s, size_t n_tables, const cls_table *const *tables,
                               const char *const *names, cls_error *error) {
    for (size_t k = 0; k < s->nu; k++)
        for (size_t i = 0; i < n_tables && !is_given(s, k); i++)
            if (cls_table_find(tables[i], s->input[k].name) < 0)
                return clsi_no_column(tables[i], names[i], s->input[k].name, CLS_DATA, error);
    return CLS_OK;
}

static cls_status make_signals(const cls_system *s, const char *hold, const size_t *group,
                               clsi_recording *r, cls_error *error) {
    if (!r->nu) return CLS_OK;
    r->signal = clsi_calloc(r->n_trajectories, sizeof(clsi_signal *));
    double *values = clsi_calloc(r->n * r->nu, sizeof *values);
    cls_hold *each = clsi_calloc(r->nu, sizeof *each);
    cls_status status = r->signal && values && each ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0; i < r->n * r->nu && status == CLS_OK; i++)
        values[i % r->nu * r->n + i / r->nu] = r->u[i];
    if (status == CLS_OK) status = clsi_holds(s, hold, CLS_HOLD_AUTO, r->n, values, each, error);
    for (size_t i = 0, next; i < r->n && status == CLS_OK; i = next) {
        for (next = i; next < r->n && group[next] == group[i]; next++)
            ;
        size_t n = next - i;
        for (size_t k = 0; k < r->nu; k++)
            for (size_t j = 0; j < n; j++)
                values[k * n + j] = is_given(s, k) ? 0 : r->u[(i + j) * r->nu + k];
        status =
            clsi_signal_create(r->nu, n, r->time + i, values, each, &r->signal[group[i]], error);
    }
    free(values);
    free(each);
    return status;
}

static void find_intervals(clsi_recording *r, const size_t *group, double *scratch) {
    size_t n = 0;
    for (size_t i = 1; i < r->n; i++)
        if (group[i] == group[i - 1]) scratch[n++] = r->time[i] - r->time[i - 1];
    r->interval = clsi_median(n, scratch);
}

/* The usual distance of times about row i, without its own from the row before. */
static double nearby(const clsi_recording *r, const size_t *group, size_t i) {
    double list[2 * NEARBY];
    size_t n = 0;
    for (size_t k = 1; k <= NEARBY; k++) {
        if (i > k && group[i - k - 1] == group[i]) list[n++] = r->time[i - k] - r->time[i - k - 1];
        if (i + k < r->n && group[i + k] == group[i])
            list[n++] = r->time[i + k] - r->time[i + k - 1];
    }
    return clsi_median(n, list);
}

/* Gaps are long beside all distances and beside those nearby: times that are spread by their logarithms
 * have none. */
static cls_status cut_segments(clsi_recording *r, const size_t *group, cls_error *error) {
    if (!(r->segment = clsi_calloc(r->n, sizeof *r->segment))) return clsi_no_memory(error);
    for (size_t i = 0; i < r->n; i++) {
        int new = i == 0 || group[i] != group[i - 1];
        double dt = new ? 0 : r->time[i] - r->time[i - 1];
        if (dt > GAP * r->interval) new = dt > GAP *nearby(r, group, i);
        if (new) r->segment[r->n_segments++] = (clsi_segment){.first = i, .trajectory = group[i]};
        r->segment[r->n_segments - 1].end = i + 1;
    }
    return CLS_OK;
}

/* Trajectories from kept_back on are kept back whole (SIZE_MAX: the share `test` is). */
static void keep_back(clsi_recording *r, double test, size_t kept_back) {
    int whole = r->n_trajectories >= WHOLE_TRAJECTORIES;
    size_t kept = (size_t)ceil(test * (double)r->n_trajectories - 1e-9);
    for (size_t s = 0; s < r->n_segments; s++) {
        clsi_segment *g = &r->segment[s];
        size_t first = s, last = s;
        while (first > 0 && r->segment[first - 1].trajectory == g->trajectory) first--;
        while (last + 1 < r->n_segments && r->segment[last + 1].trajectory == g->trajectory) last++;
        size_t begin = r->segment[first].first, end = r->segment[last].end;
        size_t limit = begin + (size_t)floor((1 - test) * (double)(end - begin) + 0.5);
        if (whole) limit = test > 0 && g->trajectory + kept >= r->n_trajectories ? begin : end;
        if (!(test > 0) || kept_back != SIZE_MAX) limit = end;
        if (g->trajectory >= kept_back) limit = begin;
        g->train = limit <= g->first ? 0 : (limit < g->end ? limit : g->end) - g->first;
        r->n_training += g->train;
    }
}

static const double TURN = 6.283185307179586;

/* An encoder counts turns: values go beyond one turn, and most changes by more than half a turn go on with the
 * rate before them rather than with what is left of them without whole turns. */
static int counts_turns(const clsi_recording *r, const size_t *group, size_t c) {
    double low = INFINITY, high = -INFINITY, counted = 0, wrapped = 0, rate = NAN;
    for (size_t i = 0, last = SIZE_MAX; i < r->n; i++) {
        double y = r->y[i * r->ny + c];
        if (!isfinite(y)) continue;
        low = fmin(low, y), high = fmax(high, y);
        int goes_on = last != SIZE_MAX && group[i] == group[last];
        double dt = goes_on ? r->time[i] - r->time[last] : NAN;
        double d = goes_on ? y - r->y[last * r->ny + c] : NAN;
        if (fabs(d) > TURN / 2 && isfinite(rate)) {
            int straight = fabs(d - rate * dt) < fabs(remainder(d, TURN) - rate * dt);
            counted += straight, wrapped += !straight;
        }
        rate = d / dt;
        last = i;
    }
    return high - low > 1.5 * TURN && counted > wrapped;
}

/* Rows so near to each other that no turn is missed, of a motion that goes around: a quarter of a turn at most
 * from row to row, more than one and a half in all. */
static int turns_are_known(const clsi_recording *r, const size_t *group, size_t c) {
    double low = INFINITY, high = -INFINITY, most = 0, spread = 0;
    for (size_t i = 0, last = SIZE_MAX; i < r->n; i++) {
        double y = r->y[i * r->ny + c];
        if (!isfinite(y)) continue;
        if (last == SIZE_MAX || group[i] != group[last])
            low = INFINITY, high = -INFINITY;
        else
            most = fmax(most, fabs(y - r->y[last * r->ny + c]));
        low = fmin(low, y), high = fmax(high, y);
        spread = fmax(spread, high - low);
        last = i;
    }
    return spread > 1.5 * TURN && most < TURN / 4;
}

/* An angle that an instrument wraps goes on: neighbouring rows differ by less than half a turn. Turns that are
 * counted are used as they are. Where rows show every turn a fit follows them: modulo whole turns a model that
 * goes around at another speed is never far off, and a search has no slope. Scores take differences modulo them. */
static void unwrap(clsi_recording *r, const size_t *group) {
    for (size_t c = 0; c < r->ny; c++) {
        clsi_channel *ch = &r->channel[c];
        double last = NAN;
        if (ch->angle && counts_turns(r, group, c)) ch->angle = 0, ch->counted = 1;
        for (size_t i = 0; i < r->n && ch->angle; i++) {
            double *y = &r->y[i * r->ny + c];
            if (i && group[i] != group[i - 1]) last = NAN;
            if (!isfinite(*y)) continue;
            if (isfinite(last)) *y = last + remainder(*y - last, TURN);
            last = *y;
        }
        ch->followed = ch->angle && turns_are_known(r, group, c);
    }
}

/* ---- what a channel says of itself ---- */

int clsi_local_parabola(const clsi_recording *r, const clsi_segment *s, size_t c, size_t i,
                        size_t half, clsi_parabola *out) {
    size_t low = i > s->first + half ? i - half : s->first;
    size_t high = i + half + 1 < s->end ? i + half + 1 : s->end;
    double M[3][4] = {{0}}, scale = 0;
    size_t n = 0;
    for (size_t k = low; k < high; k++) scale = fmax(scale, fabs(r->time[k] - r->time[i]));
    if (!(scale > 0)) return 0;
    for (size_t k = low; k < high; k++) {
        double y = r->y[k * r->ny + c], x = (r->time[k] - r->time[i]) / scale;
        if (!isfinite(y)) continue;
        double f[3] = {1, x, x * x / 2};
        for (int a = 0; a < 3; a++) {
            for (int b = 0; b < 3; b++) M[a][b] += f[a] * f[b];
            M[a][3] += f[a] * y;
        }
        n++;
    }
    if (n < 4) return 0;
    double A[3][3], inverse[3][3], det;
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) A[a][b] = M[a][b];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) {
            int a1 = (a + 1) % 3, a2 = (a + 2) % 3, b1 = (b + 1) % 3, b2 = (b + 2) % 3;
            inverse[b][a] = A[a1][b1] * A[a2][b2] - A[a1][b2] * A[a2][b1];
        }
    det = A[0][0] * inverse[0][0] + A[0][1] * inverse[1][0] + A[0][2] * inverse[2][0];
    if (!(det > 1e-12)) return 0;
    double x[3] = {0};
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 3; b++) x[a] += inverse[a][b] / det * M[b][3];
    double sum = 0;
    for (size_t k = low; k < high; k++) {
        double y = r->y[k * r->ny + c], u = (r->time[k] - r->time[i]) / scale;
        if (!isfinite(y)) continue;
        double e = y - x[0] - x[1] * u - x[2] * u * u / 2;
        sum += e * e;
    }
    double variance = sum / (double)(n - 3);
    *out = (clsi_parabola){x[0], x[1] / scale, x[2] / (scale * scale), variance,
                           variance * inverse[2][2] / det / (scale * scale * scale * scale)};
    return 1;
}

size_t clsi_local_half(const clsi_recording *r) {
    double rows = r->time_scale / 8 / r->interval;
    return rows < 2 ? 2 : rows > 200 ? 200 : (size_t)rows;
}

static const double ROUNDING = 1e-9, NOTHING = 1e-13;

static void measure_spread(const clsi_recording *r, clsi_channel *ch, size_t c, double *list) {
    double mean = 0, sum = 0;
    size_t n = 0, distinct = 1;
    for (size_t i = 0; i < r->n; i++)
        if (isfinite(r->y[i * r->ny + c])) list[n++] = r->y[i * r->ny + c];
    for (size_t i = 0; i < n; i++) mean += list[i] / (double)n;
    for (size_t i = 0; i < n; i++) sum += (list[i] - mean) * (list[i] - mean);
    ch->std = n ? sqrt(sum / (double)n) : 0;
    ch->still = ch->std <= ROUNDING * fabs(mean) || ch->std < NOTHING;
    /* Rounding is neither a spread nor an accuracy: a hundredth of the value and a hundredth of that
     * are. What is always zero tells nothing. */
    if (ch->still && fabs(mean) > NOTHING) ch->std = 0.01 * fabs(mean);
    ch->floor = ch->std < NOTHING ? INFINITY : (ch->still ? 1e-2 : 1e-4) * ch->std;
    if (ch->angle) ch->std = fmin(ch->std, TURN / sqrt(12)); /* no angle is further off than that */
    clsi_median(n, list);
    double step = INFINITY;
    for (size_t i = 1; i < n; i++) {
        double d = list[i] - list[i - 1];
        if (d <= 1e-9 * ch->std) continue;
        step = fmin(step, d);
        distinct++;
    }
    ch->quantum = 2 * distinct < n && isfinite(step) ? step : 0;
}

/* The variance of five-row parabolas: its median, so that outliers do not count; two degrees of
 * freedom have log 2 of it below. */
static void measure_noise(const clsi_recording *r, clsi_channel *ch, size_t c, double *list) {
    size_t n = 0;
    clsi_parabola p;
    for (size_t s = 0; s < r->n_segments; s++)
        for (size_t i = r->segment[s].first + 2; i + 2 < r->segment[s].end; i++)
            if (clsi_local_parabola(r, &r->segment[s], c, i, 2, &p)) list[n++] = p.variance;
    ch->noise = sqrt(clsi_median(n, list) / log(2));
    ch->floor = fmax(ch->quantum / sqrt(12), ch->floor);
}

static double time_scale_of(const clsi_recording *r, size_t c) {
    double last = 0;
    for (size_t half = 2; half < r->n / 4 + 3; half += 1 + half / 3) {
        double slope = 0, curvature = 0, noise = 0;
        clsi_parabola p;
        size_t every = 1 + r->n / 2000;
        for (size_t s = 0; s < r->n_segments; s++) {
            const clsi_segment *g = &r->segment[s];
            for (size_t i = g->first + half; i + half < g->end; i += every) {
                if (!clsi_local_parabola(r, g, c, i, half, &p)) continue;
                slope += p.slope * p.slope;
                curvature += p.curvature * p.curvature;
                noise += p.curvature_variance;
            }
        }
        if (!(curvature > 0)) break;
        last = 6.283185307179586 * sqrt(slope / curvature);
        if (curvature > 9 * noise) break;
    }
    return last;
}

static cls_status describe(clsi_recording *r, cls_error *error) {
    double *list = clsi_calloc(r->n + 1, sizeof *list);
    if (!list) return clsi_no_memory(error);
    double least = INFINITY;
    for (size_t c = 0; c < r->ny; c++) {
        measure_spread(r, &r->channel[c], c, list);
        measure_noise(r, &r->channel[c], c, list);
        double own = r->channel[c].still ? 0 : time_scale_of(r, c);
        if (own > 0) least = fmin(least, own);
    }
    r->time_scale = isfinite(least) ? least : 20 * r->interval;
    r->time_scale = fmax(r->time_scale, 4 * r->interval);
    free(list);
    return CLS_OK;
}

/* ---- life ---- */

static cls_status fill(const cls_system *s, size_t n_tables, const cls_table *const *tables,
                       const char *const *names, double test, int average, const char *hold,
                       size_t n_test, clsi_recording *r, cls_error *error) {
    size_t rows = 0, n = 0;
    for (size_t i = 0; i < n_tables; i++) rows += cls_table_rows(tables[i]);
    cls_status status = find_channels(s, n_tables, tables, names, r, error);
    if (status == CLS_OK) status = check_inputs(s, n_tables, tables, names, error);
    if (status != CLS_OK) return status;
    r->nu = s->nu;
    row_key *keys = clsi_calloc(rows + 1, sizeof *keys);
    size_t *group = clsi_calloc(rows + 1, sizeof *group);
    double *scratch = clsi_calloc(rows + 1, sizeof *scratch);
    r->time = clsi_calloc(rows + 1, sizeof *r->time);
    r->y = clsi_calloc(rows * r->ny + 1, sizeof *r->y);
    r->u = clsi_calloc(rows * r->nu + 1, sizeof *r->u);
    status = keys && group && scratch && r->time && r->y && r->u ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) status = make_keys(n_tables, tables, names, keys, &n, error);
    if (status == CLS_OK) status = copy_rows(s, tables, names, keys, n, average, group, r, error);
    if (status == CLS_OK && r->n < 5)
        status =
            clsi_fail(error, CLS_DATA, "%s: %zu rows are too few to learn from", names[0], r->n);
    if (status == CLS_OK) {
        unwrap(r, group);
        find_intervals(r, group, scratch);
        status = cut_segments(r, group, error);
    }
    if (status == CLS_OK) status = make_signals(s, hold, group, r, error);
    if (status == CLS_OK) {
        size_t first = n_test ? 0 : SIZE_MAX; /* trajectories before the tables kept back */
        for (size_t i = 0; i < n && n_test && keys[i].table < n_tables - n_test; i++)
            first += i == 0 || !same_motion(&keys[i], &keys[i - 1]);
        keep_back(r, test, first);
    }
    if (status == CLS_OK) status = describe(r, error);
    free(keys);
    free(group);
    free(scratch);
    return status;
}

cls_status clsi_recording_create(const cls_system *s, size_t n_tables,
                                 const cls_table *const *tables, const char *const *names,
                                 double test, int average, const char *hold, size_t n_test,
                                 clsi_recording **out, cls_error *error) {
    clsi_recording *r = *out = clsi_calloc(1, sizeof *r);
    if (!r) return clsi_no_memory(error);
    cls_status status = fill(s, n_tables, tables, names, test, average, hold, n_test, r, error);
    if (status != CLS_OK) clsi_recording_free(out);
    return status;
}

void clsi_recording_free(clsi_recording **recording) {
    clsi_recording *r = *recording;
    if (!r) return;
    for (size_t i = 0; r->signal && i < r->n_trajectories; i++) clsi_signal_free(&r->signal[i]);
    free(r->signal);
    free(r->u);
    free(r->time);
    free(r->y);
    free(r->channel);
    free(r->segment);
    free(r);
    *recording = NULL;
}
