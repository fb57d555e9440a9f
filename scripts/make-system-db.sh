#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes the database that is installed as share/tcbtune/system.db, so that a
# known machine starts tuned: the winners of all databases in results/ whose
# kernels are still those of TCBTUNE, with four geometries of each tie set; and
# where there is none those that programs get as source "earlier".
#   scripts/make-system-db.sh TCBTUNE OUT
# OUT.judged is what was found out about their kernels (src/kernels/judged.h).
# It says for each device how many winners are current, earlier and stale, and
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
# A problem of which some winner is current counts as that.
"$tcbtune" db diff current.db all.db --json >diff.json 2>said || [ $? = 4 ] || { cat said >&2 && exit 1; }
XDG_CACHE_HOME=$work/none "$tcbtune" report --db all.db --format csv --out all.csv
# Leaves in all.db those that are earlier, and not of a problem of which a winner is current.
python3 - <<'END'
import collections, csv, json, sqlite3
KEY = """SELECT best.id, op, contract, m, n, k, words, name, key, device.threads, state
    FROM best JOIN problem ON problem.id = problem_id JOIN device ON device.id = device_id"""
NAMES = ["op", "contract", "m", "n", "k", "words", "device", "device_key", "threads", "state"]
current = {tuple(map(str, row[1:])) for row in sqlite3.connect("current.db").execute(KEY)}
earlier = {tuple(row[name] for name in NAMES) for row in csv.DictReader(open("all.csv")) if row["served"] == "earlier"}
db = sqlite3.connect("all.db")
db.execute("PRAGMA foreign_keys = ON")
counts = collections.defaultdict(lambda: [0, 0, 0])
for pair in json.load(open("diff.json"))["pairs"]:
    counts[f"{pair['device']} {pair['key']}, {pair['threads']} threads"][2 * (pair["relation"] == "only_b")] += 1
for row in db.execute(KEY).fetchall():
    key = tuple(map(str, row[1:]))
    if key in earlier and key not in current:
        counts[f"{row[7]} {row[8]}, {row[9]} threads"][1] += 1
    else:
        db.execute("DELETE FROM best WHERE id = ?", row[:1])
db.commit()
for device, (now, before, rest) in sorted(counts.items()):
    print(f"{device}: {now} winners current, {before} earlier, {rest - before} stale")
now, before, rest = map(sum, zip(*counts.values()))
print(f"all: {now} current, {before} earlier, {rest - before} stale")
END
"$tcbtune" db export --format json --stale --db all.db --out earlier.json 2>said || { cat said >&2 && exit 1; }
"$tcbtune" db import earlier.json --db current.db >said 2>&1 || { cat said >&2 && exit 1; }
"$tcbtune" db export --format db --stale --db current.db --out system.db 2>said || { cat said >&2 && exit 1; }
"$tcbtune" db check --db system.db >said 2>&1 || { cat said >&2 && exit 1; }

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
