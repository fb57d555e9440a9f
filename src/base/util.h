/* SPDX-License-Identifier: MIT
 *
 * Small things everyone needs: the monotonic clock, a seeded random generator,
 * hashing (XXH3), and a growing string.
 */
#ifndef TCB_BASE_UTIL_H
#define TCB_BASE_UTIL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* clock.c: nanoseconds of CLOCK_MONOTONIC. */
uint64_t tcb_clock_ns(void);

/* rng.c: xoshiro256** seeded through splitmix64; the same seed gives the same sequence everywhere. */
struct tcb_rng {
	uint64_t s[4];
};
void tcb_rng_init(struct tcb_rng *rng, uint64_t seed);
uint64_t tcb_rng_next(struct tcb_rng *rng);
uint64_t tcb_rng_below(struct tcb_rng *rng, uint64_t bound); /* uniform in [0, bound), bound >= 1 */
double tcb_rng_unit(struct tcb_rng *rng);                    /* uniform in [0, 1) */
float tcb_rng_normal(struct tcb_rng *rng);                   /* mean 0, variance 1, about normal */

/* hash.c: XXH3. */
uint64_t tcb_hash64(const void *data, size_t bytes, uint64_t seed);
void tcb_hash_hex(const void *data, size_t bytes, char out[17]); /* 16 hex digits of tcb_hash64(..., 0) */

/* str.c: a string that grows; fini with tcb_str_fini.  After a failed allocation it stays valid and `failed` is set. */
struct tcb_str {
	char *data; /* NUL-terminated once anything was added, else NULL */
	size_t length, capacity;
	int failed;
};
void tcb_str_add(struct tcb_str *str, const char *text);
void tcb_str_add_bytes(struct tcb_str *str, const void *bytes, size_t count);
void tcb_str_addf(struct tcb_str *str, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tcb_str_fini(struct tcb_str *str);
enum { TCB_SIZE_TEXT_MAX = 32 };
void tcb_size_text(uint64_t bytes, char out[TCB_SIZE_TEXT_MAX]); /* "48 KiB" */
/* Which of the COUNT texts TEXT is; -1: none. */
int tcb_text_find(const char *const *texts, int count, const char *text);

#endif
