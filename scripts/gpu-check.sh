#!/bin/sh
# SPDX-License-Identifier: MIT
#
# All that a machine with a GPU can tell of a build:
#
#   scripts/gpu-check.sh BUILD OUT [PART[=SECONDS]...]
#
# BUILD is a build folder in which
#     cmake --preset portable && cmake --build --preset portable --target gpu_check
# was made, or the folder gpu-check/ out of it, which holds all that is needed
# (this script too) and may be copied to the machine by itself: its programs
# need glibc only.  OUT gets everything; the same OUT may be given again, with
# other parts.  Parts, each with a time limit, in the order in which they run:
#
#   tests      the tests that use a GPU; with python3 the whole kernels
#              of tests/ptx/whole, and boxes of tests/ptx/edges          (240 s)
#   examples   the examples for a GPU: C with the CUDA driver, compiled
#              here, and PyTorch                                         (120 s)
#   faults     those that plant faulty candidates into a sweep           (180 s)
#   sweeps     one for each problem, into OUT's database                 (900 s)
#   bench      best against default and read limit, paired               (300 s)
#   counters   single accesses and what CUPTI counted of candidates
#              against the emulator, what instructions and accesses cost,
#              model against measurement                                 (180 s)
#   sanitize   the best candidates at odd sizes under compute-sanitizer,
#              some with every value of every knob, and planted defects,
#              which it must find                                        (300 s)
#
# Settings, from the environment:
#   GPU_CHECK_BUDGET     of one sweep (40s)          GPU_CHECK_BENCH    of one bench (8s)
#   GPU_CHECK_DEVICE     (cuda:0)                    GPU_CHECK_OP       (q4k_matvec)
#   GPU_CHECK_PROBLEMS   "q8:1x4096x4096 softmax/f32:4096x4096 ...", [OP/]CONTRACT:SHAPE
#   GPU_CHECK_FINALISTS  (20)
#   GPU_CHECK_COUNTED    problems of which all finalists are counted, not only the winner: each takes a worker of
#                        its own, about a second
#   GPU_CHECK_SANITIZED  problems whose best candidates go through compute-sanitizer
#   GPU_CHECK_COVERED    problems of whose spaces geometries go through compute-sanitizer too, so many that each value
#                        of each knob is there (none)
#   GPU_CHECK_LISTED     a file of kernels that go through it too, as random-kernels.py --list writes it (none)
#   GPU_CHECK_DB         a database to go on with, instead of OUT/tuning.db.gz
#
# Ends with a table on standard output.  Exit: 0 nothing failed, 1 something
# did, 2 wrong usage, no build or no GPU, 3 nothing failed but an aim (those for
# an H200) was missed.  Needs python3 for the figures of
# benches; without it they are in the logs only.
set -u

usage() {
	echo "usage: $0 BUILD OUT [PART[=SECONDS]...]; parts: tests examples faults sweeps bench counters sanitize" >&2
	exit 2
}

fail() {
	echo "gpu-check.sh: $*" >&2
	exit 2
}

[ $# -ge 2 ] || usage
build=$1
[ -f "$build/tests.txt" ] || build=$1/gpu-check
if [ ! -x "$build/tcbtune" ] || [ ! -f "$build/tests.txt" ]; then
	fail "no programs in $1: 'cmake --preset portable && cmake --build --preset portable --target gpu_check' makes them"
fi
build=$(cd "$build" && pwd)
mkdir -p "$2/logs" || fail "cannot write to $2"
out=$(cd "$2" && pwd)
shift 2

budget=${GPU_CHECK_BUDGET:-40s}
bench_budget=${GPU_CHECK_BENCH:-8s}
device=${GPU_CHECK_DEVICE:-cuda:0}
op=${GPU_CHECK_OP:-q4k_matvec}
problems=${GPU_CHECK_PROBLEMS:-q8:1x4096x4096 q8:1x14336x4096 q8:1x4096x14336 q8:1x32000x4096 f32:1x4096x4096 f32:1x14336x4096 f32:1x4096x14336}
counted=${GPU_CHECK_COUNTED:-q8:1x14336x4096}
sanitized=${GPU_CHECK_SANITIZED:-q8:1x14336x4096 f32:1x4096x4096}
covered=${GPU_CHECK_COVERED:-}
listed=${GPU_CHECK_LISTED:-}
finalists=${GPU_CHECK_FINALISTS:-20}
db=${GPU_CHECK_DB:-$out/tuning.db}
ordinal=0
case $device in
cuda:[0-9]*) ordinal=${device#cuda:} ;;
esac
logs=$out/logs
table=$out/summary.tsv

limit_of() {
	case $1 in
	tests) echo 240 ;;
	examples) echo 120 ;;
	faults | counters) echo 180 ;;
	sweeps) echo 900 ;;
	bench | sanitize) echo 300 ;;
	*) usage ;;
	esac
}
[ $# -gt 0 ] || set -- tests examples faults sweeps bench counters sanitize
for part in "$@"; do
	limit_of "${part%%=*}" >/dev/null || exit 2
	case $part in
	*=*[!0-9]* | *=) usage ;;
	esac
done

# The parts of a problem as the settings name it.
split() {
	p_op=$op
	case $1 in
	*/*) p_op=${1%%/*} ;;
	esac
	p_shape=${1##*:}
	p_contract=${1%:*}
	p_contract=${p_contract#*/}
	p_log=$(printf '%s' "${p_op}_${p_contract}_$p_shape" | tr / -)
}

# ---- running ----

started=$(date -u +%Y%m%dT%H%M%SZ)
child=
part_end=0
failures=0
missed=0

now() {
	date +%s
}

# A line of the table: part, check, result, seconds, detail.
row() {
	[ "$3" != FAIL ] || failures=$((failures + 1))
	[ "$3" != MISSED ] || missed=$((missed + 1))
	printf '%s\t%s\t%s\t%s\t%s\n' "$part" "$1" "$3" "$2" "$4" >>"$table"
	printf '%s %s: %s %s\n' "$part" "$1" "$3" "$4" >&2
}

# run SECONDS LOG COMMAND...: sets status (124: out of time) and took; 125: none of the part's time was left.  What it
# prints goes to LOG, standard output to $to where that is set.
to=
run() {
	seconds=$1
	log=$2
	shift 2
	left=$((part_end - $(now)))
	took=0
	status=125
	[ "$left" -gt 0 ] || return 0
	[ "$seconds" -le "$left" ] || seconds=$left
	start=$(now)
	printf '$ %s\n' "$*" | nameless >>"$log"
	timeout -k 5 "$seconds" "$@" 2>>"$log" >>"${to:-$log}" &
	child=$!
	wait "$child"
	status=$?
	child=
	took=$(($(now) - start))
}

last_line() {
	tail -n 1 "$1" | nameless | cut -c 1-150
}

# Without the folders of this machine: what is left may be published.
nameless() {
	sed -e "s|$build/||g" -e "s|$out/||g" ${work:+-e "s|$work/||g"}
}

# What went wrong, in one line: a test's first error and where it is, else the last line.
why() {
	if grep -q '^\[  ERROR   \]' "$1"; then
		sed -n -e 's/^\[  ERROR   \] --- //p' -e 's/^\[   LINE   \] --- .*\/\(.*\): error.*/(\1)/p' "$1" | head -n 2 |
			tr '\n' ' ' | cut -c 1-150
	else
		last_line "$1"
	fi
}

# verdict CHECK LOG DETAIL: a row from the status of the last run.
verdict() {
	case $status in
	0) case $3 in
		*"; MISSED aim "*) row "$1" "$took" MISSED "$3" ;;
		*) row "$1" "$took" ok "$3" ;;
		esac ;;
	77) row "$1" "$took" skipped "$(sed -n 's/^SKIPPED: //p' "$2" | tail -n 1 | cut -c 1-150)" ;;
	124 | 137) row "$1" "$took" FAIL "no end after $took s" ;;
	125) row "$1" 0 'not run' "the part's time was over" ;;
	*) row "$1" "$took" FAIL "exit $status: $(why "$2")" ;;
	esac
}

finish() {
	trap - INT TERM
	if [ -f "$db" ]; then
		# The last one to close it writes its log back.
		"$build/tcbtune" db info --db "$db" >"$logs/db_info.txt" 2>&1
		for format in table json md; do
			"$build/tcbtune" report --format "$format" --db "$db" >"$out/report.$format" 2>>"$logs/db_info.txt"
		done
		mv "$out/report.table" "$out/report.txt"
		if gzip -9 -c "$db" >"$out/tuning.db.gz" && [ "$db" = "$out/tuning.db" ]; then
			rm -f "$db" "$db-wal" "$db-shm"
		fi
	fi
	{
		cat "$out/machine.txt"
		awk -F "\t" '{ printf "%-9s %-34s %-8s %5s %s  %s\n", $1, $2, $3, $4, $4 == "" ? " " : "s", $5 }' "$table"
		printf '%s failed, %s missed their aim, of %s\n' "$failures" "$missed" "$(wc -l <"$table" | tr -d ' ')"
	} >"$out/summary.txt"
	cp "$out/summary.txt" "$logs/summary_$started.txt"
	tar -C "$out" -czf "$out/logs.tar.gz" logs && rm -rf "$logs"
	rm -f "$table" "$out/machine.txt"
	# The caller may see no more than the last part of what is printed.
	cut -c 1-200 "$out/summary.txt" | tail -c 11000
	[ "$failures" -eq 0 ] || exit 1
	[ "$missed" -eq 0 ] || exit 3
	exit 0
}

# shellcheck disable=SC2317 # called by trap
stop() {
	[ -z "$child" ] || kill "$child" 2>/dev/null
	part=stopped
	row stopped 0 FAIL "by a signal"
	finish
}

# ---- parts ----

# Tests whose name does (or does not) speak of faults.
run_tests() {
	while read -r program name seconds; do
		case $name in
		*fault*) [ "$part" = faults ] || continue ;;
		*) [ "$part" = tests ] || continue ;;
		esac
		log=$logs/$name.txt
		run "$seconds" "$log" "$build/$program"
		# What the test itself says, not its framework.
		verdict "$name" "$log" "$(grep -vE '^(\[|\$|$)' "$log" | tail -n 2 | tr '\n' ';' | cut -c 1-150)"
	done <"$build/tests.txt"
	[ "$part" = faults ] || run_whole_kernels
}

# Those of which tests of the same names ask the emulator.
run_whole_kernels() {
	if ! command -v python3 >/dev/null; then
		skip ptx.whole_kernels "no python3 here"
		skip ptx.box_edges "no python3 here"
		return
	fi
	log=$logs/ptx.whole_kernels.txt
	run 120 "$log" python3 "$build/whole/run_on_gpu.py" --device "${device#cuda:}" --defects
	verdict ptx.whole_kernels "$log" "$(last_line "$log")"
	log=$logs/ptx.box_edges.txt
	run 120 "$log" python3 "$build/edges/box_edges.py" --gpu "${device#cuda:}"
	verdict ptx.box_edges "$log" "$(last_line "$log")"
}

skip() {
	row "$1" 0 skipped "$2"
}

# A program of the examples judges itself.
run_examples() {
	cuda=${CUDA_HOME:-/usr/local/cuda}
	examples=$build/examples
	log=$logs/examples.txt
	if ! command -v cc >/dev/null; then
		skip execute_gpu "no C compiler here"
	elif [ ! -f "$cuda/include/cuda.h" ]; then
		skip execute_gpu "no cuda.h in $cuda/include"
	else
		run 60 "$log" cc -O2 -I"$build/include" -I"$cuda/include" "$examples/execute_gpu.c" -L"$build/lib" \
			-l:libtcbrt.so.0 -L"$cuda/lib64/stubs" \
			-L"$cuda/targets/x86_64-linux/lib/stubs" -lcuda -lm -o "$out/execute_gpu"
		[ "$status" -ne 0 ] || LD_LIBRARY_PATH=$build/lib:${LD_LIBRARY_PATH:-} run 60 "$log" "$out/execute_gpu" "$out/none.db"
		verdict execute_gpu "$log" "$(last_line "$log")"
		rm -f "$out/execute_gpu"
	fi
	if python3 -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null; then
		TCBRT_LIBRARY=$build/lib/libtcbrt.so.0 TCBTUNE_DB=$out/none.db run 60 "$log" \
			python3 "$examples/python/with_torch.py"
		verdict with_torch "$log" "$(last_line "$log")"
	else
		skip with_torch "no Python here has PyTorch with CUDA"
	fi
}

run_sweeps() {
	case $budget in
	*m) allowed=$((${budget%m} * 60 + 180)) ;;
	*) allowed=$((${budget%s} + 180)) ;;
	esac
	for problem in $problems; do
		counters=best
		case " $counted " in
		*" $problem "*) counters=all ;;
		esac
		split "$problem"
		log=$logs/sweep_$p_log.txt
		run "$allowed" "$log" "$build/tcbtune" sweep --op "$p_op" --device "$device" --contract "$p_contract" \
			--shape "$p_shape" --budget "$budget" --finalists "$finalists" --counters "$counters" --db "$db"
		tried=$(sed -n 's/.*: \([0-9]*\) of [0-9]* candidates tried.*/\1/p' "$log" | tail -n 1)
		detail=$(sed -n 's/.*: \([0-9]* of [0-9]* candidates tried.*known before\).*/\1/p' "$log" | tail -n 1)
		[ -z "$tried" ] || [ "$took" -eq 0 ] || detail="$detail; $((tried / took)) a second, finals and counters ($counters) included"
		verdict "$problem" "$log" "$detail"
	done
	log=$logs/db_check.txt
	run 60 "$log" "$build/tcbtune" db check --db "$db"
	verdict "database" "$log" "$(last_line "$log")"
}

# The figures of one bench: a row for each cache state; the aims are the project's own for an H200.
bench_rows() {
	python3 - "$1" <<'END'
import json
import sys

LARGE = ("1x14336x4096", "1x4096x14336", "1x32000x4096")
AIM = {("q4k_matvec", "f32", shape): 1.35 for shape in ("1x4096x4096", *LARGE)}
for form in ("q40", "q80", "q4k", "q5k", "q6k"):
    AIM[f"{form}_matvec", "q8", "1x4096x4096"] = 1.25
    AIM.update({(f"{form}_matvec", "q8", shape): 1.12 for shape in LARGE})
    AIM.update({(f"{form}_matmul", contract, f"{m}x{nk}"): 1.3 for contract in ("q8", "f16") for m in (8, 32)
                for nk in ("4096x4096", "14336x4096", "4096x14336")})
AIM.update({(op, "f32", "4096x4096"): 1.12 for op in ("softmax", "rmsnorm", "layernorm", "reduce2d_sum",
                                                      "reduce2d_max", "reduce2d_min")})


def us(interval):
    return f"{interval['median'] / 1000:.2f}" if interval else "-"


def over(share):
    """A share of the limit as a multiple of its time, with its interval."""
    if not share:
        return "-"
    low, high = share.get("hi"), share.get("lo")
    text = f"{1 / share['median']:.3f}"
    return text + (f" [{1 / low:.3f}, {1 / high:.3f}]" if low and high else "")


for result in json.load(open(sys.argv[1], encoding="utf-8"))["results"]:
    rows = {row["role"]: row for row in result["rows"]}
    first, default = result["rows"][0], rows.get("default", result["rows"][0])
    aim = AIM.get((result["op"], result["contract"], result["shape"]["text"]))
    share = result.get("of_limit")
    line = (f"{first['role']} {us(first['ns'])} us, default {us(default['ns'])}, read {us(result['limit_ns'])}: "
            f"{over(share)} x the read")
    if result.get("of_overlap"):
        line += f", {over(result['of_overlap'])} x the dependent read"
    if result["state"] == "cold" and aim and share:
        line += f"; {'met' if 1 / share['median'] <= aim else 'MISSED'} aim {aim}"
    print(f"{result['state']}\t{line}")
END
}

run_bench() {
	for problem in $problems; do
		split "$problem"
		json=$logs/bench_$p_log.json
		log=$logs/bench_$p_log.txt
		rm -f "$json"
		to=$json
		run 120 "$log" "$build/tcbtune" bench --op "$p_op" --device "$device" --contract "$p_contract" \
			--shape "$p_shape" --budget "$bench_budget" --db "$db" --json
		to=
		if [ "$status" -ne 0 ] || ! command -v python3 >/dev/null; then
			verdict "$problem" "$log" "see the log: no python3 here"
			continue
		fi
		bench_rows "$json" >"$logs/bench_rows.tmp" 2>>"$log" || status=1
		while IFS='	' read -r state line; do
			verdict "$problem $state" "$log" "$line"
		done <"$logs/bench_rows.tmp"
		[ "$status" -eq 0 ] || verdict "$problem" "$log" ""
		rm -f "$logs/bench_rows.tmp"
		# One line a problem.
		tr -d '\n' <"$json" >>"$out/bench.jsonl" && echo >>"$out/bench.jsonl"
	done
}

run_counters() {
	for program in shared_patterns gpu_rates check_counters check_model; do
		case $program in
		check_*) with=$db ;;
		*) with= ;;
		esac
		if [ ! -x "$build/$program" ]; then
			row "$program" 0 'not run' "this build has no such program"
			continue
		fi
		run "$((part_end - $(now)))" "$out/$program.txt" "$build/$program" ${with:+"$with"}
		grep -E '^[a-z/. ]+ +[0-9]+ of [0-9]+ within|^verdict|correlation|regret' "$out/$program.txt" |
			cut -c 1-120 >"$logs/lines.tmp"
		verdict "$program" "$out/$program.txt" "$(last_line "$out/$program.txt")"
		while read -r line; do
			row '' '' '' "$line"
		done <"$logs/lines.tmp"
		rm -f "$logs/lines.tmp"
	done
}

find_sanitizer() {
	command -v compute-sanitizer && return
	for path in "${CUDA_HOME:-/usr/local/cuda}" /usr/local/cuda /usr/local/cuda-*; do
		for file in "$path/bin/compute-sanitizer" "$path/compute-sanitizer/compute-sanitizer"; do
			[ -x "$file" ] && echo "$file" && return
		done
	done
	return 1
}

# What a tool found, from its last lines: a number of errors, hazards.
found_by() {
	sed -n -e 's/^========= ERROR SUMMARY: \([0-9]*\) error.*/\1/p' \
		-e 's/^========= RACECHECK SUMMARY: \([0-9]*\) hazard.*/\1/p' "$1" | tail -n 1
}

# sanitize_one TOOL FILE LOG CHECK WANTED: WANTED is none or some.
sanitize_one() {
	run 150 "$3" "$sanitizer" --tool "$1" --target-processes application-only "$build/gpu_candidates" run "$2" "$ordinal"
	number=$(found_by "$3")
	ran=$(sed -n 's/^ran //p' "$3" | tail -n 1)
	if [ "$status" -eq 124 ] || [ "$status" -eq 125 ] || [ "$status" -eq 137 ]; then
		verdict "$4" "$3" ""
	elif [ -z "$number" ]; then
		row "$4" "$took" FAIL "no summary of the tool: $(last_line "$3")"
	elif [ "$5" = some ]; then
		if [ "$number" -gt 0 ]; then
			row "$4" "$took" ok "found: $number"
		else
			row "$4" "$took" FAIL "the planted defect was not found"
		fi
	elif [ "$number" -eq 0 ] && [ "$status" -eq 0 ]; then
		row "$4" "$took" ok "clean: ${ran:-$(last_line "$3")}"
	else
		row "$4" "$took" FAIL "$number found, exit $status; $ran"
	fi
}

run_sanitize() {
	if ! sanitizer=$(find_sanitizer); then
		row compute-sanitizer 0 'not run' "not found; it is part of the CUDA toolkit"
		return
	fi
	work=$(mktemp -d)
	log=$logs/pack.txt
	for problem in $sanitized; do
		split "$problem"
		run 120 "$log" "$build/gpu_candidates" pack "$work/more" --db "$db" --count "$finalists" --op "$p_op" \
			--contract "$p_contract" --shape "$p_shape"
		verdict "$problem" "$log" "$(last_line "$log")"
		[ "$status" -ne 0 ] || cat "$work/more" >>"$work/best"
	done
	for problem in $covered; do
		split "$problem"
		run 120 "$log" "$build/gpu_candidates" pack "$work/more" --cover 1 --count 100 --device "$device" --op "$p_op" \
			--contract "$p_contract" --shape "$p_shape"
		verdict "$problem, each value" "$log" "$(last_line "$log")"
		[ ! -s "$work/more" ] || cat "$work/more" >>"$work/best"
	done
	if [ -n "$listed" ]; then
		run 120 "$log" "$build/gpu_candidates" pack "$work/more" --list "$listed" --device "$device"
		verdict "listed kernels" "$log" "$(last_line "$log")"
		[ ! -s "$work/more" ] || cat "$work/more" >>"$work/best"
	fi
	split "${sanitized%% *}" # a kernel of the first problem takes the planted defects
	for plant in store barrier; do
		run 60 "$log" "$build/gpu_candidates" pack "$work/$plant" --db "$db" --plant $plant --op "$p_op" \
			--contract "$p_contract" --shape "$p_shape"
		[ "$status" -eq 0 ] || verdict "planted $plant" "$log" ""
	done
	sanitize_one memcheck "$work/store" "$logs/memcheck_planted.txt" "memcheck, planted" some
	sanitize_one racecheck "$work/barrier" "$logs/racecheck_planted.txt" "racecheck, planted" some
	if [ -s "$work/best" ]; then
		run 60 "$logs/plain.txt" "$build/gpu_candidates" run "$work/best" "$ordinal"
		verdict "right at odd sizes" "$logs/plain.txt" "$(last_line "$logs/plain.txt")"
		for tool in memcheck racecheck synccheck initcheck; do
			sanitize_one $tool "$work/best" "$logs/$tool.txt" "$tool" none
		done
	fi
	rm -rf "$work"
}

# ---- all of it ----

devices=$("$build/tcbtune" devices 2>&1) || fail "tcbtune does not run here: $devices"
case $device in
cuda:*)
	if ! printf '%s\n' "$devices" | grep -q "^$device: "; then
		fail "no GPU called $device here: $(printf '%s\n' "$devices" | sed -n 's/^cuda: //p')"
	fi
	;;
esac
[ ! -f "$out/logs.tar.gz" ] || tar -C "$out" -xzf "$out/logs.tar.gz"
[ -f "$db" ] || [ ! -f "$out/tuning.db.gz" ] || gunzip -c "$out/tuning.db.gz" >"$db"
: >"$table"
rm -f "$out/bench.jsonl"
{
	date -u +%FT%TZ
	"$build/tcbtune" version
	printf '%s\n' "$devices" | sed -n "/^$device: /,/^[^ ]/p" | sed '/^ /!{/^'"$device"'/!d;}'
} >"$out/machine.txt"
{
	cat "$out/machine.txt"
	"$build/tcbtune" doctor
	if command -v nvidia-smi >/dev/null; then
		nvidia-smi
	fi
	env | grep '^GPU_CHECK_' | sort
	printf 'parts: %s\n' "$*"
} >>"$logs/machine.txt" 2>&1
trap stop INT TERM

for part in "$@"; do
	limit=$(limit_of "${part%%=*}")
	case $part in
	*=*) limit=${part#*=} ;;
	esac
	part=${part%%=*}
	part_end=$(($(now) + limit))
	case $part in
	tests | faults) run_tests ;;
	examples) run_examples ;;
	sweeps) run_sweeps ;;
	bench) run_bench ;;
	counters) run_counters ;;
	sanitize) run_sanitize ;;
	esac
done
finish
