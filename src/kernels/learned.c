/* SPDX-License-Identifier: MIT
 *
 * A problem and a target to the geometry that a table predicts to be the
 * fastest.  First all of the table's geometries are moved into the space and
 * their times predicted, some at a time, which costs less than to see whether
 * they are legal; then the fastest is taken that is.
 */
#include "kernels/learned.h"

#include <string.h>

#include "base/kind.h"
#include "kernels/default_place.h"
#include "kernels/learned_features.h"

enum { BATCH = 32, UNFIT = INT32_MAX };

static const struct tcb_learned *const tables[] = { &tcb_learned_sm_90_quant_matmul };

const struct tcb_learned *tcb_learned_at(size_t index)
{
	return index < sizeof tables / sizeof *tables ? tables[index] : NULL;
}

/* Does OP have the spaces of TABLE's? */
static int is_member(const struct tcb_learned *table, const struct tcb_problem *problem,
		     const struct tcb_target *target)
{
	const struct tcb_op *like = tcb_op_find(table->like);
	const struct tcb_side *side = tcb_op_side(problem->op, target);
	const struct tcb_side *theirs = like ? tcb_op_side(like, target) : NULL;
	return side && theirs && side->space == theirs->space && tcb_space_of(problem, target, NULL) == side->space;
}

static int is_near(const struct tcb_learned *table, const struct tcb_shape *shape)
{
	return shape->m >= table->least.m && shape->m <= table->most.m && shape->n >= table->least.n &&
	       shape->n <= table->most.n && shape->k >= table->least.k && shape->k <= table->most.k;
}

static const struct tcb_learned *find(const struct tcb_problem *problem, const struct tcb_target *target)
{
	char arch[TCB_DEVICE_NAME_MAX];
	const struct tcb_learned *table;
	tcb_kind_of(target)->name_arch(target, arch, sizeof arch);
	for (size_t i = 0; (table = tcb_learned_at(i)); i++)
		if (!strcmp(table->arch, arch) && is_near(table, &problem->shape) && is_member(table, problem, target))
			return table;
	return NULL;
}

/* --- from a form to a candidate --- */

static int64_t dimension(const struct tcb_shape *shape, enum tcb_axis_kind kind)
{
	return (int64_t)(kind == TCB_AXIS_TILE_M ? shape->m : kind == TCB_AXIS_TILE_N ? shape->n : shape->k);
}

/* Is every tile a multiple of the one below? */
static int is_nested(const struct tcb_geometry *geometry)
{
	for (int level = TCB_MACRO; level < TCB_MICRO; level++) {
		const struct tcb_tile *above = &geometry->tile[level], *below = &geometry->tile[level + 1];
		if (!below->m || !below->n || !below->k || above->m % below->m || above->n % below->n ||
		    above->k % below->k)
			return 0;
	}
	return 1;
}

/* FORM number INDEX of TABLE at PLACE; 0: the space has none like it. */
static int place_form(const struct tcb_learned *table, size_t index, const struct tcb_default_place *place,
		      struct tcb_geometry *out)
{
	const int16_t *form = table->forms + index * table->field_count;
	tcb_fields whole = 0;
	*out = place->standard;
	for (size_t i = 0; i < table->field_count; i++) {
		const struct tcb_field field = table->fields[i];
		const int is_whole = field.kind != TCB_AXIS_KNOB && form[i] == 0;
		whole |= is_whole ? tcb_field_bit(field) : 0;
		tcb_field_set(field, is_whole ? dimension(&place->problem->shape, field.kind) : form[i], out);
	}
	return tcb_default_move(place, whole, out) && is_nested(out);
}

/* --- prediction --- */

struct batch {
	int16_t feature[TCB_LEARNED_FEATURE_COUNT][BATCH];
	int32_t sum[BATCH];
	uint16_t form[BATCH];
	size_t count;
};

static void predict(const struct tcb_learned *table, struct batch *batch)
{
	memset(batch->sum, 0, sizeof batch->sum);
	for (size_t t = 0; t < table->tree_count; t++) {
		const struct tcb_learned_tree *tree = &table->trees[t];
		uint16_t leaf[BATCH] = { 0 };
		for (unsigned d = 0; d < TCB_LEARNED_DEPTH; d++) {
			const int16_t *feature = batch->feature[tree->feature[d]], bound = tree->bound[d];
			for (size_t c = 0; c < BATCH; c++)
				leaf[c] = (uint16_t)(leaf[c] | (feature[c] > bound) << d);
		}
		for (size_t c = 0; c < BATCH; c++)
			batch->sum[c] += tree->leaf[leaf[c]];
	}
}

int32_t tcb_learned_predict(const struct tcb_learned *table, const int16_t *features)
{
	int32_t sum = 0;
	for (size_t t = 0; t < table->tree_count; t++) {
		const struct tcb_learned_tree *tree = &table->trees[t];
		unsigned leaf = 0;
		for (unsigned d = 0; d < TCB_LEARNED_DEPTH; d++)
			leaf |= (unsigned)(features[tree->feature[d]] > tree->bound[d]) << d;
		sum += tree->leaf[leaf];
	}
	return sum;
}

static void finish_batch(const struct tcb_learned *table, struct batch *batch, int32_t predicted[TCB_LEARNED_FORMS_MAX])
{
	predict(table, batch);
	for (size_t c = 0; c < batch->count; c++)
		predicted[batch->form[c]] = batch->sum[c];
	batch->count = 0;
}

static void predict_all(const struct tcb_learned *table, const struct tcb_default_place *place,
			const struct tcb_target *target, int32_t predicted[TCB_LEARNED_FORMS_MAX])
{
	struct batch batch;
	struct tcb_geometry geometry;
	int16_t features[TCB_LEARNED_FEATURE_COUNT];
	memset(&batch, 0, sizeof batch);
	for (size_t i = 0; i < table->form_count; i++) {
		predicted[i] = UNFIT;
		if (!place_form(table, i, place, &geometry))
			continue;
		tcb_learned_features(place->problem, target, &geometry, features);
		for (size_t f = 0; f < TCB_LEARNED_FEATURE_COUNT; f++)
			batch.feature[f][batch.count] = features[f];
		batch.form[batch.count++] = (uint16_t)i;
		if (batch.count == BATCH)
			finish_batch(table, &batch, predicted);
	}
	finish_batch(table, &batch, predicted);
}

/* The first of the least; COUNT: there is none. */
static size_t fastest(const int32_t *predicted, size_t count)
{
	size_t best = count;
	for (size_t i = 0; i < count; i++)
		if (predicted[i] != UNFIT && (best == count || predicted[i] < predicted[best]))
			best = i;
	return best;
}

static const struct tcb_learned_loss *loss_of(const struct tcb_learned *table, size_t m)
{
	size_t i = 0;
	while (i + 1 < table->loss_count && table->losses[i].m && m > table->losses[i].m)
		i++;
	return &table->losses[i];
}

const struct tcb_learned_loss *tcb_learned_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
						    struct tcb_geometry *out)
{
	const struct tcb_learned *table = find(problem, target);
	struct tcb_default_place place;
	int32_t predicted[TCB_LEARNED_FORMS_MAX];
	size_t best;
	if (!table)
		return NULL;
	tcb_default_place_init(&place, problem, target);
	predict_all(table, &place, target, predicted);
	while ((best = fastest(predicted, table->form_count)) < table->form_count) {
		if (place_form(table, best, &place, out) && tcb_default_is_legal(&place, target, out))
			return loss_of(table, problem->shape.m);
		predicted[best] = UNFIT;
	}
	return NULL;
}
