/* SPDX-License-Identifier: MIT
 *
 * A problem and a target to the geometry that a table predicts to be the
 * fastest: the table's geometries are moved into the problem's space, and the
 * times of those that are legal there are predicted, some at a time.
 */
#include "kernels/defaults/learned.h"

#include <string.h>

#include "base/kind.h"
#include "base/sizes.h"
#include "kernels/defaults/default_place.h"
#include "kernels/defaults/learned_features.h"

enum { LANES = 8, GROUPS = 4, BATCH = GROUPS * LANES };

static const struct tcb_learned *const tables[] = { &tcb_learned_sm_90_quant_matmul, &tcb_learned_sm_90_quant_matvec,
						    &tcb_learned_sm_90_matmul };

const struct tcb_learned *tcb_learned_at(size_t index)
{
	return index < sizeof tables / sizeof *tables ? tables[index] : NULL;
}

/* The words that SHAPE says, a bit each. */
static uint64_t words_of(const struct tcb_words *words)
{
	uint64_t said = 0;
#define SAID(ID, field, ...) said |= (words->field != 0) * (UINT64_C(1) << TCB_WORD_##ID);
	TCB_SHAPE_WORDS(SAID)
#undef SAID
	return said;
}

/* Is PROBLEM of TABLE's family, of a kind that it was learned of? */
static int is_member(const struct tcb_learned *table, const struct tcb_problem *problem,
		     const struct tcb_target *target)
{
	const char *family = tcb_op_side(problem->op, target) ? tcb_space_of(problem, target, NULL)->family : NULL;
	return family && !strcmp(family, table->family) && (table->contracts >> problem->contract & 1u) &&
	       !(words_of(&problem->shape.words) & ~table->words);
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

int tcb_learned_has(const struct tcb_problem *problem, const struct tcb_target *target)
{
	return find(problem, target) != NULL;
}

/* --- from a form to a candidate --- */

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

/* What a field of the forms may be at a problem. */
struct column {
	struct tcb_field field;
	const struct tcb_axis *axis; /* NULL: it has the value of the op's own default */
	int is_word;
};

struct placing {
	struct tcb_default_place place;
	struct column columns[TCB_LEARNED_FIELDS_MAX];
};

static void placing_init(struct placing *placing, const struct tcb_learned *table, const struct tcb_problem *problem,
			 const struct tcb_target *target)
{
	tcb_default_place_init(&placing->place, problem, target);
	for (size_t i = 0; i < table->field_count; i++) {
		const struct tcb_field field = table->fields[i];
		placing->columns[i] = (struct column){ field, tcb_default_axis(&placing->place, field),
						       !tcb_default_is_number(&placing->place, field) };
	}
}

static int64_t dimension(const struct tcb_shape *shape, enum tcb_axis_kind kind)
{
	return (int64_t)(kind == TCB_AXIS_TILE_M ? shape->m : kind == TCB_AXIS_TILE_N ? shape->n : shape->k);
}

/* VALUE as COLUMN has it; of tiles a multiple of that of the level below, which OUT has. */
static int64_t value_in(const struct column *column, int64_t value, int is_whole, const struct tcb_geometry *out)
{
	struct tcb_field below = { column->field.kind, column->field.which + 1 };
	const int is_above = column->field.kind != TCB_AXIS_KNOB && column->field.which < TCB_MICRO;
	if (!column->axis || value == TCB_KNOB_UNSET)
		return value;
	return tcb_default_nearest(column->axis, value, is_whole, is_above ? tcb_field_get(below, out) : 1);
}

/* Form INDEX of TABLE as an element of the space, or almost; 0: the space has none like it. */
static int place_form(const struct tcb_learned *table, size_t index, const struct placing *placing,
		      struct tcb_geometry *out)
{
	const int16_t *form = table->forms + index * table->field_count;
	*out = placing->place.standard;
	for (size_t i = 0; i < table->field_count; i++) {
		const struct column *column = &placing->columns[i];
		const int is_whole = column->field.kind != TCB_AXIS_KNOB && form[i] == 0;
		const int64_t wanted =
			is_whole ? dimension(&placing->place.problem->shape, column->field.kind) : form[i];
		const int64_t value = value_in(column, wanted, is_whole, out);
		if (column->is_word && (column->axis ? value : tcb_field_get(column->field, out)) != wanted)
			return 0;
		if (column->axis)
			tcb_field_set(column->field, value, out);
	}
	return is_nested(out);
}

/* --- prediction --- */

/* A number of each of some candidates: what all processors have registers for. */
typedef int16_t lanes __attribute__((vector_size(LANES * sizeof(int16_t))));

struct batch {
	lanes feature[TCB_LEARNED_FEATURE_COUNT][GROUPS];
	int32_t sum[BATCH];
	uint16_t form[BATCH];
	size_t count;
};

/* Adds the leaves of one tree in which the candidates of GROUP end up. */
static void add_leaves(const struct tcb_learned_tree *tree, const lanes feature[][GROUPS], size_t group, int32_t *sum)
{
	lanes leaf = { 0 };
	for (int d = TCB_LEARNED_DEPTH - 1; d >= 0; d--)
		leaf = leaf + leaf - (feature[tree->feature[d]][group] > tree->bound[d]); /* true is -1 */
	for (size_t c = 0; c < LANES; c++)
		sum[c] += tree->leaf[leaf[c]];
}

static void predict(const struct tcb_learned *table, struct batch *batch)
{
	memset(batch->sum, 0, sizeof batch->sum);
	for (size_t t = 0; t < table->tree_count; t++)
		for (size_t g = 0; g < GROUPS; g++)
			add_leaves(&table->trees[t], batch->feature, g, &batch->sum[g * LANES]);
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

/* The fastest so far. */
struct choice {
	size_t form;
	int32_t predicted; /* INT32_MAX: there is none */
};

/* Of those that take the same the first. */
static void finish_batch(const struct tcb_learned *table, struct batch *batch, struct choice *choice)
{
	predict(table, batch);
	for (size_t c = 0; c < batch->count; c++)
		if (batch->sum[c] < choice->predicted)
			*choice = (struct choice){ batch->form[c], batch->sum[c] };
	batch->count = 0;
}

static struct choice choose(const struct tcb_learned *table, const struct placing *placing,
			    const struct tcb_target *target)
{
	struct choice choice = { 0, INT32_MAX };
	struct batch batch;
	struct tcb_geometry geometry;
	int16_t features[TCB_LEARNED_FEATURE_COUNT];
	memset(&batch, 0, sizeof batch);
	for (size_t i = 0; i < table->form_count; i++) {
		if (!place_form(table, i, placing, &geometry) ||
		    !tcb_default_is_legal(&placing->place, target, &geometry))
			continue;
		tcb_learned_features(placing->place.problem, target, &geometry, features);
		for (size_t f = 0; f < TCB_LEARNED_FEATURE_COUNT; f++)
			batch.feature[f][batch.count / LANES][batch.count % LANES] = features[f];
		batch.form[batch.count++] = (uint16_t)i;
		if (batch.count == BATCH)
			finish_batch(table, &batch, &choice);
	}
	if (batch.count)
		finish_batch(table, &batch, &choice);
	return choice;
}

static const struct tcb_learned_loss *loss_of(const struct tcb_learned *table, size_t m)
{
	size_t i = 0;
	while (i + 1 < table->loss_count && table->losses[i].m && m > table->losses[i].m)
		i++;
	return &table->losses[i];
}

const struct tcb_learned_loss *tcb_learned_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
						    const struct tcb_geometry *other, struct tcb_geometry *out)
{
	int16_t features[TCB_LEARNED_FEATURE_COUNT];
	const struct tcb_learned *table = find(problem, target);
	struct placing placing;
	if (!table)
		return NULL;
	placing_init(&placing, table, problem, target);
	const struct choice choice = choose(table, &placing, target);
	if (other) {
		tcb_learned_features(problem, target, other, features);
		*out = *other;
	}
	if (other && tcb_learned_predict(table, features) - table->margin < choice.predicted)
		return loss_of(table, problem->shape.m);
	if (choice.predicted == INT32_MAX)
		return NULL;
	(void)place_form(table, choice.form, &placing, out);
	return loss_of(table, problem->shape.m);
}

size_t tcb_learned_fastest(const struct tcb_problem *problem, const struct tcb_target *target,
			   const struct tcb_geometry *geometries, size_t count, size_t most, size_t *out)
{
	const struct tcb_learned *table = find(problem, target);
	int32_t predicted[TCB_LEARNED_FASTEST_MAX];
	size_t found = 0;
	most = tcb_least(most, TCB_LEARNED_FASTEST_MAX);
	for (size_t i = 0; table && most && i < count; i++) {
		int16_t features[TCB_LEARNED_FEATURE_COUNT];
		tcb_learned_features(problem, target, &geometries[i], features);
		const int32_t sum = tcb_learned_predict(table, features);
		if (found == most && sum >= predicted[most - 1])
			continue;
		size_t at = found < most ? found++ : most - 1;
		for (; at > 0 && predicted[at - 1] > sum; at--) {
			predicted[at] = predicted[at - 1];
			out[at] = out[at - 1];
		}
		predicted[at] = sum;
		out[at] = i;
	}
	return found;
}
