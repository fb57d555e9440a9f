/* SPDX-License-Identifier: MIT
 *
 * In: the addresses of a warp's access of shared memory.  Out: its wavefronts.
 *
 * The lanes that are served together, and when twice as many are, follow from
 * what CUPTI counts on an H200 for accesses of known addresses
 * (tests/search/shared_patterns.c, results/h200/shared_patterns.txt); NVIDIA's
 * forum tells the same of loads by pairs for 7.0 and later.
 */
#include "ptx/analyse/predict.h"

enum { BANKS = 32, WORD = 4 };

/* Every active lane reads what its neighbour at distance BIT does, if that one is active. */
static int agrees(const uint64_t *address, uint32_t active, unsigned bit)
{
	for (unsigned lane = 0; lane < TCB_PTX_WARP; lane++) {
		const unsigned other = lane ^ bit;
		if ((active >> lane & active >> other & 1) && address[lane] != address[other])
			return 0;
	}
	return 1;
}

unsigned tcb_ptx_lanes_together(const uint64_t address[TCB_PTX_WARP], uint32_t active, unsigned bytes, int is_load)
{
	const unsigned lanes = bytes >= 16 ? 8 : bytes >= 8 ? 16 : 32;
	if (is_load && lanes < TCB_PTX_WARP && (agrees(address, active, 1) || agrees(address, active, 2)))
		return 2 * lanes;
	return lanes;
}

/* The most different words that a bank must give to LANES. */
static unsigned busiest_bank(const uint64_t *address, uint32_t lanes, unsigned bytes)
{
	/* 32 lanes of 4 bytes (5 when an unaligned one cuts two words), 32 of 8 or 16 of 16: at most 64 words */
	uint64_t words[BANKS][2 * TCB_PTX_WARP];
	uint8_t count[BANKS] = { 0 };
	unsigned most = 0;
	for (; lanes; lanes &= lanes - 1) {
		const unsigned lane = (unsigned)__builtin_ctz(lanes);
		for (uint64_t w = address[lane] / WORD; w <= (address[lane] + bytes - 1) / WORD; w++) {
			const unsigned bank = (unsigned)(w % BANKS);
			unsigned i = 0;
			while (i < count[bank] && words[bank][i] != w)
				i++;
			if (i < count[bank])
				continue;
			words[bank][count[bank]++] = w;
			most = count[bank] > most ? count[bank] : most;
		}
	}
	return most;
}

unsigned tcb_ptx_wavefronts(const uint64_t address[TCB_PTX_WARP], uint32_t active, unsigned bytes, int is_load,
			    unsigned *ideal)
{
	const unsigned together = tcb_ptx_lanes_together(address, active, bytes, is_load);
	const uint32_t part = together == TCB_PTX_WARP ? UINT32_MAX : (UINT32_C(1) << together) - 1;
	unsigned total = 0, parts = 0;
	for (unsigned from = 0; from < TCB_PTX_WARP; from += together) {
		const uint32_t lanes = active & part << from;
		if (!lanes)
			continue;
		total += busiest_bank(address, lanes, bytes);
		parts++;
	}
	if (ideal)
		*ideal = parts;
	return total;
}
