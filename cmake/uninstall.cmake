# SPDX-License-Identifier: MIT
#
# -DBUILD= -P uninstall.cmake: removes what `cmake --install` of BUILD put in place,
# by its manifest, and folders that are then empty and bear a name of ours or are of
# the documents.
set(manifest ${BUILD}/install_manifest.txt)
if(NOT EXISTS ${manifest})
	message(FATAL_ERROR "${manifest} is missing: nothing was installed from this build")
endif()
file(STRINGS ${manifest} files)
foreach(file IN LISTS files)
	set(path "$ENV{DESTDIR}${file}")
	if(EXISTS "${path}" OR IS_SYMLINK "${path}")
		message(STATUS "Removing ${path}")
		file(REMOVE "${path}")
	endif()
	cmake_path(GET path PARENT_PATH folder)
	cmake_path(GET folder FILENAME name)
	while((name MATCHES "tcb" OR folder MATCHES "/doc/tcbtune/") AND IS_DIRECTORY "${folder}")
		file(GLOB left LIST_DIRECTORIES ON "${folder}/*" "${folder}/.[!.]*")
		if(left)
			break()
		endif()
		file(REMOVE_RECURSE "${folder}")
		cmake_path(GET folder PARENT_PATH folder)
		cmake_path(GET folder FILENAME name)
	endwhile()
endforeach()
file(REMOVE ${manifest})
