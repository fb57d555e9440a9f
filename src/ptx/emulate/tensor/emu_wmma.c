/* SPDX-License-Identifier: MIT
 *
 * wmma.load, wmma.mma and wmma.store.  The opcode table has no rows for them, so
 * their words are read here.  Which lane holds which element is nobody's
 * business but theirs (PTX ISA 9.0, section 9.7.14.3): here the elements of a
 * matrix are dealt out in order, those of A and of C and D by rows, those of B by
 * columns.  A and B of f16 have room for each element two to four times.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/emulate/emu_async.h"
#include "ptx/emulate/emu_program.h"
#include "ptx/emulate/tensor/emu_matrix.h"

enum { WORDS_MAX = 16, SIDE_MAX = 32, ELEMENTS_MAX = SIDE_MAX * SIDE_MAX };

/* One matrix of M x K, K x N or M x N. */
struct matrix {
	unsigned rows, columns, bits;
	int by_columns; /* how its elements are dealt out */
	enum tcb_ptx_word type;
};

struct wmma {
	struct tcb_ptx_product product;
	struct matrix matrix;    /* of a load or store */
	int is_column_major;     /* in memory */
	enum tcb_ptx_word space; /* or none: generic */
	uint16_t address, values, stride;
	int has_stride;
};

/* Of element INDEX in the order in which they are dealt out. */
static void place(const struct matrix *m, unsigned index, unsigned *row, unsigned *column)
{
	*row = m->by_columns ? index % m->rows : index / m->columns;
	*column = m->by_columns ? index / m->rows : index % m->columns;
}

static unsigned in_register(const struct matrix *m)
{
	return m->bits < 32 ? 32 / m->bits : 1;
}

/* Elements of a lane. */
static unsigned in_lane(const struct matrix *m)
{
	return m->rows * m->columns / TCB_PTX_LANES;
}

/* --- memory --- */

static uint8_t *memory_at(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane, uint64_t address,
			  unsigned bytes, unsigned flags, const void *value)
{
	const struct wmma *w = in->extra;

	if (w->space == TCB_PTX_GLOBAL)
		return tcb_emu_global(warp, in, (int)lane, address, bytes, bytes, flags, value);
	if (w->space)
		return tcb_emu_shared(warp, in, (int)lane, (uint32_t)address, bytes, bytes, flags, value);
	return tcb_emu_generic(warp, in, (int)lane, address, bytes, bytes, flags, value);
}

/* The place of what register REG of LANE holds, of which PART of several; by whole bytes. */
static uint64_t address_of(const struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane, unsigned index)
{
	const struct wmma *w = in->extra;
	const struct matrix *m = &w->matrix;
	unsigned row, column;
	uint64_t stride = w->is_column_major ? m->rows : m->columns, element;

	if (w->has_stride)
		stride = (uint32_t)tcb_emu_get(warp, &in->op[w->stride], lane);
	place(m, index, &row, &column);
	element = w->is_column_major ? column * stride + row : row * stride + column;
	return tcb_emu_address(warp, &in->op[w->address], lane) + element * m->bits / 8;
}

/* Elements that are moved at once: one, or a byte's or word's of those that have less than a byte. */
static unsigned at_once(const struct matrix *m)
{
	return m->bits < 8 ? 32 / m->bits : 1;
}

static void run_load(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const struct wmma *w = in->extra;
	const struct matrix *m = &w->matrix;
	const struct tcb_emu_operand *to = &in->op[w->values];
	const unsigned each = in_register(m), once = at_once(m), count = in_lane(m);
	uint64_t values[TCB_PTX_FRAGMENT_REGS][TCB_PTX_LANES] = { { 0 } };

	if (!tcb_emu_whole_warp(warp, in, active))
		return;
	for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++)
		for (unsigned e = 0; e < count; e += once) {
			const uint8_t *from = memory_at(warp, in, lane, address_of(warp, in, lane, lane * count + e),
							m->bits * once / 8, TCB_EMU_READ, NULL);
			uint64_t value = 0;

			if (!from)
				return;
			memcpy(&value, from, m->bits * once / 8);
			values[e / each][lane] |= value << (e % each * m->bits % 64);
		}
	for (unsigned r = 0; r < tcb_emu_items(to); r++)
		for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++)
			tcb_emu_set(warp, tcb_emu_item(to, r), lane, values[r % (count / each)][lane]);
}

static void run_store(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const struct wmma *w = in->extra;
	const struct matrix *m = &w->matrix;
	const unsigned each = in_register(m), count = in_lane(m);

	if (!tcb_emu_whole_warp(warp, in, active))
		return;
	for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++)
		for (unsigned e = 0; e < count; e++) {
			const uint64_t value = tcb_emu_get(warp, tcb_emu_item(&in->op[w->values], e / each), lane) >>
					       (e % each * m->bits % 64);
			uint8_t *to = memory_at(warp, in, lane, address_of(warp, in, lane, lane * count + e),
						m->bits / 8, TCB_EMU_WRITE, &value);

			if (!to)
				return;
			memcpy(to, &value, m->bits / 8);
		}
}

/* --- products --- */

/* Fragment OP as a matrix by rows. */
static void gather(const struct tcb_emu_warp *warp, const struct tcb_emu_operand *op, const struct matrix *m,
		   const struct tcb_ptx_product *c_of, double *out)
{
	const unsigned each = in_register(m), count = in_lane(m);
	double values[32];

	for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++)
		for (unsigned e = 0; e < count; e++) {
			const uint64_t word = tcb_emu_get(warp, tcb_emu_item(op, e / each), lane);
			unsigned row, column;

			if (c_of)
				values[e % each] = tcb_ptx_product_value(
					c_of, m->bits == 16 ? word >> (e % each * 16) & 0xffff : word);
			else if (e % each == 0)
				tcb_ptx_elements(m->type, 0, word, each, values);
			place(m, lane * count + e, &row, &column);
			out[row * m->columns + column] = values[e % each];
		}
}

static struct matrix matrix_of(const struct tcb_ptx_product *p, char which)
{
	const enum tcb_ptx_word type = which == 'a' ? p->a : which == 'b' ? p->b : which == 'c' ? p->c : p->d;

	return (struct matrix){ .rows = which == 'b' ? p->k : p->m,
				.columns = which == 'a' ? p->k : p->n,
				.bits = tcb_ptx_type_bits(type),
				.by_columns = which == 'b',
				.type = type };
}

static void run_product(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	const struct tcb_ptx_product *p = &((const struct wmma *)in->extra)->product;
	const struct matrix a = matrix_of(p, 'a'), b = matrix_of(p, 'b'), c = matrix_of(p, 'c'), d = matrix_of(p, 'd');
	const unsigned each = in_register(&d), count = in_lane(&d);
	double left[SIDE_MAX * TCB_PTX_PRODUCT_MAX_K], right[TCB_PTX_PRODUCT_MAX_K * SIDE_MAX], sums[ELEMENTS_MAX];

	if (!tcb_emu_whole_warp(warp, in, active))
		return;
	gather(warp, &in->op[1], &a, NULL, left);
	gather(warp, &in->op[2], &b, NULL, right);
	gather(warp, &in->op[3], &c, p, sums);
	tcb_ptx_product_run(p, left, right, sums, sums);
	for (unsigned lane = 0; lane < TCB_PTX_LANES; lane++)
		for (unsigned e = 0; e < count; e += each) {
			uint64_t bits = 0;

			for (unsigned i = 0; i < each; i++) {
				unsigned row, column;

				place(&d, lane * count + e + i, &row, &column);
				bits |= tcb_ptx_product_bits(p, sums[row * d.columns + column]) << (i * d.bits % 64);
			}
			tcb_emu_set(warp, tcb_emu_item(&in->op[0], e / each), lane, bits);
		}
}

/* --- binding --- */

/* The mnemonic as words. */
struct words {
	char text[120];
	const char *word[WORDS_MAX];
	unsigned count;
};

static void split(const char *mnemonic, struct words *out)
{
	char *at;

	snprintf(out->text, sizeof out->text, "%s", mnemonic);
	out->count = 0;
	for (at = out->text; at && out->count < WORDS_MAX; at = strchr(at, '.')) {
		if (*at == '.')
			*at++ = '\0';
		out->word[out->count++] = at;
	}
}

static int has(const struct words *words, const char *word)
{
	for (unsigned i = 0; i < words->count; i++)
		if (strcmp(words->word[i], word) == 0)
			return 1;
	return 0;
}

/* Types in the order of the text; returns how many. */
static unsigned types_of(const struct words *words, enum tcb_ptx_word out[4])
{
	unsigned count = 0;

	for (unsigned i = 0; i < words->count; i++) {
		const enum tcb_ptx_word word = tcb_ptx_word_find(words->word[i], strlen(words->word[i]));

		if (tcb_ptx_type_bits(word) && count < 4)
			out[count++] = word;
	}
	return count;
}

static int shape_of(const struct words *words, struct tcb_ptx_product *p)
{
	for (unsigned i = 0; i < words->count; i++)
		if (sscanf(words->word[i], "m%un%uk%u", &p->m, &p->n, &p->k) == 3)
			return p->m <= SIDE_MAX && p->n <= SIDE_MAX && p->k <= TCB_PTX_PRODUCT_MAX_K &&
			       p->m * p->n % TCB_PTX_LANES == 0 && p->m * p->k % TCB_PTX_LANES == 0 &&
			       p->n * p->k % TCB_PTX_LANES == 0;
	return 0;
}

/* Whether OP has as many registers, of such a width, as a fragment of M, or several times as many. */
static int holds(const struct tcb_emu_operand *op, const struct matrix *m)
{
	const unsigned wanted = in_lane(m) / in_register(m), count = tcb_emu_items(op);

	if (!wanted || (count != wanted && (count % wanted || m->type != TCB_PTX_F16)) || count > TCB_PTX_FRAGMENT_REGS)
		return 0;
	for (unsigned i = 0; i < count; i++) {
		const struct tcb_emu_operand *item = tcb_emu_item(op, i);

		if ((item->kind != TCB_EMU_REG && item->kind != TCB_EMU_CONST) ||
		    item->bits != (m->bits == 64 ? 64 : 32))
			return 0;
	}
	return 1;
}

static int bind_product(struct wmma *w, struct tcb_emu_ins *in, const struct words *words)
{
	struct tcb_ptx_product *p = &w->product;
	enum tcb_ptx_word type[4];
	const unsigned count = types_of(words, type);

	if (in->op_count != 4 || (count != 2 && count != 4))
		return 0;
	p->d = type[0];
	p->c = type[count - 1];
	p->a = count == 4 ? type[1] : TCB_PTX_F16;
	p->b = count == 4 ? type[2] : TCB_PTX_F16;
	p->satfinite = has(words, "satfinite");
	p->bit_and = has(words, "and");
	tcb_ptx_product_sums(p, in->ins);
	for (unsigned i = 0; i < 4; i++) {
		const struct matrix m = matrix_of(p, "dabc"[i]);

		if (!holds(&in->op[i], &m))
			return 0;
	}
	in->run = run_product;
	return 1;
}

/* A load of WHICH, or a store (of d). */
static int bind_access(struct tcb_ptx_program *program, struct wmma *w, struct tcb_emu_ins *in,
		       const struct words *words, char which)
{
	const int is_store = strcmp(words->word[1], "store") == 0;
	struct tcb_ptx_product *p = &w->product;
	enum tcb_ptx_word type[4];
	unsigned bytes;

	if (types_of(words, type) != 1 || in->op_count < 2 || in->op_count > 3)
		return 0;
	p->a = p->b = p->c = p->d = type[0];
	w->matrix = matrix_of(p, which);
	w->is_column_major = has(words, "col");
	w->space = has(words, "global")                                ? TCB_PTX_GLOBAL
		   : has(words, "shared") || has(words, "shared::cta") ? TCB_PTX_SHARED
								       : TCB_PTX_NO_WORD;
	w->address = is_store ? 0 : 1;
	w->values = is_store ? 1 : 0;
	w->stride = 2;
	w->has_stride = in->op_count == 3;
	bytes = w->matrix.bits * at_once(&w->matrix) / 8;
	if (in->op[w->address].kind != TCB_EMU_ADDRESS || !holds(&in->op[w->values], &w->matrix) ||
	    (w->has_stride && in->op[2].bits != 32) || (w->matrix.bits < 8 && w->is_column_major != (which == 'b')))
		return 0;
	if (w->space != TCB_PTX_GLOBAL && bytes < program->shared_grain)
		program->shared_grain = bytes;
	if (w->space != TCB_PTX_SHARED && bytes < program->global_grain)
		program->global_grain = bytes;
	in->run = is_store ? run_store : run_load;
	return 1;
}

enum tcb_status tcb_emu_bind_wmma(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	struct wmma *w = tcb_arena_alloc(decoder->arena, sizeof *w);
	struct words words;
	int ok = 0;

	if (!w)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the emulator's program");
	split(in->ins->opaque->mnemonic, &words);
	in->extra = w;
	in->class = TCB_PTX_COUNT_MATRIX;
	if (words.count > 3 && strcmp(words.word[0], "wmma") == 0 && shape_of(&words, &w->product))
		ok = strcmp(words.word[1], "mma") == 0
			     ? bind_product(w, in, &words)
			     : (strcmp(words.word[1], "load") == 0 || strcmp(words.word[1], "store") == 0) &&
				       strlen(words.word[2]) == 1 && strchr("abcd", words.word[2][0]) &&
				       bind_access(decoder->program, w, in, &words, words.word[2][0]);
	return ok ? TCB_OK : tcb_fail(err, TCB_E_UNSUPPORTED, "not emulated");
}
