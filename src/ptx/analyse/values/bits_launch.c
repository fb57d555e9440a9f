/* SPDX-License-Identifier: MIT
 *
 * In: a kernel's directives and the special registers that it reads.  Out: what
 * is known of the shape of its blocks, and of the bits of special registers.
 */
#include "ptx/analyse/values/bits_launch.h"

#include <string.h>

enum {
	THREADS_MAX = 1024, /* of a block, on every device so far */
	THREADS_MAX_Z = 64
};

static int reads_special(const struct tcb_ptx_function *function, enum tcb_ptx_special a, enum tcb_ptx_special b)
{
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			for (unsigned i = ins->result_count; i < ins->operand_count; i++)
				if (ins->operands[i].kind == TCB_PTX_O_SPECIAL &&
				    (ins->operands[i].special == a || ins->operands[i].special == b))
					return 1;
	return 0;
}

void tcb_ptx_shape_of(const struct tcb_ptx_function *function, struct tcb_ptx_shape *out)
{
	const struct tcb_ptx_directives *d = &function->directives;
	static const uint32_t limit[3] = { THREADS_MAX, THREADS_MAX, THREADS_MAX_Z };

	const uint32_t *given = function->launch_block[0] ? function->launch_block : d->reqntid;

	memset(out, 0, sizeof *out);
	out->threads_max = THREADS_MAX;
	if (d->maxntid[0])
		out->threads_max = d->maxntid[0] * d->maxntid[1] * d->maxntid[2];
	for (unsigned i = 0; i < 3; i++) {
		out->ntid[i] = given[0] ? given[i] : 0;
		/* .maxntid bounds the product, not each dimension */
		out->ntid_max[i] = out->ntid[i]                  ? out->ntid[i]
				   : out->threads_max < limit[i] ? out->threads_max
								 : limit[i];
	}
	if (given[0]) {
		out->threads_max = given[0] * given[1] * given[2];
		out->whole_warps = given[0] % 32 == 0 || given[1] * given[2] == 1;
	} else if (!reads_special(function, TCB_PTX_SR_TID_Y, TCB_PTX_SR_TID_Z)) {
		out->whole_warps = 1;
	}
}

static struct tcb_ptx_bits ntid_bits(const struct tcb_ptx_shape *shape, unsigned axis)
{
	struct tcb_ptx_bits bits = tcb_ptx_bits_below(shape->ntid_max[axis]);

	if (shape->ntid[axis])
		return tcb_ptx_bits_constant(shape->ntid[axis]);
	if (axis == 0 && shape->whole_warps)
		bits.zeros |= 31;
	return bits;
}

struct tcb_ptx_bits tcb_ptx_bits_special(const struct tcb_ptx_function *function, const struct tcb_ptx_shape *shape,
					 const uint32_t *tid, enum tcb_ptx_special special)
{
	const uint32_t *cluster = function->directives.reqnctapercluster;

	switch (special) {
	case TCB_PTX_SR_TID_X:
	case TCB_PTX_SR_TID_Y:
	case TCB_PTX_SR_TID_Z:
		if (tid)
			return tcb_ptx_bits_constant(tid[special - TCB_PTX_SR_TID_X]);
		return tcb_ptx_bits_below(shape->ntid_max[special - TCB_PTX_SR_TID_X] - 1);
	case TCB_PTX_SR_NTID_X:
	case TCB_PTX_SR_NTID_Y:
	case TCB_PTX_SR_NTID_Z:
		return ntid_bits(shape, special - TCB_PTX_SR_NTID_X);
	case TCB_PTX_SR_LANEID:
		if (tid && shape->whole_warps)
			return tcb_ptx_bits_constant(tid[0] % 32);
		return tcb_ptx_bits_below(31);
	case TCB_PTX_SR_CTAID_X:
	case TCB_PTX_SR_NCTAID_X:
		return tcb_ptx_bits_below(INT32_MAX);
	case TCB_PTX_SR_CTAID_Y:
	case TCB_PTX_SR_CTAID_Z:
	case TCB_PTX_SR_NCTAID_Y:
	case TCB_PTX_SR_NCTAID_Z:
		return tcb_ptx_bits_below(65535);
	case TCB_PTX_SR_CLUSTER_NCTAID_X:
	case TCB_PTX_SR_CLUSTER_NCTAID_Y:
	case TCB_PTX_SR_CLUSTER_NCTAID_Z:
		if (cluster[0])
			return tcb_ptx_bits_constant(cluster[special - TCB_PTX_SR_CLUSTER_NCTAID_X]);
		return tcb_ptx_bits_below(255);
	case TCB_PTX_SR_WARPID:
	case TCB_PTX_SR_NWARPID:
		return tcb_ptx_bits_below(63);
	default:
		return tcb_ptx_bits_cut((struct tcb_ptx_bits){ 0, 0 },
					tcb_ptx_type_bits(tcb_ptx_special_type(special)));
	}
}
