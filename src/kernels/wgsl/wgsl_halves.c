/* SPDX-License-Identifier: MIT
 *
 * Values of 16 bits, f16 and bf16, as WGSL: in words of two, so that a device needs
 * nothing but what all have.
 */
#include "kernels/wgsl/wgsl.h"

void tcb_wgsl_add_from_halves(struct tcb_wgsl *w, enum tcb_type type)
{
	tcb_wgsl_add(w, "\n"
			"fn from_halves(words: vec2<u32>) -> vec4<f32> {\n");
	tcb_wgsl_add(w, type == TCB_TYPE_F16
				? "return vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));\n"
				: "return bitcast<vec4<f32>>(vec4<u32>(words.x << 16u, words.x & 0xffff0000u, "
				  "words.y << 16u, words.y & 0xffff0000u));\n");
	tcb_wgsl_add(w, "}\n");
}

/* Rounded here: which way a device rounds is left open. */
void tcb_wgsl_add_to_halves(struct tcb_wgsl *w, enum tcb_type type)
{
	const int is_f16 = type == TCB_TYPE_F16;
	const unsigned cut = is_f16 ? 13 : 16; /* bits of an f32 */

	tcb_wgsl_add(w,
		     "\n"
		     "// To nearest, of two that are as near to the even one.\n"
		     "fn to_halves(values: vec4<f32>) -> vec2<u32> {\n"
		     "let bits = bitcast<vec4<u32>>(values);\n"
		     "let odd = (bits >> vec4<u32>(%uu)) & vec4<u32>(1u);\n"
		     "let near = (bits + odd + vec4<u32>(0x%xu)) & vec4<u32>(0x%xu);\n",
		     cut, (1u << (cut - 1)) - 1, ~((1u << cut) - 1));
	tcb_wgsl_add(w, is_f16 ? "let rounded = bitcast<vec4<f32>>(near);\n"
				 "return vec2<u32>(pack2x16float(rounded.xy), pack2x16float(rounded.zw));\n"
			       : "return (near.xz >> vec2<u32>(16u)) | near.yw;\n");
	tcb_wgsl_add(w, "}\n");
}
