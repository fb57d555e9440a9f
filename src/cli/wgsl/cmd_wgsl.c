/* SPDX-License-Identifier: MIT
 *
 * tcbtune wgsl --op OP: the WGSL that the tuned geometry becomes, with what a program
 * needs to run it in a WebGPU device of its own, printed or as files; --check compiles it.
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/kind.h"
#include "base/kinds/wgpu_kind.h"
#include "cli/core/tuned.h"
#include "cli/wgsl/cmd_wgsl.h"
#include "device/wgpu.h"
#include "kernels/constraint.h"
#include "kernels/language.h"
#include "kernels/wgsl/wgsl_code.h"

struct wgsl_args {
	const struct tcb_registry *ops;
	const char *op, *device, *shape, *contract, *geometry, *db, *out;
	struct cli_list set;
	int state; /* enum tcb_state */
	int check, with_case, json;
};

static const struct cli_option options[] = {
	CLI_OPTION_OP(struct wgsl_args, 1, "the op whose kernel is wanted"),
	{ "device", "DEV", CLI_TEXT, offsetof(struct wgsl_args, device),
	  "an adapter (wgpu:0; wgpu:0:trusted without its checks), or what every WebGPU device has (wgpu:portable)",
	  .names = CLI_NAMES_DEVICE, .fallback = "wgpu:portable" },
	{ "shape", "MxNxK", CLI_TEXT, offsetof(struct wgsl_args, shape), "the problem's shape",
	  .note = "the op's first default shape" },
	CLI_OPTION_CONTRACT(struct wgsl_args),
	{ "state", "STATE", CLI_WORD, offsetof(struct wgsl_args, state),
	  "what the caches hold when the kernel is called", .words = "cold|hot", .fallback = "cold" },
	{ "geometry", "G", CLI_TEXT, offsetof(struct wgsl_args, geometry), "the geometry to emit",
	  .note = "as 'tcbtune lookup' answers" },
	{ "set", "KNOB=VALUE", CLI_LIST, offsetof(struct wgsl_args, set), "change one word of that geometry",
	  .note = "none" },
	{ "check", NULL, CLI_FLAG, offsetof(struct wgsl_args, check), "compile it on that adapter" },
	{ "out", "DIR", CLI_TEXT, offsetof(struct wgsl_args, out),
	  "the folder, made if need be, where OP.wgsl and OP.json go", .note = "standard output" },
	{ "case", NULL, CLI_FLAG, offsetof(struct wgsl_args, with_case),
	  "write the operands of a call and its right result there, too" },
	CLI_OPTION_DB(struct wgsl_args),
	CLI_OPTION_JSON(struct wgsl_args),
	CLI_OPTION_END,
};

/* --- the geometry --- */

/* WORD, "unroll=2", in the place of what TEXT has for it, or behind it. */
static enum tcb_status set_word(const char *word, char text[TCB_GEOMETRY_TEXT_MAX], struct tcb_error *err)
{
	const char *equals = strchr(word, '=');
	const size_t name = equals ? (size_t)(equals - word) + 1 : 0;
	char out[2 * TCB_GEOMETRY_TEXT_MAX];
	size_t length = 0;
	int is_set = 0;

	if (name < 2 || strchr(word, ',') || strlen(word) >= TCB_GEOMETRY_TEXT_MAX)
		return tcb_fail(err, TCB_E_USAGE, "--set takes one word of a geometry, as unroll=2, not '%.80s'", word);
	for (const char *at = text; *at; at += strcspn(at, ","), at += *at == ',') {
		const int is_it = strncmp(at, word, name) == 0;
		const char *from = is_it ? word : at;

		length += (size_t)snprintf(out + length, sizeof out - length, "%s%.*s", length ? "," : "",
					   (int)strcspn(from, ","), from);
		is_set |= is_it;
	}
	if (!is_set)
		length += (size_t)snprintf(out + length, sizeof out - length, ",%s", word);
	if (length >= TCB_GEOMETRY_TEXT_MAX)
		return tcb_fail(err, TCB_E_USAGE, "--set makes the geometry too long");
	memcpy(text, out, length + 1);
	return TCB_OK;
}

static enum tcb_status choose(const struct wgsl_args *args, const struct tcb_problem *problem,
			      struct wgsl_served *served, struct tcb_geometry *out, struct tcb_error *err)
{
	const struct cli_query query = { args->ops, args->db, args->device, 0, served->state };
	const char *given = args->geometry;

	served->is_looked_up = !given && !args->set.count;
	if (!given) {
		TCB_TRY(cli_tuned_find(&query, problem, &served->tuning, err));
		given = served->tuning.geometry;
	}
	if (strlen(given) >= sizeof served->geometry)
		return tcb_fail(err, TCB_E_USAGE, "a geometry is no longer than %zu", sizeof served->geometry - 1);
	strcpy(served->geometry, given);
	for (size_t i = 0; i < args->set.count; i++)
		TCB_TRY(set_word(args->set.items[i], served->geometry, err));
	TCB_TRY(cli_find_geometry(served->op, problem, &served->place.device.target, served->geometry, out, err));
	tcb_geometry_print(out, served->geometry);
	return TCB_OK;
}

static enum tcb_status prepare(const struct wgsl_args *args, struct wgsl_served *served, struct tcb_error *err)
{
	struct tcb_geometry geometry;
	struct tcb_problem problem;

	served->state = (enum tcb_state)args->state;
	if (args->with_case && !args->out)
		return tcb_fail(err, TCB_E_USAGE, "--case writes files: give --out, the folder where they go");
	TCB_TRY(cli_find_op(args->ops, args->op, &served->op, err));
	if (tcb_kind_asked(args->device) && tcb_kind_asked(args->device) != &tcb_kind_wgpu)
		return tcb_fail(err, TCB_E_USAGE, "'wgsl' is for WebGPU: --device wgpu:0 or wgpu:portable, not %.60s",
				args->device);
	TCB_TRY(cli_open_device(args->device, 0, &served->place, err));
	TCB_TRY(tcb_op_require(served->op, &served->place.device.target, err));
	TCB_TRY(cli_make_problem(served->op, args->contract, args->shape, &problem, err));
	TCB_TRY(choose(args, &problem, served, &geometry, err));
	TCB_TRY(tcb_kernel_emit(&problem, &served->place.device.target, &geometry, &served->kernel, err));
	tcb_kernel_print(&served->kernel, &served->text);
	return served->text.failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory for the WGSL") : TCB_OK;
}

/* --- --check --- */

static enum tcb_status make_pipelines(const struct wgsl_served *served, const char *text,
				      struct tcb_wgpu_session *session, struct tcb_error *err)
{
	const WGPUShaderModule module =
		tcb_wgpu_module(session, text, served->place.device.target.wgpu.is_checked != 0);
	struct tcb_wgpu_constant constants[TCB_WGSL_CONSTANTS_MAX];
	char why[TCB_WGPU_WHY_MAX];
	int failed = tcb_wgpu_failed(session, why);

	for (size_t i = 0; i < served->kernel.launch_count && !failed; i++) {
		const struct tcb_launch_wgsl *own = &tcb_kernel_wgsl(&served->kernel)->launch[i];
		WGPUComputePipeline pipeline;

		for (uint32_t c = 0; c < own->constant_count; c++)
			constants[c] = (struct tcb_wgpu_constant){ .name = tcb_wgpu_text(own->constant[c].name),
								   .value = own->constant[c].value };
		pipeline = tcb_wgpu_pipeline(session, module, served->kernel.launch[i].entry, constants,
					     own->constant_count);
		failed = tcb_wgpu_failed(session, why);
		if (pipeline)
			session->wgpu->pipeline_release(pipeline);
	}
	if (module)
		session->wgpu->module_release(module);
	return failed ? tcb_fail(err, TCB_E_VERIFY, "it does not compile: %s", why) : TCB_OK;
}

/* TEXT, which has lines and columns as they are printed. */
static enum tcb_status check(const struct wgsl_served *served, const char *text, struct tcb_error *err)
{
	struct tcb_wgpu_session session = { .wgpu = NULL };
	enum tcb_status status;

	if (served->place.is_absent)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "--check needs an adapter, as --device wgpu:0: %s is %s",
				served->place.address, served->place.device.model);
	status = tcb_wgpu_session_open((unsigned)tcb_wgpu_ordinal(served->place.address), &session, err);
	if (status == TCB_OK)
		status = make_pipelines(served, text, &session, err);
	tcb_wgpu_session_close(&session);
	return status;
}

/* --- output --- */

/* Of WHOLE, or with FILE of what is in that file beside it; CASE_ROWS: NULL, or of a case there, taken. */
static json_t *document(const struct wgsl_args *args, const struct wgsl_served *served, const struct tcb_str *whole,
			const char *file, json_t *case_rows)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.wgsl.1", &failed);

	wgsl_set_json(served, root, &failed);
	cli_json_set(root, "compiled", args->check ? json_true() : json_null(), &failed);
	cli_json_set(root, file ? "file" : "wgsl", json_string(file ? file : whole->data), &failed);
	if (case_rows)
		cli_json_set(root, "case", case_rows, &failed);
	return cli_json_end(root, failed);
}

static enum tcb_status write_files(const struct wgsl_args *args, const struct wgsl_served *served,
				   const struct tcb_str *whole, struct tcb_error *err)
{
	const char *name = served->op->name;
	char path[PATH_MAX], file[TCB_OP_NAME_MAX + 8];
	json_t *case_rows = NULL;

	if (snprintf(path, sizeof path, "%s/%s.wgsl", args->out, name) >= (int)sizeof path)
		return tcb_fail(err, TCB_E_USAGE, "--out: the folder's name is too long");
	if (mkdir(args->out, 0777) != 0 && errno != EEXIST)
		return tcb_fail(err, TCB_E_IO, "--out: cannot make %.300s: %s", args->out, strerror(errno));
	TCB_TRY(cli_write_file(path, whole->data, whole->length, err));
	snprintf(file, sizeof file, "%s.wgsl", name);
	snprintf(path, sizeof path, "%s/%s.json", args->out, name);
	if (args->with_case)
		TCB_TRY(wgsl_write_case(served, args->out, &case_rows, err));
	return cli_emit_json_to(path, document(args, served, whole, file, case_rows), err);
}

static enum tcb_status print_all(const struct wgsl_args *args, const struct wgsl_served *served, struct tcb_str *whole,
				 struct tcb_error *err)
{
	if (args->out)
		TCB_TRY(write_files(args, served, whole, err));
	if (args->json)
		return cli_emit_json(document(args, served, whole, NULL, NULL), err);
	return args->out ? TCB_OK : cli_emit_to(NULL, whole, err);
}

static enum tcb_status run_wgsl(const void *arguments, struct tcb_error *err)
{
	const struct wgsl_args *args = arguments;
	struct wgsl_served served = { .op = NULL };
	struct tcb_str whole = { 0 };
	enum tcb_status status = prepare(args, &served, err);

	if (status == TCB_OK) {
		wgsl_add_head(&served, &whole);
		tcb_str_add_bytes(&whole, served.text.data, served.text.length);
		if (whole.failed)
			status = tcb_fail(err, TCB_E_NOMEM, "out of memory for the WGSL");
	}
	if (status == TCB_OK && args->check)
		status = check(&served, whole.data, err);
	if (status == TCB_OK)
		status = print_all(args, &served, &whole, err);
	tcb_str_fini(&whole);
	tcb_str_fini(&served.text);
	tcb_kernel_fini(&served.kernel);
	return status;
}

const struct cli_command cli_command_wgsl = {
	.name = "wgsl",
	.summary = "print a kernel's WGSL, and what a WebGPU program needs to run it",
	.description =
		"Prints the module of the geometry that 'tcbtune lookup' answers with, or of --geometry.  Comments "
		"above it say each dispatch: entry, workgroup size, dispatchWorkgroups' counts, and what is bound at "
		"which number; 'constants' are the pipeline's overrides.  The dispatches follow each other in one "
		"pass.  Every binding has its bytes rounded up to 16; whatever lies behind an operand's end is read "
		"and not used.  --out writes module and JSON as files, for pages and engines, with --case also what a "
		"call reads, as it is bound, and of what it writes the right values and how far off each may be, as "
		"32-bit floats (examples/webgpu/).  --check compiles it on "
		"the adapter, and says line and column of what is refused; it "
		"exits with 4 then.",
	.examples = "  tcbtune wgsl --op reduce2d_sum --shape 4096x4096\n"
		    "  tcbtune wgsl --op softmax --device wgpu:0 --check --json\n"
		    "  tcbtune wgsl --op softmax --device wgpu:0 --shape 2048x4096 --out shaders\n",
	.options = options,
	.args_bytes = sizeof(struct wgsl_args),
	.run = run_wgsl,
};
