#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Writes the tables of default rules (src/kernels/defaults/) from the databases
# in results/, and beside them what the rules lose: results/defaults/.
#   scripts/default-tables.sh TCBTUNE [DATABASE...]
# Databases that are given besides count too: what was measured to fill gaps.
# Those called held*.db are of shapes to judge on: no rule is made of them.
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
# One machine for each architecture: rules that must please several processors please none.
table() { # architecture, the folders of results/ that count, as the databases' names begin
	arch=$1 from=$2
	set --
	for db in *.db; do
		case $db in
		"$from"*held*.db) set -- "$@" --judge "$db" ;;
		"$from"* | given_*) set -- "$@" "$db" ;;
		esac
	done
	"$tcbtune" defaults --arch "$arch" --out "$root/results/defaults/$arch.txt" "$@"
	"$tcbtune" defaults --arch "$arch" --format table \
		--out "$root/src/kernels/defaults/defaults_$(echo "$arch" | tr - _).c" "$@"
}
table sm_90 h200
table x86_64-avx512vnni cpu-zen5
