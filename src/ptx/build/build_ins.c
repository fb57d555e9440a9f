/* SPDX-License-Identifier: MIT
 *
 * In: a mnemonic and operands.  Out: an instruction at the builder's place, its
 * results in new registers.
 *
 * Resolving a mnemonic walks the opcode table; kernels say the same few again
 * and again, so what was found is kept by mnemonic and by the kinds of the
 * operands, which is all that resolving looks at.
 */
#include "ptx/analyse/legality.h"
#include "ptx/build/build_parts.h"
#include "ptx/ir/opcodes.h"

#include <stdio.h>
#include <string.h>

enum {
	CACHE_SLOTS = 512, /* a power of two; kernels know about a hundred mnemonics */
	CACHE_MOST = 384,  /* then nothing more is kept */
	OPERANDS_MAX = TCB_PTX_SPECS_MAX,
	NO_FORM = UINT16_MAX,
	ITEMS_MAX = 128 /* registers in braces: wgmma with N = 256 */
};

/* The kinds of an instruction's operands. */
struct shape {
	uint16_t code[OPERANDS_MAX];
	uint16_t count;
};

struct known {
	const char *mnemonic; /* NULL: a free slot */
	uint32_t hash, length;
	struct shape shape;
	uint16_t op, form; /* NO_FORM: it does not resolve */
	uint16_t version;
	uint8_t result_count;
	uint8_t result_type; /* of the first result's registers */
	uint16_t mod[TCB_PTX_SLOT_COUNT];
};

struct tcb_ptx_build_cache {
	unsigned count;
	struct known known[CACHE_SLOTS];
};

/* --- shapes --- */

/* The kinds among items; 8 for what no vector holds. */
static unsigned item_kinds(const struct tcb_ptx_operand *items, unsigned count)
{
	unsigned kinds = 0;

	for (unsigned i = 0; i < count; i++)
		kinds |= items[i].kind == TCB_PTX_O_REG                                     ? 1u
			 : items[i].kind == TCB_PTX_O_SINK                                  ? 2u
			 : items[i].kind >= TCB_PTX_O_INT && items[i].kind <= TCB_PTX_O_F64 ? 4u
											    : 8u;
	return kinds;
}

/* Kind, number of items, their kinds: as resolving sees them. */
static uint16_t shape_code(const struct tcb_ptx_operand *operand)
{
	unsigned code = operand->kind;

	switch ((enum tcb_ptx_operand_kind)operand->kind) {
	case TCB_PTX_O_VECTOR:
		code |= (operand->count & 0xff) << 4 | item_kinds(operand->items, operand->count) << 12;
		break;
	case TCB_PTX_O_PAIR:
		code |= item_kinds(operand->items, 1) << 4 | item_kinds(operand->items + 1, 1) << 8;
		break;
	case TCB_PTX_O_ADDRESS:
		code |= (operand->items != NULL) << 4;
		break;
	default:
		break;
	}
	return (uint16_t)code;
}

static uint32_t hash_of(const char *mnemonic, const struct shape *shape, uint32_t *length)
{
	uint32_t hash = 2166136261u;
	const char *at = mnemonic;

	for (; *at; at++)
		hash = (hash ^ (unsigned char)*at) * 16777619u;
	for (unsigned i = 0; i < shape->count; i++)
		hash = (hash ^ shape->code[i]) * 16777619u;
	*length = (uint32_t)(at - mnemonic);
	return hash ^ hash >> 15;
}

/* --- resolving --- */

static unsigned version_of(const struct tcb_ptx_ins *ins)
{
	const struct tcb_ptx_form *form = tcb_ptx_form(ins->form);
	unsigned most = form->version;

	for (unsigned i = 0; i < form->slot_count; i++) {
		struct tcb_ptx_target target;
		unsigned version;

		tcb_ptx_word_needs((enum tcb_ptx_word)ins->mod[form->slot[i].slot], &version, &target);
		if (version > most)
			most = version;
	}
	return most;
}

/* What OPERANDS make of MNEMONIC: from the cache, or resolved into SPARE when nothing can be kept. */
static struct known *resolve(struct tcb_ptx_build *b, const char *mnemonic, unsigned count,
			     struct tcb_ptx_operand *operands, struct known *spare)
{
	struct tcb_ptx_ins ins = { .operands = operands, .operand_count = (uint8_t)count };
	struct known *known;
	struct shape shape = { .count = (uint16_t)count };
	uint32_t hash, length, slot;
	unsigned items;

	if (!b->cache && !(b->cache = tcb_arena_alloc(&b->module->arena, sizeof *b->cache))) {
		tcb_ptx_build_nomem(b);
		return NULL;
	}
	for (unsigned i = 0; i < count; i++)
		shape.code[i] = shape_code(&operands[i]);
	hash = hash_of(mnemonic, &shape, &length);
	for (slot = hash % CACHE_SLOTS; b->cache->known[slot].mnemonic; slot = (slot + 1) % CACHE_SLOTS) {
		known = &b->cache->known[slot];
		if (known->hash == hash && known->length == length && memcmp(known->mnemonic, mnemonic, length) == 0 &&
		    memcmp(&known->shape, &shape, sizeof shape) == 0)
			return known;
	}
	known = b->cache->count < CACHE_MOST ? &b->cache->known[slot] : spare;
	known->mnemonic = tcb_arena_text(&b->module->arena, mnemonic, length);
	if (!known->mnemonic) {
		tcb_ptx_build_nomem(b);
		return NULL;
	}
	b->cache->count += known != spare;
	known->hash = hash;
	known->length = length;
	known->shape = shape;
	known->form = NO_FORM;
	if (tcb_ptx_resolve(&ins, mnemonic, length, NULL) == TCB_OK) {
		known->op = ins.op;
		known->form = ins.form;
		known->version = (uint16_t)version_of(&ins);
		known->result_count = ins.result_count;
		known->result_type = ins.result_count ? (uint8_t)tcb_ptx_operand_type(&ins, 0, &items) : 0;
		memcpy(known->mod, ins.mod, sizeof known->mod);
	}
	return known;
}

/* The register that holds a result of TYPE: bytes need 16 bits at least, packed and 16-bit floats are bits. */
static enum tcb_ptx_word reg_type(enum tcb_ptx_word type, enum tcb_ptx_word op)
{
	switch (type) {
	case TCB_PTX_B8:
		return (unsigned)op == TCB_PTX_OP_CVT ? TCB_PTX_B8 : TCB_PTX_B16; /* cvt to e2m1x2 wants .b8 */
	case TCB_PTX_U8:
		return TCB_PTX_U16;
	case TCB_PTX_S8:
		return TCB_PTX_S16;
	case TCB_PTX_F16:
	case TCB_PTX_BF16:
		return TCB_PTX_B16;
	default:
		break;
	}
	if (type == TCB_PTX_F16X2 || tcb_ptx_type_class(type) == TCB_PTX_CLASS_ALT) {
		unsigned bits = tcb_ptx_type_bits(type);

		return bits == 64 ? TCB_PTX_B64 : bits == 32 ? TCB_PTX_B32 : TCB_PTX_B16;
	}
	return type;
}

static const char *kind_text(const struct tcb_ptx_operand *operand)
{
	static const char *const texts[] = { "nothing", "register", "integer", "float",  "double",
					     "symbol",  "special",  "address", "vector", "pair",
					     "_",       "block",    "table",   "list",   "text" };

	return texts[operand->kind];
}

/* Says why MNEMONIC does not resolve, and with which operands. */
static void fail_resolve(struct tcb_ptx_build *b, const char *mnemonic, unsigned count,
			 struct tcb_ptx_operand *operands)
{
	struct tcb_ptx_ins ins = { .operands = operands, .operand_count = (uint8_t)count };
	struct tcb_error err = { 0 };
	char kinds[200] = "";
	size_t used = 0;

	if (tcb_ptx_resolve(&ins, mnemonic, strlen(mnemonic), &err) == TCB_OK)
		return;
	for (unsigned i = 0; i < count && used < sizeof kinds; i++)
		used += (size_t)snprintf(kinds + used, sizeof kinds - used, "%s%s", i ? ", " : "",
					 kind_text(&operands[i]));
	tcb_ptx_build_fail(b, TCB_E_FORMAT, "%s%s (%s %s)", strstr(err.message, "': ") ? "" : "syntax: ", err.message,
			   mnemonic, kinds);
}

/* --- appending --- */

static void see_result(void *ctx, uint32_t *reg, int is_def)
{
	struct tcb_ptx_ins *ins = ctx;
	struct tcb_ptx_reg *known;

	if (!is_def)
		return;
	known = &ins->block->function->regs[*reg];
	known->def = known->defs++ ? NULL : ins;
}

static void need_specials(struct tcb_ptx_build *b, const struct tcb_ptx_ins *ins)
{
	static const uint8_t versions[] = {
#define SPECIAL_VERSION(id, text, type, version, sm) version,
		TCB_PTX_SPECIAL_LIST(SPECIAL_VERSION)
#undef SPECIAL_VERSION
	};

	for (unsigned i = ins->result_count; i < ins->operand_count; i++)
		if (ins->operands[i].kind == TCB_PTX_O_SPECIAL)
			tcb_ptx_build_need(b, versions[ins->operands[i].special]);
}

/* Appends what KNOWN says with OPERANDS, whose registers are all there. */
static struct tcb_ptx_ins *append(struct tcb_ptx_build *b, const struct known *known, unsigned count,
				  const struct tcb_ptx_operand *operands)
{
	struct tcb_ptx_ins *ins = tcb_ptx_ins_new(b->module, count);
	struct tcb_ptx_finding finding;

	if (!ins) {
		tcb_ptx_build_nomem(b);
		return NULL;
	}
	if (count)
		memcpy(ins->operands, operands, count * sizeof *operands);
	ins->op = known->op;
	ins->form = known->form;
	ins->result_count = known->result_count;
	memcpy(ins->mod, known->mod, sizeof ins->mod);
	ins->guard = b->guard;
	ins->guard_negated = (uint8_t)b->guard_negated;
	tcb_ptx_build_need(b, known->version);
	if (known->op == TCB_PTX_OP_MOV)
		need_specials(b, ins);
	if (!tcb_ptx_verify_ins(b->function, ins, &finding)) {
		tcb_ptx_build_fail_ins(b, ins, "%s", finding.message);
		return NULL;
	}
	tcb_ptx_ins_append(b->block, ins);
	tcb_ptx_each_reg(ins, see_result, ins);
	if (tcb_ptx_has(ins, TCB_PTX_F_TERMINATOR))
		b->block = tcb_ptx_build_block(b, NULL);
	return ins;
}

/* A sink among the operands that stands for nothing: the value of an instruction that has no result was used. */
static int ready(struct tcb_ptx_build *b, const char *mnemonic, unsigned count)
{
	if (!tcb_ptx_build_ready(b))
		return 0;
	if (count > OPERANDS_MAX)
		tcb_ptx_build_fail(b, TCB_E_FORMAT, "syntax: '%.80s' does not take %u operands", mnemonic, count);
	return b->status == TCB_OK;
}

struct tcb_ptx_ins *tcb_ptx_build_append(struct tcb_ptx_build *b, const char *mnemonic, unsigned count,
					 const struct tcb_ptx_operand *operands)
{
	struct tcb_ptx_operand all[OPERANDS_MAX];
	const struct known *known;
	struct known spare;

	if (!ready(b, mnemonic, count))
		return NULL;
	if (count)
		memcpy(all, operands, count * sizeof *all);
	known = resolve(b, mnemonic, count, all, &spare);
	if (known && known->form == NO_FORM)
		fail_resolve(b, mnemonic, count, all);
	return b->status == TCB_OK ? append(b, known, count, all) : NULL;
}

/* Registers for the results that RESULT stands for. */
static void new_results(struct tcb_ptx_build *b, const struct known *known, struct tcb_ptx_operand *result)
{
	enum tcb_ptx_word type = reg_type((enum tcb_ptx_word)known->result_type, (enum tcb_ptx_word)known->op);

	if (result->kind == TCB_PTX_O_REG)
		*result = tcb_ptx_build_reg(b, type);
	for (unsigned i = 0; result->kind == TCB_PTX_O_VECTOR && i < result->count; i++)
		result->items[i] = tcb_ptx_build_reg(b, type);
	if (result->kind == TCB_PTX_O_PAIR) /* _|p */
		result->items[1] = tcb_ptx_build_reg(b, TCB_PTX_PRED);
}

struct tcb_ptx_operand tcb_ptx_op(struct tcb_ptx_build *b, const char *mnemonic, unsigned count,
				  const struct tcb_ptx_operand *sources)
{
	struct tcb_ptx_operand all[OPERANDS_MAX], sink = tcb_ptx_sink_operand();
	struct tcb_ptx_operand elected[2] = { sink, { .kind = TCB_PTX_O_REG } };
	/* what may stand at the place of the result, by likelihood; then no result at all */
	struct tcb_ptx_operand results[] = { { .kind = TCB_PTX_O_REG },
					     sink,
					     { .kind = TCB_PTX_O_PAIR, .items = elected, .count = 2 } };
	const struct known *known;
	struct known spare;

	if (!ready(b, mnemonic, count + 1))
		return sink;
	if (count)
		memcpy(all + 1, sources, count * sizeof *all);
	for (unsigned i = 0; i < sizeof results / sizeof *results; i++) {
		all[0] = results[i];
		known = resolve(b, mnemonic, count + 1, all, &spare);
		if (known && known->form != NO_FORM && known->result_count) {
			if (all[0].kind == TCB_PTX_O_PAIR)
				all[0] = tcb_ptx_pair(b, elected[0], elected[1]);
			new_results(b, known, &all[0]);
			if (b->status != TCB_OK || !append(b, known, count + 1, all))
				return sink;
			return all[0].kind == TCB_PTX_O_PAIR ? all[0].items[1] : all[0];
		}
		if (i == 0 && b->status == TCB_OK) {
			known = resolve(b, mnemonic, count, all + 1, &spare);
			if (known && known->form != NO_FORM && !known->result_count) {
				append(b, known, count, all + 1);
				return sink;
			}
		}
	}
	all[0] = results[0];
	fail_resolve(b, mnemonic, count + 1, all);
	return sink;
}

struct tcb_ptx_operand tcb_ptx_op0(struct tcb_ptx_build *b, const char *mnemonic)
{
	return tcb_ptx_op(b, mnemonic, 0, NULL);
}

struct tcb_ptx_operand tcb_ptx_op1(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand x)
{
	return tcb_ptx_op(b, mnemonic, 1, &x);
}

struct tcb_ptx_operand tcb_ptx_op2(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand x,
				   struct tcb_ptx_operand y)
{
	return tcb_ptx_op(b, mnemonic, 2, (struct tcb_ptx_operand[]){ x, y });
}

struct tcb_ptx_operand tcb_ptx_op3(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand x,
				   struct tcb_ptx_operand y, struct tcb_ptx_operand z)
{
	return tcb_ptx_op(b, mnemonic, 3, (struct tcb_ptx_operand[]){ x, y, z });
}

struct tcb_ptx_operand tcb_ptx_op4(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand x,
				   struct tcb_ptx_operand y, struct tcb_ptx_operand z, struct tcb_ptx_operand w)
{
	return tcb_ptx_op(b, mnemonic, 4, (struct tcb_ptx_operand[]){ x, y, z, w });
}

void tcb_ptx_into(struct tcb_ptx_build *b, const char *mnemonic, unsigned count, const struct tcb_ptx_operand *operands)
{
	tcb_ptx_build_append(b, mnemonic, count, operands);
}

void tcb_ptx_into1(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand d, struct tcb_ptx_operand x)
{
	tcb_ptx_build_append(b, mnemonic, 2, (struct tcb_ptx_operand[]){ d, x });
}

void tcb_ptx_into2(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand d, struct tcb_ptx_operand x,
		   struct tcb_ptx_operand y)
{
	tcb_ptx_build_append(b, mnemonic, 3, (struct tcb_ptx_operand[]){ d, x, y });
}

void tcb_ptx_into3(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand d, struct tcb_ptx_operand x,
		   struct tcb_ptx_operand y, struct tcb_ptx_operand z)
{
	tcb_ptx_build_append(b, mnemonic, 4, (struct tcb_ptx_operand[]){ d, x, y, z });
}

/* --- memory --- */

/* One register or value without braces, or COUNT in braces; with FORCE braces always. */
static struct tcb_ptx_operand braced(struct tcb_ptx_build *b, const struct tcb_ptx_operand *items, unsigned count,
				     int force)
{
	if (count == 1 && !force)
		return items[0];
	return tcb_ptx_vector(b, items, count);
}

/* The form of MNEMONIC with COUNT ITEMS, which OPERAND of ALL is to be, without braces or else in them; SPARE is room
 * for it.  NULL: it has failed. */
static const struct known *resolve_braced(struct tcb_ptx_build *b, const char *mnemonic, const char *does,
					  const struct tcb_ptx_operand *items, unsigned count,
					  struct tcb_ptx_operand all[2], struct tcb_ptx_operand *operand,
					  struct known *spare)
{
	const struct known *known = NULL;

	if (ready(b, mnemonic, 2) && (!count || count > ITEMS_MAX))
		tcb_ptx_build_fail(b, TCB_E_FORMAT, "syntax: '%.80s' does not %s %u registers", mnemonic, does, count);
	for (int force = 0; force < 2 && b->status == TCB_OK && (!known || known->form == NO_FORM); force++) {
		*operand = braced(b, items, count, force);
		known = b->status == TCB_OK ? resolve(b, mnemonic, 2, all, spare) : NULL;
	}
	if (known && known->form == NO_FORM)
		fail_resolve(b, mnemonic, 2, all);
	return b->status == TCB_OK ? known : NULL;
}

void tcb_ptx_load(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand address,
		  struct tcb_ptx_operand *out, unsigned count)
{
	struct tcb_ptx_operand all[2] = { { 0 }, address };
	const struct known *known;
	struct known spare;

	for (unsigned i = 0; i < count; i++)
		out[i] = (struct tcb_ptx_operand){ .kind = TCB_PTX_O_REG };
	known = resolve_braced(b, mnemonic, "load", out, count, all, &all[0], &spare);
	if (known)
		new_results(b, known, &all[0]);
	if (known && b->status == TCB_OK)
		append(b, known, 2, all);
	for (unsigned i = 0; i < count; i++)
		out[i] = b->status != TCB_OK               ? tcb_ptx_sink_operand()
			 : all[0].kind == TCB_PTX_O_VECTOR ? all[0].items[i]
							   : all[0];
}

void tcb_ptx_store(struct tcb_ptx_build *b, const char *mnemonic, struct tcb_ptx_operand address,
		   const struct tcb_ptx_operand *values, unsigned count)
{
	struct tcb_ptx_operand all[2] = { address, { 0 } };
	struct known spare;
	const struct known *known = resolve_braced(b, mnemonic, "store", values, count, all, &all[1], &spare);

	if (known)
		append(b, known, 2, all);
}

/* --- guards --- */

void tcb_ptx_guard(struct tcb_ptx_build *b, struct tcb_ptx_operand predicate)
{
	if (!tcb_ptx_build_ready(b))
		return;
	if (predicate.kind != TCB_PTX_O_REG || b->function->regs[predicate.reg].type != TCB_PTX_PRED) {
		tcb_ptx_build_fail(b, TCB_E_FORMAT, "operand-type: the guard of an instruction is a predicate");
		return;
	}
	b->guard = predicate.reg;
	b->guard_negated = predicate.negated;
}

void tcb_ptx_unguard(struct tcb_ptx_build *b)
{
	b->guard = TCB_PTX_NO_REG;
	b->guard_negated = 0;
}
