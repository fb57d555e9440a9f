/* SPDX-License-Identifier: MIT
 *
 * Loss maps: what it costs to use at one shape what was best at another, by
 * what was measured there.  A table whose cells are coloured: it reads without
 * its colours.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/html_plots.h"

enum { SHAPES_MAX = 14 };

static int is_one_map(const struct tcb_best *a, const struct tcb_best *b)
{
	return cli_html_same_machine(a, b) && a->problem.contract == b->problem.contract &&
	       strcmp(a->problem.op_name, b->problem.op_name) == 0;
}

/* The best of FROM at TO, as a ratio - 1 to TO's own; NaN: not measured there. */
static double loss(const struct cli_html_space *from, const struct cli_html_space *to)
{
	struct tcb_geometry carried;

	if (from->best == TCB_ASK_NONE || to->best == TCB_ASK_NONE)
		return NAN;
	carried = from->list[from->best].geometry;
	tcb_geometry_carry_over(&carried, &from->row->best.problem.shape, &to->row->best.problem.shape);
	for (size_t i = 0; i < to->count; i++) {
		const struct cli_html_candidate *one = &to->list[i], *best = &to->list[to->best];
		if (!tcb_geometry_equal(&one->geometry, &carried) || !(one->ns < INFINITY))
			continue;
		/* Finals are compared with finals. */
		if (one->final.median > 0 && best->final.median > 0)
			return one->final.median / best->final.median - 1;
		return one->ns / best->ns - 1;
	}
	return NAN;
}

static void add_shape(const struct cli_html_space *space, const char *tag, const char *scope, struct tcb_str *out)
{
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&space->row->best.problem.shape, shape);
	tcb_str_addf(out, "<%s scope=\"%s\">", tag, scope);
	cli_html_text(out, shape);
	tcb_str_addf(out, "</%s>", tag);
}

static void add_cell(double value, int is_own, struct tcb_str *out)
{
	const char *class = isnan(value)   ? "l-none"
			    : value < 0.01 ? "l0"
			    : value < 0.05 ? "l1"
			    : value < 0.2  ? "l2"
					   : "l3";

	if (is_own)
		tcb_str_add(out, "<td class=\"own\">best</td>");
	else if (isnan(value))
		tcb_str_addf(out, "<td class=\"%s\" title=\"not measured\">&ndash;</td>", class);
	else
		tcb_str_addf(out, "<td class=\"%s\">%+.1f&nbsp;%%</td>", class, 100 * value);
}

static int is_any_measured(const struct cli_html_space *const *shapes, size_t count)
{
	for (size_t from = 0; from < count; from++)
		for (size_t to = 0; to < count; to++)
			if (from != to && !isnan(loss(shapes[from], shapes[to])))
				return 1;
	return 0;
}

static void add_map(const struct cli_html_space *const *shapes, size_t count, size_t all, struct tcb_str *out)
{
	const struct tcb_best *best = &shapes[0]->row->best;

	tcb_str_add(out, "<figure class=\"plot loss\"><figcaption>");
	cli_html_textf(out, "%s %s, %s", best->problem.op_name, tcb_contract_text(best->problem.contract),
		       shapes[0]->row->device_label);
	cli_html_threads(best, out);
	tcb_str_addf(out, ", %s</figcaption>", tcb_state_text(best->state));
	if (!is_any_measured(shapes, count)) {
		tcb_str_addf(out,
			     "<p class=\"none\">%zu shapes; the winner of none was tried at another.</p></figure>\n",
			     all);
		return;
	}
	tcb_str_add(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"Loss "
			 "map\"><table><tr><th>best of &#8595; used at &#8594;</th>");
	for (size_t to = 0; to < count; to++)
		add_shape(shapes[to], "th", "col", out);
	tcb_str_add(out, "</tr>");
	for (size_t from = 0; from < count; from++) {
		tcb_str_add(out, "<tr>");
		add_shape(shapes[from], "th", "row", out);
		for (size_t to = 0; to < count; to++)
			add_cell(from == to ? 0 : loss(shapes[from], shapes[to]), from == to, out);
		tcb_str_add(out, "</tr>");
	}
	tcb_str_add(out, "</table></div>");
	if (all > count)
		tcb_str_addf(out, "<p class=\"none\">The first %zu of %zu shapes.</p>", count, all);
	tcb_str_add(out, "</figure>\n");
}

void cli_html_losses(const struct cli_html_spaces *spaces, struct tcb_str *out)
{
	size_t maps = 0;

	for (size_t i = 0; i < spaces->count; i++) {
		const struct cli_html_space *shapes[SHAPES_MAX];
		size_t all = 0, earlier = 0;
		while (earlier < i && !is_one_map(&spaces->items[earlier].row->best, &spaces->items[i].row->best))
			earlier++;
		if (earlier < i)
			continue;
		for (size_t k = i; k < spaces->count; k++)
			if (is_one_map(&spaces->items[k].row->best, &spaces->items[i].row->best) &&
			    spaces->items[k].count) {
				if (all < SHAPES_MAX)
					shapes[all] = &spaces->items[k];
				all++;
			}
		if (all < 2)
			continue;
		maps++;
		add_map(shapes, all < SHAPES_MAX ? all : SHAPES_MAX, all, out);
	}
	if (!maps)
		tcb_str_add(out, "<figure class=\"plot loss\"><figcaption>No map</figcaption><p class=\"none\">It "
				 "takes two shapes of one op on one device.</p></figure>\n");
}
