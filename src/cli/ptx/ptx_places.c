/* SPDX-License-Identifier: MIT
 *
 * In: a finding of a module.  Out: where in the source it is, through which
 * calls, and the same for the other lines that its message speaks of; and which
 * variable or parameter its instruction accesses.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/ptx/ptx_findings.h"
#include "ptx/ir/opcodes.h"

enum { MENTIONS_MAX = 4, STEPS_MAX = 64 };

const char *ptx_keep_text(struct ptx_findings *f, const char *text)
{
	char *copy = text ? tcb_arena_text(&f->arena, text, strlen(text)) : NULL;

	if (text && !copy)
		f->failed = 1;
	for (char *at = copy; at && *at; at++)
		if ((unsigned char)*at < ' ' || (unsigned char)*at > '~')
			*at = '?';
	return copy;
}

static int by_line(const void *a, const void *b)
{
	const struct ptx_line *x = a, *y = b;

	return (x->line > y->line) - (x->line < y->line);
}

/* The instruction's lines of MODULE, whichever of two modules of one text comes first. */
static void read_lines(struct ptx_findings *f, const struct tcb_ptx_module *module)
{
	size_t count = 0;

	for (const struct tcb_ptx_function *function = module->functions; function; function = function->next)
		count += function->ins_count;
	f->lines = tcb_arena_array(&f->arena, count + 1, sizeof *f->lines);
	if (!f->lines) {
		f->failed = 1;
		return;
	}
	for (const struct tcb_ptx_function *function = module->functions; function; function = function->next)
		for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
			for (const struct tcb_ptx_ins *ins = block->first; ins && f->line_count < count;
			     ins = ins->next)
				f->lines[f->line_count++] = (struct ptx_line){ ins->line, ins->source, function };
	qsort(f->lines, f->line_count, sizeof *f->lines, by_line);
}

static const struct ptx_line *find_line(struct ptx_findings *f, const struct tcb_ptx_module *module, uint32_t line)
{
	const struct ptx_line wanted = { .line = line };

	if (!f->lines && module)
		read_lines(f, module);
	if (!f->line_count)
		return NULL;
	return bsearch(&wanted, f->lines, f->line_count, sizeof *f->lines, by_line);
}

static size_t keep_frames(struct ptx_findings *f, const struct tcb_ptx_source *source, const struct ptx_frame **out)
{
	struct ptx_frame *frames;
	size_t count = 0;

	for (const struct tcb_ptx_source *at = source; at; at = at->inlined_at)
		count++;
	frames = tcb_arena_array(&f->arena, count + 1, sizeof *frames);
	if (!frames) {
		f->failed = 1;
		return 0;
	}
	for (size_t i = 0; source; source = source->inlined_at)
		frames[i++] = (struct ptx_frame){ ptx_keep_text(f, source->file), ptx_keep_text(f, source->function),
						  source->line, source->column };
	*out = frames;
	return count;
}

/* "line 42" in the message, of lines other than the finding's own. */
static void take_mentions(struct ptx_findings *f, const struct tcb_ptx_module *module, uint32_t own,
			  struct ptx_finding *one)
{
	struct ptx_mention mentions[MENTIONS_MAX], *kept;

	for (const char *at = one->message; (at = strstr(at, "line ")) && one->mention_count < MENTIONS_MAX; at += 5) {
		struct ptx_mention *mention = &mentions[one->mention_count];
		unsigned long line = strtoul(at + 5, NULL, 10);
		const struct ptx_line *known;

		if (!line || line > UINT32_MAX || line == own)
			continue;
		*mention = (struct ptx_mention){ .line = (uint32_t)line };
		known = find_line(f, module, mention->line);
		if (known && known->source)
			mention->frame_count = keep_frames(f, known->source, &mention->frames);
		one->mention_count++;
	}
	kept = tcb_arena_array(&f->arena, one->mention_count + 1, sizeof *kept);
	if (kept)
		memcpy(kept, mentions, one->mention_count * sizeof *kept);
	else
		f->failed = 1;
	one->mentions = kept;
}

/* --- the variable --- */

/* The symbol that the value of REG is an address in, as far as single writes lead there; NULL: unknown.  STEPS ends
 * what is too long to be worth it. */
static const struct tcb_ptx_symbol *symbol_of(const struct tcb_ptx_function *function, uint32_t reg, unsigned *steps);

static const struct tcb_ptx_symbol *symbol_in(const struct tcb_ptx_function *function,
					      const struct tcb_ptx_operand *operand, unsigned *steps)
{
	if ((operand->kind == TCB_PTX_O_SYMBOL || operand->kind == TCB_PTX_O_ADDRESS) && operand->reg == TCB_PTX_NO_REG)
		return operand->symbol;
	return operand->kind == TCB_PTX_O_REG || operand->kind == TCB_PTX_O_ADDRESS
		       ? symbol_of(function, operand->reg, steps)
		       : NULL;
}

/* Addresses are added to: a product is an index. */
static const struct tcb_ptx_symbol *symbol_of(const struct tcb_ptx_function *function, uint32_t reg, unsigned *steps)
{
	const struct tcb_ptx_ins *ins = reg < function->reg_count ? function->regs[reg].def : NULL;
	const struct tcb_ptx_symbol *found = NULL;

	if (!ins || function->regs[reg].defs != 1 || ++*steps > STEPS_MAX)
		return NULL;
	switch ((enum tcb_ptx_op)ins->op) {
	case TCB_PTX_OP_MOV:
	case TCB_PTX_OP_CVTA:
	case TCB_PTX_OP_SUB:
		return symbol_in(function, &ins->operands[1], steps);
	case TCB_PTX_OP_MAD:
		return symbol_in(function, &ins->operands[3], steps);
	case TCB_PTX_OP_ADD:
	case TCB_PTX_OP_OR:
		for (unsigned i = 1; i < 3 && !found; i++)
			found = symbol_in(function, &ins->operands[i], steps);
		return found;
	case TCB_PTX_OP_LD: /* a parameter that is a pointer, or a structure with one */
		if (tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE) != TCB_PTX_PARAM ||
		    tcb_ptx_type_bits(tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE)) != 64)
			return NULL;
		return symbol_in(function, &ins->operands[1], steps);
	default:
		return NULL;
	}
}

/* What INS accesses: its first address that leads to a variable or parameter. */
static void take_variable(struct ptx_findings *f, const struct tcb_ptx_ins *ins, struct ptx_finding *one)
{
	const struct tcb_ptx_symbol *found = NULL;
	struct tcb_ptx_access access;
	unsigned steps = 0;

	for (unsigned i = 0; i < ins->operand_count && !found; i++)
		if (tcb_ptx_access(ins, i, &access))
			found = symbol_in(ins->block->function, &ins->operands[i], &steps);
	if (!found)
		return;
	one->variable = ptx_keep_text(f, found->name);
	one->variable_name = ptx_keep_text(f, found->source_name);
}

void ptx_take_places(struct ptx_findings *f, const struct tcb_ptx_finding *finding, struct ptx_finding *one)
{
	const struct tcb_ptx_module *module = finding->function ? finding->function->module : f->module;
	const struct tcb_ptx_source *source = NULL;
	const struct ptx_line *known = NULL;

	if (finding->ins) {
		source = finding->ins->source;
		take_variable(f, finding->ins, one);
	} else if (finding->function) {
		source = finding->function->source;
	} else if (finding->line && (known = find_line(f, module, finding->line))) {
		source = known->source;
		one->function = ptx_keep_text(f, known->function->symbol->name);
	}
	one->frame_count = keep_frames(f, source, &one->frames);
	if (one->message)
		take_mentions(f, module, finding->line, one);
}
