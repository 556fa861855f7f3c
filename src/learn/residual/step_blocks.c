/* Rows of a step whose unknown parts stand at points that the data give, evaluated in blocks.
 *
 * Where a step between two rows leaves nothing to be solved for and has no discrete gradient of a
 * network, every field node is a value or a slope at a point that is a formula of (z0, z1, t, h):
 *
 *     x = x(z0, z1, t, h),   phi = field(x; theta),   r = r(z0, z1, t, h, phi)
 *
 * Three programs without theta, over many windows at once, and between them the kernels of the fields
 * (clsi_field_blocks) at all places of a field together; backwards by the adjoint of r. Lanes of field
 * nodes (step_rows.c) do the same sixteen windows at a time and one window after the other backwards,
 * where large weights come from the second-level cache for each: this takes 0.4 of the time for networks of
 * four layers of 128. Jacobians stay with the lanes. */
#include "base/base.h"
#include "expr/graph.h"
#include "expr/program.h"
#include "learn/learn.h"
#include "learn/residual/shards.h"
#include "scheme/scheme.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of large networks fewer samples go together, see batch.c. */
enum { FEW_SAMPLES = 96, LARGE = 40000 };
enum { INPUTS, ROWS, ADJOINT, PROGRAMS };

/* A point at which a field is evaluated. */
typedef struct place {
    size_t part;
    uint32_t point;   /* of the graph */
    size_t x, symbol; /* first of its inputs, of its value and slopes */
} place;

typedef struct part {
    const clsi_learned *learned;
    size_t n_places;
    int sloped; /* slopes occur */
} part;

/* What a thread works with. */
typedef struct block {
    const clsi_residual *r;
    double *memory, *in, *out, *x, *value, *slope, *work[PROGRAMS], **pass;
    size_t n, *window;
} block;

struct clsi_step_blocks {
    size_t nz, E, n_x, n_symbols, most; /* windows of a block */
    size_t n_parts, n_places;
    part *parts;                    /* (unknowns); those without places are not evaluated */
    place *places;                  /* by part */
    cls_program *program[PROGRAMS]; /* base -> x; base | phi -> r; base | phi | c -> d(c.r)/dphi */
    clsi_blocks memory;
};

/* ---- compiled ---- */

/* base: z0 (nz), z1 (nz), t, h. */
static size_t base_size(const clsi_step_blocks *s) {
    return 2 * s->nz + 2;
}

static size_t find_part(const clsi_unknowns *us, const clsi_graph_field *f) {
    size_t k = 0;
    for (; k < us->n; k++) {
        const clsi_learned *l = &us->list[k].learned;
        if (l->offset == f->first && l->field->n_parameters == f->n_parameters &&
            strcmp(l->field->kind->name, f->kind->name) == 0)
            break;
    }
    return k < us->n && us->list[k].learned.field->kind->blocks ? k : us->n;
}

/* What is needed to build the programs, while they are built. */
typedef struct builder {
    cls_graph *g;
    const clsi_step *st;
    const clsi_unknowns *us;
    const cls_node *theta;
    size_t n;             /* field nodes, */
    cls_node *node, *own; /* and the symbols that take their places */
    cls_node *symbols, *inputs, *rows, *slopes;
} builder;

static place *place_of(clsi_step_blocks *s, size_t which, uint32_t point) {
    for (size_t k = 0; k < s->n_places; k++)
        if (s->places[k].part == which && s->places[k].point == point) return &s->places[k];
    place *p = &s->places[s->n_places++];
    *p = (place){.part = which, .point = point};
    s->parts[which].n_places++;
    return p;
}

static int by_part(const void *a, const void *b) {
    const place *p = a, *q = b;
    if (p->part != q->part) return p->part < q->part ? -1 : 1;
    return p->point < q->point ? -1 : p->point > q->point;
}

/* The field nodes of the rows and their places; 0: some node has no block, or stands at a point that
 * depends on what is learned. */
static int find_places(clsi_step_blocks *s, builder *b, const clsi_cone *cone) {
    for (size_t k = 0; k < cone->n; k++) {
        if (clsi_block(b->g, cone->node[k]) == CLS_NO_NODE) continue;
        clsi_field_view v = clsi_view_field(b->g, cone->node[k]);
        size_t which = find_part(b->us, v.field);
        if (which == b->us->n) return 0;
        if (v.pass != CLSI_PASS_VALUE && v.pass != CLSI_PASS_GRADIENT) return 0;
        for (size_t i = 0; i < v.field->d; i++)
            if (cls_depends(b->g, clsi_point_node(b->g, v.u, i), b->us->n_theta, b->theta))
                return 0;
        (void)place_of(s, which, v.u);
        s->parts[which].sloped |= v.pass == CLSI_PASS_GRADIENT;
        b->node[b->n++] = cone->node[k];
    }
    qsort(s->places, s->n_places, sizeof *s->places, by_part);
    for (size_t k = 0; k < s->n_places; k++) {
        size_t d = s->parts[s->places[k].part].learned->d;
        s->places[k].x = s->n_x;
        s->places[k].symbol = s->n_symbols;
        s->n_x += d;
        s->n_symbols += 1 + d;
    }
    return s->n_places > 0;
}

static void choose_most(clsi_step_blocks *s, const clsi_unknowns *us) {
    s->most = SIZE_MAX;
    for (size_t k = 0; k < s->n_parts; k++) {
        const part *p = &s->parts[k];
        if (!p->n_places) continue;
        size_t samples = p->learned->field->kind->blocks->samples;
        if (us->n_theta > LARGE && samples > FEW_SAMPLES) samples = FEW_SAMPLES;
        if (samples / p->n_places < s->most) s->most = samples / p->n_places;
    }
}

/* Symbols for values and slopes, and the rows in these; the base and they are the inputs. */
static cls_status take_fields_out(clsi_step_blocks *s, builder *b) {
    cls_graph *g = b->g;
    size_t K = s->n_symbols, nz = s->nz;
    for (size_t k = 0; k < K; k++) b->symbols[k] = cls_fresh_symbol(g, "phi'");
    for (size_t k = 0; k < b->n; k++) {
        clsi_field_view v = clsi_view_field(g, b->node[k]);
        const place *p = place_of(s, find_part(b->us, v.field), v.u);
        b->own[k] = b->symbols[p->symbol + (v.order ? 1u + v.index[0] : 0)];
    }
    memcpy(b->inputs, b->st->z0, nz * sizeof *b->inputs);
    memcpy(b->inputs + nz, b->st->z1, nz * sizeof *b->inputs);
    b->inputs[2 * nz] = b->st->t;
    b->inputs[2 * nz + 1] = b->st->h;
    memcpy(b->inputs + 2 * nz + 2, b->symbols, K * sizeof *b->inputs);
    return cls_substitute(g, s->E, b->st->row, b->n, b->node, b->own, b->rows);
}

static cls_status compile_inputs(clsi_step_blocks *s, const builder *b, cls_error *error) {
    cls_node *x = clsi_calloc(s->n_x, sizeof *x);
    if (!x) return clsi_no_memory(error);
    for (size_t k = 0; k < s->n_places; k++)
        for (size_t i = 0; i < s->parts[s->places[k].part].learned->d; i++)
            x[s->places[k].x + i] = clsi_point_node(b->g, s->places[k].point, i);
    cls_status status =
        cls_program_create(b->g, base_size(s), b->inputs, s->n_x, x, &s->program[INPUTS], error);
    free(x);
    return status;
}

static cls_status compile(clsi_step_blocks *s, builder *b, cls_error *error) {
    cls_graph *g = b->g;
    size_t K = s->n_symbols, before = base_size(s) + K;
    cls_node sum = cls_constant(g, 0);
    for (size_t e = 0; e < s->E; e++) {
        b->inputs[before + e] = cls_fresh_symbol(g, "c'");
        sum = cls_add(g, sum, cls_mul(g, b->inputs[before + e], b->rows[e]));
    }
    cls_status status = cls_gradient(g, sum, K, b->symbols, b->slopes);
    if (status != CLS_OK) return cls_graph_status(g, error);
    status = compile_inputs(s, b, error);
    if (status == CLS_OK)
        status = cls_program_create(g, before, b->inputs, s->E, b->rows, &s->program[ROWS], error);
    if (status == CLS_OK)
        status = cls_program_create(g, before + s->E, b->inputs, K, b->slopes, &s->program[ADJOINT],
                                    error);
    return status;
}

/* *possible stays 0 where some node has no block. */
static cls_status build(clsi_step_blocks *s, builder *b, int *possible, cls_error *error) {
    clsi_cone cone;
    cls_node *all = NULL;
    if (!clsi_cone_create(b->g, s->E, b->st->row, &cone)) return clsi_no_memory(error);
    size_t most = 0;
    for (size_t k = 0; k < cone.n; k++) most += clsi_block(b->g, cone.node[k]) != CLS_NO_NODE;
    size_t symbols = most * (1 + CLSI_FIELD_MAX_INPUTS);
    s->places = clsi_calloc(most, sizeof *s->places);
    all = clsi_calloc(2 * most + 3 * symbols + base_size(s) + 2 * s->E, sizeof *all);
    cls_status status = s->places && all ? CLS_OK : clsi_no_memory(error);
    if (status == CLS_OK) {
        b->node = all;
        b->own = b->node + most;
        b->symbols = b->own + most;
        b->slopes = b->symbols + symbols;
        b->rows = b->slopes + symbols;
        b->inputs = b->rows + s->E;
        *possible = find_places(s, b, &cone);
    }
    if (status == CLS_OK && *possible) choose_most(s, b->us);
    if (status == CLS_OK && *possible && s->most < 8) *possible = 0;
    if (status == CLS_OK && *possible) status = take_fields_out(s, b);
    for (size_t e = 0; e < s->E && status == CLS_OK && *possible; e++)
        *possible = !cls_depends(b->g, b->rows[e], b->us->n_theta, b->theta);
    if (status == CLS_OK && *possible) status = compile(s, b, error);
    free(all);
    clsi_cone_free(&cone);
    return status;
}

cls_status clsi_step_blocks_create(const clsi_step *st, const clsi_unknowns *us,
                                   const cls_node *theta, clsi_step_blocks **out,
                                   cls_error *error) {
    *out = NULL;
    if (st->n_unknowns) return CLS_OK;
    clsi_step_blocks *s = *out = clsi_calloc(1, sizeof *s);
    if (!s) return clsi_no_memory(error);
    int possible = 0;
    builder b = {.g = st->g, .st = st, .us = us, .theta = theta};
    *s = (clsi_step_blocks){.nz = st->nz, .E = st->n_rows, .n_parts = us->n};
    s->parts = clsi_calloc(us->n, sizeof *s->parts);
    cls_status status = s->parts ? CLS_OK : clsi_no_memory(error);
    for (size_t k = 0; k < us->n && status == CLS_OK; k++)
        s->parts[k].learned = &us->list[k].learned;
    if (status == CLS_OK) status = build(s, &b, &possible, error);
    if (status != CLS_OK || !possible) clsi_step_blocks_free(out);
    return status;
}

void clsi_step_blocks_free(clsi_step_blocks **blocks) {
    clsi_step_blocks *s = *blocks;
    if (!s) return;
    for (int i = 0; i < PROGRAMS; i++) cls_program_free(&s->program[i]);
    clsi_blocks_clear(&s->memory);
    free(s->places);
    free(s->parts);
    free(s);
    *blocks = NULL;
}

/* ---- memory of a thread ---- */

static int allocate(const clsi_step_blocks *s, block *b) {
    size_t W = s->most, inputs = base_size(s) + s->n_symbols + s->E, samples = 0, passes = 0;
    size_t outputs = s->n_x + s->n_symbols + s->E, d = CLSI_FIELD_MAX_INPUTS, programs = 0;
    for (size_t k = 0; k < s->n_parts; k++) {
        const part *p = &s->parts[k];
        if (!p->n_places) continue;
        if (p->n_places * W > samples) samples = p->n_places * W;
        passes += p->learned->field->kind->blocks->size(p->learned->field);
    }
    for (int i = 0; i < PROGRAMS; i++) programs += clsi_many_size(s->program[i], W);
    b->window = clsi_calloc(W, sizeof *b->window);
    b->pass = clsi_calloc(s->n_parts, sizeof *b->pass);
    b->memory = clsi_calloc((inputs + outputs) * W + samples * (1 + 2 * d) + programs + passes,
                            sizeof *b->memory);
    if (!b->window || !b->pass || !b->memory) return 0;
    b->in = b->memory;
    b->out = b->in + inputs * W;
    b->x = b->out + outputs * W;
    b->value = b->x + samples * d;
    b->slope = b->value + samples;
    double *at = b->slope + samples * d;
    for (int i = 0; i < PROGRAMS; at += clsi_many_size(s->program[i], W), i++) {
        b->work[i] = at;
        clsi_many_prepare(s->program[i], W, at);
    }
    for (size_t k = 0; k < s->n_parts; k++) {
        const clsi_field *f = s->parts[k].learned->field;
        if (!s->parts[k].n_places) continue;
        b->pass[k] = at;
        at += f->kind->blocks->size(f);
    }
    return 1;
}

static const clsi_field_blocks *kernel_of(const part *p) {
    return p->learned->field->kind->blocks;
}

static void close_block(void *memory) {
    block *b = memory;
    free(b->memory);
    free(b->pass);
    free(b->window);
    free(b);
}

static void *open_block(const clsi_residual *r) {
    block *b = clsi_calloc(1, sizeof *b);
    if (!b || allocate(clsi_step_rows_blocks(r->step), b)) return b;
    close_block(b);
    return NULL;
}

static void begin(void *memory, const clsi_residual *r, const double *theta) {
    const clsi_step_blocks *s = clsi_step_rows_blocks(r->step);
    block *b = memory;
    b->r = r;
    for (size_t k = 0; k < s->n_parts; k++) {
        const clsi_learned *l = s->parts[k].learned;
        if (b->pass[k]) kernel_of(&s->parts[k])->open(l->field, theta + l->offset, b->pass[k]);
    }
}

/* ---- a block of windows ---- */

static void run(const clsi_step_blocks *s, block *b, int which) {
    clsi_many_run(s->program[which], s->most, b->work[which], b->n, s->most, b->in, b->out);
}

/* Between rows of all windows and the samples of a part: number `column` of each of n. */
static void gather(const block *b, const double *row, size_t column, size_t n, double *to) {
    for (size_t i = 0; i < b->n; i++) to[i * n + column] = row[i];
}

static void fill_base(const clsi_step_blocks *s, block *b) {
    const clsi_points *p = b->r->points;
    for (size_t i = 0; i < b->n; i++) {
        size_t at = p->window[b->window[i]];
        for (size_t k = 0; k < s->nz; k++) {
            b->in[k * s->most + i] = p->z[k * p->n + at];
            b->in[(s->nz + k) * s->most + i] = p->z[k * p->n + at + 1];
        }
        b->in[2 * s->nz * s->most + i] = p->time[at];
        b->in[(2 * s->nz + 1) * s->most + i] = p->time[at + 1] - p->time[at];
    }
}

/* Values and slopes of the fields at the places, behind the base. */
static void fill_fields(const clsi_step_blocks *s, block *b) {
    const place *at = s->places;
    for (size_t k = 0; k < s->n_parts; at += s->parts[k].n_places, k++) {
        const part *p = &s->parts[k];
        size_t d = p->learned->d;
        for (size_t j = 0; j < p->n_places; j++)
            for (size_t i = 0; i < d; i++)
                gather(b, b->out + (at[j].x + i) * s->most, i, d, b->x + j * b->n * d);
        if (p->n_places)
            kernel_of(p)->evaluate(b->pass[k], p->n_places * b->n, b->x, b->value,
                                   p->sloped ? b->slope : NULL);
        for (size_t j = 0; j < p->n_places; j++) {
            double *to = b->in + (base_size(s) + at[j].symbol) * s->most;
            memcpy(to, b->value + j * b->n, b->n * sizeof *to);
            for (size_t i = 0; p->sloped && i < d; i++)
                for (size_t w = 0; w < b->n; w++)
                    to[(1 + i) * s->most + w] = b->slope[(j * b->n + w) * d + i];
        }
    }
}

/* The rows [at, end) of the list (NULL: of all, from `first` on) as far as their windows fit: where
 * they end. */
static size_t take(const clsi_step_blocks *s, block *b, size_t first, const size_t *list, size_t at,
                   size_t end) {
    for (b->n = 0; at < end; at++) {
        size_t window = (list ? list[at] : first + at) / s->E;
        if (b->n && b->window[b->n - 1] == window) continue;
        if (b->n == s->most) break;
        b->window[b->n++] = window;
    }
    fill_base(s, b);
    run(s, b, INPUTS);
    fill_fields(s, b);
    run(s, b, ROWS);
    return at;
}

/* Row number k of the list: which window of the block it is in, following from `w`; its value. */
static double value_of(const clsi_step_blocks *s, const block *b, size_t row, size_t *w,
                       double *weight) {
    size_t e = row % s->E;
    while (b->window[*w] != row / s->E) ++*w;
    *weight = b->r->weight[e * b->r->points->n_windows + b->window[*w]];
    return *weight * b->out[e * s->most + *w];
}

static void rows_of_shard(void *memory, size_t first, const size_t *list, size_t begin, size_t end,
                          double *out, double *J) {
    block *b = memory;
    const clsi_step_blocks *s = clsi_step_rows_blocks(b->r->step);
    double weight;
    (void)J; /* never asked for */
    for (size_t at = begin; at < end;) {
        size_t stop = take(s, b, first, list, at, end);
        for (size_t w = 0; at < stop; at++)
            out[at] = value_of(s, b, list ? list[at] : first + at, &w, &weight);
    }
}

/* ---- backwards ---- */

/* From the slopes in values and slopes of the fields (in `out`) to the sums of the kernels. */
static void fields_back(const clsi_step_blocks *s, block *b) {
    const place *at = s->places;
    for (size_t k = 0; k < s->n_parts; at += s->parts[k].n_places, k++) {
        const part *p = &s->parts[k];
        size_t d = p->learned->d;
        if (!p->n_places) continue;
        for (size_t j = 0; j < p->n_places; j++) {
            const double *from = b->out + at[j].symbol * s->most;
            memcpy(b->value + j * b->n, from, b->n * sizeof *from);
            for (size_t i = 0; p->sloped && i < d; i++)
                gather(b, from + (1 + i) * s->most, i, d, b->slope + j * b->n * d);
        }
        kernel_of(p)->add(b->pass[k], p->n_places * b->n, b->value, p->sloped ? b->slope : NULL);
    }
}

static double gradient_of_shard(void *memory, const size_t *list, size_t begin, size_t end,
                                double share) {
    block *b = memory;
    const clsi_step_blocks *s = clsi_step_rows_blocks(b->r->step);
    double sum = 0, weight, *c = b->in + (base_size(s) + s->n_symbols) * s->most;
    for (size_t k = 0; k < s->n_parts; k++)
        if (b->pass[k]) kernel_of(&s->parts[k])->clear(b->pass[k]);
    for (size_t at = begin; at < end;) {
        size_t stop = take(s, b, 0, list, at, end);
        memset(c, 0, s->E * s->most * sizeof *c);
        for (size_t w = 0; at < stop; at++) {
            size_t row = list ? list[at] : at;
            double value = value_of(s, b, row, &w, &weight);
            sum += value * value;
            if (isfinite(value)) c[row % s->E * s->most + w] += share * weight * value;
        }
        run(s, b, ADJOINT);
        fields_back(s, b);
    }
    return sum;
}

static void add(const void *memory, double *gradient) {
    const block *b = memory;
    const clsi_step_blocks *s = clsi_step_rows_blocks(b->r->step);
    for (size_t k = 0; k < s->n_parts; k++)
        if (b->pass[k])
            kernel_of(&s->parts[k])->close(b->pass[k], gradient + s->parts[k].learned->offset);
}

static const clsi_rows_kind BLOCKS = {250,   2e7,           open_block,        close_block,
                                      begin, rows_of_shard, gradient_of_shard, add};

cls_status clsi_step_blocks_values(const clsi_residual *r, const double *theta, size_t first,
                                   size_t count, const size_t *list, double *out) {
    return clsi_sharded_rows(&BLOCKS, &clsi_step_rows_blocks(r->step)->memory, r, theta, first,
                             count, list, out, NULL);
}

cls_status clsi_step_blocks_gradient(const clsi_residual *r, const double *theta, size_t count,
                                     const size_t *list, double *loss, double *gradient) {
    return clsi_sharded_gradient(&BLOCKS, &clsi_step_rows_blocks(r->step)->memory, r, theta, count,
                                 list, loss, gradient);
}
