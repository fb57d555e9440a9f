/* SPDX-License-Identifier: MIT
 *
 * In: a run that is over.  Out: its findings, what it cost by line, and whether
 * the results are as expected, for people and as JSON.
 */
#include <string.h>

#include "cli/core/demangle.h"
#include "cli/ptx/cmd_ptx_run.h"
#include "ptx/text/text.h"

/* What an instruction cost. */
struct row {
	const struct tcb_ptx_ins *ins;
	const struct tcb_ptx_counts *counts;
};

static int next_row(const struct ptx_run_job *job, const struct tcb_ptx_block **block, struct row *row)
{
	row->ins = row->ins ? row->ins->next : NULL;
	while (!row->ins) {
		*block = *block ? (*block)->next : job->kernel->first;
		if (!*block)
			return 0;
		row->ins = (*block)->first;
	}
	row->counts = &job->counts.by_ins[row->ins->number];
	return 1;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path ? path : "";
}

static void add_rows(const struct ptx_run_job *job, struct tcb_str *out)
{
	const struct tcb_ptx_block *block = NULL;
	struct row row = { 0 };
	int any = 0;

	while (next_row(job, &block, &row)) {
		const struct tcb_ptx_counts *c = row.counts;
		struct tcb_str text = { 0 };

		if (!c->wavefronts && !c->sectors)
			continue;
		if (!any++)
			tcb_str_add(out, "    line   requests  wavefronts (least)     sectors (least)  instruction\n");
		tcb_ptx_print_mnemonic(row.ins, &text);
		tcb_str_addf(out, "  %6u %10llu %11llu %8llu %11llu %8llu  %s", row.ins->line,
			     (unsigned long long)c->requests, (unsigned long long)c->wavefronts,
			     (unsigned long long)c->wavefronts_ideal, (unsigned long long)c->sectors,
			     (unsigned long long)c->sectors_ideal, text.failed ? "" : text.data);
		if (row.ins->source && row.ins->source->file)
			cli_add_shownf(out, "  %s:%u", base_name(row.ins->source->file), row.ins->source->line);
		tcb_str_add(out, "\n");
		tcb_str_fini(&text);
	}
}

static void add_expected(const struct ptx_run_job *job, struct tcb_str *out)
{
	for (size_t i = 0; i < job->expected_count; i++) {
		const struct ptx_expectation *e = &job->expected[i];
		const unsigned long long count = job->run->arguments[e->argument].count;

		if (e->differing)
			cli_add_line(out, "argument %u: %llu of %llu elements differ from %s; [%llu] is %s, not %s",
				     e->argument, (unsigned long long)e->differing, count, e->path,
				     (unsigned long long)e->first, e->got_text, e->wanted_text);
		else
			cli_add_line(out, "argument %u: all %llu elements are as in %s", e->argument, count, e->path);
	}
}

void ptx_run_text(const struct ptx_run_job *job, unsigned width, struct tcb_str *out)
{
	const struct tcb_ptx_launch *l = &job->launch;
	const double threads = (double)job->counts.total.threads;

	ptx_findings_text(&job->findings, width, out);
	tcb_str_add(out, "kernel ");
	cli_add_demangled(out, job->kernel->symbol->name);
	tcb_str_addf(out, ": grid %ux%ux%u, blocks of %ux%ux%u\n", l->grid[0], l->grid[1], l->grid[2], l->block[0],
		     l->block[1], l->block[2]);
	tcb_str_addf(out, "  %llu thread-instructions in %.2f s (%.1f million per second), %llu divergent branches\n",
		     (unsigned long long)job->counts.total.threads, job->seconds,
		     job->seconds > 0 ? threads / 1e6 / job->seconds : 0,
		     (unsigned long long)job->counts.total.divergent);
	add_rows(job, out);
	add_expected(job, out);
	cli_add_shownf(out, "%s: ", job->name);
	ptx_findings_total(job->findings.count, job->findings.state, out);
	tcb_str_add(out, "\n");
}

/* --- JSON --- */

static void set_counts(json_t *row, const struct tcb_ptx_counts *c, int *failed)
{
	cli_json_set(row, "warps", cli_json_size(c->warps), failed);
	cli_json_set(row, "threads", cli_json_size(c->threads), failed);
	cli_json_set(row, "requests", cli_json_size(c->requests), failed);
	cli_json_set(row, "wavefronts", cli_json_size(c->wavefronts), failed);
	cli_json_set(row, "wavefronts_least", cli_json_size(c->wavefronts_ideal), failed);
	cli_json_set(row, "sectors", cli_json_size(c->sectors), failed);
	cli_json_set(row, "sectors_least", cli_json_size(c->sectors_ideal), failed);
	cli_json_set(row, "divergent", cli_json_size(c->divergent), failed);
}

static json_t *rows_json(const struct ptx_run_job *job, int *failed)
{
	const struct tcb_ptx_block *block = NULL;
	json_t *rows = json_array();
	struct row row = { 0 };

	while (next_row(job, &block, &row)) {
		const struct tcb_ptx_source *source = row.ins->source;
		struct tcb_str text = { 0 };
		json_t *one;

		if (!row.counts->warps)
			continue;
		one = json_object();
		tcb_ptx_print_mnemonic(row.ins, &text);
		cli_json_set(one, "line", cli_json_size(row.ins->line), failed);
		cli_json_set(one, "instruction", cli_json_text(text.failed ? "" : text.data), failed);
		cli_json_set(one, "file", source && source->file ? cli_json_text(source->file) : json_null(), failed);
		cli_json_set(one, "file_line", source ? cli_json_size(source->line) : json_null(), failed);
		set_counts(one, row.counts, failed);
		cli_json_add(rows, one, failed);
		tcb_str_fini(&text);
	}
	return rows;
}

static json_t *expected_json(const struct ptx_run_job *job, int *failed)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < job->expected_count; i++) {
		const struct ptx_expectation *e = &job->expected[i];
		json_t *one = json_object();

		cli_json_set(one, "argument", cli_json_size(e->argument), failed);
		cli_json_set(one, "file", cli_json_text(e->path), failed);
		cli_json_set(one, "elements", cli_json_size(job->run->arguments[e->argument].count), failed);
		cli_json_set(one, "differing", cli_json_size(e->differing), failed);
		cli_json_set(one, "first", e->differing ? cli_json_size(e->first) : json_null(), failed);
		cli_json_set(one, "result", e->differing ? cli_json_real(e->got) : json_null(), failed);
		cli_json_set(one, "expected", e->differing ? cli_json_real(e->wanted) : json_null(), failed);
		cli_json_add(rows, one, failed);
	}
	return rows;
}

static json_t *triple(const uint32_t *values, int *failed)
{
	json_t *row = json_array();

	for (int i = 0; i < 3; i++)
		cli_json_add(row, cli_json_size(values[i]), failed);
	return row;
}

enum tcb_status ptx_run_json(const struct ptx_run_job *job, struct tcb_error *err)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.ptx-run.1", &failed), *total = json_object();

	cli_json_set(root, "name", cli_json_text(job->name), &failed);
	cli_json_set(root, "kernel", cli_json_text(job->kernel->symbol->name), &failed);
	cli_json_set(root, "grid", triple(job->launch.grid, &failed), &failed);
	cli_json_set(root, "block", triple(job->launch.block, &failed), &failed);
	cli_json_set(root, "seconds", cli_json_real(job->seconds), &failed);
	set_counts(total, &job->counts.total, &failed);
	cli_json_set(root, "total", total, &failed);
	cli_json_set(root, "instructions", rows_json(job, &failed), &failed);
	cli_json_set(root, "expected", expected_json(job, &failed), &failed);
	ptx_findings_json(&job->findings, root, &failed);
	return cli_emit_json(cli_json_end(root, failed), err);
}
