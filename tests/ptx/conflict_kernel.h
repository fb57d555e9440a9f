/* SPDX-License-Identifier: MIT
 *
 * One warp reads a tile of 32 rows in shared memory, along rows or down columns:
 * the kernel behind the table of bank conflicts.
 */
#ifndef TCB_TESTS_CONFLICT_KERNEL_H
#define TCB_TESTS_CONFLICT_KERNEL_H

#include "cmocka_all.h"

#include "run_kernel.h"
#include "swizzle.h"

#include "ptx/analyse/predict.h"
#include "ptx/ir/opcodes.h"

enum conflict_walk {
	WALK_ROW,    /* lane t reads word (k, t) */
	WALK_COLUMN, /* lane t reads word (t, k) */
	WALK_CHUNKS, /* lane t reads the 16 bytes (t, k) */
	WALK_COUNT
};

enum { CONFLICT_ROWS = 32, CONFLICT_STEPS = 16 };

/* Whether the walk makes sense: the form is closed on the tile, and keeps 16 bytes whole where they are read at once.
 */
static inline int conflict_applies(const struct tcb_ptx_tile *tile, enum conflict_walk walk)
{
	size_t granule = walk == WALK_CHUNKS ? 4 : 1;

	/* W + 1 keeps no chunk aligned, whatever the granule is */
	if (walk == WALK_CHUNKS && tcb_ptx_tile_row(tile) % 4)
		return 0;
	return tcb_ptx_tile_is_closed(tile, CONFLICT_ROWS, granule);
}

/* Byte address that LANE reads in step K. */
static inline uint64_t conflict_address(const struct tcb_ptx_tile *tile, enum conflict_walk walk, unsigned lane,
					unsigned k)
{
	size_t per_row = tile->pitch < 32 ? tile->pitch : 32;

	if (walk == WALK_ROW) /* rows of less than 32 words: as many as a warp spans */
		return 4 *
		       tcb_ptx_tile_word(tile, (k * (32 / per_row) + lane / per_row) % CONFLICT_ROWS, lane % per_row);
	if (walk == WALK_COLUMN)
		return 4 * tcb_ptx_tile_word(tile, lane, k % tile->pitch);
	return 4 * tcb_ptx_tile_word(tile, lane, 4 * (k % (tile->pitch / 4)));
}

/* The kernel: fills the tile, waits, reads it CONFLICT_STEPS times, and stores the sum of what each lane read. */
static inline struct tcb_ptx_module *conflict_kernel(const struct tcb_ptx_tile *tile, enum conflict_walk walk)
{
	struct tcb_ptx_directives directives = { .reqntid = { 32, 1, 1 } };
	struct tcb_ptx_target target = { 80, 0 };
	uint64_t words = (uint64_t)tcb_ptx_tile_row(tile) * CONFLICT_ROWS;
	uint32_t per_row = tile->pitch < 32 ? tile->pitch : 32;
	struct tcb_ptx_operand out, base, lane, sum;
	struct tcb_ptx_module *module;
	struct tcb_ptx_operand fill;
	struct tcb_ptx_build b;
	struct tcb_error err;

	assert_int_equal(tcb_ptx_build_init(&b, &target, &err), TCB_OK);
	tcb_ptx_kernel_begin(&b, "conflicts", &directives);
	out = tcb_ptx_param_pointer(&b, "out", 128);
	base = tcb_ptx_op1(&b, "mov.u32", tcb_ptx_shared(&b, "tile", 128, words * 4));
	lane = tcb_ptx_op1(&b, "mov.u32", tcb_ptx_special(&b, "tid.x"));
	fill = tcb_ptx_for_begin(&b, tcb_ptx_int(0), tcb_ptx_int((int64_t)words), tcb_ptx_int(32), 1);
	{
		struct tcb_ptx_operand i = tcb_ptx_op2(&b, "add.u32", fill, lane);
		struct tcb_ptx_operand at = tcb_ptx_op3(&b, "mad.lo.u32", i, tcb_ptx_int(4), base);

		tcb_ptx_store(&b, "st.shared.u32", tcb_ptx_at(at, 0), &i, 1);
	}
	tcb_ptx_for_end(&b);
	tcb_ptx_op1(&b, "bar.sync", tcb_ptx_int(0));
	sum = tcb_ptx_op1(&b, "mov.u32", tcb_ptx_int(0));
	for (unsigned k = 0; k < CONFLICT_STEPS; k++) {
		struct tcb_ptx_operand r = lane, c, at, v[4];

		if (walk == WALK_ROW) {
			r = tcb_ptx_op2(&b, "div.u32", lane, tcb_ptx_int(per_row));
			r = tcb_ptx_op2(&b, "add.u32", r, tcb_ptx_int(k * (32 / per_row) % CONFLICT_ROWS));
			r = tcb_ptx_op2(&b, "and.b32", r, tcb_ptx_int(CONFLICT_ROWS - 1));
			c = tcb_ptx_op2(&b, "rem.u32", lane, tcb_ptx_int(per_row));
		} else {
			c = tcb_ptx_int(walk == WALK_COLUMN ? k % tile->pitch : 4 * (k % (tile->pitch / 4)));
		}
		at = tcb_ptx_op3(&b, "mad.lo.u32", tcb_ptx_tile_emit(&b, tile, r, c), tcb_ptx_int(4), base);
		if (walk == WALK_CHUNKS) {
			at = tcb_ptx_assume_aligned(&b, at, 16);
			tcb_ptx_load(&b, "ld.shared.v4.u32", tcb_ptx_at(at, 0), v, 4);
		} else {
			tcb_ptx_load(&b, "ld.shared.u32", tcb_ptx_at(at, 0), v, 1);
		}
		for (int i = 0; i < (walk == WALK_CHUNKS ? 4 : 1); i++)
			sum = tcb_ptx_op2(&b, "add.u32", sum, v[i]);
	}
	lane = tcb_ptx_op3(&b, "mad.wide.u32", lane, tcb_ptx_int(4), out);
	tcb_ptx_store(&b, "st.global.u32", tcb_ptx_at(lane, 0), &sum, 1);
	tcb_ptx_kernel_end(&b);
	if (tcb_ptx_build_finish(&b, &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return module;
}

static inline int conflict_is_read(const struct tcb_ptx_ins *ins)
{
	return ins->op == TCB_PTX_OP_LD && tcb_ptx_mod(ins, TCB_PTX_SLOT_SPACE) == TCB_PTX_SHARED;
}

/* Wavefronts of the reads as the emulator counts them, all steps together; the worst one's in *WORST. */
static inline unsigned conflict_emulated(struct tcb_ptx_module *module, unsigned *worst)
{
	struct tcb_ptx_function *function = module->functions;
	struct kernel_run run = { .by_ins = calloc(function->ins_count, sizeof *run.by_ins) };
	unsigned total = 0;

	assert_non_null(run.by_ins);
	run_kernel(function, 32, 0, 0, &run);
	if (run.races || run.others)
		fail_msg("%s", run.last);
	*worst = 0;
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			unsigned one = (unsigned)run.by_ins[ins->number].wavefronts;

			if (!conflict_is_read(ins))
				continue;
			assert_int_equal(run.by_ins[ins->number].requests, 1);
			total += one;
			*worst = one > *worst ? one : *worst;
		}
	free(run.by_ins);
	return total;
}

/* Predicted wavefronts of the reads, all steps together; the worst one's in *WORST. */
static inline unsigned conflict_predicted(struct tcb_ptx_module *module, unsigned *worst)
{
	struct tcb_ptx_function *function = module->functions;
	struct tcb_ptx_affine *affine;
	struct tcb_error err;
	unsigned total = 0, reads = 0;

	assert_int_equal(tcb_ptx_affine_create(function, NULL, &affine, &err), TCB_OK);
	*worst = 0;
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next) {
			struct tcb_ptx_prediction p;

			if (!conflict_is_read(ins))
				continue;
			assert_true(tcb_ptx_predict(affine, ins, 1, &p));
			assert_int_equal(p.space, TCB_PTX_SHARED);
			assert_int_equal(p.certainty, TCB_PTX_PREDICTED);
			assert_int_equal(p.least, p.most);
			assert_int_equal(p.warps, 1);
			total += (unsigned)p.most;
			*worst = p.most > *worst ? (unsigned)p.most : *worst;
			reads++;
		}
	assert_int_equal(reads, CONFLICT_STEPS);
	tcb_ptx_affine_destroy(affine);
	return total;
}

#endif
