/* SPDX-License-Identifier: MIT
 *
 * Any text that parses as PTX, emulated: each kernel with two warps, two blocks,
 * a small step limit and buffers for its parameters.  Nothing that a kernel does
 * may reach beyond its memory, crash or hang.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ptx/emulate/emulate.h"
#include "ptx/text/text.h"

enum { WORDS = 256, PARAM_MAX = 4096, KERNELS_MAX = 4 };

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	FUZZ_CHECK(finding->message[0]);
	++*(unsigned *)ctx;
}

static void emulate(struct tcb_ptx_function *function)
{
	uint64_t params[PARAM_MAX / 8] = { 0 }, read_only, both;
	uint32_t *buffer = calloc(WORDS, sizeof *buffer), *fixed = calloc(WORDS, sizeof *fixed);
	struct tcb_ptx_launch launch = { .grid = { 2, 1, 1 },
					 .block = { 40, 1, 1 },
					 .dynamic_shared = 256,
					 .params = params,
					 .param_bytes = tcb_ptx_param_total(function),
					 .step_limit = 3000,
					 .seed = 1 };
	struct tcb_ptx_program *program = NULL;
	struct tcb_ptx_memory *memory = NULL;
	struct tcb_ptx_emulation out;
	unsigned findings = 0;
	struct tcb_ptx_sink sink = { see, &findings };
	struct tcb_error err = { TCB_OK, "" };

	if (buffer && fixed && launch.param_bytes <= sizeof params &&
	    tcb_ptx_program_create(function, &program, &err) == TCB_OK &&
	    tcb_ptx_memory_create(&memory, &err) == TCB_OK &&
	    tcb_ptx_memory_add(memory, "a", fixed, WORDS * 4, 256, TCB_PTX_READ_ONLY, &read_only, &err) == TCB_OK &&
	    tcb_ptx_memory_add(memory, "b", buffer, WORDS * 4, 16, TCB_PTX_MAY_WRITE, &both, &err) == TCB_OK) {
		for (size_t i = 0; i < sizeof params / sizeof *params; i++)
			params[i] = i % 3 == 0 ? read_only : i % 3 == 1 ? both : 8;
		if (tcb_ptx_emulate(program, &launch, memory, &sink, &out, &err) == TCB_OK)
			FUZZ_CHECK(out.findings <= findings);
		for (unsigned i = 0; i < WORDS; i++)
			FUZZ_CHECK(fixed[i] == 0);
	}
	tcb_ptx_program_destroy(program);
	tcb_ptx_memory_destroy(memory);
	free(buffer);
	free(fixed);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tcb_ptx_module *module;
	struct tcb_error err = { TCB_OK, "" };
	unsigned count = 0;

	if (tcb_ptx_parse("fuzz", (const char *)data, bytes, &module, &err) != TCB_OK)
		return 0;
	for (struct tcb_ptx_function *f = module->functions; f && count < KERNELS_MAX; f = f->next)
		if (f->is_entry && f->first && ++count)
			emulate(f);
	tcb_ptx_module_destroy(module);
	return 0;
}
