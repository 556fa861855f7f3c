/* Formulas that watch a motion: how large the terms of its laws are, which round-off is compared with, and what
 * corrections are made with. All over the state and t; they are built on the graph of the system, and failures stay
 * in it. */
#ifndef CLSI_MEASURES_H
#define CLSI_MEASURES_H

#include "system/system.h"

cls_node clsi_absolute(cls_graph *g, cls_node a);
/* Room for the terms of a sum (a graph that has failed when there is none), and the sum, which frees it. */
cls_node *clsi_open_terms(cls_graph *g, size_t n);
cls_node clsi_close_terms(cls_graph *g, size_t n, cls_node *list);
/* The sum of the absolute values of the terms of a sum; the largest of the sum, its partial sums and its terms. */
cls_node clsi_size_of_terms(cls_graph *g, cls_node sum);
cls_node clsi_largest_of_terms(cls_graph *g, cls_node sum);
/* sum |z_i da/dz_i|; the same of the energy. */
cls_node clsi_sizes_of_slopes(cls_graph *g, cls_node a, size_t n, const cls_node *z);
cls_node clsi_energy_slopes(const cls_system *s);
/* v . K^T dE/dq, by which scaling the forces that have a potential changes the energy. */
cls_status clsi_power_of_potential(const cls_system *s, cls_node *out);
/* Where the entropy is a formula of internal energies: the mean of 1/T; the sum of 1/T of the reservoirs. */
cls_node clsi_coldness(const cls_system *s);
cls_node clsi_coldness_outside(const cls_system *s);

#endif
