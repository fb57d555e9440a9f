/* SPDX-License-Identifier: MIT
 *
 * What earlier sweeps found out.  In: their trials, several of a candidate; out:
 * entries that need not be tried again.
 */
#include <math.h>

#include "search/sweep_state.h"

void tcb_sweep_entry_clear(struct tcb_sweep_entry *entry)
{
	*entry = (struct tcb_sweep_entry){ .took_s = NAN };
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		entry->ns[s] = entry->checked[s] = (struct tcb_interval){ NAN, NAN, NAN };
}

/* What a trial is besides its measurements. */
static void take(struct tcb_sweep_entry *entry, const struct tcb_trial *trial)
{
	entry->decided = 1;
	entry->outcome = trial->outcome;
	entry->class_checked = trial->class_checked;
	entry->error_ratio = trial->error_ratio;
	entry->pack_ns = trial->pack_ns;
	entry->prepare_ns = trial->prepare_ns;
	entry->verify_ns = trial->verify_ns;
}

void tcb_sweep_entry_fill(struct tcb_sweep_entry *entry, const struct tcb_team_task *task)
{
	const struct tcb_trial *trial = &task->trial;
	tcb_sweep_entry_clear(entry);
	take(entry, trial);
	entry->when_s = task->when_s;
	entry->took_s = task->took_s;
	entry->member = (uint32_t)task->member;
	for (size_t m = 0; m < trial->measurement_count; m++)
		if (trial->measurements[m].stage == TCB_STAGE_SCREEN)
			entry->ns[trial->measurements[m].state] = trial->measurements[m].ns;
}

/* Screening samples win over those of finals, which only few candidates have. */
void tcb_sweep_entry_merge(struct tcb_sweep_entry *entry, const struct tcb_trial *trial)
{
	if (trial->outcome == TCB_OUTCOME_TOO_SLOW || (entry->decided && entry->outcome != TCB_OUTCOME_OK))
		return;
	take(entry, trial);
	entry->known = 1;
	for (size_t m = 0; m < trial->measurement_count; m++) {
		const struct tcb_measurement *measurement = &trial->measurements[m];
		int is_final = measurement->stage == TCB_STAGE_FINAL;
		if (isnan(entry->ns[measurement->state].median) || entry->final_only[measurement->state] >= is_final) {
			entry->ns[measurement->state] = measurement->ns;
			entry->anchor_ns[measurement->state] = measurement->anchor_ns;
			entry->final_only[measurement->state] = (unsigned char)is_final;
		}
	}
}

void tcb_sweep_entry_check(const struct tcb_sweep *sweep, struct tcb_sweep_entry *entry)
{
	int missing = 0;
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		missing |= tcb_sweep_measures(sweep, s) && isnan(entry->ns[s].median);
	if (entry->decided && entry->outcome == TCB_OUTCOME_OK && missing)
		tcb_sweep_entry_clear(entry);
}

/* A trial counts if its geometry is in the space. */
void tcb_sweep_take_over(struct tcb_sweep *sweep)
{
	for (size_t i = 0; i < sweep->space->count; i++)
		tcb_sweep_entry_clear(&sweep->entries[i]);
	for (size_t k = 0; k < sweep->known_count; k++) {
		size_t index = tcb_space_find(sweep->space, &sweep->known[k].geometry);
		if (index != SIZE_MAX)
			tcb_sweep_entry_merge(&sweep->entries[index], &sweep->known[k]);
	}
	for (size_t i = 0; i < sweep->space->count; i++) {
		struct tcb_sweep_entry *entry = &sweep->entries[i];
		tcb_sweep_entry_check(sweep, entry);
		sweep->out->known += entry->decided;
		sweep->out->failed += entry->decided && entry->outcome != TCB_OUTCOME_OK;
	}
}
