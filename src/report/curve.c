/* Curves with as much ink as can be seen.
 *
 * A million rows do not fit into three hundred pixels. Three things are left out, in this order.
 * Along time, each pixel column keeps only the first, smallest, largest and last value in it: no
 * peak is lost. Where a curve has inked a pixel and all its neighbours, the pixel is filled as part
 * of a row instead, and elsewhere a segment is skipped when it has nothing new under it; a curve
 * then costs at most its box in pixels. (These two only for curves with more than four points per
 * pixel column.) And points on a line, within a twentieth of a pixel, become one segment: from an
 * anchor, the directions that pass all points since within the tolerance are a cone; a point
 * outside it, or nearer than the one before, ends the segment. O(n). */
#include "report/plot.h"
#include <math.h>
#include <stdlib.h>

/* A long stroke is costly to tessellate in one piece. */
enum { STROKE = 1000 };

static const double tolerance = 0.05, overlap = 0.75;

/* A line under way to cairo, straightened. */
typedef struct path {
    cairo_t *cr;
    int pending;   /* `last` has not been given to cairo */
    int segments;  /* given since the last stroke */
    double ax, ay; /* anchor: the last point given */
    double lx, ly; /* the last point seen */
    double reach;  /* its distance from the anchor */
    int cone;      /* the cone base + [lo, hi] is set */
    double base, lo, hi;
} path;

static void path_anchor(path *p, double x, double y) {
    p->ax = p->lx = x;
    p->ay = p->ly = y;
    p->reach = 0;
    p->cone = p->pending = 0;
}

static void path_end(path *p) {
    if (!p->pending) return;
    cairo_line_to(p->cr, p->lx, p->ly);
    path_anchor(p, p->lx, p->ly);
    if (++p->segments < STROKE) return;
    cairo_stroke(p->cr);
    cairo_move_to(p->cr, p->lx, p->ly);
    p->segments = 0;
}

static void path_move(path *p, double x, double y) {
    path_end(p);
    cairo_move_to(p->cr, x, y);
    path_anchor(p, x, y);
}

static double turn(const path *p, double x, double y) {
    return remainder(atan2(y - p->ay, x - p->ax) - p->base, 6.283185307179586);
}

static void path_line(path *p, double x, double y) {
    double d = hypot(x - p->ax, y - p->ay), angle = p->cone ? turn(p, x, y) : 0;
    if (p->pending && (d < p->reach || angle < p->lo || angle > p->hi)) {
        path_end(p);
        d = hypot(x - p->ax, y - p->ay);
    }
    if (d > tolerance) {
        double half = asin(tolerance / d);
        if (!p->cone) {
            p->base = atan2(y - p->ay, x - p->ax);
            p->lo = -half;
            p->hi = half;
            p->cone = 1;
        } else {
            p->lo = fmax(p->lo, angle - half);
            p->hi = fmin(p->hi, angle + half);
        }
    }
    p->lx = x;
    p->ly = y;
    p->reach = d;
    p->pending = 1;
}

/* What is known of a pixel. INSIDE: it and its eight neighbours are inked. */
enum { BLANK, TOUCHED, INSIDE, DRAWN };

typedef struct pen {
    path path;
    clsi_box box;
    unsigned char *ink; /* one byte per pixel of the box; NULL: draw everything */
    int columns, rows;
    int marking; /* only finding out which pixels are touched */
    int points;  /* since the pen went down */
    int lifted;  /* the last position has not been reached by drawing */
    double idle; /* how far the pen has moved without meeting anything new */
    double x, y;
} pen;

static int ink_pixel(pen *p, double x, double y) {
    int i = (int)fmin(fmax(x - p->box.x, 0), p->columns - 1);
    int j = (int)fmin(fmax(y - p->box.y, 0), p->rows - 1);
    unsigned char *cell = &p->ink[(size_t)j * (size_t)p->columns + (size_t)i];
    if (*cell != (p->marking ? BLANK : TOUCHED)) return 0;
    *cell = p->marking ? TOUCHED : DRAWN;
    return 1;
}

/* Inks the segment from the pen to (x, y); 0 when there was nothing new under it. */
static int ink_segment(pen *p, double x, double y) {
    int steps = 1 + (int)(2 * fmax(fabs(x - p->x), fabs(y - p->y))), fresh = 0;
    for (int i = 0; i <= steps; i++) {
        double s = (double)i / steps;
        fresh |= ink_pixel(p, p->x + s * (x - p->x), p->y + s * (y - p->y));
    }
    return fresh;
}

static int is_inside(const pen *p, int i, int j) {
    if (i < 1 || j < 1 || i + 1 >= p->columns || j + 1 >= p->rows) return 0;
    for (int dj = -1; dj <= 1; dj++)
        for (int di = -1; di <= 1; di++)
            if (p->ink[(size_t)(j + dj) * (size_t)p->columns + (size_t)(i + di)] == BLANK) return 0;
    return 1;
}

/* Rows of inside pixels become rectangles. They reach into their neighbours, which are inked but
 * perhaps not to the rim, so that no seam shines through. */
static void fill_inside(pen *p) {
    for (int j = 0; j < p->rows; j++)
        for (int i = 0, start; i < p->columns; i++) {
            for (start = i; is_inside(p, i, j); i++)
                p->ink[(size_t)j * (size_t)p->columns + (size_t)i] = INSIDE;
            if (i == start) continue;
            cairo_rectangle(p->path.cr, p->box.x + start - overlap, p->box.y + j - overlap,
                            i - start + 2 * overlap, 1 + 2 * overlap);
        }
    cairo_fill(p->path.cr);
}

static void pen_up(pen *p) {
    if (!p->marking) path_end(&p->path);
    if (!p->marking && p->points == 1) { /* a point on its own: round caps make it a dot */
        cairo_move_to(p->path.cr, p->x, p->y);
        cairo_line_to(p->path.cr, p->x, p->y);
    }
    p->points = 0;
}

/* The line goes a little further than needed, as pixels are inked in part; and after a short gap it
 * goes on without a break, as it may be dashed. */
static void draw_to(pen *p, double x, double y) {
    if (p->lifted && p->idle < 4)
        path_line(&p->path, p->x, p->y);
    else if (p->lifted)
        path_move(&p->path, p->x, p->y);
    path_line(&p->path, x, y);
    p->lifted = 0;
}

static void pen_to(pen *p, double x, double y) {
    int fresh = p->points && (!p->ink || ink_segment(p, x, y));
    double idle = p->points ? p->idle + hypot(x - p->x, y - p->y) : INFINITY;
    if (!p->marking && (fresh || (!p->lifted && idle < 2)))
        draw_to(p, x, y);
    else
        p->lifted = 1;
    p->idle = fresh ? 0 : idle;
    p->points += p->points < 2;
    p->x = x;
    p->y = y;
}

/* The values seen in one pixel column since the curve entered it. */
typedef struct column {
    int at, n;
    double x[4], y[4]; /* first, smallest, largest, last */
    size_t when[4];
} column;

static void column_flush(column *c, pen *p) {
    if (!c->n) return;
    int low_first = c->when[1] < c->when[2];
    int sequence[] = {0, low_first ? 1 : 2, low_first ? 2 : 1, 3};
    size_t last = SIZE_MAX;
    for (int i = 0; i < 4; i++) {
        int k = sequence[i];
        if (c->when[k] == last) continue;
        pen_to(p, c->x[k], c->y[k]);
        last = c->when[k];
    }
    c->n = 0;
}

static void column_put(column *c, pen *p, double x, double y, size_t when) {
    int at = (int)floor(x);
    if (c->n && at != c->at) column_flush(c, p);
    for (int k = 0; k < 4; k++) {
        if (c->n && (k == 0 || (k == 1 && y >= c->y[1]) || (k == 2 && y <= c->y[2]))) continue;
        c->x[k] = x;
        c->y[k] = y;
        c->when[k] = when;
    }
    c->at = at;
    c->n = 1;
}

static void walk(pen *p, const clsi_curve *c, const clsi_axis *ax, const clsi_axis *ay,
                 int by_columns) {
    double sx = p->box.w / (ax->hi - ax->lo), sy = p->box.h / (ay->hi - ay->lo);
    column bin = {0};
    for (size_t i = 0; i < c->n; i++) {
        int good = clsi_drawable(c->x[i]) && clsi_drawable(c->y[i]);
        if (!good || (i && c->trajectory && c->trajectory[i] != c->trajectory[i - 1])) {
            column_flush(&bin, p);
            pen_up(p);
        }
        if (!good) continue;
        double x = p->box.x + (c->x[i] - ax->lo) * sx;
        double y = p->box.y + p->box.h - (c->y[i] - ay->lo) * sy;
        if (by_columns)
            column_put(&bin, p, x, y, i);
        else
            pen_to(p, x, y);
    }
    column_flush(&bin, p);
    pen_up(p);
}

cls_status clsi_curve_draw(cairo_t *cr, const clsi_curve *c, clsi_box box, const clsi_axis *x,
                           const clsi_axis *y, int by_columns, cls_error *error) {
    pen p = {.path.cr = cr, .box = box, .columns = (int)box.w + 1, .rows = (int)box.h + 1};
    int many = (double)c->n > 4 * box.w;
    if (many) {
        p.ink = clsi_calloc((size_t)p.columns, (size_t)p.rows);
        if (!p.ink) return clsi_no_memory(error);
    }
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_ROUND);
    cairo_set_line_join(cr, CAIRO_LINE_JOIN_ROUND);
    if (many) {
        p.marking = 1;
        walk(&p, c, x, y, by_columns);
        p.marking = 0;
        fill_inside(&p);
    }
    walk(&p, c, x, y, by_columns && many);
    cairo_stroke(cr);
    free(p.ink);
    return CLS_OK;
}
