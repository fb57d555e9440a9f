/* SPDX-License-Identifier: MIT
 *
 * What a problem moves, by its op's operands.
 */
#include "kernels/moved.h"

#include "base/sizes.h"

struct tcb_moved tcb_moved_find(const struct tcb_problem *problem)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	const size_t count = problem->op->operands(problem, operands);
	const size_t moved = (size_t)problem->op->traffic(problem);
	struct tcb_moved traffic = { .count = 0 };
	size_t written = 0, outputs = 0;
	int is_partly = 0;
	for (size_t i = 0; i < count; i++) {
		is_partly |= operands[i].is_partly_written;
		outputs += operands[i].role == TCB_ROLE_OUTPUT;
		written += operands[i].role == TCB_ROLE_OUTPUT ? operands[i].bytes : 0;
		if (operands[i].role == TCB_ROLE_OUTPUT || operands[i].bytes < traffic.bytes)
			continue;
		traffic.count =
			operands[i].bytes == traffic.bytes && traffic.count < TCB_MOVED_FROM_MAX ? traffic.count : 0;
		traffic.bytes = operands[i].bytes;
		traffic.from[traffic.count++] = i;
	}
	if (!traffic.count) /* an op that reads nothing */
		return traffic;
	const int is_copy = is_partly || written == traffic.bytes;
	if (is_partly || (is_copy && outputs > 1))
		traffic.count = 1;
	/* As many bytes as it moves, half of them read. */
	if (is_partly)
		traffic.bytes = tcb_least(tcb_least(traffic.bytes, written), moved / 2);
	/* A call may leave some of it unread. */
	traffic.bytes = tcb_least(traffic.bytes, moved / traffic.count);
	size_t left = traffic.bytes / TCB_MOVED_PIECE;
	for (size_t i = 0; i < count && is_copy; i++) {
		if (operands[i].role != TCB_ROLE_OUTPUT || (traffic.outputs && !left))
			continue;
		traffic.to[traffic.outputs] = i;
		traffic.pieces[traffic.outputs] = tcb_least(left, operands[i].bytes / TCB_MOVED_PIECE);
		left -= traffic.pieces[traffic.outputs++];
	}
	return traffic;
}
