/* SPDX-License-Identifier: MIT
 *
 * Asks libtcbrt.  Its codes are those of enum tcb_status; its lines already
 * say what to do.
 */
#include "cli/core/tuned.h"

#include <stdio.h>
#include <string.h>

#include "base/kind.h"
#include "base/stats.h"
#include "base/util.h"
#include "cli/core/emit.h"
#include "rt/runtime.h"

/* MISSING gets the line about a database that is not there, else "".  With --db that file alone is read, else the
 * system's database lies below the user's. */
static enum tcb_status open_results(const struct cli_query *query, struct tcbrt **out, char missing[TCBRT_REASON_MAX],
				    struct tcb_error *err)
{
	struct tcbrt_error failure;
	int code;

	missing[0] = '\0';
	code = rt_open(query->ops, query->db, 0, out, &failure);
	if (code == TCBRT_E_NOT_FOUND) {
		snprintf(missing, TCBRT_REASON_MAX, "%.*s", TCBRT_REASON_MAX - 1, failure.message);
		code = rt_open(query->ops, NULL, 1, out, &failure);
	}
	return code == TCBRT_OK ? TCB_OK : tcb_fail(err, (enum tcb_status)code, "%s", failure.message);
}

/* What is not there goes before what was answered without it. */
static void say_missing(const char *missing, char reason[TCBRT_REASON_MAX])
{
	const char *kind = strstr(reason, "this is ");
	char both[2 * TCBRT_REASON_MAX];

	snprintf(both, sizeof both, "%s; %s", missing, kind ? kind : reason);
	snprintf(reason, TCBRT_REASON_MAX, "%.*s", TCBRT_REASON_MAX - 1, both);
}

static enum tcbrt_contract contract_of(enum tcb_contract contract)
{
	static const enum tcbrt_contract contracts[TCB_CONTRACT_COUNT] = {
		[TCB_CONTRACT_F32] = TCBRT_CONTRACT_F32,
		[TCB_CONTRACT_F16] = TCBRT_CONTRACT_F16,
		[TCB_CONTRACT_Q8] = TCBRT_CONTRACT_Q8,
	};

	return contracts[contract];
}

static void say_unreadable(const struct tcbrt *results)
{
	const size_t unreadable = tcbrt_unreadable(results);

	if (unreadable)
		cli_say("%zu of %zu results in the database cannot be read and %s left out; 'tcbtune db check' names "
			"them",
			unreadable, tcbrt_count(results, NULL), unreadable == 1 ? "was" : "were");
}

/* NAME as the library knows devices.  Which GPU a number means, or a kind of which one is attached, the driver says. */
static enum tcb_status name_device(const char *name, char out[TCB_DEVICE_NAME_MAX], struct tcb_error *err)
{
	const struct tcb_kind *kind = tcb_kind_asked(name);
	const char *key = NULL;
	const int is_stored = tcb_kind_stored(name, &key) != NULL;
	struct tcb_place place;
	enum tcb_status status;

	snprintf(out, TCB_DEVICE_NAME_MAX, "%s", name);
	if (key || !kind || !kind->describe)
		return TCB_OK;
	status = tcb_place_open(name, 0, 1, &place, err);
	if (status == TCB_OK)
		snprintf(out, TCB_DEVICE_NAME_MAX, "%.24s:%s", place.device.name, place.device.key);
	return is_stored && status == TCB_E_NOT_FOUND ? TCB_OK : status;
}

static double time_of(const struct tcbrt *results, const struct tcbrt_query *asked)
{
	enum { CALLS = 51 };
	struct tcbrt_tuning again;
	double ns[CALLS];

	for (int i = 0; i < CALLS; i++) {
		const uint64_t start_ns = tcb_clock_ns();

		(void)tcbrt_lookup(results, asked, &again);
		ns[i] = (double)(tcb_clock_ns() - start_ns);
	}
	return tcb_median(ns, CALLS);
}

enum tcb_status cli_tuned_find(const struct cli_query *query, const struct tcb_problem *problem,
			       struct tcbrt_tuning *out, struct tcb_error *err)
{
	char device[TCB_DEVICE_NAME_MAX], words[TCB_WORDS_TEXT_MAX];
	struct tcbrt_query asked = {
		.op = problem->op_name,
		.device = device,
		.threads = (unsigned)query->threads,
		.contract = (enum tcbrt_contract)((unsigned)contract_of(problem->contract) |
						  (query->is_auto ? (unsigned)TCBRT_CONTRACT_AUTO : 0u)),
		.state = query->state == TCB_HOT ? TCBRT_HOT : TCBRT_COLD,
		.m = problem->shape.m,
		.n = problem->shape.n,
		.k = problem->shape.k,
		.words = words,
	};
	struct tcbrt *results = NULL;
	char missing[TCBRT_REASON_MAX];
	int code;

	tcb_words_print(&problem->shape.words, words);
	TCB_TRY(name_device(query->device, device, err));
	TCB_TRY(open_results(query, &results, missing, err));
	say_unreadable(results);
	code = tcbrt_lookup(results, &asked, out);
	if (query->time_ns && code == TCBRT_OK)
		*query->time_ns = time_of(results, &asked);
	tcbrt_close(results);
	if (code != TCBRT_OK)
		return tcb_fail(err, (enum tcb_status)code, "%s", out->reason);
	if (missing[0])
		say_missing(missing, out->reason);
	return TCB_OK;
}
