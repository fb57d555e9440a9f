/* SPDX-License-Identifier: MIT
 *
 * Q4_K's own kernels of the ops q4k_matvec and those that it is part of, for x86 and in scalar code: their prepared
 * activations, their layouts beside r16, their tables.  On Arm there are the shared ones beside the scalar ones.
 */
#ifndef TCB_KERNELS_Q4K_MATVEC_H
#define TCB_KERNELS_Q4K_MATVEC_H

#include "kernels/quant_matvec/quant_matvec_layout.h"
#include "kernels/simd/isas.h"

enum { Q4K_BLOCK_VALUES = 256, Q4K_BLOCK_BYTES = 144 };

/*
 * 256 activations quantised to 8 bits for contract q8: x[i] ~ d * code, d = max|x| / 127, code = x * (127 / max)
 * rounded to nearest even.  A block whose max is below 127 * 2^-126 counts as zeros (d = 0); a block that holds a NaN
 * or an infinity gets d = NaN and codes 0, so that every output it touches is NaN.
 *
 * The runs of 32 codes lie in the order 0 2 1 3 4 6 5 7 (q4k_x8_run): 64 bytes then match the low, or the high,
 * nibbles of 64 bytes of a Q4_K block.  sums[j] is the sum of run j's codes, for the mins, natural order;
 * sums[j] == 64 * sums_high[j] + sums_low[j], -32 <= sums_low < 32, for byte dot products.
 */
struct q4k_x8 {
	_Alignas(64) int8_t q[256];
	int16_t sums[8];
	int8_t sums_high[8], sums_low[8];
	float d;
	float pad[7];
};
/* Where run J of 32 codes lies in q, counted in runs; its own inverse. */
static inline unsigned q4k_x8_run(unsigned j)
{
	return (j & 4u) | (j & 1u) << 1 | (j >> 1 & 1u);
}

/*
 * 256 activations for contract f32, 64-byte aligned, in the order in which the codes of a native block come out of
 * 64-byte vectors of 16 words: value 128 g + 64 p + 32 h + 4 w + b (vector g, half p of its words, nibble h, word w
 * of that half, byte b of the word) is x[128 g + 64 h + 16 b + 8 p + w].
 * sums[j] = sum of the 32 activations of sub-block j for the mins, its additions in a fixed order.
 */
struct q4k_x32 {
	float x[256];
	float sums[8];
	float pad[8];
};

/* Where activation K of a block, 0 to 255, is in struct q4k_x32. */
static inline unsigned q4k_x32_index(unsigned k)
{
	return (k & 128) + ((k & 32) << 1) + ((k & 3) << 4) + ((k & 64) >> 3) + ((k & 28) >> 2);
}

/* q4k_matvec_prepare.c: K/256 blocks from K floats, K a multiple of 256; all give the same bits. */
typedef void q4k_quantize_fn(const float *x, size_t blocks, struct q4k_x8 *out);
typedef void q4k_prepare_fn(const float *x, size_t blocks, struct q4k_x32 *out);
#define Q4K_DECLARE_PREPARERS(isa, ...)     \
	q4k_quantize_fn q4k_quantize_##isa; \
	q4k_prepare_fn q4k_prepare_##isa;
TCB_ISAS_FLOATS(Q4K_DECLARE_PREPARERS, )
#undef Q4K_DECLARE_PREPARERS

/* q4k_matvec_exact.c: the longest rounding chain of PLAN's f32 variant. */
double q4k_f32_chain(const struct tcb_plan *plan);

/* --- q4k_matvec_pack.c --- */

/*
 * Layout rR: R rows of one block position become one group block,
 *     f16 { d, dmin }[R]; scale words [3][R]; nibbles [4][R / 2][R][64 / R]
 * which of 16 rows is r16.  Word w of row r holds bytes 4w..4w+3 of its 12 scale bytes, and the nibble bytes of each
 * 64-value pair of sub-blocks are cut into pieces of 64 / R bytes, so that 64 bytes hold one piece of every row.  rRw:
 * scale words [4][R] hold the eight scales, then the eight mins, one byte each.  Group blocks follow each other along
 * k, groups along n: one call reads one strictly sequential stream.  N is padded up to the group with zero blocks in
 * the packed copy. */
size_t q4k_packed_bytes(enum tcb_layout layout, size_t n, size_t k);
size_t q4k_layout_block_bytes(enum tcb_layout layout); /* bytes of one group block */
void q4k_pack(enum tcb_layout layout, size_t n, size_t k, const void *weights, void *packed);
void q4k_unpack(enum tcb_layout layout, size_t n, size_t k, const void *packed, void *weights);

/* --- tables --- */

/* One table row of the ops KIND; the name carries op, contract, layout, ISA, micro tile and unroll. */
#define Q4K_ROW(kind_, contract_, CONTRACT, layout_, LAYOUT_, rows_, unroll_, class_, function)                 \
	{                                                                                                       \
		"q4k_" #kind_ "_" #contract_ "_" #layout_ "_" SIMD_TEXT "_1x" #rows_ "x256_u" #unroll_,         \
			TCB_CONTRACT_##CONTRACT, SIMD_ISA_ID, TCB_LAYOUT_##LAYOUT_, { 1, rows_, 256 }, unroll_, \
			class_, tcb_signed_variants, (void (*)(void))function                                   \
	}

/* The tables q4k_KIND_CONTRACT of all kinds of ops, which run the same kernels: ROWS(kind, class), the rows.  What a
 * norm or a gate rounds to is not bound bit by bit, so CLASS holds for the MatVec alone. */
#define Q4K_TABLES(contract, ROWS, class) QMV_KINDS(Q4K_TABLE, contract, ROWS, class)
#define Q4K_TABLE(kind_, has_norm, is_gated, contract_, ROWS, class_)                  \
	const struct tcb_variant SIMD_NAME(q4k_##kind_##_##contract_)[] = {            \
		ROWS(kind_, (has_norm || is_gated ? TCB_CLASS_BOUNDED : class_)){ 0 }, \
	};

#endif
