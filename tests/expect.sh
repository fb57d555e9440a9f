#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs a command that must end with an exit status and print a line.
#   tests/expect.sh <status> <extended regular expression> <command> [<argument>...]
# (ctest does not look at the exit status of a test with a PASS_REGULAR_EXPRESSION.)
set -u
status=$1
line=$2
shift 2
got=0
export COLUMNS=1000 # lines are whole
printed=$("$@" 2>&1) || got=$?
printf '%s\n' "$printed" | sed 's/^/| /' # a line "SKIPPED: reason" in it is not this test's
if [ "$got" -ne "$status" ]; then
	echo "expect.sh: exit status $got instead of $status"
	exit 1
fi
if ! printf '%s\n' "$printed" | grep -Eq -e "$line"; then
	echo "expect.sh: no line is like '$line'"
	exit 1
fi
