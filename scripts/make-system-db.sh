#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes the database that is installed as share/tcbtune/system.db, so that a
# known machine starts tuned: the winners of all databases in results/ whose
# kernels are still those of TCBTUNE, with four geometries of each tie set.
#   scripts/make-system-db.sh TCBTUNE OUT
# OUT.judged is what was found out about their kernels (src/kernels/judged.h).
# It says for each device how many winners are current and how many stale, and
# how large OUT is.  The same results and the same kernels make the same bytes.
set -eu
tcbtune=$(realpath "${1:?the program}")
out=$(realpath -m "${2:?the database to be made}")
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TCBTUNE_SYSTEM_DB=

cd "$root/results"
find . -name '*.db.xz' -o -name '*.db.gz' | LC_ALL=C sort >"$work/list"
mkdir "$work/current" "$work/all"
number=100
while read -r packed; do
	number=$((number + 1))
	case $packed in
	*.xz) xz -dkc "$packed" >"$work/one.db" ;;
	*) gzip -dkc "$packed" >"$work/one.db" ;;
	esac
	for kind in current all; do
		stale=
		[ "$kind" = current ] || stale=--stale
		# shellcheck disable=SC2086
		"$tcbtune" db export --format json --ties 4 $stale --db "$work/one.db" --out "$work/$kind/$number.json" \
			2>"$work/said" || { cat "$work/said" >&2 && echo "$packed cannot be exported" >&2 && exit 1; }
	done
	rm -f "$work"/one.db*
done <"$work/list"

cd "$work"
for kind in current all; do
	"$tcbtune" db import $kind/*.json --db $kind.db >said 2>&1 || { cat said >&2 && exit 1; }
done
"$tcbtune" db export --format db --stale --db current.db --out system.db 2>said || { cat said >&2 && exit 1; }
"$tcbtune" db check --db system.db >said 2>&1 || { cat said >&2 && exit 1; }

# A problem of which some winner is current counts as that.
"$tcbtune" db diff current.db all.db --json >diff.json 2>said || [ $? = 4 ] || { cat said >&2 && exit 1; }
python3 - <<'END'
import collections, json
counts = collections.defaultdict(lambda: [0, 0])
for pair in json.load(open("diff.json"))["pairs"]:
    counts[f"{pair['device']} {pair['key']}, {pair['threads']} threads"][pair["relation"] == "only_b"] += 1
for device, (current, stale) in sorted(counts.items()):
    print(f"{device}: {current} winners current, {stale} stale")
print(f"all: {sum(c for c, _ in counts.values())} current, {sum(s for _, s in counts.values())} stale")
END
# Beside it what was found out about its kernels, so that no reader needs to write them all again.
mkdir -p "$(dirname "$out")" cache/tcbtune
rm -f "$out.judged"
XDG_CACHE_HOME=$work/cache "$tcbtune" report --db system.db --format csv --out report.csv
[ -f cache/tcbtune/kernels.judged ] || : >cache/tcbtune/kernels.judged
cp cache/tcbtune/kernels.judged "$out.judged"
chmod 644 "$out.judged"
cp system.db "$out.tmp"
mv "$out.tmp" "$out"
echo "$(wc -c <"$out") bytes"
