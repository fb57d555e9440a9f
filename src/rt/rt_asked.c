/* SPDX-License-Identifier: MIT
 *
 * A geometry that the program names itself (query.geometry): its text comes in,
 * is held against the op's constraints at the shape as any stored one is, and
 * goes out as the answer.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "rt/runtime.h"

static int __attribute__((format(printf, 3, 4))) refuse(struct tcbrt_tuning *out, int code, const char *format, ...)
{
	va_list arguments;

	memset(out, 0, sizeof(*out));
	va_start(arguments, format);
	(void)vsnprintf(out->reason, sizeof(out->reason), format, arguments);
	va_end(arguments);
	return code;
}

int rt_asked(const struct tcbrt *rt, const char *asked, const struct rt_device *device, const struct rt_key *key,
	     struct tcbrt_tuning *out)
{
	const struct tcb_op *op = rt->ops[key->op].op;
	const struct tcb_shape shape = rt_key_shape(key);
	struct tcb_target target = device->target;
	struct tcb_error err = { .message = "" };
	struct tcb_geometry geometry;
	struct tcb_problem problem;
	char why[TCB_WHY_MAX];
	enum tcb_status status = tcb_problem_init(op, (enum tcb_contract)key->contract, &shape, &problem, &err);

	if (status != TCB_OK)
		return refuse(out, (int)status, "%.500s", err.message);
	if (tcb_geometry_parse_of(asked, op->parameters, &geometry, &err) != TCB_OK)
		return refuse(out, TCBRT_E_USAGE, "query.geometry: %.480s", err.message);
	target.threads = key->threads;
	if (rt_has_threads(device) && key->threads == 0)
		target.threads =
			geometry.knob[TCB_KNOB_THREADS] > 0 ? (unsigned)geometry.knob[TCB_KNOB_THREADS] : rt->cores;
	if (!rt_is_legal(op, &problem, &target, &geometry, why))
		return refuse(out, TCBRT_E_USAGE, "query.geometry is not legal here: %s", why);
	memset(out, 0, sizeof(*out));
	rt_tuning_fill(out, TCBRT_SOURCE_ASKED, &geometry, tcb_variant_find(op, problem.contract, &geometry),
		       target.threads);
	(void)snprintf(out->reason, sizeof(out->reason), "asked for by query.geometry");
	return TCBRT_OK;
}
