/* SPDX-License-Identifier: MIT
 *
 * isa=mma of attention_prefill: how tiles of K and V lie in shared memory, and who copies
 * what of them.
 *
 * All threads copy with cp.async, 16 bytes at a time, where tokens are seen, and zeros
 * where not and behind a head.  A row of a tile is a token's head, its 16-byte chunks
 * exchanged (swizzle) so that ldmatrix finds eight rows in different banks: chunk ^ row % 8,
 * or, where rows are no multiples of 128 bytes, chunk ^ row / 2 % 4.
 */
#ifndef TCB_KERNELS_ATTENTION_PREFILL_COPY_H
#define TCB_KERNELS_ATTENTION_PREFILL_COPY_H

#include "kernels/attention/attention_prefill_gpu.h"

enum {
	PREFILL_CHUNK = 16,  /* bytes */
	PREFILL_VARIANTS = 4 /* places of a lane's chunk */
};

/* How a tile of K or of V lies, and who copies what of it. */
struct prefill_tile_rows {
	unsigned values;                           /* of a head */
	unsigned pitch, chunks, passes, rows_each; /* bytes of a row; chunks of one; passes of a copy, rows of one */
	unsigned chunks_each;                      /* of a row at a time: all, or where threads are fewer a part */
	unsigned variants;
	kit_op is_copier;  /* some threads are left over where a row is not a power of two of chunks */
	kit_op row, chunk; /* this thread's first row, and its chunk */
	kit_op row_at, at; /* their places, of a row in a tile and of the chunk in a row */
	kit_op row_bytes;  /* of all heads of a token */
};

struct prefill_copies {
	struct prefill_writer *w;
	struct prefill_tile_rows of_tile[2]; /* of K and V */
	int are_alike;                       /* they are copied together */
	unsigned v_at;                       /* bytes: where V is in a slot */
	kit_op k, v, table;                  /* this thread's chunk of token 0, of the sequence and KV head; .u64 */
};

void prefill_copies_open(struct prefill_writer *w, struct prefill_copies *c);
/* From the query tile's sequence and KV head. */
void prefill_copies_of_tile(struct prefill_copies *c);
/* K and V of the tile from token FIRST on to SLOT; zeros for what nobody sees. */
void prefill_copy_tile(struct prefill_copies *c, kit_op slot, kit_op first);
/* What ROW's chunks are exchanged by. */
kit_op prefill_swizzle(struct tcb_ptx_build *b, const struct prefill_tile_rows *rows, kit_op row);

#endif
