#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs what is missing and passes all tests: the plain build, then the same
# tests under AddressSanitizer + UndefinedBehaviorSanitizer, then those of
# threaded code under ThreadSanitizer, then the kernels for 64-bit Arm under
# emulation; where the compiler or the emulator for that cannot be had, the last
# line says NOT RUN.
#   scripts/test.sh          all of it
#   scripts/test.sh dev      one preset only (dev, asan, tsan or neon)
set -eu
cd "$(dirname "$0")/.."

scripts/install-deps.sh test
jobs=$(nproc)

# Builds TARGET of a preset and passes those of its tests that the other arguments choose.
run() {
	preset=$1
	target=$2
	shift 2
	cmake --preset "$preset" >/dev/null
	cmake --build --preset "$preset" -j "$jobs" --target "$target"
	ctest --preset "$preset" -j "$jobs" "$@"
}

not_run=""
for preset in ${1:-dev asan tsan neon}; do
	case "$preset" in
	dev) run ci all ;;
	# Tests that time things (slow), install and compile (install) or read sources (house) gain nothing here.
	asan) run asan all -LE 'slow|install|house' ;;
	tsan) run tsan thread_tests -L threads ;;
	neon)
		if scripts/install-deps.sh neon; then
			run neon all
		else
			not_run="the kernels for 64-bit Arm: no cross compiler or no emulator (see install-deps.sh neon)"
		fi
		;;
	*)
		echo "usage: $0 [dev|asan|tsan|neon]" >&2
		exit 2
		;;
	esac
done
if [ -n "$not_run" ]; then
	echo "NOT RUN: $not_run"
	[ $# -eq 0 ] # who asked for this one alone has not got it
fi
