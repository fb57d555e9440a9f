/* SPDX-License-Identifier: MIT
 *
 * What all ops on rows say of a problem, and their plan on CPUs: a geometry comes in; whether it is one, and sizes, go
 * out.
 */

#include "base/sizes.h"
#include "kernels/cpu/cpu_plan.h"
#include "kernels/rows/rows_dims.h"

enum { LINE_DOUBLES = 8 /* 64 bytes, as ROWS_LINE_FLOATS */ };

size_t rows_operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	const struct rows_op *rows = rows_of(problem);
	const size_t m = problem->shape.m, n = problem->shape.n, bytes = n * sizeof(float);
	const enum tcb_type x = rows_x_type(problem), y = rows_y_type(problem);
	out[rows->x] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, x, m, n, m * n * tcb_type_bytes(x), 1 };
	out[rows->y] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, y, m, n, m * n * tcb_type_bytes(y), 1 };
	if (rows->weight >= 0)
		out[rows->weight] = (struct tcb_operand){ "w", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, n, bytes, 0 };
	if (rows->bias >= 0)
		out[rows->bias] = (struct tcb_operand){ "b", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, n, bytes, 0 };
	if (!problem->shape.words.add)
		return rows_count(rows);
	out[rows_added(rows)] = out[rows->x];
	out[rows_added(rows)].name = "added";
	out[rows_sum(rows)] = out[rows->x];
	out[rows_sum(rows)].name = "sum";
	out[rows_sum(rows)].role = TCB_ROLE_OUTPUT;
	return rows_sum(rows) + 1;
}

double rows_flops(const struct tcb_problem *problem)
{
	return (rows_of(problem)->flops + problem->shape.words.add) * (double)problem->shape.m *
	       (double)problem->shape.n;
}

double rows_traffic(const struct tcb_problem *problem)
{
	struct tcb_operand all[TCB_OPERANDS_MAX];
	double bytes = 0;
	for (size_t i = 0, count = rows_operands(problem, all); i < count; i++)
		bytes += (double)all[i].bytes;
	return bytes;
}

enum tcb_status rows_check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	size_t bytes;
	if (shape->k)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes a shape MxN (M rows of N values), for example 4096x%zu",
				op->name, shape->n ? shape->n : 4096);
	if (!shape->m || !shape->n)
		return tcb_fail(err, TCB_E_USAGE, "op %s needs at least one row and one column, for example 1x32000",
				op->name);
	if (tcb_mul_size(shape->m, shape->n, &bytes) || tcb_mul_size(bytes, 4 * sizeof(float), &bytes))
		return tcb_fail(err, TCB_E_OVERFLOW, "a %s of %zux%zu does not fit in memory", op->name, shape->m,
				shape->n);
	return TCB_OK;
}

static int keeps(const struct rows_op *rows, const struct tcb_geometry *geometry)
{
	return (rows->kept_forms >> geometry->knob[TCB_KNOB_FORM] & 1u) != 0;
}

static int has_parts(const struct rows_op *rows, const struct tcb_geometry *geometry)
{
	return (rows->part_forms >> geometry->knob[TCB_KNOB_FORM] & 1u) != 0;
}

/* Columns of what one call of the micro-kernel reduces. */
static size_t block_columns(const struct rows_op *rows, const struct tcb_geometry *geometry)
{
	const int is_whole = has_parts(rows, geometry) || geometry->knob[TCB_KNOB_STAGES] == ROWS_STAGES_GROUPED;
	return geometry->tile[is_whole ? TCB_MACRO : TCB_MIDI].n;
}

enum tcb_status rows_dims_init(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			       struct rows_dims *out, struct tcb_error *err)
{
	const struct tcb_tile *macro = &geometry->tile[TCB_MACRO], *midi = &geometry->tile[TCB_MIDI];
	size_t threads = (size_t)geometry->knob[TCB_KNOB_THREADS], per_turn, per_thread, kept;
	const struct rows_op *rows = rows_of(problem);
	struct rows_dims d = { .m = problem->shape.m, .n = problem->shape.n };
	if (rows_has_halves(problem))
		d.own_row = tcb_round_up(d.n, ROWS_LINE_FLOATS);
	d.strips = tcb_div_up(d.n, macro->n);
	d.tasks = tcb_div_up(d.m, midi->m) * d.strips;
	d.block = block_columns(rows, geometry);
	d.row_blocks = tcb_div_up(d.n, d.block);
	d.strip_blocks = tcb_div_up(tcb_least(macro->n, d.n), d.block);
	d.blocks = d.strips * d.strip_blocks;
	const int is_grouped = geometry->knob[TCB_KNOB_STAGES] == ROWS_STAGES_GROUPED;
	d.factor_rows = is_grouped ? 2 * ROWS_GROUP_MAX : 1;
	d.rows_kept = d.strips > 1 && !d.own_row ? d.m : threads;
	d.row_stats = tcb_round_up(d.blocks * rows->stats, LINE_DOUBLES);
	d.factor_floats = tcb_round_up(d.blocks, ROWS_LINE_FLOATS);
	const int has_scratch = geometry->knob[TCB_KNOB_STREAM] > 0 && keeps(rows, geometry);
	if (has_scratch && tcb_add_size(d.n, 2 * ROWS_PAGE_FLOATS, &d.scratch_row))
		goto overflow;
	if (has_scratch)
		d.scratch_row = tcb_round_up(d.n, ROWS_PAGE_FLOATS) + ROWS_PAGE_FLOATS / 2;
	if (has_parts(rows, geometry))
		d.part_floats = tcb_round_up(tcb_div_up(tcb_least(macro->n, d.n), midi->n), ROWS_LINE_FLOATS);
	if (d.strips > 1 && tcb_mul_size(d.m * d.strips, d.part_floats * sizeof(float), &d.kept_parts))
		goto overflow;
	d.kept_parts /= sizeof(float);
	d.turns = geometry->knob[TCB_KNOB_STAGES] == ROWS_STAGES_OVERLAPPED ? 2 : 1;
	if (tcb_mul_size(d.rows_kept, d.row_stats * sizeof(double), &kept) ||
	    tcb_add_size(kept, d.kept_parts * sizeof(float), &kept) ||
	    tcb_add_size(d.scratch_row, d.kept_parts ? 0 : d.part_floats, &per_turn) ||
	    tcb_mul_size(per_turn, d.turns, &d.thread_floats) ||
	    tcb_add_size(d.thread_floats, d.factor_rows * d.factor_floats + (has_scratch ? ROWS_PAGE_FLOATS : 0),
			 &d.thread_floats) ||
	    tcb_add_size(d.thread_floats, ROWS_OWN * d.own_row, &d.thread_floats) ||
	    tcb_mul_size(d.thread_floats, threads * sizeof(float), &per_thread) ||
	    tcb_add_size(kept, per_thread, &d.workspace_bytes))
		goto overflow;
	*out = d;
	return TCB_OK;
overflow:
	return tcb_fail(err, TCB_E_OVERFLOW, "the workspace of this geometry does not fit in memory");
}

static enum tcb_status check_knobs(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
				   struct tcb_error *err)
{
	const char *name = problem->op_name;
	const int32_t *knob = geometry->knob;
	const int32_t form = knob[TCB_KNOB_FORM];
	const int32_t asks = knob[TCB_KNOB_ASKS];
	if (knob[TCB_KNOB_STAGES] < 1 || knob[TCB_KNOB_STAGES] > ROWS_STAGES_GROUPED)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has stages (1 to %d)", name, ROWS_STAGES_GROUPED);
	if (asks != 1 && asks != 2 && asks != ROWS_ASKS_MAX)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s asks for a line 1, 2 or %d times", name, ROWS_ASKS_MAX);
	if (asks > 1 && (knob[TCB_KNOB_STAGES] == 1 || knob[TCB_KNOB_HINT] != TCB_HINT_T1))
		return tcb_fail(err, TCB_E_ILLEGAL,
				"asks above 1 needs stages above 1 and hint=t1: others are not dropped");
	if (knob[TCB_KNOB_HINT] > TCB_HINT_T1 ||
	    (knob[TCB_KNOB_STAGES] > 1 && knob[TCB_KNOB_PREFETCH] && knob[TCB_KNOB_HINT] != TCB_HINT_T1))
		return tcb_fail(err, TCB_E_ILLEGAL,
				"%s prefetches with hint=t1 (stages above 1: a row is too long for the first cache) or "
				"hint=t0",
				name);
	if (!knob[TCB_KNOB_PREFETCH] && (knob[TCB_KNOB_HINT] != TCB_HINT_T0 || asks > 1))
		return tcb_fail(err, TCB_E_ILLEGAL, "prefetch=0 asks for nothing: it must be hint=t0 and asks=1");
	if (form < 0 || !(rows_of(problem)->forms >> form & 1u))
		return tcb_fail(err, TCB_E_ILLEGAL, "%s has no form=%s", name,
				form < 0 ? "(unset)" : tcb_knob_word(TCB_KNOB_FORM, form));
	return TCB_OK;
}

/* What stages above 1 ask of PLAN, which tcb_cpu_plan began. */
static enum tcb_status check_stages(const struct tcb_plan *plan, const struct rows_dims *dims, struct tcb_error *err)
{
	const struct rows_op *rows = rows_of(&plan->problem);
	const struct tcb_tile *midi = &plan->geometry.tile[TCB_MIDI];
	const int32_t *knob = plan->geometry.knob;
	if (knob[TCB_KNOB_STAGES] == 2 && ((size_t)knob[TCB_KNOB_PREFETCH] / sizeof(float) < dims->n ||
					   dims->strips > 1 || dims->m == 1 || dims->n <= plan->variant->micro.n))
		return tcb_fail(
			err, TCB_E_ILLEGAL,
			"stages=2 fetches the next row while one is stored: it needs prefetch of a row or more, "
			"several rows, and rows that are whole and longer than micro.n");
	if (knob[TCB_KNOB_STAGES] == ROWS_STAGES_OVERLAPPED &&
	    (dims->strips > 1 || dims->m == 1 || midi->m == 1 || dims->n <= plan->variant->micro.n))
		return tcb_fail(
			err, TCB_E_ILLEGAL,
			"stages=3 stores a row while the next is reduced: it needs midi.m above 1, and rows that are "
			"whole and longer than micro.n");
	if (knob[TCB_KNOB_STAGES] == ROWS_STAGES_GROUPED &&
	    (!rows->has_groups || knob[TCB_KNOB_FORM] != TCB_FORM_ONEPASS || dims->strips > 1 ||
	     dims->n <= plan->variant->micro.n || midi->m > ROWS_GROUP_MAX || dims->m <= midi->m ||
	     knob[TCB_KNOB_SCHED] != TCB_SCHED_STATIC || midi->n % ROWS_LINE_FLOATS))
		return tcb_fail(
			err, TCB_E_ILLEGAL,
			"stages=4 stores the rows of a task while those of the next are reduced: it needs an op "
			"with weights, form=onepass, sched=static, midi.m of at most %d and less than the rows, "
			"midi.n of whole lines, and whole rows longer than micro.n",
			ROWS_GROUP_MAX);
	return TCB_OK;
}

enum tcb_status rows_plan(const struct tcb_problem *problem, const struct tcb_geometry *geometry, struct tcb_plan *out,
			  struct tcb_error *err)
{
	const struct rows_op *rows = rows_of(problem);
	const struct tcb_tile *tile = geometry->tile;
	struct rows_dims dims;
	TCB_TRY(tcb_cpu_plan(problem, geometry,
			     TCB_NEEDS(PREFETCH) | TCB_NEEDS(HINT) | TCB_NEEDS(STREAM) | TCB_NEEDS(STAGES), out, err));
	const struct tcb_variant *variant = out->variant;
	const size_t lanes = tcb_float_lanes((int32_t)variant->isa), chains = variant->micro.n / lanes;
	TCB_TRY(check_knobs(problem, geometry, err));
	TCB_TRY(rows_dims_init(problem, geometry, &dims, err));
	if (dims.n > variant->micro.n && !rows_has_loops(chains))
		return tcb_fail(err, TCB_E_ILLEGAL,
				"micro.n=%zu holds whole rows; longer ones are taken in steps of %zu or %zu columns",
				variant->micro.n, 2 * lanes, ROWS_CHAINS_MOST * lanes);
	const int32_t form = geometry->knob[TCB_KNOB_FORM];
	const int is_streamed = geometry->knob[TCB_KNOB_STREAM] == 1;
	TCB_TRY(tcb_cpu_plan_shares(out, dims.tasks, "midi.m", err));
	if (dims.strips > 1 && out->threads == 1)
		return tcb_fail(err, TCB_E_ILLEGAL, "macro.n=%zu shares a row of %zu between threads, but threads=1",
				tile[TCB_MACRO].n, dims.n);
	if (is_streamed && dims.strips > 1 && keeps(rows, geometry))
		return tcb_fail(err, TCB_E_ILLEGAL, "stream=1 needs whole rows in a task: macro.n of at least %zu",
				dims.n);
	if (has_parts(rows, geometry) && tile[TCB_MIDI].n % ROWS_LINE_FLOATS)
		return tcb_fail(err, TCB_E_ILLEGAL, "form=%s needs parts of whole lines, midi.n a multiple of %d",
				tcb_knob_word(TCB_KNOB_FORM, form), ROWS_LINE_FLOATS);
	TCB_TRY(check_stages(out, &dims, err));
	if (is_streamed && !tcb_cpu_isa(variant->isa)->has_stream)
		return tcb_fail(err, TCB_E_ILLEGAL, "stream=1 needs stores past the caches, which isa=%s has not",
				tcb_isa_text(variant->isa));
	if (dims.n <= variant->micro.n && form != (int32_t)rows_first_form(rows))
		return tcb_fail(err, TCB_E_ILLEGAL, "rows of %zu stay in registers, whatever the form: it must be %s",
				dims.n, tcb_knob_word(TCB_KNOB_FORM, rows_first_form(rows)));
	const size_t block = tcb_least(block_columns(rows, geometry), dims.n);
	out->workspace_bytes = dims.workspace_bytes;
	/* Additions that a term of a block's sum goes through: steps, left-over vectors, chains, lanes. */
	rows->bound((enum tcb_form)form, block,
		    (double)(block / variant->micro.n + chains + chains + tcb_log2_up(lanes)), out);
	return TCB_OK;
}
