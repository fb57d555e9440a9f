/* SPDX-License-Identifier: MIT
 *
 * Private to src/device: the read and copy loops that bandwidth.c chooses from.
 *
 * A loop reads STREAMS streams of LINES cache lines of 64 bytes side by side:
 * stream s starts at DATA + s * STRIDE.  Loops that prefetch ask for the line
 * DISTANCE bytes ahead of the one they read; prefetches past the end are
 * harmless.  The value returned is the exclusive or of all 8-byte words read.
 */
#ifndef TCB_DEVICE_BANDWIDTH_LOOPS_H
#define TCB_DEVICE_BANDWIDTH_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/geometry.h"

enum { TCB_READ_LINE = 64 };

typedef uint64_t tcb_read_fn(const char *data, size_t lines, size_t stride, size_t distance);

struct tcb_read_loop {
	enum tcb_isa isa;
	unsigned streams;
	const char *hint; /* "t0", "t1", "nta"; NULL: no prefetch */
	tcb_read_fn *read;
};

/* bandwidth.c, for tests: the 8-byte words of the last call's data, exclusive-ored as the loops saw them; DATA_OUT
 * gets the data and its length in lines. */
struct tcb_bandwidth;
uint64_t tcb_bandwidth_last_sum(const struct tcb_bandwidth *bandwidth, const char **data_out, size_t *lines_out);
/* bandwidth.c: every loop that this host can run, list by list, best instruction family first; NULL at the end. */
const struct tcb_read_loop *const *tcb_bandwidth_lists(void);

/* Each list ends with a row whose read is NULL; its first row has one stream and no prefetch. */
extern const struct tcb_read_loop tcb_read_loops_scalar[];
#if defined(__x86_64__)
extern const struct tcb_read_loop tcb_read_loops_avx2[];
extern const struct tcb_read_loop tcb_read_loops_avx512[];
#elif defined(__aarch64__)
extern const struct tcb_read_loop tcb_read_loops_neon[];
#endif

/*
 * The loops of one file: it defines
 *   struct sums             accumulators, zero at the start
 *   read_line(sums, p)      reads the 64 bytes at p into them
 *   fold(sums)              one number of all
 * and then says TCB_READ_LOOPS(isa).  The body is forced inline with constant
 * STREAMS and HINT, so each row is a loop of its own.
 */
#define TCB_READ_BODY                                                                                           \
	static inline __attribute__((always_inline)) void prefetch_line(const char *p, int hint)                \
	{                                                                                                       \
		if (hint == 1)                                                                                  \
			__builtin_prefetch(p, 0, 3);                                                            \
		else if (hint == 2)                                                                             \
			__builtin_prefetch(p, 0, 2);                                                            \
		else if (hint == 3)                                                                             \
			__builtin_prefetch(p, 0, 0);                                                            \
	}                                                                                                       \
	static inline __attribute__((always_inline)) void read_four(struct sums *sums, const char *p, int hint, \
								    size_t distance)                            \
	{                                                                                                       \
		prefetch_line(p + distance, hint);                                                              \
		read_line(sums, p);                                                                             \
		prefetch_line(p + distance + TCB_READ_LINE, hint);                                              \
		read_line(sums, p + TCB_READ_LINE);                                                             \
		prefetch_line(p + distance + 2 * TCB_READ_LINE, hint);                                          \
		read_line(sums, p + 2 * TCB_READ_LINE);                                                         \
		prefetch_line(p + distance + 3 * TCB_READ_LINE, hint);                                          \
		read_line(sums, p + 3 * TCB_READ_LINE);                                                         \
	}                                                                                                       \
	static inline __attribute__((always_inline)) uint64_t read_streams(                                     \
		const char *data, size_t lines, size_t stride, size_t distance, int streams, int hint)          \
	{                                                                                                       \
		struct sums sums = { 0 };                                                                       \
		const char *p = data, *blocks_end = data + lines / 4 * 4 * TCB_READ_LINE;                       \
		for (; p < blocks_end; p += 4 * TCB_READ_LINE) {                                                \
			read_four(&sums, p, hint, distance);                                                    \
			if (streams >= 2)                                                                       \
				read_four(&sums, p + stride, hint, distance);                                   \
			if (streams >= 4) {                                                                     \
				read_four(&sums, p + 2 * stride, hint, distance);                               \
				read_four(&sums, p + 3 * stride, hint, distance);                               \
			}                                                                                       \
			if (streams >= 8) {                                                                     \
				read_four(&sums, p + 4 * stride, hint, distance);                               \
				read_four(&sums, p + 5 * stride, hint, distance);                               \
				read_four(&sums, p + 6 * stride, hint, distance);                               \
				read_four(&sums, p + 7 * stride, hint, distance);                               \
			}                                                                                       \
		}                                                                                               \
		for (; p < data + lines * TCB_READ_LINE; p += TCB_READ_LINE)                                    \
			for (int s = 0; s < streams; s++)                                                       \
				read_line(&sums, p + (size_t)s * stride);                                       \
		return fold(&sums);                                                                             \
	}

/*
 * A copy of LINES cache lines.  With BLOCK lines, 1 or more, that many are brought into the caches first and written
 * then, so that memory is not asked to turn from reading to writing at every line; 0: line by line.  Loops that
 * prefetch ask for the line DISTANCE bytes ahead.  What was streamed is visible to other threads afterwards.
 */
typedef void tcb_copy_fn(char *to, const char *from, size_t lines, size_t distance, size_t block);

struct tcb_copy_loop {
	enum tcb_isa isa;
	int is_streamed;  /* stores past the caches, which need not read what they overwrite */
	const char *hint; /* "t0", "nta"; NULL: no prefetch */
	tcb_copy_fn *copy;
};

/* As the read loops' lists. */
const struct tcb_copy_loop *const *tcb_bandwidth_copy_lists(void);
extern const struct tcb_copy_loop tcb_copy_loops_scalar[];
#if defined(__x86_64__)
extern const struct tcb_copy_loop tcb_copy_loops_avx2[];
extern const struct tcb_copy_loop tcb_copy_loops_avx512[];
#elif defined(__aarch64__)
extern const struct tcb_copy_loop tcb_copy_loops_neon[];
#endif

/*
 * The copy loops of one file: it defines
 *   store_line(to, from)    copies 64 bytes
 *   stream_line(to, from)   the same past the caches
 *   fence()                 after which the latter are visible
 * and then says TCB_COPY_LOOPS(isa, table), after TCB_READ_LOOPS.
 */
#define TCB_COPY_BODY                                                                                                  \
	static inline __attribute__((always_inline)) void touch_lines(const char *from, size_t lines, size_t distance, \
								      int hint)                                        \
	{                                                                                                              \
		struct sums sums = { 0 };                                                                              \
		for (size_t i = 0; i < lines; i++) {                                                                   \
			prefetch_line(from + i * TCB_READ_LINE + distance, hint);                                      \
			read_line(&sums, from + i * TCB_READ_LINE);                                                    \
		}                                                                                                      \
		uint64_t seen = fold(&sums);                                                                           \
		__asm__ volatile("" : : "r"(seen)); /* or the reads would be left out */                               \
	}                                                                                                              \
	static inline __attribute__((always_inline)) void copy_lines(                                                  \
		char *to, const char *from, size_t lines, size_t distance, size_t block, int streamed, int hint)       \
	{                                                                                                              \
		size_t step = block ? block : lines;                                                                   \
		for (size_t begin = 0; begin < lines; begin += step) {                                                 \
			size_t end = lines - begin < step ? lines : begin + step;                                      \
			if (block)                                                                                     \
				touch_lines(from + begin * TCB_READ_LINE, end - begin, distance, hint);                \
			for (size_t i = begin; i < end; i++) {                                                         \
				if (!block)                                                                            \
					prefetch_line(from + i * TCB_READ_LINE + distance, hint);                      \
				if (streamed)                                                                          \
					stream_line(to + i * TCB_READ_LINE, from + i * TCB_READ_LINE);                 \
				else                                                                                   \
					store_line(to + i * TCB_READ_LINE, from + i * TCB_READ_LINE);                  \
			}                                                                                              \
		}                                                                                                      \
		if (streamed)                                                                                          \
			fence();                                                                                       \
	}

#define TCB_COPY_FN(name, streamed, hint)                                                         \
	static void name(char *to, const char *from, size_t lines, size_t distance, size_t block) \
	{                                                                                         \
		copy_lines(to, from, lines, distance, block, streamed, hint);                     \
	}

#define TCB_COPY_LOOPS(ISA, table)                                                        \
	TCB_COPY_BODY                                                                     \
	TCB_COPY_FN(copy_plain, 0, 0)                                                     \
	TCB_COPY_FN(copy_plain_t0, 0, 1)                                                  \
	TCB_COPY_FN(copy_streamed, 1, 0)                                                  \
	TCB_COPY_FN(copy_streamed_t0, 1, 1)                                               \
	TCB_COPY_FN(copy_streamed_nta, 1, 3)                                              \
	const struct tcb_copy_loop table[] = {                                            \
		{ ISA, 0, NULL, copy_plain },         { ISA, 0, "t0", copy_plain_t0 },    \
		{ ISA, 1, NULL, copy_streamed },      { ISA, 1, "t0", copy_streamed_t0 }, \
		{ ISA, 1, "nta", copy_streamed_nta }, { ISA, 0, NULL, NULL },             \
	};

#define TCB_READ_FN(name, streams, hint)                                                     \
	static uint64_t name(const char *data, size_t lines, size_t stride, size_t distance) \
	{                                                                                    \
		return read_streams(data, lines, stride, distance, streams, hint);           \
	}

#define TCB_READ_LOOPS(ISA, table)                                                                           \
	TCB_READ_BODY                                                                                        \
	TCB_READ_FN(read_1, 1, 0)                                                                            \
	TCB_READ_FN(read_2, 2, 0)                                                                            \
	TCB_READ_FN(read_4, 4, 0)                                                                            \
	TCB_READ_FN(read_8, 8, 0)                                                                            \
	TCB_READ_FN(read_1_t0, 1, 1)                                                                         \
	TCB_READ_FN(read_2_t0, 2, 1)                                                                         \
	TCB_READ_FN(read_4_t0, 4, 1)                                                                         \
	TCB_READ_FN(read_8_t0, 8, 1)                                                                         \
	TCB_READ_FN(read_1_t1, 1, 2)                                                                         \
	TCB_READ_FN(read_2_t1, 2, 2)                                                                         \
	TCB_READ_FN(read_4_t1, 4, 2)                                                                         \
	TCB_READ_FN(read_8_t1, 8, 2)                                                                         \
	TCB_READ_FN(read_1_nta, 1, 3)                                                                        \
	TCB_READ_FN(read_2_nta, 2, 3)                                                                        \
	TCB_READ_FN(read_4_nta, 4, 3)                                                                        \
	TCB_READ_FN(read_8_nta, 8, 3)                                                                        \
	const struct tcb_read_loop table[] = {                                                               \
		{ ISA, 1, NULL, read_1 },      { ISA, 2, NULL, read_2 },      { ISA, 4, NULL, read_4 },      \
		{ ISA, 8, NULL, read_8 },      { ISA, 1, "t0", read_1_t0 },   { ISA, 2, "t0", read_2_t0 },   \
		{ ISA, 4, "t0", read_4_t0 },   { ISA, 8, "t0", read_8_t0 },   { ISA, 1, "t1", read_1_t1 },   \
		{ ISA, 2, "t1", read_2_t1 },   { ISA, 4, "t1", read_4_t1 },   { ISA, 8, "t1", read_8_t1 },   \
		{ ISA, 1, "nta", read_1_nta }, { ISA, 2, "nta", read_2_nta }, { ISA, 4, "nta", read_4_nta }, \
		{ ISA, 8, "nta", read_8_nta }, { ISA, 0, NULL, NULL },                                       \
	};

#endif
