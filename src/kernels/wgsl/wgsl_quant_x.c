/* SPDX-License-Identifier: MIT
 *
 * Activations to 8 bits, and products of codes, as WGSL.
 */
#include "kernels/wgsl/wgsl_quant.h"

#include "base/sizes.h"

void tcb_wgsl_add_floats_of(struct tcb_wgsl *w)
{
	tcb_wgsl_add(w, "\n"
			"fn floats_of(codes: u32) -> vec4<f32> {\n"
			"let up = vec4<u32>(codes) << vec4<u32>(24u, 16u, 8u, 0u);\n"
			"return vec4<f32>(bitcast<vec4<i32>>(up) >> vec4<u32>(24u));\n"
			"}\n");
}

void tcb_wgsl_add_dot_of(struct tcb_wgsl *w, int is_dp4a)
{
	if (!is_dp4a)
		tcb_wgsl_add(w, "\n"
				"fn signed_of(codes: u32) -> vec4<i32> {\n"
				"let up = vec4<u32>(codes) << vec4<u32>(24u, 16u, 8u, 0u);\n"
				"return bitcast<vec4<i32>>(up) >> vec4<u32>(24u);\n"
				"}\n"
				"\n"
				"fn dot_four(a: u32, b: u32) -> i32 {\n"
				"let products = signed_of(a) * signed_of(b);\n"
				"return products.x + products.y + products.z + products.w;\n"
				"}\n");
	const char *dot = is_dp4a ? "dot4I8Packed" : "dot_four";

	tcb_wgsl_add(w,
		     "\n"
		     "fn dot_of(a: vec4<u32>, b: vec4<u32>) -> i32 {\n"
		     "return %s(a.x, b.x) + %s(a.y, b.y) + %s(a.z, b.z) + %s(a.w, b.w);\n"
		     "}\n",
		     dot, dot, dot, dot);
}

/*
 * A group that holds an infinity or a NaN gets that for a scale; by its bits, since a device may take it that there
 * are none.  One whose largest is below 127 * 2^-126 counts as zeros.  Quotients of a device are right to 2.5 units in
 * the last place: a step of Newton's makes 1 / scale as exact as products are.
 */
void tcb_wgsl_add_codes(struct tcb_wgsl *w, int is_dp4a)
{
	tcb_wgsl_add(w, "\n"
			"fn size_of(values: vec4<f32>) -> vec4<u32> {\n"
			"return bitcast<vec4<u32>>(values) & vec4<u32>(0x7fffffffu);\n"
			"}\n"
			"\n"
			"// The scale of values whose sizes are at most these, and what they are multiplied by.\n"
			"fn scale_of(most: vec4<u32>) -> vec2<f32> {\n"
			"let bits = max(max(most.x, most.y), max(most.z, most.w));\n"
			"let is_large = bits >= 0x03fe0000u; // 127 * 2^-126\n"
			"let is_coded = is_large && bits < 0x7f800000u;\n"
			"let scale = select(0.0, bitcast<f32>(bits) * (1.0 / 127.0), is_large);\n"
			"let rough = 127.0 / bitcast<f32>(select(0x3f800000u, bits, is_coded));\n"
			"let inverse = select(0.0, fma(rough, fma(-scale, rough, 1.0), rough), is_coded);\n"
			"return vec2<f32>(scale, inverse);\n"
			"}\n");
	if (is_dp4a)
		tcb_wgsl_add(w, "\n"
				"fn pack(codes: vec4<i32>) -> u32 {\n"
				"return pack4xI8(codes);\n"
				"}\n");
	else
		tcb_wgsl_add(
			w, "\n"
			   "fn pack(codes: vec4<i32>) -> u32 {\n"
			   "let bytes = (bitcast<vec4<u32>>(codes) & vec4<u32>(255u)) << vec4<u32>(0u, 8u, 16u, 24u);\n"
			   "return bytes.x | bytes.y | bytes.z | bytes.w;\n"
			   "}\n");
}

static void add_group(struct tcb_wgsl *w, const struct tcb_wgsl_quantize *quantize)
{
	const unsigned vectors = quantize->group / 4;
	const char *place = quantize->place ? quantize->place : "";

	tcb_wgsl_add(w,
		     "\n"
		     "// %u activations, from vector x_at on, to codes of 8 bits with one scale.\n"
		     "fn quantize(x_at: u32, to: u32) {\n",
		     quantize->group);
	for (unsigned i = 0; i < vectors; i++)
		tcb_wgsl_add(w, "let x%u = x[x_at + %uu];\n", i, i);
	tcb_wgsl_add(w, "var most = size_of(x0);\n");
	for (unsigned i = 1; i < vectors; i++)
		tcb_wgsl_add(w, "most = max(most, size_of(x%u));\n", i);
	tcb_wgsl_add(w, "let both = scale_of(most);\n"
			"let scale = both.x;\n");
	for (unsigned i = 0; i < vectors; i++)
		tcb_wgsl_add(w, "let codes%u = vec4<i32>(round(x%u * both.y));\n", i, i);
	for (unsigned s = 0; s < vectors; s += 4)
		tcb_wgsl_add(w,
			     "let sum%u = codes%u + codes%u + codes%u + codes%u;\n"
			     "let at%u = %s(to + %uu);\n"
			     "%s[at%u] = vec4<u32>(pack(codes%u), pack(codes%u), pack(codes%u), pack(codes%u));\n"
			     "%s[at%u] = vec2<f32>(scale, scale * f32(sum%u.x + sum%u.y + sum%u.z + sum%u.w));\n",
			     s / 4, s, s + 1, s + 2, s + 3, s / 4, place, s / 4, quantize->codes, s / 4, s, s + 1,
			     s + 2, s + 3, quantize->scales, s / 4, s / 4, s / 4, s / 4, s / 4);
	tcb_wgsl_add(w, "}\n");
}

/* Loads of lanes follow each other. */
static void add_shared_group(struct tcb_wgsl *w, const struct tcb_wgsl_quantize *quantize)
{
	tcb_wgsl_need(w, TCB_WGPU_SUBGROUPS);
	tcb_wgsl_add(w,
		     "\n"
		     "// Eight activations, vectors x_at and x_at + 1, to codes of 8 bits; %u lanes have one scale.\n"
		     "fn quantize(x_at: u32, eight: u32, is_there: bool) {\n"
		     "let x0 = x[x_at];\n"
		     "let x1 = x[x_at + 1u];\n"
		     "let most = max(size_of(x0), size_of(x1));\n"
		     "var bits = max(max(most.x, most.y), max(most.z, most.w));\n",
		     quantize->group / TCB_WGSL_EIGHT);
	for (unsigned mask = 1; mask < quantize->group / TCB_WGSL_EIGHT; mask *= 2)
		tcb_wgsl_add(w, "bits = max(bits, subgroupShuffleXor(bits, %uu));\n", mask);
	tcb_wgsl_add(w,
		     "let both = scale_of(vec4<u32>(bits));\n"
		     "let scale = both.x;\n"
		     "let codes0 = vec4<i32>(round(x0 * both.y));\n"
		     "let codes1 = vec4<i32>(round(x1 * both.y));\n"
		     "let codes = codes0 + codes1;\n"
		     "let own = codes.x + codes.y + codes.z + codes.w;\n"
		     "let sum = own + subgroupShuffleXor(own, 1u);\n"
		     "if (is_there) {\n"
		     "let at = %s(eight >> 1u);\n"
		     "let word = (eight & 1u) * 2u;\n"
		     "%s[at][word] = pack(codes0);\n"
		     "%s[at][word + 1u] = pack(codes1);\n"
		     "if (word == 0u) {\n"
		     "%s[at] = vec2<f32>(scale, scale * f32(sum));\n"
		     "}\n"
		     "}\n"
		     "}\n",
		     quantize->place ? quantize->place : "", quantize->codes, quantize->codes, quantize->scales);
}

void tcb_wgsl_add_quantize(struct tcb_wgsl *w, const struct tcb_wgsl_quantize *quantize)
{
	tcb_wgsl_add_codes(w, quantize->is_dp4a);
	(quantize->is_shared ? add_shared_group : add_group)(w, quantize);
}

void tcb_wgsl_prepare(struct tcb_wgsl *w, const struct tcb_wgsl_quantize *quantize, size_t values, int x, int codes,
		      int scales)
{
	const size_t groups = values / quantize->group;

	tcb_wgsl_number(w, "x_groups", groups);
	tcb_wgsl_begin(w, "prepare",
		       &(struct tcb_wgsl_entry){ .workgroup = TCB_WGSL_PREPARE_WORKGROUP,
						 .grid = { (uint32_t)tcb_div_up(groups, TCB_WGSL_PREPARE_WORKGROUP) },
						 .uses = { x, codes, scales } });
	tcb_wgsl_add(w,
		     "let i = group.x * %uu + local;\n"
		     "if (i < x_groups) {\n"
		     "quantize(i * %uu, i * %uu);\n"
		     "}\n",
		     TCB_WGSL_PREPARE_WORKGROUP, quantize->group / 4, quantize->group / TCB_WGSL_SIXTEEN);
	tcb_wgsl_end(w);
}
