/* SPDX-License-Identifier: MIT
 *
 * Making and changing the parts of a module.
 */
#include "ptx/ir/ir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { REGS_MAX = 1 << 20 }; /* of one function; ptxas gives up long before */

struct tcb_ptx_module *tcb_ptx_module_create(void)
{
	struct tcb_ptx_module *module = calloc(1, sizeof *module);

	if (module) {
		module->version = 80;
		module->target.sm = 80;
		module->address_size = 64;
	}
	return module;
}

void tcb_ptx_module_destroy(struct tcb_ptx_module *module)
{
	if (!module)
		return;
	tcb_arena_fini(&module->arena);
	free(module);
}

/* --- symbols and functions --- */

struct tcb_ptx_symbol *tcb_ptx_symbol_add(struct tcb_ptx_module *module, struct tcb_ptx_symbol **list, const char *name)
{
	struct tcb_ptx_symbol *symbol = tcb_arena_alloc(&module->arena, sizeof *symbol);

	if (!symbol)
		return NULL;
	symbol->name = name;
	symbol->item = module->item_count++;
	while (*list)
		list = &(*list)->next;
	*list = symbol;
	return symbol;
}

struct tcb_ptx_symbol *tcb_ptx_symbol_find(struct tcb_ptx_symbol *list, const char *name)
{
	while (list && strcmp(list->name, name) != 0)
		list = list->next;
	return list;
}

struct tcb_ptx_function *tcb_ptx_function_add(struct tcb_ptx_module *module, const char *name)
{
	struct tcb_ptx_function *function = tcb_arena_alloc(&module->arena, sizeof *function);
	struct tcb_ptx_symbol *symbol = tcb_arena_alloc(&module->arena, sizeof *symbol);

	if (!function || !symbol)
		return NULL;
	symbol->name = name;
	symbol->function = function;
	function->symbol = symbol;
	function->module = module;
	function->item = module->item_count++;
	*(module->last_function ? &module->last_function->next : &module->functions) = function;
	module->last_function = function;
	return function;
}

struct tcb_ptx_function *tcb_ptx_function_find(struct tcb_ptx_module *module, const char *name)
{
	struct tcb_ptx_function *declared = NULL;

	for (struct tcb_ptx_function *function = module->functions; function; function = function->next) {
		if (strcmp(function->symbol->name, name) != 0)
			continue;
		if (!function->is_declaration)
			return function;
		declared = function;
	}
	return declared;
}

static unsigned vector_count(enum tcb_ptx_word vector)
{
	return vector == TCB_PTX_V2 ? 2 : vector == TCB_PTX_V4 ? 4 : 1;
}

uint64_t tcb_ptx_symbol_bytes(const struct tcb_ptx_symbol *symbol)
{
	uint64_t bytes = tcb_ptx_type_bits(symbol->type) / 8 * vector_count(symbol->vector);

	for (unsigned i = 0; i < symbol->dimension_count; i++)
		if (__builtin_mul_overflow(bytes, symbol->dimension[i], &bytes))
			return UINT64_MAX;
	return bytes;
}

unsigned tcb_ptx_symbol_align(const struct tcb_ptx_symbol *symbol)
{
	unsigned natural = tcb_ptx_type_bits(symbol->type) / 8 * vector_count(symbol->vector);

	return symbol->align ? symbol->align : natural ? natural : 1;
}

/* --- registers --- */

static int grow_regs(struct tcb_ptx_function *function, uint32_t count)
{
	uint32_t need, capacity = function->reg_capacity ? function->reg_capacity : 64;
	struct tcb_ptx_reg *regs;

	if (count > REGS_MAX - function->reg_count)
		return 0;
	need = function->reg_count + count;
	if (need <= function->reg_capacity)
		return 1;
	while (capacity < need)
		capacity *= 2;
	regs = tcb_arena_regrow(&function->module->arena, function->regs, function->reg_count, capacity, sizeof *regs);
	if (!regs)
		return 0;
	function->regs = regs;
	function->reg_capacity = capacity;
	return 1;
}

static void set_reg(struct tcb_ptx_function *function, enum tcb_ptx_word type, uint32_t group, uint32_t index)
{
	struct tcb_ptx_reg *reg = &function->regs[function->reg_count++];

	memset(reg, 0, sizeof *reg);
	reg->type = type;
	reg->group = group;
	reg->index = index;
}

uint32_t tcb_ptx_regs_add(struct tcb_ptx_function *function, enum tcb_ptx_word type, const char *prefix, uint32_t count)
{
	uint32_t first = function->reg_count, group = function->group_count;

	if (!grow_regs(function, count ? count : 1))
		return TCB_PTX_NO_REG;
	if (group == function->group_capacity) {
		uint32_t capacity = group ? group * 2 : 8;
		struct tcb_ptx_group *groups =
			tcb_arena_regrow(&function->module->arena, function->groups, group, capacity, sizeof *groups);

		if (!groups)
			return TCB_PTX_NO_REG;
		function->groups = groups;
		function->group_capacity = capacity;
	}
	function->groups[group] = (struct tcb_ptx_group){ prefix, type, count };
	function->group_count++;
	for (uint32_t i = 0; i < (count ? count : 1); i++)
		set_reg(function, type, group, i);
	return first;
}

uint32_t tcb_ptx_reg_twin(struct tcb_ptx_function *function, uint32_t reg)
{
	if (!grow_regs(function, 1))
		return TCB_PTX_NO_REG;
	function->regs[function->reg_count] = function->regs[reg];
	return function->reg_count++;
}

/* No other group may grow into PREFIX followed by a number, nor PREFIX into it. */
static int prefix_is_free(const struct tcb_ptx_function *function, const char *prefix)
{
	for (uint32_t i = 0; i < function->group_count; i++) {
		const char *a = function->groups[i].prefix, *b = prefix;

		while (*a && *a == *b) {
			a++;
			b++;
		}
		a += strspn(a, "0123456789");
		b += strspn(b, "0123456789");
		if (!*a && !*b)
			return 0;
	}
	return 1;
}

/* As nvcc names them, with a letter more when that is taken. */
static const char *fresh_prefix(struct tcb_ptx_function *function, enum tcb_ptx_word type)
{
	static const char *const of_bits[] = { "%p", "%rc", "%rs", "%r", "%rd", "%rq" };
	unsigned bits = tcb_ptx_type_bits(type), index = 0;
	const char *prefix;

	while (index < 5 && bits > (index ? 4u << index : 1u))
		index++;
	prefix = tcb_ptx_type_class(type) != TCB_PTX_CLASS_FLOAT ? of_bits[index]
		 : type == TCB_PTX_F32                           ? "%f"
		 : type == TCB_PTX_F64                           ? "%fd"
		 : type == TCB_PTX_F16                           ? "%h"
								 : "%hh";
	while (prefix && !prefix_is_free(function, prefix))
		prefix = tcb_arena_textf(&function->module->arena, "%sx", prefix);
	return prefix;
}

uint32_t tcb_ptx_reg_new(struct tcb_ptx_function *function, enum tcb_ptx_word type)
{
	uint32_t group = function->fresh_group[type];

	if (!group) {
		const char *prefix = fresh_prefix(function, type);
		uint32_t first = prefix ? tcb_ptx_regs_add(function, type, prefix, 1) : TCB_PTX_NO_REG;

		if (first != TCB_PTX_NO_REG)
			function->fresh_group[type] = function->group_count;
		return first;
	}
	if (!grow_regs(function, 1))
		return TCB_PTX_NO_REG;
	set_reg(function, type, group - 1, function->groups[group - 1].count++);
	return function->reg_count - 1;
}

char *tcb_ptx_reg_name(const struct tcb_ptx_function *function, uint32_t reg, char *out, size_t size)
{
	const struct tcb_ptx_group *group = &function->groups[function->regs[reg].group];

	if (group->count)
		snprintf(out, size, "%s%u", group->prefix, function->regs[reg].index);
	else
		snprintf(out, size, "%s", group->prefix);
	return out;
}

/* --- blocks and instructions --- */

struct tcb_ptx_block *tcb_ptx_block_new(struct tcb_ptx_function *function, struct tcb_ptx_block *after,
					const char *label)
{
	struct tcb_ptx_block *block = tcb_arena_alloc(&function->module->arena, sizeof *block);

	if (!block)
		return NULL;
	block->function = function;
	block->label = label;
	block->prev = after;
	block->next = after ? after->next : function->first;
	*(block->prev ? &block->prev->next : &function->first) = block;
	*(block->next ? &block->next->prev : &function->last) = block;
	function->block_count++;
	return block;
}

void tcb_ptx_block_remove(struct tcb_ptx_block *block)
{
	struct tcb_ptx_function *function = block->function;

	*(block->prev ? &block->prev->next : &function->first) = block->next;
	*(block->next ? &block->next->prev : &function->last) = block->prev;
	block->prev = block->next = NULL;
	function->block_count--;
}

struct tcb_ptx_ins *tcb_ptx_ins_new(struct tcb_ptx_module *module, unsigned operand_count)
{
	struct tcb_ptx_ins *ins = tcb_arena_alloc(&module->arena, sizeof *ins);

	if (!ins)
		return NULL;
	ins->guard = TCB_PTX_NO_REG;
	ins->operand_count = (uint8_t)operand_count;
	/* Never NULL: code takes the address of the first operand before it asks whether there is one. */
	ins->operands = tcb_arena_array(&module->arena, operand_count, sizeof *ins->operands);
	return ins->operands ? ins : NULL;
}

static int copy_items(struct tcb_arena *arena, struct tcb_ptx_operand *operand)
{
	if (!operand->items)
		return 1;
	operand->items = tcb_arena_regrow(arena, operand->items, operand->count, operand->count, sizeof *operand);
	return operand->items != NULL;
}

struct tcb_ptx_ins *tcb_ptx_ins_copy(struct tcb_ptx_module *module, const struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_ins *copy = tcb_arena_alloc(&module->arena, sizeof *copy);

	if (!copy)
		return NULL;
	*copy = *ins;
	copy->prev = copy->next = NULL;
	copy->block = NULL;
	copy->operands = tcb_arena_regrow(&module->arena, ins->operands, ins->operand_count, ins->operand_count,
					  sizeof *ins->operands);
	if (!copy->operands)
		return NULL;
	for (unsigned i = 0; i < ins->operand_count; i++) {
		/* items nest once at most: a list of vectors does not exist */
		if (!copy_items(&module->arena, &copy->operands[i]))
			return NULL;
	}
	return copy;
}

static void link_ins(struct tcb_ptx_block *block, struct tcb_ptx_ins *prev, struct tcb_ptx_ins *ins,
		     struct tcb_ptx_ins *next)
{
	ins->block = block;
	ins->prev = prev;
	ins->next = next;
	*(prev ? &prev->next : &block->first) = ins;
	*(next ? &next->prev : &block->last) = ins;
	block->function->ins_count++;
}

void tcb_ptx_ins_append(struct tcb_ptx_block *block, struct tcb_ptx_ins *ins)
{
	link_ins(block, block->last, ins, NULL);
}

void tcb_ptx_ins_before(struct tcb_ptx_ins *where, struct tcb_ptx_ins *ins)
{
	link_ins(where->block, where->prev, ins, where);
}

void tcb_ptx_ins_after(struct tcb_ptx_ins *where, struct tcb_ptx_ins *ins)
{
	link_ins(where->block, where, ins, where->next);
}

void tcb_ptx_ins_remove(struct tcb_ptx_ins *ins)
{
	struct tcb_ptx_block *block = ins->block;

	*(ins->prev ? &ins->prev->next : &block->first) = ins->next;
	*(ins->next ? &ins->next->prev : &block->last) = ins->prev;
	ins->prev = ins->next = NULL;
	ins->block = NULL;
	block->function->ins_count--;
}
