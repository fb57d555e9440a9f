/* SPDX-License-Identifier: MIT
 *
 * What a request of a warp costs: wavefronts of shared memory (wavefronts.c has
 * the rule), sectors of 32 bytes of global memory.
 */
#include "ptx/emulate/emu_program.h"

#include "ptx/analyse/predict.h"
#include "ptx/ir/opcodes.h"

enum { WORD = 4, SECTOR = 32 };

/* Lane i at the first address + i * BYTES. */
static int is_contiguous32(const uint32_t *address, unsigned bytes)
{
	uint32_t wrong = 0;

	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		wrong |= address[i] ^ (address[0] + i * bytes);
	return !wrong;
}

static int is_contiguous64(const uint64_t *address, unsigned bytes)
{
	uint64_t wrong = 0;

	for (unsigned i = 0; i < TCB_EMU_LANES; i++)
		wrong |= address[i] ^ (address[0] + i * bytes);
	return !wrong;
}

void tcb_emu_count_shared(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint32_t *address,
			  uint32_t active, unsigned bytes)
{
	struct tcb_ptx_counts *counts = &warp->run->counts[in->count];
	uint64_t wide[TCB_EMU_LANES];
	unsigned ideal;

	counts->requests++;
	if (active == UINT32_MAX && bytes <= 16 && is_contiguous32(address, bytes) && !(address[0] % WORD)) {
		const unsigned parts = bytes <= WORD ? 1 : bytes <= 8 ? 2 : 4;
		counts->wavefronts += parts;
		counts->wavefronts_ideal += parts;
		return;
	}
	for (unsigned lane = 0; lane < TCB_EMU_LANES; lane++)
		wide[lane] = address[lane];
	counts->wavefronts += tcb_ptx_wavefronts(wide, active, bytes, in->ins->op == TCB_PTX_OP_LD, &ideal);
	counts->wavefronts_ideal += ideal;
}

void tcb_emu_count_global(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const uint64_t *address,
			  uint32_t active, unsigned bytes, unsigned flags)
{
	struct tcb_ptx_counts *counts = &warp->run->counts[in->count];
	struct tcb_ptx_emulation *out = warp->run->out;
	uint64_t seen[TCB_EMU_LANES * 2], distinct = 0, used = (uint64_t)__builtin_popcount(active) * bytes;
	uint64_t starts[TCB_EMU_LANES];
	unsigned count = 0, different = 0;

	counts->requests++;
	if (flags & TCB_EMU_READ)
		out->global_read_bytes += used;
	if (flags & TCB_EMU_WRITE)
		out->global_write_bytes += used;
	if (active == UINT32_MAX && is_contiguous64(address, bytes)) {
		counts->sectors += (address[0] + used - 1) / SECTOR - address[0] / SECTOR + 1;
		counts->sectors_ideal += (used + SECTOR - 1) / SECTOR;
		return;
	}
	TCB_EMU_EACH(lane, active)
	{
		unsigned i = different;

		while (i && starts[i - 1] != address[lane])
			i--;
		if (i)
			continue; /* another lane uses the same bytes */
		starts[different++] = address[lane];
		distinct += bytes;
		for (uint64_t sector = address[lane] / SECTOR; sector <= (address[lane] + bytes - 1) / SECTOR;
		     sector++) {
			unsigned k = count;

			while (k && seen[k - 1] != sector)
				k--;
			if (!k && count < sizeof seen / sizeof *seen)
				seen[count++] = sector;
		}
	}
	counts->sectors += count;
	counts->sectors_ideal += (distinct + SECTOR - 1) / SECTOR;
}
