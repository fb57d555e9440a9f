/* SPDX-License-Identifier: MIT
 *
 * A plan is saved and loaded; cut, damaged and forged ones are refused, or compute
 * what they say.
 */
#include "drive_bench.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void drive_check_refused(int code, const struct tcbrt_plan *plan, const struct tcbrt_error *err, const char *what)
{
	const size_t length = strnlen(err->message, sizeof(err->message));

	DRIVE_CHECK(!plan && code == err->code, "%s: code %d and %d in the error", what, code, err->code);
	DRIVE_CHECK(length > 8 && length < sizeof(err->message) - 1 && !strpbrk(err->message, "\n\r\t"),
		    "%s: not one clear line: '%.600s'", what, err->message);
}

/* Damaged and signed again: refused, or a plan that computes what it says. */
static void load_forged(const struct tcbrt *rt, unsigned char *blob, size_t bytes)
{
	struct tcbrt_plan *plan;
	struct tcbrt_error err;
	struct drive_bench b;
	struct rt_saved saved;
	const size_t from = offsetof(struct rt_saved, m);

	DRIVE_CHECK(bytes == sizeof(saved), "a saved plan of %zu bytes", bytes);
	drive_damage(blob + from, sizeof(saved) - from);
	memcpy(&saved, blob, sizeof(saved));
	rt_saved_sign(&saved);
	memcpy(blob, &saved, sizeof(saved));
	const int code = tcbrt_plan_load(rt, blob, bytes, &plan, &err);
	if (code != TCBRT_OK) {
		drive_check_refused(code, plan, &err, "a forged plan");
		return;
	}
	drive_check_info(plan);
	if (!plan->info.is_gpu && drive_is_small(plan) &&
	    plan->problem.shape.m * plan->problem.shape.n * (plan->problem.shape.k | 1) < (size_t)1 << 23) {
		drive_bench_init(&b, plan, NULL);
		drive_pack(&b);
		drive_execute(&b, b.workspace.at);
		drive_bench_fini(&b);
	}
	tcbrt_plan_destroy(plan);
}

static void check_loaded(const struct tcbrt_plan *plan, const struct tcbrt_plan *loaded)
{
	struct tcbrt_plan_info before = plan->info, after = loaded->info;
	struct tcbrt_tuning *tuning = &before.tuning;

	/* What it was measured at is not saved. */
	tuning->expected_ns = tuning->speedup = tuning->speedup_lo = 0;
	tuning->tuned_m = tuning->tuned_n = tuning->tuned_k = 0;
	DRIVE_CHECK(strcmp(before.tuning.reason, after.tuning.reason) == 0, "loaded, its reason is another");
	memset(tuning->reason, 0, sizeof(tuning->reason));
	memset(after.tuning.reason, 0, sizeof(after.tuning.reason));
	memset(tuning->geometry, 0, sizeof(tuning->geometry));
	memset(after.tuning.geometry, 0, sizeof(after.tuning.geometry));
	memset(tuning->variant, 0, sizeof(tuning->variant));
	memset(after.tuning.variant, 0, sizeof(after.tuning.variant));
	DRIVE_CHECK(memcmp(&before, &after, sizeof(before)) == 0, "loaded, it says something else of itself");
}

void drive_save_and_load(const struct tcbrt *rt, const struct tcbrt_plan *plan, struct drive_bench *b)
{
	struct tcbrt_plan *loaded;
	struct tcbrt_error err;
	size_t bytes, again;

	DRIVE_CHECK(tcbrt_plan_save(plan, NULL, 0, &bytes) == TCBRT_OK, "it cannot be saved");
	struct drive_zone blob = drive_zone(bytes, 1);
	unsigned char *copy = malloc(bytes);
	DRIVE_CHECK(copy, "out of memory");
	DRIVE_CHECK(tcbrt_plan_save(plan, blob.at, bytes - 1, &again) == TCBRT_E_OVERFLOW && again == bytes,
		    "it was saved where it has no room");
	DRIVE_CHECK(tcbrt_plan_save(plan, blob.at, bytes, &again) == TCBRT_OK, "it cannot be saved");
	drive_zone_check(&blob, "the saved plan");
	memcpy(copy, blob.at, bytes);
	if (tcbrt_plan_load(rt, blob.at, bytes, &loaded, &err) != TCBRT_OK)
		drive_fail("saved, it cannot be loaded: %s", err.message);
	check_loaded(plan, loaded);
	if (b) {
		struct drive_bench other = *b;

		other.plan = loaded;
		drive_execute(&other, other.workspace.at);
	}
	tcbrt_plan_destroy(loaded);
	for (int i = 0; i < 8; i++) {
		const size_t cut = drive_once_in(2) ? bytes : drive_below(bytes);

		if (cut == bytes)
			drive_damage(blob.at, bytes);
		const int code = tcbrt_plan_load(rt, blob.at, cut, &loaded, &err);
		DRIVE_CHECK(code != TCBRT_OK, "damaged or cut to %zu of %zu bytes it was loaded", cut, bytes);
		drive_check_refused(code, loaded, &err, "a damaged plan");
		memcpy(blob.at, copy, bytes);
		drive_counts.damaged++;
	}
	for (int i = 0; i < (plan->info.is_gpu ? 1 : 3); i++) {
		load_forged(rt, blob.at, bytes);
		memcpy(blob.at, copy, bytes);
	}
	free(copy);
	tcb_buffer_free(&blob.buffer);
	drive_counts.saved++;
}
