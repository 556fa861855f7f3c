/* A process that names ranks that die, for launchers that do not (herald.c). */
#ifndef CLAUSIUS_MPI_HERALD_H
#define CLAUSIUS_MPI_HERALD_H

enum { HERALD_HOST = 128 };

typedef struct herald_rank {
    int rank, pid;
} herald_rank;

void herald_prepare(void); /* before MPI begins */
/* The n ranks of this machine; n = 0: somebody else tells. */
void herald_begin(const char *host, int n, const herald_rank *who);
void herald_end(void); /* ranks may end */

#endif
