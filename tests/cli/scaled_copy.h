/* SPDX-License-Identifier: MIT
 *
 * An op that is made while the test runs, as one that a file describes would
 * be: y = S x, where the source that stands behind it says what S is.  Its
 * parameters are of no other op: chunk, how many values are taken at a time (the
 * more, the faster), and order, from which end.
 */
#ifndef TCB_TESTS_SCALED_COPY_H
#define TCB_TESTS_SCALED_COPY_H

#include "kernels/op.h"

enum { CHUNK = TCB_KNOB_COUNT, ORDER };

struct scaled_copy {
	const char *source; /* "y = 0.5 * x", as a file would hold it */
	struct tcb_variant variants[2];
	const struct tcb_variant *lists[2];
	struct tcb_side side;
	char signature[TCB_SIGNATURE_MAX];
	struct tcb_op op;
};

/* OUT's op, of SOURCE. */
void scaled_copy_make(const char *source, struct scaled_copy *out);

#endif
