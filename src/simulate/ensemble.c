/* Ensembles: many starts, one compiled step, members shared out to threads.
 *
 * Each member is computed by one thread from its own start with its own data, so the result does
 * not depend on how many threads there are or who does what. When members fail, the error of the
 * one with the lowest number is reported. */
#include "base/base.h"
#include "simulate/simulator.h"
#include <omp.h>
#include <stdlib.h>

typedef struct job {
    const cls_system *s;
    size_t n_members, n_rows, columns;
    const double *starts;
    uint64_t n_steps, every;
    double *rows;
    int (*stop)(void *owner);
    void *owner;
    uint64_t first_member;
} job;

/* A caller who wants to stop is heard within so many steps of a member. */
enum { UNHEARD = 2048 };

static cls_status advance(const job *j, cls_simulator *sim, cls_error *error) {
    cls_status status = CLS_OK;
    for (uint64_t left = j->every; left && status == CLS_OK;) {
        uint64_t n = left < UNHEARD || !j->stop ? left : UNHEARD;
        if (j->stop && j->stop(j->owner)) return clsi_fail(error, CLS_INTERRUPTED, "interrupted");
        status = cls_simulator_advance(sim, n, error);
        left -= n;
    }
    return status;
}

static cls_status run_member(const job *j, cls_simulator *sim, size_t member, cls_error *error) {
    double *row = j->rows + member * j->n_rows * j->columns;
    cls_status status =
        cls_simulator_start(sim, 0, j->starts + member * cls_system_state_count(j->s), error);
    if (status == CLS_OK) status = cls_simulator_row(sim, row, error);
    for (size_t k = 1; k < j->n_rows && status == CLS_OK; k++) {
        status = advance(j, sim, error);
        if (status == CLS_OK) status = cls_simulator_row(sim, row + k * j->columns, error);
    }
    return status;
}

static cls_status run_all(const job *j, int threads, cls_simulator **sims, cls_error *error) {
    size_t failed = j->n_members;
    cls_status status = CLS_OK;
    cls_error first = {0};
#pragma omp parallel for num_threads(threads) schedule(dynamic)
    for (size_t member = 0; member < j->n_members; member++) {
        cls_error mine = {0};
        cls_status result = run_member(j, sims[omp_get_thread_num()], member, &mine);
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

cls_status cls_ensemble_run(const cls_system *system, const cls_simulate_options *options,
                            size_t n_members, const double *starts, uint64_t n_steps,
                            uint64_t every, int threads, double *rows, cls_error *error) {
    if (every == 0 || n_steps % every != 0)
        return clsi_fail(error, CLS_USAGE,
                         "%llu steps cannot be divided into rows every %llu steps",
                         (unsigned long long)n_steps, (unsigned long long)every);
    if (threads <= 0) threads = omp_get_max_threads();
    cls_simulator *first;
    cls_status status = cls_simulator_create(system, options, &first, error);
    if (status != CLS_OK) return status;
    cls_simulator **sims = clsi_calloc((size_t)threads, sizeof *sims);
    if (!sims) {
        cls_simulator_free(&first);
        return clsi_no_memory(error);
    }
    sims[0] = first;
    for (int i = 1; i < threads && status == CLS_OK; i++)
        status = clsi_simulator_attach(first->stepper, &sims[i], error);
    job j = {system,
             n_members,
             (size_t)(n_steps / every) + 1,
             cls_system_column_count(system),
             starts,
             n_steps,
             every,
             rows,
             first->stepper->options.stop,
             first->stepper->options.owner,
             first->stepper->options.first_member};
    if (status == CLS_OK) status = run_all(&j, threads, sims, error);
    for (int i = threads; i-- > 0;) cls_simulator_free(&sims[i]);
    free(sims);
    return status;
}
