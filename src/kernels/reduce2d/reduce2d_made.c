/* SPDX-License-Identifier: MIT
 *
 * Copies of reduce2d_absmax, whose kernels run any program, with another program.
 */
#include "kernels/reduce2d/reduce2d_made.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernels/reduce2d/reduce2d.h"
#include "kernels/reduce2d/reduce2d_gpu.h"
#include "kernels/reduce2d/reduce2d_wgsl.h"
#include "kernels/signature.h"

enum { VARIANTS_MAX = 16, SUMMARY_MAX = 96, SIDES = 3 /* CPU's, GPU's, WebGPU's */ };

struct reduce2d_made {
	struct reduce2d_own own;
	struct tcb_op op;
	struct tcb_side cpu, gpu, wgsl;
	char name[2 * TCB_OP_NAME_MAX], summary[REDUCE2D_TEXT_MAX + SUMMARY_MAX];
	struct tcb_variant variant[SIDES][VARIANTS_MAX + 1]; /* each ends with one without a name */
	const struct tcb_variant *lists[SIDES][2];
	char variant_name[VARIANTS_MAX][TCB_VARIANT_NAME_MAX], signature[VARIANTS_MAX][TCB_SIGNATURE_MAX];
};

/* SIDE's variants with another name, class and signature. */
static void copy_variants(struct reduce2d_made *made, int which, const struct tcb_side *from, struct tcb_side *to)
{
	const struct tcb_variant *variant;
	const char *old = tcb_op_reduce2d_absmax.name;
	struct tcb_variant *list = made->variant[which];
	*to = *from;
	for (size_t i = 0; i < VARIANTS_MAX && (variant = tcb_variant_at(from, i)) != NULL; i++) {
		list[i] = *variant;
		list[i].class = reduce2d_program_roundings(&made->own.program) ? TCB_CLASS_BOUNDED : TCB_CLASS_EXACT;
		if (which) { /* an emitted one's, whose name is a label */
			list[i].name = made->name;
			continue;
		}
		struct tcb_str text = { 0 }, rest = { 0 };
		snprintf(made->variant_name[i], TCB_VARIANT_NAME_MAX, "%.31s%.32s", made->name,
			 variant->name + strlen(old));
		tcb_str_add(&text, made->summary);
		tcb_str_add(&rest, tcb_variant_signature(variant));
		tcb_source_sign(&text, &rest, made->signature[i]);
		tcb_str_fini(&text);
		tcb_str_fini(&rest);
		list[i].name = made->variant_name[i];
		list[i].signature = made->signature[i];
	}
	made->lists[which][0] = list;
	to->variants = made->lists[which];
}

enum tcb_status reduce2d_make(const char *name, const char *identity, const char *combine, struct reduce2d_made **out,
			      struct tcb_error *err)
{
	struct reduce2d_program program;
	char text[REDUCE2D_TEXT_MAX];
	TCB_TRY(reduce2d_program_parse(identity, combine, &program, err));
	struct reduce2d_made *made = calloc(1, sizeof *made);
	if (!made)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for op reduce2d_%.40s", name);
	reduce2d_program_print(&program, text);
	snprintf(made->name, sizeof made->name, "reduce2d_%.50s", name);
	snprintf(made->summary, sizeof made->summary, "a matrix of f32 combined from %s", text);
	made->own = (struct reduce2d_own){ .operation = { made->name, (double)program.identity, NULL },
					   .program = program };
	copy_variants(made, 0, &reduce2d_absmax_cpu, &made->cpu);
	copy_variants(made, 1, &reduce2d_absmax_gpu, &made->gpu);
	copy_variants(made, 2, &reduce2d_absmax_wgsl, &made->wgsl);
	made->op = tcb_op_reduce2d_absmax;
	made->op.name = made->name;
	made->op.summary = made->summary;
	made->op.member = &made->own.operation;
	made->op.source = tcb_hash64(made->summary, strlen(made->summary), 1);
	const struct tcb_side *const sides[TCB_SIDES_MAX] = TCB_SIDES(&made->cpu, &made->gpu, &made->wgsl);
	memcpy(made->op.side, sides, sizeof sides);
	*out = made;
	return TCB_OK;
}

void reduce2d_made_destroy(struct reduce2d_made *made)
{
	free(made);
}

const struct tcb_op *reduce2d_made_op(const struct reduce2d_made *made)
{
	return &made->op;
}
