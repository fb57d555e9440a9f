/* SPDX-License-Identifier: MIT
 *
 * Functions that kernels call and no module has, since the driver brings them:
 * a failed assertion ends the launch with its text, and printf prints nothing.
 */
#include <stdio.h>
#include <string.h>

#include "ptx/emulate/emu_program.h"

/* The text at ADDRESS of device memory, as long as it fits OUT. */
static void text_at(struct tcb_emu_warp *warp, uint64_t address, char *out, size_t size)
{
	struct tcb_emu_region *region = tcb_emu_region_find(warp->run->memory, address);
	size_t length = 0;

	if (warp->run->crew)
		tcb_emu_give_up(warp); /* others may write what is read here */
	else if (region && address - region->address < region->bytes) {
		const char *from = (const char *)region->host + (address - region->address);
		const size_t most = region->bytes - (address - region->address);

		while (length + 1 < size && length < most && from[length])
			length++;
		memcpy(out, from, length);
	}
	out[length] = '\0';
}

/* __assertfail(message, file, line, function, size of a character) */
static void run_assert_fail(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const unsigned lane = (unsigned)__builtin_ctz(active);
	char what[120], file[80];

	text_at(warp, tcb_emu_argument(warp, in, 0, lane), what, sizeof what);
	text_at(warp, tcb_emu_argument(warp, in, 1, lane), file, sizeof file);
	tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_TRAP, "the assertion '%s' at %s:%u fails", what, file,
		      (unsigned)tcb_emu_argument(warp, in, 2, lane));
}

/* vprintf(format, arguments): how many arguments it printed */
static void run_printf(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	char format[120];

	text_at(warp, tcb_emu_argument(warp, in, 0, (unsigned)__builtin_ctz(active)), format, sizeof format);
	for (char *at = format; (at = strchr(at, '\n'));)
		*at = ' ';
	tcb_emu_report(warp, in, __builtin_ctz(active), TCB_PTX_RULE_NOT_EMULATED, TCB_PTX_ADVICE,
		       "printf prints nothing here: \"%s\"", format);
	TCB_EMU_EACH(lane, active)
	tcb_emu_answer(warp, in, lane, 0);
}

tcb_emu_run_fn *tcb_emu_system_function(const char *name, unsigned *arguments_out)
{
	static const struct {
		const char *name;
		unsigned arguments;
		tcb_emu_run_fn *run;
	} functions[] = { { "__assertfail", 5, run_assert_fail }, { "vprintf", 2, run_printf } };

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (strcmp(functions[i].name, name) == 0) {
			*arguments_out = functions[i].arguments;
			return functions[i].run;
		}
	return NULL;
}
