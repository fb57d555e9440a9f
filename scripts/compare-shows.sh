#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What `tcbtune compare` decides on this machine: 20 problems swept twice by one
# build, of which none may come out SLOWER, and three whose kernel takes 5 %
# longer in a patched copy, which must, and two beside them that do not.
#
#     scripts/compare-shows.sh PRESET OUT [PAIRS]
#
# Builds PRESET here and in a worktree below OUT whose q80_matvec waits for a
# twentieth of its time after each call.  Each problem is swept once for each
# database (single.txt: one sweep each); then the finals are held PAIRS times in
# turn (same.txt, slow.txt).  MEASURE is put before the measurements of each
# problem, such as "taskset -c 1".
set -eu
if [ $# -lt 2 ]; then
	echo "usage: $0 PRESET OUT [PAIRS]" >&2
	exit 2
fi
preset=$1 out=$2 pairs=${3:-24}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")/.."
here=$PWD
planted="q80_matvec:1x512x1024 q80_matvec:1x1024x1024 q80_matvec:1x1024x2048"
others="q4k_matvec:1x512x1024 q4k_matvec:1x1024x1024 q40_matvec:1x512x1024 q5k_matvec:1x512x1024
	q6k_matvec:1x512x1024 mxfp4_matvec:1x512x1024 iq4xs_matvec:1x512x1024 q4k_matmul:8x256x1024
	q80_matmul:8x256x1024 matmul_f32:64x128x128 matmul_f16:64x128x128 matmul_bf16:64x128x128 softmax:64x1024
	softmax:16x4096 rmsnorm:64x1024 layernorm:64x1024 reduce2d_sum:512x512"
controls="q4k_matvec:1x512x1024 softmax:64x1024" # measured with the patched copy, too: not slower

build() {
	(cd "$1" && cmake --preset "$preset" >/dev/null && cmake --build --preset "$preset" --target tcbtune >/dev/null)
}

if [ ! -x "$out/tcbtune-slow" ]; then
	git worktree add --detach "$out/slow-source" HEAD >/dev/null 2>&1
	file=$out/slow-source/src/kernels/quant_matvec/quant_matvec.c
	sed -i '/^static void run_share/,/^}/ {
		s/^\t(void)thread;/&\n\tconst uint64_t begun = __builtin_ia32_rdtsc();/
		s/^}/\tconst uint64_t took = __builtin_ia32_rdtsc() - begun;\n\twhile (strcmp(job->plan->problem.op_name, "q80_matvec") == 0 \&\& (__builtin_ia32_rdtsc() - begun) * 20 < took * 21)\n\t\t;\n}/
	}' "$file"
	grep -q 'took \* 21' "$file"
	build .
	build "$out/slow-source"
	cp "build/$preset/src/cli/tcbtune" "$out/tcbtune"
	cp "$out/slow-source/build/$preset/src/cli/tcbtune" "$out/tcbtune-slow"
	git worktree remove --force "$out/slow-source"
fi

cat >"$out/one.sh" <<'EOF'
# one.sh OUT PAIRS OP:SHAPE DATABASES: the finals of one problem, in turn; with no pairs its sweeps
cd "$1"
pairs=$2 op=${3%:*} shape=${3#*:} databases=$4
sweep() {
	program=./tcbtune
	[ "$1" != slow ] || program=./tcbtune-slow
	db=$1.db
	shift
	"$program" sweep --op "$op" --shape "$shape" --threads 1 --rotation 128M --counters none --db "$db" "$@" >>log.txt 2>&1
}
[ "$pairs" -gt 0 ] || for db in $databases; do
	sweep "$db" --budget 3s
done
while [ "$pairs" -gt 0 ]; do
	for db in $databases; do
		sweep "$db" --budget 1s --finals-only
	done
	databases="${databases#* } ${databases%% *}"
	pairs=$((pairs - 1))
done
EOF

# $1: how many pairs.  A second call goes on where the first was stopped.
measure() {
	for problem in $planted $others; do
		databases="old same"
		case " $planted $controls " in
		*" $problem "*) databases="old same slow" ;;
		esac
		grep -qx "$1 $problem" "$out/done.txt" 2>/dev/null && continue
		${MEASURE:-} sh "$out/one.sh" "$out" "$1" "$problem" "$databases"
		echo "$1 $problem" >>"$out/done.txt"
	done
}

compare() {
	status=0
	date -u "+%Y-%m-%d, commit $(git -C "$here" rev-parse --short HEAD)$(sed -n 's/^model name[^:]*: /, /p' /proc/cpuinfo | head -n 1)"
	echo "\$ tcbtune compare $1 $2"
	"$here/build/$preset/src/cli/tcbtune" compare "$1" "$2" 2>&1 || status=$?
	echo "exit $status"
}

measure 0
[ -e "$out/old-1.db" ] || cp "$out/old.db" "$out/old-1.db"
[ -e "$out/same-1.db" ] || cp "$out/same.db" "$out/same-1.db"
measure "$pairs"
cd "$out"
compare old-1.db same-1.db >single.txt
compare old.db same.db >same.txt
compare old.db slow.db >slow.txt
tail -n 3 single.txt same.txt slow.txt
