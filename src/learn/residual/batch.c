/* The residual evaluated, batch by batch: values here, Jacobian rows and the gradient of the loss
 * in batch_rows.c.
 *
 * Windows go in batches of POINTS points, which is a block of the networks; a point that
 * neighbouring windows share is evaluated once. A batch runs the fields, then the program of the
 * quantities, then for a gradient backwards: residuals to quantities by the window's coefficients,
 * quantities to field symbols by the adjoint program, symbols to parameters by the fields. Fields
 * with blocks (clsi_field_blocks) go on from where the evaluation stopped, and those of which only
 * the value occurs (frictions) are never differentiated in their inputs: for V-NOTS 6 matrix units
 * a point for G and 3 for a friction, where evaluate and reverse would be 8 and 8.
 *
 * Shards are added in their own order, each when it is done and those before it are added: the same
 * bits for any number of threads. Memory is kept from call to call in the residual, so that one
 * caller at a time may use it. */
#include "base/base.h"
#include "expr/program.h"
#include "learn/residual/batch.h"
#include <stdlib.h>
#include <string.h>

/* Of large networks (weights, their transpose and sums: beyond a MB) fewer points go together, or
 * what they keep would not stay in the second-level cache. */
enum { POINTS = CLSI_BATCH_POINTS, FEW_POINTS = 96, LARGE = 40000 };

const clsi_field_blocks *clsi_batch_blocks(const clsi_learned *l) {
    return l->field->kind->blocks;
}

static const cls_program *program_of(const clsi_residual *r, clsi_batch_program which) {
    const cls_program *all[CLSI_BATCH_PROGRAMS] = {[CLSI_BATCH_VALUES] = r->values,
                                                   [CLSI_BATCH_SLOPES] = r->slopes,
                                                   [CLSI_BATCH_ADJOINT] = r->adjoint};
    return all[which];
}

static size_t work_size(const clsi_residual *r, clsi_batch_program which) {
    const cls_program *p = program_of(r, which);
    return p ? clsi_many_size(p, POINTS) : 0;
}

static void prepare_programs(const clsi_residual *r, clsi_batch *b, double *memory) {
    for (clsi_batch_program i = 0; i < CLSI_BATCH_PROGRAMS; memory += work_size(r, i), i++) {
        b->work[i] = memory;
        if (program_of(r, i)) clsi_many_prepare(program_of(r, i), POINTS, memory);
    }
}

void clsi_batch_run(clsi_batch *b, clsi_batch_program which, size_t n, const double *in,
                    double *out) {
    clsi_many_run(program_of(b->r, which), POINTS, b->work[which], n, POINTS, in, out);
}

static int allocate(const clsi_residual *r, clsi_batch *b) {
    const clsi_unknowns *us = r->unknowns;
    size_t K = us->n_symbols, Q = r->n_quantities, d = CLSI_FIELD_MAX_INPUTS;
    size_t more = r->heat ? r->m : 0;
    size_t inputs = (clsi_point_rows(r->points) + 1 + K + more + Q) * POINTS;
    size_t slopes = r->slope_start[Q], outputs = (Q + (slopes > K ? slopes : K)) * POINTS;
    size_t scratch = 0, passes = 0, programs = 0;
    size_t weights = 2 * POINTS * r->points->width;
    b->most = us->n_theta > LARGE ? FEW_POINTS : POINTS;
    for (size_t k = 0; k < us->n; k++) {
        const clsi_field *f = us->list[k].learned.field;
        size_t need = f->kind->scratch(f, POINTS);
        if (need > scratch) scratch = need;
        const clsi_field_blocks *blocks = clsi_batch_blocks(&us->list[k].learned);
        if (blocks) passes += blocks->size(f);
        if (blocks && blocks->samples < b->most) b->most = blocks->samples;
    }
    for (clsi_batch_program i = 0; i < CLSI_BATCH_PROGRAMS; i++) programs += work_size(r, i);
    b->pass = clsi_calloc(us->n, sizeof *b->pass);
    size_t row = r->points->width * (1 + 2 * d);
    size_t own = inputs + outputs + POINTS * (1 + 2 * d) + weights + row;
    b->block = clsi_calloc(own + scratch + 2 * us->n_theta + programs + passes, sizeof(double));
    if (!b->block || !b->pass) return 0;
    b->in = b->block;
    b->out = b->in + inputs;
    b->value = b->out + outputs;
    b->slope = b->value + POINTS;
    b->x = b->slope + POINTS * d;
    b->weights = b->x + POINTS * d;
    b->row_room = b->weights + weights;
    b->scratch = b->row_room + row;
    b->part = b->scratch + scratch;
    prepare_programs(r, b, b->part + 2 * us->n_theta);
    double *pass = b->part + 2 * us->n_theta + programs;
    for (size_t k = 0; k < us->n; k++) {
        const clsi_field *f = us->list[k].learned.field;
        if (!clsi_batch_blocks(&us->list[k].learned)) continue;
        b->pass[k] = pass;
        pass += f->kind->blocks->size(f);
    }
    return 1;
}

void clsi_batch_close(void *batch) {
    clsi_batch *b = batch;
    free(b->block);
    free(b->pass);
    free(b);
}

void *clsi_batch_open(const clsi_residual *r) {
    clsi_batch *b = clsi_calloc(1, sizeof *b);
    if (!b || allocate(r, b)) return b;
    clsi_batch_close(b);
    return NULL;
}

void clsi_batch_begin(void *batch, const clsi_residual *r, const double *theta) {
    clsi_batch *b = batch;
    b->r = r;
    b->theta = theta;
    for (size_t k = 0; k < r->unknowns->n && theta; k++) {
        const clsi_learned *l = &r->unknowns->list[k].learned;
        if (b->pass[k]) l->field->kind->blocks->open(l->field, theta + l->offset, b->pass[k]);
    }
}

/* ---- a batch of windows, evaluated ---- */

/* Neighbouring windows share points: the last few are looked at. */
size_t clsi_batch_slot(clsi_batch *b, size_t point) {
    size_t last = b->r->points->width;
    for (size_t i = b->n_points > last ? b->n_points - last : 0; i < b->n_points; i++)
        if (b->point[i] == point) return i;
    b->point[b->n_points] = point;
    return b->n_points++;
}

static void weigh_window(clsi_batch *b, size_t w) {
    const clsi_points *p = b->r->points;
    size_t n = p->width;
    double *momenta = clsi_batch_weights(b, w, 0), *rest = clsi_batch_weights(b, w, 1),
           t[CLSI_MOST_WIDTH];
    for (size_t k = 0; k < n; k++) t[k] = p->time[b->point[b->slot[w][k]]];
    if (p->rule.between) {
        size_t at[CLSI_MOST_WIDTH];
        for (size_t k = 0; k < n; k++) at[k] = b->point[b->slot[w][k]];
        clsi_node_weights(p, at, momenta);
        memcpy(rest, momenta, n * sizeof *rest);
    } else if (p->rule.composite) {
        clsi_window_weights(n, p->panel, t, momenta);
        for (size_t k = 0; k < n; k++) rest[k] = momenta[k];
    } else { /* three points */
        double h = t[2] - t[0];
        int split = p->rule.split;
        momenta[0] = rest[2] = 0;
        momenta[1] = rest[1] = split ? 0 : h;
        momenta[2] = rest[0] = split ? h : 0;
    }
}

int clsi_batch_add(clsi_batch *b, size_t w) {
    const clsi_points *p = b->r->points;
    int middle = !p->rule.split; /* which has no use for it */
    size_t at[CLSI_MOST_WIDTH], width = p->width, *slot = b->slot[b->n];
    if (b->n == b->most || b->n_points + width - !middle > b->most) return 0;
    clsi_window_points(p, w, at);
    for (size_t k = 0; k < width; k++)
        slot[k] = k == 1 && !middle ? slot[0] : clsi_batch_slot(b, at[k]);
    weigh_window(b, b->n);
    b->window[b->n++] = w;
    return 1;
}

/* Are the points those that follow each other in the data? */
static int in_a_row(const clsi_batch *b) {
    for (size_t i = 1; i < b->n_points; i++)
        if (b->point[i] != b->point[0] + i) return 0;
    return 1;
}

const double *clsi_batch_inputs(const clsi_batch *b, const clsi_unknown *u) {
    size_t d = u->learned.d;
    if (b->row) return u->x + b->point[0] * d;
    for (size_t i = 0; i < b->n_points; i++)
        for (size_t j = 0; j < d; j++) b->x[i * d + j] = u->x[b->point[i] * d + j];
    return b->x;
}

/* Rows of slopes of a field that has none stay as they were allocated: zero. */
static void fill_field(clsi_batch *b, size_t k) {
    const clsi_unknown *u = &b->r->unknowns->list[k];
    const clsi_learned *l = &u->learned;
    double *row = b->in + (clsi_point_rows(b->r->points) + 1 + u->symbol) * POINTS;
    double *slope = b->r->sloped[k] ? b->slope : NULL;
    if (!b->theta) {
        memset(row, 0, (1 + l->d) * POINTS * sizeof *row);
        return;
    }
    const double *x = clsi_batch_inputs(b, u);
    if (b->pass[k])
        clsi_batch_blocks(l)->evaluate(b->pass[k], b->n_points, x,
                                       slope && !b->r->valued[k] ? NULL : row, slope);
    else
        l->field->kind->evaluate(l->field, b->theta + l->offset, b->n_points, x, row, slope,
                                 b->scratch);
    for (size_t i = 0; slope && i < b->n_points; i++)
        for (size_t j = 0; j < l->d; j++) row[(j + 1) * POINTS + i] = slope[i * l->d + j];
}

/* A row of the data at the points. */
static void take_row(const clsi_batch *b, const double *from, double *row) {
    if (b->row)
        memcpy(row, from + b->point[0], b->n_points * sizeof *row);
    else
        for (size_t i = 0; i < b->n_points; i++) row[i] = from[b->point[i]];
}

/* States, time and field symbols of the points. */
static void fill(clsi_batch *b) {
    const clsi_points *p = b->r->points;
    b->row = in_a_row(b);
    size_t rows = clsi_point_rows(p);
    for (size_t k = 0; k < rows; k++) take_row(b, p->z + k * p->n, b->in + k * POINTS);
    take_row(b, p->time, b->in + rows * POINTS);
    double *heat = b->in + (rows + 1 + b->r->unknowns->n_symbols) * POINTS;
    for (size_t i = 0; b->r->heat && i < b->r->m; i++)
        take_row(b, b->r->heat + i * p->n, heat + i * POINTS);
    for (size_t k = 0; k < b->r->unknowns->n; k++) fill_field(b, k);
}

void clsi_batch_evaluate(clsi_batch *b, int with_slopes) {
    fill(b);
    clsi_batch_run(b, with_slopes ? CLSI_BATCH_SLOPES : CLSI_BATCH_VALUES, b->n_points, b->in,
                   b->out);
}
