/* SPDX-License-Identifier: MIT
 *
 * Plans as bytes: what was planned (op, contract, shape, device, geometry) and the
 * signature of its kernel, behind a checksum.  Nothing of it is believed, since
 * anybody may have written it: the geometry is held against the op's constraints,
 * the kernel is this library's, written again and compared, and there is no
 * machine code in it, which nobody could tell from an altered one but by making it.
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "rt/rt_plan.h"

static const char MAGIC[8] = "tcbplan"; /* read on a machine of the other byte order, RT_SAVED_FORMAT differs */

static uint64_t checksum_of(const struct rt_saved *saved)
{
	const size_t from = offsetof(struct rt_saved, checksum) + sizeof(saved->checksum);

	return tcb_hash64((const char *)saved + from, sizeof(*saved) - from, RT_SAVED_FORMAT);
}

void rt_saved_sign(struct rt_saved *saved)
{
	saved->checksum = checksum_of(saved);
}

static void fill(const struct tcbrt_plan *plan, struct rt_saved *out)
{
	const struct tcb_problem *problem = &plan->problem;

	memset(out, 0, sizeof(*out));
	memcpy(out->magic, MAGIC, sizeof(out->magic));
	out->format = RT_SAVED_FORMAT;
	out->head_bytes = sizeof(*out);
	out->m = problem->shape.m;
	out->n = problem->shape.n;
	out->k = problem->shape.k;
	out->x_stride = problem->x_stride;
	out->y_stride = problem->y_stride;
	out->words = problem->shape.words;
	out->contract = (uint32_t)problem->contract;
	out->threads = plan->info.tuning.threads;
	out->source = (uint32_t)plan->info.tuning.source;
	snprintf(out->version, sizeof(out->version), "%d.%d.%d", TCBRT_VERSION_MAJOR, TCBRT_VERSION_MINOR,
		 TCBRT_VERSION_PATCH);
	snprintf(out->op, sizeof(out->op), "%s", problem->op->name);
	memcpy(out->device, plan->device, sizeof(out->device));
	memcpy(out->device_key, plan->device_key, sizeof(out->device_key));
	memcpy(out->signature, plan->signature, sizeof(out->signature));
	tcb_geometry_print(&plan->geometry, out->geometry);
	memcpy(out->reason, plan->info.tuning.reason, sizeof(out->reason));
	rt_saved_sign(out);
}

int tcbrt_plan_save(const struct tcbrt_plan *plan, void *blob, size_t capacity, size_t *bytes_out)
{
	struct rt_saved saved;

	if (!plan || !bytes_out)
		return TCBRT_E_USAGE;
	*bytes_out = sizeof(saved);
	if (!blob)
		return TCBRT_OK;
	if (capacity < sizeof(saved))
		return TCBRT_E_OVERFLOW;
	fill(plan, &saved);
	memcpy(blob, &saved, sizeof(saved));
	return TCBRT_OK;
}

/* Words that may be shown: a control character would reach somebody's terminal. */
static int is_text(const char *text, size_t capacity)
{
	if (!memchr(text, '\0', capacity))
		return 0;
	while (*text && (unsigned char)*text >= ' ' && *text != 0x7f)
		text++;
	return !*text;
}

/* Is VALUE what a word may be, where the one that must be with it IS_GIVEN, behind a first number FIRST? */
static int is_word(const struct tcb_word_row *row, uint32_t value, uint32_t first, int is_given)
{
	if (!is_given)
		return !value;
	if (tcb_word_is_second(row) && (!value || (row->kind == TCB_WORD_DIVISOR ? first % value != 0 : value > first)))
		return 0;
	return value == row->unsaid || (value >= row->least && value <= row->most);
}

/* Words that a text could have said: sizes are made of them. */
static int are_words(const struct tcb_words *words)
{
#define VALUE(ID, field, ...) words->field,
	const uint32_t value[TCB_WORD_COUNT] = { TCB_SHAPE_WORDS(VALUE) };
#undef VALUE
	for (unsigned i = 0; i < TCB_WORD_COUNT; i++)
		if (!is_word(&tcb_word_rows[i], value[i], i ? value[i - 1] : 0, value[tcb_word_rows[i].with] != 0))
			return 0;
	return !words->window || words->causal;
}

static enum tcb_status read_head(const void *blob, size_t bytes, struct rt_saved *out, struct tcb_error *err)
{
	if (bytes < sizeof(*out) || memcmp(blob, MAGIC, sizeof(MAGIC)) != 0)
		return tcb_fail(err, TCB_E_FORMAT, "this is not a saved plan: make one with tcbrt_plan_save");
	memcpy(out, blob, sizeof(*out));
	if (out->format != RT_SAVED_FORMAT || out->head_bytes != sizeof(*out))
		return tcb_fail(err, TCB_E_VERSION,
				"the saved plan is of another version of this library: plan and save it again");
	if (bytes != sizeof(*out) || out->checksum != checksum_of(out) || !is_text(out->op, sizeof(out->op)) ||
	    !is_text(out->device, sizeof(out->device)) || !is_text(out->device_key, sizeof(out->device_key)) ||
	    !is_text(out->signature, sizeof(out->signature)) || !is_text(out->geometry, sizeof(out->geometry)) ||
	    !is_text(out->reason, sizeof(out->reason)) || !is_text(out->version, sizeof(out->version)) ||
	    !are_words(&out->words) || out->contract >= TCB_CONTRACT_COUNT || out->source == TCBRT_SOURCE_NONE ||
	    out->source > TCBRT_SOURCE_EARLIER)
		return tcb_fail(err, TCB_E_FORMAT, "the saved plan is damaged: plan and save it again");
	return TCB_OK;
}

/* The device that a plan was saved for, if it is one of those here.  Which GPU the plan will run on tcbrt_gpu_load
 * sees. */
static enum tcb_status find_device(const struct tcbrt *rt, const struct rt_saved *head, struct rt_device *out,
				   struct tcb_error *err)
{
	const uint32_t at = rt_device_find(rt, head->device);

	if (at != RT_NONE) {
		*out = rt->devices[at];
		memcpy(out->name, head->device, sizeof(out->name));
		if (!rt_has_threads(out) || strcmp(out->key, head->device_key) == 0)
			return TCB_OK;
		return tcb_fail(err, TCB_E_UNSUPPORTED,
				"the plan was saved on another machine (%s; this is %s): plan it here",
				head->device_key, out->key);
	}
	return tcb_fail(err, TCB_E_UNSUPPORTED,
			"the plan was saved for %s, which this host does not have: plan it here", head->device);
}

static void fill_tuning(const struct rt_saved *head, const struct tcb_geometry *geometry, const char *variant,
			struct tcbrt_tuning *out)
{
	memset(out, 0, sizeof(*out));
	out->source = (enum tcbrt_source)head->source;
	out->modelled = out->source == TCBRT_SOURCE_MODELLED;
	out->provisional = out->source == TCBRT_SOURCE_PROVISIONAL;
	out->threads = head->threads;
	rt_tuning_geometry(out, geometry);
	out->contract = rt_contract_told((enum tcb_contract)head->contract);
	tcb_geometry_print(geometry, out->geometry);
	snprintf(out->variant, sizeof(out->variant), "%s", variant);
	memcpy(out->reason, head->reason, sizeof(out->reason));
}

static enum tcb_status load(const struct tcbrt *rt, const void *blob, size_t bytes, struct tcbrt_plan **out,
			    struct tcb_error *err)
{
	struct rt_device device;
	const struct tcb_variant *variant;
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	struct tcbrt_tuning tuning;
	struct tcb_target target;
	struct rt_saved head;
	char why[TCB_WHY_MAX];

	TCB_TRY(read_head(blob, bytes, &head, err));
	const uint32_t stored = rt_op_find(rt, head.op);
	const struct tcb_op *op = stored == RT_NONE ? NULL : rt->ops[stored].op;
	const struct tcb_shape shape = { head.m, head.n, head.k, head.words };
	if (!op)
		return tcb_fail(err, TCB_E_NOT_FOUND, "the plan was saved for op '%s', which this library lacks",
				head.op);
	TCB_TRY(find_device(rt, &head, &device, err));
	TCB_TRY(tcb_problem_init(op, (enum tcb_contract)head.contract, &shape, &problem, err));
	TCB_TRY(tcb_problem_stride(&problem, head.x_stride, head.y_stride, err));
	TCB_TRY(tcb_geometry_parse_of(head.geometry, op->parameters, &geometry, err));
	target = device.target;
	target.threads = head.threads;
	variant = tcb_variant_find(op, problem.contract, &geometry);
	if (!variant || tcb_op_require(op, &device.target, NULL) != TCB_OK ||
	    !rt_is_legal(op, &problem, &target, &geometry, why))
		return tcb_fail(err, TCB_E_VERSION,
				"this library has no kernel for the saved plan of %s: plan it again", head.op);
	fill_tuning(&head, &geometry, variant->name, &tuning);
	return rt_plan_make(&problem, &geometry, &device, head.threads, &tuning, &head, out, err);
}

int tcbrt_plan_load(const struct tcbrt *rt, const void *blob, size_t bytes, struct tcbrt_plan **out,
		    struct tcbrt_error *err)
{
	struct tcb_error error = { .message = "" };
	struct tcbrt_plan *plan = NULL;
	enum tcb_status status = rt && blob && out ? load(rt, blob, bytes, &plan, &error)
						   : tcb_fail(&error, TCB_E_USAGE, "RT, BLOB or OUT is NULL");

	if (status != TCB_OK) {
		tcbrt_plan_destroy(plan);
		plan = NULL;
	}
	rt_say_plan(rt, plan);
	if (out)
		*out = plan;
	return rt_report(status, &error, err);
}
