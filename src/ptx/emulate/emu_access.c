/* SPDX-License-Identifier: MIT
 *
 * From an address to the host's bytes.  Each access is held against the bounds
 * of its memory, its alignment and the permission to write; what is wrong ends
 * the launch, as it would on a GPU.  Then the race detector sees it.
 */
#include "ptx/emulate/emu_program.h"

static int is_aligned(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, uint64_t address,
		      unsigned align)
{
	if (!(address & (align - 1)))
		return 1;
	tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_MISALIGNED, "address 0x%llx is not a multiple of %u",
		      (unsigned long long)address, align);
	return 0;
}

struct tcb_emu_block *tcb_emu_shared_block(struct tcb_emu_warp *warp, uint32_t address, uint32_t *offset)
{
	uint32_t rank = address >> TCB_EMU_RANK_SHIFT;

	*offset = (address & ((1u << TCB_EMU_RANK_SHIFT) - 1)) - TCB_EMU_SHARED_START;
	if (!rank)
		return warp->block;
	return rank <= warp->run->cluster_blocks ? tcb_emu_cluster(warp->block) + rank - 1 : NULL;
}

uint8_t *tcb_emu_shared(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, uint32_t address,
			unsigned bytes, unsigned align, unsigned flags, const void *value)
{
	uint32_t offset;
	struct tcb_emu_block *block = tcb_emu_shared_block(warp, address, &offset);

	if (!is_aligned(warp, in, lane, address, align))
		return NULL;
	if (!block || offset >= block->shared_bytes || bytes > block->shared_bytes - offset) {
		tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_OUT_OF_BOUNDS,
			      "%u bytes at shared address 0x%x; shared memory has %u bytes from 0x%x on", bytes,
			      address, block ? block->shared_bytes : 0, TCB_EMU_SHARED_START);
		return NULL;
	}
	if (bytes && flags)
		tcb_emu_race_shared(warp, in, lane, block, offset, bytes, flags, value);
	return block->shared + offset;
}

uint8_t *tcb_emu_shared_by_all(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t lanes,
			       uint32_t address, unsigned bytes, unsigned align)
{
	uint32_t offset;
	const struct tcb_emu_block *block = tcb_emu_shared_block(warp, address, &offset);
	uint8_t *at = tcb_emu_shared(warp, in, __builtin_ctz(lanes), address, bytes, align, 0, NULL);

	if (at && block == warp->block)
		tcb_emu_race_shared_by_all(warp, in, lanes, offset, bytes);
	TCB_EMU_EACH(lane, at && block != warp->block ? lanes : 0)
	tcb_emu_shared(warp, in, (int)lane, address, bytes, align, TCB_EMU_READ, NULL);
	return at;
}

/* Whether BYTES at each address of ACTIVE are the block's own, and multiples of BYTES. */
static int are_own(const struct tcb_emu_warp *warp, const uint64_t *address, uint32_t active, unsigned bytes)
{
	const uint32_t size = warp->block->shared_bytes;
	uint32_t wrong = size < bytes;

	TCB_EMU_EACH(lane, active)
	wrong |= ((uint32_t)address[lane] & (bytes - 1)) |
		 ((uint32_t)address[lane] - TCB_EMU_SHARED_START > size - bytes);
	return !wrong;
}

int tcb_emu_shared_loads(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint64_t *address,
			 uint32_t active, unsigned bytes)
{
	if (!are_own(warp, address, active, bytes))
		return 0;
	tcb_emu_race_shared_loads(warp, in, address, active, bytes);
	return 1;
}

int tcb_emu_shared_stores(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint64_t *address,
			  uint32_t active, unsigned bytes, const uint8_t (*value)[TCB_EMU_BYTES_MAX])
{
	if (!are_own(warp, address, active, bytes))
		return 0;
	tcb_emu_race_shared_stores(warp, in, address, active, bytes, value);
	return 1;
}

int tcb_emu_shared_chunks(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint32_t *address,
			  unsigned count, unsigned bytes)
{
	const uint32_t size = warp->block->shared_bytes;
	uint32_t wrong = size < bytes;

	for (unsigned i = 0; i < count; i++) {
		const uint32_t offset = address[i] - TCB_EMU_SHARED_START;

		wrong |= (address[i] & (bytes - 1)) | (offset > size - bytes);
	}
	if (!wrong) {
		tcb_emu_race_shared_chunks(warp, in, address, count, bytes);
		return 1;
	}
	for (unsigned i = 0; i < count; i++)
		if (!tcb_emu_shared(warp, in, -1, address[i], bytes, bytes, TCB_EMU_READ | TCB_EMU_PROXY_ASYNC, NULL))
			return 0;
	return 1;
}

/* Further from the end of a region an address has nothing to do with it. */
enum { FAR = 1 << 24 };

static void out_of_bounds(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, uint64_t address,
			  unsigned bytes)
{
	const struct tcb_emu_region *below = tcb_emu_region_find(warp->run->memory, address);

	if (!below || address - below->address > below->bytes + FAR) {
		tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_OUT_OF_BOUNDS, "%u bytes at 0x%llx, where nothing is", bytes,
			      (unsigned long long)address);
		return;
	}
	tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_OUT_OF_BOUNDS, "%u bytes at offset %llu of '%s', which has %llu",
		      bytes, (unsigned long long)(address - below->address), below->name,
		      (unsigned long long)below->bytes);
}

static uint8_t *param(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, uint64_t address,
		      unsigned bytes, unsigned align, unsigned flags)
{
	uint64_t offset = address - TCB_EMU_PARAM_WINDOW;

	if (!is_aligned(warp, in, lane, offset, align))
		return NULL;
	if (flags & TCB_EMU_WRITE) {
		tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_READ_ONLY, "the kernel's parameters cannot be written");
		return NULL;
	}
	if (offset > warp->run->program->param_bytes || bytes > warp->run->program->param_bytes - offset) {
		tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_OUT_OF_BOUNDS,
			      "%u bytes at offset %llu of the parameters, which are %u bytes", bytes,
			      (unsigned long long)offset, warp->run->program->param_bytes);
		return NULL;
	}
	return (uint8_t *)(uintptr_t)warp->run->launch->params + offset;
}

uint8_t *tcb_emu_global(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, uint64_t address,
			unsigned bytes, unsigned align, unsigned flags, const void *value)
{
	struct tcb_emu_run *run = warp->run;
	struct tcb_emu_region *region = run->region;

	if (!region || address < region->address || address - region->address >= region->bytes)
		region = run->region = tcb_emu_region_find(run->memory, address);
	if (!is_aligned(warp, in, lane, address, align))
		return NULL;
	if (!region || address - region->address > region->bytes ||
	    bytes > region->bytes - (address - region->address)) {
		out_of_bounds(warp, in, lane, address, bytes);
		return NULL;
	}
	if (flags & TCB_EMU_WRITE && region->permission == TCB_PTX_READ_ONLY) {
		tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_READ_ONLY, "'%s' may only be read", region->name);
		return NULL;
	}
	if (bytes) {
		if (run->crew && region->permission != TCB_PTX_READ_ONLY &&
		    !tcb_emu_claim(warp, in, region, address - region->address, bytes, flags))
			return NULL;
		if (run->program->waits_for_launch)
			tcb_emu_see_global(warp, in, lane, region, address - region->address, bytes, flags);
		if (region->permission != TCB_PTX_READ_ONLY)
			tcb_emu_race_global(warp, in, lane, region, address - region->address, bytes, flags, value);
		if (in->ins->mod[TCB_PTX_SLOT_NONCOHERENT] &&
		    tcb_emu_race_written(run, region, address - region->address, bytes))
			tcb_emu_report(
				warp, in, lane, TCB_PTX_RULE_RACE, TCB_PTX_ERROR,
				"ld.global.nc reads what this launch writes to '%s'; the read-only cache may be stale",
				region->name);
	}
	return region->host + (address - region->address);
}

/* Local memory of LANE. */
uint8_t *tcb_emu_local(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, uint64_t address,
		       unsigned bytes, unsigned align)
{
	uint64_t offset = address - TCB_EMU_LOCAL_START;
	uint32_t size = warp->frame->local_base + warp->frame->function->local_bytes;

	if (!is_aligned(warp, in, lane, address, align))
		return NULL;
	if (offset > size || bytes > size - offset || lane < 0) {
		tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_OUT_OF_BOUNDS,
			      "%u bytes at local address 0x%llx; local memory has %u bytes from 0x%x on", bytes,
			      (unsigned long long)address, size, TCB_EMU_LOCAL_START);
		return NULL;
	}
	return warp->local + (size_t)lane * warp->local_bytes + offset;
}

uint64_t tcb_emu_local_owner(const struct tcb_emu_warp *warp, unsigned lane)
{
	return (uint64_t)(warp->agent * TCB_EMU_LANES + lane) << 32;
}

static int is_own_local(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, uint64_t address)
{
	const uint64_t owner = address & ~TCB_EMU_WINDOW(UINT64_MAX) & ~(uint64_t)UINT32_MAX;

	if (lane < 0 || owner == tcb_emu_local_owner(warp, (unsigned)lane))
		return 1;
	tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_OUT_OF_BOUNDS,
		      "the address is of another thread's local memory, which only that thread can reach");
	return 0;
}

uint8_t *tcb_emu_generic(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, uint64_t address,
			 unsigned bytes, unsigned align, unsigned flags, const void *value)
{
	switch (TCB_EMU_WINDOW(address)) {
	case TCB_EMU_SHARED_WINDOW:
		if ((address & ~TCB_EMU_WINDOW(UINT64_MAX)) > UINT32_MAX)
			break;
		return tcb_emu_shared(warp, in, lane, (uint32_t)address, bytes, align, flags, value);
	case TCB_EMU_LOCAL_WINDOW:
		if (!is_own_local(warp, in, lane, address))
			return NULL;
		return tcb_emu_local(warp, in, lane, (uint32_t)address, bytes, align);
	case TCB_EMU_PARAM_WINDOW:
		return param(warp, in, lane, address, bytes, align, flags);
	default:
		break;
	}
	return tcb_emu_global(warp, in, lane, address, bytes, align, flags, value);
}
