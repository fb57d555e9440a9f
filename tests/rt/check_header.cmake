# SPDX-License-Identifier: MIT
#
# -DINCLUDE= -DWORK= -DNAME= -DLIBRARY= (-DCC= | -DCXX=) -P check_header.cmake
#
# NAME.h of LIBRARY alone, as strict C17 or as C++, with every warning an error.
file(MAKE_DIRECTORY ${WORK})
set(flags -Wall -Wextra -pedantic -Werror -I${INCLUDE} -fsyntax-only)
if(CC)
	file(WRITE ${WORK}/alone.c "#include <${NAME}.h>\nint alone(void);\nint alone(void) { return ${LIBRARY}_version() != 0; }\n")
	execute_process(COMMAND ${CC} -std=c17 -Wstrict-prototypes -Wundef ${flags} ${WORK}/alone.c
		COMMAND_ERROR_IS_FATAL ANY)
endif()
if(CXX)
	file(WRITE ${WORK}/alone.cpp "#include <${NAME}.h>\nint alone() { return ${LIBRARY}_version() != 0; }\n")
	foreach(standard c++11 c++20)
		execute_process(COMMAND ${CXX} -std=${standard} ${flags} ${WORK}/alone.cpp COMMAND_ERROR_IS_FATAL ANY)
	endforeach()
endif()
