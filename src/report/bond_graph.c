/* The bond graph of a system of components: boxes for components (storage blue, lossless links
 * green, resistive red, as in the EPHS thesis), dots for junctions, lines for bonds.
 *
 * Layout: components and junctions are the two sides of a bipartite graph. Layers are distances
 * from the end that lies furthest out, so every bond joins neighbouring layers; within a layer the
 * order follows the mean place of the neighbours (a few sweeps). Deterministic; a walk over the
 * graph from each component, which is at most a few hundred. No crossing is promised to be absent.
 */
#include "base/misuse.h"
#include "report/plot.h"
#include "system/ports.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BOX_W = 128, BOX_H = 44, GAP_X = 64, GAP_Y = 26, EDGE = 24, TITLE = 34, SWEEPS = 60 };

typedef struct vertex {
    int seen;
    size_t layer;
    double place; /* in its layer, in units of one box */
} vertex;

typedef struct drawing {
    const cls_system *s;
    const clsi_ports *p;
    size_t n; /* components, then junctions */
    vertex *v;
    size_t *piece, *queue, reached; /* the last walk, in its order */
    size_t layers;
    double rows, width, height;
} drawing;

static int is_box(const drawing *d, size_t i) {
    return i < d->p->n_components;
}

static int are_joined(const drawing *d, size_t i, size_t j) {
    if (is_box(d, i) == is_box(d, j)) return 0;
    const clsi_component *c = &d->p->components[is_box(d, i) ? i : j];
    size_t joint = (is_box(d, i) ? j : i) - d->p->n_components;
    for (size_t k = 0; k < c->n_ports; k++)
        if (c->port[k].node == joint) return 1;
    return 0;
}

/* Distances from `start` among what is not placed yet; returns the largest. */
static size_t spread(drawing *d, size_t start, int mark) {
    size_t head = 0, tail = 0, most = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].seen < 2) d->v[i].seen = 0;
    d->queue[tail++] = start;
    d->v[start].seen = 1;
    d->v[start].layer = 0;
    while (head < tail) {
        size_t i = d->queue[head++];
        most = d->v[i].layer;
        for (size_t j = 0; j < d->n; j++) {
            if (d->v[j].seen || !are_joined(d, i, j)) continue;
            d->v[j].seen = 1;
            d->v[j].layer = d->v[i].layer + 1;
            d->queue[tail++] = j;
        }
    }
    d->reached = tail;
    for (size_t k = 0; mark && k < tail; k++) d->v[d->queue[k]].seen = 2;
    return most;
}

/* The component of start's piece that lies furthest out; the first of several. */
static size_t furthest_end(drawing *d, size_t start, size_t *piece) {
    size_t best = start, depth = 0, n;
    spread(d, start, 0);
    n = d->reached;
    memcpy(piece, d->queue, n * sizeof *piece);
    for (size_t k = 0; k < n; k++) {
        if (!is_box(d, piece[k])) continue;
        size_t far = spread(d, piece[k], 0);
        if (far < depth || (far == depth && piece[k] > best)) continue;
        depth = far;
        best = piece[k];
    }
    return best;
}

/* Layers of every connected piece; pieces lie below each other. */
static void assign_layers(drawing *d) {
    double below = 0;
    for (size_t i = 0; i < d->p->n_components; i++) {
        if (d->v[i].seen == 2) continue;
        size_t depth = spread(d, furthest_end(d, i, d->piece), 1);
        double most = 0, in_layer = 0;
        for (size_t k = 0; k < d->reached; k++) { /* a walk goes layer by layer */
            if (k && d->v[d->queue[k]].layer != d->v[d->queue[k - 1]].layer) in_layer = 0;
            d->v[d->queue[k]].place = below + in_layer++;
            most = fmax(most, in_layer);
        }
        below += most;
        if (depth + 1 > d->layers) d->layers = depth + 1;
    }
}

static double mean_of_neighbours(const drawing *d, size_t i) {
    double sum = 0, n = 0;
    for (size_t j = 0; j < d->n; j++)
        if (are_joined(d, i, j)) sum += d->v[j].place, n++;
    return n > 0 ? sum / n : d->v[i].place;
}

/* Moves every vertex of a layer to the mean of its neighbours, then pulls them one apart. */
static void settle(drawing *d, size_t layer) {
    size_t n = 0;
    for (size_t i = 0; i < d->n; i++)
        if (d->v[i].layer == layer) {
            double place = mean_of_neighbours(d, i);
            size_t k = n++;
            while (k > 0 && d->v[d->queue[k - 1]].place > place) {
                d->queue[k] = d->queue[k - 1];
                k--;
            }
            d->queue[k] = i;
            d->v[i].place = place;
        }
    double shift = 0;
    for (size_t k = 1; k < n; k++) {
        double least = d->v[d->queue[k - 1]].place + 1;
        if (d->v[d->queue[k]].place >= least) continue;
        shift += least - d->v[d->queue[k]].place;
        d->v[d->queue[k]].place = least;
    }
    for (size_t k = 0; k < n; k++) d->v[d->queue[k]].place -= n ? shift / (double)n : 0;
}

static void arrange(drawing *d) {
    assign_layers(d);
    for (int sweep = 0; sweep < SWEEPS; sweep++)
        for (size_t k = 0; k < d->layers; k++) settle(d, sweep % 2 ? d->layers - 1 - k : k);
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < d->n; i++) {
        low = fmin(low, d->v[i].place);
        high = fmax(high, d->v[i].place);
    }
    for (size_t i = 0; i < d->n; i++) d->v[i].place -= low;
    d->rows = high - low + 1;
    d->width = 2 * EDGE + (double)((d->layers + 1) / 2) * BOX_W +
               (double)(d->layers / 2) * (2 * GAP_X) - (d->layers % 2 ? 0 : GAP_X / 2.0);
    d->height = EDGE + TITLE + d->rows * (BOX_H + GAP_Y) + EDGE;
}

static void position(const drawing *d, size_t i, double *x, double *y) {
    size_t layer = d->v[i].layer;
    *x = EDGE + (double)(layer / 2) * (BOX_W + 2 * GAP_X) + BOX_W / 2.0 +
         (layer % 2 ? BOX_W / 2.0 + GAP_X : 0);
    *y = EDGE + TITLE + (d->v[i].place + 0.5) * (BOX_H + GAP_Y);
}

/* ---- drawing ---- */

static void colour_of(clsi_component_kind kind, double c[3]) {
    static const double blue[3] = {0.000, 0.447, 0.698}, green[3] = {0.000, 0.620, 0.451},
                        red[3] = {0.80, 0.15, 0.10}, grey[3] = {0.35, 0.40, 0.45},
                        orange[3] = {0.85, 0.55, 0.00};
    const double *chosen = kind == CLSI_STORAGE       ? blue
                           : kind == CLSI_RESISTIVE   ? red
                           : kind == CLSI_ENVIRONMENT ? grey
                           : kind == CLSI_EXTERNAL    ? orange
                                                      : green;
    memcpy(c, chosen, 3 * sizeof *c);
}

/* The formula on one line. */
static void one_line(const drawing *d, const clsi_component *c, char out[200]) {
    const clsi_reader *r = d->p->sources[c->body.source];
    size_t n = 0;
    for (size_t i = c->body.begin; i < c->body.end && n < 190; i++) {
        char k = r->clean[i];
        if (isspace((unsigned char)k)) k = ' ';
        if (k == ' ' && (n == 0 || out[n - 1] == ' ')) continue;
        out[n++] = k;
    }
    while (n && out[n - 1] == ' ') n--;
    out[n] = 0;
}

static void draw_box(const drawing *d, cairo_t *cr, size_t i) {
    const clsi_component *c = &d->p->components[i];
    double x, y, rgb[3];
    char formula[200];
    position(d, i, &x, &y);
    colour_of(c->kind, rgb);
    cairo_rectangle(cr, x - BOX_W / 2.0, y - BOX_H / 2.0, BOX_W, BOX_H);
    cairo_set_source_rgb(cr, 0.9 + 0.1 * rgb[0], 0.9 + 0.1 * rgb[1], 0.9 + 0.1 * rgb[2]);
    cairo_fill_preserve(cr);
    cairo_set_source_rgb(cr, rgb[0], rgb[1], rgb[2]);
    cairo_set_line_width(cr, 1.8);
    cairo_stroke(cr);
    clsi_font(cr, strlen(c->name) > 14 ? 11 : 13, 1);
    clsi_show(cr, c->name, x, y - 3, 0.5, BOX_W - 10);
    clsi_font(cr, 10.5, 0);
    one_line(d, c, formula);
    cairo_set_source_rgb(cr, 0.2, 0.2, 0.22);
    clsi_show(cr, formula, x, y + 13, 0.5, BOX_W - 10);
}

/* Bonds leave a side of a box in the order of where they go, so that they do not cross and their
 * names do not meet. */
static double leaving(const drawing *d, size_t i, const clsi_port *port) {
    const clsi_component *c = &d->p->components[i];
    double x, y, u, w;
    int before = 0, n = 0;
    position(d, i, &x, &y);
    position(d, d->p->n_components + port->node, &u, &w);
    for (const clsi_port *q = c->port; q < c->port + c->n_ports; q++) {
        double other_u, other_w;
        position(d, d->p->n_components + q->node, &other_u, &other_w);
        if ((other_u > x) != (u > x)) continue;
        n++;
        before += other_w < w || (other_w == w && q < port);
    }
    return y + (before - (n - 1) / 2.0) * fmin(30, (BOX_H - 8.0) / (n > 1 ? n - 1 : 1));
}

/* A text that lines behind it do not cross. */
static void show_clear(cairo_t *cr, const char *text, double x, double y, double align,
                       double width) {
    cairo_text_extents_t size;
    cairo_text_extents(cr, text, &size);
    double w = fmin(size.x_advance, width);
    cairo_save(cr);
    cairo_set_source_rgba(cr, 1, 1, 1, 0.85);
    cairo_rectangle(cr, x - align * w - 1, y + size.y_bearing - 1, w + 2, size.height + 2);
    cairo_fill(cr);
    cairo_restore(cr);
    clsi_show(cr, text, x, y, align, width);
}

static void draw_bond(const drawing *d, cairo_t *cr, size_t i, const clsi_port *port) {
    double x, y, u, w, from = leaving(d, i, port);
    position(d, i, &x, &y);
    position(d, d->p->n_components + port->node, &u, &w);
    cairo_set_source_rgb(cr, 0.25, 0.25, 0.28);
    cairo_set_line_width(cr, 1.4);
    cairo_move_to(cr, x + (u > x ? BOX_W : -BOX_W) / 2.0, from);
    cairo_line_to(cr, u, w);
    cairo_stroke(cr);
}

/* The port's name, where that is not the junction's own, at the beginning of its bond: above a bond
 * that falls, below one that rises. */
static void name_bond(const drawing *d, cairo_t *cr, size_t i, const clsi_port *port) {
    double x, y, u, w, from = leaving(d, i, port);
    if (strcmp(port->name, d->p->joints[port->node].label) == 0) return;
    position(d, i, &x, &y);
    position(d, d->p->n_components + port->node, &u, &w);
    double edge = x + (u > x ? BOX_W : -BOX_W) / 2.0, at = edge + (u > x ? 4 : -4);
    clsi_font(cr, 10, 0);
    cairo_set_source_rgb(cr, 0.45, 0.45, 0.48);
    clsi_show(cr, port->name, at, from + (w > from ? -4 : 11), u > x ? 0 : 1, GAP_X - 12);
}

static void draw_joint(const drawing *d, cairo_t *cr, size_t j) {
    double x, y;
    const clsi_joint *joint = &d->p->joints[j];
    position(d, d->p->n_components + j, &x, &y);
    cairo_set_source_rgb(cr, 0.05, 0.05, 0.06);
    clsi_font(cr, 12, 1);
    show_clear(cr, joint->label, x, y - 9, 0.5, 2 * GAP_X - 16);
    cairo_arc(cr, x, y, 4, 0, 2 * 3.14159265358979323846);
    cairo_fill(cr);
}

static cls_status draw(void *context, cairo_t *cr, cls_error *error) {
    const drawing *d = context;
    (void)error;
    cairo_set_source_rgb(cr, 1, 1, 1);
    cairo_paint(cr);
    cairo_set_source_rgb(cr, 0.13, 0.13, 0.15);
    clsi_font(cr, 16, 1);
    clsi_show(cr, d->s->title, EDGE, EDGE + 10, 0, d->width - 2 * EDGE);
    for (size_t i = 0; i < d->p->n_components; i++)
        for (size_t k = 0; k < d->p->components[i].n_ports; k++)
            draw_bond(d, cr, i, &d->p->components[i].port[k]);
    for (size_t i = 0; i < d->p->n_components; i++) draw_box(d, cr, i);
    for (size_t j = 0; j < d->p->n_joints; j++) draw_joint(d, cr, j);
    for (size_t i = 0; i < d->p->n_components; i++)
        for (size_t k = 0; k < d->p->components[i].n_ports; k++)
            name_bond(d, cr, i, &d->p->components[i].port[k]);
    return CLS_OK;
}

cls_status cls_bond_graph(const cls_system *s, const char *path, cls_error *error) {
    NEED(error, path);
    NEED(error, s);
    if (!clsi_system_has_ports(s))
        return clsi_fail(error, CLS_USAGE,
                         "%s is not made of components, so it has no bond graph (storage, "
                         "resistive, ...: docs/language.md)",
                         s->name);
    drawing d = {.s = s, .p = s->ports, .n = s->ports->n_components + s->ports->n_joints};
    d.v = clsi_calloc(d.n, sizeof *d.v);
    d.queue = clsi_calloc(2 * d.n, sizeof *d.queue);
    d.piece = d.queue ? d.queue + d.n : NULL;
    cls_status status = d.v && d.queue ? CLS_OK : clsi_no_memory(error);
    if (!status) {
        arrange(&d);
        double scale = strlen(path) > 4 && !strcmp(path + strlen(path) - 4, ".png") ? 2 : 1;
        status = clsi_picture_write(path, (int)ceil(scale * d.width), (int)ceil(scale * d.height),
                                    scale, draw, &d, error);
    }
    free(d.v);
    free(d.queue);
    return status;
}
