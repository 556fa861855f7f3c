/* The field kind "convex": a function that is convex in chosen inputs for every theta.
 *
 * Inputs (q, v, T, S, r) in this order: free, even, convex, thermal, monotone inputs.
 *
 *     phi = (N(q, v, T, S) + N(q, -v, T, S))/2 + A(q) + sum_j T_j B_j(q)
 *           + sum_j C_j(q) (exp(alpha_j S_j) - 1)/alpha_j + |L^T v|^2/2 + c.r
 *
 * is convex in (v, T, S, r) together, increasing in S, not decreasing in r, even in v, and anything
 * in q. Three energies are made of it:
 *
 *   thermal lagrangian G(q, v, T)  r_j = T_j (log(T_j/T0) - 1), which is convex too. The Hessian in
 *       (v, T) is positive definite at every state: mass matrix and heat capacities are positive,
 *       and (v, T) -> (p, S) is one to one. It is onto as well, because |grad N| is bounded while
 *       L^T v grows and log T_j takes every value. Where there is no r, L is over (v, T).
 *   lagrangian L(q, v)             the mass matrix is positive definite, v -> p one to one and onto.
 *   hamiltonian H(q, p, S)         with p in the place of v. T_j = dH/dS_j > 0, heat capacities and
 *       masses are positive, momenta and velocities vanish together. Because N >= 0 grows at most
 *       linearly, H - v.p - T.S has exactly one minimum in (p, S) for every v and every T > 0:
 *       (p, S) -> (v, T) is one to one and onto the states of positive temperature. The gas, of
 *       heat capacity 1/alpha_j, is a reservoir for small alpha and an ideal gas whose exp(-S)
 *       depends on the volume otherwise.
 *
 * N is a partially input-convex network (Amos, Xu, Kolter 2017) without gates, as an ordinary
 * network with the activation softplus, which is convex and increasing: the units of each layer are
 * free ones, which see q and free units, and convex ones, which see free units by any weights and
 * convex units by positive weights (softplus of theta); the output sees convex units by positive
 * weights. First layers see v and T by any weights, S by positive ones. So N is the ordinary
 * network with a map theta -> W in front, and zeros. What is linear in T or a function of q alone
 * would cost such a network its curvature; networks A, B_j and C_j of q, tanh and half as wide,
 * have it. With the word `varying` the entries of L are networks of q as well: then every kinetic
 * energy v.M(q) v/2 with positive definite M is in the form without N.
 *
 * The diagonal of L, C and c have a floor, alpha two ends, so that no curvature underflows to zero
 * and nothing overflows within 80 half widths of the data. Cost: two passes of N, one each of A,
 * B_j, C_j and L_ij. Not promised: strict convexity of N alone, whose units may saturate. Every
 * function that is convex in (v, T), even in v and, of S, increasing is a limit of such N, because
 * maxima of affine functions are; the mean over v and -v does not raise the distance to an even
 * function. */
#include "field/convex.h"
#include "field/network_node.h"
#include "base/base.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const clsi_field_kind clsi_field_convex;

/* The theta whose map is y > 0. */
static double inverse_map(double y) {
    return y > 30 ? y : log(expm1(y));
}

/* ---- which weights there are ---- */

/* Free units of hidden layer l. */
static size_t free_units(const clsi_convex *c, size_t l) {
    const clsi_network *net = c->body->data;
    size_t least = net->layer[0].out;
    for (size_t k = 0; k <= l; k++) least = net->layer[k].out < least ? net->layer[k].out : least;
    return c->free && least >= 4 ? net->layer[l].out / 4 : 0;
}

/* The weight from k to unit i of layer l: 0 none, 1 any, 2 positive. */
static int weight_kind(const clsi_convex *c, size_t l, size_t i, size_t k) {
    const clsi_network *net = c->body->data;
    int last = l + 1 == net->n_layers;
    int to_free = !last && i < free_units(c, l);
    int from_free = l ? k < free_units(c, l - 1) : k < c->free;
    int from_cold = !l && k < c->free + c->even + c->convex; /* need not rise with it */
    if (last && from_free) return 0;                         /* A has it */
    if (from_free || (from_cold && !to_free)) return 1;
    return to_free ? 0 : 2;
}

static void choose_weights(clsi_convex *c) {
    const clsi_network *net = c->body->data;
    for (size_t l = 0; l < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        for (size_t i = 0; i < w->out; i++)
            for (size_t k = 0; k < w->in; k++) {
                int kind = weight_kind(c, l, i, k);
                if (!kind) continue;
                c->positive[c->n_weights] = kind == 2;
                c->at[c->n_weights++] = w->weight + i * w->in + k;
            }
        for (size_t i = 0; l + 1 < net->n_layers && i < w->out; i++)
            c->at[c->n_weights++] = w->bias + i;
    }
}

/* ---- reading "24, 24; 1 1 2" ---- */

static cls_status bad(cls_error *error) {
    return clsi_fail(error, CLS_USAGE,
                     "a convex field is written network(WIDTH, ..., convex): widths only, its "
                     "activation is softplus");
}

/* "1 1 2" or "1 1 0 2": free, even, convex, thermal; then the word `varying`. */
static cls_status read_inputs(clsi_field *f, clsi_convex *c, const char *text, cls_error *error) {
    static const char word[] = "varying";
    size_t *const n[] = {&c->free, &c->even, &c->convex, &c->thermal}, read = 0, sum = 0;
    for (; read < 4; read++) {
        char *end;
        text += strspn(text, " ");
        if (!isdigit((unsigned char)*text)) break;
        unsigned long count = strtoul(text, &end, 10);
        if (count > CLSI_FIELD_MAX_INPUTS) return bad(error);
        *n[read] = count;
        sum += count;
        text = end;
    }
    text += strspn(text, " ");
    c->varying = strcmp(text, word) == 0;
    if (c->varying) text += strlen(word);
    if (*text || read < 3 || sum > f->d || sum == c->free) return bad(error);
    c->monotone = f->d - sum;
    c->first = c->free;
    c->order = c->monotone ? c->even : c->even + c->convex;
    if (c->varying && !c->free) return bad(error);
    f->even_first = c->free;
    f->even_count = c->even;
    return CLS_OK;
}

static cls_status make_body(clsi_convex *c, const char *widths, size_t length, cls_error *error) {
    clsi_text spec = {0};
    for (size_t i = 0; i < length; i++)
        if (isalpha((unsigned char)widths[i])) return bad(error);
    clsi_text_printf(&spec, "network(%.*s, softplus)", (int)length, widths);
    cls_status status = spec.failed ? clsi_no_memory(error) : CLS_OK;
    if (status == CLS_OK)
        status = clsi_field_create(c->free + c->even + c->convex + c->thermal, spec.data, NULL,
                                   &c->body, error);
    clsi_text_clear(&spec);
    if (status != CLS_OK) return status;
    c->at = clsi_calloc(c->body->n_parameters, sizeof *c->at);
    c->positive = clsi_calloc(c->body->n_parameters, 1);
    if (!c->at || !c->positive) return clsi_no_memory(error);
    choose_weights(c);
    return CLS_OK;
}

static cls_status make_parts(clsi_convex *c, cls_error *error) {
    const clsi_network *net = c->body->data;
    clsi_text spec = {0};
    clsi_text_append(&spec, "network(");
    for (size_t l = 0; l + 1 < net->n_layers; l++)
        clsi_text_printf(&spec, "%s%zu", l ? ", " : "", (net->layer[l].out + 1) / 2);
    clsi_text_append(&spec, ")");
    cls_status status = spec.failed ? clsi_no_memory(error) : CLS_OK;
    size_t wanted = c->free ? 1 + c->convex + c->thermal : 0;
    if (c->varying) wanted += c->order * (c->order + 1) / 2;
    while (c->n_parts < wanted && status == CLS_OK)
        status = clsi_field_create(c->free, spec.data, NULL, &c->part[c->n_parts++], error);
    clsi_text_clear(&spec);
    return status;
}

static cls_status create(clsi_field *f, const char *arguments, cls_error *error) {
    const char *inputs = strchr(arguments, ';');
    if (!inputs) return bad(error);
    clsi_convex *c = f->data = clsi_calloc(1, sizeof *c);
    if (!c) return clsi_no_memory(error);
    cls_status status = read_inputs(f, c, inputs + 1, error);
    if (status == CLS_OK) status = make_body(c, arguments, (size_t)(inputs - arguments), error);
    if (status == CLS_OK) status = make_parts(c, error);
    if (status != CLS_OK) return status;
    size_t at = c->n_weights;
    for (size_t j = 0; j < c->n_parts; j++) {
        c->part_at[j] = at;
        at += c->part[j]->n_parameters;
    }
    c->triangle_at = at;
    c->slope_at = at + c->order * (c->order + 1) / 2;
    c->gas_at = c->slope_at + c->monotone;
    f->n_parameters = c->gas_at + 2 * c->thermal;
    return CLS_OK;
}

int clsi_field_convex_inputs(const clsi_field *f, size_t count[CLSI_CONVEX_INPUTS]) {
    if (f->kind != &clsi_field_convex) return 0;
    const clsi_convex *c = f->data;
    count[0] = c->free;
    count[1] = c->even;
    count[2] = c->convex;
    count[3] = c->thermal;
    count[4] = c->monotone;
    return 1;
}

static void clear(clsi_field *f) {
    clsi_convex *c = f->data;
    clsi_field_free(&c->body);
    for (size_t j = 0; j < c->n_parts; j++) clsi_field_free(&c->part[j]);
    free(c->at);
    free(c->positive);
}

/* ---- starting values ---- */

/* Means of unlike convex units: positive weights of a row have the sum `total`, logarithms are
 * normal. softplus has a mean of about 0.8 there, which the bias takes away again. */
static void start_row(const clsi_convex *c, size_t l, size_t i, double total, cls_random *random,
                      double *W) {
    const clsi_network *net = c->body->data;
    const clsi_network_shape *w = &net->layer[l];
    double sum = 0, *row = W + w->weight + i * w->in;
    for (size_t k = 0; k < w->in && !l; k++) /* inputs: as they are drawn, but for the sign */
        if (weight_kind(c, l, i, k) == 2) row[k] = fmax(fabs(row[k]), 1e-3);
    if (!l) return;
    for (size_t k = 0; k < w->in; k++) {
        if (weight_kind(c, l, i, k) != 2) continue;
        row[k] = exp(cls_random_normal(random));
        sum += row[k];
    }
    for (size_t k = 0; k < w->in; k++)
        if (weight_kind(c, l, i, k) == 2) row[k] *= total / sum;
    if (l + 1 < net->n_layers && sum > 0) W[w->bias + i] -= 0.8 * total;
}

/* Corrections to numbers in theta begin small: C_j and L_ij are nearly constant. */
static void start_part(const clsi_convex *c, size_t j, cls_random *random, double *theta) {
    const clsi_network *net = c->part[j]->data;
    const clsi_network_shape *w = &net->layer[net->n_layers - 1];
    c->part[j]->kind->initialise(c->part[j], random, theta);
    for (size_t k = 0; k < w->in && j > c->convex; k++) theta[w->weight + k] *= 0.1;
}

/* W of the body in its dense form. */
static void start_body(const clsi_convex *c, cls_random *random, double *W) {
    const clsi_network *net = c->body->data;
    c->body->kind->initialise(c->body, random, W);
    for (size_t l = 0; l < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        int last = l + 1 == net->n_layers;
        for (size_t i = 0; !last && i < w->out; i++)
            W[w->bias + i] = 0.5 * cls_random_normal(random);
        for (size_t i = 0; i < w->out; i++) start_row(c, l, i, last ? 0.5 : 2, random, W);
    }
}

static void initialise(const clsi_field *f, cls_random *random, double *theta) {
    const clsi_convex *c = f->data;
    double *W = clsi_calloc(c->body->n_parameters, sizeof *W);
    memset(theta, 0, f->n_parameters * sizeof *theta);
    if (W) start_body(c, random, W);
    for (size_t k = 0; W && k < c->n_weights; k++)
        theta[k] = c->positive[k] ? inverse_map(W[c->at[k]]) : W[c->at[k]];
    for (size_t j = 0; j < c->n_parts; j++) start_part(c, j, random, theta + c->part_at[j]);
    for (size_t i = 0, at = c->triangle_at; i < c->order; i++, at += i + 1)
        theta[at] = inverse_map(1);
    for (size_t j = 0; j < c->monotone; j++) theta[c->slope_at + j] = inverse_map(1);
    for (size_t j = 0; j < c->thermal; j++) { /* C = 1, alpha = 1 */
        theta[c->gas_at + j] = inverse_map(1);
        theta[c->gas_at + c->thermal + j] = -log(CLSI_CONVEX_HOT - 1);
    }
    free(W);
}

/* ---- as an expression ---- */

static cls_node positive_node(cls_graph *g, cls_node theta, double floor) {
    cls_node y = cls_apply(g, CLS_FN_SOFTPLUS, theta);
    return floor > 0 ? cls_add(g, y, cls_constant(g, floor)) : y;
}

/* How the networks inside are written: as formulas, as nodes with weights that are constants of the
 * graph, or as nodes with parameters that are being learned: symbols, numbered from `first` on. */
typedef enum form { FORMULAS, KNOWN, OPEN } form;

typedef struct writer {
    cls_graph *g;
    form form;
    const cls_node *theta;
    size_t first;
} writer;

static cls_node write_part(const clsi_convex *c, const writer *w, size_t j, const cls_node *x) {
    const cls_node *theta = w->theta + c->part_at[j];
    if (w->form == OPEN)
        return clsi_network_node_open(c->part[j], w->g, x, theta, w->first + c->part_at[j]);
    return w->form == KNOWN ? clsi_network_node_of(c->part[j], w->g, x, theta)
                            : clsi_network_expression(c->part[j], w->g, x, theta);
}

/* W: nodes of its weights. */
static cls_node write_body(const clsi_convex *c, const writer *w, const cls_node *x,
                           const cls_node *W) {
    clsi_weight_map map = {c->n_weights, c->at, c->positive, clsi_convex_map, clsi_convex_slope};
    if (w->form == OPEN)
        return clsi_network_node_mapped(c->body, w->g, x, W, &map, w->theta, w->first);
    return w->form == KNOWN ? clsi_network_node_of(c->body, w->g, x, W)
                            : clsi_network_expression(c->body, w->g, x, W);
}

static cls_node body_node(const clsi_convex *c, const writer *w, const cls_node *x) {
    cls_graph *g = w->g;
    const cls_node *theta = w->theta;
    size_t n = c->body->n_parameters, d = c->body->d;
    cls_node *W = clsi_calloc(n, sizeof *W), other[CLSI_FIELD_MAX_INPUTS];
    if (!W) return CLS_NO_NODE;
    for (size_t k = 0; k < n; k++) W[k] = cls_constant(g, 0);
    for (size_t k = 0; k < c->n_weights; k++)
        W[c->at[k]] = c->positive[k] ? positive_node(g, theta[k], 0) : theta[k];
    cls_node sum = write_body(c, w, x, W);
    if (c->even) {
        memcpy(other, x, d * sizeof *other);
        for (size_t k = 0; k < c->even; k++) other[c->free + k] = cls_neg(g, x[c->free + k]);
        sum = cls_add(g, sum, write_body(c, w, other, W));
        sum = cls_mul(g, cls_constant(g, 0.5), sum);
    }
    free(W);
    return sum;
}

/* |L^T y|^2/2; u (entries of L), or NULL. */
static cls_node square_node(const clsi_convex *c, cls_graph *g, const cls_node *y,
                            const cls_node *theta, const cls_node *u) {
    cls_node sum = cls_constant(g, 0);
    for (size_t j = 0; j < c->order; j++) {
        cls_node p = cls_constant(g, 0);
        for (size_t i = j; i < c->order; i++) {
            size_t k = i * (i + 1) / 2 + j;
            cls_node L = theta[c->triangle_at + k];
            if (u) L = cls_add(g, L, u[k]);
            if (i == j) L = positive_node(g, L, CLSI_CONVEX_DIAGONAL);
            p = cls_add(g, p, cls_mul(g, L, y[i]));
        }
        sum = cls_add(g, sum, cls_pow(g, p, cls_constant(g, 2)));
    }
    return cls_mul(g, cls_constant(g, 0.5), sum);
}

/* C (exp(alpha x) - 1)/alpha; u of C, or NULL. */
static cls_node gas_node(const clsi_convex *c, cls_graph *g, size_t j, cls_node x,
                         const cls_node *theta, const cls_node *u) {
    cls_node C = theta[c->gas_at + j], low = cls_constant(g, CLSI_CONVEX_COLD);
    cls_node range = cls_constant(g, CLSI_CONVEX_HOT - CLSI_CONVEX_COLD);
    cls_node alpha = cls_apply(g, CLS_FN_SIGMOID, theta[c->gas_at + c->thermal + j]);
    alpha = cls_add(g, low, cls_mul(g, range, alpha));
    C = positive_node(g, u ? cls_add(g, C, *u) : C, CLSI_CONVEX_SLOPE);
    cls_node rise = cls_apply(g, CLS_FN_EXPM1, cls_mul(g, alpha, x));
    return cls_mul(g, cls_div(g, C, alpha), rise);
}

static cls_node written(const clsi_field *f, const writer *w, const cls_node *x) {
    const clsi_convex *c = f->data;
    cls_graph *g = w->g;
    const cls_node *theta = w->theta;
    const cls_node *convex = x + c->free + c->even, *thermal = convex + c->convex,
                   *monotone = thermal + c->thermal;
    cls_node u[CLSI_CONVEX_PARTS], sum = body_node(c, w, x);
    if (sum == CLS_NO_NODE) return sum;
    for (size_t j = 0; j < c->n_parts; j++) {
        u[j] = write_part(c, w, j, x);
        if (j <= c->convex) sum = cls_add(g, sum, j ? cls_mul(g, convex[j - 1], u[j]) : u[j]);
    }
    if (c->order)
        sum = cls_add(g, sum,
                      square_node(c, g, x + c->first, theta,
                                  c->varying ? u + 1 + c->convex + c->thermal : NULL));
    for (size_t j = 0; j < c->thermal; j++)
        sum = cls_add(
            g, sum,
            gas_node(c, g, j, thermal[j], theta, c->n_parts ? u + 1 + c->convex + j : NULL));
    for (size_t j = 0; j < c->monotone; j++) {
        cls_node slope = positive_node(g, theta[c->slope_at + j], CLSI_CONVEX_SLOPE);
        sum = cls_add(g, sum, cls_mul(g, slope, monotone[j]));
    }
    return sum;
}

static cls_node expression(const clsi_field *f, cls_graph *g, const cls_node *x,
                           const cls_node *theta) {
    return written(f, &(writer){g, FORMULAS, theta, 0}, x);
}

static cls_node open_node(const clsi_field *f, cls_graph *g, const cls_node *x,
                          const cls_node *theta, size_t first) {
    return written(f, &(writer){g, OPEN, theta, first}, x);
}

static cls_node node(const clsi_field *f, cls_graph *g, const cls_node *x, const double *theta) {
    cls_node *constants = clsi_calloc(f->n_parameters, sizeof *constants), phi = CLS_NO_NODE;
    for (size_t k = 0; constants && k < f->n_parameters; k++)
        constants[k] = cls_constant(g, theta[k]);
    if (constants) phi = written(f, &(writer){g, KNOWN, constants, 0}, x);
    free(constants);
    return phi;
}

const clsi_field_kind clsi_field_convex = {
    .name = "convex",
    .doc =
        "what becomes of network(WIDTH, ..., convex): convex in what an energy must be convex in",
    .create = create,
    .clear = clear,
    .initialise = initialise,
    .evaluate = clsi_convex_evaluate,
    .rows = clsi_convex_rows,
    .reverse = clsi_convex_reverse,
    .scratch = clsi_convex_scratch,
    .expression = expression,
    .node = node,
    .open = open_node,
    .blocks = &clsi_convex_blocks,
};
