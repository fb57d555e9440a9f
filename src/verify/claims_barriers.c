/* SPDX-License-Identifier: MIT
 *
 * Items 101 to 115, barriers: what the check says of small kernels whose threads
 * part, and products at the edges of their tiles in the emulator.  Since Volta
 * a thread that has ended is not waited for: what hangs is a live thread that
 * goes past a barrier.
 */
#include <stdio.h>
#include <string.h>

#include "base/gpu_table.h"
#include "base/util.h"
#include "kernels/default_rules.h"
#include "kernels/emulation.h"
#include "ptx/analyse/check.h"
#include "ptx/text/text.h"
#include "verify/claim.h"
#include "verify/specimen.h"

#define DATA ".param .u64 data, .param .u32 n"
#define START "mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [n];\nld.param.u64 %rd1, [data];\nmov.u32 %r3, 0;\n"
#define PART "setp.ge.u32 %p1, %r1, 17;\n"
#define STORE "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd1, %rd2;\nst.global.u32 [%rd1], %r3;\n"
#define STEP "add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p2, %r3, %r2;\n@%p2 bra LOOP;\n"

/* Findings about barriers in BODY, run by 64 threads; -1: not checked. */
static int check_barriers(const char *body, struct tcb_finding *out)
{
	static const enum tcb_ptx_rule rules[] = { TCB_PTX_RULE_BARRIER_DIVERGENT, TCB_PTX_RULE_BARRIER_PREDICATED,
						   TCB_PTX_RULE_BARRIER_SKIPPED, TCB_PTX_RULE_DEADLOCK };
	unsigned found[TCB_PTX_RULE_COUNT];
	struct tcb_specimen specimen;
	int count = -1;
	if (!tcb_specimen_open(&specimen, DATA, body, out))
		return -1;
	if (tcb_specimen_check(&specimen, 64, found, out)) {
		count = 0;
		for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
			count += (int)found[rules[i]];
	}
	tcb_specimen_close(&specimen);
	return count;
}

/* Is BAD told, and GOOD passed over?  The planted defect puts the one in the other's place. */
static void told(enum tcb_plant plant, const char *bad, const char *good, const char *what, struct tcb_finding *out)
{
	const int is_planted = plant == TCB_PLANT_DEFECT;
	const int in_bad = check_barriers(is_planted ? good : bad, out);
	const int in_good = in_bad < 0 ? -1 : check_barriers(is_planted ? bad : good, out);
	if (in_good >= 0)
		tcb_found(out, in_bad > 0 && in_good == 0, "%d findings where %s, %d where all do%s", in_bad, what,
			  in_good, is_planted ? " (the kernels were exchanged)" : "");
}

static const char whole_loop[] = START "LOOP:\nbar.sync 0;\n" STEP STORE;

static void one_arm(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char bad[] =
		START PART "@%p1 bra OTHER;\nbar.sync 0;\nbra JOIN;\nOTHER:\nadd.u32 %r3, %r3, 2;\nJOIN:\n" STORE;
	(void)lab;
	told(plant, bad, whole_loop, "some threads take an arm without the barrier", out);
}

static void skipped(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char bad[] = START "LOOP:\n" PART "@%p1 bra PAST;\nbar.sync 0;\nPAST:\n" STEP STORE;
	(void)lab;
	told(plant, bad, whole_loop, "some threads branch past the barrier of a loop", out);
}

/* Threads that end behind the last barrier do no harm. */
static void exit_behind(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char behind[] = START "LOOP:\nbar.sync 0;\n" STEP PART "@%p1 bra DONE;\n" STORE "DONE:\n";
	static const char inside[] = START "LOOP:\n" PART "@%p1 bra DONE;\nbar.sync 0;\n" STEP STORE
					   "DONE:\nst.global.u32 [%rd1], %r3;\nbar.sync 0;\n";
	(void)lab;
	const int count = check_barriers(plant == TCB_PLANT_DEFECT ? inside : behind, out);
	if (count >= 0)
		tcb_found(out, count == 0, "%d findings where threads part %s", count,
			  plant == TCB_PLANT_DEFECT ? "inside of the loop (planted)" : "behind the loop");
}

/* A barrier inside of a loop whose rounds are each thread's own. */
static void in_loops(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char own[] = START "add.u32 %r2, %r1, 1;\nLOOP:\nbar.sync 0;\n" STEP STORE;
	(void)lab;
	const int count = check_barriers(plant == TCB_PLANT_TRUTH ? whole_loop : own, out);
	if (count >= 0)
		tcb_found(out, count == 0, "%d findings at a barrier inside of a loop that %s", count,
			  plant == TCB_PLANT_TRUTH ? "all threads run equally often"
						   : "each thread runs a number of times of its own");
}

/* No loop, and yet some threads of a warp go past a barrier. */
static void no_loops(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char bad[] = START PART "@%p1 bra PAST;\nbar.sync 0;\nPAST:\n" STORE;
	static const char good[] = START "bar.sync 0;\n" STORE;
	(void)lab;
	const int count = check_barriers(plant == TCB_PLANT_TRUTH ? good : bad, out);
	if (count >= 0)
		tcb_found(out, count == 0, "%d findings in a kernel without a loop%s", count,
			  plant == TCB_PLANT_TRUTH ? " in which all threads meet the barrier"
						   : " in which some go past the barrier");
}

/* --- the program's own kernels --- */

struct case_of {
	const char *op;
	struct tcb_shape shape;
};

/* The default kernel on sm_80 of OP at SHAPE; 0, and OUT, where there is none. */
static int emit(const struct case_of *c, struct tcb_kernel *kernel, struct tcb_finding *out)
{
	const struct tcb_op *op = tcb_op_find(c->op);
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	struct tcb_gpu gpu;
	struct tcb_error err;
	if (!op || tcb_gpu_table(80, &gpu, &err) != TCB_OK ||
	    tcb_problem_init(op, op->default_contract, &c->shape, &problem, &err) != TCB_OK) {
		tcb_found_nothing(out, "%s at this shape: %.200s", c->op, op ? err.message : "no such op");
		return 0;
	}
	(void)tcb_default_geometry(&problem, &gpu.device.target, &geometry);
	if (tcb_kernel_emit(&problem, &gpu.device.target, &geometry, kernel, &err) == TCB_OK)
		return 1;
	tcb_found_nothing(out, "%s: %.200s", c->op, err.message);
	return 0;
}

static void unseen(void *ctx, const struct tcb_ptx_finding *finding)
{
	(void)ctx, (void)finding;
}

static const char *const products[] = { "matmul_f32", "matmul_f16", "q4k_matmul", "q80_matmul" };
enum { PRODUCTS = sizeof products / sizeof *products };

/* COUNT CASES, of WHAT, in the emulator; the planted defect: SIZE among the arguments is one too small. */
static void boundary_of(struct tcb_claim_lab *lab, enum tcb_plant plant, const struct case_of *cases, int count,
			size_t size, const char *what, struct tcb_finding *out)
{
	const struct tcb_ptx_sink sink = { unseen, NULL };
	unsigned wrong = 0, findings = 0;
	double worst = 0;
	for (int i = 0; i < count; i++) {
		struct tcb_kernel_emulation emulation;
		struct tcb_kernel kernel = { 0 };
		struct tcb_error err;
		if (!emit(&cases[i], &kernel, out))
			return;
		for (size_t l = 0; plant == TCB_PLANT_DEFECT && l < kernel.launch_count; l++)
			for (size_t a = 0; a < kernel.launch[l].argument_count; a++) {
				struct tcb_argument *argument = &kernel.launch[l].argument[a];
				argument->value -= argument->kind == TCB_ARGUMENT_U32 && argument->value == size;
			}
		const enum tcb_status status =
			tcb_kernel_emulate(kernel.problem.op, &kernel, NULL, lab->seed, &sink, &emulation, &err);
		tcb_kernel_fini(&kernel);
		if (status != TCB_OK) {
			tcb_found_nothing(out, "%s cannot be emulated: %.200s", cases[i].op, err.message);
			return;
		}
		wrong += !(emulation.error_ratio <= 1);
		findings += (unsigned)emulation.findings;
		worst = emulation.error_ratio > worst ? emulation.error_ratio : worst;
	}
	tcb_found(out, wrong == 0 && findings == 0,
		  "%u of %d %s wrong (worst %.3g of the bound), %u races or accesses out of bounds (emulator, sm_80)%s",
		  wrong, count, what, worst, findings, plant == TCB_PLANT_DEFECT ? "; a size was one too small" : "");
}

/* Products of M x N. */
static void boundary(struct tcb_claim_lab *lab, enum tcb_plant plant, size_t m, size_t n, struct tcb_finding *out)
{
	struct case_of cases[PRODUCTS];
	char what[64];
	for (int i = 0; i < PRODUCTS; i++)
		cases[i] = (struct case_of){ products[i], { m, n, 256 } };
	(void)snprintf(what, sizeof what, "products of %zux%zux256", m, n);
	boundary_of(lab, plant, cases, PRODUCTS, m > 1 ? m : n, what, out);
}

/* Lengths of 77, 39 and so on: whole tiles are of 64 and 16. */
static const struct case_of attentions[] = {
	{ "attention_decode_f16", { 1, 77, 128, { .query = 8, .kv = 2, .sequences = 2, .ragged = 1 } } },
	{ "attention_decode_bf16", { 3, 77, 64, { .query = 7, .kv = 1, .sequences = 5, .causal = 1, .ragged = 1 } } },
};
enum { ATTENTIONS = sizeof attentions / sizeof *attentions };

static void lengths_cut(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	boundary_of(lab, plant, attentions, ATTENTIONS, 77, "attentions with lengths of 77 and less", out);
}

static void rows_cut(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	boundary(lab, plant, 17, 64, out);
}

static void columns_cut(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	boundary(lab, plant, 16, 33, out);
}

static void one_row(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	boundary(lab, plant, 1, 33, out);
}

static void one_column(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	boundary(lab, plant, 17, 1, out);
}

/* The text of C's kernel; with IS_PLANTED its first barrier is met by half of the threads only. */
static int kernel_text(const struct case_of *c, int is_planted, struct tcb_str *text, struct tcb_finding *out)
{
	static const char planted[] = "{ .reg .pred %half; .reg .u32 %who; mov.u32 %who, %tid.x; setp.lt.u32 %half, "
				      "%who, 16; @%half bar.sync 0; }";
	struct tcb_kernel kernel = { 0 };
	struct tcb_str plain = { 0 };
	if (!emit(c, &kernel, out))
		return 0;
	tcb_kernel_print(&kernel, &plain);
	tcb_kernel_fini(&kernel);
	const char *barrier = plain.failed ? NULL : strstr(plain.data, "\tbar");
	if (is_planted && barrier) {
		const size_t before = (size_t)(barrier - plain.data);
		tcb_str_add_bytes(text, plain.data, before);
		tcb_str_add(text, planted);
		tcb_str_add(text, barrier + strcspn(barrier, "\n"));
	} else if (!plain.failed) {
		tcb_str_add(text, plain.data);
	}
	const int is_done = !plain.failed && !text->failed;
	tcb_str_fini(&plain);
	if (!is_done)
		tcb_found_nothing(out, "out of memory");
	return is_done;
}

static void count_barrier_error(void *ctx, const struct tcb_ptx_finding *finding)
{
	unsigned *count = ctx;
	*count += finding->severity != TCB_PTX_ADVICE &&
		  (finding->rule == TCB_PTX_RULE_BARRIER_DIVERGENT ||
		   finding->rule == TCB_PTX_RULE_BARRIER_PREDICATED || finding->rule == TCB_PTX_RULE_BARRIER_SKIPPED);
}

/* Errors and warnings about barriers in the text of C's kernel; -1: not checked. */
static int check_text(const struct case_of *c, int is_planted, unsigned *barriers, struct tcb_finding *out)
{
	const struct tcb_ptx_check_options options = { 0 };
	struct tcb_ptx_module *module = NULL;
	struct tcb_ptx_check_report report;
	struct tcb_str text = { 0 };
	struct tcb_error err = { .message = "" };
	unsigned count = 0;
	int is_done = kernel_text(c, is_planted, &text, out);
	if (is_done && (tcb_ptx_parse("kernel", text.data, text.length, &module, &err) != TCB_OK ||
			tcb_ptx_check(module, &options, &(struct tcb_ptx_sink){ count_barrier_error, &count }, &report,
				      &err) != TCB_OK)) {
		tcb_found_nothing(out, "%s: %.200s", c->op, err.message);
		is_done = 0;
	}
	for (const char *at = is_done ? text.data : NULL; at && (at = strstr(at, "\tbar")); at++)
		++*barriers;
	tcb_ptx_module_destroy(module);
	tcb_str_fini(&text);
	return is_done ? (int)count : -1;
}

/* The barriers of COUNT CASES, of WHAT: all threads meet them; with the planted defect half of them. */
static void loops_of(enum tcb_plant plant, const struct case_of *cases, int count, const char *what,
		     struct tcb_finding *out)
{
	unsigned findings = 0, barriers = 0;
	for (int i = 0; i < count; i++) {
		const int found = check_text(&cases[i], plant == TCB_PLANT_DEFECT, &barriers, out);
		if (found < 0)
			return;
		findings += (unsigned)found;
	}
	tcb_found(out, findings == 0 && barriers > 0, "%u findings at the %u barriers of %d %s of sm_80%s", findings,
		  barriers, count, what, plant == TCB_PLANT_DEFECT ? ", whose first ones 16 threads meet" : "");
}

/* The products' loops over k. */
static void own_loops(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct case_of cases[PRODUCTS];
	(void)lab;
	for (int i = 0; i < PRODUCTS; i++)
		cases[i] = (struct case_of){ products[i], { 64, 64, 1024 } };
	loops_of(plant, cases, PRODUCTS, "products", out);
}

static void kv_loops(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	(void)lab;
	loops_of(plant, attentions, ATTENTIONS, "attentions", out);
}

/* Every op's kernels, as a guard against the defect's return. */
static void all_kernels(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	size_t op_count;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	unsigned findings = 0, barriers = 0, kernels = 0;
	for (size_t i = 0; i < op_count; i++) {
		const struct case_of c = { ops[i]->name, ops[i]->default_shapes[0] };
		if (!tcb_op_gpu(ops[i]) || (lab->op && lab->op != ops[i]))
			continue;
		const int found = check_text(&c, plant == TCB_PLANT_DEFECT, &barriers, out);
		if (found < 0)
			return;
		findings += (unsigned)found;
		kernels++;
	}
	tcb_found(out, findings == 0 && kernels > 0, "%u findings at the %u barriers of %u ops' kernels of sm_80%s",
		  findings, barriers, kernels, plant == TCB_PLANT_DEFECT ? ", whose first ones 16 threads meet" : "");
}

/* Instructions of the representation beside lines of the text. */
static void counted(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char body[] = START "bar.sync 0;\n// bar.sync 1;\nbarrier.sync 1, 64;\nLOOP:\nbar.sync 0;\n" STEP
					 "bar.arrive 2, 64;\n" STORE;
	struct tcb_specimen specimen;
	unsigned lines = 0;
	(void)lab;
	if (!tcb_specimen_open(&specimen, DATA, body, out))
		return;
	for (const char *at = body; (at = strstr(at, "bar")); at++)
		lines += plant == TCB_PLANT_DEFECT || at == body || at[-1] == '\n';
	const unsigned found = tcb_specimen_count(&specimen, "bar");
	tcb_specimen_close(&specimen);
	tcb_found(out, found == lines, "%u barriers counted, %u in the text%s", found, lines,
		  plant == TCB_PLANT_DEFECT ? " (its comment included)" : "");
}

const struct tcb_claim tcb_claims_barriers[] = {
	{ "I101", "the check tells a barrier on one arm of a branch (restated: a thread that ended is not waited for)",
	  "told, and nothing else", "A", TCB_CLAIM_OURS, one_arm },
	{ "I102", "the check tells threads that branch past the barrier of a loop (restated as above)",
	  "told, and nothing else", "A", TCB_CLAIM_OURS, skipped },
	{ "I103", "an end behind the loop is not a finding", "0 findings", "A", TCB_CLAIM_OURS, exit_behind },
	{ "I104", "the check follows the loops over k of the products", "0 findings", "A", TCB_CLAIM_OURS, own_loops },
	{ "I105", "the check follows the loops over KV of attention", "0 findings", "A", TCB_CLAIM_OURS, kv_loops },
	{ "I106", "barriers are counted right", "as in the text", "A", TCB_CLAIM_OURS, counted },
	{ "I107", "products whose rows are not whole tiles are right", "within the bound, no finding", "A",
	  TCB_CLAIM_OURS, rows_cut },
	{ "I108", "products whose columns are not whole tiles are right", "within the bound, no finding", "A",
	  TCB_CLAIM_OURS, columns_cut },
	{ "I109", "products of one row are right", "within the bound, no finding", "A", TCB_CLAIM_OURS, one_row },
	{ "I110", "products of one column are right", "within the bound, no finding", "A", TCB_CLAIM_OURS, one_column },
	{ "I111", "attention whose length is not whole tiles is right", "within the bound, no finding", "A",
	  TCB_CLAIM_OURS, lengths_cut },
	{ "I112", "a barrier inside of a loop is safe", "0 findings", "A", TCB_CLAIM_SOURCE, in_loops },
	{ "I113", "a kernel without loops is safe", "0 findings", "A", TCB_CLAIM_SOURCE, no_loops },
	{ "I114", "the kernels of the products meet their barriers inside their loops", "0 findings", "A",
	  TCB_CLAIM_OURS, own_loops },
	{ "I115", "no kernel of this program has the defect", "0 findings", "A", TCB_CLAIM_OURS, all_kernels },
	{ 0 },
};
