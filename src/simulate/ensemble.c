/* Ensembles: many starts, one compiled step, members shared out to threads.
 *
 * Members are advanced together, one in each lane (pack.c), where the step is one that lanes can
 * make, else one by one. Each has its own start and its own data, and lanes have the bits of single
 * motions: the result does not depend on how many threads there are or who does what. When members fail, the error of the
 * one with the lowest number is reported. */
#include "base/base.h"
#include "base/misuse.h"
#include "simulate/pack.h"
#include <omp.h>
#include <stdlib.h>

typedef struct job {
    const cls_system *s;
    size_t n_members, n_rows, columns;
    const double *starts;
    uint64_t n_steps, every;
    double *rows;
    int (*stop)(void *context);
    void *context;
    uint64_t first_member;
} job;

/* A caller who wants to stop is heard within so many steps of a member. */
enum { UNHEARD = 2048 };

static cls_status advance(const job *j, cls_simulator *sim, cls_error *error) {
    cls_status status = CLS_OK;
    for (uint64_t left = j->every; left && status == CLS_OK;) {
        uint64_t n = left < UNHEARD || !j->stop ? left : UNHEARD;
        if (j->stop && j->stop(j->context)) return clsi_fail(error, CLS_INTERRUPTED, "interrupted");
        status = cls_simulator_advance(sim, n, error);
        left -= n;
    }
    return status;
}

static cls_status run_member(const job *j, cls_simulator *sim, size_t member, cls_error *error) {
    double *row = j->rows + member * j->n_rows * j->columns;
    sim->member = j->first_member + member;
    cls_status status =
        cls_simulator_start(sim, 0, j->starts + member * cls_system_state_count(j->s), error);
    if (status == CLS_OK) status = cls_simulator_row(sim, row, error);
    for (size_t k = 1; k < j->n_rows && status == CLS_OK; k++) {
        status = advance(j, sim, error);
        if (status == CLS_OK) status = cls_simulator_row(sim, row + k * j->columns, error);
    }
    return status;
}

/* ---- in lanes ---- */

static void pack_rows(const job *j, clsi_pack *pack, size_t first, size_t n, size_t k) {
    for (size_t i = 0; i < n; i++)
        if (clsi_pack_status(pack, i, NULL) == CLS_OK)
            (void)!clsi_pack_row(pack, i, j->rows + ((first + i) * j->n_rows + k) * j->columns,
                                 NULL);
}

/* Members first .. first + n; *failed is the first of them that failed. */
static cls_status run_pack(const job *j, clsi_pack *pack, size_t first, size_t n, size_t *failed,
                           cls_error *error) {
    clsi_pack_start(pack, n, j->starts + first * cls_system_state_count(j->s));
    pack_rows(j, pack, first, n, 0);
    for (size_t k = 1; k < j->n_rows; k++) {
        for (uint64_t left = j->every; left;) {
            uint64_t some = left < UNHEARD ? left : UNHEARD;
            *failed = first;
            if (j->stop && j->stop(j->context))
                return clsi_fail(error, CLS_INTERRUPTED, "interrupted");
            clsi_pack_advance(pack, some);
            left -= some;
        }
        pack_rows(j, pack, first, n, k);
    }
    for (size_t i = 0; i < n; i++) {
        cls_status status = clsi_pack_status(pack, i, error);
        *failed = first + i;
        if (status != CLS_OK) return status;
    }
    return CLS_OK;
}

/* ---- all of them ---- */

/* What one thread works with: a pack, or a simulator. */
typedef struct worker {
    cls_simulator *sim;
    clsi_pack *pack;
} worker;

/* `size` members at a time. */
static cls_status run_all(const job *j, int threads, size_t size, const worker *workers,
                          cls_error *error) {
    size_t failed = j->n_members;
    cls_status status = CLS_OK;
    cls_error first = {0};
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (size_t at = 0; at < j->n_members; at += size) {
        cls_error mine = {0};
        const worker *w = &workers[omp_get_thread_num()];
        size_t member = at, n = j->n_members - at < size ? j->n_members - at : size;
        cls_status result; /* a start alone costs: of a million, nobody waits for the rest */
        if (j->stop && j->stop(j->context))
            result = clsi_fail(&mine, CLS_INTERRUPTED, "interrupted");
        else
            result = w->pack ? run_pack(j, w->pack, at, n, &member, &mine)
                             : run_member(j, w->sim, at, &mine);
        if (result == CLS_OK) continue;
#pragma omp critical(clsi_ensemble)
        if (member < failed) {
            failed = member;
            status = result;
            first = mine;
        }
    }
    if (status == CLS_OK) return CLS_OK;
    if (status == CLS_INTERRUPTED) return clsi_fail(error, status, "%s", first.message);
    return clsi_fail(error, status, "trajectory %llu: %s",
                     (unsigned long long)(j->first_member + failed), first.message);
}

/* Fewer members than this gain nothing by lanes, most of which would be empty. */
enum { LEAST = 4 };

static cls_status make_worker(clsi_stepper *sp, int lanes, worker *w, cls_error *error) {
    if (lanes) return clsi_pack_create(sp, &w->pack, error);
    return w->sim ? CLS_OK : clsi_simulator_attach(sp, &w->sim, error);
}

cls_status cls_ensemble_run(const cls_system *system, const cls_simulate_options *options,
                            size_t n_members, const double *starts, uint64_t n_steps,
                            uint64_t every, int threads, double *rows, cls_error *error) {
    NEED(error, system);
    if (every == 0 || n_steps % every != 0)
        return clsi_fail(error, CLS_USAGE,
                         "%llu steps cannot be divided into rows every %llu steps",
                         (unsigned long long)n_steps, (unsigned long long)every);
    if (threads <= 0) threads = omp_get_max_threads();
    cls_simulator *first;
    cls_status status = cls_simulator_create(system, options, &first, error);
    if (status != CLS_OK) return status;
    int lanes = n_members >= LEAST && clsi_pack_applies(first->stepper);
    size_t size = lanes ? clsi_pack_lanes(first->stepper, n_members, threads) : 1;
    size_t most = (n_members + size - 1) / size; /* whatever OMP_NUM_THREADS says */
    if ((size_t)threads > most) threads = most ? (int)most : 1;
    worker *workers = clsi_calloc((size_t)threads, sizeof *workers);
    if (!workers) {
        cls_simulator_free(&first);
        return clsi_no_memory(error);
    }
    workers[0].sim = first;
    for (int i = 0; i < threads && status == CLS_OK; i++)
        status = make_worker(first->stepper, lanes, &workers[i], error);
    job j = {system,
             n_members,
             (size_t)(n_steps / every) + 1,
             cls_system_column_count(system),
             starts,
             n_steps,
             every,
             rows,
             first->stepper->options.stop,
             first->stepper->options.context,
             first->stepper->options.first_member};
    if (status == CLS_OK) status = run_all(&j, threads, size, workers, error);
    for (int i = threads; i-- > 0;) {
        clsi_pack_free(&workers[i].pack);
        cls_simulator_free(&workers[i].sim);
    }
    free(workers);
    return status;
}
