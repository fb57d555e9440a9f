# SPDX-License-Identifier: MIT
#
# Language level, warnings, build types and sanitizers for every target.
set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # POSIX and Linux calls; the public header is tested as strict C17
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(NOT CMAKE_BUILD_TYPE)
	set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()
set(TCB_DEBUG "-g" CACHE STRING "Debug information of build type Dev")
set(dev_level "-O2 ${TCB_DEBUG}")
if(TCB_SANITIZE AND NOT TCB_BUILD_FUZZERS) # instrumented code takes twice as long to compile at -O2
	set(dev_level "-O1 -g1")
endif()
set(CMAKE_C_FLAGS_DEV "${dev_level} -fno-omit-frame-pointer" CACHE STRING "Optimised, assertions on" FORCE)
set(CMAKE_C_FLAGS_CROSS "-O1" CACHE STRING "What is compiled soon" FORCE)
set(CMAKE_C_FLAGS_RELEASE "-O2 -g1 -DNDEBUG" CACHE STRING "Optimised" FORCE)

# Two hundred test programs are linked; these take half the time.
if(CMAKE_BUILD_TYPE STREQUAL "Dev" AND CMAKE_C_COMPILER_ID STREQUAL "GNU" AND NOT CMAKE_CROSSCOMPILING)
	find_program(TCB_LINKER NAMES ld.mold ld.gold)
	mark_as_advanced(TCB_LINKER)
	if(TCB_LINKER)
		get_filename_component(linker ${TCB_LINKER} EXT)
		string(SUBSTRING ${linker} 1 -1 linker)
		add_link_options(-fuse-ld=${linker})
	endif()
endif()

add_compile_definitions(_GNU_SOURCE)
# No contraction: a fused multiply-add is written as one, so that rounding chains are what the source says.
add_compile_options(-Wall -Wextra -Wno-missing-field-initializers -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith
	-Wvla -Wwrite-strings -Wundef -ffp-contract=off -fno-strict-aliasing)
if(TCB_WERROR)
	add_compile_options(-Werror)
endif()
if(TCB_SANITIZE)
	add_compile_options(-fsanitize=${TCB_SANITIZE} -fno-sanitize-recover=all)
	# These know the ranges of values at -O2 only; the other builds have them.  clang has none of them.
	if(CMAKE_C_COMPILER_ID STREQUAL "GNU")
		add_compile_options(-Wno-format-truncation -Wno-maybe-uninitialized)
	endif()
	add_link_options(-fsanitize=${TCB_SANITIZE})
	# At a fixed address: what checks tell of places is a million relocations, half of a start of tcbtune.
	if(NOT TCB_BUILD_FUZZERS)
		add_link_options($<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-no-pie>)
	endif()
endif()
if(TCB_BUILD_FUZZERS)
	add_compile_options(-fsanitize=fuzzer-no-link)
endif()
