/* SPDX-License-Identifier: MIT
 *
 * Databases to the matrix of losses.  Of several recordings of a shape on one
 * kind of device the faster time of each geometry counts.  Times are those of
 * the screening; a loss is the time over the best of the same shape, device and
 * state.  What counts is the loss with cold caches, or a third of that with hot
 * ones where that is more.
 */
#include "cli/tune/default_cells.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cpu_identity.h"
#include "base/gpu_table.h"
#include "base/kind.h"
#include "base/sizes.h"
#include "base/stats.h"
#include "cli/core/emit.h"

/* A geometry within this of a shape's best becomes a candidate for all shapes, of each shape at most so many. */
static const double NEAR_BEST = 1.10;
enum { FROM_SHAPE = 200, DIMS = 3, SAMPLES_MAX = 64 };
/* Of a loss with hot caches so much counts: weights and activations come from memory where a default matters, and on a
 * CPU no geometry is good at both. */
static const double HOT_SHARE = 1.0 / 3;
static const double FAILED = 100; /* what a geometry that failed loses */

/* --- reading --- */

struct reading {
	struct cli_default_groups *groups;
	struct tcb_db *db;
	int is_judged;
	enum tcb_status status;
	struct tcb_error *err;
};

static void *grow(void *items, size_t count, size_t size)
{
	/* Doubling: room is made when COUNT is a power of two. */
	return count & (count - 1) ? items : realloc(items, (count ? 2 * count : 1) * size);
}

static struct cli_default_group *group_of(struct cli_default_groups *groups, const struct tcb_problem *problem,
					  const struct tcb_target *target)
{
	struct cli_default_group made = { .op = problem->op, .contract = problem->contract };
	tcb_target_arch(target, made.arch);
	made.threads = tcb_kind_of(target)->has_threads ? target->threads : 0;
	for (size_t i = 0; i < groups->count; i++) {
		struct cli_default_group *group = &groups->items[i];
		if (group->op == made.op && group->contract == made.contract && group->threads == made.threads &&
		    !strcmp(group->arch, made.arch))
			return group;
	}
	struct cli_default_group *grown = grow(groups->items, groups->count, sizeof *grown);
	if (!grown)
		return NULL;
	groups->items = grown;
	groups->items[groups->count] = made;
	return &groups->items[groups->count++];
}

static struct cli_shape_row *row_of(struct cli_default_group *group, const struct tcb_device *device,
				    const struct tcb_problem *problem, int is_judged)
{
	for (size_t i = 0; i < group->row_count; i++) {
		struct cli_shape_row *row = &group->rows[i];
		if (!memcmp(&row->problem.shape, &problem->shape, sizeof problem->shape) &&
		    !strcmp(row->device.key, device->key)) {
			row->is_judged |= is_judged;
			return row;
		}
	}
	struct cli_shape_row *grown = grow(group->rows, group->row_count, sizeof *grown);
	if (!grown)
		return NULL;
	group->rows = grown;
	group->rows[group->row_count] =
		(struct cli_shape_row){ .device = *device, .problem = *problem, .is_judged = is_judged };
	return &group->rows[group->row_count++];
}

/* The mean of the faster half of the samples: what disturbs a machine makes calls slower, never faster. */
static double faster_half(const struct tcb_measurement *measurement)
{
	double samples[SAMPLES_MAX], sum = 0;
	const size_t count = tcb_least(measurement->sample_count, SAMPLES_MAX), half = tcb_div_up(count, 2);
	if (!count || measurement->dropped_early)
		return measurement->ns.median;
	memcpy(samples, measurement->samples, count * sizeof *samples);
	qsort(samples, count, sizeof *samples, tcb_ascending);
	for (size_t i = 0; i < half; i++)
		sum += samples[i];
	return sum / (double)half;
}

/* Screened where it was, since finals are of few. */
static double time_of(const struct tcb_trial *trial, enum tcb_state state)
{
	double ns[TCB_STAGE_COUNT] = { 0 };
	for (size_t i = 0; i < trial->measurement_count; i++)
		if (trial->measurements[i].state == state)
			ns[trial->measurements[i].stage] = faster_half(&trial->measurements[i]);
	return ns[TCB_STAGE_SCREEN] > 0 ? ns[TCB_STAGE_SCREEN] : ns[TCB_STAGE_FINAL];
}

static enum tcb_status add_trial(struct cli_shape_row *row, const struct tcb_trial *trial, struct tcb_error *err)
{
	struct cli_measured *grown = grow(row->measured, row->count, sizeof *grown);
	if (!grown)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu trials", row->count);
	row->measured = grown;
	struct cli_measured *measured = &row->measured[row->count];
	measured->geometry = trial->geometry;
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		measured->ns[s] = trial->outcome == TCB_OUTCOME_OK ? time_of(trial, (enum tcb_state)s) : INFINITY;
	if (trial->outcome != TCB_OUTCOME_TOO_SLOW)
		row->count++;
	return TCB_OK;
}

static enum tcb_status add_trials(struct reading *reading, const struct tcb_tried *tried)
{
	struct tcb_device device = tried->device;
	struct tcb_problem problem;
	struct tcb_trial *trials;
	size_t count;
	const struct tcb_op *op = tried->problem.op;
	if (!op || !tcb_kind_of(&device.target)->recall(&device) ||
	    tcb_problem_init(op, tried->problem.contract, &tried->problem.shape, &problem, NULL) != TCB_OK)
		return TCB_OK;
	struct cli_default_group *group = group_of(reading->groups, &problem, &device.target);
	struct cli_shape_row *row = group ? row_of(group, &device, &problem, reading->is_judged) : NULL;
	if (!row)
		return tcb_fail(reading->err, TCB_E_NOMEM, "out of memory for %zu rules", reading->groups->count);
	enum tcb_status status = tcb_db_trials(reading->db, &tried->device, &tried->problem, tried->rotation_bytes,
					       &trials, &count, reading->err);
	for (size_t i = 0; status == TCB_OK && i < count; i++)
		status = add_trial(row, &trials[i], reading->err);
	tcb_db_trials_free(trials, count);
	return status;
}

static int add_tried(void *ctx, const struct tcb_tried *tried)
{
	struct reading *reading = ctx;
	reading->status = add_trials(reading, tried);
	return reading->status != TCB_OK;
}

enum tcb_status cli_defaults_add(const struct tcb_registry *ops, struct cli_default_groups *groups, const char *path,
				 int is_judged, struct tcb_error *err)
{
	struct reading reading = { .groups = groups, .is_judged = is_judged, .err = err };
	TCB_TRY(cli_open_db_file(ops, path, TCB_DB_READ, &reading.db, err));
	enum tcb_status status = tcb_db_tried_each(reading.db, add_tried, &reading, err);
	cli_close_db(reading.db);
	return status == TCB_OK ? reading.status : status;
}

/* --- rows --- */

static int compare_geometries(const struct tcb_geometry *a, const struct tcb_geometry *b)
{
	for (int l = 0; l < TCB_LEVEL_COUNT; l++) {
		const size_t x[DIMS] = { a->tile[l].m, a->tile[l].n, a->tile[l].k };
		const size_t y[DIMS] = { b->tile[l].m, b->tile[l].n, b->tile[l].k };
		for (int d = 0; d < DIMS; d++)
			if (x[d] != y[d])
				return x[d] < y[d] ? -1 : 1;
	}
	for (int k = 0; k < TCB_KNOBS_MAX; k++)
		if (a->knob[k] != b->knob[k])
			return a->knob[k] < b->knob[k] ? -1 : 1;
	return 0;
}

static int by_geometry(const void *a, const void *b)
{
	const struct cli_measured *x = a, *y = b;
	return compare_geometries(&x->geometry, &y->geometry);
}

/* The faster of two times; what failed once and not another time has not failed. */
static double faster(double a, double b)
{
	return a > 0 && b > 0 ? fmin(a, b) : fmax(a, b);
}

void cli_shape_row_tidy(struct cli_shape_row *row)
{
	size_t kept = 0;
	if (row->count)
		qsort(row->measured, row->count, sizeof *row->measured, by_geometry);
	for (size_t i = 0; i < row->count; i++) {
		struct cli_measured *last = kept ? &row->measured[kept - 1] : NULL;
		if (last && by_geometry(last, &row->measured[i]) == 0)
			for (int s = 0; s < TCB_STATE_COUNT; s++)
				last->ns[s] = faster(last->ns[s], row->measured[i].ns[s]);
		else
			row->measured[kept++] = row->measured[i];
	}
	row->count = kept;
	for (size_t i = 0; i < kept; i++)
		for (int s = 0; s < TCB_STATE_COUNT; s++)
			if (isfinite(row->measured[i].ns[s]))
				row->best_ns[s] = faster(row->best_ns[s], row->measured[i].ns[s]);
}

static size_t measured_count(const struct cli_shape_row *row)
{
	size_t count = 0;
	for (size_t i = 0; i < row->count; i++)
		count += isfinite(row->measured[i].ns[TCB_COLD]) && isfinite(row->measured[i].ns[TCB_HOT]);
	return count;
}

static double loss_in(const struct cli_shape_row *row, const struct cli_measured *measured, int state)
{
	if (row->best_ns[state] <= 0)
		return 1;
	if (isinf(measured->ns[state]))
		return FAILED;
	return measured->ns[state] > 0 ? measured->ns[state] / row->best_ns[state] : NAN;
}

/* What counts of losses in both states. */
static double together(double cold, double hot)
{
	return isnan(cold) || isnan(hot) ? NAN : fmax(cold, 1 + HOT_SHARE * (hot - 1));
}

double cli_shape_row_loss(const struct cli_shape_row *row, const struct cli_measured *measured)
{
	return together(loss_in(row, measured, TCB_COLD), loss_in(row, measured, TCB_HOT));
}

static int by_shape(const void *a, const void *b)
{
	const struct cli_shape_row *x = a, *y = b;
	const size_t s[DIMS] = { x->problem.shape.m, x->problem.shape.n, x->problem.shape.k };
	const size_t t[DIMS] = { y->problem.shape.m, y->problem.shape.n, y->problem.shape.k };
	for (int d = 0; d < DIMS; d++)
		if (s[d] != t[d])
			return s[d] < t[d] ? -1 : 1;
	return strcmp(x->device.key, y->device.key);
}

/* --- forms --- */

/* GEOMETRY as text; of each dimension the outermost WHOLE tiles are written as its letter. */
static void print_form(const struct tcb_geometry *geometry, const int whole[DIMS], char out[TCB_GEOMETRY_TEXT_MAX])
{
	static const char letters[] = "MNK";
	char text[TCB_GEOMETRY_TEXT_MAX];
	size_t used = 0;
	for (int l = 0; l < TCB_LEVEL_COUNT; l++) {
		const size_t size[DIMS] = { geometry->tile[l].m, geometry->tile[l].n, geometry->tile[l].k };
		used += (size_t)snprintf(out + used, TCB_GEOMETRY_TEXT_MAX - used, "%s%s=", l ? "," : "",
					 tcb_level_text((enum tcb_level)l));
		for (int d = 0; d < DIMS; d++)
			used += l < whole[d] ? (size_t)snprintf(out + used, TCB_GEOMETRY_TEXT_MAX - used, "%s%c",
								d ? "x" : "", letters[d])
					     : (size_t)snprintf(out + used, TCB_GEOMETRY_TEXT_MAX - used, "%s%zu",
								d ? "x" : "", size[d]);
	}
	tcb_geometry_print(geometry, text);
	const char *knobs = text;
	for (int l = 0; l < TCB_LEVEL_COUNT && knobs; l++)
		knobs = strchr(knobs + 1, ',');
	if (knobs)
		(void)snprintf(out + used, TCB_GEOMETRY_TEXT_MAX - used, "%s", knobs);
}

/* How many of the outer tiles are as large as SHAPE, for each dimension. */
static void count_whole(const struct tcb_geometry *geometry, const struct tcb_shape *shape, int whole[DIMS])
{
	for (int d = 0; d < DIMS; d++) {
		const size_t size = d == 0 ? shape->m : d == 1 ? shape->n : shape->k;
		for (whole[d] = 0; whole[d] < TCB_LEVEL_COUNT && size; whole[d]++) {
			const struct tcb_tile *tile = &geometry->tile[whole[d]];
			if ((d == 0 ? tile->m : d == 1 ? tile->n : tile->k) < size)
				break;
		}
	}
}

/* The candidates of a group while they are gathered. */
struct forms {
	char **text;
	tcb_rule_set *origin;
	size_t count;
};

static enum tcb_status add_form(struct forms *forms, const char *text, tcb_rule_set origin, struct tcb_error *err)
{
	for (size_t i = 1; text && i < forms->count; i++)
		if (!strcmp(forms->text[i], text)) {
			forms->origin[i] |= origin;
			return TCB_OK;
		}
	char **texts = grow(forms->text, forms->count, sizeof *texts);
	forms->text = texts ? texts : forms->text;
	tcb_rule_set *origins = texts ? grow(forms->origin, forms->count, sizeof *origins) : NULL;
	forms->origin = origins ? origins : forms->origin;
	char *copy = origins && text ? strdup(text) : NULL;
	if (!origins || (text && !copy))
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu candidates", forms->count);
	forms->text[forms->count] = copy;
	forms->origin[forms->count++] = origin;
	return TCB_OK;
}

/* Does FORM give GEOMETRY at ROW's shape? */
static int is_form_of(const char *form, const struct cli_shape_row *row, const struct tcb_geometry *geometry)
{
	struct tcb_geometry applied;
	return tcb_default_apply(form, &row->problem, &row->device.target, &applied) &&
	       tcb_geometry_equal(&applied, geometry);
}

/* TEXT, and what gives the same geometry here and may give a better one elsewhere: the register tile of the op's own
 * default, which knows what is left over at the edges; results that bypass the caches where rows are whole lines. */
static enum tcb_status add_form_and_kin(struct forms *forms, const char *text, const struct tcb_geometry *geometry,
					const struct cli_shape_row *row, tcb_rule_set origin, struct tcb_error *err)
{
	static const char streams[] = "stream=0";
	char kin[TCB_GEOMETRY_TEXT_MAX];
	const char *micro = strstr(text, "micro="), *last = micro ? strchr(micro, ',') : NULL;
	const char *stream = strstr(text, streams);
	TCB_TRY(add_form(forms, text, origin, err));
	while (last && last > micro && *last != 'x')
		last--;
	if (last && last > micro) {
		(void)snprintf(kin, sizeof kin, "%.*smicro=*x*%s", (int)(micro - text), text, last);
		if (is_form_of(kin, row, geometry))
			TCB_TRY(add_form(forms, kin, origin, err));
	}
	if (!stream)
		return TCB_OK;
	(void)snprintf(kin, sizeof kin, "%.*sstream=1%s", (int)(stream - text), text, stream + strlen(streams));
	return is_form_of(kin, row, geometry) ? add_form(forms, kin, origin, err) : TCB_OK;
}

/*
 * Every way to read a midi or register tile that is as large as the shape: as its size, or as so large; a macro tile is
 * meant as large.  What measurements cannot tell apart is settled by the order: a midi tile along k is, too.
 */
static enum tcb_status add_forms(struct forms *forms, const struct tcb_geometry *geometry,
				 const struct cli_shape_row *row, tcb_rule_set origin, struct tcb_error *err)
{
	char text[TCB_GEOMETRY_TEXT_MAX];
	int most[DIMS], whole[DIMS];
	count_whole(geometry, &row->problem.shape, most);
	for (int d = 0; d < DIMS; d++)
		whole[d] = most[d] < (d == 2 ? 2 : 1) ? most[d] : d == 2 ? 2 : 1;
	print_form(geometry, whole, text);
	TCB_TRY(add_form_and_kin(forms, text, geometry, row, origin, err));
	for (whole[0] = most[0] > 0; whole[0] <= most[0]; whole[0]++)
		for (whole[1] = most[1] > 0; whole[1] <= most[1]; whole[1]++)
			for (whole[2] = most[2] > 0; whole[2] <= most[2]; whole[2]++) {
				print_form(geometry, whole, text);
				TCB_TRY(add_form_and_kin(forms, text, geometry, row, origin, err));
			}
	return TCB_OK;
}

struct ranked {
	const struct cli_measured *measured;
	double loss;
};

static int by_loss(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->loss != y->loss)
		return x->loss < y->loss ? -1 : 1;
	return by_geometry(x->measured, y->measured);
}

/* The best of ROW; with the optimiser's passes they are other kernels' geometries, which every sweep tries again. */
static enum tcb_status add_best(struct forms *forms, const struct cli_shape_row *row, tcb_rule_set origin,
				struct tcb_error *err)
{
	struct ranked *ranked = calloc(row->count + 1, sizeof *ranked);
	size_t count = 0;
	enum tcb_status status = TCB_OK;
	if (!ranked)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu trials", row->count);
	for (size_t i = 0; i < row->count; i++) {
		const double loss = cli_shape_row_loss(row, &row->measured[i]);
		if (isfinite(loss) && loss < FAILED &&
		    row->measured[i].geometry.knob[TCB_KNOB_PASSES] == TCB_KNOB_UNSET)
			ranked[count++] = (struct ranked){ &row->measured[i], loss };
	}
	qsort(ranked, count, sizeof *ranked, by_loss);
	for (size_t i = 0; status == TCB_OK && i < count && i < FROM_SHAPE; i++) {
		if (i && ranked[i].loss > NEAR_BEST * ranked[0].loss)
			break;
		status = add_forms(forms, &ranked[i].measured->geometry, row, origin, err);
	}
	free(ranked);
	return status;
}

/* --- cells --- */

int cli_form_apply(const char *form, const struct cli_shape_row *row, const struct tcb_target *target,
		   struct tcb_geometry *out)
{
	if (form)
		return tcb_default_apply(form, &row->problem, target, out);
	tcb_geometry_init(out);
	tcb_op_standard(&row->problem, target, out);
	return 1;
}

/* The part of the shapes around ROW's for which FORM gives a geometry. */
static double reach_of(const char *form, const struct cli_shape_row *row)
{
	static const size_t parts[][DIMS] = {
		/* in halves of the shape's */
		{ 1, 2, 2 }, { 3, 2, 2 }, { 4, 2, 2 }, { 2, 1, 2 }, { 2, 3, 2 }, { 2, 4, 2 },
		{ 2, 2, 1 }, { 2, 2, 3 }, { 2, 2, 4 }, { 2, 5, 5 }, { 3, 5, 3 },
	};
	const struct tcb_shape *shape = &row->problem.shape;
	size_t legal = 0, asked = 0;
	for (size_t i = 0; form && i < sizeof parts / sizeof *parts; i++) {
		const struct tcb_shape near = { tcb_div_up(shape->m * parts[i][0], 2), shape->n * parts[i][1] / 2,
						shape->k * parts[i][2] / 2 };
		struct tcb_problem problem;
		struct tcb_geometry geometry;
		if (tcb_problem_init(row->problem.op, row->problem.contract, &near, &problem, NULL) != TCB_OK)
			continue;
		asked++;
		legal += (size_t)tcb_default_apply(form, &problem, &row->device.target, &geometry);
	}
	return asked ? (double)legal / (double)asked : 1;
}

static void fill_cell(struct cli_default_group *group, double *loss, double *reach, size_t candidate, size_t at)
{
	const struct cli_shape_row *row = &group->rows[at];
	struct cli_measured wanted;
	const size_t cell = candidate * group->row_count + at;
	const int usable = cli_form_apply(group->forms[candidate], row, &row->device.target, &wanted.geometry);
	const struct cli_measured *found =
		usable && row->count ? bsearch(&wanted, row->measured, row->count, sizeof *row->measured, by_geometry)
				     : NULL;
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		group->state_loss[s][cell] = !usable ? INFINITY : found ? loss_in(row, found, s) : NAN;
	reach[cell] = usable ? reach_of(group->forms[candidate], row) : 0;
	loss[cell] = together(group->state_loss[TCB_COLD][cell], group->state_loss[TCB_HOT][cell]);
}

static enum tcb_status fill_group(struct cli_default_group *group, struct tcb_error *err)
{
	struct forms forms = { 0 };
	enum tcb_status status = add_form(&forms, NULL, 0, err);
	for (size_t i = 0; status == TCB_OK && i < group->row_count; i++) {
		group->shapes[i] = group->rows[i].problem.shape;
		if (!group->rows[i].is_judged)
			status = add_best(&forms, &group->rows[i], TCB_RULE_BIT(i), err);
	}
	const size_t cells = forms.count * group->row_count;
	double *loss = calloc(cells + 1, sizeof *loss), *reach = calloc(cells + 1, sizeof *reach);
	group->forms = forms.text;
	group->cells =
		(struct tcb_rule_cells){ group->row_count, forms.count, group->shapes, loss, reach, forms.origin };
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		group->state_loss[s] = calloc(cells + 1, sizeof *loss);
	if (status != TCB_OK)
		return status;
	if (!loss || !reach || !group->state_loss[TCB_COLD] || !group->state_loss[TCB_HOT])
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu cells", cells);
	for (size_t c = 0; c < forms.count; c++)
		for (size_t i = 0; i < group->row_count; i++)
			fill_cell(group, loss, reach, c, i);
	return TCB_OK;
}

static void group_fini(struct cli_default_group *group)
{
	for (size_t i = 0; i < group->row_count; i++)
		free(group->rows[i].measured);
	for (size_t i = 0; group->forms && i < group->cells.candidate_count; i++)
		free(group->forms[i]);
	free(group->rows);
	free(group->forms);
	free((void *)group->cells.loss);
	free((void *)group->cells.reach);
	free((void *)group->cells.origin);
	for (int s = 0; s < TCB_STATE_COUNT; s++)
		free(group->state_loss[s]);
}

/* Rows with enough, in the order of their shapes.  Returns how many shapes there are to learn from. */
static size_t keep_rows(struct cli_default_group *group, size_t least)
{
	size_t kept = 0, shapes = 0;
	for (size_t i = 0; i < group->row_count; i++) {
		cli_shape_row_tidy(&group->rows[i]);
		if (measured_count(&group->rows[i]) >= least && kept < TCB_RULE_SHAPES_MAX)
			group->rows[kept++] = group->rows[i];
		else
			free(group->rows[i].measured);
	}
	group->row_count = kept;
	if (kept)
		qsort(group->rows, kept, sizeof *group->rows, by_shape);
	for (size_t i = 0; i < kept; i++)
		shapes += !group->rows[i].is_judged &&
			  (!i || memcmp(&group->rows[i].problem.shape, &group->rows[i - 1].problem.shape,
					sizeof(struct tcb_shape)) != 0);
	return shapes;
}

static int by_name(const void *a, const void *b)
{
	const struct cli_default_group *x = a, *y = b;
	int order = strcmp(x->arch, y->arch);
	order = order ? order : strcmp(x->op->name, y->op->name);
	order = order ? order : (int)x->contract - (int)y->contract;
	return order ? order : (int)x->threads - (int)y->threads;
}

enum tcb_status cli_defaults_fill(struct cli_default_groups *groups, const char *op, const char *arch, size_t least,
				  struct tcb_error *err)
{
	size_t kept = 0;
	for (size_t i = 0; i < groups->count; i++) {
		const struct cli_default_group *group = &groups->items[i];
		const int is_wanted = (!op || !strcmp(group->op->name, op)) && (!arch || !strcmp(group->arch, arch));
		if (is_wanted && keep_rows(&groups->items[i], least) >= 2)
			groups->items[kept++] = groups->items[i];
		else
			group_fini(&groups->items[i]);
	}
	groups->count = kept;
	if (kept)
		qsort(groups->items, kept, sizeof *groups->items, by_name);
	for (size_t i = 0; i < kept; i++)
		TCB_TRY(fill_group(&groups->items[i], err));
	return TCB_OK;
}

void cli_defaults_fini(struct cli_default_groups *groups)
{
	for (size_t i = 0; i < groups->count; i++)
		group_fini(&groups->items[i]);
	free(groups->items);
}
