/* What a network is: read from "32, 32, tanh", laid out in theta, started, written as an
 * expression. Its passes are in network.c. */
#include "field/network_kernels.h"
#include "field/network_tables.h"
#include "base/base.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    cls_function function;
    double gain; /* that keeps the size of activations from layer to layer */
} activations[CLSI_ACTIVATION_COUNT] = {
    [CLSI_ACTIVATION_TANH] = {"tanh", CLS_FN_TANH, 5.0 / 3},
    [CLSI_ACTIVATION_SOFTPLUS] = {"softplus", CLS_FN_SOFTPLUS, 1.4142135623730951},
    [CLSI_ACTIVATION_SIN] = {"sin", CLS_FN_SIN, 1.5},
};

cls_function clsi_network_function(clsi_activation activation) {
    return activations[activation].function;
}

static const clsi_network_kernel *const kernels[] = {&clsi_network_avx512, &clsi_network_avx2,
                                                     &clsi_network_portable};

size_t clsi_network_kernel_count(void) {
    return sizeof kernels / sizeof *kernels;
}

const clsi_network_kernel *clsi_network_kernel_at(size_t i) {
    return kernels[i];
}

/* ---- reading "32, 32, tanh" ---- */

static cls_status read_activation(clsi_network *net, const char *word, size_t length,
                                  cls_error *error) {
    const char *names[CLSI_ACTIVATION_COUNT];
    char text[32];
    for (size_t i = 0; i < CLSI_ACTIVATION_COUNT; i++) {
        names[i] = activations[i].name;
        if (strlen(names[i]) != length || strncmp(names[i], word, length) != 0) continue;
        net->activation = (clsi_activation)i;
        return CLS_OK;
    }
    snprintf(text, sizeof text, "%.*s", (int)(length < 31 ? length : 31), word);
    const char *near = cls_nearest_word(text, CLSI_ACTIVATION_COUNT, names);
    return clsi_fail(error, CLS_USAGE,
                     "network: \"%s\" is neither a width, an activation (tanh, softplus, sin) nor "
                     "a word like convex or plain%s%s%s",
                     text, near ? "; did you mean " : "", near ? near : "", near ? "?" : "");
}

static cls_status read_width(clsi_network *net, const char *word, size_t length, cls_error *error) {
    size_t width = 0;
    for (size_t i = 0; i < length; i++) {
        if (!isdigit((unsigned char)word[i])) return read_activation(net, word, length, error);
        if (width <= CLSI_NETWORK_MAX_WIDTH) width = 10 * width + (size_t)(word[i] - '0');
    }
    if (width < 1 || width > CLSI_NETWORK_MAX_WIDTH)
        return clsi_fail(error, CLS_USAGE, "network: a width must be 1 to %d, not %.*s",
                         CLSI_NETWORK_MAX_WIDTH, (int)(length < 31 ? length : 31), word);
    if (net->n_layers == CLSI_FIELD_MAX_LAYERS)
        return clsi_fail(error, CLS_USAGE, "network: at most %d layers", CLSI_FIELD_MAX_LAYERS);
    net->layer[net->n_layers++].out = width;
    return CLS_OK;
}

/* Words between commas; an activation must be the last. */
static cls_status read_arguments(clsi_network *net, const char *p, cls_error *error) {
    for (int named = 0;; p++) {
        p += strspn(p, " \t");
        size_t length = strcspn(p, ","), end = length;
        while (end > 0 && isspace((unsigned char)p[end - 1])) end--;
        if (end == 0 || named)
            return clsi_fail(error, CLS_USAGE,
                             "network: expected widths and at the end an activation, as in "
                             "network(32, 32) or network(32, 32, tanh)");
        named = !isdigit((unsigned char)*p);
        cls_status status =
            named ? read_activation(net, p, end, error) : read_width(net, p, end, error);
        if (status != CLS_OK) return status;
        p += length;
        if (!*p) break;
    }
    if (net->n_layers > 0) return CLS_OK;
    return clsi_fail(error, CLS_USAGE, "network: give at least one width, as in network(32, 32)");
}

cls_status clsi_network_create(clsi_field *f, const char *arguments, cls_error *error) {
    clsi_network net = {.activation = CLSI_ACTIVATION_TANH};
    cls_status status = read_arguments(&net, arguments, error);
    if (status != CLS_OK) return status;
    net.layer[net.n_layers++].out = 1;
    size_t at = 0, in = f->d;
    for (size_t l = 0; l < net.n_layers; l++) {
        clsi_network_shape *w = &net.layer[l];
        w->in = in;
        w->weight = at;
        w->bias = at + w->out * w->in;
        at = w->bias + (l + 1 < net.n_layers ? w->out : 0);
        in = w->out;
    }
    size_t best = 0;
    while (!kernels[best]->supported()) best++;
    net.kernel = kernels[best];
    f->data = clsi_malloc(sizeof net);
    if (!f->data) return clsi_no_memory(error);
    memcpy(f->data, &net, sizeof net);
    f->n_parameters = at;
    return CLS_OK;
}

/* ---- starting values ---- */

/* Gram-Schmidt, twice for round-off, on `count` vectors of `length` elements in place: vector i
 * begins at i*next, its elements are `step` apart. Then each has the given length. */
static void orthogonalise(double *W, size_t count, size_t length, size_t next, size_t step,
                          double size) {
    for (size_t i = 0; i < count; i++) {
        double *v = W + i * next, norm = 0;
        for (size_t j = 0; j < 2 * i; j++) {
            const double *u = W + (j % i) * next;
            double dot = 0;
            for (size_t k = 0; k < length; k++) dot += u[k * step] * v[k * step];
            for (size_t k = 0; k < length; k++) v[k * step] -= dot * u[k * step];
        }
        for (size_t k = 0; k < length; k++) norm += v[k * step] * v[k * step];
        for (size_t k = 0; k < length && norm > 0; k++) v[k * step] /= sqrt(norm);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < length; k++) W[i * next + k * step] *= size;
}

/* Orthogonal weights (Saxe, McClelland, Ganguli 2014), scaled so that a row has length `gain` on
 * average, as it would have with variance gain^2/in; biases zero. `unscaled` leaves them orthogonal
 * as they are, as papers have it: of one input the first weights are then small, 1/sqrt(width). */
void clsi_network_initialise(const clsi_field *f, cls_random *random, double *theta) {
    const clsi_network *net = f->data;
    for (size_t l = 0; l < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        double *W = theta + w->weight, gain = activations[net->activation].gain;
        int last = l + 1 == net->n_layers, as_is = last || clsi_field_word(f->spec, "unscaled");
        for (size_t k = 0; k < w->out * w->in; k++) W[k] = cls_random_normal(random);
        if (w->out <= w->in)
            orthogonalise(W, w->out, w->in, w->in, 1, as_is ? 1 : gain);
        else
            orthogonalise(W, w->in, w->out, 1, w->in,
                          as_is ? 1 : gain * sqrt((double)w->out / (double)w->in));
        for (size_t k = 0; !last && k < w->out; k++) theta[w->bias + k] = 0;
    }
}

/* ---- as an expression ---- */

static cls_node neuron(cls_graph *g, size_t n, const cls_node *w, const cls_node *a,
                       cls_node start) {
    for (size_t k = 0; k < n; k++) start = cls_add(g, start, cls_mul(g, w[k], a[k]));
    return start;
}

cls_node clsi_network_expression(const clsi_field *f, cls_graph *g, const cls_node *x,
                                 const cls_node *theta) {
    const clsi_network *net = f->data;
    cls_node a[CLSI_NETWORK_MAX_WIDTH], z[CLSI_NETWORK_MAX_WIDTH];
    memcpy(a, x, f->d * sizeof *a);
    for (size_t l = 0; l < net->n_layers; l++) {
        const clsi_network_shape *w = &net->layer[l];
        int last = l + 1 == net->n_layers;
        for (size_t i = 0; i < w->out; i++) {
            cls_node b = last ? cls_constant(g, 0) : theta[w->bias + i];
            z[i] = neuron(g, w->in, theta + w->weight + i * w->in, a, b);
        }
        for (size_t i = 0; i < w->out; i++)
            a[i] = last ? z[i] : cls_apply(g, activations[net->activation].function, z[i]);
    }
    return a[0];
}
