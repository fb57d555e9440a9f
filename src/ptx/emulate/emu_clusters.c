/* SPDX-License-Identifier: MIT
 *
 * In: which clusters of a launch run together.  Out: what they did to memory,
 * counts and findings, as one thread does them.
 */
#include <string.h>

#include "base/util.h"
#include "ptx/emulate/emu_program.h"

uint32_t tcb_emu_block_warps(const struct tcb_ptx_launch *launch)
{
	return (launch->block[0] * launch->block[1] * launch->block[2] + TCB_EMU_LANES - 1) / TCB_EMU_LANES;
}

/* The blocks of the cluster INDEX are made, from run->blocks[PLACE]; 0: out of memory. */
static int start_cluster(struct tcb_emu_run *run, uint64_t index, uint32_t place)
{
	const uint32_t *size = run->cluster_size, *grid = run->launch->grid;
	const uint64_t wide = grid[0] / size[0], high = grid[1] / size[1];
	const uint32_t first[3] = { (uint32_t)(index % wide) * size[0], (uint32_t)(index / wide % high) * size[1],
				    (uint32_t)(index / wide / high) * size[2] };
	uint32_t rank = 0;

	for (uint32_t z = 0; z < size[2]; z++)
		for (uint32_t y = 0; y < size[1]; y++)
			for (uint32_t x = 0; x < size[0]; x++, rank++) {
				uint32_t ctaid[3] = { first[0] + x, first[1] + y, first[2] + z };

				if (!tcb_emu_block_start(run, &run->blocks[place + rank], rank, ctaid))
					return 0;
			}
	return 1;
}

void tcb_emu_run_clusters(struct tcb_emu_run *run, uint64_t first, uint64_t end)
{
	uint32_t started = 0;

	run->cluster = (uint32_t)(first / (run->room / run->cluster_blocks)) + 1;
	tcb_rng_init(run->rng, run->launch->seed + first * 0x9e3779b97f4a7c15ull);
	tcb_emu_places_fold(run);
	for (uint64_t index = first; index < end && !run->fault; index++, started += run->cluster_blocks)
		if (!start_cluster(run, index, started))
			tcb_emu_no_memory(run);
	run->block_count = started;
	run->warps = started * tcb_emu_block_warps(run->launch);
	if (!run->fault)
		tcb_emu_cluster_run(run);
	tcb_emu_cluster_end(run);
	memset(run->blocks, 0, run->block_count * sizeof *run->blocks);
	run->blocks_done += run->block_count;
}

void tcb_emu_counts_add(struct tcb_ptx_counts *to, const struct tcb_ptx_counts *part)
{
	to->warps += part->warps;
	to->threads += part->threads;
	to->requests += part->requests;
	to->wavefronts += part->wavefronts;
	to->wavefronts_ideal += part->wavefronts_ideal;
	to->sectors += part->sectors;
	to->sectors_ideal += part->sectors_ideal;
	to->divergent += part->divergent;
}
