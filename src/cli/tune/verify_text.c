/* SPDX-License-Identifier: MIT
 *
 * Reports of `tcbtune verify` for people: a table, and the page
 * docs/falsification.md.
 */
#include <stdio.h>
#include <string.h>

#include "cli/core/emit.h"
#include "cli/tune/verify_report.h"

static void add_counts(struct tcb_str *out, const struct cli_verify_report *report)
{
	for (unsigned r = 0; r < TCB_CLAIM_RESULT_COUNT; r++)
		tcb_str_addf(out, "%s%zu %s", r ? ", " : "", cli_verify_count(report, (enum tcb_claim_result)r),
			     tcb_claim_result_text((enum tcb_claim_result)r));
}

static double seconds_of(const struct cli_verify_report *report)
{
	double seconds = 0;
	for (size_t i = 0; i < report->count; i++)
		seconds += report->rows[i].seconds;
	return seconds;
}

enum tcb_status cli_verify_print_table(const struct cli_verify_reports *reports, const char *out_path,
				       struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	for (size_t i = 0; i < reports->count; i++) {
		const struct cli_verify_report *report = &reports->items[i];
		cli_add_line(&out, "%s%s, %s", i ? "\n" : "", report->run.device, report->run.model);
		for (size_t r = 0; r < report->count; r++) {
			const struct tcb_verified *row = &report->rows[r];
			const struct tcb_claim *claim = tcb_claim_find(row->id);
			cli_add_line(&out, "%-5s %-13s %s (%s)", row->id, row->result, claim ? claim->claim : "",
				     claim ? claim->threshold : "");
			cli_add_line(&out, "      %s", row->evidence);
			if (row->control[0]) {
				cli_add_line(&out, "      control: %s", row->control);
			}
		}
		tcb_str_add(&out, "\n");
		add_counts(&out, report);
		tcb_str_addf(&out, " in %.0f s\n", seconds_of(report));
	}
	return cli_emit_text_to(out_path, &out, err);
}

/* --- the page --- */

static const struct {
	const char *first, *title;
} sections[] = {
	{ "F301", "Named criteria (F301 to F382)" },   { "I001", "Tile constraints (items 1 to 15)" },
	{ "I016", "FMA fusion (items 16 to 30)" },     { "I031", "Views and memory (items 31 to 50)" },
	{ "I051", "Loop splitting (items 51 to 65)" }, { "I066", "Tokens (items 66 to 80)" },
	{ "I081", "Backends (items 81 to 90)" },       { "I091", "Numbers (items 91 to 100)" },
	{ "I101", "Barriers (items 101 to 115)" },
};

static const char introduction[] =
	"# Falsification\n\n"
	"Every criterion of [the specification](specification.md), section 11, and every item of the checklist that "
	"its sources came with, and what was measured when somebody tried to show that it is false.  This page is "
	"made by the program; do not edit it:\n\n"
	"    tcbtune verify --json --out cpu.json\n"
	"    tcbtune verify --device cuda:0 --json --out gpu.json        (on the machine with the GPU)\n"
	"    tcbtune verify --from cpu.json --from gpu.json --format md --out docs/falsification.md\n\n"
	"**PASS**: measured, and it holds.  **FAIL**: this program does not do what it claims, or the check cannot "
	"fail.  **REFUTED CLAIM**: the source's claim is false by our measurement.  **NOT RUN**: with the reason.  "
	"Each check that ran has a control: the same measurement of a planted defect, which must fail; for a refuted "
	"claim, of a planted case in which it is true, which must hold.  Methods: A this processor, B the PTX "
	"assembler, C a GPU, D the processor's own counters.\n";

/* TEXT in a cell of a table. */
static void add_cell(struct tcb_str *out, const char *text)
{
	for (const char *c = text; *c; c++) {
		if (*c == '|' || *c == '<' || *c == '*' || *c == '_')
			tcb_str_add(out, "\\");
		tcb_str_add_bytes(out, c, 1);
	}
}

static void add_result(struct tcb_str *out, const struct tcb_verified *row)
{
	if (!row) {
		tcb_str_add(out, " NOT RUN: not asked for |");
		return;
	}
	tcb_str_addf(out, " **%s** ", row->result);
	add_cell(out, row->evidence);
	if (row->control[0]) {
		tcb_str_add(out, "; control ");
		add_cell(out, row->control);
	}
	tcb_str_add(out, " |");
}

static void add_section(struct tcb_str *out, const char *title, const struct cli_verify_reports *reports)
{
	tcb_str_addf(out, "\n## %s\n\n| id | claim | threshold | method |", title);
	for (size_t i = 0; i < reports->count; i++)
		tcb_str_addf(out, " %s |", reports->items[i].run.device);
	tcb_str_add(out, "\n| --- | --- | --- | --- |");
	for (size_t i = 0; i < reports->count; i++)
		tcb_str_add(out, " --- |");
	tcb_str_add(out, "\n");
}

enum tcb_status cli_verify_print_md(const struct cli_verify_reports *reports, const char *out_path,
				    struct tcb_error *err)
{
	struct tcb_str out = { 0 };
	const struct tcb_claim *claim;
	tcb_str_add(&out, introduction);
	for (size_t i = 0; i < reports->count; i++) {
		const struct cli_verify_report *report = &reports->items[i];
		tcb_str_addf(&out, "\n- `%s`, %s, %s%scommit %.12s, %.10s: ", report->run.device, report->run.model,
			     report->run.assembler, report->run.assembler[0] ? ", " : "", report->run.git_commit,
			     report->run.measured_at);
		add_counts(&out, report);
		tcb_str_addf(&out, " in %.0f s", seconds_of(report));
	}
	tcb_str_add(&out, "\n");
	for (size_t c = 0; (claim = tcb_claim_at(c)); c++) {
		for (size_t s = 0; s < sizeof sections / sizeof *sections; s++)
			if (!strcmp(sections[s].first, claim->id))
				add_section(&out, sections[s].title, reports);
		tcb_str_addf(&out, "| %s | ", claim->id);
		add_cell(&out, claim->claim);
		tcb_str_add(&out, " | ");
		add_cell(&out, claim->threshold);
		tcb_str_addf(&out, " | %s |", claim->method);
		for (size_t i = 0; i < reports->count; i++)
			add_result(&out, cli_verify_row(&reports->items[i], claim->id));
		tcb_str_add(&out, "\n");
	}
	return cli_emit_to(out_path, &out, err);
}
