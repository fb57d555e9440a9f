/* SPDX-License-Identifier: MIT
 *
 * Emits each op's default kernel and hands it to the emulator or to the
 * assembler.
 */
#include "verify/measure_emulated.h"

#include <stdio.h>
#include <string.h>

#include "base/gpu_table.h"
#include "base/util.h"
#include "kernels/constraint.h"
#include "kernels/default_rules.h"
#include "kernels/gpu/ptx_code.h"

static struct tcb_shape small_shape(const struct tcb_op *op, int is_odd)
{
	const struct tcb_shape *standard = &op->default_shapes[0];
	if (tcb_op_needs_words(op))
		return (struct tcb_shape){ is_odd ? 3 : 1, is_odd ? 77 : 128, standard->k, standard->words };
	if (!strncmp(op->name, "reduce2d", 8))
		return is_odd ? (struct tcb_shape){ 33, 1001, 0 } : (struct tcb_shape){ 64, 1024, 0 };
	if (!standard->k)
		return is_odd ? (struct tcb_shape){ 3, 1001, 0 } : (struct tcb_shape){ 4, 1024, 0 };
	if (standard->m == 1)
		return is_odd ? (struct tcb_shape){ 1, 33, 768 } : (struct tcb_shape){ 1, 64, 1024 };
	return is_odd ? (struct tcb_shape){ 33, 65, 256 } : (struct tcb_shape){ 64, 64, 1024 };
}

/* The default kernel of OP at SHAPE; 0 where it has none. */
static int emit_default(const struct tcb_op *op, const struct tcb_shape *shape, const struct tcb_target *target,
			struct tcb_kernel *out)
{
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	if (!tcb_op_side(op, target) || tcb_problem_init(op, op->default_contract, shape, &problem, NULL) != TCB_OK)
		return 0;
	(void)tcb_default_geometry(&problem, target, &geometry);
	return tcb_kernel_emit(&problem, target, &geometry, out, NULL) == TCB_OK;
}

static void unseen(void *ctx, const struct tcb_ptx_finding *finding)
{
	(void)ctx, (void)finding;
}

/* Several claims look at the same runs: what was found is kept. */
enum { KEPT_MAX = 64 };
static struct kept {
	const struct tcb_op *op;
	unsigned capability;
	int is_odd, is_run;
	uint64_t seed;
	struct tcb_kernel_emulation emulation;
} kept[KEPT_MAX];
static size_t kept_count;

static const struct kept *emulate_one(const struct tcb_op *op, unsigned capability, int is_odd, uint64_t seed)
{
	const struct tcb_ptx_sink sink = { unseen, NULL };
	const struct tcb_shape shape = small_shape(op, is_odd);
	struct tcb_kernel kernel = { 0 };
	struct tcb_gpu gpu;
	for (size_t i = 0; i < kept_count; i++)
		if (kept[i].op == op && kept[i].capability == capability && kept[i].is_odd == is_odd &&
		    kept[i].seed == seed)
			return &kept[i];
	struct kept *found = &kept[kept_count < KEPT_MAX ? kept_count++ : KEPT_MAX - 1];
	*found = (struct kept){ .op = op, .capability = capability, .is_odd = is_odd, .seed = seed };
	found->is_run = tcb_gpu_table(capability, &gpu, NULL) == TCB_OK &&
			emit_default(op, &shape, &gpu.device.target, &kernel) &&
			tcb_kernel_emulate(op, &kernel, NULL, seed, &sink, &found->emulation, NULL) == TCB_OK;
	tcb_kernel_fini(&kernel);
	return found;
}

int tcb_emulate_ops(struct tcb_claim_lab *lab, unsigned capability, int is_odd, tcb_emulated_fn *each, void *ctx,
		    struct tcb_finding *out)
{
	size_t op_count, done = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	for (size_t i = 0; i < op_count; i++) {
		if (lab->op && ops[i] != lab->op)
			continue;
		const struct kept *found = emulate_one(ops[i], capability, is_odd, lab->seed);
		done += (size_t)found->is_run;
		if (found->is_run && each(ctx, ops[i], &found->emulation))
			break;
	}
	if (done == 0)
		tcb_found_nothing(out, "no kernel of sm_%u could be emulated", capability);
	return done > 0;
}

/* Beside bounds of a launch ptxas does not heed -maxrregcount. */
static void drop_bounds(char *text)
{
	for (char *at = text; (at = strstr(at, "\n.reqntid"));)
		memset(at, ' ', strcspn(at, "{"));
	for (char *at = text; (at = strstr(at, "\n.maxntid"));)
		memset(at, ' ', strcspn(at, "{"));
}

static void assemble_one(struct tcb_claim_lab *lab, const struct tcb_op *op, const struct tcb_kernel *kernel,
			 unsigned registers, struct tcb_assembled_sum *sum)
{
	struct tcb_assemble_build build;
	struct tcb_assembly assembly;
	struct tcb_str text = { 0 };
	char flags[40] = "";
	if (registers)
		(void)snprintf(flags, sizeof flags, "-maxrregcount %u", registers);
	tcb_kernel_print(kernel, &text);
	if (!text.failed && tcb_assemble_build(registers ? flags : NULL, &build, NULL) == TCB_OK) {
		if (registers)
			drop_bounds(text.data);
		tcb_assemble_as(&lab->assembler, text.data, text.length, &tcb_kernel_ptx(kernel)->module->target,
				&build, 60, &assembly);
		if (assembly.status == TCB_OK) {
			const struct tcb_ptx_resources *r = &assembly.resources;
			const unsigned spilled = r->spill_store_bytes + r->spill_load_bytes;
			if (spilled && !sum->first_spilled[0])
				(void)snprintf(sum->first_spilled, sizeof sum->first_spilled, "%s", op->name);
			sum->kernels++;
			sum->spill_bytes += spilled;
			sum->registers_most = r->registers > sum->registers_most ? r->registers : sum->registers_most;
		}
		tcb_assembly_fini(&assembly);
	}
	tcb_str_fini(&text);
}

int tcb_assemble_ops(struct tcb_claim_lab *lab, unsigned capability, unsigned registers, struct tcb_assembled_sum *sum,
		     struct tcb_finding *out)
{
	size_t op_count;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	struct tcb_gpu gpu;
	*sum = (struct tcb_assembled_sum){ 0 };
	if (lab->assembler.kind == TCB_ASSEMBLER_NONE || tcb_gpu_table(capability, &gpu, NULL) != TCB_OK ||
	    !tcb_assembler_knows(&lab->assembler, capability)) {
		tcb_found_nothing(out, "%s", lab->no_assembler[0] ? lab->no_assembler : "no assembler for this GPU");
		return 0;
	}
	for (size_t i = 0; i < op_count; i++) {
		struct tcb_kernel kernel = { 0 };
		if (lab->op && ops[i] != lab->op)
			continue;
		if (emit_default(ops[i], &ops[i]->default_shapes[0], &gpu.device.target, &kernel))
			assemble_one(lab, ops[i], &kernel, registers, sum);
		tcb_kernel_fini(&kernel);
	}
	if (sum->kernels == 0 || sum->registers_most == 0)
		tcb_found_nothing(out,
				  sum->kernels ? "the assembler does not tell what kernels of sm_%u take"
					       : "no kernel of sm_%u could be assembled",
				  capability);
	return sum->kernels > 0 && sum->registers_most > 0;
}
