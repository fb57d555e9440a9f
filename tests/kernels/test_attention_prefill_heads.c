/* SPDX-License-Identifier: MIT
 *
 * attention_prefill on GPUs: heads of all sizes, V of another width than K or in K's rows, sinks, ALiBi and prefixes.
 * Every legal shape has a default geometry, and kernels for them are right in the emulator, where what is
 * behind a head is the next one's and what is past a length is NaN.
 */
#include <stdio.h>
#include <string.h>

#include "attention_case.h"
#include "base/gpu_table.h"
#include "instrumented.h"
#include "kernels/attention/attention_prefill_gpu.h"
#include "kernels/constraint.h"
#include "kernels/emulation.h"

static const char *const op_names[] = { "attention_prefill_f16", "attention_prefill_bf16", "attention_prefill_q80" };
static const unsigned capabilities[] = { 80, 86, 89, 90, 100, 103, 120 };
#define COUNT(values) (sizeof(values) / sizeof(*(values)))

static void default_of(const struct tcb_op *op, enum tcb_contract contract, unsigned capability, const char *text,
		       struct tcb_problem *problem, struct tcb_gpu *gpu, struct tcb_geometry *out)
{
	struct tcb_error err;
	attention_strided(op, contract, text, capability + strlen(text), problem);
	if (tcb_gpu_table(capability, gpu, &err) != TCB_OK)
		fail_msg("%s", err.message);
	tcb_op_standard(problem, &gpu->device.target, out);
	if (tcb_constraint_require(problem, &gpu->device.target, out, &err) != TCB_OK)
		fail_msg("%s %s sm_%u %s: %s", op->name, tcb_contract_text(contract), capability, text, err.message);
}

/* --- default geometries --- */

static void check_defaults(const struct tcb_op *op, enum tcb_contract contract, const char *text)
{
	struct tcb_problem problem;
	struct tcb_gpu gpu;
	struct tcb_geometry geometry;
	for (size_t i = 0; i < COUNT(capabilities); i++)
		default_of(op, contract, capabilities[i], text, &problem, &gpu, &geometry);
}

static void every_head_has_a_default(void **state)
{
	static const char *const words[] = { "", ",causal,sinks,alibi,prefix", ",vk,causal,p16,c30", ",alibi,p5" };
	static const unsigned tokens[] = { 1, 40, 2048 };
	char text[100];
	(void)state;
	for (size_t n = 0; n < 2 * COUNT(op_names); n++)
		check_defaults(tcb_op_find(op_names[n / 2]), n % 2 ? TCB_CONTRACT_F16 : TCB_CONTRACT_F32,
			       "512x512x544,h8/4,sinks,alibi,prefix,causal");
	for (size_t k = 8; k <= ATTENTION_HEAD_MAX; k += 8)
		for (size_t v = 8; v <= ATTENTION_HEAD_MAX; v += 8)
			for (size_t o = 0; o < COUNT(op_names); o++) {
				const size_t n = k / 8 * 5 + v / 8 * 3 + o;
				const enum tcb_contract contract = n % 2 ? TCB_CONTRACT_F16 : TCB_CONTRACT_F32;
				snprintf(text, sizeof(text), "%ux2048x%zu,h8/4,v%zu%s", tokens[n % 3], k, v,
					 words[n / 2 % COUNT(words)]);
				if ((k + v) / 8 % 4 == 0 && attention_takes(op_names[o], text))
					check_defaults(tcb_op_find(op_names[o]), contract, text);
			}
}

/* --- kernels --- */

static void emulate(const struct tcb_op *op, enum tcb_contract contract, unsigned capability, const char *shape,
		    const char *text)
{
	const struct tcb_ptx_sink sink = { attention_print_finding, NULL };
	struct tcb_kernel_emulation emulation;
	struct tcb_problem problem;
	struct tcb_geometry geometry;
	struct tcb_kernel kernel;
	struct tcb_error err;
	struct tcb_gpu gpu;
	default_of(op, contract, capability, shape, &problem, &gpu, &geometry);
	if ((text && tcb_geometry_parse(text, &geometry, &err) != TCB_OK) ||
	    tcb_constraint_require(&problem, &gpu.device.target, &geometry, &err) != TCB_OK ||
	    tcb_op_side(op, &gpu.device.target)->emit(&problem, &gpu.device.target, &geometry, &kernel, &err) !=
		    TCB_OK ||
	    tcb_kernel_emulate(op, &kernel, NULL, ATTENTION_SEED, &sink, &emulation, &err) != TCB_OK)
		fail_msg("%s sm_%u %s: %s", op->name, capability, shape, err.message);
	if (emulation.findings || emulation.calls_differ || !(emulation.error_ratio <= 1))
		fail_msg("%s %s sm_%u %s: %g of what is allowed, %s", op->name, tcb_contract_text(contract), capability,
			 shape, emulation.error_ratio,
			 emulation.calls_differ ? "and not the same the second time" : "the same each time");
	tcb_kernel_fini(&kernel);
}

/* With KV of each type that has such heads, and both contracts, each on the device whose number it is. */
static void check_shapes(const char *const *shapes, size_t count)
{
	static const unsigned on[] = { 80, 90, 86, 120 };
	for (size_t n = 0; n < count * COUNT(op_names) * 2; n++) {
		const char *shape = shapes[n / 2 / COUNT(op_names)], *name = op_names[n / 2 % COUNT(op_names)];
		const enum tcb_contract contract = n % 2 ? TCB_CONTRACT_F16 : TCB_CONTRACT_F32;
		if (test_leaves_out(n) || !attention_takes(name, shape))
			continue;
		emulate(tcb_op_find(name), contract, on[n / 2 % COUNT(on)], shape, NULL);
		if (contract == TCB_CONTRACT_F16)
			emulate(tcb_op_find(name), contract, 90, shape, NULL);
	}
}

static void heads_of_other_sizes(void **state)
{
	static const char *const shapes[] = {
		"40x70x8,h4/2,causal",        "33x50x72,h2/2,b2,ragged", "20x40x40,h4/2,v24,p5,causal",
		"70x90x192,h2/1,v128,causal", "17x60x96,h2/2,v160",      "10x40x248,h2/2,v8,w9,causal",
	};
	(void)state;
	check_shapes(shapes, COUNT(shapes));
}

static void v_in_rows_of_k(void **state)
{
	static const char *const shapes[] = {
		"40x70x64,h4/2,vk,causal",
		"70x150x96,h2/1,v64,vk,b3,ragged",
		"20x60x40,h4/1,v16,vk,p8,causal",
		"30x40x192,h2/2,v160,vk,w20,causal",
	};
	(void)state;
	check_shapes(shapes, COUNT(shapes));
}

static void sinks_alibi_and_prefixes(void **state)
{
	static const char *const shapes[] = {
		"40x70x64,h4/2,sinks,causal,b4,ragged",
		"40x70x64,h6/2,alibi,b2",
		"70x150x64,h4/2,prefix,causal,b4,ragged",
		"70x90x32,h4/2,prefix,w20,causal,c9,sinks",
		"30x200x128,h2/2,alibi,sinks,prefix,causal,p16,c20",
		"80x40x64,h3/1,alibi,sinks,causal",
	};
	(void)state;
	check_shapes(shapes, COUNT(shapes));
}

static void long_heads(void **state)
{
	static const char *const shapes[] = {
		"20x40x576,h4/1,v512,vk,causal", "10x30x512,h2/2,p8,causal", "10x20x576,h1/1,alibi",
		"9x20x264,h1/1,v520,sinks",      "20x30x64,h2/1,v320",       "3x20x544,h2/1,v544,vk",
	};
	(void)state;
	check_shapes(shapes, COUNT(shapes));
}

#define TILES(macro, midi, micro) "macro=" macro ",midi=" midi ",micro=" micro

/* Blocks that stay and draw their tiles, rows of several heads, one warp for a long row, one stage. */
static void in_other_geometries(void **state)
{
	static const struct {
		const char *op, *shape, *geometry;
		unsigned capability;
	} rows[] = {
		{ "attention_prefill_f16", "70x100x576,h4/1,v512,vk,causal,b3,ragged,sinks,alibi,prefix",
		  TILES("256x128x576", "16x32x576",
			"16x32x576") ",isa=wgmma,stages=2,blocks=1,sched=dynamic,pdl=1,occ=1,heads=4,turns=1",
		  90 },
		{ "attention_prefill_bf16", "150x90x80,h2/1,v48,causal,b2,prefix",
		  TILES("256x96x80", "128x48x80",
			"64x48x80") ",isa=wgmma,stages=3,blocks=0,pdl=0,occ=1,heads=1,turns=1",
		  90 },
		{ "attention_prefill_f16", "70x100x320,h2/1,v512,p16,causal",
		  TILES("128x128x320", "32x32x320",
			"32x32x320") ",isa=wgmma,stages=2,blocks=0,pdl=0,occ=1,heads=2,turns=0",
		  90 },
		{ "attention_prefill_f16", "40x50x328,h8/2,v512,causal,alibi,sinks",
		  TILES("64x64x328", "16x16x328", "4x16x328") ",isa=mma,stages=3,blocks=0,pdl=0,occ=1,heads=4,turns=0",
		  80 },
		{ "attention_prefill_f16", "20x50x456,h1/1,v136",
		  TILES("32x64x456", "16x16x456", "16x16x456") ",isa=mma,stages=1,blocks=0,pdl=0,occ=1,heads=1,turns=0",
		  86 },
		{ "attention_prefill_bf16", "20x50x576,h1/1,v512,vk,p4",
		  TILES("32x64x576", "16x16x576",
			"16x16x576") ",isa=mma,stages=1,blocks=1,sched=dynamic,pdl=0,occ=1,heads=1,turns=0",
		  89 },
	};
	(void)state;
	for (size_t i = 0; i < COUNT(rows); i++)
		emulate(tcb_op_find(rows[i].op), TCB_CONTRACT_F16, rows[i].capability, rows[i].shape, rows[i].geometry);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_head_has_a_default),
		cmocka_unit_test(heads_of_other_sizes),
		cmocka_unit_test(v_in_rows_of_k),
		cmocka_unit_test(sinks_alibi_and_prefixes),
		cmocka_unit_test(long_heads),
		cmocka_unit_test(in_other_geometries),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
