#!/bin/bash
# The same with MPI: sbatch ranks.sh. Ranks across machines, threads within; the bytes do not depend on either.
#SBATCH --job-name=ranks
#SBATCH --ntasks=8
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
set -euo pipefail
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-1}
exec mpirun -n "${SLURM_NTASKS:-8}" clausius-mpi learn adiabatic-piston "${DATA:-train.csv}" --unknown "G, F1, F2" \
    --field "network(32, 32)" --optimizer lbfgs --resume -o learned.safetensors
