/* SPDX-License-Identifier: MIT
 *
 * Any text as a shape.  If it is accepted, no dimension is zero where one is
 * needed, and printing and parsing it again gives the same shape.
 */
#include "base/problem.h"

#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1), printed[TCB_SHAPE_TEXT_MAX];
	struct tcb_shape shape, reparsed;
	struct tcb_error err = { TCB_OK, "" };
	FUZZ_CHECK(text);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	if (tcb_shape_parse(text, &shape, &err) == TCB_OK) {
		FUZZ_CHECK(shape.m > 0 && shape.n > 0);
		tcb_shape_print(&shape, printed);
		FUZZ_CHECK(tcb_shape_parse(printed, &reparsed, NULL) == TCB_OK);
		FUZZ_CHECK(shape.m == reparsed.m && shape.n == reparsed.n && shape.k == reparsed.k);
	} else {
		FUZZ_CHECK(err.message[0]);
	}
	free(text);
	return 0;
}
