/* SPDX-License-Identifier: MIT
 *
 * In: functions that a program calls or names.  Out: their numbers, and where
 * their parameters are.
 */
#include "ptx/emulate/emulate.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "ptx/emulate/emu_program.h"

size_t tcb_ptx_param_offset(const struct tcb_ptx_function *function, unsigned index)
{
	const struct tcb_ptx_symbol *param = function->params;
	size_t at = 0;

	for (unsigned i = 0; param; i++, param = param->next) {
		size_t align = tcb_ptx_symbol_align(param);

		at = (at + align - 1) / align * align;
		if (i == index)
			break;
		at += tcb_ptx_symbol_bytes(param);
	}
	return at;
}

size_t tcb_ptx_param_total(const struct tcb_ptx_function *function)
{
	return tcb_ptx_param_offset(function, UINT32_MAX);
}

uint64_t tcb_emu_argument(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned index, unsigned lane)
{
	const struct tcb_emu_passed *p = &((const struct tcb_emu_passing *)in->extra)->args[index];
	uint64_t value = 0;

	if (p->is_register)
		return tcb_emu_get(warp, &p->op, lane);
	memcpy(&value, tcb_emu_frame_at(warp, lane, warp->frame->local_base + p->actual), p->bytes < 8 ? p->bytes : 8);
	return value;
}

void tcb_emu_answer(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane, uint64_t value)
{
	const struct tcb_emu_passing *passing = in->extra;
	const struct tcb_emu_passed *p = passing->results;

	if (passing->result_count && p->is_register)
		tcb_emu_set(warp, &p->op, lane, value);
	else if (passing->result_count)
		memcpy(tcb_emu_frame_at(warp, lane, warp->frame->local_base + p->actual), &value,
		       p->bytes < 8 ? p->bytes : 8);
}

/* The function with a body that FUNCTION names. */
static struct tcb_ptx_function *definition(struct tcb_ptx_module *module, struct tcb_ptx_function *function)
{
	if (!function->is_declaration)
		return function;
	for (struct tcb_ptx_function *f = module->functions; f; f = f->next)
		if (!f->is_declaration && strcmp(f->symbol->name, function->symbol->name) == 0)
			return f;
	return NULL;
}

int tcb_emu_has_body(const struct tcb_ptx_program *program, struct tcb_ptx_function *function)
{
	const struct tcb_ptx_function *body = definition(program->module, function);

	return body && body->first;
}

enum tcb_status tcb_emu_function_index(struct tcb_ptx_program *program, struct tcb_ptx_function *function,
				       uint32_t *index_out, struct tcb_error *err)
{
	struct tcb_ptx_function *body = definition(program->module, function);
	struct tcb_emu_function **functions, *out;

	if (!body || !body->first)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "'%.80s' has no body in this module", function->symbol->name);
	for (uint32_t i = 0; i < program->function_count; i++)
		if (program->functions[i]->function == body) {
			*index_out = i;
			return TCB_OK;
		}
	functions = tcb_grow(program->functions, program->function_count, &program->function_capacity, 8,
			     sizeof *functions);
	if (functions)
		program->functions = functions;
	out = functions ? tcb_arena_alloc(&program->arena, sizeof *out) : NULL;
	if (!out)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
	TCB_TRY(tcb_ptx_cfg(body, err));
	tcb_ptx_number(body);
	out->function = body;
	out->index = *index_out = program->function_count;
	out->first_count = program->count_total;
	program->count_total += body->ins_count;
	program->functions[program->function_count++] = out;
	return TCB_OK;
}
