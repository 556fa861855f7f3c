#include "learn/shards.h"
#include <omp.h>
#include <string.h>

enum { SHARDS = 16 }; /* at most */

static size_t shard_count(const clsi_rows_kind *kind, const clsi_residual *r, size_t count) {
    size_t n = 1;
    while (n < SHARDS && 2 * n * kind->windows * r->n_equations <= count) n *= 2;
    return n;
}

size_t clsi_shard_begin(const clsi_residual *r, size_t count, size_t shards, size_t s) {
    size_t at = count * s / shards;
    return s == shards ? count : at - at % r->n_equations;
}

/* On a busy machine threads may come late. */
static int is_long(const clsi_rows_kind *kind, const clsi_residual *r, size_t count) {
    return (double)count * (double)r->unknowns->n_theta > kind->longer;
}

cls_status clsi_sharded_rows(const clsi_rows_kind *kind, const clsi_residual *r,
                             const double *theta, size_t first, size_t count, const size_t *list,
                             double *out, double *J) {
    size_t shards = shard_count(kind, r, count);
    int failed = 0;
    if (!kind->ready(r)) return CLS_MEMORY;
#pragma omp parallel reduction(| : failed) if (is_long(kind, r, count))
    {
        void *block = kind->begin(r, theta);
        failed = !block;
#pragma omp for schedule(dynamic)
        for (size_t s = 0; s < shards; s++)
            if (!failed)
                kind->rows(block, first, list, clsi_shard_begin(r, count, shards, s),
                           clsi_shard_begin(r, count, shards, s + 1), out, J);
    }
    return failed ? CLS_MEMORY : CLS_OK;
}

cls_status clsi_sharded_gradient(const clsi_rows_kind *kind, const clsi_residual *r,
                                 const double *theta, size_t count, const size_t *list,
                                 double *loss, double *gradient) {
    size_t shards = shard_count(kind, r, count);
    double share = 1 / (double)(count ? count : 1), total = 0;
    int failed = 0;
    if (!kind->ready(r)) return CLS_MEMORY;
    memset(gradient, 0, r->unknowns->n_theta * sizeof *gradient);
#pragma omp parallel reduction(| : failed) if (is_long(kind, r, count))
    {
        void *block = kind->begin(r, theta);
        failed = !block;
#pragma omp for schedule(dynamic) ordered
        for (size_t s = 0; s < shards; s++) {
            size_t begin = clsi_shard_begin(r, count, shards, s);
            size_t end = clsi_shard_begin(r, count, shards, s + 1);
            double sum = failed ? 0 : kind->gradient(block, list, begin, end, share);
#pragma omp ordered
            if (!failed) {
                total += sum;
                kind->add(block, gradient);
            }
        }
    }
    *loss = 0.5 * share * total;
    return failed ? CLS_MEMORY : CLS_OK;
}
