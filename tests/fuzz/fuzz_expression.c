/* SPDX-License-Identifier: MIT
 *
 * Any text as an expression.  What is accepted has a value or an error that says why it has none, the same each time;
 * what is not, an error.
 */
#include "kernelfile/expression.h"

#include <string.h>

#include "fuzz.h"

static const char *const names[] = { "a", "b", "c" };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct tcb_value values[] = { { .whole = 16 },
					    { .type = TCB_VALUE_REAL, .real = -0.5 },
					    { .type = TCB_VALUE_TEXT, .text = "row" } };
	char *text = malloc(bytes + 1);
	struct tcb_expression *expression;
	struct tcb_error err = { TCB_OK, "" }, again = { TCB_OK, "" };
	struct tcb_value value, other;
	int64_t size;

	FUZZ_CHECK(text);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	if (tcb_expression_create(text, names, 3, &expression, &err) == TCB_OK) {
		const enum tcb_status status = tcb_expression_value(expression, values, &value, &err);

		FUZZ_CHECK(tcb_expression_value(expression, values, &other, &again) == status);
		FUZZ_CHECK(status == TCB_OK ? value.type == other.type : err.message[0] != '\0');
		FUZZ_CHECK(status != TCB_OK || value.type != TCB_VALUE_WHOLE || value.whole == other.whole);
		FUZZ_CHECK(status != TCB_OK || value.type != TCB_VALUE_TEXT || strlen(value.text) <= bytes + 3);
		if (tcb_expression_size(expression, values, 1, &size, &err) == TCB_OK)
			FUZZ_CHECK(size >= 1);
		tcb_expression_destroy(expression);
	} else {
		FUZZ_CHECK(err.message[0]);
	}
	free(text);
	return 0;
}
