/* SPDX-License-Identifier: MIT
 *
 * tcbtune space: the legal geometries of one problem on one device: how many,
 * which, or why a given one is not among them (SPEC section 2).
 */
#include <stdint.h>
#include <stdlib.h>

#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/setup.h"
#include "cli/tune/default_features.h"
#include "kernels/space.h"

struct space_args {
	const struct tcb_registry *ops;
	const char *op, *device, *shape, *contract, *explain;
	uint64_t threads;
	int count, features, any_size, json;
};

static const struct cli_option options[] = {
	CLI_OPTION_OP(struct space_args, 1, "the op whose space it is"),
	CLI_OPTION_DEVICE(struct space_args),
	CLI_OPTION_THREADS(struct space_args),
	{ "shape", "MxNxK", CLI_TEXT, offsetof(struct space_args, shape), "the problem's shape",
	  .note = "the op's first default shape" },
	CLI_OPTION_CONTRACT(struct space_args),
	{ "count", NULL, CLI_FLAG, offsetof(struct space_args, count), "print the number of legal geometries only" },
	{ "features", NULL, CLI_FLAG, offsetof(struct space_args, features),
	  "print a line of numbers for each, as 'tcbtune defaults --format features' does of trials" },
	{ "explain", "GEOMETRY", CLI_TEXT, offsetof(struct space_args, explain),
	  "say whether this geometry is legal, and else which constraint forbids it" },
	{ "any-size", NULL, CLI_FLAG, offsetof(struct space_args, any_size),
	  "lift the power-of-two rule (H15): tile dimensions may be any size" },
	CLI_OPTION_JSON(struct space_args),
	CLI_OPTION_END,
};

/* What --explain finds. */
struct explanation {
	char text[TCB_GEOMETRY_TEXT_MAX];
	const struct tcb_constraint *violated;
	char why[TCB_WHY_MAX];
	struct tcb_soft soft;
	const struct tcb_variant *variant; /* NULL: legal, but no kernel was built for it */
	int in_space;                      /* an element of the default space */
};

static enum tcb_status explain(const struct tcb_op *op, const struct tcb_problem *problem,
			       const struct tcb_target *target, const struct space_args *args,
			       const struct tcb_geometry *geometry, struct explanation *out, struct tcb_error *err)
{
	struct tcb_space *space = NULL;

	tcb_geometry_print(geometry, out->text);
	out->violated = tcb_constraint_violated(op, problem, target, geometry, args->any_size, out->why);
	if (out->violated)
		return TCB_OK;
	tcb_constraint_soft(problem, target, geometry, &out->soft);
	out->variant = tcb_variant_find(op, problem->contract, geometry);
	TCB_TRY(tcb_space_create(op, problem, target, args->any_size, &space, err));
	out->in_space = tcb_space_find(space, geometry) != SIZE_MAX;
	tcb_space_destroy(space);
	return TCB_OK;
}

static enum tcb_status explain_text(const struct explanation *found, struct tcb_error *err)
{
	struct tcb_str out = { 0 };

	tcb_str_addf(&out, "%s\n", found->text);
	if (found->violated) {
		tcb_str_addf(&out, "illegal: %s\n", found->why);
		return cli_emit_text(&out, err);
	}
	tcb_str_addf(&out, "legal%s\n",
		     found->in_space ? "" : ", but not an element of the default space (its axes do not offer it)");
	tcb_str_addf(&out, "kernel: %s\n",
		     found->variant ? found->variant->name : "none was built for this micro tile");
	tcb_str_addf(&out, "S4 padding waste: %.1f %%\n", found->soft.padding_waste * 100);
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		if (found->soft.cache_fraction[level] > 0)
			tcb_str_addf(&out, "S5 %s tile over its cache: %.3f\n", tcb_level_text((enum tcb_level)level),
				     found->soft.cache_fraction[level]);
	tcb_str_addf(&out, "S7 accumulators over the 8 that hide FMA latency: %.3f\n",
		     found->soft.accumulator_fraction);
	return cli_emit_text(&out, err);
}

static json_t *problem_json(const struct tcb_problem *problem, const struct tcb_device *device, int *failed)
{
	json_t *root = cli_json_start("tcbtune.space.1", failed);

	cli_json_set(root, "op", cli_json_text(problem->op_name), failed);
	cli_json_set(root, "contract", json_string(tcb_contract_text(problem->contract)), failed);
	cli_json_set(root, "shape", cli_json_shape(&problem->shape), failed);
	cli_json_set(root, "device", cli_json_text(device->name), failed);
	cli_json_set(root, "threads", cli_json_size(device->target.threads), failed);
	return root;
}

static enum tcb_status explain_json(const struct explanation *found, json_t *root, int failed, struct tcb_error *err)
{
	json_t *row = json_object(), *soft = NULL, *levels;

	cli_json_set(row, "geometry", cli_json_text(found->text), &failed);
	cli_json_set(row, "legal", json_boolean(!found->violated), &failed);
	cli_json_set(row, "constraint", found->violated ? cli_json_text(found->violated->id) : json_null(), &failed);
	cli_json_set(row, "message", found->violated ? cli_json_text(found->why) : json_null(), &failed);
	cli_json_set(row, "in_space", json_boolean(found->in_space), &failed);
	cli_json_set(row, "variant", found->variant ? cli_json_text(found->variant->name) : json_null(), &failed);
	if (!found->violated) {
		soft = json_object();
		levels = json_object();
		cli_json_set(soft, "padding_waste", cli_json_real(found->soft.padding_waste), &failed);
		for (int level = 0; level < TCB_LEVEL_COUNT; level++)
			cli_json_set(levels, tcb_level_text((enum tcb_level)level),
				     cli_json_real(found->soft.cache_fraction[level]), &failed);
		cli_json_set(soft, "cache_fraction", levels, &failed);
		cli_json_set(soft, "accumulator_fraction", cli_json_real(found->soft.accumulator_fraction), &failed);
	}
	cli_json_set(row, "soft", soft ? soft : json_null(), &failed);
	cli_json_set(root, "explanation", row, &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

static enum tcb_status list_text(const struct tcb_space *space, int count_only, struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	char text[TCB_GEOMETRY_TEXT_MAX];

	if (count_only)
		tcb_str_addf(&out, "%zu\n", space->count);
	for (size_t i = 0; i < space->count && !count_only; i++) {
		tcb_geometry_print(&space->geometries[i], text);
		tcb_str_addf(&out, "%s\n", text);
	}
	return cli_emit_text(&out, err);
}

static enum tcb_status list_features(const struct tcb_space *space, const struct tcb_problem *problem,
				     const struct tcb_device *device, struct tcb_error *err)
{
	static const double not_measured[TCB_STATE_COUNT] = { 0 };
	struct tcb_str out = { 0 };
	struct cli_featured of;

	cli_featured_init(&of, problem, device);
	cli_features_head(&out);
	for (size_t i = 0; i < space->count; i++)
		cli_features_add(&of, &space->geometries[i], not_measured, 0, &out);
	return cli_emit_text(&out, err);
}

static enum tcb_status list_json(const struct tcb_space *space, int count_only, json_t *root, int failed,
				 struct tcb_error *err)
{
	char text[TCB_GEOMETRY_TEXT_MAX];
	json_t *rows;

	cli_json_set(root, "count", cli_json_size(space->count), &failed);
	cli_json_set(root, "raw_count", cli_json_size(space->raw_count), &failed);
	tcb_geometry_print(&space->geometries[space->default_index], text);
	cli_json_set(root, "default", cli_json_text(text), &failed);
	if (!count_only) {
		rows = json_array();
		for (size_t i = 0; i < space->count; i++) {
			tcb_geometry_print(&space->geometries[i], text);
			cli_json_add(rows, cli_json_text(text), &failed);
		}
		cli_json_set(root, "geometries", rows, &failed);
	}
	return cli_emit_json(cli_json_end(root, failed), err);
}

static enum tcb_status run_space(const void *arguments, struct tcb_error *err)
{
	const struct space_args *args = arguments;
	const struct tcb_op *op;
	struct tcb_problem problem;
	struct tcb_place place;
	struct tcb_geometry geometry;
	struct explanation found = { .violated = NULL };
	struct tcb_space *space = NULL;
	json_t *root = NULL;
	int failed = 0;
	enum tcb_status status;

	if (args->count && args->explain)
		return tcb_fail(err, TCB_E_USAGE, "--count and --explain exclude each other; give one of them");
	TCB_TRY(cli_find_op(args->ops, args->op, &op, err));
	TCB_TRY(cli_make_problem(op, args->contract, args->shape, &problem, err));
	if (args->explain)
		TCB_TRY(tcb_geometry_parse_of(args->explain, op->parameters, &geometry, err));
	TCB_TRY(cli_open_device(args->device, args->threads, &place, err));
	TCB_TRY(tcb_op_require(op, &place.device.target, err));
	if (args->explain) {
		TCB_TRY(explain(op, &problem, &place.device.target, args, &geometry, &found, err));
		if (!args->json)
			return explain_text(&found, err);
		root = problem_json(&problem, &place.device, &failed);
		return explain_json(&found, root, failed, err);
	}
	TCB_TRY(tcb_space_create(op, &problem, &place.device.target, args->any_size, &space, err));
	if (args->json) {
		root = problem_json(&problem, &place.device, &failed);
		status = list_json(space, args->count, root, failed, err);
	} else if (args->features) {
		status = list_features(space, &problem, &place.device, err);
	} else {
		status = list_text(space, args->count, err);
	}
	tcb_space_destroy(space);
	return status;
}

const struct cli_command cli_command_space = {
	.name = "space",
	.summary = "enumerate the legal geometries, or explain one",
	.description = "Prints the geometries of a problem for which every hard constraint holds, one per line; with "
		       "--count their number; with --explain whether one geometry is legal, which constraint forbids "
		       "it, and the soft constraints' numbers if it is.",
	.examples = "  tcbtune space --op @OP --shape 1x4096x4096 --count\n"
		    "  tcbtune space --op @OP --explain macro=1x2048x4096,midi=1x64x4096,micro=1x3x256,isa=avx2\n",
	.options = options,
	.args_bytes = sizeof(struct space_args),
	.run = run_space,
};
