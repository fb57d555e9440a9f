/* SPDX-License-Identifier: MIT
 *
 * In: a decoded kernel and its launch.  Out: what its blocks take of a
 * multiprocessor, and how many of them there are.
 */
#include "ptx/model/simulate_program.h"

unsigned tcb_sim_warps(const struct tcb_ptx_timed_launch *launch)
{
	return (launch->block[0] * launch->block[1] * launch->block[2] + TCB_SIM_WARP - 1) / TCB_SIM_WARP;
}

unsigned tcb_sim_registers(const struct tcb_sim_program *program)
{
	return (program->registers * TCB_SIM_WARP + 255) / 256 * 256 * tcb_sim_warps(program->launch);
}

size_t tcb_sim_shared(const struct tcb_ptx_machine *machine, const struct tcb_sim_program *program)
{
	return program->static_shared + program->launch->dynamic_shared + machine->shared_reserved;
}

uint64_t tcb_sim_blocks(const struct tcb_ptx_timed_launch *launch)
{
	return (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
}

unsigned tcb_sim_share(const struct tcb_ptx_machine *machine, const struct tcb_ptx_timed_launch *launch)
{
	return (unsigned)((tcb_sim_blocks(launch) + machine->sm_count - 1) / machine->sm_count);
}

unsigned tcb_sim_most_resident(const struct tcb_ptx_machine *machine, const struct tcb_sim_program *program)
{
	const size_t shared = tcb_sim_shared(machine, program);
	const unsigned registers = tcb_sim_registers(program);
	size_t most = machine->blocks < TCB_SIM_BLOCKS_MAX ? machine->blocks : TCB_SIM_BLOCKS_MAX;
	const size_t by_warps = machine->threads / (tcb_sim_warps(program->launch) * TCB_SIM_WARP);
	const size_t by_shared = shared ? machine->shared_bytes / shared : most;
	const size_t by_registers = registers ? machine->registers / registers : most;
	most = most < by_warps ? most : by_warps;
	most = most < by_shared ? most : by_shared;
	return (unsigned)(most < by_registers ? most : by_registers);
}

void tcb_sim_block_index(const struct tcb_ptx_machine *machine, const struct tcb_ptx_timed_launch *launch,
			 unsigned number, uint32_t out[3])
{
	const uint64_t linear = (uint64_t)number * machine->sm_count;
	out[0] = (uint32_t)(linear % launch->grid[0]);
	out[1] = (uint32_t)(linear / launch->grid[0] % launch->grid[1]);
	out[2] = (uint32_t)(linear / launch->grid[0] / launch->grid[1]);
}
