/* SPDX-License-Identifier: MIT
 *
 * Packing weights, and the table of plans.  A layout is chosen per format and
 * shape, before the number of threads or tokens is known, so both ops of a
 * format must have it.
 */
#include "packed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 64, MANY = 32 };

static const struct format {
	int type; /* in a GGUF file */
	const char *name, *op;
	size_t values, bytes; /* of a block */
} formats[] = {
	{ 2, "q4_0", "q40", 32, 18 },     { 8, "q8_0", "q80", 32, 34 },    { 12, "q4_K", "q4k", 256, 144 },
	{ 13, "q5_K", "q5k", 256, 176 },  { 14, "q6_K", "q6k", 256, 210 }, { 23, "iq4_xs", "iq4xs", 256, 136 },
	{ 39, "mxfp4", "mxfp4", 32, 17 },
};
enum { FORMATS = sizeof(formats) / sizeof(formats[0]) };

/* Those that both ops of a format read, best first. */
static const char *const layouts[] = { "r16", "native" };
enum { LAYOUTS = sizeof(layouts) / sizeof(layouts[0]) };

struct weights_kind {
	const struct format *format;
	size_t n, k;
	const char *layout;
	struct tcbrt_plan *packer; /* NULL: neither op has a layout in common */
	struct tcbrt_plan_info info;
	_Atomic(struct weights_plan *) bucket[BUCKETS];
	struct weights_kind *next;
};

static struct tcbrt *runtime;
static int has_database;
static _Atomic(struct weights_kind *) kinds;
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

int weights_open(void)
{
	if (!runtime && !(has_database = tcbrt_open(NULL, &runtime, NULL) == TCBRT_OK))
		tcbrt_open_empty(&runtime, NULL);
	return runtime != NULL;
}

int weights_has_database(void)
{
	return has_database;
}

const char *weights_formats(void)
{
	static char text[128];
	size_t at = 0;

	for (size_t i = 0; i < FORMATS && !text[sizeof(text) - 1]; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at, "%s%s", i ? ", " : "", formats[i].name);
	return text;
}

static int create(const struct weights_kind *kind, const char *layout, size_t m, unsigned threads,
		  struct tcbrt_plan **out, struct tcbrt_error *err)
{
	char op[32];
	const struct tcbrt_query query = {
		.op = op, .m = m, .n = kind->n, .k = kind->k, .threads = threads, .layout = layout
	};

	snprintf(op, sizeof(op), "%s_%s", kind->format->op, m == 1 ? "matvec" : "matmul");
	return tcbrt_plan_create(runtime, &query, out, err);
}

/* Weights may come in parts: a layout must pack rows group by group. */
static void choose_layout(struct weights_kind *kind)
{
	for (size_t i = 0; i < LAYOUTS && !kind->packer; i++) {
		struct tcbrt_plan *many = NULL;

		if (create(kind, layouts[i], MANY, 1, &many, NULL) == TCBRT_OK &&
		    create(kind, layouts[i], 1, 1, &kind->packer, NULL) == TCBRT_OK) {
			kind->layout = layouts[i];
			tcbrt_plan_info(kind->packer, &kind->info);
		}
		tcbrt_plan_destroy(many);
	}
}

static struct weights_kind *find(struct weights_kind *kind, const struct format *format, size_t n, size_t k)
{
	while (kind && (kind->format != format || kind->n != n || kind->k != k))
		kind = kind->next;
	return kind;
}

struct weights_kind *weights_kind(int type, size_t n, size_t k)
{
	const struct format *format = formats;
	struct weights_kind *kind;

	while (format < formats + FORMATS && format->type != type)
		format++;
	if (format == formats + FORMATS || n == 0 || k == 0 || k % format->values)
		return NULL;
	if (!(kind = find(atomic_load_explicit(&kinds, memory_order_acquire), format, n, k))) {
		pthread_mutex_lock(&making);
		if (!(kind = find(atomic_load(&kinds), format, n, k)) && (kind = calloc(1, sizeof(*kind)))) {
			kind->format = format;
			kind->n = n;
			kind->k = k;
			choose_layout(kind);
			kind->next = atomic_load(&kinds);
			atomic_store_explicit(&kinds, kind, memory_order_release);
		}
		pthread_mutex_unlock(&making);
	}
	return kind && kind->packer ? kind : NULL;
}

static size_t row_bytes(const struct weights_kind *kind)
{
	return kind->k / kind->format->values * kind->format->bytes;
}

size_t weights_bytes(const struct weights_kind *kind)
{
	return kind->info.packed_bytes ? kind->info.packed_bytes : kind->n * row_bytes(kind);
}

size_t weights_columns(const struct weights_kind *kind)
{
	return kind->k;
}

size_t weights_rows(const struct weights_kind *kind)
{
	return kind->n;
}

/* ---- stored bytes in, stored bytes out ---- */

/* Part of a range of stored bytes: whole groups of rows, or some bytes of one group. */
struct piece {
	size_t first, rows; /* the groups' */
	size_t begin, size; /* the bytes, from the first group's first on */
	int is_whole;
};

static struct piece next_piece(const struct weights_kind *kind, size_t offset, size_t size)
{
	const size_t row = row_bytes(kind), group = kind->info.pack_rows, first = offset / (group * row) * group;
	const size_t begin = offset - first * row, left = kind->n - first, some = left < group ? left : group;

	if (begin == 0 && size >= some * row) {
		const size_t rows = size == left * row ? left : size / (group * row) * group;

		return (struct piece){ first, rows, 0, rows * row, 1 };
	}
	return (struct piece){ first, some, begin, size < some * row - begin ? size : some * row - begin, 0 };
}

static void *alloc_group(const struct weights_kind *kind)
{
	return malloc(kind->info.pack_rows * row_bytes(kind));
}

/* A group that is set in part is unpacked, changed and packed again, whatever was in it before. */
static int set_part(const struct weights *weights, const struct piece *piece, const void *data)
{
	static pthread_mutex_t changing = PTHREAD_MUTEX_INITIALIZER;
	const struct tcbrt_plan *packer = weights->kind->packer;
	char *group = alloc_group(weights->kind);

	if (!group)
		return 0;
	pthread_mutex_lock(&changing);
	tcbrt_unpack_rows(packer, piece->first, piece->rows, weights->packed, group);
	memcpy(group + piece->begin, data, piece->size);
	tcbrt_pack_rows(packer, piece->first, piece->rows, group, weights->packed);
	pthread_mutex_unlock(&changing);
	free(group);
	return 1;
}

void weights_set(struct weights *weights, const void *data, size_t offset, size_t size)
{
	const struct weights_kind *kind = weights->kind;
	const char *from = data;

	if (!kind->info.packed_bytes) {
		memcpy((char *)weights->packed + offset, data, size);
		return;
	}
	while (size) {
		const struct piece piece = next_piece(kind, offset, size);

		if (piece.is_whole)
			tcbrt_pack_rows(kind->packer, piece.first, piece.rows, from, weights->packed);
		else if (!set_part(weights, &piece, from))
			weights->refusal = "there was no memory to pack them";
		from += piece.size;
		offset += piece.size;
		size -= piece.size;
	}
}

static int get_part(const struct weights *weights, const struct piece *piece, void *data)
{
	char *group = alloc_group(weights->kind);

	if (!group)
		return 0;
	tcbrt_unpack_rows(weights->kind->packer, piece->first, piece->rows, weights->packed, group);
	memcpy(data, group + piece->begin, piece->size);
	free(group);
	return 1;
}

int weights_get(const struct weights *weights, void *data, size_t offset, size_t size)
{
	const struct weights_kind *kind = weights->kind;
	char *to = data;

	if (!kind->info.packed_bytes) {
		memcpy(data, (const char *)weights->packed + offset, size);
		return 1;
	}
	while (size) {
		const struct piece piece = next_piece(kind, offset, size);

		if (piece.is_whole)
			tcbrt_unpack_rows(kind->packer, piece.first, piece.rows, weights->packed, to);
		else if (!get_part(weights, &piece, to))
			return 0;
		to += piece.size;
		offset += piece.size;
		size -= piece.size;
	}
	return 1;
}

/* ---- plans ---- */

static struct weights_plan *make_plan(struct weights_kind *kind, size_t m, unsigned threads, struct tcbrt_error *err)
{
	struct weights_plan *made = calloc(1, sizeof(*made));
	struct tcbrt_plan_info info;

	if (!made || create(kind, kind->layout, m, threads, &made->plan, err) != TCBRT_OK) {
		free(made);
		return NULL;
	}
	tcbrt_plan_info(made->plan, &info);
	made->m = m;
	made->threads = threads;
	made->workspace_bytes = info.workspace_bytes;
	made->weights = info.weights;
	made->y = info.output;
	while (made->x == made->weights || made->x == made->y)
		made->x++;
	return made;
}

const struct weights_plan *weights_plan(struct weights_kind *kind, size_t m, unsigned threads, struct tcbrt_error *err)
{
	_Atomic(struct weights_plan *) *bucket = &kind->bucket[(m + 31 * threads) % BUCKETS];
	struct weights_plan *first = atomic_load_explicit(bucket, memory_order_acquire), *found = first;

	while (found && (found->m != m || found->threads != threads))
		found = found->next;
	if (found || !(found = make_plan(kind, m, threads, err)))
		return found;
	/* Another thread may have made the same one: both stay, and both are right. */
	do
		found->next = first;
	while (!atomic_compare_exchange_weak_explicit(bucket, &first, found, memory_order_release,
						      memory_order_acquire));
	return found;
}
