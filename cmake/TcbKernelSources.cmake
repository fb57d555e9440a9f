# SPDX-License-Identifier: MIT
#
# tcb_kernel_sources(<target> [UNSANITIZED] SOURCES ... HEADERS ...)
#
# Adds kernel sources of the calling directory to <target>, which may belong to
# another directory.  The suffix of a file's name gives its instruction set
# (_scalar, _avx2, _avx512, _avx512vnni, _amx, _neon); TCB_SOURCE_HASH is defined for each as
# the hash of the file, its flags and all of HEADERS (any file whose change
# alters every kernel): the signature that makes stored results stale when a
# kernel changes.  UNSANITIZED: code that touches no memory, and is timed.
set(TCB_ISA_FLAGS_scalar -O2 -fno-tree-vectorize -fno-tree-slp-vectorize)
set(TCB_ISA_FLAGS_avx2 -O3 -mavx2 -mfma -mf16c)
set(TCB_ISA_FLAGS_avx512 -O3 -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx2 -mfma -mf16c -mprefer-vector-width=512)
set(TCB_ISA_FLAGS_avx512vnni ${TCB_ISA_FLAGS_avx512} -mavx512vnni)
set(TCB_ISA_FLAGS_amx ${TCB_ISA_FLAGS_avx512vnni} -mamx-tile -mamx-int8)
set(TCB_ISA_FLAGS_neon -O3 -march=armv8.2-a+dotprod+fp16)
if(CMAKE_C_COMPILER_ID MATCHES "Clang")
	set(TCB_ISA_FLAGS_scalar -O2 -fno-vectorize -fno-slp-vectorize)
endif()

function(tcb_kernel_sources target)
	cmake_parse_arguments(arg "UNSANITIZED" "" "SOURCES;HEADERS" ${ARGN})
	set(header_text "")
	foreach(header ${arg_HEADERS})
		get_filename_component(path ${header} ABSOLUTE) # "../" folded, so that the path is the one others give
		file(SHA256 ${path} digest)
		string(APPEND header_text ${digest})
		set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
	endforeach()
	foreach(source ${arg_SOURCES})
		# Absolute, and set where the target lives: source properties are seen by one directory only.
		set(path ${CMAKE_CURRENT_SOURCE_DIR}/${source})
		set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${path})
		set(flags "")
		set(debug "")
		# Another processor's: the op's list of variants leaves them out too.
		if(source MATCHES "_(avx2|avx512|avx512vnni|amx)\\.c$" AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
			continue()
		endif()
		if(source MATCHES "_neon\\.c$" AND NOT CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
			continue()
		endif()
		if(source MATCHES "_(scalar|avx2|avx512|avx512vnni|amx|neon)\\.c$")
			set(flags ${TCB_ISA_FLAGS_${CMAKE_MATCH_1}})
			set(debug -g1) # all is inlined: no more can be followed, and the rest takes as long as compiling
			if(TCB_SANITIZE AND arg_UNSANITIZED)
				list(APPEND flags -fno-sanitize=all)
			elseif(TCB_SANITIZE) # instrumented and unrolled, a file takes minutes at -O2 and seconds so
				list(APPEND flags -O1 -g1)
				if(CMAKE_C_COMPILER_ID STREQUAL "GNU") # a third less again: registers in one region
					list(APPEND flags -fira-region=one)
				endif()
			elseif(TCB_ONLY_KERNELS) # a third of the time; intrinsics are the same, preset aarch64 has the rest
				list(APPEND flags -O1)
			endif()
		endif()
		file(SHA256 ${path} digest)
		string(SHA256 digest "${digest}${header_text}${flags}")
		string(SUBSTRING ${digest} 0 32 digest)
		set_source_files_properties(${path} TARGET_DIRECTORY ${target} PROPERTIES
			COMPILE_DEFINITIONS "TCB_SOURCE_HASH=\"${digest}\"" COMPILE_OPTIONS "${flags};${debug}")
		target_sources(${target} PRIVATE ${path})
	endforeach()
endfunction()
