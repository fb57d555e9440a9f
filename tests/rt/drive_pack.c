/* SPDX-License-Identifier: MIT
 *
 * Weights are packed at once and in chunks, by several threads, and unpacked.
 */
#include "drive_bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/formats.h"

enum { CHUNKS_MAX = 64 };

struct chunk {
	size_t first, rows;
};

struct packer {
	const struct drive_bench *b;
	const struct chunk *chunks;
	size_t count, from, step; /* those of one thread */
	char *back;               /* packed weights go there again; NULL: they are packed */
	int code;
};

/* Of the first operand of weights. */
static void *packed_at(const struct drive_bench *b)
{
	return b->packed[b->info.weights].at;
}

static void *pack_share(void *arg)
{
	struct packer *packer = arg;
	const struct drive_bench *b = packer->b;
	const size_t row_bytes = b->info.operand[b->info.weights].bytes / b->info.operand[b->info.weights].rows;

	for (size_t i = packer->from; i < packer->count; i += packer->step) {
		const struct chunk *chunk = &packer->chunks[i];
		char *stored = (char *)b->stored[b->info.weights] + chunk->first * row_bytes;

		packer->code |= packer->back
					? tcbrt_unpack_rows(b->plan, chunk->first, chunk->rows, packed_at(b),
							    packer->back + chunk->first * row_bytes)
					: tcbrt_pack_rows(b->plan, chunk->first, chunk->rows, stored, packed_at(b));
	}
	return NULL;
}

/* All rows in chunks of whole groups, in any order; returns how many. */
static size_t draw_chunks(const struct drive_bench *b, struct chunk out[CHUNKS_MAX])
{
	const size_t rows = b->info.operand[b->info.weights].rows, group = b->info.pack_rows;
	size_t count = 0;

	for (size_t first = 0; first < rows; count++) {
		size_t take = group * (1 + drive_below(4));

		if (take > rows - first || count == CHUNKS_MAX - 1)
			take = rows - first;
		out[count] = (struct chunk){ first, take };
		first += take;
	}
	for (size_t i = count; i > 1; i--) {
		const size_t other = drive_below(i);
		const struct chunk chunk = out[other];

		out[other] = out[i - 1];
		out[i - 1] = chunk;
	}
	return count;
}

static void by_threads(const struct drive_bench *b, char *back)
{
	const size_t threads = 1 + drive_below(4);
	struct packer packers[4];
	pthread_t started[4];
	struct chunk chunks[CHUNKS_MAX];
	const size_t count = draw_chunks(b, chunks);

	for (size_t t = 0; t < threads; t++) {
		packers[t] = (struct packer){ b, chunks, count, t, threads, back, TCBRT_OK };
		DRIVE_CHECK(pthread_create(&started[t], NULL, pack_share, &packers[t]) == 0, "no thread");
	}
	for (size_t t = 0; t < threads; t++) {
		pthread_join(started[t], NULL);
		DRIVE_CHECK(packers[t].code == TCBRT_OK, "rows were refused");
	}
	drive_counts.chunks += count;
}

static void check_unpacking(const struct drive_bench *b)
{
	const struct tcbrt_operand *weights = &b->info.operand[b->info.weights];
	struct drive_zone back = drive_zone(weights->bytes, 1);
	const int in_chunks = b->info.pack_rows && drive_once_in(2);

	memset(back.at, TCB_POISON, back.bytes);
	if (in_chunks)
		by_threads(b, back.at);
	else
		DRIVE_CHECK(tcbrt_unpack(b->plan, packed_at(b), back.at) == TCBRT_OK, "unpacking is refused");
	DRIVE_CHECK(memcmp(back.at, b->stored[b->info.weights], back.bytes) == 0,
		    "unpacking%s does not give back what was packed", in_chunks ? " in chunks" : "");
	drive_zone_check(&back, "what is unpacked");
	tcb_buffer_free(&back.buffer);
	if (!b->info.pack_rows)
		return;
	const size_t group = b->info.pack_rows, rows = weights->rows;
	void *const stored = b->stored[b->info.weights];
	DRIVE_CHECK(tcbrt_pack_rows(b->plan, rows, group, stored, packed_at(b)) == TCBRT_E_USAGE &&
			    tcbrt_pack_rows(b->plan, 0, 0, stored, packed_at(b)) == TCBRT_E_USAGE &&
			    tcbrt_pack_rows(b->plan, group, SIZE_MAX - 1, stored, packed_at(b)) == TCBRT_E_USAGE &&
			    tcbrt_pack_rows(b->plan, SIZE_MAX / group * group, group, stored, packed_at(b)) ==
				    TCBRT_E_USAGE,
		    "rows that are not there were packed");
}

/* Any row, as values: those of the row as it is stored. */
static void check_row(const struct drive_bench *b)
{
	const struct tcb_problem *problem = &b->plan->problem;
	const struct tcbrt_operand *weights = &b->info.operand[b->info.weights];
	const struct tcb_format *format = problem->op->format;
	const size_t row = drive_below(weights->rows), k = problem->shape.k;
	const int is_of_any_m = strcmp(b->info.layout, "r16") == 0 && weights->rows == problem->shape.n;
	struct drive_zone out;
	float *expected;

	if (!format)
		return;
	expected = malloc(k * sizeof(float));
	DRIVE_CHECK(expected, "out of memory");
	out = drive_zone(k * sizeof(float), sizeof(float));
	tcb_dequantize(format, (char *)b->stored[b->info.weights] + row * (weights->bytes / weights->rows),
		       k / format->block_values, expected);
	if (tcbrt_read_row(b->plan, row, packed_at(b), out.at) == TCBRT_OK)
		DRIVE_CHECK(memcmp(out.at, expected, k * sizeof(float)) == 0, "row %zu is read otherwise than stored",
			    row);
	else
		DRIVE_CHECK(!is_of_any_m, "row %zu is not read", row);
	DRIVE_CHECK(tcbrt_read_row(b->plan, weights->rows + drive_below(9), packed_at(b), out.at) == TCBRT_E_USAGE,
		    "a row that is not there is read");
	drive_zone_check(&out, "a row that is read");
	tcb_buffer_free(&out.buffer);
	free(expected);
}

/* The first operand of weights. */
static void pack_first(struct drive_bench *b)
{
	struct drive_zone *packed = &b->packed[b->info.weights];

	memset(packed->at, TCB_POISON, packed->bytes);
	DRIVE_CHECK(tcbrt_pack(b->plan, b->stored[b->info.weights], packed->at) == TCBRT_OK, "packing is refused");
	if (b->info.pack_rows) {
		void *whole = malloc(packed->bytes);

		DRIVE_CHECK(whole, "out of memory");
		memcpy(whole, packed->at, packed->bytes);
		memset(packed->at, TCB_POISON, packed->bytes);
		by_threads(b, NULL);
		DRIVE_CHECK(memcmp(whole, packed->at, packed->bytes) == 0, "in chunks it is packed in another way");
		free(whole);
	}
	drive_zone_protect(packed, 1);
	b->operand[b->info.weights] = packed->at;
	check_unpacking(b);
	check_row(b);
}

void drive_pack(struct drive_bench *b)
{
	if (!b->info.packed_bytes) {
		DRIVE_CHECK(tcbrt_pack(b->plan, b->stored[0], b->stored[0]) == TCBRT_E_USAGE,
			    "there is nothing to pack, and it was packed");
		return;
	}
	pack_first(b);
	for (size_t i = (size_t)b->info.weights + 1; i < b->info.operand_count; i++) {
		if (!b->packed[i].at)
			continue;
		DRIVE_CHECK(tcbrt_pack_operand(b->plan, i, b->stored[i], b->packed[i].at) == TCBRT_OK,
			    "packing operand %zu is refused", i);
		drive_zone_protect(&b->packed[i], 1);
		b->operand[i] = b->packed[i].at;
	}
}
