/* SPDX-License-Identifier: MIT
 *
 * In: what a meter said of candidates.  Out: their front of time and energy, as text, JSON and a drawing.
 */
#include "cli/report/energy_front.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/html_svg.h"

struct loading {
	struct cli_best_row *row;
	int failed;
};

static int add_energy(void *ctx, const struct tcb_energy_row *energy)
{
	struct loading *loading = ctx;
	struct cli_best_row *row = loading->row;
	struct tcb_energy_row *grown = realloc(row->energies, (row->energy_count + 1) * sizeof *grown);

	if (!grown)
		return loading->failed = 1;
	row->energies = grown;
	if (energy->joules > 0 && energy->ns > 0)
		row->energies[row->energy_count++] = *energy;
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct tcb_energy_row *x = a, *y = b;

	return x->ns != y->ns ? (x->ns > y->ns) - (x->ns < y->ns) : (x->joules > y->joules) - (x->joules < y->joules);
}

enum tcb_status cli_energy_load(struct tcb_db *db, struct cli_best_row *row, struct tcb_error *err)
{
	struct loading loading = { .row = row };

	TCB_TRY(tcb_db_energy_each(db, &row->best, add_energy, &loading, err));
	if (row->energy_count)
		qsort(row->energies, row->energy_count, sizeof *row->energies, by_time);
	return loading.failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory") : TCB_OK;
}

int cli_energy_is_front(const struct cli_best_row *row, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (row->energies[i].joules <= row->energies[index].joules)
			return 0;
	return 1;
}

void cli_text_joules(double joules, char out[CLI_NUMBER_MAX])
{
	static const char *const units[] = { "J", "mJ", "\302\265J", "nJ" };
	size_t unit = 0;

	while (unit + 1 < sizeof units / sizeof *units && joules > 0 && joules < 0.9995) {
		joules *= 1e3;
		unit++;
	}
	(void)snprintf(out, CLI_NUMBER_MAX, "%.3g %s", joules, units[unit]);
}

static void add_row(const struct cli_best_row *row, const char *bullet, struct tcb_str *out)
{
	const struct tcb_energy_row *first = &row->energies[0];
	char shape[TCB_SHAPE_TEXT_MAX], time[CLI_NUMBER_MAX], joules[CLI_NUMBER_MAX];
	const char *objective = strcmp(row->best.objective, "energy") == 0 ? "energy, and x DEFAULT is of that"
				: strcmp(row->best.objective, "edp") == 0
					? "energy multiplied by time, and x DEFAULT is of that"
					: "";
	size_t front = 0;

	for (size_t i = 0; i < row->energy_count; i++)
		front += (size_t)cli_energy_is_front(row, i);
	tcb_shape_print(&row->best.problem.shape, shape);
	cli_add_wrapped(
		out, 4,
		"%senergy per call of %s %s %s %s %s, by %s in steps of %.3g ms: %zu candidates, and a front of "
		"%zu, of which no other is both faster and more frugal%s%s",
		bullet, row->best.problem.op_name, tcb_contract_text(row->best.problem.contract), shape,
		row->device_label, tcb_state_text(row->best.state), first->source, 1e3 * first->step_s,
		row->energy_count, front, objective[0] ? "; the winner was chosen by the least " : "", objective);
	for (size_t i = 0; i < row->energy_count; i++) {
		const struct tcb_energy_row *energy = &row->energies[i];
		const int is_default = strcmp(energy->geometry, row->best.default_geometry) == 0;
		if (!cli_energy_is_front(row, i) && !is_default)
			continue;
		cli_text_time(energy->ns, time);
		cli_text_joules(energy->joules, joules);
		cli_add_wrapped(out, 8, "    %s  %s (runs from %.3g to %.3g)  %s%s", time, joules,
				energy->least / energy->joules, energy->most / energy->joules,
				is_default ? "the default: " : "", energy->geometry);
	}
}

void cli_energy_add(const struct cli_best_rows *rows, const char *bullet, struct tcb_str *out)
{
	for (size_t i = 0; i < rows->count; i++)
		if (rows->rows[i].energy_count)
			add_row(&rows->rows[i], bullet, out);
}

json_t *cli_energy_json(const struct cli_best_row *row, int *failed)
{
	json_t *object = json_object(), *list = json_array();

	if (!row->energy_count) {
		json_decref(object);
		json_decref(list);
		return json_null();
	}
	for (size_t i = 0; i < row->energy_count; i++) {
		const struct tcb_energy_row *energy = &row->energies[i];
		json_t *one = json_object();

		cli_json_set(one, "geometry", cli_json_text(energy->geometry), failed);
		cli_json_set(one, "ns", cli_json_real(energy->ns), failed);
		cli_json_set(one, "joules", cli_json_real(energy->joules), failed);
		cli_json_set(one, "joules_least", cli_json_real(energy->least), failed);
		cli_json_set(one, "joules_most", cli_json_real(energy->most), failed);
		cli_json_set(one, "front", json_boolean(cli_energy_is_front(row, i)), failed);
		cli_json_add(list, one, failed);
	}
	cli_json_set(object, "source", cli_json_text(row->energies[0].source), failed);
	cli_json_set(object, "step_s", cli_json_real(row->energies[0].step_s), failed);
	cli_json_set(object, "candidates", list, failed);
	return object;
}

/* --- the drawing --- */

static void draw_points(const struct cli_html_plot *plot, const struct cli_best_row *row)
{
	char time[CLI_NUMBER_MAX], joules[CLI_NUMBER_MAX];

	tcb_str_add(plot->out, "<path class=\"steps\" d=\"");
	for (size_t i = 0, count = 0; i < row->energy_count; i++)
		if (cli_energy_is_front(row, i))
			tcb_str_addf(plot->out, "%c%.1f %.1f", count++ ? 'L' : 'M',
				     cli_html_x(plot, row->energies[i].ns),
				     cli_html_y(plot, 1e3 * row->energies[i].joules));
	tcb_str_add(plot->out, "\"/>");
	for (size_t i = 0; i < row->energy_count; i++) {
		const struct tcb_energy_row *energy = &row->energies[i];

		cli_text_time(energy->ns, time);
		cli_text_joules(energy->joules, joules);
		tcb_str_addf(plot->out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"4\"><title>",
			     cli_energy_is_front(row, i) ? "best" : "other", cli_html_x(plot, energy->ns),
			     cli_html_y(plot, 1e3 * energy->joules));
		cli_html_textf(plot->out, "%s, %s: %s", time, joules, energy->geometry);
		tcb_str_add(plot->out, "</title></circle>");
	}
}

static void add_numbers(const struct cli_best_row *row, struct tcb_str *out)
{
	char time[CLI_NUMBER_MAX], joules[CLI_NUMBER_MAX];

	tcb_str_add(out,
		    "<details><summary>Numbers</summary><div class=\"scroll\"><table><tr><th>time</th><th>energy</th>"
		    "<th>front</th><th>geometry</th></tr>");
	for (size_t i = 0; i < row->energy_count; i++) {
		cli_text_time(row->energies[i].ns, time);
		cli_text_joules(row->energies[i].joules, joules);
		tcb_str_addf(out, "<tr><td class=\"n\">%s</td><td class=\"n\">%s</td><td>%s</td><td class=\"g\">", time,
			     joules, cli_energy_is_front(row, i) ? "yes" : "");
		cli_html_text(out, row->energies[i].geometry);
		tcb_str_add(out, "</td></tr>");
	}
	tcb_str_add(out, "</table></div></details>");
}

void cli_html_energy(const struct cli_best_row *row, struct tcb_str *out)
{
	struct cli_html_plot plot = { .out = out, .x.is_time = 1 };
	size_t front = 0;

	if (!row->energy_count)
		return;
	for (size_t i = 0; i < row->energy_count; i++) {
		front += (size_t)cli_energy_is_front(row, i);
		cli_html_hold(&plot.x, row->energies[i].ns);
		cli_html_hold(&plot.y, 1e3 * row->energies[i].joules);
	}
	cli_html_settle(&plot.x);
	cli_html_settle(&plot.y);
	cli_html_figure(&plot, "energy", "Time and energy",
			"Each candidate that was metered, and the front of those that no other is both faster and more "
			"frugal than.",
			78, CLI_HTML_HEIGHT);
	cli_html_axes(&plot, "time per call, one after the other", "millijoules per call");
	draw_points(&plot, row);
	cli_html_drawn(&plot);
	tcb_str_add(out, "<ul class=\"key\">");
	cli_html_key(out, "k-dot best", "the front: %zu of %zu candidates", front, row->energy_count);
	cli_html_key(out, "note", "metered by %s, in steps of %.3g ms", row->energies[0].source,
		     1e3 * row->energies[0].step_s);
	tcb_str_add(out, "</ul>");
	add_numbers(row, out);
	tcb_str_add(out, "</figure>\n");
}
