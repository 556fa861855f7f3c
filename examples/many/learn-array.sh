#!/bin/bash
# Learning by one solve on a cluster without MPI: each task makes the rows of its share of the data.
#   sbatch --array=0-15 learn-array.sh
#   sbatch --dependency=singleton --job-name=learning learn-array.sh merge
#SBATCH --job-name=learning
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
#SBATCH --output=learning-%a.log
set -euo pipefail
if [[ ${1-} == merge ]]; then
    exec clausius merge learning-*.part -o learned.safetensors
fi
i=$SLURM_ARRAY_TASK_ID n=$SLURM_ARRAY_TASK_COUNT
exec clausius learn adiabatic-piston "${DATA:-train.csv}" --unknown "F1, F2" --field "chebyshev(4)" \
    --threads "${SLURM_CPUS_PER_TASK:-1}" --shard "$i/$n" --quiet -o "$(printf 'learning-%05d.part' "$i")"
