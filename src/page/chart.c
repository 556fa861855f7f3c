/* Curves as inline SVG: two axes, lines with dashes beside colours, points, a legend, the numbers.
 *
 * A series of many points is thinned for drawing to the smallest and largest value of each of
 * COLUMNS slices, so that peaks stay; the caption says so. */
#include "page/page.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { WIDTH = 360, HEIGHT = 190, LEFT = 56, RIGHT = 8, TOP = 8, BOTTOM = 32 };
enum { COLUMNS = 180, TABLE_ROWS = 24, MOST_RUG = 200 };

typedef struct view {
    clsi_text *t;
    const clsi_chart *c;
    double x0, x1, y0, y1;
    double
        base; /* marks upwards are differences from it: 0, or where they could not be told apart */
} view;

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
    return TOP + (HEIGHT - TOP - BOTTOM) * (v->y1 - y) / (v->y1 - v->y0);
}

double clsi_tick(double range, int n) {
    double raw = range / n, size = pow(10, floor(log10(raw))), part = raw / size;
    return size * (part < 1.5 ? 1 : part < 3.5 ? 2 : part < 7.5 ? 5 : 10);
}

double clsi_next_tick(double x, double step) {
    return x + step > x ? x + step : INFINITY;
}

void clsi_tick_label(clsi_text *t, double x, double step) {
    double size = floor(log10(fabs(x))), digits = size - floor(log10(step)) + 1;
    if (size < 5) digits = fmax(digits, size + 1); /* 100 and not 1e+02 */
    if (fabs(x) < 1e-9 * step)
        clsi_text_append(t, "0");
    else
        clsi_text_printf(t, "%.*g", (int)fmin(fmax(digits, 2), 9), x);
}

static void axes(const view *v) {
    clsi_text *t = v->t;
    double dx = clsi_tick(v->x1 - v->x0, 5), dy = clsi_tick(v->y1 - v->y0, 4);
    clsi_text_append(t, "<path class=\"axis\" d=\"");
    for (double x = ceil(v->x0 / dx) * dx; x <= v->x1; x = clsi_next_tick(x, dx))
        clsi_text_printf(t, "M%.1f %dV%d", px(v, x), TOP, HEIGHT - BOTTOM);
    for (double y = ceil((v->y0 - v->base) / dy) * dy; y <= v->y1 - v->base;
         y = clsi_next_tick(y, dy))
        clsi_text_printf(t, "M%d %.1fH%d", LEFT, py(v, v->base + y), WIDTH - RIGHT);
    clsi_text_append(t, "\"/>");
    for (double x = ceil(v->x0 / dx) * dx; x <= v->x1; x = clsi_next_tick(x, dx)) {
        clsi_text_printf(t, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">", px(v, x),
                         HEIGHT - BOTTOM + 14, px(v, x) > WIDTH - RIGHT - 12 ? "end" : "middle");
        clsi_tick_label(t, x, dx);
        clsi_text_append(t, "</text>");
    }
    for (double y = ceil((v->y0 - v->base) / dy) * dy; y <= v->y1 - v->base;
         y = clsi_next_tick(y, dy)) {
        clsi_text_printf(t, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 5,
                         py(v, v->base + y) + 4);
        clsi_tick_label(t, y, dy);
        clsi_text_append(t, "</text>");
    }
    clsi_text_printf(t, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", WIDTH - RIGHT, HEIGHT - 4);
    clsi_html(t, v->c->x_label, CLSI_HTML_NAME);
    clsi_text_append(t, "</text>");
}

static void shade(const view *v) {
    double from = v->c->shade_from, to = v->c->shade_to;
    if (!(from <= to)) return;
    double a = fmin(fmax(px(v, from), LEFT), WIDTH - RIGHT),
           b = fmin(fmax(px(v, to), LEFT), WIDTH - RIGHT);
    clsi_text_printf(v->t, "<rect class=\"shade\" x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>",
                     LEFT, TOP, a - LEFT, HEIGHT - TOP - BOTTOM);
    clsi_text_printf(v->t,
                     "<rect class=\"shade\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\"/>", b,
                     TOP, WIDTH - RIGHT - b, HEIGHT - TOP - BOTTOM);
}

size_t clsi_thin(size_t n, const double *y, size_t slices, size_t *keep) {
    size_t slice = (n + slices - 1) / slices, kept = 0;
    for (size_t first = 0; first < n; first += slice) {
        size_t end = first + slice < n ? first + slice : n, low = first, high = first;
        for (size_t k = first; k < end; k++) {
            if (slice <= 2) keep[kept++] = k;
            if (!isfinite(y[low]) || y[k] < y[low]) low = k;
            if (!isfinite(y[high]) || y[k] > y[high]) high = k;
        }
        if (slice <= 2) continue;
        keep[kept++] = low < high ? low : high;
        if (low != high) keep[kept++] = low < high ? high : low;
    }
    return kept;
}

/* A path in steps of tenths of a pixel, each from where the last one ended: half of the bytes that places
 * would take. */
typedef struct pen {
    clsi_text *t;
    long x, y;
    int down;
} pen;

static void put_tenths(clsi_text *t, long d, int first) {
    char text[32];
    int n = snprintf(text, sizeof text, "%s%ld", d < 0 ? "-" : first ? "" : " ", labs(d) / 10);
    if (labs(d) % 10) n += snprintf(text + n, sizeof text - (size_t)n, ".%ld", labs(d) % 10);
    clsi_text_append_n(t, text, (size_t)n);
}

static void go(pen *p, double x, double y) {
    long to_x = lround(10 * x), to_y = lround(10 * y);
    clsi_text_append(p->t, p->down ? "l" : "M");
    put_tenths(p->t, p->down ? to_x - p->x : to_x, 1);
    put_tenths(p->t, p->down ? to_y - p->y : to_y, 0);
    *p = (pen){p->t, to_x, to_y, 1};
}

static void curve(const view *v, const clsi_series *s) {
    size_t keep[2 * COLUMNS], n = clsi_thin(s->n, s->y, COLUMNS, keep);
    int dots = s->mark == CLSI_POINTS;
    pen p = {.t = v->t};
    clsi_text_printf(v->t, "<path class=\"%c s%d\" d=\"", dots ? 'd' : 'l', s->style % 6);
    for (size_t i = 0; i < n; i++) {
        double x = s->x[keep[i]], y = s->y[keep[i]];
        int shown = isfinite(x) && isfinite(y);
        if (shown) go(&p, px(v, x), py(v, y));
        if (shown && dots) clsi_text_append(v->t, "h0"); /* a round cap: a dot */
        p.down = shown && !dots;
    }
    clsi_text_append(v->t, "\"/>");
}

/* Where both ends are known; it ends at the edge of the picture. */
static void band(const view *v, const clsi_series *s) {
    for (size_t k = 0, end; s->low && k < s->n; k = end + 1) {
        for (end = k; end < s->n && isfinite(s->low[end]) && isfinite(s->high[end]);) end++;
        if (end < k + 2) continue;
        pen p = {.t = v->t};
        clsi_text_append(v->t, "<path class=\"band\" d=\"");
        for (size_t i = k; i < end; i++) go(&p, px(v, s->x[i]), py(v, fmin(s->high[i], v->y1)));
        for (size_t i = end; i-- > k;) go(&p, px(v, s->x[i]), py(v, fmax(s->low[i], v->y0)));
        clsi_text_append(v->t, "Z\"/>");
    }
}

/* The band counts as far as the curve stays visible. */
static void extend_to_bands(view *v) {
    double room = 2 * (v->y1 - v->y0), low = v->y0 - room, high = v->y1 + room;
    if (!(room > 0)) low = -DBL_MAX, high = DBL_MAX;
    for (size_t i = 0; i < v->c->n; i++)
        for (size_t k = 0; v->c->series[i].low && k < v->c->series[i].n; k++) {
            extend(&v->y0, &v->y1, fmax(v->c->series[i].low[k], low));
            extend(&v->y0, &v->y1, fmin(v->c->series[i].high[k], high));
        }
}

/* Where the data are: marks on the axis, evenly picked. */
static void rug(const view *v) {
    size_t n = v->c->n_rug, step = n > MOST_RUG ? (n + MOST_RUG - 1) / MOST_RUG : 1;
    if (!n) return;
    char marked[WIDTH + 1] = {0};
    clsi_text_append(v->t, "<path class=\"rug\" d=\"");
    for (size_t k = 0; k < n; k += step)
        if (v->c->rug[k] >= v->x0 && v->c->rug[k] <= v->x1) marked[lround(px(v, v->c->rug[k]))] = 1;
    for (int x = 0; x <= WIDTH; x++)
        if (marked[x]) clsi_text_printf(v->t, "M%d %dv-7", x, HEIGHT - BOTTOM);
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
                        "tabindex=\"0\" role=\"group\" aria-label=\"numbers of ");
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
        clsi_text_append(t, s->low
                                ? "</th><th scope=\"col\" class=\"n\">from</th><th scope=\"col\" "
                                  "class=\"n\">to</th></tr></thead><tbody>"
                                : "</th></tr></thead><tbody>");
        for (size_t k = 0; k < s->n; k += step) {
            clsi_text_printf(t, "<tr><td class=\"n\">%.6g</td><td class=\"n\">%.6g", s->x[k],
                             s->y[k]);
            if (s->low && isfinite(s->low[k]))
                clsi_text_printf(t, "</td><td class=\"n\">%.6g</td><td class=\"n\">%.6g", s->low[k],
                                 s->high[k]);
            else if (s->low)
                clsi_text_append(t, "</td><td colspan=\"2\">unknown");
            clsi_text_append(t, "</td></tr>");
        }
        clsi_text_append(t, "</tbody></table>");
    }
    clsi_text_append(t, "</div></details>");
}

/* A quantity that stays the same in its first five digits is marked by what it differs from its first
 * value. */
static double base_of(const view *v) {
    const clsi_series *s = v->c->series;
    double size = fmax(fabs(v->y0), fabs(v->y1));
    if (!(size > 2e5 * clsi_tick(v->y1 - v->y0, 4)) || !v->c->n) return 0;
    for (size_t k = 0; k < s->n; k++)
        if (isfinite(s->y[k])) return s->y[k];
    return 0;
}

void clsi_chart_write(clsi_text *t, const clsi_chart *c) {
    view v = {t, c, DBL_MAX, -DBL_MAX, DBL_MAX, -DBL_MAX, 0};
    int thinned = 0;
    for (size_t i = 0; i < c->n; i++) {
        thinned |= c->series[i].n > 2 * COLUMNS;
        for (size_t k = 0; k < c->series[i].n; k++) {
            extend(&v.x0, &v.x1, c->series[i].x[k]);
            extend(&v.y0, &v.y1, c->series[i].y[k]);
        }
    }
    extend_to_bands(&v);
    if (!(v.x0 < v.x1)) widen(&v.x0, &v.x1);
    widen(&v.y0, &v.y1);
    v.base = base_of(&v);
    clsi_text_printf(t, "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH, HEIGHT);
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
    rug(&v);
    for (size_t i = 0; i < c->n; i++) band(&v, &c->series[i]);
    for (size_t i = 0; i < c->n; i++) curve(&v, &c->series[i]);
    clsi_text_append(t, "</svg><figcaption><strong>");
    clsi_html(t, c->title, CLSI_HTML_NAME);
    clsi_text_append(t, c->n > 1 ? "</strong>:" : "</strong>");
    if (c->n > 1) legend(c, t);
    if (c->note) clsi_text_append(t, ". "), clsi_html(t, c->note, 0);
    if (v.base != 0) clsi_text_printf(t, ". Upwards: the difference from %.10g", v.base);
    if (thinned) clsi_text_append(t, ". Thinned for drawing: the extremes of each slice are kept");
    clsi_text_append(t, ".</figcaption>");
    table(c, t);
    clsi_text_append(t, "</figure>\n");
}
