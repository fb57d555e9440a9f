/* SPDX-License-Identifier: MIT
 *
 * Structured control: if, counted loops, waiting loops.  Each scope makes the
 * blocks that it leads to when it opens, behind the current one; what is built
 * inside comes in between, so the text has the order of the calls.
 */
#include "ptx/build/build_parts.h"
#include "ptx/ir/opcodes.h"

#include <string.h>

/* Labels begin with $, which no other name does. */
static const char *label(struct tcb_ptx_build *b, const char *what, unsigned number)
{
	return tcb_ptx_namef(b, "$%s%u", what, number);
}

static int may_open(struct tcb_ptx_build *b, const char *what)
{
	if (!tcb_ptx_build_ready(b))
		return 0;
	if (b->guard != TCB_PTX_NO_REG)
		tcb_ptx_build_fail(b, TCB_E_USAGE, "usage: %s stands under a guard; end the guard first", what);
	return b->status == TCB_OK;
}

/* Opens a scope for WHAT; NULL after an error. */
static struct tcb_ptx_scope *open_scope(struct tcb_ptx_build *b, const char *what)
{
	if (!may_open(b, what))
		return NULL;
	if (b->depth == TCB_PTX_SCOPES_MAX) {
		tcb_ptx_build_fail(b, TCB_E_USAGE, "usage: more than %d scopes in each other", TCB_PTX_SCOPES_MAX);
		return NULL;
	}
	return memset(&b->scope[b->depth++], 0, sizeof *b->scope);
}

/* The innermost scope, to which WHAT belongs, a loop or an if; NULL after an error. */
static struct tcb_ptx_scope *innermost(struct tcb_ptx_build *b, int is_loop, const char *what)
{
	struct tcb_ptx_scope *scope = b->depth ? &b->scope[b->depth - 1] : NULL;

	if (!may_open(b, what))
		return NULL;
	if (!scope || !(is_loop ? (void *)scope->loop : (void *)scope->otherwise)) {
		tcb_ptx_build_fail(b, TCB_E_USAGE, "usage: %s without its begin", what);
		return NULL;
	}
	return scope;
}

/* Jumps to TO, under PREDICATE unless it is NULL. */
static void jump(struct tcb_ptx_build *b, struct tcb_ptx_block *to, const struct tcb_ptx_operand *predicate)
{
	struct tcb_ptx_operand target = { .kind = TCB_PTX_O_BLOCK, .reg = TCB_PTX_NO_REG };

	if (b->status != TCB_OK)
		return;
	target.block = to;
	if (predicate)
		tcb_ptx_guard(b, *predicate);
	tcb_ptx_op1(b, "bra", target);
	tcb_ptx_unguard(b);
}

/* The block that a terminator opened, if nothing came after it: it gives way to the next one. */
static void drop_empty(struct tcb_ptx_build *b, struct tcb_ptx_block *next)
{
	struct tcb_ptx_block *block = b->block;

	if (block->first || block->label || !block->prev)
		return;
	tcb_ptx_block_remove(block);
	b->block = next;
}

/* Whether control gets to the builder's place. */
static int is_reached(const struct tcb_ptx_build *b)
{
	return b->block->first || b->block->label || !b->block->prev || tcb_ptx_falls_through(b->block->prev);
}

/* --- if --- */

void tcb_ptx_if_begin(struct tcb_ptx_build *b, struct tcb_ptx_operand predicate)
{
	struct tcb_ptx_operand skip = tcb_ptx_not(predicate);
	struct tcb_ptx_scope *scope = open_scope(b, "if");

	if (!scope)
		return;
	scope->otherwise = tcb_ptx_build_block(b, label(b, "if", b->label_count++));
	jump(b, scope->otherwise, &skip);
}

void tcb_ptx_if_else(struct tcb_ptx_build *b)
{
	struct tcb_ptx_scope *scope = innermost(b, 0, "else");

	if (!scope)
		return;
	if (scope->has_else) {
		tcb_ptx_build_fail(b, TCB_E_USAGE, "usage: a second else of the same if");
		return;
	}
	scope->has_else = 1;
	if (is_reached(b)) {
		struct tcb_ptx_block *then = b->block;

		b->block = scope->otherwise;
		scope->join = tcb_ptx_build_block(b, label(b, "fi", b->label_count++));
		b->block = then;
		jump(b, scope->join, NULL);
	}
	if (b->status == TCB_OK)
		drop_empty(b, scope->otherwise);
	b->block = scope->otherwise;
}

void tcb_ptx_if_end(struct tcb_ptx_build *b)
{
	struct tcb_ptx_scope *scope = innermost(b, 0, "the end of an if");

	if (!scope)
		return;
	b->depth--;
	if (scope->has_else && !scope->join)
		return; /* the first part ended the thread: go on behind the second */
	if (!is_reached(b))
		drop_empty(b, NULL);
	b->block = scope->has_else ? scope->join : scope->otherwise;
}

/* --- loops --- */

/* Opens a loop whose header is a new block; the caller has tested whether it runs at all. */
static void open_loop(struct tcb_ptx_build *b, struct tcb_ptx_scope *scope, unsigned number)
{
	struct tcb_ptx_loop *loop = tcb_arena_alloc(&b->module->arena, sizeof *loop), **at;

	if (b->status != TCB_OK)
		return;
	if (!loop) {
		tcb_ptx_build_nomem(b);
		return;
	}
	if (b->loop && b->loop->depth == TCB_PTX_LOOP_DEPTH_MAX) {
		tcb_ptx_build_fail(b, TCB_E_USAGE, "usage: more than %d loops in each other", TCB_PTX_LOOP_DEPTH_MAX);
		return;
	}
	loop->parent = b->loop;
	loop->depth = b->loop ? b->loop->depth + 1 : 1;
	loop->exit = scope->exit;
	for (at = &b->function->loops; *at;)
		at = &(*at)->next;
	*at = loop;
	b->loop = loop;
	scope->loop = loop;
	scope->header = loop->header = tcb_ptx_build_block(b, label(b, "loop", number));
	if (scope->header)
		b->block = scope->header;
}

static void close_loop(struct tcb_ptx_build *b, struct tcb_ptx_scope *scope, struct tcb_ptx_operand predicate)
{
	if (b->status != TCB_OK)
		return;
	scope->loop->latch = b->block;
	jump(b, scope->header, &predicate);
	if (b->status == TCB_OK)
		drop_empty(b, scope->exit);
	b->loop = scope->loop->parent;
	b->block = scope->exit;
	b->depth--;
}

struct tcb_ptx_operand tcb_ptx_for_begin(struct tcb_ptx_build *b, struct tcb_ptx_operand begin,
					 struct tcb_ptx_operand end, struct tcb_ptx_operand step, int never_empty)
{
	unsigned number = b->label_count++;
	int known =
		begin.kind == TCB_PTX_O_INT && end.kind == TCB_PTX_O_INT && (uint32_t)begin.bits < (uint32_t)end.bits;
	struct tcb_ptx_scope *scope = open_scope(b, "for");

	if (!scope)
		return tcb_ptx_sink_operand();
	if (step.kind == TCB_PTX_O_INT && !(uint32_t)step.bits) {
		tcb_ptx_build_fail(b, TCB_E_USAGE, "usage: a loop whose step is 0 never ends");
		return tcb_ptx_sink_operand();
	}
	scope->end = end;
	scope->step = step;
	scope->iv = tcb_ptx_op1(b, "mov.u32", begin);
	never_empty |= known;
	if (!never_empty) {
		struct tcb_ptx_operand none = tcb_ptx_op2(b, "setp.ge.u32", scope->iv, end);

		scope->exit = tcb_ptx_build_block(b, label(b, "done", number));
		jump(b, scope->exit, &none);
	} else {
		scope->exit = tcb_ptx_build_block(b, NULL);
	}
	open_loop(b, scope, number);
	return scope->iv;
}

void tcb_ptx_for_end(struct tcb_ptx_build *b)
{
	struct tcb_ptx_scope *scope = innermost(b, 1, "the end of a for");
	struct tcb_ptx_operand more;

	if (!scope)
		return;
	tcb_ptx_into2(b, "add.u32", scope->iv, scope->iv, scope->step);
	more = tcb_ptx_op2(b, "setp.lt.u32", scope->iv, scope->end);
	close_loop(b, scope, more);
}

void tcb_ptx_repeat_begin(struct tcb_ptx_build *b)
{
	struct tcb_ptx_scope *scope = open_scope(b, "repeat");

	if (!scope)
		return;
	scope->exit = tcb_ptx_build_block(b, NULL);
	open_loop(b, scope, b->label_count++);
}

void tcb_ptx_repeat_end(struct tcb_ptx_build *b, struct tcb_ptx_operand predicate)
{
	struct tcb_ptx_scope *scope = innermost(b, 1, "the end of a repeat");

	if (scope)
		close_loop(b, scope, predicate);
}

/* --- the end of a kernel --- */

/* The first block at or after BLOCK that is not empty. */
static struct tcb_ptx_block *beyond(struct tcb_ptx_block *block)
{
	while (block && !block->first && block->next)
		block = block->next;
	return block;
}

void tcb_ptx_build_tidy(struct tcb_ptx_build *b)
{
	struct tcb_ptx_block *block, *next;
	struct tcb_ptx_operand *target;

	for (struct tcb_ptx_loop *loop = b->function->loops; loop; loop = loop->next) {
		loop->header = beyond(loop->header);
		loop->exit = beyond(loop->exit);
	}
	for (block = b->function->first; block; block = block->next)
		block->number = 0; /* jumps to it */
	for (block = b->function->first; block; block = block->next)
		if (block->last && block->last->op == TCB_PTX_OP_BRA) {
			target = &block->last->operands[0];
			target->block = beyond(target->block);
			target->block->number++;
		}
	for (block = b->function->first; block; block = next) {
		next = block->next;
		if (!block->number)
			block->label = NULL;
		if (!block->first && next && (block != b->function->first || !next->label))
			tcb_ptx_block_remove(block);
	}
}
