/* SPDX-License-Identifier: MIT
 *
 * For tests of passes: a kernel from the lines of its body, a pass run on it,
 * and the lines that come out.
 *
 * The kernel's registers are %x (32 bits), %z (64), %h (16), %y (f32), %w (f64)
 * and %q (predicates), 64 of each; %x0-3, %y0-3, %z0-3, %w0-3, %q0-1 hold values
 * that nobody knows.  What a pass makes new is called %r, %rd, %rs, %f, %fd, %p.
 */
#ifndef TCB_TESTS_PASS_TOOLS_H
#define TCB_TESTS_PASS_TOOLS_H

#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "ptx/analyse/legality.h"
#include "ptx/ir/opcodes.h"
#include "ptx/optimise/passes.h"
#include "ptx/text/text.h"

#define PASS_BEGIN ".pragma \"begin\";\n"

static const char pass_head[] = ".version 8.7\n.target sm_90\n.address_size 64\n"
				".visible .entry kernel(.param .u64 out, .param .align 16 .b8 in[128])\n{\n"
				".reg .b32 %x<64>;\n.reg .b64 %z<64>;\n.reg .b16 %h<64>;\n.reg .f32 %y<64>;\n"
				".reg .f64 %w<64>;\n.reg .pred %q<64>;\n.shared .align 16 .b8 tile[1024];\n"
				"ld.param.u64 %z0, [out];\nld.param.u64 %z1, [in+8];\nld.param.u64 %z2, [in+16];\n"
				"ld.param.u64 %z3, [in+24];\n"
				"ld.param.u32 %x0, [in+32];\nld.param.u32 %x1, [in+36];\nld.param.u32 %x2, [in+40];\n"
				"ld.param.u32 %x3, [in+44];\n"
				"ld.param.f32 %y0, [in+48];\nld.param.f32 %y1, [in+52];\nld.param.f32 %y2, [in+56];\n"
				"ld.param.f32 %y3, [in+60];\n"
				"ld.param.f64 %w0, [in+64];\nld.param.f64 %w1, [in+72];\nld.param.f64 %w2, [in+80];\n"
				"ld.param.f64 %w3, [in+88];\n"
				"setp.lt.u32 %q0, %x0, %x1;\nsetp.lt.u32 %q1, %x2, %x3;\n" PASS_BEGIN;

/* The kernel whose body is BODY (ret is added). */
static inline struct tcb_ptx_module *pass_kernel(const char *body)
{
	struct tcb_str text = { 0 };
	struct tcb_ptx_module *module = NULL;
	struct tcb_error err;

	tcb_str_addf(&text, "%s%sret;\n}\n", pass_head, body);
	if (tcb_ptx_parse("test", text.data, text.length, &module, &err) != TCB_OK)
		fail_msg("%s\n%s", err.message, body);
	tcb_str_fini(&text);
	if (tcb_ptx_verify(module, &err) != TCB_OK)
		fail_msg("%s\n%s", err.message, body);
	return module;
}

/* The lines after PASS_BEGIN, without tabs, the closing ret and brace; freed by the caller. */
static inline char *pass_lines(const struct tcb_ptx_function *function)
{
	struct tcb_str text = { 0 };
	char *out, *to, *end;
	const char *from;

	tcb_ptx_print_function(function, &text);
	assert_false(text.failed);
	from = strstr(text.data, PASS_BEGIN);
	assert_non_null(from);
	from += strlen(PASS_BEGIN);
	to = out = malloc(strlen(from) + 1);
	assert_non_null(out);
	for (; *from; from++)
		if (*from != '\t')
			*to++ = *from;
	*to = 0;
	end = out + strlen(out) - strlen("ret;\n}\n");
	if (end >= out && strcmp(end, "ret;\n}\n") == 0)
		*end = 0;
	tcb_str_fini(&text);
	return out;
}

/* Runs PASS; the result must verify. */
static inline unsigned pass_run(const char *pass, struct tcb_ptx_module *module,
				const struct tcb_ptx_pass_options *options)
{
	const struct tcb_ptx_pass *row = tcb_ptx_pass_find(pass);
	struct tcb_ptx_pass_options defaults;
	struct tcb_error err;
	unsigned changed = 0;

	assert_non_null(row);
	tcb_ptx_pass_defaults(&defaults);
	if (row->run(module->functions, options ? options : &defaults, &changed, &err) != TCB_OK)
		fail_msg("%s: %s", pass, err.message);
	if (tcb_ptx_cfg(module->functions, &err) != TCB_OK || tcb_ptx_verify(module, &err) != TCB_OK) {
		char *lines = pass_lines(module->functions);

		fail_msg("after %s: %s\n%s", pass, err.message, lines);
	}
	return changed;
}

struct pass_golden {
	const char *title, *before, *after; /* AFTER NULL: nothing changes */
};

static inline void pass_check_with(const char *pass, const struct pass_golden *golden,
				   const struct tcb_ptx_pass_options *options)
{
	struct tcb_ptx_module *module = pass_kernel(golden->before);
	char *before = pass_lines(module->functions), *after, *again;
	unsigned changed = pass_run(pass, module, options);

	after = pass_lines(module->functions);
	if (strcmp(after, golden->after ? golden->after : before) != 0)
		fail_msg("%s, %s:\n%sbecame\n%snot\n%s", pass, golden->title, before, after,
			 golden->after ? golden->after : before);
	assert_true(changed || !golden->after); /* unused inputs of the kernel may go */
	changed = pass_run(pass, module, options);
	again = pass_lines(module->functions);
	if (changed || strcmp(again, after) != 0)
		fail_msg("%s, %s: a second run changes %u:\n%sto\n%s", pass, golden->title, changed, after, again);
	free(before);
	free(after);
	free(again);
	tcb_ptx_module_destroy(module);
}

static inline void pass_check(const char *pass, const struct pass_golden *golden, size_t count)
{
	for (size_t i = 0; i < count; i++)
		pass_check_with(pass, &golden[i], NULL);
}

#endif
