/* SPDX-License-Identifier: MIT
 *
 * The pipeline: the one table of passes, and the list of what runs when.
 *
 * Copies and constants come first, so that loops show their bounds; loops are
 * split before they are unrolled; folding again makes the predicates of split
 * loops constant and follows the copies of counters.  Sums are fused before
 * common subexpressions are merged, because a product that two sums share is no
 * longer used once.  The last round cleans up what the others left.
 */
#include "ptx/optimise/passes.h"

#include <string.h>

#include "base/util.h"
#include "ptx/analyse/flow/rewrite.h"
#include "ptx/analyse/legality.h"
#include "ptx/text/text.h"

enum {
	UNROLL_LIMIT = 32,  /* instructions: a body of 4 eight times, one of 16 twice; ptxas unrolls too */
	SPLIT_MIN_BODY = 12 /* instructions without memory or matrix work that a compare and branch are a tenth of */
};

enum pass_id {
#define PASS_ID(id, summary) PASS_##id,
	TCB_PTX_PASS_LIST(PASS_ID)
#undef PASS_ID
		PASS_COUNT
};

static const struct tcb_ptx_pass table[] = {
#define PASS_ROW(id, summary) { #id, summary, tcb_ptx_##id },
	TCB_PTX_PASS_LIST(PASS_ROW)
#undef PASS_ROW
};

static const uint8_t pipeline[] = {
	PASS_const_fold,  PASS_dead_code,       PASS_loop_split, PASS_const_fold, PASS_dead_code,
	PASS_loop_unroll, PASS_const_fold,      PASS_strength,   PASS_fma_fusion, PASS_cse,
	PASS_const_fold,  PASS_barrier_removal, PASS_dead_code,
};

const struct tcb_ptx_pass *tcb_ptx_passes(unsigned *count_out)
{
	*count_out = PASS_COUNT;
	return table;
}

const struct tcb_ptx_pass *tcb_ptx_pass_find(const char *name)
{
	for (unsigned i = 0; i < PASS_COUNT; i++)
		if (strcmp(table[i].name, name) == 0)
			return &table[i];
	return NULL;
}

void tcb_ptx_pass_defaults(struct tcb_ptx_pass_options *out)
{
	out->unroll_limit = UNROLL_LIMIT;
	out->split_min_body = SPLIT_MIN_BODY;
	out->left_out = 0;
}

static enum tcb_status check_debug(const struct tcb_ptx_pipeline_debug *debug, struct tcb_error *err)
{
	if (debug && debug->dump_after && strcmp(debug->dump_after, "all") != 0 &&
	    !tcb_ptx_pass_find(debug->dump_after))
		return tcb_fail(err, TCB_E_USAGE, "no pass is called '%s'", debug->dump_after);
	if (debug && debug->stop_after && !tcb_ptx_pass_find(debug->stop_after))
		return tcb_fail(err, TCB_E_USAGE, "no pass is called '%s'", debug->stop_after);
	return TCB_OK;
}

static enum tcb_status dump(const struct tcb_ptx_function *function, const struct tcb_ptx_pass *pass, unsigned changed,
			    const struct tcb_ptx_pipeline_debug *debug, struct tcb_error *err)
{
	struct tcb_str text = { 0 };

	if (!debug->dump || !debug->dump_after ||
	    (strcmp(debug->dump_after, "all") != 0 && strcmp(debug->dump_after, pass->name) != 0))
		return TCB_OK;
	tcb_str_addf(&text, "// %s after %s: %u changed, %u instructions\n", function->symbol->name, pass->name,
		     changed, function->ins_count);
	tcb_ptx_print_function(function, &text);
	if (!text.failed)
		fputs(text.data, debug->dump);
	tcb_str_fini(&text);
	return text.failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory for a dump") : TCB_OK;
}

static enum tcb_status verify(struct tcb_ptx_module *module, const struct tcb_ptx_pass *pass, struct tcb_error *err)
{
	struct tcb_error why;

	if (tcb_ptx_verify(module, &why) == TCB_OK)
		return TCB_OK;
	return tcb_fail(err, TCB_E_FAILED, "after the pass %s: %s", pass->name, why.message);
}

static enum tcb_status optimise_function(struct tcb_ptx_function *function, const struct tcb_ptx_pass_options *options,
					 const struct tcb_ptx_pipeline_debug *debug, struct tcb_error *err)
{
	struct tcb_ptx_dominators dominators;

	for (unsigned i = 0; i < sizeof pipeline / sizeof *pipeline; i++) {
		const struct tcb_ptx_pass *pass = &table[pipeline[i]];
		unsigned changed = 0;

		if (options->left_out >> pipeline[i] & 1)
			continue;
		TCB_TRY(pass->run(function, options, &changed, err));
		if (!debug)
			continue;
		TCB_TRY(dump(function, pass, changed, debug, err));
		if (debug->verify) {
			TCB_TRY(tcb_ptx_cfg(function, err));
			TCB_TRY(verify(function->module, pass, err));
		}
		if (debug->stop_after && strcmp(debug->stop_after, pass->name) == 0)
			break;
	}
	TCB_TRY(tcb_ptx_cfg(function, err));
	tcb_ptx_number(function);
	TCB_TRY(tcb_ptx_dominators(function, &dominators, err));
	return tcb_ptx_loops(function, &dominators, err);
}

/* What an opaque instruction reads is unknown, so nothing around it may change. */
static int has_opaque(const struct tcb_ptx_function *function)
{
	for (const struct tcb_ptx_block *block = function->first; block; block = block->next)
		for (const struct tcb_ptx_ins *ins = block->first; ins; ins = ins->next)
			if (ins->opaque)
				return 1;
	return 0;
}

enum tcb_status tcb_ptx_optimise(struct tcb_ptx_module *module, const struct tcb_ptx_pass_options *options,
				 const struct tcb_ptx_pipeline_debug *debug, struct tcb_error *err)
{
	struct tcb_ptx_pass_options defaults;

	TCB_TRY(check_debug(debug, err));
	tcb_ptx_pass_defaults(&defaults);
	for (struct tcb_ptx_function *f = module->functions; f; f = f->next)
		if (!f->is_declaration && !has_opaque(f))
			TCB_TRY(optimise_function(f, options ? options : &defaults, debug, err));
	return TCB_OK;
}
