/* SPDX-License-Identifier: MIT
 *
 * What all GPUs of a capability have in common, whoever tells of them: the
 * driver, a recorded specification, or a database.
 */
#include "base/target.h"

#include "base/geometry.h"

void tcb_target_complete_gpu(struct tcb_target *target)
{
	target->kind = TCB_TARGET_CUDA;
	target->warp_threads = 32;
	target->block_threads_max = 1024;
	target->thread_registers_max = 255;
	if (target->block_registers_max == 0)
		target->block_registers_max = 65536;
	target->line_bytes = 128;
	target->llc_bytes = target->l2_bytes;
	target->isa_mask = 1u << TCB_ISA_FMA | 1u << TCB_ISA_DP4A;
	if (target->capability >= 75) /* the first with all shapes of mma.sync that are used */
		target->isa_mask |= 1u << TCB_ISA_MMA;
	if (target->capability == 90)
		target->isa_mask |= 1u << TCB_ISA_WGMMA;
}
