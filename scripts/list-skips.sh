#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What the last ctest run in a build folder skipped, and why, one line each:
#   list-skips.sh BUILD
# A test that skips something says "SKIPPED: reason" in its output.
awk '
/^[0-9]+\/[0-9]+ Testing: / { name = $3 }
/^SKIPPED: / && !seen[name, $0]++ { printf "  %s: %s\n", name, substr($0, 10) }
' "$1/Testing/Temporary/LastTest.log"
