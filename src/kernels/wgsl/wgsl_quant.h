/* SPDX-License-Identifier: MIT
 *
 * The WGSL kit: weights in blocks, and activations to 8 bits, of all formats.
 *
 * A piece is 32 values of a row that lie together as stored: 16 of them, the low ones (of
 * nibbles, the low nibbles), and 16 others, the high ones, some sixteens further on.  All values are
 * scale * code - offset, with codes as stored, so that where the format has a centre, this is in the offset;
 * each sixteen has one scale and one offset.
 *
 * What a module gets:
 *     struct Stored                               a piece as loaded
 *     fn load(row: u32, piece: u32) -> Stored     piece PIECE of a row; both must be there
 *     struct Piece { low, high: vec4<u32>, ... }  four codes a word, signed, the first in the lowest byte;
 *                                                 scale: vec2<f32> (of low, of high), offset: likewise, if there are
 *     fn decode(stored: Stored, piece: u32) -> Piece
 *     fn first_of(piece: u32) -> u32              which sixteen of the row the low values are
 */
#ifndef TCB_KERNELS_WGSL_WGSL_QUANT_H
#define TCB_KERNELS_WGSL_WGSL_QUANT_H

#include "kernels/quant.h"
#include "kernels/wgsl/wgsl.h"

enum { TCB_WGSL_PIECE = 32, TCB_WGSL_SIXTEEN = 16 };

/* Weights as stored (native), or in planes (p, quant_matvec_planes.c), whose offsets in bytes PLANE has: of high bits,
 * of d, of scales. */
struct tcb_wgsl_weights {
	const struct tcb_format *format;
	enum tcb_layout layout;
	size_t k;
	size_t plane[3];
};

/* Binds them, as operand TCB_QUANT_WEIGHTS, and writes all of the above. */
int tcb_wgsl_weights(struct tcb_wgsl *w, const struct tcb_wgsl_weights *weights);
/* In an entry, before a barrier and the first decode. */
void tcb_wgsl_weights_begin(struct tcb_wgsl *w, const struct tcb_format *format, unsigned workgroup);
/* Bytes of workgroup memory that decode takes. */
size_t tcb_wgsl_weights_bytes(const struct tcb_format *format);
int tcb_wgsl_has_offset(const struct tcb_format *format);
/* Sixteens from a piece's low values to its high ones. */
unsigned tcb_wgsl_apart(const struct tcb_format *format);

/* fn floats_of(codes: u32) -> vec4<f32>, of four signed codes. */
void tcb_wgsl_add_floats_of(struct tcb_wgsl *w);
/* fn dot_of(a: vec4<u32>, b: vec4<u32>) -> i32, of sixteen codes each; by dot products of the language, or without. */
void tcb_wgsl_add_dot_of(struct tcb_wgsl *w, int is_dp4a);

/* fn size_of(values: vec4<f32>) -> vec4<u32>, that compare as magnitudes do; fn scale_of(most: vec4<u32>) -> vec2<f32>
 * and fn pack(codes: vec4<i32>) -> u32, for values that become codes of 8 bits: round(value * scale_of(most).y). */
void tcb_wgsl_add_codes(struct tcb_wgsl *w, int is_dp4a);
/*
 * fn quantize(x_at: u32, to: u32): GROUP (16 or 32) activations, from vector X_AT of x (array<vec4<f32>>) on, to
 * sixteen TO and on of CODES (array<vec4<u32>>) and SCALES (array<vec2<f32>>: the scale, and that times the sum of the
 * codes).  As tcb_quant_codes(), but that a device's quotients may be off in their last bits.
 *
 * IS_SHARED: fn quantize(x_at: u32, eight: u32, is_there: bool), eight activations, half of sixteen EIGHT / 2; GROUP /
 * 8 lanes of a subgroup that follow each other have those of a group, from a multiple of that on.  All lanes call it.
 */
struct tcb_wgsl_quantize {
	const char *codes, *scales;
	const char *place; /* fn of a sixteen: where it is kept; NULL: by its number */
	unsigned group;
	int is_dp4a, is_shared;
};
enum { TCB_WGSL_EIGHT = 8 };
void tcb_wgsl_add_quantize(struct tcb_wgsl *w, const struct tcb_wgsl_quantize *quantize);
/* An entry that does so with VALUES activations, a group an invocation; the bindings are those of x, CODES and SCALES.
 * At most TCB_WGSL_PREPARED groups. */
enum { TCB_WGSL_PREPARE_WORKGROUP = 64, TCB_WGSL_PREPARED = 65535 * TCB_WGSL_PREPARE_WORKGROUP };
void tcb_wgsl_prepare(struct tcb_wgsl *w, const struct tcb_wgsl_quantize *quantize, size_t values, int x, int codes,
		      int scales);

#endif
