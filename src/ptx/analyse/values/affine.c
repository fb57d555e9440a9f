/* SPDX-License-Identifier: MIT
 *
 * In: a function and the size of its blocks.  Out: what answers the questions of
 * affine.h about it.  Values are found when they are asked for (affine_read.c);
 * how often loops go round and which threads are where is found here at once
 * (affine_control.c).
 */
#include "ptx/analyse/values/affine.h"
#include "ptx/analyse/values/affine_control.h"
#include "ptx/analyse/values/affine_state.h"

#include <stdlib.h>
#include <string.h>

static int reads_more_than_tid_x(const struct tcb_ptx_function *function)
{
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			for (unsigned i = 0; i < ins->operand_count; i++) {
				const struct tcb_ptx_operand *operand = &ins->operands[i];

				if (operand->kind == TCB_PTX_O_SPECIAL &&
				    (operand->special == TCB_PTX_SR_TID_Y || operand->special == TCB_PTX_SR_TID_Z))
					return 1;
			}
	return 0;
}

static void choose_block(struct tcb_ptx_affine *a, const uint32_t block[3])
{
	const struct tcb_ptx_directives *d = &a->function->directives;
	uint64_t threads;

	a->exact = 1;
	if (!block && d->reqntid[0])
		block = d->reqntid;
	if (!block && d->maxntid[0] && !reads_more_than_tid_x(a->function)) {
		a->block[0] = d->maxntid[0] * (d->maxntid[1] ? d->maxntid[1] : 1) * (d->maxntid[2] ? d->maxntid[2] : 1);
		a->exact = 0;
	}
	for (int i = 0; i < 3 && block; i++)
		a->block[i] = block[i];
	for (int i = 1; i < 3; i++)
		a->block[i] = a->block[i] ? a->block[i] : 1;
	threads = (uint64_t)a->block[0] * a->block[1] * a->block[2];
	if (threads == 0 || threads > TCB_PTX_BLOCK_THREADS_MAX) {
		a->block[0] = 0;
		a->exact = 0;
		threads = 1;
	}
	a->threads = (uint32_t)threads;
}

enum tcb_status tcb_ptx_affine_create(struct tcb_ptx_function *function, const uint32_t block[3],
				      struct tcb_ptx_affine **out, struct tcb_error *err)
{
	struct tcb_ptx_affine *a = calloc(1, sizeof *a);
	enum tcb_status status = TCB_E_NOMEM;
	uint32_t place = 0;

	*out = NULL;
	if (!a)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the values of '%s'", function->symbol->name);
	a->function = function;
	a->cut_at = UINT32_MAX;
	a->read_operand = tcb_ptx_affine_operand;
	a->read_address = tcb_ptx_affine_address;
	choose_block(a, block);
	a->fuel = (uint64_t)function->ins_count * 256 + (1 << 20);
	a->scratch = tcb_arena_array(&a->arena, (size_t)a->threads * 2, sizeof *a->scratch);
	a->loop_of = tcb_arena_array(&a->arena, function->block_count, sizeof *a->loop_of);
	a->together = tcb_arena_array(&a->arena, function->block_count, sizeof *a->together);
	a->loop_first = tcb_arena_array(&a->arena, function->block_count, sizeof(const struct tcb_ptx_block *));
	a->loop_last = tcb_arena_array(&a->arena, function->block_count, sizeof(const struct tcb_ptx_block *));
	if (!a->scratch || !a->loop_of || !a->together || !a->loop_first || !a->loop_last) {
		tcb_fail(err, TCB_E_NOMEM, "out of memory for the values of '%s'", function->symbol->name);
		goto fail;
	}
	status = tcb_ptx_dominators(function, &a->dominators, err);
	if (status == TCB_OK)
		status = tcb_ptx_loops(function, &a->dominators, err);
	if (status == TCB_OK)
		status = tcb_ptx_reaching_create(function, &a->dominators, &a->reaching, err);
	if (status != TCB_OK)
		goto fail;
	for (const struct tcb_ptx_loop *loop = function->loops; loop; loop = loop->next)
		a->loop_of[loop->header->number] = place++;
	for (const struct tcb_ptx_block *b = function->first; b; b = b->next)
		for (const struct tcb_ptx_loop *loop = b->loop; loop; loop = loop->parent) {
			uint32_t header = loop->header->number;

			if (!a->loop_first[header])
				a->loop_first[header] = b;
			a->loop_last[header] = b;
		}
	tcb_ptx_affine_bound_counters(a);
	/* what was computed so far did not know the bounds */
	a->memo = NULL;
	a->memo_count = a->memo_capacity = a->trail_count = 0;
	memset(a->together, TCB_PTX_NOT_ASKED, function->block_count);
	status = tcb_ptx_affine_control(a, err);
	if (status != TCB_OK)
		goto fail;
	*out = a;
	return TCB_OK;
fail:
	tcb_ptx_affine_destroy(a);
	return status;
}

void tcb_ptx_affine_destroy(struct tcb_ptx_affine *affine)
{
	if (!affine)
		return;
	tcb_ptx_reaching_destroy(affine->reaching);
	tcb_arena_fini(&affine->arena);
	free(affine);
}

uint32_t tcb_ptx_affine_threads(const struct tcb_ptx_affine *affine)
{
	return affine->block[0] ? affine->threads : 0;
}

const uint32_t *tcb_ptx_affine_block(const struct tcb_ptx_affine *affine)
{
	return affine->block;
}

int tcb_ptx_affine_exact(const struct tcb_ptx_affine *affine)
{
	return affine->exact && affine->block[0];
}

const struct tcb_ptx_dominators *tcb_ptx_affine_dominators(const struct tcb_ptx_affine *affine)
{
	return &affine->dominators;
}

const struct tcb_ptx_symbolic *tcb_ptx_affine_symbol(const struct tcb_ptx_affine *affine, uint32_t symbol)
{
	return &affine->symbols[symbol];
}
