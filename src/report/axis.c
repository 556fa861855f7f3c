/* Axes: ticks at 1, 2 or 5 times a power of ten, and labels that stay short.
 *
 * A tick is an integer times the step, and the step is an integer times a power of ten, so that
 * labels are exact and 0 is "0". Very large or small labels lose a common power of ten; labels that
 * would need more than five digits lose a common offset (an energy of 0.5 that varies by 1e-9 is
 * labelled -1, 0, 1 with the note "x10^-9 + 0.5"). Constant time. */
#include "base/locale.h"
#include "report/plot.h"
#include <math.h>

int clsi_drawable(double value) {
    return fabs(value) < 1e300;
}

void clsi_axis_widen(double *lo, double *hi, double least_span) {
    double middle = *lo / 2 + *hi / 2, size = fmax(fabs(*lo), fabs(*hi));
    /* Below 1e-13 of its size an interval is rounding: doubles end at 2e-16. */
    double least = fmax(least_span, size * 1e-13);
    if (*hi - *lo > least) return;
    double half = least_span > size * 1e-13 ? least_span / 2 : size > 0 ? size / 10 : 1;
    *lo = middle - half;
    *hi = middle + half;
}

static int floor_log10(double x) {
    return (int)floor(log10(x) + 1e-12); /* 1000 must give 3, whatever the last bit of log10 */
}

/* The smallest step with at most `most` ticks between lo and hi. */
static void choose_step(clsi_axis *a, int most) {
    static const int mantissas[] = {1, 2, 5};
    int power = floor_log10((a->hi - a->lo) / most) - 1;
    if (a->powers && power < 0) power = 0;
    for (int i = 0;; i++) {
        a->mantissa = mantissas[i % 3];
        a->power = power + i / 3;
        double step = a->mantissa * pow(10, a->power);
        double first = ceil(a->lo / step - 1e-9), last = floor(a->hi / step + 1e-9);
        if (last - first + 1 > most) continue;
        a->first = first;
        a->n_ticks = (int)(last - first + 1);
        return;
    }
}

static double largest_label(const clsi_axis *a) {
    double last = a->first + a->n_ticks - 1;
    double steps = fmax(fabs(a->first - a->offset), fabs(last - a->offset));
    return steps * a->mantissa * pow(10, a->power);
}

static void superscript(int number, char out[32]) {
    static const char *const digits[] = {"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
    char plain[16];
    snprintf(plain, sizeof plain, "%d", number);
    size_t used = 0;
    *out = 0;
    for (const char *c = plain; *c; c++)
        used += (size_t)snprintf(out + used, 32 - used, "%s", *c == '-' ? "⁻" : digits[*c - '0']);
}

/* The offset is the roundest tick, the one that ends in the most zeros. */
static void choose_offset(clsi_axis *a, char text[40]) {
    *text = 0;
    double largest = largest_label(a), best = 0;
    if (largest == 0 || floor_log10(largest) - a->power + 1 <= 5) return;
    for (int i = 0, most = -1; i < a->n_ticks; i++) {
        double number = (a->first + i) * a->mantissa;
        int zeros = 0;
        for (double n = number; n != 0 && fmod(n, 10) == 0; n /= 10) zeros++;
        if (zeros <= most) continue;
        most = zeros;
        best = number;
    }
    a->offset = best / a->mantissa;
    int digits = floor_log10(fabs(best)) + 1;
    clsi_snprintf(text, 40, " %s %.*g", best < 0 ? "−" : "+", digits,
                  fabs(best) * pow(10, a->power));
}

/* An axis that ends just before a tick goes on to it: 50 is a better end than 49.99. */
static void reach_ticks(clsi_axis *a) {
    double near = 0.02 * (a->hi - a->lo);
    double before = clsi_axis_tick(a, -1), after = clsi_axis_tick(a, a->n_ticks);
    if (a->lo - before < near) {
        a->lo = before;
        a->first--;
        a->n_ticks++;
    }
    if (after - a->hi < near) {
        a->hi = after;
        a->n_ticks++;
    }
}

clsi_axis clsi_axis_make(double lo, double hi, int most_ticks) {
    clsi_axis a = {.lo = lo, .hi = hi};
    char offset[40], power[32];
    choose_step(&a, most_ticks);
    reach_ticks(&a);
    choose_offset(&a, offset);
    double largest = largest_label(&a);
    int tiny = largest < 1e-3 || (largest < 1 && a.power < -4); /* 0.01234 is the longest */
    if (largest > 0 && (tiny || largest >= 99999.5)) a.exponent = floor_log10(largest);
    a.decimals = a.exponent > a.power ? a.exponent - a.power : 0;
    if (a.exponent) {
        superscript(a.exponent, power);
        snprintf(a.note, sizeof a.note, "×10%s%s", power, offset);
    } else {
        snprintf(a.note, sizeof a.note, "%s", offset + (*offset == ' '));
    }
    return a;
}

clsi_axis clsi_axis_make_powers(double lo, double hi, int most_ticks) {
    clsi_axis a = {.lo = floor(lo), .hi = ceil(hi), .powers = 1};
    if (!(a.hi > a.lo)) a.hi = a.lo + 1;
    choose_step(&a, most_ticks);
    return a;
}

double clsi_axis_tick(const clsi_axis *a, int i) {
    return (a->first + i) * a->mantissa * pow(10, a->power);
}

void clsi_axis_label(const clsi_axis *a, int i, char out[32]) {
    double steps = a->first + i - a->offset;
    if (a->powers) {
        char power[32];
        superscript((int)lround(clsi_axis_tick(a, i)), power);
        snprintf(out, 32, "10%.28s", power);
        return;
    }
    double value = fabs(steps) * a->mantissa * pow(10, a->power - a->exponent);
    const char *sign = steps < -0.5 ? "−" : "";
    clsi_snprintf(out, 32, "%s%.*f", sign, value < 0.5 * pow(10, -a->decimals) ? 0 : a->decimals,
                  value);
}
