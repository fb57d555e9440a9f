/* SPDX-License-Identifier: MIT
 *
 * Each stored winner differs from what was wanted in some of six things.  Those
 * that differ in one alone are named by it; if there are none, the row that
 * differs least is named whole.
 */
#include "cli/core/nearby.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cli/report/best_rows.h"

enum difference { BY_STALE, BY_STATE, BY_CONTRACT, BY_THREADS, BY_SHAPE, BY_DEVICE, BY_OP, DIFFERENCES };

enum { NAMED = 3, NAME_MAX_BYTES = TCB_SHAPE_TEXT_MAX + 32 };

/* The values of one thing that alone differs: the nearest few. */
struct values {
	char name[NAMED][NAME_MAX_BYTES];
	double distance[NAMED];
	size_t named, count;
};

struct looking {
	const struct cli_near_to *wanted;
	struct values values[DIFFERENCES];
	struct tcb_best nearest;
	double nearest_distance;
};

static int is_op(const char *wanted, const char *name)
{
	const size_t length = strlen(wanted);

	return strncmp(wanted, name, length) == 0 && (name[length] == '\0' || name[length] == '_');
}

/* Octaves between two shapes. */
static double between(const struct tcb_shape *a, const struct tcb_shape *b)
{
	return fabs(log2((double)a->m / (double)b->m)) + fabs(log2((double)a->n / (double)b->n)) +
	       fabs(log2((double)(a->k + 1) / (double)(b->k + 1)));
}

static void describe(enum difference by, const struct tcb_best *best, char out[NAME_MAX_BYTES])
{
	char shape[TCB_SHAPE_TEXT_MAX];

	switch (by) {
	case BY_STALE:
		snprintf(out, NAME_MAX_BYTES, "the same, but stale: its kernel has changed since");
		break;
	case BY_STATE:
		snprintf(out, NAME_MAX_BYTES, "%s", tcb_state_text(best->state));
		break;
	case BY_CONTRACT:
		snprintf(out, NAME_MAX_BYTES, "%s", tcb_contract_text(best->problem.contract));
		break;
	case BY_THREADS:
		snprintf(out, NAME_MAX_BYTES, "%u", best->threads);
		break;
	case BY_SHAPE:
		tcb_shape_print(&best->problem.shape, shape);
		snprintf(out, NAME_MAX_BYTES, "%s", shape);
		break;
	case BY_DEVICE:
		snprintf(out, NAME_MAX_BYTES, "%s (%.40s, key %s)", best->device_name, best->model, best->device_key);
		break;
	case BY_OP:
	case DIFFERENCES:
		snprintf(out, NAME_MAX_BYTES, "%s", best->problem.op_name);
		break;
	}
}

static void add_value(struct values *values, const char *name, double distance)
{
	size_t at;

	for (size_t i = 0; i < values->named; i++)
		if (strcmp(values->name[i], name) == 0)
			return;
	values->count++;
	at = values->named < NAMED ? values->named++ : NAMED;
	while (at > 0 && values->distance[at - 1] > distance) {
		if (at < NAMED) {
			memcpy(values->name[at], values->name[at - 1], NAME_MAX_BYTES);
			values->distance[at] = values->distance[at - 1];
		}
		at--;
	}
	if (at == NAMED)
		return;
	snprintf(values->name[at], NAME_MAX_BYTES, "%s", name);
	values->distance[at] = distance;
}

static void look(struct looking *looking, const struct tcb_best *best)
{
	const struct cli_near_to *wanted = looking->wanted;
	const struct tcb_shape *shape = &best->problem.shape;
	const int is_other_shape = wanted->shape && !tcb_shape_equal(shape, wanted->shape);
	const int differs[DIFFERENCES] = {
		[BY_STATE] = wanted->state >= 0 && (int)best->state != wanted->state,
		[BY_CONTRACT] = wanted->contract >= 0 && (int)best->problem.contract != wanted->contract,
		[BY_THREADS] = wanted->threads && best->threads != wanted->threads,
		[BY_SHAPE] = is_other_shape,
		[BY_DEVICE] = (wanted->device_key && strcmp(best->device_key, wanted->device_key) != 0) ||
			      (wanted->device_name && strcmp(best->device_name, wanted->device_name) != 0),
		[BY_OP] = wanted->op && !is_op(wanted->op, best->problem.op_name),
	};
	/* What weighs most when no row differs in one thing alone. */
	static const double weights[DIFFERENCES] = { 0, 1, 2, 2, 3, 8, 32 };
	double distance = is_other_shape ? fmin(between(shape, wanted->shape), 4) / 4 : 0;
	enum difference by = BY_STALE;
	char name[NAME_MAX_BYTES];
	int count = 0;

	for (int i = 0; i < DIFFERENCES; i++) {
		if (!differs[i])
			continue;
		by = (enum difference)i;
		distance += weights[i];
		count++;
	}
	if (distance < looking->nearest_distance) {
		looking->nearest = *best;
		looking->nearest_distance = distance;
	}
	if (count > 1 || (count == 0 && !cli_best_is_stale(best)))
		return;
	describe(by, best, name);
	add_value(&looking->values[by], name, is_other_shape ? between(shape, wanted->shape) : 0);
}

static void add_values(enum difference by, const struct values *values, struct tcb_str *out)
{
	static const char *const one[DIFFERENCES] = {
		"", "state ", "contract ", "threads ", "shape ", "device ", "op "
	};
	static const char *const more[DIFFERENCES] = { "",        "states ",  "contracts ", "threads ",
						       "shapes ", "devices ", "ops " };

	tcb_str_addf(out, "%s%s", out->length ? "; " : "", (values->count > 1 ? more : one)[by]);
	for (size_t i = 0; i < values->named; i++)
		tcb_str_addf(out, "%s%s", i ? ", " : "", values->name[i]);
	if (values->count > values->named)
		tcb_str_addf(out, " and %zu more", values->count - values->named);
}

void cli_nearby(const struct tcb_best *list, size_t count, const struct cli_near_to *wanted, char out[CLI_NEARBY_MAX])
{
	struct looking looking = { .wanted = wanted, .nearest_distance = INFINITY };
	struct tcb_str text = { 0 };
	char shape[TCB_SHAPE_TEXT_MAX];

	out[0] = '\0';
	for (size_t i = 0; i < count; i++)
		look(&looking, &list[i]);
	for (int by = 0; by < DIFFERENCES; by++)
		if (looking.values[by].count)
			add_values((enum difference)by, &looking.values[by], &text);
	if (text.length) {
		snprintf(out, CLI_NEARBY_MAX, "stored nearby: %s", text.data);
	} else if (count) {
		const struct tcb_best *best = &looking.nearest;
		tcb_shape_print(&best->problem.shape, shape);
		snprintf(out, CLI_NEARBY_MAX, "the nearest stored is %s %s %s, %s, on %s (%.40s) with %u threads",
			 best->problem.op_name, tcb_contract_text(best->problem.contract), shape,
			 tcb_state_text(best->state), best->device_name, best->model, best->threads);
	}
	tcb_str_fini(&text);
}
