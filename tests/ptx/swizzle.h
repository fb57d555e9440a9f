/* SPDX-License-Identifier: MIT
 *
 * Where the elements of a tile stand in shared memory: the forms of SPEC
 * section 2 (enum tcb_swizzle), as a function of the host and as index
 * arithmetic that a kernel does.  Elements are words of 4 bytes.
 */
#ifndef TCB_TESTS_SWIZZLE_H
#define TCB_TESTS_SWIZZLE_H

#include "base/geometry.h"
#include "ptx/build/build.h"

struct tcb_ptx_tile {
	enum tcb_swizzle form;
	uint32_t pitch; /* words of a row, without padding */
	uint32_t pad;   /* words that PAD adds to a row: 1, or 4 for accesses of 16 bytes */
};

/* Words of a row as it stands in memory. */
uint32_t tcb_ptx_tile_row(const struct tcb_ptx_tile *tile);
/* The word where column C of row R stands. */
size_t tcb_ptx_tile_word(const struct tcb_ptx_tile *tile, size_t r, size_t c);
/* Whether ROWS rows go one to one into ROWS * tcb_ptx_tile_row words, runs of GRANULE words (a power of two that
 * divides the pitch) staying whole and aligned. */
int tcb_ptx_tile_is_closed(const struct tcb_ptx_tile *tile, size_t rows, size_t granule);
/* The same as tcb_ptx_tile_word, as instructions: R and C are .u32 registers or immediates, so is the result. */
struct tcb_ptx_operand tcb_ptx_tile_emit(struct tcb_ptx_build *b, const struct tcb_ptx_tile *tile,
					 struct tcb_ptx_operand r, struct tcb_ptx_operand c);

#endif
