/* SPDX-License-Identifier: MIT
 *
 * Activations for isa=mma (quant_matvec_gpu_mma.c): a lane's eight floats of a
 * superblock come in, one half each or two go out to the image, where the lanes
 * of B look for them.
 */
#include "kernels/quant_matvec/quant_matvec_gpu_x_mma.h"

/* Bytes of a piece's activations in one part, and of those of four codes. */
unsigned qmv_gpu_piece_bytes(const struct qmv_gpu *g)
{
	return 2 * QMV_PIECE * g->halves;
}

void qmv_write_mma_values(struct qmv_writer *w, const kit_op value[8], kit_op address)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct qmv_gpu *g = w->g;
	kit_op rest[8], word[4];
	for (unsigned i = 0; i < 8; i++)
		rest[i] = value[i];
	for (unsigned part = 0; part < g->parts; part++) {
		for (unsigned i = 0; i < 4; i++) { /* values 0 and 2, 1 and 3 of four */
			kit_op *low = &rest[4 * (i / 2) + i % 2], *high = low + 2;
			kit_op rounded[2];
			word[i] = f16x2_from_f(b, *high, *low);
			if (part + 1 == g->parts)
				continue;
			tcb_kit_floats(b, word[i], rounded);
			*low = f_mul(b, f_sub(b, *low, rounded[0]), F(QMV_REST));
			*high = f_mul(b, f_sub(b, *high, rounded[1]), F(QMV_REST));
		}
		for (unsigned i = 0; i < 2; i++)
			tcb_kit_store(b, w->image_memory, "b32",
				      tcb_ptx_at(address, part * QMV_VALUES * 2 + i * 8 * g->halves), word + 2 * i, 2);
	}
}

/* The address of a lane's eight values (they are in one half of one piece) in the image of a superblock. */
kit_op qmv_write_mma_place(struct qmv_writer *w)
{
	struct tcb_ptx_build *b = &w->kit.b;
	if (w->g->halves == 1)
		return u_shl(b, w->kit.lane, I(4));
	/* Lanes 4 c to 4 c + 3: low codes of words 0, 1, of 2, 3, then the high ones. */
	const kit_op piece = u_shr(b, w->kit.lane, I(2)), pair = u_and(b, w->kit.lane, I(1));
	const kit_op half = u_and(b, u_shr(b, w->kit.lane, I(1)), I(1));
	return u_mad(b, piece, I(qmv_gpu_piece_bytes(w->g)), u_mad(b, pair, I(32), u_shl(b, half, I(3))));
}

/* The power of two that brings LARGEST to just below 2^15; its inverse times 2^10. */
kit_op qmv_write_mma_scale(struct qmv_writer *w, kit_op largest, kit_op *inverse)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op exponent = u_shr(b, largest, I(23));
	const kit_op up = u_min(b, u_sub(b, I(268), exponent), I(254));
	*inverse = u_shl(b, u_sub(b, I(264), up), I(23));
	return b_set(b, u_shl(b, up, I(23)));
}

kit_op qmv_write_mma_base(struct qmv_writer *w, kit_op superblock)
{
	return u_mad(&w->kit.b, w->piece, I(qmv_gpu_piece_bytes(w->g)), superblock);
}
