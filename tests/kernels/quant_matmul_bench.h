/* SPDX-License-Identifier: MIT
 *
 * A problem of the quantised matmuls' CPU kernels between guards, with its reference, for the tests of these.
 */
#ifndef TCB_TESTS_KERNELS_QUANT_MATMUL_BENCH_H
#define TCB_TESTS_KERNELS_QUANT_MATMUL_BENCH_H

#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/pool.h"
#include "cmocka_all.h"
#include "kernels/op.h"
#include "kernels/quant.h"

struct bench {
	const struct tcb_op *op;
	const struct tcb_format *format;
	struct tcb_problem problem;
	struct tcb_buffer weights, packed, x, y;
	struct tcb_reference reference;
	size_t outputs;
};

static inline void guarded(size_t bytes, struct tcb_buffer *out)
{
	struct tcb_error err;
	if (tcb_buffer_alloc(TCB_BUFFER_GUARD, bytes, out, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static inline void operands_of(const struct bench *b, void *out[TCB_OPERANDS_MAX])
{
	out[TCB_QUANT_WEIGHTS] = b->weights.data;
	out[TCB_QUANT_X] = b->x.data;
	out[TCB_QUANT_Y] = b->y.data;
}

static inline void bench_init(struct bench *b, const char *op, enum tcb_contract contract, struct tcb_shape shape)
{
	struct tcb_operand operands[TCB_OPERANDS_MAX];
	void *data[TCB_OPERANDS_MAX];
	struct tcb_error err;
	memset(b, 0, sizeof(*b));
	b->op = tcb_op_find(op);
	assert_non_null(b->op);
	if (tcb_problem_init(b->op, contract, &shape, &b->problem, &err) != TCB_OK)
		fail_msg("%s", err.message);
	b->format = b->problem.op->format;
	b->op->operands(&b->problem, operands);
	guarded(operands[TCB_QUANT_WEIGHTS].bytes, &b->weights);
	guarded(operands[TCB_QUANT_X].bytes, &b->x);
	guarded(operands[TCB_QUANT_Y].bytes, &b->y);
	operands_of(b, data);
	b->op->fill(&b->problem, 7 + shape.m + 100 * shape.n, data);
	guarded(tcb_lines_bytes(&b->problem), &b->packed);
	b->op->pack(&b->problem, TCB_QUANT_WEIGHTS, TCB_LAYOUT_R16, b->weights.data, b->packed.data);
	assert_int_equal(tcb_buffer_check(&b->packed), 0);
	b->outputs = shape.m * shape.n;
}

static inline void bench_fini(struct bench *b)
{
	tcb_buffer_free(&b->weights);
	tcb_buffer_free(&b->packed);
	tcb_buffer_free(&b->x);
	tcb_buffer_free(&b->y);
	free(b->reference.y);
	free(b->reference.magnitude);
	free(b->reference.extra);
}

static inline void take_reference(struct bench *b)
{
	void *data[TCB_OPERANDS_MAX];
	operands_of(b, data);
	b->reference.y = malloc(b->outputs * sizeof(double));
	b->reference.magnitude = malloc(b->outputs * sizeof(double));
	b->reference.extra = malloc(b->outputs * sizeof(double));
	assert_true(b->reference.y && b->reference.magnitude && b->reference.extra);
	b->op->reference(&b->problem, data, &b->reference);
}

static inline size_t round_up(size_t value, size_t step)
{
	return (value + step - 1) / step * step;
}

/* Runs PLAN between guards, outputs and workspace poisoned. */
static inline void run_plan(struct bench *b, const struct tcb_plan *plan, struct tcb_pool *pool)
{
	struct tcb_buffer workspace;
	void *data[TCB_OPERANDS_MAX];
	operands_of(b, data);
	if (plan->packed_bytes[TCB_QUANT_WEIGHTS]) {
		assert_int_equal(plan->packed_bytes[TCB_QUANT_WEIGHTS], b->packed.bytes);
		data[TCB_QUANT_WEIGHTS] = b->packed.data;
	}
	guarded(plan->workspace_bytes, &workspace);
	memset(b->y.data, TCB_POISON, b->outputs * sizeof(float));
	tcb_op_cpu(b->op)->run(plan, data, workspace.data, pool);
	assert_int_equal(tcb_buffer_check(&workspace), 0);
	assert_int_equal(tcb_buffer_check(&b->y), 0);
	tcb_buffer_free(&workspace);
}

#endif
