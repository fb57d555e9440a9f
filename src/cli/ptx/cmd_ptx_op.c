/* SPDX-License-Identifier: MIT
 *
 * In: an op, a problem, a target, a geometry.  Out: the PTX that they become,
 * and with --check the judgement on it: assembled, analysed, and run in the
 * emulator against the op's reference.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/core/setup.h"
#include "cli/ptx/cmd_ptx.h"
#include "device/gpu.h"
#include "kernels/constraint.h"
#include "kernels/default_rules.h"
#include "kernels/emulation.h"
#include "kernels/gpu/ptx_code.h"
#include "ptx/optimise/passes.h"
#include "ptx/text/text.h"

enum { SEED = 1 };

/* What one call of the command works on. */
struct job {
	const struct ptx_args *args;
	const struct tcb_op *op;
	struct tcb_gpu gpu;
	struct tcb_problem problem;
	char geometry[TCB_GEOMETRY_TEXT_MAX];
	struct tcb_kernel kernel;
	struct tcb_str ptx;
	/* --check */
	struct ptx_judgement judgement;
	int is_emulated;
	char not_emulated[200]; /* why */
	struct tcb_kernel_emulation emulation;
};

/* The last --out; NULL: none. */
static const char *out_path(const struct ptx_args *args)
{
	return args->out.count ? args->out.items[args->out.count - 1] : NULL;
}

static enum tcb_status prepare(struct job *job, struct tcb_geometry *geometry, struct tcb_error *err)
{
	const struct ptx_args *args = job->args;
	struct tcb_ptx_target target;
	char why[TCB_WHY_MAX];

	TCB_TRY(cli_find_op(args->ops, args->op, &job->op, err));
	if (!args->target)
		return tcb_fail(err, TCB_E_USAGE, "'ptx --op' needs --target: the capability to emit for, as sm_89");
	TCB_TRY(ptx_parse_target(args->target, &target, err));
	if (!tcb_op_gpu(job->op))
		return tcb_fail(err, TCB_E_UNSUPPORTED, "op %s has no GPU kernels in this build", job->op->name);
	TCB_TRY(tcb_gpu_table(target.sm, &job->gpu, err));
	TCB_TRY(cli_make_problem(job->op, args->contract, args->shape, &job->problem, err));
	if (args->geometry)
		TCB_TRY(tcb_geometry_parse_of(args->geometry, job->op->parameters, geometry, err));
	else
		tcb_default_geometry(&job->problem, &job->gpu.device.target, geometry);
	if (tcb_constraint_violated(job->op, &job->problem, &job->gpu.device.target, geometry, 1, why))
		return tcb_fail(err, TCB_E_ILLEGAL, "illegal geometry: %s", why);
	tcb_geometry_print(geometry, job->geometry);
	return TCB_OK;
}

static enum tcb_status check_pass(const char *option, const char *name, int is_all_allowed, struct tcb_error *err)
{
	const char *names[32];
	char suggestion[96];
	unsigned count;
	const struct tcb_ptx_pass *passes = tcb_ptx_passes(&count);

	if (!name || tcb_ptx_pass_find(name) || (is_all_allowed && strcmp(name, "all") == 0))
		return TCB_OK;
	for (unsigned i = 0; i < count && i < 32; i++)
		names[i] = passes[i].name;
	cli_suggestion(name, names, count < 32 ? count : 32, suggestion, sizeof suggestion);
	return tcb_fail(err, TCB_E_USAGE, "--%s: no pass is called '%s'%s", option, name, suggestion);
}

static enum tcb_status emit(struct job *job, const struct tcb_geometry *geometry, struct tcb_error *err)
{
	const struct ptx_args *args = job->args;
	const struct tcb_ptx_pipeline_debug debug = {
		.dump_after = args->dump_after, .stop_after = args->stop_after, .dump = stderr, .verify = 1
	};
	const int by_hand = args->optimise || args->dump_after || args->stop_after;
	struct tcb_geometry emitted = *geometry;

	if (by_hand) /* once is enough */
		emitted.knob[TCB_KNOB_PASSES] = TCB_KNOB_UNSET;
	TCB_TRY(check_pass("dump-after", args->dump_after, 1, err));
	TCB_TRY(check_pass("stop-after", args->stop_after, 0, err));
	TCB_TRY(tcb_kernel_emit(&job->problem, &job->gpu.device.target, &emitted, &job->kernel, err));
	if (by_hand)
		TCB_TRY(tcb_ptx_optimise(tcb_kernel_ptx(&job->kernel)->module, NULL, &debug, err));
	tcb_kernel_print(&job->kernel, &job->ptx);
	return job->ptx.failed ? tcb_fail(err, TCB_E_NOMEM, "out of memory for the PTX") : TCB_OK;
}

/* --- --check --- */

static void emulate(struct job *job)
{
	const struct tcb_ptx_sink sink = ptx_findings_sink(&job->judgement.findings);
	struct tcb_ptx_module *module = NULL;
	struct tcb_error error;
	/* Not the judged module, which the analyses have changed; not the emitted one, which has no lines. */
	enum tcb_status status = tcb_ptx_parse(job->judgement.name, job->ptx.data, job->ptx.length, &module, &error);

	if (status == TCB_OK)
		status = tcb_kernel_emulate(job->op, &job->kernel, module, SEED, &sink, &job->emulation, &error);
	if (status == TCB_OK)
		job->is_emulated = 1;
	else
		snprintf(job->not_emulated, sizeof job->not_emulated, "%.190s", error.message);
	if (module)
		tcb_ptx_module_destroy(module);
}

/* Whoever waits for minutes knows why, and what to do. */
static void say_how_long(const struct job *job)
{
	static const double FLOPS_A_MINUTE = 60 * 4e8; /* of wgmma, which the emulator is fastest at */
	const double minutes = job->op->flops ? job->op->flops(&job->problem) / FLOPS_A_MINUTE : 0;
	char shape[TCB_SHAPE_TEXT_MAX];

	tcb_shape_print(&job->problem.shape, shape);
	if (minutes >= 1)
		cli_say("emulating %s takes %.0f minutes or more; a smaller --shape tries the same code", shape,
			floor(minutes));
}

static int is_right(const struct job *job)
{
	return job->is_emulated && !job->emulation.findings && job->emulation.error_ratio <= 1;
}

static enum tcb_status check(struct job *job, struct tcb_error *err)
{
	struct tcb_ptx_check_launch launches[TCB_LAUNCHES_MAX] = { { .entry = NULL } };
	struct ptx_judge_options options;

	say_how_long(job);
	for (size_t i = 0; i < job->kernel.launch_count; i++) {
		const struct tcb_launch *launch = &job->kernel.launch[i];
		launches[i].entry = launch->entry;
		launches[i].dynamic_shared = launch->shared_bytes;
		memcpy(launches[i].block, launch->block, sizeof launches[i].block);
	}
	options = (struct ptx_judge_options){ .target = tcb_kernel_ptx(&job->kernel)->module->target,
					      .launches = launches,
					      .launch_count = job->kernel.launch_count };
	TCB_TRY(ptx_judge(out_path(job->args) ? out_path(job->args) : job->op->name, job->ptx.data, job->ptx.length,
			  &options, &job->judgement, err));
	emulate(job);
	return ptx_findings_settle(&job->judgement.findings, err);
}

static double ratio_of(uint64_t ideal, uint64_t real)
{
	return real ? (double)ideal / (double)real : 1;
}

static void emulation_text(const struct job *job, struct tcb_str *out)
{
	const struct tcb_kernel_emulation *e = &job->emulation;
	const struct tcb_ptx_counts *c = &e->total;

	if (!job->is_emulated) {
		tcb_str_addf(out, "emulated: no: %s\n", job->not_emulated);
		return;
	}
	if (e->findings) {
		tcb_str_addf(out, "emulated: stopped by %llu error%s\n", (unsigned long long)e->findings,
			     e->findings == 1 ? "" : "s");
		return;
	}
	tcb_str_addf(out, "emulated: %s: largest error %.3g of what is allowed%s%s\n",
		     e->error_ratio <= 1 ? "right" : "WRONG", e->error_ratio,
		     e->calls_differ ? "; a second call with other warp order gives other bits" : "",
		     e->error_ratio <= 1 ? "" : "; first bad output below");
	if (!(e->error_ratio <= 1))
		tcb_str_addf(out, "          output %zu of %s\n", e->first_bad, e->output);
	tcb_str_addf(out, "          %llu warp instructions, %llu thread instructions, %llu divergent branches\n",
		     (unsigned long long)c->warps, (unsigned long long)c->threads, (unsigned long long)c->divergent);
	tcb_str_addf(
		out,
		"          shared: %llu wavefronts, %.3f of them needed; global: %llu sectors, %.3f of them needed\n",
		(unsigned long long)c->wavefronts, ratio_of(c->wavefronts_ideal, c->wavefronts),
		(unsigned long long)c->sectors, ratio_of(c->sectors_ideal, c->sectors));
}

static json_t *emulation_json(const struct job *job, int *failed)
{
	static const char *const classes[] = {
#define CLASS_NAME(id, name) name,
		TCB_PTX_CLASS_LIST(CLASS_NAME)
#undef CLASS_NAME
	};
	const struct tcb_kernel_emulation *e = &job->emulation;
	json_t *row = json_object(), *by_class = json_object();
	const char *state = !job->is_emulated ? "not run" : e->findings ? "fault" : is_right(job) ? "right" : "wrong";

	cli_json_set(row, "state", json_string(state), failed);
	cli_json_set(row, "note", job->is_emulated ? json_null() : json_string(job->not_emulated), failed);
	cli_json_set(row, "error_ratio", job->is_emulated && !e->findings ? cli_json_real(e->error_ratio) : json_null(),
		     failed);
	cli_json_set(row, "calls_differ", json_boolean(e->calls_differ), failed);
	cli_json_set(row, "warp_instructions", cli_json_size(e->total.warps), failed);
	cli_json_set(row, "thread_instructions", cli_json_size(e->total.threads), failed);
	cli_json_set(row, "divergent_branches", cli_json_size(e->total.divergent), failed);
	cli_json_set(row, "shared_wavefronts", cli_json_size(e->total.wavefronts), failed);
	cli_json_set(row, "shared_wavefronts_ideal", cli_json_size(e->total.wavefronts_ideal), failed);
	cli_json_set(row, "global_sectors", cli_json_size(e->total.sectors), failed);
	cli_json_set(row, "global_sectors_ideal", cli_json_size(e->total.sectors_ideal), failed);
	cli_json_set(row, "global_read_bytes", cli_json_size(e->global_read_bytes), failed);
	cli_json_set(row, "global_write_bytes", cli_json_size(e->global_write_bytes), failed);
	for (int i = 0; i < TCB_PTX_COUNT_CLASSES; i++)
		cli_json_set(by_class, classes[i], cli_json_size(e->by_class[i]), failed);
	cli_json_set(row, "by_class", by_class, failed);
	cli_json_set(row, "seconds", cli_json_real(e->seconds), failed);
	return row;
}

/* --- output --- */

static json_t *dimensions(const uint32_t values[3], int *failed)
{
	json_t *row = json_array();

	for (int i = 0; i < 3; i++)
		cli_json_add(row, cli_json_size(values[i]), failed);
	return row;
}

static json_t *launch_json(const struct tcb_kernel *kernel, size_t index, int *failed)
{
	const struct tcb_launch *launch = &kernel->launch[index];
	const struct tcb_launch_ptx *own = &tcb_kernel_ptx(kernel)->launch[index];
	json_t *row = json_object();

	cli_json_set(row, "entry", json_string(launch->entry), failed);
	cli_json_set(row, "grid", dimensions(launch->grid, failed), failed);
	cli_json_set(row, "block", dimensions(launch->block, failed), failed);
	cli_json_set(row, "cluster", own->cluster[0] ? dimensions(own->cluster, failed) : json_null(), failed);
	cli_json_set(row, "dynamic_shared_bytes", cli_json_size(launch->shared_bytes), failed);
	cli_json_set(row, "dependent", json_boolean(own->is_dependent), failed);
	return row;
}

static enum tcb_status print_json(const struct job *job, struct tcb_error *err)
{
	int failed = 0;
	json_t *root = cli_json_start("tcbtune.ptx.1", &failed), *launches = json_array(), *judged;
	char target[16];

	snprintf(target, sizeof target, "sm_%u%.1s", tcb_kernel_ptx(&job->kernel)->module->target.sm,
		 &tcb_kernel_ptx(&job->kernel)->module->target.feature);
	cli_json_set(root, "op", json_string(job->op->name), &failed);
	cli_json_set(root, "contract", json_string(tcb_contract_text(job->problem.contract)), &failed);
	cli_json_set(root, "shape", cli_json_shape(&job->problem.shape), &failed);
	cli_json_set(root, "target", json_string(target), &failed);
	cli_json_set(root, "geometry", json_string(job->geometry), &failed);
	cli_json_set(root, "packed_bytes", cli_json_size(tcb_packed_total(job->kernel.packed_bytes)), &failed);
	cli_json_set(root, "workspace_bytes", cli_json_size(job->kernel.workspace_bytes), &failed);
	for (size_t i = 0; i < job->kernel.launch_count; i++)
		cli_json_add(launches, launch_json(&job->kernel, i, &failed), &failed);
	cli_json_set(root, "launches", launches, &failed);
	cli_json_set(root, "ptx", json_string(job->ptx.data), &failed);
	if (job->args->check) {
		judged = cli_json_start("tcbtune.ptx-check.1", &failed);
		ptx_judgement_json(&job->judgement, judged, &failed);
		cli_json_set(root, "check", judged, &failed);
		cli_json_set(root, "emulation", emulation_json(job, &failed), &failed);
	}
	return cli_emit_json(cli_json_end(root, failed), err);
}

static enum tcb_status print_all(struct job *job, struct tcb_error *err)
{
	struct tcb_str out = { 0 };

	if (out_path(job->args))
		TCB_TRY(cli_write_file(out_path(job->args), job->ptx.data, job->ptx.length, err));
	if (job->args->json)
		return print_json(job, err);
	if (job->args->check) {
		ptx_judgement_text(&job->judgement, ptx_terminal_width(), &out);
		emulation_text(job, &out);
		return cli_emit_text(&out, err);
	}
	if (out_path(job->args))
		return TCB_OK;
	tcb_str_add(&out, job->ptx.data);
	return cli_emit(&out, err);
}

enum tcb_status ptx_emit_op(const struct ptx_args *args, struct tcb_error *err)
{
	struct job job = { .args = args };
	struct tcb_geometry geometry;
	enum tcb_status status = prepare(&job, &geometry, err);

	if (status == TCB_OK)
		status = emit(&job, &geometry, err);
	if (status == TCB_OK && args->check)
		status = check(&job, err);
	if (status == TCB_OK)
		status = print_all(&job, err);
	if (status == TCB_OK && args->check && (job.judgement.findings.count[TCB_PTX_ERROR] || !is_right(&job)))
		status = tcb_fail(err, TCB_E_VERIFY, "%s %s: %s", args->op, job.geometry,
				  job.judgement.findings.count[TCB_PTX_ERROR] ? "there are errors"
				  : job.is_emulated                           ? "the results are wrong"
									      : job.not_emulated);
	ptx_judgement_fini(&job.judgement);
	tcb_str_fini(&job.ptx);
	tcb_kernel_fini(&job.kernel);
	return status;
}
