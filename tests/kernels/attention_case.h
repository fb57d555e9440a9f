/* SPDX-License-Identifier: MIT
 *
 * What the tests of attention share: problems by a shape's text, single values of q, K
 * and V, data with -inf and NaN, and a sink of findings that prints them.
 */
#ifndef TCB_TESTS_ATTENTION_CASE_H
#define TCB_TESTS_ATTENTION_CASE_H

#include <math.h>
#include <string.h>

#include "cmocka_all.h"
#include "kernels/attention/attention.h"
#include "ptx/emulate/emulate.h"

enum { ATTENTION_SEED = 5 };

static inline void attention_problem(const struct tcb_op *op, enum tcb_contract contract, const char *text,
				     struct tcb_problem *out)
{
	struct tcb_shape shape;
	struct tcb_error err;
	if (tcb_shape_parse(text, &shape, &err) != TCB_OK ||
	    tcb_problem_init(op, contract, &shape, out, &err) != TCB_OK)
		fail_msg("%s %s: %s", op->name, text, err.message);
}

/* Of I two in three have something between rows of q and of out. */
static inline void attention_stride(struct tcb_problem *problem, size_t i)
{
	if (i % 3 && tcb_problem_stride(problem, attention_q_apart(problem) + i % 5 * ATTENTION_HEAD_UNIT,
					attention_out_apart(problem) + i % 4 * ATTENTION_HEAD_UNIT, NULL) != TCB_OK)
		fail_msg("%s: no strides", problem->op_name);
}

static inline void attention_strided(const struct tcb_op *op, enum tcb_contract contract, const char *text, size_t i,
				     struct tcb_problem *out)
{
	attention_problem(op, contract, text, out);
	attention_stride(out, i);
}

/* Whether the op of that NAME has heads of the shape's sizes: blocks are of 32 values. */
static inline int attention_takes(const char *name, const char *text)
{
	const struct tcb_op *op = tcb_op_find(name);
	struct tcb_shape shape;
	struct tcb_error err;
	return tcb_shape_parse(text, &shape, &err) == TCB_OK && op->check_shape(op, &shape, NULL) == TCB_OK;
}

/* In blocks: VALUE as their scale, and 1 as all of their codes. */
static inline void attention_put(const struct tcb_problem *problem, void *const operand[], size_t which, size_t index,
				 float value)
{
	const enum tcb_kv_kind kind = which == ATTENTION_V ? attention_v_kind(problem) : attention_k_kind(problem);
	const enum tcb_type type = which == ATTENTION_Q ? attention_io_type(problem) : tcb_kv_kind_row(kind)->type;
	if (type == TCB_TYPE_BLOCKS) {
		const size_t bytes = tcb_kv_kind_bytes(kind, ATTENTION_BLOCK);
		char *to = (char *)operand[which] + index / ATTENTION_BLOCK * bytes;
		memset(to, kind == TCB_KV_KIND_Q40 ? 0x99 : 1, bytes);
		tcb_f16_store(value, to);
	} else
		tcb_type_from_f32(type, &value, 1, (char *)operand[which] + index * tcb_type_bytes(type));
}

/* Of sequence 0 all scores of KV head 0 are -inf, and of KV head 1 one is; of sequence 1 K of token 1 has a NaN in KV
 * head 1. */
static inline void attention_fill_odd(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const struct tcb_shape *s = &problem->shape;
	const size_t row = s->words.kv * s->k;
	tcb_op_find(problem->op_name)->fill(problem, seed, operand);
	for (size_t i = 0; i < s->m * s->words.query * ATTENTION_BLOCK; i++)
		attention_put(problem, operand, ATTENTION_Q, i / ATTENTION_BLOCK * s->k + i % ATTENTION_BLOCK, 1);
	for (size_t t = 0; t < s->n; t++)
		attention_put(problem, operand, ATTENTION_K, t * row, -INFINITY);
	attention_put(problem, operand, ATTENTION_K, 2 * row + s->k, -INFINITY);
	attention_put(problem, operand, ATTENTION_K, (s->n + 1) * row + s->k + 3, NAN);
}

/* A problem with OP, a copy of the op of that NAME, whose data these are. */
static inline void attention_odd_problem(const char *name, enum tcb_contract contract, struct tcb_op *op,
					 struct tcb_problem *out)
{
	*op = *tcb_op_find(name);
	op->fill = attention_fill_odd;
	attention_problem(op, contract, "2x77x64,h4/2,b5,causal,ragged", out);
}

static inline void attention_print_finding(void *ctx, const struct tcb_ptx_finding *finding)
{
	(void)ctx;
	print_message("%s\n", finding->message);
}

#endif
