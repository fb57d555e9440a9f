/* SPDX-License-Identifier: MIT
 *
 * In: a function and its uniformity.  Out: findings about barriers and about
 * instructions that lanes of a warp execute together.
 *
 * What is required (PTX ISA 9.0, 9.7.13; SPEC section 5): the threads of a
 * warp execute an .aligned barrier together; all threads of a block that have
 * not ended meet the same barriers, unless a barrier counts its threads; the
 * lanes that a mask names execute the instruction and are alive.
 *
 *   - Within a warp the answer is in the levels of the uniformity analysis.
 *   - Between warps (a branch about the warp index), the barriers without a
 *     count on the ways that meet again must be the same ones: each way's are
 *     hashed up to the join.
 *   - A counted barrier is satisfied when enough threads can reach it.  Where
 *     the block's size is stated, each warp is followed through the branches
 *     whose conditions follow from its index, and its threads are summed.
 *
 * What is found so is an error where witness.c shows two threads of the launch
 * that part, and else a warning.
 */
#include "ptx/analyse/analyses.h"
#include "ptx/analyse/flow/joins.h"
#include "ptx/analyse/values/bits.h"
#include "ptx/analyse/witness.h"
#include "ptx/ir/opcodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WARP = 32, IDS = 16, UNKNOWN_ID = IDS, WARPS_MAX = 32 };

enum kind { NOTHING, BLOCK_BARRIER, CLUSTER_BARRIER, WARP_BARRIER, SHUFFLE, COLLECTIVE, ALL_LANES };

/* What an instruction asks of other threads. */
struct meeting {
	enum kind kind;
	int is_aligned;
	int is_full;    /* names all lanes of the warp */
	unsigned id;    /* BLOCK_BARRIER; UNKNOWN_ID */
	uint32_t count; /* 0: all threads */
	int has_count;
	int waits; /* does not only arrive */
};

struct work {
	struct tcb_ptx_function *function;
	const struct tcb_ptx_uniformity *u;
	const struct tcb_ptx_sink *sink;
	struct tcb_ptx_bit_env bits;
	struct tcb_ptx_joins joins;
	struct tcb_ptx_affine *affine;
	struct tcb_ptx_witnesses witnesses;
	uint8_t *is_reported; /* by number of the instruction */
	uint8_t *is_wanted;   /* by block: the ways of its branch must be compared */
	/* one pass over the ways of a branch */
	uint64_t *hash;    /* by block: of the barriers on the way to it */
	uint32_t *hashed;  /* by block: the pass that set it */
	uint8_t *is_vague; /* by block: the barriers on the way to it depend on more than the branch */
	uint32_t pass;
};

/* --- what instructions are --- */

static int calls_barrier(const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_symbol *callee =
		ins->operands[1].kind == TCB_PTX_O_SYMBOL ? ins->operands[1].symbol : NULL;

	return callee && callee->function && tcb_ptx_barrier_count(callee->function) > 0;
}

static int constant_of(struct work *w, const struct tcb_ptx_operand *operand, uint32_t *out)
{
	struct tcb_ptx_bits bits = tcb_ptx_bits_read(&w->bits, operand, 32);

	*out = (uint32_t)bits.ones;
	return tcb_ptx_bits_is_constant(bits);
}

static struct meeting block_barrier(struct work *w, const struct tcb_ptx_ins *ins)
{
	int reduces = ins->op == TCB_PTX_OP_BAR_RED || ins->op == TCB_PTX_OP_BARRIER_RED;
	unsigned at = reduces ? 1 : 0;
	struct meeting m = { .kind = BLOCK_BARRIER, .id = UNKNOWN_ID };
	uint32_t id;

	m.is_aligned = ins->op == TCB_PTX_OP_BAR_SYNC || ins->op == TCB_PTX_OP_BAR_ARRIVE ||
		       ins->op == TCB_PTX_OP_BAR_RED || ins->mod[TCB_PTX_SLOT_ALIGNED];
	m.waits = ins->op != TCB_PTX_OP_BAR_ARRIVE && ins->op != TCB_PTX_OP_BARRIER_ARRIVE;
	if (constant_of(w, &ins->operands[at], &id) && id < IDS)
		m.id = id;
	m.has_count = ins->operand_count > (reduces ? 3 : 1);
	if (m.has_count && !constant_of(w, &ins->operands[at + 1], &m.count))
		m.count = 0;
	return m;
}

static struct meeting with_mask(struct work *w, enum kind kind, const struct tcb_ptx_operand *mask)
{
	uint32_t lanes;

	return (struct meeting){ .kind = kind, .is_full = constant_of(w, mask, &lanes) && lanes == UINT32_MAX };
}

static struct meeting meeting_of(struct work *w, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *o = ins->operands;

	if (!tcb_ptx_has(ins, TCB_PTX_F_BARRIER | TCB_PTX_F_CONVERGENT))
		return (struct meeting){ .kind = NOTHING };
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_BAR_SYNC:
	case TCB_PTX_OP_BAR_ARRIVE:
	case TCB_PTX_OP_BAR_RED:
	case TCB_PTX_OP_BARRIER_SYNC:
	case TCB_PTX_OP_BARRIER_ARRIVE:
	case TCB_PTX_OP_BARRIER_RED:
		return block_barrier(w, ins);
	case TCB_PTX_OP_BARRIER_CLUSTER_ARRIVE:
	case TCB_PTX_OP_BARRIER_CLUSTER_WAIT:
		return (struct meeting){ .kind = CLUSTER_BARRIER,
					 .is_aligned = ins->mod[TCB_PTX_SLOT_ALIGNED] != 0,
					 .id = UNKNOWN_ID,
					 .waits = ins->op == TCB_PTX_OP_BARRIER_CLUSTER_WAIT };
	case TCB_PTX_OP_CALL:
		return calls_barrier(ins) ? (struct meeting){ .kind = BLOCK_BARRIER,
							      .is_aligned = 1,
							      .id = UNKNOWN_ID,
							      .waits = 1 }
					  : (struct meeting){ .kind = NOTHING };
	case TCB_PTX_OP_BAR_WARP_SYNC:
		return with_mask(w, WARP_BARRIER, &o[0]);
	case TCB_PTX_OP_SHFL:
		return with_mask(w, SHUFFLE, &o[4]);
	case TCB_PTX_OP_VOTE:
	case TCB_PTX_OP_MATCH_ANY:
	case TCB_PTX_OP_MATCH_ALL:
	case TCB_PTX_OP_REDUX:
		return with_mask(w, COLLECTIVE, &o[2]);
	case TCB_PTX_OP_ELECT:
		return with_mask(w, COLLECTIVE, &o[1]);
	case TCB_PTX_OP_ACTIVEMASK:
		return (struct meeting){ .kind = NOTHING };
	default: /* matrix instructions, setmaxnreg */
		return (struct meeting){ .kind = ALL_LANES, .is_aligned = 1, .is_full = 1 };
	}
}

unsigned tcb_ptx_barrier_count(const struct tcb_ptx_function *function)
{
	unsigned count = 0;

	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			count += ins->op == TCB_PTX_OP_BAR_SYNC || ins->op == TCB_PTX_OP_BAR_RED ||
				 ins->op == TCB_PTX_OP_BARRIER_SYNC || ins->op == TCB_PTX_OP_BARRIER_RED;
	return count;
}

/* --- reporting --- */

static uint32_t line_of(const struct tcb_ptx_block *branch)
{
	const struct tcb_ptx_ins *end = branch ? tcb_ptx_terminator(branch) : NULL;

	return end ? end->line : 0;
}

static void name_thread(const struct work *w, uint32_t thread, char *out, size_t size)
{
	const uint32_t *block = tcb_ptx_affine_block(w->affine);

	snprintf(out, size, "(%u,%u,%u)", thread % block[0], thread / block[0] % block[1],
		 thread / block[0] / block[1]);
}

/* What would decide a suspicion. */
static const char *to_decide(const struct work *w)
{
	return w->witnesses.affine ? "right if they all agree there, which could not be computed"
				   : "say the launch's --block to have it decided";
}

/* Once for each instruction.  With a proof it is an error and names the threads; else a warning that says what would
 * decide.  BRANCH is named if the proof names none. */
static void judge(struct work *w, const struct tcb_ptx_ins *ins, enum tcb_ptx_rule rule,
		  const struct tcb_ptx_witness *proof, const struct tcb_ptx_block *branch, const char *what)
{
	uint32_t line = proof && proof->line ? proof->line : line_of(branch);
	char comes[40], stays[40], at[40] = "";

	if (w->is_reported[ins->number])
		return;
	w->is_reported[ins->number] = 1;
	if (line)
		snprintf(at, sizeof at, " (the branch is in line %u)", line);
	if (!w->function->is_entry || !proof || proof->comes == proof->stays) {
		tcb_ptx_report(w->sink, rule, TCB_PTX_WARNING, w->function, ins, "%s%s; %s", what, at, to_decide(w));
		return;
	}
	name_thread(w, proof->comes, comes, sizeof comes);
	name_thread(w, proof->stays, stays, sizeof stays);
	tcb_ptx_report(w->sink, rule, TCB_PTX_ERROR, w->function, ins, "%s: thread %s is there, %s is not%s", what,
		       comes, stays, at);
}

/* As judge, of the predicate of INS. */
static void judge_guard(struct work *w, const struct tcb_ptx_ins *ins, enum tcb_ptx_rule rule, int in_warp,
			const char *what)
{
	struct tcb_ptx_witness proof;

	tcb_ptx_witness_guard(&w->witnesses, w->affine, ins, in_warp, &proof);
	judge(w, ins, rule, &proof, NULL, what);
}

static void warn(struct work *w, const struct tcb_ptx_ins *ins, enum tcb_ptx_rule rule,
		 const struct tcb_ptx_block *branch, const char *what)
{
	uint32_t line = line_of(branch);

	if (w->is_reported[ins->number])
		return;
	w->is_reported[ins->number] = 1;
	if (line)
		tcb_ptx_report(w->sink, rule, TCB_PTX_WARNING, w->function, ins, "%s (the branch is in line %u)", what,
			       line);
	else
		tcb_ptx_report(w->sink, rule, TCB_PTX_WARNING, w->function, ins, "%s", what);
}

/* --- within a warp --- */

static void check_block_barrier(struct work *w, const struct tcb_ptx_ins *ins, const struct meeting *m)
{
	uint32_t block = ins->block->number;
	uint8_t guard = ins->guard == TCB_PTX_NO_REG ? TCB_PTX_UNIFORM_GRID : w->u->reg[ins->guard];

	if (m->is_aligned && w->u->control[block] == TCB_PTX_VARYING)
		judge(w, ins, TCB_PTX_RULE_BARRIER_DIVERGENT, &w->witnesses.parted[block], w->u->splits[block],
		      "threads of one warp part at a branch and do not all come here, where an aligned barrier needs "
		      "them together; move it out of the branch, or make the condition the same for the whole block");
	if (guard == TCB_PTX_VARYING && (m->is_aligned || !m->has_count))
		judge_guard(
			w, ins, TCB_PTX_RULE_BARRIER_PREDICATED, m->is_aligned,
			"the predicate differs within a warp: some of its threads skip the barrier and others wait for "
			"them");
	if (guard == TCB_PTX_UNIFORM_WARP && !m->has_count)
		judge_guard(w, ins, TCB_PTX_RULE_BARRIER_PREDICATED, 0,
			    "the predicate differs between warps, and a barrier without a count waits for all of them");
	if (w->witnesses.same_barriers)
		return;
	if (w->u->exited[block] == TCB_PTX_VARYING ||
	    (w->u->exited[block] == TCB_PTX_UNIFORM_WARP && !m->has_count && m->kind == BLOCK_BARRIER))
		warn(w, ins, TCB_PTX_RULE_BARRIER_SKIPPED, w->u->leavers[block],
		     "some threads end before this barrier: the others do not wait for them, and what they should "
		     "have "
		     "loaded or stored for the block is missing; let them go on with their accesses predicated off");
}

static const char *const apart = "lanes of the warp part at a branch, and this names or needs all of them; move it out "
				 "of the branch or name the lanes that come here";
static const char *const predicated = "the predicate differs within the warp, and this names or needs all of its lanes";
static const char *const ended =
	"lanes may have ended before, and this names or needs all of them; end whole warps only, "
	"or let the lanes go on";

static void check_lanes(struct work *w, const struct tcb_ptx_ins *ins, const struct meeting *m)
{
	uint32_t block = ins->block->number;
	enum tcb_ptx_rule rule =
		m->kind == WARP_BARRIER ? TCB_PTX_RULE_BARRIER_DIVERGENT : TCB_PTX_RULE_SHUFFLE_DIVERGENT;

	if (!m->is_full)
		return;
	if (w->u->control[block] == TCB_PTX_VARYING)
		judge(w, ins, rule,
		      m->kind == WARP_BARRIER || m->kind == COLLECTIVE ? &w->witnesses.parted[block]
								       : &w->witnesses.absent[block],
		      w->u->splits[block], apart);
	else if (ins->guard != TCB_PTX_NO_REG && w->u->reg[ins->guard] == TCB_PTX_VARYING)
		judge_guard(w, ins, rule, 1, predicated);
	else if (w->u->exited[block] == TCB_PTX_VARYING && m->kind != WARP_BARRIER)
		/* a vote is defined over those that are left, a shuffle reads from who is not there */
		judge(w, ins, TCB_PTX_RULE_SHUFFLE_EXITED, m->kind == COLLECTIVE ? NULL : &w->witnesses.absent[block],
		      w->u->leavers[block], ended);
}

/* --- between warps --- */

/* Barriers that all live threads of the block must meet, and that were not settled within the warp. */
static int must_match(struct work *w, const struct tcb_ptx_ins *ins, uint64_t *hash)
{
	struct meeting m = meeting_of(w, ins);

	if ((m.kind != BLOCK_BARRIER && m.kind != CLUSTER_BARRIER) || m.has_count)
		return 0;
	*hash = (*hash ^ (m.id + 64u * m.kind + 1024u * (unsigned)m.waits + 1)) * 0x9e3779b97f4a7c15u;
	*hash ^= *hash >> 29;
	return 1;
}

static const struct tcb_ptx_ins *first_to_match(struct work *w, const struct tcb_ptx_block *block)
{
	uint64_t unused = 0;

	for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
		if (must_match(w, ins, &unused))
			return ins;
	return NULL;
}

static void carry(struct work *w, const struct tcb_ptx_block *to, uint64_t hash, int is_vague)
{
	uint32_t n = to->number;

	if (w->hashed[n] != w->pass) {
		w->hashed[n] = w->pass;
		w->hash[n] = hash;
		w->is_vague[n] = (uint8_t)is_vague;
	} else {
		w->is_vague[n] |= (uint8_t)(is_vague | 2 * (w->hash[n] != hash));
	}
}

/* A loop within the region that holds barriers to match: how many there are nobody knows. */
static int loop_has_barrier(struct work *w, const struct tcb_ptx_block *header)
{
	const struct tcb_ptx_joins *j = &w->joins;

	for (uint32_t i = j->place[header->number]; i < j->loop_end[header->number]; i++)
		if (first_to_match(w, j->order[i]))
			return 1;
	return 0;
}

static int by_place(const struct work *w, const struct tcb_ptx_block *from, const struct tcb_ptx_block *to)
{
	return w->joins.place[to->number] > w->joins.place[from->number];
}

static const char *const unlike =
	"warps part at a branch and meet different barriers before they are together again: "
	"live threads skip this one while others wait for them; give it a count and an id of its "
	"own, or move it out of the branch";
static const char *const unclear =
	"warps part at a branch, and that they meet the same barriers before they are together "
	"again cannot be proved";

/* IS_UNLIKE: the ways are known to differ. */
static void report_region(struct work *w, const struct tcb_ptx_block *branch, int is_unlike)
{
	for (uint32_t i = 0; i < w->joins.region.count; i++) {
		const struct tcb_ptx_ins *ins = first_to_match(w, w->joins.region.list[i]);

		if (ins)
			judge(w, ins, TCB_PTX_RULE_BARRIER_DIVERGENT,
			      is_unlike ? &w->witnesses.skipped[ins->block->number] : NULL, branch,
			      is_unlike ? unlike : unclear);
	}
}

/* Loops that some threads leave while others go on meeting a barrier in them. */
static int check_rounds(struct work *w, const struct tcb_ptx_block *branch)
{
	int found = 0;

	for (uint32_t i = 0; i < w->joins.loops.count; i++) {
		const struct tcb_ptx_block *header = w->joins.loops.list[i];

		for (uint32_t k = w->joins.place[header->number]; k < w->joins.loop_end[header->number]; k++) {
			const struct tcb_ptx_ins *ins = first_to_match(w, w->joins.order[k]);

			if (!ins)
				continue;
			found = 1;
			judge(w, ins, TCB_PTX_RULE_BARRIER_DIVERGENT, &w->witnesses.skipped[ins->block->number], branch,
			      "threads leave the loop in different rounds, and those that have left skip the barrier "
			      "in it "
			      "while others wait for them; make the number of rounds the same for the whole block");
		}
	}
	return found;
}

/* The ways from BRANCH to where they meet: the same barriers on all of them. */
static void check_ways(struct work *w, struct tcb_ptx_block *branch)
{
	struct tcb_ptx_joins *j = &w->joins;

	tcb_ptx_joins_find(j, branch);
	if (check_rounds(w, branch))
		return;
	w->pass++;
	for (uint32_t i = 0; i < branch->succ_count; i++)
		carry(w, branch->succ[i], 0, 0);
	for (uint32_t i = 0; i < j->region.count; i++) { /* in the order of places: predecessors come first */
		const struct tcb_ptx_block *block = j->region.list[i];
		uint64_t hash = w->hash[block->number];
		int is_vague = w->is_vague[block->number] != 0;

		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			must_match(w, ins, &hash);
		if (block->loop && block->loop->header == block && loop_has_barrier(w, block))
			is_vague = 1;
		for (uint32_t k = 0; k < block->succ_count; k++)
			if (by_place(w, block, block->succ[k]))
				carry(w, block->succ[k], hash, is_vague);
	}
	for (uint32_t i = 0; i < j->joins.count; i++) {
		uint8_t found = w->is_vague[j->joins.list[i]->number];

		if (w->hashed[j->joins.list[i]->number] == w->pass && found)
			report_region(w, branch, found == 2);
	}
}

static int has_open_barrier(struct work *w, const struct tcb_ptx_block *block)
{
	uint64_t unused = 0;

	for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
		if (must_match(w, ins, &unused) && !w->is_reported[ins->number])
			return 1;
	return 0;
}

/* Branches that part warps, or threads around barriers that need not be aligned, with such a barrier on a way.  The
 * outer ones come first, and ask for those inside of them, whose ways may differ where they look alike from outside. */
static void check_branches(struct work *w)
{
	for (uint32_t i = 0; i < w->function->reachable_count; i++) {
		const struct tcb_ptx_block *block = w->function->order[i], *branch = w->u->splits[block->number];

		if (branch && w->u->control[block->number] >= TCB_PTX_UNIFORM_WARP && has_open_barrier(w, block))
			w->is_wanted[branch->number] = 1;
	}
	for (uint32_t i = 0; i < w->function->reachable_count; i++) {
		struct tcb_ptx_block *branch = w->function->order[i];
		int is_open = 0;

		if (!w->is_wanted[branch->number])
			continue;
		check_ways(w, branch);
		for (uint32_t k = 0; k < w->joins.region.count && !is_open; k++)
			is_open = has_open_barrier(w, w->joins.region.list[k]);
		for (uint32_t k = 0; k < w->joins.region.count && is_open; k++) {
			const struct tcb_ptx_block *inner = w->joins.region.list[k];

			if (inner->succ_count > 1 && tcb_ptx_branch_variance(w->u, inner) >= TCB_PTX_UNIFORM_WARP)
				w->is_wanted[inner->number] = 1;
		}
	}
}

/* --- counts --- */

/* Barriers of one number and one count; 0: all threads, or unknown. */
struct numbered {
	unsigned id;
	uint32_t count;
};

enum { NUMBERED_MAX = 64 };

struct counting {
	uint32_t *state_of; /* by block: 1 + the warp that came last */
	struct tcb_ptx_block **stack;
	struct numbered numbered[NUMBERED_MAX]; /* the last stands for all that have no room */
	unsigned numbered_count;
	uint64_t met[WARPS_MAX]; /* by warp: those of NUMBERED that it may meet */
};

/* The bit of what M asks for. */
static uint64_t bit_of(struct counting *c, const struct meeting *m)
{
	const struct numbered wanted = { m->id, m->has_count ? m->count : 0 };

	for (unsigned i = 0; i < c->numbered_count; i++)
		if (c->numbered[i].id == wanted.id && c->numbered[i].count == wanted.count)
			return UINT64_C(1) << i;
	if (c->numbered_count == NUMBERED_MAX - 1) {
		c->numbered[NUMBERED_MAX - 1] = (struct numbered){ UNKNOWN_ID, 0 };
		return UINT64_C(1) << (NUMBERED_MAX - 1);
	}
	c->numbered[c->numbered_count] = wanted;
	return UINT64_C(1) << c->numbered_count++;
}

/* Those that may bring threads to what M waits for: of its number, and with its count or one that is unknown. */
static uint64_t bits_for(const struct counting *c, const struct meeting *m)
{
	uint64_t bits = UINT64_C(1) << (NUMBERED_MAX - 1);

	for (unsigned i = 0; i < c->numbered_count; i++)
		if ((c->numbered[i].id == m->id || c->numbered[i].id == UNKNOWN_ID || m->id == UNKNOWN_ID) &&
		    (c->numbered[i].count == m->count || !c->numbered[i].count))
			bits |= UINT64_C(1) << i;
	return bits;
}

/* Whether PREDICATE, which is the same in the whole warp, is known there: 0 or 1, else -1. */
static int value_in_warp(struct work *w, struct tcb_ptx_bit_env *env, uint32_t reg, int negated)
{
	struct tcb_ptx_bits bits;

	if (w->u->reg[reg] == TCB_PTX_VARYING)
		return -1;
	bits = tcb_ptx_bits_eval(env, reg);
	return bits.ones & 1 ? !negated : bits.zeros & 1 ? negated : -1;
}

static void count_arrivals(struct work *w, struct counting *c, struct tcb_ptx_bit_env *env,
			   const struct tcb_ptx_block *block, uint64_t *seen)
{
	for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
		struct meeting m = meeting_of(w, ins);

		if (m.kind == BLOCK_BARRIER &&
		    (ins->guard == TCB_PTX_NO_REG || value_in_warp(w, env, ins->guard, ins->guard_negated) != 0))
			*seen |= bit_of(c, &m);
	}
}

/* Follows one warp as far as it may come; the barriers that it may meet, as bits. */
static uint64_t follow_warp(struct work *w, struct counting *c, struct tcb_ptx_bit_env *env, uint32_t warp)
{
	uint32_t depth = 0;
	uint64_t seen = 0;

	c->state_of[w->function->first->number] = warp + 1;
	c->stack[depth++] = w->function->first;
	while (depth) {
		struct tcb_ptx_block *block = c->stack[--depth];
		const struct tcb_ptx_ins *end = tcb_ptx_terminator(block);
		int taken = -1;

		count_arrivals(w, c, env, block, &seen);
		if (end && end->op == TCB_PTX_OP_BRA && end->guard != TCB_PTX_NO_REG && block->succ_count == 2)
			taken = value_in_warp(w, env, end->guard, end->guard_negated);
		for (uint32_t i = 0; i < block->succ_count; i++) {
			if ((taken == 0 && i == 0) || (taken == 1 && i == 1) ||
			    c->state_of[block->succ[i]->number] == warp + 1)
				continue;
			c->state_of[block->succ[i]->number] = warp + 1;
			c->stack[depth++] = block->succ[i];
		}
	}
	return seen;
}

static int follow_warps(struct work *w, struct counting *c, uint32_t threads)
{
	struct tcb_ptx_bit_env env = w->bits;
	size_t regs = w->function->reg_count + 1;
	uint32_t tid[3] = { 0, 0, 0 };
	int ok;

	env.reg = malloc(regs * sizeof *env.reg);
	env.state = malloc(regs);
	env.tid = tid;
	ok = env.reg && env.state;
	for (uint32_t warp = 0; ok && warp * WARP < threads && warp < WARPS_MAX; warp++) {
		memset(env.state, 0, regs);
		tid[0] = warp * WARP;
		c->met[warp] = follow_warp(w, c, &env, warp);
	}
	free(env.state);
	free(env.reg);
	return ok;
}

static void check_count(struct work *w, const struct tcb_ptx_ins *ins, const struct meeting *m,
			const struct counting *c, uint32_t threads)
{
	const uint64_t bits = bits_for(c, m);
	uint32_t most = 0;
	enum tcb_ptx_severity severity = w->function->is_entry ? TCB_PTX_ERROR : TCB_PTX_WARNING;

	for (uint32_t warp = 0; warp * WARP < threads && warp < WARPS_MAX; warp++)
		if (c->met[warp] & bits)
			most += threads - warp * WARP < WARP ? threads - warp * WARP : WARP;
	/* a block of another shape than was supposed may send more */
	if (!w->bits.shape.ntid[0] && m->count <= threads)
		severity = TCB_PTX_WARNING;
	if (w->is_reported[ins->number] || !m->count)
		return;
	if (m->count % WARP)
		tcb_ptx_report(w->sink, TCB_PTX_RULE_BARRIER_DIVERGENT,
			       w->function->is_entry ? TCB_PTX_ERROR : TCB_PTX_WARNING, w->function, ins,
			       "the count %u of a barrier must be a multiple of %d", m->count, WARP);
	else if (threads && most < m->count)
		tcb_ptx_report(w->sink, TCB_PTX_RULE_BARRIER_DIVERGENT, severity, w->function, ins,
			       "the barrier waits for %u threads, and of the block's %u at most %u can come to it with "
			       "that count",
			       m->count, threads, most);
}

/* Barriers with a count: enough threads can come. */
static int check_counts(struct work *w)
{
	const struct tcb_ptx_directives *d = &w->function->directives;
	const uint32_t *bounds = w->function->launch_block[0] ? w->function->launch_block
				 : d->reqntid[0]              ? d->reqntid
							      : d->maxntid;
	size_t blocks = w->function->block_count + 1;
	struct counting c = { 0 };
	uint32_t threads = 0;
	int ok = 1, is_used = 0;

	/* with rows of more dimensions a warp has no one tid.y */
	if (bounds[0] && bounds[1] * bounds[2] == 1 && w->bits.shape.whole_warps)
		threads = bounds[0];
	for (uint32_t i = 0; i < w->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = w->function->order[i]->first; ins; ins = ins->next) {
			struct meeting m = meeting_of(w, ins);

			is_used |= m.kind == BLOCK_BARRIER && m.has_count;
		}
	if (!is_used)
		return 1;
	c.state_of = calloc(blocks, sizeof *c.state_of);
	c.stack = malloc(blocks * sizeof(struct tcb_ptx_block *));
	ok = c.state_of && c.stack && (!threads || follow_warps(w, &c, threads));
	for (uint32_t i = 0; ok && i < w->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = w->function->order[i]->first; ins; ins = ins->next) {
			struct meeting m = meeting_of(w, ins);

			if (m.kind == BLOCK_BARRIER && m.has_count)
				check_count(w, ins, &m, &c, threads);
		}
	free(c.state_of);
	free(c.stack);
	return ok;
}

/* --- everything --- */

static void check_each(struct work *w)
{
	for (uint32_t i = 0; i < w->function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = w->function->order[i]->first; ins; ins = ins->next) {
			struct meeting m = meeting_of(w, ins);

			if (m.kind == BLOCK_BARRIER || m.kind == CLUSTER_BARRIER)
				check_block_barrier(w, ins, &m);
			else if (m.kind != NOTHING)
				check_lanes(w, ins, &m);
		}
}

static int meets_anybody(const struct tcb_ptx_function *function)
{
	for (uint32_t i = 0; i < function->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = function->order[i]->first; ins; ins = ins->next)
			if (tcb_ptx_has(ins, TCB_PTX_F_BARRIER | TCB_PTX_F_CONVERGENT))
				return 1;
	return 0;
}

enum tcb_status tcb_ptx_barrier_safety(struct tcb_ptx_function *function, const struct tcb_ptx_dominators *d,
				       const struct tcb_ptx_uniformity *u, struct tcb_ptx_affine *affine,
				       const struct tcb_ptx_sink *sink, struct tcb_error *err)
{
	struct tcb_arena *arena = &function->module->arena;
	struct work w = { .function = function, .u = u, .sink = sink, .affine = affine };
	size_t blocks = function->block_count + 1, count = 1;

	if (!meets_anybody(function))
		return TCB_OK;
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			count++;
	w.is_reported = tcb_arena_array(arena, count, 1);
	w.is_wanted = tcb_arena_array(arena, blocks, 1);
	w.hash = tcb_arena_array(arena, blocks, sizeof *w.hash);
	w.hashed = tcb_arena_array(arena, blocks, sizeof *w.hashed);
	w.is_vague = tcb_arena_array(arena, blocks, 1);
	if (arena->failed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the barriers of '%s'", function->symbol->name);
	TCB_TRY(tcb_ptx_loops(function, d, err));
	TCB_TRY(tcb_ptx_joins_init(&w.joins, function, err));
	TCB_TRY(tcb_ptx_bits_all(function, NULL, &w.bits, err));
	TCB_TRY(tcb_ptx_witnesses_find(function, affine, &w.joins, &w.witnesses, err));
	check_each(&w);
	check_branches(&w);
	if (!check_counts(&w))
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the barriers of '%s'", function->symbol->name);
	return TCB_OK;
}
