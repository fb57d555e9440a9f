/* SPDX-License-Identifier: MIT
 *
 * The read and copy kernels that a GPU's results are held against.  In: a
 * problem; out: kernels that touch each byte that it streams once, in 16-byte
 * pieces past the L1, several in flight in each thread.  What is read is folded
 * into a store that never happens, so that nothing is left out.
 */
#include "kernels/limit_gpu.h"

#include <string.h>

#include "base/sizes.h"
#include "kernels/gpu/frame.h"
#include "kernels/moved.h"

enum { PIECE = TCB_MOVED_PIECE, LOADS_MAX = 8 };

/* Threads in a block, pieces in flight in a thread. */
static const struct form {
	unsigned threads, loads;
} forms[TCB_LIMITS_GPU] = { { 512, 4 }, { 256, 8 }, { 1024, 2 } };

/* One piece into each of FORM's places that are INSIDE, and zeros into the others. */
static void write_loads(struct tcb_ptx_build *b, const struct form *form, kit_op source, const kit_op *inside,
			kit_op piece[LOADS_MAX][4])
{
	for (unsigned i = 0; i < form->loads; i++)
		for (unsigned j = 0; j < 4; j++)
			piece[i][j] = b_set(b, I(0));
	for (unsigned i = 0; i < form->loads; i++) {
		tcb_kit_load_where(b, inside[i], TCB_KIT_INPUT_ONCE, "b32",
				   tcb_ptx_at(source, (int64_t)i * form->threads * PIECE), piece[i], 4);
	}
}

/* Where block INDEX of a copy to several outputs writes. */
struct goal {
	kit_op to, index;    /* to that output; block of its own */
	kit_op count, start; /* its pieces, and those of the outputs before it */
};

/* BLOCKS: those of each of TRAFFIC's outputs, which TO are. */
static struct goal find_goal(struct tcb_ptx_build *b, const struct tcb_moved *traffic, const size_t *blocks,
			     const kit_op *to, kit_op index)
{
	struct goal goal = { to[0], index, I((int64_t)traffic->pieces[0]), I(0) };
	kit_op before = I(0);
	size_t first = 0, start = 0;
	for (size_t i = 1; i < traffic->outputs; i++) {
		first += blocks[i - 1];
		start += traffic->pieces[i - 1];
		const kit_op is_behind = u_ge(b, index, I((int64_t)first));
		goal.to = l_select(b, to[i], goal.to, is_behind);
		goal.count = u_select(b, I((int64_t)traffic->pieces[i]), goal.count, is_behind);
		goal.start = u_select(b, I((int64_t)start), goal.start, is_behind);
		before = u_select(b, I((int64_t)first), before, is_behind);
	}
	goal.index = u_sub(b, index, before);
	return goal;
}

/* What is left beyond whole pieces, less than one, is not touched; a problem of less has a block that touches nothing.
 */
enum tcb_status tcb_limit_gpu(const struct tcb_problem *problem, const struct tcb_target *target, size_t number,
			      int dependent, struct tcb_kernel *out, struct tcb_error *err)
{
	const struct form *const form = &forms[number];
	const struct tcb_moved traffic = tcb_moved_find(problem);
	const size_t pieces = traffic.bytes / PIECE, others = traffic.count > 1 ? traffic.other_bytes / PIECE : 0;
	const size_t block = (size_t)form->threads * form->loads;
	const int is_copy = traffic.outputs > 0;
	size_t blocks = is_copy ? 0 : tcb_div_up(pieces, block), blocks_of[TCB_OUTPUTS_MAX];
	struct tcb_kit kit;
	struct tcb_ptx_build *b = &kit.b;
	kit_op piece[LOADS_MAX][4], second[LOADS_MAX][4], inside[LOADS_MAX], outputs[TCB_OUTPUTS_MAX];
	for (size_t i = 0; i < traffic.outputs; i++)
		blocks += blocks_of[i] = tcb_div_up(traffic.pieces[i], block);
	memset(out, 0, sizeof *out);
	if (pieces > INT32_MAX)
		return tcb_fail(err, TCB_E_OVERFLOW, "%zu bytes are too many for the limit's kernel", traffic.bytes);
	TCB_TRY(tcb_kit_open(&kit, problem, target, 0, NULL, out, err));
	out->workspace_bytes = PIECE;
	const int are_joined = is_copy && traffic.count > 1;
	const char *name = tcb_ptx_namef(b, "%s_%ux%u%s",
					 are_joined ? "join"
					 : is_copy  ? "copy"
						    : "read",
					 form->threads, form->loads, dependent ? "_dependent" : "");
	tcb_kit_begin(
		&kit, name,
		&(struct tcb_kit_kernel){ .threads = form->threads,
					  .grid = { (uint32_t)(blocks + (are_joined ? 0 : tcb_div_up(others, block))) },
					  .is_dependent = dependent });
	kit_op from = tcb_kit_operand(&kit, "from", PIECE, traffic.from[0]);
	const kit_op other = traffic.count > 1 ? tcb_kit_operand(&kit, "other", PIECE, traffic.from[1]) : from;
	for (size_t i = 0; i < traffic.outputs; i++)
		outputs[i] = tcb_kit_operand(&kit, i ? tcb_ptx_namef(b, "to_%zu", i) : "to", PIECE, traffic.to[i]);
	kit_op to = is_copy ? outputs[0] : tcb_kit_workspace(&kit, "to", PIECE, 0);
	kit_op count = tcb_kit_number(&kit, "pieces", pieces);
	tcb_kit_dependents(&kit, 0);
	kit_op index = u_block_x(b);
	if (traffic.outputs > 1) {
		const struct goal goal = find_goal(b, &traffic, blocks_of, outputs, index);
		from = tcb_kit_element(b, from, goal.start, PIECE);
		to = goal.to;
		index = goal.index;
		count = goal.count;
	}
	if (traffic.count > 1 && !are_joined) { /* blocks of the second operand follow those of the first */
		const kit_op is_first = u_lt(b, index, I((int64_t)blocks));
		from = l_select(b, from, other, is_first);
		if (others != pieces)
			count = u_select(b, count, I((int64_t)others), is_first);
		index = u_select(b, index, u_sub(b, index, I((int64_t)blocks)), is_first);
	}
	const kit_op first = u_mad(b, index, I((int64_t)block), u_thread(b));
	const kit_op goal = is_copy ? tcb_kit_element(b, to, first, PIECE) : to;
	for (unsigned i = 0; i < form->loads; i++)
		inside[i] = u_lt(b, u_add(b, first, I(i * form->threads)), count);
	write_loads(b, form, tcb_kit_element(b, from, first, PIECE), inside, piece);
	if (are_joined) {
		write_loads(b, form, tcb_kit_element(b, other, first, PIECE), inside, second);
		for (unsigned i = 0; i < 4 * form->loads; i++)
			piece[i / 4][i % 4] = u_xor(b, piece[i / 4][i % 4], second[i / 4][i % 4]);
	}
	const kit_op folded = is_copy ? goal : tcb_kit_fold(b, u_xor, piece[0], 4 * form->loads);
	tcb_kit_depend(&kit); /* what is written may still be read by the launch before */
	for (unsigned i = 0; is_copy && i < form->loads; i++) {
		tcb_kit_store_where(b, inside[i], TCB_KIT_GLOBAL, "b32",
				    tcb_ptx_at(goal, (int64_t)i * form->threads * PIECE), piece[i], 4);
	}
	if (!is_copy) {
		/* One in 2^32 threads would store a word that is never looked at. */
		tcb_kit_put_where(b, u_eq(b, folded, I(0x5eed1e55)), TCB_KIT_GLOBAL, "b32", goal, folded);
	}
	tcb_kit_end(&kit);
	return tcb_kit_close(&kit, err);
}
