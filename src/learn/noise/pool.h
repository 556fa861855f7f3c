/* learn, inside: rows of entropies that are summed over long times (pool.c). */
#ifndef CLSI_LEARN_POOL_H
#define CLSI_LEARN_POOL_H

#include "learn/learn.h"
#include "solve/lsq.h"

typedef struct clsi_pool clsi_pool;

/* Has this residual rows of entropies that are unknown functions of temperatures? */
int clsi_pool_serves(const clsi_residual *r);
cls_status clsi_pool_create(const clsi_residual *r, clsi_pool **out, cls_error *error);
/* Rows (count windows from `first` on) give those of entropies away. */
void clsi_pool_take(clsi_pool *k, size_t first, size_t count, double *A, double *b);
/* The sums, as rows. */
cls_status clsi_pool_add(clsi_pool *k, clsi_lsq *q, cls_error *error);
void clsi_pool_free(clsi_pool **pool);

#endif
