/* SPDX-License-Identifier: MIT
 *
 * A host with AMX code of its own that configures its tiles once per thread: the
 * same configuration is there after an execution of ours, in the caller and in
 * each thread of a gang, and its next tile load works.  Only where there is AMX.
 */
#include "cmocka_all.h"

#include <immintrin.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rt/rt_plan.h"
#include "tcbrt.h"

enum { THREADS = 2, CONFIG = 64, ROWS = 8, LINE = 64 };

static struct tcbrt_plan *plan;
static void *operands[TCBRT_OPERANDS_MAX], *workspace;

static void *room(size_t bytes)
{
	void *at = aligned_alloc(TCBRT_ALIGNMENT, (bytes + TCBRT_ALIGNMENT) / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT);

	assert_non_null(at);
	return at;
}

/* Eight tiles of ROWS lines, which no kernel of ours has. */
static void fill_config(uint8_t config[CONFIG])
{
	memset(config, 0, CONFIG);
	config[0] = 1;
	for (int t = 0; t < 8; t++) {
		config[16 + 2 * t] = LINE;
		config[48 + t] = ROWS;
	}
}

/* 1: what the host loaded once is as it was, and a tile goes through it. */
__attribute__((target("amx-tile"))) static int host_is_well(const uint8_t config[CONFIG])
{
	_Alignas(64) uint8_t now[CONFIG], from[ROWS][LINE], to[ROWS][LINE];

	memset(from, 7, sizeof(from));
	memset(to, 0, sizeof(to));
	_tile_storeconfig(now);
	__asm__ volatile("" ::: "memory");
	if (memcmp(now, config, CONFIG) != 0)
		return 0;
	_tile_loadd(3, from, LINE);
	_tile_stored(3, to, LINE);
	__asm__ volatile("" ::: "memory");
	return memcmp(from, to, sizeof(to)) == 0;
}

struct seat {
	unsigned thread;
	int is_well;
};

__attribute__((target("amx-tile"))) static void *take_seat(void *arg)
{
	struct seat *seat = arg;
	_Alignas(64) uint8_t config[CONFIG];

	fill_config(config);
	__asm__ volatile("" ::: "memory");
	_tile_loadconfig(config);
	tcbrt_execute_thread(plan, operands, workspace, seat->thread, THREADS);
	seat->is_well = host_is_well(config);
	_tile_release();
	return NULL;
}

/* 1: the thread has no configuration after a call, as before it. */
__attribute__((target("amx-tile"))) static int leaves_none(void)
{
	_Alignas(64) uint8_t now[CONFIG], none[CONFIG] = { 0 };

	_tile_release();
	tcbrt_execute(plan, operands, workspace, NULL);
	_tile_storeconfig(now);
	__asm__ volatile("" ::: "memory");
	return memcmp(now, none, CONFIG) == 0;
}

static void hosts_keep_their_tiles(void **state)
{
	const struct tcbrt_query query = {
		.op = "q4k_matmul", .device = "cpu:amx", .threads = THREADS, .m = 40, .n = 96, .k = 512
	};
	struct tcbrt_plan_info info;
	struct seat seats[THREADS];
	pthread_t threads[THREADS];
	void *stored[TCBRT_OPERANDS_MAX];
	struct tcbrt_error err;
	struct tcbrt *rt;

	(void)state;
	assert_int_equal(tcbrt_open_empty(&rt, NULL), TCBRT_OK);
	if (tcbrt_plan_create(rt, &query, &plan, &err) == TCBRT_E_UNSUPPORTED) {
		tcbrt_close(rt);
		skip_because("this machine has no AMX: that a host's tiles survive was not tried");
	}
	assert_non_null(plan);
	assert_int_equal(tcbrt_plan_info(plan, &info), TCBRT_OK);
	assert_non_null(strstr(info.tuning.variant, "amx"));
	for (size_t i = 0; i < info.operand_count; i++)
		operands[i] = stored[i] = room(info.operand[i].bytes);
	plan->problem.op->fill(&plan->problem, 1, stored);
	if (info.packed_bytes) {
		operands[info.weights] = room(info.packed_bytes);
		assert_int_equal(tcbrt_pack(plan, stored[info.weights], operands[info.weights]), TCBRT_OK);
	}
	workspace = room(info.workspace_bytes);
	assert_int_equal(tcbrt_workspace_init(plan, workspace), TCBRT_OK);
	for (unsigned t = 0; t < THREADS; t++) {
		seats[t] = (struct seat){ .thread = t };
		assert_int_equal(pthread_create(&threads[t], NULL, take_seat, &seats[t]), 0);
	}
	for (unsigned t = 0; t < THREADS; t++) {
		pthread_join(threads[t], NULL);
		assert_true(seats[t].is_well);
	}
	assert_true(leaves_none());
	for (size_t i = 0; i < info.operand_count; i++) {
		if (stored[i] != operands[i])
			free(stored[i]);
		free(operands[i]);
	}
	free(workspace);
	tcbrt_plan_destroy(plan);
	tcbrt_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(hosts_keep_their_tiles) };

	return cmocka_run_group_tests_name("rt.rt_tiles", tests, NULL, NULL);
}
