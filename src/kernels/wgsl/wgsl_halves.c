/* SPDX-License-Identifier: MIT
 *
 * Values of 16 bits, f16 and bf16, as WGSL: in words of two, so that a device needs
 * nothing but what all have.
 */
#include <assert.h>

#include "kernels/wgsl/wgsl.h"

void tcb_wgsl_add_from_halves(struct tcb_wgsl *w, const char *name, enum tcb_type type, unsigned width)
{
	static const char *const of_bf16[] = {
		"words << 16u, words & 0xffff0000u",
		"words.x << 16u, words.x & 0xffff0000u, words.y << 16u, words.y & 0xffff0000u"
	};
	static const char *const of_f16[] = { "unpack2x16float(words)",
					      "vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y))" };

	assert(width == 2 || width == 4);
	tcb_wgsl_add(w,
		     "\n"
		     "fn %s(words: %s) -> vec%u<f32> {\n",
		     name, width == 4 ? "vec2<u32>" : "u32", width);
	if (type == TCB_TYPE_F16)
		tcb_wgsl_add(w, "return %s;\n", of_f16[width / 4]);
	else
		tcb_wgsl_add(w, "return bitcast<vec%u<f32>>(vec%u<u32>(%s));\n", width, width, of_bf16[width / 4]);
	tcb_wgsl_add(w, "}\n");
}

/* Rounded here: which way a device rounds is left open. */
void tcb_wgsl_add_to_halves(struct tcb_wgsl *w, const char *name, enum tcb_type type, unsigned width)
{
	const int is_f16 = type == TCB_TYPE_F16;
	const unsigned cut = is_f16 ? 13 : 16; /* bits of an f32 */

	assert(width == 2 || width == 4);
	tcb_wgsl_add(w,
		     "\n"
		     "// To nearest, of two that are as near to the even one.\n"
		     "fn %s(values: vec%u<f32>) -> %s {\n"
		     "let bits = bitcast<vec%u<u32>>(values);\n"
		     "let odd = (bits >> vec%u<u32>(%uu)) & vec%u<u32>(1u);\n"
		     "let near = (bits + odd + vec%u<u32>(0x%xu)) & vec%u<u32>(0x%xu);\n",
		     name, width, width == 4 ? "vec2<u32>" : "u32", width, width, cut, width, width,
		     (1u << (cut - 1)) - 1, width, ~((1u << cut) - 1));
	if (is_f16)
		tcb_wgsl_add(w, "let rounded = bitcast<vec%u<f32>>(near);\n", width);
	tcb_wgsl_add(w, width == 2 ? is_f16 ? "return pack2x16float(rounded);\n" : "return (near.x >> 16u) | near.y;\n"
			: is_f16   ? "return vec2<u32>(pack2x16float(rounded.xy), pack2x16float(rounded.zw));\n"
				   : "return (near.xz >> vec2<u32>(16u)) | near.yw;\n");
	tcb_wgsl_add(w, "}\n");
}
