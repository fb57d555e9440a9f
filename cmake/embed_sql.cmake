# SPDX-License-Identifier: MIT
#
# Script: -DOUT=<file.c> -DSCHEMAS=<dir/001_x.sql;dir/002_y.sql> -P embed_sql.cmake
#
# Writes the migrations as C byte arrays and the table tcb_migrations, so that
# the binary needs no file at run time.  File number i must be called 00i_*.sql.
set(arrays "")
set(rows "")
set(number 0)
foreach(schema ${SCHEMAS})
	math(EXPR number "${number} + 1")
	get_filename_component(name ${schema} NAME)
	if(NOT name MATCHES "^0*${number}_")
		message(FATAL_ERROR "${name}: migration ${number} must have a name that begins with its number")
	endif()
	file(READ ${schema} hex HEX)
	string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
	string(REGEX REPLACE "(................................................................................)"
		"\\1\n\t" bytes "${bytes}")
	string(APPEND arrays "static const unsigned char sql_${number}[] = {\n\t${bytes}0x00\n};\n")
	string(APPEND rows "\t{ ${number}, (const char *)sql_${number} },\n")
endforeach()
file(WRITE ${OUT} "/* Generated from schemas/ by cmake/embed_sql.cmake. */
#include \"db/db_private.h\"

${arrays}
const struct tcb_migration tcb_migrations[] = {
${rows}};
const int tcb_migration_count = ${number};
")
