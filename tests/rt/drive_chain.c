/* SPDX-License-Identifier: MIT
 *
 * Chains at random: a plan, another with outputs of its own, one of a round before, and sums of what they write, into
 * other memory or in place, so that calls read, overwrite and overtake each other if they may.  Call by call one gets
 * what a chain must give, bit for bit, in the caller alone, on pools and on threads of the caller.
 */
#include "drive_bench.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tcbrt_chain.h"

enum { CALLS_MAX = 12, ADDRESS_ALIGNMENT = 64 };

/* One round's plan for those after it. */
static struct {
	struct drive_bench bench;
	struct tcbrt_plan *plan; /* NULL: there is none */
} kept;

/* A chain, and all that it writes. */
struct chained {
	struct tcbrt_call calls[CALLS_MAX];
	size_t count;
	void *written[CALLS_MAX * TCBRT_OPERANDS_MAX];
	size_t bytes[CALLS_MAX * TCBRT_OPERANDS_MAX], written_count;
	struct drive_zone owned[CALLS_MAX * TCBRT_OPERANDS_MAX];
	size_t owned_count;
	struct tcbrt_plan *sums[CALLS_MAX];
	size_t sum_count;
};

static void writes(struct chained *c, void *at, size_t bytes)
{
	c->written[c->written_count] = at;
	c->bytes[c->written_count++] = bytes;
}

static void *own(struct chained *c, size_t bytes, size_t alignment)
{
	struct drive_zone *zone = &c->owned[c->owned_count++];

	*zone = drive_zone(bytes, alignment);
	writes(c, zone->at, bytes);
	return zone->at;
}

static void add_call(struct chained *c, const struct tcbrt_plan *plan, void *const operand[], size_t count)
{
	struct tcbrt_call *call = &c->calls[c->count++];

	*call = (struct tcbrt_call){ .plan = plan };
	for (size_t i = 0; i < count; i++)
		call->operand[i] = (unsigned long long)(uintptr_t)operand[i];
}

/* B's plan, into outputs of B or others. */
static void add_plan(struct chained *c, const struct drive_bench *b, int is_apart)
{
	void *operand[TCBRT_OPERANDS_MAX];

	memcpy(operand, b->operand, sizeof(operand));
	for (size_t i = 0; i < b->info.operand_count; i++)
		if (is_apart && drive_is_output(b, i))
			operand[i] = own(c, b->data[i].bytes, b->plan->operand[i].alignment);
	add_call(c, b->plan, operand, b->info.operand_count);
}

/* What the last call writes first, added to itself, in place or not; where it is no matrix of numbers: nothing. */
static void add_sum(const struct tcbrt *rt, struct chained *c, int is_in_place)
{
	const struct tcbrt_call *last = &c->calls[c->count - 1];
	const struct tcbrt_operand *y = &last->plan->operand[last->plan->info.output];
	const int is_half = strcmp(y->type, "f16") == 0;
	const size_t bytes = is_half ? 2 : 4;
	void *const at = (void *)(uintptr_t)last->operand[last->plan->info.output];
	const struct tcbrt_query query = { .op = is_half ? "elementwise_add_f16" : "elementwise_add_f32",
					   .m = 1,
					   .n = y->rows * y->columns,
					   .threads = 1 + (unsigned)drive_below(3) };
	struct tcbrt_plan *sum;
	struct tcbrt_error err;

	if (y->stride || (!is_half && strcmp(y->type, "f32") != 0))
		return;
	if (tcbrt_plan_create(rt, &query, &sum, &err) != TCBRT_OK)
		drive_fail("no plan of a sum: %s", err.message);
	c->sums[c->sum_count++] = sum;
	for (size_t i = 0; i < sum->info.operand_count; i++)
		if ((uintptr_t)at % sum->operand[i].alignment)
			return;
	void *const operand[] = { at, at, is_in_place ? at : own(c, bytes * query.n, ADDRESS_ALIGNMENT) };
	add_call(c, sum, operand, 3);
}

static void draw(const struct tcbrt *rt, const struct drive_bench *b, struct chained *c)
{
	const size_t count = 1 + drive_below(CALLS_MAX - 1);

	memset(c, 0, sizeof(*c));
	for (const struct drive_bench *of = b; of; of = of == b && kept.plan ? &kept.bench : NULL)
		for (size_t i = 0; i < of->info.operand_count; i++)
			if (drive_is_output(of, i))
				writes(c, of->operand[i], of->data[i].bytes);
	add_plan(c, b, 0);
	while (c->count < count)
		switch (drive_below(kept.plan ? 6 : 5)) {
		case 0:
		case 1:
			add_plan(c, b, drive_once_in(2));
			break;
		case 2:
		case 3:
			add_sum(rt, c, 0);
			break;
		case 4:
			add_sum(rt, c, 1);
			break;
		default:
			add_plan(c, &kept.bench, drive_once_in(2));
		}
}

static void poison(const struct chained *c)
{
	for (size_t i = 0; i < c->written_count; i++)
		memset(c->written[i], TCB_POISON, c->bytes[i]);
}

/* Call after call. */
static void expect(const struct chained *c, char *out[])
{
	poison(c);
	for (size_t i = 0; i < c->count; i++) {
		const struct tcbrt_plan *plan = c->calls[i].plan;
		struct drive_zone workspace = drive_zone(plan->info.workspace_bytes, TCBRT_ALIGNMENT);
		void *operand[TCBRT_OPERANDS_MAX] = { NULL };

		for (size_t o = 0; o < plan->info.operand_count; o++)
			operand[o] = (void *)(uintptr_t)c->calls[i].operand[o];
		DRIVE_CHECK(tcbrt_workspace_init(plan, workspace.at) == TCBRT_OK, "a workspace cannot be made ready");
		DRIVE_CHECK(tcbrt_execute(plan, operand, workspace.at, NULL) == TCBRT_OK, "call %zu is refused", i);
		tcb_buffer_free(&workspace.buffer);
	}
	for (size_t i = 0; i < c->written_count; i++) {
		out[i] = malloc(c->bytes[i]);
		DRIVE_CHECK(out[i], "out of memory");
		memcpy(out[i], c->written[i], c->bytes[i]);
	}
}

struct seat {
	const struct tcbrt_chain *chain;
	void *workspace;
	unsigned thread, threads;
	int code;
};

static void *take_seat(void *arg)
{
	struct seat *seat = arg;

	seat->code = tcbrt_chain_execute_thread(seat->chain, seat->workspace, seat->thread, seat->threads);
	return NULL;
}

static void run_gang(const struct tcbrt_chain *chain, void *workspace, unsigned threads)
{
	struct seat seats[DRIVE_THREADS_MAX];
	pthread_t started[DRIVE_THREADS_MAX];

	for (unsigned t = 0; t < threads; t++) {
		seats[t] = (struct seat){ chain, workspace, t, threads, TCBRT_OK };
		DRIVE_CHECK(pthread_create(&started[t], NULL, take_seat, &seats[t]) == 0, "no thread");
	}
	for (unsigned t = 0; t < threads; t++) {
		pthread_join(started[t], NULL);
		DRIVE_CHECK(seats[t].code == TCBRT_OK, "of a chain thread %u of %u was refused", t, threads);
	}
}

static void check_all(const struct chained *c, char *const expected[], unsigned way, unsigned threads)
{
	for (size_t i = 0; i < c->written_count; i++)
		DRIVE_CHECK(memcmp(expected[i], c->written[i], c->bytes[i]) == 0,
			    "a chain of %zu calls, %s with %u threads, has another result than its calls: output %zu",
			    c->count, way == 2 ? "a gang" : "a pool", threads, i);
	for (size_t i = 0; i < c->owned_count; i++)
		drive_zone_check(&c->owned[i], "an output of a chain");
}

void drive_chain(const struct tcbrt *rt, const struct drive_bench *b)
{
	static struct chained c;
	char *expected[CALLS_MAX * TCBRT_OPERANDS_MAX] = { NULL };
	struct tcbrt_chain_info info;
	struct tcbrt_chain *chain;
	struct tcbrt_error err;

	draw(rt, b, &c);
	expect(&c, expected);
	if (tcbrt_chain_create(c.calls, c.count, &chain, &err) != TCBRT_OK)
		drive_fail("a chain of %zu calls is refused: %s", c.count, err.message);
	DRIVE_CHECK(tcbrt_chain_info(chain, &info) == TCBRT_OK && info.calls == c.count && !info.is_gpu &&
			    info.waits >= 1 && info.waits <= info.calls,
		    "a chain of %zu calls has %zu and %zu waits", c.count, info.calls, info.waits);
	struct drive_zone workspace = drive_zone(info.workspace_bytes, TCBRT_ALIGNMENT);
	DRIVE_CHECK(tcbrt_chain_init(chain, workspace.at) == TCBRT_OK, "a chain's workspace cannot be made ready");
	for (unsigned i = 0; i < 4; i++) {
		const unsigned threads = i ? 1 + (unsigned)drive_below(drive_once_in(4) ? DRIVE_THREADS_MAX : 3) : 0;

		poison(&c);
		if (i == 2)
			run_gang(chain, workspace.at, threads);
		else
			DRIVE_CHECK(tcbrt_chain_execute(chain, workspace.at, drive_pools[threads]) == TCBRT_OK,
				    "a chain is not executed");
		check_all(&c, expected, i, threads);
		drive_bench_check_zones(b);
	}
	drive_zone_check(&workspace, "a chain's workspace");
	DRIVE_CHECK(tcbrt_chain_execute(chain, (char *)workspace.at + 64, NULL) == TCBRT_E_USAGE,
		    "a chain took a workspace that is not aligned");
	tcbrt_chain_destroy(chain);
	tcb_buffer_free(&workspace.buffer);
	for (size_t i = 0; i < c.written_count; i++)
		free(expected[i]);
	for (size_t i = 0; i < c.owned_count; i++)
		tcb_buffer_free(&c.owned[i].buffer);
	for (size_t i = 0; i < c.sum_count; i++)
		tcbrt_plan_destroy(c.sums[i]);
	drive_counts.chained += c.count;
}

void drive_chain_keep(const struct tcbrt *rt, const struct drive_bench *b)
{
	unsigned char *blob;
	struct tcbrt_plan *plan;
	struct tcbrt_error err;
	size_t bytes;

	DRIVE_CHECK(tcbrt_plan_save(b->plan, NULL, 0, &bytes) == TCBRT_OK, "it cannot be saved");
	blob = malloc(bytes);
	DRIVE_CHECK(blob && tcbrt_plan_save(b->plan, blob, bytes, &bytes) == TCBRT_OK, "it cannot be saved");
	if (tcbrt_plan_load(rt, blob, bytes, &plan, &err) != TCBRT_OK)
		drive_fail("saved, it cannot be loaded: %s", err.message);
	free(blob);
	drive_chain_forget();
	kept.bench = *b;
	kept.bench.plan = kept.plan = plan;
}

void drive_chain_forget(void)
{
	if (!kept.plan)
		return;
	drive_bench_fini(&kept.bench);
	tcbrt_plan_destroy(kept.plan);
	kept.plan = NULL;
}
