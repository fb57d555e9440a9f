/* SPDX-License-Identifier: MIT
 *
 * Any text as PTX.  What is accepted prints to something that is accepted and
 * prints to the same bytes; what is refused has a message.  As foreign text, of
 * which less is refused, and all that is accepted otherwise.
 */
#include <string.h>

#include "fuzz.h"
#include "ptx/text/text.h"

typedef enum tcb_status parse_fn(const char *name, const char *text, size_t length, struct tcb_ptx_module **module_out,
				 struct tcb_error *err);

static int read_as(parse_fn *parse, const uint8_t *data, size_t bytes)
{
	struct tcb_ptx_module *module, *again;
	struct tcb_str once = { 0 }, twice = { 0 };
	struct tcb_error err = { TCB_OK, "" };

	if (parse("fuzz", (const char *)data, bytes, &module, &err) != TCB_OK) {
		FUZZ_CHECK(err.message[0]);
		return 0;
	}
	for (const struct tcb_ptx_unread *part = module->unread; part; part = part->next)
		FUZZ_CHECK(part->why[0] && part->line);
	tcb_ptx_print(module, &once);
	FUZZ_CHECK(once.data && !once.failed);
	FUZZ_CHECK(parse("fuzz", once.data, once.length, &again, &err) == TCB_OK);
	/* what names a variable whose declaration was not read is read, and not without that declaration */
	if (!module->unread) {
		FUZZ_CHECK(!again->unread);
		tcb_ptx_print(again, &twice);
		FUZZ_CHECK(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
	}
	tcb_str_fini(&once);
	tcb_str_fini(&twice);
	tcb_ptx_module_destroy(module);
	tcb_ptx_module_destroy(again);
	return 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	int is_read = read_as(tcb_ptx_parse, data, bytes);

	FUZZ_CHECK(read_as(tcb_ptx_parse_foreign, data, bytes) || !is_read);
	return 0;
}
