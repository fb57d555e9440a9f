/* SPDX-License-Identifier: MIT
 *
 * Bulk copies and the loads before them, in the order of a kernel's text.
 */
#include "bulk_order.h"

#include "cmocka_all.h"

#include "kernels/gpu/ptx_code.h"
#include "ptx/ir/opcodes.h"

static struct tcb_ptx_function *last_function(const struct tcb_kernel *kernel)
{
	return tcb_kernel_ptx(kernel)->module->last_function;
}

static int is_load(const struct tcb_ptx_ins *ins)
{
	const enum tcb_ptx_word space = tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE);
	return ins->op == TCB_PTX_OP_LD && (space == TCB_PTX_SHARED || space == TCB_PTX_SHARED_CTA);
}

/* Registers that are to come. */
struct awaited {
	unsigned char *is_loaded; /* by register */
	size_t count;
	int is_load; /* the instruction that is seen */
};

static void see(void *ctx, uint32_t *reg, int is_def)
{
	struct awaited *awaited = ctx;
	const int is_loaded = awaited->is_load && is_def;
	awaited->count += (size_t)is_loaded - awaited->is_loaded[*reg];
	awaited->is_loaded[*reg] = (unsigned char)is_loaded;
}

unsigned bulk_order_early(const struct tcb_kernel *kernel)
{
	const struct tcb_ptx_function *function = last_function(kernel);
	struct awaited awaited = { .is_loaded = test_calloc(function->reg_count + 1, 1) };
	unsigned copies = 0, early = 0;
	for (struct tcb_ptx_block *block = function->first; block; block = block->next) {
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			awaited.is_load = is_load(ins);
			tcb_ptx_each_reg(ins, see, &awaited);
			copies += ins->op == TCB_PTX_OP_CP_ASYNC_BULK;
			if (ins->op == TCB_PTX_OP_CP_ASYNC_BULK && awaited.count && !early)
				early = copies;
		}
	}
	test_free(awaited.is_loaded);
	return early;
}

void bulk_order_break(const struct tcb_kernel *kernel)
{
	struct tcb_ptx_ins *load = NULL, *behind = NULL, *copy = NULL;
	for (struct tcb_ptx_block *block = last_function(kernel)->first; block; block = block->next) {
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			if (is_load(ins))
				load = ins;
			if (ins->op != TCB_PTX_OP_CP_ASYNC_BULK)
				continue;
			copy = ins;
			behind = load;
		}
	}
	assert_non_null(behind);
	tcb_ptx_ins_after(behind, tcb_ptx_ins_copy(tcb_kernel_ptx(kernel)->module, copy));
}
