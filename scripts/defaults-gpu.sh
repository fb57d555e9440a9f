#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Default rules of a GPU, filled and judged on it, in eight minutes of an H200:
#   scripts/defaults-gpu.sh TCBTUNE OUT
# 1. short sweeps of shapes that results/ does not have, to make rules of;
# 2. sweeps of others that rules are judged on and never made of (held.db);
# 3. tcbtune defaults --fill: the rules' geometries and each shape's best at all
#    shapes, those to judge included;
# 4. OUT/report.txt: rules, losses where they were made, left out and held out.
# Then: scripts/default-tables.sh TCBTUNE OUT/train.db OUT/filled.db writes the
# table; what is held out is not in filled.db's shapes that are learned from only
# as long as OUT/held.db is given with --judge.
set -eu
tcbtune=$(realpath "${1:?the program}")
mkdir -p "${2:?the folder for results}"
out=$(realpath "$2")
root=$(cd "$(dirname "$0")/.." && pwd)
device=${DEVICE:-cuda:0}
arch=${ARCH:-sm_90}
budget=${BUDGET:-7s}      # of a sweep
fill_budget=${FILL:-150s} # of all that is filled

sweep() { # database op contract shape...
	db=$1 op=$2 contract=$3
	shift 3
	for shape in "$@"; do
		"$tcbtune" sweep --device "$device" --op "$op" --contract "$contract" --shape "$shape" \
			--budget "$budget" --counters none --finalists 4 --db "$out/$db" >>"$out/log.txt" 2>&1 ||
			echo "failed: $op $contract $shape" | tee -a "$out/log.txt"
	done
}

known=$out/known
mkdir -p "$known"
(cd "$root/results" && find . -path '*h200*' \( -name '*.db.xz' -o -name '*.db.gz' \) | LC_ALL=C sort |
	while read -r packed; do
		name=$(echo "${packed#./}" | tr / _)
		case $packed in
		*.xz) xz -dkc "$packed" >"$known/${name%.xz}" ;;
		*) gzip -dkc "$packed" >"$known/${name%.gz}" ;;
		esac
	done)

echo "sweeps to learn from, then to judge on"
date >>"$out/log.txt"
sweep train.db q4k_matmul f16 64x4096x4096 48x5120x5120 192x4096x4096
sweep train.db q4k_matmul q8 16x5120x5120 24x8192x8192 64x4096x11008
sweep train.db q4k_matvec q8 1x5120x13824 1x11008x4096 1x2560x9728
sweep train.db softmax f32 256x4096 32x2048 64x12288
sweep train.db rmsnorm f32 128x5120 16x2048
sweep train.db matmul_f16 f16 2048x4096x4096 512x512x2048 1536x1536x1536
sweep held.db q4k_matmul f16 12x4096x4096 24x6144x4096 96x4096x4096
sweep held.db q4k_matmul q8 8x5120x5120 48x4096x4096
sweep held.db q4k_matvec q8 1x6144x4096 1x4096x12288 1x13824x5120
sweep held.db softmax f32 96x4096 512x2048 24x16384
sweep held.db rmsnorm f32 64x4096 512x5120
sweep held.db matmul_f16 f16 1024x4096x1024 3072x3072x3072 384x2048x4096

# With many tokens a candidate takes longer.
budget=${BUDGET_LONG:-15s}
sweep train.db q4k_matmul f16 256x11008x4096 1024x4096x4096
sweep held.db q4k_matmul f16 384x5120x5120 768x4096x4096

echo "what is missing"
"$tcbtune" defaults "$known"/*.db "$out/train.db" --judge "$out/held.db" --arch "$arch" \
	--fill --device "$device" --budget "$fill_budget" --db "$out/filled.db" >>"$out/log.txt" 2>&1
date >>"$out/log.txt"

"$tcbtune" defaults "$known"/*.db "$out/train.db" "$out/filled.db" --judge "$out/held.db" --arch "$arch" \
	--out "$out/report.txt"
grep -E '^[a-z]|the rule|rules without|own default' "$out/report.txt"
