/* SPDX-License-Identifier: MIT
 *
 * In: what a kernel needs, and a block.  Out: how many blocks fit on an SM at
 * once, and what stops it from holding one more.
 *
 * The limits of each capability are those of the CUDA C++ Programming Guide's
 * table of technical specifications; a device need not be there.  The rules:
 * registers are handed to warps in units of 256, in the warp's quarter of the
 * SM; shared memory to blocks in units of 128 bytes (256 on sm_7x), plus 1 KiB
 * that the system keeps from sm_80 on; from sm_90 on the named barriers of the
 * SM are shared out as well.
 */
#include "ptx/model/occupancy.h"

#include <limits.h>
#include <stddef.h>

enum {
	WARP_THREADS = 32,
	REGISTERS = 65536, /* of an SM and of a block, on all capabilities below */
	REGISTERS_THREAD = 255,
	REGISTER_UNIT = 256,
	QUARTERS = 4
};

#define KIB(n) ((n)*1024u)

static const struct tcb_sm_limits table[] = {
	/* sm, warps, blocks, shared SM, shared block, reserved, unit, barriers */
	{ 75, 32, 16, KIB(64), KIB(64), 0, 256, 32 },         { 80, 64, 32, KIB(164), KIB(163), KIB(1), 128, 64 },
	{ 86, 48, 16, KIB(100), KIB(99), KIB(1), 128, 16 },   { 87, 48, 16, KIB(164), KIB(163), KIB(1), 128, 16 },
	{ 89, 48, 24, KIB(100), KIB(99), KIB(1), 128, 24 },   { 90, 64, 32, KIB(228), KIB(227), KIB(1), 128, 64 },
	{ 100, 64, 32, KIB(228), KIB(227), KIB(1), 128, 64 }, { 103, 64, 32, KIB(228), KIB(227), KIB(1), 128, 64 },
	{ 110, 48, 24, KIB(228), KIB(227), KIB(1), 128, 24 }, { 120, 48, 24, KIB(100), KIB(99), KIB(1), 128, 24 },
	{ 121, 48, 24, KIB(100), KIB(99), KIB(1), 128, 24 },
};

const struct tcb_sm_limits *tcb_sm_limits_find(unsigned capability)
{
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (table[i].capability == capability)
			return &table[i];
	return NULL;
}

static unsigned round_up(unsigned value, unsigned unit)
{
	return (value + unit - 1) / unit * unit;
}

static unsigned by_registers(unsigned registers, unsigned warps)
{
	unsigned warp_registers = round_up(registers * WARP_THREADS, REGISTER_UNIT);

	if (!registers)
		return UINT_MAX;
	/* A launch is checked as if every quarter got as many of its warps as the fullest. */
	if (registers > REGISTERS_THREAD + 1 || warp_registers * round_up(warps, QUARTERS) > REGISTERS)
		return 0;
	return REGISTERS / QUARTERS / warp_registers * QUARTERS / warps;
}

static unsigned by_shared(const struct tcb_sm_limits *sm, size_t fixed, size_t dynamic)
{
	/* Beyond any device, and small enough to add up. */
	if (fixed > sm->shared_block || dynamic > sm->shared_block)
		return 0;
	unsigned bytes = round_up((unsigned)(fixed + dynamic) + sm->reserved, sm->shared_unit);

	if (bytes > sm->shared_block + sm->reserved)
		return 0;
	return bytes ? sm->shared_sm / bytes : UINT_MAX;
}

static void least(struct tcb_occupancy *out, unsigned blocks, const char *limiter)
{
	if (blocks >= out->blocks)
		return;
	out->blocks = blocks;
	out->limiter = limiter;
}

void tcb_occupancy_own(const struct tcb_sm_limits *sm, const struct tcb_ptx_resources *resources,
		       unsigned block_threads, size_t dynamic_shared, struct tcb_occupancy *out)
{
	unsigned warps = (block_threads + WARP_THREADS - 1) / WARP_THREADS;

	*out = (struct tcb_occupancy){ .blocks = UINT_MAX, .warps_max = sm->warps };
	least(out, sm->warps / warps, "warps");
	least(out, by_registers(resources->registers, warps), "registers");
	least(out, by_shared(sm, resources->shared_bytes, dynamic_shared), "shared memory");
	least(out, sm->blocks, "blocks");
	if (sm->capability >= 90 && resources->barriers)
		least(out, sm->barriers / resources->barriers, "barriers");
	out->warps = out->blocks * warps;
}

enum tcb_status tcb_occupancy(unsigned capability, const struct tcb_ptx_resources *resources, unsigned block_threads,
			      size_t dynamic_shared, struct tcb_occupancy *out, struct tcb_error *err)
{
	const struct tcb_sm_limits *sm = tcb_sm_limits_find(capability);

	*out = (struct tcb_occupancy){ .limiter = "" };
	if (!sm)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "the limits of sm_%u are not known here: no occupancy",
				capability);
	if (!block_threads || block_threads > TCB_SM_BLOCK_THREADS_MAX)
		return tcb_fail(err, TCB_E_USAGE, "a block has 1 to %d threads, not %u", TCB_SM_BLOCK_THREADS_MAX,
				block_threads);
	if (!tcb_occupancy_toolkit(sm, resources, block_threads, dynamic_shared, out))
		tcb_occupancy_own(sm, resources, block_threads, dynamic_shared, out);
	return TCB_OK;
}
