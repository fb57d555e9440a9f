# SPDX-License-Identifier: MIT
#
# Script of the tcb_build_info target: the commit, "-dirty" after it if the
# tree has uncommitted changes, "unknown" outside a git checkout.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND git -C ${SOURCE_DIR} describe --always --dirty --abbrev=12 --match=NOTAGS
	OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
if(NOT commit)
	set(commit unknown)
endif()
file(CONFIGURE OUTPUT ${OUT} @ONLY CONTENT
"#define TCB_BUILD_VERSION \"@VERSION@\"
#define TCB_BUILD_COMMIT \"@commit@\"
#define TCB_BUILD_COMPILER \"@COMPILER@\"
#define TCB_BUILD_TYPE \"@BUILD_TYPE@\"
")
