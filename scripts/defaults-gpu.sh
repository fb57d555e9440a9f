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
sweep train.db q4k_matmul f16 8x1024x4096 32x8192x2048 128x2048x8192 512x11008x4096 2048x4096x4096
sweep train.db q4k_matmul q8 32x1024x4096 128x11008x4096
sweep train.db q4k_matvec q8 1x1024x4096 1x2048x2048 1x8192x8192
sweep train.db softmax f32 16x8192 64x1024 1x4096
sweep train.db rmsnorm f32 32x8192 2048x1024
sweep train.db matmul_f16 f16 512x4096x4096 1024x1024x1024 128x8192x1024
sweep held.db q4k_matmul f16 16x5120x5120 64x4096x11008 256x4096x4096 1024x2048x2048
sweep held.db q4k_matmul q8 16x4096x4096 64x5120x5120
sweep held.db q4k_matvec q8 1x5120x5120 1x4096x11008 1x28672x4096
sweep held.db softmax f32 128x4096 1024x2048 8x32000
sweep held.db rmsnorm f32 256x4096 8x5120
sweep held.db matmul_f16 f16 2048x2048x2048 256x4096x1024

echo "what is missing"
"$tcbtune" defaults "$known"/*.db "$out/train.db" --judge "$out/held.db" --arch "$arch" \
	--fill --device "$device" --budget "$fill_budget" --db "$out/filled.db" >>"$out/log.txt" 2>&1
date >>"$out/log.txt"

"$tcbtune" defaults "$known"/*.db "$out/train.db" "$out/filled.db" --judge "$out/held.db" --arch "$arch" \
	--out "$out/report.txt"
grep -E '^[a-z]|the rule|rules without|own default' "$out/report.txt"
