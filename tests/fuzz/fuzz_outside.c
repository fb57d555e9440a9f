/* SPDX-License-Identifier: MIT
 *
 * Any line as the answer of a strategy from outside.  What is accepted is a candidate or the end, and named again by
 * its parameters it is the same; what is not, one line that says why.
 */
#include <string.h>

#include "fuzz.h"
#include "search/strategies/outside.h"

enum { COUNT = 60 };

static const char *name(const void *ctx, size_t field, char room[TCB_NAMED_ROOM])
{
	static const char *const NAMES[] = { "block", "way", "constant", "half" };
	(void)ctx;
	(void)room;
	return NAMES[field];
}

/* Sixty of the 3 x 11 x 2 that there could be: candidate 5 alone does not use the second parameter. */
static struct tcb_named_value value(const void *ctx, size_t index, size_t field)
{
	static const char *const WAYS[] = { "row", "8", "column" };
	(void)ctx;
	if (field == 0)
		return (struct tcb_named_value){ .number = (double)(index % 10) };
	if (field == 1)
		return (struct tcb_named_value){ .word = WAYS[index / 10 % 3], .is_missing = index == 5 };
	return (struct tcb_named_value){ .number = field == 2 ? 7 : (double)(index / 30) / 2 };
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	const struct tcb_named_space space = { COUNT, 4, name, value, NULL };
	struct tcb_error err = { TCB_OK, "" };
	struct tcb_outside outside;
	size_t index, again;

	FUZZ_CHECK(tcb_outside_init(&outside, &space, NULL) == TCB_OK && outside.fields == 3);
	if (tcb_outside_answer(&outside, (const char *)data, bytes, &index, &err) != TCB_OK) {
		FUZZ_CHECK(err.message[0] && !strchr(err.message, '\n'));
	} else if (index != TCB_ASK_NONE) {
		json_t *answer = json_pack("{s:o}", "parameters", tcb_outside_configuration(&outside, index));
		char *text = json_dumps(answer, 0);

		FUZZ_CHECK(index < COUNT && text);
		FUZZ_CHECK(tcb_outside_answer(&outside, text, strlen(text), &again, &err) == TCB_OK);
		FUZZ_CHECK(again == index);
		free(text);
		json_decref(answer);
	}
	tcb_outside_fini(&outside);
	return 0;
}
