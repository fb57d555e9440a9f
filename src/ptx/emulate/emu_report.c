/* SPDX-License-Identifier: MIT
 *
 * What the emulator finds: each instruction and rule is reported once in a
 * launch, with the block, the warp and the lane that met it first.
 */
#include "ptx/emulate/emu_program.h"

#include <stdarg.h>
#include <stdio.h>

static void report(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, enum tcb_ptx_rule rule,
		   enum tcb_ptx_severity severity, const char *format, va_list arguments)
{
	struct tcb_emu_run *run = warp->run;
	const struct tcb_ptx_ins *ins = in ? in->ins : NULL;
	const struct tcb_ptx_function *function = ins ? ins->block->function : run->program->functions[0]->function;
	uint64_t bit = 1ull << rule % 64, *bits = run->program->reported;
	char text[300], where[120];
	int length;

	if (ins) {
		bits += (size_t)in->count * TCB_EMU_REPORTED_WORDS + rule / 64;
		if (*bits & bit)
			return;
		*bits |= bit;
	}
	vsnprintf(text, sizeof text, format, arguments);
	length = snprintf(where, sizeof where, "block (%u,%u,%u), warp %u", warp->block->ctaid[0],
			  warp->block->ctaid[1], warp->block->ctaid[2], warp->index);
	if (lane >= 0)
		snprintf(where + length, sizeof where - (size_t)length, ", thread (%u,%u,%u)", warp->tid[0][lane],
			 warp->tid[1][lane], warp->tid[2][lane]);
	if (severity == TCB_PTX_ERROR)
		run->out->findings++;
	if (run->sink && run->sink->see)
		tcb_ptx_report(run->sink, rule, severity, function, ins, "%s (%s)", text, where);
}

void tcb_emu_report(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, enum tcb_ptx_rule rule,
		    enum tcb_ptx_severity severity, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report(warp, in, lane, rule, severity, format, arguments);
	va_end(arguments);
}

void tcb_emu_fault(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, enum tcb_ptx_rule rule,
		   const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	report(warp, in, lane, rule, TCB_PTX_ERROR, format, arguments);
	va_end(arguments);
	warp->run->fault = 1;
	warp->stop = 1;
}

void tcb_emu_no_memory(struct tcb_emu_run *run)
{
	run->fault = 1;
	run->status = tcb_fail(run->err, TCB_E_NOMEM, "out of memory while emulating '%s'",
			       run->program->functions[0]->function->symbol->name);
}

void tcb_emu_check_written(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t reg, uint32_t active)
{
	const uint32_t missing = active & ~warp->frame->written[reg];
	char name[64];

	if (missing)
		tcb_emu_report(warp, in, __builtin_ctz(missing), TCB_PTX_RULE_UNWRITTEN_REGISTER, TCB_PTX_ERROR,
			       "register %s is read and was never written; give it a value on every path to here",
			       tcb_ptx_reg_name(warp->frame->function->function, reg, name, sizeof name));
}
