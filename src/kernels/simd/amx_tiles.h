/* SPDX-License-Identifier: MIT
 *
 * AMX's tiles as kernels see them, and products of tiles of bf16.  Tile numbers
 * are constants:
 *     AMX_CONFIGURE(config)   takes the 64 bytes of a tile configuration
 *     AMX_ZERO(t)             clears tile T
 *     AMX_LOAD(t, p, stride)  rows of T from P, STRIDE bytes apart
 *     AMX_LOAD_ONCE(t, p, s)  the same, of what need not stay in the first cache
 *     AMX_STORE(t, p, stride)
 *     AMX_DOT(c, a, b)        C += signed bytes of A times unsigned bytes of B, four to a sum
 *     AMX_DOT_SIGNED(c, a, b) C += signed bytes of A times signed bytes of B, the same
 *     AMX_DOT_BF16(c, a, b)   C += bf16 of A times bf16 of B, two to a sum
 *     AMX_SAVE(config)        the thread's tile configuration; all zeros where it has none
 *     AMX_RELEASE()           now it has none
 * These are the processor's where the file that includes this is compiled for
 * AMX.  A test defines them before in plain C, so that all but the instructions
 * themselves is tested on processors without them.  Empty where there are none.
 *
 * The thread is the program's, which may have AMX code of its own that configures
 * its tiles once and for all: between amx_enter and amx_leave tiles are ours,
 * then it gets its configuration back.  Tiles themselves hold nothing across
 * calls (System V ABI) and are left zero.
 */
#ifndef TCB_KERNELS_SIMD_AMX_TILES_H
#define TCB_KERNELS_SIMD_AMX_TILES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if !defined(AMX_CONFIGURE) && (defined(__AMX_TILE__) || defined(__AMXTILE__)) /* the second: clang 14 */
#include <immintrin.h>
#define AMX_CONFIGURE(config) _tile_loadconfig(config)
#define AMX_ZERO(t) _tile_zero(t)
#define AMX_LOAD(t, p, stride) _tile_loadd(t, p, stride)
#define AMX_LOAD_ONCE(t, p, stride) _tile_stream_loadd(t, p, stride)
#define AMX_STORE(t, p, stride) _tile_stored(t, p, stride)
#define AMX_DOT(c, a, b) _tile_dpbsud(c, a, b)
#define AMX_DOT_SIGNED(c, a, b) _tile_dpbssd(c, a, b)
#define AMX_DOT_BF16(c, a, b) _tile_dpbf16ps(c, a, b)
#define AMX_SAVE(config) _tile_storeconfig(config)
#define AMX_RELEASE() _tile_release()
#endif

#ifdef AMX_CONFIGURE

#ifndef AMX_LOAD_ONCE
#define AMX_LOAD_ONCE AMX_LOAD
#endif

#define AMX_INLINE static inline __attribute__((always_inline))

enum {
	AMX_SIDE = 16,   /* rows of a tile, and words of four bytes in a row */
	AMX_SPAN = 32,   /* most rows, and most columns, of a register tile */
	AMX_LINE = 64,   /* bytes of a tile's row */
	AMX_HALVES = 32, /* values of 16 bits in it */
	AMX_BYTES = AMX_SIDE * AMX_LINE,
	/* Tiles: four of sums, two of the left operand, two of the right one. */
	AMX_SUMS = 0,
	AMX_LEFT = 4,
	AMX_RIGHT = 6,
	AMX_TILES = 8
};

/* As the processor reads it: palette 1, bytes per row and rows of each tile. */
struct amx_config {
	uint8_t palette, start_row, reserved[14];
	uint16_t row_bytes[16];
	uint8_t rows[16];
};

/* Of GCC's tile instructions some do not say that they read memory, and of a configuration they say 8 bytes: what is to
 * be read at P, of an object that a compiler may keep in registers, is written before this. */
AMX_INLINE void amx_written(const void *p)
{
	__asm__ volatile("" ::"r"(p) : "memory");
}

AMX_INLINE void amx_enter(const struct amx_config *config, struct amx_config *before)
{
	amx_written(config);
	AMX_SAVE(before);
	AMX_CONFIGURE(config);
}

AMX_INLINE void amx_leave(const struct amx_config *before)
{
	amx_written(before);
	if (before->palette)
		AMX_CONFIGURE(before);
	else
		AMX_RELEASE();
}

/* --- bf16 --- */

/* All tiles whole. */
AMX_INLINE void amx_whole_tiles(struct amx_config *config)
{
	memset(config, 0, sizeof(*config));
	config->palette = 1;
	for (int t = 0; t < AMX_TILES; t++) {
		config->rows[t] = AMX_SIDE;
		config->row_bytes[t] = AMX_LINE;
	}
}

/*
 * An operand of AMX_SIDE or AMX_SPAN rows (left) or columns (right), along k in steps of AMX_HALVES values.  A tile of
 * a step has AMX_SIDE lines, LINE bytes apart: of a left operand line i has the values of row i, of a right one of each
 * of AMX_SIDE columns the values 2i and 2i + 1.  Lines that begin at multiples of AMX_LINE are read fastest.
 */
struct amx_operand {
	const void *first;
	size_t line;  /* bytes from a line to the next */
	size_t step;  /* from a tile to that of the next AMX_HALVES values */
	size_t group; /* to that of the next AMX_SIDE rows or columns */
};

/* The most compact operand: tiles of a step side by side, then those of the next. */
AMX_INLINE struct amx_operand amx_packed(const void *first, const int span)
{
	return (struct amx_operand){ first, AMX_LINE, (size_t)span * AMX_LINE, AMX_BYTES };
}

/*
 * The sums of MICRO_M x MICRO_N (each AMX_SIDE or AMX_SPAN) live in tiles 0 to 3 from amx_clear_sums or amx_load_sums
 * to amx_store_sums; in between any number of amx_add_bf16.  STRIDE: bytes from a row of sums to the next.
 */
AMX_INLINE void amx_clear_sums(const int micro_m, const int micro_n)
{
	AMX_ZERO(0);
	if (micro_n > AMX_SIDE)
		AMX_ZERO(1);
	if (micro_m > AMX_SIDE)
		AMX_ZERO(2);
	if (micro_m > AMX_SIDE && micro_n > AMX_SIDE)
		AMX_ZERO(3);
}

AMX_INLINE void amx_load_sums(const float *from, size_t stride, const int micro_m, const int micro_n)
{
	const char *below = (const char *)from + AMX_SIDE * stride;
	amx_written(from);
	AMX_LOAD(0, from, stride);
	if (micro_n > AMX_SIDE)
		AMX_LOAD(1, from + AMX_SIDE, stride);
	if (micro_m > AMX_SIDE)
		AMX_LOAD(2, below, stride);
	if (micro_m > AMX_SIDE && micro_n > AMX_SIDE)
		AMX_LOAD(3, below + AMX_LINE, stride);
}

AMX_INLINE void amx_store_sums(float *to, size_t stride, const int micro_m, const int micro_n)
{
	char *below = (char *)to + AMX_SIDE * stride;
	AMX_STORE(0, to, stride);
	if (micro_n > AMX_SIDE)
		AMX_STORE(1, to + AMX_SIDE, stride);
	if (micro_m > AMX_SIDE)
		AMX_STORE(2, below, stride);
	if (micro_m > AMX_SIDE && micro_n > AMX_SIDE)
		AMX_STORE(3, below + AMX_LINE, stride);
}

/*
 * Sums += LEFT x RIGHT over STEPS times AMX_HALVES values.  Per step and sum, as the processor does: the products of
 * even k are added up from 0, fused, in order, and those of odd k; the two are added, and that to the sum.  Every
 * rounding is to nearest even; subnormal operands and results are 0.  RIGHT, of up to 32 KiB, stays in the first cache
 * for the next call with it, while the left operands of many calls pass.
 */
AMX_INLINE void amx_add_bf16(const struct amx_operand *left, const struct amx_operand *right, size_t steps,
			     const int micro_m, const int micro_n)
{
	const char *a = left->first, *b = right->first;
	for (; steps; steps--, a += left->step, b += right->step) {
		AMX_LOAD(6, b, right->line);
		if (micro_n > AMX_SIDE)
			AMX_LOAD(7, b + right->group, right->line);
		AMX_LOAD_ONCE(4, a, left->line);
		AMX_DOT_BF16(0, 4, 6);
		if (micro_n > AMX_SIDE)
			AMX_DOT_BF16(1, 4, 7);
		if (micro_m > AMX_SIDE) {
			AMX_LOAD_ONCE(5, a + left->group, left->line);
			AMX_DOT_BF16(2, 5, 6);
		}
		if (micro_m > AMX_SIDE && micro_n > AMX_SIDE)
			AMX_DOT_BF16(3, 5, 7);
	}
}

#endif
#endif
