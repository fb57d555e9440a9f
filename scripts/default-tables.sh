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
table() { # architecture, least geometries of a shape, worst loss, the folders of results/ that count, as names begin
	arch=$1 least=$2 worst=$3 folders=$4
	set --
	for db in *.db; do
		for from in $folders given; do
			case $db in
			"$from"_*held*.db) set -- "$@" --judge "$db" ;;
			"$from"_*) set -- "$@" "$db" ;;
			esac
		done
	done
	set -- --least "$least" --worst "$worst" "$@"
	"$tcbtune" defaults --arch "$arch" --out "$root/results/defaults/$arch.txt" "$@"
	"$tcbtune" defaults --arch "$arch" --format table \
		--out "$root/src/kernels/defaults/defaults_$(echo "$arch" | tr - _).c" "$@"
}
# What is learned beside the rules, of all that was measured there: what is left out is judged in turn.
learned() { # architecture, what follows the format in the names of its ops, the name of the family, the folders
	arch=$1 after=$2 name=$3 folders=$4
	if ! python3 -c "import numpy" 2>/dev/null; then
		echo "without NumPy the learned table of $arch stays as it is" >&2
		return
	fi
	set --
	for db in *.db; do
		for from in $folders given; do
			case $db in "$from"_*) set -- "$@" "$db" ;; esac
		done
	done
	label=$(echo "${arch}_$name" | tr - _)
	"$tcbtune" defaults --arch "$arch" --format features --out features.txt "$@"
	python3 "$root/scripts/train-defaults.py" features.txt --after "$after" --name "$name" \
		--text "$root/results/defaults/learned_$label.txt" \
		--sample "$root/tests/fixtures/learned_$label.txt" \
		--spaces spaces.txt --tcbtune "$tcbtune" --out "$root/src/kernels/defaults/learned_$label.c"
}
case "${ARCH:-all}" in all | sm_90) table sm_90 50 10 "h200 h200-rows" ;; esac
case "${ARCH:-all}" in all | sm_90 | learned) learned sm_90 _matmul quant_matmul "h200 h200-rows h100" ;; esac
case "${ARCH:-all}" in all | x86_64-avx512vnni) table x86_64-avx512vnni 20 30 "cpu-zen5 cpu-zen4_defaults" ;; esac
case "${ARCH:-all}" in all | x86_64-amx) table x86_64-amx 20 30 "cpu-xeon-amx_defaults" ;; esac
