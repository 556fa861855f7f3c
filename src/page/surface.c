/* A function of two inputs as a map: squares in LEVELS colours from dark to bright (one path for each
 * colour), a scale beside it, the ground outside of the data veiled, dots where the data were. */
#include "page/page.h"
#include <float.h>
#include <math.h>

enum { WIDTH = 360, HEIGHT = 250, LEFT = 56, RIGHT = 70, TOP = 8, BOTTOM = 32, LEVELS = 9 };
enum { TABLE = 8, WIDE = WIDTH - LEFT - RIGHT, TALL = HEIGHT - TOP - BOTTOM };

typedef struct view {
    clsi_text *t;
    const clsi_surface *s;
    double low, high; /* of z */
} view;

static double px(const view *v, double x) {
    return LEFT + WIDE * (x - v->s->x0) / (v->s->x1 - v->s->x0);
}

static double py(const view *v, double y) {
    return TOP + TALL * (v->s->y1 - y) / (v->s->y1 - v->s->y0);
}

static int level(const view *v, double z) {
    if (!isfinite(z)) return -1;
    double share = (z - v->low) / (v->high - v->low);
    return (int)fmin(LEVELS - 1, fmax(0, floor(LEVELS * share)));
}

/* Neighbours of a row in one colour are one rectangle; a hair of overlap closes the seams. */
static void squares(const view *v, int which) {
    size_t n = v->s->n;
    double wide = (double)WIDE / (double)n, tall = (double)TALL / (double)n;
    clsi_text_printf(v->t, "<path class=\"h%d\" d=\"", which);
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0, end; k < n; k = end) {
            end = k + 1;
            if (level(v, v->s->z[i * n + k]) != which) continue;
            while (end < n && level(v, v->s->z[i * n + end]) == which) end++;
            clsi_text_printf(v->t, "M%.1f %.1fh%.1fv%.1fh%.1fz", LEFT + (double)k * wide,
                             TOP + (double)(n - 1 - i) * tall, (double)(end - k) * wide + 0.3,
                             tall + 0.3, -(double)(end - k) * wide - 0.3);
        }
    clsi_text_append(v->t, "\"/>");
}

/* All but the rectangle where the data were. */
static void veil(const view *v) {
    double a = px(v, v->s->low[0]), b = px(v, v->s->high[0]), c = py(v, v->s->high[1]),
           d = py(v, v->s->low[1]);
    clsi_text_printf(v->t,
                     "<path class=\"veil\" fill-rule=\"evenodd\" d=\"M%d %dh%dv%dh%dz"
                     "M%.1f %.1fH%.1fV%.1fH%.1fz\"/>",
                     LEFT, TOP, WIDE, TALL, -WIDE, a, c, b, d, a);
}

static void dots(const view *v) {
    if (!v->s->n_seen) return;
    clsi_text_append(v->t, "<path class=\"d seen\" d=\"");
    for (size_t k = 0; k < v->s->n_seen; k++) {
        double x = v->s->x_seen[k], y = v->s->y_seen[k];
        if (x >= v->s->x0 && x <= v->s->x1 && y >= v->s->y0 && y <= v->s->y1)
            clsi_text_printf(v->t, "M%.1f %.1fh0", px(v, x), py(v, y));
    }
    clsi_text_append(v->t, "\"/>");
}

static void axes(const view *v) {
    const clsi_surface *s = v->s;
    double dx = clsi_tick(s->x1 - s->x0, 4), dy = clsi_tick(s->y1 - s->y0, 4);
    for (double x = ceil(s->x0 / dx) * dx; x <= s->x1; x = clsi_next_tick(x, dx)) {
        clsi_text_printf(v->t, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">", px(v, x),
                         HEIGHT - BOTTOM + 14);
        clsi_tick_label(v->t, x, dx);
        clsi_text_append(v->t, "</text>");
    }
    for (double y = ceil(s->y0 / dy) * dy; y <= s->y1; y = clsi_next_tick(y, dy)) {
        clsi_text_printf(v->t, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 5,
                         py(v, y) + 4);
        clsi_tick_label(v->t, y, dy);
        clsi_text_append(v->t, "</text>");
    }
    clsi_text_printf(v->t, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", LEFT + WIDE, HEIGHT - 4);
    clsi_html(v->t, s->x_label, 40);
    clsi_text_append(v->t, "</text>");
}

/* The scale: each colour with the value at which it begins. */
static void scale(const view *v) {
    for (int i = 0; i < LEVELS; i++) {
        int y = TOP + (LEVELS - 1 - i) * TALL / LEVELS;
        double step = (v->high - v->low) / LEVELS;
        clsi_text_printf(v->t,
                         "<rect class=\"h%d\" x=\"%d\" y=\"%d\" width=\"12\" height=\"%d\"/><text "
                         "x=\"%d\" y=\"%d\">",
                         i, LEFT + WIDE + 8, y, TALL / LEVELS + 1, LEFT + WIDE + 23,
                         y + TALL / LEVELS);
        clsi_tick_label(v->t, v->low + i * step, step);
        clsi_text_append(v->t, "</text>");
    }
}

static void numbers(const view *v) {
    const clsi_surface *s = v->s;
    size_t step = s->n / TABLE ? s->n / TABLE : 1;
    clsi_text_append(v->t, "<details><summary>The numbers</summary><div class=\"scroll\" "
                           "tabindex=\"0\" role=\"group\" aria-label=\"numbers of ");
    clsi_html(v->t, s->title, CLSI_HTML_NAME);
    clsi_text_append(v->t, "\"><table><caption>rows: ");
    clsi_html(v->t, s->y_label, CLSI_HTML_NAME);
    clsi_text_append(v->t, "; columns: ");
    clsi_html(v->t, s->x_label, CLSI_HTML_NAME);
    clsi_text_append(v->t, "</caption><thead><tr><td></td>");
    for (size_t k = step / 2; k < s->n; k += step)
        clsi_text_printf(v->t, "<th scope=\"col\" class=\"n\">%.4g</th>",
                         s->x0 + (s->x1 - s->x0) * ((double)k + 0.5) / (double)s->n);
    clsi_text_append(v->t, "</tr></thead><tbody>");
    for (size_t i = step / 2; i < s->n; i += step) {
        clsi_text_printf(v->t, "<tr><th scope=\"row\" class=\"n\">%.4g</th>",
                         s->y0 + (s->y1 - s->y0) * ((double)i + 0.5) / (double)s->n);
        for (size_t k = step / 2; k < s->n; k += step)
            clsi_text_printf(v->t, "<td class=\"n\">%.5g</td>", s->z[i * s->n + k]);
        clsi_text_append(v->t, "</tr>");
    }
    clsi_text_append(v->t, "</tbody></table></div></details>");
}

void clsi_surface_write(clsi_text *t, const clsi_surface *s) {
    view v = {t, s, DBL_MAX, -DBL_MAX};
    for (size_t i = 0; i < s->n * s->n; i++)
        if (isfinite(s->z[i])) v.low = fmin(v.low, s->z[i]), v.high = fmax(v.high, s->z[i]);
    if (!(v.high >= v.low)) return; /* nothing finite */
    if (!(v.high > v.low)) v.high = v.low + fmax(1, fabs(v.low));
    clsi_text_printf(t, "<figure><svg viewBox=\"0 0 %d %d\" role=\"img\"><title>", WIDTH, HEIGHT);
    clsi_html(t, s->title, CLSI_HTML_NAME);
    clsi_text_append(t, "</title><desc>a map of levels from ");
    clsi_text_printf(t, "%.4g (dark) to %.4g (bright)</desc>", v.low, v.high);
    for (int i = 0; i < LEVELS; i++) squares(&v, i);
    if (!s->note) veil(&v);
    dots(&v);
    axes(&v);
    scale(&v);
    clsi_text_append(t, "</svg><figcaption><strong>");
    clsi_html(t, s->title, CLSI_HTML_NAME);
    clsi_text_append(t,
                     s->note ? "</strong>" : "</strong> (across and up). Veiled: no data there.");
    if (s->note) clsi_html(t, s->note, 0);
    if (s->n_seen) clsi_text_append(t, " Dots: where the runs over the data were.");
    clsi_text_append(t, "</figcaption>");
    numbers(&v);
    clsi_text_append(t, "</figure>\n");
}
