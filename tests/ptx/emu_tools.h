/* SPDX-License-Identifier: MIT
 *
 * For tests that emulate PTX: a kernel from text or from tests/ptx/emulated,
 * text edits that plant a mistake, and the findings by rule.
 */
#ifndef TCB_TESTS_EMU_TOOLS_H
#define TCB_TESTS_EMU_TOOLS_H

#include "ptx_tools.h"

#include "ptx/emulate/emulate.h"
#include "ptx/text/text.h"

struct emu_job {
	struct tcb_ptx_module *module;
	struct tcb_ptx_program *program;
	struct tcb_ptx_memory *memory;
	struct tcb_ptx_emulation out;
	unsigned found[TCB_PTX_RULE_COUNT]; /* errors and warnings */
	char first[480];                    /* message of the first */
};

static inline void emu_see(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct emu_job *job = ctx;

	if (finding->severity == TCB_PTX_ADVICE)
		return;
	job->found[finding->rule]++;
	if (!job->first[0])
		snprintf(job->first, sizeof job->first, "line %u: %s", finding->line, finding->message);
}

static inline void emu_start(struct emu_job *job, const char *text)
{
	struct tcb_error err = { TCB_OK, "" };

	memset(job, 0, sizeof *job);
	if (tcb_ptx_parse("test", text, strlen(text), &job->module, &err) != TCB_OK ||
	    tcb_ptx_program_create(job->module->functions, &job->program, &err) != TCB_OK ||
	    tcb_ptx_memory_create(&job->memory, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static inline uint64_t emu_add(struct emu_job *job, const char *name, void *host, size_t bytes,
			       enum tcb_ptx_permission permission)
{
	struct tcb_error err = { TCB_OK, "" };
	uint64_t address = 0;

	if (tcb_ptx_memory_add(job->memory, name, host, bytes, 128, permission, &address, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return address;
}

static inline void emu_run(struct emu_job *job, const struct tcb_ptx_launch *launch)
{
	struct tcb_ptx_sink sink = { emu_see, job };
	struct tcb_error err = { TCB_OK, "" };

	if (tcb_ptx_emulate(job->program, launch, job->memory, &sink, &job->out, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

static inline unsigned emu_total(const struct emu_job *job)
{
	unsigned total = 0;

	for (unsigned i = 0; i < TCB_PTX_RULE_COUNT; i++)
		total += job->found[i];
	return total;
}

static inline void emu_expect_none(const struct emu_job *job)
{
	if (emu_total(job))
		fail_msg("%s", job->first);
}

static inline void emu_expect(const struct emu_job *job, enum tcb_ptx_rule rule)
{
	if (!job->found[rule])
		fail_msg("no finding of %s; first: %s", tcb_ptx_rule_name(rule), job->first[0] ? job->first : "none");
}

static inline void emu_end(struct emu_job *job)
{
	tcb_ptx_program_destroy(job->program);
	tcb_ptx_memory_destroy(job->memory);
	tcb_ptx_module_destroy(job->module);
}

/* tests/ptx/emulated/NAME; free it. */
static inline char *emu_read(const char *name)
{
	char path[512];
	char *text;

	snprintf(path, sizeof path, "%s/tests/ptx/emulated/%s", TCB_SOURCE_DIR, name);
	text = ptx_read(path);
	assert_non_null(text);
	return text;
}

/* TEXT with each OLD replaced by NEW (at least one); free it. */
static inline char *emu_edit(const char *text, const char *old, const char *new)
{
	struct tcb_str out = { 0 };
	const char *at = text, *next;
	unsigned count = 0;

	for (; (next = strstr(at, old)); at = next + strlen(old), count++)
		tcb_str_addf(&out, "%.*s%s", (int)(next - at), at, new);
	tcb_str_add(&out, at);
	if (!count)
		fail_msg("nothing to replace: %s", old);
	return out.data;
}

#endif
