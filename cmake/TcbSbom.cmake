# SPDX-License-Identifier: MIT
#
# tcbtune.cdx.json: what the programs and libraries are linked with, as CycloneDX.
# The versions are pkg-config's; the C library's is its own.
set(TCB_SBOM ${CMAKE_BINARY_DIR}/tcbtune.cdx.json)
set(TCB_SBOM_LIBRARIES
	"sqlite;SQLite;sqlite3;blessing"
	"hwloc;hwloc;hwloc;BSD-3-Clause"
	"jansson;Jansson;jansson;MIT"
	"xxhash;xxHash;libxxhash;BSD-2-Clause"
	"zlib;zlib;zlib;Zlib")
set(components "")
set(references "")
foreach(row IN LISTS TCB_SBOM_LIBRARIES)
	# Lists of lists lose their inner semicolons: the rows are taken four words at a time.
	list(APPEND words ${row})
endforeach()
while(words)
	list(POP_FRONT words variable name module licence)
	set(how "shared library")
	if(variable STREQUAL xxhash)
		set(how "header, compiled in")
	elseif(TCB_PORTABLE)
		set(how "static library")
	endif()
	string(APPEND components "    {
      \"type\": \"library\", \"bom-ref\": \"${module}\", \"name\": \"${name}\", \"version\": \"${${variable}_VERSION}\",
      \"licenses\": [ { \"license\": { \"id\": \"${licence}\" } } ],
      \"properties\": [ { \"name\": \"tcbtune:linked\", \"value\": \"${how}\" } ]
    },\n")
	list(APPEND references "\"${module}\"")
endwhile()
file(WRITE ${CMAKE_BINARY_DIR}/libc_version.c "#include <features.h>\n__GLIBC__.__GLIBC_MINOR__\n")
execute_process(COMMAND ${CMAKE_C_COMPILER} -E -P ${CMAKE_BINARY_DIR}/libc_version.c OUTPUT_VARIABLE libc_version
	OUTPUT_STRIP_TRAILING_WHITESPACE)
string(REGEX MATCH "[0-9]+[ .]+[0-9]+$" libc_version "${libc_version}")
string(REGEX REPLACE "[ .]+" "." libc_version "${libc_version}")
string(APPEND components "    {
      \"type\": \"library\", \"bom-ref\": \"glibc\", \"name\": \"GNU C Library\", \"version\": \"${libc_version}\",
      \"licenses\": [ { \"license\": { \"id\": \"LGPL-2.1-or-later\" } } ],
      \"properties\": [ { \"name\": \"tcbtune:linked\", \"value\": \"shared library\" } ]
    }\n")
list(APPEND references "\"glibc\"")
list(JOIN references ", " references)
file(CONFIGURE OUTPUT ${TCB_SBOM} @ONLY CONTENT "{
  \"bomFormat\": \"CycloneDX\", \"specVersion\": \"1.5\", \"version\": 1,
  \"metadata\": {
    \"component\": {
      \"type\": \"application\", \"bom-ref\": \"tcbtune\", \"name\": \"tcbtune\", \"version\": \"@PROJECT_VERSION@\",
      \"licenses\": [ { \"license\": { \"id\": \"MIT\" } } ]
    }
  },
  \"components\": [
@components@  ],
  \"dependencies\": [ { \"ref\": \"tcbtune\", \"dependsOn\": [ @references@ ] } ]
}
")
install(FILES ${TCB_SBOM} DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tcbtune)
