# SPDX-License-Identifier: MIT
#
# Target wheel: the Python package of this build, in wheel/ of the build folder.  Of preset portable it is for any Linux
# with its glibc.
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND)
	add_custom_target(wheel
		COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/scripts/make-wheel.py ${CMAKE_BINARY_DIR} ${CMAKE_BINARY_DIR}/wheel
		DEPENDS tcbtune tcbrt tcbptx VERBATIM COMMENT "Making the Python package")
endif()
