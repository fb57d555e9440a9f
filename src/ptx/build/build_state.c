/* SPDX-License-Identifier: MIT
 *
 * The state of a builder on which all its files stand: the first error, whether
 * something may be appended and where, the version of PTX that is needed, names.
 */
#include "ptx/build/build_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "ptx/text/text.h"

enum { ALIGN_MAX = 4096, NAME_MAX_LENGTH = 200 };

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

int tcb_ptx_build_check_align(struct tcb_ptx_build *b, const char *name, unsigned align)
{
	if (align && align <= ALIGN_MAX && !(align & (align - 1)))
		return 1;
	tcb_ptx_build_fail(b, TCB_E_USAGE, "alignment: %u of '%.80s' is not a power of two up to %d", align, name,
			   ALIGN_MAX);
	return 0;
}

struct tcb_ptx_block *tcb_ptx_build_block(struct tcb_ptx_build *b, const char *label)
{
	struct tcb_ptx_block *block;

	if (b->status != TCB_OK)
		return NULL;
	block = tcb_ptx_block_new(b->function, b->block, label);
	if (!block) {
		tcb_ptx_build_nomem(b);
		return NULL;
	}
	block->loop = b->loop;
	return block;
}
