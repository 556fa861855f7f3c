/* The passes of the convex field: those of its networks, put together.
 *
 * With phi as in convex.c, a sample's F = a phi + b.grad phi is for the networks in it
 *
 *     N at (q, +-v, T)   a/2, and b/2 with the sign of v turned over in the second
 *     A                  a, b_q
 *     B_j                a T_j + b_Tj, T_j b_q
 *
 * so their own passes do all the work, block by block (clsi_field_blocks). What comes back for W
 * is multiplied by dW/dtheta: sums once in the end, rows when they are complete. */
#include "field/convex.h"
#include "base/base.h"
#include <stdint.h>
#include <string.h>

enum { MOST = CLSI_NETWORK_BLOCK, D = CLSI_FIELD_MAX_INPUTS };

typedef struct pass {
    const clsi_field *f;
    const clsi_convex *c;
    size_t sides;                       /* passes of the body: 2 where it is made even */
    double *W, *slope;                  /* of the body, dW/dtheta (n_weights) */
    double *body[2];                    /* passes */
    double *part[1 + D];                /* passes */
    double *value[1 + D];               /* (MOST): what A and B_j were */
    double *own;                        /* (MOST, D): inputs, or directions, of a network */
    double *got, *from, *a;             /* (MOST), (MOST, D), (MOST) */
    double *x;                          /* (MOST, d) of the block */
    double *rows;                       /* (MOST, parameters of the body) */
    double *sum;                        /* of the parameters behind the networks */
    double L[D * D], c_slope[D], cs[D]; /* L by rows; slopes of its diagonal in order; c */
    double d_slope[D];
} pass;

enum { PASS = (sizeof(pass) + sizeof(double) - 1) / sizeof(double) };

/* Lays out a pass; with memory NULL only counts. */
static size_t lay_out(const clsi_field *f, double *memory, pass *p) {
    const clsi_convex *c = f->data;
    size_t used = PASS, n = c->body->n_parameters;
    struct {
        double **to;
        size_t size;
    } list[16 + 2 * (1 + D)];
    size_t k = 0;
    list[k].to = &p->W, list[k++].size = n;
    list[k].to = &p->slope, list[k++].size = c->n_weights;
    list[k].to = &p->own, list[k++].size = MOST * D;
    list[k].to = &p->got, list[k++].size = MOST;
    list[k].to = &p->from, list[k++].size = MOST * D;
    list[k].to = &p->a, list[k++].size = MOST;
    list[k].to = &p->x, list[k++].size = MOST * f->d;
    list[k].to = &p->rows, list[k++].size = MOST * n;
    list[k].to = &p->sum, list[k++].size = f->n_parameters - c->triangle_at;
    p->sides = c->even ? 2 : 1;
    for (size_t i = 0; i < p->sides; i++)
        list[k].to = &p->body[i], list[k++].size = c->body->kind->blocks->size(c->body);
    for (size_t j = 0; j < c->n_parts; j++) {
        list[k].to = &p->part[j], list[k++].size = c->part[j]->kind->blocks->size(c->part[j]);
        list[k].to = &p->value[j], list[k++].size = MOST;
    }
    for (size_t i = 0; i < k; i++) {
        if (memory) *list[i].to = memory + used;
        used += list[i].size;
    }
    return used;
}

static size_t size(const clsi_field *f) {
    pass p;
    return lay_out(f, NULL, &p);
}

static void open(const clsi_field *f, const double *theta, double *memory) {
    const clsi_convex *c = f->data;
    pass *p = (pass *)memory;
    *p = (pass){.f = f, .c = c};
    lay_out(f, memory, p);
    memset(p->W, 0, c->body->n_parameters * sizeof *p->W);
    for (size_t k = 0; k < c->n_weights; k++) {
        p->W[c->at[k]] = c->positive[k] ? clsi_convex_map(theta[k]) : theta[k];
        p->slope[k] = c->positive[k] ? clsi_convex_slope(theta[k]) : 1;
    }
    for (size_t i = 0; i < p->sides; i++) c->body->kind->blocks->open(c->body, p->W, p->body[i]);
    for (size_t j = 0; j < c->n_parts; j++)
        c->part[j]->kind->blocks->open(c->part[j], theta + c->part_at[j], p->part[j]);
    for (size_t i = 0, at = c->triangle_at; i < c->order; i++) {
        for (size_t j = 0; j <= i; j++) p->L[i * c->order + j] = theta[at++];
        p->L[i * c->order + i] = CLSI_CONVEX_DIAGONAL + clsi_convex_map(theta[at - 1]);
        p->d_slope[i] = clsi_convex_slope(theta[at - 1]);
    }
    for (size_t j = 0; j < c->rising; j++) {
        p->cs[j] = CLSI_CONVEX_SLOPE + clsi_convex_map(theta[c->slope_at + j]);
        p->c_slope[j] = clsi_convex_slope(theta[c->slope_at + j]);
    }
}

static void clear(double *memory) {
    pass *p = (pass *)memory;
    const clsi_convex *c = p->c;
    for (size_t i = 0; i < p->sides; i++) c->body->kind->blocks->clear(p->body[i]);
    for (size_t j = 0; j < c->n_parts; j++) c->part[j]->kind->blocks->clear(p->part[j]);
    memset(p->sum, 0, (p->f->n_parameters - c->triangle_at) * sizeof *p->sum);
}

/* The first `count` of a sample's d numbers, times factor; those of v turned over on side 1. */
static void take(const pass *p, size_t n, const double *x, size_t count, double factor, int side) {
    const clsi_convex *c = p->c;
    for (size_t s = 0; s < n; s++)
        for (size_t k = 0; k < count; k++) {
            int turned = side && k >= c->free && k < c->free + c->even;
            p->own[s * count + k] = (turned ? -factor : factor) * x[s * p->f->d + k];
        }
}

/* ---- evaluation ---- */

static void evaluate_body(pass *p, size_t n, double *value, double *gradient) {
    const clsi_convex *c = p->c;
    size_t d = c->body->d;
    double share = 1 / (double)p->sides;
    for (size_t i = 0; i < p->sides; i++) {
        take(p, n, p->x, d, 1, (int)i);
        c->body->kind->blocks->evaluate(p->body[i], n, p->own, p->got, gradient ? p->from : NULL);
        for (size_t s = 0; s < n; s++) value[s] = share * p->got[s] + (i ? value[s] : 0);
        for (size_t s = 0; gradient && s < n; s++)
            for (size_t k = 0; k < d; k++) {
                int turned = i && k >= c->free && k < c->free + c->even;
                double *to = gradient + s * p->f->d + k;
                *to = (i ? *to : 0) + (turned ? -share : share) * p->from[s * d + k];
            }
    }
}

static void evaluate_parts(pass *p, size_t n, double *value, double *gradient) {
    const clsi_convex *c = p->c;
    size_t d = p->f->d, T = c->free + c->even;
    for (size_t j = 0; j < c->n_parts; j++) {
        take(p, n, p->x, c->free, 1, 0);
        c->part[j]->kind->blocks->evaluate(p->part[j], n, p->own, p->value[j],
                                           gradient ? p->from : NULL);
        for (size_t s = 0; s < n; s++) {
            double factor = j ? p->x[s * d + T + j - 1] : 1;
            value[s] += factor * p->value[j][s];
            if (!gradient) continue;
            for (size_t k = 0; k < c->free; k++)
                gradient[s * d + k] += factor * p->from[s * c->free + k];
            if (j) gradient[s * d + T + j - 1] += p->value[j][s];
        }
    }
}

/* out = L^T y */
static void project(const pass *p, const double *y, double *out) {
    size_t n = p->c->order;
    for (size_t j = 0; j < n; j++) {
        out[j] = 0;
        for (size_t i = j; i < n; i++) out[j] += p->L[i * n + j] * y[i];
    }
}

static void evaluate_rest(const pass *p, const double *x, double *value, double *gradient) {
    const clsi_convex *c = p->c;
    size_t n = c->order, r = c->free + c->even + c->bent;
    double u[D];
    project(p, x + c->first, u);
    for (size_t j = 0; j < n; j++) *value += u[j] * u[j] / 2;
    for (size_t j = 0; j < c->rising; j++) *value += p->cs[j] * x[r + j];
    if (!gradient) return;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) gradient[c->first + i] += p->L[i * n + j] * u[j];
    for (size_t j = 0; j < c->rising; j++) gradient[r + j] += p->cs[j];
}

static void evaluate(double *memory, size_t n, const double *x, double *value, double *gradient) {
    pass *p = (pass *)memory;
    size_t d = p->f->d;
    memcpy(p->x, x, n * d * sizeof *x);
    if (gradient) memset(gradient, 0, n * d * sizeof *gradient);
    if (!value) value = p->a;
    evaluate_body(p, n, value, gradient);
    evaluate_parts(p, n, value, gradient);
    for (size_t s = 0; s < n; s++)
        evaluate_rest(p, x + s * d, value + s, gradient ? gradient + s * d : NULL);
}

/* ---- derivatives in theta ---- */

static double at(const double *a, size_t s) {
    return a ? a[s] : 0;
}

/* p->a and p->own: what side i of the body is asked for. */
static const double *ask_body(const pass *p, size_t i, size_t n, const double *a, const double *b) {
    double share = 1 / (double)p->sides;
    for (size_t s = 0; s < n; s++) p->a[s] = share * at(a, s);
    if (b) take(p, n, b, p->c->body->d, share, (int)i);
    return b ? p->own : NULL;
}

/* The same for part j. */
static const double *ask_part(const pass *p, size_t j, size_t n, const double *a, const double *b) {
    const clsi_convex *c = p->c;
    size_t d = p->f->d, T = c->free + c->even + j - 1;
    for (size_t s = 0; s < n; s++) {
        double factor = j ? p->x[s * d + T] : 1;
        p->a[s] = factor * at(a, s) + (j && b ? b[s * d + T] : 0);
        for (size_t k = 0; b && k < c->free; k++) p->own[s * c->free + k] = factor * b[s * d + k];
    }
    return b ? p->own : NULL;
}

/* row += a dphi + b.d grad phi in L and c, which begin there. */
static void add_rest(const pass *p, const double *x, double a, const double *b, double *row) {
    const clsi_convex *c = p->c;
    size_t n = c->order, r = c->free + c->even + c->bent;
    double u[D], w[D] = {0};
    const double *y = x + c->first, *z = b ? b + c->first : NULL;
    project(p, y, u);
    if (z) project(p, z, w);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++)
            *row++ += (i == j ? p->d_slope[i] : 1) *
                      (a * y[i] * u[j] + y[i] * w[j] + (z ? z[i] * u[j] : 0));
    for (size_t j = 0; j < c->rising; j++)
        row[j] += p->c_slope[j] * (a * x[r + j] + (b ? b[r + j] : 0));
}

static void add(double *memory, size_t n, const double *a, const double *b) {
    pass *p = (pass *)memory;
    const clsi_convex *c = p->c;
    size_t d = p->f->d;
    for (size_t i = 0; i < p->sides; i++) {
        const double *direction = ask_body(p, i, n, a, b);
        c->body->kind->blocks->add(p->body[i], n, p->a, direction);
    }
    for (size_t j = 0; j < c->n_parts; j++) {
        const double *direction = ask_part(p, j, n, a, b);
        c->part[j]->kind->blocks->add(p->part[j], n, p->a, direction);
    }
    for (size_t s = 0; s < n; s++)
        add_rest(p, p->x + s * d, at(a, s), b ? b + s * d : NULL, p->sum);
}

/* Rows of the body in W: one for every different row that is wanted, in p->rows. Returns their
 * number; wanted[i] is the i-th. */
static size_t own_rows(const pass *p, size_t n, double *const *rows, double **own,
                       double **wanted) {
    size_t count = 0, width = p->c->body->n_parameters;
    for (size_t s = 0; s < n; s++) {
        size_t i = 0;
        own[s] = NULL;
        if (!rows[s]) continue;
        while (i < count && wanted[i] != rows[s]) i++;
        if (i == count) wanted[count++] = rows[s];
        own[s] = p->rows + i * width;
    }
    memset(p->rows, 0, count * width * sizeof *p->rows);
    return count;
}

static void body_rows(pass *p, size_t n, const double *a, const double *b, double *const *rows) {
    const clsi_convex *c = p->c;
    double *own[MOST], *wanted[MOST];
    size_t count = own_rows(p, n, rows, own, wanted);
    for (size_t i = 0; i < p->sides; i++) {
        const double *direction = ask_body(p, i, n, a, b);
        c->body->kind->blocks->rows(p->body[i], n, p->a, direction, own);
    }
    for (size_t i = 0; i < count; i++) {
        const double *row = p->rows + i * c->body->n_parameters;
        for (size_t k = 0; k < c->n_weights; k++) wanted[i][k] += p->slope[k] * row[c->at[k]];
    }
}

static void rows(double *memory, size_t n, const double *a, const double *b, double *const *to) {
    pass *p = (pass *)memory;
    const clsi_convex *c = p->c;
    size_t d = p->f->d;
    body_rows(p, n, a, b, to);
    for (size_t j = 0; j < c->n_parts; j++) {
        double *own[MOST];
        const double *direction = ask_part(p, j, n, a, b);
        for (size_t s = 0; s < n; s++) own[s] = to[s] ? to[s] + c->part_at[j] : NULL;
        c->part[j]->kind->blocks->rows(p->part[j], n, p->a, direction, own);
    }
    for (size_t s = 0; s < n; s++)
        if (to[s])
            add_rest(p, p->x + s * d, at(a, s), b ? b + s * d : NULL, to[s] + c->triangle_at);
}

static void give(const double *memory, double *out) {
    const pass *p = (const pass *)memory;
    const clsi_convex *c = p->c;
    memset(p->rows, 0, c->body->n_parameters * sizeof *p->rows);
    for (size_t i = 0; i < p->sides; i++) c->body->kind->blocks->close(p->body[i], p->rows);
    for (size_t k = 0; k < c->n_weights; k++) out[k] += p->slope[k] * p->rows[c->at[k]];
    for (size_t j = 0; j < c->n_parts; j++)
        c->part[j]->kind->blocks->close(p->part[j], out + c->part_at[j]);
    for (size_t k = c->triangle_at; k < p->f->n_parameters; k++)
        out[k] += p->sum[k - c->triangle_at];
}

const clsi_field_blocks clsi_convex_blocks = {.samples = MOST,
                                              .size = size,
                                              .open = open,
                                              .clear = clear,
                                              .evaluate = evaluate,
                                              .add = add,
                                              .rows = rows,
                                              .close = give};

/* ---- many samples ---- */

size_t clsi_convex_scratch(const clsi_field *f, size_t n) {
    (void)n;
    return size(f);
}

static size_t least(size_t a, size_t b) {
    return a < b ? a : b;
}

void clsi_convex_evaluate(const clsi_field *f, const double *theta, size_t n, const double *x,
                          double *value, double *gradient, double *scratch) {
    open(f, theta, scratch);
    for (size_t s = 0; s < n; s += MOST)
        evaluate(scratch, least(n - s, MOST), x + s * f->d, value ? value + s : NULL,
                 gradient ? gradient + s * f->d : NULL);
}

/* A block's value and, where its slopes are wanted, gradient: what add and rows go on from. */
static void begin_block(pass *p, size_t n, const double *x, const double *b) {
    double gradient[MOST * D];
    evaluate((double *)p, n, x, NULL, b ? gradient : NULL);
}

void clsi_convex_rows(const clsi_field *f, const double *theta, size_t n, const double *x,
                      const double *a, const double *b, size_t stride, double *out,
                      double *scratch) {
    if (!a && !b) return;
    open(f, theta, scratch);
    for (size_t s = 0; s < n; s += MOST) {
        size_t m = least(n - s, MOST);
        double *to[MOST];
        for (size_t i = 0; i < m; i++) to[i] = out + (s + i) * stride;
        begin_block((pass *)scratch, m, x + s * f->d, b);
        rows(scratch, m, a ? a + s : NULL, b ? b + s * f->d : NULL, to);
    }
}

void clsi_convex_reverse(const clsi_field *f, const double *theta, size_t n, const double *x,
                         const double *a, const double *b, double *out, double *scratch) {
    if ((!a && !b) || !n) return;
    open(f, theta, scratch);
    clear(scratch);
    for (size_t s = 0; s < n; s += MOST) {
        size_t m = least(n - s, MOST);
        begin_block((pass *)scratch, m, x + s * f->d, b);
        add(scratch, m, a ? a + s : NULL, b ? b + s * f->d : NULL);
    }
    give(scratch, out);
}
