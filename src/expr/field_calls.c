/* Field nodes in programs: which passes of which kernels run, where, and when.
 *
 * Every field node is an instruction that takes one number out of the state of its point (or pair
 * of points). The passes that bring it there are run by the first instruction that needs them, so
 * that nodes which share a point share its passes, and a pass that only the last stage needs is not
 * run before. A point whose inputs are all early is passed through at the end of the early stage,
 * although nobody asks before: a discrete gradient has one end that stays during all of Newton's
 * iterations. Where another program has been at that point before (the monitor, at the end of the step
 * before) its state is copied. States stand behind the registers, each on a cache line. Nothing is
 * allocated. */
#include "expr/graph.h"
#include "expr/program.h"
#include <stdlib.h>
#include <string.h>

/* A point of a field, or a pair of points. */
typedef struct place {
    uint32_t which, u, w; /* w CLS_NO_NODE: a point */
    unsigned passes;      /* that somebody needs */
    unsigned done;
    size_t state; /* where it is, in doubles */
} place;

typedef struct planner {
    const cls_graph *g;
    const uint32_t *reg;
    cls_program *p;
    place *places;
    size_t n_places, places_room, calls_room, inputs_room;
    int stage, failed;
} planner;

/* ---- what is needed ---- */

static size_t find(planner *s, uint32_t which, uint32_t u, uint32_t w) {
    for (size_t k = 0; k < s->n_places; k++) {
        const place *a = &s->places[k];
        if (a->which == which && a->u == u && a->w == w) return k;
    }
    if (!clsi_grow(&s->places, &s->places_room, s->n_places + 1, sizeof *s->places)) {
        s->failed = 1;
        return 0;
    }
    s->places[s->n_places] = (place){.which = which, .u = u, .w = w};
    return s->n_places++;
}

/* Which passes come before. */
static unsigned before(clsi_field_pass pass) {
    enum {
        VALUE = 1u << CLSI_PASS_VALUE,
        GRADIENT = 1u << CLSI_PASS_GRADIENT,
        TANGENT = 1u << CLSI_PASS_TANGENT,
        CURVATURE = 1u << CLSI_PASS_CURVATURE,
        PAIR = 1u << CLSI_PASS_PAIR
    };
    switch (pass) {
    case CLSI_PASS_GRADIENT:
    case CLSI_PASS_TANGENT: return VALUE;
    case CLSI_PASS_CURVATURE: return VALUE | GRADIENT | TANGENT;
    case CLSI_PASS_THIRD: return VALUE | GRADIENT | TANGENT | CURVATURE;
    case CLSI_PASS_PAIR_U:
    case CLSI_PASS_PAIR_W: return PAIR;
    default: return 0;
    }
}

/* What a pass of a pair needs of its points. */
static clsi_field_pass end_pass(clsi_field_pass pass, int is_u) {
    int moves = pass == (is_u ? CLSI_PASS_PAIR_U : CLSI_PASS_PAIR_W);
    return moves ? CLSI_PASS_TANGENT : CLSI_PASS_VALUE;
}

static void need(planner *s, uint32_t which, uint32_t u, uint32_t w, clsi_field_pass pass) {
    size_t k = find(s, which, u, w);
    if (s->failed) return;
    s->places[k].passes |= 1u << pass | before(pass);
    if (w == CLS_NO_NODE) return;
    need(s, which, u, CLS_NO_NODE, end_pass(pass, 1));
    need(s, which, w, CLS_NO_NODE, end_pass(pass, 0));
}

static void lay_out(planner *s) {
    size_t line = 64 / sizeof(double), at = 0;
    for (size_t k = 0; k < s->n_places; k++) {
        place *a = &s->places[k];
        const clsi_graph_field *f = s->g->fields[a->which];
        int last = CLSI_PASSES - 1;
        while (!(a->passes >> last)) last--;
        a->state = at;
        at += (f->kind->size(f, (clsi_field_pass)last) + line - 1) / line * line;
    }
    s->p->n_state = at + line;
}

/* ---- calls ---- */

static void call(planner *s, size_t k, clsi_field_pass pass);

static void call_before(planner *s, size_t k, clsi_field_pass pass) {
    for (int one = 0; one < CLSI_PASSES; one++)
        if (before(pass) >> one & 1) call(s, k, (clsi_field_pass)one);
    uint32_t which = s->places[k].which, u = s->places[k].u, w = s->places[k].w;
    if (w == CLS_NO_NODE) return;
    call(s, find(s, which, u, CLS_NO_NODE), end_pass(pass, 1));
    call(s, find(s, which, w, CLS_NO_NODE), end_pass(pass, 0));
}

static uint32_t inputs_of(planner *s, const place *a, size_t d) {
    cls_program *p = s->p;
    if (!clsi_grow(&p->field_inputs, &s->inputs_room, p->n_field_inputs + d,
                   sizeof *p->field_inputs)) {
        s->failed = 1;
        return 0;
    }
    uint32_t first = (uint32_t)p->n_field_inputs;
    for (size_t i = 0; i < d; i++)
        p->field_inputs[first + i] = s->reg[clsi_point_node(s->g, a->u, i)];
    p->n_field_inputs += d;
    return first;
}

static void call(planner *s, size_t k, clsi_field_pass pass) {
    cls_program *p = s->p;
    if (s->failed || s->places[k].done >> pass & 1) return;
    call_before(s, k, pass);
    place *a = &s->places[k];
    if (!clsi_grow(&p->calls, &s->calls_room, p->n_calls + 1, sizeof *p->calls)) s->failed = 1;
    if (s->failed) return;
    const clsi_graph_field *f = p->fields[a->which];
    clsi_field_call c = {.field = a->which, .pass = (uint8_t)pass, .own = a->state};
    if (pass == CLSI_PASS_VALUE) c.x = inputs_of(s, a, f->d);
    if (a->w != CLS_NO_NODE) {
        c.u = s->places[find(s, a->which, a->u, CLS_NO_NODE)].state;
        c.w = s->places[find(s, a->which, a->w, CLS_NO_NODE)].state;
    }
    p->calls[p->n_calls++] = c;
    p->field_cost[s->stage] += f->kind->cost(f, pass);
    a->done |= 1u << pass;
}

static int is_early(const planner *s, const place *a, const unsigned char *stage) {
    for (size_t i = 0; i < s->g->points[a->u].n; i++)
        if (stage[clsi_point_node(s->g, a->u, i)] != CLSI_STAGE_EARLY) return 0;
    return 1;
}

/* All that points need whose inputs are early. */
static void call_early(planner *s, const unsigned char *stage) {
    s->p->early_calls = s->p->n_calls;
    for (size_t k = 0; k < s->n_places; k++) {
        place *a = &s->places[k];
        if (a->w != CLS_NO_NODE || !is_early(s, a, stage)) continue;
        for (int pass = 0; pass < CLSI_PASSES; pass++)
            if (a->passes >> pass & 1) call(s, k, (clsi_field_pass)pass);
    }
    s->p->n_early_calls = s->p->n_calls - s->p->early_calls;
}

static void take(planner *s, size_t k) {
    cls_program *p = s->p;
    clsi_field_view v = clsi_view_field(s->g, (cls_node)k);
    size_t at = find(s, v.which, v.u, v.w), first = p->n_calls;
    call(s, at, v.pass);
    if (s->failed) return;
    size_t k_code = s->reg[k] - p->n_constants - p->n_inputs;
    p->takes[p->n_takes] = (clsi_field_take){p, (uint32_t)first, (uint32_t)(p->n_calls - first),
                                             s->places[at].state + clsi_field_offset(&v)};
    p->code[k_code].take = &p->takes[p->n_takes++];
}

/* ---- the whole ---- */

static int keep_fields(const cls_graph *g, cls_program *p) {
    p->fields = clsi_calloc(g->n_fields, sizeof(clsi_graph_field *));
    p->weights = clsi_calloc(g->n_fields, sizeof *p->weights);
    if (!p->fields || !p->weights) return 0;
    p->n_fields = g->n_fields;
    for (size_t k = 0; k < g->n_fields; k++) {
        p->fields[k] = g->fields[k];
        clsi_graph_field_keep(p->fields[k]);
    }
    return 1;
}

/* Room for the weights of the fields that are called and learned. */
static void place_weights(cls_program *p) {
    size_t line = 64 / sizeof(double);
    for (size_t k = 0; k < p->n_fields; k++) {
        const clsi_graph_field *f = p->fields[k];
        int used = 0;
        for (size_t i = 0; i < p->n_calls && !used; i++) used = p->calls[i].field == k;
        p->weights[k] = p->n_weights;
        if (used && f->block != CLS_NO_NODE)
            p->n_weights += (f->kind->packed(f) + line - 1) / line * line;
    }
}

cls_status clsi_program_plan_fields(const cls_graph *g, const unsigned char *reach,
                                    const unsigned char *stage, const uint32_t *reg, cls_program *p,
                                    cls_error *error) {
    planner s = {.g = g, .reg = reg, .p = p};
    size_t n = 0;
    for (size_t k = 0; g->n_fields && k < g->n; k++)
        n += reach[k] && g->nodes[k].op == CLS_OP_FIELD;
    if (!n) return CLS_OK;
    p->takes = clsi_calloc(n, sizeof *p->takes);
    s.failed = !p->takes || !keep_fields(g, p);
    for (size_t k = 0; k < g->n && !s.failed; k++) {
        if (!reach[k] || g->nodes[k].op != CLS_OP_FIELD) continue;
        clsi_field_view v = clsi_view_field(g, (cls_node)k);
        need(&s, v.which, v.u, v.w, v.pass);
    }
    if (!s.failed) lay_out(&s);
    for (s.stage = 0; s.stage < CLSI_STAGES && !s.failed; s.stage++) {
        for (size_t k = 0; k < g->n && !s.failed; k++)
            if (reach[k] && stage[k] == s.stage && g->nodes[k].op == CLS_OP_FIELD) take(&s, k);
        if (s.stage == CLSI_STAGE_EARLY && !s.failed) call_early(&s, stage);
    }
    free(s.places);
    if (!s.failed) place_weights(p);
    if (!s.failed && p->n_weights && !p->n_parameters)
        return clsi_fail(error, CLS_USAGE,
                         "a program with fields that are being learned needs their parameters");
    return s.failed ? clsi_no_memory(error) : CLS_OK;
}

static const double *weights_of(const cls_program *p, size_t field, const double *weights) {
    return p->fields[field]->block == CLS_NO_NODE ? NULL : weights + p->weights[field];
}

static void run_calls(const cls_program *p, size_t first, size_t n, const double *work,
                      double *state) {
    double x[CLSI_NODE_INPUTS];
    for (const clsi_field_call *c = p->calls + first, *end = c + n; c < end; c++) {
        const clsi_graph_field *f = p->fields[c->field];
        if (c->known && state[p->n_state - 1] != 0) continue;
        if (c->pass == CLSI_PASS_VALUE)
            for (size_t i = 0; i < f->d; i++) x[i] = work[p->field_inputs[c->x + i]];
        f->kind->run(f, weights_of(p, c->field, state + p->n_state), (clsi_field_pass)c->pass, x,
                     state + c->own, state + c->u, state + c->w);
    }
}

static double *state_of(const cls_program *p, double *work) {
    return clsi_on_cache_line(work + p->n_constants + p->n_inputs + p->n_instructions);
}

double clsi_run_take(const clsi_field_take *take, double *work) {
    double *state = state_of(take->p, work);
    if (take->n) run_calls(take->p, take->first, take->n, work, state);
    return state[take->at];
}

void clsi_run_early_calls(const cls_program *p, double *work) {
    if (p->n_early_calls) run_calls(p, p->early_calls, p->n_early_calls, work, state_of(p, work));
}

/* ---- states of another program ---- */

/* The call of other that is at the point of c, the first call of an early point of p; NULL: none. */
static const clsi_field_call *same_point(const cls_program *p, const cls_program *other,
                                         const clsi_field_call *c, const uint32_t *inputs,
                                         const uint32_t *same) {
    const clsi_graph_field *f = p->fields[c->field];
    uint32_t x[CLSI_NODE_INPUTS];
    for (size_t i = 0; i < f->d; i++) {
        uint32_t r = p->field_inputs[c->x + i];
        int late = r >= p->n_constants + p->n_inputs + p->end[CLSI_STAGE_EARLY];
        x[i] = late ? CLSI_NOT_SHARED : clsi_program_counterpart(other, p, r, inputs, same);
        if (x[i] == CLSI_NOT_SHARED) return NULL;
    }
    for (const clsi_field_call *o = other->calls, *end = o + other->n_calls; o < end; o++)
        if (o->pass == CLSI_PASS_VALUE && other->fields[o->field] == f &&
            memcmp(x, other->field_inputs + o->x, f->d * sizeof *x) == 0)
            return o;
    return NULL;
}

static int has_call(const cls_program *p, size_t own, int pass) {
    for (size_t k = 0; k < p->n_calls; k++)
        if (p->calls[k].own == own && p->calls[k].pass == pass) return 1;
    return 0;
}

/* What both programs do at the point, which is what the state begins with. */
static void share_point(cls_program *p, const cls_program *other, const clsi_field_call *c,
                        const clsi_field_call *o) {
    const clsi_graph_field *f = p->fields[c->field];
    int last = CLSI_PASS_VALUE;
    for (int pass = 0; pass <= CLSI_PASS_THIRD; pass++) {
        if (!has_call(p, c->own, pass) || !has_call(other, o->own, pass)) continue;
        for (size_t k = 0; k < p->n_calls; k++)
            if (p->calls[k].own == c->own && p->calls[k].pass == pass) p->calls[k].known = 1;
        last = pass;
    }
    p->copies[p->n_copies++] =
        (clsi_field_copy){c->own, o->own, f->kind->size(f, (clsi_field_pass)last)};
}

void clsi_program_link_fields(cls_program *p, const cls_program *other, const uint32_t *inputs) {
    enum { MOST = 3000 }; /* instructions that are compared with as many */
    size_t n = p->end[CLSI_STAGE_EARLY];
    if (!p->n_calls || !other->n_calls || p->n_weights || p->copies || n > MOST ||
        other->n_instructions > MOST)
        return;
    uint32_t *same = clsi_calloc(n + 1, sizeof *same);
    p->copies = clsi_calloc(p->n_calls, sizeof *p->copies);
    if (same && p->copies) clsi_program_match(other, p, n, inputs, same);
    for (size_t k = 0; k < p->n_calls && same && p->copies; k++) {
        const clsi_field_call *c = &p->calls[k];
        if (c->pass != CLSI_PASS_VALUE) continue;
        const clsi_field_call *o = same_point(p, other, c, inputs, same);
        if (o) share_point(p, other, c, o);
    }
    free(same);
}

void clsi_copy_states(const cls_program *p, double *work, const cls_program *other,
                      const double *of) {
    if (!p->n_copies) return;
    double *state = state_of(p, work);
    const double *from = other ? state_of(other, (double *)of) : NULL;
    state[p->n_state - 1] = other != NULL;
    for (size_t k = 0; k < p->n_copies && from; k++) {
        const clsi_field_copy *c = &p->copies[k];
        memcpy(state + c->own, from + c->other, c->n * sizeof *state);
    }
}

static void pack(const cls_program *p, const double *parameters, double *weights) {
    for (size_t k = 0; k < p->n_fields && p->n_weights; k++) {
        const clsi_graph_field *f = p->fields[k];
        size_t end = k + 1 < p->n_fields ? p->weights[k + 1] : p->n_weights;
        if (end > p->weights[k]) f->kind->pack(f, parameters + f->first, weights + p->weights[k]);
    }
}

void clsi_set_weights(const cls_program *p, double *work, const double *parameters) {
    pack(p, parameters, state_of(p, work) + p->n_state);
}

/* ---- lanes: a state for each, behind the rows; then the weights ---- */

double *clsi_lane_state(const cls_program *p, double *work, size_t lane) {
    size_t rows = p->n_constants + p->n_inputs + p->n_instructions;
    return work + rows * CLSI_LANES + lane * p->n_state;
}

const double *clsi_lane_weights(const cls_program *p, double *work) {
    return clsi_lane_state(p, work, CLSI_LANES);
}

static __attribute__((noinline)) void lanes_calls(const cls_program *p, size_t first,
                                                  size_t n_calls, size_t n, double *work) {
    double x[CLSI_LANES * CLSI_NODE_INPUTS], *state = clsi_lane_state(p, work, 0);
    for (const clsi_field_call *c = p->calls + first, *end = c + n_calls; c < end; c++) {
        const clsi_graph_field *f = p->fields[c->field];
        for (size_t i = 0; c->pass == CLSI_PASS_VALUE && i < f->d; i++) {
            const double *row = work + (size_t)p->field_inputs[c->x + i] * CLSI_LANES;
            for (size_t s = 0; s < n; s++) x[s * CLSI_NODE_INPUTS + i] = row[s];
        }
        f->kind->run_many(f, weights_of(p, c->field, clsi_lane_weights(p, work)),
                          (clsi_field_pass)c->pass, n, x, state + c->own, p->n_state, c->u - c->own,
                          c->w - c->own);
    }
}

/* Most programs have none: these need no room on the stack. */
void clsi_lanes_calls(const cls_program *p, size_t first, size_t n_calls, size_t n, double *work) {
    if (n_calls) lanes_calls(p, first, n_calls, n, work);
}

void clsi_lanes_take(const clsi_field_take *take, size_t n, double *work, double *r) {
    clsi_lanes_calls(take->p, take->first, take->n, n, work);
    for (size_t s = 0; s < CLSI_LANES; s++)
        r[s] = clsi_lane_state(take->p, work, s < n ? s : 0)[take->at];
}

void clsi_lanes_weights(const cls_program *p, double *work, const double *parameters) {
    pack(p, parameters, clsi_lane_state(p, work, CLSI_LANES));
}

void clsi_program_drop_fields(cls_program *p) {
    for (size_t k = 0; k < p->n_fields; k++) clsi_graph_field_release(&p->fields[k]);
    free(p->fields);
    free(p->weights);
    free(p->calls);
    free(p->takes);
    free(p->field_inputs);
    free(p->copies);
}
