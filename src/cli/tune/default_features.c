/* SPDX-License-Identifier: MIT
 *
 * In: what default_cells.c read.  Out: a table of text, of what the library would see of each geometry
 * (learned_features.h) and of what it took.
 */
#include "cli/tune/default_features.h"

#include <math.h>
#include <string.h>

#include "kernels/defaults/learned_features.h"

void cli_features_head(struct tcb_str *out)
{
	tcb_str_add(out, "op\tcontract\tarch\tdevice\tshape\tjudged\tcold\thot\tgeometry");
	for (unsigned f = 0; f < TCB_LEARNED_FEATURE_COUNT; f++)
		tcb_str_addf(out, "\t%s", tcb_learned_feature_name(f));
	tcb_str_add(out, "\n");
}

/* What was optimised by passes is another kernel of a geometry that is here, too; what failed has no time. */
static int is_usable(const struct cli_measured *measured)
{
	return isfinite(measured->ns[TCB_COLD]) && isfinite(measured->ns[TCB_HOT]) &&
	       (measured->ns[TCB_COLD] > 0 || measured->ns[TCB_HOT] > 0) &&
	       measured->geometry.knob[TCB_KNOB_PASSES] == TCB_KNOB_UNSET;
}

void cli_features_add(const struct tcb_problem *problem, const struct tcb_device *device,
		      const struct tcb_geometry *geometry, const double ns[TCB_STATE_COUNT], int is_judged,
		      struct tcb_str *out)
{
	char shape[TCB_SHAPE_TEXT_MAX], text[TCB_GEOMETRY_TEXT_MAX], arch[TCB_ARCH_TEXT_MAX];
	int16_t features[TCB_LEARNED_FEATURE_COUNT];
	tcb_shape_print(&problem->shape, shape);
	tcb_geometry_print(geometry, text);
	tcb_target_arch(&device->target, arch);
	tcb_learned_features(problem, &device->target, geometry, features);
	tcb_str_addf(out, "%s\t%s\t%s\t%s\t%s\t%d\t%.0f\t%.0f\t%s", problem->op_name,
		     tcb_contract_text(problem->contract), arch, device->model, shape, is_judged, ns[TCB_COLD],
		     ns[TCB_HOT], text);
	for (unsigned f = 0; f < TCB_LEARNED_FEATURE_COUNT; f++)
		tcb_str_addf(out, "\t%d", features[f]);
	tcb_str_add(out, "\n");
}

/* Of ROW, what can be used; returns how many that are. */
static size_t add_row(const struct cli_shape_row *row, struct tcb_str *out)
{
	size_t count = 0;
	for (size_t i = 0; i < row->count; i++) {
		const struct cli_measured *measured = &row->measured[i];
		if (!is_usable(measured))
			continue;
		cli_features_add(&row->problem, &row->device, &measured->geometry, measured->ns, row->is_judged, out);
		count++;
	}
	return count;
}

enum tcb_status cli_default_features(struct cli_default_groups *groups, const char *op, const char *arch,
				     struct tcb_str *out, struct tcb_error *err)
{
	size_t count = 0;
	cli_features_head(out);
	for (size_t g = 0; g < groups->count; g++) {
		const struct cli_default_group *group = &groups->items[g];
		if ((op && strcmp(group->op->name, op) != 0) || (arch && strcmp(group->arch, arch) != 0))
			continue;
		for (size_t r = 0; r < group->row_count; r++) {
			cli_shape_row_tidy(&group->rows[r]);
			count += add_row(&group->rows[r], out);
		}
	}
	return count ? TCB_OK : tcb_fail(err, TCB_E_NOT_FOUND, "nothing was measured of that");
}
