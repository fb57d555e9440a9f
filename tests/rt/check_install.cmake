# SPDX-License-Identifier: MIT
#
# -DBUILD= -DSOURCE= -DEXAMPLES= -DMAKE_DATABASE= -DCC= -DGENERATOR= -DWORK= -DLIBDIR= -DSAXPY= -P check_install.cmake
#
# Installs into an empty prefix and uninstalls; installs again, moves that prefix, and builds the example from
# it in three ways: find_package (shared and static), pkg-config, pkg-config
# --static.  Each must fetch the geometry that is in the database.
file(REMOVE_RECURSE ${WORK})
file(MAKE_DIRECTORY ${WORK})
function(run)
	execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
	if(NOT code EQUAL 0)
		message(FATAL_ERROR "${ARGN}: ${code}\n${out}\n${err}")
	endif()
	set(out "${out}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/removed)
file(GLOB_RECURSE installed ${WORK}/removed/*)
if(NOT installed)
	message(FATAL_ERROR "nothing was installed")
endif()
run(${CMAKE_COMMAND} -DBUILD=${BUILD} -P ${SOURCE}/cmake/uninstall.cmake)
file(GLOB_RECURSE left LIST_DIRECTORIES ON ${WORK}/removed/*)
list(FILTER left INCLUDE REGEX "/[^/]*tcb[^/]*$")
file(GLOB_RECURSE files ${WORK}/removed/*)
if(left OR files)
	message(FATAL_ERROR "uninstall leaves ${left} ${files}")
endif()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/staged)
file(RENAME ${WORK}/staged ${WORK}/prefix)

# What pages and help name as docs/NAME.md is installed.
file(GLOB pages ${WORK}/prefix/share/man/man1/tcbtune-*.1.gz)
foreach(page ${pages})
	run(gzip -dc ${page})
	string(REGEX MATCHALL "docs/[a-z/\\-]*[.]md" documents "${out}")
	list(APPEND named ${documents})
	if(documents AND NOT out MATCHES "/usr/share/doc/tcbtune/docs")
		message(FATAL_ERROR "${page} names documents and not where they are")
	endif()
endforeach()
if(pages AND NOT named)
	message(FATAL_ERROR "no page names a document")
endif()
foreach(document ${named})
	string(REPLACE "\\" "" document ${document})
	if(NOT EXISTS ${WORK}/prefix/share/doc/tcbtune/${document})
		message(FATAL_ERROR "${document} is named by a page and not installed")
	endif()
endforeach()

run(${MAKE_DATABASE} ${WORK}/tuning.db)
string(STRIP "${out}" out)
list(GET out 0 op)
list(GET out 1 n)
list(GET out 2 k)
list(GET out 3 geometry)

function(expect program)
	run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${WORK}/prefix/${LIBDIR} ${program} ${WORK}/tuning.db ${op} ${n} ${k})
	string(FIND "${out}" "geometry  ${geometry}\n" at)
	if(NOT out MATCHES "source    exact" OR at EQUAL -1)
		message(FATAL_ERROR "${program}: expected the exact ${geometry}, got\n${out}")
	endif()
	# Without a database the example goes on with the default.
	run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${WORK}/prefix/${LIBDIR} ${program} ${WORK}/none.db ${op} ${n} ${k})
	if(NOT out MATCHES "source    default")
		message(FATAL_ERROR "${program}: expected the default, got\n${out}")
	endif()
endfunction()

run(${CMAKE_COMMAND} -S ${EXAMPLES} -B ${WORK}/cmake -G ${GENERATOR} -DCMAKE_C_COMPILER=${CC}
	-DCMAKE_PREFIX_PATH=${WORK}/prefix -DCMAKE_BUILD_TYPE=Release -DWGPU=${SOURCE}/build/wgpu)
run(${CMAKE_COMMAND} --build ${WORK}/cmake)
expect(${WORK}/cmake/lookup)
expect(${WORK}/cmake/lookup_static)
# The other examples judge themselves.
foreach(program execute attention)
	run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${WORK}/prefix/${LIBDIR} ${WORK}/cmake/${program} ${WORK}/none.db)
endforeach()
run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${WORK}/prefix/${LIBDIR} ${WORK}/cmake/measure ${op} 1x${n}x${k} 0 cold
	${WORK}/tuning.db 1 0.01)
if(NOT out MATCHES "\"source\": \"exact\", \"geometry\": \"${geometry}\"")
	message(FATAL_ERROR "measure: expected the exact ${geometry}, got\n${out}")
endif()
# As small as it goes.
run(${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${WORK}/prefix/${LIBDIR} ${WORK}/cmake/pages 1 1 1)
if(NOT out MATCHES "MiB in pages of 2 MiB" OR NOT out MATCHES "all +[0-9.]+ \\[")
	message(FATAL_ERROR "pages: expected a ratio of all, got\n${out}")
endif()

# The system's database is found from where the program or library lies, in a prefix that was moved; not from the
# current folder, nor where others may write to it.
file(COPY_FILE ${WORK}/tuning.db ${WORK}/system.db)
function(expect_system source folder program)
	execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=TCBTUNE_SYSTEM_DB --unset=TCBTUNE_DB
			--unset=XDG_DATA_HOME --unset=XDG_CACHE_HOME HOME=${WORK}/home LD_LIBRARY_PATH=${WORK}/prefix/${LIBDIR}
			${program} ${ARGN} WORKING_DIRECTORY ${folder} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE err)
	if(NOT code EQUAL 0 OR NOT out MATCHES "${source}")
		message(FATAL_ERROR "${program} in ${folder}: expected ${source}, got ${code}\n${out}\n${err}")
	endif()
endfunction()
set(system_db ${WORK}/prefix/share/tcbtune/system.db)
set(tcbtune ${WORK}/prefix/bin/tcbtune)
set(asked "'' ${op} ${n} ${k}") # without a database of its own
set(looked_up lookup --op ${op} --shape 1x${n}x${k})
file(MAKE_DIRECTORY ${WORK}/home ${WORK}/prefix/share/tcbtune)
file(REMOVE ${system_db} ${system_db}.judged)
expect_system("source    default" ${WORK} sh -c "${WORK}/cmake/lookup ${asked}")
expect_system("system database +none" ${WORK} ${tcbtune} doctor)
file(COPY_FILE ${WORK}/system.db ${system_db})
expect_system("source    exact [^\n]*system database" ${WORK} sh -c "${WORK}/cmake/lookup ${asked}")
expect_system("source: exact\nreason: [^\n]*system database" ${WORK} ${tcbtune} ${looked_up})
expect_system("prefix/share/tcbtune/system.db: 1 winners.*shipped winners +[^\n]*: 1 current, 0 earlier, 0 stale" ${WORK}
	${CMAKE_COMMAND} -E env COLUMNS=400 ${tcbtune} doctor)
# Linked statically it is the program's place that counts.
expect_system("source    default" ${WORK}/prefix/bin sh -c "${WORK}/cmake/lookup_static ${asked}")
file(COPY ${WORK}/cmake/lookup_static DESTINATION ${WORK}/prefix/bin)
expect_system("source    exact [^\n]*system database" ${WORK} sh -c "${WORK}/prefix/bin/lookup_static ${asked}")
run(chmod o+w ${system_db})
expect_system("source    default" ${WORK} sh -c "${WORK}/cmake/lookup ${asked}")
file(REMOVE ${system_db} ${WORK}/prefix/bin/lookup_static)

# Of libtcbptx: a kernel that is right, and one argument that makes it wrong.
function(emulate program n result)
	execute_process(COMMAND ${CMAKE_COMMAND} -E env LD_LIBRARY_PATH=${WORK}/prefix/${LIBDIR} ${program} ${SAXPY} saxpy 8 128
		buf:f32[1000]:ro=iota buf:f32[1000]=1 f32=2 u32=${n} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
	if(NOT code EQUAL result OR NOT out MATCHES "${ARGN}")
		message(FATAL_ERROR "${program}: expected ${result} and ${ARGN}, got ${code}\n${out}")
	endif()
endfunction()
emulate(${WORK}/cmake/emulate 1000 0 "375 sectors of global memory, of which 375 would do")
emulate(${WORK}/cmake/emulate 1001 1 "line 18 of the PTX: out-of-bounds")
emulate(${WORK}/cmake/emulate x 2 "argument 3")

find_program(PKG_CONFIG NAMES pkg-config pkgconf REQUIRED)
set(ENV{PKG_CONFIG_PATH} ${WORK}/prefix/${LIBDIR}/pkgconfig)
run(${PKG_CONFIG} --cflags --libs tcbrt)
separate_arguments(flags UNIX_COMMAND "${out}")
run(${CC} -std=c17 -Wall -Wextra -pedantic -Werror ${EXAMPLES}/lookup.c ${flags} -o ${WORK}/lookup_pc)
expect(${WORK}/lookup_pc)

run(${PKG_CONFIG} --cflags --libs tcbptx)
separate_arguments(flags UNIX_COMMAND "${out}")
run(${CC} -std=c17 -Wall -Wextra -pedantic -Werror ${EXAMPLES}/emulate.c ${flags} -o ${WORK}/emulate_pc)
emulate(${WORK}/emulate_pc 1000 0 "375 sectors")

# Only the archive, so that nothing can be taken from the shared library by mistake.
file(GLOB shared ${WORK}/prefix/${LIBDIR}/libtcbrt.so*)
file(REMOVE ${shared})
run(${PKG_CONFIG} --static --cflags --libs tcbrt)
separate_arguments(flags UNIX_COMMAND "${out}")
run(${CC} -std=c17 -Wall -Wextra -pedantic -Werror ${EXAMPLES}/lookup.c ${flags} -o ${WORK}/lookup_pc_static)
expect(${WORK}/lookup_pc_static)
