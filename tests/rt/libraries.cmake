# SPDX-License-Identifier: MIT
#
# The objects of libtcbrt for programs that look inside, tests and fuzz targets: with a registry of one fake op, and
# with the real ops.
include_guard(GLOBAL)
add_library(tcbrt_fake STATIC ${CMAKE_SOURCE_DIR}/tests/rt/fake_op.c)
target_link_libraries(tcbrt_fake PUBLIC tcbrt_objects $<TARGET_OBJECTS:tcbrt_objects> tcb_db tcb_gguf tcb_kernels tcb_base)
target_include_directories(tcbrt_fake PUBLIC ${CMAKE_SOURCE_DIR}/include)
add_library(tcbrt_real STATIC ${CMAKE_SOURCE_DIR}/src/rt/rt_plan.h)
set_target_properties(tcbrt_real PROPERTIES LINKER_LANGUAGE C)
target_link_libraries(tcbrt_real PUBLIC tcbrt_objects $<TARGET_OBJECTS:tcbrt_objects> tcb_db tcb_gguf tcb_kernels tcb_base)
