/* SPDX-License-Identifier: MIT
 *
 * What a page's plots are made of: for each best row the trials of its problem
 * on its device, in the order in which they were made.
 */
#ifndef TCB_CLI_HTML_DATA_H
#define TCB_CLI_HTML_DATA_H

#include "cli/report/html_report.h"
#include "kernels/constraint.h"
#include "search/replay/replay.h"

/* Times are nanoseconds of the row's cache state; an interval whose median is 0 was not measured. */
struct cli_html_candidate {
	struct tcb_geometry geometry;
	struct tcb_interval screen, final;
	double ns;        /* of screening, else of the finals: what the search was told; infinite: failed */
	double elapsed_s; /* what the trials up to this one took, as `replay` counts it */
	int is_tie;       /* its interval reaches the best's */
};

struct cli_html_space {
	const struct cli_best_row *row; /* lent */
	struct cli_html_candidate *list;
	size_t count, valid; /* candidates; those that did not fail */
	size_t best, start;  /* the winner and the default among them; TCB_ASK_NONE */
	struct tcb_recorded recorded;
	struct tcb_replay replay;
	int is_searchable; /* REPLAY is there */
};

struct cli_html_spaces {
	struct cli_html_space *items; /* [row] */
	size_t count;
};

enum tcb_status cli_html_load(const struct cli_html_source *source, struct cli_html_spaces *out, struct tcb_error *err);
void cli_html_unload(struct cli_html_spaces *spaces); /* zeroed is fine */

/* ", 8 threads"; nothing of a GPU. */
void cli_html_threads(const struct tcb_best *best, struct tcb_str *out);

/* The parts of a geometry, tiles and knobs alike. */
enum { CLI_HTML_FIELD_MAX = 48 };
double cli_html_field(const struct tcb_geometry *geometry, size_t field);
/* "unroll"; of a parameter what GEOMETRY's op calls it */
void cli_html_field_name(const struct tcb_geometry *geometry, size_t field, char out[CLI_HTML_FIELD_MAX]);
/* "4", "dynamic", "-" where it is not set */
void cli_html_field_value(const struct tcb_geometry *geometry, size_t field, char out[CLI_HTML_FIELD_MAX]);
/* The field in which alone A and B differ; TCB_FIELDS_MAX: in none, or in several. */
size_t cli_html_only_difference(const struct tcb_geometry *a, const struct tcb_geometry *b);

/* html_json.c: all of it once, as text that may stand inside a script element. */
enum tcb_status cli_html_json(const struct cli_html_source *source, const struct cli_html_spaces *spaces,
			      struct tcb_str *out, struct tcb_error *err);
/* Rows with plots, some 60 KB each, so that a page stays below 5 MB; and points of each that the JSON has besides all
 * improvements. */
enum { CLI_HTML_PLOTTED_MAX = 60, CLI_HTML_POINTS_MAX = 150 };

#endif
