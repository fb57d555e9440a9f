/* SPDX-License-Identifier: MIT
 *
 * What a run of `tcbtune verify` found, as it is stored, printed as JSON and
 * read again: a report for each device.
 */
#ifndef TCB_CLI_VERIFY_REPORT_H
#define TCB_CLI_VERIFY_REPORT_H

#include <jansson.h>

#include "db/verified.h"
#include "verify/claim.h"

struct cli_verify_report {
	struct tcb_verified_run run;
	struct tcb_verified *rows; /* owned */
	size_t count;
};

enum { CLI_VERIFY_REPORTS_MAX = 8 };
struct cli_verify_reports {
	struct cli_verify_report items[CLI_VERIFY_REPORTS_MAX];
	size_t count;
};

/* verify_json.c */
/* The next report, empty, with room for all claims. */
enum tcb_status cli_verify_reports_add(struct cli_verify_reports *reports, const struct tcb_verified_run *run,
				       struct cli_verify_report **out, struct tcb_error *err);
void cli_verify_reports_fini(struct cli_verify_reports *reports);
/* The row of claim ID, or NULL. */
const struct tcb_verified *cli_verify_row(const struct cli_verify_report *report, const char *id);
size_t cli_verify_count(const struct cli_verify_report *report, enum tcb_claim_result result);
/* What `tcbtune verify --json` printed into PATH. */
enum tcb_status cli_verify_read(const char *path, struct cli_verify_reports *reports, struct tcb_error *err);
enum tcb_status cli_verify_print_json(const struct cli_verify_reports *reports, const char *out_path,
				      struct tcb_error *err);

/* verify_text.c */
enum tcb_status cli_verify_print_table(const struct cli_verify_reports *reports, const char *out_path,
				       struct tcb_error *err);
/* All claims, also those that no report has. */
enum tcb_status cli_verify_print_md(const struct cli_verify_reports *reports, const char *out_path,
				    struct tcb_error *err);

#endif
