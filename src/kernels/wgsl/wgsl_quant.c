/* SPDX-License-Identifier: MIT
 *
 * Weights in blocks as WGSL: a piece of a row is loaded, and taken apart to codes, scales and
 * offsets, by the kinds of codes and scales of a format's row (formats.h).
 */
#include "kernels/wgsl/wgsl_quant.h"

#include <assert.h>
#include <stdio.h>

#include "base/sizes.h"

enum { SUPER = 256, WIDE = 16, PAIR = 8, TABLE_BYTES = 4 * 256 };

/* --- what a format is to these kernels --- */

static int is_native(const struct tcb_wgsl_weights *weights)
{
	return weights->layout == TCB_LAYOUT_NATIVE;
}

/* A row is eight pieces a block, or one. */
static int is_super(const struct tcb_format *format)
{
	return format->block_values == SUPER;
}

static int has_high(const struct tcb_format *format)
{
	return format->code_bits > 4 && format->code_bits < 8;
}

int tcb_wgsl_has_offset(const struct tcb_format *format)
{
	return format->has_offsets || format->centre;
}

unsigned tcb_wgsl_apart(const struct tcb_format *format)
{
	return format->codes == TCB_CODES_PAIRS ? 2 : format->codes == TCB_CODES_QUARTERS ? 4 : 1;
}

size_t tcb_wgsl_weights_bytes(const struct tcb_format *format)
{
	return tcb_has_table(format->id) ? TABLE_BYTES : 0;
}

/* --- bytes --- */

/* What every block begins at a multiple of, up to what a load has. */
static size_t unit_of(const struct tcb_wgsl_weights *weights)
{
	const size_t bytes = weights->format->block_bytes;

	if (!is_native(weights))
		return WIDE;
	return bytes % WIDE == 0 ? WIDE : bytes % PAIR == 0 ? PAIR : 1;
}

/* Places of blocks as stored, and within them, are counted in this many bytes: vectors, where each begins at one. */
static unsigned counted_in(const struct tcb_wgsl_weights *weights)
{
	return is_native(weights) && unit_of(weights) == WIDE ? WIDE : 1;
}

static void write_bytes(struct tcb_wgsl *w, size_t unit, unsigned counted, int has_words)
{
	if (counted == WIDE)
		tcb_wgsl_add(w, "\n"
				"fn bytes16(at: u32) -> vec4<u32> {\n"
				"return weights[at];\n"
				"}\n");
	else if (unit == WIDE)
		tcb_wgsl_add(w, "\n"
				"// The 16 bytes from byte AT on, a multiple of 16.\n"
				"fn bytes16(at: u32) -> vec4<u32> {\n"
				"return weights[at >> 4u];\n"
				"}\n");
	else if (unit == PAIR)
		tcb_wgsl_add(w, "\n"
				"// The 16 bytes from byte AT on, a multiple of 8.\n"
				"fn bytes16(at: u32) -> vec4<u32> {\n"
				"return vec4<u32>(weights[at >> 3u], weights[(at >> 3u) + 1u]);\n"
				"}\n");
	else
		tcb_wgsl_add(w, "\n"
				"// The 16 bytes from byte AT on, whatever it is: words, shifted; the last is the one "
				"before where\n"
				"// all are whole, and shifted out.\n"
				"fn bytes16(at: u32) -> vec4<u32> {\n"
				"let i = at >> 2u;\n"
				"let shift = vec4<u32>((at & 3u) * 8u);\n"
				"let low = vec4<u32>(weights[i], weights[i + 1u], weights[i + 2u], weights[i + 3u]);\n"
				"let next = vec4<u32>(low.yzw, weights[(at + 15u) >> 2u]);\n"
				"return (low >> shift) | ((next << vec4<u32>(1u)) << (vec4<u32>(31u) - shift));\n"
				"}\n");
	if (!has_words)
		return;
	tcb_wgsl_add(w,
		     "\n"
		     "// The word that byte AT is in, such that this is its lowest.\n"
		     "fn from_byte(at: u32) -> u32 {\n"
		     "return %s >> ((at & 3u) * 8u);\n"
		     "}\n",
		     unit == WIDE   ? "weights[at >> 4u][(at >> 2u) & 3u]"
		     : unit == PAIR ? "weights[at >> 3u][(at >> 2u) & 1u]"
				    : "weights[at >> 2u]");
}

/* --- load --- */

static void write_stored(struct tcb_wgsl *w, const struct tcb_format *format)
{
	static const char *const head[] = { [TCB_SCALES_HALF] = "u32",
					    [TCB_SCALES_K] = "vec4<u32>",
					    [TCB_SCALES_BYTES] = "vec3<u32>",
					    [TCB_SCALES_POWER] = "u32",
					    [TCB_SCALES_SIX] = "vec2<u32>" };

	tcb_wgsl_add(w, "\n"
			"// A piece of a row, as loaded.\n"
			"struct Stored {\n"
			"codes: vec4<u32>,\n");
	if (format->codes == TCB_CODES_BYTES)
		tcb_wgsl_add(w, "others: vec4<u32>,\n");
	if (has_high(format))
		tcb_wgsl_add(w, "bits: vec4<u32>,\n");
	tcb_wgsl_add(w, "scales: %s,\n}\n", head[format->scales]);
}

/* Where the codes and the bits beyond four of a piece are: of the block at byte "block", as stored, or in their planes.
 */
static void write_load_codes(struct tcb_wgsl *w, const struct tcb_wgsl_weights *weights)
{
	const struct tcb_format *f = weights->format;
	const unsigned bytes = f->codes == TCB_CODES_BYTES ? 32 : 16, unit = counted_in(weights);
	char high[64];

	if (f->codes == TCB_CODES_PAIRS)
		snprintf(high, sizeof high, "(part & 1u) * %uu", 16 / unit);
	else
		snprintf(high, sizeof high, "(part >> 2u) * %uu + (part & 1u) * %uu", 32 / unit, 16 / unit);
	if (!is_native(weights))
		tcb_wgsl_add(w, "let codes_at = (span * 8u + part) * %uu;\n", bytes);
	else if (is_super(f))
		tcb_wgsl_add(w, "let codes_at = block + %zuu + part * %uu;\n", f->codes_at / unit, bytes / unit);
	else
		tcb_wgsl_add(w, "let codes_at = block + %zuu;\n", f->codes_at / unit);
	tcb_wgsl_add(w, "stored.codes = bytes16(codes_at);\n");
	if (f->codes == TCB_CODES_BYTES)
		tcb_wgsl_add(w, "stored.others = bytes16(codes_at + %uu);\n", 16 / unit);
	if (has_high(f) && is_native(weights))
		tcb_wgsl_add(w, "stored.bits = bytes16(block + %zuu + %s);\n", f->high_at / unit, high);
	else if (has_high(f))
		tcb_wgsl_add(w, "stored.bits = bytes16(bits_at + span * %uu + %s);\n",
			     (unsigned)(f->code_bits - 4) * 32, high);
}

static void write_load_scales(struct tcb_wgsl *w, const struct tcb_wgsl_weights *weights)
{
	const struct tcb_format *f = weights->format;
	const int native = is_native(weights);

	switch (f->scales) {
	case TCB_SCALES_HALF:
		tcb_wgsl_add(w,
			     native ? "stored.scales = from_byte(block + %zuu);\n"
				    : "stored.scales = from_byte(scales_at + (span * 8u + part) * 2u);\n",
			     f->d_at);
		break;
	case TCB_SCALES_POWER:
		tcb_wgsl_add(w,
			     native ? "stored.scales = from_byte(block + %zuu);\n"
				    : "stored.scales = from_byte(scales_at + span * 8u + part);\n",
			     f->scales_at);
		break;
	case TCB_SCALES_K:
		tcb_wgsl_add(w,
			     native ? "stored.scales = bytes16(block + %zuu);\n"
				    : "stored.scales = bytes16(scales_at + span * 16u);\n",
			     f->d_at / counted_in(weights));
		break;
	case TCB_SCALES_BYTES: /* of the sixteens */
		if (native)
			tcb_wgsl_add(w,
				     "let d = from_byte(block + %zuu);\n"
				     "let scale_at = block + %zuu + first_of(part);\n",
				     f->d_at, f->scales_at);
		else
			tcb_wgsl_add(w, "let d = from_byte(d_at + span * 2u);\n"
					"let scale_at = scales_at + span * 16u + first_of(part);\n");
		tcb_wgsl_add(w, "stored.scales = vec3<u32>(d, from_byte(scale_at), from_byte(scale_at + 4u));\n");
		break;
	case TCB_SCALES_SIX:
		if (native)
			tcb_wgsl_add(w, "stored.scales = vec2<u32>(from_byte(block + %zuu), from_byte(block + 4u));\n",
				     f->d_at);
		else
			tcb_wgsl_add(w, "stored.scales = vec2<u32>(from_byte(d_at + span * 2u), "
					"from_byte(scales_at + span * 8u + part));\n");
		break;
	default: /* expanded formats have no kernels here */
		break;
	}
}

static void write_load(struct tcb_wgsl *w, const struct tcb_wgsl_weights *weights)
{
	const struct tcb_format *f = weights->format;

	tcb_wgsl_add(w, "\n"
			"fn load(row: u32, piece: u32) -> Stored {\n"
			"var stored: Stored;\n");
	if (!is_native(weights) || is_super(f))
		tcb_wgsl_add(w, "let part = piece & 7u;\n");
	if (!is_native(weights))
		tcb_wgsl_add(w, "let span = row * blocks + (piece >> 3u);\n");
	else
		tcb_wgsl_add(w, "let block = (row * blocks + %s) * %zuu;\n", is_super(f) ? "(piece >> 3u)" : "piece",
			     f->block_bytes / counted_in(weights));
	write_load_codes(w, weights);
	write_load_scales(w, weights);
	tcb_wgsl_add(w, "return stored;\n}\n");
}

/* --- decode --- */

static void write_first_of(struct tcb_wgsl *w, const struct tcb_format *format)
{
	static const char *const first[] = {
		[TCB_CODES_BYTES] = "piece * 2u",
		[TCB_CODES_RUNS] = "piece * 2u",
		[TCB_CODES_PAIRS] = "(piece >> 1u) * 4u + (piece & 1u)",
		[TCB_CODES_QUARTERS] = "(piece >> 2u) * 8u + (piece & 3u)",
	};

	tcb_wgsl_add(w,
		     "\n"
		     "// Which sixteen of its row a piece's low values are; the high ones are %u on.\n"
		     "fn first_of(piece: u32) -> u32 {\n"
		     "return %s;\n"
		     "}\n",
		     tcb_wgsl_apart(format), first[format->codes]);
}

/* A byte's two codes, from workgroup memory: the low one in byte 0, the high one in byte 2. */
static void write_table(struct tcb_wgsl *w)
{
	tcb_wgsl_add(w, "\n"
			"// What a byte's two nibbles stand for: the low one in byte 0, the high one in byte 2.\n"
			"var<workgroup> codes_of: array<u32, 256>;\n"
			"\n"
			"// Four bytes: the low nibbles' codes, the high ones'.\n"
			"fn look_up(word: u32) -> vec2<u32> {\n"
			"let a = codes_of[word & 255u] | (codes_of[(word >> 8u) & 255u] << 8u);\n"
			"let b = codes_of[(word >> 16u) & 255u] | (codes_of[word >> 24u] << 8u);\n"
			"return vec2<u32>((a & 0xffffu) | (b << 16u), (a >> 16u) | (b & 0xffff0000u));\n"
			"}\n");
}

static uint32_t packed(const int8_t code[4])
{
	uint32_t word = 0;

	for (int i = 0; i < 4; i++)
		word |= (uint32_t)(uint8_t)code[i] << 8 * i;
	return word;
}

void tcb_wgsl_weights_begin(struct tcb_wgsl *w, const struct tcb_format *format, unsigned workgroup)
{
	const int8_t *table = format->table;

	if (!tcb_has_table(format->id))
		return;
	tcb_wgsl_add(w,
		     "var table = vec4<u32>(0x%08xu, 0x%08xu, 0x%08xu, 0x%08xu);\n"
		     "for (var i = local; i < 256u; i += %uu) {\n"
		     "let low = (table[(i >> 2u) & 3u] >> ((i & 3u) * 8u)) & 255u;\n"
		     "let high = (table[i >> 6u] >> (((i >> 4u) & 3u) * 8u)) & 255u;\n"
		     "codes_of[i] = low | (high << 16u);\n"
		     "}\n",
		     packed(table), packed(table + 4), packed(table + 8), packed(table + 12), workgroup);
}

static void write_decode_codes(struct tcb_wgsl *w, const struct tcb_format *format)
{
	if (format->codes == TCB_CODES_BYTES) {
		tcb_wgsl_add(w, "out.low = stored.codes;\n"
				"out.high = stored.others;\n");
		return;
	}
	if (tcb_has_table(format->id)) {
		tcb_wgsl_add(w, "let x = look_up(stored.codes.x);\n"
				"let y = look_up(stored.codes.y);\n"
				"let z = look_up(stored.codes.z);\n"
				"let w = look_up(stored.codes.w);\n"
				"out.low = vec4<u32>(x.x, y.x, z.x, w.x);\n"
				"out.high = vec4<u32>(x.y, y.y, z.y, w.y);\n");
		return;
	}
	tcb_wgsl_add(w, "out.low = stored.codes & vec4<u32>(0x0f0f0f0fu);\n"
			"out.high = (stored.codes >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu);\n");
	if (format->codes == TCB_CODES_PAIRS && has_high(format))
		tcb_wgsl_add(w, "let bits = stored.bits >> vec4<u32>(part & 6u);\n"
				"out.low |= (bits & vec4<u32>(0x01010101u)) << vec4<u32>(4u);\n"
				"out.high |= (bits & vec4<u32>(0x02020202u)) << vec4<u32>(3u);\n");
	else if (format->codes == TCB_CODES_QUARTERS)
		tcb_wgsl_add(w, "let bits = stored.bits >> vec4<u32>(part & 2u);\n"
				"out.low |= (bits & vec4<u32>(0x03030303u)) << vec4<u32>(4u);\n"
				"out.high |= bits & vec4<u32>(0x30303030u);\n");
}

static void write_decode_scales(struct tcb_wgsl *w, const struct tcb_wgsl_weights *weights)
{
	const struct tcb_format *f = weights->format;

	switch (f->scales) {
	case TCB_SCALES_HALF:
		tcb_wgsl_add(w, "out.scale = vec2<f32>(unpack2x16float(stored.scales).x);\n");
		break;
	case TCB_SCALES_POWER: /* 2^(e - 128) */
		tcb_wgsl_add(
			w, "let e = stored.scales & 255u;\n"
			   "out.scale = vec2<f32>(bitcast<f32>(select((e - 1u) << 23u, 0x00200000u << e, e < 2u)));\n");
		break;
	case TCB_SCALES_K: /* of sub-blocks j and j + 1, j even, in the lower bytes of words */
		tcb_wgsl_add(
			w, "let d = unpack2x16float(stored.scales.x);\n"
			   "let words = stored.scales.yzw >> vec3<u32>((part & 2u) * 8u);\n"
			   "let is_first = part < 4u;\n"
			   "let scales = select((words.z & 0x0f0fu) | ((words.x & 0xc0c0u) >> 2u), words.x & 0x3f3fu, "
			   "is_first);\n"
			   "let mins = select(((words.z >> 4u) & 0x0f0fu) | ((words.y & 0xc0c0u) >> 2u), words.y & "
			   "0x3f3fu, is_first);\n"
			   "out.scale = d.x * vec2<f32>(vec2<u32>(scales & 255u, scales >> 8u));\n"
			   "out.offset = d.y * vec2<f32>(vec2<u32>(mins & 255u, mins >> 8u));\n");
		break;
	case TCB_SCALES_BYTES:
		tcb_wgsl_add(w,
			     "let signed = bitcast<vec2<i32>>(stored.scales.yz << vec2<u32>(24u)) >> vec2<u32>(24u);\n"
			     "out.scale = unpack2x16float(stored.scales.x).x * vec2<f32>(signed);\n");
		break;
	case TCB_SCALES_SIX:
		tcb_wgsl_add(w, "let d = unpack2x16float(stored.scales.x).x;\n");
		if (is_native(weights))
			tcb_wgsl_add(w, "let six = ((stored.scales.y >> (part * 4u)) & 15u) | "
					"(((stored.scales.x >> (16u + part * 2u)) & 3u) << 4u);\n"
					"out.scale = vec2<f32>(d * f32(i32(six) - 32));\n");
		else
			tcb_wgsl_add(w, "let signed = bitcast<i32>(stored.scales.y << 24u) >> 24u;\n"
					"out.scale = vec2<f32>(d * f32(signed));\n");
		break;
	default: /* expanded formats have no kernels here */
		break;
	}
	if (f->centre)
		tcb_wgsl_add(w, "out.offset = out.scale * %d.0;\n", f->centre);
}

static void write_decode(struct tcb_wgsl *w, const struct tcb_wgsl_weights *weights)
{
	const struct tcb_format *f = weights->format;

	if (tcb_has_table(f->id))
		write_table(w);
	tcb_wgsl_add(w,
		     "\n"
		     "// The same as codes: 16 low values, 16 high ones, four a word; a value is scale * code%s.\n"
		     "struct Piece {\n"
		     "low: vec4<u32>,\n"
		     "high: vec4<u32>,\n"
		     "scale: vec2<f32>,\n",
		     tcb_wgsl_has_offset(f) ? " - offset" : "");
	tcb_wgsl_add(w,
		     "%s}\n"
		     "\n"
		     "fn decode(stored: Stored, piece: u32) -> Piece {\n"
		     "var out: Piece;\n",
		     tcb_wgsl_has_offset(f) ? "offset: vec2<f32>,\n" : "");
	if (is_super(f))
		tcb_wgsl_add(w, "let part = piece & 7u;\n");
	write_decode_codes(w, f);
	write_decode_scales(w, weights);
	tcb_wgsl_add(w, "return out;\n}\n");
}

int tcb_wgsl_weights(struct tcb_wgsl *w, const struct tcb_wgsl_weights *weights)
{
	const struct tcb_format *f = weights->format;
	const size_t unit = unit_of(weights), values = is_native(weights) ? f->block_values : SUPER;
	const char *type = unit == WIDE ? "array<vec4<u32>>" : unit == PAIR ? "array<vec2<u32>>" : "array<u32>";
	const int binding = tcb_wgsl_input(w, "weights", type, TCB_QUANT_WEIGHTS);

	tcb_wgsl_number(w, "blocks", tcb_div_up(weights->k, values));
	if (!is_native(weights)) {
		if (has_high(f))
			tcb_wgsl_number(w, "bits_at", weights->plane[0]);
		if (f->scales == TCB_SCALES_BYTES || f->scales == TCB_SCALES_SIX)
			tcb_wgsl_number(w, "d_at", weights->plane[1]);
		tcb_wgsl_number(w, "scales_at", weights->plane[2]);
	}
	assert(counted_in(weights) == 1 || f->scales == TCB_SCALES_K); /* words are found by their bytes */
	write_bytes(w, unit, counted_in(weights), f->scales != TCB_SCALES_K);
	write_first_of(w, f);
	write_stored(w, f);
	write_load(w, weights);
	write_decode(w, weights);
	return binding;
}
