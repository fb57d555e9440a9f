/* SPDX-License-Identifier: MIT
 *
 * tcbtune report: the best geometry of every problem, device and cache state
 * in the database, as a table, CSV, JSON or Markdown.
 */
#include <stdio.h>
#include <string.h>

#include "base/kind.h"
#include "cli/core/cli.h"
#include "cli/core/figures.h"
#include "cli/core/nearby.h"
#include "cli/core/setup.h"
#include "cli/core/shape_axes.h"
#include "cli/report/best_data.h"
#include "cli/report/best_table.h"
#include "cli/report/bound_facts.h"
#include "cli/report/energy_front.h"
#include "cli/report/html_report.h"
#include "device/cpu_device.h"

enum format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_MD, FORMAT_HTML };

struct report_args {
	const struct tcb_registry *ops;
	const char *op, *device, *shape, *columns, *sort, *out, *db;
	int format, geometry, state, verdict; /* enum format, cli_geometry_view; the others from 1, 0: any */
	int json, counters;
};

static const struct cli_option options[] = {
	{ "op", "OP", CLI_TEXT, offsetof(struct report_args, op), "only this op, or ops whose names begin so (q4k)",
	  .names = CLI_NAMES_OP, .note = "all" },
	{ "shape", "MxNxK", CLI_TEXT, offsetof(struct report_args, shape),
	  "only this shape, or several as in 1,2,4x4096x4096 ('tcbtune help shapes')", .note = "all" },
	{ "state", "S", CLI_WORD, offsetof(struct report_args, state), "only winners of this cache state",
	  .words = "all|cold|hot", .fallback = "all" },
	{ "verdict", "V", CLI_WORD, offsetof(struct report_args, verdict), "only results of this verdict",
	  .words = "all|stale|modelled|provisional|noisy|thin|tuned", .fallback = "all" },
	{ "device", "DEV", CLI_TEXT, offsetof(struct report_args, device),
	  "only results of this device: this machine's (cpu, cpu:avx2, cuda:0), any of a kind (sm_90), or one by its "
	  "key or a part of its name (H200)",
	  .note = "all", .names = CLI_NAMES_DEVICE },
	{ "format", "F", CLI_WORD, offsetof(struct report_args, format),
	  "how to print it; html: a page with plots, in one file", .words = "table|csv|json|md|html",
	  .fallback = "table" },
	{ "columns", "A,B", CLI_TEXT, offsetof(struct report_args, columns), "columns of the table: @COLUMNS",
	  .note = "what fits" },
	{ "sort", "A", CLI_TEXT, offsetof(struct report_args, sort),
	  "by this column, the least first; -A: the largest first", .note = "op, device, shape, state" },
	{ "geometry", "G", CLI_WORD, offsetof(struct report_args, geometry),
	  "below each row what sets the geometry apart from the default, all of it, or nothing",
	  .words = "difference|full|none", .fallback = "difference" },
	{ "counters", NULL, CLI_FLAG, offsetof(struct report_args, counters),
	  "with what was counted of each winner, below the table" },
	{ "out", "FILE", CLI_TEXT, offsetof(struct report_args, out), "write the report to a file, whole or not at all",
	  .note = "standard output" },
	CLI_OPTION_DB(struct report_args),
	{ "json", NULL, CLI_FLAG, offsetof(struct report_args, json), "the same as --format json" },
	CLI_OPTION_END,
};

static struct cli_best_view view_of(const struct report_args *args)
{
	return (struct cli_best_view){ .columns = args->columns,
				       .sort = args->sort,
				       .geometry = (enum cli_geometry_view)args->geometry,
				       .is_colored = cli_wants_color(args->out),
				       .is_markdown = args->format == FORMAT_MD };
}

struct collecting {
	const struct report_args *args;
	struct cli_shapes shapes; /* none: any */
	struct cli_device_filter device;
	struct cli_best_rows rows;
	int failed;
};

/* NAME, or the beginning of it before an underscore. */
static int is_op(const char *wanted, const char *name)
{
	const size_t length = strlen(wanted);

	return strncmp(wanted, name, length) == 0 && (name[length] == '\0' || name[length] == '_');
}

static int is_shape_wanted(const struct cli_shapes *shapes, const struct tcb_shape *shape)
{
	for (size_t i = 0; i < shapes->count; i++)
		if (tcb_shape_equal(&shapes->list[i], shape))
			return 1;
	return !shapes->count;
}

static int is_wanted(const struct collecting *collecting, const struct tcb_best *best)
{
	const struct report_args *args = collecting->args;
	return (!args->op || is_op(args->op, best->problem.op_name)) &&
	       (!args->device || cli_device_filter_has(&collecting->device, best)) &&
	       (!args->state || (int)best->state == args->state - 1) &&
	       is_shape_wanted(&collecting->shapes, &best->problem.shape);
}

static void collect_row(struct collecting *collecting, const struct tcb_best *best)
{
	const int verdict = collecting->args->verdict;
	const struct cli_best_row *row;

	if (!is_wanted(collecting, best))
		return;
	row = cli_best_rows_add(&collecting->rows, best);
	collecting->failed = !row;
	if (row && verdict && (int)row->verdict != verdict - 1)
		collecting->rows.count--;
}

static int collect_tie(void *ctx, const char *geometry)
{
	return cli_best_row_add_tie(ctx, geometry);
}

static int collect_counter(void *ctx, const struct tcb_counter *counter)
{
	return cli_best_row_add_counter(ctx, counter);
}

/* Whether ties and counters are asked for, each by a query a row; a table without them does not wait for that. */
static int needs_details(const struct report_args *args)
{
	const int shows_bound =
		(args->columns && strstr(args->columns, "bound")) || (args->sort && strstr(args->sort, "bound"));

	return args->format == FORMAT_JSON || args->format == FORMAT_HTML || args->counters || shows_bound;
}

static enum tcb_status collect(struct tcb_db *db, const struct cli_bounds *all, struct collecting *out, int has_details,
			       struct tcb_error *err)
{
	for (size_t i = 0; i < all->count && !out->failed; i++)
		collect_row(out, &all->list[i]);
	for (size_t i = 0; has_details && i < out->rows.count && !out->failed; i++) {
		struct cli_best_row *row = &out->rows.rows[i];
		struct tcb_bottleneck bottleneck;
		TCB_TRY(tcb_db_ties_each(db, &row->best, collect_tie, row, err));
		TCB_TRY(tcb_db_counters_each(db, &row->best, collect_counter, row, err));
		cli_bounds_of(all, row, &bottleneck);
		row->bound = bottleneck.kind;
	}
	for (size_t i = 0; i < out->rows.count && !out->failed; i++)
		if (has_details || out->rows.rows[i].best.joules > 0)
			TCB_TRY(cli_energy_load(db, &out->rows.rows[i], err));
	return out->failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory") : TCB_OK;
}

/* The devices behind the names of the table: two machines may both call theirs "cpu". */
static void add_devices(struct tcb_str *out, const struct cli_best_rows *rows, const char *bullet)
{
	for (size_t i = 0; i < rows->count; i++) {
		const struct tcb_best *best = &rows->rows[i].best;
		size_t earlier = 0;
		while (earlier < i && !cli_is_one_device(&rows->rows[earlier].best, best))
			earlier++;
		const char *label = rows->rows[i].device_label;
		const int is_name = strcmp(label, best->device_name) == 0;
		if (earlier == i)
			cli_add_wrapped(out, 4, "%sdevice %s: %s%s%s, key %s", bullet, label,
					is_name ? "" : best->device_name, is_name ? "" : ", ", best->model,
					best->device_key);
	}
}

/* One line for each kind of limit that a state's rows have. */
static void add_limits(struct tcb_str *out, const struct cli_best_rows *rows, const char *bullet)
{
	static const char *const methods[] = { "read", "copy" };

	for (int kind = 0; kind < 2 * TCB_STATE_COUNT; kind++) {
		const enum tcb_state state = (enum tcb_state)(kind / 2);
		const char *name = cli_limit_name(methods[kind % 2]);
		for (size_t i = 0; i < rows->count; i++) {
			const struct tcb_best *best = &rows->rows[i].best;
			if (best->state != state || !(best->limit_ns.median > 0) || best->modelled ||
			    strcmp(cli_limit_name(best->limit_method), name) != 0)
				continue;
			cli_add_wrapped(out, 4, "%s%s (%s): %s; the same bytes, timed in the finals", bullet, name,
					tcb_state_text(state), best->limit_method);
			break;
		}
	}
}

/* What this machine says about its own counters; of another one only the fact is known. */
struct host {
	char key[TCB_DEVICE_KEY_MAX];
	char note[256];
};

static void ask_host(struct host *host)
{
	struct tcb_place place;
	struct tcb_counters *counters = NULL;

	memset(host, 0, sizeof *host);
	if (tcb_cpu_open("cpu", 0, &place, NULL) == TCB_OK)
		memcpy(host->key, place.device.key, sizeof host->key);
	if (tcb_counters_open(&counters, NULL) == TCB_OK)
		snprintf(host->note, sizeof host->note, "%s", tcb_counters_note(counters));
	tcb_counters_close(counters);
}

/* Why ROW has no hardware counters. */
static void counters_note(const struct cli_best_row *row, const struct host *host, char *out, size_t capacity)
{
	const struct tcb_kind *kind = tcb_kind_of(&row->best.target);

	if (!kind->counters)
		snprintf(out, capacity, "devices of the kind %s have none", kind->name);
	else if (strcmp(host->key, row->best.device_key) == 0)
		snprintf(out, capacity, "not available on this machine: %s", host->note);
	else
		snprintf(out, capacity, "not available on the machine that measured");
}

/* One line, if there are any in the row's state. */
static void add_counters_of(struct tcb_str *out, const struct cli_best_row *row, const char *bullet)
{
	const struct tcb_best *best = &row->best;
	struct tcb_str list = { 0 };
	char shape[TCB_SHAPE_TEXT_MAX];

	for (size_t c = 0; c < row->counter_count; c++) {
		const struct tcb_counter *counter = &row->counters[c];
		if (counter->state == best->state)
			tcb_str_addf(&list, "%s %s %.6g (%s)", list.length ? "," : "", counter->name, counter->value,
				     counter->source);
	}
	tcb_shape_print(&best->problem.shape, shape);
	if (list.length)
		cli_add_line(out, "%scounters per call, %s %s %s %s %u threads %s:%s", bullet, best->problem.op_name,
			     tcb_contract_text(best->problem.contract), shape, best->device_name, best->threads,
			     tcb_state_text(best->state), list.data);
	out->failed |= list.failed;
	tcb_str_fini(&list);
}

static void add_counters(struct tcb_str *out, const struct cli_best_rows *rows, const char *bullet)
{
	char note[300];
	const struct cli_best_row *without = NULL;
	struct host host;

	for (size_t i = 0; i < rows->count; i++) {
		if (!cli_best_row_has_hardware_counters(&rows->rows[i]) && !without)
			without = &rows->rows[i];
		add_counters_of(out, &rows->rows[i], bullet);
	}
	if (without) {
		ask_host(&host);
		counters_note(without, &host, note, sizeof note);
		cli_add_line(out, "%shardware counters: %s", bullet, note);
	}
}

/* What stands below the table. */
static void add_notes(const struct cli_best_rows *rows, const struct report_args *args, struct tcb_str *out)
{
	const char *bullet = args->format == FORMAT_MD ? "- " : "";

	cli_best_unserved(rows, bullet, out);
	cli_best_unknown(rows, bullet, out);
	cli_best_verdicts(rows, args->db, bullet, out);
	if (out->length && args->format == FORMAT_TABLE)
		tcb_str_add(out, "\n");
	add_devices(out, rows, bullet);
	add_limits(out, rows, bullet);
	if (args->counters)
		add_counters(out, rows, bullet);
	cli_energy_add(rows, bullet, out);
}

static enum tcb_status print_table(const struct cli_best_rows *rows, const struct cli_recordings *recordings,
				   const struct report_args *args, struct tcb_error *err)
{
	const struct cli_best_view view = view_of(args);
	struct tcb_str out = { 0 }, notes = { 0 };
	enum tcb_status status = args->format == FORMAT_CSV ? cli_best_rows_csv(rows, &out, err)
							    : cli_best_table(rows, &view, &out, err);

	if (status != TCB_OK) {
		tcb_str_fini(&out);
		return status;
	}
	if (args->format == FORMAT_CSV)
		return cli_emit_to(args->out, &out, err);
	tcb_str_add(&out, "\n");
	add_notes(rows, args, &notes);
	cli_recordings_add(recordings, args->format == FORMAT_MD ? "- " : "", &notes);
	if (args->format == FORMAT_MD)
		cli_add_markdown(&out, notes.data ? notes.data : "");
	else
		tcb_str_add(&out, notes.data ? notes.data : "");
	out.failed |= notes.failed;
	tcb_str_fini(&notes);
	return args->format == FORMAT_MD ? cli_emit_to(args->out, &out, err) : cli_emit_text_to(args->out, &out, err);
}

static enum tcb_status print_json(const struct cli_best_rows *rows, const struct cli_recordings *recordings,
				  const struct cli_bounds *bounds, const char *path, struct tcb_error *err)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.report.1", &failed), *list = json_array();
	char note[300];
	struct host host;

	ask_host(&host);
	for (size_t i = 0; i < rows->count; i++) {
		json_t *row = cli_best_row_json(&rows->rows[i], &failed);
		struct tcb_bottleneck bottleneck;
		cli_bounds_of(bounds, &rows->rows[i], &bottleneck);
		cli_json_set(row, "bottleneck", cli_bottleneck_json(&bottleneck, &failed), &failed);
		int hardware = cli_best_row_has_hardware_counters(&rows->rows[i]);
		if (!hardware)
			counters_note(&rows->rows[i], &host, note, sizeof note);
		cli_json_set(row, "hardware_counters", hardware ? json_string("available") : cli_json_text(note),
			     &failed);
		cli_json_set(row, "energy", cli_energy_json(&rows->rows[i], &failed), &failed);
		cli_json_add(list, row, &failed);
	}
	cli_json_set(root, "best", list, &failed);
	cli_json_set(root, "imported", cli_recordings_json(recordings, &failed), &failed);
	return cli_emit_json_to(path, cli_json_end(root, failed), err);
}

static enum tcb_status print_html(const struct cli_html_source *source, const char *path, struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	enum tcb_status status = cli_html_report(source, &out, err);

	if (status == TCB_OK)
		return cli_emit_to(path, &out, err);
	tcb_str_fini(&out);
	return status;
}

static enum tcb_status nothing_found(const struct cli_bounds *all, const char *path,
				     const struct collecting *collecting, struct tcb_error *err)
{
	static const char *const states[] = { "", "cold", "hot" };
	const struct report_args *args = collecting->args;
	const struct cli_device_filter *device = &collecting->device;
	const struct cli_near_to wanted = { .op = args->op,
					    .device_name = device->name[0] ? device->name : NULL,
					    .device_key =
						    strlen(device->key) == TCB_DEVICE_KEY_MAX - 1 ? device->key : NULL,
					    .contract = -1,
					    .state = args->state - 1,
					    .shape = collecting->shapes.list };
	const struct {
		const char *what, *value;
	} filters[] = {
		{ " of op ", args->op },
		{ " of shape ", args->shape },
		{ " of state ", args->state ? states[args->state] : NULL },
		{ " of verdict ", args->verdict ? tcb_verdict_text((enum tcb_verdict)(args->verdict - 1)) : NULL },
		{ " on device ", args->device },
	};
	char nearby[CLI_NEARBY_MAX];
	struct tcb_str asked = { 0 };

	cli_nearby(all->list, all->count, &wanted, nearby);
	for (size_t i = 0; i < sizeof filters / sizeof *filters; i++)
		if (filters[i].value)
			tcb_str_addf(&asked, "%s%.40s", filters[i].what, filters[i].value);
	if (args->verdict)
		tcb_fail(err, TCB_E_NOT_FOUND, "%.200s holds no result%s", path, asked.data ? asked.data : "");
	else
		tcb_fail(err, TCB_E_NOT_FOUND,
			 "%.120s holds no result%s%s%.220s%s; run 'tcbtune sweep --op %.40s%s%.40s'", path,
			 asked.data ? asked.data : "", nearby[0] ? " (" : "", nearby, nearby[0] ? ")" : "",
			 args->op ? args->op : args->ops->ops[0]->name, device->is_named ? " --device " : "",
			 device->is_named ? args->device : "");
	tcb_str_fini(&asked);
	return TCB_E_NOT_FOUND;
}

/* Is there an op of that name, or one whose name begins with it? */
static int is_family(const struct tcb_registry *ops, const char *name)
{
	for (size_t i = 0; i < ops->count; i++)
		if (is_op(name, ops->ops[i]->name))
			return 1;
	return 0;
}

static enum tcb_status check_filter(const struct report_args *args, struct cli_shapes *shapes_out,
				    struct tcb_error *err)
{
	const struct tcb_op *op;

	if (args->op && !is_family(args->ops, args->op))
		TCB_TRY(cli_find_op(args->ops, args->op, &op, err));
	return args->shape ? cli_shapes_read(args->op ? tcb_registry_find(args->ops, args->op) : NULL, args->shape, 0,
					     shapes_out, err)
			   : TCB_OK;
}

static enum tcb_status run_report(const void *arguments, struct tcb_error *err)
{
	struct report_args args = *(const struct report_args *)arguments;
	const struct cli_best_view view = view_of(&args);
	struct collecting collecting = { .args = &args };
	struct cli_bounds bounds = { .failed = 0 };
	struct cli_recordings recordings = { 0 };
	struct tcb_db *db = NULL;
	char path[CLI_PATH_MAX] = "";
	enum tcb_status status;

	if (args.json && args.format != FORMAT_TABLE && args.format != FORMAT_JSON)
		return tcb_fail(err, TCB_E_USAGE, "--json contradicts --format; give one of them");
	if (args.json)
		args.format = FORMAT_JSON;
	TCB_TRY(cli_best_view_check(&view, err));
	TCB_TRY(cli_check_out_db(args.out, args.db, err));
	TCB_TRY(check_filter(&args, &collecting.shapes, err));
	status = cli_open_db(args.ops, args.db, TCB_DB_READ, path, &db, err);
	if (status == TCB_OK)
		status = cli_bounds_load(db, &bounds, err);
	if (status == TCB_OK && args.device)
		status = cli_device_filter_make(args.device, bounds.list, bounds.count, &collecting.device, err);
	if (status == TCB_OK)
		status = collect(db, &bounds, &collecting, needs_details(&args), err);
	if (status == TCB_OK)
		status = cli_recordings_load(db, args.op, &recordings, err);
	cli_best_rows_label(&collecting.rows);
	cli_best_sort(&collecting.rows, &view);
	if (status == TCB_OK && collecting.rows.count == 0 && recordings.count)
		cli_say("it has recordings of other tuners (%zu), which are not measurements: 'tcbtune replay' reads "
			"them",
			recordings.count);
	if (status == TCB_OK && collecting.rows.count == 0)
		status = nothing_found(&bounds, path, &collecting, err);
	else if (status == TCB_OK && args.format == FORMAT_JSON)
		status = print_json(&collecting.rows, &recordings, &bounds, args.out, err);
	else if (status == TCB_OK && args.format == FORMAT_HTML)
		status = print_html(&(struct cli_html_source){ db, path, &collecting.rows, &recordings, &bounds },
				    args.out, err);
	else if (status == TCB_OK)
		status = print_table(&collecting.rows, &recordings, &args, err);
	cli_shapes_fini(&collecting.shapes);
	cli_best_rows_fini(&collecting.rows);
	cli_bounds_fini(&bounds);
	cli_recordings_fini(&recordings);
	cli_close_db(db);
	return status;
}

const struct cli_command cli_command_report = {
	.name = "report",
	.summary = "show the best geometry of every problem measured",
	.description = "One row for each op, contract, shape, device and cache state (cold: weights rotated beyond the "
		       "last cache; hot: one buffer): the winner's time, its share of the read limit measured in the "
		       "same finals, the speed-up over the op's default geometry (paired, 95 % interval) and the "
		       "verdict (docs/measuring.md: tuned, thin, noisy, provisional, modelled or stale). A wide "
		       "terminal gets more: the time's 95 % interval, the rate, how many geometries cannot be told "
		       "from the winner (ties), how much of the space was tried, and the expected regret against the "
		       "best finalist (-: one candidate alone). What is the same in all rows is said once above; "
		       "devices of one name are told apart by their models. A row whose winner is not surely as fast "
		       "as the default says that programs get the default. Exits with 3 if there is no result.",
	.examples = "  tcbtune report\n  tcbtune report --verdict thin\n  tcbtune report --sort -regret --columns "
		    "op,shape,state,regret,geometry\n"
		    "  tcbtune report --op @OP --format md --out report.md\n"
		    "  tcbtune report --format html --out report.html\n",
	.options = options,
	.args_bytes = sizeof(struct report_args),
	.run = run_report,
};
