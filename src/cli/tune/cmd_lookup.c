/* SPDX-License-Identifier: MIT
 *
 * tcbtune lookup: what libtcbrt answers for one problem, and why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"
#include "cli/core/figures.h"
#include "cli/core/nearby.h"
#include "cli/core/shape_axes.h"
#include "cli/core/tuned.h"
#include "cli/report/bound_facts.h"

struct lookup_args {
	const struct tcb_registry *ops;
	const char *op, *device, *shape, *contract, *db;
	uint64_t threads;
	int state; /* enum tcb_state */
	int explain, time, json;
};

static const struct cli_option options[] = {
	CLI_OPTION_OP(struct lookup_args, 1, "the op to look up"),
	CLI_OPTION_DEVICE(struct lookup_args),
	{ "threads", "N", CLI_COUNT, offsetof(struct lookup_args, threads), "threads that the kernel may use",
	  .fallback = "0", .note = "all cores, or fewer where that was measured to be faster" },
	{ "shape", "MxNxK", CLI_TEXT, offsetof(struct lookup_args, shape),
	  "the problem's shape (MxN for row ops), or several as in 1,2,4x4096x4096 ('tcbtune help shapes'), whose "
	  "answers follow each other",
	  .required = 1 },
	CLI_OPTION_CONTRACTS(struct lookup_args, "the op's own"),
	{ "state", "STATE", CLI_WORD, offsetof(struct lookup_args, state),
	  "what the caches hold when the kernel is called", .words = "cold|hot", .fallback = "cold" },
	{ "explain", NULL, CLI_FLAG, offsetof(struct lookup_args, explain),
	  "also say what the answer's kernel is bound by, where it was measured" },
	{ "time", NULL, CLI_FLAG, offsetof(struct lookup_args, time),
	  "also say what the library takes to answer, the median of 51 times" },
	CLI_OPTION_DB(struct lookup_args),
	CLI_OPTION_JSON(struct lookup_args),
	CLI_OPTION_END,
};

/* The stored row that an answer is from. */
struct source {
	const struct tcb_problem *problem;
	const struct tcbrt_tuning *tuning;
	enum tcb_state state;
	struct cli_best_row row;
	int is_found;
};

/* The shape that an answer was measured at; m is 0 where it was not. */
static struct tcb_shape tuned_shape(const struct tcbrt_tuning *tuning, const struct tcb_problem *problem)
{
	struct tcb_shape shape = { tuning->tuned_m, tuning->tuned_n, tuning->tuned_k, problem->shape.words };

	shape.words.query = tuning->tuned_query_heads;
	shape.words.kv = tuning->tuned_kv_heads;
	shape.words.sequences = tuning->tuned_sequences;
	return shape;
}

static int match_source(void *ctx, const struct tcb_best *best)
{
	struct source *source = ctx;
	const struct tcbrt_tuning *tuning = source->tuning;
	const struct tcb_shape *shape = &best->problem.shape;
	const struct tcb_shape tuned = tuned_shape(tuning, source->problem);

	if (best->state != source->state || best->problem.contract != source->problem->contract ||
	    !tcb_shape_equal(shape, &tuned) || best->threads != tuning->threads ||
	    strcmp(best->geometry, tuning->geometry) != 0)
		return 0;
	source->row.best = *best;
	return source->is_found = 1;
}

static int collect_counter(void *ctx, const struct tcb_counter *counter)
{
	return cli_best_row_add_counter(ctx, counter);
}

/* What is known of an answer besides its tuning. */
struct explanation {
	struct tcb_bottleneck bottleneck;
	struct cli_limit limit;
	int is_found; /* 0: nothing that was measured is behind the answer */
};

static enum tcb_status explain_from(struct tcb_db *db, struct source *source, struct explanation *out,
				    struct tcb_error *err)
{
	const struct tcb_best_filter filter = { source->problem->op_name, NULL };
	struct cli_bounds bounds = { .failed = 0 };
	enum tcb_status status = tcb_db_best_each(db, &filter, match_source, source, err);

	if (status == TCB_OK && source->is_found)
		status = tcb_db_counters_each(db, &source->row.best, collect_counter, &source->row, err);
	if (status == TCB_OK && source->is_found)
		status = cli_bounds_load(db, &bounds, err);
	if (status == TCB_OK && source->is_found) {
		cli_bounds_of(&bounds, &source->row, &out->bottleneck);
		out->limit = cli_limit_of(&source->row.best);
		out->is_found = 1;
	}
	cli_bounds_fini(&bounds);
	free(source->row.counters);
	return status;
}

/* The answer may be of the user's database, of the system's below it, or of none. */
static enum tcb_status explain(const struct lookup_args *args, const struct tcb_problem *problem,
			       const struct tcbrt_tuning *tuning, struct explanation *out, struct tcb_error *err)
{
	const char *is_system = strstr(tuning->reason, "system database");
	struct source source = { .problem = problem, .tuning = tuning, .state = (enum tcb_state)args->state };
	struct tcb_db *db = NULL;
	char path[CLI_PATH_MAX];
	enum tcb_status status;

	*out = (struct explanation){ .is_found = 0 };
	if (!is_system || args->db)
		status = cli_open_db(args->ops, args->db, TCB_DB_READ, path, &db, err);
	else
		status = tcb_db_system_path(path, sizeof path)
				 ? cli_open_db_file(args->ops, path, TCB_DB_READ_SYSTEM, &db, err)
				 : TCB_E_NOT_FOUND;
	if (status == TCB_OK)
		status = explain_from(db, &source, out, err);
	tcb_db_close(db);
	return status == TCB_E_NOT_FOUND ? TCB_OK : status;
}

/* Where the answer is of no result for this very problem: what is stored near it.  Empty without a database. */
static enum tcb_status find_nearby(const struct lookup_args *args, const struct tcb_problem *problem,
				   const struct tcbrt_tuning *tuning, char out[CLI_NEARBY_MAX], struct tcb_error *err)
{
	const char *key = NULL;
	char name[TCB_DEVICE_NAME_MAX];
	struct tcb_place host;
	struct cli_near_to wanted = { .op = problem->op_name,
				      .threads = (unsigned)args->threads,
				      .contract = (int)problem->contract,
				      .state = args->state,
				      .shape = &problem->shape };
	struct cli_bounds all = { .failed = 0 };
	struct tcb_db *db = NULL;
	char path[CLI_PATH_MAX];
	enum tcb_status status;

	out[0] = '\0';
	if (tuning->source == TCBRT_SOURCE_EXACT || tuning->source == TCBRT_SOURCE_EARLIER)
		return TCB_OK;
	/* Which GPU a number means is the driver's to say, and the answer's reason says what came of it. */
	if (tcb_kind_split(args->device, name, &key)) {
		wanted.device_name = name;
		wanted.device_key = key;
	} else if (tcb_kind_stored(args->device, NULL)) {
		wanted.device_name = args->device;
		if (tcb_place_open(args->device, 0, 1, &host, NULL) == TCB_OK)
			wanted.device_key = host.device.key;
	}
	status = cli_open_db(args->ops, args->db, TCB_DB_READ, path, &db, err);
	if (status == TCB_OK)
		status = cli_bounds_load(db, &all, err);
	if (status == TCB_OK)
		cli_nearby(all.list, all.count, &wanted, out);
	cli_bounds_fini(&all);
	tcb_db_close(db); /* of rows that cannot be read the answer has told */
	return status == TCB_E_NOT_FOUND ? TCB_OK : status;
}

/* CHOSEN (NULL: it was asked for) has the contract that was left open.  SHAPE heads the answer if it is one of several;
 * NULL: it is the only one. */
static enum tcb_status print_text(const struct tcbrt_tuning *tuning, const struct tcb_problem *chosen,
				  const char *shape, const char *nearby, const struct explanation *explanation,
				  double time_ns, struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	char us[CLI_NUMBER_MAX], share[CLI_NUMBER_MAX];

	if (shape)
		cli_add_line(&out, "%s", shape);
	cli_add_line(&out, "%s", tuning->geometry);
	if (chosen)
		tcb_str_addf(&out, "contract: %s\n", tcb_contract_text(chosen->contract));
	tcb_str_addf(&out, "source: %s\n", tcbrt_source_text(tuning->source));
	cli_add_wrapped(&out, 4, "reason: %s", tuning->reason);
	cli_add_line(&out, "kernel: %s", tuning->variant);
	tcb_str_addf(&out, "threads: %u\n", tuning->threads);
	cli_text_us(tuning->expected_ns, us);
	if (tuning->expected_ns > 0)
		tcb_str_addf(&out, "%s: %s µs",
			     tuning->modelled      ? "modelled"
			     : tuning->provisional ? "provisional"
						   : "measured",
			     us);
	if (tuning->expected_ns > 0 && tuning->speedup > 0)
		tcb_str_addf(&out, ", %.3f x the default's speed (at least %.3f)", tuning->speedup, tuning->speedup_lo);
	if (tuning->expected_ns > 0)
		tcb_str_addf(&out, "; verdict: %s\n", tcbrt_verdict_text(tuning->verdict));
	if (nearby[0])
		cli_add_line(&out, "%s", nearby);
	if (explanation && explanation->is_found) {
		cli_limit_text(&explanation->limit, share);
		if (cli_limit_is_known(&explanation->limit))
			tcb_str_addf(&out, "limit: %s %% of the %s\n", share, explanation->limit.name);
		cli_bottleneck_add(&out, "", &explanation->bottleneck);
	} else if (explanation)
		tcb_str_add(&out, "bound by: unknown (no result of this database is behind the answer); what would "
				  "tell: 'tcbtune sweep' of this problem\n");
	if (time_ns > 0)
		tcb_str_addf(&out, "lookup: %.1f µs\n", 1e-3 * time_ns);
	return cli_emit_text(&out, err);
}

static enum tcb_status print_json(const struct lookup_args *args, const struct tcb_problem *problem,
				  const struct tcbrt_tuning *tuning, const char *nearby,
				  const struct explanation *explanation, double time_ns, struct tcb_error *err)
{
	int failed = 0, measured = tuning->expected_ns > 0;
	const struct tcb_shape tuned = tuned_shape(tuning, problem);
	json_t *root = cli_json_start("tcbtune.lookup.1", &failed);

	cli_json_set(root, "op", cli_json_text(problem->op_name), &failed);
	cli_json_set(root, "contract", json_string(tcb_contract_text(problem->contract)), &failed);
	cli_json_set(root, "shape", cli_json_shape(&problem->shape), &failed);
	cli_json_set(root, "state", json_string(tcb_state_text((enum tcb_state)args->state)), &failed);
	cli_json_set(root, "device", cli_json_text(args->device), &failed);
	cli_json_set(root, "threads", cli_json_size(tuning->threads), &failed);
	cli_json_set(root, "geometry", cli_json_text(tuning->geometry), &failed);
	cli_json_set(root, "variant", cli_json_text(tuning->variant), &failed);
	cli_json_set(root, "source", cli_json_text(tcbrt_source_text(tuning->source)), &failed);
	cli_json_set(root, "reason", cli_json_text(tuning->reason), &failed);
	cli_json_set(root, "modelled", json_boolean(tuning->modelled), &failed);
	cli_json_set(root, "provisional", json_boolean(tuning->provisional), &failed);
	cli_json_set(root, "verdict", json_string(tcbrt_verdict_text(tuning->verdict)), &failed);
	cli_json_set(root, "tuned_shape", tuned.m ? cli_json_shape(&tuned) : json_null(), &failed);
	cli_json_set(root, "expected_ns", measured ? cli_json_real(tuning->expected_ns) : json_null(), &failed);
	cli_json_set(root, "speedup", measured ? cli_json_real(tuning->speedup) : json_null(), &failed);
	cli_json_set(root, "speedup_lo", measured ? cli_json_real(tuning->speedup_lo) : json_null(), &failed);
	cli_json_set(root, "nearby", nearby[0] ? cli_json_text(nearby) : json_null(), &failed);
	if (args->time)
		cli_json_set(root, "lookup_ns", cli_json_real(time_ns), &failed);
	if (explanation)
		cli_json_set(root, "bottleneck",
			     explanation->is_found ? cli_bottleneck_json(&explanation->bottleneck, &failed)
						   : json_null(),
			     &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

static enum tcb_status look_up(const struct lookup_args *args, const struct tcb_op *op, const struct tcb_shape *shape,
			       int is_one, struct tcb_error *err)
{
	double time_ns = 0;
	struct cli_query query = { .ops = args->ops,
				   .db = args->db,
				   .device = args->device,
				   .threads = args->threads,
				   .state = (enum tcb_state)args->state,
				   .time_ns = args->time ? &time_ns : NULL };
	struct tcb_problem problem;
	struct tcbrt_tuning tuning;
	struct explanation found;
	const struct explanation *explanation = args->explain ? &found : NULL;
	char nearby[CLI_NEARBY_MAX], text[TCB_SHAPE_TEXT_MAX];
	struct cli_contracts contracts;

	TCB_TRY(cli_find_contracts(op, args->contract, &contracts, err));
	TCB_TRY(tcb_problem_init(op, contracts.least, shape, &problem, err));
	query.is_auto = contracts.is_auto;
	TCB_TRY(cli_tuned_find(&query, &problem, &tuning, err));
	problem.contract = (enum tcb_contract)(tuning.contract - TCBRT_CONTRACT_F32);
	TCB_TRY(find_nearby(args, &problem, &tuning, nearby, err));
	if (args->explain)
		TCB_TRY(explain(args, &problem, &tuning, &found, err));
	if (args->json)
		return print_json(args, &problem, &tuning, nearby, explanation, time_ns, err);
	tcb_shape_print(shape, text);
	return print_text(&tuning, contracts.is_auto ? &problem : NULL, is_one ? NULL : text, nearby, explanation,
			  time_ns, err);
}

static enum tcb_status run_lookup(const void *arguments, struct tcb_error *err)
{
	const struct lookup_args *args = arguments;
	const struct tcb_op *op;
	struct cli_shapes shapes;
	enum tcb_status status;

	TCB_TRY(cli_find_op(args->ops, args->op, &op, err));
	TCB_TRY(cli_check_device(args->device, err));
	TCB_TRY(cli_check_threads(args->threads, err));
	TCB_TRY(cli_shapes_read(op, args->shape, 0, &shapes, err));
	if (args->json && shapes.count > 1)
		status = tcb_fail(err, TCB_E_USAGE, "--json takes one shape, and '%.80s' stands for %zu", args->shape,
				  shapes.count);
	else
		status = TCB_OK;
	for (size_t i = 0; i < shapes.count && status == TCB_OK; i++)
		status = look_up(args, op, &shapes.list[i], shapes.count == 1, err);
	cli_shapes_fini(&shapes);
	return status;
}

const struct cli_command cli_command_lookup = {
	.name = "lookup",
	.summary = "say which geometry a program should use",
	.description =
		"Prints the geometry that libtcbrt gives to a program for this problem, and where it comes from: exact "
		"(this shape was tuned here), nearest (another shape was, and its measurements show no loss), "
		"architecture (the same, from another machine of this architecture, which the reason names; a GPU of "
		"the same sm_NN and another key is another machine), default, or, for a GPU, modelled (ranked by a "
		"model, never measured); provisional is the best so far of a sweep that has not held its finals, of a "
		"shard, or of merged sweeps that did not know each other. An entry that is not surely as fast as the "
		"default gives the default. The verdict says how far the entry may be relied on (docs/measuring.md). "
		"Without --db the system's database (TCBTUNE_SYSTEM_DB) lies below the user's, and the reason says "
		"where it answers. cuda:0 is that GPU; sm_90 the first attached one of the kind, or, if none is, any: "
		"then nothing is exact; sm_90:KEY one of that key ('tcbtune devices'), attached or not.",
	.examples = "  tcbtune lookup --op @OP --shape 1x4096x4096 --json\n"
		    "  tcbtune lookup --op @OP --shape 1x4096x4096 --explain\n",
	.options = options,
	.args_bytes = sizeof(struct lookup_args),
	.run = run_lookup,
};
