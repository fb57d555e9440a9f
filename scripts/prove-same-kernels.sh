#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Which stored GPU results are of kernels that this tree still writes, although
# their signatures are hashes of sources (as they were up to schema version 1):
# the emitters of the commit that measured are compiled and write every stored
# candidate again, and so do today's.
#
#     scripts/prove-same-kernels.sh [-t TODAY] DATABASE...     (TODAY: a built emitted_kernels)
#
# Out: for each commit, op, contract, variant and signature how many candidates there are, and of how many the kernel
# is the same.  Those of which all are go into src/kernels/same_kernels.c.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
today=$root/build/dev/tests/kernels/emitted_kernels
[ "${1:-}" != -t ] || { today=$2; shift 2; }
[ $# -gt 0 ] || { sed -n '3,12s/^# \{0,1\}//p' "$0" >&2; exit 2; }
work=${WORK:-$(mktemp -d)}

# The emitters of commit $1 without the CPU's kernels, whose tables are then empty: -> $work/$1/emitted_kernels
build() {
	[ ! -x "$work/$1/emitted_kernels" ] || return 0
	mkdir -p "$work/$1"
	git -C "$root" archive "$1" src | tar x -C "$work/$1"
	older=
	grep -q TCB_ARGUMENT_TENSOR "$work/$1/src/kernels/op.h" || older=-DWITHOUT_TENSORS
	find "$work/$1/src/base" "$work/$1/src/ptx" "$work/$1/src/kernels" -name '*.c' |
		grep -vE '_(scalar|avx2|avx512|avx512vnni|avx512bf16|amx|neon)\.c$|/(build_info|pass|emu_|emulat|simulat|hazard|assemble)[^/]*$' |
		{ cat; echo "$root/tests/kernels/emitted_kernels.c"; } |
		xargs -P "$(nproc)" -I{} sh -c 'cc -std=gnu17 -D_GNU_SOURCE -O1 -w -DTCB_SOURCE_HASH=\"-\" $3 -I"$1/src" \
			-c "$2" -o "$1/$(echo "$2" | tr / _).o"' - "$work/$1" {} "$older"
	cc -no-pie -o "$work/$1/emitted_kernels" "$work/$1"/*.o -Wl,--unresolved-symbols=ignore-all -lm -lpthread
}

for database; do
	columns="d.capability, d.sm_count, d.shared_bytes"
	[ "$(sqlite3 -readonly "$database" 'PRAGMA user_version')" -lt 13 ] || columns="json_extract(d.limits, '\$.capability'),
		json_extract(d.limits, '\$.sm_count'), json_extract(d.limits, '\$.shared_bytes')"
	sqlite3 -readonly -separator '	' "$database" "SELECT b.git_commit, t.variant, t.signature, t.id, p.op,
		p.contract, p.m, p.n, p.k, t.geometry, $columns
		FROM trial t JOIN sweep s ON s.id = t.sweep_id JOIN problem p ON p.id = s.problem_id
		JOIN device d ON d.id = s.device_id JOIN build b ON b.id = s.build_id WHERE d.kind = 'cuda'" >"$work/trials"
	cut -f4- "$work/trials" | "$today" | cut -d' ' -f2 >"$work/today"
	for commit in $(cut -f1 "$work/trials" | sort -u); do
		build "$commit" >&2
		grep "^$commit	" "$work/trials" | cut -f4- | "$work/$commit/emitted_kernels"
	done >"$work/then.ids"
	# Of several commits the order is another: back to the trials' own.
	for commit in $(cut -f1 "$work/trials" | sort -u); do grep "^$commit	" "$work/trials" | cut -f4; done >"$work/order"
	cut -f4 "$work/trials" | paste - "$work/today" | sort >"$work/a"
	cut -d' ' -f2 "$work/then.ids" | paste "$work/order" - | sort >"$work/b"
	awk -F'\t' '{ print $4 "\t" $1 " " $5 " " $6 " " $2 " " $3 }' "$work/trials" | sort >"$work/c"
	join -t'	' "$work/a" "$work/b" | join -t'	' - "$work/c" | awk -F'\t' -v database="$database" '
		{ count[$4]++; same[$4] += $2 == $3 && $2 != "-" }
		END { for (key in count) printf "%s: %s: %d of %d\n", database, key, same[key], count[key] }' | sort
done
