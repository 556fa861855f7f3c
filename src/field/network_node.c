/* Networks as nodes of a graph: weights in panels for the passes at one point (network_node.inc), as
 * formulas where a kernel does not reach, as C.
 *
 * A node owns its weights, if they are known, three times: as they are (to emit, to compare, to write out), and by
 * panels for products forwards and backwards. One pass over (512, 512) weights reads 2 MB, so what
 * a step takes is mostly how often it reads them: tangents in all inputs go through together. */
#include "field/network_node.h"
#include "base/locale.h"
#include "expr/kernels.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "expr/elementary.inc"
#include "expr/kernels.inc"

#define clsi_k_function_value clsi_function_value
#define clsi_k_quotient_value clsi_quotient_value
#include "field/network_node.inc"

_Static_assert((int)CLSI_N_INPUTS == (int)CLSI_FIELD_MAX_INPUTS, "inputs");
_Static_assert((int)CLSI_N_INPUTS == (int)CLSI_NODE_INPUTS, "inputs");
_Static_assert((int)CLSI_N_LAYERS == (int)CLSI_FIELD_MAX_LAYERS, "layers");
_Static_assert((int)CLSI_N_THIRD == (int)CLSI_PASS_THIRD, "passes");
_Static_assert((int)CLSI_N_PAIR_W == (int)CLSI_PASS_PAIR_W, "passes");
_Static_assert(CLSI_N_PAD(1) == (int)CLSI_NETWORK_LANES, "padding");

_Static_assert((int)CLSI_NODE_FORWARD == (int)CLSI_N_SHAPE, "shape");

typedef struct node_data {
    int shape[CLSI_NODE_SHAPE];
    const clsi_network_kernel *kernel;
    clsi_field *field; /* of its own, for expand */
    size_t n;          /* parameters */
    double *theta;     /* the parameters, then panels and padded biases; on a cache line */
    cls_node *symbols; /* (n) where they are being learned; then theta is NULL, see `pack` */
    clsi_weight_map map;
} node_data;

/* ---- making ---- */

static size_t padded(size_t n) {
    return (size_t)CLSI_N_PAD(n);
}

/* W (k, n), element (a, b) at from[a*row + b*column], by panels of `panel` columns, padded. */
static void pack(size_t k, size_t n, size_t row, size_t column, const double *from, size_t panel,
                 double *to) {
    for (size_t first = 0, all = padded(n); first < all; first += panel) {
        size_t lanes = all - first < panel ? all - first : panel;
        for (size_t a = 0; a < k; a++)
            for (size_t b = first; b < first + lanes; b++)
                *to++ = b < n ? from[a * row + b * column] : 0;
    }
}

static size_t packed_size(const clsi_network *net, size_t n) {
    size_t size = padded(n);
    for (size_t l = 0; l + 1 < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        size += padded(w->out) * (w->in + 1) + w->out * padded(w->in);
    }
    return padded(size);
}

/* Where things stand; the weights themselves by pack_all. */
static void lay_out(const clsi_network *net, node_data *data) {
    int *f = data->shape;
    size_t at = padded(data->n), hidden = net->n_layers - 1;
    f[CLSI_N_D] = (int)net->layer[0].in;
    f[CLSI_N_HIDDEN] = (int)hidden;
    f[CLSI_N_ACTIVATION] = (int)clsi_network_function(net->activation);
    for (size_t l = 0; l < hidden; l++) {
        const clsi_network_shape *w = &net->layer[l];
        f[CLSI_N_UNITS] += (int)padded(w->out);
        f[CLSI_N_WIDTH + l] = (int)w->out;
        f[CLSI_N_WEIGHT + l] = (int)w->weight;
        f[CLSI_NODE_FORWARD + l] = (int)at;
        at += w->in * padded(w->out);
        f[CLSI_NODE_BACKWARD + l] = (int)at;
        at += w->out * padded(w->in);
        f[CLSI_N_BIAS + l] = (int)at;
        at += padded(w->out);
    }
    f[CLSI_N_WEIGHT + hidden] = (int)net->layer[hidden].weight;
}

/* theta: the parameters, then room for the panels. */
static void pack_all(const clsi_network *net, const node_data *data, double *theta) {
    const int *f = data->shape;
    size_t panel = data->kernel->node_panel;
    for (size_t l = 0; l + 1 < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        pack(w->in, w->out, 1, w->in, theta + w->weight, panel, theta + f[CLSI_NODE_FORWARD + l]);
        pack(w->out, w->in, w->in, 1, theta + w->weight, panel, theta + f[CLSI_NODE_BACKWARD + l]);
        pack(1, w->out, 0, 1, theta + w->bias, panel, theta + f[CLSI_N_BIAS + l]);
    }
}

static void clear_data(node_data *data) {
    if (!data) return;
    clsi_field_free(&data->field);
    free(data->theta);
    free(data->symbols);
    free(data->map.at);
    free(data->map.positive);
    free(data);
}

/* theta or symbols. */
static node_data *make_data(const clsi_field *f, const double *theta, const cls_node *symbols,
                            const clsi_network_kernel *kernel) {
    const clsi_network *net = f->data;
    node_data *data = clsi_calloc(1, sizeof *data);
    if (!data) return NULL;
    data->n = f->n_parameters;
    data->kernel = kernel ? kernel : net->kernel;
    if (theta) data->theta = clsi_aligned(packed_size(net, data->n) * sizeof *data->theta);
    if (symbols) data->symbols = clsi_calloc(data->n, sizeof *symbols);
    if (!(theta ? (void *)data->theta : (void *)data->symbols) ||
        clsi_field_create(f->d, f->spec, NULL, &data->field, NULL) != CLS_OK) {
        clear_data(data);
        return NULL;
    }
    lay_out(net, data);
    if (symbols) memcpy(data->symbols, symbols, data->n * sizeof *symbols);
    if (theta) memcpy(data->theta, theta, data->n * sizeof *theta);
    if (theta) pack_all(net, data, data->theta);
    return data;
}

cls_node clsi_network_node(const clsi_field *f, cls_graph *g, const cls_node *x,
                           const double *theta, const clsi_network_kernel *kernel) {
    node_data *data = make_data(f, theta, NULL, kernel);
    return data ? clsi_graph_apply(g, &clsi_network_node_kind, f->d, data, x) : CLS_NO_NODE;
}

cls_node clsi_network_node_open(const clsi_field *f, cls_graph *g, const cls_node *x,
                                const cls_node *theta, size_t first) {
    node_data *data = make_data(f, NULL, theta, NULL);
    if (!data) return CLS_NO_NODE;
    return clsi_graph_apply_open(g, &clsi_network_node_kind, f->d, data, x, theta[0], first,
                                 f->n_parameters);
}

static int copy_map(const clsi_weight_map *from, clsi_weight_map *to) {
    *to = *from;
    to->at = clsi_calloc(from->n, sizeof *to->at);
    to->positive = clsi_calloc(from->n, sizeof *to->positive);
    if (!to->at || !to->positive) return 0;
    memcpy(to->at, from->at, from->n * sizeof *to->at);
    memcpy(to->positive, from->positive, from->n * sizeof *to->positive);
    return 1;
}

cls_node clsi_network_node_mapped(const clsi_field *f, cls_graph *g, const cls_node *x,
                                  const cls_node *W, const clsi_weight_map *map,
                                  const cls_node *theta, size_t first) {
    node_data *data = make_data(f, NULL, W, NULL);
    if (!data) return CLS_NO_NODE;
    if (!copy_map(map, &data->map)) {
        clear_data(data);
        return CLS_NO_NODE;
    }
    return clsi_graph_apply_open(g, &clsi_network_node_kind, f->d, data, x, theta[0], first,
                                 map->n);
}

cls_node clsi_network_node_of(const clsi_field *f, cls_graph *g, const cls_node *x,
                              const cls_node *theta) {
    double *numbers = clsi_calloc(f->n_parameters, sizeof *numbers);
    if (!numbers) return CLS_NO_NODE;
    for (size_t k = 0; k < f->n_parameters; k++) numbers[k] = cls_node_value(g, theta[k]);
    cls_node phi = clsi_network_node(f, g, x, numbers, NULL);
    free(numbers);
    return phi;
}

static void clear(clsi_graph_field *f) {
    clear_data(f->data);
    f->data = NULL;
}

static int equal(const clsi_graph_field *f, const clsi_graph_field *other) {
    const node_data *a = f->data, *b = other->data;
    if (a->n != b->n || a->kernel != b->kernel || !a->theta != !b->theta) return 0;
    return memcmp(a->shape, b->shape, sizeof a->shape) == 0 &&
           (!a->theta || memcmp(a->theta, b->theta, a->n * sizeof *a->theta) == 0);
}

/* ---- running ---- */

static size_t size(const clsi_graph_field *f, clsi_field_pass last) {
    const node_data *data = f->data;
    size_t d = f->d, units = (size_t)data->shape[CLSI_N_UNITS];
    if (last >= CLSI_PASS_PAIR)
        return padded(clsi_field_pair_results(d)) +
               (last == CLSI_PASS_PAIR ? 4 : 5 + 2 * d) * units;
    static const size_t once[] = {4, 6, 6, 6, 11}, each[] = {0, 0, 2, 4, 4};
    return padded(clsi_field_point_results(d)) + (once[last] + each[last] * d) * units;
}

static void run(const clsi_graph_field *f, const double *weights, clsi_field_pass pass,
                const double *x, double *own, double *u, double *w) {
    const node_data *data = f->data;
    data->kernel->node(data->shape, weights ? weights : data->theta, (int)pass, x, own, u, w);
}

static void run_many(const clsi_graph_field *f, const double *weights, clsi_field_pass pass,
                     size_t n, const double *x, double *own, size_t step, ptrdiff_t u,
                     ptrdiff_t w) {
    const node_data *data = f->data;
    const double *theta = weights ? weights : data->theta;
    if (pass == CLSI_PASS_VALUE)
        data->kernel->node_values(data->shape, theta, (int)n, x, own, (int)step);
    else if (pass == CLSI_PASS_GRADIENT)
        data->kernel->node_gradients(data->shape, theta, (int)n, own, (int)step);
    for (size_t s = 0; pass > CLSI_PASS_GRADIENT && s < n; s++, own += step)
        data->kernel->node(data->shape, theta, (int)pass, x, own, own + u, own + w);
}

static size_t packed(const clsi_graph_field *f) {
    const node_data *data = f->data;
    return packed_size(data->field->data, data->n) + data->map.n; /* slopes of the map */
}

static size_t between(const clsi_graph_field *f) {
    return (size_t)((const node_data *)f->data)->shape[CLSI_N_UNITS];
}

enum { ROOM = 9 }; /* letters of node_back_curvature, the longest list */

static size_t room(const clsi_graph_field *f) {
    const node_data *data = f->data;
    return ROOM * between(f) + (data->map.n ? data->n : 0);
}

static void pack_mapped(const node_data *data, const double *theta, double *weights) {
    const clsi_weight_map *map = &data->map;
    double *slope = weights + packed_size(data->field->data, data->n);
    memset(weights, 0, data->n * sizeof *weights);
    for (size_t k = 0; k < map->n; k++) {
        weights[map->at[k]] = map->positive[k] ? map->map(theta[k]) : theta[k];
        slope[k] = map->positive[k] ? map->slope(theta[k]) : 1;
    }
}

static void pack_learned(const clsi_graph_field *f, const double *theta, double *weights) {
    const node_data *data = f->data;
    if (data->map.n)
        pack_mapped(data, theta, weights);
    else
        memcpy(weights, theta, data->n * sizeof *theta);
    pack_all(data->field->data, data, weights);
}

static void back(const clsi_graph_field *f, const double *weights, const clsi_field_seeds *seeds,
                 double *out) {
    const node_data *data = f->data;
    const clsi_weight_map *map = &data->map;
    double *to = map->n ? seeds->room + ROOM * between(f) : out;
    const double *slope = weights + packed_size(data->field->data, data->n);
    if (map->n) memset(to, 0, data->n * sizeof *to);
    data->kernel->node_back(data->shape, weights, seeds, to);
    for (size_t k = 0; k < map->n; k++) out[k] += slope[k] * to[map->at[k]];
}

void clsi_network_node_plain(const clsi_graph_field *f, clsi_field_pass pass, const double *x,
                             double *own, double *u, double *w) {
    const node_data *data = f->data;
    clsi_n_run(data->shape, data->theta, (int)pass, x, own, u, w);
}

/* Four products of a weight take about as long as one instruction. */
static size_t cost(const clsi_graph_field *f, clsi_field_pass pass) {
    const node_data *data = f->data;
    size_t d = f->d, columns = 1;
    if (pass == CLSI_PASS_THIRD)
        columns = d * (d + 1);
    else if (pass == CLSI_PASS_TANGENT || pass == CLSI_PASS_CURVATURE || pass > CLSI_PASS_PAIR)
        columns = d;
    return columns * data->n / 4;
}

/* Activations and their slopes are about 1 at most. */
static double terms(const clsi_graph_field *f, int component) {
    const node_data *data = f->data;
    const clsi_network *net = data->field->data;
    size_t widest = f->d, last = net->n_layers - 1;
    if (!data->theta) return 0; /* not known yet */
    for (size_t l = 0; l < net->n_layers; l++)
        widest = net->layer[l].in > widest ? net->layer[l].in : widest;
    double *paths = clsi_calloc(2 * widest, sizeof *paths), *before = paths + widest, sum = 0;
    if (!paths) return NAN;
    paths[0] = 1;
    for (size_t l = last + 1; l-- > 0;) {
        const clsi_network_shape *w = &net->layer[l];
        const double *W = data->theta + w->weight;
        for (size_t b = 0; b < w->in; b++) {
            before[b] = 0;
            for (size_t a = 0; a < w->out; a++)
                before[b] += paths[a] * W[a * w->in + b] * W[a * w->in + b];
            sum += before[b];
        }
        memcpy(paths, before, w->in * sizeof *paths);
    }
    double result = 2 * sqrt(component < 0 ? sum : paths[component]);
    free(paths);
    return result;
}

static cls_node expand(const clsi_graph_field *f, cls_graph *g, const cls_node *x) {
    const node_data *data = f->data;
    cls_node *theta = clsi_calloc(data->n, sizeof *theta), phi = CLS_NO_NODE;
    for (size_t k = 0; theta && k < data->n; k++)
        theta[k] = data->symbols ? data->symbols[k] : cls_constant(g, data->theta[k]);
    if (theta) phi = clsi_network_expression(data->field, g, x, theta);
    free(theta);
    return phi;
}

/* ---- as C ---- */

/* The shortest of its exact texts: decimals, without a 0 before the point, or a hexadecimal number (weights in single
 * precision). Compilers round decimals of 17 digits correctly (C99, F.5). */
static void emit_weight(clsi_text *out, double value) {
    char decimal[CLSI_NUMBER], hex[CLSI_NUMBER];
    clsi_format_double(value, decimal);
    clsi_snprintf(hex, sizeof hex, "%a", value);
    size_t sign = decimal[0] == '-';
    if (decimal[sign] == '0' && decimal[sign + 1] == '.')
        memmove(decimal + sign, decimal + sign + 1, strlen(decimal + sign));
    int shorter = strlen(hex) < strlen(decimal);
    const char *point = shorter || strpbrk(decimal, ".e")
                            ? ""
                            : "."; /* -0 would be a whole number without a sign */
    clsi_text_printf(out, "%s%s", shorter ? hex : decimal, point);
}

static void emit(const clsi_graph_field *f, const char *name, clsi_text *out) {
    const node_data *data = f->data;
    clsi_text_printf(out, "static const CLSI_N_NUMBER %s[%zu] = {", name, data->n);
    for (size_t k = 0; k < data->n; k++) {
        clsi_text_append(out, k ? "," : "");
        if (k % 8 == 0) clsi_text_append(out, "\n");
        emit_weight(out, data->theta[k]);
    }
    clsi_text_append(out, "};\n\n");
}

static void emit_shape(const clsi_graph_field *f, clsi_text *out) {
    const node_data *data = f->data;
    const clsi_network *net = data->field->data;
    clsi_text_printf(out, "[%d] = {", (int)CLSI_N_SHAPE);
    for (int k = 0; k < CLSI_N_SHAPE; k++) {
        int l = k - CLSI_N_BIAS, own = data->shape[k];
        if (l >= 0 && l < data->shape[CLSI_N_HIDDEN]) own = (int)net->layer[l].bias;
        clsi_text_printf(out, "%s%d", k ? ", " : "", own);
    }
    clsi_text_append(out, "};\n");
}

static int function(const clsi_graph_field *f) {
    int activation = ((const node_data *)f->data)->shape[CLSI_N_ACTIVATION];
    return activation == CLSI_K_TANH ? -1 : activation;
}

const clsi_graph_field_kind clsi_network_node_kind = {.name = "network",
                                                      .size = size,
                                                      .run = run,
                                                      .run_many = run_many,
                                                      .packed = packed,
                                                      .between = between,
                                                      .room = room,
                                                      .pack = pack_learned,
                                                      .back = back,
                                                      .cost = cost,
                                                      .terms = terms,
                                                      .expand = expand,
                                                      .equal = equal,
                                                      .clear = clear,
                                                      .text = clsi_network_node_text,
                                                      .emit = emit,
                                                      .emit_shape = emit_shape,
                                                      .function = function,
                                                      .call = "clsi_n_run"};
