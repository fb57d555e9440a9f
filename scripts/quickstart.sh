#!/bin/sh
# SPDX-License-Identifier: MIT
#
# From a fresh clone to tuned kernels: installs what is missing, builds, sweeps
# one shape of q4k_matvec on this CPU for about a minute into the default
# database, and prints the report.
set -eu
cd "$(dirname "$0")/.."

scripts/install-deps.sh build
cmake --preset release >/dev/null
cmake --build --preset release
tcbtune=build/release/src/cli/tcbtune

"$tcbtune" doctor
"$tcbtune" sweep --op q4k_matvec --device cpu --shape 1x4096x4096 --budget 60s
"$tcbtune" report
