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

/* --- what memory holds --- */

static uint64_t writable_bytes(const struct tcb_ptx_memory *memory)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < memory->region_count; i++)
		bytes += memory->regions[i].permission == TCB_PTX_MAY_WRITE ? memory->regions[i].bytes : 0;
	return bytes;
}

enum direction { KEEP, RESTORE, COMPARE };

/* Between what may be written and BYTES; whether it is equal. */
static int pass_over(struct tcb_ptx_memory *memory, uint8_t *bytes, enum direction direction)
{
	int is_equal = 1;

	for (uint32_t i = 0; i < memory->region_count; i++) {
		const struct tcb_emu_region *region = &memory->regions[i];

		if (region->permission != TCB_PTX_MAY_WRITE)
			continue;
		if (direction == COMPARE)
			is_equal &= memcmp(bytes, region->host, region->bytes) == 0;
		else
			memcpy(direction == KEEP ? bytes : region->host, direction == KEEP ? region->host : bytes,
			       region->bytes);
		bytes += region->bytes;
	}
	return is_equal;
}

/* --- the two launches --- */

/* The launch once more on BEFORE: whether it leaves what is there now, which it leaves in any case. */
static int is_same_again(struct tcb_ptx_program *program, const struct tcb_ptx_launch *launch,
			 struct tcb_ptx_memory *memory, uint8_t *before)
{
	const size_t count = (program->count_total + 1u) * sizeof *program->counts;
	struct tcb_ptx_counts *counts = malloc(count);
	uint8_t *after = malloc(writable_bytes(memory) + 1);
	struct tcb_ptx_launch again = *launch;
	struct tcb_error err;
	int is_same = 0;

	again.shared_fill = OTHER_FILL;
	again.progress = NULL;
	if (counts && after) {
		memcpy(counts, program->counts, count);
		pass_over(memory, after, KEEP);
		pass_over(memory, before, RESTORE);
		is_same = tcb_ptx_emulate(program, &again, memory, NULL, NULL, &err) == TCB_OK &&
			  pass_over(memory, after, COMPARE);
		pass_over(memory, after, RESTORE);
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

	TCB_TRY(tcb_emu_load_variables(program, memory, err));
	held = calloc(1, sizeof *held);
	before = malloc(writable_bytes(memory) + 1);
	if (!held || !before) {
		free(held);
		free(before);
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a copy of what the kernel may write");
	}
	held->sink = sink;
	holding.ctx = held;
	pass_over(memory, before, KEEP);
	status = tcb_ptx_emulate(program, launch, memory, &holding, out, err);
	if (status == TCB_OK && held->count && !held->others && is_same_again(program, launch, memory, before)) {
		let_go(held, 1);
		out->findings -= held->count;
	} else {
		let_go(held, 0);
	}
	free(held);
	free(before);
	return status;
}
