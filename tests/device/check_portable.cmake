# SPDX-License-Identifier: MIT
#
# cmake -DREADELF=... -DBINARY=... -P check_portable.cmake: fails if BINARY
# needs a shared library that is not part of glibc.
execute_process(COMMAND ${READELF} -d ${BINARY} OUTPUT_VARIABLE text RESULT_VARIABLE status)
if(NOT status EQUAL 0)
	message(FATAL_ERROR "${READELF} cannot read ${BINARY}")
endif()
string(REGEX MATCHALL "\\(NEEDED\\)[^\n]*" needed "${text}")
if(NOT needed)
	message(FATAL_ERROR "${BINARY} names no library at all: is it what was meant?")
endif()
foreach(line IN LISTS needed)
	if(NOT line MATCHES "\\[(libc|libm|libpthread|libdl|librt|ld-linux[-a-z0-9_]*)\\.so\\.[0-9]+\\]")
		message(SEND_ERROR "${BINARY} needs more than glibc: ${line}")
	endif()
endforeach()
