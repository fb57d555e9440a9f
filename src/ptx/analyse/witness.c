/* SPDX-License-Identifier: MIT
 *
 * In: the values that branches depend on, thread by thread (affine.h).  Out:
 * for each block with a meeting of threads, two that show that not all come.
 *
 * A thread surely comes to a block if every branch on its way is known for it,
 * or rejoins before the block: from a branch that is unknown it goes on at
 * the post-dominator.  (A loop that never ends is not thought of.)  It surely
 * does not come where affine_control.c says so.  Loops are followed by their
 * rounds, where one exit alone decides how many a thread makes.
 */
#include "ptx/analyse/witness.h"
#include "ptx/ir/opcodes.h"

#include <string.h>

enum { WORDS_MAX = TCB_PTX_BLOCK_THREADS_MAX / 64 };

struct search {
	struct tcb_ptx_function *function;
	struct tcb_ptx_affine *affine;
	struct tcb_ptx_joins *joins;
	struct tcb_ptx_witnesses *out;
	uint64_t *rounds; /* by thread */
};

static uint64_t *must_of(const struct tcb_ptx_witnesses *w, const struct tcb_ptx_block *block)
{
	return tcb_ptx_must_of(&w->coming, block);
}

/* --- who surely comes --- */

static int add(const struct tcb_ptx_coming *w, const struct tcb_ptx_block *to, const uint64_t *from,
	       const uint64_t *taken, uint64_t flip)
{
	uint64_t *at = tcb_ptx_must_of(w, to);
	int changed = 0;

	for (uint32_t i = 0; i < w->words; i++) {
		uint64_t more = from[i] & (taken ? taken[i] ^ flip : ~(uint64_t)0) & ~at[i];

		at[i] |= more;
		changed |= more != 0;
	}
	return changed;
}

static int follow(const struct tcb_ptx_coming *w, const struct tcb_ptx_affine *affine,
		  const struct tcb_ptx_block *block)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
	const struct tcb_ptx_block *target = end && end->op == TCB_PTX_OP_BRA ? end->operands[0].block : NULL,
				   *meet = tcb_ptx_affine_dominators(affine)->ipdom[block->number];
	const uint64_t *from = tcb_ptx_must_of(w, block), *taken = tcb_ptx_affine_taken(affine, block);
	int changed = 0;

	if (taken) {
		for (uint32_t i = 0; i < block->succ_count; i++) {
			if (block->succ[i] == target)
				changed |= add(w, target, from, taken, 0);
			if (block->succ[i] == block->next && tcb_ptx_falls_through(block))
				changed |= add(w, block->next, from, taken, ~(uint64_t)0);
		}
	} else if (block->succ_count == 1 && (!end || end->guard == TCB_PTX_NO_REG || target)) {
		changed |= add(w, block->succ[0], from, NULL, 0);
	} else if (meet) {
		changed |= add(w, meet, from, NULL, 0);
	}
	return changed;
}

enum tcb_status tcb_ptx_coming_find(struct tcb_ptx_function *function, const struct tcb_ptx_affine *affine,
				    struct tcb_ptx_coming *out, struct tcb_error *err)
{
	struct tcb_arena *arena = &function->module->arena;
	int changed = function->reachable_count != 0;

	out->words = (tcb_ptx_affine_threads(affine) + 63) / 64;
	out->must = tcb_arena_array(arena, ((size_t)function->block_count + 1) * out->words, sizeof *out->must);
	if (!out->must)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the threads of '%s'", function->symbol->name);
	if (changed)
		memcpy(tcb_ptx_must_of(out, function->order[0]), tcb_ptx_affine_active(affine, function->order[0]),
		       out->words * sizeof(uint64_t));
	while (changed) {
		changed = 0;
		for (uint32_t i = 0; i < function->reachable_count; i++)
			changed |= follow(out, affine, function->order[i]);
	}
	return TCB_OK;
}

/* --- pairs --- */

/* One thread of COME and one of STAY, of one warp if IN_WARP. */
static int pair_up(const uint64_t *come, const uint64_t *stay, uint32_t words, int in_warp, uint32_t line,
		   struct tcb_ptx_witness *out)
{
	uint32_t comes = UINT32_MAX, stays = UINT32_MAX;

	if (out->comes != out->stays)
		return 1;
	for (uint32_t warp = 0; warp < 2 * words; warp++) {
		uint32_t c = (uint32_t)(come[warp / 2] >> 32 * (warp % 2)),
			 s = (uint32_t)(stay[warp / 2] >> 32 * (warp % 2));

		if (in_warp)
			comes = stays = UINT32_MAX;
		if (c && comes == UINT32_MAX)
			comes = 32 * warp + (uint32_t)__builtin_ctz(c);
		if (s && stays == UINT32_MAX)
			stays = 32 * warp + (uint32_t)__builtin_ctz(s);
		if (comes != UINT32_MAX && stays != UINT32_MAX) {
			*out = (struct tcb_ptx_witness){ comes, stays, line };
			return 1;
		}
	}
	return 0;
}

static int holds_meeting(const struct tcb_ptx_block *block)
{
	for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
		if (tcb_ptx_has(ins, TCB_PTX_F_BARRIER | TCB_PTX_F_CONVERGENT) || ins->op == TCB_PTX_OP_CALL)
			return 1;
	return 0;
}

static void find_absent(const struct search *s, const struct tcb_ptx_block *block)
{
	const uint64_t *all = tcb_ptx_affine_active(s->affine, s->function->order[0]),
		       *may = tcb_ptx_affine_active(s->affine, block);
	uint64_t stay[WORDS_MAX];

	for (uint32_t i = 0; i < s->out->coming.words; i++)
		stay[i] = all[i] & ~may[i];
	pair_up(must_of(s->out, block), stay, s->out->coming.words, 1, 0, &s->out->absent[block->number]);
}

/* Of the threads that surely come to the branch of BLOCK those on SIDE (0: taken) that come to AT, and those of the
 * other side that stay away from all that MAY tells. */
static void find_sides(const struct search *s, const struct tcb_ptx_block *block, const struct tcb_ptx_block *at,
		       const uint64_t *may, int in_warp, struct tcb_ptx_witness *out)
{
	const uint64_t *from = must_of(s->out, block), *taken = tcb_ptx_affine_taken(s->affine, block),
		       *must = must_of(s->out, at);
	const uint64_t *back = in_warp ? NULL : must_of(s->out, s->joins->rejoin);
	uint64_t come[WORDS_MAX], stay[WORDS_MAX];

	for (unsigned side = 0; side < 2; side++) {
		for (uint32_t i = 0; i < s->out->coming.words; i++) {
			uint64_t one = side ? ~taken[i] : taken[i];

			come[i] = from[i] & must[i] & one;
			stay[i] = from[i] & ~may[i] & ~one & (back ? back[i] : ~(uint64_t)0);
		}
		pair_up(come, stay, s->out->coming.words, in_warp, tcb_ptx_terminator(block)->line, out);
	}
}

/* Whether the branch of BLOCK surely parts threads. */
static int parts(const struct search *s, const struct tcb_ptx_block *block)
{
	const uint64_t *from = must_of(s->out, block), *taken = tcb_ptx_affine_taken(s->affine, block);
	uint64_t yes = 0, no = 0;

	for (uint32_t i = 0; i < s->out->coming.words && taken; i++) {
		yes |= from[i] & taken[i];
		no |= from[i] & ~taken[i];
	}
	return yes && no && block->succ_count == 2;
}

static void find_parted(const struct search *s, struct tcb_ptx_block *block)
{
	const struct tcb_ptx_joins *j = s->joins;
	uint64_t may[WORDS_MAX] = { 0 };

	if (!parts(s, block))
		return;
	tcb_ptx_joins_find(s->joins, block);
	for (uint32_t k = 0; k < j->region.count; k++)
		for (uint32_t i = 0; i < s->out->coming.words && holds_meeting(j->region.list[k]); i++)
			may[i] |= tcb_ptx_affine_active(s->affine, j->region.list[k])[i];
	for (uint32_t k = 0; k < j->region.count; k++) {
		const struct tcb_ptx_block *at = j->region.list[k];

		if (!holds_meeting(at))
			continue;
		find_sides(s, block, at, tcb_ptx_affine_active(s->affine, at), 1, &s->out->parted[at->number]);
		if (j->rejoin)
			find_sides(s, block, at, may, 0, &s->out->skipped[at->number]);
	}
}

/* --- loops --- */

static int is_each_round(const struct search *s, const struct tcb_ptx_loop *loop, const struct tcb_ptx_block *block)
{
	if (block->loop != loop)
		return 0;
	for (uint32_t i = 0; i < loop->header->pred_count; i++)
		if (tcb_ptx_affine_is_inside(loop->header->pred[i], loop) &&
		    !tcb_ptx_dominates(tcb_ptx_affine_dominators(s->affine), block, loop->header->pred[i]))
			return 0;
	return 1;
}

static void find_rounds(const struct search *s, const struct tcb_ptx_loop *loop)
{
	const uint64_t *must = must_of(s->out, loop->header);
	const struct tcb_ptx_block *exit = tcb_ptx_affine_rounds(s->affine, loop, s->rounds);
	uint64_t come[WORDS_MAX], stay[WORDS_MAX];
	struct tcb_ptx_witness in_warp = { 0 }, in_block = { 0 };
	uint32_t line = exit ? tcb_ptx_terminator(exit)->line : 0;

	/* against the first thread of each warp, so that those with more rounds and with fewer are both seen */
	for (uint32_t t = 0; t < 64 * s->out->coming.words && exit; t += 32) {
		uint64_t mark = s->rounds[t];

		memset(come, 0, sizeof come);
		memset(stay, 0, sizeof stay);
		if (!(must[t / 64] >> t % 64 & 1))
			continue;
		for (uint32_t k = 0; k < 64 * s->out->coming.words; k++) {
			uint64_t bit = must[k / 64] & UINT64_C(1) << k % 64;

			if (s->rounds[k] > mark)
				come[k / 64] |= bit;
			else
				stay[k / 64] |= bit;
		}
		pair_up(come, stay, s->out->coming.words, 1, line, &in_warp);
		pair_up(come, stay, s->out->coming.words, 0, line, &in_block);
		memset(stay, 0, sizeof stay);
		for (uint32_t k = t; k < t + 32; k++)
			if (s->rounds[k] < mark)
				stay[k / 64] |= must[k / 64] & UINT64_C(1) << k % 64;
		memset(come, 0, sizeof come);
		come[t / 64] = UINT64_C(1) << t % 64;
		pair_up(come, stay, s->out->coming.words, 1, line, &in_warp);
	}
	for (uint32_t i = 0; i < s->function->reachable_count && in_block.line; i++) {
		const struct tcb_ptx_block *block = s->function->order[i];

		if (!is_each_round(s, loop, block))
			continue;
		s->out->skipped[block->number] = in_block;
		if (in_warp.line)
			s->out->parted[block->number] = s->out->absent[block->number] = in_warp;
	}
}

/* --- whole ways --- */

/* Adds the barriers of BLOCK to HASH; 0 where that takes more than to look. */
static int add_barriers(const struct tcb_ptx_block *block, uint64_t *hash)
{
	for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
		if (ins->op == TCB_PTX_OP_CALL)
			return 0;
		if (!tcb_ptx_has(ins, TCB_PTX_F_BARRIER))
			continue;
		if (ins->op != TCB_PTX_OP_BAR_SYNC || ins->operand_count != 1 || ins->guard != TCB_PTX_NO_REG ||
		    ins->operands[0].kind != TCB_PTX_O_INT)
			return 0;
		*hash = (*hash ^ (ins->operands[0].bits + 1)) * 0x9e3779b97f4a7c15u;
		*hash ^= *hash >> 29;
	}
	return 1;
}

/* The block where THREAD goes on; NULL with *KNOWN when it ends, or without. */
static const struct tcb_ptx_block *next_of(const struct search *s, const struct tcb_ptx_block *block, uint32_t thread,
					   int *known)
{
	const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
	const uint64_t *taken = tcb_ptx_affine_taken(s->affine, block);
	int takes = taken && (taken[thread / 64] >> thread % 64 & 1);

	*known = 1;
	if (!block->succ_count)
		return NULL;
	if (!end || end->guard == TCB_PTX_NO_REG) {
		*known = block->succ_count == 1;
		return *known ? block->succ[0] : NULL;
	}
	*known = taken && (end->op == TCB_PTX_OP_BRA || tcb_ptx_ends_thread(s->function, end));
	if (!*known)
		return NULL;
	return !takes ? block->next : end->op == TCB_PTX_OP_BRA ? end->operands[0].block : NULL;
}

static int have_same_barriers(const struct search *s)
{
	uint64_t first = 0;

	for (uint32_t t = 0; t < tcb_ptx_affine_threads(s->affine); t++) {
		const struct tcb_ptx_block *block = s->function->order[0];
		uint64_t hash = 0;
		int known = 1;

		/* forwards only: a loop is not followed */
		for (const struct tcb_ptx_block *next; block; block = next) {
			if (!add_barriers(block, &hash))
				return 0;
			next = next_of(s, block, t, &known);
			if (!known || (next && next->order <= block->order))
				return 0;
		}
		if (t && hash != first)
			return 0;
		first = hash;
	}
	return 1;
}

/* --- all --- */

enum tcb_status tcb_ptx_witnesses_find(struct tcb_ptx_function *function, struct tcb_ptx_affine *affine,
				       struct tcb_ptx_joins *joins, struct tcb_ptx_witnesses *out,
				       struct tcb_error *err)
{
	struct tcb_arena *arena = &function->module->arena;
	struct search s = { function, affine, joins, out, NULL };
	size_t blocks = function->block_count + 1u;

	memset(out, 0, sizeof *out);
	out->absent = tcb_arena_array(arena, blocks, sizeof *out->absent);
	out->parted = tcb_arena_array(arena, blocks, sizeof *out->parted);
	out->skipped = tcb_arena_array(arena, blocks, sizeof *out->skipped);
	if (!affine || !tcb_ptx_affine_exact(affine) || !function->reachable_count)
		return arena->failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory") : TCB_OK;
	out->affine = affine;
	s.rounds = tcb_arena_array(arena, TCB_PTX_BLOCK_THREADS_MAX, sizeof *s.rounds);
	if (arena->failed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the threads of '%s'", function->symbol->name);
	out->same_barriers = have_same_barriers(&s);
	TCB_TRY(tcb_ptx_coming_find(function, affine, &out->coming, err));
	for (const struct tcb_ptx_loop *loop = function->loops; loop; loop = loop->next)
		find_rounds(&s, loop);
	for (uint32_t i = 0; i < function->reachable_count; i++) {
		find_parted(&s, function->order[i]);
		if (holds_meeting(function->order[i]))
			find_absent(&s, function->order[i]);
	}
	return TCB_OK;
}

int tcb_ptx_witness_guard(const struct tcb_ptx_witnesses *witnesses, struct tcb_ptx_affine *affine,
			  const struct tcb_ptx_ins *ins, int in_warp, struct tcb_ptx_witness *out)
{
	uint64_t come[WORDS_MAX] = { 0 }, stay[WORDS_MAX] = { 0 };
	struct tcb_ptx_value guard;
	const uint64_t *must;

	*out = (struct tcb_ptx_witness){ 0 };
	if (!witnesses->affine)
		return 0;
	guard = tcb_ptx_affine_guard(affine, ins);
	if (!guard.known || guard.term_count)
		return 0;
	must = must_of(witnesses, ins->block);
	for (uint32_t t = 0; t < tcb_ptx_affine_threads(affine); t++)
		(tcb_ptx_value_lane(&guard, t) & 1 ? come : stay)[t / 64] |= must[t / 64] & UINT64_C(1) << t % 64;
	return pair_up(come, stay, witnesses->coming.words, in_warp, 0, out);
}
