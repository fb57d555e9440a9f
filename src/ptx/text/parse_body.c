/* SPDX-License-Identifier: MIT
 *
 * In: the text between the braces of a function.  Out: its registers,
 * variables, blocks and instructions.
 *
 * A block begins at a label and after a terminator.
 */
#include "ptx/text/parser.h"

#include <string.h>

enum { OPERANDS_MAX = 16, MNEMONIC_MAX = 192, TABLE_MAX = 1 << 16, DEPTH_MAX = 256 };

static struct tcb_arena *arena_of(struct tcb_ptx_parser *p)
{
	return &p->module->arena;
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
		return tcb_ptx_parse_call(p, operands);
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
			tcb_ptx_parse_table(p, &operands[count++]);
		else
			tcb_ptx_parse_operand(p, &operands[count++]);
	} while (tcb_ptx_accept(p, ','));
	return count;
}

/* What stands in front of an instruction's operands. */
struct head {
	const struct tcb_ptx_token *first;
	uint32_t guard;
	int negated;
};

static struct tcb_ptx_ins *add_instruction(struct tcb_ptx_parser *p, const struct head *head, const char *mnemonic,
					   size_t length, const struct tcb_ptx_operand *operands, unsigned count,
					   const struct tcb_ptx_token *target)
{
	struct tcb_ptx_ins *ins = tcb_ptx_ins_new(p->module, count);
	struct tcb_error err;

	if (!ins)
		tcb_ptx_parse_fail(p, head->first->line, "out of memory");
	if (count)
		memcpy(ins->operands, operands, count * sizeof *operands);
	ins->guard = head->guard;
	ins->guard_negated = (uint8_t)head->negated;
	ins->line = head->first->line;
	ins->source = p->source;
	if (target->length)
		tcb_ptx_label_use(p, target, &ins->operands[0].block);
	if ((p->is_foreign ? tcb_ptx_resolve_foreign(arena_of(p), ins, mnemonic, length, &err)
			   : tcb_ptx_resolve(ins, mnemonic, length, &err)) != TCB_OK)
		tcb_ptx_parse_fail(p, head->first->line, "%s", err.message);
	tcb_ptx_ins_append(current_block(p), ins);
	return ins;
}

/* ld and st of one register may have braces around it, as Triton writes them. */
static void unwrap_single(const char *mnemonic, size_t length, struct tcb_ptx_operand *operands, unsigned count)
{
	if (!begins(mnemonic, length, "ld") && !begins(mnemonic, length, "st"))
		return;
	for (unsigned i = 0; i < count; i++)
		if (operands[i].kind == TCB_PTX_O_VECTOR && operands[i].count == 1)
			operands[i] = operands[i].items[0];
}

/* Whether elements that are moved in this order, or backwards, each still find what they read. */
static int is_safe_order(const struct tcb_ptx_operand *to, const struct tcb_ptx_operand *from, int backwards)
{
	for (uint32_t i = 0; i < to->count; i++)
		for (uint32_t k = i + 1; k < to->count; k++) {
			const struct tcb_ptx_operand *early = &to->items[backwards ? k : i],
						     *late = &from->items[backwards ? i : k];

			if (early->kind == TCB_PTX_O_REG && late->kind == TCB_PTX_O_REG && early->reg == late->reg)
				return 0;
		}
	return 1;
}

/* mov.v2.u32 and the like, which ptxas takes and GCC writes: one mov for each element.  0 when it is something else. */
static int add_vector_move(struct tcb_ptx_parser *p, const struct head *head, char *mnemonic, size_t length,
			   const struct tcb_ptx_operand *operands, unsigned count)
{
	const struct tcb_ptx_token none = { 0 };
	const struct tcb_ptx_operand *to = &operands[0], *from = &operands[1];
	int backwards;

	if (!(begins(mnemonic, length, "mov.v2") || begins(mnemonic, length, "mov.v4")) || count != 2 ||
	    to->kind != TCB_PTX_O_VECTOR || from->kind != TCB_PTX_O_VECTOR || to->count != from->count ||
	    to->count != (uint32_t)(mnemonic[5] - '0'))
		return 0;
	backwards = !is_safe_order(to, from, 0);
	if (backwards && !is_safe_order(to, from, 1))
		return 0;
	memmove(mnemonic + 3, mnemonic + 6, length - 6);
	for (uint32_t i = 0; i < to->count; i++) {
		uint32_t at = backwards ? to->count - 1 - i : i;
		const struct tcb_ptx_operand pair[2] = { to->items[at], from->items[at] };

		if (pair[0].kind != TCB_PTX_O_SINK)
			add_instruction(p, head, mnemonic, length - 3, pair, 2, &none);
	}
	return 1;
}

static void read_instruction(struct tcb_ptx_parser *p, const struct tcb_ptx_token *first, uint32_t guard, int negated)
{
	const struct head head = { first, guard, negated };
	struct tcb_ptx_operand operands[OPERANDS_MAX];
	char mnemonic[MNEMONIC_MAX + 1];
	size_t length = read_mnemonic(p, first, mnemonic);
	struct tcb_ptx_token target = { 0 };
	unsigned count = read_operands(p, mnemonic, length, operands, &target);
	const struct tcb_ptx_ins *ins;

	tcb_ptx_expect(p, ';');
	unwrap_single(mnemonic, length, operands, count);
	if (add_vector_move(p, &head, mnemonic, length, operands, count))
		return;
	ins = add_instruction(p, &head, mnemonic, length, operands, count, &target);
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
