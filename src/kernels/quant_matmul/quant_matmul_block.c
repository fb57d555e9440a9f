/* SPDX-License-Identifier: MIT
 *
 * Midi blocks of rows x k follow each other.  decode=panel: a block is unpacked
 * into the thread's panels before the tokens pass, midi.m of them at a time;
 * decode=regs: register tiles take the packed lines themselves.  Innermost, the
 * weights of a register tile stay in the first cache while tokens pass.
 *
 * Tiles of bf16 multiply so fast that results as they lie in y, whose rows are
 * often a power of two apart and then share few sets of a cache, would take as
 * long: where k is cut, sums stay in the scratch, tile after tile, and
 * midi.m tokens have all of k before the next ones come.
 */
#include "kernels/quant_matmul/quant_matmul_block.h"

#include <string.h>

#include "base/cpu_isas.h"
#include "base/sizes.h"

enum qmm_panel_kind qmm_panel_kind(enum tcb_contract contract, const struct tcb_geometry *geometry)
{
	if (contract == TCB_CONTRACT_Q8)
		return QMM_PANEL_CODES;
	return contract == TCB_CONTRACT_F16 && tcb_cpu_isa(geometry->knob[TCB_KNOB_ISA])->has_tiles ? QMM_PANEL_HALVES
												    : QMM_PANEL_VALUES;
}

size_t qmm_unpacked_bytes(enum qmm_panel_kind kind, enum tcb_format_id format)
{
	return kind == QMM_PANEL_CODES    ? qmm_panel_bytes(format)
	       : kind == QMM_PANEL_HALVES ? sizeof(struct qmm_halves)
					  : sizeof(struct qmm_values);
}

size_t qmm_token_bytes(enum qmm_panel_kind kind)
{
	return kind == QMM_PANEL_CODES    ? sizeof(struct qmm_x8)
	       : kind == QMM_PANEL_HALVES ? QMM_VALUES * sizeof(uint16_t)
					  : QMM_VALUES * sizeof(float);
}

void qmm_matrix_init(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct qmm_matrix *out)
{
	const struct tcb_format *format = problem->op->format;
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI], *micro = &geometry->tile[TCB_MICRO];
	memset(out, 0, sizeof(*out));
	out->kind = qmm_panel_kind(problem->contract, geometry);
	out->geometry = geometry;
	out->format = format;
	out->n = problem->shape.n;
	out->k = problem->shape.k;
	out->superblocks = tcb_div_up(problem->shape.k, QMM_VALUES);
	out->token_bytes = qmm_token_bytes(out->kind);
	out->row_bytes = tcb_quant_row_bytes(format, problem->shape.k);
	out->lines_bytes = tcb_lines(format->id) * QMM_LINE;
	out->panel_bytes = qmm_unpacked_bytes(out->kind, format->id);
	out->midi_superblocks = tcb_div_up(midi->k, QMM_VALUES);
	out->group_bytes = out->midi_superblocks * out->panel_bytes;
	out->from_lines = geometry->knob[TCB_KNOB_DECODE] == TCB_DECODE_REGS;
	out->sums_at =
		out->from_lines ? 0 : QMM_LINES_MAX * QMM_LINE + tcb_div_up(midi->n, QMM_ROWS) * out->group_bytes;
	out->scratch_bytes = out->sums_at;
	if (out->kind == QMM_PANEL_HALVES && out->midi_superblocks < out->superblocks)
		out->scratch_bytes += (midi->m + micro->m) * tcb_round_up(midi->n, micro->n) * sizeof(float);
	if (geometry->knob[TCB_KNOB_PREFETCH] != TCB_KNOB_UNSET)
		out->prefetch = (size_t)geometry->knob[TCB_KNOB_PREFETCH];
	out->hint = geometry->knob[TCB_KNOB_HINT] == TCB_KNOB_UNSET ? TCB_HINT_T0
								    : (enum tcb_hint)geometry->knob[TCB_KNOB_HINT];
}

void qmm_matrix_convert(struct qmm_matrix *matrix, const struct qmm_conversions *conversions)
{
	const enum tcb_format_id format = matrix->format->id;
	const struct qmm_unpacker *unpacker = &conversions->unpackers[format];
	const int q8 = matrix->kind == QMM_PANEL_CODES;
	matrix->unpacker = unpacker;
	if (matrix->kind == QMM_PANEL_HALVES)
		matrix->unpack =
			matrix->is_packed ? conversions->halves[format].packed : conversions->halves[format].gathered;
	else if (matrix->is_packed)
		matrix->unpack = q8 ? unpacker->panel : unpacker->values;
	else
		matrix->unpack = q8 ? unpacker->gathered_panel : unpacker->gathered_values;
}

double qmm_q8_chain(const struct tcb_problem *problem)
{
	const enum tcb_format_id format = problem->op->format->id;
	const size_t superblocks = tcb_div_up(problem->shape.k, QMM_VALUES);
	const int terms = QMM_VALUES / qmm_run_values(format) << qmm_has_offsets(format);
	if (tcb_quant_group(problem->op->format) < QMM_VALUES)
		return terms * (double)superblocks + 1 + 3;
	return (double)superblocks + terms + 1 + 3;
}

double qmm_chain(const struct tcb_problem *problem, const struct tcb_geometry *geometry)
{
	/* Halves of 8 bits, two to a product, 2^16 roundings of f32 each.  Of the 32 values of a step one sum has 16,
	 * then come the other and the steps before (amx_add_bf16). */
	enum { STEP = QMM_LINE_HALVES, ROUNDINGS = 2 << 16 };
	switch (qmm_panel_kind(problem->contract, geometry)) {
	case QMM_PANEL_CODES:
		return qmm_q8_chain(problem);
	case QMM_PANEL_HALVES:
		return ROUNDINGS + STEP / 2 + 1 + (double)tcb_div_up(problem->shape.k, STEP);
	case QMM_PANEL_VALUES:
		break;
	}
	/* One fused operation a value. */
	return 2 * (double)problem->shape.k;
}

static void prefetch_line(const uint8_t *at, enum tcb_hint hint)
{
	if (hint == TCB_HINT_T0)
		__builtin_prefetch(at, 0, 3);
	else if (hint == TCB_HINT_T1)
		__builtin_prefetch(at, 0, 2);
	else
		__builtin_prefetch(at, 0, 0);
}

/* A block of weights of one thread: row groups from GROUP on, superblocks from FIRST on. */
struct block {
	size_t group, groups, first, superblocks;
};

static const uint8_t *lines_of(const struct qmm_matrix *matrix, size_t group, size_t superblock)
{
	return matrix->weights + (group * matrix->superblocks + superblock) * matrix->lines_bytes;
}

/* Weights as stored: SUPERBLOCK of GROUP as lines. */
static void gather(const struct qmm_matrix *matrix, size_t group, size_t superblock, uint8_t *lines)
{
	const struct tcb_format *format = matrix->format;
	const size_t rows = tcb_least(QMM_ROWS, matrix->n - group * QMM_ROWS),
		     values = tcb_least(QMM_VALUES, matrix->k - superblock * QMM_VALUES);
	const size_t bytes = QMM_VALUES / format->block_values * format->block_bytes;
	const uint8_t *at = matrix->weights + group * QMM_ROWS * matrix->row_bytes + superblock * bytes;
	for (size_t r = 0; matrix->prefetch && r < rows; r++)
		for (size_t b = 0; b < bytes; b += QMM_LINE)
			prefetch_line(at + r * matrix->row_bytes + b + matrix->prefetch, matrix->hint);
	matrix->unpacker->gather(at, matrix->row_bytes, rows, values, lines);
}

/* Unpacks BLOCK into PANELS. */
static void unpack_block(const struct qmm_matrix *matrix, const struct block *block, uint8_t *scratch, uint8_t *panels)
{
	for (size_t g = 0; g < block->groups; g++) {
		uint8_t *panel = panels + g * matrix->group_bytes;
		for (size_t b = 0; b < block->superblocks; b++, panel += matrix->panel_bytes) {
			const uint8_t *lines = scratch;
			if (matrix->is_packed) {
				lines = lines_of(matrix, block->group + g, block->first + b);
				for (size_t at = 0; matrix->prefetch && at < matrix->lines_bytes; at += QMM_LINE)
					prefetch_line(lines + at + matrix->prefetch, matrix->hint);
			} else {
				gather(matrix, block->group + g, block->first + b, scratch);
			}
			matrix->unpack(lines, panel);
			if (matrix->kernels->settle)
				matrix->kernels->settle(matrix->format->id, panel);
		}
	}
}

/* The tokens of SET from TOKEN to TOKENS_END times the rows of BLOCK up to ROWS_END.  Sums of a cut k are at SUMS, if
 * it is not NULL: those of a register tile of the matrix after those of another. */
static void multiply_block(const struct qmm_matrix *matrix, const struct block *block, const uint8_t *panels,
			   const struct qmm_tokens *set, size_t token, size_t tokens_end, size_t rows_end, float *sums)
{
	const struct tcb_tile *micro = &matrix->geometry->tile[TCB_MICRO];
	const size_t micro_n = micro->n, width = set->width;
	const size_t stride = matrix->from_lines ? matrix->superblocks * matrix->lines_bytes : matrix->group_bytes;
	const uint8_t *const base = matrix->from_lines ? lines_of(matrix, block->group, block->first) : panels;
	const size_t start = block->group * QMM_ROWS;
	const int is_part = sums && block->first + block->superblocks < matrix->superblocks;
	const size_t ahead_lines = is_part ? tcb_div_up(width, tcb_div_up(rows_end - start, micro_n)) : 0;
	struct qmm_call call = { .y_stride = is_part ? micro_n : set->y_stride,
				 .superblocks = block->superblocks,
				 .values = tcb_least(block->superblocks * QMM_VALUES,
						     matrix->k - block->first * QMM_VALUES),
				 .accumulate = block->first > 0,
				 .sums_stride = micro_n,
				 .ahead_lines = ahead_lines,
				 .prefetch = matrix->prefetch,
				 .hint = matrix->hint };
	for (size_t n = start; n < rows_end; n += micro_n) {
		const size_t rows = tcb_least(micro_n, rows_end - n);
		call.rows = is_part ? micro_n : rows;
		call.weights = base + (n - start) / QMM_ROWS * stride + (n - start) % QMM_ROWS * 4;
		/* A tile of two groups where there is one group only takes that one twice. */
		call.group_bytes = rows > QMM_ROWS ? stride : 0;
		for (size_t m = token; m < tokens_end; m += width) {
			const uint8_t *x =
				set->x + (m / width * matrix->superblocks + block->first) * width * matrix->token_bytes;
			call.tokens = is_part ? width : tcb_least(width, tokens_end - m);
			call.x = x;
			call.y = is_part ? sums : set->y + m * set->y_stride + (n - start);
			call.sums = sums;
			/* The same tokens' next superblocks, a share of them beside each tile of rows. */
			if (is_part)
				call.ahead = x + block->superblocks * width * matrix->token_bytes +
					     (n - start) / micro_n * ahead_lines * (call.values / QMM_LINE_HALVES) *
						     QMM_LINE;
			set->tile(&call);
			sums += sums ? micro->m * micro_n : 0;
		}
	}
}

/* The tokens of SETS, of the first one from TOKEN to TOKENS_END, times rows FIRST to END - 1. */
static void multiply_tokens(const struct qmm_matrix *matrix, size_t first, size_t end, const struct qmm_tokens *sets,
			    size_t set_count, size_t token, size_t tokens_end, uint8_t *scratch)
{
	const struct tcb_tile *midi = &matrix->geometry->tile[TCB_MIDI], *micro = &matrix->geometry->tile[TCB_MICRO];
	const int is_summed = matrix->kind == QMM_PANEL_HALVES && matrix->midi_superblocks < matrix->superblocks;
	uint8_t *panels = scratch + QMM_LINES_MAX * QMM_LINE;
	float *const sums = is_summed ? (float *)(void *)(scratch + matrix->sums_at) : NULL;
	for (size_t k = 0; k < matrix->superblocks; k += matrix->midi_superblocks) {
		const struct block block = { first / QMM_ROWS, tcb_div_up(end - first, QMM_ROWS), k,
					     tcb_least(matrix->midi_superblocks, matrix->superblocks - k) };
		if (!matrix->from_lines)
			unpack_block(matrix, &block, scratch, panels);
		for (size_t m = token; m < tokens_end; m += midi->m)
			multiply_block(matrix, &block, panels, &sets[0], m, tcb_least(m + midi->m, tokens_end), end,
				       sums);
		for (size_t i = 1; i < set_count; i++)
			for (size_t m = 0; m < sets[i].count; m += midi->m)
				multiply_block(matrix, &block, panels, &sets[i], m,
					       tcb_least(m + midi->m, sets[i].count), end,
					       sums ? sums + midi->m * tcb_round_up(midi->n, micro->n) : NULL);
	}
}

void qmm_multiply_rows(const struct qmm_matrix *matrix, size_t first, size_t end, const struct qmm_tokens *sets,
		       size_t set_count, uint8_t *scratch)
{
	const size_t count = sets[0].count;
	const size_t tokens = matrix->kind == QMM_PANEL_HALVES ? matrix->geometry->tile[TCB_MIDI].m : count;
	struct qmm_before before;
	if (matrix->kernels->enter)
		matrix->kernels->enter(&before);
	for (size_t m = 0; m < count; m += tokens) {
		const int is_last = count - m <= tokens;
		multiply_tokens(matrix, first, end, sets, is_last ? set_count : 1, m, is_last ? count : m + tokens,
				scratch);
	}
	if (matrix->kernels->leave)
		matrix->kernels->leave(&before);
}
