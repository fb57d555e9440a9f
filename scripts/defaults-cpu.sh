#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Short sweeps of the problems in a list, to make default rules of or to judge them on:
#   scripts/defaults-cpu.sh TCBTUNE OUT LIST [seconds]
# LIST has a line for each: DATABASE OP CONTRACT SHAPE THREADS [DEVICE]. The sweeps go to OUT/DATABASE.db.
# OUT/done.txt has the lines that are done, which are skipped: it goes on where it was stopped.
# Exit: 0 all are done; 3 the seconds are over and some are left.
# results/cpu-zen4/defaults/problems.txt is such a list, and docs/defaults.md says what comes next.
set -eu
tcbtune=$(realpath "${1:?the program}")
mkdir -p "${2:?the folder for results}"
out=$(realpath "$2")
list=${3:?the list of problems}
end=$(($(date +%s) + ${4:-1000000}))

touch "$out/done.txt"
grep -v '^#' "$list" | while read -r db op contract shape threads device; do
	line="$db $op $contract $shape $threads${device:+ $device}"
	if grep -qxF "$line" "$out/done.txt"; then
		continue
	fi
	[ "$(date +%s)" -lt "$end" ] || exit 3
	"$tcbtune" sweep --device "${device:-cpu}" --threads "$threads" --op "$op" --contract "$contract" \
		--shape "$shape" --budget "${BUDGET:-3s}" --rotation "${ROTATION:-128M}" --until-stable none \
		--counters none --finalists 4 --db "$out/$db.db" >>"$out/log.txt" 2>&1 </dev/null ||
		echo "failed: $line" | tee -a "$out/log.txt"
	echo "$line" >>"$out/done.txt"
done
