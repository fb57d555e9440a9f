/* SPDX-License-Identifier: MIT
 *
 * The table of all claims: the groups one after another, and how one of them
 * is judged.  A claim that holds needs a planted defect that does not; a
 * source's claim that does not hold needs a planted case in which it is true.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/kind.h"
#include "base/util.h"
#include "verify/claim.h"

static const struct tcb_claim *const groups[] = {
	tcb_claims_criteria, tcb_claims_tiles,    tcb_claims_fusion,  tcb_claims_views,    tcb_claims_splitting,
	tcb_claims_tokens,   tcb_claims_backends, tcb_claims_numbers, tcb_claims_barriers,
};

const struct tcb_claim *tcb_claim_at(size_t index)
{
	for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
		for (const struct tcb_claim *claim = groups[g]; claim->id; claim++)
			if (index-- == 0)
				return claim;
	return NULL;
}

const struct tcb_claim *tcb_claim_find(const char *id)
{
	const struct tcb_claim *claim;
	for (size_t i = 0; (claim = tcb_claim_at(i)); i++)
		if (!strcmp(claim->id, id))
			return claim;
	return NULL;
}

static const char *const result_texts[] = {
#define TEXT(id, text) text,
	TCB_CLAIM_RESULT_LIST(TEXT)
#undef TEXT
};

const char *tcb_claim_result_text(enum tcb_claim_result result)
{
	return (unsigned)result < TCB_CLAIM_RESULT_COUNT ? result_texts[result] : "unknown";
}

enum tcb_claim_result tcb_claim_result_find(const char *text)
{
	unsigned i = 0;
	while (i < TCB_CLAIM_RESULT_COUNT && strcmp(result_texts[i], text) != 0)
		i++;
	return (enum tcb_claim_result)i;
}

void tcb_found(struct tcb_finding *out, int holds, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(out->text, sizeof out->text, format, arguments);
	va_end(arguments);
	out->holds = holds;
	out->is_run = 1;
}

int tcb_found_on_cpu(const struct tcb_claim_lab *lab, struct tcb_finding *out)
{
	if (!tcb_kind_of(&lab->place->device.target)->is_emitted)
		return 1;
	tcb_found_nothing(out, "measured on the processor: run it with --device cpu");
	return 0;
}

void tcb_found_nothing(struct tcb_finding *out, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	(void)vsnprintf(out->text, sizeof out->text, format, arguments);
	va_end(arguments);
	out->is_run = 0;
}

static void judge(const struct tcb_claim *claim, struct tcb_claim_lab *lab, struct tcb_claim_outcome *out)
{
	struct tcb_finding found = { 0 }, control = { 0 };
	claim->measure(lab, TCB_PLANT_NONE, &found);
	(void)snprintf(out->evidence, sizeof out->evidence, "%s", found.text);
	out->result = TCB_CLAIM_NOT_RUN;
	if (!found.is_run)
		return;
	const int is_refuted = !found.holds && claim->kind == TCB_CLAIM_SOURCE;
	claim->measure(lab, is_refuted ? TCB_PLANT_TRUTH : TCB_PLANT_DEFECT, &control);
	if (!control.is_run) {
		(void)snprintf(out->evidence, sizeof out->evidence,
			       "no control, so nothing is proved: %.120s; measured: %.140s", control.text, found.text);
		return;
	}
	const int is_opposite = control.holds == is_refuted;
	if (lab->op && found.holds && !is_opposite) { /* of all ops together, some have it */
		(void)snprintf(out->evidence, sizeof out->evidence,
			       "%s has nothing in which a planted defect shows, so nothing is proved: %.200s",
			       lab->op->name, control.text);
		return;
	}
	(void)snprintf(out->control, sizeof out->control, "%s: %.280s",
		       is_opposite  ? (is_refuted ? "held as it must" : "failed as it must")
		       : is_refuted ? "the check cannot hold"
				    : "the check cannot fail",
		       control.text);
	out->result = !is_opposite  ? TCB_CLAIM_FAIL
		      : found.holds ? TCB_CLAIM_PASS
		      : is_refuted  ? TCB_CLAIM_REFUTED
				    : TCB_CLAIM_FAIL;
}

void tcb_claim_check(const struct tcb_claim *claim, struct tcb_claim_lab *lab, struct tcb_claim_outcome *out)
{
	const uint64_t start = tcb_clock_ns();
	*out = (struct tcb_claim_outcome){ .result = TCB_CLAIM_NOT_RUN };
	if (claim->measure)
		judge(claim, lab, out);
	else
		(void)snprintf(out->evidence, sizeof out->evidence, "%s", claim->not_run);
	out->seconds = 1e-9 * (double)(tcb_clock_ns() - start);
}
