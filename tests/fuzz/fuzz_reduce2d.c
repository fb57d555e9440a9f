/* SPDX-License-Identifier: MIT
 *
 * Any text as "IDENTITY: COMBINE", a reduction of one's own.  If it is accepted, the program
 * keeps to its stack, runs on numbers of all sizes, and printing and parsing it again gives
 * the same program.
 */
#include "kernels/reduce2d/reduce2d_program.h"

#include <math.h>
#include <string.h>

#include "fuzz.h"

static void check(const struct reduce2d_program *program)
{
	static const double values[] = { 0, -1, 1e30, -1e-30, 3.5 };
	char text[REDUCE2D_TEXT_MAX];
	struct reduce2d_program again;
	int depth = 0;
	for (unsigned i = 0; i < program->count; i++) {
		depth += 1 - reduce2d_code_operands(program->step[i].code);
		FUZZ_CHECK(depth >= 1 && depth <= REDUCE2D_STACK_MAX);
	}
	FUZZ_CHECK(depth == 1);
	for (int i = 0; i < 25; i++) {
		(void)reduce2d_program_run(program, values[i % 5], values[i / 5]);
		FUZZ_CHECK(!(reduce2d_program_magnitude(program, fabs(values[i % 5]), fabs(values[i / 5])) < 0));
	}
	reduce2d_program_print(program, text);
	char *colon = strchr(text, ':');
	FUZZ_CHECK(colon);
	*colon = '\0';
	FUZZ_CHECK(reduce2d_program_parse(text, colon + 2, &again, NULL) == TCB_OK);
	FUZZ_CHECK(again.count == program->count && again.identity == program->identity);
	for (unsigned i = 0; i < program->count; i++)
		FUZZ_CHECK(again.step[i].code == program->step[i].code &&
			   again.step[i].value == program->step[i].value);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1);
	struct reduce2d_program program;
	struct tcb_error err = { TCB_OK, "" };
	FUZZ_CHECK(text);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	char *colon = strchr(text, ':');
	if (colon) {
		*colon = '\0';
		if (reduce2d_program_parse(text, colon + 1, &program, &err) == TCB_OK)
			check(&program);
		else
			FUZZ_CHECK(err.message[0]);
	}
	free(text);
	return 0;
}
