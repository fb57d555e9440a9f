/* SPDX-License-Identifier: MIT
 *
 * What a request of a warp costs.  Shared memory has 32 banks of 4 bytes: of
 * the lanes that are served together (all for up to 4 bytes a lane, half a warp
 * for 8, a quarter for 16) each bank gives one word at a time, so the wavefronts
 * are the most distinct words that any bank must give.  Global memory moves
 * sectors of 32 bytes.
 */
#include "ptx/emu_program.h"

#include <string.h>

enum { BANKS = 32, WORD = 4, SECTOR = 32 };

/* Distinct words a bank: lists, since a request has at most 32 lanes. */
static unsigned wavefronts(const uint32_t *address, uint32_t lanes, unsigned bytes)
{
	uint32_t words[BANKS][TCB_EMU_LANES];
	uint8_t count[BANKS] = { 0 };
	unsigned most = 0;

	TCB_EMU_EACH(lane, lanes)
	for (uint32_t at = address[lane] / WORD; at <= (address[lane] + bytes - 1) / WORD; at++) {
		unsigned bank = at % BANKS, i = 0;

		while (i < count[bank] && words[bank][i] != at)
			i++;
		if (i < count[bank])
			continue;
		words[bank][count[bank]++] = at;
		if (count[bank] > most)
			most = count[bank];
	}
	return most;
}

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
	unsigned together = bytes <= WORD ? 32 : bytes <= 8 ? 16 : 8;

	counts->requests++;
	if (active == UINT32_MAX && bytes <= 16 && is_contiguous32(address, bytes) && !(address[0] % WORD)) {
		counts->wavefronts += 32 / together;
		counts->wavefronts_ideal += 32 / together;
		return;
	}
	for (unsigned first = 0; first < TCB_EMU_LANES; first += together) {
		uint32_t lanes = active & (together == 32 ? UINT32_MAX : ((1u << together) - 1) << first);

		if (!lanes)
			continue;
		counts->wavefronts += wavefronts(address, lanes, bytes);
		counts->wavefronts_ideal++;
	}
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
