/* SPDX-License-Identifier: MIT
 *
 * Which candidates of a GPU are worth trying once more with passes=all.  The
 * passes gain a few percent on some kernels and lose more on others, and
 * nothing but measuring tells which (docs/ptx.md); on all of a space they would
 * double it.  So the best of the screening have them, if they change its PTX.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/signature.h"
#include "search/sweep_state.h"

enum { BEST = TCB_SWEEP_PASSES };

enum tcb_status tcb_sweep_add(struct tcb_sweep *sweep, const struct tcb_geometry *geometry, size_t *index_out,
			      struct tcb_error *err)
{
	struct tcb_space *space = sweep->space;
	struct tcb_sweep_entry *grown = realloc(sweep->entries, (space->count + 1) * sizeof *grown);
	if (!grown)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu candidates", space->count + 1);
	sweep->entries = grown;
	TCB_TRY(tcb_space_add(space, geometry, err));
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		if (sweep->progress.best[s])
			sweep->progress.best[s] = &space->geometries[sweep->best[s]];
	*index_out = space->count - 1;
	tcb_sweep_entry_clear(&sweep->entries[*index_out]);
	sweep->progress.total++;
	return TCB_OK;
}

enum tcb_status tcb_sweep_take_over_passes(struct tcb_sweep *sweep, struct tcb_error *err)
{
	for (size_t k = 0; k < sweep->known_count; k++) {
		const struct tcb_geometry *geometry = &sweep->known[k].geometry;
		struct tcb_geometry plain = *geometry;
		plain.knob[TCB_KNOB_PASSES] = TCB_KNOB_UNSET;
		if (geometry->knob[TCB_KNOB_PASSES] != TCB_PASSES_ALL ||
		    tcb_space_find(sweep->space, &plain) == SIZE_MAX)
			continue;
		size_t index = tcb_space_find(sweep->space, geometry);
		if (index == SIZE_MAX)
			TCB_TRY(tcb_sweep_add(sweep, geometry, &index, err));
		tcb_sweep_entry_merge(&sweep->entries[index], &sweep->known[k]);
	}
	for (size_t i = sweep->out->space_count; i < sweep->space->count; i++) {
		tcb_sweep_entry_check(sweep, &sweep->entries[i]);
		sweep->progress.done += sweep->entries[i].decided;
	}
	return TCB_OK;
}

/* The best scores of STATE, the best first; returns how many. */
static size_t best_of_state(const struct tcb_sweep *sweep, enum tcb_state state, size_t out[BEST])
{
	double score[BEST];
	size_t found = 0;
	for (size_t i = 0; i < sweep->out->space_count; i++) {
		const double median = tcb_sweep_score(sweep, i, state).median;
		if (isnan(median) || (found == BEST && !(median < score[BEST - 1])))
			continue;
		size_t at = found < BEST ? found++ : BEST - 1;
		for (; at > 0 && median < score[at - 1]; at--) {
			out[at] = out[at - 1];
			score[at] = score[at - 1];
		}
		out[at] = i;
		score[at] = median;
	}
	return found;
}

/* The best of all states in turn, each once: what there is no time for are the least of each. */
static size_t best_of_all(const struct tcb_sweep *sweep, size_t out[BEST])
{
	size_t best[TCB_STATE_COUNT][BEST], found[TCB_STATE_COUNT], count = 0;
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		found[s] = tcb_sweep_measures(sweep, s) ? best_of_state(sweep, (enum tcb_state)s, best[s]) : 0;
	for (size_t rank = 0; rank < BEST; rank++)
		for (int s = 0; s < TCB_STATE_COUNT; s++) {
			size_t seen = 0;
			while (rank < found[s] && seen < count && out[seen] != best[s][rank])
				seen++;
			if (rank < found[s] && seen == count && count < BEST)
				out[count++] = best[s][rank];
		}
	return count;
}

/* Are they two kernels?  What the passes fail on is to be tried, and seen. */
static int differ(const struct tcb_sweep *sweep, const struct tcb_geometry *plain, const struct tcb_geometry *with,
		  struct tcb_packings *packings)
{
	const struct tcb_geometry *geometries[] = { plain, with };
	char variant[TCB_VARIANT_NAME_MAX], signature[2][TCB_SIGNATURE_MAX];
	for (int i = 0; i < 2; i++)
		if (tcb_candidate_identify(sweep->problem, sweep->target, geometries[i], packings, variant,
					   signature[i], NULL) != TCB_OK)
			return 1;
	return strcmp(signature[0], signature[1]) != 0;
}

enum tcb_status tcb_sweep_choose_passes(struct tcb_sweep *sweep, size_t most, size_t chosen[TCB_SWEEP_PASSES],
					size_t *count_out, struct tcb_error *err)
{
	struct tcb_packings packings = { .is_known = { 0 } };
	const size_t had = sweep->space->count - sweep->out->space_count;
	size_t best[BEST];
	*count_out = 0;
	/* Where nothing new was tried, the finals alone may have changed the order: that is no reason for more. */
	if (!sweep->out->tried && most + had > BEST)
		most = had < BEST ? BEST - had : 0;
	const size_t count = best_of_all(sweep, best);
	for (size_t i = 0; i < count && *count_out < most; i++) {
		const struct tcb_geometry plain = sweep->space->geometries[best[i]];
		struct tcb_geometry with = plain;
		with.knob[TCB_KNOB_PASSES] = TCB_PASSES_ALL;
		size_t index = tcb_space_find(sweep->space, &with);
		if (index != SIZE_MAX && sweep->entries[index].decided)
			continue;
		if (!differ(sweep, &plain, &with, &packings))
			continue;
		if (index == SIZE_MAX)
			TCB_TRY(tcb_sweep_add(sweep, &with, &index, err));
		chosen[(*count_out)++] = index;
	}
	return TCB_OK;
}
