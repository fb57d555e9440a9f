/* SPDX-License-Identifier: MIT
 *
 * In: a place.  Out: after how many bytes of other reads a line has left the
 * caches.  Each thread reads its share of a footprint from the first byte to
 * the last and then follows a chain of pointers through some of the lines that
 * it read first, in random order, so that nothing can be fetched ahead.  The same
 * lines are flushed and the chain is followed again: that is what memory takes,
 * with the same pages and in the same minute.  So no plateau has to be
 * recognised: a footprint is cold where both take as long, however many levels
 * the caches have, and the footprint grows only until it is.
 */
#include "device/cache.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/buffer.h"
#include "base/cgroup.h"
#include "base/pool.h"
#include "base/sizes.h"
#include "base/util.h"
#include "device/cpus.h"
#include "device/device.h"

enum {
	LINE = 64,
	LINES = 512,           /* of a chain */
	APART = 4,             /* of so many lines one is in the chain: few pages, whose addresses take no time */
	PIECES = 16,           /* of a share: no thread is more than one ahead of another */
	LEAST_BYTES = 1 << 20, /* of a thread's share: beyond its own caches */
	COLD_LEAST = 2,        /* footprints at the end that must be cold; then no larger one is tried */
	SAMPLES = 2,           /* without interruption, of a footprint */
	TRIES = 5,
	REPORTED_TRUSTED = 64 << 20,
	ROTATION_LEAST = 512 << 20, /* beyond the last-level cache of any server that does not tell its size */
};
static const size_t MOST_BYTES = (size_t)2 << 30, LEAST_MOST = (size_t)256 << 20;
static const double COLD_SHARE = 0.2; /* of the lines that may still be in a cache: some outlive many others */
static const double CONTRAST = 1.5;   /* times what a line in a cache takes, at least: memory */

/* ---- the knee ---- */

static double least_warm_ns(const struct tcb_cache_point *points, size_t count)
{
	double least = INFINITY;
	for (size_t i = 0; i < count; i++)
		least = fmin(least, points[i].warm_ns);
	return least;
}

/* What memory takes is the same whatever was read before: the least of all footprints, as of the warm lines, since
 * others make it longer and nothing makes it shorter. */
static double memory_ns(const struct tcb_cache_point *points, size_t count)
{
	double least = INFINITY;
	for (size_t i = 0; i < count; i++)
		least = fmin(least, points[i].cold_ns);
	return least;
}

size_t tcb_cache_knee(const struct tcb_cache_point *points, size_t count)
{
	const double hit = least_warm_ns(points, count), memory = memory_ns(points, count);
	size_t first = count;
	if (count == 0 || !(memory >= CONTRAST * hit))
		return 0;
	while (first > 0 && memory - points[first - 1].warm_ns <= COLD_SHARE * (memory - hit))
		first--;
	/* Where all are cold none was in a cache, to tell them from. */
	return first == 0 || count - first < COLD_LEAST ? 0 : points[first].bytes;
}

/* ---- measuring ---- */

/* Of one thread; on a cache line of its own. */
struct share {
	_Alignas(64) char *start;
	size_t bytes, offset[LINES]; /* of the chain's lines, in random order */
	double ns;                   /* per line, of the chain followed last */
	long interrupted;
	uint64_t seen;
};

struct measuring {
	struct tcb_pool *pool;
	unsigned threads;
	struct share *shares; /* [threads] */
	struct tcb_buffer buffer;
	size_t written;
	size_t bytes; /* of the footprint */
	size_t piece; /* of each share, that is read now */
	struct tcb_rng rng;
};

static long interruptions(void)
{
	struct rusage usage;
	return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : 0;
}

static void flush_line(const void *line)
{
#if defined(__x86_64__)
	__asm__ volatile("clflush %0" : : "m"(*(const char *)line) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dc civac, %0" : : "r"(line) : "memory");
#else
	(void)line;
#endif
}

static void fence(void)
{
#if defined(__x86_64__)
	__asm__ volatile("mfence" : : : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("dsb sy" : : : "memory");
#endif
}

/* Nanoseconds per line of following the chain once. */
static double follow(const struct share *share)
{
	const char *at = share->start + share->offset[0];
	fence();
	const uint64_t start = tcb_clock_ns();
	for (size_t i = 0; i < LINES; i++)
		at = *(const char *const volatile *)at;
	fence();
	return (double)(tcb_clock_ns() - start) / LINES;
}

static void chain(struct share *share)
{
	for (size_t i = 0; i < LINES; i++)
		*(char **)(void *)(share->start + share->offset[i]) = share->start + share->offset[(i + 1) % LINES];
}

static void touch(void *ctx, size_t task, unsigned thread)
{
	const struct measuring *m = ctx;
	struct share *share = &m->shares[task];
	const size_t end = share->bytes * (m->piece + 1) / PIECES / LINE * LINE;
	(void)thread;
	if (m->piece == 0)
		share->interrupted = interruptions();
	for (size_t at = share->bytes * m->piece / PIECES / LINE * LINE; at < end; at += LINE)
		share->seen += *(const volatile uint64_t *)(const void *)(share->start + at);
}

static void read_warm(void *ctx, size_t task, unsigned thread)
{
	struct share *share = &((struct measuring *)ctx)->shares[task];
	(void)thread;
	share->ns = follow(share);
	share->interrupted = interruptions() - share->interrupted;
}

static void read_cold(void *ctx, size_t task, unsigned thread)
{
	struct share *share = &((struct measuring *)ctx)->shares[task];
	(void)thread;
	for (size_t i = 0; i < LINES; i++)
		flush_line(share->start + share->offset[i]);
	share->ns = follow(share);
}

static void write_pages(void *ctx, size_t task, unsigned thread)
{
	struct measuring *m = ctx;
	const size_t bytes = m->bytes - m->written;
	char *start = (char *)m->buffer.data + m->written;
	(void)thread;
	memset(start + bytes * task / m->threads, 1, bytes * (task + 1) / m->threads - bytes * task / m->threads);
}

static void everybody(struct measuring *m, tcb_task_fn *task)
{
	tcb_pool_run(m->pool, m->threads, TCB_SCHED_STATIC, m->threads, task, m);
}

/* Shares of the footprint, each with a new chain through lines at its beginning. */
static void deal(struct measuring *m)
{
	const size_t each = m->bytes / m->threads / LINE * LINE;
	if (m->bytes > m->written) {
		everybody(m, write_pages);
		m->written = m->bytes;
	}
	for (unsigned t = 0; t < m->threads; t++) {
		struct share *share = &m->shares[t];
		share->start = (char *)m->buffer.data + t * each;
		share->bytes = each;
		for (size_t i = 0; i < LINES; i++)
			share->offset[i] = (APART * i + tcb_rng_below(&m->rng, APART)) * LINE;
		for (size_t i = LINES; i > 1; i--) {
			const size_t j = (size_t)tcb_rng_below(&m->rng, i), swap = share->offset[i - 1];
			share->offset[i - 1] = share->offset[j];
			share->offset[j] = swap;
		}
		chain(share);
	}
}

/* The least nanoseconds of any thread. */
static double least_ns(const struct measuring *m)
{
	double least = INFINITY;
	for (unsigned t = 0; t < m->threads; t++)
		least = fmin(least, m->shares[t].ns);
	return least;
}

/* Samples of one footprint: the least of each, since others who want the processor or the caches make all times longer.
 * Returns whether enough of them were not interrupted. */
static int sample(struct measuring *m, struct tcb_deadline deadline, struct tcb_cache_point *out)
{
	size_t clean = 0;
	*out = (struct tcb_cache_point){ .bytes = m->bytes, .warm_ns = INFINITY, .cold_ns = INFINITY };
	for (size_t tries = 0; tries < TRIES && clean < SAMPLES; tries++) {
		long interrupted = 0;
		if (tries >= SAMPLES && tcb_deadline_is_over(deadline))
			break;
		deal(m);
		for (m->piece = 0; m->piece < PIECES; m->piece++)
			everybody(m, touch);
		everybody(m, read_warm);
		out->warm_ns = fmin(out->warm_ns, least_ns(m));
		for (unsigned t = 0; t < m->threads; t++)
			interrupted += m->shares[t].interrupted;
		clean += interrupted == 0;
		everybody(m, read_cold);
		out->cold_ns = fmin(out->cold_ns, least_ns(m));
	}
	return clean >= SAMPLES;
}

static size_t most_footprint(const struct tcb_place *place)
{
	const size_t wanted = 4 * place->device.target.llc_bytes;
	const size_t most = wanted > LEAST_MOST ? wanted : LEAST_MOST, quarter = tcb_available_bytes("") / 4;
	return tcb_least(most < MOST_BYTES ? most : MOST_BYTES, quarter);
}

/* Measures a footprint; POINTS stay in order. */
static void add_point(struct measuring *m, size_t bytes, struct tcb_deadline deadline, struct tcb_cache *out)
{
	struct tcb_cache_point point;
	size_t at = out->count++;
	m->bytes = bytes;
	out->is_sure &= sample(m, deadline, &point);
	for (; at > 0 && out->points[at - 1].bytes > bytes; at--)
		out->points[at] = out->points[at - 1];
	out->points[at] = point;
}

/* Twice the footprint each time until it is cold, then once between the last that was not and the first that was. */
static void measure(struct measuring *m, size_t most, struct tcb_deadline deadline, struct tcb_cache *out)
{
	size_t bytes = LEAST_BYTES;
	out->is_sure = 1;
	while (bytes < m->threads * (size_t)LEAST_BYTES)
		bytes *= 2;
	for (; bytes <= most && out->bytes == 0 && !tcb_deadline_is_over(deadline); bytes *= 2) {
		add_point(m, bytes, deadline, out);
		out->bytes = tcb_cache_knee(out->points, out->count);
	}
	if (out->bytes > 0 && !tcb_deadline_is_over(deadline)) {
		add_point(m, out->bytes / 4 * 3, deadline, out);
		out->bytes = tcb_cache_knee(out->points, out->count);
	}
	out->is_sure &= out->bytes > 0;
}

enum tcb_status tcb_cache_measure(const struct tcb_place *place, struct tcb_deadline deadline, struct tcb_cache *out,
				  struct tcb_error *err)
{
	const size_t most = most_footprint(place);
	const struct tcb_cpus *cpus = tcb_cpus_of(place);
	struct measuring m = { .threads = cpus->count };
	*out = (struct tcb_cache){ .bytes = 0 };
	tcb_rng_init(&m.rng, 1);
	m.shares = aligned_alloc(_Alignof(struct share), m.threads * sizeof *m.shares);
	enum tcb_status status =
		m.shares ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for measuring the cache");
	if (status == TCB_OK)
		memset(m.shares, 0, m.threads * sizeof *m.shares);
	if (status == TCB_OK)
		status = tcb_buffer_alloc(TCB_BUFFER_HUGE, most, &m.buffer, err);
	if (status == TCB_OK)
		status = tcb_pool_create(m.threads, cpus->list, &m.pool, err);
	if (status == TCB_OK)
		measure(&m, most, deadline, out);
	tcb_pool_destroy(m.pool);
	tcb_buffer_free(&m.buffer);
	free(m.shares);
	return status;
}

/* ---- what is made of it ---- */

size_t tcb_cache_bytes(const struct tcb_place *place)
{
	const size_t reported = place->device.target.llc_bytes;
	const size_t trusted = reported < REPORTED_TRUSTED ? reported : REPORTED_TRUSTED;
	if (place->cache_bytes == 0)
		return reported;
	return place->cache_bytes > trusted ? place->cache_bytes : trusted;
}

struct tcb_rotation_size tcb_rotation_size(const struct tcb_place *place)
{
	const size_t cache = tcb_cache_bytes(place), twice = 2 * cache;
	if (place->cache_bytes > 0)
		return (struct tcb_rotation_size){ twice, twice };
	return (struct tcb_rotation_size){ twice > ROTATION_LEAST ? twice : ROTATION_LEAST, 2 * twice };
}
