/* clausius-mpi: the same program as ranks of an MPI job, `mpirun -n 8 clausius-mpi learn ...`.
 *
 * Every rank runs the same command line and takes the same decisions; what is shared out (members of
 * ensembles, rows of a solve, shards of gradients) comes together in the order of its parts (team.h),
 * never by a reduction of MPI, whose order of summation is its own business. Rank 0 writes and speaks.
 *
 * A rank that fails tells the others at the next exchange, and all end with its message. One that
 * fails where the others do not expect it, or that is killed, ends the job: the first by MPI_Abort
 * below, the second by the launcher, after its neighbour has named it (watch.c). */
#include "cli/cli.h"
#include "watch.h"
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct ranks {
    int rank, size;
} ranks;

static int mine(void *context, const char *what, size_t part, size_t n) {
    const ranks *r = context;
    (void)what;
    return cls_team_owns((size_t)r->rank, (size_t)r->size, part, n);
}

/* Counts of MPI are ints: what is larger goes in pieces. */
enum { MOST = 1 << 30 };

static void send_large(const ranks *r, size_t n, size_t bytes, char *parts) {
    for (int from = 0; from < r->size; from++) {
        size_t at = cls_team_first((size_t)from, (size_t)r->size, n) * bytes;
        size_t end = cls_team_first((size_t)from + 1, (size_t)r->size, n) * bytes;
        for (; at < end; at += MOST) {
            int length = end - at < MOST ? (int)(end - at) : MOST;
            MPI_Bcast(parts + at, length, MPI_BYTE, from, MPI_COMM_WORLD);
        }
    }
}

static cls_status send_small(const ranks *r, size_t n, size_t bytes, char *parts, int only_first,
                             cls_error *error) {
    int *counts = calloc((size_t)r->size, 2 * sizeof *counts), *places = counts + r->size;
    if (!counts) return cli_no_memory(error);
    for (int k = 0; k < r->size; k++) {
        size_t first = cls_team_first((size_t)k, (size_t)r->size, n);
        places[k] = (int)(first * bytes);
        counts[k] = (int)((cls_team_first((size_t)k + 1, (size_t)r->size, n) - first) * bytes);
    }
    if (!only_first)
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, parts, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    else if (r->rank == 0)
        MPI_Gatherv(MPI_IN_PLACE, 0, MPI_BYTE, parts, counts, places, MPI_BYTE, 0, MPI_COMM_WORLD);
    else
        MPI_Gatherv(parts + places[r->rank], counts[r->rank], MPI_BYTE, NULL, NULL, NULL, MPI_BYTE,
                    0, MPI_COMM_WORLD);
    free(counts);
    return CLS_OK;
}

static cls_status share(void *context, const char *what, const char *identity, size_t n, size_t bytes,
                        void *parts, int only_first, cls_error *error) {
    const ranks *r = context;
    (void)what, (void)identity;
    if (n == 0 || bytes == 0) return CLS_OK;
    if ((double)n * (double)bytes <= MOST) return send_small(r, n, bytes, parts, only_first, error);
    send_large(r, n, bytes, parts);
    return CLS_OK;
}

/* Do all ranks come to the end? One that failed alone waits for nobody. */
static int all_arrive(void) {
    enum { SECONDS = 5 };
    MPI_Request request;
    int there = 0;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (int k = 0; k < SECONDS * 1000 && !there; k++) {
        MPI_Test(&request, &there, MPI_STATUS_IGNORE);
        if (!there) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    return there;
}

int main(int argc, char **argv) {
    ranks r;
    int level;
    mpi_watch_prepare();
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &r.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &r.size);
    cls_team team = {.size = sizeof team,
                     .rank = (size_t)r.rank,
                     .ranks = (size_t)r.size,
                     .mine = mine,
                     .share = share,
                     .context = &r};
    cli_set_team(&team);
    mpi_watch_begin(r.rank, r.size);
    int code = cli_main(argc, argv);
    if (code > 1 && !all_arrive()) {
        fprintf(stderr, "clausius-mpi: rank %d ended alone with code %d; the others are stopped\n",
                r.rank, code);
        mpi_watch_let_go();
        MPI_Abort(MPI_COMM_WORLD, code);
    }
    mpi_watch_end();
    MPI_Finalize();
    return code;
}
