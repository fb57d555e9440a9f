/* SPDX-License-Identifier: MIT
 *
 * In: a judgement.  Out: the same as text in the form of a compiler's messages,
 * and as JSON (schemas/ptx-check.schema.json).
 */
#include <stdlib.h>
#include <string.h>

#include "cli/core/demangle.h"
#include "cli/ptx/cmd_ptx.h"
#include "ptx/text/text.h"

static void add_target(const struct tcb_ptx_target *target, struct tcb_str *out)
{
	tcb_str_addf(out, "sm_%u%.1s", target->sm, &target->feature);
}

static const char *const block_sources[] = { "given", "launch bounds", "assumed" };

/* Each access executed once by all warps of a block: what is known of them together. */
static void memory_text(const struct tcb_ptx_check_kernel *facts, struct tcb_str *out)
{
	uint64_t known = 0, cost[2] = { 0, 0 }, ideal[2] = { 0, 0 };

	if (!facts->access_count)
		return;
	for (size_t i = 0; i < facts->access_count; i++) {
		const struct tcb_ptx_prediction *p = &facts->accesses[i].prediction;
		int is_global = p->space == TCB_PTX_GLOBAL;
		if (p->certainty == TCB_PTX_UNPREDICTED)
			continue;
		known++;
		cost[is_global] += p->least;
		ideal[is_global] += p->ideal;
	}
	tcb_str_addf(out,
		     "  memory      %llu of %zu accesses predicted: shared %llu wavefronts a block (%llu needed), "
		     "global %llu sectors (%llu needed)\n",
		     (unsigned long long)known, facts->access_count, (unsigned long long)cost[0],
		     (unsigned long long)ideal[0], (unsigned long long)cost[1], (unsigned long long)ideal[1]);
}

static unsigned larger(unsigned a, unsigned b)
{
	return a > b ? a : b;
}

static void kernel_text(const struct ptx_judgement *j, const struct ptx_judged_kernel *kernel, struct tcb_str *out)
{
	const struct tcb_ptx_check_kernel *facts = &kernel->facts;
	const struct tcb_ptx_resources *r = &kernel->resources;
	const struct tcb_occupancy *occupancy = &kernel->occupancy.occupancy;
	char bytes[CLI_NUMBER_MAX];

	tcb_str_add(out, "\nkernel ");
	cli_add_demangled(out, facts->function->symbol->name);
	tcb_str_addf(out, ", line %u: %u instructions in %u blocks, %u loop%s\n", facts->function->line,
		     facts->instructions, facts->blocks, facts->loops, facts->loops == 1 ? "" : "s");
	tcb_str_addf(out, "  registers   ");
	if (kernel->has_resources)
		tcb_str_addf(out, "%u by %s, ", r->registers, tcb_assembler_text(j->assembler.kind));
	tcb_str_addf(out, "%u estimated, typically %u to %u (%u live at line %u)", facts->register_estimate,
		     facts->register_least, facts->register_most, facts->pressure, facts->peak_line);
	if (kernel->has_resources && (r->spill_store_bytes || r->spill_load_bytes))
		tcb_str_addf(out, "; spills %u bytes, loads %u", r->spill_store_bytes, r->spill_load_bytes);
	else if (kernel->has_resources)
		tcb_str_add(out, "; no spills");
	tcb_size_text(r->shared_bytes, bytes);
	tcb_str_addf(out, "\n  shared      %s static", bytes);
	if (facts->uses_dynamic_shared || facts->dynamic_shared) {
		tcb_size_text(facts->dynamic_shared, bytes);
		tcb_str_addf(out, ", %s dynamic%s", bytes,
			     facts->dynamic_shared ? "" : " (it has some: give --dynamic-shared)");
	}
	tcb_str_add(out, "\n");
	if (kernel->has_resources)
		tcb_str_addf(out, "  also        %u barriers, %u bytes of stack, %u bytes of constants\n", r->barriers,
			     larger(r->stack_bytes, r->call_stack_bytes), r->constant_bytes);
	memory_text(facts, out);
	tcb_str_addf(out, "  occupancy   blocks of %ux%ux%u (%s): ", facts->block[0], facts->block[1], facts->block[2],
		     block_sources[facts->block_source]);
	if (kernel->occupancy.known)
		tcb_str_addf(out, "%u on an SM of sm_%u, %u of %u warps, limited by %s%s\n", occupancy->blocks,
			     j->target.sm, occupancy->warps, occupancy->warps_max, occupancy->limiter,
			     kernel->has_resources ? "" : " (by the estimate)");
	else
		tcb_str_addf(out, "%s\n", kernel->occupancy.why);
}

/* "ptxas 13.0 for sm_90a as a whole program with -O1" */
static void add_assembler(const struct ptx_judgement *j, struct tcb_str *out)
{
	tcb_str_addf(out, "%s %u.%u for ", tcb_assembler_text(j->assembler.kind), j->assembler.version / 10,
		     j->assembler.version % 10);
	add_target(&j->target, out);
	tcb_str_add(out, j->assembly.is_whole ? " as a whole program" : " as an object that others are linked to");
	if (j->build.flags[0])
		tcb_str_add(out, " with");
	for (const char *flag = j->build.flags; *flag; flag += strlen(flag) + 1)
		tcb_str_addf(out, " %s", flag);
	if (j->assembler_note[0])
		tcb_str_addf(out, " (%s)", j->assembler_note);
	if (j->build.is_whole && !j->assembly.is_whole && j->assembly.status == TCB_OK)
		tcb_str_add(out, " (this nvJitLink cannot do better; as a whole program, which is what nvcc compiles "
				 "without -rdc=true, it may take other registers)");
}

/* Functions that kernels call. */
static void functions_text(const struct ptx_judgement *j, struct tcb_str *out)
{
	for (size_t i = 0; i < j->function_count; i++) {
		const struct tcb_ptx_called *f = &j->functions[i];
		char name[512];
		snprintf(name, sizeof name, "%.*s", (int)f->name_length, f->name);
		tcb_str_add(out, "\nfunction ");
		cli_add_demangled(out, name);
		if (f->registers)
			tcb_str_addf(out, ": %u registers", f->registers);
		else
			tcb_str_add(out, ": the registers of its callers");
		tcb_str_addf(out, ", %u bytes of stack, spills %u bytes, loads %u\n", f->stack_bytes,
			     f->spill_store_bytes, f->spill_load_bytes);
	}
}

void ptx_judgement_text(const struct ptx_judgement *j, unsigned width, struct tcb_str *out)
{
	ptx_findings_text(&j->findings, width, out);
	for (size_t i = 0; i < j->kernel_count; i++)
		kernel_text(j, &j->kernels[i], out);
	functions_text(j, out);
	tcb_str_add(out, j->kernel_count ? "\n" : "");
	cli_add_shownf(out, "%s: ", j->name);
	ptx_findings_total(j->findings.count, j->findings.state, out);
	if (j->has_assembly) {
		tcb_str_addf(out, "; %s by ",
			     j->assembly.status == TCB_OK         ? "assembled"
			     : j->assembly.status == TCB_E_FORMAT ? "rejected"
								  : "not assembled");
		add_assembler(j, out);
	} else if (j->assembler_note[0]) {
		cli_add_shownf(out, "; not assembled: %s", j->assembler_note);
	}
	tcb_str_add(out, "\n");
}

static json_t *text_or_null(const char *text)
{
	return text ? cli_json_text(text) : json_null();
}

static json_t *resources_json(const struct tcb_ptx_resources *r, int *failed)
{
	json_t *row = json_object();

	cli_json_set(row, "registers", cli_json_size(r->registers), failed);
	cli_json_set(row, "barriers", cli_json_size(r->barriers), failed);
	cli_json_set(row, "spill_store_bytes", cli_json_size(r->spill_store_bytes), failed);
	cli_json_set(row, "spill_load_bytes", cli_json_size(r->spill_load_bytes), failed);
	cli_json_set(row, "stack_bytes", cli_json_size(r->stack_bytes), failed);
	cli_json_set(row, "call_stack_bytes", r->call_stack_bytes ? cli_json_size(r->call_stack_bytes) : json_null(),
		     failed);
	cli_json_set(row, "shared_bytes", cli_json_size(r->shared_bytes), failed);
	cli_json_set(row, "constant_bytes", cli_json_size(r->constant_bytes), failed);
	return row;
}

static json_t *occupancy_json(const struct ptx_judged_kernel *kernel, int *failed)
{
	const struct tcb_occupancy *occupancy = &kernel->occupancy.occupancy;
	json_t *row;

	if (!kernel->occupancy.known)
		return json_null();
	row = json_object();
	cli_json_set(row, "blocks", cli_json_size(occupancy->blocks), failed);
	cli_json_set(row, "warps", cli_json_size(occupancy->warps), failed);
	cli_json_set(row, "warps_max", cli_json_size(occupancy->warps_max), failed);
	cli_json_set(row, "limiter", json_string(occupancy->limiter), failed);
	cli_json_set(row, "source", json_string(kernel->has_resources ? "assembler" : "estimate"), failed);
	return row;
}

static json_t *access_json(const struct tcb_ptx_function *function, const struct tcb_ptx_check_access *access,
			   int *failed)
{
	static const char *const certainties[] = { "unknown", "if all threads are there", "predicted" };
	const struct tcb_ptx_prediction *p = &access->prediction;
	json_t *row = json_object();
	struct tcb_str text = { 0 };

	tcb_ptx_print_ins(function, access->ins, &text);
	cli_json_set(row, "line", access->ins->line ? cli_json_size(access->ins->line) : json_null(), failed);
	cli_json_set(row, "instruction", text_or_null(text.data), failed);
	cli_json_set(row, "space", p->space ? json_string(tcb_ptx_word_text(p->space)) : json_null(), failed);
	cli_json_set(row, "certainty", json_string(certainties[p->certainty]), failed);
	cli_json_set(row, "thread_bytes", cli_json_size(p->bytes), failed);
	cli_json_set(row, "warps", cli_json_size(p->warps), failed);
	cli_json_set(row, "least", cli_json_size(p->least), failed);
	cli_json_set(row, "most", cli_json_size(p->most), failed);
	cli_json_set(row, "ideal", cli_json_size(p->ideal), failed);
	tcb_str_fini(&text);
	return row;
}

static json_t *kernel_json(const struct ptx_judged_kernel *kernel, int *failed)
{
	const struct tcb_ptx_check_kernel *facts = &kernel->facts;
	json_t *row = json_object(), *block = json_array(), *accesses = json_array();

	cli_json_set(row, "name", cli_json_text(facts->function->symbol->name), failed);
	cli_json_set(row, "line", facts->function->line ? cli_json_size(facts->function->line) : json_null(), failed);
	cli_json_set(row, "instructions", cli_json_size(facts->instructions), failed);
	cli_json_set(row, "blocks", cli_json_size(facts->blocks), failed);
	cli_json_set(row, "loops", cli_json_size(facts->loops), failed);
	cli_json_set(row, "register_estimate", cli_json_size(facts->register_estimate), failed);
	cli_json_set(row, "register_least", cli_json_size(facts->register_least), failed);
	cli_json_set(row, "register_most", cli_json_size(facts->register_most), failed);
	cli_json_set(row, "pressure", cli_json_size(facts->pressure), failed);
	cli_json_set(row, "predicate_pressure", cli_json_size(facts->predicate_pressure), failed);
	cli_json_set(row, "peak_line", facts->peak_line ? cli_json_size(facts->peak_line) : json_null(), failed);
	cli_json_set(row, "shared_static_bytes",
		     cli_json_size(facts->shared_static < INT64_MAX ? facts->shared_static : INT64_MAX), failed);
	cli_json_set(row, "uses_dynamic_shared", json_boolean(facts->uses_dynamic_shared), failed);
	cli_json_set(row, "dynamic_shared_bytes", cli_json_size(facts->dynamic_shared), failed);
	for (int i = 0; i < 3; i++)
		cli_json_add(block, cli_json_size(facts->block[i]), failed);
	cli_json_set(row, "block", block, failed);
	cli_json_set(row, "block_source", json_string(block_sources[facts->block_source]), failed);
	cli_json_set(row, "assembler", kernel->has_resources ? resources_json(&kernel->resources, failed) : json_null(),
		     failed);
	cli_json_set(row, "occupancy", occupancy_json(kernel, failed), failed);
	for (size_t i = 0; i < facts->access_count; i++)
		cli_json_add(accesses, access_json(facts->function, &facts->accesses[i], failed), failed);
	cli_json_set(row, "accesses", accesses, failed);
	return row;
}

static json_t *assembler_json(const struct ptx_judgement *j, int *failed)
{
	json_t *row = json_object(), *flags = json_array();
	const char *state = "absent";

	if (j->has_assembly)
		state = j->assembly.status == TCB_OK         ? "ok"
			: j->assembly.status == TCB_E_FORMAT ? "rejected"
			: j->assembly.timed_out              ? "timeout"
							     : "failed";
	cli_json_set(row, "state", json_string(state), failed);
	cli_json_set(row, "kind", j->has_assembly ? json_string(tcb_assembler_text(j->assembler.kind)) : json_null(),
		     failed);
	cli_json_set(row, "version", j->has_assembly ? cli_json_real(j->assembler.version / 10.0) : json_null(),
		     failed);
	cli_json_set(row, "whole_program", j->has_assembly ? json_boolean(j->assembly.is_whole) : json_null(), failed);
	for (const char *flag = j->build.flags; *flag; flag += strlen(flag) + 1)
		cli_json_add(flags, cli_json_text(flag), failed);
	cli_json_set(row, "flags", flags, failed);
	cli_json_set(row, "note", j->assembler_note[0] ? cli_json_text(j->assembler_note) : json_null(), failed);
	cli_json_set(row, "log", text_or_null(j->has_assembly ? j->assembly.log : NULL), failed);
	return row;
}

static json_t *functions_json(const struct ptx_judgement *j, int *failed)
{
	json_t *rows = json_array();

	for (size_t i = 0; i < j->function_count; i++) {
		const struct tcb_ptx_called *f = &j->functions[i];
		json_t *row = json_object();
		cli_json_set(row, "name", json_stringn(f->name, f->name_length), failed);
		cli_json_set(row, "registers", f->registers ? cli_json_size(f->registers) : json_null(), failed);
		cli_json_set(row, "spill_store_bytes", cli_json_size(f->spill_store_bytes), failed);
		cli_json_set(row, "spill_load_bytes", cli_json_size(f->spill_load_bytes), failed);
		cli_json_set(row, "stack_bytes", cli_json_size(f->stack_bytes), failed);
		cli_json_add(rows, row, failed);
	}
	return rows;
}

void ptx_judgement_json(const struct ptx_judgement *j, json_t *root, int *failed)
{
	struct tcb_str target = { 0 };
	json_t *kernels = json_array();

	add_target(&j->target, &target);
	cli_json_set(root, "name", cli_json_text(j->name), failed);
	cli_json_set(root, "target", j->target.sm ? json_string(target.data) : json_null(), failed);
	cli_json_set(root, "parsed", json_boolean(j->module != NULL), failed);
	cli_json_set(root, "assembler", assembler_json(j, failed), failed);
	for (size_t i = 0; i < j->kernel_count; i++)
		cli_json_add(kernels, kernel_json(&j->kernels[i], failed), failed);
	cli_json_set(root, "kernels", kernels, failed);
	cli_json_set(root, "functions", functions_json(j, failed), failed);
	ptx_findings_json(&j->findings, root, failed);
	tcb_str_fini(&target);
}
