/* SPDX-License-Identifier: MIT
 *
 * Control flow: branches, calls, returns and exits.
 *
 * The live lanes of a warp are divided into splits, each at one place.  A branch
 * that not all lanes take makes two splits of one, and a join at the branch's
 * immediate post-dominator, where they become one again; splits take turns, so
 * lanes may wait for each other as they may since Volta.  A call makes a join
 * behind itself and a frame of registers for the callee.
 */
#include "ptx/emulate/emu_program.h"

#include <string.h>

enum {
	DEPTH_MAX = 2000,      /* calls in each other */
	LOCAL_MAX = 512u << 10 /* bytes of local memory per thread, as the hardware has */
};

/* --- joins --- */

static struct tcb_emu_join *join_new(struct tcb_emu_warp *warp, uint32_t pc, uint32_t expected)
{
	struct tcb_emu_join *join = warp->free_joins;

	if (join)
		warp->free_joins = join->parent;
	else if (!(join = tcb_arena_alloc(&warp->block->arena, sizeof *join)))
		tcb_emu_no_memory(warp->run);
	if (join)
		*join = (struct tcb_emu_join){ warp->join, warp->frame, pc, expected, 0, 0 };
	return join;
}

static void join_free(struct tcb_emu_warp *warp, struct tcb_emu_join *join)
{
	join->parent = warp->free_joins;
	warp->free_joins = join;
}

/* All lanes that are left have come: they go on together. */
static void join_release(struct tcb_emu_warp *warp, struct tcb_emu_join *join)
{
	tcb_emu_split_add(warp, join->expected, join->pc, join->frame, join->parent);
	join_free(warp, join);
}

/* LANES will not come to JOIN and those around it, up to a call when UNTIL_CALL: there they have arrived. */
static void leave_joins(struct tcb_emu_warp *warp, struct tcb_emu_join *join, uint32_t lanes, int until_call)
{
	while (join) {
		struct tcb_emu_join *parent = join->parent;
		int is_last = until_call && join->is_call;

		if (is_last)
			join->arrived |= lanes;
		else
			join->expected &= ~lanes;
		if (!join->expected)
			join_free(warp, join);
		else if (join->arrived == join->expected)
			join_release(warp, join);
		if (is_last)
			return;
		join = parent;
	}
}

void tcb_emu_run_join(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_join *join = warp->join;
	uint32_t pc = (uint32_t)(in - warp->frame->function->code);

	if (!join || join->pc != pc || join->frame != warp->frame || join->is_call)
		return;
	join->arrived |= active;
	tcb_emu_split_drop(warp);
	if (join->arrived == join->expected)
		join_release(warp, join);
}

/* --- frames --- */

static void leave_frame(struct tcb_emu_warp *warp, struct tcb_emu_frame *frame, uint32_t lanes)
{
	frame->live &= ~lanes;
	if (frame->live)
		return;
	frame->caller = warp->free_frames;
	warp->free_frames = frame;
}

/* --- branches --- */

/* Lanes OTHER of the running split go to PC, the rest goes on; JOIN is where they meet. */
static void part(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t other, uint32_t pc)
{
	struct tcb_emu_join *join = warp->join;

	if (in->join != UINT32_MAX && (!join || join->is_call || join->pc != in->join || join->frame != warp->frame)) {
		join = join_new(warp, in->join, warp->mask);
		if (!join)
			return;
	}
	warp->mask &= ~other;
	warp->join = join;
	tcb_emu_split_add(warp, other, pc, warp->frame, join);
}

static void run_bra(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const struct tcb_emu_ins *target = warp->frame->function->code + in->target;

	if (active == warp->mask) {
		warp->pc = target;
	} else if (warp->pc != target) {
		warp->run->counts[in->count].divergent++;
		part(warp, in, active, in->target);
	}
}

static void run_brx(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const uint32_t *index = tcb_emu_get32(warp, &in->op[0]), *targets = in->extra;
	uint32_t rest = active, falls = warp->mask & ~active;
	int is_divergent = 0;

	TCB_EMU_EACH(lane, active)
	if (index[lane] >= in->a) {
		tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_OUT_OF_BOUNDS, "branch %u of a table of %u targets",
			      index[lane], in->a);
		return;
	}
	while (rest) {
		uint32_t target = targets[index[__builtin_ctz(rest)]], same = 0;

		TCB_EMU_EACH(lane, rest)
		if (targets[index[lane]] == target)
			same |= 1u << lane;
		rest &= ~same;
		if (same == warp->mask) {
			warp->pc = warp->frame->function->code + target;
		} else {
			is_divergent = 1;
			if (rest || falls) {
				part(warp, in, same, target);
			} else { /* the last of several */
				warp->pc = warp->frame->function->code + target;
			}
		}
		if (warp->run->fault)
			return;
	}
	warp->run->counts[in->count].divergent += (uint64_t)is_divergent;
}

/* --- calls --- */

static void pass_in(struct tcb_emu_warp *warp, const struct tcb_emu_passing *passing, struct tcb_emu_frame *caller,
		    struct tcb_emu_frame *callee, uint32_t lanes)
{
	for (uint32_t i = 0; i < passing->arg_count; i++) {
		const struct tcb_emu_passed *p = &passing->args[i];

		TCB_EMU_EACH(lane, lanes)
		{
			uint8_t *to = tcb_emu_frame_at(warp, lane, callee->local_base + p->formal);
			uint64_t value;

			if (p->is_register) {
				value = tcb_emu_get(warp, &p->op, lane);
				memcpy(to, &value, p->bytes < 8 ? p->bytes : 8);
			} else {
				memcpy(to, tcb_emu_frame_at(warp, lane, caller->local_base + p->actual), p->bytes);
			}
		}
	}
}

static void pass_out(struct tcb_emu_warp *warp, const struct tcb_emu_passing *passing, struct tcb_emu_frame *callee,
		     uint32_t lanes)
{
	struct tcb_emu_frame *caller = callee->caller;
	uint8_t *kept = warp->lanes;

	warp->lanes = caller->lanes; /* results go to the caller's registers */
	for (uint32_t i = 0; i < passing->result_count; i++) {
		const struct tcb_emu_passed *p = &passing->results[i];

		TCB_EMU_EACH(lane, lanes)
		{
			const uint8_t *from = tcb_emu_frame_at(warp, lane, callee->local_base + p->formal);
			uint64_t value = 0;

			if (p->is_register) {
				memcpy(&value, from, p->bytes < 8 ? p->bytes : 8);
				tcb_emu_set(warp, &p->op, lane, value);
			} else {
				memcpy(tcb_emu_frame_at(warp, lane, caller->local_base + p->actual), from, p->bytes);
			}
		}
	}
	warp->lanes = kept;
}

static int enter(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t index, uint32_t lanes,
		 struct tcb_emu_join *join)
{
	struct tcb_emu_frame *caller = warp->frame, *frame;
	const struct tcb_emu_function *callee = warp->run->program->functions[index];

	if (caller->depth >= DEPTH_MAX ||
	    caller->local_base + (uint64_t)caller->function->local_bytes + callee->local_bytes > LOCAL_MAX) {
		tcb_emu_fault(warp, in, __builtin_ctz(lanes), TCB_PTX_RULE_OUT_OF_BOUNDS,
			      "the stack overflows: %u calls in each other", caller->depth + 1);
		return 0;
	}
	if (((const struct tcb_emu_passing *)in->extra)->bytes > callee->local_bytes) {
		tcb_emu_fault(warp, in, __builtin_ctz(lanes), TCB_PTX_RULE_OUT_OF_BOUNDS,
			      "'%.80s' takes fewer arguments than its prototype", callee->function->symbol->name);
		return 0;
	}
	frame = tcb_emu_frame_new(warp, callee, caller, lanes);
	if (!frame)
		return 0;
	frame->call = in;
	pass_in(warp, in->extra, caller, frame, lanes);
	tcb_emu_split_add(warp, lanes, 0, frame, join);
	return 1;
}

static void run_call(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_join *join = join_new(warp, (uint32_t)(warp->pc - warp->frame->function->code), warp->mask);
	const uint64_t *pointers = in->a == UINT32_MAX ? tcb_emu_get64(warp, &in->op[1]) : NULL;
	uint32_t rest = active, count = warp->run->program->function_count;

	if (!join)
		return;
	join->is_call = 1;
	join->arrived = warp->mask & ~active;
	tcb_emu_split_drop(warp);
	while (rest) {
		uint32_t same = pointers ? 0 : rest, index = in->a;

		if (pointers) {
			uint64_t pointer = pointers[__builtin_ctz(rest)];
			uint64_t place = (pointer - TCB_EMU_FUNCTION_WINDOW) / 16;

			TCB_EMU_EACH(lane, rest)
			if (pointers[lane] == pointer)
				same |= 1u << lane;
			if (place >= count || pointer % 16 ||
			    warp->run->program->functions[place]->function->is_entry) {
				tcb_emu_fault(warp, in, __builtin_ctz(rest), TCB_PTX_RULE_OUT_OF_BOUNDS,
					      "a call through 0x%llx, which is not a function",
					      (unsigned long long)pointer);
				return;
			}
			index = (uint32_t)place;
		}
		if (!enter(warp, in, index, same, join))
			return;
		rest &= ~same;
	}
}

/* --- leaving --- */

void tcb_emu_run_exit(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_join *join = warp->join;
	struct tcb_emu_frame *frame = warp->frame;

	(void)in;
	warp->mask &= ~active;
	if (!warp->mask)
		tcb_emu_split_drop(warp);
	warp->live &= ~active;
	leave_joins(warp, join, active, 0);
	while (frame) {
		struct tcb_emu_frame *caller = frame->caller;

		leave_frame(warp, frame, active);
		frame = caller;
	}
	if (!warp->live) {
		tcb_emu_copies_end(warp);
		tcb_emu_bulk_end(warp);
	}
	tcb_emu_progress(warp->run);
	tcb_emu_sync_recheck(warp);
	tcb_emu_barrier_recheck(warp->block);
	warp->stop = 1;
}

void tcb_emu_run_return(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	struct tcb_emu_join *join = warp->join;
	struct tcb_emu_frame *frame = warp->frame;

	if (!frame->caller) {
		tcb_emu_run_exit(warp, in, active);
		return;
	}
	pass_out(warp, frame->call->extra, frame, active);
	warp->mask &= ~active;
	if (!warp->mask)
		tcb_emu_split_drop(warp);
	leave_joins(warp, join, active, 1);
	leave_frame(warp, frame, active);
	warp->stop = 1;
}

static void run_trap(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	tcb_emu_fault(warp, in, __builtin_ctz(active), TCB_PTX_RULE_TRAP, "the kernel gave up%s",
		      warp->run->asked_grid_barrier
			      ? "; it looked for the barrier of a grid, which only a cooperative launch has"
			      : "");
}

static void run_nanosleep(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	(void)in;
	(void)active;
	warp->stop = 1;
}

/* --- binding --- */

static enum tcb_status bind_list(struct tcb_emu_decoder *decoder, const struct tcb_ptx_operand *list,
				 const struct tcb_ptx_symbol *formals, uint32_t offset, struct tcb_emu_passed **out,
				 uint64_t *bytes, struct tcb_error *err)
{
	struct tcb_emu_passed *passed = tcb_arena_array(decoder->arena, list->count + 1u, sizeof *passed);

	*out = passed;
	if (!passed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a call");
	for (uint32_t i = 0; i < list->count; i++, formals = formals->next) {
		const struct tcb_ptx_operand *item = &list->items[i];
		struct tcb_emu_passed *p = &passed[i];
		unsigned align;

		if (!formals)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "more arguments than the function has");
		align = tcb_ptx_symbol_align(formals);
		offset = (offset + align - 1) / align * align;
		p->formal = offset;
		p->bytes = (uint32_t)tcb_ptx_symbol_bytes(formals);
		offset += p->bytes;
		if (*bytes < (uint64_t)p->formal + p->bytes)
			*bytes = (uint64_t)p->formal + p->bytes;
		if (item->kind == TCB_PTX_O_SYMBOL) {
			enum tcb_emu_where where;
			uint64_t at;

			TCB_TRY(tcb_emu_place(decoder, item->symbol, &where, &at, err));
			if (where != TCB_EMU_IN_FRAME || tcb_ptx_symbol_bytes(item->symbol) < p->bytes)
				return tcb_fail(err, TCB_E_UNSUPPORTED, "argument %u does not fit its parameter",
						i + 1);
			p->actual = (uint32_t)at;
		} else {
			p->is_register = 1;
			TCB_TRY(tcb_emu_operand(decoder, &p->op, item, formals->type, err));
			if (p->op.kind != TCB_EMU_REG && p->op.kind != TCB_EMU_CONST)
				return tcb_fail(err, TCB_E_UNSUPPORTED, "argument %u is of no kind that is emulated",
						i + 1);
		}
	}
	return TCB_OK;
}

static uint32_t end_of(const struct tcb_ptx_symbol *list, uint32_t offset)
{
	for (; list; list = list->next) {
		unsigned align = tcb_ptx_symbol_align(list);

		offset = (offset + align - 1) / align * align + (uint32_t)tcb_ptx_symbol_bytes(list);
	}
	return offset;
}

static enum tcb_status bind_call(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	const struct tcb_ptx_ins *ins = in->ins;
	const struct tcb_ptx_function *formal = NULL;
	struct tcb_emu_passing *passing = tcb_arena_alloc(decoder->arena, sizeof *passing);
	tcb_emu_run_fn *run = run_call;
	unsigned arguments = 0;

	if (!passing)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a call");
	in->a = UINT32_MAX;
	if (ins->operands[1].kind == TCB_PTX_O_SYMBOL) {
		if (!ins->operands[1].symbol->function)
			return tcb_fail(err, TCB_E_UNSUPPORTED, "'%.80s' is not a function",
					ins->operands[1].symbol->name);
		formal = ins->operands[1].symbol->function;
		if (!tcb_emu_has_body(decoder->program, ins->operands[1].symbol->function))
			run = tcb_emu_system_function(formal->symbol->name, &arguments);
		if (!run || run == run_call) {
			TCB_TRY(tcb_emu_function_index(decoder->program, ins->operands[1].symbol->function, &in->a,
						       err));
			formal = decoder->program->functions[in->a]->function;
		}
	} else if (ins->operands[1].kind == TCB_PTX_O_REG && in->op[1].bits == 64 && ins->operand_count > 3) {
		for (formal = decoder->function->function->prototypes; formal; formal = formal->next)
			if (strcmp(formal->symbol->name, ins->operands[3].text) == 0)
				break;
	}
	if (!formal || formal->is_entry)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "neither a function's name nor a pointer with its prototype");
	passing->result_count = ins->operands[0].count;
	passing->arg_count = ins->operands[2].count;
	if (passing->arg_count < arguments)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "'%.80s' with fewer than %u arguments", formal->symbol->name,
				arguments);
	TCB_TRY(bind_list(decoder, &ins->operands[0], formal->results, 0, &passing->results, &passing->bytes, err));
	TCB_TRY(bind_list(decoder, &ins->operands[2], formal->params, end_of(formal->results, 0), &passing->args,
			  &passing->bytes, err));
	in->extra = passing;
	in->run = run;
	return TCB_OK;
}

enum tcb_status tcb_emu_bind_control(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	static const struct tcb_emu_runner runners[] = {
		{ TCB_PTX_OP_BRA, run_bra },
		{ TCB_PTX_OP_BRX, run_brx },
		{ TCB_PTX_OP_RET, tcb_emu_run_return },
		{ TCB_PTX_OP_EXIT, tcb_emu_run_exit },
		{ TCB_PTX_OP_TRAP, run_trap },
		{ TCB_PTX_OP_NANOSLEEP, run_nanosleep },
	};

	if (in->ins->op == TCB_PTX_OP_CALL)
		return bind_call(decoder, in, err);
	in->run = tcb_emu_run_nothing; /* pmevent, brkpt, prefetches, policies of caches, dependent launches */
	tcb_emu_run_by(in, runners, sizeof runners / sizeof *runners);
	if (in->run == run_brx && in->op[0].bits != 32)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "an index of %u bits", in->op[0].bits);
	return TCB_OK;
}
