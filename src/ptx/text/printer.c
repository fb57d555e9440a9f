/* SPDX-License-Identifier: MIT
 *
 * In: a module.  Out: its canonical text.  Declarations come in the order of
 * the module; in a function registers first, then variables, prototypes and
 * branch tables, then the blocks.
 */
#include "ptx/ir/opcodes.h"
#include "ptx/text/text.h"

#include <inttypes.h>

/* --- operands and instructions --- */

static void print_reg(const struct tcb_ptx_function *function, uint32_t reg, struct tcb_str *out)
{
	const struct tcb_ptx_group *group = &function->groups[function->regs[reg].group];

	tcb_str_add(out, group->prefix);
	if (group->count)
		tcb_str_addf(out, "%" PRIu32, function->regs[reg].index);
}

static void print_operand(const struct tcb_ptx_function *function, const struct tcb_ptx_operand *operand,
			  struct tcb_str *out);

static void print_items(const struct tcb_ptx_function *function, const struct tcb_ptx_operand *operand,
			const char *open, const char *between, const char *close, struct tcb_str *out)
{
	tcb_str_add(out, open);
	for (uint32_t i = 0; i < operand->count; i++) {
		if (i)
			tcb_str_add(out, between);
		print_operand(function, &operand->items[i], out);
	}
	tcb_str_add(out, close);
}

static void print_offset(int is_alone, uint64_t bits, struct tcb_str *out)
{
	if (is_alone)
		tcb_str_addf(out, "%" PRId64, (int64_t)bits);
	else if (bits)
		tcb_str_addf(out, "+%" PRId64, (int64_t)bits);
}

static void print_address(const struct tcb_ptx_function *function, const struct tcb_ptx_operand *operand,
			  struct tcb_str *out)
{
	tcb_str_add(out, "[");
	if (operand->reg != TCB_PTX_NO_REG)
		print_reg(function, operand->reg, out);
	else if (operand->symbol)
		tcb_str_add(out, operand->symbol->name);
	print_offset(operand->reg == TCB_PTX_NO_REG && !operand->symbol, operand->bits, out);
	if (operand->items)
		print_items(function, operand, ", {", ", ", "}", out);
	tcb_str_add(out, "]");
}

static void print_operand(const struct tcb_ptx_function *function, const struct tcb_ptx_operand *operand,
			  struct tcb_str *out)
{
	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_NONE:
		break;
	case TCB_PTX_O_REG:
		if (operand->negated)
			tcb_str_add(out, "!");
		print_reg(function, operand->reg, out);
		break;
	case TCB_PTX_O_INT:
		tcb_str_addf(out, "%" PRId64, (int64_t)operand->bits);
		break;
	case TCB_PTX_O_F32:
		tcb_str_addf(out, "0f%08" PRIX32, (uint32_t)operand->bits);
		break;
	case TCB_PTX_O_F64:
		tcb_str_addf(out, "0d%016" PRIX64, operand->bits);
		break;
	case TCB_PTX_O_SYMBOL:
		tcb_str_add(out, operand->symbol->name);
		print_offset(0, operand->bits, out);
		break;
	case TCB_PTX_O_SPECIAL:
		tcb_str_add(out, tcb_ptx_special_text((enum tcb_ptx_special)operand->special));
		break;
	case TCB_PTX_O_ADDRESS:
		print_address(function, operand, out);
		break;
	case TCB_PTX_O_VECTOR:
		print_items(function, operand, "{", ", ", "}", out);
		break;
	case TCB_PTX_O_PAIR:
		print_items(function, operand, "", "|", "", out);
		break;
	case TCB_PTX_O_SINK:
		tcb_str_add(out, "_");
		break;
	case TCB_PTX_O_BLOCK:
		tcb_str_add(out, operand->block->label ? operand->block->label : "<no label>");
		break;
	case TCB_PTX_O_TABLE:
		tcb_str_add(out, operand->table->name);
		break;
	case TCB_PTX_O_LIST:
		print_items(function, operand, "(", ", ", ")", out);
		break;
	case TCB_PTX_O_TEXT:
		tcb_str_add(out, operand->text);
		break;
	}
}

void tcb_ptx_print_mnemonic(const struct tcb_ptx_ins *ins, struct tcb_str *out)
{
	const struct tcb_ptx_form *form;

	if (ins->opaque) {
		tcb_str_add(out, ins->opaque->mnemonic);
		return;
	}
	form = tcb_ptx_form(ins->form);
	tcb_str_add(out, tcb_ptx_op_text((enum tcb_ptx_op)ins->op));
	for (unsigned i = 0; i < form->slot_count; i++) {
		enum tcb_ptx_word word = (enum tcb_ptx_word)ins->mod[form->slot[i].slot];

		if (word) {
			tcb_str_add(out, ".");
			tcb_str_add(out, tcb_ptx_word_text(word));
		}
	}
}

/* (results), target, (arguments), prototype: empty lists are left out. */
static void print_call(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins, struct tcb_str *out)
{
	const char *between = " ";

	for (unsigned i = 0; i < ins->operand_count; i++) {
		if (ins->operands[i].kind == TCB_PTX_O_LIST && !ins->operands[i].count)
			continue;
		tcb_str_add(out, between);
		print_operand(function, &ins->operands[i], out);
		between = ", ";
	}
}

void tcb_ptx_print_ins(const struct tcb_ptx_function *function, const struct tcb_ptx_ins *ins, struct tcb_str *out)
{
	if (ins->guard != TCB_PTX_NO_REG) {
		tcb_str_add(out, ins->guard_negated ? "@!" : "@");
		print_reg(function, ins->guard, out);
		tcb_str_add(out, " ");
	}
	tcb_ptx_print_mnemonic(ins, out);
	if (ins->op == TCB_PTX_OP_CALL) {
		print_call(function, ins, out);
	} else if (ins->op == TCB_PTX_OP_PRAGMA) {
		tcb_str_addf(out, " \"%s\"", ins->operands[0].text);
	} else {
		for (unsigned i = 0; i < ins->operand_count; i++) {
			tcb_str_add(out, i ? ", " : " ");
			print_operand(function, &ins->operands[i], out);
		}
	}
	tcb_str_add(out, ";");
}

/* --- declarations --- */

static void print_linkage(const struct tcb_ptx_symbol *symbol, struct tcb_str *out)
{
	static const char *const words[] = {
		[TCB_PTX_STATIC] = "",          [TCB_PTX_VISIBLE] = ".visible ", [TCB_PTX_EXTERN] = ".extern ",
		[TCB_PTX_WEAK_LINK] = ".weak ", [TCB_PTX_COMMON] = ".common ",
	};

	tcb_str_add(out, words[symbol->linkage]);
}

static void print_init(const struct tcb_ptx_symbol *symbol, struct tcb_str *out)
{
	int is_first = 1;

	tcb_str_add(out, " = ");
	for (size_t i = 0; i < symbol->init_count; i++) {
		const struct tcb_ptx_init *init = &symbol->init[i];

		if (!is_first && init->kind != TCB_PTX_INIT_CLOSE)
			tcb_str_add(out, ", ");
		is_first = init->kind == TCB_PTX_INIT_OPEN;
		switch (init->kind) {
		case TCB_PTX_INIT_INT:
			tcb_str_addf(out, "%" PRId64, (int64_t)init->bits);
			break;
		case TCB_PTX_INIT_F32:
			tcb_str_addf(out, "0f%08" PRIX32, (uint32_t)init->bits);
			break;
		case TCB_PTX_INIT_F64:
			tcb_str_addf(out, "0d%016" PRIX64, init->bits);
			break;
		case TCB_PTX_INIT_SYMBOL:
		case TCB_PTX_INIT_GENERIC:
			tcb_str_addf(out, "%s%s", init->mask ? init->mask : "", init->mask ? "(" : "");
			tcb_str_addf(out, init->kind == TCB_PTX_INIT_GENERIC ? "generic(%s)" : "%s", init->symbol);
			print_offset(0, init->bits, out);
			tcb_str_add(out, init->mask ? ")" : "");
			break;
		case TCB_PTX_INIT_OPEN:
			tcb_str_add(out, "{");
			break;
		case TCB_PTX_INIT_CLOSE:
			tcb_str_add(out, "}");
			break;
		}
	}
}

static void print_variable(const struct tcb_ptx_symbol *symbol, struct tcb_str *out)
{
	print_linkage(symbol, out);
	tcb_str_addf(out, ".%s", tcb_ptx_word_text(symbol->space));
	if (symbol->is_managed)
		tcb_str_add(out, " .attribute(.managed)");
	if (symbol->align)
		tcb_str_addf(out, " .align %u", symbol->align);
	if (symbol->vector)
		tcb_str_addf(out, " .%s", tcb_ptx_word_text(symbol->vector));
	tcb_str_addf(out, " .%s", tcb_ptx_word_text(symbol->type));
	if (symbol->is_pointer) {
		tcb_str_add(out, " .ptr");
		if (symbol->pointer_space)
			tcb_str_addf(out, " .%s", tcb_ptx_word_text(symbol->pointer_space));
		if (symbol->pointer_align)
			tcb_str_addf(out, " .align %u", symbol->pointer_align);
	}
	tcb_str_addf(out, " %s", symbol->name);
	for (unsigned i = 0; i < symbol->dimension_count; i++) {
		if (symbol->dimension[i])
			tcb_str_addf(out, "[%" PRIu64 "]", symbol->dimension[i]);
		else
			tcb_str_add(out, "[]");
	}
	if (symbol->init)
		print_init(symbol, out);
}

static void print_params(const struct tcb_ptx_symbol *params, struct tcb_str *out)
{
	tcb_str_add(out, "(");
	for (const struct tcb_ptx_symbol *param = params; param; param = param->next) {
		tcb_str_add(out, "\n\t");
		print_variable(param, out);
		tcb_str_add(out, param->next ? "," : "\n");
	}
	tcb_str_add(out, ")");
}

static void print_dims(const char *name, const uint32_t dims[3], struct tcb_str *out)
{
	if (dims[0])
		tcb_str_addf(out, ".%s %" PRIu32 ", %" PRIu32 ", %" PRIu32 "\n", name, dims[0], dims[1], dims[2]);
}

static void print_number(const char *name, uint32_t number, struct tcb_str *out)
{
	if (number)
		tcb_str_addf(out, ".%s %" PRIu32 "\n", name, number);
}

static void print_directives(const struct tcb_ptx_function *function, struct tcb_str *out)
{
	const struct tcb_ptx_directives *d = &function->directives;

	print_dims("maxntid", d->maxntid, out);
	print_dims("reqntid", d->reqntid, out);
	print_number("minnctapersm", d->minnctapersm, out);
	print_number("maxnctapersm", d->maxnctapersm, out);
	print_number("maxnreg", d->maxnreg, out);
	print_dims("reqnctapercluster", d->reqnctapercluster, out);
	print_number("maxclusterrank", d->maxclusterrank, out);
	tcb_str_add(out, d->explicitcluster ? ".explicitcluster\n" : "");
	tcb_str_add(out, d->blocksareclusters ? ".blocksareclusters\n" : "");
	tcb_str_add(out, d->noreturn ? ".noreturn\n" : "");
	for (size_t i = 0; i < function->pragma_count; i++)
		tcb_str_addf(out, ".pragma \"%s\";\n", function->pragmas[i]);
}

static void print_prototypes(const struct tcb_ptx_function *function, struct tcb_str *out)
{
	for (const struct tcb_ptx_function *p = function->prototypes; p; p = p->next) {
		tcb_str_addf(out, "\t%s: .callprototype ", p->symbol->name);
		if (p->results) {
			print_params(p->results, out);
			tcb_str_add(out, " ");
		}
		tcb_str_add(out, "_ ");
		print_params(p->params, out);
		tcb_str_add(out, p->directives.noreturn ? " .noreturn;\n" : ";\n");
	}
	for (const struct tcb_ptx_table *table = function->tables; table; table = table->next) {
		tcb_str_addf(out, "\t%s: .branchtargets", table->name);
		for (uint32_t i = 0; i < table->count; i++)
			tcb_str_addf(out, "%s %s", i ? "," : "", table->blocks[i]->label);
		tcb_str_add(out, ";\n");
	}
}

static void print_body(const struct tcb_ptx_function *function, struct tcb_str *out)
{
	for (uint32_t i = 0; i < function->group_count; i++) {
		const struct tcb_ptx_group *group = &function->groups[i];

		tcb_str_addf(out, "\t.reg .%s %s", tcb_ptx_word_text(group->type), group->prefix);
		if (group->count)
			tcb_str_addf(out, "<%" PRIu32 ">", group->count);
		tcb_str_add(out, ";\n");
	}
	for (const struct tcb_ptx_symbol *local = function->locals; local; local = local->next) {
		tcb_str_add(out, "\t");
		print_variable(local, out);
		tcb_str_add(out, ";\n");
	}
	print_prototypes(function, out);
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next) {
		if (block->label)
			tcb_str_addf(out, "%s:\n", block->label);
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			tcb_str_add(out, "\t");
			tcb_ptx_print_ins(function, ins, out);
			tcb_str_add(out, "\n");
		}
	}
}

void tcb_ptx_print_function(const struct tcb_ptx_function *function, struct tcb_str *out)
{
	print_linkage(function->symbol, out);
	tcb_str_add(out, function->is_entry ? ".entry " : ".func ");
	if (function->results) {
		print_params(function->results, out);
		tcb_str_add(out, " ");
	}
	tcb_str_add(out, function->symbol->name);
	print_params(function->params, out);
	tcb_str_add(out, "\n");
	print_directives(function, out);
	if (function->is_declaration) {
		tcb_str_add(out, ";\n");
		return;
	}
	tcb_str_add(out, "{\n");
	print_body(function, out);
	tcb_str_add(out, "}\n");
}

void tcb_ptx_print_variables(const struct tcb_ptx_module *module, struct tcb_str *out)
{
	for (const struct tcb_ptx_symbol *symbol = module->symbols; symbol; symbol = symbol->next)
		if (symbol->space == TCB_PTX_GLOBAL || symbol->space == TCB_PTX_CONST) {
			print_variable(symbol, out);
			tcb_str_add(out, ";\n");
		}
}

void tcb_ptx_print(const struct tcb_ptx_module *module, struct tcb_str *out)
{
	const struct tcb_ptx_symbol *symbol = module->symbols;
	const struct tcb_ptx_function *function = module->functions;
	char target[16];

	tcb_str_addf(out, ".version %u.%u\n.target %s%s\n.address_size %u\n", module->version / 10,
		     module->version % 10, tcb_ptx_target_text(&module->target, target),
		     module->has_debug ? ", debug" : "", module->address_size);
	for (size_t i = 0; i < module->pragma_count; i++)
		tcb_str_addf(out, ".pragma \"%s\";\n", module->pragmas[i]);
	while (symbol || function) {
		tcb_str_add(out, "\n");
		if (symbol && (!function || symbol->item < function->item)) {
			print_variable(symbol, out);
			tcb_str_add(out, ";\n");
			symbol = symbol->next;
		} else {
			tcb_ptx_print_function(function, out);
			function = function->next;
		}
	}
	for (const struct tcb_ptx_alias *alias = module->aliases; alias; alias = alias->next)
		tcb_str_addf(out, "\n.alias %s, %s;\n", alias->name, alias->of);
}
