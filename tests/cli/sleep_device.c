/* SPDX-License-Identifier: MIT
 *
 * A kind of device that is none of the program's: "sleep:0" has the scalar
 * kernels of ops, and a call of one sleeps for a time that its geometry alone
 * says.  Linked before the libraries, these tables take the places of the
 * program's, which are alone in their files; nothing else of it knows.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/kind.h"
#include "device/cpu_device.h"
#include "device/device.h"
#include "worker/backend.h"

enum { SLEEP = TCB_TARGET_COUNT, STEP_NS = 20000, LIMIT_NS = 10000 };

/* ---- base ---- */

static int is_asked(const char *name)
{
	return strcmp(name, "sleep:0") == 0;
}

static int is_stored(const char *name, const char **key_out)
{
	*key_out = NULL;
	return is_asked(name);
}

static void add_forms(struct tcb_str *out)
{
	tcb_str_add(out, "sleep:0");
}

static void add_names(struct tcb_str *out)
{
	tcb_str_add(out, " sleep:0");
}

static int recall(struct tcb_device *device)
{
	device->target = (struct tcb_target){
		.kind = (enum tcb_target_kind)SLEEP, .isa_mask = 1u << TCB_ISA_SCALAR, .threads = 1, .line_bytes = 64
	};
	return 1;
}

static void name_arch(const struct tcb_target *target, char *out, size_t capacity)
{
	(void)target;
	snprintf(out, capacity, "sleeper");
}

static size_t known(struct tcb_device *out, size_t capacity, struct tcb_error *err)
{
	(void)err;
	if (capacity == 0)
		return 0;
	*out = (struct tcb_device){
		.name = "sleep:0", .key = "51ee9000000051ee", .arch = "sleeper", .model = "A bed", .has_ecc = -1
	};
	return recall(out) != 0;
}

static const struct tcb_kind_limit limits[] = { { "line_bytes", offsetof(struct tcb_target, line_bytes), 1 },
						{ NULL, 0, 0 } };

static const struct tcb_kind kind_sleep = {
	.name = "sleep",
	.side = TCB_TARGET_CPU,
	.has_threads = 1,
	.unit = TCB_MICRO,
	.knobs = TCB_SCOPE_CPU,
	.advice = { "get up", "get up", "get up", "get up", "the bed" },
	.limits = limits,
	.is_asked = is_asked,
	.add_forms = add_forms,
	.add_names = add_names,
	.is_stored = is_stored,
	.known = known,
	.recall = recall,
	.name_arch = name_arch,
};

const struct tcb_kind *const tcb_kinds[] = { &tcb_kind_cpu,    &tcb_kind_cuda, &tcb_kind_wgpu,
					     &tcb_kind_opencl, &kind_sleep,    NULL };

/* ---- device ---- */

static enum tcb_status open_place(const char *name, unsigned threads, int attached_only, struct tcb_place *out,
				  struct tcb_error *err)
{
	(void)attached_only;
	if (threads > 1)
		return tcb_fail(err, TCB_E_USAGE, "%s sleeps alone", name);
	TCB_TRY(tcb_cpu_open("cpu", 1, out, err)); /* where its worker runs */
	(void)known(&out->device, 1, err);
	snprintf(out->address, sizeof out->address, "%s", name);
	return TCB_OK;
}

static enum tcb_status list(struct tcb_place **out, size_t *count_out, struct tcb_error *err)
{
	return tcb_place_list("sleep:0", out, count_out, err);
}

static void look_at_bed(const char *root, struct tcb_doctor_row *row)
{
	(void)root;
	snprintf(row->found, sizeof row->found, "made");
}

static const struct tcb_doctor_check checks[] = { { "bed", look_at_bed }, { NULL, NULL } };
static const struct tcb_device_kind device_sleep = { .open = open_place, .list = list, .checks = checks };

const struct tcb_device_kind *const tcb_device_kinds[] = { &tcb_device_cpu, &tcb_device_cuda, &tcb_device_wgpu,
							   &tcb_device_opencl, &device_sleep };

/* ---- worker ---- */

struct sleeper {
	const struct tcb_worker_config *config;
	struct tcb_geometry *prepared;
};

/* The more stages and the fewer bytes ahead, the better. */
static double time_of(const struct tcb_geometry *geometry)
{
	return STEP_NS * (4.0 - geometry->knob[TCB_KNOB_STAGES]) + geometry->knob[TCB_KNOB_PREFETCH];
}

static double sleep_for(double ns)
{
	struct timespec left = { 0, (long)ns };

	while (nanosleep(&left, &left) != 0 && errno == EINTR)
		;
	return ns; /* what its own clock says */
}

static enum tcb_status create(const struct tcb_worker_config *config, void **self_out, struct tcb_error *err)
{
	struct sleeper *sleeper = calloc(1, sizeof *sleeper);

	*self_out = sleeper;
	if (!sleeper)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a bed");
	sleeper->config = config;
	return TCB_OK;
}

static enum tcb_status attempt(void *self, const struct tcb_work *work, const struct tcb_screen_rule *rule,
			       struct tcb_trial_reply *reply, double *samples, double *lost, struct tcb_error *err)
{
	const struct sleeper *sleeper = self;
	const size_t count = rule->samples_min < rule->samples_max ? rule->samples_min : rule->samples_max;

	(void)lost;
	(void)err;
	reply->outcome = TCB_OUTCOME_OK;
	reply->class_checked = TCB_CLASS_BOUNDED;
	for (unsigned state = 0; state < TCB_STATE_COUNT; state++) {
		if (!(sleeper->config->states >> state & 1u))
			continue;
		reply->measurements[reply->measurement_count].state = state;
		reply->measurements[reply->measurement_count++].sample_count = count;
		for (size_t i = 0; i < count; i++)
			*samples++ = sleep_for(time_of(&work->geometry));
	}
	return TCB_OK;
}

static void release(void *self)
{
	struct sleeper *sleeper = self;

	free(sleeper->prepared);
	sleeper->prepared = NULL;
}

static enum tcb_status prepare(void *self, enum tcb_state state, const struct tcb_work *work, size_t count,
			       enum tcb_limit limit, char limit_method[64], struct tcb_error *err)
{
	struct sleeper *sleeper = self;

	(void)state;
	(void)limit;
	release(self);
	sleeper->prepared = calloc(count + 1, sizeof *sleeper->prepared);
	if (!sleeper->prepared)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for beds");
	for (size_t i = 0; i < count; i++)
		sleeper->prepared[i] = work[i].geometry;
	snprintf(limit_method, 64, "a nap");
	return TCB_OK;
}

static enum tcb_status time_one(void *self, uint32_t index, double *ns_out, struct tcb_error *err)
{
	const struct sleeper *sleeper = self;

	(void)err;
	*ns_out = sleep_for(index == TCB_ROUND_LIMIT ? LIMIT_NS : time_of(&sleeper->prepared[index]));
	return TCB_OK;
}

static enum tcb_status count_nothing(void *self, const struct tcb_work *work, enum tcb_state state, unsigned calls,
				     struct tcb_counter *out, size_t capacity, size_t *count_out, struct tcb_error *err)
{
	(void)self, (void)work, (void)state, (void)calls, (void)out, (void)capacity, (void)err;
	*count_out = 0;
	return TCB_OK;
}

static const struct tcb_backend backend_sleep = {
	.timeout_s = 20,
	.create = create,
	.attempt = attempt,
	.prepare = prepare,
	.time = time_one,
	.release = release,
	.count = count_nothing,
};

const struct tcb_backend *const tcb_backends[] = { &tcb_backend_cpu, &tcb_backend_cuda, &tcb_backend_wgpu,
						   &tcb_backend_opencl, &backend_sleep };
