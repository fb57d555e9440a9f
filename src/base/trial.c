/* SPDX-License-Identifier: MIT
 *
 * The words of outcomes, stages and classes.
 */
#include "base/trial.h"

#include "base/util.h"

static const char *const outcome_texts[TCB_OUTCOME_COUNT] = {
#define TCB_OUTCOME_ROW(id, text) text,
	TCB_OUTCOME_LIST(TCB_OUTCOME_ROW)
#undef TCB_OUTCOME_ROW
};
static const char *const stage_texts[TCB_STAGE_COUNT] = { "screen", "final" };
static const char *const class_texts[TCB_CLASS_COUNT] = { "exact", "bounded", "approx" };

const char *tcb_outcome_text(enum tcb_outcome outcome)
{
	return outcome_texts[outcome];
}

enum tcb_status tcb_outcome_parse(const char *text, enum tcb_outcome *out, struct tcb_error *err)
{
	const int found = tcb_text_find(outcome_texts, TCB_OUTCOME_COUNT, text);

	if (found < 0)
		return tcb_fail(err, TCB_E_FORMAT, "unknown trial outcome '%.40s'", text);
	*out = (enum tcb_outcome)found;
	return TCB_OK;
}

const char *tcb_stage_text(enum tcb_stage stage)
{
	return stage_texts[stage];
}

const char *tcb_class_text(enum tcb_class class)
{
	return class_texts[class];
}
