#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Writes the tables of default rules (src/kernels/defaults/) from the databases
# in results/, and beside them what the rules lose: results/defaults/.
#   scripts/default-tables.sh TCBTUNE [DATABASE...]
# Of one architecture alone with ARCH=x86_64-avx512vnni before it.
# Databases that are given besides count too: what was measured to fill gaps.
# Those called held*.db are of shapes to judge on: no rule is made of them.  ARCH=learned: what is learned alone.
set -eu
tcbtune=$(realpath "${1:?the program}")
shift
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for more in "$@"; do
	cp "$more" "$work/given_$(basename "$more")"
done

# A database with its folders in its name, since many are called tuning.db.
cd "$root/results"
find . -name '*.db.xz' -o -name '*.db.gz' | LC_ALL=C sort | while read -r packed; do
	name=$(echo "${packed#./}" | tr / _)
	case $packed in
	*.xz) xz -dkc "$packed" >"$work/${name%.xz}" ;;
	*) gzip -dkc "$packed" >"$work/${name%.gz}" ;;
	esac
done

cd "$work"
mkdir -p "$root/results/defaults"
# What is measured beside other work is off by more than the bound that defaults has by itself, and rules of two machines
# must please both: a worst of 30 %, and on a CPU shapes of which as many as 20 geometries are known.
# Architecture, least geometries of a shape, worst loss, the folders of results/ that count, as names begin; then the ops
# whose rule is their own default.
table() {
	arch=$1 least=$2 worst=$3 folders=$4
	shift 4
	own=$*
	set --
	for db in *.db; do
		for from in $folders given; do
			case $db in
			"$from"_*held*.db) set -- "$@" --judge "$db" ;;
			"$from"_*) set -- "$@" "$db" ;;
			esac
		done
	done
	for op in $own; do set -- --own "$op" "$@"; done
	set -- --least "$least" --worst "$worst" "$@"
	"$tcbtune" defaults --arch "$arch" --out "$root/results/defaults/$arch.txt" "$@"
	"$tcbtune" defaults --arch "$arch" --format table \
		--out "$root/src/kernels/defaults/defaults_$(echo "$arch" | tr - _).c" "$@"
}
# What is learned beside the rules, of all that was measured there: what is left out is judged in turn.
learned() { # architecture, an op of the family, the family, the folders; then what train-defaults.py is told besides
	arch=$1 op=$2 family=$3 folders=$4
	shift 4
	label=$(echo "${arch}_$family" | tr - _)
	told=$*
	set --
	for db in *.db; do
		for from in $folders given; do
			case $db in "$from"_*) set -- "$@" "$db" ;; esac
		done
	done
	for format in features carried; do
		"$tcbtune" defaults --arch "$arch" --op "$op" --format $format --out $format.txt "$@"
	done
	# shellcheck disable=SC2086 # several words
	"$python" "$root/scripts/train-defaults.py" features.txt --carried carried.txt --family "$family" $told \
		--tcbtune "$tcbtune" --text "$root/results/defaults/learned_$label.txt" \
		--sample "$root/tests/fixtures/learned_$label.txt" --out "$root/src/kernels/defaults/learned_$label.c"
}
# The same trials and program make the same tables, byte by byte.
learn_all() {
	python=${PYTHON:-python3}
	if ! "$python" -c "import numpy" 2>/dev/null; then
		echo "without NumPy (of PYTHON=$python) the learned tables stay as they are" >&2
		return
	fi
	gpus="h200 h200-rows h100"
	learned sm_90 q4k_matmul quant_matmul "$gpus" "--contracts=f16|q8" \
		--bench "$root/results/h200/2026-11-29/middle/bench.jsonl.xz"
	# Of fewer rows the own default is by trials, and their kernels are newer than most of these.
	learned sm_90 matmul_f32 matmul "$gpus" --least 33
	learned sm_90 q4k_matvec quant_matvec "$gpus"
}
case "${ARCH:-all}" in all | sm_90) table sm_90 50 10 "h200 h200-rows" layernorm rmsnorm softmax reduce2d_sum ;; esac
case "${ARCH:-all}" in all | sm_90 | learned) learn_all ;; esac
case "${ARCH:-all}" in all | x86_64-avx512vnni) table x86_64-avx512vnni 20 30 "cpu-zen5 cpu-zen4_defaults" ;; esac
# Kernels or own defaults of three ops are newer than what was measured, and faster than its rules (docs/defaults.md).
case "${ARCH:-all}" in all | x86_64-amx) table x86_64-amx 20 30 "cpu-xeon-amx_defaults" \
	matmul_f32 iq4xs_matvec mxfp4_matvec ;; esac
