/* SPDX-License-Identifier: MIT
 *
 * The data of a page as JSON: the report's rows, and of each space the points
 * that the script shows.  In ASCII with every "<" escaped, so that no name in
 * a database ends the element that it stands in.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/best_data.h"
#include "cli/report/html_data.h"

static json_t *point(const struct cli_html_candidate *one, size_t number, int *failed)
{
	json_t *object = json_object();
	char geometry[TCB_GEOMETRY_TEXT_MAX];

	tcb_geometry_print(&one->geometry, geometry);
	cli_json_set(object, "trial", cli_json_size(number + 1), failed);
	cli_json_set(object, "elapsed_s", cli_json_real(one->elapsed_s), failed);
	cli_json_set(object, "ns", cli_json_real(one->ns), failed);
	cli_json_set(object, "geometry", cli_json_text(geometry), failed);
	return object;
}

static json_t *space_json(const struct cli_html_space *space, int has_points, int *failed)
{
	json_t *object = json_object(), *points = json_array();
	const size_t stride = space->count / CLI_HTML_POINTS_MAX + 1;
	double best = INFINITY;

	for (size_t i = 0; has_points && i < space->count; i++) {
		const struct cli_html_candidate *one = &space->list[i];
		if (i % stride == 0 || one->ns < best || i == space->best || i == space->start)
			cli_json_add(points, point(one, i, failed), failed);
		best = fmin(best, one->ns);
	}
	cli_json_set(object, "trials", cli_json_size(space->count), failed);
	cli_json_set(object, "valid", cli_json_size(space->valid), failed);
	cli_json_set(object, "points", points, failed);
	return object;
}

static json_t *row_json(const struct cli_html_source *source, const struct cli_html_space *space, int has_points,
			int *failed)
{
	json_t *row = cli_best_row_json(space->row, failed);
	struct tcb_bottleneck bottleneck;

	cli_bounds_of(source->bounds, space->row, &bottleneck);
	cli_json_set(row, "bottleneck", cli_bottleneck_json(&bottleneck, failed), failed);
	cli_json_set(row, "space", space_json(space, has_points, failed), failed);
	return row;
}

enum tcb_status cli_html_json(const struct cli_html_source *source, const struct cli_html_spaces *spaces,
			      struct tcb_str *out, struct tcb_error *err)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.html.1", &failed), *list = json_array();

	for (size_t i = 0; i < spaces->count; i++)
		cli_json_add(list, row_json(source, &spaces->items[i], i < CLI_HTML_PLOTTED_MAX, &failed), &failed);
	cli_json_set(root, "best", list, &failed);
	root = cli_json_end(root, failed);
	char *text = root ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(9) | JSON_ENSURE_ASCII) : NULL;
	json_decref(root);
	if (!text)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for the report's data");
	for (const char *at = text; *at;) {
		const size_t plain = strcspn(at, "<");
		tcb_str_add_bytes(out, at, plain);
		at += plain;
		if (*at) {
			tcb_str_add(out, "\\u003c");
			at++;
		}
	}
	free(text);
	return TCB_OK;
}
