/* SPDX-License-Identifier: MIT
 *
 * How the winners of two databases differ: a row per problem, device and state
 * that one of them has.  Times are of different runs, so that a ratio says
 * something only where the intervals are apart.
 */
#include <stdlib.h>
#include <string.h>

#include "cli/core/emit.h"
#include "cli/db/db_actions.h"
#include "cli/report/best_data.h"

enum relation { ONLY_A, ONLY_B, SAME, OTHER, RELATIONS };
static const char *const relation_texts[RELATIONS] = { "only A", "only B", "same", "other" };
static const char *const relation_keys[RELATIONS] = { "only_a", "only_b", "same", "other" };

struct side {
	struct cli_best_rows rows;
	const struct tcb_db_selection *selection;
	int is_full;
};

struct pair {
	const struct tcb_best *a, *b; /* NULL: that database has none */
	enum relation relation;
};

static int add_best(void *ctx, const struct tcb_best *best)
{
	struct side *side = ctx;
	const struct tcb_db_selection *of = side->selection;
	if ((of->device && strcmp(of->device, best->device_name) != 0 && strcmp(of->device, best->device_key) != 0) ||
	    (of->shape && !tcb_shape_equal(of->shape, &best->problem.shape)) ||
	    (of->state && strcmp(of->state, tcb_state_text(best->state)) != 0))
		return 0;
	side->is_full = !cli_best_rows_add(&side->rows, best);
	return side->is_full;
}

static int compare(const struct tcb_best *a, const struct tcb_best *b)
{
	const int problem = cli_best_order_problem(a, b), device = cli_best_order_device(a, b);

	return problem ? problem : device ? device : (int)a->state - (int)b->state;
}

static int compare_rows(const void *a, const void *b)
{
	return compare(&((const struct cli_best_row *)a)->best, &((const struct cli_best_row *)b)->best);
}

static enum tcb_status read_side(const char *path, const struct tcb_db_selection *selection, struct side *out,
				 struct tcb_error *err)
{
	const struct tcb_best_filter filter = { selection->op, NULL };
	struct tcb_db *db;

	out->selection = selection;
	TCB_TRY(tcb_db_open(path, TCB_DB_READ, &db, err));
	enum tcb_status status = tcb_db_best_each(db, &filter, add_best, out, err);
	if (status == TCB_OK && out->is_full)
		status = tcb_fail(err, TCB_E_NOMEM, "%s: out of memory", path);
	cli_close_db(db);
	if (out->rows.count)
		qsort(out->rows.rows, out->rows.count, sizeof *out->rows.rows, compare_rows);
	return status;
}

/* The two sorted lists as one; room for all of both is in OUT. */
static size_t join(const struct cli_best_rows *a, const struct cli_best_rows *b, struct pair *out)
{
	size_t count = 0, i = 0, j = 0;

	while (i < a->count || j < b->count) {
		const int order = i == a->count ? 1 : j == b->count ? -1 : compare(&a->rows[i].best, &b->rows[j].best);
		struct pair *pair = &out[count++];

		pair->a = order <= 0 ? &a->rows[i++].best : NULL;
		pair->b = order >= 0 ? &b->rows[j++].best : NULL;
		pair->relation = !pair->b                                            ? ONLY_A
				 : !pair->a                                          ? ONLY_B
				 : strcmp(pair->a->geometry, pair->b->geometry) == 0 ? SAME
										     : OTHER;
	}
	return count;
}

static int are_apart(const struct pair *pair)
{
	return pair->a->ns.hi < pair->b->ns.lo || pair->b->ns.hi < pair->a->ns.lo;
}

static const char *kind(const struct tcb_best *best)
{
	return best->modelled ? " (modelled)" : best->provisional ? " (provisional)" : "";
}

static json_t *side_json(const struct tcb_best *best, int *failed)
{
	static const char *const members[] = { "geometry",    "signature",   "ns", "modelled",
					       "provisional", "measured_at", NULL };
	json_t *object;

	if (!best)
		return json_null();
	object = json_object();
	cli_best_json_named(object, best, members, failed);
	return object;
}

static json_t *pair_json(const struct pair *pair, int *failed)
{
	const struct tcb_best *best = pair->a ? pair->a : pair->b;
	const int both = pair->a && pair->b && pair->a->ns.median > 0;
	json_t *object = json_object();

	cli_json_set(object, "op", cli_json_text(best->problem.op_name), failed);
	cli_json_set(object, "contract", json_string(tcb_contract_text(best->problem.contract)), failed);
	cli_json_set(object, "shape", cli_json_shape(&best->problem.shape), failed);
	cli_json_set(object, "device", cli_json_text(best->device_name), failed);
	cli_json_set(object, "key", cli_json_text(best->device_key), failed);
	cli_json_set(object, "threads", cli_json_size(best->threads), failed);
	cli_json_set(object, "state", json_string(tcb_state_text(best->state)), failed);
	cli_json_set(object, "relation", json_string(relation_keys[pair->relation]), failed);
	cli_json_set(object, "a", side_json(pair->a, failed), failed);
	cli_json_set(object, "b", side_json(pair->b, failed), failed);
	cli_json_set(object, "ratio", both ? cli_json_real(pair->b->ns.median / pair->a->ns.median) : json_null(),
		     failed);
	cli_json_set(object, "intervals_apart", both ? json_boolean(are_apart(pair)) : json_null(), failed);
	return object;
}

static enum tcb_status print_json(const struct pair *pairs, size_t count, const size_t counts[RELATIONS],
				  struct tcb_error *err)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.db-diff.1", &failed), *list = json_array();

	for (int r = 0; r < RELATIONS; r++)
		cli_json_set(root, relation_keys[r], cli_json_size(counts[r]), &failed);
	for (size_t i = 0; i < count; i++)
		cli_json_add(list, pair_json(&pairs[i], &failed), &failed);
	cli_json_set(root, "pairs", list, &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}

static void add_row(struct cli_table *table, const struct pair *pair)
{
	const struct tcb_best *best = pair->a ? pair->a : pair->b;
	char shape[TCB_SHAPE_TEXT_MAX], number[CLI_NUMBER_MAX];

	tcb_shape_print(&best->problem.shape, shape);
	cli_table_cell(table, "%s", best->problem.op_name);
	cli_table_cell(table, "%s", tcb_contract_text(best->problem.contract));
	cli_table_cell(table, "%s", shape);
	cli_table_cell(table, "%s %.8s", best->device_name, best->device_key);
	cli_table_cell(table, "%u", best->threads);
	cli_table_cell(table, "%s", tcb_state_text(best->state));
	cli_table_cell(table, "%s", relation_texts[pair->relation]);
	for (int i = 0; i < 2; i++) {
		const struct tcb_best *side = i ? pair->b : pair->a;
		if (side)
			cli_text_us_interval(&side->ns, number);
		cli_table_cell(table, "%s%s", side ? number : "", side ? kind(side) : "");
	}
	if (pair->a && pair->b && pair->a->ns.median > 0) {
		cli_text_ratio(pair->b->ns.median / pair->a->ns.median, number);
		cli_table_cell(table, "%s%s", number, are_apart(pair) ? "" : " (overlap)");
	} else {
		cli_table_cell(table, "%s", "");
	}
}

static enum tcb_status print_table(const struct pair *pairs, size_t count, const size_t counts[RELATIONS],
				   struct tcb_error *err)
{
	static const struct cli_column columns[] = { { "op", 0 },     { "contract", 0 }, { "shape", 0 },
						     { "device", 0 }, { "threads", 1 },  { "state", 0 },
						     { "winner", 0 }, { "A µs", 1 },     { "B µs", 1 },
						     { "B / A", 1 } };
	struct cli_table table;
	struct tcb_str out = { 0 };
	enum tcb_status status = TCB_OK;

	cli_table_init(&table, columns, sizeof columns / sizeof *columns);
	for (size_t i = 0; i < count; i++)
		add_row(&table, &pairs[i]);
	status = cli_table_finish(&table, CLI_TABLE_TEXT, &out, err);
	tcb_str_addf(&out, "same geometry: %zu, other: %zu, only in A: %zu, only in B: %zu\n", counts[SAME],
		     counts[OTHER], counts[ONLY_A], counts[ONLY_B]);
	return cli_emit_made(status, &out, err);
}

static enum tcb_status compare_sides(const struct cli_db_args *args, const struct side sides[2], struct tcb_error *err)
{
	struct pair *pairs = calloc(sides[0].rows.count + sides[1].rows.count + 1, sizeof *pairs);
	size_t counts[RELATIONS] = { 0 };

	if (!pairs)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the winners of two databases");
	const size_t count = join(&sides[0].rows, &sides[1].rows, pairs);
	for (size_t i = 0; i < count; i++)
		counts[pairs[i].relation]++;
	enum tcb_status status =
		args->json ? print_json(pairs, count, counts, err) : print_table(pairs, count, counts, err);
	free(pairs);
	TCB_TRY(status);
	if (count == 0)
		return tcb_fail(err, TCB_E_NOT_FOUND, "neither database has a winner of that");
	if (counts[SAME] < count)
		return tcb_fail(err, TCB_E_VERIFY, "%zu of %zu winners differ", count - counts[SAME], count);
	return TCB_OK;
}

enum tcb_status cli_db_diff(const struct cli_db_args *args, struct tcb_error *err)
{
	struct tcb_db_selection selection;
	struct side sides[2] = { 0 };
	struct tcb_shape shape;
	char path[CLI_PATH_MAX];

	TCB_TRY(cli_db_select(args, &shape, &selection, err));
	if (args->files.count == 0 || args->files.count > 2 || (args->files.count == 2 && args->db))
		return tcb_fail(err, TCB_E_USAGE, "'db diff' needs two databases: A B, or B and --db A");
	if (args->files.count == 1)
		TCB_TRY(tcb_db_path(args->db, TCB_DB_READ, path, sizeof path, err));
	const char *const a = args->files.count == 2 ? args->files.items[0] : path;
	enum tcb_status status = read_side(a, &selection, &sides[0], err);
	if (status == TCB_OK)
		status = read_side(args->files.items[args->files.count - 1], &selection, &sides[1], err);
	if (status == TCB_OK)
		status = compare_sides(args, sides, err);
	cli_best_rows_fini(&sides[0].rows);
	cli_best_rows_fini(&sides[1].rows);
	return status;
}
