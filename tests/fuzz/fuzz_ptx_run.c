/* SPDX-License-Identifier: MIT
 *
 * Arguments of `tcbtune ptx run` in any words: each line of the input is one,
 * for a kernel with a parameter of each kind.  What is taken has a size and
 * memory of its own, and the kernel runs on it.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "ptx/run/run.h"
#include "ptx/text/text.h"

enum { LINE_MAX_BYTES = 120, LARGEST = 99999 };

static const char kernel[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry k(.param .u64 p, .param .u32 n, .param .f32 x, .param .align 8 .b8 s[16], .param .u64 q,\n"
	"	.param .align 64 .b8 map[128], .param .s64 w)\n{\n"
	"	.reg .b32 %r<4>; .reg .b64 %d<4>;\n"
	"	ld.param.u64 %d1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %d2, %r1, 4; add.u64 %d3, %d1, %d2;\n"
	"	ld.global.u32 %r2, [%d3]; add.u32 %r3, %r2, %r1; st.global.u32 [%d3], %r3; ret;\n}\n";

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	FUZZ_CHECK(finding->message[0]);
	++*(unsigned *)ctx;
}

/* Files are not what is tried here, and large memory only costs time. */
static int is_modest(const char *line)
{
	if (strchr(line, '@'))
		return 0;
	for (const char *at = strchr(line, '['); at && *at && *at != ']'; at++)
		if (strtoull(at + 1, NULL, 10) > LARGEST)
			return strncmp(line, "tmap:", 5) == 0;
	return 1;
}

static void give(struct tcb_ptx_run *run, const char *line)
{
	const unsigned before = run->argument_count;
	struct tcb_error err = { TCB_OK, "" };
	const enum tcb_status status = tcb_ptx_run_argument(run, line, 1, &err);
	const struct tcb_ptx_argument *a = &run->arguments[before];

	FUZZ_CHECK(run->argument_count == before + (status == TCB_OK));
	if (status != TCB_OK) {
		FUZZ_CHECK(err.message[0] && !strchr(err.message, '\n'));
		return;
	}
	FUZZ_CHECK(a->parameter && !a->data == !a->bytes);
	FUZZ_CHECK(a->data || a->kind == TCB_PTX_ARG_TENSOR_MAP);
	FUZZ_CHECK((a->kind == TCB_PTX_ARG_BUFFER || (a->kind == TCB_PTX_ARG_TENSOR_MAP && a->data)) ==
		   (a->address != 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tcb_ptx_launch launch = { .grid = { 2, 1, 1 }, .block = { 40, 1, 1 }, .step_limit = 1000 };
	struct tcb_ptx_module *module;
	struct tcb_ptx_run *run = NULL;
	struct tcb_ptx_emulation out;
	struct tcb_error err = { TCB_OK, "" };
	unsigned findings = 0;
	const struct tcb_ptx_sink sink = { see, &findings };
	char line[LINE_MAX_BYTES + 1];
	size_t length = 0;

	FUZZ_CHECK(tcb_ptx_parse("kernel", kernel, strlen(kernel), &module, &err) == TCB_OK);
	FUZZ_CHECK(tcb_ptx_run_open(module->functions, &run, &err) == TCB_OK);
	for (size_t i = 0; i <= bytes; i++) {
		if (i < bytes && data[i] != '\n' && data[i] && length < LINE_MAX_BYTES) {
			line[length++] = (char)data[i];
			continue;
		}
		line[length] = '\0';
		if (is_modest(line))
			give(run, line);
		length = 0;
	}
	if (tcb_ptx_run_launch(run, &launch, &sink, &out, &err) == TCB_OK)
		FUZZ_CHECK(run->argument_count == run->parameter_count && out.findings <= findings);
	else
		FUZZ_CHECK(err.message[0]);
	tcb_ptx_run_close(run);
	tcb_ptx_module_destroy(module);
	return 0;
}
