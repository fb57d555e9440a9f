/* SPDX-License-Identifier: MIT
 *
 * What a report leaves out, as its user says: rules (--rule, --no-rule),
 * findings that a file suppresses (--suppress) or a baseline knows (--baseline),
 * and those that a comment in the text allows.
 */
#ifndef TCB_CLI_PTX_POLICY_H
#define TCB_CLI_PTX_POLICY_H

#include "cli/core/cli.h"
#include "cli/ptx/ptx_findings.h"

/* A line of a file of suppressions; NULL: any. */
struct ptx_suppression {
	int rule; /* enum tcb_ptx_rule, or -1 for all */
	const char *file, *kernel, *source;
};

/* A zeroed one lets everything count. */
struct ptx_policy {
	unsigned char left_out[TCB_PTX_RULE_COUNT];
	struct tcb_arena arena;
	struct ptx_suppression *suppressions;
	size_t suppression_count;
	int has_baseline;
	const char **known; /* fingerprints, sorted */
	size_t known_count;
};

/* ptx_policy.c */
/* ONLY and WITHOUT are lists of rules, with commas; FILES are of suppressions. */
enum tcb_status ptx_policy_init(struct ptx_policy *policy, const struct cli_list *only, const struct cli_list *without,
				const struct cli_list *files, struct tcb_error *err);
enum tcb_status ptx_policy_read_baseline(struct ptx_policy *policy, const char *path, struct tcb_error *err);
void ptx_policy_fini(struct ptx_policy *policy);
/* Of a finding in FILE that no comment allows. */
enum ptx_finding_state ptx_policy_state(const struct ptx_policy *policy, const char *file,
					const struct ptx_finding *finding);
/* " (did you mean shared-race?)" or "" for a word that names no rule. */
enum { PTX_SUGGESTION_MAX = 96 };
void ptx_rule_suggestion(const char *word, char out[PTX_SUGGESTION_MAX]);

/* ptx_baseline.c: adds what --baseline will know to ROWS. */
void ptx_baseline_add(json_t *rows, const struct ptx_findings *findings, int *failed);

/* ptx_allow.c: "// tcbtune: allow RULE, RULE why" */
struct ptx_allowance {
	uint32_t line, last;    /* where the comment stands, and to which line the rule may be broken */
	enum tcb_ptx_rule rule; /* TCB_PTX_RULE_COUNT: WORD names none */
	const char *word;
};
enum { PTX_ALLOWED_LINES = 64 /* more than a compiler puts between a comment and its access */ };
/* Those of TEXT by line, into ARENA; returns 0 when memory is exhausted. */
int ptx_allowances(const char *text, size_t length, struct tcb_arena *arena, struct ptx_allowance **out,
		   size_t *count_out);

#endif
