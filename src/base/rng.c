/* SPDX-License-Identifier: MIT
 *
 * xoshiro256** (Blackman and Vigna, "Scrambled linear pseudorandom number
 * generators", 2021), seeded through splitmix64 as its authors advise.
 */
#include <math.h>

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

float tcb_rng_normal(struct tcb_rng *rng)
{
	/* Box-Muller; 1 - u keeps the logarithm finite. */
	double radius = sqrt(-2.0 * log(1.0 - tcb_rng_unit(rng)));

	return (float)(radius * cos(6.283185307179586 * tcb_rng_unit(rng)));
}
