/* Inputs from samples: zero-order and linear hold, and what a step sees of them.
 *
 * A scheme takes inputs as linear functions of time within a step. Between two samples that is what
 * the hold is, so that a run whose steps end at the samples has no error from the inputs. A longer
 * step gets the projection of the hold onto linear functions: with x the time from the middle of
 * the step, |x| <= h/2,
 *
 *     u(x) = M0/h + 12 M1/h^3 x,      M0 = integral of u dx,  M1 = integral of u x dx,
 *
 * integrated exactly piece by piece. The mean is kept always, so that an impulse or an amount of
 * heat does not depend on how steps and samples lie; the slope is made smaller where an end would
 * leave the range of the hold (a heater that is never negative stays so). Samples are found by
 * bisection; cost: the samples inside the step. */
#include "simulate/signal.h"
#include "base/base.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct clsi_signal {
    size_t nu, n;
    cls_hold *hold;       /* (nu) */
    double *time, *value; /* (n), (nu, n) */
};

/* ---- creation ---- */

static cls_status check_times(size_t n, const double *times, cls_error *error) {
    if (n == 0) return clsi_fail(error, CLS_DATA, "the inputs have no samples");
    for (size_t i = 0; i < n; i++)
        if (!isfinite(times[i]) || (i && !(times[i] > times[i - 1])))
            return clsi_fail(error, CLS_DATA,
                             "inputs: time %.17g in row %zu does not rise; samples of inputs must "
                             "be ordered by time, each time once",
                             times[i], i + 1);
    return CLS_OK;
}

/* Gaps: the last value (zero), or the line between the neighbours (linear); at the ends the nearest
 * value. Zero when there is none at all. */
static int fill_gaps(const clsi_signal *s, cls_hold hold, double *value) {
    size_t first = 0, before;
    while (first < s->n && !isfinite(value[first])) first++;
    if (first == s->n) return 0;
    for (size_t i = 0; i < first; i++) value[i] = value[first];
    before = first;
    for (size_t i = first + 1; i < s->n; i++) {
        if (!isfinite(value[i])) continue;
        for (size_t k = before + 1; k < i; k++) {
            double part = (s->time[k] - s->time[before]) / (s->time[i] - s->time[before]);
            value[k] = hold == CLS_HOLD_ZERO ? value[before]
                                             : (1 - part) * value[before] + part * value[i];
        }
        before = i;
    }
    for (size_t i = before + 1; i < s->n; i++) value[i] = value[before];
    return 1;
}

cls_status clsi_signal_create(size_t nu, size_t n, const double *times, const double *values,
                              const cls_hold *hold, clsi_signal **out, cls_error *error) {
    *out = NULL;
    cls_status status = check_times(n, times, error);
    if (status != CLS_OK) return status;
    clsi_signal *s = clsi_calloc(1, sizeof *s);
    if (!s) return clsi_no_memory(error);
    *s = (clsi_signal){.nu = nu, .n = n};
    s->time = clsi_calloc(n * (nu + 1), sizeof *s->time);
    s->hold = clsi_calloc(nu + 1, sizeof *s->hold);
    if (!s->time || !s->hold) {
        clsi_signal_free(&s);
        return clsi_no_memory(error);
    }
    s->value = s->time + n;
    memcpy(s->time, times, n * sizeof *times);
    if (nu) memcpy(s->value, values, nu * n * sizeof *values);
    if (nu) memcpy(s->hold, hold, nu * sizeof *hold);
    for (size_t k = 0; k < nu && status == CLS_OK; k++)
        if (!fill_gaps(s, hold[k], s->value + k * n))
            status = clsi_fail(error, CLS_DATA, "input %zu has no value that is a number", k + 1);
    if (status == CLS_OK)
        *out = s;
    else
        clsi_signal_free(&s);
    return status;
}

void clsi_signal_free(clsi_signal **signal) {
    clsi_signal *s = *signal;
    if (!s) return;
    free(s->time);
    free(s->hold);
    free(s);
    *signal = NULL;
}

/* ---- which hold ---- */

/* A controller's values stand for several rows and jump from one to the next. What is measured changes
 * with every row, or with every row while anything happens: the sun, which is zero all night. */
static cls_hold as_it_looks(size_t n, const double *value) {
    size_t same = 0, all = 0, jumps = 0;
    for (size_t i = 1; i < n; i++) {
        if (!isfinite(value[i])) continue;
        int stays = value[i] == value[i - 1];
        same += stays;
        all++;
        jumps += !stays && ((i > 1 && value[i - 1] == value[i - 2]) ||
                            (i + 1 < n && value[i + 1] == value[i]));
    }
    return 3 * same > all && 2 * jumps >= all - same ? CLS_HOLD_ZERO : CLS_HOLD_LINEAR;
}

/* One of the words, from `at` to `end` without blanks; -1: none of them. */
static int word_at(const char *at, const char *end) {
    static const char *const words[] = {"zero", "linear", "auto"};
    for (int k = 0; k < 3; k++)
        if ((size_t)(end - at) == strlen(words[k]) && !memcmp(at, words[k], (size_t)(end - at)))
            return k;
    return -1;
}

static void trim(const char **at, const char **end) {
    while (*at < *end && (**at == ' ' || **at == '\t')) ++*at;
    while (*end > *at && ((*end)[-1] == ' ' || (*end)[-1] == '\t')) --*end;
}

static cls_status no_input(const cls_system *s, const char *at, const char *end, cls_error *error) {
    clsi_text list = {0};
    for (size_t k = 0; k < s->nu; k++)
        clsi_text_printf(&list, "%s%s", k ? ", " : "", s->input[k].name);
    cls_status status = clsi_fail(error, CLS_USAGE, "hold: there is no input '%.*s'; there are %s",
                                  (int)(end - at), at, list.data ? list.data : "none");
    clsi_text_clear(&list);
    return status;
}

cls_status clsi_holds(const cls_system *s, const char *text, cls_hold otherwise, size_t n,
                      const double *values, cls_hold *hold, cls_error *error) {
    for (size_t k = 0; k < s->nu; k++)
        hold[k] = otherwise == CLS_HOLD_AUTO ? as_it_looks(n, values + k * n) : otherwise;
    for (const char *item = text; item && *item;) {
        const char *stop = strchr(item, ','), *end = stop ? stop : item + strlen(item);
        const char *equal = memchr(item, '=', (size_t)(end - item)), *at = equal ? equal + 1 : item;
        const char *name = item, *name_end = equal ? equal : item, *word_end = end;
        int found = equal ? 0 : 1;
        trim(&at, &word_end);
        trim(&name, &name_end);
        int word = word_at(at, word_end);
        if (word < 0)
            return clsi_fail(error, CLS_USAGE,
                             "hold is zero, linear or auto, for all inputs or for one "
                             "(`u=zero, Tout=linear`); got '%.*s'",
                             (int)(word_end - at), at);
        for (size_t k = 0; k < s->nu; k++) {
            if (equal && (strlen(s->input[k].name) != (size_t)(name_end - name) ||
                          memcmp(s->input[k].name, name, (size_t)(name_end - name))))
                continue;
            hold[k] = word == CLS_HOLD_AUTO ? as_it_looks(n, values + k * n) : (cls_hold)word;
            found = 1;
        }
        if (!found) return no_input(s, name, name_end, error);
        item = stop ? stop + 1 : NULL;
    }
    return CLS_OK;
}

/* ---- values ---- */

/* The last sample at or before t; 0 when t is before all of them. */
static size_t sample_before(const clsi_signal *s, double t) {
    size_t low = 0, high = s->n;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (s->time[middle] <= t)
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* On the piece that begins at sample i (for the last: goes on for ever), at time t. */
static double value_on(const clsi_signal *s, size_t k, size_t i, double t) {
    const double *value = s->value + k * s->n;
    if (s->hold[k] == CLS_HOLD_ZERO || i + 1 >= s->n || t <= s->time[i]) return value[i];
    if (t >= s->time[i + 1]) return value[i + 1];
    double part = (t - s->time[i]) / (s->time[i + 1] - s->time[i]);
    return (1 - part) * value[i] + part * value[i + 1];
}

void clsi_signal_at(const clsi_signal *s, double t, double *u) {
    size_t i = sample_before(s, t);
    for (size_t k = 0; k < s->nu; k++) u[k] = value_on(s, k, i, t);
}

/* The line with the mean M0/h and the slope 12 M1/h^3, made flatter where it leaves [low, high]. */
static void line(double h, double M0, double M1, double low, double high, double *u0, double *u1) {
    double mean = fmin(fmax(M0 / h, low), high), half = 6 * M1 / (h * h);
    double room = fmin(high - mean, mean - low);
    half = fmin(fmax(half, -room), room);
    *u0 = mean - half;
    *u1 = mean + half;
}

/* [a, b], a < b, with samples first + 1 .. last inside. */
static void project(const clsi_signal *s, size_t k, double a, double b, size_t first, size_t last,
                    double *u0, double *u1) {
    double M0 = 0, M1 = 0, low = INFINITY, high = -INFINITY, middle = a + (b - a) / 2;
    for (size_t i = first; i <= last; i++) {
        double from = i == first ? a : s->time[i], to = i == last ? b : s->time[i + 1];
        double x = value_on(s, k, i, from), y = value_on(s, k, i, to), h = to - from;
        /* u = mean + slope (t - centre) on the piece */
        double mean = (x + y) / 2, centre = from + h / 2 - middle;
        M0 += h * mean;
        M1 += h * (mean * centre + (y - x) * h / 12);
        low = fmin(low, fmin(x, y));
        high = fmax(high, fmax(x, y));
    }
    line(b - a, M0, M1, low, high, u0, u1);
}

/* Times that differ by less than this part of a step are the same. */
static const double SAME = 1e-9;

void clsi_signal_over(const clsi_signal *s, double t, double h, double *u0, double *u1) {
    double a = fmin(t, t + h), b = fmax(t, t + h), near = SAME * fabs(h);
    size_t first = sample_before(s, a + near), last = sample_before(s, b - near);
    if (last < first) last = first;
    double *begin = h < 0 ? u1 : u0, *end = h < 0 ? u0 : u1;
    for (size_t k = 0; k < s->nu; k++) {
        if (first == last && !(a < s->time[0] && s->hold[k] == CLS_HOLD_LINEAR && b > s->time[0])) {
            begin[k] = value_on(s, k, first, a);
            end[k] = value_on(s, k, first, b);
        } else {
            project(s, k, a, b, first, last, &begin[k], &end[k]);
        }
    }
}

double clsi_signal_corner(const clsi_signal *s, double t) {
    size_t i = sample_before(s, t);
    if (t < s->time[0]) return s->time[0];
    return i + 1 < s->n ? s->time[i + 1] : INFINITY;
}
