# SPDX-License-Identifier: MIT
#
# Libraries that are linked: SQLite, hwloc, Jansson, xxHash, zlib.  PAPI, CUDA, CUPTI
# and NVML are opened at run time and are not looked for here.  With
# TCB_PORTABLE the static archives are used, so that only glibc is needed.  With
# TCB_ONLY_KERNELS there is none but xxHash's header, which is this machine's: it
# is the same for all processors.
find_package(Threads REQUIRED)
if(TCB_ONLY_KERNELS)
	find_path(TCB_XXHASH_HEADERS xxhash.h REQUIRED)
	file(GLOB headers ${TCB_XXHASH_HEADERS}/xxh*.h)
	file(COPY ${headers} DESTINATION ${CMAKE_BINARY_DIR}/xxhash) # nothing else of that folder is for the target
	add_library(dep_xxhash INTERFACE)
	target_include_directories(dep_xxhash SYSTEM INTERFACE ${CMAKE_BINARY_DIR}/xxhash)
	return()
endif()
find_package(PkgConfig REQUIRED)

function(tcb_dependency name module)
	pkg_check_modules(${name} REQUIRED ${module})
	add_library(dep_${name} INTERFACE)
	target_include_directories(dep_${name} SYSTEM INTERFACE ${${name}_INCLUDE_DIRS})
	if(TCB_PORTABLE)
		list(GET ${name}_LIBRARIES 0 first)
		find_library(${name}_ARCHIVE NAMES lib${first}.a HINTS ${${name}_LIBRARY_DIRS} REQUIRED)
		target_link_libraries(dep_${name} INTERFACE ${${name}_ARCHIVE} m)
	else()
		target_link_directories(dep_${name} INTERFACE ${${name}_LIBRARY_DIRS})
		target_link_libraries(dep_${name} INTERFACE ${${name}_LIBRARIES})
	endif()
endfunction()

tcb_dependency(sqlite sqlite3)
tcb_dependency(hwloc hwloc)
tcb_dependency(jansson jansson)
tcb_dependency(xxhash libxxhash)
tcb_dependency(zlib zlib)
if(TCB_BUILD_TESTS)
	pkg_check_modules(cmocka REQUIRED IMPORTED_TARGET cmocka)
endif()
