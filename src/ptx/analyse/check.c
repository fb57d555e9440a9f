/* SPDX-License-Identifier: MIT
 *
 * In: a module as it was parsed or built.  Out: every finding that can be had
 * without running it, and the figures of each kernel.  check_function lists
 * the analyses in the order in which they run.
 */
#include "ptx/analyse/check.h"

#include <stdio.h>
#include <string.h>

#include "ptx/analyse/analyses.h"
#include "ptx/analyse/async/async.h"
#include "ptx/analyse/bounds.h"
#include "ptx/analyse/flow/endless.h"
#include "ptx/analyse/flow/slots.h"
#include "ptx/analyse/flow/webs.h"
#include "ptx/analyse/hazards/hazards.h"
#include "ptx/analyse/legality.h"
#include "ptx/analyse/noncoherent.h"
#include "ptx/analyse/unread.h"

enum { BLOCK_DEFAULT = 256 };

struct check {
	struct tcb_ptx_module *module;
	struct tcb_ptx_check_options options;
	const struct tcb_ptx_sink *sink;
	struct tcb_ptx_check_report *report;
};

static void count_finding(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct check *c = ctx;

	c->report->count[finding->severity]++;
	c->sink->see(c->sink->ctx, finding);
}

/* Whether text for FROM can be assembled for TO: the rules of the PTX manual for .target. */
static int fits(const struct tcb_ptx_target *from, const struct tcb_ptx_target *to)
{
	if (from->feature == 'a')
		return from->sm == to->sm && to->feature == 'a';
	if (from->feature == 'f')
		return from->sm <= to->sm && from->sm / 10 == to->sm / 10;
	return from->sm <= to->sm;
}

static void check_target(struct check *c, const struct tcb_ptx_sink *sink)
{
	const struct tcb_ptx_target *from = &c->module->target, *to = &c->options.target;

	if (to->sm && !fits(from, to))
		tcb_ptx_report(sink, TCB_PTX_RULE_TARGET, TCB_PTX_ERROR, NULL, NULL,
			       "the text is for sm_%u%.1s, which does not run on sm_%u%.1s%s", from->sm, &from->feature,
			       to->sm, &to->feature,
			       from->feature == 'a' ? "; an 'a' target runs on exactly that architecture" : "");
}

/* Whether FUNCTION may be launched with BLOCK. */
static int may_have(const struct tcb_ptx_function *function, const uint32_t block[3])
{
	const struct tcb_ptx_directives *d = &function->directives;
	uint64_t threads = (uint64_t)block[0] * block[1] * block[2], most = 1;

	for (int i = 0; i < 3; i++)
		most *= d->maxntid[i] ? d->maxntid[i] : 1;
	if (d->reqntid[0])
		return memcmp(d->reqntid, block, sizeof d->reqntid) == 0;
	return !d->maxntid[0] || threads <= most;
}

/* Block and dynamic shared memory of FUNCTION's launch. */
static void find_launch(const struct tcb_ptx_check_options *options, const struct tcb_ptx_function *function,
			struct tcb_ptx_check_kernel *kernel)
{
	const struct tcb_ptx_directives *d = &function->directives;
	const uint32_t *from = d->reqntid[0] ? d->reqntid : d->maxntid;

	kernel->block_source = from[0] ? TCB_PTX_BLOCK_BOUNDS : TCB_PTX_BLOCK_ASSUMED;
	for (size_t i = 0; i < options->launch_count; i++) {
		const struct tcb_ptx_check_launch *launch = &options->launches[i];
		if (launch->entry && strcmp(launch->entry, function->symbol->name) != 0)
			continue;
		kernel->dynamic_shared = launch->dynamic_shared;
		if (launch->block[0] && (!launch->is_for_all || may_have(function, launch->block))) {
			from = launch->block;
			kernel->block_source = TCB_PTX_BLOCK_GIVEN;
			kernel->is_for_all = launch->is_for_all && !function->directives.reqntid[0];
		}
		break;
	}
	for (int i = 0; i < 3; i++)
		kernel->block[i] = from[i] ? from[i] : 1;
	if (!from[0])
		kernel->block[0] = BLOCK_DEFAULT;
}

/* --- the shared memory of a kernel: its own variables and those of the module that it names --- */

struct shared_use {
	struct tcb_ptx_check_kernel *kernel;
	uint32_t mark;
};

static void use_symbol(struct shared_use *use, struct tcb_ptx_symbol *symbol)
{
	uint64_t bytes;

	if (!symbol || symbol->space != TCB_PTX_SHARED || symbol->index == use->mark)
		return;
	symbol->index = use->mark;
	bytes = tcb_ptx_symbol_bytes(symbol);
	if (!bytes)
		use->kernel->uses_dynamic_shared = 1;
	else if (bytes > UINT64_MAX - use->kernel->shared_static)
		use->kernel->shared_static = UINT64_MAX;
	else
		use->kernel->shared_static += bytes;
}

static void use_operand(struct shared_use *use, const struct tcb_ptx_operand *operand)
{
	if (operand->kind == TCB_PTX_O_SYMBOL || operand->kind == TCB_PTX_O_ADDRESS)
		use_symbol(use, operand->symbol);
	for (uint32_t i = 0; i < operand->count; i++)
		use_operand(use, &operand->items[i]);
}

/* The function's own variables the verifier has judged. */
static void find_shared(struct tcb_ptx_function *function, struct tcb_ptx_check_kernel *kernel, uint32_t mark,
			const struct tcb_ptx_sink *sink)
{
	struct shared_use use = { kernel, mark };
	uint64_t own;

	for (struct tcb_ptx_symbol *local = function->locals; local; local = local->next)
		use_symbol(&use, local);
	own = kernel->shared_static;
	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			for (unsigned i = 0; i < ins->operand_count; i++)
				use_operand(&use, &ins->operands[i]);
	if (kernel->shared_static > TCB_PTX_SHARED_STATIC_MAX && own <= TCB_PTX_SHARED_STATIC_MAX)
		tcb_ptx_report(sink, TCB_PTX_RULE_SHARED_STATIC, TCB_PTX_ERROR, function, NULL,
			       "%llu bytes of static shared memory with the module's variables that it names; above %d "
			       "it must be dynamic (.extern .shared)",
			       (unsigned long long)kernel->shared_static, TCB_PTX_SHARED_STATIC_MAX);
}

/* --- its accesses: what they cost, and whether they race --- */

static size_t predict_each(struct tcb_ptx_affine *affine, struct tcb_ptx_function *function,
			   struct tcb_ptx_check_access *out)
{
	size_t count = 0;

	for (struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			for (unsigned i = 0; i < ins->operand_count; i++) {
				struct tcb_ptx_prediction prediction;
				if (!tcb_ptx_predict(affine, ins, i, &prediction))
					continue;
				if (out)
					out[count] = (struct tcb_ptx_check_access){ ins, i, prediction };
				count++;
			}
	return count;
}

/* A race between threads that may not exist is no error: the block's size was taken from an upper bound, or assumed. */
struct doubt {
	const struct tcb_ptx_sink *sink;
	const struct tcb_ptx_check_kernel *kernel;
};

static void see_in_doubt(void *ctx, const struct tcb_ptx_finding *finding)
{
	const struct doubt *doubt = ctx;
	const uint32_t *block = doubt->kernel->block;
	struct tcb_ptx_finding weaker = *finding;
	size_t used = strlen(weaker.message);

	if (weaker.severity == TCB_PTX_ERROR) {
		weaker.severity = TCB_PTX_WARNING;
		weaker.assumes_block = doubt->kernel->block_source == TCB_PTX_BLOCK_ASSUMED;
		snprintf(weaker.message + used, sizeof weaker.message - used, " (in a block of %ux%ux%u, which is %s)",
			 block[0], block[1], block[2],
			 doubt->kernel->is_for_all ? "that of all kernels: --kernel says whose it is" : "assumed");
	}
	doubt->sink->see(doubt->sink->ctx, &weaker);
}

/* What alignment.c tells of an instruction bounds.c does not tell again of a thread. */
struct told_once {
	const struct tcb_ptx_sink *sink;
	const struct tcb_ptx_ins *told[64];
	unsigned count;
};

static void see_once(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct told_once *once = ctx;

	if (finding->rule == TCB_PTX_RULE_MISALIGNED) {
		for (unsigned i = 0; i < once->count; i++)
			if (once->told[i] == finding->ins)
				return;
		if (once->count < 64)
			once->told[once->count++] = finding->ins;
	}
	once->sink->see(once->sink->ctx, finding);
}

static int block_is_exact(const struct tcb_ptx_check_kernel *kernel)
{
	return kernel->block_source == TCB_PTX_BLOCK_GIVEN || kernel->function->directives.reqntid[0];
}

static enum tcb_status find_hazards(struct tcb_ptx_affine *affine, struct tcb_ptx_function *function, int is_exact,
				    const struct tcb_ptx_sink *sink, struct tcb_error *err)
{
	struct tcb_ptx_hazards *hazards;
	enum tcb_status status;

	TCB_TRY(tcb_ptx_hazards_create(affine, function, &hazards, err));
	status = tcb_ptx_races(hazards, is_exact, sink, err);
	if (status == TCB_OK && is_exact) {
		tcb_ptx_grid_races(hazards, sink);
		status = tcb_ptx_unwritten_shared(hazards, sink, err);
	}
	/* who follows that advice with another block breaks the kernel */
	if (status == TCB_OK && is_exact)
		status = tcb_ptx_report_redundant(hazards, sink, err);
	tcb_ptx_hazards_destroy(hazards);
	return status;
}

static enum tcb_status check_accesses(struct tcb_ptx_affine *affine, struct tcb_ptx_function *function,
				      struct tcb_ptx_check_kernel *kernel, const struct tcb_ptx_sink *to,
				      struct tcb_error *err)
{
	struct doubt doubt = { to, kernel };
	const struct tcb_ptx_sink in_doubt = { see_in_doubt, &doubt }, *sink = kernel->is_for_all ? &in_doubt : to;
	const struct tcb_ptx_bounds_launch launch = { block_is_exact(kernel),
						      kernel->block_source == TCB_PTX_BLOCK_GIVEN,
						      kernel->dynamic_shared };
	enum tcb_status status;

	status = find_hazards(affine, function, launch.is_exact, launch.is_exact ? sink : &in_doubt, err);
	if (status == TCB_OK)
		status =
			tcb_ptx_noncoherent(function, affine, launch.is_exact, launch.is_exact ? sink : &in_doubt, err);
	if (status == TCB_OK)
		status = tcb_ptx_bounds(function, affine, &launch, sink, err);
	if (status == TCB_OK)
		status = tcb_ptx_check_async(affine, function, sink, launch.is_exact ? sink : &in_doubt, err);
	if (status == TCB_OK)
		status = tcb_ptx_predict_all(affine, function, sink, err);
	kernel->access_count = predict_each(affine, function, NULL);
	kernel->accesses =
		tcb_arena_array(&function->module->arena, kernel->access_count + 1, sizeof *kernel->accesses);
	if (!kernel->accesses && status == TCB_OK)
		status = tcb_fail(err, TCB_E_NOMEM, "out of memory");
	if (status == TCB_OK)
		predict_each(affine, function, kernel->accesses);
	return status;
}

/* --- its barriers --- */

/* Of suspicions of one rule in one kernel the first speaks for all. */
struct first_of_rule {
	const struct tcb_ptx_sink *sink;
	struct tcb_ptx_finding first[TCB_PTX_RULE_COUNT];
	unsigned count[TCB_PTX_RULE_COUNT];
};

static void see_first(void *ctx, const struct tcb_ptx_finding *finding)
{
	struct first_of_rule *firsts = ctx;

	if (finding->severity != TCB_PTX_WARNING)
		firsts->sink->see(firsts->sink->ctx, finding);
	else if (firsts->count[finding->rule]++ == 0)
		firsts->first[finding->rule] = *finding;
}

static void tell_firsts(struct first_of_rule *firsts)
{
	for (int rule = 0; rule < TCB_PTX_RULE_COUNT; rule++) {
		struct tcb_ptx_finding *first = &firsts->first[rule];
		size_t used = strlen(first->message);

		if (!firsts->count[rule])
			continue;
		if (firsts->count[rule] > 1)
			snprintf(first->message + used, sizeof first->message - used, " (and %u more in this kernel)",
				 firsts->count[rule] - 1);
		firsts->sink->see(firsts->sink->ctx, first);
	}
}

static enum tcb_status check_barriers(struct tcb_ptx_affine *affine, struct tcb_ptx_function *function,
				      const struct tcb_ptx_dominators *dominators,
				      const struct tcb_ptx_check_kernel *kernel, const struct tcb_ptx_sink *sink,
				      struct tcb_error *err)
{
	struct first_of_rule *firsts = tcb_arena_array(&function->module->arena, 1, sizeof *firsts);
	struct doubt doubt = { sink, kernel };
	const struct tcb_ptx_sink in_doubt = { see_in_doubt, &doubt };
	struct tcb_ptx_uniformity uniformity;

	if (!firsts)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	firsts->sink = kernel->is_for_all ? &in_doubt : sink;
	TCB_TRY(tcb_ptx_uniformity_in(function, dominators, affine, &uniformity, err));
	TCB_TRY(tcb_ptx_barrier_safety(function, dominators, &uniformity,
				       affine && block_is_exact(kernel) ? affine : NULL,
				       &(struct tcb_ptx_sink){ see_first, firsts }, err));
	tell_firsts(firsts);
	return TCB_OK;
}

/* --- one function --- */

static enum tcb_status check_function(struct check *c, struct tcb_ptx_function *function,
				      struct tcb_ptx_check_kernel *kernel, const struct tcb_ptx_sink *to,
				      struct tcb_error *err)
{
	struct told_once once = { .sink = to };
	const struct tcb_ptx_sink all_once = { see_once, &once }, *sink = &all_once;
	struct tcb_ptx_dominators dominators;
	struct tcb_ptx_liveness liveness;
	struct tcb_ptx_affine *affine;
	enum tcb_status status;

	find_launch(&c->options, function, kernel);
	if (kernel->block_source == TCB_PTX_BLOCK_GIVEN)
		memcpy(function->launch_block, kernel->block, sizeof function->launch_block);
	kernel->function = function;
	kernel->instructions = function->ins_count;
	kernel->blocks = function->block_count;
	TCB_TRY(tcb_ptx_dominators(function, &dominators, err));
	TCB_TRY(tcb_ptx_loops(function, &dominators, err));
	for (const struct tcb_ptx_loop *loop = function->loops; loop; loop = loop->next)
		kernel->loops++;
	TCB_TRY(tcb_ptx_liveness(function, &liveness, err));
	kernel->pressure = liveness.pressure;
	kernel->predicate_pressure = liveness.predicate_pressure;
	kernel->peak_line = liveness.peak ? liveness.peak->line : 0;
	kernel->register_estimate = tcb_ptx_register_estimate(
		function, &liveness, c->options.target.sm ? c->options.target.sm : c->module->target.sm);
	tcb_ptx_register_range(function, kernel->register_estimate, &kernel->register_least, &kernel->register_most);
	TCB_TRY(tcb_ptx_local_slots(function, err));
	TCB_TRY(tcb_ptx_split_webs(function, &dominators, err));
	TCB_TRY(tcb_ptx_alignment(function, sink, err));
	if (!function->is_entry) /* what it does with its arguments is its caller's */
		return check_barriers(NULL, function, &dominators, kernel, sink, err);
	tcb_ptx_endless(function, sink);
	TCB_TRY(tcb_ptx_affine_create(function, kernel->block, &affine, err));
	status = check_barriers(affine, function, &dominators, kernel, sink, err);
	if (status == TCB_OK)
		status = check_accesses(affine, function, kernel, sink, err);
	tcb_ptx_affine_destroy(affine);
	return status;
}

enum tcb_status tcb_ptx_check(struct tcb_ptx_module *module, const struct tcb_ptx_check_options *options,
			      const struct tcb_ptx_sink *sink, struct tcb_ptx_check_report *out, struct tcb_error *err)
{
	struct check c = { .module = module, .options = *options, .sink = sink, .report = out };
	const struct tcb_ptx_sink counted = { count_finding, &c };
	size_t capacity = 0;
	unsigned illegal;

	memset(out, 0, sizeof *out);
	for (struct tcb_ptx_function *f = module->functions; f; f = f->next)
		capacity += f->is_entry && !f->is_declaration;
	out->kernels = tcb_arena_array(&module->arena, capacity + 1, sizeof *out->kernels);
	if (!out->kernels)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory");
	check_target(&c, &counted);
	tcb_ptx_report_unread(module, options->is_accepted, &counted);
	tcb_ptx_verify_each(module, &counted);
	illegal = out->count[TCB_PTX_ERROR];
	for (struct tcb_ptx_symbol *symbol = module->symbols; symbol; symbol = symbol->next)
		symbol->index = 0;
	for (struct tcb_ptx_function *f = module->functions; f; f = f->next) {
		struct tcb_ptx_check_kernel scratch = { 0 }, *kernel = &scratch;
		if (f->is_declaration)
			continue;
		if (f->is_entry) {
			kernel = &out->kernels[out->kernel_count++];
			find_shared(f, kernel, (uint32_t)out->kernel_count, &counted);
		}
		const unsigned before = out->count[TCB_PTX_ERROR];

		TCB_TRY(check_function(&c, f, kernel, &counted, err));
		kernel->errors = illegal + out->count[TCB_PTX_ERROR] - before;
	}
	return TCB_OK;
}
