/* Arrays as pictures: time to the right, the index upwards, the value as a colour.
 *
 * A field of a hundred points is no readable bundle of curves. Columns u[1], u[2], ... that stand
 * side by side in a table, eight or more, are one panel. Values of both signs are blue, white and
 * red around zero, others go from dark blue over green to yellow; the heading says the range. The
 * picture has at most 800 x 400 cells: of more rows or elements the nearest is taken. */
#include "base/locale.h"
#include "report/plot.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 8, MOST_WIDE = 800, MOST_HIGH = 400 };

/* Letters of the name before a single index `[k]`, 0 when it has none; the index. */
static size_t base_length(const char *name, long *index) {
    const char *open = strchr(name, '[');
    char *end;
    if (!open || open == name) return 0;
    *index = strtol(open + 1, &end, 10);
    return end > open + 1 && end[0] == ']' && !end[1] ? (size_t)(open - name) : 0;
}

size_t clsi_array_columns(const cls_table *t, size_t first) {
    long index, next;
    size_t length = base_length(t->names[first], &index), n = 1;
    if (!length) return 0;
    while (first + n < t->n_columns && base_length(t->names[first + n], &next) == length &&
           memcmp(t->names[first + n], t->names[first], length) == 0 && next == index + (long)n)
        n++;
    return n >= LEAST ? n : 0;
}

/* ---- colours ---- */

typedef struct colour {
    double r, g, b;
} colour;

static colour between(const colour *table, int n, double u) {
    double at = fmin(fmax(u, 0), 1) * (n - 1);
    int k = at >= n - 1 ? n - 2 : (int)at;
    double w = at - k;
    return (colour){(1 - w) * table[k].r + w * table[k + 1].r,
                    (1 - w) * table[k].g + w * table[k + 1].g,
                    (1 - w) * table[k].b + w * table[k + 1].b};
}

static colour colour_of(double value, double lo, double hi) {
    static const colour rising[] = {{0.267, 0.005, 0.329},
                                    {0.230, 0.322, 0.546},
                                    {0.128, 0.567, 0.551},
                                    {0.369, 0.789, 0.383},
                                    {0.993, 0.906, 0.144}};
    static const colour signed_[] = {{0.13, 0.30, 0.65},
                                     {0.55, 0.72, 0.90},
                                     {0.97, 0.97, 0.97},
                                     {0.95, 0.66, 0.53},
                                     {0.70, 0.09, 0.17}};
    if (!clsi_drawable(value)) return (colour){0.8, 0.8, 0.8};
    if (lo < 0 && hi > 0) {
        double most = fmax(-lo, hi);
        return between(signed_, 5, 0.5 + value / most / 2);
    }
    return between(rising, 5, hi > lo ? (value - lo) / (hi - lo) : 0.5);
}

/* ---- drawing ---- */

static void range_of(const clsi_panel *p, double *lo, double *hi) {
    *lo = INFINITY;
    *hi = -INFINITY;
    for (size_t k = 0; k < p->n_curves; k++)
        for (size_t i = 0; i < p->curves[k].n; i++) {
            double y = p->curves[k].y[i];
            if (!clsi_drawable(y)) continue;
            *lo = fmin(*lo, y);
            *hi = fmax(*hi, y);
        }
}

/* The row whose time is nearest; times rise. */
static size_t row_at(const clsi_curve *c, double time, size_t from) {
    while (from + 1 < c->n && fabs(c->x[from + 1] - time) <= fabs(c->x[from] - time)) from++;
    return from;
}

static void fill(const clsi_panel *p, double lo, double hi, unsigned char *data, int stride, int w,
                 int h) {
    const clsi_curve *c = &p->curves[0];
    double first = c->x[0], last = c->x[c->n - 1];
    size_t row = 0;
    for (int x = 0; x < w; x++) {
        row = row_at(c, first + (last - first) * (x + 0.5) / w, row);
        for (int y = 0; y < h; y++) {
            size_t k = (size_t)((h - 1 - y + 0.5) / h * (double)p->n_curves);
            colour v = colour_of(p->curves[k].y[row], lo, hi);
            uint32_t pixel = (uint32_t)(v.r * 255 + 0.5) << 16 | (uint32_t)(v.g * 255 + 0.5) << 8 |
                             (uint32_t)(v.b * 255 + 0.5);
            memcpy(data + y * stride + 4 * x, &pixel, sizeof pixel);
        }
    }
}

cls_status clsi_spacetime_draw(cairo_t *cr, const clsi_panel *p, clsi_box box, char note[80],
                               cls_error *error) {
    double lo, hi;
    int w = (int)fmin((double)p->curves[0].n, MOST_WIDE);
    int h = (int)fmin((double)p->n_curves, MOST_HIGH);
    range_of(p, &lo, &hi);
    if (lo <= hi) clsi_snprintf(note, 80, "%.3g to %.3g", lo, hi);
    cairo_surface_t *image = cairo_image_surface_create(CAIRO_FORMAT_RGB24, w, h);
    if (cairo_surface_status(image)) {
        cairo_surface_destroy(image);
        return clsi_no_memory(error);
    }
    fill(p, lo, hi, cairo_image_surface_get_data(image), cairo_image_surface_get_stride(image), w,
         h);
    cairo_surface_mark_dirty(image);
    cairo_save(cr);
    cairo_translate(cr, box.x, box.y);
    cairo_scale(cr, box.w / w, box.h / h);
    cairo_set_source_surface(cr, image, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
    cairo_paint(cr);
    cairo_restore(cr);
    cairo_surface_destroy(image);
    return CLS_OK;
}
