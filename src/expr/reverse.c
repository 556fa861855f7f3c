/* The slopes of one number in all parameters, for lanes: a reverse walk of the graph up to the field
 * nodes that are being learned, and the kernels of these for the rest.
 *
 * Outputs are the slopes in parameters that stand in formulas, then those in the field nodes, then
 * these themselves, so that the passes which bring them have run. What is left is linear: each pair
 * of points takes the slopes in its components (and adds to its points), then each point takes those
 * in its value, gradient and curvatures. */
#include "base/base.h"
#include "expr/graph.h"
#include "expr/program.h"
#include <stdlib.h>
#include <string.h>

enum { NONE = UINT32_MAX };

/* A point of a field, or a pair of points. */
typedef struct place {
    uint32_t field, x;                    /* x: of field_inputs */
    size_t own, u, w;                     /* states; of points u = own */
    uint32_t of_u, of_w;                  /* of a pair: the places of its points */
    uint32_t value;                       /* outputs, or NONE */
    uint32_t component[CLSI_NODE_INPUTS]; /* of the gradient or of the discrete gradient */
    int sloped;                           /* there are such */
    size_t bent; /* 1 + where its curvatures (d, d) begin in `curvature`, or 0 */
    size_t by;   /* where what pairs add to a point stands */
} place;

typedef struct clsi_reverse clsi_reverse;
struct clsi_reverse {
    size_t n_slopes;
    uint32_t *slope; /* (n_slopes) which parameter each is of */
    size_t n_pairs, n_points, room, size;
    place *pairs, *points;
    size_t n_curvatures, curvatures_room;
    uint32_t *curvature; /* outputs, or NONE */
};

void clsi_reverse_free(clsi_reverse **reverse) {
    clsi_reverse *r = *reverse;
    if (!r) return;
    free(r->slope);
    free(r->pairs);
    free(r->points);
    free(r->curvature);
    free(r);
    *reverse = NULL;
}

const uint32_t *clsi_reverse_slopes(const cls_program *p, size_t *n) {
    *n = p->reverse->n_slopes;
    return p->reverse->slope;
}

size_t clsi_reverse_size(const cls_program *p) {
    return p->reverse ? p->reverse->size : 0;
}

/* ---- compiled ---- */

static place *find(place *list, size_t *n, uint32_t field, size_t own) {
    for (size_t k = 0; k < *n; k++)
        if (list[k].field == field && list[k].own == own) return &list[k];
    place *a = &list[(*n)++];
    *a = (place){.field = field, .own = own, .value = NONE};
    for (size_t i = 0; i < CLSI_NODE_INPUTS; i++) a->component[i] = NONE;
    return a;
}

static const clsi_field_call *call_of(const cls_program *p, uint32_t field, clsi_field_pass pass,
                                      size_t own) {
    const clsi_field_call *c = p->calls;
    while (c->field != field || c->pass != pass || c->own != own) c++;
    return c;
}

static uint32_t point_at(const cls_program *p, clsi_reverse *r, uint32_t field, size_t own) {
    place *a = find(r->points, &r->n_points, field, own);
    a->x = call_of(p, field, CLSI_PASS_VALUE, own)->x;
    return (uint32_t)(a - r->points);
}

static int add_curvature(clsi_reverse *r, place *point, const clsi_field_view *v, uint32_t at) {
    size_t d = v->field->d, n = r->n_curvatures;
    if (!point->bent) {
        if (!clsi_grow(&r->curvature, &r->curvatures_room, n + d * d, sizeof *r->curvature))
            return 0;
        for (size_t k = 0; k < d * d; k++) r->curvature[n + k] = NONE;
        point->bent = 1 + n;
        r->n_curvatures += d * d;
    }
    r->curvature[point->bent - 1 + v->index[0] * d + v->index[1]] = at;
    return 1;
}

/* The node that output `at` is the slope in; 0: no memory. */
static int add_node(const cls_graph *g, const cls_program *p, clsi_reverse *r, cls_node node,
                    uint32_t at, uint32_t reg) {
    clsi_field_view v = clsi_view_field(g, node);
    const clsi_field_take *take = p->code[reg - p->n_constants - p->n_inputs].take;
    size_t own = take->at - clsi_field_offset(&v);
    if (v.pass == CLSI_PASS_PAIR) {
        place *pair = find(r->pairs, &r->n_pairs, v.which, own);
        const clsi_field_call *c = call_of(p, v.which, CLSI_PASS_PAIR, own);
        pair->u = c->u, pair->w = c->w;
        pair->of_u = point_at(p, r, v.which, c->u);
        pair->of_w = point_at(p, r, v.which, c->w);
        pair->component[v.index[0]] = at;
        return 1;
    }
    place *point = &r->points[point_at(p, r, v.which, own)];
    if (v.pass == CLSI_PASS_VALUE) point->value = at;
    if (v.pass == CLSI_PASS_GRADIENT) point->component[v.index[0]] = at, point->sloped = 1;
    return v.pass != CLSI_PASS_CURVATURE || add_curvature(r, point, &v, at);
}

static void lay_out(const cls_program *p, clsi_reverse *r) {
    for (size_t k = 0; k < r->n_points; k++) {
        const clsi_graph_field *f = p->fields[r->points[k].field];
        size_t room = f->kind->room(f);
        r->points[k].by = r->size;
        r->size += f->kind->between(f);
        if (room > r->room) r->room = room;
    }
    r->size += r->room;
}

static int has_kernel(const cls_graph *g, cls_node node) {
    clsi_field_pass pass = clsi_view_field(g, node).pass;
    return pass == CLSI_PASS_VALUE || pass == CLSI_PASS_GRADIENT || pass == CLSI_PASS_CURVATURE ||
           pass == CLSI_PASS_PAIR;
}

static cls_status compile(cls_graph *g, clsi_parameters parameters, size_t n_inputs,
                          const cls_node *inputs, const clsi_field_slopes_list *fields,
                          cls_node *outputs, clsi_reverse *r, cls_program **out, cls_error *error) {
    size_t n = 0, m = fields->n;
    for (size_t k = 0; k < parameters.n; k++) {
        if (cls_is_constant(g, outputs[k], 0)) continue;
        outputs[n] = outputs[k];
        r->slope[n++] = (uint32_t)k;
    }
    r->n_slopes = n;
    for (size_t k = 0; k < m; k++) outputs[n + k] = fields->slope[k];
    for (size_t k = 0; k < m; k++) outputs[n + m + k] = fields->node[k];
    cls_status status = clsi_program_create_open(g, parameters, n_inputs, n_inputs, inputs,
                                                 n + 2 * m, n + 2 * m, outputs, out, error);
    for (size_t k = 0; k < m && status == CLS_OK; k++)
        if (!add_node(g, *out, r, fields->node[k], (uint32_t)(n + k), (*out)->outputs[n + m + k]))
            status = clsi_no_memory(error);
    if (status == CLS_OK) lay_out(*out, r);
    return status;
}

cls_status clsi_program_create_reverse(cls_graph *g, clsi_parameters parameters, size_t n_inputs,
                                       const cls_node *inputs, const cls_node *theta, cls_node a,
                                       cls_program **out, cls_error *error) {
    clsi_field_slopes_list fields = {0};
    clsi_reverse *r = clsi_calloc(1, sizeof *r);
    size_t P = parameters.n;
    *out = NULL;
    cls_node *slopes = clsi_calloc(P + 1, sizeof *slopes), *outputs = NULL;
    cls_status status = r && slopes ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) status = clsi_learned_slopes(g, a, P, theta, slopes, &fields);
    if (status != CLS_OK) (void)cls_graph_status(g, error);
    for (size_t k = 0; k < fields.n && status == CLS_OK; k++)
        if (!has_kernel(g, fields.node[k]))
            status = clsi_fail(error, CLS_USAGE,
                               "third derivatives of a field that is being learned have no kernel "
                               "for their slopes in its parameters: take formulas");
    if (status == CLS_OK) {
        outputs = clsi_calloc(P + 2 * fields.n + 1, sizeof *outputs);
        r->slope = clsi_calloc(P, sizeof *r->slope);
        r->pairs = clsi_calloc(fields.n, sizeof *r->pairs);
        r->points = clsi_calloc(3 * fields.n, sizeof *r->points);
        if (!outputs || !r->slope || !r->pairs || !r->points) status = clsi_no_memory(error);
    }
    if (status == CLS_OK) memcpy(outputs, slopes, P * sizeof *outputs);
    if (status == CLS_OK)
        status = compile(g, parameters, n_inputs, inputs, &fields, outputs, r, out, error);
    free(slopes);
    free(outputs);
    free(fields.node);
    if (status == CLS_OK)
        (*out)->reverse = r;
    else
        clsi_reverse_free(&r);
    return status;
}

/* ---- run ---- */

static double output(const cls_program *p, double *work, uint32_t k, size_t lane) {
    return k == NONE ? 0 : clsi_lanes_output(p, work, k)[lane];
}

static const double *components(const cls_program *p, double *work, const place *a, size_t lane,
                                double *b) {
    for (size_t i = 0; i < p->fields[a->field]->d; i++)
        b[i] = output(p, work, a->component[i], lane);
    return b;
}

void clsi_lane_back(const cls_program *p, double *work, size_t lane, double *sums) {
    const clsi_reverse *r = p->reverse;
    const double *weights = clsi_lane_weights(p, work);
    double *by = (double *)weights + p->n_weights, *state = clsi_lane_state(p, work, lane);
    double b[CLSI_NODE_INPUTS], x[CLSI_NODE_INPUTS], c[CLSI_NODE_INPUTS * CLSI_NODE_INPUTS];
    if (!r->n_points) return;
    memset(by, 0, (r->size - r->room) * sizeof *by);
    for (size_t k = 0; k < r->n_pairs; k++) {
        const place *a = &r->pairs[k];
        const clsi_graph_field *f = p->fields[a->field];
        clsi_field_seeds seeds = {.own = state + a->own,
                                  .u = state + a->u,
                                  .w = state + a->w,
                                  .b = components(p, work, a, lane, b),
                                  .by_u = by + r->points[a->of_u].by,
                                  .by_w = by + r->points[a->of_w].by,
                                  .room = by + r->size - r->room};
        f->kind->back(f, weights + p->weights[a->field], &seeds, sums + f->first);
    }
    for (size_t k = 0; k < r->n_points; k++) {
        const place *a = &r->points[k];
        const clsi_graph_field *f = p->fields[a->field];
        for (size_t i = 0; i < f->d; i++)
            x[i] = work[(size_t)p->field_inputs[a->x + i] * CLSI_LANES + lane];
        for (size_t i = 0; a->bent && i < f->d * f->d; i++)
            c[i] = output(p, work, r->curvature[a->bent - 1 + i], lane);
        clsi_field_seeds seeds = {.x = x,
                                  .own = state + a->own,
                                  .a = output(p, work, a->value, lane),
                                  .b = a->sloped ? components(p, work, a, lane, b) : NULL,
                                  .c = a->bent ? c : NULL,
                                  .by_u = by + a->by,
                                  .room = by + r->size - r->room};
        f->kind->back(f, weights + p->weights[a->field], &seeds, sums + f->first);
    }
}
