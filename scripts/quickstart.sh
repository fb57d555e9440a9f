#!/bin/sh
# SPDX-License-Identifier: MIT
#
# From a fresh clone to tuned kernels: installs what is missing, builds, sweeps
# one shape of q4k_matvec on this CPU for about a minute into the default
# database; the sweep ends with the report of it.
set -eu
cd "$(dirname "$0")/.."

scripts/install-deps.sh build
# Counts events of the processor where it has them; nothing else needs it.
scripts/install-deps.sh papi || echo "quickstart.sh: going on without PAPI: hardware counters will not be available" >&2
cmake --preset release >/dev/null
cmake --build --preset release
tcbtune=build/release/src/cli/tcbtune

"$tcbtune" doctor
"$tcbtune" sweep --op q4k_matvec --device cpu --shape 1x4096x4096 --budget 60s
