/* SPDX-License-Identifier: MIT
 *
 * Random kernels through each pass and the whole pipeline: the same bits, and
 * no change by a second run.  The kernels have registers written once and many
 * times, guards, branches, nested loops with constant and unknown bounds, loads,
 * stores, integers of 32 and 64 bits and singles with explicit rounding (which
 * no pass may fuse).  Control: a kernel in which one instruction of the result
 * is changed is found out.
 *
 * FMA fusion, which does change bits, is held against the C library's fmaf: the
 * fused kernel gives one rounding, the original two.
 */
#include "pass_bits.h"

#include <math.h>

#ifndef TCB_KERNELS
#define TCB_KERNELS 400 /* more are run by hand */
#endif

enum { KERNELS = TCB_KERNELS, LIVE_MAX = 64 };

/* --- generating --- */

/* %x8-%x15 and %y8-%y13 may be written anywhere; %x20-, %z20- and %y20- once each, and read where that is certain. */
struct generator {
	struct tcb_rng rng;
	struct tcb_str body;
	unsigned fresh_x, fresh_z, fresh_y, fresh_q, labels, depth, statements;
	unsigned x[LIVE_MAX], z[LIVE_MAX], y[LIVE_MAX];
	unsigned x_count, z_count, y_count;
};

static unsigned below(struct generator *g, unsigned bound)
{
	return (unsigned)tcb_rng_below(&g->rng, bound);
}

static const char *pick(struct generator *g, const char *const *list, unsigned count)
{
	return list[below(g, count)];
}
#define PICK(g, list) pick(g, list, sizeof list / sizeof *list)

static void source_x(struct generator *g, char out[32])
{
	static const char *const constants[] = { "0", "1", "2", "3", "8", "-1", "-4", "31", "1000", "-2147483648" };

	if (below(g, 4) == 0)
		snprintf(out, 32, "%s", PICK(g, constants));
	else
		snprintf(out, 32, "%%x%u", g->x[below(g, g->x_count)]);
}

static void source_y(struct generator *g, char out[32])
{
	static const char *const constants[] = { "0f00000000", "0f3F800000", "0fC0000000", "0f00800000", "0f7F7FFFFF" };

	if (below(g, 5) == 0)
		snprintf(out, 32, "%s", PICK(g, constants));
	else
		snprintf(out, 32, "%%y%u", g->y[below(g, g->y_count)]);
}

/* The destination of kind KIND: often one of its own, else one that everybody writes. */
static unsigned target(struct generator *g, char kind, int guarded)
{
	unsigned *fresh = kind == 'x' ? &g->fresh_x : kind == 'z' ? &g->fresh_z : &g->fresh_y;

	if (!guarded && *fresh < 63 && below(g, 3))
		return (*fresh)++;
	return kind == 'z' ? 20 : 8 + below(g, 6);
}

static void live(struct generator *g, char kind, unsigned reg)
{
	unsigned *list = kind == 'x' ? g->x : kind == 'z' ? g->z : g->y;
	unsigned *count = kind == 'x' ? &g->x_count : kind == 'z' ? &g->z_count : &g->y_count;

	if (reg > 20 && *count < LIVE_MAX)
		list[(*count)++] = reg;
}

static void guard(struct generator *g, int *guarded)
{
	*guarded = below(g, 5) == 0;
	if (*guarded)
		tcb_str_addf(&g->body, "@%s%%q%u ", below(g, 2) ? "!" : "", below(g, 3));
}

static void integer(struct generator *g)
{
	static const char *const ops[] = { "add.s32", "sub.s32",    "mul.lo.s32", "mul.hi.u32", "mul.hi.s32",
					   "and.b32", "or.b32",     "xor.b32",    "min.s32",    "max.u32",
					   "add.u32", "mul.lo.u32", "sub.u32" };
	static const char *const shifts[] = { "shl.b32", "shr.u32", "shr.s32" };
	static const char *const divisions[] = { "div.u32", "rem.u32", "div.s32", "rem.s32" };
	static const char *const divisors[] = {
		"1", "2", "3", "7", "8", "10", "-2", "-3", "1000", "641", "-2147483648"
	};
	char a[32], b[32], c[32];
	unsigned reg;
	int guarded;

	source_x(g, a);
	source_x(g, b);
	source_x(g, c);
	guard(g, &guarded);
	reg = target(g, 'x', guarded);
	switch (below(g, 8)) {
	case 0:
		tcb_str_addf(&g->body, "%s %%x%u, %s, %s;\n", PICK(g, shifts), reg, a, b);
		break;
	case 1:
		tcb_str_addf(&g->body, "%s %%x%u, %s, %s;\n", PICK(g, divisions), reg, a, PICK(g, divisors));
		break;
	case 2:
		tcb_str_addf(&g->body, "mad.lo.s32 %%x%u, %s, %s, %s;\n", reg, a, b, c);
		break;
	case 3:
		tcb_str_addf(&g->body, "selp.b32 %%x%u, %s, %s, %%q%u;\n", reg, a, b, below(g, 3));
		break;
	case 4:
		tcb_str_addf(&g->body, "mov.u32 %%x%u, %s;\n", reg, a);
		break;
	case 5:
		tcb_str_addf(&g->body, "lop3.b32 %%x%u, %s, %s, %s, %u;\n", reg, a, b, c, below(g, 256));
		break;
	default:
		tcb_str_addf(&g->body, "%s %%x%u, %s, %s;\n", PICK(g, ops), reg, a, b);
	}
	live(g, 'x', reg);
}

static void wide(struct generator *g)
{
	static const char *const ops[] = { "add.s64", "sub.s64", "mul.lo.s64", "xor.b64", "min.s64" };
	static const char *const divisions[] = { "div.u64", "rem.s64", "div.s64", "rem.u64" };
	static const char *const divisors[] = { "4", "10", "7", "-3", "1000000007", "-4" };
	char a[32];
	unsigned reg, from = g->z[below(g, g->z_count)];
	int guarded;

	source_x(g, a);
	guard(g, &guarded);
	reg = target(g, 'z', guarded);
	switch (below(g, 4)) {
	case 0:
		tcb_str_addf(&g->body, "mul.wide.%s %%z%u, %s, %u;\n", below(g, 2) ? "s32" : "u32", reg, a,
			     below(g, 5));
		break;
	case 1:
		tcb_str_addf(&g->body, "%s %%z%u, %%z%u, %s;\n", PICK(g, divisions), reg, from, PICK(g, divisors));
		break;
	case 2:
		tcb_str_addf(&g->body, "cvt.%s %%z%u, %%x%u;\n", below(g, 2) ? "u64.u32" : "s64.s32", reg,
			     g->x[below(g, g->x_count)]);
		break;
	default:
		tcb_str_addf(&g->body, "%s %%z%u, %%z%u, %%z%u;\n", PICK(g, ops), reg, from,
			     g->z[below(g, g->z_count)]);
	}
	live(g, 'z', reg);
	if (below(g, 2)) {
		reg = target(g, 'x', 0);
		tcb_str_addf(&g->body, "cvt.u32.u64 %%x%u, %%z%u;\n", reg, g->z[below(g, g->z_count)]);
		live(g, 'x', reg);
	}
}

static void single(struct generator *g)
{
	static const char *const ops[] = { "add.rn.f32",  "add.rz.ftz.f32", "mul.rn.f32", "mul.rn.ftz.f32",
					   "sub.rp.f32",  "mul.rm.f32",     "div.rn.f32", "min.f32",
					   "max.ftz.f32", "add.rn.sat.f32" };
	char a[32], b[32], c[32];
	unsigned reg;
	int guarded;

	source_y(g, a);
	source_y(g, b);
	source_y(g, c);
	guard(g, &guarded);
	reg = target(g, 'y', guarded);
	switch (below(g, 5)) {
	case 0:
		tcb_str_addf(&g->body, "fma.rn.f32 %%y%u, %s, %s, %s;\n", reg, a, b, c);
		break;
	case 1:
		tcb_str_addf(&g->body, "cvt.rn.f32.s32 %%y%u, %%x%u;\n", reg, g->x[below(g, g->x_count)]);
		break;
	case 2:
		tcb_str_addf(&g->body, "div.rn.f32 %%y%u, %s, 0f%08X;\n", reg, a, (100 + below(g, 50)) << 23);
		break;
	default:
		tcb_str_addf(&g->body, "%s %%y%u, %s, %s;\n", PICK(g, ops), reg, a, b);
	}
	live(g, 'y', reg);
}

static void predicate(struct generator *g)
{
	static const char *const orders[] = { "eq", "ne", "lt", "le", "gt", "ge" };
	char a[32], b[32];

	source_x(g, a);
	source_x(g, b);
	switch (below(g, 4)) {
	case 0:
		tcb_str_addf(&g->body, "setp.%s.and.s32 %%q%u, %s, %s, %%q%u;\n", PICK(g, orders), below(g, 3), a, b,
			     below(g, 3));
		break;
	case 1:
		source_y(g, a);
		source_y(g, b);
		tcb_str_addf(&g->body, "setp.%su.f32 %%q%u, %s, %s;\n", PICK(g, orders), below(g, 3), a, b);
		break;
	default:
		tcb_str_addf(&g->body, "setp.%s.%c32 %%q%u, %s, %s;\n", PICK(g, orders), below(g, 2) ? 'u' : 's',
			     below(g, 3), a, b);
	}
}

static void memory(struct generator *g)
{
	unsigned reg, at = 4 * below(g, 24);

	if (below(g, 2)) {
		tcb_str_addf(&g->body, "st.global.b32 [%%z4+%u], %%x%u;\n", at, g->x[below(g, g->x_count)]);
		return;
	}
	reg = target(g, 'x', 0);
	switch (below(g, 3)) {
	case 0:
		tcb_str_addf(&g->body, "ld.global.nc.u32 %%x%u, [%%z5+%u];\n", reg, at % 64);
		break;
	case 1:
		tcb_str_addf(&g->body, "ld.global.u32 %%x%u, [%%z4+%u];\n", reg, at);
		break;
	default:
		tcb_str_addf(&g->body, "ld.param.u32 %%x%u, [in+%u];\n", reg, 32 + at % 64);
	}
	live(g, 'x', reg);
}

static void block(struct generator *g, unsigned statements);

static void branch(struct generator *g)
{
	unsigned label = g->labels++, x = g->x_count, z = g->z_count, y = g->y_count;

	tcb_str_addf(&g->body, "@%s%%q%u bra else%u;\n", below(g, 2) ? "!" : "", below(g, 3), label);
	block(g, 1 + below(g, 4));
	g->x_count = x;
	g->z_count = z;
	g->y_count = y;
	if (below(g, 2)) {
		tcb_str_addf(&g->body, "bra join%u;\nelse%u:\n", label, label);
		block(g, 1 + below(g, 4));
		g->x_count = x;
		g->z_count = z;
		g->y_count = y;
		tcb_str_addf(&g->body, "join%u:\n", label);
	} else {
		tcb_str_addf(&g->body, "else%u:\n", label);
	}
}

/* %x60-%x63 count by depth; they are read but not written inside. */
static void loop(struct generator *g)
{
	unsigned label = g->labels++, x = g->x_count, z = g->z_count, y = g->y_count, q = g->fresh_q++;
	unsigned iv = 60 + g->depth, step = 1 + below(g, 3), question = g->fresh_q++;

	tcb_str_addf(&g->body, "mov.u32 %%x%u, %u;\n", iv, below(g, 3));
	if (below(g, 2))
		tcb_str_addf(&g->body, "and.b32 %%x%u, %%x%u, 7;\n", iv - 4, 8 + below(g, 6));
	else
		tcb_str_addf(&g->body, "mov.u32 %%x%u, %u;\n", iv - 4, below(g, 9));
	tcb_str_addf(&g->body, "loop%u:\n", label);
	g->x[g->x_count++] = iv;
	if (below(g, 2))
		tcb_str_addf(&g->body, "setp.%s.u32 %%q%u, %%x%u, %u;\n@%%q%u add.u32 %%x8, %%x8, %%x%u;\n",
			     below(g, 2) ? "lt" : "ge", question, iv, 1 + below(g, 6), question, iv);
	block(g, 1 + below(g, 4));
	tcb_str_addf(&g->body, "add.u32 %%x%u, %%x%u, %u;\nsetp.lt.u32 %%q%u, %%x%u, %%x%u;\n@%%q%u bra loop%u;\n", iv,
		     iv, step, q, iv, iv - 4, q, label);
	g->x_count = x;
	g->z_count = z;
	g->y_count = y;
}

static void block(struct generator *g, unsigned statements)
{
	g->depth++;
	for (unsigned i = 0; i < statements; i++) {
		unsigned what = below(g, 20);

		if (what < 9)
			integer(g);
		else if (what < 11)
			wide(g);
		else if (what < 13)
			single(g);
		else if (what < 15)
			predicate(g);
		else if (what < 17)
			memory(g);
		else if (g->depth < 4 && g->fresh_q < 60)
			what == 17 ? branch(g) : loop(g);
	}
	g->depth--;
}

static char *random_kernel(uint64_t seed)
{
	struct generator g = { .fresh_x = 21, .fresh_z = 21, .fresh_y = 21, .fresh_q = 10 };

	tcb_rng_init(&g.rng, seed);
	tcb_str_add(&g.body, BITS_HEAD "setp.lt.u32 %q2, %x4, 9;\nld.global.u64 %z20, [%z5+32];\n");
	for (unsigned i = 8; i < 14; i++) {
		tcb_str_addf(&g.body, "ld.global.u32 %%x%u, [%%z5+%u];\nld.global.f32 %%y%u, [%%z5+%u];\n", i,
			     4 * (i - 8), i, 4 * (i - 2));
		g.x[g.x_count++] = i;
		g.y[g.y_count++] = i;
	}
	g.z[g.z_count++] = 20;
	g.x[g.x_count++] = 0;
	block(&g, 14 + (unsigned)(seed % 12));
	for (unsigned i = 8; i < 14; i++)
		tcb_str_addf(&g.body, "st.global.u32 [%%z4+%u], %%x%u;\nst.global.f32 [%%z4+%u], %%y%u;\n",
			     4 * (i + 12), i, 4 * (i - 8), i);
	tcb_str_add(&g.body, "st.global.u64 [%z4+104], %z20;\n");
	assert_false(g.body.failed);
	return g.body.data;
}

/* --- holding --- */

static const struct tcb_ptx_pass_options options = { .unroll_limit = 100, .split_min_body = 4 };

static void hold(const struct bits *want, const struct bits *got, const char *what, const char *body,
		 const struct tcb_ptx_module *module)
{
	for (unsigned i = 0; i < BITS_THREADS * BITS_WORDS; i++)
		if (got->out[i] != want->out[i])
			fail_msg("%s: thread %u, word %u is %x, not %x\n%s\nbecame\n%s", what, i / BITS_WORDS,
				 i % BITS_WORDS, got->out[i], want->out[i], body, pass_lines(module->functions));
}

static void random_kernels_keep_their_bits(void **state)
{
	unsigned count, changed_by[16] = { 0 };
	const struct tcb_ptx_pass *passes = tcb_ptx_passes(&count);
	uint64_t before = 0, after = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= KERNELS; seed++) {
		char *body = random_kernel(seed);
		struct tcb_ptx_pipeline_debug debug = { .verify = 1 };
		struct tcb_ptx_module *module = pass_kernel(body);
		struct bits_inputs inputs;
		struct bits want, got;
		struct tcb_error err;
		struct tcb_rng rng;

		tcb_rng_init(&rng, seed);
		bits_fill(&rng, &inputs);
		bits_run(module, &inputs, &want);
		before += want.executed;
		tcb_ptx_module_destroy(module);
		for (unsigned i = 0; i < count; i++) {
			unsigned changed;

			module = pass_kernel(body);
			changed = pass_run(passes[i].name, module, &options);
			changed_by[i] += changed;
			if (changed) {
				char *once = pass_lines(module->functions);

				bits_run(module, &inputs, &got);
				hold(&want, &got, passes[i].name, body, module);
				if (pass_run(passes[i].name, module, &options))
					fail_msg("%s, run again, changes\n%s\nto\n%s", passes[i].name, once,
						 pass_lines(module->functions));
				free(once);
			}
			tcb_ptx_module_destroy(module);
		}
		module = pass_kernel(body);
		if (tcb_ptx_optimise(module, &options, &debug, &err) != TCB_OK)
			fail_msg("%s\n%s", err.message, body);
		bits_run(module, &inputs, &got);
		hold(&want, &got, "the pipeline", body, module);
		after += got.executed;
		tcb_ptx_module_destroy(module);
		free(body);
	}
	for (unsigned i = 0; i < count; i++) {
		print_message("%s: %u changes in %d kernels\n", passes[i].name, changed_by[i], KERNELS);
		if (strcmp(passes[i].name, "barrier_removal") == 0)
			continue; /* there are no barriers here */
		if (strcmp(passes[i].name, "fma_fusion") != 0)
			assert_true(changed_by[i] > KERNELS / 10);
		else
			assert_int_equal(changed_by[i], 0); /* everything here asks for two roundings */
	}
	print_message("executed by warps: %llu before, %llu after\n", (unsigned long long)before,
		      (unsigned long long)after);
	assert_true(after < before);
}

/* Changes the Nth instruction that computes: another opcode, or another constant. */
static int spoil(struct tcb_ptx_module *module, unsigned n)
{
	struct tcb_error err;

	for (struct tcb_ptx_block *b = module->functions->first; b; b = b->next)
		for (struct tcb_ptx_ins *ins = b->first; ins; ins = ins->next) {
			if (ins->op != TCB_PTX_OP_ADD && ins->op != TCB_PTX_OP_SUB)
				continue;
			if (ins->mod[TCB_PTX_SLOT_TYPE] == TCB_PTX_S64 && ins->line < 40)
				continue; /* addresses */
			if (n--)
				continue;
			ins->op = ins->op == TCB_PTX_OP_ADD ? TCB_PTX_OP_SUB : TCB_PTX_OP_ADD;
			return tcb_ptx_resolve_again(ins, &err) == TCB_OK;
		}
	return 0;
}

/* A sum under a guard that no thread passes, of 0, or overwritten on the way to every store does not show: it takes
 * several defects to be sure of one. */
static void many_spoilt_results_are_found_out(void **state)
{
	unsigned seen = 0, spoilt = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		char *body = random_kernel(seed);
		struct tcb_ptx_module *module = pass_kernel(body);
		const struct tcb_ptx_pass_options no_loops = { .unroll_limit = 0, .split_min_body = 10000 };
		struct bits_inputs inputs;
		struct bits want, got;
		struct tcb_error err;
		struct tcb_rng rng;

		tcb_rng_init(&rng, seed);
		bits_fill(&rng, &inputs);
		bits_run(module, &inputs, &want);
		tcb_ptx_module_destroy(module);
		module = pass_kernel(body);
		assert_int_equal(tcb_ptx_optimise(module, &no_loops, NULL, &err), TCB_OK);
		if (spoil(module, (unsigned)(seed % 5))) {
			struct tcb_str said = { 0 };

			seen += bits_try(module, &inputs, &got, &said) ||
				memcmp(got.out, want.out, sizeof got.out) != 0;
			spoilt++;
			tcb_str_fini(&said);
		}
		tcb_ptx_module_destroy(module);
		free(body);
	}
	print_message("%u of %u defects seen\n", seen, spoilt);
	assert_true(spoilt > 10 && seen * 10 >= spoilt * 4);
}

/* --- fusion (items 17, 26-28) --- */

static const uint32_t odd_singles[] = { 0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000, 0x3f800001,
					0x00000001, 0x80800000, 0x7f7fffff, 0x3f800000, 0xbf800000, 0x33800000 };

static uint32_t single_of(struct tcb_rng *rng)
{
	if (tcb_rng_below(rng, 3) == 0)
		return odd_singles[tcb_rng_below(rng, sizeof odd_singles / sizeof *odd_singles)];
	return ((uint32_t)tcb_rng_next(rng) & 0x807fffff) | (uint32_t)(120 + tcb_rng_below(rng, 14)) << 23;
}

static uint32_t bits_of(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof bits);
	return bits;
}

static float float_of(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof value);
	return value;
}

static void same_single(uint32_t got, float want, const char *what)
{
	if (isnan(want) ? !isnan(float_of(got)) : got != bits_of(want))
		fail_msg("%s: %08x, not %08x", what, got, bits_of(want));
}

static void fusion_rounds_once(void **state)
{
	static const char *const forms[] = { "add.f32 %y14, %y13, %y10;\n", "sub.f32 %y14, %y13, %y10;\n",
					     "sub.f32 %y14, %y10, %y13;\n" };
	const char *head =
		BITS_HEAD "ld.global.f32 %y8, [%z5];\nld.global.f32 %y9, [%z5+4];\nld.global.f32 %y10, [%z5+8];\n"
			  "mul.f32 %y13, %y8, %y9;\n";
	double fused_error = 0, split_error = 0;
	unsigned differ = 0;
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 17);
	for (unsigned k = 0; k < 60; k++) {
		struct tcb_str body = { 0 };
		struct tcb_ptx_module *module;
		struct bits_inputs inputs;
		struct bits two, one;

		bits_fill(&rng, &inputs);
		for (unsigned i = 0; i < BITS_THREADS * BITS_INPUTS; i++)
			inputs.word[i] = single_of(&rng);
		tcb_str_addf(&body, "%s%sst.global.f32 [%%z4], %%y14;\n", head, forms[k % 3]);
		module = pass_kernel(body.data);
		bits_run(module, &inputs, &two);
		assert_int_equal(pass_run("fma_fusion", module, NULL), 2);
		bits_run(module, &inputs, &one);
		for (unsigned t = 0; t < BITS_THREADS; t++) {
			const uint32_t *word = &inputs.word[t * BITS_INPUTS];
			float a = float_of(word[0]), b = float_of(word[1]), c = float_of(word[2]), product = a * b;
			float fused = k % 3 == 0 ? fmaf(a, b, c) : k % 3 == 1 ? fmaf(a, b, -c) : fmaf(-a, b, c);
			float split = k % 3 == 0 ? product + c : k % 3 == 1 ? product - c : c - product;
			double exact = (double)a * b * (k % 3 == 2 ? -1 : 1) + (k % 3 == 1 ? -(double)c : (double)c);

			same_single(one.out[t * BITS_WORDS], fused, "fused");
			same_single(two.out[t * BITS_WORDS], split, "not fused");
			if (!isfinite(fused) || !isfinite(split) || fabs(exact) > 1e30 || fabs(exact) < 1e-30)
				continue;
			differ += bits_of(fused) != bits_of(split);
			fused_error += fabs((double)fused - exact) / fabs(exact);
			split_error += fabs((double)split - exact) / fabs(exact);
		}
		tcb_ptx_module_destroy(module);
		tcb_str_fini(&body);
	}
	print_message("relative error, summed: %g fused, %g not; %u results differ\n", fused_error, split_error,
		      differ);
	assert_true(differ > 100); /* control: the two are told apart */
	assert_true(fused_error < split_error);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_kernels_keep_their_bits),
		cmocka_unit_test(many_spoilt_results_are_found_out),
		cmocka_unit_test(fusion_rounds_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
