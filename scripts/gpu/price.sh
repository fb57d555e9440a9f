#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What the word bits costs on a GPU: sweeps a shape without it and with it, then benches both bests in turns.
#   scripts/gpu/price.sh TCBTUNE OP CONTRACT SHAPE DEVICE DB RESULT.json
# BUDGET (8s) is that of a sweep.
set -eu
[ $# -eq 7 ] || { echo "usage: $0 TCBTUNE OP CONTRACT SHAPE DEVICE DB RESULT.json" >&2; exit 2; }
for word in "" ,bits; do
	"$1" sweep --op "$2" --contract "$3" --shape "$4$word" --device "$5" --db "$6" --budget "${BUDGET:-8s}" \
		--counters none --finalists 4 --until-stable none --measured-only
done
"$1" bench --op "$2" --contract "$3" --shape "$4" --device "$5" --db "$6" --budget 3s --json >"$7.part"
mv "$7.part" "$7"
