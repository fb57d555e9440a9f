#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every kind of operation on this machine's CPU, with one thread:
#   scripts/measure-cpu-ops.sh OUT [BUDGET]
# builds, sweeps the shapes below (BUDGET each, default 15s), then benches each
# against its default geometry, the machine's limits, and the best geometries of
# the op's other shapes carried over to it.  Leaves machine, commit, commands
# and output in OUT/log.txt, the tables in OUT/report.md and the database in
# OUT/tuning.db.xz.  Needs xz.  About fifteen minutes; let nothing else run
# meanwhile.
set -eu
[ $# -ge 1 ] && [ $# -le 2 ] || { echo "usage: $0 OUT [BUDGET]" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
budget=${2:-15s}
cd "$(dirname "$0")/.."

scripts/install-deps.sh build
cmake --preset release >/dev/null
cmake --build --preset release >/dev/null
tcbtune=build/release/src/cli/tcbtune

# Runs tcbtune with the arguments; its words, all but the progress, go into the log.
run() {
	printf '\n$ tcbtune %s\n' "$*" | sed "s|$out/||" >>"$out/log.txt"
	"$tcbtune" "$@" 2>&1 | grep -v ' left$' >>"$out/log.txt"
}

problems() {
	for format in q40 q80 q4k q5k q6k; do
		echo "${format}_matvec 1x4096x4096 1x14336x4096"
	done
	for format in q40 q80 q4k q5k q6k; do
		echo "${format}_matmul 512x4096x4096"
	done
	echo "matmul_f32 512x512x512 2048x2048x2048 8x4096x4096"
	echo "matmul_f16 2048x2048x2048"
	echo "matmul_bf16 2048x2048x2048"
	for op in softmax rmsnorm layernorm reduce2d_sum; do
		echo "$op 4096x4096 512x4096 1x32000"
	done
}

{ date -u +%FT%TZ; "$tcbtune" version; "$tcbtune" devices; "$tcbtune" doctor; } >"$out/log.txt"
rm -f "$out"/tuning.db*
for verb in sweep bench; do
	problems | while read -r op shapes; do
		for shape in $shapes; do
			more=$([ $verb = sweep ] || [ "$shapes" = "$shape" ] || echo --cross)
			run $verb --op "$op" --shape "$shape" --threads 1 --budget "$budget" $more --db "$out/tuning.db"
		done
	done
done
"$tcbtune" report --db "$out/tuning.db" --format md >"$out/report.md"
xz -9 -f "$out/tuning.db"
