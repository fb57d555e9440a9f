/* SPDX-License-Identifier: MIT
 *
 * Whether it matters that a kernel reads shared memory that nobody wrote.  Some
 * correct code does (CUB's merges look one element too far, and then do not take
 * it).  So a launch in which nothing worse was found is run again with other
 * bytes there: what then comes out the same was not decided by them.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx/emulate/emu_program.h"

enum { HELD_MAX = 64, OTHER_FILL = 0x3c };

/* Findings wait until that is known. */
struct held {
	const struct tcb_ptx_sink *sink;
	struct tcb_ptx_finding findings[HELD_MAX];
	unsigned count, others; /* others: errors of another kind */
};

static void hold(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct held *held = ctx;

	if (finding->rule == TCB_PTX_RULE_UNWRITTEN_SHARED && held->count < HELD_MAX) {
		held->findings[held->count++] = *finding;
		return;
	}
	held->others += finding->severity == TCB_PTX_ERROR;
	if (held->sink && held->sink->see)
		held->sink->see(held->sink->ctx, finding);
}

static void let_go(struct held *held, int is_harmless)
{
	static const char harmless[] = "; no result depends on it";

	for (unsigned i = 0; i < held->count; i++) {
		struct tcb_ptx_finding *f = &held->findings[i];
		const size_t length = strlen(f->message);

		if (is_harmless) {
			f->severity = TCB_PTX_WARNING;
			if (length + sizeof harmless <= sizeof f->message)
				memcpy(f->message + length, harmless, sizeof harmless);
		}
		if (held->sink && held->sink->see)
			held->sink->see(held->sink->ctx, f);
	}
}

/* --- the two launches --- */

/* The launch once more on BEFORE: whether it leaves what is there now, which it leaves in any case. */
static int is_same_again(struct tcb_ptx_program *program, const struct tcb_ptx_launch *launch,
			 struct tcb_ptx_memory *memory, uint8_t *before)
{
	const size_t count = (program->count_total + 1u) * sizeof *program->counts;
	struct tcb_ptx_counts *counts = malloc(count);
	uint8_t *after = tcb_emu_keep(memory);
	struct tcb_ptx_launch again = *launch;
	struct tcb_error err;
	int is_same = 0;

	again.shared_fill = OTHER_FILL;
	again.progress = NULL;
	if (counts && after) {
		memcpy(counts, program->counts, count);
		tcb_emu_restore(memory, before);
		is_same = tcb_emu_launch(program, &again, memory, NULL, before, NULL, &err) == TCB_OK &&
			  tcb_emu_is_as_kept(memory, after);
		tcb_emu_restore(memory, after);
		memcpy(program->counts, counts, count);
	}
	free(counts);
	free(after);
	return is_same;
}

enum tcb_status tcb_ptx_emulate_twice(struct tcb_ptx_program *program, const struct tcb_ptx_launch *launch,
				      struct tcb_ptx_memory *memory, const struct tcb_ptx_sink *sink,
				      struct tcb_ptx_emulation *out, struct tcb_error *err)
{
	struct held *held;
	struct tcb_ptx_sink holding = { hold, NULL };
	uint8_t *before;
	enum tcb_status status;

	if (!program->shared_static && !launch->dynamic_shared)
		return tcb_ptx_emulate(program, launch, memory, sink, out, err);
	TCB_TRY(tcb_emu_load_variables(program, memory, err));
	held = calloc(1, sizeof *held);
	before = tcb_emu_keep(memory);
	if (!held || !before) {
		free(held);
		free(before);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a copy of what the kernel may write");
	}
	held->sink = sink;
	holding.ctx = held;
	status = tcb_emu_launch(program, launch, memory, &holding, before, out, err);
	if (status == TCB_OK && held->count && !held->others && is_same_again(program, launch, memory, before)) {
		let_go(held, 1);
		out->findings -= held->count;
	} else {
		let_go(held, 0);
	}
	if (status == TCB_OK && launch->is_stopped && launch->is_stopped(launch->progress_ctx))
		status = tcb_fail(err, TCB_E_INTERRUPTED, "interrupted");
	free(held);
	free(before);
	return status;
}
