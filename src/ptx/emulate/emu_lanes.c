/* SPDX-License-Identifier: MIT
 *
 * Instructions across the lanes of a warp: shuffles, votes, matches, reductions,
 * elections, and the barrier of a warp.
 *
 * The lanes that a member mask names execute such an instruction together:
 * those that come first wait for the others.  Lanes that have exited are not
 * waited for; taking a value from one is reported.
 */
#include "ptx/emulate/emu_program.h"

#include <string.h>

/* What the handlers below get: LANES have come, all of one frame. */
typedef void core_fn(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes);

/* --- together --- */

/* Two that wait belong together: the same mask, and the same instruction unless both only wait. */
static int match(const struct tcb_emu_split *split, const struct tcb_emu_ins *in, const struct tcb_emu_frame *frame,
		 uint32_t members)
{
	if (split->state != TCB_EMU_AT_WARP_SYNC || split->members != members)
		return 0;
	if (in->ins->op == TCB_PTX_OP_BAR_WARP_SYNC)
		return split->in->ins->op == TCB_PTX_OP_BAR_WARP_SYNC;
	return split->in == in && split->frame == frame;
}

/* All lanes that wait for MEMBERS at IN. */
static uint32_t waiting(const struct tcb_emu_warp *warp, const struct tcb_emu_ins *in,
			const struct tcb_emu_frame *frame, uint32_t members)
{
	uint32_t lanes = 0;

	for (uint32_t i = 0; i < warp->split_count; i++)
		if (match(&warp->split[i], in, frame, members))
			lanes |= warp->split[i].mask;
	return lanes;
}

/* LANES execute IN in FRAME; those that waited may go on. */
static void execute(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, struct tcb_emu_frame *frame,
		    uint32_t members, uint32_t lanes)
{
	uint8_t *kept = warp->lanes;

	warp->lanes = frame->lanes;
	((core_fn *)in->extra)(warp, in, lanes);
	warp->lanes = kept;
	for (uint32_t i = 0; i < warp->split_count; i++)
		if (match(&warp->split[i], in, frame, members))
			warp->split[i].state = TCB_EMU_READY;
}

/* Lanes GROUP of the running split came with MEMBERS.  Returns whether they had to wait: then the split is gone. */
static int come(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t group, uint32_t members)
{
	uint32_t others, pc = (uint32_t)(warp->pc - warp->frame->function->code);
	struct tcb_emu_split *split;

	if (group & ~members)
		tcb_emu_report(warp, in, __builtin_ctz(group & ~members), TCB_PTX_RULE_SHUFFLE_DIVERGENT, TCB_PTX_ERROR,
			       "a lane that is not in its own member mask 0x%08x", members);
	others = group == warp->live ? 0 : waiting(warp, in, warp->frame, members);
	if (!(members & warp->live & ~(group | others))) {
		execute(warp, in, warp->frame, members, group | others);
		return 0;
	}
	warp->mask &= ~group;
	split = tcb_emu_split_add(warp, group, pc, warp->frame, warp->join);
	split->state = TCB_EMU_AT_WARP_SYNC;
	split->members = members;
	split->in = in;
	if (warp->mask)
		return 0;
	tcb_emu_split_drop(warp);
	return 1;
}

static void run_together(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const struct tcb_emu_operand *op = &in->op[in->d];
	uint32_t rest = active;

	while (rest) {
		const uint32_t *members = tcb_emu_get32(warp, op);
		uint32_t mask = members[__builtin_ctz(rest)], group = 0;

		if (op->kind == TCB_EMU_CONST)
			group = rest;
		else
			TCB_EMU_EACH(lane, rest)
		group |= (uint32_t)(members[lane] == mask) << lane;
		rest &= ~group;
		if (come(warp, in, group, mask))
			return;
	}
}

/* Lanes that wait and need not wait any more, since those they waited for have exited; with FORCE all that wait. */
static int recheck(struct tcb_emu_warp *warp, int force)
{
	int any = 0;

	for (uint32_t i = 0; i < warp->split_count; i++) {
		struct tcb_emu_split *split = &warp->split[i];
		uint32_t lanes, missing;

		if (split->state != TCB_EMU_AT_WARP_SYNC)
			continue;
		lanes = waiting(warp, split->in, split->frame, split->members);
		missing = split->members & warp->live & ~lanes;
		if (missing && !force)
			continue;
		if (missing)
			tcb_emu_report(warp, split->in, __builtin_ctz(lanes), TCB_PTX_RULE_SHUFFLE_DIVERGENT,
				       TCB_PTX_ERROR, "lanes 0x%08x wait for lanes 0x%08x, which never come here",
				       lanes, missing);
		execute(warp, split->in, split->frame, split->members, lanes);
		any = 1;
	}
	return any;
}

void tcb_emu_sync_recheck(struct tcb_emu_warp *warp)
{
	recheck(warp, 0);
}

int tcb_emu_sync_give_up(struct tcb_emu_block *block)
{
	for (uint32_t i = 0; i < block->warp_count; i++)
		if (recheck(&block->warps[i], 1))
			return 1;
	return 0;
}

/* --- shuffles --- */

static void core_shfl(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes)
{
	const uint32_t *a = tcb_emu_get32(warp, &in->op[1]), *b = tcb_emu_get32(warp, &in->op[2]);
	const uint32_t *c = tcb_emu_get32(warp, &in->op[3]);
	const struct tcb_emu_operand *to = in->op[0].kind == TCB_EMU_VECTOR ? &in->op[0].items[0] : &in->op[0];
	enum tcb_ptx_word mode = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MODE);
	uint32_t result[TCB_EMU_LANES], in_range = 0;

	TCB_EMU_EACH(lane, lanes)
	{
		uint32_t segment = c[lane] >> 8 & 31, clamp = c[lane] & 31, step = b[lane] & 31;
		int least = (int)(lane & segment), most = (int)((lane & segment) | (clamp & ~segment)), from, ok;

		from = mode == TCB_PTX_UP     ? (int)lane - (int)step
		       : mode == TCB_PTX_DOWN ? (int)(lane + step)
		       : mode == TCB_PTX_BFLY ? (int)(lane ^ step)
					      : (int)((uint32_t)least | (step & ~segment));
		ok = mode == TCB_PTX_UP ? from >= most : from <= most;
		if (!ok)
			from = (int)lane;
		in_range |= (uint32_t)ok << lane;
		if (!(lanes >> from & 1))
			tcb_emu_report(warp, in, (int)lane,
				       warp->live >> from & 1 ? TCB_PTX_RULE_SHUFFLE_DIVERGENT
							      : TCB_PTX_RULE_SHUFFLE_EXITED,
				       TCB_PTX_ERROR, "takes its value from lane %d, which %s", from,
				       warp->live >> from & 1 ? "does not take part" : "is not there (any more)");
		result[lane] = a[from];
	}
	tcb_emu_put32(warp, to, result, lanes);
	if (in->op[0].kind == TCB_EMU_VECTOR)
		tcb_emu_put_pred(warp, &in->op[0].items[1], in_range, lanes);
}

/* --- votes --- */

static void core_vote(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes)
{
	uint32_t votes = tcb_emu_pred(warp, &in->op[1]) & lanes, all[TCB_EMU_LANES];

	switch ((int)tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MODE)) {
	case TCB_PTX_ALL:
		votes = votes == lanes ? UINT32_MAX : 0;
		break;
	case TCB_PTX_ANY:
		votes = votes ? UINT32_MAX : 0;
		break;
	case TCB_PTX_BALLOT:
		for (unsigned i = 0; i < TCB_EMU_LANES; i++)
			all[i] = votes;
		tcb_emu_put32(warp, &in->op[0], all, lanes);
		return;
	default: /* uni */
		votes = !votes || votes == lanes ? UINT32_MAX : 0;
	}
	tcb_emu_put_pred(warp, &in->op[0], votes, lanes);
}

static void core_match(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes)
{
	const struct tcb_emu_operand *to = in->op[0].kind == TCB_EMU_VECTOR ? &in->op[0].items[0] : &in->op[0];
	uint32_t result[TCB_EMU_LANES], all = UINT32_MAX;

	TCB_EMU_EACH(lane, lanes)
	{
		uint32_t same = 0;

		TCB_EMU_EACH(other, lanes)
		if (tcb_emu_get(warp, &in->op[1], other) == tcb_emu_get(warp, &in->op[1], lane))
			same |= 1u << other;
		result[lane] = same;
		if (same != lanes)
			all = 0;
	}
	if (in->ins->op == TCB_PTX_OP_MATCH_ALL)
		for (unsigned i = 0; i < TCB_EMU_LANES; i++)
			result[i] = lanes & all;
	tcb_emu_put32(warp, to, result, lanes);
	if (in->op[0].kind == TCB_EMU_VECTOR)
		tcb_emu_put_pred(warp, &in->op[0].items[1], all, lanes);
}

/* --- reductions --- */

static uint32_t reduce(enum tcb_ptx_word how, int is_signed, uint32_t a, uint32_t b)
{
	int less = is_signed ? (int32_t)a < (int32_t)b : a < b;

	switch ((int)how) {
	case TCB_PTX_ADD:
		return a + b;
	case TCB_PTX_MIN:
		return less ? a : b;
	case TCB_PTX_MAX:
		return less ? b : a;
	case TCB_PTX_AND:
		return a & b;
	case TCB_PTX_OR:
		return a | b;
	default:
		return a ^ b;
	}
}

/* min and max of .f32: by the order of the numbers; NaN is passed over, or wins with .NaN. */
static uint32_t reduce_float(const struct tcb_ptx_ins *ins, uint32_t a, uint32_t b)
{
	int a_nan = (a & 0x7fffffff) > 0x7f800000, b_nan = (b & 0x7fffffff) > 0x7f800000, less;

	if ((a_nan || b_nan) && (ins->mod[TCB_PTX_SLOT_NAN] || (a_nan && b_nan)))
		return 0x7fffffff;
	if (a_nan || b_nan)
		return a_nan ? b : a;
	less = (int32_t)(a ^ (a >> 31 ? 0x7fffffff : 0)) < (int32_t)(b ^ (b >> 31 ? 0x7fffffff : 0));
	return (tcb_ptx_mod(ins, TCB_PTX_SLOT_ATOMIC) == TCB_PTX_MIN) == less ? a : b;
}

static void core_redux(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes)
{
	const uint32_t *a = tcb_emu_get32(warp, &in->op[1]);
	enum tcb_ptx_word how = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ATOMIC),
			  type = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_TYPE);
	uint32_t clear = in->ins->mod[TCB_PTX_SLOT_ABS] ? 0x7fffffff : UINT32_MAX;
	uint32_t sum = a[__builtin_ctz(lanes)] & clear, result[TCB_EMU_LANES];

	TCB_EMU_EACH(lane, lanes & (lanes - 1))
	sum = type == TCB_PTX_F32 ? reduce_float(in->ins, sum, a[lane] & clear)
				  : reduce(how, type == TCB_PTX_S32, sum, a[lane]);
	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		result[i] = sum;
	tcb_emu_put32(warp, &in->op[0], result, lanes);
}

/* --- the rest --- */

static void core_elect(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes)
{
	uint32_t leader = (uint32_t)__builtin_ctz(lanes), result[TCB_EMU_LANES];

	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		result[i] = leader;
	tcb_emu_put32(warp, &in->op[0].items[0], result, lanes);
	tcb_emu_put_pred(warp, &in->op[0].items[1], 1u << leader, lanes);
}

/* Orders memory among LANES. */
static void core_sync(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes)
{
	(void)in;
	tcb_emu_sync_lanes(warp, lanes);
}

static void run_activemask(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint32_t result[TCB_EMU_LANES];

	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		result[i] = active;
	tcb_emu_put32(warp, &in->op[0], result, active);
}

enum tcb_status tcb_emu_bind_lanes(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	static const struct {
		uint16_t op;
		core_fn *core;
	} cores[] = {
		{ TCB_PTX_OP_SHFL, core_shfl },          { TCB_PTX_OP_VOTE, core_vote },
		{ TCB_PTX_OP_MATCH_ANY, core_match },    { TCB_PTX_OP_MATCH_ALL, core_match },
		{ TCB_PTX_OP_REDUX, core_redux },        { TCB_PTX_OP_ELECT, core_elect },
		{ TCB_PTX_OP_BAR_WARP_SYNC, core_sync },
	};

	(void)decoder;
	if (in->ins->op == TCB_PTX_OP_ACTIVEMASK) {
		in->run = run_activemask;
		return TCB_OK;
	}
	in->run = run_together;
	in->d = in->op_count - 1u;
	for (size_t i = 0; i < sizeof cores / sizeof *cores; i++)
		if (cores[i].op == in->ins->op)
			in->extra = (void *)cores[i].core;
	if (in->op[in->d].bits != 32)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "a member mask of %u bits", in->op[in->d].bits);
	return TCB_OK;
}
