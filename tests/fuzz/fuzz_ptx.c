/* SPDX-License-Identifier: MIT
 *
 * Any text as PTX.  What is accepted prints to something that is accepted and
 * prints to the same bytes; what is refused has a message.
 */
#include <string.h>

#include "fuzz.h"
#include "ptx/text/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tcb_ptx_module *module, *again;
	struct tcb_str once = { 0 }, twice = { 0 };
	struct tcb_error err = { TCB_OK, "" };
	if (tcb_ptx_parse("fuzz", (const char *)data, bytes, &module, &err) != TCB_OK) {
		FUZZ_CHECK(err.message[0]);
		return 0;
	}
	tcb_ptx_print(module, &once);
	FUZZ_CHECK(once.data && !once.failed);
	FUZZ_CHECK(tcb_ptx_parse("fuzz", once.data, once.length, &again, &err) == TCB_OK);
	tcb_ptx_print(again, &twice);
	FUZZ_CHECK(once.length == twice.length && memcmp(once.data, twice.data, once.length) == 0);
	tcb_str_fini(&once);
	tcb_str_fini(&twice);
	tcb_ptx_module_destroy(module);
	tcb_ptx_module_destroy(again);
	return 0;
}
