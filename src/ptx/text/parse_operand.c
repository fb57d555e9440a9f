/* SPDX-License-Identifier: MIT
 *
 * In: PTX text, where an operand stands.  Out: the operand, by its shape alone:
 * the opcode table says later which form of an instruction it makes
 * (opcode_forms.c).
 */
#include "ptx/text/parser.h"

#include <string.h>

enum { ITEMS_MAX = 256 }; /* wgmma has 128 results, a call may have more arguments than anything else */

static struct tcb_arena *arena_of(struct tcb_ptx_parser *p)
{
	return &p->module->arena;
}

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

void tcb_ptx_parse_operand(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operand)
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
unsigned tcb_ptx_parse_call(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operands)
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

void tcb_ptx_parse_table(struct tcb_ptx_parser *p, struct tcb_ptx_operand *operand)
{
	struct tcb_ptx_token token = tcb_ptx_expect_ident(p, "a branch table");
	struct tcb_ptx_name *name = known_name(p, &token);

	if (name->kind != TCB_PTX_N_TABLE)
		tcb_ptx_parse_fail(p, token.line, "'%.*s' is not a branch table",
				   token.length > 80 ? 80 : (int)token.length, token.text);
	*operand = (struct tcb_ptx_operand){ .kind = TCB_PTX_O_TABLE, .reg = TCB_PTX_NO_REG, .table = name->table };
}
