/* SPDX-License-Identifier: MIT
 *
 * In: the text between the braces of a function.  Out: its registers,
 * variables, blocks and instructions.
 *
 * A block begins at a label and after a terminator.  Operands are read by
 * their shape alone; the opcode table then says which form of the instruction
 * they make (opcode_forms.c).
 */
#include "ptx/text/parser.h"

#include <string.h>

enum {
	OPERANDS_MAX = 16,
	ITEMS_MAX = 256, /* wgmma has 128 results, a call may have more arguments than anything else */
	MNEMONIC_MAX = 192,
	TABLE_MAX = 1 << 16,
	DEPTH_MAX = 256
};

static struct tcb_arena *arena_of(struct tcb_ptx_parser *p)
{
	return &p->module->arena;
}

/* --- operands --- */

enum { PRODUCT = 6, EXPRESSION_DEPTH_MAX = 32 };

/* How strongly the operator at hand binds; 0 when there is none. */
static unsigned binding(const struct tcb_ptx_parser *p)
{
	char c = p->token.kind == TCB_PTX_T_PUNCT ? *p->token.text : 0;

	switch (c) {
	case '|':
		return 1;
	case '^':
		return 2;
	case '&':
		return 3;
	case '<':
	case '>':
		return p->at < p->end && *p->at == c ? 4 : 0;
	case '+':
	case '-':
		return 5;
	case '*':
	case '/':
		return PRODUCT;
	default:
		return 0;
	}
}

static uint64_t apply(struct tcb_ptx_parser *p, char op, uint64_t a, uint64_t b)
{
	switch (op) {
	case '|':
		return a | b;
	case '^':
		return a ^ b;
	case '&':
		return a & b;
	case '<':
		return b < 64 ? a << b : 0;
	case '>':
		return (uint64_t)((int64_t)a >> (b < 64 ? b : 63));
	case '+':
		return a + b;
	case '-':
		return a - b;
	case '*':
		return a * b;
	default:
		if (!b)
			tcb_ptx_parse_fail(p, p->line, "a constant is divided by zero");
		return b == UINT64_MAX ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
	}
}

/* A constant of operators that bind at least as LEAST does: -1, ~0, +-4, 2*(3+4), 1<<4. */
static uint64_t read_int(struct tcb_ptx_parser *p, const char *what, unsigned least, unsigned depth)
{
	int negate = 0, complement = 0;
	unsigned strength;
	uint64_t bits;

	if (depth > EXPRESSION_DEPTH_MAX)
		tcb_ptx_parse_fail(p, p->line, "a constant nests deeper than %d", EXPRESSION_DEPTH_MAX);
	for (;;) {
		if (tcb_ptx_accept(p, '-'))
			negate = !negate;
		else if (tcb_ptx_accept(p, '~'))
			complement = !complement;
		else if (!tcb_ptx_accept(p, '+'))
			break;
	}
	if (tcb_ptx_accept(p, '(')) {
		bits = read_int(p, what, 1, depth + 1);
		tcb_ptx_expect(p, ')');
	} else {
		bits = tcb_ptx_expect_int(p, what, UINT64_MAX);
	}
	if (complement)
		bits = ~bits;
	if (negate)
		bits = 0 - bits;
	while ((strength = binding(p)) && strength >= least) {
		char op = *p->token.text;

		tcb_ptx_next(p);
		if (strength == 4)
			tcb_ptx_next(p);
		bits = apply(p, op, bits, read_int(p, what, strength + 1, depth + 1));
	}
	return bits;
}

/* +4, +-4, -4, +4+8: the sum; 0 when there is none. */
static uint64_t read_offset(struct tcb_ptx_parser *p)
{
	uint64_t sum = 0;

	while (tcb_ptx_is_punct(p, '+') || tcb_ptx_is_punct(p, '-'))
		sum += read_int(p, "an offset", PRODUCT, 0);
	return sum;
}

static struct tcb_ptx_name *known_name(struct tcb_ptx_parser *p, const struct tcb_ptx_token *token)
{
	struct tcb_ptx_name *name = tcb_ptx_name_find(p, token->text, token->length);

	if (!name)
		tcb_ptx_parse_fail(p, token->line, "'%.*s' is not declared",
				   token->length > 80 ? 80 : (int)token->length, token->text);
	return name;
}

/* A vector of registers by its name alone. */
static void name_elements(struct tcb_ptx_parser *p, const struct tcb_ptx_name *name, struct tcb_ptx_operand *operand)
{
	operand->kind = TCB_PTX_O_VECTOR;
	operand->count = name->count;
	operand->items = tcb_ptx_parse_alloc(p, arena_of(p), name->count, sizeof *operand->items);
	for (uint32_t i = 0; i < name->count; i++)
		operand->items[i] = (struct tcb_ptx_operand){ .kind = TCB_PTX_O_REG, .reg = name->reg + i };
}

/* A register, symbol, special register or _. */
static void read_named(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operand)
{
	struct tcb_ptx_token token = tcb_ptx_expect_ident(p, "an operand");
	uint32_t reg = tcb_ptx_reg_find(p, token.text, token.length);
	enum tcb_ptx_special special;

	if (reg != TCB_PTX_NO_REG) {
		operand->kind = TCB_PTX_O_REG;
		operand->reg = reg;
		return;
	}
	if (token.length == 7 && memcmp(token.text, "WARP_SZ", 7) == 0 && !tcb_ptx_name_find(p, token.text, 7)) {
		operand->kind = TCB_PTX_O_INT;
		operand->bits = 32;
		return;
	}
	if (token.length == 1 && *token.text == '_') {
		operand->kind = TCB_PTX_O_SINK;
		return;
	}
	special = tcb_ptx_special_find(token.text, token.length);
	if (special != TCB_PTX_SPECIAL_COUNT) {
		operand->kind = TCB_PTX_O_SPECIAL;
		operand->special = (uint16_t)special;
		return;
	}
	operand->kind = TCB_PTX_O_SYMBOL;
	struct tcb_ptx_name *name = known_name(p, &token);
	if (name->kind == TCB_PTX_N_VECTOR) {
		name_elements(p, name, operand);
		return;
	}
	if (name->kind != TCB_PTX_N_SYMBOL)
		tcb_ptx_parse_fail(p, token.line, "'%.*s' is not an operand",
				   token.length > 80 ? 80 : (int)token.length, token.text);
	operand->symbol = name->symbol;
	operand->bits = read_offset(p);
}

/* Anything that may stand in braces. */
static void read_scalar(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operand)
{
	const struct tcb_ptx_token *token = &p->token;

	if (token->kind == TCB_PTX_T_IDENT) {
		read_named(p, operand);
	} else if (tcb_ptx_accept(p, '!')) {
		read_named(p, operand);
		operand->negated = 1;
		if (operand->kind != TCB_PTX_O_REG)
			tcb_ptx_parse_fail(p, p->line, "'!' stands before a predicate register only");
	} else if (token->kind == TCB_PTX_T_F32 || token->kind == TCB_PTX_T_F64) {
		operand->kind = token->kind == TCB_PTX_T_F32 ? TCB_PTX_O_F32 : TCB_PTX_O_F64;
		operand->bits = token->bits;
		tcb_ptx_next(p);
	} else {
		struct tcb_ptx_token sign = *token;
		const char *at = p->at;
		uint32_t line = p->line;

		if (tcb_ptx_accept(p, '-')) {
			if (token->kind == TCB_PTX_T_F64 || token->kind == TCB_PTX_T_F32) { /* -1.5 */
				read_scalar(p, operand);
				operand->bits ^= operand->kind == TCB_PTX_O_F32 ? 1ull << 31 : 1ull << 63;
				return;
			}
			p->token = sign; /* -4+8 is one constant */
			p->at = at;
			p->line = line;
		}
		operand->kind = TCB_PTX_O_INT;
		operand->bits = read_int(p, "an operand", 1, 0);
	}
}

/* Items up to CLOSE, which is read; the opening one was. */
static void read_items(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operand, enum tcb_ptx_operand_kind kind,
		       char close)
{
	struct tcb_ptx_operand items[ITEMS_MAX];
	uint32_t count = 0;

	while (!tcb_ptx_accept(p, close)) {
		if (count)
			tcb_ptx_expect(p, ',');
		if (count == ITEMS_MAX)
			tcb_ptx_parse_fail(p, p->line, "more than %d items", ITEMS_MAX);
		items[count] = (struct tcb_ptx_operand){ .reg = TCB_PTX_NO_REG };
		read_scalar(p, &items[count++]);
		if (items[count - 1].kind == TCB_PTX_O_VECTOR)
			tcb_ptx_parse_fail(p, p->line, "a vector within a list");
	}
	operand->kind = (uint8_t)kind;
	operand->count = count;
	operand->items = tcb_ptx_parse_alloc(p, arena_of(p), count, sizeof *items);
	memcpy(operand->items, items, count * sizeof *items);
}

/* After '[': a register or symbol with an offset, or a number; then, for tensors, {coordinates}. */
static void read_address(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operand)
{
	struct tcb_ptx_operand base = { .reg = TCB_PTX_NO_REG };

	read_scalar(p, &base);
	if ((base.kind != TCB_PTX_O_REG || base.negated) && base.kind != TCB_PTX_O_SYMBOL && base.kind != TCB_PTX_O_INT)
		tcb_ptx_parse_fail(p, p->line, "an address is a register, a symbol or a number, with an offset");
	operand->reg = base.reg;
	operand->symbol = base.kind == TCB_PTX_O_SYMBOL ? base.symbol : NULL;
	operand->bits = base.bits + read_offset(p);
	if (tcb_ptx_accept(p, ',')) {
		struct tcb_ptx_operand coordinates = { 0 };

		tcb_ptx_expect(p, '{');
		read_items(p, &coordinates, TCB_PTX_O_VECTOR, '}');
		if (!coordinates.count)
			tcb_ptx_parse_fail(p, p->line, "a tensor address without coordinates");
		operand->items = coordinates.items;
		operand->count = coordinates.count;
	}
	operand->kind = TCB_PTX_O_ADDRESS;
	tcb_ptx_expect(p, ']');
}

static void read_operand(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operand)
{
	*operand = (struct tcb_ptx_operand){ .reg = TCB_PTX_NO_REG };
	if (tcb_ptx_accept(p, '[')) {
		read_address(p, operand);
	} else if (tcb_ptx_accept(p, '{')) {
		read_items(p, operand, TCB_PTX_O_VECTOR, '}');
	} else {
		read_scalar(p, operand);
		if (tcb_ptx_accept(p, '|')) {
			struct tcb_ptx_operand *items = tcb_ptx_parse_alloc(p, arena_of(p), 2, sizeof *items);

			items[0] = *operand;
			items[1].reg = TCB_PTX_NO_REG;
			read_scalar(p, &items[1]);
			if (items[0].kind == TCB_PTX_O_VECTOR || items[1].kind == TCB_PTX_O_VECTOR)
				tcb_ptx_parse_fail(p, p->line, "a pair of vectors");
			*operand = (struct tcb_ptx_operand){
				.kind = TCB_PTX_O_PAIR, .reg = TCB_PTX_NO_REG, .items = items, .count = 2
			};
		}
	}
}

/* call [(results),] target [, (arguments)] [, prototype] as four operands, the last one optional. */
static unsigned read_call(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operands)
{
	unsigned count = 3;

	for (unsigned i = 0; i < 4; i++)
		operands[i] = (struct tcb_ptx_operand){ .kind = TCB_PTX_O_LIST, .reg = TCB_PTX_NO_REG };
	if (tcb_ptx_accept(p, '(')) {
		read_items(p, &operands[0], TCB_PTX_O_LIST, ')');
		tcb_ptx_expect(p, ',');
	}
	read_named(p, &operands[1]);
	while (tcb_ptx_accept(p, ',')) {
		if (count == 3 && tcb_ptx_accept(p, '(')) {
			read_items(p, &operands[2], TCB_PTX_O_LIST, ')');
		} else {
			struct tcb_ptx_token token = tcb_ptx_expect_ident(p, "a call prototype");
			struct tcb_ptx_name *name = known_name(p, &token);

			if (name->kind != TCB_PTX_N_PROTOTYPE || count == 4)
				tcb_ptx_parse_fail(p, token.line, "'%.*s' is not a call prototype",
						   token.length > 80 ? 80 : (int)token.length, token.text);
			operands[count++] = (struct tcb_ptx_operand){ .kind = TCB_PTX_O_TEXT,
								      .reg = TCB_PTX_NO_REG,
								      .text = name->prototype->symbol->name };
		}
	}
	return count;
}

static void read_table(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operand)
{
	struct tcb_ptx_token token = tcb_ptx_expect_ident(p, "a branch table");
	struct tcb_ptx_name *name = known_name(p, &token);

	if (name->kind != TCB_PTX_N_TABLE)
		tcb_ptx_parse_fail(p, token.line, "'%.*s' is not a branch table",
				   token.length > 80 ? 80 : (int)token.length, token.text);
	*operand = (struct tcb_ptx_operand){ .kind = TCB_PTX_O_TABLE, .reg = TCB_PTX_NO_REG, .table = name->table };
}

/* --- instructions --- */

static struct tcb_ptx_block *current_block(struct tcb_ptx_parser *p)
{
	if (!p->block)
		p->block = tcb_ptx_block_new(p->function, p->function->last, NULL);
	if (!p->block)
		tcb_ptx_parse_fail(p, p->line, "out of memory");
	return p->block;
}

/* The identifier just read and the words after it, joined with dots. */
static size_t read_mnemonic(struct tcb_ptx_parser *p, const struct tcb_ptx_token *first, char *out)
{
	size_t length = first->length < MNEMONIC_MAX ? first->length : MNEMONIC_MAX;

	memcpy(out, first->text, length);
	for (; p->token.kind == TCB_PTX_T_DIRECTIVE; tcb_ptx_next(p)) {
		if (length + 1 + p->token.length > MNEMONIC_MAX)
			tcb_ptx_parse_fail(p, p->token.line, "'%.40s...' has too many modifiers", first->text);
		out[length++] = '.';
		memcpy(out + length, p->token.text, p->token.length);
		length += p->token.length;
	}
	return length;
}

static int begins(const char *mnemonic, size_t length, const char *op)
{
	size_t n = strlen(op);

	return length >= n && memcmp(mnemonic, op, n) == 0 && (length == n || mnemonic[n] == '.');
}

static unsigned read_operands(struct tcb_ptx_parser *p, const char *mnemonic, size_t length,
			      struct tcb_ptx_operand *operands, struct tcb_ptx_token *target)
{
	unsigned count = 0;

	if (begins(mnemonic, length, "call"))
		return read_call(p, operands);
	if (begins(mnemonic, length, "bra")) {
		*target = tcb_ptx_expect_ident(p, "a label");
		operands[0] = (struct tcb_ptx_operand){ .kind = TCB_PTX_O_BLOCK, .reg = TCB_PTX_NO_REG };
		return 1;
	}
	if (tcb_ptx_is_punct(p, ';'))
		return 0;
	do {
		if (count == OPERANDS_MAX)
			tcb_ptx_parse_fail(p, p->line, "more than %d operands", OPERANDS_MAX);
		if (count == 1 && begins(mnemonic, length, "brx"))
			read_table(p, &operands[count++]);
		else
			read_operand(p, &operands[count++]);
	} while (tcb_ptx_accept(p, ','));
	return count;
}

static void read_instruction(struct tcb_ptx_parser *p, const struct tcb_ptx_token *first, uint32_t guard, int negated)
{
	struct tcb_ptx_operand operands[OPERANDS_MAX];
	char mnemonic[MNEMONIC_MAX + 1];
	size_t length = read_mnemonic(p, first, mnemonic);
	struct tcb_ptx_token target = { 0 };
	unsigned count = read_operands(p, mnemonic, length, operands, &target);
	struct tcb_ptx_ins *ins = tcb_ptx_ins_new(p->module, count);
	struct tcb_error err;

	if (!ins)
		tcb_ptx_parse_fail(p, first->line, "out of memory");
	tcb_ptx_expect(p, ';');
	if (count)
		memcpy(ins->operands, operands, count * sizeof *operands);
	ins->guard = guard;
	ins->guard_negated = (uint8_t)negated;
	ins->line = first->line;
	ins->source = p->source;
	if (target.length)
		tcb_ptx_label_use(p, &target, &ins->operands[0].block);
	if ((p->is_foreign ? tcb_ptx_resolve_foreign(arena_of(p), ins, mnemonic, length, &err)
			   : tcb_ptx_resolve(ins, mnemonic, length, &err)) != TCB_OK)
		tcb_ptx_parse_fail(p, first->line, "%s", err.message);
	tcb_ptx_ins_append(current_block(p), ins);
	if (tcb_ptx_has(ins, TCB_PTX_F_TERMINATOR))
		p->block = NULL;
}

static void read_guarded(struct tcb_ptx_parser *p)
{
	int negated = tcb_ptx_accept(p, '!');
	struct tcb_ptx_token token = tcb_ptx_expect_ident(p, "a predicate register");
	uint32_t guard = tcb_ptx_reg_find(p, token.text, token.length);

	if (guard == TCB_PTX_NO_REG || p->function->regs[guard].type != TCB_PTX_PRED)
		tcb_ptx_parse_fail(p, token.line, "'%.*s' is not a predicate register",
				   token.length > 80 ? 80 : (int)token.length, token.text);
	token = tcb_ptx_expect_ident(p, "an instruction");
	read_instruction(p, &token, guard, negated);
}

/* --- declarations --- */

/* .v2 .f32 v: registers v.x and v.y, which are printed as v_x and v_y. */
static void add_vector(struct tcb_ptx_parser *p, const struct tcb_ptx_token *token, enum tcb_ptx_word type,
		       uint32_t count)
{
	struct tcb_ptx_name *whole = tcb_ptx_name_add(p, token, TCB_PTX_N_VECTOR);

	whole->count = count;
	for (uint32_t i = 0; i < count; i++) {
		struct tcb_ptx_token element = *token;
		char *text = tcb_ptx_parse_alloc(p, arena_of(p), token->length + 3, 1);
		const char *printed;
		uint32_t reg;

		memcpy(text, token->text, token->length);
		text[token->length] = '_';
		text[token->length + 1] = "xyzw"[i];
		element.length += 2;
		element.text = text;
		printed = tcb_ptx_printed_name(p, &element, 0);
		reg = tcb_ptx_regs_add(p->function, type, printed, 0);
		if (reg == TCB_PTX_NO_REG)
			tcb_ptx_parse_fail(p, token->line, "too many registers");
		text = tcb_ptx_parse_alloc(p, arena_of(p), element.length + 1, 1);
		memcpy(text, element.text, element.length);
		text[token->length] = '.';
		element.text = text;
		tcb_ptx_name_add(p, &element, TCB_PTX_N_REG)->reg = reg;
		whole->reg = i ? whole->reg : reg;
	}
}

static void read_regs(struct tcb_ptx_parser *p)
{
	enum tcb_ptx_word type = TCB_PTX_NO_WORD;
	uint32_t elements = 0;

	if (tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "v2") || tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "v4")) {
		elements = (uint32_t)(p->token.text[1] - '0');
		tcb_ptx_next(p);
	}
	if (p->token.kind == TCB_PTX_T_DIRECTIVE)
		type = tcb_ptx_word_find(p->token.text, p->token.length);
	if (!tcb_ptx_is_type(type) || tcb_ptx_type_class(type) == TCB_PTX_CLASS_ALT)
		tcb_ptx_parse_fail(p, p->token.line, "registers of type '.%.*s' do not exist",
				   p->token.length > 40 ? 40 : (int)p->token.length, p->token.text);
	tcb_ptx_next(p);
	do {
		struct tcb_ptx_token token = tcb_ptx_expect_ident(p, "a register's name");
		uint32_t count = 0, reg;
		struct tcb_ptx_name *name;

		if (elements) {
			add_vector(p, &token, type, elements);
			continue;
		}
		if (tcb_ptx_accept(p, '<')) {
			count = (uint32_t)tcb_ptx_expect_int(p, "the number of registers", 1 << 20);
			tcb_ptx_expect(p, '>');
			if (!count)
				continue;
		}
		name = tcb_ptx_name_add(p, &token, count ? TCB_PTX_N_RANGE : TCB_PTX_N_REG);
		reg = tcb_ptx_regs_add(p->function, type, tcb_ptx_printed_name(p, &token, count != 0), count);
		if (reg == TCB_PTX_NO_REG)
			tcb_ptx_parse_fail(p, token.line, "too many registers");
		name->reg = reg;
		name->count = count;
	} while (tcb_ptx_accept(p, ','));
	tcb_ptx_expect(p, ';');
}

static void read_pragma(struct tcb_ptx_parser *p, uint32_t line)
{
	struct tcb_ptx_ins *ins = tcb_ptx_ins_new(p->module, 1);
	struct tcb_error err;

	if (!ins)
		tcb_ptx_parse_fail(p, line, "out of memory");
	ins->line = line;
	ins->operands[0] = (struct tcb_ptx_operand){ .kind = TCB_PTX_O_TEXT,
						     .reg = TCB_PTX_NO_REG,
						     .text = tcb_ptx_parse_pragma(p) };
	if (tcb_ptx_resolve(ins, ".pragma", 7, &err) != TCB_OK)
		tcb_ptx_parse_fail(p, line, "%s", err.message);
	tcb_ptx_ins_append(current_block(p), ins);
}

static void read_directive(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_token token = p->token;
	enum tcb_ptx_word space = tcb_ptx_word_find(token.text, token.length);

	tcb_ptx_next(p);
	if (token.length == 3 && memcmp(token.text, "reg", 3) == 0)
		read_regs(p);
	else if (space == TCB_PTX_LOCAL || space == TCB_PTX_SHARED || space == TCB_PTX_PARAM ||
		 space == TCB_PTX_GLOBAL || space == TCB_PTX_CONST)
		tcb_ptx_parse_variables(p, space, TCB_PTX_STATIC, &p->locals_end);
	else if (token.length == 3 && memcmp(token.text, "loc", 3) == 0)
		tcb_ptx_read_loc(p);
	else if (token.length == 4 && memcmp(token.text, "file", 4) == 0)
		tcb_ptx_read_file(p);
	else if (token.length == 6 && memcmp(token.text, "pragma", 6) == 0)
		read_pragma(p, token.line);
	else
		tcb_ptx_parse_unknown(p, &token, " in a function");
}

static void read_targets(struct tcb_ptx_parser *p, const struct tcb_ptx_token *label)
{
	struct tcb_ptx_table *table = tcb_ptx_parse_alloc(p, arena_of(p), 1, sizeof *table);
	struct tcb_ptx_token *targets = NULL;
	uint32_t capacity = 0;

	tcb_ptx_name_add(p, label, TCB_PTX_N_TABLE)->table = table;
	table->name = tcb_ptx_printed_name(p, label, 0);
	do {
		if (table->count == capacity) {
			struct tcb_ptx_token *more;

			capacity = capacity ? capacity * 2 : 16;
			more = tcb_ptx_parse_alloc(p, &p->scratch, capacity, sizeof *more);
			if (table->count)
				memcpy(more, targets, table->count * sizeof *more);
			targets = more;
		}
		if (table->count == TABLE_MAX)
			tcb_ptx_parse_fail(p, label->line, "more than %d branch targets", TABLE_MAX);
		targets[table->count++] = tcb_ptx_expect_ident(p, "a label");
	} while (tcb_ptx_accept(p, ','));
	tcb_ptx_expect(p, ';');
	table->blocks = tcb_ptx_parse_alloc(p, arena_of(p), table->count, sizeof *table->blocks);
	for (uint32_t i = 0; i < table->count; i++)
		tcb_ptx_label_use(p, &targets[i], &table->blocks[i]);
	*p->tables_end = table;
	p->tables_end = &table->next;
}

static void read_prototype(struct tcb_ptx_parser *p, const struct tcb_ptx_token *label)
{
	struct tcb_ptx_function *prototype = tcb_ptx_parse_signature(p, NULL, 1);

	tcb_ptx_expect(p, ';');
	prototype->symbol->name = tcb_ptx_printed_name(p, label, 0);
	tcb_ptx_name_add(p, label, TCB_PTX_N_PROTOTYPE)->prototype = prototype;
	*p->prototypes_end = prototype;
	p->prototypes_end = &prototype->next;
}

/* After "label:". */
static void read_labelled(struct tcb_ptx_parser *p, const struct tcb_ptx_token *label)
{
	if (tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "branchtargets")) {
		tcb_ptx_next(p);
		read_targets(p, label);
	} else if (tcb_ptx_is_word(p, TCB_PTX_T_DIRECTIVE, "callprototype")) {
		tcb_ptx_next(p);
		read_prototype(p, label);
	} else {
		struct tcb_ptx_name *name = tcb_ptx_name_add(p, label, TCB_PTX_N_LABEL);

		/* two labels in a row name one block; the first is printed */
		if (p->block && p->block->first)
			p->block = NULL;
		if (!current_block(p)->label)
			p->block->label = tcb_ptx_printed_name(p, label, 0);
		name->block = p->block;
	}
}

/* ptxas takes the end of the text for a return; here it is made one, so that a last block ends as others do. */
static void end_body(struct tcb_ptx_parser *p)
{
	struct tcb_ptx_ins *ins;

	if (!tcb_ptx_falls_through(p->function->last))
		return;
	ins = tcb_ptx_ins_new(p->module, 0);
	if (!ins || tcb_ptx_resolve(ins, "ret", 3, NULL) != TCB_OK)
		tcb_ptx_parse_fail(p, p->line, "out of memory");
	ins->line = p->line;
	if (tcb_ptx_terminator(p->function->last))
		p->block = NULL; /* behind a guarded one */
	tcb_ptx_ins_append(current_block(p), ins);
}

void tcb_ptx_parse_body(struct tcb_ptx_parser *p, struct tcb_ptx_function *function)
{
	uint32_t line = p->token.line;

	p->function = function;
	p->block = NULL;
	p->locals_end = &function->locals;
	p->tables_end = &function->tables;
	p->prototypes_end = &function->prototypes;
	p->source = NULL;
	current_block(p);
	for (unsigned nested = 0;;) {
		if (tcb_ptx_accept(p, '{')) {
			if (++nested > DEPTH_MAX)
				tcb_ptx_parse_fail(p, p->line, "scopes nest deeper than %d", DEPTH_MAX);
			tcb_ptx_scope_open(p);
		} else if (tcb_ptx_is_punct(p, '}')) {
			if (!nested)
				break;
			nested--;
			tcb_ptx_scope_close(p);
			tcb_ptx_next(p);
		} else if (tcb_ptx_accept(p, '@')) {
			read_guarded(p);
		} else if (p->token.kind == TCB_PTX_T_DIRECTIVE) {
			read_directive(p);
		} else if (p->token.kind == TCB_PTX_T_END) {
			tcb_ptx_parse_fail(p, line, "'{' without '}'");
		} else if (!tcb_ptx_accept(p, ';')) {
			struct tcb_ptx_token token = tcb_ptx_expect_ident(p, "an instruction or a label");

			if (tcb_ptx_accept(p, ':'))
				read_labelled(p, &token);
			else
				read_instruction(p, &token, TCB_PTX_NO_REG, 0);
		}
	}
	end_body(p);
}
