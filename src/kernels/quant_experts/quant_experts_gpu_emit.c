/* SPDX-License-Identifier: MIT
 *
 * The products of experts on a GPU: a geometry comes in, a module of PTX and its
 * launches go out.  Here are the launches (quant_experts_gpu.h says which); what
 * they do is in quant_experts_gpu_route.c, _items.c and _results.c.
 *
 * With dependent launch (pdl) each kernel waits for the one before it ere it
 * touches any memory, since what is read depends on the ids.  Where the product's
 * blocks route, they do it while the first launch makes the image; that lets them
 * begin when it knows that ids are there.
 */
#include "base/sizes.h"
#include "kernels/gpu/barrier.h"
#include "kernels/gpu/quant_gpu.h"
#include "kernels/quant_experts/quant_experts_gpu.h"
#include "kernels/quant_experts/quant_experts_gpu_writer.h"
#include "kernels/quant_matmul/quant_matmul_gpu_s8.h"
#include "kernels/quant_matmul/quant_matmul_gpu_x.h"

enum { WORD = 4, PIECE = 16 };

/* What the first launch makes for the second, or what a block routes by. */
struct routed {
	kit_op count, ids, pairs;
};

static void read_ids(struct tcb_kit *kit, const struct qex_gpu *g, struct routed *r)
{
	r->ids = tcb_kit_operand(kit, "ids", 4, QEX_IDS);
	r->pairs = tcb_kit_number(kit, "pairs", g->pairs);
}

static void point_at_table(struct qex_writer *x, struct routed *r)
{
	struct tcb_kit *kit = &x->w.kit;
	const struct qex_gpu *g = x->g;
	r->count = tcb_kit_workspace(kit, "count", 256, g->count_at);
	x->table = tcb_kit_workspace(kit, "table", 256, g->table_at);
	x->order = tcb_kit_workspace(kit, "order", 256, g->order_at);
	x->route_memory = TCB_KIT_GLOBAL;
}

/* In the first launch, by its first block. */
static void write_route(struct qex_writer *x, const struct routed *r)
{
	struct tcb_kit *kit = &x->w.kit;
	struct tcb_ptx_build *b = &kit->b;
	x->counts = u_set(b, tcb_ptx_shared(b, "counts", 16, x->g->route_bytes));
	x->route_threads = QMM_PREPARE_WARPS * WARP;
	tcb_ptx_if_begin(b, u_eq(b, u_block_x(b), I(0)));
	qex_write_route(x, r->ids, r->pairs);
	tcb_kit_put_where(b, u_eq(b, kit->tid, I(0)), TCB_KIT_GLOBAL, "u32", r->count, x->chunks);
	tcb_ptx_if_end(b);
}

/* The first launch: along y a block that routes, unless those of the product do, and those that prepare x. */
static void write_prepare(struct qex_writer *x)
{
	struct tcb_kit *kit = &x->w.kit;
	struct tcb_ptx_build *b = &kit->b;
	const struct qex_gpu *g = x->g;
	const unsigned each = qmm_prepare_tokens(&g->image), routing = !g->routes_itself;
	struct routed routed;
	x->w.g = &g->image;
	tcb_kit_begin(kit, "qex_prepare",
		      &(struct tcb_kit_kernel){ .threads = QMM_PREPARE_WARPS * WARP,
						.blocks_together = 1,
						.grid = { g->image.row_units, routing + qmm_prepare_blocks(&g->image) },
						.is_dependent = g->tile.pdl });
	x->w.x = tcb_kit_operand(kit, "x", 16, TCB_QUANT_X);
	const kit_op image = tcb_kit_workspace(kit, "image", 256, 0);
	x->w.tokens = tcb_kit_number(kit, "tokens", g->x_rows);
	x->w.padded = tcb_kit_number(kit, "padded", g->padded);
	if (routing) {
		read_ids(kit, g, &routed);
		point_at_table(x, &routed);
		tcb_kit_dependents(kit, 1);
	} else {
		tcb_kit_depend(kit);
		tcb_kit_dependents(kit, 0);
	}
	tcb_kit_threads(kit);
	kit_op part = u_block_y(b);
	if (routing) {
		tcb_ptx_if_begin(b, u_eq(b, part, I(0)));
		write_route(x, &routed);
		tcb_ptx_if_else(b);
		part = u_sub(b, part, I(1));
	}
	const kit_op warp = u_mad(b, part, I(QMM_PREPARE_WARPS), kit->warp);
	qmm_write_into_image(&x->w, image, u_block_x(b), u_mul(b, warp, I(each)), each);
	if (routing)
		tcb_ptx_if_end(b);
	tcb_kit_end(kit);
	x->w.g = &g->tile;
}

static void write_routed_parameters(struct qex_writer *x, struct routed *r)
{
	struct tcb_kit *kit = &x->w.kit;
	const struct qex_gpu *g = x->g;
	x->w.x = g->is_in_block ? tcb_kit_operand(kit, "x", 16, TCB_QUANT_X) : tcb_kit_workspace(kit, "image", 256, 0);
	if (g->routes_itself)
		read_ids(kit, g, r);
	else
		point_at_table(x, r);
	if (g->is_in_block)
		x->w.tokens = tcb_kit_number(kit, "tokens", g->x_rows);
	else
		x->w.padded = tcb_kit_number(kit, "padded", g->padded);
}

/* is_in_block: zeros for the tokens that no chunk has had yet, while the kernel before may still run. */
static void clear_tokens(struct qex_writer *x)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	const unsigned bytes = g->tile.row_units * g->tile.unit_tiles * g->tile.x_tile_bytes;
	const kit_op first = u_add(b, x->w.kit.shared, I(g->x_at));
	const kit_op zero[4] = { b_set(b, I(0)), b_set(b, I(0)), b_set(b, I(0)), b_set(b, I(0)) };
	const kit_op loop =
		tcb_ptx_for_begin(b, u_mul(b, x->w.kit.tid, I(PIECE)), I(bytes), I(g->tile.threads * PIECE), 0);
	tcb_kit_store(b, TCB_KIT_SHARED, "b32", u_add(b, loop, first), zero, 4);
	tcb_ptx_for_end(b);
}

static void write_routing(struct qex_writer *x, const struct routed *r)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const struct qex_gpu *g = x->g;
	if (!g->routes_itself) {
		x->chunks = tcb_kit_get(b, TCB_KIT_GLOBAL, "u32", r->count);
		return;
	}
	x->route_memory = TCB_KIT_SHARED;
	x->route_threads = g->tile.threads;
	x->counts = u_add(b, x->w.kit.shared, I(g->counts_at));
	x->table = u_add(b, x->w.kit.shared, I(g->table_in_block_at));
	x->order = u_add(b, x->w.kit.shared, I(g->order_in_block_at));
	qex_write_route(x, r->ids, r->pairs);
}

static void write_product(struct qex_writer *x)
{
	struct tcb_kit *kit = &x->w.kit;
	const struct qex_gpu *g = x->g;
	struct routed routed;
	tcb_kit_begin(kit, "qex_product",
		      &(struct tcb_kit_kernel){ .threads = g->tile.threads,
						.blocks_together = g->tile.together,
						.grid = { g->grid },
						.shared_bytes = g->shared_bytes,
						.is_dependent = g->tile.pdl });
	x->w.weights = tcb_kit_operand(kit, "weights", 16, TCB_QUANT_WEIGHTS);
	if (g->matrices > 1)
		x->up = tcb_kit_operand(kit, "up", 16, QEX_UP);
	for (unsigned m = 0; g->has_bias && m < g->matrices; m++)
		x->bias[m] = tcb_kit_operand(kit, m ? "up_bias" : "bias", 4, qex_bias(&kit->out->problem) + m);
	write_routed_parameters(x, &routed);
	x->w.y = g->is_summed ? tcb_kit_workspace(kit, "products", 4, g->products_at)
			      : tcb_kit_operand(kit, "y", 4, TCB_QUANT_Y);
	x->w.rows = tcb_kit_number(kit, "rows", g->tile.n);
	tcb_kit_dependents(kit, 0);
	qmm_write_threads(&x->w);
	tcb_kit_memory(kit, g->tile.is_wgmma ? 1024 : 128);
	qmm_write_code_constants(&x->w);
	if (g->tile.group)
		qmm_write_s8_constants(&x->w);
	qmm_write_header_constants(&x->w);
	if (g->is_in_block)
		clear_tokens(x);
	/* That of ids is over once the launch that makes the image has let this one begin. */
	const int is_after = g->routes_itself && !g->is_in_block;
	if (!is_after)
		tcb_kit_depend(kit);
	write_routing(x, &routed);
	if (is_after)
		tcb_kit_depend(kit);
	qex_write_items(x);
	tcb_kit_end(kit);
}

/* A thread of the third launch: the products of a token, one column of them. */
static void add_products(struct qex_writer *x, kit_op product, kit_op factor)
{
	struct tcb_ptx_build *b = &x->w.kit.b;
	const unsigned used = x->g->used, at_once = used < QEX_SUM_AHEAD ? used : QEX_SUM_AHEAD;
	const kit_op pitch = l_mul_wide(b, x->w.rows, I(WORD));
	const kit_op sum = f_set(b, F(0)), from = l_set(b, product), of = l_set(b, factor);
	const kit_op loop = tcb_ptx_for_begin(b, I(0), I(used), I(at_once), 1);
	kit_op value[QEX_SUM_AHEAD], by[QEX_SUM_AHEAD], has[QEX_SUM_AHEAD];
	for (unsigned i = 0; i < at_once; i++) {
		has[i] = u_lt(b, u_add(b, loop, I(i)), I(used));
		value[i] = f_set(b, F(0));
		by[i] = f_set(b, F(0));
		tcb_kit_load_where(b, has[i], TCB_KIT_OTHERS, "f32", from, &value[i], 1);
		tcb_kit_load_where(b, has[i], tcb_kit_input(x->g->tile.pdl), "f32", tcb_ptx_at(of, i * WORD), &by[i],
				   1);
		l_add_to(b, from, from, pitch);
	}
	l_add_to(b, of, of, I(at_once * WORD));
	for (unsigned i = 0; i < at_once; i++)
		f_add_to(b, sum, sum, f_mul(b, value[i], by[i]));
	tcb_ptx_for_end(b);
	tcb_kit_put(b, TCB_KIT_GLOBAL, "f32", x->w.y, sum);
}

static void write_sum(struct qex_writer *x)
{
	struct tcb_kit *kit = &x->w.kit;
	struct tcb_ptx_build *b = &kit->b;
	const struct qex_gpu *g = x->g;
	tcb_kit_begin(kit, "qex_sum",
		      &(struct tcb_kit_kernel){
			      .threads = QEX_SUM_THREADS,
			      .grid = { g->pairs / g->used, (unsigned)tcb_div_up(g->tile.n, QEX_SUM_THREADS) },
			      .is_dependent = g->tile.pdl });
	const kit_op products = tcb_kit_workspace(kit, "products", 4, g->products_at);
	const kit_op factors = tcb_kit_operand(kit, "factors", 4, QEX_FACTORS);
	const kit_op y = tcb_kit_operand(kit, "y", 4, TCB_QUANT_Y);
	x->w.rows = tcb_kit_number(kit, "rows", g->tile.n);
	tcb_kit_dependents(kit, 1);
	tcb_kit_threads(kit);
	const kit_op token = u_block_x(b), row = u_mad(b, u_block_y(b), I(QEX_SUM_THREADS), kit->tid);
	tcb_ptx_if_begin(b, u_lt(b, row, x->w.rows));
	const kit_op column = l_from_u(b, row), first = u_mul(b, token, I(g->used));
	x->w.y = l_mad(b, l_add(b, l_mul_wide(b, token, x->w.rows), column), I(WORD), y);
	add_products(x, l_mad(b, l_add(b, l_mul_wide(b, first, x->w.rows), column), I(WORD), products),
		     tcb_kit_element(b, factors, first, WORD));
	tcb_ptx_if_end(b);
	tcb_kit_end(kit);
}

static enum tcb_status qex_emit(const struct tcb_problem *problem, const struct tcb_target *target,
				const struct tcb_geometry *geometry, struct tcb_kernel *out, struct tcb_error *err)
{
	const int is_wgmma = geometry->knob[TCB_KNOB_ISA] == TCB_ISA_WGMMA;
	struct qex_gpu g;
	struct qex_writer x = { .g = &g };
	TCB_TRY(tcb_kit_open(&x.w.kit, problem, target, is_wgmma ? 'a' : 0, geometry, out, err));
	qex_gpu_plan(problem, target, geometry, &g);
	x.w.g = &g.tile;
	if (!g.is_in_block)
		write_prepare(&x);
	write_product(&x);
	if (g.is_summed)
		write_sum(&x);
	out->packed_bytes[TCB_QUANT_WEIGHTS] = g.experts * g.matrix_bytes;
	if (g.matrices > 1)
		out->packed_bytes[QEX_UP] = out->packed_bytes[TCB_QUANT_WEIGHTS];
	out->workspace_bytes = g.workspace_bytes;
	out->class = TCB_CLASS_BOUNDED;
	out->chain = qex_gpu_chain(&g);
	out->ulps = g.matrices == 1 ? 0 : g.is_oai ? TCB_QUANT_OAI_ULPS : TCB_QUANT_SILU_ULPS;
	return tcb_kit_close(&x.w.kit, err);
}

const struct tcb_side qex_gpu = {
	.variants = TCB_EMITTED(TCB_EMITTED_ROW("quant_experts_f16_ptx_mma", F16, MMA, BOUNDED),
				TCB_EMITTED_ROW("quant_experts_f16_ptx_wgmma", F16, WGMMA, BOUNDED),
				TCB_EMITTED_ROW("quant_experts_q8_ptx_mma", Q8, MMA, BOUNDED)),
	.space = &qex_gpu_space,
	.emit = qex_emit,
};
