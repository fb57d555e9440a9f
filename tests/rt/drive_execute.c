/* SPDX-License-Identifier: MIT
 *
 * A plan is executed alone, by pools, by threads of the caller and twice at once.
 */
#include "drive_bench.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void judge(const struct drive_bench *b, const char *how)
{
	size_t output = 0, bad = 0;

	if (b->exact)
		DRIVE_CHECK(memcmp(b->operand[b->info.output], b->exact, b->described[b->info.output].bytes) == 0,
			    "%s: not bit-equal to the order-matched reference", how);
	else if (!(tcb_outputs_error_ratio(&b->plan->cpu, b->described, b->info.operand_count, b->references,
					   b->operand, &output, &bad) <= 1))
		drive_fail("%s: %s %zu is wrong", how, b->described[output].name, bad);
}

struct seat {
	const struct drive_bench *b;
	void *const *operand;
	void *workspace;
	unsigned thread, threads, calls; /* threads 0: by itself */
	int code;
};

static void *take_seat(void *arg)
{
	struct seat *seat = arg;

	for (unsigned call = 0; call < seat->calls; call++)
		seat->code |= seat->threads ? tcbrt_execute_thread(seat->b->plan, seat->operand, seat->workspace,
								   seat->thread, seat->threads)
					    : tcbrt_execute(seat->b->plan, seat->operand, seat->workspace, NULL);
	return NULL;
}

static void run_seats(struct seat *seats, unsigned count)
{
	pthread_t started[DRIVE_THREADS_MAX];

	for (unsigned t = 0; t < count; t++)
		DRIVE_CHECK(pthread_create(&started[t], NULL, take_seat, &seats[t]) == 0, "no thread");
	for (unsigned t = 0; t < count; t++) {
		pthread_join(started[t], NULL);
		DRIVE_CHECK(seats[t].code == TCBRT_OK, "thread %u of %u was refused", t, count);
	}
}

static void run_gang(const struct drive_bench *b, void *workspace)
{
	const unsigned threads = 1 + (unsigned)drive_below(drive_once_in(4) ? DRIVE_THREADS_MAX : 3);
	const unsigned calls = 1 + (unsigned)drive_below(3);
	struct seat seats[DRIVE_THREADS_MAX];

	for (unsigned t = 0; t < threads; t++)
		seats[t] = (struct seat){ b, b->operand, workspace, t, threads, calls, TCBRT_OK };
	run_seats(seats, threads);
}

/* Two threads execute the same plan at once, each with its own outputs and workspace. */
static void run_two(const struct drive_bench *b, void *workspace, char *const first[])
{
	struct drive_zone output[TCBRT_OPERANDS_MAX] = { { .at = NULL } };
	struct drive_zone other = drive_zone(b->info.workspace_bytes, TCBRT_ALIGNMENT);
	void *operand[TCBRT_OPERANDS_MAX];
	struct seat seats[] = { { b, b->operand, workspace, 0, 0, 2, TCBRT_OK },
				{ b, operand, other.at, 0, 0, 2, TCBRT_OK } };

	memcpy(operand, b->operand, sizeof(operand));
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (drive_is_output(b, i)) {
			output[i] = drive_zone(b->data[i].bytes, b->plan->operand[i].alignment);
			operand[i] = output[i].at;
		}
	DRIVE_CHECK(tcbrt_workspace_init(b->plan, other.at) == TCBRT_OK, "its workspace cannot be made ready");
	run_seats(seats, 2);
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (drive_is_output(b, i)) {
			DRIVE_CHECK(memcmp(first[i], output[i].at, output[i].bytes) == 0,
				    "beside another execution the result is another");
			drive_zone_check(&output[i], "the other output");
			tcb_buffer_free(&output[i].buffer);
		}
	drive_zone_check(&other, "the other workspace");
	tcb_buffer_free(&other.buffer);
}

/* Outputs: poison them, keep them in FIRST, compare them with it. */
static void poison(const struct drive_bench *b)
{
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (drive_is_output(b, i))
			memset(b->operand[i], TCB_POISON, b->data[i].bytes);
}

static void keep(const struct drive_bench *b, char *first[])
{
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (drive_is_output(b, i)) {
			first[i] = malloc(b->data[i].bytes);
			DRIVE_CHECK(first[i], "out of memory");
			memcpy(first[i], b->operand[i], b->data[i].bytes);
		}
}

static void check_gaps(const struct drive_bench *b)
{
	for (size_t i = 0; i < b->info.operand_count; i++)
		DRIVE_CHECK(!drive_is_output(b, i) || tcb_operand_gaps_are(&b->described[i], b->operand[i], TCB_POISON),
			    "it wrote between the rows of %s", b->described[i].name);
}

static int is_kept(const struct drive_bench *b, char *const first[])
{
	int is_same = 1;

	for (size_t i = 0; i < b->info.operand_count; i++)
		is_same &= !drive_is_output(b, i) || memcmp(first[i], b->operand[i], b->data[i].bytes) == 0;
	return is_same;
}

void drive_execute(struct drive_bench *b, void *workspace)
{
	char *first[TCBRT_OPERANDS_MAX] = { NULL };

	for (unsigned i = 0; i < 5; i++) {
		const unsigned threads = i ? 1 + (unsigned)drive_below(DRIVE_THREADS_MAX) : 0;
		char how[32];

		snprintf(how, sizeof(how), "%u: with %u", i, threads);
		poison(b);
		if (i == 3)
			run_gang(b, workspace);
		else if (i == 4)
			run_two(b, workspace, first);
		else
			DRIVE_CHECK(tcbrt_execute(b->plan, b->operand, workspace, drive_pools[threads]) == TCBRT_OK,
				    "it is refused");
		if (i == 0) {
			judge(b, "alone");
			check_gaps(b);
			keep(b, first);
		}
		DRIVE_CHECK(is_kept(b, first), "%s threads the result is another than alone", how);
		drive_bench_check_zones(b);
	}
	DRIVE_CHECK(tcbrt_execute(b->plan, b->operand, (char *)workspace + 64, NULL) == TCBRT_E_USAGE,
		    "a workspace was taken that is not aligned");
	for (size_t i = 0; i < TCBRT_OPERANDS_MAX; i++)
		free(first[i]);
	drive_counts.executed++;
}
