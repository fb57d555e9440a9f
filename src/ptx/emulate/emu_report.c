/* SPDX-License-Identifier: MIT
 *
 * What the emulator finds: each instruction and rule is reported once in a
 * launch, with the block, the warp and the lane that met it first.
 */
#include "ptx/emulate/emu_program.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"

/* --- findings that wait --- */

static void hold(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct tcb_emu_found *found = ctx;
	struct tcb_emu_found_item *items = tcb_grow(found->items, found->count, &found->capacity, 16, sizeof *items);

	found->has_failed |= !items;
	if (!items)
		return;
	found->items = items;
	found->items[found->count++].finding = *finding;
}

static void hold_report(struct tcb_emu_run *run, const struct tcb_emu_ins *in)
{
	struct tcb_emu_found *found = run->found;

	if (found->has_failed)
		return;
	found->items[found->count - 1].cluster = run->cluster;
	found->items[found->count - 1].count = in && in->ins ? in->count : UINT32_MAX;
}

/* Whether it is the first of its RULE at the instruction of COUNT. */
static int is_first(struct tcb_emu_run *run, uint32_t count, enum tcb_ptx_rule rule)
{
	uint64_t *bits = run->reported + (size_t)count * TCB_EMU_REPORTED_WORDS + rule / 64, bit = 1ull << rule % 64;
	int is_known = (*bits & bit) != 0;

	*bits |= bit;
	return !is_known;
}

void tcb_emu_found_tell(struct tcb_emu_run *run, const struct tcb_emu_found_item *item)
{
	if (item->count != UINT32_MAX && !is_first(run, item->count, item->finding.rule))
		return;
	run->out->findings += item->finding.severity == TCB_PTX_ERROR;
	if (run->sink && run->sink->see)
		run->sink->see(run->sink->ctx, &item->finding);
}

void tcb_emu_found_fini(struct tcb_emu_found *found)
{
	free(found->items);
}

/* --- reports --- */

static void report(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, enum tcb_ptx_rule rule,
		   enum tcb_ptx_severity severity, const char *format, va_list arguments)
{
	struct tcb_emu_run *run = warp->run;
	const struct tcb_ptx_ins *ins = in ? in->ins : NULL;
	const struct tcb_ptx_function *function = ins ? ins->block->function : run->program->functions[0]->function;
	const struct tcb_ptx_sink holding = { hold, run->found };
	char text[300], where[120];
	int length;

	if (ins && !is_first(run, in->count, rule))
		return;
	vsnprintf(text, sizeof text, format, arguments);
	length = snprintf(where, sizeof where, "block (%u,%u,%u), warp %u", warp->block->ctaid[0],
			  warp->block->ctaid[1], warp->block->ctaid[2], warp->index);
	if (lane >= 0)
		snprintf(where + length, sizeof where - (size_t)length, ", thread (%u,%u,%u)", warp->tid[0][lane],
			 warp->tid[1][lane], warp->tid[2][lane]);
	if (run->found) {
		tcb_ptx_report(&holding, rule, severity, function, ins, "%s (%s)", text, where);
		hold_report(run, in);
		return;
	}
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
