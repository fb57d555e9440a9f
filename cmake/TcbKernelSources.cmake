# SPDX-License-Identifier: MIT
#
# tcb_kernel_sources(<target> [UNSANITIZED] SOURCES ...)
#
# Adds kernel sources of the calling directory to <target>, which may belong to
# another directory.  The suffix of a file's name gives its instruction set (_avx2.c).
# UNSANITIZED: code that touches no memory, and is timed.
#
# tcb_sign_code(<target> <objects>)
#
# Adds to <target> the signatures of the variants whose code the object library
# <objects> has: hashes of machine code (sign_code.c), which make stored results
# stale when a kernel changes, and then only.
#
# tcb_per_isa(<out> <source> <isa>...)
#
# OUT: <source> once for each instruction set, as <name>_<isa>.c in the build
# folder, which includes it.  Such a file is written in the vocabulary of
# src/kernels/simd/simd.h, which knows the set by its flags.
# Instruction sets by what the processors that have them are called in CMAKE_SYSTEM_PROCESSOR.
set(TCB_ISAS "")
macro(tcb_isa name processors)
	list(APPEND TCB_ISAS ${name})
	set(TCB_ISA_FLAGS_${name} ${ARGN})
	set(TCB_ISA_PROCESSORS_${name} "${processors}")
endmacro()
set(TCB_X86 "^(x86_64|AMD64|amd64)$")
tcb_isa(scalar . -O2 -fno-tree-vectorize -fno-tree-slp-vectorize)
tcb_isa(avx2 ${TCB_X86} -O3 -mavx2 -mfma -mf16c)
tcb_isa(avx512 ${TCB_X86} -O3 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mf16c -mprefer-vector-width=512)
tcb_isa(avx512vnni ${TCB_X86} ${TCB_ISA_FLAGS_avx512} -mavx512vnni)
tcb_isa(avx512bf16 ${TCB_X86} ${TCB_ISA_FLAGS_avx512vnni} -mavx512bf16)
tcb_isa(amx ${TCB_X86} ${TCB_ISA_FLAGS_avx512vnni} -mamx-tile -mamx-int8 -mamx-bf16 -mavx512bf16)
tcb_isa(neon "^(aarch64|arm64)$" -O3 -march=armv8.2-a+dotprod+fp16)
list(JOIN TCB_ISAS "|" TCB_ISA_SUFFIX)
set(TCB_ISA_SUFFIX "_(${TCB_ISA_SUFFIX})\\.c$")
# Those whose arithmetic on floats differs (src/kernels/simd/isas.h), and those of them with vectors.
set(TCB_ISAS_VECTORS avx2 avx512 neon)
set(TCB_ISAS_FLOATS scalar ${TCB_ISAS_VECTORS})
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
	set(TCB_ISA_FLAGS_scalar -O2 -fno-vectorize -fno-slp-vectorize)
endif()

# What the tests' builds have of sets that this machine's processor lacks is compiled soon, not instrumented: nothing runs
# it.  A portable build goes elsewhere.
set(TCB_ISAS_ABSENT "")
if(TCB_ABSENT_ISAS_SOON AND NOT TCB_PORTABLE AND NOT CMAKE_CROSSCOMPILING)
	execute_process(COMMAND ${CMAKE_C_COMPILER} -march=native -dM -E -x c /dev/null OUTPUT_VARIABLE native_macros)
	foreach(isa ${TCB_ISAS})
		list(TRANSFORM TCB_ISA_FLAGS_${isa} TOUPPER OUTPUT_VARIABLE needs)
		list(FILTER needs INCLUDE REGEX "^-M[^=]*$") # those of the form -mavx512f, whose macro is __AVX512F__
		foreach(need ${needs})
			string(REGEX REPLACE "^-M" "" need "${need}")
			string(REPLACE "-" "_" need "${need}")
			if(NOT native_macros MATCHES "#define __${need}__ ")
				list(APPEND TCB_ISAS_ABSENT ${isa})
				break()
			endif()
		endforeach()
	endforeach()
endif()

# Those of SOURCES that are built for this processor: an op's list of variants leaves the others out, too.
function(tcb_sources_here out)
	set(here "")
	foreach(source ${ARGN})
		if(source MATCHES "${TCB_ISA_SUFFIX}")
			set(processors "${TCB_ISA_PROCESSORS_${CMAKE_MATCH_1}}")
			if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "${processors}")
				continue()
			endif()
		endif()
		list(APPEND here ${source})
	endforeach()
	set(${out} ${here} PARENT_SCOPE)
endfunction()

function(tcb_per_isa out source)
	set(files "")
	file(RELATIVE_PATH from_src ${PROJECT_SOURCE_DIR}/src ${CMAKE_CURRENT_SOURCE_DIR}/${source})
	foreach(isa ${ARGN})
		string(REGEX REPLACE "\\.c$" "_${isa}.c" path ${CMAKE_CURRENT_BINARY_DIR}/${source})
		file(CONFIGURE OUTPUT ${path} CONTENT "#include \"${from_src}\"\n")
		list(APPEND files ${path})
	endforeach()
	set(${out} ${files} PARENT_SCOPE)
endfunction()

# Compiler flags of SOURCE by its suffix.
function(tcb_isa_flags out source is_unsanitized)
	set(flags "")
	if(source MATCHES "${TCB_ISA_SUFFIX}")
		set(flags ${TCB_ISA_FLAGS_${CMAKE_MATCH_1}})
		# With clang's coverage beside the sanitizers such a file takes ten minutes and more; preset asan has them.
		if(CMAKE_MATCH_1 IN_LIST TCB_ISAS_ABSENT)
			list(APPEND flags -O1 -DTCB_SOON -Wno-maybe-uninitialized) # known at -O2 only
			if(TCB_SANITIZE)
				list(APPEND flags -fno-sanitize=all)
			endif()
		elseif(TCB_SANITIZE AND (is_unsanitized OR TCB_BUILD_FUZZERS))
			list(APPEND flags -fno-sanitize=all)
		elseif(TCB_SANITIZE) # instrumented and unrolled, a file takes minutes at -O2 and seconds so
			list(APPEND flags -O1 -g1)
			if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # a third less again: registers in one region
				list(APPEND flags -fira-region=one)
				if(TCB_SANITIZE MATCHES "address") # a third less still: the same checks, by calls
					list(APPEND flags --param=asan-instrumentation-with-call-threshold=0)
				endif()
			endif()
		elseif(TCB_ONLY_KERNELS) # a third of the time; intrinsics are the same, preset aarch64 has the rest
			list(APPEND flags -O1)
		elseif(TCB_ABSENT_ISAS_SOON AND CMAKE_MATCH_1 STREQUAL scalar) # nobody times it there; presets dev and portable have the rest
			list(APPEND flags -DTCB_SOON -Wno-maybe-uninitialized)
		endif()
	endif()
	set(${out} ${flags} PARENT_SCOPE)
endfunction()

function(tcb_kernel_sources target)
	cmake_parse_arguments(arg "UNSANITIZED" "" "SOURCES" ${ARGN})
	tcb_sources_here(sources ${arg_SOURCES})
	foreach(source ${sources})
		# Absolute, and set where the target lives: source properties are seen by one directory only.
		get_filename_component(path ${source} ABSOLUTE)
		tcb_isa_flags(flags ${source} "${arg_UNSANITIZED}")
		set(debug "")
		if(flags)
			set(debug -g1) # all is inlined: no more can be followed, and the rest takes as long as compiling
		endif()
		set_source_files_properties(${path} TARGET_DIRECTORY ${target} PROPERTIES COMPILE_OPTIONS "${flags};${debug}")
		target_sources(${target} PRIVATE ${path})
	endforeach()
endfunction()

function(tcb_sign_code target objects)
	# Each function and table in a section of its own, and machine code in the objects.
	target_compile_options(${objects} PRIVATE -ffunction-sections -fdata-sections -fno-lto)
	set(compiler ${CMAKE_C_COMPILER})
	if(CMAKE_CROSSCOMPILING)
		find_program(TCB_HOST_CC NAMES cc gcc clang REQUIRED DOC "Compiler of what runs while building")
		set(compiler ${TCB_HOST_CC})
	endif()
	set(tool ${CMAKE_CURRENT_BINARY_DIR}/sign_code)
	set(list ${CMAKE_CURRENT_BINARY_DIR}/sign_code.list)
	set(table ${CMAKE_CURRENT_BINARY_DIR}/code_signatures.c)
	add_custom_command(OUTPUT ${tool}
		COMMAND ${compiler} -std=gnu17 -D_GNU_SOURCE -O2 -Wall -Wextra -MD -MF ${tool}.d -MT ${tool}
			-I${CMAKE_SOURCE_DIR}/src ${CMAKE_SOURCE_DIR}/cmake/sign_code.c -o ${tool}
		DEPENDS ${CMAKE_SOURCE_DIR}/cmake/sign_code.c DEPFILE ${tool}.d VERBATIM COMMENT "Building sign_code")
	file(GENERATE OUTPUT ${list} CONTENT "$<JOIN:$<TARGET_OBJECTS:${objects}>,\n>\n")
	set(what "")
	if(TCB_SANITIZE) # of so much code it takes half a minute; nothing is stored that another build should know
		set(what sizes)
	endif()
	add_custom_command(OUTPUT ${table} COMMAND ${tool} ${table} ${list} ${what}
		DEPENDS ${tool} ${list} $<TARGET_OBJECTS:${objects}> VERBATIM COMMENT "Signing the kernels' machine code")
	target_sources(${target} PRIVATE ${table} $<TARGET_OBJECTS:${objects}>)
endfunction()
