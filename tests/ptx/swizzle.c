/* SPDX-License-Identifier: MIT
 *
 * In: a row and a column.  Out: where that element stands, on the host and in a
 * kernel.  XOR of the column with the row spreads a column over the banks;
 * XOR of chunks of 16 bytes does that for vector accesses; the seed's form
 * (i ^ i >> 5) is kept for comparison: SPEC section 2 says what is wrong with it.
 */
#include "swizzle.h"

#include <stdlib.h>

enum { BANK_MASK = 31, CHUNK_WORDS_LOG = 2, CHUNK_MASK = 7, SEED_SHIFT = 5 };

uint32_t tcb_ptx_tile_row(const struct tcb_ptx_tile *tile)
{
	return tile->pitch + (tile->form == TCB_SWIZZLE_PAD ? tile->pad : 0);
}

size_t tcb_ptx_tile_word(const struct tcb_ptx_tile *tile, size_t r, size_t c)
{
	size_t i = r * tcb_ptx_tile_row(tile) + c;

	switch (tile->form) {
	case TCB_SWIZZLE_XOR:
		return r * tile->pitch + (c ^ (r & BANK_MASK));
	case TCB_SWIZZLE_CHUNK:
		return r * tile->pitch + (c ^ (r & CHUNK_MASK) << CHUNK_WORDS_LOG);
	case TCB_SWIZZLE_SEED:
		return i ^ (i >> SEED_SHIFT);
	default:
		return i;
	}
}

int tcb_ptx_tile_is_closed(const struct tcb_ptx_tile *tile, size_t rows, size_t granule)
{
	size_t words = rows * tcb_ptx_tile_row(tile), first = 0;
	unsigned char *taken = calloc(words ? words : 1, 1);
	int closed = taken && granule && tile->pitch % granule == 0;

	for (size_t r = 0; r < rows && closed; r++)
		for (size_t c = 0; c < tile->pitch && closed; c++) {
			size_t to = tcb_ptx_tile_word(tile, r, c);

			if (c % granule == 0)
				first = to;
			closed = to < words && !taken[to] && first % granule == 0 && to == first + c % granule;
			if (closed)
				taken[to] = 1;
		}
	free(taken);
	return closed;
}

struct tcb_ptx_operand tcb_ptx_tile_emit(struct tcb_ptx_build *b, const struct tcb_ptx_tile *tile,
					 struct tcb_ptx_operand r, struct tcb_ptx_operand c)
{
	struct tcb_ptx_operand row = tcb_ptx_int(tcb_ptx_tile_row(tile)), i;

	switch (tile->form) {
	case TCB_SWIZZLE_XOR:
		c = tcb_ptx_op2(b, "xor.b32", tcb_ptx_op2(b, "and.b32", r, tcb_ptx_int(BANK_MASK)), c);
		break;
	case TCB_SWIZZLE_CHUNK:
		i = tcb_ptx_op2(b, "and.b32", r, tcb_ptx_int(CHUNK_MASK));
		i = tcb_ptx_op2(b, "shl.b32", i, tcb_ptx_int(CHUNK_WORDS_LOG));
		c = tcb_ptx_op2(b, "xor.b32", i, c);
		break;
	default:
		break;
	}
	i = tcb_ptx_op3(b, "mad.lo.u32", r, row, c);
	if (tile->form == TCB_SWIZZLE_SEED)
		i = tcb_ptx_op2(b, "xor.b32", i, tcb_ptx_op2(b, "shr.u32", i, tcb_ptx_int(SEED_SHIFT)));
	return i;
}
