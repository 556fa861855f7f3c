/* A rank that dies is named, whatever the launcher says about it.
 *
 * Each rank watches the next one on the same machine (in a circle) through a pidfd, which the kernel
 * makes readable when that process ends: no polling, no traffic. When it ends before its time the
 * watcher says which rank it was. Launchers end the job then; where one does not within two
 * seconds, the watcher does. MPICH's launcher leaves no time to speak: there a process of its own does it
 * (herald.c). Without pidfds (Linux before 5.3) nobody watches, and the launcher's
 * message is all there is. */
#include "watch.h"
#include "herald.h"
#include <mpi.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef struct place {
    char host[MPI_MAX_PROCESSOR_NAME];
    int pid;
} place;

static struct { /* of this process: there is one watch */
    atomic_int ending;
    int file, rank;
    place who;
} watch = {.file = -1};

extern long syscall(long number, ...);

static void *look(void *unused) {
    struct pollfd gone = {.fd = watch.file, .events = POLLIN};
    (void)unused;
    while (poll(&gone, 1, -1) < 0) continue;
    if (atomic_load(&watch.ending)) return NULL;
#ifndef MPICH_VERSION
    char line[MPI_MAX_PROCESSOR_NAME + 128];
    int n = snprintf(line, sizeof line,
                     "clausius-mpi: rank %d (process %d on %s) died; the job ends, --resume goes on "
                     "from its last checkpoint\n",
                     watch.rank, watch.who.pid, watch.who.host);
    if (write(STDERR_FILENO, line, (size_t)n) < 0) return NULL;
#endif
    nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    if (!atomic_load(&watch.ending)) MPI_Abort(MPI_COMM_WORLD, 5);
    return NULL;
}

/* The next rank on this machine, or this one. */
static int next_here(int rank, int size, const place *all) {
    for (int k = 1; k < size; k++)
        if (!strcmp(all[(rank + k) % size].host, all[rank].host)) return (rank + k) % size;
    return rank;
}

/* The first rank here tells the herald of all. */
static void tell_herald(int rank, int size, const place *all) {
    int n = 0, first = 1;
    herald_rank *who = calloc((size_t)size, sizeof *who);
    for (int k = 0; k < size && who; k++) {
        if (strcmp(all[k].host, all[rank].host) != 0) continue;
        first &= k >= rank;
        who[n++] = (herald_rank){k, all[k].pid};
    }
    herald_begin(all[rank].host, first && n > 1 ? n : 0, who);
    free(who);
}

void mpi_watch_prepare(void) {
#ifdef MPICH_VERSION /* others let the ranks speak */
    herald_prepare();
#endif
}

void mpi_watch_begin(int rank, int size) {
    place *all = calloc((size_t)size, sizeof *all);
    int length;
    if (!all) MPI_Abort(MPI_COMM_WORLD, 7);
    MPI_Get_processor_name(all[rank].host, &length);
    all[rank].pid = (int)getpid();
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_BYTE, all, (int)sizeof *all, MPI_BYTE, MPI_COMM_WORLD);
    watch.rank = next_here(rank, size, all);
    watch.who = all[watch.rank];
    tell_herald(rank, size, all);
    free(all);
#ifdef SYS_pidfd_open
    pthread_t thread;
    if (watch.rank == rank) return;
    watch.file = (int)syscall(SYS_pidfd_open, watch.who.pid, 0);
    if (watch.file >= 0 && !pthread_create(&thread, NULL, look, NULL)) pthread_detach(thread);
#endif
}

void mpi_watch_let_go(void) {
    atomic_store(&watch.ending, 1);
    herald_end();
}

void mpi_watch_end(void) {
    mpi_watch_let_go();
    MPI_Barrier(MPI_COMM_WORLD); /* nobody ends before everybody knows */
}
