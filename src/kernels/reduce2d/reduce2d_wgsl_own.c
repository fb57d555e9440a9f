/* SPDX-License-Identifier: MIT
 *
 * Reductions of one's own in WGSL: the program's steps as a function combine(a, b).
 * Values are the bits of f32, so that magnitudes, signs, minima and maxima are what the
 * program says on every device; only its sums and products are the device's floats.
 */
#include <stdio.h>
#include <string.h>

#include "kernels/reduce2d/reduce2d_wgsl.h"

enum { VALUE_MAX = 16, LINE_MAX = 160 };

static int has_code(const struct reduce2d_program *program, enum reduce2d_code code)
{
	for (unsigned i = 0; i < program->count; i++)
		if (program->step[i].code == code)
			return 1;
	return 0;
}

static void write_extremes(struct tcb_wgsl *w, const struct reduce2d_program *program)
{
	const int has_max = has_code(program, REDUCE2D_CODE_MAX), has_min = has_code(program, REDUCE2D_CODE_MIN);

	if (!has_max && !has_min)
		return;
	tcb_wgsl_add(w, "\n"
			"// A value's bits as a word that is the larger the larger it is; -0 is below 0.\n"
			"fn order_of(bits: u32) -> u32 {\n"
			"return bits ^ (select(0u, 0xffffffffu, bits >> 31u == 1u) | 0x80000000u);\n"
			"}\n"
			"\n"
			"fn is_nan(bits: u32) -> bool {\n"
			"return (bits & 0x7fffffffu) > 0x7f800000u;\n"
			"}\n");
	for (int is_min = !has_max; is_min <= has_min; is_min++)
		tcb_wgsl_add(w,
			     "\n"
			     "fn %s(a: u32, b: u32) -> u32 {\n"
			     "return select(a, b, is_nan(b) || (!is_nan(a) && order_of(b) %s order_of(a)));\n"
			     "}\n",
			     is_min ? "smallest" : "largest", is_min ? "<" : ">");
}

uint32_t reduce2d_wgsl_bits(float value)
{
	uint32_t bits;
	memcpy(&bits, &value, sizeof bits);
	return bits;
}

/* What CODE makes of X and Y. */
static void print_step(enum reduce2d_code code, const char *x, const char *y, char out[LINE_MAX])
{
	static const char *const words[] = {
		[REDUCE2D_CODE_ADD] = "+", [REDUCE2D_CODE_SUB] = "-", [REDUCE2D_CODE_MUL] = "*"
	};

	switch (code) {
	case REDUCE2D_CODE_NEG:
		snprintf(out, LINE_MAX, "%s ^ 0x80000000u", x);
		break;
	case REDUCE2D_CODE_ABS:
		snprintf(out, LINE_MAX, "%s & 0x7fffffffu", x);
		break;
	case REDUCE2D_CODE_MIN:
	case REDUCE2D_CODE_MAX:
		snprintf(out, LINE_MAX, "%s(%s, %s)", code == REDUCE2D_CODE_MAX ? "largest" : "smallest", x, y);
		break;
	default:
		snprintf(out, LINE_MAX, "bitcast<u32>(bitcast<f32>(%s) %s bitcast<f32>(%s))", x, words[code], y);
	}
}

static void write_combine(struct tcb_wgsl *w, const struct reduce2d_program *program)
{
	char stack[REDUCE2D_STACK_MAX + 1][VALUE_MAX] = { "" }, line[LINE_MAX], text[REDUCE2D_TEXT_MAX];
	int top = -1;

	reduce2d_program_print(program, text);
	tcb_wgsl_add(w, "\n// %s, of the bits of f32.\nfn combine(a: u32, b: u32) -> u32 {\n", text);
	for (unsigned i = 0; i < program->count; i++) {
		const enum reduce2d_code code = program->step[i].code;
		const int operands = reduce2d_code_operands(code);

		top -= operands - 1;
		if (code == REDUCE2D_CODE_A || code == REDUCE2D_CODE_B)
			snprintf(stack[top], VALUE_MAX, code == REDUCE2D_CODE_A ? "a" : "b");
		else if (code == REDUCE2D_CODE_NUMBER)
			snprintf(stack[top], VALUE_MAX, "0x%08xu", reduce2d_wgsl_bits(program->step[i].value));
		else {
			print_step(code, stack[top], stack[top + operands - 1], line);
			tcb_wgsl_add(w, "let step%u = %s;\n", i, line);
			snprintf(stack[top], VALUE_MAX, "step%u", i);
		}
	}
	tcb_wgsl_add(w, "return %s;\n}\n", stack[0]);
}

void reduce2d_wgsl_write_program(struct tcb_wgsl *w, const struct reduce2d_program *program, unsigned width)
{
	static const char *const parts[] = {
		"", "", "combine(a.x, b.x), combine(a.y, b.y)", "",
		"combine(a.x, b.x), combine(a.y, b.y), combine(a.z, b.z), combine(a.w, b.w)"
	};

	write_extremes(w, program);
	write_combine(w, program);
	if (width > 1)
		tcb_wgsl_add(w,
			     "\n"
			     "fn combine_each(a: vec%u<u32>, b: vec%u<u32>) -> vec%u<u32> {\n"
			     "return vec%u<u32>(%s);\n"
			     "}\n",
			     width, width, width, width, parts[width]);
}
