/* SPDX-License-Identifier: MIT
 *
 * Runs a kernel k(out, n) of one block in the emulator, for tests that ask what
 * it computes and whether it races.
 */
#ifndef TCB_TESTS_RUN_KERNEL_H
#define TCB_TESTS_RUN_KERNEL_H

#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/emulate/emulate.h"

struct kernel_run {
	uint32_t out[1024];
	uint32_t initial; /* what the words of OUT are before */
	unsigned races, others;
	char last[480]; /* what was found last */
	struct tcb_ptx_emulation counts;
	struct tcb_ptx_counts *by_ins; /* of counts.ins_count; NULL unless the caller gives room for as many */
};

static void kernel_run_see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct kernel_run *run = ctx;

	if (finding->rule == TCB_PTX_RULE_RACE)
		run->races++;
	else if (finding->severity == TCB_PTX_ERROR)
		run->others++;
	snprintf(run->last, sizeof run->last, "line %u: %s", finding->line, finding->message);
}

static inline void run_kernel(struct tcb_ptx_function *function, uint32_t threads, uint32_t n, uint64_t seed,
			      struct kernel_run *run)
{
	struct tcb_ptx_sink sink = { kernel_run_see, run };
	struct tcb_ptx_launch launch = { .grid = { 1, 1, 1 }, .block = { threads, 1, 1 }, .seed = seed };
	struct tcb_ptx_program *program;
	struct tcb_ptx_memory *memory;
	struct tcb_error err;
	uint64_t address;
	unsigned char params[16] = { 0 };

	struct tcb_ptx_counts *by_ins = run->by_ins;
	uint32_t initial = run->initial;

	memset(run, 0, sizeof *run);
	run->by_ins = by_ins;
	for (size_t i = 0; i < sizeof run->out / sizeof *run->out; i++)
		run->out[i] = initial;
	if (tcb_ptx_program_create(function, &program, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_ptx_memory_create(&memory, &err), TCB_OK);
	assert_int_equal(
		tcb_ptx_memory_add(memory, "out", run->out, sizeof run->out, 128, TCB_PTX_MAY_WRITE, &address, &err),
		TCB_OK);
	memcpy(params, &address, 8);
	memcpy(params + 8, &n, 4);
	launch.params = params;
	launch.param_bytes = tcb_ptx_param_total(function);
	if (tcb_ptx_emulate(program, &launch, memory, &sink, &run->counts, &err) != TCB_OK)
		fail_msg("%s", err.message);
	if (by_ins)
		memcpy(by_ins, run->counts.by_ins, run->counts.ins_count * sizeof *by_ins);
	run->counts.by_ins = NULL; /* lent by the program */
	tcb_ptx_memory_destroy(memory);
	tcb_ptx_program_destroy(program);
}

#endif
