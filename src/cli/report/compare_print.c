/* SPDX-License-Identifier: MIT
 *
 * A comparison as tables that fit 80 columns, one for each device, with what
 * changed and why a row is undecided below; as Markdown; and as JSON.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/report/best_data.h"
#include "cli/report/compare.h"
#include "kernels/op.h"

enum { LINE = 80, SIGNATURE_SHOWN = 12 };

static const struct cli_told *any_side(const struct cli_row *row)
{
	return row->new_side ? row->new_side : row->old_side;
}

void cli_row_label(const struct tcb_problem *problem, char out[CLI_ROW_LABEL_MAX])
{
	const struct tcb_op *op = problem->op;
	const int is_own = op && op->default_contract == problem->contract;
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&problem->shape, shape);
	(void)snprintf(out, CLI_ROW_LABEL_MAX, "%s%s%s %s", problem->op_name, is_own ? "" : "/",
		       is_own ? "" : tcb_contract_text(problem->contract), shape);
}

void cli_threads_text(unsigned threads, char out[CLI_NUMBER_MAX])
{
	out[0] = '\0';
	if (threads)
		(void)snprintf(out, CLI_NUMBER_MAX, ", %u thread%s", threads, threads == 1 ? "" : "s");
}

/* Where TEXT, which is longer than ROOM, may be cut: before a space or after a comma; else at its first space. */
static size_t cut_at(const char *text, size_t room)
{
	for (size_t cut = room; cut > 0; cut--)
		if (text[cut] == ' ' || text[cut - 1] == ',')
			return cut;
	return strcspn(text, " ");
}

void cli_add_note(struct tcb_str *out, enum cli_table_style style, const char *text)
{
	size_t room = LINE;

	if (style == CLI_TABLE_MD) {
		cli_add_markdown_line(out, "- %s", text);
		return;
	}
	while (*text) {
		const size_t cut = strlen(text) > room ? cut_at(text, room) : strlen(text);

		cli_add_line(out, "%s%.*s", room < LINE ? "  " : "", (int)cut, text);
		text += cut + (text[cut] == ' ');
		room = LINE - 2;
	}
}

static void add_percent(char *out, size_t capacity, double ratio)
{
	const double percent = 100 * (ratio - 1);

	(void)snprintf(out, capacity, "%+.*f", fabs(percent) < 9.95 ? 1 : 0, percent);
}

/* "+5.1 [+3.2, +6.9]" */
static void change_text(const struct tcb_interval *ratio, char out[CLI_NUMBER_MAX])
{
	char median[16], lo[16], hi[16];

	if (!(ratio->median > 0)) {
		(void)snprintf(out, CLI_NUMBER_MAX, "-");
		return;
	}
	add_percent(median, sizeof median, ratio->median);
	add_percent(lo, sizeof lo, ratio->lo);
	add_percent(hi, sizeof hi, ratio->hi);
	(void)snprintf(out, CLI_NUMBER_MAX, "%.14s [%.13s, %.13s]", median, lo, hi);
}

static int same_device(const struct cli_told *a, const struct cli_told *b)
{
	return strcmp(a->best.device_name, b->best.device_name) == 0 &&
	       strcmp(a->best.device_key, b->best.device_key) == 0 && a->best.threads == b->best.threads;
}

static void add_cells(struct cli_table *table, const struct cli_row *row)
{
	const struct cli_told *told = any_side(row);
	char label[CLI_ROW_LABEL_MAX], number[CLI_NUMBER_MAX];

	cli_row_label(&told->best.problem, label);
	cli_table_cell(table, "%s", label);
	cli_table_cell(table, "%s", tcb_state_text(told->best.state));
	cli_text_us(row->old_ns > 0 ? row->old_ns : row->old_side->best.ns.median, number);
	cli_table_cell(table, "%s", number);
	cli_text_us(row->new_ns > 0 ? row->new_ns : row->new_side->best.ns.median, number);
	cli_table_cell(table, "%s", number);
	change_text(&row->ratio, number);
	cli_table_cell(table, "%s", number);
	cli_table_cell(table, "%s", cli_compared_text(row->verdict));
}

static int is_in_both(const struct cli_row *row)
{
	return row->old_side && row->new_side;
}

/* The rows from FIRST on that are of one device, those in both databases; where the next begin. */
static enum tcb_status add_device(const struct cli_comparison *comparison, size_t first, enum cli_table_style style,
				  size_t *next_out, struct tcb_str *out, struct tcb_error *err)
{
	static const struct cli_column columns[] = { { "PROBLEM", 0 }, { "STATE", 0 },    { "OLD µs", 1 },
						     { "NEW µs", 1 },  { "CHANGE %", 1 }, { "VERDICT", 0 } };
	const struct cli_told *device = any_side(&comparison->rows[first]);
	enum tcb_status status = TCB_OK;
	char threads[CLI_NUMBER_MAX];
	struct cli_table table;
	size_t i = first;

	cli_table_init(&table, columns, sizeof columns / sizeof *columns);
	for (; i < comparison->count && same_device(any_side(&comparison->rows[i]), device); i++)
		if (is_in_both(&comparison->rows[i]))
			add_cells(&table, &comparison->rows[i]);
	if (table.cell_count) {
		cli_threads_text(device->best.threads, threads);
		(style == CLI_TABLE_MD ? cli_add_markdown_line
				       : cli_add_line)(out, "%s, %.40s, key %s%s", device->best.device_name,
						       device->best.model, device->best.device_key, threads);
		tcb_str_add(out, style == CLI_TABLE_MD ? "\n" : "");
		status = cli_table_render(&table, style, out, err);
		tcb_str_add(out, "\n");
	}
	cli_table_fini(&table);
	*next_out = i;
	return status;
}

/* The problems that VERDICT, one of the two, says are in one database only; those of both states once. */
static void add_missing(const struct cli_comparison *comparison, enum cli_compared verdict, enum cli_table_style style,
			struct tcb_str *out)
{
	struct tcb_str line = { 0 };
	char label[CLI_ROW_LABEL_MAX], last[CLI_ROW_LABEL_MAX] = "";

	for (size_t i = 0; i < comparison->count; i++) {
		const struct cli_row *row = &comparison->rows[i];

		if (row->verdict != verdict)
			continue;
		cli_row_label(&any_side(row)->best.problem, label);
		if (strcmp(label, last) != 0)
			tcb_str_addf(&line, "%s%s", last[0] ? ", " : "", label);
		tcb_str_addf(&line, " %s", tcb_state_text(any_side(row)->best.state));
		memcpy(last, label, sizeof last);
	}
	if (line.length) {
		struct tcb_str note = { 0 };
		tcb_str_addf(&note, "%s: %s", cli_compared_text(verdict), line.data);
		if (note.data)
			cli_add_note(out, style, note.data);
		out->failed |= note.failed;
		tcb_str_fini(&note);
	}
	out->failed |= line.failed;
	tcb_str_fini(&line);
}

void cli_add_knobs(struct tcb_str *out, const char *a, const char *b)
{
	const char *separator = "";

	while (*a || *b) {
		const size_t a_length = strcspn(a, ","), b_length = strcspn(b, ",");
		const size_t name = strcspn(b, "=") + 1;
		const int is_one = name < b_length && strncmp(a, b, name) == 0;

		if (a_length != b_length || memcmp(a, b, a_length) != 0) {
			tcb_str_addf(out, "%s%.*s -> %.*s", separator, (int)a_length, a,
				     (int)(b_length - (is_one ? name : 0)), b + (is_one ? name : 0));
			separator = ", ";
		}
		a += a_length + (a[a_length] == ',');
		b += b_length + (b[b_length] == ',');
	}
}

/* What changed under a row that moved, and why one was judged as it was. */
static void add_row_note(const struct cli_row *row, enum cli_table_style style, struct tcb_str *out)
{
	struct tcb_str line = { 0 };
	char label[CLI_ROW_LABEL_MAX];
	int count = 0;

	if (row->verdict != CLI_COMPARED_SLOWER && row->verdict != CLI_COMPARED_FASTER)
		return;
	cli_row_label(&any_side(row)->best.problem, label);
	tcb_str_addf(&line, "%s %s %s:", label, tcb_state_text(any_side(row)->best.state),
		     cli_compared_text(row->verdict));
	for (int what = 0; what < CLI_CHANGED_COUNT; what++)
		if (cli_row_changed(row, (enum cli_changed)what))
			tcb_str_addf(&line, "%s %s", count++ ? "," : "", cli_changed_name((enum cli_changed)what));
	tcb_str_add(&line, count ? " changed" : " nothing changed that the databases know of");
	if (row->reason[0])
		tcb_str_addf(&line, "; %s", row->reason);
	if (cli_row_changed(row, CLI_CHANGED_GEOMETRY)) {
		tcb_str_add(&line, "; ");
		cli_add_knobs(&line, row->old_side->best.geometry, row->new_side->best.geometry);
	}
	if (line.data)
		cli_add_note(out, style, line.data);
	out->failed |= line.failed;
	tcb_str_fini(&line);
}

/* Each reason for not deciding once, with how many rows have it. */
static void add_reasons(const struct cli_comparison *comparison, enum cli_table_style style, struct tcb_str *out)
{
	char line[400];

	for (size_t i = 0; i < comparison->count; i++) {
		const struct cli_row *row = &comparison->rows[i];
		size_t same = 0, earlier = 0;

		if (row->verdict != CLI_COMPARED_UNDECIDED)
			continue;
		for (size_t j = 0; j < comparison->count; j++) {
			const struct cli_row *other = &comparison->rows[j];
			const int is_same =
				other->verdict == CLI_COMPARED_UNDECIDED && strcmp(other->reason, row->reason) == 0;
			same += (size_t)is_same;
			earlier += (size_t)(is_same && j < i);
		}
		if (earlier)
			continue;
		(void)snprintf(line, sizeof line, "UNDECIDED, %zu: %s", same, row->reason);
		cli_add_note(out, style, line);
	}
}

/* How many rows WHAT changed in, and from what to what in the first. */
static void add_changed(const struct cli_comparison *comparison, enum cli_changed what, enum cli_table_style style,
			struct tcb_str *out)
{
	const struct cli_row *first = NULL;
	size_t count = 0, both = 0;
	char line[400];

	for (size_t i = 0; i < comparison->count; i++) {
		const struct cli_row *row = &comparison->rows[i];
		both += (size_t)is_in_both(row);
		if (!cli_row_changed(row, what))
			continue;
		if (!first)
			first = row;
		count++;
	}
	if (!first)
		return;
	const int is_short = what != CLI_CHANGED_GEOMETRY && what != CLI_CHANGED_DEFAULT;
	const int shown = what == CLI_CHANGED_KERNEL || what == CLI_CHANGED_OP ? SIGNATURE_SHOWN : 100;
	(void)snprintf(line, sizeof line, "%s changed in %zu of %zu%s%.*s%s%.*s", cli_changed_name(what), count, both,
		       is_short ? ": " : "", shown, is_short ? cli_row_text(first->old_side, what) : "",
		       is_short ? " -> " : "", shown, is_short ? cli_row_text(first->new_side, what) : "");
	cli_add_note(out, style, line);
}

/* How the intervals came about. */
static void add_method(const struct cli_comparison *comparison, enum cli_table_style style, struct tcb_str *out)
{
	size_t pairs = 0, fewest = SIZE_MAX;
	char line[600];

	for (size_t i = 0; i < comparison->count; i++)
		if (comparison->rows[i].evidence == CLI_EVIDENCE_PAIRS) {
			pairs++;
			fewest = comparison->rows[i].pairs < fewest ? comparison->rows[i].pairs : fewest;
		}
	if (!comparison->judged)
		return;
	(void)snprintf(line, sizeof line,
		       "Intervals of %.4g %% each: 95 %% for all %zu together. SAME: within %.3g %%; SLOWER or FASTER: "
		       "by more than 1 %% for certain.",
		       100 * (1 - comparison->miss), comparison->judged, 100 * comparison->fail_over);
	cli_add_note(out, style, line);
	if (pairs) {
		(void)snprintf(line, sizeof line,
			       "%zu by finals that were held in turn (%zu pairs and more; %zu are the least): lower "
			       "quartiles of what a tenth of the winner's samples are below.",
			       pairs, fewest, comparison->pairs_least);
		cli_add_note(out, style, line);
	}
	if (pairs == comparison->judged)
		return;
	if (isfinite(comparison->default_moved)) {
		(void)snprintf(line, sizeof line,
			       "The default geometries of those took %+.1f %% in the median: machine, compiler or all "
			       "of an op's kernels.",
			       100 * (comparison->default_moved - 1));
		cli_add_note(out, style, line);
	}
	(void)snprintf(
		line, sizeof line,
		"%zu by one sweep each, so that only what stands out by far is decided. To decide more, hold the "
		"finals in turn, with OLD's program and NEW's, %zu times: 'tcbtune sweep --finals-only ...'.",
		comparison->judged - pairs, comparison->pairs_least);
	cli_add_note(out, style, line);
	if (comparison->machine < 1 || comparison->machine > 1) {
		(void)snprintf(line, sizeof line,
			       "The machine differs: %zu problems whose kernels did not change took %+.1f %% in the "
			       "median, which is taken out.",
			       comparison->controls, 100 * (comparison->machine - 1));
		cli_add_note(out, style, line);
	}
}

enum tcb_status cli_comparison_table(const struct cli_comparison *comparison, enum cli_table_style style,
				     struct tcb_str *out, struct tcb_error *err)
{
	char line[300];

	for (size_t first = 0; first < comparison->count;)
		TCB_TRY(add_device(comparison, first, style, &first, out, err));
	for (size_t i = 0; i < comparison->count; i++)
		add_row_note(&comparison->rows[i], style, out);
	add_reasons(comparison, style, out);
	add_missing(comparison, CLI_COMPARED_ONLY_OLD, style, out);
	add_missing(comparison, CLI_COMPARED_ONLY_NEW, style, out);
	for (int what = 0; what < CLI_CHANGED_COUNT; what++)
		add_changed(comparison, (enum cli_changed)what, style, out);
	add_method(comparison, style, out);
	if (comparison->stranger[0]) {
		const struct tcb_best *a = &comparison->stranger[0]->best, *b = &comparison->stranger[1]->best;
		(void)snprintf(line, sizeof line,
			       "OLD's %.20s is %.50s (key %s), NEW's %.50s (key %s): times of different devices are "
			       "not compared.",
			       a->device_name, a->model, a->device_key, b->model, b->device_key);
		cli_add_note(out, style, line);
	}
	(void)snprintf(line, sizeof line,
		       "%zu slower, %zu faster, %zu same, %zu undecided, %zu only in OLD, %zu only in NEW",
		       comparison->counts[CLI_COMPARED_SLOWER], comparison->counts[CLI_COMPARED_FASTER],
		       comparison->counts[CLI_COMPARED_SAME], comparison->counts[CLI_COMPARED_UNDECIDED],
		       comparison->counts[CLI_COMPARED_ONLY_OLD], comparison->counts[CLI_COMPARED_ONLY_NEW]);
	cli_add_note(out, style, line);
	return TCB_OK;
}

static json_t *side_json(const struct cli_told *told, int *failed)
{
	static const char *const members[] = { "geometry", "variant",  "signature",   "ns",          "default_geometry",
					       "speedup",  "modelled", "provisional", "measured_at", NULL };
	json_t *object = json_object();

	cli_best_json_named(object, &told->best, members, failed);
	cli_json_set(object, "git_commit", cli_json_text(told->origin.git_commit), failed);
	cli_json_set(object, "version", cli_json_text(told->origin.version), failed);
	cli_json_set(object, "compiler", cli_json_text(told->origin.compiler), failed);
	cli_json_set(object, "driver", cli_json_text(told->origin.driver), failed);
	cli_json_set(object, "os", cli_json_text(told->origin.os), failed);
	cli_json_set(object, "finals", cli_json_size(told->session_count), failed);
	return object;
}

static json_t *row_json(const struct cli_row *row, int *failed)
{
	static const char *const evidence[] = { "none", "single", "pairs" };
	json_t *object = cli_best_json_head(&any_side(row)->best, 0, failed), *changed = json_array();

	cli_json_set(object, "verdict", json_string(cli_compared_text(row->verdict)), failed);
	cli_json_set(object, "over", json_boolean(row->is_over), failed);
	cli_json_set(object, "reason", row->reason[0] ? cli_json_text(row->reason) : json_null(), failed);
	cli_json_set(object, "evidence", json_string(evidence[row->evidence]), failed);
	cli_json_set(object, "pairs", cli_json_size(row->pairs), failed);
	cli_json_set(object, "old_ns", row->old_ns > 0 ? cli_json_real(row->old_ns) : json_null(), failed);
	cli_json_set(object, "new_ns", row->new_ns > 0 ? cli_json_real(row->new_ns) : json_null(), failed);
	cli_json_set(object, "ratio", row->ratio.median > 0 ? cli_json_interval(&row->ratio) : json_null(), failed);
	for (int what = 0; what < CLI_CHANGED_COUNT; what++)
		if (cli_row_changed(row, (enum cli_changed)what))
			cli_json_add(changed, json_string(cli_changed_name((enum cli_changed)what)), failed);
	cli_json_set(object, "changed", changed, failed);
	cli_json_set(object, "old", row->old_side ? side_json(row->old_side, failed) : json_null(), failed);
	cli_json_set(object, "new", row->new_side ? side_json(row->new_side, failed) : json_null(), failed);
	return object;
}

json_t *cli_comparison_json(const struct cli_comparison *comparison)
{
	static const char *const keys[CLI_COMPARED_COUNT] = { "slower",    "faster",   "same",
							      "undecided", "only_old", "only_new" };
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.compare.1", &failed), *counts = json_object(), *list = json_array();

	cli_json_set(root, "old", cli_json_text(comparison->paths[0]), &failed);
	cli_json_set(root, "new", cli_json_text(comparison->paths[1]), &failed);
	cli_json_set(root, "fail_over", cli_json_real(comparison->fail_over), &failed);
	cli_json_set(root, "level", cli_json_real(1 - comparison->miss), &failed);
	cli_json_set(root, "judged", cli_json_size(comparison->judged), &failed);
	cli_json_set(root, "pairs_least", cli_json_size(comparison->pairs_least), &failed);
	cli_json_set(root, "controls", cli_json_size(comparison->controls), &failed);
	cli_json_set(root, "machine", cli_json_real(comparison->machine), &failed);
	cli_json_set(root, "default_moved", cli_json_real(comparison->default_moved), &failed);
	for (int verdict = 0; verdict < CLI_COMPARED_COUNT; verdict++)
		cli_json_set(counts, keys[verdict], cli_json_size(comparison->counts[verdict]), &failed);
	cli_json_set(root, "counts", counts, &failed);
	cli_json_set(root, "over", cli_json_size(comparison->over), &failed);
	for (size_t i = 0; i < comparison->count; i++)
		cli_json_add(list, row_json(&comparison->rows[i], &failed), &failed);
	cli_json_set(root, "rows", list, &failed);
	return cli_json_end(root, failed);
}
