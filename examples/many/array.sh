#!/bin/bash
# An ensemble on a cluster without MPI: a Slurm array, one shard each, merged by a second job.
#   sbatch --array=0-15 array.sh
#   sbatch --dependency=singleton --job-name=ensemble array.sh merge
# Without Slurm:  for i in 0 1 2 3; do SLURM_ARRAY_TASK_ID=$i SLURM_ARRAY_TASK_COUNT=4 ./array.sh & done; wait; ./array.sh merge
#SBATCH --job-name=ensemble
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
#SBATCH --output=ensemble-%a.log
set -euo pipefail
samples=${SAMPLES:-100000} steps=${STEPS:-10000}
if [[ ${1-} == merge ]]; then
    exec clausius merge ensemble-part-*.csv -o ensemble.csv
fi
i=$SLURM_ARRAY_TASK_ID n=$SLURM_ARRAY_TASK_COUNT
exec clausius simulate adiabatic-piston --samples "$samples" --sample "x~U(-1,1), v.x~U(-1,1)" --seed 7 \
    --steps "$steps" --every "$steps" --threads "${SLURM_CPUS_PER_TASK:-1}" \
    --shard "$i/$n" --quiet -o "$(printf 'ensemble-part-%05d.csv' "$i")"
