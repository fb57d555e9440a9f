/* SPDX-License-Identifier: MIT
 *
 * Items 66 to 80, memory-order tokens: graphs against plain closure, and small
 * kernels in the emulator under many orders of their warps.
 */
#include <stdio.h>
#include <string.h>

#include "base/gpu_table.h"
#include "base/util.h"
#include "kernels/default_rules.h"
#include "kernels/gpu/ptx_code.h"
#include "ptx/analyse/hazards/tokens.h"
#include "ptx/ir/opcodes.h"
#include "ptx/optimise/passes.h"
#include "verify/claim.h"
#include "verify/specimen.h"

enum { NODES = 24, GRAPHS = 200, ORDERS = 40 };

static struct tcb_ptx_tokens *create(struct tcb_finding *out)
{
	struct tcb_ptx_tokens *tokens = NULL;
	if (tcb_ptx_tokens_create(&tokens, NULL) != TCB_OK)
		tcb_found_nothing(out, "out of memory");
	return tokens;
}

static struct tcb_ptx_token_what access_of(enum tcb_ptx_token_kind kind, uint64_t place, uint64_t offset)
{
	return (struct tcb_ptx_token_what){ .kind = kind, .place = place, .offset = offset, .bytes = 4 };
}

/* --- graphs --- */

struct graph {
	struct tcb_ptx_tokens *tokens;
	uint32_t op[NODES];
	struct tcb_ptx_token_what what[NODES];
	unsigned char before[NODES][NODES]; /* the closure */
};

/* A random graph, and by IS_PLANTED one edge of it that its closure does not know of. */
static int make_graph(struct tcb_rng *rng, int is_planted, struct graph *out, struct tcb_finding *why)
{
	*out = (struct graph){ .tokens = create(why) };
	if (!out->tokens)
		return 0;
	for (unsigned i = 0; i < NODES; i++) {
		uint32_t joined[NODES], count = 0;
		out->what[i] = access_of(tcb_rng_below(rng, 2) ? TCB_PTX_TOKEN_STORE : TCB_PTX_TOKEN_LOAD,
					 1 + tcb_rng_below(rng, 3), 0);
		for (unsigned j = 0; j < i; j++) {
			if (tcb_rng_below(rng, 6) != 0)
				continue;
			joined[count++] = out->op[j];
			if (is_planted && i == NODES - 1)
				continue;
			out->before[j][i] = 1;
			for (unsigned k = 0; k < j; k++)
				out->before[k][i] |= out->before[k][j];
		}
		const uint32_t token =
			count ? tcb_ptx_token_join(out->tokens, joined, count) : tcb_ptx_token_make(out->tokens);
		out->op[i] = tcb_ptx_token_op(out->tokens, &out->what[i], token);
	}
	return 1;
}

static unsigned count_races(const struct graph *graph)
{
	unsigned races = 0;
	for (unsigned i = 0; i < NODES; i++)
		for (unsigned j = 0; j < i; j++)
			races += graph->what[i].place == graph->what[j].place && !graph->before[j][i] &&
				 (graph->what[i].kind == TCB_PTX_TOKEN_STORE ||
				  graph->what[j].kind == TCB_PTX_TOKEN_STORE);
	return races;
}

static void races_told(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	unsigned wrong = 0, races = 0;
	struct tcb_rng rng;
	tcb_rng_init(&rng, lab->seed);
	for (int g = 0; g < GRAPHS; g++) {
		struct graph graph;
		if (!make_graph(&rng, plant == TCB_PLANT_DEFECT, &graph, out))
			return;
		const int is_sound = tcb_ptx_tokens_check(graph.tokens, NULL, NULL) == TCB_OK;
		const unsigned expected = count_races(&graph);
		wrong += !is_sound || tcb_ptx_tokens_races(graph.tokens, NULL, NULL) != expected;
		races += expected;
		tcb_ptx_tokens_destroy(graph.tokens);
	}
	tcb_found(out, wrong == 0 && races > 0,
		  "%u of %d random graphs, with %u races, are judged otherwise than by closure%s", wrong, GRAPHS, races,
		  plant == TCB_PLANT_DEFECT ? " (which misses the last one's edges)" : "");
}

static void cycles(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	unsigned accepted = 0;
	struct tcb_rng rng;
	tcb_rng_init(&rng, lab->seed);
	for (int g = 0; g < GRAPHS; g++) {
		struct graph graph;
		if (!make_graph(&rng, 0, &graph, out))
			return;
		unsigned from = 0, to = 0;
		for (unsigned i = 0; i < NODES; i++)
			for (unsigned j = 0; j < i; j++)
				if (graph.before[j][i] && tcb_rng_below(&rng, 4) == 0) {
					from = j;
					to = i;
				}
		if (to && plant != TCB_PLANT_DEFECT)
			tcb_ptx_token_take(graph.tokens, graph.op[from], graph.op[to]);
		accepted += to && tcb_ptx_tokens_check(graph.tokens, NULL, NULL) == TCB_OK;
		tcb_ptx_tokens_destroy(graph.tokens);
	}
	tcb_found(out, accepted == 0, "%u of %d random graphs %s a cycle are accepted", accepted, GRAPHS,
		  plant == TCB_PLANT_DEFECT ? "without" : "with");
}

/* Makes and joins that no operation takes are gone afterwards, and the order is what it was. */
static void dead_tokens(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	unsigned left = 0, dead = 0, reordered = 0;
	struct tcb_rng rng;
	tcb_rng_init(&rng, lab->seed);
	for (int g = 0; g < GRAPHS; g++) {
		uint32_t planted[4];
		struct graph graph;
		if (!make_graph(&rng, 0, &graph, out))
			return;
		for (unsigned i = 0; i < 4; i++, dead++)
			planted[i] = i % 2 ? tcb_ptx_token_join(graph.tokens, &graph.op[i], 2)
					   : tcb_ptx_token_make(graph.tokens);
		if (tcb_ptx_tokens_check(graph.tokens, NULL, NULL) == TCB_OK && plant != TCB_PLANT_DEFECT)
			(void)tcb_ptx_tokens_prune(graph.tokens);
		for (unsigned i = 0; i < 4; i++)
			left += !tcb_ptx_token_is_gone(graph.tokens, planted[i]);
		reordered += tcb_ptx_tokens_check(graph.tokens, NULL, NULL) != TCB_OK ||
			     tcb_ptx_tokens_races(graph.tokens, NULL, NULL) != count_races(&graph);
		tcb_ptx_tokens_destroy(graph.tokens);
	}
	tcb_found(out, left == 0 && reordered == 0,
		  "%u of %u unused tokens are left, the order changed in %u of %d graphs%s", left, dead, reordered,
		  GRAPHS, plant == TCB_PLANT_DEFECT ? " (nothing was pruned)" : "");
}

/* Four neighbouring loads, free or one after another. */
static void fusible(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct tcb_ptx_tokens *tokens = create(out);
	(void)lab;
	if (!tokens)
		return;
	uint32_t token = tcb_ptx_token_make(tokens);
	for (unsigned i = 0; i < 4; i++) {
		const struct tcb_ptx_token_what load = access_of(TCB_PTX_TOKEN_LOAD, 1, 4 * i);
		const uint32_t op = tcb_ptx_token_op(tokens, &load, token);
		token = plant == TCB_PLANT_DEFECT ? op : token;
	}
	const int is_sound = tcb_ptx_tokens_check(tokens, NULL, NULL) == TCB_OK;
	const unsigned pairs = is_sound ? tcb_ptx_tokens_fusible(tokens, NULL, NULL) : 0;
	tcb_ptx_tokens_destroy(tokens);
	tcb_found(out, pairs == 3, "%u pairs of four neighbouring loads can be one access%s", pairs,
		  plant == TCB_PLANT_DEFECT ? " (each waits for the one before)" : "");
}

/* A scope orders two threads if it holds both. */
static void scopes(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const enum tcb_ptx_word words[] = { TCB_PTX_CTA, TCB_PTX_CLUSTER, TCB_PTX_GPU, TCB_PTX_SYS };
	unsigned wrong = 0, asked = 0;
	(void)lab;
	for (int a = 0; a < 4; a++)
		for (int b = 0; b < 4; b++)
			for (int distance = 0; distance < 4; distance++, asked++) {
				const int expected = plant == TCB_PLANT_DEFECT ? a >= distance || b >= distance
									       : a >= distance && b >= distance;
				wrong += tcb_ptx_scopes_meet(words[a], words[b], (enum tcb_ptx_distance)distance) !=
					 expected;
			}
	tcb_found(out, wrong == 0, "%u of %u pairs of scopes and distances are judged otherwise%s", wrong, asked,
		  plant == TCB_PLANT_DEFECT ? " than if one scope were enough" : "");
}

/* What a cycle's message says of the stores that make it. */
static void lines_kept(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char body[] = "mov.u32 %r1, 1;\nst.shared.u32 [cell], %r1;\nst.shared.u32 [cell], %r1;\n";
	struct tcb_specimen specimen;
	struct tcb_error err = { .message = "" };
	char text[256];
	(void)lab;
	(void)snprintf(text, sizeof text, ".shared .align 4 .b8 cell[4];\n%s", body);
	if (!tcb_specimen_open(&specimen, "", text, out))
		return;
	struct tcb_ptx_tokens *tokens = create(out);
	uint32_t op[2] = { 0 }, count = 0;
	unsigned line = 0;
	const struct tcb_ptx_block *block = specimen.kernel->first;
	for (const struct tcb_ptx_ins *ins = tokens ? block->first : NULL; ins && count < 2; ins = ins->next) {
		struct tcb_ptx_token_what store = access_of(TCB_PTX_TOKEN_STORE, 1, 0);
		if (ins->op != TCB_PTX_OP_ST)
			continue;
		store.ins = plant == TCB_PLANT_DEFECT ? NULL : ins;
		line = ins->line;
		op[count] = tcb_ptx_token_op(tokens, &store, count ? op[0] : tcb_ptx_token_make(tokens));
		count++;
	}
	if (count == 2) {
		char wanted[24];
		tcb_ptx_token_take(tokens, op[0], op[1]);
		const int is_refused = tcb_ptx_tokens_check(tokens, NULL, &err) != TCB_OK;
		(void)snprintf(wanted, sizeof wanted, "%u", line);
		tcb_found(out, is_refused && strstr(err.message, wanted), "a cycle through line %u says: %.160s%s",
			  line, err.message, plant == TCB_PLANT_DEFECT ? " (the tokens know no instructions)" : "");
	}
	tcb_ptx_tokens_destroy(tokens);
	tcb_specimen_close(&specimen);
}

/* --- barriers --- */

#define DATA ".param .u64 data"
#define CELLS                                                                                                         \
	".shared .align 4 .b8 cells[256];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, cells;\nadd.u32 " \
	"%r4, %r3, %r2;\n"
/* Each thread hands its number to the one that is 32 on, in the other warp, and stores what it was handed. */
#define HAND "st.shared.u32 [%r4], %r1;\n"
#define TAKE                                                                                                      \
	"xor.b32 %r5, %r2, 128;\nadd.u32 %r5, %r3, %r5;\nld.shared.u32 %r6, [%r5];\nld.param.u64 %rd1, [data];\n" \
	"mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd1, %rd2;\nst.global.u32 [%rd1], %r6;\n"
#define BARRIER "bar.sync 0;\n"

/* Over ORDERS orders of two warps: results that are not what the other warp handed over, and errors found. */
static int hand_over(struct tcb_claim_lab *lab, const char *body, const char *pass, unsigned *wrong, unsigned *errors,
		     struct tcb_finding *out)
{
	struct tcb_specimen specimen;
	unsigned changed;
	*wrong = *errors = 0;
	if (!tcb_specimen_open(&specimen, DATA, body, out))
		return 0;
	int is_run = !pass || tcb_specimen_pass(&specimen, pass, &changed, out);
	for (uint64_t order = 0; is_run && order < ORDERS; order++) {
		struct tcb_specimen_run run = {
			.grid = 1, .block = 64, .arguments = { "buf:u32[64]=zero" }, .seed = lab->seed + order
		};
		is_run = tcb_specimen_run(&specimen, &run, out);
		const uint32_t *got = is_run ? (const void *)tcb_specimen_buffer(&specimen, 0) : NULL;
		for (uint32_t i = 0; is_run && i < 64; i++)
			*wrong += got[i] != (i ^ 32);
		*errors += run.errors;
	}
	tcb_specimen_close(&specimen);
	return is_run;
}

static void shared_order(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	unsigned wrong, errors;
	if (hand_over(lab, plant == TCB_PLANT_DEFECT ? CELLS HAND TAKE : CELLS HAND BARRIER TAKE, NULL, &wrong, &errors,
		      out))
		tcb_found(out, wrong == 0 && errors == 0, "%u wrong results and %u errors in %d orders of two warps%s",
			  wrong, errors, ORDERS, plant == TCB_PLANT_DEFECT ? " (without the barrier)" : "");
}

static void sound_removal(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	unsigned wrong, errors;
	if (hand_over(lab,
		      plant == TCB_PLANT_DEFECT ? CELLS HAND TAKE BARRIER : CELLS HAND BARRIER BARRIER TAKE BARRIER,
		      "barrier_removal", &wrong, &errors, out))
		tcb_found(out, wrong == 0 && errors == 0,
			  "%u wrong results and %u errors in %d orders of two warps, after barriers were removed%s",
			  wrong, errors, ORDERS, plant == TCB_PLANT_DEFECT ? " (the one that is needed, too)" : "");
}

/* Tokens order what a thread does; only a barrier makes another thread wait. */
static void cross_warp(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	unsigned wrong, errors;
	if (hand_over(lab, plant == TCB_PLANT_TRUTH ? CELLS HAND BARRIER TAKE : CELLS HAND "fence.acq_rel.cta;\n" TAKE,
		      NULL, &wrong, &errors, out))
		tcb_found(out, wrong == 0 && errors == 0,
			  "%u wrong results and %u errors in %d orders of two warps with %s", wrong, errors, ORDERS,
			  plant == TCB_PLANT_TRUTH ? "a barrier" : "an order (a fence) alone");
}

/* Message passing by a flag in global memory: block 0 hands 42 to block 1. */
static void global_order(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char format[] =
		"mov.u32 %%r1, %%tid.x;\nld.param.u64 %%rd1, [data];\nsetp.ge.u32 %%p1, %%r1, 32;\n@%%p1 bra READ;\n"
		"setp.ne.u32 %%p2, %%r1, 0;\n@%%p2 bra DONE;\nmov.u32 %%r2, 42;\nst.global.u32 [%%rd1], %%r2;\nmov.u32 "
		"%%r3, 1;\n"
		"st.%s.global.u32 [%%rd1+4], %%r3;\nbra DONE;\nREAD:\nsetp.ne.u32 %%p2, %%r1, 32;\n@%%p2 bra DONE;\n"
		"SPIN:\nld.%s.global.u32 %%r4, [%%rd1+4];\nsetp.eq.u32 %%p3, %%r4, 0;\n@%%p3 bra SPIN;\n"
		"ld.global.u32 %%r5, [%%rd1];\nst.global.u32 [%%rd1+8], %%r5;\nDONE:\n";
	const int is_planted = plant == TCB_PLANT_DEFECT;
	struct tcb_specimen specimen;
	unsigned wrong = 0, errors = 0;
	char text[1024];
	(void)snprintf(text, sizeof text, format, is_planted ? "relaxed.cta" : "release.cta",
		       is_planted ? "relaxed.cta" : "acquire.cta");
	if (!tcb_specimen_open(&specimen, DATA, text, out))
		return;
	int is_run = 1;
	for (uint64_t order = 0; is_run && order < ORDERS; order++) {
		struct tcb_specimen_run run = {
			.grid = 1, .block = 64, .arguments = { "buf:u32[4]=zero" }, .seed = lab->seed + order
		};
		is_run = tcb_specimen_run(&specimen, &run, out);
		wrong += is_run && ((const uint32_t *)(const void *)tcb_specimen_buffer(&specimen, 0))[2] != 42;
		errors += run.errors;
	}
	tcb_specimen_close(&specimen);
	if (is_run)
		tcb_found(out, wrong == 0 && errors == 0,
			  "%u wrong results and %u errors in %d orders of two warps that pass a message by a flag%s",
			  wrong, errors, ORDERS, is_planted ? " (relaxed in place of release and acquire)" : "");
}

static void atomics(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char atomic[] = "atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 1;\n";
	static const char plain[] = "ld.relaxed.gpu.global.u32 %r2, [%rd1];\nadd.u32 %r2, %r2, "
				    "1;\nst.relaxed.gpu.global.u32 [%rd1], %r2;\n";
	const int is_planted = plant == TCB_PLANT_DEFECT;
	struct tcb_specimen specimen;
	unsigned wrong = 0, errors = 0;
	char text[512];
	(void)snprintf(text, sizeof text, "ld.param.u64 %%rd1, [data];\n%s", is_planted ? plain : atomic);
	if (!tcb_specimen_open(&specimen, DATA, text, out))
		return;
	int is_run = 1;
	for (uint64_t order = 0; is_run && order < ORDERS; order++) {
		struct tcb_specimen_run run = {
			.grid = 2, .block = 64, .arguments = { "buf:u32[1]=zero" }, .seed = lab->seed + order
		};
		is_run = tcb_specimen_run(&specimen, &run, out);
		wrong += is_run && *(const uint32_t *)(const void *)tcb_specimen_buffer(&specimen, 0) != 128;
		errors += run.errors;
	}
	tcb_specimen_close(&specimen);
	if (is_run)
		tcb_found(out, wrong == 0 && errors == 0, "%u of %d counts by 128 threads wrong, %u errors%s", wrong,
			  ORDERS, errors, is_planted ? " (loaded and stored in place of an atomic)" : "");
}

/* Barriers that the pass takes out of the default kernels of all ops; the true case: of a kernel with one too many. */
static void fewer_barriers(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const struct tcb_ptx_pass *pass = tcb_ptx_pass_find("barrier_removal");
	struct tcb_ptx_pass_options options;
	size_t op_count;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	unsigned removed = 0, kernels = 0, changed = 0;
	struct tcb_specimen specimen;
	struct tcb_gpu gpu;
	if (plant != TCB_PLANT_NONE) {
		const char *body = plant == TCB_PLANT_TRUTH ? CELLS HAND BARRIER BARRIER TAKE : CELLS HAND BARRIER TAKE;
		if (!tcb_specimen_open(&specimen, DATA, body, out))
			return;
		if (tcb_specimen_pass(&specimen, "barrier_removal", &changed, out))
			tcb_found(out, changed > 0, "%u barriers removed from a planted kernel", changed);
		tcb_specimen_close(&specimen);
		return;
	}
	tcb_ptx_pass_defaults(&options);
	for (size_t i = 0; i < op_count; i++) {
		struct tcb_kernel kernel = { 0 };
		struct tcb_geometry geometry;
		struct tcb_problem problem;
		if (!tcb_op_gpu(ops[i]) || (lab->op && lab->op != ops[i]) || tcb_gpu_table(90, &gpu, NULL) != TCB_OK ||
		    tcb_problem_init(ops[i], ops[i]->default_contract, &ops[i]->default_shapes[0], &problem, NULL) !=
			    TCB_OK)
			continue;
		(void)tcb_default_geometry(&problem, &gpu.device.target, &geometry);
		if (tcb_kernel_emit(&problem, &gpu.device.target, &geometry, &kernel, NULL) == TCB_OK) {
			struct tcb_ptx_function *function = tcb_kernel_ptx(&kernel)->module->functions;
			kernels++;
			if (tcb_ptx_cfg(function, NULL) == TCB_OK) {
				tcb_ptx_number(function);
				if (pass->run(function, &options, &changed, NULL) == TCB_OK)
					removed += changed;
			}
		}
		tcb_kernel_fini(&kernel);
	}
	tcb_found(out, removed > 0, "%u barriers removed from the first kernels of %u ops (sm_90)", removed, kernels);
}

static const char needs_gpu[] = "needs a GPU, and kernels that time memory orders, which the program does not have";

const struct tcb_claim tcb_claims_tokens[] = {
	{ "I066", "tokens make barriers redundant", "barriers removed from the kernels of this program", "A",
	  TCB_CLAIM_SOURCE, fewer_barriers },
	{ "I067", "tokens tell races", "as by closure", "A", TCB_CLAIM_OURS, races_told },
	{ "I068", "tokens give what cudaDeviceSynchronize gives (they order one block, and wait for nothing)", "-", "C",
	  TCB_CLAIM_SOURCE, NULL,
	  "not applicable: they are an analysis of one block's order; item 74 shows that they synchronise nothing" },
	{ "I069", "relaxed order is the fastest", "fastest", "C", TCB_CLAIM_SOURCE, NULL, needs_gpu },
	{ "I070", "tokens show accesses that can be one", "3 of 3 pairs", "A", TCB_CLAIM_OURS, fusible },
	{ "I071", "barriers are removed only where results stay", "none wrong, no race", "A", TCB_CLAIM_OURS,
	  sound_removal },
	{ "I072", "shared memory is ordered between warps by a barrier", "none wrong, no race", "A", TCB_CLAIM_OURS,
	  shared_order },
	{ "I073", "global memory is ordered by release and acquire", "none wrong, no race", "A", TCB_CLAIM_OURS,
	  global_order },
	{ "I074", "tokens synchronise warps", "none wrong, no race, by an order alone", "A", TCB_CLAIM_SOURCE,
	  cross_warp },
	{ "I075", "tokens cost little", "-", "A", TCB_CLAIM_OURS, NULL,
	  "not applicable: tokens are kept beside a kernel and add no instruction to it" },
	{ "I076", "atomics count right in any order", "all counts", "A", TCB_CLAIM_OURS, atomics },
	{ "I077", "an order reaches as far as both scopes", "all pairs", "A", TCB_CLAIM_OURS, scopes },
	{ "I078", "unused tokens are taken away", "none left, no order changed", "A", TCB_CLAIM_OURS, dead_tokens },
	{ "I079", "cycles of tokens are refused", "none accepted", "A", TCB_CLAIM_OURS, cycles },
	{ "I080", "tokens know their lines", "the message names one", "A", TCB_CLAIM_OURS, lines_kept },
	{ 0 },
};
