/* SPDX-License-Identifier: MIT
 *
 * Findings of the analyses in tests: collected, and compared with marks in the
 * text.  A line of PTX that must be found fault with ends in "// ! rule".
 */
#ifndef TCB_TESTS_FINDINGS_H
#define TCB_TESTS_FINDINGS_H

#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "ptx/analyse/analyses.h"
#include "ptx/ptx_tools.h"
#include "ptx/text/text.h"

enum { FINDINGS_MAX = 400 };

struct findings {
	struct tcb_ptx_finding list[FINDINGS_MAX];
	unsigned count, errors;
};

static inline void see_finding(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct findings *findings = ctx;

	assert_true(findings->count < FINDINGS_MAX);
	findings->list[findings->count++] = *finding;
	findings->errors += finding->severity == TCB_PTX_ERROR;
}

/* Everything that the analyses say of FUNCTION; its control-flow graph and numbers are made again. */
static inline void find_all(struct tcb_ptx_function *function, struct findings *out)
{
	const struct tcb_ptx_sink sink = { see_finding, out };
	struct tcb_ptx_dominators d;
	struct tcb_ptx_uniformity u;
	struct tcb_error err;

	tcb_ptx_number(function);
	if (tcb_ptx_cfg(function, &err) != TCB_OK || tcb_ptx_dominators(function, &d, &err) != TCB_OK ||
	    tcb_ptx_uniformity(function, &d, &u, &err) != TCB_OK ||
	    tcb_ptx_alignment(function, &sink, &err) != TCB_OK ||
	    tcb_ptx_barrier_safety(function, &d, &u, NULL, &sink, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static inline int has_finding(const struct findings *findings, enum tcb_ptx_rule rule)
{
	for (unsigned i = 0; i < findings->count; i++)
		if (findings->list[i].rule == rule)
			return 1;
	return 0;
}

/* Whether line number LINE of TEXT has the mark of RULE. */
static inline int is_marked(const char *text, uint32_t line, const char *rule)
{
	const char *end, *mark;

	while (--line)
		text = strchr(text, '\n') + 1;
	end = strchr(text, '\n');
	mark = strstr(text, "// ! ");
	return mark && mark < end && strncmp(mark + 5, rule, strlen(rule)) == 0 && mark[5 + strlen(rule)] == '\n';
}

/* The findings of all functions of TEXT are exactly its marks. */
static inline void check_marks(const char *text)
{
	static struct findings found;
	struct tcb_ptx_module *module;
	struct tcb_error err;
	unsigned marks = 0;

	if (tcb_ptx_parse("text", text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s\n%s", err.message, text);
	found.count = found.errors = 0;
	for (struct tcb_ptx_function *f = module->functions; f; f = f->next)
		if (!f->is_declaration)
			find_all(f, &found);
	for (const char *at = strstr(text, "// ! "); at; at = strstr(at + 1, "// ! "))
		marks++;
	for (unsigned i = 0; i < found.count; i++)
		if (!is_marked(text, found.list[i].line, tcb_ptx_rule_name(found.list[i].rule)))
			fail_msg("line %u is not marked: %s\n%s", found.list[i].line, found.list[i].message, text);
	if (found.count != marks)
		fail_msg("%u findings, %u marks in\n%s", found.count, marks, text);
	tcb_ptx_module_destroy(module);
}

/* A module of the corpus that nvcc wrote. */
static inline struct tcb_ptx_module *read_corpus(const char *name)
{
	struct tcb_ptx_module *module;
	struct tcb_error err;
	char path[512], *text;

	snprintf(path, sizeof path, "%s/tests/ptx/corpus/%s.ptx", TCB_SOURCE_DIR, name);
	text = ptx_read(path);
	assert_non_null(text);
	if (tcb_ptx_parse(name, text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	free(text);
	return module;
}

static const char *const corpus_names[] = {
	"atomics",    "block_reduce",    "calls",     "cp_async",         "half",     "histogram",   "hopper",
	"integer",    "locals",          "mma",       "reduce",           "shuffles", "softmax_row", "switch",
	"tiled_gemm", "tiled_transpose", "transpose", "warp_specialised",
};
enum { CORPUS_NAMES = sizeof corpus_names / sizeof *corpus_names };

#endif
