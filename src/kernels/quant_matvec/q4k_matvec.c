/* SPDX-License-Identifier: MIT
 *
 * Q4_K's own kernels of the MatVecs as the ops' CPU side finds them: what they want, what they round, their tables.
 */
#include "kernels/quant_matvec/q4k_matvec.h"
#include "kernels/quant_matvec/quant_matvec.h"

static void prepare(enum tcb_isa floats, int q8, const float *x, size_t superblocks, void *out)
{
#define PREPARERS(isa, ID, ...) [TCB_ISA_##ID] = { q4k_quantize_##isa, q4k_prepare_##isa },
	static const struct {
		q4k_quantize_fn *q8;
		q4k_prepare_fn *f32;
	} preparers[TCB_ISA_COUNT] = { TCB_ISAS_FLOATS(PREPARERS, ) };
#undef PREPARERS
	if (q8)
		preparers[floats].q8(x, superblocks, out);
	else
		preparers[floats].f32(x, superblocks, out);
}

/*
 * Longest rounding chain of one output, contract q8.  Per block at most four roundings (integer sum to f32, the product
 * with dmin, the difference, the product with dx), then one addition per block and one per k-step, and the reduction
 * over at most 16 lanes (4 in pairs, 8 in sequence) with its final difference; three for max / 127, 127 / max and x
 * times that.
 */
static double q8_chain(const struct tcb_plan *plan)
{
	size_t k = plan->problem.shape.k, step = plan->geometry.tile[TCB_MIDI].k;
	return (double)(k / QMV_SUPER + (k + step - 1) / step + 4 + 9 + 3);
}

static double chain(const struct tcb_plan *plan)
{
	return plan->problem.contract == TCB_CONTRACT_Q8 ? q8_chain(plan) : q4k_f32_chain(plan);
}

/* Sums of each row, those of the mins of two or four rows together, and seven for nibbles, products, activations and
 * constants. */
static size_t registers(enum tcb_isa isa, enum tcb_layout layout, size_t rows)
{
	const size_t shared = isa == TCB_ISA_AVX2 ? 2 : 4;
	return layout == TCB_LAYOUT_NATIVE ? rows + (rows + shared - 1) / shared + 7 : 12;
}

const struct qmv_own q4k_own = {
	.without = 1u << TCB_ISA_NEON,
	.q8_bytes = sizeof(struct q4k_x8),
	.f32_bytes = sizeof(struct q4k_x32),
	.alignment = 16, /* blocks are 144 bytes */
	.prepare = prepare,
	.block_bytes = q4k_layout_block_bytes,
	.pack = q4k_pack,
	.unpack = q4k_unpack,
	.chain = chain,
	.registers = registers,
};

/* On Arm the kernels of all formats beside the portable ones. */
#if defined(__x86_64__)
#define Q4K_ISAS_FLOATS TCB_ISAS_FLOATS
#define Q4K_ISAS_BYTES TCB_ISAS_BYTES
#define Q4K_SHARED(X, kind)
#else
#define Q4K_ISAS_FLOATS TCB_ISAS_SCALAR
#define Q4K_ISAS_BYTES TCB_ISAS_SCALAR
#define Q4K_SHARED(X, kind) X(neon, NEON, qmv_q4k_##kind)
#endif
#define Q4K_LIST(kind, ...)                                                                                      \
	Q4K_ISAS_BYTES(TCB_VARIANT_TABLE_DECLARATION, q4k_##kind##_q8)                                           \
	Q4K_ISAS_FLOATS(TCB_VARIANT_TABLE_DECLARATION, q4k_##kind##_f32)                                         \
	TCB_ISAS_DOTS(TCB_VARIANT_TABLE_DECLARATION, qmv_few_q4k_##kind)                                         \
	Q4K_SHARED(TCB_VARIANT_TABLE_DECLARATION, kind)                                                          \
	const struct tcb_variant *const qmv_q4k_##kind##_variants[] = {                                          \
		Q4K_ISAS_BYTES(TCB_VARIANT_TABLE, q4k_##kind##_q8)                                               \
			Q4K_ISAS_FLOATS(TCB_VARIANT_TABLE, q4k_##kind##_f32) Q4K_SHARED(TCB_VARIANT_TABLE, kind) \
				TCB_ISAS_DOTS(TCB_VARIANT_TABLE, qmv_few_q4k_##kind) NULL                        \
	};
QMV_KINDS(Q4K_LIST, )
