/* SPDX-License-Identifier: MIT
 *
 * In: addresses in the order in which a loop touches them.  Out: the share that
 * a cache would have held.  Each set is a list of its lines, the newest first.
 */
#include <stdlib.h>
#include <string.h>

#include "verify/measure_cache.h"

struct tcb_cache {
	size_t sets, ways, line_bytes, touched, hits;
	size_t line[]; /* [set * ways + age]; the line's number and 1, 0 for none */
};

struct tcb_cache *tcb_cache_create(size_t lines, size_t ways, size_t line_bytes)
{
	struct tcb_cache *cache = calloc(1, sizeof *cache + lines * sizeof *cache->line);
	if (!cache)
		return NULL;
	cache->sets = lines / ways;
	cache->ways = ways;
	cache->line_bytes = line_bytes;
	return cache;
}

void tcb_cache_destroy(struct tcb_cache *cache)
{
	free(cache);
}

void tcb_cache_touch(struct tcb_cache *cache, size_t address)
{
	const size_t number = address / cache->line_bytes;
	size_t *set = cache->line + number % cache->sets * cache->ways, age = 0;
	while (age + 1 < cache->ways && set[age] != number + 1)
		age++;
	cache->hits += set[age] == number + 1;
	cache->touched++;
	memmove(set + 1, set, age * sizeof *set);
	set[0] = number + 1;
}

double tcb_cache_hit_rate(const struct tcb_cache *cache)
{
	return cache->touched ? (double)cache->hits / (double)cache->touched : 0;
}
