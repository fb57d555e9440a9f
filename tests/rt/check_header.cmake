# SPDX-License-Identifier: MIT
#
# -DCC= -DCXX= -DINCLUDE= -DWORK= -P check_header.cmake
#
# tcbrt.h alone, as strict C17 and as C++, with every warning an error.
file(MAKE_DIRECTORY ${WORK})
file(WRITE ${WORK}/alone.c "#include <tcbrt.h>\nint alone(void);\nint alone(void) { return TCBRT_VERSION; }\n")
file(WRITE ${WORK}/alone.cpp "#include <tcbrt.h>\nint alone() { return tcbrt_version(); }\n")
set(flags -Wall -Wextra -pedantic -Werror -I${INCLUDE} -fsyntax-only)
execute_process(COMMAND ${CC} -std=c17 -Wstrict-prototypes -Wundef ${flags} ${WORK}/alone.c COMMAND_ERROR_IS_FATAL ANY)
if(NOT CXX)
	message("SKIPPED: there is no C++ compiler; as C17 the header is fine")
	return()
endif()
foreach(standard c++11 c++20)
	execute_process(COMMAND ${CXX} -std=${standard} ${flags} ${WORK}/alone.cpp COMMAND_ERROR_IS_FATAL ANY)
endforeach()
