/* SPDX-License-Identifier: MIT
 *
 * xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators", 2021), seeded through splitmix64 as its authors advise.
 */
#include "base/util.h"

static uint64_t rotate_left(uint64_t x, int bits)
{
	return (x << bits) | (x >> (64 - bits));
}

void tcb_rng_init(struct tcb_rng *rng, uint64_t seed)
{
	for (int i = 0; i < 4; i++) {
		uint64_t z = (seed += 0x9e3779b97f4a7c15u);

		z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
		z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
		rng->s[i] = z ^ (z >> 31);
	}
}

uint64_t tcb_rng_next(struct tcb_rng *rng)
{
	uint64_t *s = rng->s;
	uint64_t result = rotate_left(s[1] * 5, 7) * 9;
	uint64_t t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotate_left(s[3], 45);
	return result;
}

uint64_t tcb_rng_below(struct tcb_rng *rng, uint64_t bound)
{
	/* Values below 2^64 mod bound would favour small results; they are drawn again. */
	uint64_t floor = (0 - bound) % bound;
	uint64_t value;

	do
		value = tcb_rng_next(rng);
	while (value < floor);
	return value % bound;
}

double tcb_rng_unit(struct tcb_rng *rng)
{
	return (double)(tcb_rng_next(rng) >> 11) * 0x1p-53;
}

/*
 * The sum of six uniform numbers of 32 bits, a quarter of the time of Box and Muller's method: operands have tens of
 * millions of values.  Its fourth moment is 2.8 (a normal one's 3) and nothing is beyond 4.25.
 */
float tcb_rng_normal(struct tcb_rng *rng)
{
	uint64_t sum = 0;

	for (int i = 0; i < 3; i++) {
		const uint64_t two = tcb_rng_next(rng);

		sum += (two >> 32) + (uint32_t)two;
	}
	/* The variance of each is 2^64 / 12. */
	return (float)(((double)sum - 3 * 4294967295.0) * (0x1p-32 * 1.4142135623730951));
}
