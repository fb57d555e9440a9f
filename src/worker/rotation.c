/* SPDX-License-Identifier: MIT
 *
 * Rotating copies (SPEC section 7).  In: one guarded instance of the problem;
 * out: copies of its streamed operands side by side on huge pages, written by
 * the pool's threads in the shares that a static schedule reads, so that on a
 * machine with several memory nodes each thread finds its rows near itself.
 * Where a call touches only some of what streams, the copies are gone round
 * several times, each time with other parts.
 */
#include "worker/rotation.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/sizes.h"
#include "base/util.h"

enum {
	COPIES_LEAST = 2,
	SHARE_FROM = 4 << 20, /* bytes of a copy: of smaller ones a sample may use several */
	SPARE_PART = 8,       /* of a set: so much more room, so that another layout's copies fit, too */
	TURNS_MOST = 64,
	HOT_COPIES = 8, /* where there is no cold rotation: a hot buffer's luck is shared by so many */
	LINE = 64,
	PAGE = 4096,
	PAGE_FROM = 256 << 10, /* operands from this size on start on a page of their own */
	CHUNK = 1 << 20,       /* written between two looks at the clock */
};

struct tcb_copies {
	int used;
	size_t bytes[TCB_OPERANDS_MAX];  /* of operand i in this layout */
	size_t offset[TCB_OPERANDS_MAX]; /* in a copy (streamed) or in `fixed` */
	int streams[TCB_OPERANDS_MAX], varies[TCB_OPERANDS_MAX];
	const void *start[TCB_OPERANDS_MAX]; /* of outputs that are updated; lent by the instance */
	size_t operand_count, stride, count, next;
	size_t turns, turn_bytes; /* times round the copies, each with what varies of a seed of its own; its bytes */
	struct tcb_buffer stream, fixed, varied;
	unsigned long long stamp; /* of the last use */
};

struct tcb_rotation {
	struct tcb_instance *instance;
	struct tcb_pool *pool;
	size_t bytes, cap, reserved;
	size_t enough; /* bytes of a set that are, where there is no time for more; 0: all */
	size_t rows[TCB_LAYOUT_COUNT], round_bytes; /* of the rounds that the sets are for, their calls; 0: none */
	double hurry_s;                             /* 0: none */
	unsigned long long clock, reserved_at;      /* uses so far, and at the last reservation */
	struct tcb_copies sets[TCB_LAYOUT_COUNT];
};

enum tcb_status tcb_rotation_create(struct tcb_instance *instance, struct tcb_pool *pool, size_t rotation_bytes,
				    const struct tcb_rotation_size *size, size_t cap_bytes, struct tcb_rotation **out,
				    struct tcb_error *err)
{
	struct tcb_rotation *rotation = calloc(1, sizeof(*rotation));
	if (!rotation)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the rotation of %s", instance->op->name);
	size_t available = tcb_available_bytes("");
	rotation->instance = instance;
	rotation->pool = pool;
	rotation->bytes = rotation_bytes;
	rotation->enough = rotation_bytes == 0 ? size->enough : 0;
	if (rotation_bytes == 0)
		rotation->bytes = size->bytes < available / 4 ? size->bytes : available / 4;
	rotation->cap = cap_bytes ? cap_bytes : available / 3;
	rotation->reserved = 1;
	*out = rotation;
	return TCB_OK;
}

static void drop(struct tcb_copies *copies)
{
	tcb_buffer_free(&copies->stream);
	tcb_buffer_free(&copies->fixed);
	tcb_buffer_free(&copies->varied);
	memset(copies, 0, sizeof(*copies));
}

/* Drops COPIES, whose memory SPARE (may be NULL) gets if it has room for NEED bytes and SPARE is empty. */
static void recycle(struct tcb_copies *copies, size_t need, struct tcb_buffer *spare)
{
	if (spare && !spare->map && copies->stream.map_bytes >= need) {
		*spare = copies->stream;
		memset(&copies->stream, 0, sizeof(copies->stream));
	}
	drop(copies);
}

void tcb_rotation_destroy(struct tcb_rotation *rotation)
{
	if (!rotation)
		return;
	for (size_t i = 0; i < TCB_LAYOUT_COUNT; i++)
		drop(&rotation->sets[i]);
	free(rotation);
}

void tcb_rotation_cut(struct tcb_rotation *rotation, size_t bytes)
{
	rotation->bytes = bytes < rotation->bytes ? bytes : rotation->bytes;
}

void tcb_rotation_hurry(struct tcb_rotation *rotation, double seconds)
{
	rotation->hurry_s = seconds;
}

size_t tcb_rotation_bytes(const struct tcb_rotation *rotation)
{
	return rotation->bytes;
}

/* Frees the least recently used sets other than KEEP until NEED more bytes fit below the cap.  SPARE gets the memory of
 * one of them that has room for as much, unless it has some already: its pages need not be got again. */
static void make_room(struct tcb_rotation *rotation, const struct tcb_copies *keep, size_t need,
		      struct tcb_buffer *spare)
{
	for (;;) {
		size_t resident = 0;
		struct tcb_copies *oldest = NULL;
		for (size_t i = 0; i < TCB_LAYOUT_COUNT; i++) {
			struct tcb_copies *copies = &rotation->sets[i];
			if (!copies->used || copies == keep)
				continue;
			resident += copies->count * copies->stride;
			if (rotation->reserved > 1 && copies->stamp > rotation->reserved_at)
				continue;
			if (!oldest || copies->stamp < oldest->stamp)
				oldest = copies;
		}
		if (!oldest || resident + need <= rotation->cap)
			return;
		recycle(oldest, need, spare);
	}
}

static void place_operands(struct tcb_instance *instance, const struct tcb_plan *plan, struct tcb_copies *copies,
			   size_t *fixed_bytes_out)
{
	size_t fixed = 0, all = 0, touched = 0;
	copies->operand_count = instance->operand_count;
	for (size_t i = 0; i < instance->operand_count; i++) {
		const struct tcb_operand *operand = &instance->operands[i];
		size_t bytes = tcb_instance_buffer(instance, plan, i)->bytes;
		size_t *end = operand->streams ? &copies->stride : operand->varies ? &copies->turn_bytes : &fixed;
		copies->streams[i] = operand->streams;
		copies->varies[i] = operand->varies;
		all += operand->streams ? operand->bytes : 0;
		touched += !operand->streams ? 0 : operand->touched ? operand->touched : operand->bytes;
		copies->start[i] = tcb_instance_start(instance, i);
		copies->bytes[i] = bytes;
		copies->offset[i] = *end = tcb_round_up(*end, bytes >= PAGE_FROM ? PAGE : LINE);
		*end += bytes;
	}
	copies->stride = tcb_round_up(copies->stride, copies->stride >= PAGE_FROM ? PAGE : LINE);
	copies->turn_bytes = tcb_round_up(copies->turn_bytes, LINE);
	copies->turns = copies->turn_bytes && touched ? tcb_least(tcb_div_up(all, touched), TURNS_MOST) : 1;
	*fixed_bytes_out = fixed;
}

void tcb_rotation_reserve(struct tcb_rotation *rotation, const struct tcb_plan *plans, size_t count, int is_shared)
{
	uint32_t seen = 0;
	memset(rotation->rows, 0, sizeof(rotation->rows));
	rotation->round_bytes = 0;
	for (size_t i = 0; i < count; i++) {
		const enum tcb_layout layout = plans[i].variant->layout;
		struct tcb_copies one;
		size_t fixed_bytes;
		memset(&one, 0, sizeof(one));
		place_operands(rotation->instance, &plans[i], &one, &fixed_bytes);
		seen |= 1u << layout;
		rotation->rows[layout]++;
		rotation->round_bytes += is_shared ? one.stride : 0;
	}
	rotation->reserved = count > 1 ? (size_t)__builtin_popcount(seen) : 1;
	rotation->reserved_at = rotation->clock;
}

/* Of a set that is written. */
struct writing {
	struct tcb_copies *copies;
	const void *source[TCB_OPERANDS_MAX]; /* NULL: an output, touched only */
	unsigned threads;
	uint64_t late_ns; /* from then on with small pages */
	atomic_int is_late;
	uint64_t end_ns; /* from then on no more than ENOUGH copies */
	size_t enough;
	size_t first;          /* copies that are there already */
	atomic_size_t written; /* copies, by each of the threads */
};

static void look_at_clock(struct writing *writing)
{
	if (tcb_clock_ns() > writing->late_ns && !atomic_exchange(&writing->is_late, 1))
		tcb_buffer_small_pages(&writing->copies->stream);
}

/* One thread's share of operand I, of which TARGET is one copy. */
static void write_share(struct writing *writing, size_t i, char *target, size_t thread)
{
	const size_t bytes = writing->copies->bytes[i], each = bytes < PAGE_FROM ? bytes : bytes / writing->threads;
	const size_t end = thread + 1 == writing->threads || each == bytes ? bytes : each * (thread + 1);
	if (each == bytes && thread > 0)
		return;
	for (size_t at = each == bytes ? 0 : each * thread; at < end; at += CHUNK) {
		const size_t count = end - at < CHUNK ? end - at : CHUNK;
		look_at_clock(writing);
		if (writing->source[i])
			memcpy(target + at, (const char *)writing->source[i] + at, count);
		else
			memset(target + at, TCB_POISON, count);
	}
}

static void write_all(void *ctx, size_t task, unsigned thread)
{
	struct writing *writing = ctx;
	const struct tcb_copies *copies = writing->copies;
	size_t written = atomic_load(&writing->written);
	(void)thread;
	for (size_t c = writing->first; c < copies->count; c++) {
		void *operand[TCB_OPERANDS_MAX];
		if (c >= writing->enough && tcb_clock_ns() > writing->end_ns) {
			while (c < written && !atomic_compare_exchange_weak(&writing->written, &written, c))
				;
			return;
		}
		tcb_copies_operands(copies, c, operand);
		for (size_t i = 0; i < copies->operand_count; i++)
			if (copies->streams[i] || (c == 0 && !copies->varies[i]))
				write_share(writing, i, operand[i], task);
	}
}

/* What varies, of every turn: the first has the instance's. */
static void write_turns(const struct tcb_instance *instance, const struct tcb_copies *copies)
{
	for (size_t turn = 0; turn < copies->turns && copies->turn_bytes; turn++) {
		void *operand[TCB_OPERANDS_MAX], *varied[TCB_OPERANDS_MAX] = { NULL };
		tcb_copies_operands(copies, turn * copies->count, operand);
		for (size_t i = 0; i < copies->operand_count; i++)
			varied[i] = copies->varies[i] ? operand[i] : NULL;
		instance->op->fill(&instance->problem, instance->seed + turn, varied);
	}
}

/* Each thread goes over all copies on its own: where others use the machine, the threads would wait for each other as
 * often as they meet. */
static void write_copies(struct tcb_rotation *rotation, const struct tcb_plan *plan, struct tcb_copies *copies,
			 size_t first)
{
	const unsigned threads = tcb_pool_threads(rotation->pool);
	struct writing writing = { .copies = copies,
				   .threads = threads,
				   .late_ns = UINT64_MAX,
				   .end_ns = UINT64_MAX,
				   .enough = copies->count,
				   .first = first,
				   .written = copies->count };
	if (rotation->hurry_s > 0) {
		writing.late_ns = tcb_clock_ns() + (uint64_t)(rotation->hurry_s * 1e9);
		writing.end_ns = writing.late_ns + (uint64_t)(rotation->hurry_s * 1e9);
	}
	if (rotation->enough > 0 && copies->stride > 0)
		writing.enough = (rotation->enough + copies->stride - 1) / copies->stride;
	if (writing.enough < COPIES_LEAST)
		writing.enough = COPIES_LEAST;
	for (size_t i = 0; i < copies->operand_count; i++)
		writing.source[i] = rotation->instance->operands[i].role != TCB_ROLE_OUTPUT
					    ? tcb_instance_buffer(rotation->instance, plan, i)->data
					    : copies->start[i];
	tcb_pool_each(rotation->pool, threads, write_all, &writing);
	write_turns(rotation->instance, copies);
	const size_t written = atomic_load(&writing.written);
	if (written < copies->count) { /* other layouts get as many bytes */
		copies->count = written;
		tcb_rotation_cut(rotation, written * copies->stride);
	}
}

/* Copies for as many bytes as SET should have, of cold calls or of hot ones. */
static size_t copies_for(size_t bytes, const struct tcb_copies *set, int is_cold)
{
	if (set->stride == 0)
		return 1;
	if (is_cold) {
		const size_t count = (bytes + set->stride - 1) / set->stride;
		return count < COPIES_LEAST ? COPIES_LEAST : count;
	}
	const size_t count = bytes / set->stride;
	return count < 2 ? 1 : count < HOT_COPIES ? count : HOT_COPIES;
}

/*
 * The copies of LAYOUT that rounds take in which everybody is called once: when one is used again, so many whole rounds
 * lie between that all layouts together have gone over the bytes of a rotation.
 */
static size_t copies_of_rounds(const struct tcb_rotation *rotation, enum tcb_layout layout, size_t bytes)
{
	return rotation->rows[layout] * (1 + (bytes + rotation->round_bytes - 1) / rotation->round_bytes);
}

/* Memory for the copies of SET, rather a dropped set's than new: there the pages are.  What is new has room for FULL
 * copies: what is not written takes none. */
static enum tcb_status get_memory(struct tcb_rotation *rotation, struct tcb_copies *old, struct tcb_copies *set,
				  size_t full, size_t fixed_bytes, struct tcb_error *err)
{
	struct tcb_buffer spare = { .map = NULL };
	const size_t need = set->count * set->stride;
	recycle(old, need, &spare);
	make_room(rotation, old, need, &spare);
	enum tcb_status status = TCB_OK;
	if (spare.map)
		set->stream = spare;
	else if (need > tcb_available_bytes(""))
		status = tcb_fail(err, TCB_E_NOMEM,
				  "measuring needs %zu MiB for %zu copies of the operands, more than is free: take a "
				  "smaller shape or rotation",
				  need >> 20, set->count);
	else
		status = tcb_buffer_alloc(TCB_BUFFER_HUGE, (full + full / SPARE_PART) * set->stride, &set->stream, err);
	if (status == TCB_OK)
		status = tcb_buffer_alloc(TCB_BUFFER_PLAIN, fixed_bytes, &set->fixed, err);
	if (status == TCB_OK && set->turn_bytes)
		status = tcb_buffer_alloc(TCB_BUFFER_PLAIN, set->turns * set->turn_bytes, &set->varied, err);
	if (status != TCB_OK) {
		tcb_buffer_free(&set->stream);
		tcb_buffer_free(&set->fixed);
	}
	return status;
}

enum tcb_status tcb_rotation_get(struct tcb_rotation *rotation, const struct tcb_plan *plan, int is_cold,
				 struct tcb_copies **out, struct tcb_error *err)
{
	const enum tcb_layout layout = plan->variant->layout;
	struct tcb_copies *copies = &rotation->sets[layout], fresh;
	memset(&fresh, 0, sizeof(fresh));
	size_t fixed_bytes;
	place_operands(rotation->instance, plan, &fresh, &fixed_bytes);
	size_t bytes = rotation->bytes;
	if (rotation->reserved > 1 && bytes > rotation->cap / rotation->reserved)
		bytes = rotation->cap / rotation->reserved;
	const size_t full = copies_for(bytes, &fresh, is_cold);
	fresh.count = full;
	if (is_cold && rotation->round_bytes > 0 && fresh.stride >= SHARE_FROM) {
		const size_t shared = copies_of_rounds(rotation, layout, bytes);
		fresh.count = shared < full ? shared : full;
	}
	*out = copies;
	copies->stamp = ++rotation->clock;
	int is_same = copies->used && memcmp(copies->bytes, fresh.bytes, sizeof fresh.bytes) == 0;
	/* A set larger than its part of the cap would leave no room for those that must be resident with it. */
	int is_oversized = rotation->reserved > 1 && copies->count > COPIES_LEAST &&
			   copies->count * copies->stride > bytes + copies->stride;
	if (is_same && copies->count >= fresh.count && !is_oversized)
		return TCB_OK;
	const size_t there = copies->count;
	if (is_same && there < fresh.count && fresh.count * fresh.stride <= copies->stream.bytes) {
		make_room(rotation, copies, fresh.count * fresh.stride, NULL);
		copies->count = fresh.count;
		write_copies(rotation, plan, copies, there);
		return TCB_OK;
	}
	TCB_TRY(get_memory(rotation, copies, &fresh, full, fixed_bytes, err));
	fresh.used = 1;
	fresh.stamp = rotation->clock;
	*copies = fresh;
	write_copies(rotation, plan, copies, 0);
	return TCB_OK;
}

struct tcb_copies *tcb_rotation_lend(struct tcb_rotation *rotation, size_t bytes, size_t least)
{
	for (size_t i = 0; i < TCB_LAYOUT_COUNT; i++) {
		struct tcb_copies *copies = &rotation->sets[i];
		/* Shares must begin where the threads wrote them. */
		const int is_alike = copies->used && copies->stride >= bytes && copies->stride - bytes < PAGE;
		if (is_alike && copies->count * copies->stride >= least)
			return copies;
	}
	return NULL;
}

const void *tcb_copies_stream(const struct tcb_copies *copies, size_t index, size_t *bytes_out)
{
	const size_t copy = index % copies->count;
	*bytes_out = (copies->count - copy) * copies->stride;
	return (const char *)copies->stream.data + copy * copies->stride;
}

const void *tcb_copies_start(const struct tcb_copies *copies, size_t index)
{
	return copies->start[index];
}

size_t tcb_copies_count(const struct tcb_copies *copies)
{
	return copies->count;
}

size_t tcb_copies_next(struct tcb_copies *copies)
{
	size_t index = copies->next;
	copies->next = index + 1 >= copies->count * copies->turns ? 0 : index + 1;
	return index;
}

void tcb_copies_operands(const struct tcb_copies *copies, size_t index, void *operand[TCB_OPERANDS_MAX])
{
	for (size_t i = 0; i < copies->operand_count; i++)
		operand[i] =
			(copies->streams[i]  ? (char *)copies->stream.data + index % copies->count * copies->stride
			 : copies->varies[i] ? (char *)copies->varied.data + index / copies->count * copies->turn_bytes
					     : (char *)copies->fixed.data) +
			copies->offset[i];
}
