/* Networks as field nodes of a graph (expr/fields.h). */
#ifndef CLSI_NETWORK_NODE_H
#define CLSI_NETWORK_NODE_H

#include "expr/fields.h"
#include "field/network_kernels.h"

/* phi(x) as one node of the graph; theta (n_parameters) are numbers. `kernel` NULL: the machine's
 * best. */
cls_node clsi_network_node(const clsi_field *f, cls_graph *g, const cls_node *x,
                           const double *theta, const clsi_network_kernel *kernel);
/* The same with parameters that are being learned: symbols, numbered from `first` on. */
cls_node clsi_network_node_open(const clsi_field *f, cls_graph *g, const cls_node *x,
                                const cls_node *theta, size_t first);
/* Weights that are functions of fewer parameters: W[at[k]] is theta_k, or map(theta_k) where positive[k];
 * all others are zero. */
typedef struct clsi_weight_map {
    size_t n; /* 0: there is none */
    size_t *at;
    unsigned char *positive;
    double (*map)(double), (*slope)(double);
} clsi_weight_map;
/* The same with such weights: W (n_parameters) are nodes, theta (map->n) the symbols; map is copied. */
cls_node clsi_network_node_mapped(const clsi_field *f, cls_graph *g, const cls_node *x,
                                  const cls_node *W, const clsi_weight_map *map,
                                  const cls_node *theta, size_t first);
/* The same for parameters that are constants of the graph. */
cls_node clsi_network_node_of(const clsi_field *f, cls_graph *g, const cls_node *x,
                              const cls_node *theta);
/* The passes by the plain loops of emitted C, for tests: arguments as those of `run`. */
void clsi_network_node_plain(const clsi_graph_field *f, clsi_field_pass pass, const double *x,
                             double *own, double *u, double *w);
extern const clsi_graph_field_kind clsi_network_node_kind;
extern const char clsi_network_node_text[]; /* network_node.inc, for exported C */

#endif
