/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: the registers that have one value in all lanes of a warp
 * because a butterfly made it: x = x + shfl.bfly(x, d), with any operation that
 * commutes, over distances that reach every lane from every other.
 *
 * A value is followed with the set of distances d for which lane i and lane i^d
 * have the same: a bit each, so bit 0 always, and all 32 mean one value.  It is a
 * group, since i^d^e is reached by both.  Step d adds d to the group of x: the two
 * lanes of a pair add the same two values, and what was alike stays alike.
 */
#include "ptx/analyse/values/butterfly.h"
#include "ptx/ir/opcodes.h"

#define ALL_LANES UINT32_MAX

struct value {
	const struct tcb_ptx_ins *def; /* the one instruction that writes it */
	uint32_t origin;               /* the register that it is a copy of, or itself */
	uint32_t distances;            /* for which lanes have the same; 0: not met yet */
	uint32_t other, distance;      /* it is OTHER of the lane at that distance; 0: it is none */
	int is_written_again;
};

struct search {
	struct tcb_ptx_lane_env *env;
	struct value *values; /* by register */
};

static void see_result(struct search *s, const struct tcb_ptx_ins *ins, const struct tcb_ptx_operand *result)
{
	if (result->kind == TCB_PTX_O_REG) {
		struct value *v = &s->values[result->reg];

		v->is_written_again |= v->def != NULL;
		v->def = ins;
		v->origin = result->reg;
	}
	for (uint32_t i = 0; i < result->count; i++)
		see_result(s, ins, &result->items[i]);
}

/* What is known of the register OPERAND; NULL if it is none, or written in two places or under a guard. */
static struct value *read_value(struct search *s, const struct tcb_ptx_operand *operand)
{
	struct value *v = operand->kind == TCB_PTX_O_REG ? &s->values[operand->reg] : NULL;

	return v && v->def && !v->is_written_again && v->def->guard == TCB_PTX_NO_REG ? v : NULL;
}

/* The first register of a result, also where shfl writes a predicate beside it. */
static struct value *result_of(struct search *s, const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_operand *result = &ins->operands[0];

	return read_value(s, result->count ? &result->items[0] : result);
}

static int is_constant(struct search *s, const struct tcb_ptx_operand *operand, uint64_t *out)
{
	struct tcb_ptx_bits bits = tcb_ptx_bits_read(&s->env->bits, operand, 32);

	*out = bits.ones;
	return tcb_ptx_bits_is_constant(bits);
}

static void see_shuffle(struct search *s, const struct tcb_ptx_ins *ins, struct value *result)
{
	const struct tcb_ptx_operand *o = ins->operands;
	struct value *from = read_value(s, &o[1]);
	uint64_t distance, clamp, mask;

	if (tcb_ptx_mod(ins, TCB_PTX_SLOT_MODE) != TCB_PTX_BFLY || !from || !is_constant(s, &o[2], &distance) ||
	    !is_constant(s, &o[3], &clamp) || !is_constant(s, &o[4], &mask))
		return;
	if (distance == 0 || distance > 31 || clamp != 31 || (uint32_t)mask != ALL_LANES)
		return;
	result->other = from->origin;
	result->distance = (uint32_t)distance;
	result->distances = from->distances;
}

/* X with what the lane at some distance has of it: either operand may be the other lane's. */
static void see_pair(struct value *x, struct value *y, struct value *result)
{
	uint32_t group = x->distances;

	if (!y->distance || y->other != x->origin || !group)
		return;
	for (unsigned i = 0; i < 32; i++)
		if (x->distances >> i & 1)
			group |= UINT32_C(1) << (i ^ y->distance);
	result->distances = group;
}

static void see_ins(struct search *s, const struct tcb_ptx_ins *ins)
{
	struct value *result = ins->result_count ? result_of(s, ins) : NULL, *x, *y;

	if (!result)
		return;
	result->distances = 1;
	if (ins->op == TCB_PTX_OP_SHFL) {
		see_shuffle(s, ins, result);
		return;
	}
	x = ins->operand_count > 1 ? read_value(s, &ins->operands[1]) : NULL;
	if (ins->op == TCB_PTX_OP_MOV && x && x->distances) {
		result->origin = x->origin;
		result->other = x->other;
		result->distance = x->distance;
		result->distances = x->distances;
	}
	y = ins->operand_count == 3 ? read_value(s, &ins->operands[2]) : NULL;
	if (tcb_ptx_has(ins, TCB_PTX_F_COMMUTATIVE) && !ins->mod[TCB_PTX_SLOT_CARRY] && x && y) {
		see_pair(x, y, result);
		see_pair(y, x, result);
	}
}

uint8_t *tcb_ptx_butterflies(struct tcb_ptx_lane_env *env)
{
	const struct tcb_ptx_function *f = env->function;
	struct tcb_arena *arena = &f->module->arena;
	struct search s = { env, tcb_arena_array(arena, f->reg_count + 1u, sizeof *s.values) };
	uint8_t *is_one = tcb_arena_array(arena, f->reg_count + 1u, 1);
	int has_shuffles = 0;

	if (!s.values || !is_one)
		return NULL;
	for (uint32_t i = 0; i < f->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = f->order[i]->first; ins; ins = ins->next) {
			has_shuffles |= ins->op == TCB_PTX_OP_SHFL;
			for (unsigned k = 0; k < ins->result_count; k++)
				see_result(&s, ins, &ins->operands[k]);
		}
	if (!has_shuffles)
		return is_one;
	for (uint32_t i = 0; i < f->reachable_count; i++)
		for (const struct tcb_ptx_ins *ins = f->order[i]->first; ins; ins = ins->next)
			see_ins(&s, ins);
	for (uint32_t r = 0; r < f->reg_count; r++)
		is_one[r] = s.values[r].distances == ALL_LANES;
	return is_one;
}
