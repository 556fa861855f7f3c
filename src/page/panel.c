/* A measured channel and its simulation as a small picture: measured rows as dots, each subject as a
 * line, its band, below on the same times what is left (measured minus simulated).
 *
 * The plots are inner <svg> elements with a grid of their own, MESH wide, in whole numbers and
 * relative steps: a third of the bytes, and zoom.js zooms in time by changing their viewBox. */
#include "page/page.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { WIDTH = 360, HEIGHT = 224, LEFT = 58, RIGHT = 6, MAIN_TOP = 8, MAIN = 134, REST_TOP = 152 };
enum { REST = 44, MESH = 3000, TALL = 600, DOTS = 32, SLICES = 150, TABLE_ROWS = 24 };

typedef struct plot {
    clsi_text *t;
    double x0, x1, y0, y1;
    long x, y; /* where the pen is */
    int down;
} plot;

static void extend(plot *v, double y) {
    if (!isfinite(y)) return;
    v->y0 = fmin(v->y0, y);
    v->y1 = fmax(v->y1, y);
}

static void widen(plot *v) {
    if (!(v->y0 <= v->y1)) v->y0 = 0, v->y1 = 1;
    double room = 0.05 * (v->y1 - v->y0);
    if (!(room > 0)) room = fabs(v->y0) > 0 ? 0.1 * fabs(v->y0) : 1;
    v->y0 -= room;
    v->y1 += room;
}

/* A point of a path: M for the first, then relative; values far outside are cut at the border. */
static void go(plot *v, double x, double y, int dots) {
    if (!isfinite(x) || !isfinite(y)) {
        v->down = dots ? v->down : 0;
        return;
    }
    double share = fmin(fmax((v->y1 - y) / (v->y1 - v->y0), -1), 2);
    long px = lround(MESH * (x - v->x0) / (v->x1 - v->x0)), py = lround(TALL * share);
    if (!v->down)
        clsi_text_printf(v->t, "M%ld %ld", px, py);
    else
        clsi_text_printf(v->t, "%c%ld%s%ld", dots ? 'm' : 'l', px - v->x, py < v->y ? "" : " ",
                         py - v->y);
    if (dots) clsi_text_append(v->t, "h0");
    v->x = px, v->y = py, v->down = 1;
}

static void path(plot *v, const char *class, int style, size_t n, const double *x, const double *y,
                 int dots) {
    size_t keep[2 * SLICES], kept = clsi_thin(n, y, dots ? DOTS : SLICES, keep);
    v->down = 0;
    clsi_text_printf(v->t, "<path class=\"%s s%d\" d=\"", class, style);
    for (size_t i = 0; i < kept; i++) go(v, x[keep[i]], y[keep[i]], dots);
    clsi_text_append(v->t, "\"/>");
}

static void band(plot *v, size_t n, const double *x, const double *low, const double *high) {
    size_t keep[2 * SLICES], kept = clsi_thin(n, low, SLICES, keep);
    v->down = 0;
    clsi_text_append(v->t, "<path class=\"band\" d=\"");
    for (size_t i = 0; i < kept; i++) go(v, x[keep[i]], low[keep[i]], 0);
    for (size_t i = kept; i-- > 0;) go(v, x[keep[i]], high[keep[i]], 0);
    clsi_text_append(v->t, "z\"/>");
}

static void open_plot(const plot *v, int top, int height) {
    clsi_text_printf(v->t,
                     "<svg class=\"z\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" viewBox=\"0 0 "
                     "%d %d\" preserveAspectRatio=\"none\">",
                     LEFT, top, WIDTH - LEFT - RIGHT, height, MESH, TALL);
}

/* Lines and numbers across. */
static void levels(const plot *v, int top, int height, double step) {
    for (double y = ceil(v->y0 / step) * step; y <= v->y1; y = clsi_next_tick(y, step)) {
        double at = top + height * (v->y1 - y) / (v->y1 - v->y0);
        clsi_text_printf(v->t,
                         "<path class=\"axis\" d=\"M%d %.1fH%d\"/><text x=\"%d\" y=\"%.1f\" "
                         "text-anchor=\"end\">",
                         LEFT, at, WIDTH - RIGHT, LEFT - 4, at + 4);
        clsi_tick_label(v->t, y, step);
        clsi_text_append(v->t, "</text>");
    }
}

static void times(const plot *v) {
    double step = clsi_tick(v->x1 - v->x0, 5);
    clsi_text_append(v->t, "<g class=\"ticks\">");
    for (double x = ceil(v->x0 / step) * step; x <= v->x1 + 1e-9 * step;
         x = clsi_next_tick(x, step)) {
        double at = (WIDTH - LEFT - RIGHT) * fmin(1, (x - v->x0) / (v->x1 - v->x0));
        clsi_text_printf(v->t, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\">", LEFT + at,
                         HEIGHT - 14, at > WIDTH - LEFT - RIGHT - 12 ? "end" : "middle");
        clsi_tick_label(v->t, x, step);
        clsi_text_append(v->t, "</text>");
    }
    clsi_text_printf(v->t, "</g><text x=\"%d\" y=\"%d\" text-anchor=\"end\">time</text>",
                     WIDTH - RIGHT, HEIGHT - 1);
}

/* From here on the data were kept back: a darker ground. */
static void held(const plot *v, double from) {
    if (!(from < v->x1)) return;
    long at = lround(MESH * fmax(0, (from - v->x0) / (v->x1 - v->x0)));
    clsi_text_printf(v->t, "<rect class=\"held\" x=\"%ld\" y=\"0\" width=\"%ld\" height=\"%d\"/>",
                     at, MESH - at, TALL);
}

static void residual(plot *v, const clsi_panel *p) {
    const clsi_series *s = p->lines;
    size_t n = s->n < p->n ? s->n : p->n;
    double *off = clsi_calloc(n + 1, sizeof *off), most = 0;
    if (!off) {
        v->t->failed = 1;
        return;
    }
    for (size_t k = 0; k < n; k++) {
        off[k] = p->y[k] - s->y[k];
        if (isfinite(off[k])) most = fmax(most, fabs(off[k]));
    }
    int none = !(most > 0); /* only the line at 0 then */
    if (none) most = 1;
    v->y0 = -1.15 * most, v->y1 = 1.15 * most;
    levels(v, REST_TOP, REST, none ? 3 * most : most);
    open_plot(v, REST_TOP, REST);
    held(v, p->held_from);
    path(v, "d", 5, n, p->time, off, 1);
    clsi_text_append(v->t, "</svg>");
    free(off);
}

static void numbers(clsi_text *t, const clsi_panel *p) {
    size_t step = p->n > TABLE_ROWS ? (p->n + TABLE_ROWS - 1) / TABLE_ROWS : 1;
    clsi_text_append(t, "<details><summary>The numbers</summary><div class=\"scroll\" "
                        "tabindex=\"0\" role=\"group\" aria-label=\"numbers of ");
    clsi_html(t, p->title, CLSI_HTML_NAME);
    clsi_text_append(t, "\"><table>");
    if (step > 1) clsi_text_printf(t, "<caption>every %zu-th of %zu rows</caption>", step, p->n);
    clsi_text_append(t, "<thead><tr><th scope=\"col\" class=\"n\">time</th><th scope=\"col\" "
                        "class=\"n\">measured</th>");
    for (size_t i = 0; i < p->n_lines; i++) {
        clsi_text_append(t, "<th scope=\"col\" class=\"n\">");
        clsi_html(t, p->lines[i].label, 40);
        clsi_text_append(t, "</th>");
    }
    if (p->low)
        clsi_text_append(t, "<th scope=\"col\" class=\"n\">5 %</th><th scope=\"col\" "
                            "class=\"n\">95 %</th>");
    clsi_text_append(t, "</tr></thead><tbody>");
    for (size_t k = 0; k < p->n; k += step) {
        clsi_text_printf(t, "<tr><td class=\"n\">%.6g<td class=\"n\">%.6g", p->time[k], p->y[k]);
        for (size_t i = 0; i < p->n_lines; i++)
            clsi_text_printf(t, "<td class=\"n\">%.6g", k < p->lines[i].n ? p->lines[i].y[k] : NAN);
        if (p->low)
            clsi_text_printf(t, "<td class=\"n\">%.6g<td class=\"n\">%.6g", p->low[k], p->high[k]);
    }
    clsi_text_append(t, "</tbody></table></div></details>");
}

static void caption(clsi_text *t, const clsi_panel *p) {
    clsi_text_append(t, "<figcaption><strong>");
    clsi_html(t, p->title, CLSI_HTML_NAME);
    clsi_text_append(t, "</strong>");
    if (*p->unit) {
        clsi_text_append(t, " [");
        clsi_html(t, p->unit, 40);
        clsi_text_append(t, "]");
    }
    if (p->note) clsi_text_append(t, ": "), clsi_html(t, p->note, 0);
    clsi_text_append(t, "</figcaption>");
}

void clsi_panel_write(clsi_text *t, const clsi_panel *p) {
    plot v = {.t = t, .x0 = p->time[0], .x1 = p->time[p->n - 1], .y0 = DBL_MAX, .y1 = -DBL_MAX};
    if (!(v.x1 > v.x0)) v.x1 = v.x0 + 1;
    for (size_t k = 0; k < p->n; k++) extend(&v, p->y[k]);
    double low = v.y0, high = v.y1; /* a run that goes astray must not flatten the data */
    for (size_t i = 0; i < p->n_lines; i++)
        for (size_t k = 0; k < p->lines[i].n; k++) extend(&v, p->lines[i].y[k]);
    if (high > low) v.y0 = fmax(v.y0, low - (high - low)), v.y1 = fmin(v.y1, high + (high - low));
    widen(&v);
    clsi_text_printf(
        t,
        "<figure class=\"panel\" data-from=\"%.9g\" data-to=\"%.9g\"><svg viewBox=\"0 0 "
        "%d %d\" role=\"img\"><title>",
        v.x0, v.x1, WIDTH, HEIGHT);
    clsi_html(t, p->title, CLSI_HTML_NAME);
    clsi_text_append(t, "</title><desc>measured as dots, simulated as lines against time; below, "
                        "measured minus simulated</desc>");
    levels(&v, MAIN_TOP, MAIN, clsi_tick(v.y1 - v.y0, 4));
    times(&v);
    open_plot(&v, MAIN_TOP, MAIN);
    held(&v, p->held_from);
    if (p->low && p->n_lines) band(&v, p->lines[0].n, p->time, p->low, p->high);
    path(&v, "d big", 1, p->n, p->time, p->y, 1);
    for (size_t i = 0; i < p->n_lines; i++)
        path(&v, "l", p->lines[i].style, p->lines[i].n, p->lines[i].x, p->lines[i].y, 0);
    clsi_text_append(t, "</svg>");
    if (p->n_lines) residual(&v, p);
    clsi_text_append(t, "</svg>");
    caption(t, p);
    numbers(t, p);
    clsi_text_append(t, "</figure>\n");
}
