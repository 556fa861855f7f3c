/* Arrays as pictures: time to the right, the index upwards, the value as a colour; of a grid the first
 * index to the right, the second upwards, at one time.
 *
 * A field of a hundred points is no readable bundle of curves. Columns u[1], u[2], ... (or S[1][1],
 * S[1][2], ..., or cell[1]_q, cell[2]_q, ...) of a table, eight or more, are
 * one panel. Values of both signs are blue, white and red around zero, others go from dark blue over
 * green to yellow. The picture has at most 800 x 400 cells: of more rows or elements the nearest is
 * taken. */
#include "report/plot.h"
#include <math.h>
#include <string.h>

enum { LEAST = 8, MOST_WIDE = 800, MOST_HIGH = 400, SHADES = 128 };

size_t clsi_array_columns(const cls_table *t, size_t first, clsi_elements *span) {
    size_t n = clsi_span_at(t, t->rows, first, span) ? clsi_span_count(span) : 0;
    return n >= LEAST ? n : 0;
}

static size_t elements(const clsi_field *f) {
    return f->axes == 2 ? f->count[0] * f->count[1] : f->count[0];
}

void clsi_field_range(const clsi_field *f, double *lo, double *hi) {
    size_t from = f->axes == 2 ? f->row : 0, to = f->axes == 2 ? f->row + 1 : f->rows;
    *lo = INFINITY;
    *hi = -INFINITY;
    for (size_t k = 0; k < elements(f); k++)
        for (size_t i = from; i < to; i++) {
            double y = f->columns[k][i];
            if (!clsi_drawable(y)) continue;
            *lo = fmin(*lo, y);
            *hi = fmax(*hi, y);
        }
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

/* The row whose time is nearest; times rise. */
static size_t row_at(const clsi_field *f, double time, size_t from) {
    while (from + 1 < f->rows && fabs(f->time[from + 1] - time) <= fabs(f->time[from] - time))
        from++;
    return from;
}

/* The element that cell `at` of `cells` shows. */
static size_t nearest(int at, int cells, size_t n) {
    return (size_t)((at + 0.5) / cells * (double)n);
}

typedef struct image {
    cairo_surface_t *surface;
    int w, h;
} image;

static cls_status image_create(double w, double h, image *out, cls_error *error) {
    *out = (image){NULL, (int)fmin(w, MOST_WIDE), (int)fmin(h, MOST_HIGH)};
    out->surface = cairo_image_surface_create(CAIRO_FORMAT_RGB24, out->w, out->h);
    if (!cairo_surface_status(out->surface)) return CLS_OK;
    cairo_surface_destroy(out->surface);
    return clsi_no_memory(error);
}

/* y counts from below. */
static void put(const image *m, int x, int y, colour v) {
    unsigned char *data = cairo_image_surface_get_data(m->surface);
    uint32_t pixel = (uint32_t)(v.r * 255 + 0.5) << 16 | (uint32_t)(v.g * 255 + 0.5) << 8 |
                     (uint32_t)(v.b * 255 + 0.5);
    memcpy(data + (m->h - 1 - y) * cairo_image_surface_get_stride(m->surface) + 4 * x, &pixel,
           sizeof pixel);
}

/* The image in the box; it is gone afterwards. */
static void show(cairo_t *cr, image *m, clsi_box box) {
    cairo_surface_mark_dirty(m->surface);
    cairo_save(cr);
    cairo_translate(cr, box.x, box.y);
    cairo_scale(cr, box.w / m->w, box.h / m->h);
    cairo_set_source_surface(cr, m->surface, 0, 0);
    cairo_pattern_set_filter(cairo_get_source(cr), CAIRO_FILTER_NEAREST);
    cairo_paint(cr);
    cairo_restore(cr);
    cairo_surface_destroy(m->surface);
}

cls_status clsi_spacetime_draw(cairo_t *cr, const clsi_field *f, clsi_box box, cls_error *error) {
    image m;
    int grid = f->axes == 2;
    double first = f->time[0], last = f->time[f->rows - 1];
    cls_status status =
        image_create((double)(grid ? f->count[0] : f->rows), (double)f->count[grid], &m, error);
    if (status) return status;
    size_t row = grid ? f->row : 0;
    for (int x = 0; x < m.w; x++) {
        size_t i = grid ? nearest(x, m.w, f->count[0]) : 0;
        if (!grid) row = row_at(f, first + (last - first) * (x + 0.5) / m.w, row);
        for (int y = 0; y < m.h; y++) {
            size_t k = nearest(y, m.h, f->count[grid]);
            double value = f->columns[grid ? i * f->count[1] + k : k][row];
            put(&m, x, y, colour_of(value, f->least, f->most));
        }
    }
    show(cr, &m, box);
    return CLS_OK;
}

cls_status clsi_colours_draw(cairo_t *cr, double lo, double hi, clsi_box box, cls_error *error) {
    image m;
    cls_status status = image_create(1, SHADES, &m, error);
    if (status) return status;
    for (int y = 0; y < m.h; y++)
        put(&m, 0, y, colour_of(lo + (hi - lo) * (y + 0.5) / m.h, lo, hi));
    show(cr, &m, box);
    return CLS_OK;
}
