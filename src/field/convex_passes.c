/* The passes of the convex field: those of its networks, put together.
 *
 * phi = (N(q, v, ..) + N(q, -v, ..))/2 + Phi(u(q), y) as in convex.c. A sample's F = a phi + b.grad
 * phi is for the networks in it
 *
 *     N at (q, +-v, ..)   a/2, and b/2 with the sign of v turned over in the second
 *     u_k                 a Phi_uk + D Phi_uk, Phi_uk b_q (convex_joint.c)
 *
 * so their own passes do all the work, block by block (clsi_field_blocks). What comes back for W
 * is multiplied by dW/dtheta: sums once in the end, rows when they are complete. */
#include "field/convex.h"
#include <stdint.h>
#include <string.h>

enum { MOST = CLSI_NETWORK_BLOCK, D = CLSI_FIELD_MAX_INPUTS };

typedef struct pass {
    const clsi_field *f;
    const clsi_convex *c;
    size_t sides;             /* passes of the body: 2 where it is made even */
    double *W, *slope;        /* of the body, dW/dtheta (n_weights) */
    double *body[2];          /* passes */
    double *parts;            /* passes of the parts, one behind the other */
    double *u, *by_u, *along; /* (n_parts, MOST) */
    double *u_q;              /* (n_parts, MOST, free) */
    double *own;              /* (MOST, D): inputs, or directions, of a network */
    double *got, *from, *a;   /* (MOST), (MOST, D), (MOST) */
    double *x;                /* (MOST, d) of the block */
    double *rows;             /* (MOST, parameters of the body) */
    double *sum;              /* of the parameters behind the networks */
    clsi_convex_numbers numbers;
} pass;

enum { PASS = (sizeof(pass) + sizeof(double) - 1) / sizeof(double) };

/* They are all alike. */
static size_t part_size(const clsi_convex *c) {
    return c->n_parts ? c->part[0]->kind->blocks->size(c->part[0]) : 0;
}

/* Lays out a pass; with memory NULL only counts. */
static size_t lay_out(const clsi_field *f, double *memory, pass *p) {
    const clsi_convex *c = f->data;
    size_t used = PASS, n = c->body->n_parameters, whole = c->body->kind->blocks->size(c->body);
    struct {
        double **to;
        size_t size;
    } list[] = {{&p->W, n},
                {&p->slope, c->n_weights},
                {&p->own, MOST * D},
                {&p->got, MOST},
                {&p->from, MOST * D},
                {&p->a, MOST},
                {&p->x, MOST * f->d},
                {&p->rows, MOST * n},
                {&p->sum, f->n_parameters - c->triangle_at},
                {&p->u, c->n_parts * MOST},
                {&p->by_u, c->n_parts * MOST},
                {&p->along, c->n_parts * MOST},
                {&p->u_q, c->n_parts * MOST * c->free},
                {&p->parts, c->n_parts * part_size(c)},
                {&p->body[0], whole},
                {&p->body[1], c->even ? whole : 0}};
    p->sides = c->even ? 2 : 1;
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (memory) *list[i].to = memory + used;
        used += list[i].size;
    }
    return used;
}

static double *part_pass(const pass *p, size_t j) {
    return p->parts + j * part_size(p->c);
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
        c->part[j]->kind->blocks->open(c->part[j], theta + c->part_at[j], part_pass(p, j));
    clsi_convex_prepare(c, theta + c->triangle_at, &p->numbers);
}

static void clear(double *memory) {
    pass *p = (pass *)memory;
    const clsi_convex *c = p->c;
    for (size_t i = 0; i < p->sides; i++) c->body->kind->blocks->clear(p->body[i]);
    for (size_t j = 0; j < c->n_parts; j++) c->part[j]->kind->blocks->clear(part_pass(p, j));
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

static void evaluate_parts(pass *p, size_t n, int slopes) {
    const clsi_convex *c = p->c;
    if (c->n_parts) take(p, n, p->x, c->free, 1, 0);
    for (size_t j = 0; j < c->n_parts; j++)
        c->part[j]->kind->blocks->evaluate(part_pass(p, j), n, p->own, p->u + j * MOST,
                                           slopes ? p->u_q + j * MOST * c->free : NULL);
}

/* Phi at sample s. */
static void evaluate_joint(const pass *p, size_t s, double *value, double *gradient) {
    const clsi_convex *c = p->c;
    double u[CLSI_CONVEX_PARTS], by_u[CLSI_CONVEX_PARTS];
    for (size_t j = 0; j < c->n_parts; j++) u[j] = p->u[j * MOST + s];
    clsi_convex_joint(&p->numbers, u, p->x + s * p->f->d, value, gradient, by_u);
    for (size_t j = 0; gradient && j < c->n_parts; j++)
        for (size_t k = 0; k < c->free; k++)
            gradient[k] += by_u[j] * p->u_q[(j * MOST + s) * c->free + k];
}

static void evaluate(double *memory, size_t n, const double *x, double *value, double *gradient) {
    pass *p = (pass *)memory;
    size_t d = p->f->d;
    memcpy(p->x, x, n * d * sizeof *x);
    if (gradient) memset(gradient, 0, n * d * sizeof *gradient);
    if (!value) value = p->a;
    evaluate_body(p, n, value, gradient);
    evaluate_parts(p, n, gradient != NULL);
    for (size_t s = 0; s < n; s++)
        evaluate_joint(p, s, value + s, gradient ? gradient + s * d : NULL);
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

/* by_u and along of sample s; row += what F has of the parameters behind the networks. */
static void ask_joint(const pass *p, size_t s, double a, const double *b, double *row) {
    const clsi_convex *c = p->c;
    double u[CLSI_CONVEX_PARTS], du[CLSI_CONVEX_PARTS];
    double by_u[CLSI_CONVEX_PARTS], along[CLSI_CONVEX_PARTS], none[D] = {0};
    for (size_t j = 0; j < c->n_parts; j++) {
        u[j] = p->u[j * MOST + s];
        du[j] = 0;
        for (size_t k = 0; b && k < c->free; k++)
            du[j] += b[k] * p->u_q[(j * MOST + s) * c->free + k];
    }
    clsi_convex_joint_along(&p->numbers, u, p->x + s * p->f->d, du, b ? b : none, a, by_u, along,
                            row);
    for (size_t j = 0; j < c->n_parts; j++) {
        p->by_u[j * MOST + s] = by_u[j];
        p->along[j * MOST + s] = along[j];
    }
}

/* The direction that part j is asked for, after ask_joint. */
static const double *ask_part(const pass *p, size_t j, size_t n, const double *b) {
    size_t free_ones = p->c->free;
    for (size_t s = 0; b && s < n; s++)
        for (size_t k = 0; k < free_ones; k++)
            p->own[s * free_ones + k] = p->by_u[j * MOST + s] * b[s * p->f->d + k];
    return b ? p->own : NULL;
}

static void add(double *memory, size_t n, const double *a, const double *b) {
    pass *p = (pass *)memory;
    const clsi_convex *c = p->c;
    size_t d = p->f->d;
    for (size_t i = 0; i < p->sides; i++) {
        const double *direction = ask_body(p, i, n, a, b);
        c->body->kind->blocks->add(p->body[i], n, p->a, direction);
    }
    for (size_t s = 0; s < n; s++) ask_joint(p, s, at(a, s), b ? b + s * d : NULL, p->sum);
    for (size_t j = 0; j < c->n_parts; j++)
        c->part[j]->kind->blocks->add(part_pass(p, j), n, p->along + j * MOST,
                                      ask_part(p, j, n, b));
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
    for (size_t s = 0; s < n; s++)
        if (to[s]) ask_joint(p, s, at(a, s), b ? b + s * d : NULL, to[s] + c->triangle_at);
    for (size_t j = 0; j < c->n_parts; j++) {
        double *own[MOST];
        for (size_t s = 0; s < n; s++) own[s] = to[s] ? to[s] + c->part_at[j] : NULL;
        c->part[j]->kind->blocks->rows(part_pass(p, j), n, p->along + j * MOST,
                                       ask_part(p, j, n, b), own);
    }
}

static void give(const double *memory, double *out) {
    const pass *p = (const pass *)memory;
    const clsi_convex *c = p->c;
    memset(p->rows, 0, c->body->n_parameters * sizeof *p->rows);
    for (size_t i = 0; i < p->sides; i++) c->body->kind->blocks->close(p->body[i], p->rows);
    for (size_t k = 0; k < c->n_weights; k++) out[k] += p->slope[k] * p->rows[c->at[k]];
    for (size_t j = 0; j < c->n_parts; j++)
        c->part[j]->kind->blocks->close(part_pass(p, j), out + c->part_at[j]);
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
