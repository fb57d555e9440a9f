#!/bin/sh
# SPDX-License-Identifier: MIT
#
# with_module.sh MODULE PROGRAM [ARGUMENT...]
#
# Runs a Python program with the first interpreter that has MODULE; exits with 77 where there is none.
module=$1
shift
for python in python3 /usr/bin/python3; do
	if "$python" -c "import $module" 2>/dev/null; then
		exec "$python" "$@"
	fi
done
echo "SKIPPED: no Python here has $module"
exit 77
