/* SPDX-License-Identifier: MIT
 *
 * Writing modules of WGSL.
 */
#include "kernels/wgsl/wgsl.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/language.h"

enum { INDENT = 4, FORMATTED_MAX = 4096, EACH_MAX = 8 };

/* ---- text ---- */

/* LINE, of LENGTH characters, indented by the braces that are open; one that begins with the end of one is outside of
 * it. */
static void add_line(struct tcb_wgsl *w, const char *line, size_t length)
{
	int opened = 0, closed_first;

	while (length > 0 && (*line == ' ' || *line == '\t'))
		line++, length--;
	for (size_t i = 0; i < length; i++) {
		opened += line[i] == '{' || line[i] == '(';
		opened -= line[i] == '}' || line[i] == ')';
	}
	closed_first = length > 0 && (*line == '}' || *line == ')');
	assert((int)w->depth >= closed_first);
	if (length > 0)
		tcb_str_addf(&w->text, "%*s", (int)(INDENT * (w->depth - (unsigned)closed_first)), "");
	tcb_str_add_bytes(&w->text, line, length);
	tcb_str_add(&w->text, "\n");
	assert((int)w->depth + opened >= 0);
	w->depth = (unsigned)((int)w->depth + opened);
}

static void add_lines(struct tcb_wgsl *w, const char *format, va_list values)
{
	char text[FORMATTED_MAX];
	const int length = vsnprintf(text, sizeof text, format, values);

	assert(length >= 0 && length < FORMATTED_MAX);
	(void)length;
	for (const char *line = text, *end; *line; line = end + 1) {
		end = strchr(line, '\n');
		assert(end); /* whole lines */
		add_line(w, line, (size_t)(end - line));
	}
}

void tcb_wgsl_add(struct tcb_wgsl *w, const char *format, ...)
{
	va_list values;

	va_start(values, format);
	add_lines(w, format, values);
	va_end(values);
}

/* A few are written one after another. */
void tcb_wgsl_each(struct tcb_wgsl *w, unsigned count, unsigned workgroup, const char *format, ...)
{
	const int is_looped = (size_t)count > (size_t)EACH_MAX * workgroup;
	va_list values;

	if (is_looped)
		tcb_wgsl_add(w, "for (var i = local; i < %uu; i += %uu) {\n", count, workgroup);
	for (unsigned first = 0; first < (is_looped ? 1 : count); first += workgroup) {
		if (!is_looped && count - first < workgroup)
			tcb_wgsl_add(w, "if (local < %uu) {\n", count - first);
		else if (!is_looped)
			tcb_wgsl_add(w, "{\n");
		if (!is_looped)
			tcb_wgsl_add(w, "let i = local + %uu;\n", first);
		va_start(values, format);
		add_lines(w, format, values);
		va_end(values);
		tcb_wgsl_add(w, "}\n");
	}
}

/* ---- what a module has ---- */

static int bind(struct tcb_wgsl *w, const char *name, const char *type, const char *access, enum tcb_argument_kind kind,
		size_t value)
{
	assert(w->binding_count < TCB_WGSL_BINDINGS_MAX);
	tcb_wgsl_add(w, "@group(0) @binding(%d) var<storage, %s> %s: %s;\n", w->binding_count, access, name, type);
	w->binding[++w->binding_count] = (struct tcb_argument){ kind, value };
	return w->binding_count;
}

int tcb_wgsl_input(struct tcb_wgsl *w, const char *name, const char *type, size_t operand)
{
	return bind(w, name, type, "read", TCB_ARGUMENT_OPERAND, operand);
}

int tcb_wgsl_output(struct tcb_wgsl *w, const char *name, const char *type, size_t operand)
{
	return bind(w, name, type, "read_write", TCB_ARGUMENT_OPERAND, operand);
}

int tcb_wgsl_workspace(struct tcb_wgsl *w, const char *name, const char *type, size_t bytes)
{
	const size_t at = tcb_round_up(w->out->workspace_bytes, TCB_WGSL_WORKSPACE_ALIGN);

	w->out->workspace_bytes = at + tcb_round_up(bytes, TCB_WGSL_ALIGN);
	w->bytes[w->binding_count + 1] = w->out->workspace_bytes - at;
	return bind(w, name, type, "read_write", TCB_ARGUMENT_WORKSPACE, at);
}

void tcb_wgsl_number(struct tcb_wgsl *w, const char *name, size_t value)
{
	struct tcb_wgsl_constant *number = &w->number[w->number_count++];

	assert(w->number_count <= TCB_WGSL_CONSTANTS_MAX && value <= UINT32_MAX);
	snprintf(number->name, sizeof number->name, "%s", name);
	number->value = (uint32_t)value;
	tcb_wgsl_add(w, "override %s: u32;\n", name);
}

void tcb_wgsl_need(struct tcb_wgsl *w, enum tcb_wgpu_feature feature)
{
	w->features |= 1u << feature;
}

void tcb_wgsl_begin(struct tcb_wgsl *w, const char *name, const struct tcb_wgsl_entry *entry)
{
	struct tcb_launch *launch = &w->out->launch[w->out->launch_count];
	struct tcb_launch_wgsl *own = &w->code->launch[w->out->launch_count++];

	assert(w->out->launch_count <= TCB_LAUNCHES_MAX);
	launch->entry = name;
	for (int i = 0; i < 3; i++) {
		launch->grid[i] = entry->grid[i] ? entry->grid[i] : 1;
		launch->block[i] = i ? 1 : entry->workgroup;
	}
	for (; entry->uses[launch->argument_count]; launch->argument_count++) {
		const int use = entry->uses[launch->argument_count];

		own->binding[launch->argument_count] = (uint8_t)(use - 1);
		own->bytes[launch->argument_count] = w->bytes[use];
		launch->argument[launch->argument_count] = w->binding[use];
	}
	tcb_wgsl_add(w, "\n@compute @workgroup_size(%u)\n", entry->workgroup);
	tcb_wgsl_add(w,
		     "fn %s(\n"
		     "@builtin(workgroup_id) group: vec3<u32>,\n"
		     "@builtin(local_invocation_index) local: u32,\n",
		     name);
	if (entry->subgroups) {
		tcb_wgsl_need(w, TCB_WGPU_SUBGROUPS);
		tcb_wgsl_add(w, "@builtin(subgroup_invocation_id) lane: u32,\n"
				"@builtin(subgroup_size) lanes: u32,\n");
	}
	tcb_wgsl_add(w, ") {\n");
}

void tcb_wgsl_end(struct tcb_wgsl *w)
{
	tcb_wgsl_add(w, "}\n");
}

/* ---- open, close ---- */

enum tcb_status tcb_wgsl_open(struct tcb_wgsl *w, const struct tcb_problem *problem,
			      const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	memset(w, 0, sizeof *w);
	memset(out, 0, sizeof *out);
	out->problem = *problem;
	if (geometry)
		out->geometry = *geometry;
	else
		tcb_geometry_init(&out->geometry);
	out->language = &tcb_language_wgsl;
	out->not_simulated = "there is no simulation of WGSL";
	w->out = out;
	w->code = out->code = calloc(1, sizeof *w->code);
	return w->code ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel");
}

enum tcb_status tcb_wgsl_close(struct tcb_wgsl *w, struct tcb_error *err)
{
	static const struct {
		enum tcb_wgpu_feature feature;
		const char *directive;
	} rows[] = { { TCB_WGPU_F16, "enable f16;\n" }, { TCB_WGPU_SUBGROUPS, "enable subgroups;\n" } };
	struct tcb_str *text = &w->code->text;

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (w->features >> rows[i].feature & 1u)
			tcb_str_add(text, rows[i].directive);
	tcb_str_add_bytes(text, w->text.data, w->text.length);
	text->failed |= w->text.failed;
	tcb_str_fini(&w->text);
	for (size_t i = 0; i < w->out->launch_count; i++) {
		w->code->launch[i].constant_count = w->number_count;
		memcpy(w->code->launch[i].constant, w->number, sizeof w->number);
	}
	if (!text->failed)
		return TCB_OK;
	tcb_kernel_fini(w->out);
	return tcb_fail(err, TCB_E_NOMEM, "out of memory for a kernel's text");
}
