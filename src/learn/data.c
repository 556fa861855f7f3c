/* Data as points and windows of two or three neighbours.
 *
 * Trajectories are never bridged: a window lies in one trajectory of one table, with increasing
 * times, whatever the spacing. Validation takes whole trajectories, every 1/validate-th one, so
 * that what is validated was never seen; a single trajectory is used to learn from alone. */
#include "base/base.h"
#include "data/table.h"
#include "learn/recording/measured.h"
#include "learn/stream/stream.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns ---- */

const char *clsi_point_name(const cls_system *s, size_t k) {
    int velocity = s->formalism == CLS_LAGRANGIAN && k >= s->nq && k < s->nq + s->n;
    return velocity ? cls_node_name(s->g, s->v[k - s->nq]) : cls_system_state_name(s, k);
}

static cls_status check_column(const char *file, const char *name, size_t rows,
                               const double *values, int positive, cls_error *error) {
    for (size_t i = 0; i < rows; i++)
        if (!isfinite(values[i]) || (positive && !(values[i] > 0)))
            return clsi_fail(error, CLS_DATA, "%s: row %zu: %s is %g, which is not a %s number",
                             file, i + 1, name, values[i], positive ? "positive" : "finite");
    return CLS_OK;
}

/* What lies outside of what the system declares is a slip of the data (a unit, a sign) or of the
 * declaration, and formulas may mean nothing there. */
static cls_status check_domain(const char *file, const clsi_variable *v, size_t rows,
                               const double *values, cls_error *error) {
    for (size_t i = 0; i < rows; i++)
        if (!(values[i] > v->low && values[i] < v->high))
            return clsi_fail(error, CLS_DATA,
                             "%s: row %zu: %s is %g, outside of its domain (%g, %g); mend the data "
                             "or the domain in the system file",
                             file, i + 1, v->name, values[i], v->low, v->high);
    return CLS_OK;
}

/* Noise takes an amount that is nearly used up below zero, where formulas mean nothing: by up to this share of the column's range it
 * is moved a thousandth inside of its domain. What lies farther outside is a slip. */
static const double NOISE_BELOW = 0.1, INSIDE = 1e-3;

static cls_status move_inside(const char *file, const clsi_variable *v, size_t rows, double *values,
                              cls_error *error) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < rows; i++) {
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    double range = high - low, below = v->low - NOISE_BELOW * range;
    for (size_t i = 0; i < rows && range > 0; i++)
        if (values[i] <= v->low && values[i] > below) values[i] = v->low + INSIDE * range;
    return check_domain(file, v, rows, values, error);
}

/* With a number of its own for each trajectory its times must rise; a time that stands still cuts
 * it, and without numbers a time that goes back begins the next one. */
static cls_status check_times(const char *file, size_t rows, const double *time,
                              const double *trajectory, cls_error *error) {
    for (size_t i = 1; trajectory && i < rows; i++)
        if (trajectory[i] == trajectory[i - 1] && time[i] < time[i - 1])
            return clsi_fail(error, CLS_DATA,
                             "%s: time goes back from %g to %g in trajectory %g: sort its rows by "
                             "time, or give each run a number of its own",
                             file, time[i - 1], time[i], trajectory[i]);
    return CLS_OK;
}

/* What was learned in pieces of a file was not looked at as a whole. */
static cls_status check_repeated(const cls_table *t, const char *file, cls_error *error) {
    cls_table *none = NULL;
    return clsi_table_once(t, file, 0, &none, error);
}

/* Is there a column that a simulation can be compared with? */
static int can_compare(const cls_system *s, const cls_table *t) {
    for (size_t c = 0; c < cls_table_columns(t); c++) {
        const char *name = cls_table_name(t, c);
        if (strcmp(name, "time") != 0 && clsi_system_column_node(s, name) != CLS_NO_NODE) return 1;
    }
    return 0;
}

static cls_status copy_table(const cls_system *s, const cls_table *t, const char *file, size_t at,
                             int partial, clsi_points *p, double *trajectory, cls_error *error) {
    size_t rows = cls_table_rows(t);
    int found = clsi_table_time(t), group = cls_table_find(t, "trajectory");
    if (rows == 0) return CLS_OK;
    if (found < 0) return clsi_no_column(t, file, "time", CLS_DATA, error);
    const double *time = cls_table_column(t, (size_t)found);
    const double *number = group < 0 ? NULL : cls_table_column(t, (size_t)group);
    cls_status status = check_column(file, "time", rows, time, 0, error);
    if (status == CLS_OK) status = check_times(file, rows, time, number, error);
    if (status == CLS_OK) status = check_repeated(t, file, error);
    for (size_t k = 0; k < p->nz && status == CLS_OK; k++) {
        const char *name = clsi_point_name(s, k);
        int c = cls_table_find(t, name);
        /* what the first table has, all have; something at least has to be there */
        if (c < 0 && partial && (k > 0 || can_compare(s, t)) && (at == 0 || !p->observed[k]))
            continue;
        if (c < 0) return clsi_no_column(t, file, name, CLS_DATA, error);
        int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN && k >= s->nq + s->n;
        const double *values = cls_table_column(t, (size_t)c);
        status = check_column(file, name, rows, values, thermal, error);
        const clsi_variable *v = thermal     ? &s->temperature[k - s->nq - s->n]
                                 : k < s->nq ? &s->coordinate[k]
                                             : NULL;
        if (status == CLS_OK && v) status = check_domain(file, v, rows, values, error);
        memcpy(p->z + k * p->n + at, values, rows * sizeof(double));
        if (status == CLS_OK && !v && s->formalism != CLS_LAGRANGIAN)
            status =
                move_inside(file, clsi_state_variable(s, k), rows, p->z + k * p->n + at, error);
        p->observed[k] = 1;
    }
    if (status != CLS_OK) return status;
    memcpy(p->time + at, time, rows * sizeof(double));
    for (size_t i = 0; i < rows; i++) trajectory[at + i] = number ? number[i] : 0;
    return CLS_OK;
}

/* States that the data do not have: q' for v and p (as if the mass were one), the start for others.
 */
static cls_status guess_missing(const cls_system *s, const size_t *table, const double *trajectory,
                                clsi_points *p, cls_error *error) {
    double *start = clsi_calloc(cls_system_state_count(s) + 1, sizeof *start);
    if (!start) return clsi_no_memory(error);
    int started = cls_system_start(s, NULL, start, NULL) == CLS_OK;
    for (size_t k = 0; k < p->nz; k++) {
        double *z = p->z + k * p->n;
        int moving = s->nq == s->n && k >= s->nq && k < s->nq + s->n && p->observed[k - s->nq];
        const double *q = moving ? p->z + (k - s->nq) * p->n : NULL;
        int thermal = s->formalism == CLS_THERMAL_LAGRANGIAN && k >= s->nq + s->n;
        for (size_t i = 0; i < p->n_data && !p->observed[k]; i++) {
            size_t a = i, b = i;
            if (i > 0 && table[i - 1] == table[i] && trajectory[i - 1] == trajectory[i]) a--;
            if (i + 1 < p->n_data && table[i + 1] == table[i] && trajectory[i + 1] == trajectory[i])
                b++;
            double other = started ? start[k] : thermal ? 1 : 0;
            z[i] = moving && p->time[b] > p->time[a] ? (q[b] - q[a]) / (p->time[b] - p->time[a])
                                                     : other;
        }
    }
    free(start);
    return CLS_OK;
}

/* Derivatives, when every table has them for every state. */
static cls_status copy_rates(const cls_system *s, size_t n_tables, const cls_table *const *tables,
                             const char *const *names, clsi_points *p, cls_error *error) {
    char name[256];
    int found[2] = {0, 0}; /* missing, there */
    for (size_t i = 0; i < n_tables; i++)
        for (size_t k = 0; k < p->nz; k++) {
            snprintf(name, sizeof name, "d.%s", clsi_point_name(s, k));
            found[cls_table_find(tables[i], name) >= 0]++;
        }
    if (found[0] || !found[1]) return CLS_OK;
    p->rate = clsi_calloc(p->n * p->nz, sizeof *p->rate);
    cls_status status = p->rate ? CLS_OK : clsi_no_memory(error);
    for (size_t i = 0, at = 0; i < n_tables && status == CLS_OK; at += cls_table_rows(tables[i++]))
        for (size_t k = 0; k < p->nz && status == CLS_OK; k++) {
            size_t rows = cls_table_rows(tables[i]);
            snprintf(name, sizeof name, "d.%s", clsi_point_name(s, k));
            const double *values =
                cls_table_column(tables[i], (size_t)cls_table_find(tables[i], name));
            status = check_column(names[i], name, rows, values, 0, error);
            memcpy(p->rate + k * p->n + at, values, rows * sizeof(double));
        }
    return status;
}

double clsi_points_spread(const clsi_points *p, size_t k) {
    const double *z = p->z + k * p->n;
    double mean = 0, sum = 0;
    for (size_t i = 0; i < p->n_data; i++) mean += z[i] / (double)p->n_data;
    for (size_t i = 0; i < p->n_data; i++) sum += (z[i] - mean) * (z[i] - mean);
    return sum > 0 ? sqrt(sum / (double)p->n_data) : 1;
}

/* The divided difference of n neighbouring points, in units of its own standard deviation. */
static double difference(const double *t, const double *z, size_t n) {
    double sum = 0, norm = 0, h = t[n - 1] - t[0];
    for (size_t i = 0; i < n; i++) {
        double c = 1;
        for (size_t j = 0; j < n; j++)
            if (j != i) c *= h / (t[i] - t[j]);
        sum += c * z[i];
        norm += c * c;
    }
    return sum / sqrt(norm);
}

/* Root mean square over all that lie in one trajectory; 0 when there are none. */
static double differences(const clsi_points *p, size_t k, size_t n) {
    double sum = 0;
    size_t count = 0;
    for (size_t g = 0; g < p->n_trained; g++)
        for (size_t i = p->trained[2 * g]; i + n <= p->trained[2 * g + 1]; i++, count++) {
            double d = difference(p->time + i, p->z + k * p->n + i, n);
            sum += d * d;
        }
    return count ? sqrt(sum / (double)count) : 0;
}

/* Noise has differences of all orders alike; those of a motion that is sampled well fall from order
 * to order, and then they are no noise. */
double clsi_points_noise(const clsi_points *p, size_t k) {
    static const double FALLS = 0.7;
    double last = differences(p, k, 7), before = differences(p, k, 6);
    return last > FALLS * before ? last : 0;
}

/* The largest share that noise has in the second differences, which are all that positions say of forces. */
static double noise_of_forces(const clsi_points *p) {
    double most = 0;
    for (size_t k = 0; k < p->nz; k++) {
        double noise = clsi_points_noise(p, k), bend = differences(p, k, 3);
        if (bend > 1e-12 * clsi_points_spread(p, k)) most = fmax(most, noise / bend);
    }
    return most;
}

static const double UNEVEN = 0.01, FAR = 5e-4;

/* A quadrature over rows that are not equally distant has an order less: intervals that differ by more than
 * a hundredth, of rows so far apart that their third differences are a visible part of the motion. */
int clsi_points_uneven(const clsi_points *p) {
    double sum = 0, square = 0, count = 0, most = 0;
    for (size_t g = 0; g < p->n_trained; g++)
        for (size_t i = p->trained[2 * g]; i + 1 < p->trained[2 * g + 1]; i++, count++) {
            double h = p->time[i + 1] - p->time[i];
            sum += h;
            square += h * h;
        }
    if (!(square * count > (1 + UNEVEN * UNEVEN) * sum * sum)) return 0;
    for (size_t k = 0; k < p->nz; k++)
        most = fmax(most, differences(p, k, 4) / clsi_points_spread(p, k));
    return most > FAR;
}

/* ---- windows ---- */

void clsi_window_points(const clsi_points *p, size_t w, size_t at[CLSI_MOST_WIDTH]) {
    size_t i = p->window[w], last = p->width - 1;
    for (size_t k = 0; k < p->width; k++)
        at[k] = !p->rule.between ? i + k
                : k == 0         ? i
                : k < last       ? p->n_data + 2 * i + k - 1
                                 : i + last / 2;
    if (!p->rule.means) return;
    at[1] = p->n_data + i;
    at[2] = i + 1;
}

/* The integrals of the polynomials that are one at one of the n points and zero at the others. */
static void weigh_all(size_t n, const double *t, double *w) {
    double x[CLSI_MOST_PANEL], h = t[n - 1] - t[0];
    for (size_t k = 0; k < n; k++) x[k] = (2 * t[k] - t[0] - t[n - 1]) / h;
    for (size_t k = 0; k < n; k++) {
        double c[CLSI_MOST_PANEL + 1] = {1},
                                   below = 1; /* of (x - x_0) (x - x_1) ..., without x_k */
        size_t degree = 0;
        for (size_t j = 0; j < n; j++) {
            if (j == k) continue;
            c[++degree] = 0;
            for (size_t i = degree; i > 0; i--) c[i] = c[i - 1] - x[j] * c[i];
            c[0] *= -x[j];
            below *= x[k] - x[j];
        }
        w[k] = 0;
        for (size_t i = 0; i <= degree; i += 2) w[k] += c[i] / (double)(i + 1);
        w[k] *= h / below;
    }
}

void clsi_window_weights(size_t n, size_t panel, const double *t, double *w) {
    if (panel > 3) {
        weigh_all(n, t, w);
        return;
    }
    memset(w, 0, n * sizeof *w);
    for (size_t k = 0; k + 2 < n; k += 2) {
        double a = t[k + 1] - t[k], b = t[k + 2] - t[k + 1], h = a + b;
        w[k] += h * (2 * a - b) / (6 * a);
        w[k + 1] += h * h * h / (6 * a * b);
        w[k + 2] += h * (2 * b - a) / (6 * b);
    }
}

typedef struct group {
    size_t begin, end; /* first points of the windows of one trajectory */
    int held;          /* for validation */
} group;

/* Neighbours that a window needs. */
static size_t points_of(const clsi_points *p) {
    return p->rule.between ? p->width / 2 : p->rule.composite ? p->width : p->rule.neighbours;
}

int clsi_points_long(const clsi_points *p) {
    return p->rule.between ? p->width > 4 : p->width > p->panel;
}

/* Runs of points of one trajectory with increasing time. */
static size_t find_groups(const clsi_points *p, const double *trajectory, const size_t *table,
                          unsigned char *joined, group *out) {
    size_t n = 0, begin = 0, least = points_of(p);
    for (size_t i = 1; i <= p->n_data; i++) {
        int same = i < p->n_data && table[i] == table[i - 1] &&
                   trajectory[i] == trajectory[i - 1] && p->time[i] > p->time[i - 1];
        joined[i - 1] = (unsigned char)same;
        if (same) continue;
        size_t margin = clsi_position_margin(&p->rule, i - begin);
        if (i - begin >= least) out[n++] = (group){begin + margin, i - least + 1 - margin, 0};
        begin = i;
    }
    return n;
}

/* Every so many trajectories one is kept for validation. Of fewer than that the last one is cut:
 * its end is kept, and no window of the rest reaches into it. Returns the number of groups. */
static size_t hold(group *groups, size_t n, double validate, size_t width) {
    if (!(validate > 1e-6)) return n; /* more than a million trajectories apart is none */
    size_t period = (size_t)(1 / validate + 0.5);
    if (period < 2) period = 2;
    for (size_t g = period - 1; g < n; g += period) groups[g].held = 1;
    if (n == 0 || n >= period) return n;
    group *last = &groups[n - 1];
    size_t kept = (size_t)((double)(last->end - last->begin) * fmin(validate, 0.5));
    if (kept < width || last->end - last->begin < 4 * width + kept) return n;
    groups[n] = (group){last->end - kept, last->end, 1};
    last->end = groups[n].begin - (width - 1);
    return n + 1;
}

/* Windows of the groups that are (not) for validation, spread evenly, at most `most`. */
static size_t add_windows(const group *groups, size_t n_groups, int validation, size_t most,
                          size_t *there, size_t *out) {
    size_t all = 0, seen = 0, n = 0;
    for (size_t g = 0; g < n_groups; g++)
        if (groups[g].held == validation) all += groups[g].end - groups[g].begin;
    size_t wanted = most && most < all ? most : all;
    *there = all;
    for (size_t g = 0; g < n_groups; g++) {
        if (groups[g].held != validation) continue;
        for (size_t i = groups[g].begin; i < groups[g].end; i++, seen++)
            if ((seen + 1) * wanted / all > seen * wanted / all) out[n++] = i;
    }
    return n;
}

/* The trajectories that rollouts are compared with, and those that are learned from. */
static cls_status keep_trajectories(clsi_points *p, const group *groups, size_t n_groups,
                                    cls_error *error) {
    size_t more = points_of(p) - 1; /* points behind the last window's first */
    p->held = clsi_calloc(2 * n_groups + 1, sizeof *p->held);
    p->trained = clsi_calloc(2 * n_groups + 1, sizeof *p->trained);
    if (!p->held || !p->trained) return clsi_no_memory(error);
    int split = p->n_windows > p->n_training;
    for (size_t g = 0; g < n_groups; g++) {
        int held = split && groups[g].held;
        size_t ends[] = {groups[g].begin, groups[g].end + more};
        if (held || !split) memcpy(p->held + 2 * p->n_held++, ends, sizeof ends);
        if (!held) memcpy(p->trained + 2 * p->n_trained++, ends, sizeof ends);
    }
    return CLS_OK;
}

/* A residual divides the noise of its ends by the length of its window. Windows grow until what
 * noise does to a rate is this part of the rates there are. */
static const double FAINT = 1e-6;
enum { LONG = 20, ENOUGH = 200 }; /* intervals of a window; windows that must be left */

/* Intervals of a window, by the noise; p->trained are all trajectories. */
static size_t wanted_intervals(const clsi_points *p) {
    double most = 2;
    for (size_t k = 0; k < p->nz; k++) {
        double noise = clsi_points_noise(p, k), change = differences(p, k, 2), size = 0;
        for (size_t i = 0; i < p->n_data; i++) size = fmax(size, fabs(p->z[k * p->n + i]));
        if (noise > 0 && change > 1e-12 * size) /* what never changes shows its round-off */
            most = fmax(most, noise / (FAINT * change)); /* both by sqrt(2) */
    }
    return most < LONG ? (size_t)most / 2 * 2 : LONG;
}

static size_t windows_of(const clsi_points *p, size_t n_groups, const group *groups,
                         size_t intervals) {
    size_t n = 0;
    for (size_t g = 0; g < n_groups; g++) { /* a group counts the shortest windows */
        size_t all = groups[g].end - groups[g].begin + points_of(p) - 1;
        n += all > intervals ? all - intervals : 0;
    }
    return n;
}

/* What the quadrature of a polynomial through 3, 5 or 7 rows is off by, as a part of the change from row to
 * row: h^5 y^(5)/90 of 2 h, 8 h^7 y^(7)/945 of 4 h, 9 h^9 y^(9)/1400 of 6 h, from differences of the rows
 * themselves, the geometric mean over the states. Noise has such differences as well, and those of higher
 * order are not smaller. */
static double quadrature_error(const clsi_points *p, size_t panel) {
    double factor = panel == 3   ? sqrt(252) / 180
                    : panel == 5 ? sqrt(3432) * 2 / 945
                                 : sqrt(48620) * 3 / 2800;
    double sum = 0, count = 0;
    for (size_t k = 0; k < p->nz; k++) {
        double change = differences(p, k, 2), size = 0;
        for (size_t i = 0; i < p->n_data; i++) size = fmax(size, fabs(p->z[k * p->n + i]));
        if (!(change > 1e-12 * size)) continue; /* it stays as it is */
        sum += log(fmax(factor * differences(p, k, panel + 3) / change, 1e-16));
        count++;
    }
    return count > 0 ? exp(sum / count) : 0;
}

/* Rows that are far apart, exact, and many: polynomials of higher order go through them. */
static const double VISIBLE = 3e-6, BETTER = 0.5;

static size_t choose_panel(const clsi_points *p, size_t shortest, size_t n_groups,
                           const group *groups) {
    size_t best = 3;
    double least = quadrature_error(p, 3);
    if (!(least > VISIBLE)) return best;
    for (size_t panel = 5; panel <= CLSI_MOST_PANEL; panel += 2) {
        if (shortest < 2 * panel || windows_of(p, n_groups, groups, panel - 1) < ENOUGH) break;
        double error = quadrature_error(p, panel);
        if (!(error < BETTER * least)) break;
        best = panel;
        least = error;
    }
    return best;
}

/* width from the intervals asked for, or from the noise; no longer than the shortest trajectory. */
static cls_status choose_width(clsi_points *p, size_t window, size_t n_groups, const group *groups,
                               cls_error *error) {
    if (!(p->rule.composite || p->rule.between) || window == 1 || window == 2) return CLS_OK;
    size_t shortest = SIZE_MAX, intervals = window;
    p->trained = clsi_calloc(2 * n_groups + 1, sizeof *p->trained);
    if (!p->trained) return clsi_no_memory(error);
    for (size_t g = 0; g < n_groups; g++) {
        p->trained[2 * g] = groups[g].begin;
        p->trained[2 * g + 1] = groups[g].end + points_of(p) - 1;
        size_t n = p->trained[2 * g + 1] - 1 - groups[g].begin;
        if (n < shortest) shortest = n;
    }
    p->n_trained = n_groups;
    if (!window) intervals = wanted_intervals(p);
    if (!window && p->rule.between && intervals == 2) intervals = 1; /* no noise */
    if (intervals > shortest) intervals = shortest;
    while (!window && intervals > 2 && windows_of(p, n_groups, groups, intervals) < ENOUGH)
        intervals--;
    if (intervals > CLSI_MOST_WIDTH - 1) intervals = CLSI_MOST_WIDTH - 1;
    if (p->rule.between && intervals > CLSI_MOST_WIDTH / 2 - 1) intervals = CLSI_MOST_WIDTH / 2 - 1;
    if (p->rule.between)
        p->width = 2 * intervals + 2;
    else if (intervals >= 4)
        p->width = intervals / 2 * 2 + 1;
    else if (!window && p->rule.smooth)
        p->width = p->panel = choose_panel(p, shortest, n_groups, groups);
    free(p->trained);
    p->trained = NULL;
    p->n_trained = 0;
    return CLS_OK;
}

static cls_status make_windows(clsi_points *p, const double *trajectory, const size_t *table,
                               unsigned char *joined, double validate, uint64_t most, size_t window,
                               cls_error *error) {
    group *groups = clsi_calloc(p->n_data + 1, sizeof *groups);
    p->window = clsi_calloc(2 * p->n_data, sizeof *p->window);
    if (!groups || !p->window) {
        free(groups);
        return clsi_no_memory(error);
    }
    size_t n_groups = find_groups(p, trajectory, table, joined, groups);
    cls_status status = choose_width(p, window, n_groups, groups, error);
    if (status == CLS_OK && p->width > 3) /* longer */
        n_groups = find_groups(p, trajectory, table, joined, groups);
    n_groups = hold(groups, n_groups, validate, points_of(p));
    size_t held;
    p->n_training = add_windows(groups, n_groups, 0, (size_t)most, &p->n_there, p->window);
    p->n_windows =
        p->n_training + add_windows(groups, n_groups, 1, 2000, &held, p->window + p->n_training);
    if (status == CLS_OK) status = keep_trajectories(p, groups, n_groups, error);
    free(groups);
    if (status != CLS_OK) return status;
    if (p->n_training == 0)
        return clsi_fail(
            error, CLS_DATA,
            "not enough neighbouring rows of one trajectory with increasing time: there "
            "is nothing to learn from");
    return CLS_OK;
}

/* Behind the data: the mean of each point and its successor (used inside trajectories only). */
static void add_means(clsi_points *p) {
    for (size_t i = 0; i + 1 < p->n_data; i++) {
        size_t at = p->n_data + i;
        p->time[at] = 0.5 * (p->time[i] + p->time[i + 1]);
        for (size_t k = 0; k < p->nz; k++) {
            double *z = p->z + k * p->n;
            z[at] = 0.5 * (z[i] + z[i + 1]);
        }
    }
}

cls_status clsi_points_create(const cls_system *s, size_t n_tables, const cls_table *const *tables,
                              const char *const *names, const clsi_rule *rule, double validate,
                              uint64_t max_windows, clsi_points **out, cls_error *error) {
    return clsi_points_create_wide(s, n_tables, tables, names, rule, validate, max_windows, 0, 0,
                                   out, error);
}

static cls_status create(const cls_system *s, size_t n_tables, const cls_table *const *tables,
                         const char *const *names, const clsi_rule *rule, double validate,
                         uint64_t max_windows, size_t window, size_t width, size_t panel,
                         int partial, clsi_points **out, cls_error *error) {
    *out = NULL;
    clsi_points *p = clsi_calloc(1, sizeof *p);
    if (!p) return clsi_no_memory(error);
    p->nz = rule->positions ? cls_system_coordinate_count(s) : s->form->nz;
    p->rule = *rule;
    p->width = width;
    p->panel = panel;
    for (size_t i = 0; i < n_tables; i++) p->n_data += cls_table_rows(tables[i]);
    p->nu = rule->between ? s->nu : 0;
    p->n = !p->n_data || !(rule->means || rule->between) ? p->n_data
           : rule->means                                 ? 2 * p->n_data - 1
                                                         : 3 * p->n_data - 2;
    p->time = clsi_calloc(p->n, sizeof *p->time);
    p->z = clsi_calloc(p->n * clsi_point_rows(p), sizeof *p->z);
    p->observed = clsi_calloc(p->nz, 1);
    double *trajectory = clsi_calloc(p->n_data, sizeof *trajectory);
    size_t *table = clsi_calloc(p->n_data, sizeof *table), at = 0;
    unsigned char *joined = clsi_calloc(p->n_data + 1, 1);
    cls_status status = p->time && p->z && p->observed && trajectory && table && joined
                            ? CLS_OK
                            : clsi_no_memory(error);
    for (size_t i = 0; i < n_tables && status == CLS_OK; i++) {
        status = copy_table(s, tables[i], names[i], at, partial, p, trajectory, error);
        for (size_t k = 0; k < cls_table_rows(tables[i]); k++) table[at + k] = i;
        at += cls_table_rows(tables[i]);
    }
    if (status == CLS_OK && partial) status = guess_missing(s, table, trajectory, p, error);
    if (status == CLS_OK) status = copy_rates(s, n_tables, tables, names, p, error);
    if (status == CLS_OK && rule->means) add_means(p);
    if (status == CLS_OK)
        status = make_windows(p, trajectory, table, joined, validate, max_windows, window, error);
    if (status == CLS_OK && rule->positions) p->noise = noise_of_forces(p);
    if (status == CLS_OK && rule->positions) status = clsi_points_expand(p, p->nz, joined, error);
    if (status == CLS_OK && rule->between)
        status = clsi_points_between(s, n_tables, tables, names, joined, p, error);
    free(trajectory);
    free(table);
    free(joined);
    if (status == CLS_OK)
        *out = p;
    else
        clsi_points_free(&p);
    return status;
}

cls_status clsi_points_create_wide(const cls_system *s, size_t n_tables,
                                   const cls_table *const *tables, const char *const *names,
                                   const clsi_rule *rule, double validate, uint64_t max_windows,
                                   size_t window, int partial, clsi_points **out,
                                   cls_error *error) {
    return create(s, n_tables, tables, names, rule, validate, max_windows, window,
                  rule->between ? 4 : 3, 3, partial, out, error);
}

/* A window of two intervals leaves the width as it is. */
cls_status clsi_points_create_like(const cls_system *s, const cls_table *t, const char *name,
                                   const clsi_points *like, clsi_points **out, cls_error *error) {
    return create(s, 1, &t, &name, &like->rule, 0, 0, 2, like->width, like->panel, 0, out, error);
}

void clsi_points_free(clsi_points **points) {
    clsi_points *p = *points;
    if (!p) return;
    free(p->time);
    free(p->z);
    free(p->observed);
    free(p->rate);
    free(p->window);
    free(p->held);
    clsi_intervals_free(&p->intervals);
    free(p->trained);
    free(p);
    *points = NULL;
}
