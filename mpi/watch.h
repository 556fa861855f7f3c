/* Watching over the other ranks of a machine. */
#ifndef CLAUSIUS_MPI_WATCH_H
#define CLAUSIUS_MPI_WATCH_H

/* Begins to watch, all ranks together; quiet: nothing is said before something happens. */
void mpi_watch_begin(int rank, int size, int quiet);
/* From now on ranks may end; all ranks together. */
void mpi_watch_end(void);

#endif
