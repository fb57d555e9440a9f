/* SPDX-License-Identifier: MIT
 *
 * Packing weights, and the table of plans.  Weights are packed before the number of
 * threads or tokens is known, so in the layout that serves any.  Matrices of a
 * mixture, one after another, are packed as one of all their rows: groups of rows
 * end where a matrix does, or the mixture is not taken.
 */
#include "packed.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host_formats.h"

struct weights_kind {
	const struct weights_format *format;
	size_t matrices, n, k;
	struct tcbrt_plan *packer;   /* of one matrix with all rows; NULL: there is no kernel */
	struct tcbrt_plan_info info; /* the packer's */
	struct plan_table plans;
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

const struct tcbrt *weights_runtime(void)
{
	return runtime;
}

/* Of matrices of N rows. */
static int create(const struct weights_kind *kind, size_t n, const struct weights_work *work, struct tcbrt_plan **out,
		  struct tcbrt_error *err)
{
	char op[64], words[64];
	const struct tcbrt_query query = { .op = op,
					   .m = work->m,
					   .n = n,
					   .k = kind->k,
					   .threads = work->threads,
					   .contract = TCBRT_CONTRACT_AUTO, /* the fastest that is as exact */
					   .layout = kind->packer ? kind->info.layout : TCBRT_LAYOUT_ANY_M,
					   .words = work->used ? words : NULL };

	if (work->used)
		snprintf(op, sizeof(op), "%s_experts_matmul", kind->format->op);
	else
		format_op(kind->format, work->m, op);
	snprintf(words, sizeof(words), "e%zu/%zu%s", kind->matrices, work->used, work->has_rows_each ? ",each" : "");
	return tcbrt_plan_create(runtime, &query, out, err);
}

/* Rows of all matrices. */
static size_t all_rows(const struct weights_kind *kind)
{
	return kind->matrices * kind->n;
}

/* Is there an op for the mixture, of matrices that this packs? */
static int packs_mixtures(const struct weights_kind *kind)
{
	const struct weights_work work = { .m = 1, .used = 1, .threads = 1 };
	const size_t group = kind->info.pack_rows;
	struct tcbrt_plan *plan;

	if ((group && kind->n % group) || create(kind, kind->n, &work, &plan, NULL) != TCBRT_OK)
		return 0;
	tcbrt_plan_destroy(plan);
	return 1;
}

/* Weights may come in parts: the layout must pack rows group by group. */
static void make_packer(struct weights_kind *kind)
{
	const struct weights_work work = { .m = 1, .threads = 1 };

	if (create(kind, all_rows(kind), &work, &kind->packer, NULL) != TCBRT_OK)
		return;
	tcbrt_plan_info(kind->packer, &kind->info);
	if ((kind->info.packed_bytes && !kind->info.pack_rows) || (kind->matrices > 1 && !packs_mixtures(kind))) {
		tcbrt_plan_destroy(kind->packer);
		kind->packer = NULL;
	}
}

struct shape {
	const struct weights_format *format;
	size_t matrices, n, k;
};

static struct weights_kind *find(struct weights_kind *kind, const struct shape *shape)
{
	while (kind && (kind->format != shape->format || kind->matrices != shape->matrices || kind->n != shape->n ||
			kind->k != shape->k))
		kind = kind->next;
	return kind;
}

struct weights_kind *weights_kind(int type, size_t matrices, size_t n, size_t k)
{
	const struct shape shape = { weights_format(runtime, type), matrices, n, k };
	struct weights_kind *kind;

	if (!shape.format || matrices == 0 || n == 0 || k == 0 || k % shape.format->values)
		return NULL;
	if (!(kind = find(atomic_load_explicit(&kinds, memory_order_acquire), &shape))) {
		pthread_mutex_lock(&making);
		if (!(kind = find(atomic_load(&kinds), &shape)) && (kind = calloc(1, sizeof(*kind)))) {
			kind->format = shape.format;
			kind->matrices = matrices;
			kind->n = n;
			kind->k = k;
			make_packer(kind);
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

/* Not less than as stored: hosts count on that. */
size_t weights_bytes(const struct weights_kind *kind)
{
	const size_t packed = kind->info.packed_bytes, stored = all_rows(kind) * row_bytes(kind);

	return packed > stored ? packed : stored;
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
	const size_t begin = offset - first * row, left = all_rows(kind) - first, some = left < group ? left : group;

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

int weights_read_row(const struct weights *weights, size_t row, float *out)
{
	return tcbrt_read_row(weights->kind->packer, row, weights->packed, out) == TCBRT_OK;
}

/* ---- plans ---- */

/* What a plan is made of. */
struct product_of {
	const struct weights_kind *kind;
	const struct weights_work *work;
};

static int make_plan(const void *ctx, struct tcbrt_plan **out, struct tcbrt_error *err)
{
	const struct product_of *of = ctx;

	return create(of->kind, of->kind->n, of->work, out, err);
}

const struct plan *weights_plan(struct weights_kind *kind, const struct weights_work *work, struct tcbrt_error *err)
{
	const struct product_of of = { kind, work };

	return plan_find(&kind->plans, work, sizeof(*work), make_plan, &of, err);
}
