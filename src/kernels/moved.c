/* SPDX-License-Identifier: MIT
 *
 * What a problem moves, by its op's operands.
 */
#include "kernels/moved.h"

#include "base/sizes.h"

/* Beside the largest of COUNT operands, which is alone: the largest other one that streams, as K beside a wider V. */
static void add_other(const struct tcb_operand *operands, size_t count, double moved, struct tcb_moved *traffic)
{
	size_t other = count;
	for (size_t i = 0; i < count; i++)
		if (operands[i].role != TCB_ROLE_OUTPUT && operands[i].streams && i != traffic->from[0] &&
		    (other == count || operands[i].bytes > operands[other].bytes))
			other = i;
	const int has_other = other < count && operands[traffic->from[0]].streams;
	const double more = has_other ? (double)operands[other].bytes : 0, all = (double)traffic->bytes + more;
	const double part = moved < all ? moved / all : 1; /* a call may leave some of them unread */
	if (has_other)
		traffic->from[traffic->count++] = other;
	traffic->other_bytes = (size_t)(more * part);
	traffic->bytes = (size_t)((double)traffic->bytes * part);
}

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
	if (traffic.count == 1 && !is_copy)
		add_other(operands, count, (double)moved, &traffic);
	else
		traffic.other_bytes = traffic.bytes = tcb_least(traffic.bytes, moved / traffic.count);
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
