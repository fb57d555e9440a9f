/* SPDX-License-Identifier: MIT
 *
 * Pieces of expanded formats on a GPU: words in, bytes and scales out.
 *
 * Integer instructions are what such a product has least of, so grids are kept in
 * the form that needs fewest of them.  IQ2: an entry's eight nibbles are places in a
 * table of three values and, a bit above, of the same below zero, so that a sign is
 * one bit of the selector with which prmt then gives four codes.  IQ3: an entry for each
 * four values and their signs.  IQ1: codes of -9, in units of an eighth, as 0, 8 and 16,
 * of which two share a byte, so that what is more or less by an eighth is one more bit.
 */
#include "kernels/gpu/pieces_gpu.h"

#include <string.h>

#include "kernels/decode/formats_grids.h"
#include "kernels/gpu/quant_gpu.h"

enum {
	NIBBLES = 0x0f0f0f0f,
	GRID_MAX = 2048,
	SIGNS = 16,        /* of four values */
	SIGNED_GRID = 256, /* entries of IQ3 that follow each other for the same signs */
	FOUR_SIGNS = 0x44444444,
	EIGHTHS = 0x18181818,
	EIGHTH_MORE = 0x02020202
};

static const struct {
	unsigned char centre, is_split;
} kinds[TCB_FORMAT_COUNT] = {
#define KIND(id, name, codes, high, d, field_bits, centre, has_mins, is_split) [TCB_FORMAT_##id] = { centre, is_split },
	TCB_PIECE_LIST(KIND)
#undef KIND
};

unsigned tcb_piece_centre(enum tcb_format_id id)
{
	return kinds[id].centre;
}

int tcb_piece_is_split(enum tcb_format_id id)
{
	return kinds[id].is_split;
}

int tcb_piece_is_signed(enum tcb_format_id id)
{
	return id == TCB_FORMAT_NVFP4 || (id >= TCB_FORMAT_IQ3_S && id <= TCB_FORMAT_IQ2_XXS);
}

int tcb_piece_has_integers(enum tcb_format_id id)
{
	return id != TCB_FORMAT_NVFP4;
}

/* --- grids --- */

/* Entries as their words are in global memory, and in how many forms shared memory has each. */
struct grid {
	const uint64_t *eights;
	const uint32_t *fours;
	unsigned count, forms;
};

static struct grid grid_of(enum tcb_format_id id)
{
	switch (id) {
	case TCB_FORMAT_IQ3_S:
		return (struct grid){ .fours = tcb_grid_iq3_s, .count = 512, .forms = SIGNS };
	case TCB_FORMAT_IQ3_XXS:
		return (struct grid){ .fours = tcb_grid_iq3_xxs, .count = 256, .forms = SIGNS };
	case TCB_FORMAT_IQ2_S:
		return (struct grid){ .eights = tcb_grid_iq2_s, .count = 1024, .forms = 1 };
	case TCB_FORMAT_IQ2_XS:
		return (struct grid){ .eights = tcb_grid_iq2_xs, .count = 512, .forms = 1 };
	case TCB_FORMAT_IQ2_XXS:
		return (struct grid){ .eights = tcb_grid_iq2_xxs, .count = 256, .forms = 1 };
	case TCB_FORMAT_IQ1_S:
	case TCB_FORMAT_IQ1_M:
		return (struct grid){ .eights = tcb_grid_iq1, .count = GRID_MAX, .forms = 1 };
	default:
		return (struct grid){ 0 };
	}
}

static int is_iq1(enum tcb_format_id id)
{
	return id == TCB_FORMAT_IQ1_S || id == TCB_FORMAT_IQ1_M;
}

/* The values that IQ2's grids are of. */
static const uint8_t iq2_values[] = { 8, 25, 43 };

/* Value I of EIGHT as its nibble says it: IQ2, which of the three it is.  IQ1, from -8, 0 and 8: what two bits of a
 * byte say, from bit 3 on, or of the second four values from bit 5 on. */
static uint32_t entry_of(enum tcb_format_id id, uint64_t eight)
{
	uint32_t entry = 0;
	for (unsigned i = 0; i < 8; i++) {
		const int8_t value = (int8_t)(eight >> 8 * i);
		unsigned which = 0;
		if (is_iq1(id)) {
			entry |= (uint32_t)(value / 8 + 1) << (8 * (i % 4) + (i < 4 ? 3 : 5));
			continue;
		}
		while (which < 2 && iq2_values[which] != value)
			which++;
		entry |= which << 4 * i;
	}
	return entry;
}

unsigned tcb_piece_table_bytes(enum tcb_format_id id, int has_signs)
{
	const struct grid grid = grid_of(id);
	return 4 * grid.count * (has_signs ? grid.forms : 1);
}

void tcb_piece_write_constants(struct tcb_ptx_build *b, enum tcb_format_id id, struct tcb_piece_tables *out)
{
	uint8_t bytes[16] = { 0 };
	const int8_t *table = tcb_format(id)->table;
	if (tcb_has_table(id))
		memcpy(bytes, table, sizeof bytes);
	else
		for (unsigned i = 0; i < sizeof iq2_values; i++) {
			bytes[i] = iq2_values[i];
			bytes[4 + i] = (uint8_t)-iq2_values[i];
		}
	tcb_quant_write_table(b, bytes, out->nibble);
	/* Four, which the assembler cannot know: it would take a shift, of which there are fewer than products. */
	if (grid_of(id).count)
		out->word_bytes = u_add(b, u_shr(b, out->grid, I(31)), I(4));
}

/* IQ3: the entry with each signs, at places SIGNED_GRID apart, those of the second 256 entries behind all of these. */
static void write_signed_entries(struct tcb_ptx_build *b, kit_op entry, kit_op at)
{
	for (unsigned signs = 0; signs < SIGNS; signs++) {
		uint32_t minus = 0;
		for (unsigned i = 0; i < 4; i++)
			minus |= signs >> i & 1 ? 0xffu << 8 * i : 0;
		kit_op word = entry;
		if (signs) /* none of the values is 0 */
			word = u_add(b, u_xor(b, entry, I(minus)), I(minus & 0x01010101));
		tcb_kit_put(b, TCB_KIT_SHARED, "b32", tcb_ptx_at(at, 4 * SIGNED_GRID * signs), word);
	}
}

void tcb_piece_write_grid(struct tcb_ptx_build *b, enum tcb_format_id id, const struct tcb_piece_tables *tables,
			  kit_op tid, unsigned threads)
{
	const struct grid grid = grid_of(id);
	const int has_signs = grid.forms > 1 && tables->has_signs;
	const unsigned width = has_signs ? 1 : 4;
	uint32_t words[GRID_MAX];
	kit_op from, entry[4];
	if (!grid.count)
		return;
	for (unsigned i = 0; i < grid.count; i++)
		words[i] = grid.fours ? grid.fours[i] : entry_of(id, grid.eights[i]);
	from = l_set(b, tcb_ptx_words(b, "grid", words, grid.count));
	const kit_op i = tcb_ptx_for_begin(b, tid, I(grid.count / width), I(threads), 0);
	tcb_kit_load(b, TCB_KIT_INPUT, "b32", tcb_kit_element(b, from, i, 4 * width), entry, width);
	if (has_signs) {
		const kit_op half = u_shr(b, i, I(8)), place = u_mad(b, half, I(SIGNED_GRID * (SIGNS - 1)), i);
		write_signed_entries(b, entry[0], u_mad(b, place, I(4), tables->grid));
	} else {
		tcb_kit_store(b, TCB_KIT_SHARED, "b32", u_mad(b, i, I(4 * width), tables->grid), entry, width);
	}
	tcb_ptx_for_end(b);
}

/* --- words --- */

/* WORD moved up by BY bits, or down by -BY. */
static kit_op moved(struct tcb_ptx_build *b, kit_op word, int by)
{
	return by > 0 ? u_shl(b, word, I(by)) : by < 0 ? u_shr(b, word, I(-by)) : word;
}

static kit_op byte_of(struct tcb_ptx_build *b, kit_op word, unsigned byte)
{
	return u_permute(b, word, I(0), I(0x4440 + byte));
}

static kit_op entry_at(struct tcb_ptx_build *b, const struct tcb_piece_tables *tables, kit_op place)
{
	return tcb_kit_get(b, TCB_KIT_SHARED, "b32", u_mad(b, place, tables->word_bytes, tables->grid));
}

static void nibble_words(struct tcb_ptx_build *b, const struct tcb_piece *piece, int has_fifths, kit_op *out)
{
	for (unsigned k = 0; k < TCB_PIECE_WORDS; k++) {
		out[k] = u_and(b, moved(b, piece->code[k % 4], k < 4 ? 0 : -4), I(NIBBLES));
		if (has_fifths)
			out[k] = u_and_or(b, moved(b, piece->high, 4 - (int)k), I(0x10101010), out[k]);
	}
}

static void two_bit_words(struct tcb_ptx_build *b, const struct tcb_piece *piece, int has_thirds, kit_op *out)
{
	for (unsigned k = 0; k < TCB_PIECE_WORDS; k++) {
		out[k] = u_and(b, moved(b, piece->code[k / 4], -2 * (int)(k % 4)), I(0x03030303));
		if (has_thirds)
			out[k] = u_and_or(b, moved(b, piece->high, 2 - (int)k), I(0x04040404), out[k]);
	}
}

static void table_words(struct tcb_ptx_build *b, const struct tcb_piece_tables *tables, const struct tcb_piece *piece,
			kit_op *out)
{
	for (unsigned j = 0; j < TCB_PIECE_CODE_WORDS; j++)
		tcb_quant_write_lookup(b, tables->nibble, piece->code[j], out + 2 * j);
}

/* Bits 7, 15, 23 and 31 are the scale: what makes the signs of each eight values even takes their place. */
static kit_op even_bytes(struct tcb_ptx_build *b, kit_op high)
{
	const kit_op bits = u_and(b, high, I(0x7f7f7f7f));
	kit_op odd = u_xor(b, bits, u_shr(b, bits, I(4)));
	odd = u_xor(b, odd, u_shr(b, odd, I(2)));
	odd = u_and(b, u_xor(b, odd, u_shr(b, odd, I(1))), I(0x01010101));
	return u_or(b, u_shl(b, odd, I(7)), bits);
}

/* Four bytes, none of them 0, negated where FOUR, a bit each, says so: bits to the tops of bytes, and over these. */
static kit_op signed_four(struct tcb_ptx_build *b, kit_op word, kit_op four)
{
	const kit_op minus = u_permute(b, u_mul(b, four, I(0x10204080)), I(0), I(0xba98));
	return u_add(b, u_xor(b, word, minus), u_and(b, minus, I(0x01010101)));
}

static void iq3_words(struct tcb_ptx_build *b, enum tcb_format_id id, const struct tcb_piece_tables *tables,
		      const struct tcb_piece *piece, kit_op *out)
{
	const int has_ninths = id == TCB_FORMAT_IQ3_S;
	const kit_op signs = has_ninths ? piece->high : even_bytes(b, piece->high);
	const int ninth_at = tables->has_signs ? 12 : 8;
	for (unsigned k = 0; k < TCB_PIECE_WORDS; k++) {
		kit_op place = byte_of(b, piece->code[k / 4], k % 4);
		if (tables->has_signs)
			place = u_and_or(b, moved(b, signs, 8 - 4 * (int)k), I(0xf00), place);
		if (has_ninths)
			place = u_and_or(b, moved(b, piece->fields, ninth_at - (int)k), I(1 << ninth_at), place);
		out[k] = entry_at(b, tables, place);
		if (!tables->has_signs)
			out[k] = signed_four(b, out[k], u_and(b, moved(b, signs, -4 * (int)k), I(15)));
	}
}

/* Bits 28 to 31 are something else: the same of nibbles that are eight values' signs. */
static kit_op even_nibbles(struct tcb_ptx_build *b, kit_op word)
{
	const kit_op bits = u_and(b, word, I(0x0fffffff));
	kit_op odd = u_xor(b, bits, u_shr(b, bits, I(16)));
	odd = u_xor(b, odd, u_shr(b, odd, I(8)));
	odd = u_xor(b, odd, u_shr(b, odd, I(4)));
	return u_or(b, u_shl(b, odd, I(28)), bits);
}

static void iq2_words(struct tcb_ptx_build *b, enum tcb_format_id id, const struct tcb_piece_tables *tables,
		      const struct tcb_piece *piece, kit_op *out)
{
	const kit_op second = piece->code[1], signs = id == TCB_FORMAT_IQ2_S ? second : even_nibbles(b, second);
	for (unsigned j = 0; j < 4; j++) {
		kit_op place = byte_of(b, piece->code[0], j);
		if (id == TCB_FORMAT_IQ2_XS)
			place = u_and_or(b, u_shr(b, second, I(20 + j)), I(0x100), place);
		if (id == TCB_FORMAT_IQ2_S)
			place = u_and_or(b, u_shl(b, piece->fields, I(8 - 2 * j)), I(0x300), place);
		const kit_op entry = entry_at(b, tables, place);
		const kit_op select = u_and_xor(b, moved(b, signs, 2 - (int)j), I(FOUR_SIGNS), entry);
		out[2 * j] = u_permute(b, tables->nibble[0], tables->nibble[1], select);
		out[2 * j + 1] = u_permute(b, tables->nibble[0], tables->nibble[1], u_shr(b, select, I(16)));
	}
}

static void iq1_words(struct tcb_ptx_build *b, enum tcb_format_id id, const struct tcb_piece_tables *tables,
		      const struct tcb_piece *piece, kit_op *out)
{
	const int is_m = id == TCB_FORMAT_IQ1_M;
	kit_op more = I(0);
	if (!is_m)
		more = b_select(b, I(0), I(EIGHTH_MORE), u_ge(b, piece->fields, I(0x8000)));
	for (unsigned j = 0; j < 4; j++) {
		const kit_op upper =
			is_m ? moved(b, piece->high, 8 - 4 * (int)j) : moved(b, piece->fields, 8 - 3 * (int)j);
		const kit_op entry = entry_at(b, tables, u_and_or(b, upper, I(0x700), byte_of(b, piece->code[0], j)));
		if (is_m) {
			const kit_op less = u_and(b, piece->high, I(8 << 4 * j));
			more = b_select(b, I(EIGHTH_MORE), I(0), u_eq(b, less, I(0)));
		}
		out[2 * j] = u_and_or(b, entry, I(EIGHTHS), more);
		out[2 * j + 1] = u_and_or(b, u_shr(b, entry, I(2)), I(EIGHTHS), more);
	}
}

void tcb_piece_write_words(struct tcb_ptx_build *b, enum tcb_format_id id, const struct tcb_piece_tables *tables,
			   const struct tcb_piece *piece, kit_op out[TCB_PIECE_WORDS])
{
	switch (id) {
	case TCB_FORMAT_Q5_0:
	case TCB_FORMAT_Q5_1:
	case TCB_FORMAT_Q4_1:
		nibble_words(b, piece, id != TCB_FORMAT_Q4_1, out);
		break;
	case TCB_FORMAT_Q3_K:
	case TCB_FORMAT_Q2_K:
		two_bit_words(b, piece, id == TCB_FORMAT_Q3_K, out);
		break;
	case TCB_FORMAT_IQ3_S:
	case TCB_FORMAT_IQ3_XXS:
		iq3_words(b, id, tables, piece, out);
		break;
	case TCB_FORMAT_IQ1_S:
	case TCB_FORMAT_IQ1_M:
		iq1_words(b, id, tables, piece, out);
		break;
	case TCB_FORMAT_NVFP4:
		table_words(b, tables, piece, out);
		break;
	default:
		iq2_words(b, id, tables, piece, out);
		break;
	}
}

/* --- scales --- */

/* COUNT bits of WORD from AT on. */
static kit_op bits_of(struct tcb_ptx_build *b, kit_op word, unsigned at, unsigned count)
{
	return u_and(b, moved(b, word, -(int)at), I((1 << count) - 1));
}

/* 2 N + 1 */
static kit_op odd_of(struct tcb_ptx_build *b, kit_op n)
{
	return u_mad(b, n, I(2), I(1));
}

/* Bits 7, 15, 23 and 31 of WORD, as a number. */
static kit_op four_tops(struct tcb_ptx_build *b, kit_op word)
{
	const kit_op each = u_and(b, u_shr(b, word, I(7)), I(0x01010101));
	return u_shr(b, u_mul(b, each, I(0x01020408)), I(24));
}

/* The half in WORD's low bits. */
static kit_op float_of_low(struct tcb_ptx_build *b, kit_op word)
{
	kit_op half[2];
	tcb_kit_halves(b, word, half);
	return f_from_f16(b, half[0]);
}

/* A float without a sign of E4M3, half of it since codes are twice E2M1: as a half it is 2^-8 of it; the largest is no
 * number, and counts as 0. */
static kit_op e4m3_scale(struct tcb_ptx_build *b, kit_op fields, unsigned which)
{
	const kit_op half = u_and(b, moved(b, fields, which ? -1 : 7), I(0x7f << 7));
	const kit_op value = f_mul(b, float_of_low(b, half), F(0x1p7f));
	return f_select(b, F(0), value, u_eq(b, half, I(0x7f << 7)));
}

/* D times UNIT times the integer N. */
static void whole_scale(struct tcb_ptx_build *b, const struct tcb_piece *piece, float unit, kit_op n, kit_op *out)
{
	const kit_op d = f_mul(b, float_of_low(b, piece->d), F(unit));
	*out = f_mul(b, d, f_from_s(b, n));
}

void tcb_piece_write_scales(struct tcb_ptx_build *b, enum tcb_format_id id, const struct tcb_piece *piece,
			    struct tcb_piece_scales *out)
{
	const kit_op fields = piece->fields;
	kit_op half[2];
	switch (id) {
	case TCB_FORMAT_Q5_0:
		out->d = float_of_low(b, fields);
		return;
	case TCB_FORMAT_Q5_1:
	case TCB_FORMAT_Q4_1:
		tcb_kit_floats(b, fields, half);
		out->d = half[0];
		out->min = f_neg(b, half[1]);
		return;
	case TCB_FORMAT_IQ3_S:
		whole_scale(b, piece, 1, odd_of(b, bits_of(b, fields, 8, 4)), &out->d);
		return;
	case TCB_FORMAT_IQ3_XXS:
		whole_scale(b, piece, 0.25f, odd_of(b, four_tops(b, piece->high)), &out->d);
		return;
	case TCB_FORMAT_IQ2_XXS:
		whole_scale(b, piece, 0.125f, odd_of(b, u_shr(b, piece->code[1], I(28))), &out->d);
		return;
	case TCB_FORMAT_IQ1_S:
		whole_scale(b, piece, 0.125f, odd_of(b, bits_of(b, fields, 12, 3)), &out->d);
		return;
	case TCB_FORMAT_NVFP4:
		out->d = F(1);
		for (unsigned i = 0; i < 2; i++)
			out->scale[i] = e4m3_scale(b, fields, i);
		return;
	case TCB_FORMAT_Q2_K:
		tcb_kit_floats(b, piece->d, half);
		out->d = half[0];
		out->dmin = half[1];
		for (unsigned i = 0; i < 2; i++) {
			out->scale[i] = bits_of(b, fields, 8 * i, 4);
			out->mins[i] = bits_of(b, fields, 8 * i + 4, 4);
		}
		return;
	case TCB_FORMAT_Q3_K:
		out->d = float_of_low(b, piece->d);
		for (unsigned i = 0; i < 2; i++)
			out->scale[i] = s_sub(b, bits_of(b, fields, 6 * i, 6), I(32));
		return;
	default: { /* IQ2_S, IQ2_XS, IQ1_M */
		const unsigned at = id == TCB_FORMAT_IQ2_S ? 8 : 0, count = id == TCB_FORMAT_IQ1_M ? 3 : 4;
		out->d = f_mul(b, float_of_low(b, piece->d), F(0.125f));
		for (unsigned i = 0; i < 2; i++)
			out->scale[i] = odd_of(b, bits_of(b, fields, at + i * count, count));
		return;
	}
	}
}
