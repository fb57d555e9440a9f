#!/bin/sh
# SPDX-License-Identifier: MIT
#
# with_valgrind.sh PROGRAM [ARGUMENT...]
#
# Runs it under valgrind: no memory is read before it was written, none is lost.  Valgrind shows programs a processor
# without AVX-512, which it does not know.  Exits with 77 where there is no valgrind.
command -v valgrind >/dev/null || {
	echo "SKIPPED: no valgrind here"
	exit 77
}
exec valgrind --quiet --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite,indirect \
	--child-silent-after-fork=yes --fair-sched=yes "$@"
