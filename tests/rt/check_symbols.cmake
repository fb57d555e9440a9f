# SPDX-License-Identifier: MIT
#
# -DNM= -DSHARED= [-DSTATIC=] -DLIST= -DSANITIZED= -P check_symbols.cmake
#
# What the shared library exports is LIST, no more and no less; the static one
# defines the same names and nothing else that could clash with a program.
function(symbols_of out_name file)
	execute_process(COMMAND ${NM} ${ARGN} ${file} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
	string(REGEX MATCHALL "[^\n]+" lines "${text}")
	set(symbols "")
	foreach(line ${lines})
		# "0000 T name"; "0000 A TCBRT_0.1" is the version itself
		if(line MATCHES "^[0-9a-f]+ ([A-Za-z]) ([^ ]+)$" AND NOT CMAKE_MATCH_1 STREQUAL "A")
			list(APPEND symbols ${CMAKE_MATCH_2})
		endif()
	endforeach()
	list(SORT symbols)
	set(${out_name} "${symbols}" PARENT_SCOPE)
endfunction()

file(STRINGS ${LIST} want)
symbols_of(have ${SHARED} --dynamic --defined-only)
if(NOT have STREQUAL want)
	message(FATAL_ERROR "${SHARED} exports\n  ${have}\nand not what ${LIST} lists:\n  ${want}")
endif()
if(NOT STATIC)
	return()
endif()
if(SANITIZED)
	# Instrumentation defines globals of its own in the objects.
	message(STATUS "static library not looked at: it is instrumented")
	return()
endif()
list(TRANSFORM want REPLACE "@.*" "")
symbols_of(have ${STATIC} --extern-only --defined-only)
if(NOT have STREQUAL want)
	message(FATAL_ERROR "${STATIC} defines\n  ${have}\nand not\n  ${want}")
endif()
