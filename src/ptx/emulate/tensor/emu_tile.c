/* SPDX-License-Identifier: MIT
 *
 * Tiles of matrices in shared memory, read in chunks of 16 bytes: rows of the
 * eight-row patterns that descriptors are made of (PTX ISA 9.0, 9.7.15.5.1).
 */
#include <string.h>

#include "ptx/emulate/tensor/emu_tile.h"

enum {
	CHUNK = 16,
	CHUNKS_MAX = 512, /* 256 rows of 32 bytes */
	PER_CHUNK_MAX = 16
};

static unsigned bytes_of(const struct tcb_emu_tile *tile)
{
	return tcb_ptx_element_bits(tile->type, tile->padded) / 8;
}

/* The addresses of TILE's chunks, those of a row (k_major) or of a k side by side. */
static unsigned chunks_of(const struct tcb_emu_tile *tile, uint32_t *out)
{
	return tcb_ptx_matrix_chunks(&tile->at, tile->k_major, bytes_of(tile), tile->first, tile->rows, tile->k, out);
}

int tcb_emu_tile_check(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_tile *tile)
{
	uint32_t address[CHUNKS_MAX];

	return tcb_emu_shared_chunks(warp, in, address, chunks_of(tile, address), CHUNK);
}

/* Where the numbers of a tile go: element E of chunk I. */
struct layout {
	unsigned per_row;    /* chunks */
	unsigned row, chunk; /* from a row of chunks to the next, from a chunk to the next, */
	unsigned element;    /* from an element to the next */
};

static struct layout layout_of(const struct tcb_emu_tile *tile)
{
	const unsigned each = CHUNK / bytes_of(tile), to_row = tile->is_b ? 1 : tile->k,
		       to_k = tile->is_b ? tile->rows : 1;

	if (tile->k_major)
		return (struct layout){ tile->k / each, to_row, each * to_k, to_k };
	return (struct layout){ tile->rows / each, to_k, each * to_row, to_row };
}

int tcb_emu_tile_read(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_tile *tile,
		      double *out)
{
	const struct layout at = layout_of(tile);
	const unsigned each = CHUNK / bytes_of(tile);
	uint32_t address[CHUNKS_MAX];
	const unsigned count = chunks_of(tile, address);

	for (unsigned i = 0; i < count; i++) {
		const uint8_t *chunk = tcb_emu_shared(warp, in, -1, address[i], CHUNK, CHUNK, 0, NULL);
		double value[PER_CHUNK_MAX], *to = out + i / at.per_row * at.row + i % at.per_row * at.chunk;
		uint64_t half;

		if (!chunk)
			return 0;
		for (unsigned h = 0; h < 2; h++) {
			memcpy(&half, chunk + 8 * h, 8);
			tcb_ptx_elements(tile->type, tile->padded, half, each / 2, value + each / 2 * h);
		}
		for (unsigned e = 0; e < each; e++)
			to[e * at.element] = value[e];
	}
	return 1;
}

int tcb_emu_tile_near(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_tile *tile,
		      float *out)
{
	const struct layout at = layout_of(tile);
	const unsigned each = CHUNK / bytes_of(tile);
	uint32_t address[CHUNKS_MAX];
	const unsigned count = chunks_of(tile, address);

	for (unsigned i = 0; i < count; i++) {
		const uint8_t *chunk = tcb_emu_shared(warp, in, -1, address[i], CHUNK, CHUNK, 0, NULL);
		float value[PER_CHUNK_MAX], *to = out + i / at.per_row * at.row + i % at.per_row * at.chunk;

		if (!chunk)
			return 0;
		tcb_ptx_near_chunk(tile->type, chunk, value);
		for (unsigned e = 0; e < each; e++)
			to[e * at.element] = value[e];
	}
	return 1;
}
