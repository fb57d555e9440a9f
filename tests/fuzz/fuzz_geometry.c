/* SPDX-License-Identifier: MIT
 *
 * Any text as a geometry.  If it is accepted, printing and parsing it again
 * gives the same geometry, and printing that gives the same text.
 */
#include "base/geometry.h"

#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1), printed[TCB_GEOMETRY_TEXT_MAX], again[TCB_GEOMETRY_TEXT_MAX];
	struct tcb_geometry geometry, reparsed;
	struct tcb_error err = { TCB_OK, "" };
	FUZZ_CHECK(text);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	if (tcb_geometry_parse(text, &geometry, &err) == TCB_OK) {
		tcb_geometry_print(&geometry, printed);
		FUZZ_CHECK(strlen(printed) + 1 < sizeof printed);
		FUZZ_CHECK(tcb_geometry_parse(printed, &reparsed, NULL) == TCB_OK);
		FUZZ_CHECK(tcb_geometry_equal(&geometry, &reparsed));
		tcb_geometry_print(&reparsed, again);
		FUZZ_CHECK(strcmp(printed, again) == 0);
	} else {
		FUZZ_CHECK(err.message[0]);
	}
	free(text);
	return 0;
}
