/* SPDX-License-Identifier: MIT
 *
 * What is told of a kernel in WGSL beside its text: as comments above it, and as
 * JSON for programs.
 */
#include <string.h>

#include "base/sizes.h"
#include "cli/wgsl/cmd_wgsl.h"
#include "kernels/wgsl/wgsl_code.h"

/* What is bound at one number. */
struct binding {
	const char *name, *role, *type;
	size_t bytes, offset; /* OFFSET: in the workspace */
	int is_packed;
};

/* What argument INDEX of LAUNCH is. */
static struct binding binding_of(const struct wgsl_served *served, size_t launch, size_t index)
{
	static const char *const roles[] = {
		[TCB_ROLE_INPUT] = "input", [TCB_ROLE_WEIGHTS] = "weights", [TCB_ROLE_OUTPUT] = "output"
	};
	const struct tcb_kernel *kernel = &served->kernel;
	const struct tcb_argument *argument = &kernel->launch[launch].argument[index];
	struct tcb_operand operands[TCB_OPERANDS_MAX];

	if (argument->kind == TCB_ARGUMENT_WORKSPACE)
		return (struct binding){ .name = "workspace",
					 .role = "workspace",
					 .type = "bytes",
					 .bytes = tcb_kernel_wgsl(kernel)->launch[launch].bytes[index],
					 .offset = argument->value };
	(void)served->op->operands(&kernel->problem, operands);
	const struct tcb_operand *operand = &operands[argument->value];
	const size_t packed = kernel->packed_bytes[argument->value];

	return (struct binding){ .name = operand->name,
				 .role = roles[operand->role],
				 .type = tcb_type_text(operand->type),
				 .bytes = tcb_round_up(packed ? packed : operand->bytes, TCB_WGSL_ALIGN),
				 .is_packed = packed != 0 };
}

/* --- comments --- */

static void add_launch(const struct wgsl_served *served, size_t index, struct tcb_str *out)
{
	const struct tcb_launch *launch = &served->kernel.launch[index];
	const struct tcb_launch_wgsl *own = &tcb_kernel_wgsl(&served->kernel)->launch[index];

	tcb_str_addf(out, "//\n// dispatch %zu: %s, workgroups of %u, dispatchWorkgroups(%u, %u, %u)\n", index + 1,
		     launch->entry, launch->block[0], launch->grid[0], launch->grid[1], launch->grid[2]);
	for (size_t i = 0; i < launch->argument_count; i++) {
		const struct binding b = binding_of(served, index, i);

		tcb_str_addf(out, "//   binding %u: %s, %zu bytes", own->binding[i], b.name, b.bytes);
		if (launch->argument[i].kind == TCB_ARGUMENT_WORKSPACE)
			tcb_str_addf(out, " from %zu on, zero before the first call", b.offset);
		else
			tcb_str_addf(out, ", %s of %s%s", b.role, b.type, b.is_packed ? ", packed" : "");
		tcb_str_add(out, "\n");
	}
}

static void add_origin(const struct wgsl_served *served, struct tcb_str *out)
{
	const struct tcbrt_tuning *tuning = &served->tuning;
	char us[CLI_NUMBER_MAX];

	if (!served->is_looked_up)
		return;
	tcb_str_addf(out, "// source: %s", tcbrt_source_text(tuning->source));
	cli_text_us(tuning->expected_ns, us);
	if (tuning->expected_ns > 0)
		tcb_str_addf(out, ", %s us %s, verdict %s", us, tcb_state_text(served->state),
			     tcbrt_verdict_text(tuning->verdict));
	tcb_str_add(out, "\n");
}

void wgsl_add_head(const struct wgsl_served *served, struct tcb_str *out)
{
	const struct tcb_kernel *kernel = &served->kernel;
	const struct tcb_launch_wgsl *own = &tcb_kernel_wgsl(kernel)->launch[0];
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&kernel->problem.shape, shape);
	tcb_str_addf(out, "// %s %s, contract %s, for ", served->op->name, shape,
		     tcb_contract_text(kernel->problem.contract));
	cli_add_shown(out, served->place.device.name);
	if (!served->place.device.target.wgpu.is_checked)
		tcb_str_add(out, "\n// trusted: tuned without checks of bounds and loops, for programs that create its "
				 "module without them");
	tcb_str_addf(out, "\n// geometry: %s\n", served->geometry);
	add_origin(served, out);
	for (uint32_t i = 0; i < own->constant_count; i++)
		tcb_str_addf(out, "%s%s = %u%s", i ? ", " : "// constants: ", own->constant[i].name,
			     own->constant[i].value, i + 1 == own->constant_count ? "\n" : "");
	if (kernel->workspace_bytes)
		tcb_str_addf(out, "// workspace: %zu bytes\n", kernel->workspace_bytes);
	for (size_t i = 0; i < kernel->launch_count; i++)
		add_launch(served, i, out);
	tcb_str_add(out, "\n");
}

/* --- JSON --- */

static json_t *binding_json(unsigned number, const struct binding *b, int *failed)
{
	json_t *row = json_object();

	cli_json_set(row, "binding", cli_json_size(number), failed);
	cli_json_set(row, "name", cli_json_text(b->name), failed);
	cli_json_set(row, "role", json_string(b->role), failed);
	cli_json_set(row, "type", json_string(b->type), failed);
	cli_json_set(row, "bytes", cli_json_size(b->bytes), failed);
	cli_json_set(row, "workspace_offset", cli_json_size(b->offset), failed);
	cli_json_set(row, "packed", json_boolean(b->is_packed), failed);
	return row;
}

static json_t *launch_json(const struct wgsl_served *served, size_t index, int *failed)
{
	const struct tcb_launch *launch = &served->kernel.launch[index];
	const struct tcb_launch_wgsl *own = &tcb_kernel_wgsl(&served->kernel)->launch[index];
	json_t *row = json_object(), *grid = json_array(), *constants = json_object(), *bindings = json_array();

	for (int i = 0; i < 3; i++)
		cli_json_add(grid, cli_json_size(launch->grid[i]), failed);
	for (uint32_t i = 0; i < own->constant_count; i++)
		cli_json_set(constants, own->constant[i].name, cli_json_size(own->constant[i].value), failed);
	for (size_t i = 0; i < launch->argument_count; i++) {
		const struct binding b = binding_of(served, index, i);

		cli_json_add(bindings, binding_json(own->binding[i], &b, failed), failed);
	}
	cli_json_set(row, "entry", cli_json_text(launch->entry), failed);
	cli_json_set(row, "workgroup", cli_json_size(launch->block[0]), failed);
	cli_json_set(row, "dispatch", grid, failed);
	cli_json_set(row, "constants", constants, failed);
	cli_json_set(row, "bindings", bindings, failed);
	return row;
}

/* As a page asks for them when it requests its device. */
static json_t *features_json(const char *text, int *failed)
{
	static const char *const rows[][2] = { { "enable f16;\n", "shader-f16" },
					       { "enable subgroups;\n", "subgroups" } };
	json_t *list = json_array();

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strstr(text, rows[i][0]))
			cli_json_add(list, json_string(rows[i][1]), failed);
	return list;
}

void wgsl_set_json(const struct wgsl_served *served, json_t *root, int *failed)
{
	const struct tcb_kernel *kernel = &served->kernel;
	const struct tcbrt_tuning *tuning = &served->tuning;
	const int is_timed = served->is_looked_up && tuning->expected_ns > 0;
	json_t *launches = json_array();

	cli_json_set(root, "op", cli_json_text(served->op->name), failed);
	cli_json_set(root, "contract", json_string(tcb_contract_text(kernel->problem.contract)), failed);
	cli_json_set(root, "shape", cli_json_shape(&kernel->problem.shape), failed);
	cli_json_set(root, "device", cli_json_text(served->place.device.name), failed);
	cli_json_set(root, "trusted", json_boolean(!served->place.device.target.wgpu.is_checked), failed);
	cli_json_set(root, "state", json_string(tcb_state_text(served->state)), failed);
	cli_json_set(root, "geometry", cli_json_text(served->geometry), failed);
	cli_json_set(root, "source", json_string(served->is_looked_up ? tcbrt_source_text(tuning->source) : "given"),
		     failed);
	cli_json_set(root, "reason", served->is_looked_up ? cli_json_text(tuning->reason) : json_null(), failed);
	cli_json_set(root, "verdict",
		     served->is_looked_up ? json_string(tcbrt_verdict_text(tuning->verdict)) : json_null(), failed);
	cli_json_set(root, "expected_ns", is_timed ? cli_json_real(tuning->expected_ns) : json_null(), failed);
	cli_json_set(root, "features", features_json(served->text.data, failed), failed);
	cli_json_set(root, "workspace_bytes", cli_json_size(kernel->workspace_bytes), failed);
	for (size_t i = 0; i < kernel->launch_count; i++)
		cli_json_add(launches, launch_json(served, i, failed), failed);
	cli_json_set(root, "launches", launches, failed);
}
