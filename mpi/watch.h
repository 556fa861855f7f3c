/* Watching over the other ranks of a machine. */
#ifndef CLAUSIUS_MPI_WATCH_H
#define CLAUSIUS_MPI_WATCH_H

void mpi_watch_prepare(void); /* before MPI begins */
/* Begins to watch, all ranks together. */
void mpi_watch_begin(int rank, int size);
void mpi_watch_let_go(void); /* this rank ends the job */
/* From now on ranks may end; all ranks together. */
void mpi_watch_end(void);

#endif
