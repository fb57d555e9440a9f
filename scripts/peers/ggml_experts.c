/* SPDX-License-Identifier: MIT
 *
 * Times ggml's own CPU product of a mixture of experts (MUL_MAT_ID), for experts-beside-ggml.py.
 *
 *     ggml_experts TYPE SHAPE THREADS SECONDS
 *
 * SHAPE is tcbtune's, "4x768x2048,e128/8,even", and routings are those that tcbtune draws for it: each graph is of
 * another seed, which goes on to other experts.  Copies of the weights are used in turn, 600 MB and more of those that
 * calls touch (cold), then one copy and routing again and again (hot).  Prints a line for each way in which this ggml
 * stores weights (as they are, and repacked if it can): way, median cold and median hot microseconds.
 */
#include "ggml_peer.h"
#include "kernels/quant_experts/quant_experts.h"

struct mixture {
	struct tcb_shape shape;
	enum ggml_type type;
};

static struct ggml_context *context_of(size_t tensors, size_t graphs)
{
	const struct ggml_init_params init = {
		ggml_tensor_overhead() * tensors + ggml_graph_overhead_custom(8, false) * graphs + (1 << 20), NULL, true
	};
	return ggml_init(init);
}

/* The stack of one expert's random values, again and again: that of all would take ggml long to quantise. */
static void *stack_of(const struct mixture *m, size_t bytes)
{
	const size_t each = bytes / qex_experts(&m->shape);
	struct ggml_context *one = context_of(1, 0);
	struct ggml_tensor *w = ggml_new_tensor_2d(one, m->type, (int64_t)m->shape.k, (int64_t)m->shape.n);
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(one, ggml_backend_cpu_buffer_type());
	char *stack = memory(bytes);
	fill(&w, 1);
	for (size_t e = 0; e < qex_experts(&m->shape); e++)
		memcpy(stack + e * each, w->data, each);
	ggml_backend_buffer_free(buffer);
	ggml_free(one);
	return stack;
}

static void run(const char *way, ggml_backend_t cpu, ggml_backend_buffer_type_t where, const struct mixture *m,
		double seconds)
{
	const struct tcb_shape *s = &m->shape;
	const int64_t n = (int64_t)s->n, k = (int64_t)s->k, tokens = (int64_t)s->m, used = (int64_t)qex_used(s);
	const size_t bytes = ggml_row_size(m->type, k) * (size_t)n * qex_experts(s);
	struct graphs copies = graphs_of(cpu, bytes);
	struct graphs g = graphs_of(cpu, bytes / qex_experts(s) * qex_touched(s));
	struct ggml_context *weights = context_of(copies.count, 0), *rest = context_of(2 * g.count + 1, g.count);
	struct ggml_tensor *w[COPIES_MAX], *ids[COPIES_MAX];
	struct ggml_tensor *x = ggml_new_tensor_3d(rest, GGML_TYPE_F32, k, s->words.each ? used : 1, tokens);
	if (g.count < copies.count)
		g.count = copies.count;
	for (size_t i = 0; i < copies.count; i++)
		w[i] = ggml_new_tensor_3d(weights, m->type, k, n, (int64_t)qex_experts(s));
	ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(weights, where);
	for (size_t i = 0; i < g.count; i++) {
		ids[i] = ggml_new_tensor_2d(rest, GGML_TYPE_I32, used, tokens);
		g.graph[i] = ggml_new_graph_custom(rest, 8, false);
		ggml_build_forward_expand(g.graph[i], ggml_mul_mat_id(rest, w[i % copies.count], x, ids[i]));
	}
	/* It cannot repack this type here, or not for this op. */
	if (buffer && where != ggml_backend_cpu_buffer_type() &&
	    (!w[0]->extra || !ggml_backend_supports_op(cpu, ggml_graph_node(g.graph[0], 0)))) {
		ggml_backend_buffer_free(buffer);
		ggml_free(weights);
		ggml_free(rest);
		return;
	}
	ggml_backend_buffer_t others = ggml_backend_alloc_ctx_tensors(rest, cpu);
	void *stack = stack_of(m, bytes);
	int32_t *drawn = memory((size_t)(tokens * used) * sizeof(*drawn));
	if (!buffer || !others) {
		fprintf(stderr, "ggml_experts: out of memory\n");
		exit(1);
	}
	for (size_t i = 0; i < copies.count; i++)
		ggml_backend_tensor_set(w[i], stack, 0, bytes);
	for (size_t i = 0; i < g.count; i++) {
		qex_draw(s, i / copies.count, drawn);
		ggml_backend_tensor_set(ids[i], drawn, 0, ggml_nbytes(ids[i]));
	}
	fill(&x, 1);
	print_times(way, &g, seconds);
	free(stack);
	free(drawn);
	ggml_backend_buffer_free(buffer);
	ggml_backend_buffer_free(others);
	ggml_free(weights);
	ggml_free(rest);
}

int main(int argc, char **argv)
{
	struct mixture m;
	struct tcb_error err;
	if (argc != 5) {
		fprintf(stderr, "usage: ggml_experts TYPE SHAPE THREADS SECONDS\n");
		return 2;
	}
	m.type = type_named(argv[1]);
	if (tcb_shape_parse(argv[2], &m.shape, &err) != TCB_OK || !m.shape.words.experts) {
		fprintf(stderr, "ggml_experts: '%s' is no shape of a mixture\n", argv[2]);
		return 2;
	}
	ggml_backend_t cpu = ggml_backend_cpu_init();
	ggml_backend_cpu_set_n_threads(cpu, atoi(argv[3]));
	run("plain", cpu, ggml_backend_cpu_buffer_type(), &m, atof(argv[4]));
	for (ggml_backend_buffer_type_t *where = repacking_types(cpu); where && *where; where++)
		run(ggml_backend_buft_name(*where), cpu, *where, &m, atof(argv[4]));
	ggml_backend_free(cpu);
	return 0;
}
