#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The CPU figures of results/, measured on this machine:
#   scripts/measure-cpu.sh OUT
# builds, sweeps q4k_matvec (contract q8) at 4096x4096 and 14336x4096 on all
# cores and on one, sweeps the first again with another seed, benches the
# winners, and leaves machine, commit, commands, reports and the database in
# the folder OUT.  Needs python3 and xz.  About ten minutes; let nothing else run
# meanwhile.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 OUT" >&2; exit 2; }
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

scripts/install-deps.sh build
cmake --preset release >/dev/null
cmake --build --preset release >/dev/null
tcbtune=build/release/src/cli/tcbtune
cores=$("$tcbtune" devices --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["devices"][0]["threads"])')

# Runs tcbtune with the arguments; its words and its time go into the log.
run() {
	printf '\n$ tcbtune %s\n' "$*" | sed "s|$out/||" >>"$out/log.txt"
	start=$(date +%s)
	"$tcbtune" "$@" >>"$out/log.txt" 2>&1
	printf '(%s s)\n' $(($(date +%s) - start)) >>"$out/log.txt"
}

{ date -u +%FT%TZ; "$tcbtune" version; "$tcbtune" devices; "$tcbtune" doctor; } >"$out/log.txt"
rm -f "$out"/first.db* "$out"/second.db*
for threads in "$cores" 1; do
	for shape in 1x4096x4096 1x14336x4096; do
		run sweep --op q4k_matvec --shape $shape --threads "$threads" --db "$out/first.db"
	done
done
run sweep --op q4k_matvec --shape 1x4096x4096 --threads "$cores" --seed 2 --db "$out/second.db"
for threads in "$cores" 1; do
	for shape in 1x4096x4096 1x14336x4096; do
		run bench --op q4k_matvec --shape $shape --threads "$threads" --db "$out/first.db"
	done
done
"$tcbtune" report --db "$out/first.db" --format md >"$out/report.md"

python3 - "$out" >>"$out/log.txt" <<'END'
import sqlite3, sys

out = sys.argv[1]
first, second = (sqlite3.connect(f"{out}/{name}.db") for name in ("first", "second"))
print("\nIs the second sweep's winner in the first one's tie set?")
for state, winner in second.execute("SELECT state, geometry FROM best ORDER BY state").fetchall():
    ties = [row[0] for row in first.execute(
        "SELECT geometry FROM tie_set WHERE best_id = (SELECT b.id FROM best b JOIN problem p ON p.id = b.problem_id"
        " JOIN device d ON d.id = b.device_id WHERE p.n = 4096 AND p.k = 4096 AND b.state = ?"
        " ORDER BY d.threads DESC LIMIT 1) ORDER BY position", (state,))]
    print(f"{state}: {'yes' if winner in ties else 'NO'} (tie set of {len(ties)})  {winner}")
for connection in (first, second):
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.execute("PRAGMA journal_mode=DELETE")
END
xz -9 -f "$out/first.db" "$out/second.db"
tail -3 "$out/log.txt"
