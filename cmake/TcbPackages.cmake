# SPDX-License-Identifier: MIT
#
# The target `uninstall`, and what cpack makes .deb packages of.  A package is one
# component of the installation; what Debian wants of each besides comes with TCB_PACKAGES
# (preset package, whose prefix is /usr).
set(TCB_MAINTAINER "tcbtune maintainers <maintainers@example.org>" CACHE STRING "Who packages, as Debian writes it")
add_custom_target(uninstall COMMAND ${CMAKE_COMMAND} -DBUILD=${CMAKE_BINARY_DIR}
	-P ${CMAKE_SOURCE_DIR}/cmake/uninstall.cmake VERBATIM COMMENT "Removing what was installed")
if(NOT TCB_PACKAGES)
	return()
endif()

set(packages tcbtune libtcbrt0 libtcbrt-dev libtcbptx0 libtcbptx-dev)
set(folder ${CMAKE_BINARY_DIR}/packages)
execute_process(COMMAND git -C ${CMAKE_SOURCE_DIR} log -1 --format=%aD OUTPUT_VARIABLE date OUTPUT_STRIP_TRAILING_WHITESPACE
	ERROR_QUIET)
if(NOT date)
	string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
endif()
file(CONFIGURE OUTPUT ${folder}/changelog @ONLY CONTENT "tcbtune (@PROJECT_VERSION@) unstable; urgency=medium

  * Version @PROJECT_VERSION@, as CHANGELOG.md has it.

 -- @TCB_MAINTAINER@  @date@
")
execute_process(COMMAND gzip -9nkf ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)
file(READ ${CMAKE_SOURCE_DIR}/LICENSE licence)
file(CONFIGURE OUTPUT ${folder}/copyright @ONLY CONTENT "tcbtune, packaged from its own sources.\n\n@licence@")
foreach(package ${packages})
	install(FILES ${folder}/changelog.gz ${folder}/copyright DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package}
		COMPONENT ${package})
endforeach()

# describe(PACKAGE SECTION SUMMARY TEXT [FIELD VALUE]...)
function(describe package section summary text)
	string(TOUPPER ${package} name)
	set(CPACK_DEBIAN_${name}_PACKAGE_NAME ${package} PARENT_SCOPE)
	set(CPACK_DEBIAN_${name}_PACKAGE_SECTION ${section} PARENT_SCOPE)
	set(CPACK_DEBIAN_${name}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
	set(CPACK_COMPONENT_${name}_DESCRIPTION "${summary}\n${text}" PARENT_SCOPE)
	while(ARGN)
		list(POP_FRONT ARGN field value)
		set(CPACK_DEBIAN_${name}_PACKAGE_${field} "${value}" PARENT_SCOPE)
	endwhile()
endfunction()
set(same "(= ${PROJECT_VERSION})")
describe(tcbtune utils "autotuner for tiled compute kernels"
	"Enumerates the tile geometries of quantised and dense matrix products and of
row operations on CPUs and NVIDIA GPUs, checks and measures each candidate,
and keeps the fastest in a database."
	RECOMMENDS "libpapi7.0 | libpapi7.1 | libpapi7.2")
describe(libtcbrt0 libs "tuned compute kernels at run time"
	"Answers which tile geometry was measured to be fastest on this machine, and
runs the kernel."
	RECOMMENDS tcbtune)
describe(libtcbrt-dev libdevel "tuned compute kernels at run time (development files)"
	"Header, static library, CMake package, pkg-config file and manual page of
libtcbrt."
	DEPENDS "libtcbrt0 ${same}, libsqlite3-dev")
describe(libtcbptx0 libs "emulator for PTX kernels"
	"Runs the PTX of a kernel on the CPU and finds races, accesses out of bounds
and bank conflicts.")
describe(libtcbptx-dev libdevel "emulator for PTX kernels (development files)"
	"Header, CMake package, pkg-config file and manual page of libtcbptx."
	DEPENDS "libtcbptx0 ${same}")

# Of a library: what depends on it needs which package, and the linker's cache is made again by a trigger.
foreach(library tcbrt tcbptx)
	string(TOUPPER lib${library}0 name)
	file(WRITE ${folder}/${library}/triggers "activate-noawait ldconfig\n")
	file(WRITE ${folder}/${library}/shlibs "lib${library} 0 lib${library}0 (>= ${PROJECT_VERSION})\n")
	set(CPACK_DEBIAN_${name}_PACKAGE_CONTROL_EXTRA ${folder}/${library}/triggers ${folder}/${library}/shlibs)
endforeach()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tcbtune)
set(CPACK_PACKAGE_CONTACT ${TCB_MAINTAINER})
set(CPACK_PACKAGING_INSTALL_PREFIX ${CMAKE_INSTALL_PREFIX})
set(CPACK_COMPONENTS_ALL ${packages})
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_STRIP_FILES ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
	WORLD_READ WORLD_EXECUTE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_PRIORITY optional)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
include(CPack)
