/* SPDX-License-Identifier: MIT
 *
 * Registers of a thread of the quantised matmuls' GPU kernels, estimated by what a plan says.
 */
#include "kernels/decode/formats_pieces.h"
#include "kernels/gpu/hardware.h"
#include "kernels/quant_matmul/quant_matmul_gpu_plan.h"

enum { FILE_REGISTERS = 65536 /* of an SM */ };

unsigned qmm_registers_of(unsigned warps)
{
	return FILE_REGISTERS / 4 / WARP / tcb_div_up(warps, 4);
}

/* ptxas begins products early where it can: more so where their sums are floats, and weights need not be loaded. */
static unsigned registers_s8(const struct qmm_gpu *g, unsigned sums)
{
	const int is_direct = g->copy == TCB_COPY_LDG;
	const unsigned words = (is_direct ? QMM_CHUNKS : 1) * g->unit.code_words + g->unit.high_words + 26;
	const int has_mins = tcb_format(g->unit.format)->has_offsets; /* products, too */
	const unsigned ahead =
		12 + (g->unit.run == 16 ? 32 : 0) + (is_direct ? 6 * sums : 0) + (has_mins && sums >= 64 ? 48 : 0);
	const unsigned small =
		g->capability < 80 && is_direct && g->group == 256 ? 20 : 0; /* products of 8 by 8 by 16 */
	return 72 + sums + (g->group == 256 ? sums : ahead) + g->row_tiles * (words + small);
}

/* Pieces are taken apart all at once: their words, and those loaded of the next unit. */
static unsigned registers_of_pieces(const struct qmm_gpu *g, unsigned sums)
{
	const unsigned words = 4 * TCB_PIECE_WORDS, scales = 4 * 2;
	const unsigned raw = g->copy == TCB_COPY_LDG ? g->unit.piece_bytes + 14 : 14;
	return 60 + sums + 4 * g->token_groups * !g->is_wgmma +
	       g->row_tiles * (words + scales + raw + 32 * g->is_wgmma);
}

unsigned qmm_gpu_registers(const struct qmm_gpu *g)
{
	const unsigned turns = QMM_UNIT_VALUES / (8 * g->unit.run), offsets = tcb_format(g->unit.format)->has_offsets;
	const unsigned sums = g->chains * g->row_tiles * g->token_groups * 4, scales = 2 * turns * (offsets ? 2 : 1);
	if (g->group)
		return registers_s8(g, sums);
	if (g->unit.is_pieces)
		return registers_of_pieces(g, sums);
	if (g->is_wgmma && g->unit.is_plain)
		return 44 + sums + g->row_tiles * 32;
	if (g->is_wgmma)
		return 44 + sums +
		       g->row_tiles *
			       (32 + scales + g->unit.high_words + (g->is_ahead ? QMM_CHUNKS : 1) * g->unit.code_words);
	const unsigned words = (g->copy == TCB_COPY_LDG ? QMM_CHUNKS : 1) * g->unit.code_words + g->unit.high_words;
	const unsigned header = g->copy == TCB_COPY_LDG ? 10 : 0;
	const unsigned table = tcb_has_table(g->unit.format) ? 6 : 0; /* of each 16 rows', as it happens */
	/* Of bytes that become halves without a sum ptxas does more at once. */
	const unsigned early =
		tcb_is_float(g->unit.format) && !g->unit.is_plain ? (g->copy == TCB_COPY_LDG ? 52 : 8) : 0;
	const unsigned terms = g->unit.terms > 1 ? 2 * 4 * QMM_TERMS_MAX + 8 : 0; /* A's, of two steps */
	return 48 + sums + 4 * g->token_groups + g->row_tiles * (scales + words + header + table + early + terms);
}
