/* SPDX-License-Identifier: MIT
 *
 * A host with AMX code of its own that configures its tiles once per thread: the
 * same configuration is there after an execution of ours, in the caller and in
 * each thread of a gang, and its next tile load works (only where there is AMX).  And
 * the permission to use tiles: who asks for it, and what is done without.
 */
#include "cmocka_all.h"

#include <errno.h>
#include <immintrin.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cpu_identity.h"
#include "rt/rt_plan.h"
#include "rt/runtime.h"
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

static void host_keeps_its_tiles(enum tcbrt_contract contract)
{
	const struct tcbrt_query query = { .op = "q4k_matmul",
					   .contract = contract,
					   .device = "cpu:amx",
					   .threads = THREADS,
					   .m = 40,
					   .n = 96,
					   .k = 512 };
	struct tcbrt_plan_info info;
	struct seat seats[THREADS];
	pthread_t threads[THREADS];
	void *stored[TCBRT_OPERANDS_MAX];
	struct tcbrt_error err;
	struct tcbrt *rt;

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

static void hosts_keep_their_tiles(void **state)
{
	(void)state;
	host_keeps_its_tiles(TCBRT_CONTRACT_Q8);
	host_keeps_its_tiles(TCBRT_CONTRACT_F16);
}

/* ---- the permission ---- */

/* From now on this process's requests for tiles end with ACTION. */
static int filter_requests(uint32_t action)
{
	enum { REQUEST_PERMISSION = 0x1023 };
	struct sock_filter rules[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_arch_prctl, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, REQUEST_PERMISSION, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof(rules) / sizeof(*rules), rules };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* BODY in a process of its own, whose requests for tiles end with ACTION: what it says, or "" where all is well. */
static const char *apart(uint32_t action, const char *(*body)(void))
{
	static char said[512];
	ssize_t count;
	int pipes[2], status;
	pid_t child;

	assert_int_equal(pipe(pipes), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		const char *text = filter_requests(action) ? "no seccomp" : body();
		(void)!write(pipes[1], text, strlen(text));
		_exit(0);
	}
	close(pipes[1]);
	count = read(pipes[0], said, sizeof(said) - 1);
	said[count > 0 ? count : 0] = '\0';
	close(pipes[0]);
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status)
		snprintf(said, sizeof(said), "ended with status %d", status);
	return said;
}

static void *set_small_stack(void *failed)
{
	const stack_t stack = { .ss_sp = malloc(8192), .ss_size = 8192 };
	stack_t before;

	*(int *)failed = sigaltstack(&stack, &before);
	if (!*(int *)failed)
		sigaltstack(&before, NULL); /* which a sanitizer unmaps when the thread ends */
	free(stack.ss_sp);
	return NULL;
}

/* Opens and looks everything up; then a thread wants a signal stack without room for tiles. */
static const char *only_look(void)
{
	const struct tcbrt_query query = { .op = "q4k_matmul", .device = "cpu", .m = 40, .n = 96, .k = 512 };
	struct tcbrt_tuning tuning;
	struct tcbrt *rt;
	pthread_t thread;
	int failed = 1;

	if (tcbrt_open_empty(&rt, NULL) != TCBRT_OK || tcbrt_lookup(rt, &query, &tuning) != TCBRT_OK)
		return "cannot look up";
	pthread_create(&thread, NULL, set_small_stack, &failed);
	pthread_join(thread, NULL);
	tcbrt_close(rt);
	return failed ? "no small signal stack" : "";
}

/* Who runs no AMX kernel asks for nothing: a request would kill the process. */
static void lookups_ask_for_nothing(void **state)
{
	(void)state;
	assert_string_equal(apart(SECCOMP_RET_KILL_PROCESS, only_look), "");
}

/* What a processor with AMX and without AVX, which is made of this one, gets: its plan's variant and reason. */
static const char *plan_with_tiles(void)
{
	static char text[512];
	struct tcbrt_query query = { .op = "q4k_matmul", .device = "cpu:scalar", .m = 40, .n = 96, .k = 512 };
	struct tcbrt_tuning tuning;
	struct tcbrt_plan_info info;
	struct tcbrt_error err = { 0 };
	struct tcbrt *rt;
	uint32_t device;

	if (tcbrt_open_empty(&rt, NULL) != TCBRT_OK)
		return "cannot open";
	device = rt_device_find(rt, "cpu:scalar");
	rt->devices[device].target.isa_mask |= 1u << TCB_ISA_AMX;
	if (tcbrt_lookup(rt, &query, &tuning) != TCBRT_OK || !strstr(tuning.geometry, "isa=amx"))
		return "AMX is not looked up";
	if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
		return "no plan";
	tcbrt_plan_info(plan, &info);
	query.geometry = tuning.geometry;
	if (tcbrt_plan_create(rt, &query, &(struct tcbrt_plan *){ NULL }, &err) != TCBRT_E_UNSUPPORTED)
		return "what was asked for is not refused";
	if (!strstr(info.tuning.geometry, "isa=scalar") || info.tuning.source != TCBRT_SOURCE_DEFAULT)
		return "another geometry";
	snprintf(text, sizeof(text), "%.200s|%.200s", strstr(info.tuning.reason, "; this process"), err.message);
	return text;
}

/* Of contract f16 there are kernels on tiles alone: who left the contract open gets the one that was named. */
static const char *plan_halves_without(void)
{
	static char text[512];
	struct tcbrt_query query = { .op = "q4k_matmul", .device = "cpu:scalar", .m = 40, .n = 96, .k = 512 };
	struct tcbrt_tuning tuning;
	struct tcbrt_plan_info info;
	struct tcbrt_error err = { 0 };
	struct tcbrt *rt;

	if (tcbrt_open_empty(&rt, NULL) != TCBRT_OK)
		return "cannot open";
	rt->devices[rt_device_find(rt, "cpu:scalar")].target.isa_mask |= 1u << TCB_ISA_AMX;
	query.contract = TCBRT_CONTRACT_AUTO_Q8;
	if (tcbrt_lookup(rt, &query, &tuning) != TCBRT_OK || tuning.contract != TCBRT_CONTRACT_F16)
		return "f16 is not looked up";
	if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
		return "no plan of the other contract";
	tcbrt_plan_info(plan, &info);
	if (info.tuning.contract != TCBRT_CONTRACT_Q8 || !strstr(info.tuning.geometry, "isa=scalar"))
		return "another contract";
	query.contract = TCBRT_CONTRACT_F16;
	if (tcbrt_plan_create(rt, &query, &(struct tcbrt_plan *){ NULL }, &err) != TCBRT_E_UNSUPPORTED)
		return "what cannot be done is not refused";
	snprintf(text, sizeof(text), "%.200s", err.message);
	return text;
}

static void open_contracts_fall_back(void **state)
{
	(void)state;
	assert_string_equal(apart(SECCOMP_RET_ERRNO | EPERM, plan_halves_without),
			    "this process may not use AMX's tiles (Operation not permitted)");
}

static void refusals_fall_back(void **state)
{
	(void)state;
	assert_string_equal(apart(SECCOMP_RET_ERRNO | EPERM, plan_with_tiles),
			    "; this process may not use AMX's tiles (Operation not permitted), so the default without "
			    "them|this process may not use AMX's tiles (Operation not permitted)");
	assert_non_null(strstr(apart(SECCOMP_RET_ERRNO | ENOSPC, plan_with_tiles), "signal stack that is too small"));
}

static const char *get_key(void)
{
	static struct tcb_device device;

	return tcb_cpu_identify("cpu", 1, &device, NULL) == TCB_OK ? device.key : "no device";
}

/* A refusal makes no other device of this one: its stored results stay. */
static void the_key_stays(void **state)
{
	struct tcb_device device;

	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &device, NULL), TCB_OK);
	assert_string_equal(apart(SECCOMP_RET_ERRNO | EPERM, get_key), device.key);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lookups_ask_for_nothing),
					    cmocka_unit_test(refusals_fall_back),
					    cmocka_unit_test(open_contracts_fall_back), cmocka_unit_test(the_key_stays),
					    cmocka_unit_test(hosts_keep_their_tiles) };

	return cmocka_run_group_tests_name("rt.rt_tiles", tests, NULL, NULL);
}
