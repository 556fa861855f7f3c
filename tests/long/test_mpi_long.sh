#!/usr/bin/env bash
# All of tests/cli/test_mpi.sh on 1, 2, 3, 4 and 8 ranks.
export MPI_COUNTS="1 2 3 4 8"
exec "$(dirname "$0")/../cli/test_mpi.sh" "$@"
