/* SPDX-License-Identifier: MIT
 *
 * For tests of the emulator: a kernel from text, buffers, a launch, and the
 * findings that came.
 */
#ifndef TCB_TESTS_EMU_BENCH_H
#define TCB_TESTS_EMU_BENCH_H

#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "ptx/emulate/emulate.h"
#include "ptx/text/text.h"

struct emu_bench {
	struct tcb_ptx_module *module;
	struct tcb_ptx_program *program;
	struct tcb_ptx_memory *memory;
	struct tcb_ptx_launch launch;
	struct tcb_ptx_emulation out;
	struct tcb_ptx_sink sink;
	uint8_t params[256];
	size_t param_bytes;
	unsigned found[TCB_PTX_RULE_COUNT]; /* errors and warnings by rule */
	unsigned errors, warnings;
	uint32_t line; /* of the first finding */
	char first[420];
};

static void emu_see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct emu_bench *bench = ctx;

	bench->found[finding->rule]++;
	if (!bench->errors && !bench->warnings) {
		snprintf(bench->first, sizeof bench->first, "%u: %s", finding->line, finding->message);
		bench->line = finding->line;
	}
	if (finding->severity == TCB_PTX_ERROR)
		bench->errors++;
	else
		bench->warnings++;
}

/* The first entry of TEXT, or the one called NAME; one block of THREADS. */
static void emu_open(struct emu_bench *bench, const char *text, const char *name, unsigned threads)
{
	struct tcb_error err = { TCB_OK, "" };
	struct tcb_ptx_function *entry;

	memset(bench, 0, sizeof *bench);
	if (tcb_ptx_parse("kernel", text, strlen(text), &bench->module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	for (entry = bench->module->functions; entry; entry = entry->next)
		if (entry->is_entry && (!name || strcmp(entry->symbol->name, name) == 0))
			break;
	assert_non_null(entry);
	if (tcb_ptx_program_create(entry, &bench->program, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_ptx_memory_create(&bench->memory, &err), TCB_OK);
	bench->launch.grid[0] = bench->launch.grid[1] = bench->launch.grid[2] = 1;
	bench->launch.block[0] = threads;
	bench->launch.block[1] = bench->launch.block[2] = 1;
	bench->launch.step_limit = 1u << 22;
	bench->sink = (struct tcb_ptx_sink){ emu_see, bench };
}

static void emu_close(struct emu_bench *bench)
{
	tcb_ptx_program_destroy(bench->program);
	tcb_ptx_memory_destroy(bench->memory);
	tcb_ptx_module_destroy(bench->module);
}

static inline void emu_param(struct emu_bench *bench, const void *value, size_t bytes)
{
	bench->param_bytes = (bench->param_bytes + bytes - 1) / bytes * bytes;
	memcpy(bench->params + bench->param_bytes, value, bytes);
	bench->param_bytes += bytes;
}

static inline void emu_param_u32(struct emu_bench *bench, uint32_t value)
{
	emu_param(bench, &value, sizeof value);
}

/* A buffer of the test as the next parameter; returns its address. */
static inline uint64_t emu_buffer(struct emu_bench *bench, const char *name, void *host, size_t bytes,
				  enum tcb_ptx_permission permission)
{
	struct tcb_error err = { TCB_OK, "" };
	uint64_t address = 0;

	if (tcb_ptx_memory_add(bench->memory, name, host, bytes, 256, permission, &address, &err) != TCB_OK)
		fail_msg("%s", err.message);
	emu_param(bench, &address, sizeof address);
	return address;
}

/* Runs it; findings are counted in BENCH. */
static void emu_run(struct emu_bench *bench)
{
	struct tcb_error err = { TCB_OK, "" };

	memset(bench->found, 0, sizeof bench->found);
	bench->errors = bench->warnings = 0;
	bench->first[0] = 0;
	bench->launch.params = bench->params;
	bench->launch.param_bytes = bench->param_bytes;
	if (tcb_ptx_emulate(bench->program, &bench->launch, bench->memory, &bench->sink, &bench->out, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

/* ... and there must be none. */
static inline void emu_run_clean(struct emu_bench *bench)
{
	emu_run(bench);
	if (bench->errors || bench->warnings)
		fail_msg("%u errors, %u warnings: %s", bench->errors, bench->warnings, bench->first);
}

#endif
