/* SPDX-License-Identifier: MIT
 *
 * In: a kernel in PTX with its launches.  Out: what the checker (ptx/analyse/check.h) sees in it, as numbers.
 */
#include <math.h>

#include "kernels/gpu/ptx_code.h"
#include "kernels/language.h"
#include "kernels/static_facts.h"
#include "ptx/analyse/check.h"

const char *const tcb_fact_names[TCB_FACT_COUNT] = {
#define FACT_NAME(name, help) #name,
	TCB_FACT_LIST(FACT_NAME)
#undef FACT_NAME
};

static void ignore(void *ctx, const struct tcb_ptx_finding *finding)
{
	(void)ctx;
	(void)finding;
}

static void raise(struct tcb_static_facts *facts, enum tcb_fact fact, double value)
{
	facts->value[fact] = fmax(facts->value[fact], value); /* the number, if the other one is none */
}

static void add_access(struct tcb_static_facts *facts, const struct tcb_ptx_prediction *p)
{
	const int is_shared = p->space == TCB_PTX_SHARED;

	if (p->certainty == TCB_PTX_UNPREDICTED) {
		facts->value[TCB_FACT_unpredicted]++;
		return;
	}
	if (p->least <= p->ideal)
		return;
	facts->value[is_shared ? TCB_FACT_bank_conflicts : TCB_FACT_uncoalesced]++;
	raise(facts, is_shared ? TCB_FACT_conflict_ways : TCB_FACT_sector_ways,
	      (double)p->worst / (double)(p->worst_ideal ? p->worst_ideal : 1));
}

static void add_resources(struct tcb_static_facts *facts, const struct tcb_target *target,
			  const struct tcb_ptx_resources *resources, unsigned block_threads, size_t dynamic_shared)
{
	struct tcb_occupancy occupancy;

	raise(facts, TCB_FACT_registers, resources->registers);
	if (!block_threads || tcb_occupancy(target->cuda.capability, resources, block_threads, dynamic_shared,
					    &occupancy, NULL) != TCB_OK)
		return;
	const double share = (double)occupancy.warps / (double)(occupancy.warps_max ? occupancy.warps_max : 1);
	if (!(facts->value[TCB_FACT_occupancy] <= share)) {
		facts->value[TCB_FACT_occupancy] = share;
		facts->value[TCB_FACT_blocks] = occupancy.blocks;
	}
}

static void add_kernel(struct tcb_static_facts *facts, const struct tcb_ptx_check_kernel *kernel,
		       const struct tcb_target *target)
{
	const struct tcb_ptx_resources estimated = { .registers = kernel->register_estimate,
						     .shared_bytes = (unsigned)kernel->shared_static };
	const unsigned threads = kernel->block[0] * kernel->block[1] * kernel->block[2];

	raise(facts, TCB_FACT_threads, threads);
	raise(facts, TCB_FACT_shared, (double)(kernel->shared_static + kernel->dynamic_shared));
	facts->value[TCB_FACT_instructions] += kernel->instructions;
	for (size_t i = 0; i < kernel->access_count; i++)
		add_access(facts, &kernel->accesses[i].prediction);
	add_resources(facts, target, &estimated, threads, kernel->dynamic_shared);
}

enum tcb_status tcb_static_facts_of(const struct tcb_kernel *kernel, const struct tcb_target *target,
				    struct tcb_static_facts *out, struct tcb_error *err)
{
	static const enum tcb_fact counted[] = { TCB_FACT_bank_conflicts, TCB_FACT_uncoalesced, TCB_FACT_unpredicted,
						 TCB_FACT_instructions };
	struct tcb_ptx_check_launch launches[TCB_LAUNCHES_MAX] = { { .entry = NULL } };
	const struct tcb_ptx_sink sink = { ignore, NULL };
	struct tcb_ptx_check_report report;

	for (int i = 0; i < TCB_FACT_COUNT; i++)
		out->value[i] = NAN;
	if (kernel->language != &tcb_language_ptx)
		return TCB_OK;
	for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
		out->value[counted[i]] = 0;
	out->value[TCB_FACT_conflict_ways] = out->value[TCB_FACT_sector_ways] = 1;
	for (size_t i = 0; i < kernel->launch_count; i++) {
		const struct tcb_launch *launch = &kernel->launch[i];

		launches[i].entry = launch->entry;
		launches[i].dynamic_shared = launch->shared_bytes;
		for (int d = 0; d < 3; d++)
			launches[i].block[d] = (uint32_t)launch->block[d];
	}
	struct tcb_ptx_module *module = tcb_kernel_ptx(kernel)->module;
	const struct tcb_ptx_check_options options = {
		.target = module->target, .launches = launches, .launch_count = kernel->launch_count, .is_accepted = 1
	};
	TCB_TRY(tcb_ptx_check(module, &options, &sink, &report, err));
	for (size_t i = 0; i < report.kernel_count; i++)
		add_kernel(out, &report.kernels[i], target);
	return TCB_OK;
}

void tcb_static_facts_assembled(struct tcb_static_facts *facts, const struct tcb_target *target,
				const struct tcb_ptx_resources *resources, unsigned block_threads,
				size_t dynamic_shared)
{
	if (!resources->registers)
		return;
	facts->value[TCB_FACT_registers] = facts->value[TCB_FACT_occupancy] = facts->value[TCB_FACT_blocks] = NAN;
	facts->value[TCB_FACT_spills] = resources->spill_store_bytes + resources->spill_load_bytes;
	add_resources(facts, target, resources, block_threads, dynamic_shared);
}

enum tcb_status tcb_static_facts_find(const struct tcb_problem *problem, const struct tcb_target *target,
				      const struct tcb_geometry *geometry, const struct tcb_ptx_resources *resources,
				      struct tcb_static_facts *out, struct tcb_error *err)
{
	struct tcb_kernel kernel = { .code = NULL };
	enum tcb_status status = tcb_kernel_emit(problem, target, geometry, &kernel, err);

	if (status == TCB_OK)
		status = tcb_static_facts_of(&kernel, target, out, err);
	if (status == TCB_OK && kernel.launch_count) {
		const struct tcb_launch *last = &kernel.launch[kernel.launch_count - 1];

		tcb_static_facts_assembled(out, target, resources,
					   (unsigned)(last->block[0] * last->block[1] * last->block[2]),
					   last->shared_bytes);
	}
	tcb_kernel_fini(&kernel);
	return status;
}
