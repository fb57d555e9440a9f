/* SPDX-License-Identifier: MIT
 *
 * In: a target, kernels with their parameters and variables.  Out: a verified
 * module.  Here is what is declared, and the operands that name it.  Below it,
 * each above the next: the proof of alignment (build_align.c), loops and branches
 * (build_control.c), instructions (build_ins.c), operands (build_operand.c), and
 * what all share (build_state.c).
 */
#include "ptx/analyse/legality.h"
#include "ptx/build/build_parts.h"
#include "ptx/ir/opcodes.h"
#include "ptx/text/text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { VERSION_LEAST = 60 };

/* --- modules --- */

/* Least PTX version that names the target (PTX ISA, release notes). */
static unsigned target_version(const struct tcb_ptx_target *target)
{
	static const struct {
		unsigned sm;
		unsigned plain, a, f; /* 0: there is none */
	} known[] = {
		{ 70, 60, 0, 0 },    { 72, 61, 0, 0 },    { 75, 63, 0, 0 },    { 80, 70, 0, 0 },    { 86, 71, 0, 0 },
		{ 87, 74, 0, 0 },    { 88, 90, 0, 0 },    { 89, 78, 0, 0 },    { 90, 78, 80, 0 },   { 100, 86, 86, 88 },
		{ 101, 86, 86, 88 }, { 103, 88, 88, 88 }, { 110, 90, 90, 90 }, { 120, 87, 87, 88 }, { 121, 88, 88, 88 },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].sm == target->sm)
			return target->feature == 'a'   ? known[i].a
			       : target->feature == 'f' ? known[i].f
							: known[i].plain;
	return target->sm >= 60 && target->sm < 70 && !target->feature ? VERSION_LEAST : 0;
}

enum tcb_status tcb_ptx_build_init(struct tcb_ptx_build *b, const struct tcb_ptx_target *target, struct tcb_error *err)
{
	char text[16];
	unsigned version = target_version(target);

	memset(b, 0, sizeof *b);
	b->guard = TCB_PTX_NO_REG;
	if (!version)
		return b->status = tcb_fail(err, TCB_E_UNSUPPORTED, "target: there is no PTX for %s",
					    tcb_ptx_target_text(target, text));
	b->module = tcb_ptx_module_create();
	if (!b->module)
		return b->status = tcb_fail(err, TCB_E_NOMEM, "out of memory for a module");
	b->module->target = *target;
	b->module->version = version;
	return TCB_OK;
}

enum tcb_status tcb_ptx_build_finish(struct tcb_ptx_build *b, struct tcb_ptx_module **module_out, struct tcb_error *err)
{
	struct tcb_ptx_module *module = b->module;

	*module_out = NULL;
	if (b->block)
		tcb_ptx_build_fail(b, TCB_E_USAGE, "usage: the kernel was not ended");
	b->module = NULL;
	if (module && b->status == TCB_OK)
		b->status = tcb_ptx_verify(module, &b->error);
	if (b->status == TCB_OK && module) {
		*module_out = module;
		return TCB_OK;
	}
	tcb_ptx_module_destroy(module);
	return tcb_fail(err, b->status == TCB_OK ? TCB_E_USAGE : b->status, "%s",
			b->error.message[0] ? b->error.message : "the builder has no module");
}

/* --- kernels --- */

/* [a-zA-Z][a-zA-Z0-9_$]* or [_$%][a-zA-Z0-9_$]+ (PTX ISA 4.4); % is for registers and $ for labels here. */
static int name_is_legal(const char *name)
{
	size_t i = 0;

	if (!isalpha((unsigned char)name[0]) && !(name[0] == '_' && name[1]))
		return 0;
	while (isalnum((unsigned char)name[i]) || name[i] == '_' || name[i] == '$')
		i++;
	return !name[i];
}

static int check_name(struct tcb_ptx_build *b, const char *name)
{
	if (!name_is_legal(name))
		tcb_ptx_build_fail(b, TCB_E_USAGE, "syntax: '%.80s' is not a name of PTX", name);
	else if (tcb_ptx_symbol_find(b->module->symbols, name) ||
		 (b->function &&
		  (tcb_ptx_symbol_find(b->function->params, name) || tcb_ptx_symbol_find(b->function->locals, name))))
		tcb_ptx_build_fail(b, TCB_E_USAGE, "duplicate: '%.80s' is declared twice", name);
	return b->status == TCB_OK;
}

struct tcb_ptx_function *tcb_ptx_kernel_begin(struct tcb_ptx_build *b, const char *name,
					      const struct tcb_ptx_directives *directives)
{
	struct tcb_ptx_function *function;

	if (b->status != TCB_OK)
		return NULL;
	if (b->block) {
		tcb_ptx_build_fail(b, TCB_E_USAGE, "usage: kernel '%.80s' begins before this one was ended", name);
		return NULL;
	}
	b->function = NULL;
	if (tcb_ptx_function_find(b->module, name))
		tcb_ptx_build_fail(b, TCB_E_USAGE, "duplicate: there is a kernel '%.80s' already", name);
	if (!check_name(b, name))
		return NULL;
	function = tcb_ptx_function_add(b->module, name);
	if (!function || !(b->block = tcb_ptx_block_new(function, NULL, NULL))) {
		tcb_ptx_build_nomem(b);
		return NULL;
	}
	function->is_entry = 1;
	function->symbol->linkage = TCB_PTX_VISIBLE;
	if (directives)
		function->directives = *directives;
	if (directives && (directives->reqnctapercluster[0] || directives->maxclusterrank ||
			   directives->explicitcluster || directives->blocksareclusters))
		tcb_ptx_build_need(b, directives->blocksareclusters ? 90 : 78);
	b->function = function;
	b->loop = NULL;
	b->dynamic = NULL;
	b->depth = 0;
	b->label_count = 0;
	tcb_ptx_unguard(b);
	return function;
}

void tcb_ptx_kernel_end(struct tcb_ptx_build *b)
{
	struct tcb_ptx_block *last;

	if (!tcb_ptx_build_ready(b))
		return;
	if (b->depth)
		tcb_ptx_build_fail(b, TCB_E_USAGE, "usage: a loop or an if was not ended");
	if (b->guard != TCB_PTX_NO_REG)
		tcb_ptx_build_fail(b, TCB_E_USAGE, "usage: a guard was not ended");
	last = b->block;
	if (b->status == TCB_OK && !last->first && !last->label && last->prev && !tcb_ptx_falls_through(last->prev))
		tcb_ptx_block_remove(last); /* it follows a ret */
	else if (b->status == TCB_OK)
		tcb_ptx_op0(b, "ret");
	if (b->status == TCB_OK && !b->block->first && b->block->prev)
		tcb_ptx_block_remove(b->block);
	if (b->status == TCB_OK)
		tcb_ptx_build_tidy(b);
	if (b->status == TCB_OK)
		b->status = tcb_ptx_cfg(b->function, &b->error);
	if (b->status == TCB_OK)
		tcb_ptx_build_prove(b);
	b->block = NULL;
}

/* --- parameters and variables --- */

static struct tcb_ptx_symbol *declare(struct tcb_ptx_build *b, struct tcb_ptx_symbol **list, const char *name,
				      enum tcb_ptx_word space, enum tcb_ptx_word type)
{
	struct tcb_ptx_symbol *symbol;

	if (!tcb_ptx_build_ready(b) || !check_name(b, name))
		return NULL;
	symbol = tcb_ptx_symbol_add(b->module, list, name);
	if (!symbol) {
		tcb_ptx_build_nomem(b);
		return NULL;
	}
	symbol->space = space;
	symbol->type = type;
	return symbol;
}

static struct tcb_ptx_symbol *declare_bytes(struct tcb_ptx_build *b, struct tcb_ptx_symbol **list, const char *name,
					    enum tcb_ptx_word space, unsigned align, uint64_t bytes)
{
	struct tcb_ptx_symbol *symbol;

	if (b->status != TCB_OK || !tcb_ptx_build_check_align(b, name, align))
		return NULL;
	symbol = declare(b, list, name, space, TCB_PTX_B8);
	if (symbol) {
		symbol->align = align;
		symbol->dimension_count = 1;
		symbol->dimension[0] = bytes;
	}
	return symbol;
}

static struct tcb_ptx_operand symbol_operand(struct tcb_ptx_symbol *symbol)
{
	struct tcb_ptx_operand operand = { .kind = TCB_PTX_O_SYMBOL, .reg = TCB_PTX_NO_REG };

	if (!symbol)
		return tcb_ptx_sink_operand();
	operand.symbol = symbol;
	return operand;
}

/* The list of a kernel's parameters or variables; a dummy after an error. */
static struct tcb_ptx_symbol **list_of(struct tcb_ptx_build *b, int is_param)
{
	static struct tcb_ptx_symbol *none;

	if (!b->function)
		return &none;
	return is_param ? &b->function->params : &b->function->locals;
}

struct tcb_ptx_operand tcb_ptx_param(struct tcb_ptx_build *b, const char *type, const char *name)
{
	enum tcb_ptx_word word = tcb_ptx_word_find(type, strlen(type));
	enum tcb_ptx_class class = tcb_ptx_type_class(word);
	struct tcb_ptx_symbol *symbol;
	char mnemonic[32];

	if (b->status == TCB_OK && (class < TCB_PTX_CLASS_BITS || class > TCB_PTX_CLASS_FLOAT || word == TCB_PTX_F16X2))
		tcb_ptx_build_fail(b, TCB_E_USAGE, "syntax: parameter '%.80s' cannot be of type '%.20s'", name, type);
	symbol = b->status == TCB_OK ? declare(b, list_of(b, 1), name, TCB_PTX_PARAM, word) : NULL;
	if (!symbol)
		return tcb_ptx_sink_operand();
	snprintf(mnemonic, sizeof mnemonic, "ld.param.%s", word == TCB_PTX_F16 ? "b16" : type);
	return tcb_ptx_op1(b, mnemonic, tcb_ptx_at(symbol_operand(symbol), 0));
}

struct tcb_ptx_operand tcb_ptx_param_pointer(struct tcb_ptx_build *b, const char *name, unsigned align)
{
	struct tcb_ptx_symbol *symbol = b->status == TCB_OK && tcb_ptx_build_check_align(b, name, align)
						? declare(b, list_of(b, 1), name, TCB_PTX_PARAM, TCB_PTX_U64)
						: NULL;
	struct tcb_ptx_operand generic, global;

	if (!symbol)
		return tcb_ptx_sink_operand();
	symbol->is_pointer = 1;
	symbol->pointer_space = TCB_PTX_GLOBAL;
	symbol->pointer_align = align;
	generic = tcb_ptx_op1(b, "ld.param.u64", tcb_ptx_at(symbol_operand(symbol), 0));
	global = tcb_ptx_op1(b, "cvta.to.global.u64", tcb_ptx_assume_aligned(b, generic, align));
	return global;
}

struct tcb_ptx_operand tcb_ptx_param_bytes(struct tcb_ptx_build *b, const char *name, unsigned align, uint64_t bytes)
{
	if (!bytes)
		tcb_ptx_build_fail(b, TCB_E_USAGE, "param-size: '%.80s' has no bytes", name);
	return symbol_operand(declare_bytes(b, list_of(b, 1), name, TCB_PTX_PARAM, align, bytes));
}

struct tcb_ptx_operand tcb_ptx_shared(struct tcb_ptx_build *b, const char *name, unsigned align, uint64_t bytes)
{
	if (!bytes || bytes > TCB_PTX_SHARED_STATIC_MAX)
		tcb_ptx_build_fail(b, TCB_E_USAGE,
				   "shared-static: %llu bytes in '%.80s'; 1 to %d are possible, more must be dynamic",
				   (unsigned long long)bytes, name, TCB_PTX_SHARED_STATIC_MAX);
	return symbol_operand(declare_bytes(b, list_of(b, 0), name, TCB_PTX_SHARED, align, bytes));
}

/* Before the kernel in the text. */
static void put_before_kernel(struct tcb_ptx_build *b, struct tcb_ptx_symbol *symbol)
{
	symbol->item = b->function->item;
	b->function->item = b->module->item_count - 1;
}

struct tcb_ptx_operand tcb_ptx_shared_dynamic(struct tcb_ptx_build *b, const char *name, unsigned align)
{
	struct tcb_ptx_symbol *known;

	if (!tcb_ptx_build_ready(b) || !tcb_ptx_build_check_align(b, name, align))
		return tcb_ptx_sink_operand();
	if (b->dynamic) {
		tcb_ptx_build_fail(
			b, TCB_E_USAGE,
			"duplicate: a kernel has one dynamic shared memory, here '%.60s'; all names would be "
			"the same address",
			b->dynamic->name);
		return tcb_ptx_sink_operand();
	}
	known = tcb_ptx_symbol_find(b->module->symbols, name); /* kernels of a module may share the declaration */
	if (known && known->linkage == TCB_PTX_EXTERN && known->space == TCB_PTX_SHARED && known->align >= align)
		return symbol_operand(b->dynamic = known);
	b->dynamic = declare_bytes(b, &b->module->symbols, name, TCB_PTX_SHARED, align, 0);
	if (b->dynamic) {
		b->dynamic->linkage = TCB_PTX_EXTERN;
		put_before_kernel(b, b->dynamic);
	}
	return symbol_operand(b->dynamic);
}

struct tcb_ptx_operand tcb_ptx_words(struct tcb_ptx_build *b, const char *name, const uint32_t *words, size_t count)
{
	struct tcb_ptx_symbol *symbol;
	struct tcb_ptx_init *init;

	if (!tcb_ptx_build_ready(b))
		return tcb_ptx_sink_operand();
	symbol = tcb_ptx_symbol_find(b->module->symbols, name);
	if (symbol && symbol->space == TCB_PTX_GLOBAL && symbol->dimension[0] == count)
		return symbol_operand(symbol);
	symbol = declare(b, &b->module->symbols, name, TCB_PTX_GLOBAL, TCB_PTX_B32);
	init = symbol ? tcb_arena_array(&b->module->arena, count + 2, sizeof *init) : NULL;
	if (!init) {
		tcb_ptx_build_nomem(b);
		return tcb_ptx_sink_operand();
	}
	init[0] = (struct tcb_ptx_init){ .kind = TCB_PTX_INIT_OPEN };
	for (size_t i = 0; i < count; i++)
		init[1 + i] = (struct tcb_ptx_init){ .kind = TCB_PTX_INIT_INT, .bits = words[i] };
	init[1 + count] = (struct tcb_ptx_init){ .kind = TCB_PTX_INIT_CLOSE };
	symbol->align = 16;
	symbol->dimension_count = 1;
	symbol->dimension[0] = count;
	symbol->init = init;
	symbol->init_count = count + 2;
	put_before_kernel(b, symbol);
	return symbol_operand(symbol);
}

struct tcb_ptx_operand tcb_ptx_special(struct tcb_ptx_build *b, const char *name)
{
	struct tcb_ptx_operand operand = { .kind = TCB_PTX_O_SPECIAL, .reg = TCB_PTX_NO_REG };
	enum tcb_ptx_special special;
	char text[40], mnemonic[24];

	if (!tcb_ptx_build_ready(b))
		return tcb_ptx_sink_operand();
	snprintf(text, sizeof text, "%s%.30s", *name == '%' ? "" : "%", name);
	special = tcb_ptx_special_find(text, strlen(text));
	if (special == TCB_PTX_SPECIAL_COUNT) {
		tcb_ptx_build_fail(b, TCB_E_USAGE, "syntax: unknown special register '%s'", text);
		return tcb_ptx_sink_operand();
	}
	operand.special = (uint16_t)special;
	snprintf(mnemonic, sizeof mnemonic, "mov.%s", tcb_ptx_word_text(tcb_ptx_special_type(special)));
	return tcb_ptx_op1(b, mnemonic, operand);
}
