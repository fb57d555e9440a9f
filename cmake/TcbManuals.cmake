# SPDX-License-Identifier: MIT
#
# Manual pages and completions, made by the program that they are of; those of the
# libraries from their headers.  A build for another processor cannot run it, and
# without python3 or gzip there are none.
#
# Texts and pages name documents as docs/NAME.md: these lie so below the folder of
# documents of an installation, too.
install(FILES ${CMAKE_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tcbtune)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tcbtune)
find_program(TCB_PYTHON python3)
find_program(TCB_GZIP gzip)
if(CMAKE_CROSSCOMPILING OR NOT TCB_PYTHON OR NOT TCB_GZIP)
	message(STATUS "No manual pages and completions (they need python3, gzip and a build for this machine)")
	return()
endif()
set(TCB_MANUALS ${CMAKE_BINARY_DIR}/manuals)
set(make_manuals ${CMAKE_SOURCE_DIR}/scripts/make-manuals.py)
set(headers ${CMAKE_SOURCE_DIR}/include/tcbrt.h ${CMAKE_SOURCE_DIR}/include/tcbrt_chain.h ${CMAKE_SOURCE_DIR}/include/tcbrt_fp8.h
	${CMAKE_SOURCE_DIR}/include/tcbrt_gguf.h ${CMAKE_SOURCE_DIR}/include/tcbrt_wgpu.h ${CMAKE_SOURCE_DIR}/include/tcbptx.h)
add_custom_command(OUTPUT ${TCB_MANUALS}/done
	COMMAND ${TCB_PYTHON} ${make_manuals} $<TARGET_FILE:tcbtune> ${TCB_MANUALS} ${headers}
	COMMAND ${CMAKE_COMMAND} -E touch ${TCB_MANUALS}/done
	DEPENDS tcbtune ${make_manuals} ${headers} VERBATIM COMMENT "Manual pages and completions")
add_custom_target(manuals ALL DEPENDS ${TCB_MANUALS}/done)
install(DIRECTORY ${TCB_MANUALS}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tcbtune)
foreach(library tcbrt tcbptx)
	install(FILES ${TCB_MANUALS}/man3/${library}.3.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT lib${library}-dev)
endforeach()
install(FILES ${TCB_MANUALS}/man3/tcbrt_chain.3.gz ${TCB_MANUALS}/man3/tcbrt_fp8.3.gz ${TCB_MANUALS}/man3/tcbrt_gguf.3.gz ${TCB_MANUALS}/man3/tcbrt_wgpu.3.gz
	DESTINATION ${CMAKE_INSTALL_MANDIR}/man3 COMPONENT libtcbrt-dev)
install(FILES ${TCB_MANUALS}/tcbtune.bash RENAME tcbtune
	DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tcbtune)
install(FILES ${TCB_MANUALS}/_tcbtune DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions COMPONENT tcbtune)
install(FILES ${TCB_MANUALS}/tcbtune.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d COMPONENT tcbtune)
