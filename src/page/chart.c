/* Curves as inline SVG: two axes, lines with dashes beside colours, points, a legend, the numbers.
 *
 * A series of many points is thinned for drawing to the smallest and largest value of each of
 * COLUMNS slices, so that peaks stay; the caption says so. */
#include "page/page.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 720, LEFT = 66, RIGHT = 12, TOP = 10, BOTTOM = 34, COLUMNS = 300, TABLE_ROWS = 40 };

typedef struct view {
    clsi_text *t;
    const clsi_chart *c;
    double x0, x1, y0, y1;
    int height;
} view;

static double value(const view *v, double y) {
    if (!v->c->logarithmic) return y;
    return y == 0 ? NAN : log10(fabs(y));
}

static void extend(double *low, double *high, double x) {
    if (!isfinite(x)) return;
    if (x < *low) *low = x;
    if (x > *high) *high = x;
}

static void widen(double *low, double *high) {
    if (!(*low <= *high)) *low = 0, *high = 1;
    double room = 0.04 * (*high - *low);
    if (!(room > 0)) room = fabs(*low) > 0 ? 0.1 * fabs(*low) : 1;
    *low -= room;
    *high += room;
}

static double px(const view *v, double x) {
    return LEFT + (WIDTH - LEFT - RIGHT) * (x - v->x0) / (v->x1 - v->x0);
}

static double py(const view *v, double y) {
    return TOP + (v->height - TOP - BOTTOM) * (v->y1 - y) / (v->y1 - v->y0);
}

/* A round step that divides the range into about n. */
static double tick(double range, int n) {
    double raw = range / n, size = pow(10, floor(log10(raw))), part = raw / size;
    return size * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

static void put_label(clsi_text *t, double x, double step, int power) {
    if (power)
        clsi_text_printf(t, "1e%.0f", x);
    else
        clsi_text_printf(t, "%.6g", fabs(x) < 1e-9 * step ? 0.0 : x);
}

static void axes(const view *v) {
    clsi_text *t = v->t;
    double dx = tick(v->x1 - v->x0, 7), dy = tick(v->y1 - v->y0, v->height > 180 ? 5 : 3);
    if (v->c->logarithmic && dy < 1) dy = 1;
    for (double x = ceil(v->x0 / dx) * dx; x <= v->x1; x += dx) {
        clsi_text_printf(t,
                         "<path class=\"axis\" d=\"M%.1f %dV%d\"/><text x=\"%.1f\" y=\"%d\" "
                         "text-anchor=\"middle\">",
                         px(v, x), TOP, v->height - BOTTOM, px(v, x), v->height - BOTTOM + 14);
        put_label(t, x, dx, 0);
        clsi_text_append(t, "</text>");
    }
    for (double y = ceil(v->y0 / dy) * dy; y <= v->y1; y += dy) {
        clsi_text_printf(t,
                         "<path class=\"axis\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
                         "text-anchor=\"end\">",
                         LEFT, py(v, y), WIDTH - RIGHT, LEFT - 5, py(v, y) + 4);
        put_label(t, y, dy, v->c->logarithmic);
        clsi_text_append(t, "</text>");
    }
    clsi_text_printf(t, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", WIDTH - RIGHT,
                     v->height - 4);
    clsi_html(t, v->c->x_label, CLSI_HTML_NAME);
    clsi_text_append(t, "</text>");
}

static void shade(const view *v) {
    double from = v->c->shade_from, to = v->c->shade_to;
    if (!(from <= to)) return;
    double a = fmin(fmax(px(v, from), LEFT), WIDTH - RIGHT),
           b = fmin(fmax(px(v, to), LEFT), WIDTH - RIGHT);
    clsi_text_printf(v->t, "<rect class=\"shade\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
                     LEFT, TOP, a - LEFT, v->height - TOP - BOTTOM);
    clsi_text_printf(v->t,
                     "<rect class=\"shade\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", b,
                     TOP, WIDTH - RIGHT - b, v->height - TOP - BOTTOM);
}

static int shown(const view *v, const clsi_series *s, size_t k) {
    return isfinite(s->x[k]) && isfinite(value(v, s->y[k]));
}

static void point(const view *v, const clsi_series *s, size_t k, int *pen) {
    if (!shown(v, s, k)) {
        *pen = 0;
        return;
    }
    double x = px(v, s->x[k]), y = py(v, value(v, s->y[k]));
    if (s->mark == CLSI_POINTS)
        clsi_text_printf(v->t, "M%.1f %.1fh0", x, y); /* a round cap: a dot */
    else
        clsi_text_printf(v->t, "%c%.1f %.1f", *pen ? 'L' : 'M', x, y);
    *pen = 1;
}

/* All points, or the least and the largest of each slice in the order they have. */
static void curve(const view *v, const clsi_series *s) {
    int pen = 0;
    clsi_text_printf(
        v->t, s->mark == CLSI_POINTS ? "<path class=\"d s%d\" d=\"" : "<path class=\"l s%d\" d=\"",
        s->style % 6);
    size_t slice = (s->n + COLUMNS - 1) / COLUMNS;
    for (size_t first = 0; first < s->n; first += slice) {
        size_t end = first + slice < s->n ? first + slice : s->n, low = first, high = first;
        for (size_t k = first; k < end; k++) {
            if (!shown(v, s, k)) continue;
            if (!shown(v, s, low) || value(v, s->y[k]) < value(v, s->y[low])) low = k;
            if (!shown(v, s, high) || value(v, s->y[k]) > value(v, s->y[high])) high = k;
        }
        size_t a = low < high ? low : high, b = low < high ? high : low;
        if (slice <= 2)
            for (size_t k = first; k < end; k++) point(v, s, k, &pen);
        else {
            point(v, s, a, &pen);
            if (b != a) point(v, s, b, &pen);
        }
    }
    clsi_text_append(v->t, "\"/>");
}

static void legend(const clsi_chart *c, clsi_text *t) {
    static const char *const words[] = {"solid",    "dashed",      "dotted",
                                        "dash-dot", "long dashes", "fine dots"};
    for (size_t i = 0; i < c->n; i++) {
        clsi_text_append(t, i ? "; " : " ");
        clsi_html(t, c->series[i].label, CLSI_HTML_NAME);
        clsi_text_printf(t, " (%s)",
                         c->series[i].mark == CLSI_POINTS ? "points"
                                                          : words[c->series[i].style % 6]);
    }
}

static void table(const clsi_chart *c, clsi_text *t) {
    clsi_text_append(t, "<details><summary>The numbers</summary><div class=\"scroll\" "
                        "tabindex=\"0\" role=\"region\" aria-label=\"numbers of ");
    clsi_html(t, c->title, CLSI_HTML_NAME);
    clsi_text_append(t, "\">");
    for (size_t i = 0; i < c->n; i++) {
        const clsi_series *s = &c->series[i];
        size_t step = s->n > TABLE_ROWS ? (s->n + TABLE_ROWS - 1) / TABLE_ROWS : 1;
        clsi_text_append(t, "<table><caption>");
        clsi_html(t, s->label, CLSI_HTML_NAME);
        if (step > 1) clsi_text_printf(t, ", every %zu-th of %zu rows", step, s->n);
        clsi_text_append(t, "</caption><thead><tr><th scope=\"col\" class=\"n\">");
        clsi_html(t, c->x_label, CLSI_HTML_NAME);
        clsi_text_append(t, "</th><th scope=\"col\" class=\"n\">");
        clsi_html(t, c->y_label, CLSI_HTML_NAME);
        clsi_text_append(t, "</th></tr></thead><tbody>");
        for (size_t k = 0; k < s->n; k += step)
            clsi_text_printf(t, "<tr><td class=\"n\">%.6g</td><td class=\"n\">%.6g</td></tr>",
                             s->x[k], s->y[k]);
        clsi_text_append(t, "</tbody></table>");
    }
    clsi_text_append(t, "</div></details>");
}

void clsi_chart_write(clsi_text *t, const clsi_chart *c) {
    view v = {t, c, DBL_MAX, -DBL_MAX, DBL_MAX, -DBL_MAX, c->height ? c->height : 240};
    int thinned = 0;
    for (size_t i = 0; i < c->n; i++) {
        thinned |= c->series[i].n > 2 * COLUMNS;
        for (size_t k = 0; k < c->series[i].n; k++) {
            extend(&v.x0, &v.x1, c->series[i].x[k]);
            extend(&v.y0, &v.y1, value(&v, c->series[i].y[k]));
        }
    }
    if (!(v.x0 < v.x1)) widen(&v.x0, &v.x1);
    widen(&v.y0, &v.y1);
    clsi_text_printf(t, "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH, v.height);
    clsi_html(t, c->title, CLSI_HTML_NAME);
    clsi_text_append(t, "</title><desc>");
    clsi_html(t, c->y_label, CLSI_HTML_NAME);
    clsi_text_append(t, " against ");
    clsi_html(t, c->x_label, CLSI_HTML_NAME);
    clsi_text_append(t, ":");
    legend(c, t);
    clsi_text_append(t, "</desc>");
    shade(&v);
    axes(&v);
    for (size_t i = 0; i < c->n; i++) curve(&v, &c->series[i]);
    clsi_text_append(t, "</svg><figcaption><strong>");
    clsi_html(t, c->title, CLSI_HTML_NAME);
    clsi_text_append(t, "</strong>:");
    legend(c, t);
    if (c->note) clsi_text_append(t, ". "), clsi_html(t, c->note, 0);
    if (thinned) clsi_text_append(t, ". Thinned for drawing: the extremes of each slice are kept");
    clsi_text_append(t, ".</figcaption>");
    table(c, t);
    clsi_text_append(t, "</figure>\n");
}
