/* SPDX-License-Identifier: MIT
 *
 * Shifted rows of a row op's GPU kernel, whose length is not a multiple of a vector.  A row's number comes in; where
 * its vectors and its edge are goes out.  Vectors are aligned by construction, so all of their accesses are as wide as
 * in other rows and stay within the row; the values per column that belong to one straddle two vectors of their array.
 */
#include "kernels/rows/rows_gpu.h"

unsigned tcb_rows_floats(const struct tcb_rows_writer *w, const struct tcb_rows_values *values)
{
	return values->count * w->g->width + values->edge;
}

/*
 * Slots of several rows lie side by side, and how far a row's vectors and edge go depends on its number.  That they end
 * before the next slot is told beside it, by conditions of the thread's number alone, which `ptx check` can judge; they
 * are the same for all rows, so that they cost nothing in a loop.
 */
static int shares_ring(const struct tcb_rows_gpu *g)
{
	return g->copy == TCB_COPY_ASYNC && g->rows > 1;
}

kit_op tcb_rows_is_vector(struct tcb_rows_writer *w, kit_op column, kit_op end, kit_op done, unsigned ahead)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const unsigned columns = g->slice < g->most ? g->slice : g->most;
	const kit_op at = u_add(b, column, I(ahead));
	if (!g->shifted || !shares_ring(g))
		return u_lt(b, at, end);
	const kit_op place = u_add(b, u_add(b, w->place, done), I(ahead));
	return u_lt_and(b, at, end, u_lt(b, place, I(columns)));
}

void tcb_rows_write_shift(struct tcb_rows_writer *w, kit_op row, struct tcb_rows_shift *out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const int64_t each[2] = { g->x_bytes, g->y_bytes };
	kit_op start[2];
	const kit_op before = u_mul(b, row, I(g->n));
	out->head = u_and(b, u_sub(b, I(0), before), I(g->width - 1));
	for (unsigned i = 0; 1u << i < g->width; i++)
		out->bit[i] = u_ne(b, u_and(b, out->head, I(1 << i)), I(0));
	for (unsigned i = 0; i < 2; i++) {
		const int64_t vector = g->width * each[i];
		if (i && each[1] == each[0]) {
			start[1] = start[0];
			out->from[1] = out->from[0];
			continue;
		}
		start[i] = l_mul_wide(b, row, I((int64_t)g->n * each[i]));
		out->from[i] = l_and(b, l_add(b, start[i], I(vector - 1)), I(-vector));
	}
	out->end = u_and(b, u_sub(b, I(g->n), out->head), I(-(int64_t)g->width));
	const kit_op is_head = u_lt(b, w->thread, out->head);
	const kit_op behind = u_select(b, I(0), out->end, is_head);
	out->edge_column = u_add(b, w->thread, behind);
	for (unsigned i = 0; i < 2; i++)
		out->edge[i] = i && each[1] == each[0]
				       ? out->edge[0]
				       : l_add(b, start[i], l_mul_wide(b, out->edge_column, I(each[i])));
	const kit_op edges = u_sub(b, I(g->n), out->end);
	out->is_edge = shares_ring(g) ? u_lt_and(b, w->thread, edges, u_lt(b, w->thread, I(2 * g->width)))
				      : u_lt(b, w->thread, edges);
	out->has_edge = out->is_edge;
	if (g->splitk > 1)
		out->has_edge = u_eq_and(b, w->slice, I(0), out->is_edge);
}

void tcb_rows_write_presence(struct tcb_rows_writer *w, const struct tcb_rows_shift *shift,
			     struct tcb_rows_values *values)
{
	const struct tcb_rows_gpu *g = w->g;
	for (unsigned i = 0; i < values->count; i++) {
		const int is_cut = g->slice % g->pass && (i + 1) * g->pass > g->slice;
		values->unsure[i] = is_cut || (g->splitk - 1) * g->slice + (i + 1) * g->pass > g->least;
		if (values->unsure[i])
			values->present[i] = tcb_rows_is_vector(w, w->column,
								shift    ? shift->end
								: is_cut ? w->end
									 : I(g->n),
								I(0), i * g->pass);
	}
	if (!shift)
		return;
	values->edge = 1;
	values->present[values->count] = shift->has_edge;
	values->unsure[values->count] = 1;
}

/* The WIDTH values from place HEAD on of the 2 * WIDTH that are READ. */
static void write_funnel(struct tcb_rows_writer *w, kit_op *read, kit_op *out)
{
	const unsigned width = w->g->width;
	for (unsigned step = width / 2; step; step /= 2)
		for (unsigned i = 0; i < width + step - 1; i++)
			read[i] = f_select(&w->kit.b, read[i + step], read[i], w->shift.bit[step / 2]);
	for (unsigned i = 0; i < width; i++)
		out[i] = read[i];
}

void tcb_rows_write_shifted_weights(struct tcb_rows_writer *w, unsigned index, kit_op bytes,
				    struct tcb_rows_values *values)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct tcb_rows_gpu *g = w->g;
	const kit_op at = l_add(b, w->weight[index], bytes);
	const kit_op first = l_mad_wide(b, w->shift.head, I(4), at);
	for (unsigned i = 0; i < values->count; i++) {
		kit_op *value = values->value + i * g->width, read[2 * 4];
		const int64_t pass = (int64_t)i * g->pass * 4;
		for (unsigned j = 0; values->unsure[i] && j < g->width; j++) {
			value[j] = f_set(b, F(0));
			tcb_kit_load_where(b, values->present[i], TCB_KIT_INPUT, "f32", tcb_ptx_at(first, pass + 4 * j),
					   &value[j], 1);
		}
		if (values->unsure[i])
			continue;
		tcb_kit_load(b, TCB_KIT_INPUT, "f32", tcb_ptx_at(at, pass), read, g->width);
		tcb_kit_load(b, TCB_KIT_INPUT, "f32", tcb_ptx_at(at, pass + 4 * g->width), read + g->width, g->width);
		write_funnel(w, read, value);
	}
	if (!values->edge)
		return;
	kit_op *edge = &values->value[values->count * g->width];
	*edge = f_set(b, F(0));
	tcb_ptx_guard(b, values->present[values->count]);
	tcb_kit_load_into(b, TCB_KIT_INPUT, "f32", l_mad_wide(b, w->shift.edge_column, I(4), w->weight_base[index]),
			  edge, 1);
	tcb_ptx_unguard(b);
}
