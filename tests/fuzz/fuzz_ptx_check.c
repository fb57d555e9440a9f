/* SPDX-License-Identifier: MIT
 *
 * Any text through all of `tcbtune ptx check` but the assembler: parse, verify,
 * analyse.  It ends, every finding has a message and, where the text has an
 * instruction to blame, its line.
 */
#include <string.h>

#include "fuzz.h"
#include "ptx/check.h"
#include "ptx/text.h"

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	uint32_t lines = *(const uint32_t *)ctx;

	FUZZ_CHECK(finding->rule < TCB_PTX_RULE_COUNT);
	FUZZ_CHECK(finding->message[0]);
	FUZZ_CHECK(!finding->ins || finding->line);
	FUZZ_CHECK(finding->line <= lines);
}

static void check(struct tcb_ptx_module *module, uint32_t lines, const uint32_t block[3])
{
	const struct tcb_ptx_sink sink = { see, &lines };
	const struct tcb_ptx_check_launch launch = { .block = { block[0], block[1], block[2] } };
	const struct tcb_ptx_check_options options = { .launches = &launch, .launch_count = 1 };
	struct tcb_ptx_check_report report;
	struct tcb_error err = { TCB_OK, "" };

	FUZZ_CHECK(tcb_ptx_check(module, &options, &sink, &report, &err) == TCB_OK || err.message[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tcb_ptx_module *module;
	struct tcb_error err = { TCB_OK, "" };
	uint32_t lines = 1;

	for (size_t i = 0; i < bytes; i++)
		lines += data[i] == '\n';
	if (tcb_ptx_parse("fuzz", (const char *)data, bytes, &module, &err) != TCB_OK) {
		const char *number = err.message + strlen("fuzz:");
		FUZZ_CHECK(strncmp(err.message, "fuzz:", strlen("fuzz:")) == 0);
		FUZZ_CHECK(strtoul(number, NULL, 10) >= 1 && strtoul(number, NULL, 10) <= lines);
		return 0;
	}
	check(module, lines, (const uint32_t[3]){ 0, 0, 0 });
	check(module, lines, (const uint32_t[3]){ 32, 4, 2 });
	tcb_ptx_module_destroy(module);
	return 0;
}
