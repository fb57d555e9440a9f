/* SPDX-License-Identifier: MIT
 *
 * In: a target, kernels with their parameters and variables.  Out: a verified
 * module.  Here is what is declared, and the operands that name it; the
 * instructions are in build_ins.c, loops and branches in build_control.c, the
 * proof of alignment in build_align.c.
 */
#include "ptx/build_parts.h"
#include "ptx/legality.h"
#include "ptx/opcodes.h"
#include "ptx/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { VERSION_LEAST = 60, ALIGN_MAX = 4096, NAME_MAX_LENGTH = 200 };

/* --- errors --- */

void tcb_ptx_build_fail(struct tcb_ptx_build *b, enum tcb_status status, const char *format, ...)
{
	char text[480];
	va_list args;

	if (b->status != TCB_OK)
		return;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	b->status = tcb_fail(&b->error, status, "%.60s: %s", b->function ? b->function->symbol->name : "module", text);
}

void tcb_ptx_build_fail_ins(struct tcb_ptx_build *b, const struct tcb_ptx_ins *ins, const char *format, ...)
{
	struct tcb_str shown = { 0 };
	char text[400];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	tcb_ptx_print_ins(b->function, ins, &shown);
	tcb_ptx_build_fail(b, TCB_E_FORMAT, "'%.120s': %s", shown.data ? shown.data : "", text);
	tcb_str_fini(&shown);
}

void tcb_ptx_build_nomem(struct tcb_ptx_build *b)
{
	tcb_ptx_build_fail(b, TCB_E_NOMEM, "out of memory");
}

int tcb_ptx_build_ready(struct tcb_ptx_build *b)
{
	if (b->status == TCB_OK && !b->block)
		tcb_ptx_build_fail(b, TCB_E_USAGE, "usage: no kernel is open");
	return b->status == TCB_OK;
}

void tcb_ptx_build_need(struct tcb_ptx_build *b, unsigned version)
{
	if (b->module->version < version)
		b->module->version = version;
}

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

const char *tcb_ptx_namef(struct tcb_ptx_build *b, const char *format, ...)
{
	char text[NAME_MAX_LENGTH + 1];
	const char *name;
	va_list args;
	int length;

	if (b->status != TCB_OK)
		return "failed";
	va_start(args, format);
	length = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	if (length < 0 || length > NAME_MAX_LENGTH) {
		tcb_ptx_build_fail(b, TCB_E_USAGE, "syntax: the name '%.40s...' is too long", text);
		return "failed";
	}
	name = tcb_arena_text(&b->module->arena, text, (size_t)length);
	if (!name)
		tcb_ptx_build_nomem(b);
	return name ? name : "failed";
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
		tcb_ptx_build_fail(b, TCB_E_USAGE, "syntax: '%.80s' is no name of PTX", name);
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

static int check_align(struct tcb_ptx_build *b, const char *name, unsigned align)
{
	if (align && align <= ALIGN_MAX && !(align & (align - 1)))
		return 1;
	tcb_ptx_build_fail(b, TCB_E_USAGE, "alignment: %u of '%.80s' is no power of two up to %d", align, name,
			   ALIGN_MAX);
	return 0;
}

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

	if (b->status != TCB_OK || !check_align(b, name, align))
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
	struct tcb_ptx_symbol *symbol = b->status == TCB_OK && check_align(b, name, align)
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

struct tcb_ptx_operand tcb_ptx_shared_dynamic(struct tcb_ptx_build *b, const char *name, unsigned align)
{
	struct tcb_ptx_symbol *known;

	if (!tcb_ptx_build_ready(b) || !check_align(b, name, align))
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
		b->dynamic->item = b->function->item; /* before the kernel in the text */
		b->function->item = b->module->item_count - 1;
	}
	return symbol_operand(b->dynamic);
}

/* --- operands --- */

struct tcb_ptx_operand tcb_ptx_int(int64_t value)
{
	return (struct tcb_ptx_operand){ .kind = TCB_PTX_O_INT, .reg = TCB_PTX_NO_REG, .bits = (uint64_t)value };
}

struct tcb_ptx_operand tcb_ptx_f32(float value)
{
	struct tcb_ptx_operand operand = { .kind = TCB_PTX_O_F32, .reg = TCB_PTX_NO_REG };
	uint32_t bits;

	memcpy(&bits, &value, sizeof bits);
	operand.bits = bits;
	return operand;
}

struct tcb_ptx_operand tcb_ptx_sink_operand(void)
{
	return (struct tcb_ptx_operand){ .kind = TCB_PTX_O_SINK, .reg = TCB_PTX_NO_REG };
}

struct tcb_ptx_operand tcb_ptx_not(struct tcb_ptx_operand predicate)
{
	predicate.negated ^= predicate.kind == TCB_PTX_O_REG;
	return predicate;
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
		tcb_ptx_build_fail(b, TCB_E_USAGE, "syntax: there is no special register '%s'", text);
		return tcb_ptx_sink_operand();
	}
	operand.special = (uint16_t)special;
	snprintf(mnemonic, sizeof mnemonic, "mov.%s", tcb_ptx_word_text(tcb_ptx_special_type(special)));
	return tcb_ptx_op1(b, mnemonic, operand);
}

struct tcb_ptx_operand tcb_ptx_at(struct tcb_ptx_operand base, int64_t offset)
{
	struct tcb_ptx_operand address = { .kind = TCB_PTX_O_ADDRESS, .reg = TCB_PTX_NO_REG, .bits = (uint64_t)offset };

	switch ((enum tcb_ptx_operand_kind)base.kind) {
	case TCB_PTX_O_REG:
		address.reg = base.reg;
		return address;
	case TCB_PTX_O_SYMBOL:
		address.symbol = base.symbol;
		address.bits += base.bits;
		return address;
	case TCB_PTX_O_INT:
		address.bits += base.bits;
		return address;
	case TCB_PTX_O_ADDRESS:
		base.bits += (uint64_t)offset;
		return base;
	default:
		return tcb_ptx_sink_operand();
	}
}

/* OPERAND with a copy of ITEMS. */
static struct tcb_ptx_operand with_items(struct tcb_ptx_build *b, struct tcb_ptx_operand operand,
					 const struct tcb_ptx_operand *items, unsigned count)
{
	if (!tcb_ptx_build_ready(b))
		return tcb_ptx_sink_operand();
	operand.items = tcb_arena_regrow(&b->module->arena, items, count, count, sizeof *items);
	operand.count = count;
	if (!operand.items) {
		tcb_ptx_build_nomem(b);
		return tcb_ptx_sink_operand();
	}
	return operand;
}

struct tcb_ptx_operand tcb_ptx_vector(struct tcb_ptx_build *b, const struct tcb_ptx_operand *items, unsigned count)
{
	struct tcb_ptx_operand vector = { .kind = TCB_PTX_O_VECTOR, .reg = TCB_PTX_NO_REG };

	return with_items(b, vector, items, count);
}

struct tcb_ptx_operand tcb_ptx_at_tile(struct tcb_ptx_build *b, struct tcb_ptx_operand map,
				       const struct tcb_ptx_operand *coordinates, unsigned count)
{
	return with_items(b, tcb_ptx_at(map, 0), coordinates, count);
}

struct tcb_ptx_operand tcb_ptx_pair(struct tcb_ptx_build *b, struct tcb_ptx_operand x, struct tcb_ptx_operand y)
{
	struct tcb_ptx_operand pair = { .kind = TCB_PTX_O_PAIR, .reg = TCB_PTX_NO_REG };

	return with_items(b, pair, (struct tcb_ptx_operand[]){ x, y }, 2);
}

/* A letter more than nvcc uses: the text tells the types of integers apart. */
static const char *prefix_of(enum tcb_ptx_word type)
{
	switch (type) {
	case TCB_PTX_PRED:
		return "%p";
	case TCB_PTX_B8:
	case TCB_PTX_U8:
	case TCB_PTX_S8:
		return "%c";
	case TCB_PTX_B16:
		return "%h";
	case TCB_PTX_U16:
		return "%hu";
	case TCB_PTX_S16:
		return "%hs";
	case TCB_PTX_B32:
		return "%r";
	case TCB_PTX_U32:
		return "%u";
	case TCB_PTX_S32:
		return "%s";
	case TCB_PTX_B64:
		return "%rd";
	case TCB_PTX_U64:
		return "%ud";
	case TCB_PTX_S64:
		return "%sd";
	case TCB_PTX_F32:
		return "%f";
	case TCB_PTX_F64:
		return "%fd";
	case TCB_PTX_B128:
		return "%rq";
	default:
		return NULL; /* no register has it */
	}
}

struct tcb_ptx_operand tcb_ptx_build_reg(struct tcb_ptx_build *b, enum tcb_ptx_word type)
{
	struct tcb_ptx_operand operand = { .kind = TCB_PTX_O_REG };
	const char *prefix = prefix_of(type);

	if (!tcb_ptx_build_ready(b))
		return tcb_ptx_sink_operand();
	if (!prefix) {
		tcb_ptx_build_fail(b, TCB_E_USAGE, "operand-type: no register is of type .%s",
				   type ? tcb_ptx_word_text(type) : "?");
		return tcb_ptx_sink_operand();
	}
	if (b->function->fresh_group[type]) {
		operand.reg = tcb_ptx_reg_new(b->function, type);
	} else {
		operand.reg = tcb_ptx_regs_add(b->function, type, prefix, 1);
		b->function->fresh_group[type] = b->function->group_count;
	}
	if (operand.reg == TCB_PTX_NO_REG) {
		tcb_ptx_build_nomem(b);
		return tcb_ptx_sink_operand();
	}
	return operand;
}

struct tcb_ptx_operand tcb_ptx_reg(struct tcb_ptx_build *b, const char *type)
{
	return tcb_ptx_build_reg(b, tcb_ptx_word_find(type, strlen(type)));
}

struct tcb_ptx_operand tcb_ptx_assume_aligned(struct tcb_ptx_build *b, struct tcb_ptx_operand value, unsigned align)
{
	if (b->status == TCB_OK && check_align(b, "the assumption", align)) {
		if (value.kind == TCB_PTX_O_REG)
			b->function->regs[value.reg].align = align;
		else
			tcb_ptx_build_fail(b, TCB_E_USAGE, "alignment: only of a register it can be assumed");
	}
	return value;
}
