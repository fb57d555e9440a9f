/* SPDX-License-Identifier: MIT
 *
 * fma: sums of a warp's tile in its lanes' registers, a product and an addition
 * an instruction.  Lanes lie 8 x 4 over the tile, or 4 x 8 over one that is wider
 * than high: so that neighbouring lanes load the same values (a load of 16 bytes
 * a lane then takes two wavefronts), one bit of the longer side's index is above
 * those of the shorter one.
 *
 * A lane's columns are groups of four, side by side.  So are its rows when k runs
 * slowest in shared memory; else they are every eighth (or fourth) row, and a load
 * takes four steps of k.
 */
#include "kernels/matmul/matmul_gpu_copy.h"
#include "kernels/matmul/matmul_gpu_math.h"

enum { WIDE = 4 /* values of a load */ };

struct shape {
	unsigned lanes_m, lanes_n, rows, columns;
};

static struct shape shape_of(const struct matmul_gpu *g)
{
	struct shape s = { .lanes_m = g->wm >= g->wn ? 8 : 4 };
	s.lanes_n = WARP / s.lanes_m;
	s.rows = g->wm / s.lanes_m;
	s.columns = g->wn / s.lanes_n;
	return s;
}

/* The lane's place over the tile. */
static void place(struct mm_writer *w, kit_op *m_out, kit_op *n_out)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const kit_op eight = u_and(b, u_shr(b, w->kit.lane, I(1)), I(7));
	const kit_op high = u_and(b, u_shr(b, w->kit.lane, I(3)), I(2));
	const kit_op four = u_or(b, u_and(b, w->kit.lane, I(1)), high);
	const int is_high = shape_of(w->g).lanes_m == 8;
	*m_out = is_high ? eight : four;
	*n_out = is_high ? four : eight;
}

static void open_fma(struct mm_writer *w, struct mm_fragments *f)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const struct shape s = shape_of(g);
	kit_op m, n, m0, n0;
	place(w, &m, &n);
	mm_write_warp_origin(w, &m0, &n0);
	n = u_mad(b, n, I(WIDE), n0);
	f->b_at = u_mad(b, n, I(4), I(g->a_bytes));
	if (g->a_is_transposed) {
		m = u_mad(b, m, I(WIDE), m0);
		f->a_at = f->a_odd = u_shl(b, m, I(2));
	} else {
		m = u_add(b, m, m0);
		f->a_at = f->a_odd = u_mad(b, m, I(g->pitch_a), mm_write_swizzle(w, g->pitch_a, m));
		if (s.lanes_m == 4) {
			const kit_op odd = u_add(b, m, I(4));
			f->a_odd = u_mad(b, m, I(g->pitch_a), mm_write_swizzle(w, g->pitch_a, odd));
		}
	}
	for (unsigned set = 0; set < 2; set++) {
		for (unsigned i = 0; i < s.rows * (g->a_is_transposed ? 1 : WIDE); i++)
			f->a[set][i] = tcb_ptx_reg(b, "f32");
		for (unsigned i = 0; i < s.columns; i++)
			f->b[set][i] = tcb_ptx_reg(b, "f32");
	}
}

static void load_four(struct mm_writer *w, kit_op at, int64_t offset, const kit_op *out)
{
	tcb_kit_load_into(&w->kit.b, TCB_KIT_SHARED, "f32", tcb_ptx_at(at, offset), out, WIDE);
}

static void load_fma(struct mm_writer *w, struct mm_fragments *f, kit_op slot, unsigned step)
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const struct shape s = shape_of(g);
	const kit_op b_at = u_add(b, slot, f->b_at);
	if (g->a_is_transposed) {
		const kit_op at = u_add(b, slot, f->a_at);
		for (unsigned i = 0; i < s.rows; i += WIDE)
			load_four(w, at, (int64_t)step * g->pitch_a + (int64_t)i * s.lanes_m * 4, f->a[step % 2] + i);
	} else if (step % WIDE == 0) {
		const unsigned set = step / WIDE % 2;
		const kit_op chunk = I((int64_t)step / WIDE * 16);
		const kit_op even = u_xor(b, u_add(b, slot, f->a_at), chunk);
		const kit_op odd = s.lanes_m == 4 ? u_xor(b, u_add(b, slot, f->a_odd), chunk) : even;
		for (unsigned i = 0; i < s.rows; i++)
			load_four(w, i % 2 ? odd : even, (int64_t)i * s.lanes_m * g->pitch_a, f->a[set] + i * WIDE);
	}
	for (unsigned j = 0; j < s.columns; j += WIDE)
		load_four(w, b_at, (int64_t)step * g->pitch_b + (int64_t)j * s.lanes_n * 4, f->b[step % 2] + j);
}

/* Back and forth along the columns: neighbours have an operand in common. */
static void multiply_fma(struct mm_writer *w, struct mm_fragments *f, unsigned step)
{
	const struct matmul_gpu *g = w->g;
	const struct shape s = shape_of(g);
	const kit_op *b = f->b[step % 2];
	for (unsigned i = 0; i < s.rows; i++) {
		const kit_op a = g->a_is_transposed ? f->a[step % 2][i] : f->a[step / WIDE % 2][i * WIDE + step % WIDE];
		for (unsigned c = 0; c < s.columns; c++) {
			const unsigned j = i % 2 ? s.columns - 1 - c : c;
			const kit_op sum = w->acc[i * s.columns + j];
			f_fma_to(&w->kit.b, sum, a, b[j], sum);
		}
	}
}

static void results_fma(struct mm_writer *w, void (*store)(struct mm_writer *w, kit_op row, kit_op column,
							   const kit_op *values, unsigned count))
{
	struct tcb_ptx_build *b = &w->kit.b;
	const struct matmul_gpu *g = w->g;
	const struct shape s = shape_of(g);
	kit_op m, n, m0, n0;
	place(w, &m, &n);
	mm_write_warp_origin(w, &m0, &n0);
	m0 = u_add(b, w->row, m0);
	n = u_mad(b, n, I(WIDE), u_add(b, w->column, n0));
	m = g->a_is_transposed ? u_mad(b, m, I(WIDE), m0) : u_add(b, m, m0);
	for (unsigned i = 0; i < s.rows; i++) {
		const unsigned down = g->a_is_transposed ? i / WIDE * WIDE * s.lanes_m + i % WIDE : i * s.lanes_m;
		const kit_op row = u_add(b, m, I(down));
		for (unsigned j = 0; j < s.columns; j += WIDE)
			store(w, row, u_add(b, n, I(j * s.lanes_n)), w->acc + i * s.columns + j, WIDE);
	}
}

struct mm_math mm_math_fma(const struct matmul_gpu *g)
{
	return (struct mm_math){ g->bk, open_fma, load_fma, multiply_fma, results_fma };
}
