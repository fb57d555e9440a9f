# SPDX-License-Identifier: MIT
#
# What tests and fuzz targets of kernels share.
include_guard(GLOBAL)
add_library(emit_case STATIC ${CMAKE_SOURCE_DIR}/tests/kernels/emit_case.c)
target_link_libraries(emit_case PUBLIC tcb_worker tcb_kernels tcb_device)
target_include_directories(emit_case PUBLIC ${CMAKE_SOURCE_DIR}/tests)
