#include "learn/residual/shards.h"
#include "base/base.h"
#include <omp.h>
#include <stdlib.h>
#include <string.h>

enum { SHARDS = 16 }; /* at most */

/* ---- memory of the threads ---- */

static int make_ready(const clsi_rows_kind *kind, clsi_blocks *b) {
    size_t threads = (size_t)omp_get_max_threads();
    if (b->n >= threads) return 1;
    void **more = clsi_realloc(b->list, threads * sizeof *more);
    if (!more) return 0;
    memset(more + b->n, 0, (threads - b->n) * sizeof *more);
    b->list = more;
    b->n = threads;
    b->kind = kind;
    return 1;
}

static void *begin(const clsi_rows_kind *kind, clsi_blocks *memory, const clsi_residual *r,
                   const double *theta) {
    void **own = &memory->list[omp_get_thread_num()];
    if (!*own) *own = kind->open(r);
    if (*own) kind->begin(*own, r, theta);
    return *own;
}

void *clsi_block_alone(const clsi_rows_kind *kind, clsi_blocks *memory, const clsi_residual *r,
                       const double *theta) {
    return make_ready(kind, memory) ? begin(kind, memory, r, theta) : NULL;
}

void clsi_blocks_clear(clsi_blocks *b) {
    for (size_t i = 0; i < b->n; i++)
        if (b->list[i]) b->kind->close(b->list[i]);
    free(b->list);
    free(b->order);
    *b = (clsi_blocks){0};
}

/* ---- rows and gradients ---- */

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

cls_status clsi_sharded_rows(const clsi_rows_kind *kind, clsi_blocks *memory,
                             const clsi_residual *r, const double *theta, size_t first,
                             size_t count, const size_t *list, double *out, double *J) {
    size_t shards = shard_count(kind, r, count);
    int failed = 0;
    if (!make_ready(kind, memory)) return CLS_MEMORY;
#pragma omp parallel reduction(| : failed) if (is_long(kind, r, count))
    {
        void *block = begin(kind, memory, r, theta);
        failed = !block;
#pragma omp for schedule(dynamic)
        for (size_t s = 0; s < shards; s++)
            if (!failed)
                kind->rows(block, first, list, clsi_shard_begin(r, count, shards, s),
                           clsi_shard_begin(r, count, shards, s + 1), out, J);
    }
    return failed ? CLS_MEMORY : CLS_OK;
}

/* ---- a team ---- */

/* Each process its shards, then all shards to everybody. parts (shards, 1 + n_theta). */
static cls_status share_shards(const clsi_rows_kind *kind, clsi_blocks *memory,
                               const clsi_residual *r, const double *theta, size_t count,
                               const size_t *list, size_t shards, double *parts) {
    const cls_team *team = r->team;
    size_t size = r->unknowns->n_theta + 1;
    double share = 1 / (double)(count ? count : 1);
    int failed = 0;
#pragma omp parallel reduction(| : failed) if (is_long(kind, r, count))
    {
        void *block = begin(kind, memory, r, theta);
        failed = !block;
#pragma omp for schedule(dynamic)
        for (size_t s = 0; s < shards; s++) {
            size_t begin = clsi_shard_begin(r, count, shards, s);
            size_t end = clsi_shard_begin(r, count, shards, s + 1);
            if (failed || !team->mine(team->context, "gradient", s, shards)) continue;
            parts[s * size] = kind->gradient(block, list, begin, end, share);
            kind->add(block, parts + s * size + 1);
        }
    }
    if (failed) return CLS_MEMORY;
    return team->share(team->context, "gradient", NULL, shards, size * sizeof *parts, parts, 0,
                       NULL);
}

static cls_status shared_gradient(const clsi_rows_kind *kind, clsi_blocks *memory,
                                  const clsi_residual *r, const double *theta, size_t count,
                                  const size_t *list, double *loss, double *gradient) {
    size_t shards = shard_count(kind, r, count), P = r->unknowns->n_theta;
    double *parts = clsi_calloc(shards * (P + 1), sizeof *parts), total = 0;
    cls_status status = parts && make_ready(kind, memory) ? CLS_OK : CLS_MEMORY;
    if (status == CLS_OK) status = share_shards(kind, memory, r, theta, count, list, shards, parts);
    memset(gradient, 0, P * sizeof *gradient);
    for (size_t s = 0; s < shards && status == CLS_OK; s++) {
        const double *part = parts + s * (P + 1);
        total += part[0];
        for (size_t j = 0; j < P; j++) gradient[j] += part[1 + j];
    }
    *loss = 0.5 * (1 / (double)(count ? count : 1)) * total;
    free(parts);
    return status;
}

cls_status clsi_sharded_gradient(const clsi_rows_kind *kind, clsi_blocks *memory,
                                 const clsi_residual *r, const double *theta, size_t count,
                                 const size_t *list, double *loss, double *gradient) {
    if (r->team && r->team->ranks > 1)
        return shared_gradient(kind, memory, r, theta, count, list, loss, gradient);
    size_t shards = shard_count(kind, r, count);
    double share = 1 / (double)(count ? count : 1), total = 0;
    int failed = 0;
    if (!make_ready(kind, memory)) return CLS_MEMORY;
    memset(gradient, 0, r->unknowns->n_theta * sizeof *gradient);
#pragma omp parallel reduction(| : failed) if (is_long(kind, r, count))
    {
        void *block = begin(kind, memory, r, theta);
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
