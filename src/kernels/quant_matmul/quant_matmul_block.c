/* SPDX-License-Identifier: MIT
 *
 * Midi blocks of rows x k follow each other.  decode=panel: a block is unpacked
 * into the thread's panels before the tokens pass, midi.m of them at a time;
 * decode=regs: register tiles take the packed lines themselves.  Innermost, the
 * weights of a register tile stay in the first cache while tokens pass.
 */
#include "kernels/quant_matmul/quant_matmul_block.h"

#include <string.h>

#include "base/sizes.h"

void qmm_matrix_init(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct qmm_matrix *out)
{
	const struct tcb_format *format = problem->op->format;
	const struct tcb_tile *midi = &geometry->tile[TCB_MIDI];
	const int q8 = problem->contract == TCB_CONTRACT_Q8;
	memset(out, 0, sizeof(*out));
	out->geometry = geometry;
	out->format = format;
	out->n = problem->shape.n;
	out->k = problem->shape.k;
	out->superblocks = tcb_div_up(problem->shape.k, QMM_VALUES);
	out->token_bytes = q8 ? sizeof(struct qmm_x8) : QMM_VALUES * sizeof(float);
	out->row_bytes = tcb_quant_row_bytes(format, problem->shape.k);
	out->lines_bytes = tcb_lines(format->id) * QMM_LINE;
	out->panel_bytes = q8 ? qmm_panel_bytes(format->id) : sizeof(struct qmm_values);
	out->midi_superblocks = tcb_div_up(midi->k, QMM_VALUES);
	out->group_bytes = out->midi_superblocks * out->panel_bytes;
	out->from_lines = geometry->knob[TCB_KNOB_DECODE] == TCB_DECODE_REGS;
	out->scratch_bytes =
		out->from_lines ? 0 : QMM_LINES_MAX * QMM_LINE + tcb_div_up(midi->n, QMM_ROWS) * out->group_bytes;
	if (geometry->knob[TCB_KNOB_PREFETCH] != TCB_KNOB_UNSET)
		out->prefetch = (size_t)geometry->knob[TCB_KNOB_PREFETCH];
	out->hint = geometry->knob[TCB_KNOB_HINT] == TCB_KNOB_UNSET ? TCB_HINT_T0
								    : (enum tcb_hint)geometry->knob[TCB_KNOB_HINT];
}

void qmm_matrix_convert(struct qmm_matrix *matrix, const struct tcb_problem *problem,
			const struct qmm_conversions *conversions)
{
	const struct qmm_unpacker *unpacker = &conversions->unpackers[matrix->format->id];
	const int q8 = problem->contract == TCB_CONTRACT_Q8;
	matrix->unpacker = unpacker;
	if (matrix->is_packed)
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

double qmm_chain(const struct tcb_problem *problem)
{
	/* f32: one fused operation a value. */
	return problem->contract == TCB_CONTRACT_Q8 ? qmm_q8_chain(problem) : 2 * (double)problem->shape.k;
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
		}
	}
}

/* The tokens of SET from TOKEN to TOKENS_END times the rows of BLOCK up to ROWS_END. */
static void multiply_block(const struct qmm_matrix *matrix, const struct block *block, const uint8_t *panels,
			   const struct qmm_tokens *set, size_t token, size_t tokens_end, size_t rows_end)
{
	const size_t micro_n = matrix->geometry->tile[TCB_MICRO].n, width = set->width;
	const size_t stride = matrix->from_lines ? matrix->superblocks * matrix->lines_bytes : matrix->group_bytes;
	const uint8_t *const base = matrix->from_lines ? lines_of(matrix, block->group, block->first) : panels;
	const size_t start = block->group * QMM_ROWS;
	struct qmm_call call = { .y_stride = set->y_stride,
				 .superblocks = block->superblocks,
				 .values = tcb_least(block->superblocks * QMM_VALUES,
						     matrix->k - block->first * QMM_VALUES),
				 .accumulate = block->first > 0,
				 .prefetch = matrix->prefetch,
				 .hint = matrix->hint };
	for (size_t n = start; n < rows_end; n += micro_n) {
		call.rows = tcb_least(micro_n, rows_end - n);
		call.weights = base + (n - start) / QMM_ROWS * stride + (n - start) % QMM_ROWS * 4;
		/* A tile of two groups where there is one group only takes that one twice. */
		call.group_bytes = call.rows > QMM_ROWS ? stride : 0;
		for (size_t m = token; m < tokens_end; m += width) {
			call.tokens = tcb_least(width, tokens_end - m);
			call.x =
				set->x + (m / width * matrix->superblocks + block->first) * width * matrix->token_bytes;
			call.y = set->y + m * set->y_stride + (n - start);
			set->tile(&call);
		}
	}
}

void qmm_multiply_rows(const struct qmm_matrix *matrix, size_t first, size_t end, const struct qmm_tokens *sets,
		       size_t set_count, uint8_t *scratch)
{
	const size_t midi_m = matrix->geometry->tile[TCB_MIDI].m;
	uint8_t *panels = scratch + QMM_LINES_MAX * QMM_LINE;
	for (size_t k = 0; k < matrix->superblocks; k += matrix->midi_superblocks) {
		const struct block block = { first / QMM_ROWS, tcb_div_up(end - first, QMM_ROWS), k,
					     tcb_least(matrix->midi_superblocks, matrix->superblocks - k) };
		if (!matrix->from_lines)
			unpack_block(matrix, &block, scratch, panels);
		for (size_t i = 0; i < set_count; i++)
			for (size_t m = 0; m < sets[i].count; m += midi_m)
				multiply_block(matrix, &block, panels, &sets[i], m,
					       tcb_least(m + midi_m, sets[i].count), end);
	}
}
