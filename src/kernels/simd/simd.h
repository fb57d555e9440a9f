/* SPDX-License-Identifier: MIT
 *
 * One vocabulary for vectors of every instruction family: a kernel written in
 * it is compiled once for each (tcb_kernel_sources(... PER_ISA) in CMake).  The
 * compiler's flags choose the header: simd_avx512.h, simd_avx2.h, simd_neon.h,
 * or simd_scalar.h, which has floats only.
 *
 *   SIMD_NAME(name)     name_avx2; SIMD_TEXT "avx2", SIMD_ISA_ID TCB_ISA_AVX2
 *   LANES               words of four bytes in a vector; VECTOR_BYTES
 *   vfloat, vint        LANES floats; LANES words or VECTOR_BYTES bytes
 *   vmask, vflag        the first lanes; for which lanes something holds
 *
 * Addresses need no alignment but v_stream's.  COUNT of lanes is below LANES.
 *
 *   v_set(x)                             x in all lanes
 *   v_load(p)  v_store(p, v)  v_stream   LANES floats; v_stream past the caches
 *   v_load_part(p, count, fill)          the first COUNT lanes, FILL in the rest
 *   v_store_part(p, v, count)  v_part(v, count)    v_part: 0 in the rest
 *   v_first(count)                       a mask of the first COUNT lanes, or all
 *   v_load_first(p, mask)  v_store_first(p, v, mask)    those lanes, 0 in the rest
 *   v_add v_sub v_mul  v_fma: a b + c  v_fms: a b - c  v_fnma: c - a b
 *   v_max                                B where one is NaN
 *   v_maximum v_minimum                  of IEEE but for NaN: -0 < +0
 *   v_round(v)  v_power2(n)              to the nearest integer, of two the even; 2^n of a whole n (not scalar)
 *   v_any_above(a, b)                    whether a > b in a lane
 *   v_unordered(a, b) v_no_flag v_either v_is_set    flags: where one is NaN; none; of either; in a lane
 *   v_reduce_add v_reduce_max            of all lanes, lane i with i + LANES / 2 first
 *   v_from_f16(p) v_from_bf16(p) v_to_f16(p, v) v_to_bf16(p, v)    LANES values of 16 bits, rounded to nearest even; a
 *                                        NaN keeps its first bits and becomes quiet
 *   v_set_f16(p) v_from_bytes(p)         one f16 in all lanes; LANES signed bytes
 *   v_transpose(r)                       r[i][j] to r[j][i]
 *   v_reduce_each(r) v_reduce_each_max(r)    lane i: the sum of R[i]'s lanes, or the largest (none is NaN)
 *
 * Words and bytes (SIMD_HAS_BYTES):
 *   vi_load vi_store vi_zero  vi_bytes(b) vi_words(w): in all  vi_first_word(w): in the first lane, 0 in the rest
 *   vi_and vi_xor  vi_merge(a, b, mask): a | (b & mask)  vi_add vi_sub: words
 *   vi_shift_right(v, bits) vi_shift_left    of words: what crosses from byte to byte the caller masks
 *   vi_unsigned_byte(v, i) vi_signed_byte    byte I of each word
 *   vi_add_where(v, value, bits, bit)    VALUE more in the bytes where those of BITS have BIT
 *   vi_clear_where(v, byte)              0 in the bytes that are BYTE
 *   vi_table16(p)  vi_lookup16(table, v) byte TABLE[b] for each byte b < 16 of V
 *   v_from_bits(v)                       words that are the bits of floats
 *   v_from_words(v)  v_from_halves(v, i) each word as a float; its low (0) or high (1) half, an f16
 *   v_times_power(x, n)                  x 2^n of words n, rounded once (SIMD_HAS_POWERS: AVX-512)
 *   v_from_e4m3(p)                       LANES bytes of E4M3, 2^-8 of what they are (a NaN: 480, of its sign)
 *   vi_four_words(row, offset, out)      OUT[w]: word W from OFFSET of each of LANES rows
 *   vi_four_bytes(p)                     the four bytes at P in all words
 *
 * Products of bytes, four to a word:
 *   vi_dot(sum, u, s)                    of unsigned U and signed S; U up to 63 without SIMD_HAS_DOT
 *   vi_dot_signed(sum, w, s)             of signed W.  START is -128 times the sums of S; what sums start from is
 *   vi_signed_start(start)               this
 * SIMD_HAS_DOT: that is one instruction, of signed operands only with SIMD_DOT_IS_SIGNED.  Without it, in parts:
 *   vi_pairs(u, s): two products in 16 bits  vi_add16  vi_pairs16: two of 16 bits
 *   vi_magnitude(s)  vi_signed_like(x, s): X, negated where S is negative
 *
 * Products of 16 bits, two to a word (SIMD_HAS_HALVES: AVX-512 with VNNI):
 *   v_abs v_div  vi_to_words(v)          floats to the nearest words, of two the even
 *   vi_halves_of_bytes(p)                2 LANES signed bytes as halves
 *   vi_store_halves(p, v)                the low halves of words
 *   vi_store_eight(to, p, offset)        the halves at OFFSET from each of eight addresses
 *   vi_two_halves(p)                     the two halves at P in all words
 *   vi_interleave(a, b, out)             words of a half of A and one of B, in an order of this family;
 *   v_deinterleave(pair)                 that order of the halves' columns undone
 *   vi_dot16(sum, a, b)                  of signed halves
 *   vi_dot_in_place(sum, u, s)           as vi_dot, where sums are in many registers: of the intrinsic compilers make
 *                                        copies;  vi_as_unsigned(w): for U, sums start from vi_signed_start
 *   vi_eight_words(row, offset, out)     as vi_four_words
 * Without a product that adds to its sum (SIMD_HAS_HALF_PRODUCTS: AVX2) v_abs to vi_two_halves but vi_halves_of_bytes,
 * vi_dot16, and
 *   vi_products16(a, b)                  of signed halves, two to a word
 *   vi_halves_of_words(v, out)           of each word its bytes 0 and 2 as signed halves, and 1 and 3
 *   vi_halves_of_nibbles(v, out)         so of its bytes' low four bits, unsigned, and then of the high ones
 *   vi_byte_pairs(a, b, out)             16 signed bytes at A and at B as halves, in turns
 *   vi_eight_nibble_pairs(a, b, out)     so low four bits of 8 bytes, less 8, and then the high ones
 *   v_fma_into(sum, a, b)                v_fma, where sums are in many registers
 *   v_reduce_four(r, p)                  as v_reduce_each, of four
 *
 * Products of bf16, two to a word (SIMD_HAS_BF16: AVX-512 with BF16 and VNNI).  Subnormal numbers count as 0, whatever
 * MXCSR says:
 *   v_dot_bf16(sum, a, b)                each float of SUM and the two products of that word's halves; rounded to
 *                                        nearest even at least once and at most once a product
 *   v_round_bf16(p, v)                   as v_to_bf16
 */
#ifndef TCB_KERNELS_SIMD_SIMD_H
#define TCB_KERNELS_SIMD_SIMD_H

#include "kernels/simd/simd_inline.h"

#if defined(__AVX512BW__)
#include "kernels/simd/simd_avx512.h"
#elif defined(__AVX2__)
#include "kernels/simd/simd_avx2.h"
#elif defined(__ARM_FEATURE_DOTPROD)
#include "kernels/simd/simd_neon.h"
#else
#include "kernels/simd/simd_scalar.h"
#endif

enum { VECTOR_BYTES = 4 * LANES };

/* NAME_<isa>, the family's word and its constant. */
#define SIMD_NAME(name) SIMD_JOIN(name, SIMD_ISA)
#define SIMD_TEXT SIMD_STRING(SIMD_ISA)
#define SIMD_ISA_ID SIMD_JOIN(TCB_ISA, SIMD_ID)
#define SIMD_JOIN(name, isa) SIMD_JOIN_TOKENS(name, isa)
#define SIMD_JOIN_TOKENS(name, isa) name##_##isa
#define SIMD_STRING(token) SIMD_STRING_TOKENS(token)
#define SIMD_STRING_TOKENS(token) #token

/* At most LANES of the LEFT values that begin at FROM, the rest FILL. */
SIMD_INLINE vfloat v_load_left(const float *from, size_t left, float fill)
{
	return left >= LANES ? v_load(from) : v_load_part(from, left, fill);
}

#ifdef SIMD_HAS_BYTES

SIMD_INLINE vint vi_four_bytes(const int8_t *from)
{
	int32_t four;
	memcpy(&four, from, sizeof(four));
	return vi_words(four);
}

#if defined(SIMD_HAS_HALVES) || defined(SIMD_HAS_HALF_PRODUCTS)
SIMD_INLINE vint vi_two_halves(const int16_t *from)
{
	int32_t both;
	memcpy(&both, from, sizeof(both));
	return vi_words(both);
}
#endif

#ifndef SIMD_HAS_DOT

SIMD_INLINE vint vi_dot(vint sum, vint u, vint s)
{
	return vi_add(sum, vi_pairs16(vi_pairs(u, s)));
}

SIMD_INLINE vint vi_signed_start(vint start)
{
	return vi_sub(start, start);
}

SIMD_INLINE vint vi_dot_signed(vint sum, vint w, vint s)
{
	return vi_dot(sum, vi_magnitude(w), vi_signed_like(s, w));
}

#endif
#endif

/* Whole numbers are added to SUM here: with the 16 registers of AVX2 compilers otherwise add up products in trees,
 * whose parts do not fit. */
#if defined(__AVX2__) && !defined(__AVX512F__)
#define SIMD_IN_ORDER(sum) __asm__ volatile("" : "+x"(sum))
#else
#define SIMD_IN_ORDER(sum) (void)(sum)
#endif

/* The vector is loaded here, neither later nor again. */
#if defined(__AVX512F__)
#define SIMD_IN_REGISTER(vector) __asm__ volatile("" : "+v"(vector))
#else
#define SIMD_IN_REGISTER(vector) (void)(vector)
#endif

#endif
