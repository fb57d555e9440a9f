/* SPDX-License-Identifier: MIT
 *
 * Operands in guarded memory, the reference in double, and what a plan says of
 * itself.
 */
#include "drive_bench.h"

#include <stdlib.h>
#include <string.h>

enum { BYTES_MAX = 1 << 26 };

void drive_check_info(const struct tcbrt_plan *plan)
{
	const struct tcbrt_plan_info *info = &plan->info;
	DRIVE_CHECK(info->operand_count > 0 && info->operand_count <= TCBRT_OPERANDS_MAX, "it has %zu operands",
		    info->operand_count);
	DRIVE_CHECK(info->output >= 0 && info->operand[info->output].role == TCBRT_ROLE_OUTPUT, "it has no output");
	DRIVE_CHECK(info->tuning.source != TCBRT_SOURCE_NONE && info->tuning.reason[0], "its tuning has no reason");
	DRIVE_CHECK(info->tuning.variant[0] && tcbrt_knob(&info->tuning, "isa") >= 0, "no kernel is named");
	DRIVE_CHECK((info->packed_bytes == 0) == (strcmp(info->layout, "native") == 0), "packed to %zu bytes, in %s",
		    info->packed_bytes, info->layout);
	for (size_t i = 0; i < info->operand_count; i++)
		DRIVE_CHECK(plan->operand[i].bytes > 0 && plan->operand[i].alignment > 0, "operand %zu has no bytes",
			    i);
}

int drive_is_small(const struct tcbrt_plan *plan)
{
	const struct tcbrt_plan_info *info = &plan->info;
	size_t most = info->packed_bytes > info->workspace_bytes ? info->packed_bytes : info->workspace_bytes;

	for (size_t i = 0; i < info->operand_count; i++)
		most = most > plan->operand[i].bytes ? most : plan->operand[i].bytes;
	return most <= BYTES_MAX;
}

int drive_is_output(const struct drive_bench *b, size_t i)
{
	return b->plan->operand[i].role == TCBRT_ROLE_OUTPUT;
}

static void compute_reference(struct drive_bench *b)
{
	const struct tcb_op *op = b->plan->problem.op;
	const size_t count = op->operands(&b->plan->problem, b->described);

	b->doubles = malloc(tcb_references_lay_out(b->described, count, NULL, NULL) * sizeof(double));
	DRIVE_CHECK(b->doubles, "out of memory");
	tcb_references_lay_out(b->described, count, b->doubles, b->references);
	op->reference(&b->plan->problem, b->stored, b->references);
	/* exact() is for rows that follow each other. */
	if (!tcb_plan_is_exact(&b->plan->cpu) || b->plan->problem.x_stride || b->plan->problem.y_stride)
		return;
	b->exact = malloc(b->described[b->info.output].bytes);
	DRIVE_CHECK(b->exact, "out of memory");
	op->exact(&b->plan->cpu, b->stored, b->exact);
}

/* Experts, or rows of a table, that nobody would tune for: any of them, some that there are not, or all the same one.
 */
static void draw_ids(const struct tcb_shape *shape, int32_t *ids, size_t count)
{
	const size_t there_are = shape->words.experts ? (size_t)shape->words.experts + shape->words.shared : shape->n;
	const int32_t one = (int32_t)drive_below(there_are);
	const int kind = (int)drive_below(4);

	for (size_t i = 0; i < count && kind; i++)
		if (kind == 1)
			ids[i] = one;
		else if (kind == 2 || drive_once_in(2))
			ids[i] = (int32_t)drive_below(there_are);
		else
			ids[i] = (int32_t)(uint32_t)tcb_rng_next(&drive_rng);
}

void drive_bench_init(struct drive_bench *b, const struct tcbrt_plan *plan, struct drive_bench *lender)
{
	memset(b, 0, sizeof(*b));
	b->plan = plan;
	DRIVE_CHECK(tcbrt_plan_info(plan, &b->info) == TCBRT_OK, "it has no info");
	for (size_t i = 0; i < b->info.operand_count; i++) {
		const int is_stored_only = plan->operand[i].packed_bytes > 0;

		b->data[i] = drive_zone(plan->operand[i].bytes, is_stored_only ? 1 : plan->operand[i].alignment);
		b->operand[i] = b->stored[i] = b->data[i].at;
	}
	plan->problem.op->fill(&plan->problem, tcb_rng_next(&drive_rng), b->stored);
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (strcmp(plan->operand[i].name, "ids") == 0)
			draw_ids(&plan->problem.shape, b->stored[i], plan->operand[i].rows * plan->operand[i].columns);
	for (size_t i = 0; lender && i < b->info.operand_count; i++)
		if (plan->operand[i].role == TCBRT_ROLE_WEIGHTS)
			memcpy(b->stored[i], lender->stored[i], plan->operand[i].bytes);
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (!drive_is_output(b, i))
			drive_zone_protect(&b->data[i], 1);
	if (!plan->info.is_gpu)
		compute_reference(b);
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (lender && plan->operand[i].packed_bytes)
			b->operand[i] = lender->operand[i];
		else if (plan->operand[i].packed_bytes)
			b->packed[i] = drive_zone(plan->operand[i].packed_bytes, TCBRT_ALIGNMENT);
	if (plan->info.is_gpu || (lender && lender->info.workspace_bytes >= b->info.workspace_bytes))
		return;
	b->workspace = drive_zone(b->info.workspace_bytes, TCBRT_ALIGNMENT);
	DRIVE_CHECK(tcbrt_workspace_init(plan, b->workspace.at) == TCBRT_OK, "its workspace cannot be made ready");
}

void drive_bench_check_zones(const struct drive_bench *b)
{
	for (size_t i = 0; i < b->info.operand_count; i++) {
		drive_zone_check(&b->data[i], b->plan->operand[i].name);
		drive_zone_check(&b->packed[i], "what is packed");
	}
	drive_zone_check(&b->workspace, "the workspace");
}

void drive_bench_fini(struct drive_bench *b)
{
	drive_bench_check_zones(b);
	for (size_t i = 0; i < TCBRT_OPERANDS_MAX; i++) {
		tcb_buffer_free(&b->data[i].buffer);
		tcb_buffer_free(&b->packed[i].buffer);
	}
	tcb_buffer_free(&b->workspace.buffer);
	free(b->doubles);
	free(b->exact);
}
