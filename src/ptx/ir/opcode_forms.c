/* SPDX-License-Identifier: MIT
 *
 * In: the rows of opcodes_core.c and opcodes_tensor.c, decoded once.  Out: forms, and opcodes by name.
 */
#include "ptx/ir/opcode_rows.h"

#include <assert.h>
#include <ctype.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
	FORMS_MAX = 640,
	POOL_MAX = 16384,
	NAME_PARTS_MAX = 5, /* cp.async.bulk.prefetch.tensor */
	NAME_BUCKETS = 512
};

static struct tcb_ptx_form forms[FORMS_MAX];
static uint16_t pool[POOL_MAX];
static unsigned pool_used;
static uint16_t first_form[TCB_PTX_OP_COUNT + 1];
static uint16_t row_order[FORMS_MAX]; /* rows by opcode, each opcode's in the order of the table */
static uint16_t name_buckets[NAME_BUCKETS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const struct {
	const char *text;
	unsigned flags;
} ops[TCB_PTX_OP_COUNT] = {
#define OP_ROW(id, text, flags) { text, TCB_PTX_##flags },
	TCB_PTX_OP_LIST(OP_ROW)
#undef OP_ROW
};

/* Mnemonics that mean the same as another. */
static const struct {
	const char *text;
	enum tcb_ptx_op op;
} aliases[] = {
	{ "bar.cta.sync", TCB_PTX_OP_BAR_SYNC },
	{ "bar.cta.arrive", TCB_PTX_OP_BAR_ARRIVE },
	{ "bar.cta.red", TCB_PTX_OP_BAR_RED },
	{ "barrier.cta.sync", TCB_PTX_OP_BARRIER_SYNC },
	{ "barrier.cta.arrive", TCB_PTX_OP_BARRIER_ARRIVE },
	{ "barrier.cta.red", TCB_PTX_OP_BARRIER_RED },
};

enum { ALIAS_COUNT = sizeof aliases / sizeof *aliases };

/* Words that not every target or version knows, wherever they stand. */
static const struct {
	enum tcb_ptx_word word;
	unsigned version, sm;
} needs[] = {
	{ TCB_PTX_CLUSTER, 78, 90 },
	{ TCB_PTX_SHARED_CTA, 78, 30 },
	{ TCB_PTX_SHARED_CLUSTER, 78, 90 },
	{ TCB_PTX_PARAM_ENTRY, 83, 0 },
	{ TCB_PTX_PARAM_FUNC, 83, 0 },
	{ TCB_PTX_L1_NORMAL, 74, 70 },
	{ TCB_PTX_L1_UNCHANGED, 74, 70 },
	{ TCB_PTX_L1_FIRST, 74, 70 },
	{ TCB_PTX_L1_LAST, 74, 70 },
	{ TCB_PTX_L1_NO_ALLOCATE, 74, 70 },
	{ TCB_PTX_L2_HINT, 74, 80 },
	{ TCB_PTX_L2_64, 74, 75 },
	{ TCB_PTX_L2_128, 74, 75 },
	{ TCB_PTX_L2_256, 74, 80 },
	{ TCB_PTX_V8, 88, 100 },
	{ TCB_PTX_WEAK, 60, 0 },
};

/* --- decoding the rows --- */

static unsigned name_hash(const char *text, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ (unsigned char)text[i]) * 16777619u;
	return (hash ^ hash >> 15) % NAME_BUCKETS;
}

/* Bucket entries are the opcode, or OP_COUNT plus the alias, plus 1. */
static const char *name_of(unsigned entry)
{
	return entry <= TCB_PTX_OP_COUNT ? ops[entry - 1].text : aliases[entry - 1 - TCB_PTX_OP_COUNT].text;
}

static void pool_add(unsigned word)
{
	assert(pool_used < POOL_MAX);
	pool[pool_used++] = (uint16_t)word;
}

static enum tcb_ptx_slot slot_named(const char *text, size_t length)
{
	static const struct {
		const char *text;
		enum tcb_ptx_slot slot;
	} names[] = { { "bool", TCB_PTX_SLOT_BOOL },     { "mode", TCB_PTX_SLOT_MODE },
		      { "atomic", TCB_PTX_SLOT_ATOMIC }, { "space2", TCB_PTX_SLOT_SPACE2 },
		      { "cache", TCB_PTX_SLOT_CACHE },   { "prefetch", TCB_PTX_SLOT_PREFETCH } };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strlen(names[i].text) == length && memcmp(names[i].text, text, length) == 0)
			return names[i].slot;
	return TCB_PTX_SLOT_COUNT;
}

/* All but the last of the shapes of wgmma with K = 8, 16 or 32; "i32": those for integers.  Returns the last. */
static unsigned pool_wgmma(const char *text)
{
	int is_integer = *text == 'i';
	unsigned k = (unsigned)strtoul(text + is_integer, NULL, 10), last = 31;
	unsigned first = k == 8 ? TCB_PTX_WGMMA_K8 : k == 16 ? TCB_PTX_WGMMA_K16 : TCB_PTX_WGMMA_K32;

	for (unsigned i = 0; i < last; i++) /* N = 8 i + 8; integers: 8, 24, and multiples of 16 */
		if (!is_integer || i % 2 == 1 || i < 3)
			pool_add(first + i);
	return first + last;
}

/* One token: [slot=]word|word|...[?] */
static void decode_slot(struct tcb_ptx_form *form, const char *text, size_t length)
{
	struct tcb_ptx_slot_spec *slot = &form->slot[form->slot_count];
	const char *equals = memchr(text, '=', length);
	unsigned taken = 0;

	assert(form->slot_count < TCB_PTX_SLOTS_MAX);
	slot->slot = TCB_PTX_SLOT_COUNT;
	if (equals) {
		slot->slot = (uint8_t)slot_named(text, (size_t)(equals - text));
		assert(slot->slot != TCB_PTX_SLOT_COUNT);
		length -= (size_t)(equals + 1 - text);
		text = equals + 1;
	}
	if (text[length - 1] == '?') {
		slot->optional = 1;
		length--;
	}
	slot->first_word = (uint16_t)pool_used;
	while (length) {
		const char *bar = memchr(text, '|', length);
		size_t part = bar ? (size_t)(bar - text) : length;
		unsigned word = tcb_ptx_word_find(text, part);

		if (strncmp(text, "wgmma", 5) == 0)
			word = pool_wgmma(text + 5);
		assert(word);
		pool_add(word);
		if (slot->slot == TCB_PTX_SLOT_COUNT)
			slot->slot = (uint8_t)tcb_ptx_word_slot((enum tcb_ptx_word)word);
		length -= part + (bar != NULL);
		text += part + 1;
	}
	slot->word_count = (uint16_t)(pool_used - slot->first_word);
	if (slot->slot == TCB_PTX_SLOT_TYPE) { /* the nth slot of types */
		for (unsigned i = 0; i < form->slot_count; i++)
			taken += form->slot[i].slot <= TCB_PTX_SLOT_TYPE4;
		slot->slot = (uint8_t)(TCB_PTX_SLOT_TYPE + taken);
	}
	form->slot_count++;
}

/* What follows the letter of an operand. */
static void decode_spec_tail(struct tcb_ptx_spec *spec, const char *text, const char *end)
{
	while (text < end) {
		char c = *text++;

		if (c >= '1' && c <= '4') {
			spec->type_slot = (uint8_t)(TCB_PTX_SLOT_TYPE + (c - '1'));
		} else if (c == 'w') {
			spec->wide = 1;
		} else if (c == 'v') {
			spec->width = TCB_PTX_W_VECTOR;
		} else if (c == 'x') {
			spec->width = TCB_PTX_W_COUNT;
			spec->count = 1;
		} else if (c == '~') {
			spec->sink = 1;
			if (text < end && *text == '!') {
				spec->sink = 2;
				text++;
			}
		} else if (c == '?') {
			spec->optional = 1;
		} else if (c == '|') {
			spec->pair = *text++ == '!' ? 2 : 1;
		} else if (c == ':') {
			size_t length = 0;

			while (text + length < end && isalnum((unsigned char)text[length]))
				length++;
			spec->type = (uint8_t)tcb_ptx_word_find(text, length);
			if (!tcb_ptx_is_type((enum tcb_ptx_word)spec->type))
				spec->type = TCB_PTX_NO_WORD;
			if (!spec->type)
				spec->type_slot = TCB_PTX_SLOT_COUNT; /* :any */
			text += length;
		} else if (c == '{') {
			spec->width = TCB_PTX_W_FIXED;
			spec->count = (uint8_t)strtoul(text, NULL, 10);
			text += strspn(text, "0123456789");
			if (*text == 'x')
				spec->width = TCB_PTX_W_COUNT;
			else if (*text == '*')
				spec->width = TCB_PTX_W_SPLIT;
			else if (*text == '}' && !spec->count)
				spec->width = TCB_PTX_W_FREE;
			else if (*text == 'n')
				spec->width = text[2] == '2' ? TCB_PTX_W_N2 : TCB_PTX_W_N4;
			text = strchr(text, '}') + 1;
		} else {
			assert(!"the operand language has no such letter");
		}
	}
}

static void decode_spec(struct tcb_ptx_form *form, const char *text, size_t length)
{
	static const struct {
		char letter;
		enum tcb_ptx_role role;
		enum tcb_ptx_word type;
		enum tcb_ptx_slot only_if;
	} letters[] = {
		{ 'D', TCB_PTX_R_RESULT, 0, 0 },
		{ 'X', TCB_PTX_R_INOUT, 0, 0 },
		{ 'S', TCB_PTX_R_SOURCE, 0, 0 },
		{ 'M', TCB_PTX_R_MOVABLE, 0, 0 },
		{ 'P', TCB_PTX_R_PRED, TCB_PTX_PRED, 0 },
		{ 'A', TCB_PTX_R_ADDRESS, 0, 0 },
		{ 'T', TCB_PTX_R_TENSOR, 0, 0 },
		{ 'I', TCB_PTX_R_IMMEDIATE, TCB_PTX_S32, 0 },
		{ 'L', TCB_PTX_R_BLOCK, 0, 0 },
		{ 'B', TCB_PTX_R_TABLE, 0, 0 },
		{ '(', TCB_PTX_R_LIST, 0, 0 },
		{ '"', TCB_PTX_R_TEXT, 0, 0 },
		{ 'H', TCB_PTX_R_SOURCE, TCB_PTX_B64, TCB_PTX_SLOT_HINT },
		{ 'C', TCB_PTX_R_SOURCE, TCB_PTX_U16, TCB_PTX_SLOT_MULTICAST },
	};
	struct tcb_ptx_spec *spec = &form->spec[form->spec_count++];
	size_t i = 0;

	assert(form->spec_count <= TCB_PTX_SPECS_MAX);
	while (letters[i].letter != *text)
		i++;
	spec->role = (uint8_t)letters[i].role;
	spec->type = (uint8_t)letters[i].type;
	spec->only_if = (uint8_t)letters[i].only_if;
	spec->type_slot = TCB_PTX_SLOT_TYPE;
	decode_spec_tail(spec, text + 1, text + length);
}

static void each_token(struct tcb_ptx_form *form, const char *text,
		       void (*decode)(struct tcb_ptx_form *form, const char *text, size_t length))
{
	while (*text) {
		size_t length = strcspn(text, " ");

		decode(form, text, length);
		text += length;
		text += *text == ' ';
	}
}

static void decode_target(struct tcb_ptx_form *form, const char *text, size_t length)
{
	struct tcb_ptx_target *target = &form->target[form->target_count];
	char *end;

	if (form->target_count == TCB_PTX_TARGETS_MAX) {
		assert(!"too many targets in a row");
		return;
	}
	form->target_count++;
	target->sm = (unsigned)strtoul(text, &end, 10);
	target->feature = end < text + length ? *end : 0;
}

static const struct tcb_ptx_row *row_at(unsigned row)
{
	return row < tcb_ptx_row_count ? &tcb_ptx_rows[row] : &tcb_ptx_tensor_rows[row - tcb_ptx_row_count];
}

static void decode_table(void)
{
	unsigned filled = 0;

	assert(tcb_ptx_form_count() <= FORMS_MAX);
	for (unsigned op = 0; op < TCB_PTX_OP_COUNT; op++) {
		first_form[op] = (uint16_t)filled;
		for (unsigned row = 0; row < tcb_ptx_form_count(); row++)
			if (row_at(row)->op == op)
				row_order[filled++] = (uint16_t)row;
	}
	first_form[TCB_PTX_OP_COUNT] = (uint16_t)filled;
	for (unsigned i = 0; i < filled; i++) {
		const struct tcb_ptx_row *row = row_at(row_order[i]);

		forms[i].op = (uint16_t)row->op;
		forms[i].version = row->version;
		each_token(&forms[i], row->modifiers, decode_slot);
		each_token(&forms[i], row->operands, decode_spec);
		each_token(&forms[i], row->targets, decode_target);
	}
	for (unsigned entry = 1; entry <= (unsigned)TCB_PTX_OP_COUNT + ALIAS_COUNT; entry++) {
		unsigned bucket = name_hash(name_of(entry), strlen(name_of(entry)));

		while (name_buckets[bucket])
			bucket = (bucket + 1) % NAME_BUCKETS;
		name_buckets[bucket] = (uint16_t)entry;
	}
}

static void prepare(void)
{
	pthread_once(&once, decode_table);
}

/* --- readers --- */

const char *tcb_ptx_op_text(enum tcb_ptx_op op)
{
	assert(op < TCB_PTX_OP_COUNT);
	return ops[op].text;
}

unsigned tcb_ptx_op_flags(enum tcb_ptx_op op)
{
	assert(op < TCB_PTX_OP_COUNT);
	return ops[op].flags;
}

unsigned tcb_ptx_first_form(unsigned op)
{
	prepare();
	return first_form[op];
}

const struct tcb_ptx_form *tcb_ptx_form(unsigned form)
{
	prepare();
	assert(form < tcb_ptx_form_count());
	return &forms[form];
}

unsigned tcb_ptx_form_count(void)
{
	return tcb_ptx_row_count + tcb_ptx_tensor_row_count;
}

const uint16_t *tcb_ptx_form_words(const struct tcb_ptx_form *form, unsigned slot, unsigned *count_out)
{
	*count_out = form->slot[slot].word_count;
	return pool + form->slot[slot].first_word;
}

void tcb_ptx_word_needs(enum tcb_ptx_word word, unsigned *version, struct tcb_ptx_target *target)
{
	*version = 0;
	*target = (struct tcb_ptx_target){ 0, 0 };
	for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
		if (needs[i].word == word) {
			*version = needs[i].version;
			target->sm = needs[i].sm;
		}
}

int tcb_ptx_op_find(const char *text, size_t length, size_t *used)
{
	size_t ends[NAME_PARTS_MAX];
	unsigned parts = 0;

	prepare();
	for (size_t i = 1; i <= length && parts < NAME_PARTS_MAX; i++)
		if (i == length || text[i] == '.')
			ends[parts++] = i;
	while (parts--) {
		size_t n = ends[parts];

		for (unsigned b = name_hash(text, n); name_buckets[b]; b = (b + 1) % NAME_BUCKETS) {
			const char *name = name_of(name_buckets[b]);

			if (strncmp(name, text, n) == 0 && !name[n]) {
				unsigned entry = name_buckets[b] - 1u;

				*used = n;
				return (int)(entry < TCB_PTX_OP_COUNT ? entry : aliases[entry - TCB_PTX_OP_COUNT].op);
			}
		}
	}
	return -1;
}
