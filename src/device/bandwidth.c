/* SPDX-License-Identifier: MIT
 *
 * In: a pool, bytes per call, size of the rotation.  Out: the fastest way this
 * host has to read that much memory under those conditions, or to copy one half
 * of it to the other, ready to be timed between the calls of kernels.
 *
 * Which loop is fastest depends on the machine and on where the data lies:
 * several streams and software prefetch help a single core to keep more misses
 * in flight, plain wide loads win in the inner caches.  So all are tried, in
 * interleaved rounds that halve the field by the median; then, with several
 * threads, the ways of dealing the data to them.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/cpu_identity.h"
#include "base/pool.h"
#include "base/problem.h"
#include "base/util.h"
#include "device/bandwidth_loops.h"
#include "device/device.h"

enum {
	CANDIDATES_MAX = 160,
	ROUNDS_MIN = 3, /* passes of each candidate before the first halving; two more each time */
	ROUNDS_MAX = 31,
	HALVING_NS = 100000000,      /* more rounds while there is time: short trials are noisy */
	WAYS_LEAST = 4,              /* that are timed however late it is */
	TRIAL_BYTES_MAX = 8 << 20,   /* a trial reads no more than this, walking through the data */
	TRIAL_BYTES_MIN = 256 << 10, /* and repeats small ones: it should be long against the clock, */
	TRIAL_REPEATS_MAX = 16,      /* but a call of many threads is slow however little it reads */
	FILL_LINES = 1 << 14,        /* written between two looks at the clock */
	LOOP_CHOICE_NS = 1500000000, /* when to stop choosing on an overloaded machine */
	PIECE_CHOICE_NS = 500000000,
};

/* One way to read or copy: a loop, its prefetch distance, and the lines in one piece (0: one share per thread). */
struct way {
	const struct tcb_read_loop *loop; /* NULL where COPY is not */
	const struct tcb_copy_loop *copy;
	size_t block_lines; /* of COPY */
	size_t distance, piece_lines;
	double ns[ROUNDS_MAX], median;
};

/* What a thread has read; on a cache line of its own. */
struct seen {
	_Alignas(64) uint64_t sum;
};

struct tcb_bandwidth {
	struct tcb_pool *pool;
	unsigned threads;
	enum tcb_traffic kind;
	struct tcb_buffer buffer; /* none where DATA is lent */
	char *data;
	size_t lines;       /* of one call; of a copy, what is read and then what is written */
	size_t total_lines; /* of the rotation */
	size_t next;        /* where the next pass starts */
	uint64_t late_ns;   /* while it is filled: from then on with small pages; 0: never */
	size_t trial_lines;
	unsigned trial_repeats;
	struct way way; /* the chosen one */
	char method[64];
	/* the pass under way */
	const struct way *pass_way;
	char *pass_data;
	size_t pass_lines, pass_tasks;
	struct seen *seen; /* [threads] */
};

/* Any word, so that no two lines are alike and a skipped one is noticed. */
static uint64_t pattern(uint64_t index)
{
	uint64_t word = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
	return word ^ word >> 29;
}

const struct tcb_read_loop *const *tcb_bandwidth_lists(void)
{
	static const struct tcb_read_loop *const lists[] = {
#if defined(__x86_64__)
		tcb_read_loops_avx512,
		tcb_read_loops_avx2,
#elif defined(__aarch64__)
		tcb_read_loops_neon,
#endif
		tcb_read_loops_scalar,
		NULL
	};
	const struct tcb_read_loop *const *list = lists;
	struct tcb_device host;
	if (tcb_cpu_identify("cpu", 1, &host, NULL) != TCB_OK)
		host.target.isa_mask = 1u << TCB_ISA_SCALAR;
	while (!tcb_target_has(&host.target, (*list)[0].isa))
		list++;
	return list;
}

const struct tcb_copy_loop *const *tcb_bandwidth_copy_lists(void)
{
	static const struct tcb_copy_loop *const lists[] = {
#if defined(__x86_64__)
		tcb_copy_loops_avx512,
		tcb_copy_loops_avx2,
#elif defined(__aarch64__)
		tcb_copy_loops_neon,
#endif
		tcb_copy_loops_scalar,
		NULL
	};
	const struct tcb_copy_loop *const *list = lists;
	const enum tcb_isa best = (*tcb_bandwidth_lists())->isa;
	while ((*list)->isa != best)
		list++;
	return list;
}

static uint64_t read_range(const struct way *way, const char *data, size_t lines)
{
	const struct tcb_read_loop *loop = way->loop;
	size_t each = lines / loop->streams, rest = lines - each * loop->streams;
	uint64_t sum = loop->read(data, each, each * TCB_READ_LINE, way->distance);
	/* Fewer lines than streams are left over: their own short pass, by one stream. */
	for (const char *p = data + (lines - rest) * TCB_READ_LINE; rest > 0; rest--, p += TCB_READ_LINE)
		sum ^= tcb_read_loops_scalar[0].read(p, 1, 0, 0);
	return sum;
}

static void copy_task(void *ctx, size_t task, unsigned thread)
{
	struct tcb_bandwidth *b = ctx;
	size_t half = b->pass_lines / 2;
	size_t begin = half * task / b->pass_tasks, end = half * (task + 1) / b->pass_tasks;
	const struct way *way = b->pass_way;
	char *from = b->pass_data + begin * TCB_READ_LINE;
	(void)thread;
	way->copy->copy(from + half * TCB_READ_LINE, from, end - begin, way->distance, way->block_lines);
}

static void read_task(void *ctx, size_t task, unsigned thread)
{
	struct tcb_bandwidth *b = ctx;
	size_t begin = b->pass_lines * task / b->pass_tasks, end = b->pass_lines * (task + 1) / b->pass_tasks;
	b->seen[thread].sum ^= read_range(b->pass_way, b->pass_data + begin * TCB_READ_LINE, end - begin);
}

/* Goes over the next LINES of the rotation. */
static void pass(struct tcb_bandwidth *b, const struct way *way, size_t lines)
{
	size_t pieces = way->piece_lines ? (lines + way->piece_lines - 1) / way->piece_lines : b->threads;
	if (lines > b->total_lines - b->next)
		b->next = 0;
	b->pass_way = way;
	b->pass_data = b->data + b->next * TCB_READ_LINE;
	b->pass_lines = lines;
	b->pass_tasks = pieces;
	b->next += lines;
	tcb_pool_run(b->pool, b->threads, way->piece_lines ? TCB_SCHED_DYNAMIC : TCB_SCHED_STATIC, pieces,
		     b->kind == TCB_TRAFFIC_COPY ? copy_task : read_task, b);
}

static double trial(struct tcb_bandwidth *b, const struct way *way)
{
	uint64_t start = tcb_clock_ns();
	for (unsigned i = 0; i < b->trial_repeats; i++)
		pass(b, way, b->trial_lines);
	return (double)(tcb_clock_ns() - start);
}

static int compare_ns(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static int compare_ways(const void *a, const void *b)
{
	return compare_ns(&((const struct way *)a)->median, &((const struct way *)b)->median);
}

/* Times each of WAYS in interleaved rounds and sorts them by the median.  After DEADLINE the round under way is the
 * last one, and the first of all ends there, with what it has; returns whether that was so. */
static int rank(struct tcb_bandwidth *b, struct way *ways, size_t count, unsigned rounds, uint64_t deadline)
{
	uint64_t enough = tcb_clock_ns() + HALVING_NS;
	size_t timed = count;
	unsigned done = 0;
	int is_late = 0;
	if (enough > deadline)
		enough = deadline;
	while (done < ROUNDS_MAX && !is_late && (done < rounds || tcb_clock_ns() < enough)) {
		for (size_t i = 0; i < timed; i++) {
			ways[i].ns[done] = trial(b, &ways[i]);
			if (done == 0 && i + 1 >= WAYS_LEAST && tcb_clock_ns() > deadline)
				timed = i + 1;
		}
		done++;
		is_late = tcb_clock_ns() > deadline;
	}
	for (size_t i = 0; i < timed; i++) {
		qsort(ways[i].ns, done, sizeof *ways[i].ns, compare_ns);
		ways[i].median = ways[i].ns[done / 2];
	}
	qsort(ways, timed, sizeof *ways, compare_ways);
	return is_late;
}

/* Leaves the fastest of WAYS in WAYS[0]. */
static void choose(struct tcb_bandwidth *b, struct way *ways, size_t count, uint64_t deadline)
{
	int is_late = 0;
	for (unsigned rounds = ROUNDS_MIN; count > 1 && !is_late; rounds += 2, count = (count + 1) / 2)
		is_late = rank(b, ways, count, rounds, deadline);
}

/* All loops of this host's instruction families: narrow loads with prefetch can beat wide ones, as they leave the
 * prefetches more time. */
static size_t list_ways(struct way *out)
{
	/* In bytes.  Nearer than 512 comes too late for DRAM, farther than 8192 has been seen to win nowhere. */
	static const struct {
		const char *hint;
		size_t distance;
	} prefetches[] = { { "t0", 512 },  { "t0", 1024 }, { "t0", 2048 }, { "t0", 4096 },
			   { "t0", 8192 }, { "t1", 1024 }, { "t1", 4096 }, { "nta", 2048 } };
	size_t count = 0;

	for (const struct tcb_read_loop *const *list = tcb_bandwidth_lists(); *list; list++) {
		for (const struct tcb_read_loop *loop = *list; loop->read; loop++) {
			assert(count + sizeof prefetches / sizeof *prefetches < CANDIDATES_MAX);
			if (!loop->hint)
				out[count++] = (struct way){ .loop = loop };
			for (size_t i = 0; i < sizeof prefetches / sizeof *prefetches; i++)
				if (loop->hint && strcmp(loop->hint, prefetches[i].hint) == 0)
					out[count++] = (struct way){ .loop = loop, .distance = prefetches[i].distance };
		}
	}
	return count;
}

/* All copy loops, each as it is and in blocks that the first or second cache holds. */
static size_t list_copies(struct way *out)
{
	static const size_t distances[] = { 512, 2048, 8192 }, blocks[] = { 0, 4 << 10, 16 << 10, 64 << 10 };
	size_t count = 0;

	for (const struct tcb_copy_loop *const *list = tcb_bandwidth_copy_lists(); *list; list++) {
		for (const struct tcb_copy_loop *loop = *list; loop->copy; loop++) {
			for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
				struct way way = { .copy = loop, .block_lines = blocks[i] / TCB_READ_LINE };
				for (size_t d = 0; d < (loop->hint ? sizeof distances / sizeof *distances : 1); d++) {
					assert(count < CANDIDATES_MAX);
					way.distance = loop->hint ? distances[d] : 0;
					out[count++] = way;
				}
			}
		}
	}
	return count;
}

static void describe(struct tcb_bandwidth *b)
{
	const struct way *way = &b->way;
	const char *hint = way->copy ? way->copy->hint : way->loop->hint;
	char prefetch[48] = "", pieces[48] = "", blocks[48] = "";
	if (hint)
		snprintf(prefetch, sizeof prefetch, ", prefetch %zu %s", way->distance, hint);
	if (way->piece_lines)
		snprintf(pieces, sizeof pieces, ", pieces of %zu KiB", way->piece_lines * TCB_READ_LINE >> 10);
	if (way->block_lines)
		snprintf(blocks, sizeof blocks, " %zuK", way->block_lines * TCB_READ_LINE >> 10);
	if (way->copy)
		snprintf(b->method, sizeof b->method, "copy %s%s%s%s%s", tcb_isa_text(way->copy->isa),
			 way->copy->is_streamed ? " streamed" : "", blocks, prefetch, pieces);
	else
		snprintf(b->method, sizeof b->method, "%s, %u stream%s%s%s", tcb_isa_text(way->loop->isa),
			 way->loop->streams, way->loop->streams > 1 ? "s" : "", prefetch, pieces);
}

static enum tcb_status tune(struct tcb_bandwidth *b, double seconds, struct tcb_error *err)
{
	const uint64_t most_ns = seconds > 0 ? (uint64_t)(1e9 * seconds) : LOOP_CHOICE_NS;
	const uint64_t piece_ns = most_ns / 2 < PIECE_CHOICE_NS ? most_ns / 2 : PIECE_CHOICE_NS;
	static const size_t piece_bytes[] = { 64 << 10, 256 << 10, 1 << 20 };
	struct way *ways = calloc(CANDIDATES_MAX, sizeof *ways);
	if (!ways)
		return tcb_fail(err, TCB_E_NOMEM, "no memory to choose a read loop");
	choose(b, ways, b->kind == TCB_TRAFFIC_COPY ? list_copies(ways) : list_ways(ways), tcb_clock_ns() + most_ns);
	if (b->threads > 1) {
		/* Pieces keep the threads together when one of them is slowed down. */
		size_t count = 1;
		for (size_t i = 0; i < sizeof piece_bytes / sizeof *piece_bytes; i++) {
			size_t lines = piece_bytes[i] / TCB_READ_LINE;
			if (lines * b->threads * 2 > b->lines)
				continue;
			ways[count] = ways[0];
			ways[count++].piece_lines = lines;
		}
		choose(b, ways, count, tcb_clock_ns() + piece_ns);
	}
	b->way = ways[0];
	b->next = 0;
	free(ways);
	describe(b);
	return TCB_OK;
}

/* The thread that will read a share writes it first, so that its pages lie on that thread's NUMA node. */
static void fill_task(void *ctx, size_t task, unsigned thread)
{
	struct tcb_bandwidth *b = ctx;
	uint64_t late_ns = task == 0 ? b->late_ns : 0, *words = b->buffer.data;
	(void)thread;
	for (size_t slot = 0; slot < b->total_lines; slot += b->lines) {
		size_t begin = slot + b->lines * task / b->threads, end = slot + b->lines * (task + 1) / b->threads;
		for (size_t line = begin; line < end; line++) {
			if (late_ns && line % FILL_LINES == 0 && tcb_clock_ns() > late_ns) {
				tcb_buffer_small_pages(&b->buffer);
				late_ns = 0;
			}
			for (size_t i = line * (TCB_READ_LINE / 8); i < (line + 1) * (TCB_READ_LINE / 8); i++)
				words[i] = pattern(i);
		}
	}
}

static enum tcb_status fill(struct tcb_bandwidth *b, double seconds, struct tcb_error *err)
{
	TCB_TRY(tcb_buffer_alloc(TCB_BUFFER_HUGE, b->total_lines * TCB_READ_LINE, &b->buffer, err));
	b->data = b->buffer.data;
	b->late_ns = seconds > 0 ? tcb_clock_ns() + (uint64_t)(seconds * 1e9) : 0;
	tcb_pool_each(b->pool, b->threads, fill_task, b);
	return TCB_OK;
}

void tcb_bandwidth_lend(struct tcb_bandwidth *b, const void *data, size_t bytes)
{
	assert(b->kind == TCB_TRAFFIC_READ && !b->buffer.map && bytes / TCB_READ_LINE >= b->lines);
	b->data = (char *)(uintptr_t)data; /* it is only read */
	b->total_lines = bytes / TCB_READ_LINE;
	b->next = 0;
}

enum tcb_status tcb_bandwidth_create(struct tcb_pool *pool, unsigned threads, enum tcb_traffic kind, size_t bytes,
				     size_t rotation_bytes, const void *lent, double seconds,
				     struct tcb_bandwidth **out, struct tcb_error *err)
{
	struct tcb_bandwidth *b;
	size_t lines, slots, total;

	*out = NULL;
	if (threads == 0 || threads > tcb_pool_threads(pool))
		return tcb_fail(err, TCB_E_USAGE, "cannot read with %u threads of a pool of %u", threads,
				tcb_pool_threads(pool));
	if (bytes == 0 || tcb_add_size(bytes, TCB_READ_LINE - 1, &lines) != 0)
		return tcb_fail(err, TCB_E_USAGE, "cannot measure reads of %zu bytes", bytes);
	lines /= TCB_READ_LINE;
	if (kind == TCB_TRAFFIC_COPY)
		lines += lines % 2;
	slots = rotation_bytes <= bytes ? 1 : (rotation_bytes - 1) / (lines * TCB_READ_LINE) + 1;
	if (tcb_mul_size(slots, lines * TCB_READ_LINE, &total) != 0)
		return tcb_fail(err, TCB_E_OVERFLOW, "a rotation of %zu bytes is too large", rotation_bytes);

	b = calloc(1, sizeof *b);
	if (!b)
		return tcb_fail(err, TCB_E_NOMEM, "no memory for the read limit");
	b->pool = pool;
	b->threads = threads;
	b->kind = kind;
	b->lines = lines;
	b->total_lines = total / TCB_READ_LINE;
	/* TRIAL_BYTES_MAX is a whole number of pairs of lines. */
	b->trial_lines = lines < TRIAL_BYTES_MAX / TCB_READ_LINE ? lines : TRIAL_BYTES_MAX / TCB_READ_LINE;
	size_t repeats = TRIAL_BYTES_MIN / TCB_READ_LINE / b->trial_lines + 1;
	b->trial_repeats = repeats < TRIAL_REPEATS_MAX ? (unsigned)repeats : TRIAL_REPEATS_MAX;
	b->seen = aligned_alloc(_Alignof(struct seen), threads * sizeof *b->seen);
	enum tcb_status status = b->seen ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "no memory for the read limit");
	if (lent)
		tcb_bandwidth_lend(b, lent, total);
	else if (status == TCB_OK)
		status = fill(b, seconds, err);
	if (status == TCB_OK) {
		memset(b->seen, 0, threads * sizeof *b->seen);
		status = tune(b, seconds, err);
	}
	if (status != TCB_OK) {
		tcb_bandwidth_destroy(b);
		return status;
	}
	*out = b;
	return TCB_OK;
}

void tcb_bandwidth_destroy(struct tcb_bandwidth *bandwidth)
{
	if (!bandwidth)
		return;
	tcb_buffer_free(&bandwidth->buffer);
	free(bandwidth->seen);
	free(bandwidth);
}

double tcb_bandwidth_call(struct tcb_bandwidth *bandwidth)
{
	for (unsigned t = 0; t < bandwidth->threads; t++)
		bandwidth->seen[t].sum = 0;
	uint64_t start = tcb_clock_ns();
	pass(bandwidth, &bandwidth->way, bandwidth->lines);
	return (double)(tcb_clock_ns() - start);
}

const char *tcb_bandwidth_method(const struct tcb_bandwidth *bandwidth)
{
	return bandwidth->method;
}

uint64_t tcb_bandwidth_last_sum(const struct tcb_bandwidth *bandwidth, const char **data_out, size_t *lines_out)
{
	uint64_t sum = 0;
	for (unsigned t = 0; t < bandwidth->threads; t++)
		sum ^= bandwidth->seen[t].sum;
	*data_out = bandwidth->pass_data;
	*lines_out = bandwidth->pass_lines;
	return sum;
}
