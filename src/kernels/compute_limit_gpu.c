/* SPDX-License-Identifier: MIT
 *
 * Kernels that do nothing but one instruction of arithmetic: fma, dp4a, mma.sync
 * or wgmma.  In: what is multiplied, and the GPU; out: a kernel for each
 * instruction that does so.  Operands are random numbers that are made once, since
 * zeros take less power and let a GPU clock higher; sums are added to as many
 * registers as hide an instruction's latency.  What comes out is folded into a
 * store that never happens, so that nothing is left out.
 */
#include <string.h>

#include "kernels/compute_limit.h"
#include "kernels/gpu/frame.h"
#include "kernels/gpu/tile_ring.h"
#include "kernels/limit_gpu.h"

enum {
	FORMS_MAX = 2, /* of a kind */
	THREADS = 256,
	BLOCKS = 2,  /* on a multiprocessor: 16 warps, four on each quarter */
	CHAINS = 16, /* sums of a thread that fma and dp4a add to */
	FACTORS = 4, /* of each operand: CHAINS is their product */
	TILES_A = 2, /* fragments of mma.sync */
	TILES_B = 4,
	/* Of all sums, a step: what counts the steps is a sixtieth of what fma issues, and the loop stays well below
	 * 256 instructions.  So many are issued one a cycle with all quarters of a multiprocessor at them, 512 one in
	 * two cycles, since they are fetched each time (results/h200/gpu_rates.txt). */
	SCALAR_ROUNDS = 12,
	ROUNDS = 4,
	GROUPS = 2, /* warpgroups of a block of wgmma, one on a multiprocessor */
	GROUP_ROWS = 64,
	COLUMNS = 256,
	PARTS = 4, /* products along a row of 128 bytes, each of 32 bytes of k */
	PART_BYTES = TCB_KIT_BOX_BYTES / PARTS,
	A_BYTES = GROUP_ROWS * TCB_KIT_BOX_BYTES, /* of a warpgroup */
	SHARED_BYTES = GROUPS * A_BYTES + COLUMNS * TCB_KIT_BOX_BYTES,
	NEVER = 0x5eed1e55, /* what one in 2^32 threads would store */
};

/* What a kernel is written for. */
struct form {
	enum tcb_isa isa;
	enum tcb_compute_kind kind;
	unsigned capability;
};

/* An instruction of matrices: values of k, and registers of a thread's fragments; 0 where there are none. */
struct fragment {
	const char *type; /* NULL: bytes */
	unsigned m, n, k, a, b, d;
};

static struct fragment fragment_of(const struct form *form)
{
	const int is_old = form->capability < 80;
	switch (form->kind) {
	case TCB_COMPUTE_INT8:
		if (is_old)
			return (struct fragment){ NULL, 8, 8, 16, 1, 1, 2 };
		return (struct fragment){ NULL, 16, 8, 32, 4, 2, 4 };
	case TCB_COMPUTE_BF16:
		return (struct fragment){ "bf16", 16, 8, 16, 4, 2, 4 };
	default:
		if (is_old)
			return (struct fragment){ "f16", 16, 8, 8, 2, 1, 4 };
		return (struct fragment){ "f16", 16, 8, 16, 4, 2, 4 };
	}
}

/* The instructions that multiply KIND; where nothing multiplies bf16, floats are multiplied. */
static size_t find_forms(enum tcb_compute_kind kind, const struct tcb_target *target, struct form out[FORMS_MAX])
{
	const unsigned capability = target->cuda.capability;
	size_t count = 0;
	if (kind == TCB_COMPUTE_F32 || (kind == TCB_COMPUTE_BF16 && capability < 80)) {
		out[0] = (struct form){ TCB_ISA_FMA, TCB_COMPUTE_F32, capability };
		return 1;
	}
	if (kind == TCB_COMPUTE_INT8 || kind == TCB_COMPUTE_INT8_SYNC) {
		out[count++] = (struct form){ TCB_ISA_MMA, TCB_COMPUTE_INT8, capability };
		out[count++] = (struct form){ TCB_ISA_DP4A, TCB_COMPUTE_INT8, capability };
		return count;
	}
	if (tcb_target_has(target, TCB_ISA_WGMMA))
		out[count++] = (struct form){ TCB_ISA_WGMMA, kind, capability };
	out[count++] = (struct form){ TCB_ISA_MMA, kind, capability };
	return count;
}

/* --- operands --- */

/* Bits that look random, of SEED (.u32) and NUMBER. */
static kit_op random_bits(struct tcb_ptx_build *b, kit_op seed, unsigned number)
{
	const kit_op mixed = u_mad(b, seed, I(0x9e3779b1), I((int64_t)(number * 0x85ebca6bu + 1)));
	const kit_op folded = u_xor(b, mixed, u_shr(b, mixed, I(15)));
	const kit_op spread = u_mul(b, folded, I(0xc2b2ae35));
	return u_xor(b, spread, u_shr(b, spread, I(13)));
}

/* The same as values of KIND: floats of 0.5 to 1 in magnitude of either sign, or any bytes. */
static kit_op random_values(struct tcb_ptx_build *b, enum tcb_compute_kind kind, kit_op seed, unsigned number)
{
	static const uint32_t keep[TCB_COMPUTE_COUNT] = {
		[TCB_COMPUTE_F32] = 0x807fffff, [TCB_COMPUTE_BF16] = 0x807f807f, [TCB_COMPUTE_F16] = 0x83ff83ff
	};
	static const uint32_t set[TCB_COMPUTE_COUNT] = {
		[TCB_COMPUTE_F32] = 0x3f000000, [TCB_COMPUTE_BF16] = 0x3f003f00, [TCB_COMPUTE_F16] = 0x38003800
	};
	const kit_op bits = random_bits(b, seed, number);
	if (kind == TCB_COMPUTE_INT8)
		return bits;
	return u_and_or(b, bits, I((int32_t)keep[kind]), I((int32_t)set[kind]));
}

/* A thread's own seed. */
static kit_op seed_of(struct tcb_kit *kit)
{
	return u_mad(&kit->b, u_block_x(&kit->b), I(THREADS), kit->tid);
}

static void clear(struct tcb_kit *kit, enum tcb_compute_kind kind, kit_op *sums, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		sums[i] = kind == TCB_COMPUTE_INT8 ? s_set(&kit->b, I(0)) : f_set(&kit->b, F(0));
}

/* Uses SUMS. */
static void keep_sums(struct tcb_kit *kit, const kit_op *sums, unsigned count, kit_op to)
{
	struct tcb_ptx_build *b = &kit->b;
	kit_op folded = b_set(b, sums[0]);
	for (unsigned i = 1; i < count; i++)
		folded = u_xor(b, folded, b_set(b, sums[i]));
	tcb_kit_put_where(b, u_eq(b, folded, I(NEVER)), TCB_KIT_GLOBAL, "b32", to, folded);
}

/* --- steps --- */

struct writer {
	struct tcb_kit kit;
	struct form form;
	kit_op to, steps;
	double operations; /* of a step and block */
};

/* fma or dp4a: each sum gets the product of two of FACTORS. */
static void write_scalar(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const int is_dp4a = w->form.isa == TCB_ISA_DP4A;
	const kit_op seed = seed_of(&w->kit);
	kit_op x[FACTORS], y[FACTORS], sums[CHAINS];
	for (unsigned i = 0; i < FACTORS; i++) {
		x[i] = random_values(b, w->form.kind, seed, i);
		y[i] = random_values(b, w->form.kind, seed, FACTORS + i);
		if (!is_dp4a) {
			x[i] = f_set(b, b_set(b, x[i]));
			y[i] = f_set(b, b_set(b, y[i]));
		}
	}
	clear(&w->kit, w->form.kind, sums, CHAINS);
	tcb_ptx_for_begin(b, I(0), w->steps, I(1), 1);
	tcb_kit_nounroll(b);
	for (unsigned round = 0; round < SCALAR_ROUNDS; round++)
		for (unsigned i = 0; i < CHAINS; i++)
			(is_dp4a ? s_dot_to : f_fma_to)(b, sums[i], x[i / FACTORS], y[i % FACTORS], sums[i]);
	tcb_ptx_for_end(b);
	keep_sums(&w->kit, sums, CHAINS, w->to);
	w->operations = 2.0 * (is_dp4a ? 4 : 1) * CHAINS * SCALAR_ROUNDS * THREADS;
}

/* mma.sync: every fragment of A times every one of B. */
static void write_mma(struct writer *w)
{
	enum { A_MAX = 4, B_MAX = 2, D_MAX = 4 };
	struct tcb_ptx_build *b = &w->kit.b;
	const struct fragment f = fragment_of(&w->form);
	const kit_op seed = seed_of(&w->kit);
	kit_op x[TILES_A][A_MAX], y[TILES_B][B_MAX], sums[TILES_A * TILES_B * D_MAX];
	unsigned number = 0;
	for (unsigned i = 0; i < TILES_A; i++)
		for (unsigned j = 0; j < f.a; j++)
			x[i][j] = random_values(b, w->form.kind, seed, number++);
	for (unsigned i = 0; i < TILES_B; i++)
		for (unsigned j = 0; j < f.b; j++)
			y[i][j] = random_values(b, w->form.kind, seed, number++);
	clear(&w->kit, w->form.kind, sums, TILES_A * TILES_B * f.d);
	tcb_ptx_for_begin(b, I(0), w->steps, I(1), 1);
	tcb_kit_nounroll(b);
	for (unsigned i = 0; i < ROUNDS * TILES_A * TILES_B; i++) {
		const unsigned tile = i % (TILES_A * TILES_B);
		const kit_op *d = sums + tile * f.d, *a = x[tile / TILES_B], *c = y[tile % TILES_B];
		if (f.type)
			tcb_kit_multiply(b, f.type, f.k, d, d, a, c);
		else
			tcb_kit_multiply_bytes(b, f.m, f.k, 1, d, d, a, c);
	}
	tcb_ptx_for_end(b);
	keep_sums(&w->kit, sums, TILES_A * TILES_B * f.d, w->to);
	w->operations = 2.0 * f.m * f.n * f.k * ROUNDS * TILES_A * TILES_B * (THREADS / WARP);
}

/* Random values all over shared memory, as wgmma sees them. */
static void fill_shared(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op first = u_shl(b, w->kit.tid, I(2));
	const kit_op loop = tcb_ptx_for_begin(b, first, I(SHARED_BYTES), I(4 * THREADS), 1);
	const kit_op seed = u_mad(b, u_block_x(b), I(SHARED_BYTES), loop);
	const kit_op value = random_values(b, w->form.kind, seed, 0);
	const kit_op at = u_add(b, w->kit.shared, loop);
	tcb_kit_put(b, TCB_KIT_SHARED, "b32", at, value);
	tcb_ptx_for_end(b);
	fence_async_shared(b);
	tcb_kit_block_barrier(b);
}

/* wgmma: 64 rows of each warpgroup times the same 256 columns, both of rows of 128 swizzled bytes along k. */
static void write_wgmma(struct writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const char *type = w->form.kind == TCB_COMPUTE_BF16 ? "bf16" : "f16";
	kit_op sums[COLUMNS / 2];
	fill_shared(w);
	const kit_op high = u_set(b, I(TCB_KIT_DESCRIPTOR_HIGH));
	const kit_op start = u_shr(b, u_and(b, w->kit.shared, I(0x3ffff)), I(4));
	const kit_op low = u_add(b, start, I(1 << 16));
	const kit_op group = u_shr(b, w->kit.warp, I(2));
	const kit_op low_a = u_mad(b, group, I(A_BYTES / 16), low);
	const kit_op low_b = u_add(b, low, I(GROUPS * A_BYTES / 16));
	const kit_op always = u_ne(b, w->steps, I(0));
	clear(&w->kit, w->form.kind, sums, COLUMNS / 2);
	tcb_ptx_for_begin(b, I(0), w->steps, I(1), 1);
	wgmma_begin(b);
	for (unsigned i = 0; i < PARTS; i++) {
		const unsigned at = i * PART_BYTES / 16;
		const kit_op a = tcb_kit_descriptor(b, u_add(b, low_a, I(at)), high);
		const kit_op x = tcb_kit_descriptor(b, u_add(b, low_b, I(at)), high);
		tcb_kit_multiply_group(b, type, COLUMNS, sums, a, x, always, 0);
	}
	wgmma_commit(b);
	wgmma_wait(b, I(1));
	tcb_ptx_for_end(b);
	wgmma_wait(b, I(0));
	keep_sums(&w->kit, sums, COLUMNS / 2, w->to);
	w->operations = 2.0 * GROUPS * GROUP_ROWS * COLUMNS * PARTS * PART_BYTES / 2;
}

/* --- a kernel --- */

static const struct unit_row {
	void (*write)(struct writer *w);
	unsigned blocks, shared_bytes;
	char feature;
} units[] = {
	[TCB_ISA_FMA] = { write_scalar, BLOCKS, 0, 0 },
	[TCB_ISA_DP4A] = { write_scalar, BLOCKS, 0, 0 },
	[TCB_ISA_MMA] = { write_mma, BLOCKS, 0, 0 },
	[TCB_ISA_WGMMA] = { write_wgmma, 1, SHARED_BYTES, 'a' },
};

static enum tcb_status make_kernel(const struct tcb_problem *problem, const struct tcb_target *target,
				   const struct form *form, struct tcb_kernel *out, double *step_operations_out,
				   struct tcb_error *err)
{
	const struct unit_row *unit = &units[form->isa];
	struct writer w = { .form = *form };
	const uint32_t blocks = unit->blocks * target->cuda.sm_count;
	TCB_TRY(tcb_kit_open(&w.kit, problem, target, unit->feature, NULL, out, err));
	out->workspace_bytes = sizeof(uint32_t);
	tcb_kit_begin(&w.kit,
		      tcb_ptx_namef(&w.kit.b, "compute_%s_%s", tcb_isa_text(form->isa), tcb_compute_text(form->kind)),
		      &(struct tcb_kit_kernel){ .threads = THREADS,
						.blocks_together = unit->blocks,
						.grid = { blocks },
						.shared_bytes = unit->shared_bytes });
	w.to = tcb_kit_workspace(&w.kit, "to", sizeof(uint32_t), 0);
	w.steps = tcb_kit_number(&w.kit, "steps", 1);
	tcb_kit_threads(&w.kit);
	if (unit->shared_bytes)
		tcb_kit_memory(&w.kit, TCB_KIT_EIGHT_ROWS);
	unit->write(&w);
	tcb_kit_end(&w.kit);
	*step_operations_out = w.operations * blocks;
	return tcb_kit_close(&w.kit, err);
}

enum tcb_status tcb_compute_limit_gpu(const struct tcb_problem *problem, const struct tcb_target *target,
				      struct tcb_code_image **out, struct tcb_error *err)
{
	struct form forms[FORMS_MAX];
	struct tcb_kernel kernels[FORMS_MAX];
	const size_t count = find_forms(tcb_compute_need(problem, target).kind, target, forms);
	double step_operations[FORMS_MAX];
	enum tcb_status status = TCB_OK;
	memset(kernels, 0, sizeof kernels);
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		status = make_kernel(problem, target, &forms[i], &kernels[i], &step_operations[i], err);
	if (status == TCB_OK)
		status = tcb_code_compile(kernels, count, target, out, err);
	for (size_t i = 0; i < count && status == TCB_OK; i++)
		(*out)->unit[i].step_operations = step_operations[i];
	for (size_t i = 0; i < count; i++)
		tcb_kernel_fini(&kernels[i]);
	return status;
}
