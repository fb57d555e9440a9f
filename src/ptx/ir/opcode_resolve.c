/* SPDX-License-Identifier: MIT
 *
 * In: a mnemonic, or modifiers by slot, and operands.  Out: the form that they
 * take; for a form, what each operand must be; and what a target may use.
 *
 * Matching walks the words and the slots of a form side by side: a slot takes
 * the word, or is skipped if it may be empty.  No slot's words overlap those of
 * the optional slots before it, so no backtracking is needed (a test holds the
 * table to that).  What fits no form so is tried in any order, as the assembler
 * takes it: nvcc, inline assembly and older manuals have other orders than the
 * manual's.
 */
#include "ptx/ir/opcode_rows.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { WORDS_MAX = 24 /* of one mnemonic */, MNEMONIC_MAX = 192 };

/* --- matching --- */

struct words {
	uint16_t word[WORDS_MAX]; /* 0 for a word that nobody knows */
	unsigned count;
};

static int slot_takes(const struct tcb_ptx_form *form, unsigned slot, unsigned word)
{
	unsigned count;
	const uint16_t *taken = tcb_ptx_form_words(form, slot, &count);

	for (unsigned i = 0; i < count; i++)
		if (taken[i] == word)
			return 1;
	return 0;
}

/* Fills MOD; returns how many words fitted (all of them and no slot missing: *FITS). */
static unsigned match_words(const struct tcb_ptx_form *form, const struct words *words, uint16_t *mod, int *fits)
{
	unsigned at = 0;

	memset(mod, 0, TCB_PTX_SLOT_COUNT * sizeof *mod);
	*fits = 0;
	for (unsigned i = 0; i < form->slot_count; i++) {
		const struct tcb_ptx_slot_spec *slot = &form->slot[i];

		if (at < words->count && slot_takes(form, i, words->word[at]))
			mod[slot->slot] = words->word[at++];
		else if (!slot->optional)
			return at;
	}
	*fits = at == words->count;
	return at;
}

/* Slots that share a kind of word: which of them a word fills goes by its place among its like. */
static unsigned series_of(unsigned slot)
{
	if (slot <= TCB_PTX_SLOT_TYPE4)
		return TCB_PTX_SLOT_TYPE4;
	if (slot == TCB_PTX_SLOT_SPACE2)
		return TCB_PTX_SLOT_SPACE;
	return slot == TCB_PTX_SLOT_LAYOUT2 ? TCB_PTX_SLOT_LAYOUT : slot;
}

/* Words that are part of the name stay behind it: mul.lo, shf.l, cvta.to, mbarrier.try_wait.parity. */
static int is_name_part(const struct tcb_ptx_form *form, unsigned word)
{
	switch ((enum tcb_ptx_op)form->op) {
	case TCB_PTX_OP_SHFL:
	case TCB_PTX_OP_VOTE:
	case TCB_PTX_OP_BAR_RED:
	case TCB_PTX_OP_BARRIER_RED:
		return 0;
	default:
		return form->slot[0].slot == TCB_PTX_SLOT_MODE || form->slot[0].slot == TCB_PTX_SLOT_DIRECTION ||
		       word == TCB_PTX_FULL;
	}
}

/* As match_words, in any order but of words of a kind. */
static int match_any_order(const struct tcb_ptx_form *form, const struct words *words, uint16_t *mod)
{
	unsigned used = 0, i;

	memset(mod, 0, TCB_PTX_SLOT_COUNT * sizeof *mod);
	for (unsigned at = 0; at < words->count; at++) {
		for (i = 0; i < form->slot_count; i++)
			if (!(used >> i & 1) && slot_takes(form, i, words->word[at]))
				break;
		if (i == form->slot_count || (!i && at && is_name_part(form, words->word[at])))
			return 0;
		for (unsigned later = i + 1; later < form->slot_count; later++)
			if ((used >> later & 1) && series_of(form->slot[later].slot) == series_of(form->slot[i].slot))
				return 0;
		used |= 1u << i;
		mod[form->slot[i].slot] = words->word[at];
	}
	for (i = 0; i < form->slot_count; i++)
		if (!(used >> i & 1) && !form->slot[i].optional)
			return 0;
	return 1;
}

/* The same when the modifiers are known by slot. */
static int match_mods(const struct tcb_ptx_form *form, const uint16_t *mod)
{
	unsigned filled = 0, matched = 0;

	for (unsigned slot = 0; slot < TCB_PTX_SLOT_COUNT; slot++)
		filled += mod[slot] != 0;
	for (unsigned i = 0; i < form->slot_count; i++) {
		unsigned word = mod[form->slot[i].slot];

		if (word ? !slot_takes(form, i, word) : !form->slot[i].optional)
			return 0;
		matched += word != 0;
	}
	return matched == filled;
}

static int is_register(const struct tcb_ptx_operand *operand, int sink)
{
	return operand->kind == TCB_PTX_O_REG || (sink && operand->kind == TCB_PTX_O_SINK);
}

static int is_value(const struct tcb_ptx_operand *operand)
{
	return operand->kind == TCB_PTX_O_REG || operand->kind == TCB_PTX_O_INT || operand->kind == TCB_PTX_O_F32 ||
	       operand->kind == TCB_PTX_O_F64;
}

static unsigned width_count(const struct tcb_ptx_spec *spec, const uint16_t *mod)
{
	unsigned m, n, k;

	switch ((enum tcb_ptx_width)spec->width) {
	case TCB_PTX_W_SCALAR:
		return 1;
	case TCB_PTX_W_FIXED:
		return spec->count;
	case TCB_PTX_W_VECTOR:
		return tcb_ptx_vector_of((enum tcb_ptx_word)mod[TCB_PTX_SLOT_VECTOR]);
	case TCB_PTX_W_COUNT:
		return spec->count * tcb_ptx_matrices((enum tcb_ptx_word)mod[TCB_PTX_SLOT_MATRICES]);
	case TCB_PTX_W_N2:
	case TCB_PTX_W_N4:
		tcb_ptx_shape((enum tcb_ptx_word)mod[TCB_PTX_SLOT_SHAPE], &m, &n, &k);
		return spec->width == TCB_PTX_W_N2 ? n / 2 : n / 4;
	case TCB_PTX_W_SPLIT:
	case TCB_PTX_W_FREE:
		break;
	}
	return 0;
}

/* A register, immediate or vector in braces, as the width wants. */
static int width_fits(const struct tcb_ptx_spec *spec, const struct tcb_ptx_operand *operand, const uint16_t *mod)
{
	unsigned count = width_count(spec, mod);
	int is_result = spec->role == TCB_PTX_R_RESULT || spec->role == TCB_PTX_R_INOUT;
	int braces = operand->kind == TCB_PTX_O_VECTOR;

	if (!braces) {
		if (spec->width == TCB_PTX_W_FIXED || spec->width == TCB_PTX_W_COUNT || spec->width == TCB_PTX_W_FREE ||
		    count > 1)
			return 0;
		return is_result ? is_register(operand, spec->sink) : is_value(operand);
	}
	if (spec->width == TCB_PTX_W_SCALAR || (spec->width == TCB_PTX_W_VECTOR && count == 1) ||
	    (count && operand->count != count))
		return 0;
	for (unsigned i = 0; i < operand->count; i++)
		if (!(is_result ? is_register(&operand->items[i], 1) : is_value(&operand->items[i])))
			return 0;
	return operand->count > 0;
}

static int operand_fits(const struct tcb_ptx_spec *spec, const struct tcb_ptx_operand *operand, const uint16_t *mod)
{
	switch ((enum tcb_ptx_role)spec->role) {
	case TCB_PTX_R_RESULT:
		if (spec->sink == 2)
			return operand->kind == TCB_PTX_O_SINK;
		if (operand->kind == TCB_PTX_O_PAIR)
			return spec->pair && is_register(&operand->items[0], spec->sink) &&
			       is_register(&operand->items[1], 1);
		return spec->pair != 2 && width_fits(spec, operand, mod);
	case TCB_PTX_R_INOUT:
	case TCB_PTX_R_SOURCE:
		return width_fits(spec, operand, mod);
	case TCB_PTX_R_MOVABLE:
		return is_value(operand) || operand->kind == TCB_PTX_O_SYMBOL || operand->kind == TCB_PTX_O_SPECIAL;
	case TCB_PTX_R_PRED:
		return operand->kind == TCB_PTX_O_REG || operand->kind == TCB_PTX_O_INT;
	case TCB_PTX_R_ADDRESS:
		return operand->kind == TCB_PTX_O_ADDRESS && !operand->items;
	case TCB_PTX_R_TENSOR:
		return operand->kind == TCB_PTX_O_ADDRESS && operand->items;
	case TCB_PTX_R_IMMEDIATE:
		return operand->kind == TCB_PTX_O_INT;
	case TCB_PTX_R_BLOCK:
		return operand->kind == TCB_PTX_O_BLOCK;
	case TCB_PTX_R_TABLE:
		return operand->kind == TCB_PTX_O_TABLE;
	case TCB_PTX_R_LIST:
		return operand->kind == TCB_PTX_O_LIST;
	case TCB_PTX_R_TEXT:
		return operand->kind == TCB_PTX_O_TEXT;
	}
	return 0;
}

/* The specs that are there for COUNT operands: optional ones are filled from the left.  Returns how many, or UINT_MAX
 * when the count is wrong. */
static unsigned present_specs(const struct tcb_ptx_form *form, const uint16_t *mod, unsigned count,
			      const struct tcb_ptx_spec **present)
{
	unsigned required = 0, spare, filled = 0;

	for (unsigned i = 0; i < form->spec_count; i++) {
		const struct tcb_ptx_spec *spec = &form->spec[i];

		required += !spec->optional && (!spec->only_if || mod[spec->only_if]);
	}
	if (count < required)
		return ~0u;
	spare = count - required;
	for (unsigned i = 0; i < form->spec_count; i++) {
		const struct tcb_ptx_spec *spec = &form->spec[i];

		if (spec->only_if && !mod[spec->only_if])
			continue;
		if (spec->optional) {
			if (!spare)
				continue;
			spare--;
		}
		present[filled++] = spec;
	}
	return spare ? ~0u : filled;
}

static int operands_fit(const struct tcb_ptx_form *form, const struct tcb_ptx_ins *ins, const uint16_t *mod,
			unsigned *result_count)
{
	const struct tcb_ptx_spec *present[TCB_PTX_SPECS_MAX];
	unsigned count = present_specs(form, mod, ins->operand_count, present);

	*result_count = 0;
	if (count != ins->operand_count)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		if (!operand_fits(present[i], &ins->operands[i], mod))
			return 0;
		*result_count += present[i]->role == TCB_PTX_R_RESULT || present[i]->role == TCB_PTX_R_INOUT;
	}
	if (form->op == TCB_PTX_OP_CALL)
		*result_count = 1;
	return 1;
}

/* Cuts ".a.b" into words.  Returns where an unknown one begins, or NULL. */
static const char *cut_words(const char *text, size_t length, struct words *words)
{
	words->count = 0;
	while (length) {
		const char *dot = memchr(text + 1, '.', length - 1);
		size_t part = dot ? (size_t)(dot - text) : length;
		unsigned word = tcb_ptx_word_find(text + 1, part - 1);

		if (!word || words->count == WORDS_MAX)
			return text;
		words->word[words->count++] = (uint16_t)word;
		text += part;
		length -= part;
	}
	return NULL;
}

static int has_word(const struct words *words, unsigned first, unsigned last)
{
	for (unsigned i = 0; i < words->count; i++)
		if (words->word[i] >= first && words->word[i] <= last)
			return 1;
	return 0;
}

static int has(const struct words *words, enum tcb_ptx_word word)
{
	return has_word(words, word, word);
}

static const char *explain_memory(int op, const struct words *words)
{
	int has_scope = has_word(words, TCB_PTX_CTA, TCB_PTX_SYS);

	if (has_word(words, TCB_PTX_F16, TCB_PTX_F16X2) || has_word(words, TCB_PTX_BF16, TCB_PTX_BF16X2))
		return "half-memory: halves are moved as .b16, pairs of them as .b32";
	if (op == TCB_PTX_OP_LD && (has(words, TCB_PTX_RELEASE) || has(words, TCB_PTX_ACQ_REL)))
		return "order-direction: a load acquires; it cannot release";
	if (op == TCB_PTX_OP_ST && (has(words, TCB_PTX_ACQUIRE) || has(words, TCB_PTX_ACQ_REL)))
		return "order-direction: a store releases; it cannot acquire";
	if (has_scope && !has_word(words, TCB_PTX_RELAXED, TCB_PTX_ACQ_REL))
		return "weak-scope: a weak or volatile access takes no scope";
	if (!has_scope && has_word(words, TCB_PTX_RELAXED, TCB_PTX_RELEASE))
		return "order-scope: .relaxed, .acquire and .release need a scope (.cta, .cluster, .gpu or .sys)";
	if (has_scope &&
	    (has_word(words, TCB_PTX_CONST, TCB_PTX_CONST) || has_word(words, TCB_PTX_LOCAL, TCB_PTX_PARAM_FUNC)))
		return "order-space: only global and shared memory is accessed with an order";
	return NULL;
}

/* The rule behind the mistakes that are often made, and what to do; NULL for others. */
static const char *explain(int op, const struct words *words)
{
	int is_memory = op == TCB_PTX_OP_LD || op == TCB_PTX_OP_LDU || op == TCB_PTX_OP_ST;
	int rounds = has_word(words, TCB_PTX_RN, TCB_PTX_RPI);

	if (is_memory)
		return explain_memory(op, words);
	if (op == TCB_PTX_OP_CVT && has_word(words, TCB_PTX_TF32, TCB_PTX_LAST_TYPE))
		return NULL; /* the table need not have all of the new formats */
	if (op == TCB_PTX_OP_CVT)
		return rounds ? "cvt-rounding: only what can round takes a rounding: .rn and its like to a narrower "
				"float or from "
				"an integer, .rni and its like from a float to an integer"
			      : "cvt-rounding: to a narrower float or from an integer it needs .rn (.rz, .rm, .rp), "
				"from a float to "
				"an integer .rni (.rzi, .rmi, .rpi)";
	if (has(words, TCB_PTX_B8) || has(words, TCB_PTX_U8) || has(words, TCB_PTX_S8))
		return "byte-arithmetic: there is none; load bytes into 16-bit or wider registers and use their types";
	if ((op >= TCB_PTX_OP_AND && op <= TCB_PTX_OP_SHL) || op == TCB_PTX_OP_PRMT)
		return "bit-types: and, or, xor, not, lop3, shl and prmt take .b types";
	return NULL;
}

/* Names the first word that no form of OP takes. */
static enum tcb_status fail_words(int op, const struct words *words, const char *mnemonic, int shown,
				  struct tcb_error *err)
{
	uint16_t mod[TCB_PTX_SLOT_COUNT];
	const char *why = explain(op, words);
	unsigned best = 0;
	int fits;

	for (unsigned i = tcb_ptx_first_form((unsigned)op); i < tcb_ptx_first_form((unsigned)op + 1); i++) {
		unsigned fitted = match_words(tcb_ptx_form(i), words, mod, &fits);

		if (fitted > best)
			best = fitted;
	}
	if (why)
		return tcb_fail(err, TCB_E_FORMAT, "no '%.*s': %s", shown, mnemonic, why);
	if (best >= words->count)
		return tcb_fail(err, TCB_E_FORMAT, "'%.*s' lacks a modifier", shown, mnemonic);
	return tcb_fail(err, TCB_E_FORMAT, "'.%s' cannot stand where it does in '%.*s'",
			tcb_ptx_word_text((enum tcb_ptx_word)words->word[best]), shown, mnemonic);
}

/* "vote.ballot.sync" is vote.sync.ballot; the name has to come together before it can be found. */
static size_t sync_first(const char *mnemonic, size_t length, char out[MNEMONIC_MAX])
{
	static const char *const names[] = { "vote", "shfl", "redux", "match", "elect" };
	const char *dot = memchr(mnemonic, '.', length), *sync = NULL, *kind = NULL;
	size_t n = dot ? (size_t)(dot - mnemonic) : length, used = n, i = 0;

	while (i < sizeof names / sizeof *names && !(strlen(names[i]) == n && memcmp(names[i], mnemonic, n) == 0))
		i++;
	if (i == sizeof names / sizeof *names || length >= MNEMONIC_MAX)
		return 0;
	for (const char *at = dot, *end = mnemonic + length; at && at < end; at++) {
		if (!sync && end - at >= 5 && memcmp(at, ".sync", 5) == 0)
			sync = at;
		if (!kind && n == 5 && end - at >= 4 && (memcmp(at, ".any", 4) == 0 || memcmp(at, ".all", 4) == 0))
			kind = at; /* match.any */
	}
	if (!sync)
		return 0;
	memcpy(out, mnemonic, n);
	if (kind) {
		memcpy(out + used, kind, 4);
		used += 4;
	}
	memcpy(out + used, ".sync", 5);
	used += 5;
	for (const char *at = dot; at < mnemonic + length; at++) {
		if (at == sync)
			at += 4;
		else if (at == kind)
			at += 3;
		else
			out[used++] = *at;
	}
	return used;
}

/* What a mnemonic that no form takes falls short of. */
enum misfit {
	UNKNOWN, /* a word is unknown: it may be newer than the table */
	NO_FORM, /* its words are, but not together, or not with these operands */
	WRONG    /* it breaks a rule that has a name */
};

static enum tcb_status fail_unknown(const char *unknown, const char *mnemonic, size_t length, struct tcb_error *err)
{
	size_t left = length - (size_t)(unknown - mnemonic);
	const char *dot = memchr(unknown + 1, '.', left - 1);
	size_t part = dot ? (size_t)(dot - unknown) : left;

	return tcb_fail(err, TCB_E_FORMAT, "unknown modifier '%.*s' in '%.*s'", part > 40 ? 40 : (int)part, unknown,
			length > 80 ? 80 : (int)length, mnemonic);
}

/* Whether a form of OP takes WORDS (in any order: IS_FREE) and the operands; *WORDS_FIT if one takes the words. */
static int find_form(int op, const struct words *words, int is_free, struct tcb_ptx_ins *ins, int *words_fit)
{
	uint16_t mod[TCB_PTX_SLOT_COUNT];
	unsigned results;

	for (unsigned i = tcb_ptx_first_form((unsigned)op); i < tcb_ptx_first_form((unsigned)op + 1); i++) {
		const struct tcb_ptx_form *form = tcb_ptx_form(i);
		int fits;

		if (is_free)
			fits = match_any_order(form, words, mod);
		else
			match_words(form, words, mod, &fits);
		*words_fit |= fits;
		if (fits && operands_fit(form, ins, mod, &results)) {
			ins->op = (uint16_t)op;
			ins->form = (uint16_t)i;
			ins->result_count = (uint8_t)results;
			memcpy(ins->mod, mod, sizeof mod);
			return 1;
		}
	}
	return 0;
}

static enum tcb_status resolve(struct tcb_ptx_ins *ins, const char *mnemonic, size_t length, enum misfit *misfit,
			       struct tcb_error *err)
{
	int shown = length > 80 ? 80 : (int)length, op, words_fit = 0;
	char together[MNEMONIC_MAX];
	struct words words;
	const char *unknown;
	size_t used;

	*misfit = UNKNOWN;
	op = tcb_ptx_op_find(mnemonic, length, &used);
	if (op < 0) {
		size_t other = sync_first(mnemonic, length, together);

		op = other ? tcb_ptx_op_find(together, other, &used) : -1;
		if (op >= 0) {
			mnemonic = together;
			length = other;
		}
	}
	if (op < 0 || op == TCB_PTX_OP_OPAQUE)
		return tcb_fail(err, TCB_E_FORMAT, "unknown instruction '%.*s'", shown, mnemonic);
	unknown = cut_words(mnemonic + used, length - used, &words);
	if (unknown)
		return fail_unknown(unknown, mnemonic, length, err);
	if (find_form(op, &words, 0, ins, &words_fit) || find_form(op, &words, 1, ins, &words_fit))
		return TCB_OK;
	*misfit = !words_fit && explain(op, &words) ? WRONG : NO_FORM;
	if (!words_fit)
		return fail_words(op, &words, mnemonic, shown, err);
	return tcb_fail(err, TCB_E_FORMAT, "'%.*s' does not take these operands", shown, mnemonic);
}

enum tcb_status tcb_ptx_resolve(struct tcb_ptx_ins *ins, const char *mnemonic, size_t length, struct tcb_error *err)
{
	enum misfit misfit;

	return resolve(ins, mnemonic, length, &misfit, err);
}

/* --- what has no form --- */

/* Of instructions without a row: these neither wait nor order memory. */
static int never_orders(const char *mnemonic, size_t length)
{
	static const char *const names[] = { "tex",  "tld4", "txq",  "suld", "sust", "sured", "suq", "wmma",    "vadd",
					     "vsub", "vmad", "vset", "vmin", "vmax", "cvt",   "mma", "multimem" };
	const char *dot = memchr(mnemonic, '.', length);
	size_t n = dot ? (size_t)(dot - mnemonic) : length;

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i]) == n && memcmp(names[i], mnemonic, n) == 0)
			return 1;
	return 0;
}

/* Whether the first operand can be a result. */
static int may_be_result(const struct tcb_ptx_operand *operand)
{
	if (operand->kind == TCB_PTX_O_REG || operand->kind == TCB_PTX_O_SINK)
		return !operand->negated;
	if (operand->kind != TCB_PTX_O_VECTOR && operand->kind != TCB_PTX_O_PAIR)
		return 0;
	for (uint32_t i = 0; i < operand->count; i++)
		if (!is_register(&operand->items[i], 1))
			return 0;
	return 1;
}

enum tcb_status tcb_ptx_resolve_foreign(struct tcb_arena *arena, struct tcb_ptx_ins *ins, const char *mnemonic,
					size_t length, struct tcb_error *err)
{
	struct tcb_error why = { TCB_OK, "" };
	struct tcb_ptx_opaque *opaque;
	enum misfit misfit;
	size_t used;
	int op;

	if (resolve(ins, mnemonic, length, &misfit, &why) == TCB_OK)
		return TCB_OK;
	op = tcb_ptx_op_find(mnemonic, length, &used);
	if (op >= 0 && (op == TCB_PTX_OP_CALL || (tcb_ptx_op_flags((enum tcb_ptx_op)op) & TCB_PTX_F_TERMINATOR)))
		return tcb_fail(err, why.status, "%s", why.message);
	opaque = tcb_arena_alloc(arena, sizeof *opaque);
	if (opaque)
		opaque->mnemonic = tcb_arena_textf(arena, "%.*s", (int)length, mnemonic);
	if (opaque && misfit != UNKNOWN)
		opaque->why = tcb_arena_textf(arena, "%s", why.message);
	if (!opaque || !opaque->mnemonic || (misfit != UNKNOWN && !opaque->why))
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	opaque->is_wrong = misfit == WRONG;
	opaque->orders = op >= 0 ? (tcb_ptx_op_flags((enum tcb_ptx_op)op) &
				    (TCB_PTX_F_BARRIER | TCB_PTX_F_FENCE | TCB_PTX_F_ASYNC)) != 0
				 : !never_orders(mnemonic, length);
	ins->op = TCB_PTX_OP_OPAQUE;
	ins->form = 0;
	memset(ins->mod, 0, sizeof ins->mod);
	ins->opaque = opaque;
	ins->result_count = ins->operand_count && may_be_result(&ins->operands[0]);
	return TCB_OK;
}

enum tcb_status tcb_ptx_resolve_again(struct tcb_ptx_ins *ins, struct tcb_error *err)
{
	unsigned results;

	if (ins->opaque)
		return TCB_OK;
	for (unsigned i = tcb_ptx_first_form(ins->op); i < tcb_ptx_first_form(ins->op + 1u); i++)
		if (match_mods(tcb_ptx_form(i), ins->mod) && operands_fit(tcb_ptx_form(i), ins, ins->mod, &results)) {
			ins->form = (uint16_t)i;
			ins->result_count = (uint8_t)results;
			return TCB_OK;
		}
	return tcb_fail(err, TCB_E_FORMAT, "'%s' does not take these modifiers and operands",
			tcb_ptx_op_text((enum tcb_ptx_op)ins->op));
}

const struct tcb_ptx_spec *tcb_ptx_spec_of(const struct tcb_ptx_ins *ins, unsigned index)
{
	const struct tcb_ptx_spec *present[TCB_PTX_SPECS_MAX];
	unsigned count = present_specs(tcb_ptx_form(ins->form), ins->mod, ins->operand_count, present);

	assert(count == ins->operand_count && index < count);
	(void)count;
	return present[index];
}

/* The type of twice the width, as mul.wide needs it. */
static enum tcb_ptx_word widened(enum tcb_ptx_word type)
{
	switch ((int)type) {
	case TCB_PTX_U16:
		return TCB_PTX_U32;
	case TCB_PTX_S16:
		return TCB_PTX_S32;
	case TCB_PTX_U32:
		return TCB_PTX_U64;
	case TCB_PTX_S32:
		return TCB_PTX_S64;
	}
	return TCB_PTX_NO_WORD;
}

enum tcb_ptx_word tcb_ptx_operand_type(const struct tcb_ptx_ins *ins, unsigned index, unsigned *count)
{
	const struct tcb_ptx_spec *spec;
	enum tcb_ptx_word type;

	*count = 0;
	if (ins->opaque)
		return TCB_PTX_NO_WORD;
	spec = tcb_ptx_spec_of(ins, index);
	type = (enum tcb_ptx_word)spec->type;
	*count = width_count(spec, ins->mod);
	if (!type && spec->type_slot < TCB_PTX_SLOT_COUNT)
		type = (enum tcb_ptx_word)ins->mod[spec->type_slot];
	return spec->wide ? widened(type) : type;
}

/* --- targets --- */

int tcb_ptx_target_allows(const struct tcb_ptx_target *target, const struct tcb_ptx_target *wanted)
{
	if (wanted->feature == 'a')
		return target->sm == wanted->sm && target->feature == 'a';
	if (wanted->feature == 'f')
		return target->sm / 10 == wanted->sm / 10 && target->sm >= wanted->sm && target->feature;
	return target->sm >= wanted->sm;
}

char *tcb_ptx_target_text(const struct tcb_ptx_target *target, char out[16])
{
	if (target->feature)
		snprintf(out, 16, "sm_%u%c", target->sm % 10000, target->feature);
	else
		snprintf(out, 16, "sm_%u", target->sm % 10000);
	return out;
}

int tcb_ptx_target_parse(const char *text, size_t length, struct tcb_ptx_target *out)
{
	unsigned sm = 0;
	size_t i = 3;

	if (length < 5 || memcmp(text, "sm_", 3) != 0)
		return 0;
	for (; i < length && isdigit((unsigned char)text[i]) && sm < 1000; i++)
		sm = sm * 10 + (unsigned)(text[i] - '0');
	out->sm = sm;
	out->feature = 0;
	if (i + 1 == length && (text[i] == 'a' || text[i] == 'f'))
		out->feature = text[i++];
	return i == length && sm >= 10 && sm < 1000;
}
