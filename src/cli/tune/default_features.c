/* SPDX-License-Identifier: MIT
 *
 * In: what default_cells.c read.  Out: a table of text, of what the library would see of each geometry
 * (learned_features.h) and of what it took.
 */
#include "cli/tune/default_features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/constraint.h"
#include "kernels/default_rules.h"
#include "kernels/defaults/default_place.h"
#include "kernels/defaults/learned.h"
#include "kernels/defaults/learned_features.h"

/* What a geometry loses at most at some problem, to be tried at others. */
static const double GOOD = 1.3;

void cli_features_head(struct tcb_str *out)
{
	tcb_str_add(out, "family\top\tcontract\tarch\tdevice\tshape\tjudged\tcold\thot\tdefault\tgeometry");
	for (unsigned f = 0; f < TCB_LEARNED_FEATURE_COUNT; f++)
		tcb_str_addf(out, "\t%s", tcb_learned_feature_name(f));
	tcb_str_add(out, "\n");
}

/* Of ROW.  What was optimised by passes is another kernel of a geometry that is here, too; what failed has no time;
 * what is not legal any more was another kernel. */
static int is_usable(const struct cli_shape_row *row, const struct cli_measured *measured)
{
	return !tcb_constraint_violated(row->problem.op, &row->problem, &row->device.target, &measured->geometry, 0,
					NULL) &&
	       isfinite(measured->ns[TCB_COLD]) && isfinite(measured->ns[TCB_HOT]) &&
	       (measured->ns[TCB_COLD] > 0 || measured->ns[TCB_HOT] > 0) &&
	       measured->geometry.knob[TCB_KNOB_PASSES] == TCB_KNOB_UNSET;
}

void cli_featured_init(struct cli_featured *out, const struct tcb_problem *problem, const struct tcb_device *device)
{
	out->problem = problem;
	out->device = device;
	out->family = tcb_space_of(problem, &device->target, NULL)->family;
	out->family = out->family ? out->family : problem->op_name;
	tcb_geometry_init(&out->standard);
	tcb_op_standard(problem, &device->target, &out->standard);
	(void)tcb_default_by_rule(problem, &device->target, &out->by_rule);
}

void cli_features_add(const struct cli_featured *of, const struct tcb_geometry *geometry,
		      const double ns[TCB_STATE_COUNT], int is_judged, struct tcb_str *out)
{
	const struct tcb_problem *problem = of->problem;
	const int is_standard = tcb_geometry_equal(geometry, &of->standard);
	const int is_by_rule = tcb_geometry_equal(geometry, &of->by_rule);
	char shape[TCB_SHAPE_TEXT_MAX], text[TCB_GEOMETRY_TEXT_MAX], arch[TCB_ARCH_TEXT_MAX];
	int16_t features[TCB_LEARNED_FEATURE_COUNT];
	tcb_shape_print(&problem->shape, shape);
	tcb_geometry_print(geometry, text);
	tcb_target_arch(&of->device->target, arch);
	tcb_learned_features(problem, &of->device->target, geometry, features);
	tcb_str_addf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%d\t%.0f\t%.0f\t%d\t%s", of->family, problem->op_name,
		     tcb_contract_text(problem->contract), arch, of->device->model, shape, is_judged, ns[TCB_COLD],
		     ns[TCB_HOT], is_by_rule ? 2 : is_standard, text);
	for (unsigned f = 0; f < TCB_LEARNED_FEATURE_COUNT; f++)
		tcb_str_addf(out, "\t%d", features[f]);
	tcb_str_add(out, "\n");
}

/* Of ROW, what can be used; returns how many that are. */
static size_t add_row(const struct cli_shape_row *row, struct tcb_str *out)
{
	struct cli_featured of;
	size_t count = 0;
	cli_featured_init(&of, &row->problem, &row->device);
	for (size_t i = 0; i < row->count; i++) {
		const struct cli_measured *measured = &row->measured[i];
		if (!is_usable(row, measured))
			continue;
		cli_features_add(&of, &measured->geometry, measured->ns, row->is_judged, out);
		count++;
	}
	return count;
}

/* --- geometries that were good somewhere, at other problems --- */

/* One, with 0 for tiles that are as large as the shape that it was measured at. */
struct form {
	struct tcb_geometry geometry;
	tcb_fields whole;
	char text[TCB_GEOMETRY_TEXT_MAX];
};

struct forms {
	struct form *items;
	size_t count;
};

static int by_text(const void *a, const void *b)
{
	const struct form *x = a, *y = b;
	return strcmp(x->text, y->text);
}

/* Each once, in the order of their texts. */
static void sort_once(struct forms *forms)
{
	size_t kept = 0;
	if (forms->count)
		qsort(forms->items, forms->count, sizeof *forms->items, by_text);
	for (size_t i = 0; i < forms->count; i++)
		if (!kept || by_text(&forms->items[kept - 1], &forms->items[i]) != 0)
			forms->items[kept++] = forms->items[i];
	forms->count = kept;
}

static int64_t size_of(const struct tcb_shape *shape, int kind)
{
	return (int64_t)(kind == TCB_AXIS_TILE_M ? shape->m : kind == TCB_AXIS_TILE_N ? shape->n : shape->k);
}

static void set_form(const struct tcb_geometry *geometry, const struct tcb_shape *shape, struct form *out)
{
	*out = (struct form){ .geometry = *geometry };
	for (int level = TCB_MACRO; level <= TCB_MIDI; level++)
		for (int kind = level == TCB_MACRO ? TCB_AXIS_TILE_M : TCB_AXIS_TILE_K; kind <= TCB_AXIS_TILE_K;
		     kind++) {
			const struct tcb_field field = { (enum tcb_axis_kind)kind, level };
			if (tcb_field_get(field, geometry) < size_of(shape, kind))
				continue;
			out->whole |= tcb_field_bit(field);
			tcb_field_set(field, 0, &out->geometry);
		}
	tcb_geometry_print(&out->geometry, out->text);
}

static int add_forms(const struct cli_shape_row *row, struct forms *forms)
{
	struct form *grown = realloc(forms->items, (forms->count + row->count + 1) * sizeof *grown);
	if (!grown)
		return 0;
	forms->items = grown;
	for (size_t i = 0; i < row->count; i++)
		if (is_usable(row, &row->measured[i]) && cli_shape_row_loss(row, &row->measured[i]) <= GOOD)
			set_form(&row->measured[i].geometry, &row->problem.shape, &forms->items[forms->count++]);
	sort_once(forms);
	return 1;
}

/* FORM at PLACE; 0: it is not legal there. */
static int carry(const struct form *form, const struct tcb_default_place *place, const struct tcb_target *target,
		 struct tcb_geometry *out)
{
	*out = form->geometry;
	for (unsigned bit = 0; bit < TCB_FIELD_COUNT; bit++)
		if (form->whole & TCB_FIELD_BIT(bit)) {
			const struct tcb_field field = tcb_field_at(bit);
			tcb_field_set(field, size_of(&place->problem->shape, field.kind), out);
		}
	return tcb_default_settle(place, target, form->whole, 0, out);
}

/* Lines of all FORMS at ROW's problem. */
static size_t add_carried(const struct cli_shape_row *row, const struct forms *forms, struct tcb_str *out)
{
	static const double not_measured[TCB_STATE_COUNT] = { 0 };
	const struct tcb_target *target = &row->device.target;
	struct forms carried = { calloc(forms->count + 1, sizeof *carried.items), 0 };
	struct tcb_default_place place;
	struct cli_featured of;
	struct tcb_geometry geometry;
	tcb_default_place_init(&place, &row->problem, target);
	cli_featured_init(&of, &row->problem, &row->device);
	for (size_t i = 0; carried.items && i < forms->count; i++) {
		struct form *to = &carried.items[carried.count];
		if (!carry(&forms->items[i], &place, target, &geometry))
			continue;
		to->geometry = geometry;
		tcb_geometry_print(&geometry, to->text);
		carried.count++;
	}
	sort_once(&carried);
	for (size_t i = 0; i < carried.count; i++)
		cli_features_add(&of, &carried.items[i].geometry, not_measured, row->is_judged, out);
	free(carried.items);
	return carried.count;
}

/* Of OP, or of ops whose geometries are of the same space. */
static int is_wanted(const struct cli_default_group *group, const struct tcb_op *op, const char *arch)
{
	const struct cli_shape_row *row = group->rows;
	const struct tcb_side *side = row && op ? tcb_op_side(op, &row->device.target) : NULL;
	return row && (!arch || !strcmp(group->arch, arch)) &&
	       (!op || group->op == op ||
		(side && side->space == tcb_space_of(&row->problem, &row->device.target, NULL)));
}

enum tcb_status cli_default_features(struct cli_default_groups *groups, const struct tcb_op *op, const char *arch,
				     int are_carried, struct tcb_str *out, struct tcb_error *err)
{
	struct forms forms = { 0 };
	size_t count = 0;
	int is_full = 0;
	cli_features_head(out);
	for (int pass = are_carried ? 0 : 1; pass < 2; pass++)
		for (size_t g = 0; g < groups->count; g++) {
			const struct cli_default_group *group = &groups->items[g];
			if (!is_wanted(group, op, arch))
				continue;
			for (size_t r = 0; r < group->row_count; r++) {
				cli_shape_row_tidy(&group->rows[r]);
				if (pass == 0)
					is_full |= !add_forms(&group->rows[r], &forms);
				else
					count += are_carried ? add_carried(&group->rows[r], &forms, out)
							     : add_row(&group->rows[r], out);
			}
		}
	free(forms.items);
	if (is_full)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu geometries", forms.count);
	return count ? TCB_OK : tcb_fail(err, TCB_E_NOT_FOUND, "nothing was measured of that");
}
