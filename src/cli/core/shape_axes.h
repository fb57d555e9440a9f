/* SPDX-License-Identifier: MIT
 *
 * Several shapes in one word: lists and ranges of sizes, as nvbench has axes.
 * "1,2,4x4096x4096" is three shapes, "1:8:*2x4096x4096" four.
 */
#ifndef TCB_CLI_SHAPE_AXES_H
#define TCB_CLI_SHAPE_AXES_H

#include "base/problem.h"
#include "kernels/op.h"

enum { CLI_SHAPES_MAX = 256 }; /* of one word; more are hardly meant, and each would be swept */

struct cli_shapes {
	struct tcb_shape *list; /* owned */
	size_t count;
};

/* The shapes that TEXT stands for, of OP (NULL: any), each read as cli_read_shape does, or, IS_EXACT, as it is written
 * only; TCB_E_USAGE names what is wrong, or how many there are if they are too many. */
enum tcb_status cli_shapes_read(const struct tcb_op *op, const char *text, int is_exact, struct cli_shapes *out,
				struct tcb_error *err);
void cli_shapes_fini(struct cli_shapes *shapes); /* zeroed is fine */

#endif
