/* SPDX-License-Identifier: MIT
 *
 * Any bytes as what decides a case of writing kernels (tests/kernels/emit_case.h):
 * op, target, shape and geometry, legal or not.  What is legal is emitted, with the
 * kernels that it is verified by; the rest is refused with a reason.
 */
#include "kernels/emit_case.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct emit_tally tally;
	struct emit_draw draw;
	char what[EMIT_WHAT_MAX];
	emit_draw_init(&draw, data, bytes);
	if (emit_case(&draw, &tally, what) != 0) {
		fprintf(stderr, "%s\n", what);
		FUZZ_CHECK(!"the ops' promise");
	}
	return 0;
}
