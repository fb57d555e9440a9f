/* SPDX-License-Identifier: MIT
 *
 * In: a function.  Out: an instruction that computes what one above it computed
 * already becomes a mov of that result (const_fold and dead_code then remove
 * the mov).
 *
 * An expression is an opcode, its modifiers, its sources and the type of its
 * result, as words in a hash table; the table is filled along the dominator
 * tree, and an entry counts while its block dominates the place.  A source that
 * is written once counts as itself wherever its definition dominates; any other
 * register counts as itself up to its next write or the end of the block.  Both
 * results must be written once and without a guard.  Loads are merged from
 * memory that nobody writes (.const, .nc, an entry's parameters), other weak
 * loads within a block as long as nothing between them writes or orders memory.
 * Never merged: what is volatile, ordered, convergent or unstable (clocks), or
 * reads or writes the carry; sums and products of f64 with swapped sources,
 * where the payload of a NaN may depend on the order.
 */
#include "ptx/analyse/flow/rewrite.h"
#include "ptx/optimise/passes.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum {
	MOD_WORDS = (TCB_PTX_SLOT_COUNT * sizeof(uint16_t) + 7) / 8,
	ITEMS_MAX = 8, /* of a source in braces */
	SOURCE_WORDS = 4,
	KEY_MAX = 3 + MOD_WORDS + SOURCE_WORDS * (TCB_PTX_SPECS_MAX + ITEMS_MAX)
};

struct entry {
	uint64_t hash;
	size_t key; /* where it begins in `words` */
	uint32_t length;
	struct tcb_ptx_ins *ins;
};

struct merging {
	struct tcb_ptx_function *function;
	struct tcb_ptx_scope scope;
	struct tcb_ptx_block *block;
	struct tcb_ptx_ins *ins;
	uint32_t *leader;     /* by register: the one that holds the same value from an earlier instruction */
	uint64_t *last_write; /* by register: block and instruction, counted from 1; 0: none yet */
	uint64_t epoch;       /* of memory */
	struct entry *entry;  /* open addressing */
	size_t entry_mask;
	uint64_t *words;
	size_t word_count, word_capacity;
	uint64_t key[KEY_MAX];
	uint32_t key_length;
	int failed;
};

/* --- keys --- */

static void put(struct merging *m, uint64_t word)
{
	m->key[m->key_length++] = word;
}

/* A register and which of its values: 0 for the only one, else its last write in this block. */
static void put_reg(struct merging *m, uint32_t reg)
{
	uint64_t here = (uint64_t)(m->block->number + 1) << 32;

	if (tcb_ptx_is_settled(m->function, &m->scope, reg, m->ins)) {
		put(m, m->leader[reg]);
		put(m, 0);
	} else {
		put(m, reg);
		put(m, m->last_write[reg] >> 32 == here >> 32 ? m->last_write[reg] : here);
	}
}

static int put_source(struct merging *m, const struct tcb_ptx_operand *operand)
{
	put(m, operand->kind | (uint64_t)operand->negated << 8 | (uint64_t)operand->special << 16 |
		       (uint64_t)operand->count << 32);
	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_REG:
		put_reg(m, operand->reg);
		return 1;
	case TCB_PTX_O_INT:
	case TCB_PTX_O_F32:
	case TCB_PTX_O_F64:
	case TCB_PTX_O_SPECIAL:
		put(m, operand->bits);
		return 1;
	case TCB_PTX_O_SYMBOL:
		put(m, (uint64_t)(uintptr_t)operand->symbol);
		put(m, operand->bits);
		return 1;
	case TCB_PTX_O_ADDRESS:
		if (operand->items)
			return 0;
		if (operand->reg != TCB_PTX_NO_REG)
			put_reg(m, operand->reg);
		else
			put(m, (uint64_t)(uintptr_t)operand->symbol);
		put(m, operand->bits);
		return 1;
	case TCB_PTX_O_VECTOR:
		if (operand->count > ITEMS_MAX)
			return 0;
		for (uint32_t i = 0; i < operand->count; i++)
			if (operand->items[i].kind == TCB_PTX_O_VECTOR || !put_source(m, &operand->items[i]))
				return 0;
		return 1;
	default:
		return 0;
	}
}

/* The first two sources in an order of their own, when swapping them changes nothing. */
static void sort_sources(struct merging *m, uint32_t first, uint32_t second, uint32_t end)
{
	uint64_t swapped[2 * SOURCE_WORDS];
	uint32_t a = second - first, b = end - second;

	if (a < b || (a == b && memcmp(&m->key[first], &m->key[second], a * sizeof *swapped) <= 0))
		return;
	memcpy(swapped, &m->key[second], b * sizeof *swapped);
	memcpy(swapped + b, &m->key[first], a * sizeof *swapped);
	memcpy(&m->key[first], swapped, (a + b) * sizeof *swapped);
}

static int make_key(struct merging *m, uint32_t result)
{
	const struct tcb_ptx_ins *ins = m->ins;
	uint64_t mods[MOD_WORDS] = { 0 };
	uint32_t at[3] = { 0 };
	int commutes = tcb_ptx_has(ins, TCB_PTX_F_COMMUTATIVE) && tcb_ptx_mod(ins, TCB_PTX_SLOT_TYPE) != TCB_PTX_F64 &&
		       !ins->mod[TCB_PTX_SLOT_TYPE2];

	m->key_length = 0;
	memcpy(mods, ins->mod, sizeof ins->mod);
	put(m, ins->op | (uint64_t)m->function->regs[result].type << 32);
	put(m, tcb_ptx_is_pure(ins) ? 0 : m->epoch);
	for (unsigned i = 0; i < MOD_WORDS; i++)
		put(m, mods[i]);
	for (unsigned i = 1; i < ins->operand_count; i++) {
		if (i <= 2)
			at[i] = m->key_length;
		if (!put_source(m, &ins->operands[i]))
			return 0;
		if (i == 2 && commutes && ins->operands[1].kind != TCB_PTX_O_VECTOR &&
		    ins->operands[2].kind != TCB_PTX_O_VECTOR)
			sort_sources(m, at[1], at[2], m->key_length);
	}
	return 1;
}

/* --- the table --- */

/* The entry of the current key, or the empty one where it belongs. */
static struct entry *find(struct merging *m, uint64_t hash)
{
	for (size_t i = hash & m->entry_mask;; i = (i + 1) & m->entry_mask) {
		struct entry *entry = &m->entry[i];

		if (!entry->ins || (entry->hash == hash && entry->length == m->key_length &&
				    memcmp(m->words + entry->key, m->key, m->key_length * sizeof *m->key) == 0))
			return entry;
	}
}

static void keep(struct merging *m, struct entry *entry, uint64_t hash)
{
	if (!entry->ins) {
		if (m->word_count + m->key_length > m->word_capacity) {
			size_t capacity = m->word_capacity * 2 + KEY_MAX;
			uint64_t *words = realloc(m->words, capacity * sizeof *words);

			if (!words) {
				m->failed = 1;
				return;
			}
			m->words = words;
			m->word_capacity = capacity;
		}
		entry->key = m->word_count;
		entry->length = m->key_length;
		entry->hash = hash;
		memcpy(m->words + m->word_count, m->key, m->key_length * sizeof *m->key);
		m->word_count += m->key_length;
	}
	entry->ins = m->ins;
}

/* --- the walk --- */

static void note_write(void *ctx, uint32_t *reg, int is_def)
{
	struct merging *m = ctx;

	if (is_def)
		m->last_write[*reg] = (uint64_t)(m->block->number + 1) << 32 | (m->ins->number + 1);
}

static int is_candidate(const struct merging *m, uint32_t result)
{
	const struct tcb_ptx_ins *ins = m->ins;

	if (result == TCB_PTX_NO_REG || !tcb_ptx_is_value(m->function, result))
		return 0;
	if (ins->op == TCB_PTX_OP_MOV && ins->operands[1].kind != TCB_PTX_O_SPECIAL &&
	    ins->operands[1].kind != TCB_PTX_O_SYMBOL && ins->operands[1].kind != TCB_PTX_O_VECTOR)
		return 0; /* a copy of a register or constant is as cheap as can be */
	return tcb_ptx_is_pure(ins) || tcb_ptx_is_weak_load(ins);
}

static enum tcb_status merge(struct merging *m, unsigned *changed, struct tcb_error *err)
{
	uint32_t result = tcb_ptx_result_reg(m->ins), before;
	struct entry *entry;
	uint64_t hash;

	if (!is_candidate(m, result) || !make_key(m, result))
		return TCB_OK;
	hash = tcb_hash64(m->key, m->key_length * sizeof *m->key, 0);
	entry = find(m, hash);
	if (!entry->ins || !tcb_ptx_dominates(&m->scope.dominators, entry->ins->block, m->block)) {
		keep(m, entry, hash);
		return TCB_OK;
	}
	before = tcb_ptx_result_reg(entry->ins);
	m->leader[result] = before;
	++*changed;
	return tcb_ptx_ins_become_mov(m->function, m->ins, tcb_ptx_operand_reg(before), err);
}

static enum tcb_status walk(struct merging *m, unsigned *changed, struct tcb_error *err)
{
	for (uint32_t i = 0; i < m->scope.count && !m->failed; i++) {
		m->block = m->scope.walk[i];
		m->epoch++; /* what was loaded on the way here may have been written on another */
		for (m->ins = m->block->first; m->ins; m->ins = m->ins->next) {
			TCB_TRY(merge(m, changed, err));
			if (tcb_ptx_has_effect(m->ins) && !tcb_ptx_has(m->ins, TCB_PTX_F_TERMINATOR))
				m->epoch++;
			tcb_ptx_each_reg(m->ins, note_write, m);
		}
	}
	return TCB_OK;
}

enum tcb_status tcb_ptx_cse(struct tcb_ptx_function *function, const struct tcb_ptx_pass_options *options,
			    unsigned *changed_out, struct tcb_error *err)
{
	struct merging m = { .function = function };
	size_t regs = function->reg_count + 1u, slots = 64;
	enum tcb_status status = tcb_ptx_scope(function, &m.scope, err);

	(void)options;
	*changed_out = 0;
	if (status != TCB_OK)
		return status;
	while (slots < 2 * (size_t)function->ins_count)
		slots *= 2;
	m.entry_mask = slots - 1;
	m.entry = calloc(slots, sizeof *m.entry);
	m.leader = malloc(regs * sizeof *m.leader);
	m.last_write = calloc(regs, sizeof *m.last_write);
	m.failed = !m.entry || !m.leader || !m.last_write;
	for (uint32_t i = 0; !m.failed && i < function->reg_count; i++)
		m.leader[i] = i;
	if (!m.failed)
		status = walk(&m, changed_out, err);
	free(m.entry);
	free(m.leader);
	free(m.last_write);
	free(m.words);
	if (m.failed)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory in common subexpressions of '%s'",
				function->symbol->name);
	return status;
}
