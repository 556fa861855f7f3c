/* The page: title, legend, and panels in a grid, drawn with cairo.
 *
 * All lengths are page units (a pixel of the picture in its natural size). Colours are those of
 * Okabe and Ito, distinguishable with any kind of colour vision. One table: each name of a panel
 * has its colour. Several tables: each table has its colour (legend on top) and names of a panel
 * differ by dashes; the first table is drawn widest so that it shows under a later one that
 * coincides with it. Texts are cut to fit and cleaned to valid UTF-8, so that no column name can
 * break a picture. */
#include "report/plot.h"
#include <math.h>
#include <string.h>

typedef struct colour {
    double r, g, b;
} colour;

static const colour palette[] = {
    {0.000, 0.447, 0.698}, /* blue */
    {0.835, 0.369, 0.000}, /* vermilion */
    {0.000, 0.620, 0.451}, /* bluish green */
    {0.800, 0.475, 0.655}, /* reddish purple */
    {0.902, 0.624, 0.000}, /* orange */
    {0.337, 0.706, 0.914}, /* sky blue */
    {0.350, 0.350, 0.350}, /* grey, for Okabe and Ito's black: the axes are black already */
};
enum { COLOURS = sizeof palette / sizeof *palette };

static const colour dark = {0.13, 0.13, 0.15}, medium = {0.33, 0.33, 0.36},
                    pale = {0.45, 0.45, 0.48}, spine = {0.55, 0.55, 0.58},
                    grid = {0.905, 0.905, 0.915}, zero = {0.78, 0.78, 0.80};

enum {
    EDGE = 14,    /* around the page */
    CELL_W = 340, /* natural size of a panel with its margins */
    CELL_H = 236,
    LEFT = 54, /* margins of a panel around its axes */
    RIGHT = 16,
    TOP = 30,
    BOTTOM = 42,
    LEGEND_W = 170, /* one entry */
    LEGEND_H = 19,
    TITLE_H = 25,
    SUBTITLE_H = 19,
    SAMPLE = 18 /* length of a line sample */
};

static void use(cairo_t *cr, colour c) {
    cairo_set_source_rgb(cr, c.r, c.g, c.b);
}

void clsi_font(cairo_t *cr, double size, int bold) {
    cairo_select_font_face(cr, "sans-serif", CAIRO_FONT_SLANT_NORMAL,
                           bold ? CAIRO_FONT_WEIGHT_BOLD : CAIRO_FONT_WEIGHT_NORMAL);
    cairo_set_font_size(cr, size);
}

static double text_width(cairo_t *cr, const char *text) {
    cairo_text_extents_t e;
    cairo_text_extents(cr, text, &e);
    return e.x_advance;
}

/* Bytes of the UTF-8 character at s, 0 when it is not one. Overlong forms and surrogates are left
 * to the ranges of the second byte. */
static size_t character(const unsigned char *s) {
    if (*s >= 0x20 && *s < 0x7f) return 1;
    size_t n = *s >= 0xc2 && *s < 0xe0   ? 2
               : *s >= 0xe0 && *s < 0xf0 ? 3
               : *s >= 0xf0 && *s < 0xf5 ? 4
                                         : 0;
    for (size_t i = 1; i < n; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    if ((*s == 0xe0 && s[1] < 0xa0) || (*s == 0xed && s[1] > 0x9f)) return 0;
    if ((*s == 0xf0 && s[1] < 0x90) || (*s == 0xf4 && s[1] > 0x8f)) return 0;
    return n;
}

/* `text` as valid UTF-8 of at most `width`, cut with an ellipsis. */
static void fit(cairo_t *cr, const char *text, double width, char out[256]) {
    size_t n = 0, length;
    for (const char *s = text; *s && n < 240; s += length ? length : 1) {
        length = character((const unsigned char *)s);
        if (length)
            memcpy(out + n, s, length);
        else
            out[n] = '?';
        n += length ? length : 1;
    }
    out[n] = 0;
    while (n && text_width(cr, out) > width) {
        do n--;
        while (n && ((unsigned char)out[n] & 0xc0) == 0x80);
        strcpy(out + n, "…");
    }
}

double clsi_show(cairo_t *cr, const char *text, double x, double y, double align, double width) {
    char clean[256];
    fit(cr, text, width, clean);
    double w = text_width(cr, clean);
    cairo_move_to(cr, x - align * w, y);
    cairo_show_text(cr, clean);
    cairo_new_path(cr);
    return w;
}

static void line(cairo_t *cr, double x0, double y0, double x1, double y1) {
    cairo_move_to(cr, x0, y0);
    cairo_line_to(cr, x1, y1);
    cairo_stroke(cr);
}

static void style(cairo_t *cr, const clsi_page *page, size_t table, size_t name) {
    static const double dashes[][4] = {{0}, {5, 3}, {1, 3}, {7, 3, 1, 3}};
    static const int counts[] = {0, 2, 2, 4};
    int several = page->n_tables > 1;
    size_t dash = several ? name % 4 : name / COLOURS % 4;
    use(cr, palette[(several ? table : name) % COLOURS]);
    cairo_set_dash(cr, dashes[dash], counts[dash], 0);
    double under = several ? 1 - (double)table / (double)(page->n_tables - 1) : 0;
    cairo_set_line_width(cr, 1.3 + under);
}

static void sample(cairo_t *cr, double x, double y) {
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_BUTT);
    line(cr, x, y - 4, x + SAMPLE, y - 4);
    cairo_set_dash(cr, NULL, 0, 0);
}

static size_t grid_columns(size_t panels) {
    if (panels <= 3) return panels;
    return panels == 4 ? 2 : panels <= 9 ? 3 : 4;
}

static size_t legend_columns(const clsi_page *page, double width) {
    size_t fit_in = (size_t)fmax(1, floor((width - 2 * EDGE) / LEGEND_W));
    return page->n_tables < fit_in ? page->n_tables : fit_in;
}

static double legend_height(const clsi_page *page, double width) {
    if (page->n_tables < 2) return 0;
    size_t columns = legend_columns(page, width);
    return LEGEND_H * (double)((page->n_tables + columns - 1) / columns);
}

static double top_height(const clsi_page *page, double width) {
    return EDGE + (page->title ? TITLE_H : 0) + (page->subtitle ? SUBTITLE_H : 0) +
           legend_height(page, width);
}

void clsi_page_measure(clsi_page *page) {
    size_t columns = grid_columns(page->panels->n);
    size_t rows = (page->panels->n + columns - 1) / columns;
    double zoom = page->panels->n == 1 ? 1.5 : 1; /* a panel on its own may be larger */
    page->width = zoom * (double)columns * CELL_W + 2 * EDGE;
    page->height = top_height(page, page->width) + zoom * (double)rows * CELL_H + EDGE;
}

static void draw_legend(const clsi_page *page, cairo_t *cr, double y) {
    size_t columns = legend_columns(page, page->width);
    double w = fmin((page->width - 2 * EDGE) / (double)columns, 1.8 * LEGEND_W);
    clsi_font(cr, 11.5, 0);
    for (size_t i = 0; i < page->n_tables; i++) {
        double lx = EDGE + 6 + (double)(i % columns) * w;
        double ly = y + 12 + (double)(i / columns) * LEGEND_H;
        style(cr, page, i, 0);
        sample(cr, lx, ly);
        use(cr, dark);
        clsi_show(cr, page->labels[i], lx + SAMPLE + 6, ly, 0, w - SAMPLE - 16);
    }
}

static void draw_top(const clsi_page *page, cairo_t *cr) {
    double y = EDGE, width = page->width - 2 * EDGE - 6, x = EDGE + 6;
    if (page->title) {
        clsi_font(cr, 16, 1);
        use(cr, dark);
        clsi_show(cr, page->title, x, y + 15, 0, width);
        y += TITLE_H;
    }
    if (page->subtitle) {
        clsi_font(cr, 11.5, 0);
        use(cr, pale);
        clsi_show(cr, page->subtitle, x, y + 11, 0, width);
        y += SUBTITLE_H;
    }
    if (page->n_tables > 1) draw_legend(page, cr, y);
}

/* The names above the axes: one as a plain heading, several with samples of their lines. */
static void draw_heading(const clsi_page *page, cairo_t *cr, const clsi_panel *p, clsi_box box,
                         const char *note) {
    double y = box.y - 10, x = box.x, end = box.x + box.w;
    clsi_font(cr, 10, 0);
    use(cr, pale);
    if (*note) end -= clsi_show(cr, note, end, y, 1, box.w / 2) + 10;
    clsi_font(cr, 12, 1);
    if (p->n_names == 1) {
        use(cr, dark);
        char text[320];
        snprintf(text, sizeof text,
                 p->portrait   ? "%.150s over %.150s"
                 : p->residual ? "%.150s: model - measured"
                               : "%.150s",
                 p->names[0], p->x_name);
        clsi_show(cr, text, x, y, 0, end - x);
        return;
    }
    clsi_font(cr, 11, 0);
    for (size_t i = 0; i < p->n_names; i++) {
        if (end - x < 70 && i + 1 < p->n_names) { /* no room for this one and the next */
            clsi_show(cr, "…", x, y, 0, end - x);
            return;
        }
        style(cr, page, 0, i);
        cairo_set_line_width(cr, 1.8);
        if (page->n_tables > 1) use(cr, medium);
        sample(cr, x, y);
        use(cr, dark);
        x += SAMPLE + 5;
        x += clsi_show(cr, p->names[i], x, y, 0, end - x) + 14;
    }
}

static void ranges(const clsi_panel *p, clsi_axis *x, clsi_axis *y) {
    *x = *y = (clsi_axis){.lo = INFINITY, .hi = -INFINITY};
    for (size_t k = 0; k < p->n_curves; k++) {
        const clsi_curve *c = &p->curves[k];
        for (size_t i = 0; i < c->n; i++) {
            if (!clsi_drawable(c->x[i]) || !clsi_drawable(c->y[i])) continue;
            x->lo = fmin(x->lo, c->x[i]);
            x->hi = fmax(x->hi, c->x[i]);
            y->lo = fmin(y->lo, c->y[i]);
            y->hi = fmax(y->hi, c->y[i]);
            if (!c->low || !clsi_drawable(c->low[i]) || !clsi_drawable(c->high[i])) continue;
            y->lo = fmin(y->lo, c->low[i]);
            y->hi = fmax(y->hi, c->high[i]);
        }
    }
}

static void pad(clsi_axis *a, double least_span, double share) {
    clsi_axis_widen(&a->lo, &a->hi, least_span);
    double more = share * (a->hi - a->lo);
    a->lo -= more;
    a->hi += more;
}

/* As many ticks as fit side by side with their labels. */
static clsi_axis fit_x_axis(cairo_t *cr, const clsi_axis *range, double width) {
    clsi_axis a = {0};
    clsi_font(cr, 10, 0);
    for (int most = 7; most >= 2; most--) {
        a = clsi_axis_make(range->lo, range->hi, most);
        double widest = 0;
        for (int i = 0; i < a.n_ticks; i++) {
            char label[32];
            clsi_axis_label(&a, i, label);
            widest = fmax(widest, text_width(cr, label));
        }
        double step = (clsi_axis_tick(&a, 1) - clsi_axis_tick(&a, 0)) / (a.hi - a.lo) * width;
        if (widest + 12 <= step) break;
    }
    return a;
}

static void draw_x_axis(cairo_t *cr, const clsi_axis *a, const char *name, clsi_box box) {
    double base = box.y + box.h;
    clsi_font(cr, 10, 0);
    for (int i = 0; i < a->n_ticks; i++) {
        char label[32];
        double x = box.x + (clsi_axis_tick(a, i) - a->lo) / (a->hi - a->lo) * box.w;
        use(cr, grid);
        line(cr, x, box.y, x, base);
        use(cr, spine);
        line(cr, x, base, x, base + 4);
        use(cr, medium);
        clsi_axis_label(a, i, label);
        clsi_show(cr, label, x, base + 15, 0.5, box.w);
    }
    char text[320];
    snprintf(text, sizeof text, *a->note ? "%.200s  (%s)" : "%.200s", name, a->note);
    clsi_font(cr, 11, 0);
    use(cr, medium);
    clsi_show(cr, text, box.x + box.w / 2, base + 31, 0.5, box.w);
}

static void draw_y_axis(cairo_t *cr, const clsi_axis *a, clsi_box box) {
    clsi_font(cr, 10, 0);
    for (int i = 0; i < a->n_ticks; i++) {
        char label[32];
        double y = box.y + box.h - (clsi_axis_tick(a, i) - a->lo) / (a->hi - a->lo) * box.h;
        use(cr, clsi_axis_tick(a, i) == 0 && !a->powers ? zero : grid);
        line(cr, box.x, y, box.x + box.w, y);
        use(cr, spine);
        line(cr, box.x - 4, y, box.x, y);
        use(cr, medium);
        clsi_axis_label(a, i, label);
        clsi_show(cr, label, box.x - 7, y + 3.5, 1, LEFT - 8);
    }
}

static void draw_start(cairo_t *cr, const clsi_curve *c, clsi_box box, const clsi_axis *x,
                       const clsi_axis *y) {
    if (!clsi_drawable(c->x[0]) || !clsi_drawable(c->y[0])) return;
    cairo_arc(cr, box.x + (c->x[0] - x->lo) / (x->hi - x->lo) * box.w,
              box.y + box.h - (c->y[0] - y->lo) / (y->hi - y->lo) * box.h, 3, 0, 6.283185307179586);
    cairo_fill(cr);
}

static double place_x(double x, clsi_box box, const clsi_axis *a) {
    return box.x + (x - a->lo) / (a->hi - a->lo) * box.w;
}

static double place_y(double y, clsi_box box, const clsi_axis *a) {
    return box.y + box.h - (y - a->lo) / (a->hi - a->lo) * box.h;
}

/* The band in the curve's colour, pale: there along the upper side, back along the lower one. Where a
 * trajectory or the numbers end it is closed. */
static void draw_band(cairo_t *cr, const clsi_curve *c, clsi_box box, const clsi_axis *x,
                      const clsi_axis *y) {
    cairo_push_group(cr);
    for (size_t i = 0, end; i < c->n; i = end + 1) {
        for (end = i; end < c->n && clsi_drawable(c->low[end]) && clsi_drawable(c->high[end]) &&
                      (end == i || !c->trajectory || c->trajectory[end] == c->trajectory[end - 1]);
             end++)
            cairo_line_to(cr, place_x(c->x[end], box, x), place_y(c->high[end], box, y));
        for (size_t k = end; k-- > i;)
            cairo_line_to(cr, place_x(c->x[k], box, x), place_y(c->low[k], box, y));
        cairo_fill(cr);
        if (end > i && end < c->n && clsi_drawable(c->low[end])) end--; /* another trajectory */
    }
    cairo_pop_group_to_source(cr);
    cairo_paint_with_alpha(cr, 0.2);
}

/* Each sample a dot; smaller ones where there are many. */
static void draw_points(cairo_t *cr, const clsi_curve *c, clsi_box box, const clsi_axis *x,
                        const clsi_axis *y) {
    double radius = (double)c->n > 0.5 * box.w ? 0.9 : 1.6;
    for (size_t i = 0; i < c->n; i++) {
        if (!clsi_drawable(c->x[i]) || !clsi_drawable(c->y[i])) continue;
        cairo_new_sub_path(cr);
        cairo_arc(cr, place_x(c->x[i], box, x), place_y(c->y[i], box, y), radius, 0,
                  6.283185307179586);
    }
    cairo_fill(cr);
}

/* What a model was not learned from: a paler ground, a line where it begins, and the word. */
static void draw_test(const clsi_page *page, cairo_t *cr, clsi_box box, const clsi_axis *x) {
    double from = place_x(fmax(page->test_from, x->lo), box, x), end = box.x + box.w;
    if (!page->has_test || !(page->test_from < x->hi)) return;
    cairo_set_source_rgb(cr, 0.955, 0.955, 0.93);
    cairo_rectangle(cr, from, box.y, end - from, box.h);
    cairo_fill(cr);
    use(cr, pale);
    line(cr, from, box.y, from, box.y + box.h);
    clsi_font(cr, 10, 0);
    clsi_show(cr, "test", from + 4, box.y + 11, 0, end - from - 4);
    if (from > box.x + 40) clsi_show(cr, "train", from - 4, box.y + 11, 1, from - box.x);
}

static cls_status draw_curves(const clsi_page *page, cairo_t *cr, const clsi_panel *p, clsi_box box,
                              const clsi_axis *x, const clsi_axis *y, cls_error *error) {
    cls_status status = CLS_OK;
    for (size_t k = 0; !status && k < p->n_curves; k++) {
        const clsi_curve *c = &p->curves[k];
        style(cr, page, c->table, c->name);
        if (c->low) draw_band(cr, c, box, x, y);
        if (c->low) style(cr, page, c->table, c->name);
        if (c->points)
            draw_points(cr, c, box, x, y);
        else
            status = clsi_curve_draw(cr, c, box, x, y, !p->portrait, error);
        cairo_set_dash(cr, NULL, 0, 0);
        if (p->portrait || c->n == 1) draw_start(cr, c, box, x, y);
    }
    return status;
}

/* ---- arrays ---- */

enum { BAR_W = 9, BAR_GAP = 7, BAR_LABELS = 40 }; /* the colours beside a picture */

/* Of n indices, of which each has the width one: whole numbers, none of them outside. */
static clsi_axis index_axis(long low, size_t n, double length, double each) {
    int most = (int)fmax(2, fmin((double)n, length / each));
    clsi_axis a = clsi_axis_make((double)low - 0.5, (double)low + (double)n - 0.5, most);
    a.lo = (double)low - 0.5;
    a.hi = a.lo + (double)n;
    for (; a.n_ticks > 1 && clsi_axis_tick(&a, 0) < a.lo; a.n_ticks--) a.first++;
    while (a.n_ticks > 1 && clsi_axis_tick(&a, a.n_ticks - 1) > a.hi) a.n_ticks--;
    return a;
}

/* The colours and what they stand for; the note of the labels goes to the heading. */
static cls_status draw_bar(cairo_t *cr, const clsi_field *f, clsi_box box, char note[80],
                           cls_error *error) {
    double lo = f->least, hi = f->most;
    if (!(lo <= hi)) return CLS_OK;
    clsi_axis_widen(&lo, &hi, 0);
    clsi_axis a = clsi_axis_make(lo, hi, (int)fmax(2, box.h / 30));
    a.lo = lo;
    a.hi = hi;
    cls_status status = clsi_colours_draw(cr, lo, hi, box, error);
    clsi_font(cr, 10, 0);
    for (int i = 0; i < a.n_ticks && !status; i++) {
        char label[32];
        double tick = clsi_axis_tick(&a, i), x = box.x + box.w;
        double y = box.y + box.h - (tick - lo) / (hi - lo) * box.h;
        if (y < box.y - 1 || y > box.y + box.h + 1) continue;
        use(cr, spine);
        line(cr, x, y, x + 3, y);
        use(cr, medium);
        clsi_axis_label(&a, i, label);
        clsi_show(cr, label, x + 5, y + 3.5, 0, BAR_LABELS);
    }
    memcpy(note, a.note, sizeof a.note);
    return status;
}

/* The index upwards, to the right time or another index. */
static cls_status draw_field(cairo_t *cr, const clsi_panel *p, clsi_box box, cls_error *error) {
    const clsi_field *f = &p->field;
    int two = f->axes == 2; /* indices */
    box.w -= BAR_GAP + BAR_W + BAR_LABELS - RIGHT;
    clsi_box bar = {box.x + box.w + BAR_GAP, box.y, BAR_W, box.h};
    clsi_axis x = {.lo = f->time[0], .hi = f->time[f->rows - 1]};
    clsi_axis y = index_axis(f->low[two], f->count[two], box.h, 30);
    if (two) {
        x = index_axis(f->low[0], f->count[0], box.w, 40);
    } else {
        clsi_axis_widen(&x.lo, &x.hi, 0);
        x = fit_x_axis(cr, &x, box.w);
        x.lo = f->time[0];
        x.hi = fmax(f->time[f->rows - 1], nextafter(x.lo, INFINITY));
    }
    char note[80] = "";
    cairo_set_line_width(cr, 0.8);
    draw_x_axis(cr, &x, two ? "i" : p->x_name, box);
    draw_y_axis(cr, &y, box);
    clsi_font(cr, 11, 0);
    use(cr, medium);
    clsi_show(cr, two ? "j" : "i", box.x - LEFT + 12, box.y + box.h / 2 + 3.5, 0.5, LEFT);
    cls_status status = clsi_spacetime_draw(cr, f, box, error);
    if (!status) status = draw_bar(cr, f, bar, note, error);
    const char *heading = f->heading;
    const clsi_panel titled = {.names = &heading, .n_names = 1};
    box.w += BAR_GAP + BAR_W + BAR_LABELS - RIGHT;
    draw_heading(NULL, cr, &titled, box, note);
    return status;
}

static cls_status draw_panel(const clsi_page *page, cairo_t *cr, const clsi_panel *p, clsi_box cell,
                             cls_error *error) {
    clsi_box box = {cell.x + LEFT, cell.y + TOP, cell.w - LEFT - RIGHT, cell.h - TOP - BOTTOM};
    clsi_axis x, y;
    if (p->field.columns) return draw_field(cr, p, box, error);
    ranges(p, &x, &y);
    int empty = !(x.lo <= x.hi);
    if (empty) x.lo = y.lo = 0, x.hi = y.hi = 1;
    pad(&x, 0, p->portrait ? 0.05 : 0);
    if (!p->powers) pad(&y, p->least_span, 0.06);
    x = fit_x_axis(cr, &x, box.w);
    int most = (int)fmax(2, box.h / 30);
    y = p->powers ? clsi_axis_make_powers(y.lo, y.hi, most) : clsi_axis_make(y.lo, y.hi, most);
    cairo_set_line_width(cr, 0.8);
    cairo_set_line_cap(cr, CAIRO_LINE_CAP_BUTT);
    if (!p->portrait) draw_test(page, cr, box, &x);
    draw_x_axis(cr, &x, p->x_name, box);
    draw_y_axis(cr, &y, box);
    use(cr, spine);
    line(cr, box.x, box.y, box.x, box.y + box.h);
    line(cr, box.x, box.y + box.h, box.x + box.w, box.y + box.h);
    draw_heading(page, cr, p, box, y.note);
    if (!empty) return draw_curves(page, cr, p, box, &x, &y, error);
    clsi_font(cr, 11, 0);
    use(cr, pale);
    clsi_show(cr, "no finite numbers", box.x + box.w / 2, box.y + box.h / 2, 0.5, box.w);
    return CLS_OK;
}

cls_status clsi_page_draw(const clsi_page *page, cairo_t *cr, cls_error *error) {
    cairo_set_source_rgb(cr, 1, 1, 1);
    cairo_paint(cr);
    draw_top(page, cr);
    size_t n = page->panels->n, columns = grid_columns(n), rows = (n + columns - 1) / columns;
    double top = top_height(page, page->width);
    double w = (page->width - 2 * EDGE) / (double)columns;
    double h = (page->height - top - EDGE) / (double)rows;
    cls_status status = CLS_OK;
    for (size_t i = 0; !status && i < n; i++) {
        clsi_box cell = {EDGE + w * (double)(i % columns), top + h * (double)(i / columns), w, h};
        status = draw_panel(page, cr, &page->panels->items[i], cell, error);
    }
    return status;
}
