/* SPDX-License-Identifier: MIT
 *
 * What is known of the bits of one value.
 */
#ifndef TCB_PTX_KNOWN_BITS_H
#define TCB_PTX_KNOWN_BITS_H

#include <stdint.h>

/* A bit in neither is unknown.  All bits in both: no value has been seen yet. */
struct tcb_ptx_bits {
	uint64_t zeros, ones;
};

static inline uint64_t tcb_ptx_low_bits(unsigned count)
{
	return count >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << count) - 1;
}

static inline struct tcb_ptx_bits tcb_ptx_bits_constant(uint64_t value)
{
	return (struct tcb_ptx_bits){ ~value, value };
}

static inline int tcb_ptx_bits_is_constant(struct tcb_ptx_bits bits)
{
	return (bits.zeros ^ bits.ones) == ~(uint64_t)0;
}

/* BITS as a value of WIDTH bits: those above are 0. */
static inline struct tcb_ptx_bits tcb_ptx_bits_cut(struct tcb_ptx_bits bits, unsigned width)
{
	uint64_t mask = tcb_ptx_low_bits(width);

	return (struct tcb_ptx_bits){ bits.zeros | ~mask, bits.ones & mask };
}

/* A value that is at most MOST. */
static inline struct tcb_ptx_bits tcb_ptx_bits_below(uint64_t most)
{
	return tcb_ptx_bits_cut((struct tcb_ptx_bits){ 0, 0 }, most ? 64 - (unsigned)__builtin_clzll(most) : 0);
}

/* Low bits that are surely 0. */
static inline unsigned tcb_ptx_bits_trailing(struct tcb_ptx_bits bits)
{
	return ~bits.zeros ? (unsigned)__builtin_ctzll(~bits.zeros) : 64;
}

#endif
