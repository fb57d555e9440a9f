#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Sweeps in shards on a Slurm cluster: a job array, and a job after it that
# merges the shards and holds the finals.
#   submit.sh FOLDER SHARDS OPTION...          all shards
#   submit.sh -a 3 FOLDER SHARDS OPTION...     shard 3 again, of those of before (sbatch --array)
# FOLDER is on a disk that all nodes see; OPTIONs are those of tcbtune sweep, as in
#   submit.sh /shared/q4k 4 --op q4k_matvec --shape 1x4096x4096 --budget 10m
# Partition, account and time limit are taken from SBATCH_PARTITION, SBATCH_ACCOUNT
# and SBATCH_TIMELIMIT.  All nodes must be of one kind.
set -eu

tasks=""
if [ "${1:-}" = -a ] && [ $# -gt 1 ]; then
	tasks=$2
	shift 2
fi
if [ $# -lt 3 ]; then
	echo "usage: $0 [-a TASKS] FOLDER SHARDS OPTION..." >&2
	exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
export TCBTUNE_SHARDS="$2"
shift 2
export TCBTUNE_SWEEP="$*"
mkdir -p "$folder"

shards=$(sbatch --parsable --chdir="$folder" --array="${tasks:-1-$TCBTUNE_SHARDS}" "$here/shard.sbatch")
# afterany: a shard that failed is named by the finals.
finals=$(sbatch --parsable --chdir="$folder" --dependency="afterany:$shards" "$here/finals.sbatch")
echo "shards: job $shards; finals: job $finals; see $folder/finals.log"
