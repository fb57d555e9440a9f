#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Weight formats on a GPU, by short sweeps, in about a minute and a half of an H100:
#   scripts/gpu-formats.sh TCBTUNE OUT [FORMAT...]
# For each format (all that are expanded by default; "q40 q4k" say what others
# reach) the MatVec at two shapes, and of those in MATMULS ("q50 q3k iq2xxs") the matmul at
# 32 and 512 tokens: every candidate is verified at odd shapes before it is measured, and
# the winner's share of the read limit or of the tensor cores' is in the table, with what
# it is.  OUT gets the database, so that a second run goes on from there, the log, and
# table.txt.  BUDGET (2200ms) is for each shape; DEVICE (cuda:0).
set -eu
[ $# -ge 2 ] || { echo "usage: $0 TCBTUNE OUT [FORMAT...]" >&2; exit 2; }
tcbtune=$(realpath "$1")
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2
[ $# -gt 0 ] || set -- q50 q51 q41 q3k q2k iq3s iq3xxs iq2s iq2xs iq2xxs iq1s iq1m nvfp4
device=${DEVICE:-cuda:0}
budget=${BUDGET:-2200ms}
matmuls=${MATMULS-q50 q3k iq2xxs}

sweep() { # op, options
	op=$1
	shift
	"$tcbtune" sweep --device "$device" --op "$op" --budget "$budget" --finalists 3 --counters none --measured-only \
		--db "$out/tuning.db" "$@" >>"$out/table.txt" 2>>"$out/log.txt" ||
		echo "failed: $op, see $out/log.txt" | tee -a "$out/table.txt"
}

: >"$out/table.txt"
for format in "$@"; do
	sweep "${format}_matvec" --shape 1x4096x4096 --shape 1x14336x4096
	case " $matmuls " in
	*" $format "*)
		for m in 32 512; do
			sweep "${format}_matmul" --contract f16 --shape "${m}x4096x4096"
		done
		;;
	esac
done
grep -A1 -E '^[a-z0-9]+_mat|^failed' "$out/table.txt" | grep -v '^--'
grep -c ' 0 failed' "$out/log.txt" | sed 's/$/ sweeps without a failed candidate/'
grep -E ' [1-9][0-9]* failed' "$out/log.txt" || true
