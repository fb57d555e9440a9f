#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs what is missing and passes all tests: the plain build, of it first the
# tests that are not labelled slow, then those; the former under
# AddressSanitizer + UndefinedBehaviorSanitizer, those of threaded code under
# ThreadSanitizer, and the kernels for 64-bit Arm under emulation.  Ends with
# what was skipped and why, and how long each part took; where the compiler or the
# emulator for Arm cannot be had, the last line says NOT RUN.
#   scripts/test.sh          all of it
#   scripts/test.sh dev      one part only (dev, slow, asan, tsan or neon)
set -eu
cd "$(dirname "$0")/.."

scripts/install-deps.sh test
jobs=$(nproc)
skipped=""
times=""
if cuda=$(scripts/fetch-assembler.sh); then
	[ -z "$cuda" ] || export CUDA_HOME="$cuda"
else
	skipped="
No assembler for PTX is installed, and none could be fetched (see above)."
fi
if wgpu=$(scripts/fetch-wgpu.sh); then
	export TCBTUNE_WGPU="$wgpu"
else
	skipped="$skipped
No library of WebGPU is installed, and none could be fetched (see above)."
fi
scripts/fetch-ggml-hosts.sh || skipped="$skipped
The programs that the plug-in for ggml is tested in could not be fetched (see above)."

# Builds TARGET of a preset and passes those of its tests that the other arguments choose.
run() {
	preset=$1
	target=$2
	shift 2
	started=$(date +%s)
	cmake --preset "$preset" >/dev/null
	cmake --build --preset "$preset" -j "$jobs" --target "$target"
	built=$(date +%s)
	passed=0
	ctest --preset "$preset" -j $((jobs + 1)) "$@" || passed=$? # one more: many wait for what they started
	times="$times
$(printf '%-6s %6d s %6d s' "$part" $((built - started)) $(($(date +%s) - built)))"
	list=$(scripts/list-skips.sh "build/$preset")
	[ -z "$list" ] || skipped="$skipped
Skipped in $preset:
$list"
	return "$passed"
}

# Whatever the outcome.
tell() {
	[ -z "$skipped" ] || echo "$skipped"
	[ -z "$times" ] || printf '\n%-6s %8s %8s%s\n' part build tests "$times"
}
trap tell EXIT

not_run=""
for part in ${1:-dev slow asan tsan neon}; do
	case "$part" in
	# Of many like cases of GPU kernels dev takes an eighth, slow a quarter (tests/instrumented.h).
	dev) run ci all -LE slow ;;
	slow) run ci all -L slow ;;
	# Tests that install and compile (install), read sources (house) or judge what is printed (printed) gain nothing
	# here. Of many like cases some tests take a sixteenth (tests/instrumented.h).
	# Drivers in software are neither instrumented nor free of leaks (webgpu).
	asan) run asan all -LE 'slow|install|house|printed|webgpu' ;;
	tsan) run tsan thread_tests -L threads ;;
	neon)
		if scripts/install-deps.sh neon; then
			run neon all
		else
			not_run="the kernels for 64-bit Arm: no cross compiler or no emulator (see install-deps.sh neon)"
		fi
		;;
	*)
		echo "usage: $0 [dev|slow|asan|tsan|neon]" >&2
		exit 2
		;;
	esac
done
if [ -n "$not_run" ]; then
	tell
	skipped=""
	times=""
	echo "NOT RUN: $not_run"
	[ $# -eq 0 ] # who asked for this one alone has not got it
fi
