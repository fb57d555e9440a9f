# SPDX-License-Identifier: MIT
#
# Writes tcb_build_info.h at every build: version, commit, compiler.  The file
# is touched only when its text changes.
set(TCB_BUILD_INFO_DIR ${CMAKE_BINARY_DIR}/generated)
add_custom_target(tcb_build_info
	COMMAND ${CMAKE_COMMAND} -DSOURCE_DIR=${CMAKE_SOURCE_DIR} -DOUT=${TCB_BUILD_INFO_DIR}/tcb_build_info.h
		-DVERSION=${PROJECT_VERSION} -DCOMPILER=${CMAKE_C_COMPILER_ID}-${CMAKE_C_COMPILER_VERSION}
		-DBUILD_TYPE=${CMAKE_BUILD_TYPE} -P ${CMAKE_SOURCE_DIR}/cmake/write_build_info.cmake
	BYPRODUCTS ${TCB_BUILD_INFO_DIR}/tcb_build_info.h
	COMMENT "Build information")
