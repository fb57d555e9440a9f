/* SPDX-License-Identifier: MIT
 *
 * For tests of passes: the kernel of pass_tools.h run by the emulator with
 * random inputs, a block of BITS_THREADS threads, each with its own part of the
 * output; and what it left there.
 */
#ifndef TCB_TESTS_PASS_BITS_H
#define TCB_TESTS_PASS_BITS_H

#include "pass_tools.h"
#include "ptx/emulate/emulate.h"

enum { BITS_THREADS = 64, BITS_WORDS = 32 /* of each thread */, BITS_INPUTS = 16 /* likewise */ };

/* %z4: the thread's output, %z5: its inputs, both of 32-bit words; %x4: the thread. */
#define BITS_HEAD                                                                                                 \
	"mov.u32 %x4, %tid.x;\nmul.wide.u32 %z6, %x4, 128;\nadd.s64 %z4, %z0, %z6;\nmul.wide.u32 %z7, %x4, 64;\n" \
	"add.s64 %z5, %z1, %z7;\n"

struct bits {
	uint32_t out[BITS_THREADS * BITS_WORDS];
	uint64_t executed; /* instructions by warps */
};

struct bits_inputs {
	uint32_t word[BITS_THREADS * BITS_INPUTS];
	uint64_t param[16]; /* in[]: 0 and 1 are set to addresses */
};

static inline void bits_finding(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct tcb_str *said = ctx;

	tcb_str_addf(said, "%s\n", finding->message);
}

/* Runs MODULE's kernel; returns how many findings there were, with SAID for them. */
static inline unsigned bits_try(struct tcb_ptx_module *module, const struct bits_inputs *inputs, struct bits *out,
				struct tcb_str *said)
{
	struct tcb_ptx_function *function = module->functions;
	struct tcb_ptx_program *program = NULL;
	struct tcb_ptx_memory *memory = NULL;
	struct tcb_ptx_emulation emulation;
	struct tcb_ptx_launch launch = { .grid = { 1, 1, 1 }, .block = { BITS_THREADS, 1, 1 }, .step_limit = 1 << 20 };
	struct tcb_ptx_sink sink = { bits_finding, said };
	unsigned char params[16 + 128] = { 0 };
	uint64_t out_at, in_at;
	struct tcb_error err;

	memset(out, 0, sizeof *out);
	if (tcb_ptx_program_create(function, &program, &err) != TCB_OK)
		fail_msg("%s\n%s", err.message, pass_lines(function));
	assert_int_equal(tcb_ptx_memory_create(&memory, &err), TCB_OK);
	assert_int_equal(
		tcb_ptx_memory_add(memory, "out", out->out, sizeof out->out, 256, TCB_PTX_MAY_WRITE, &out_at, &err),
		TCB_OK);
	assert_int_equal(tcb_ptx_memory_add(memory, "in", (void *)(uintptr_t)inputs->word, sizeof inputs->word, 256,
					    TCB_PTX_READ_ONLY, &in_at, &err),
			 TCB_OK);
	memcpy(params + 16, inputs->param, sizeof inputs->param);
	memcpy(params, &out_at, 8);
	memcpy(params + 16 + 8, &in_at, 8);
	assert_int_equal(tcb_ptx_param_total(function), sizeof params);
	launch.params = params;
	launch.param_bytes = sizeof params;
	if (tcb_ptx_emulate(program, &launch, memory, &sink, &emulation, &err) != TCB_OK)
		fail_msg("%s\n%s", err.message, pass_lines(function));
	out->executed = emulation.total.warps;
	tcb_ptx_memory_destroy(memory);
	tcb_ptx_program_destroy(program);
	return (unsigned)emulation.findings;
}

/* The same; findings fail the test. */
static inline void bits_run(struct tcb_ptx_module *module, const struct bits_inputs *inputs, struct bits *out)
{
	struct tcb_str said = { 0 };

	if (bits_try(module, inputs, out, &said))
		fail_msg("%s\n%s", said.data ? said.data : "findings", pass_lines(module->functions));
	tcb_str_fini(&said);
}

/* Mostly small and edge numbers. */
static inline uint32_t bits_word(struct tcb_rng *rng)
{
	uint32_t value = (uint32_t)tcb_rng_next(rng);

	switch (tcb_rng_below(rng, 5)) {
	case 0:
		return value & 15;
	case 1:
		return 0u - (value & 15);
	case 2:
		return 0x80000000u + (value & 15) - 8;
	case 3:
		return value & 0xff;
	}
	return value;
}

static inline void bits_fill(struct tcb_rng *rng, struct bits_inputs *inputs)
{
	for (size_t i = 0; i < sizeof inputs->word / sizeof *inputs->word; i++)
		inputs->word[i] = bits_word(rng);
	for (size_t i = 0; i < 16; i++)
		inputs->param[i] = (uint64_t)bits_word(rng) << 32 | bits_word(rng);
}

#endif
