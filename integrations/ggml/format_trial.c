/* SPDX-License-Identifier: MIT
 *
 * The same product in the host's CPU backend and here, in turns; of each the least
 * processor time counts.
 */
#include "format_trial.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "guarded.h"
#include "host.h"
#include "tcbrt.h"

enum {
	COLUMNS = 2048,
	WEIGHTS_BYTES = 512 << 10, /* about: in the second cache of most processors */
	ROWS_LEAST = 64,
	ROWS_STEP = 16,
	TOKENS_MAX = 32,
	/* Products in a row, so that what a graph costs does not count: about as many for each number of tokens. */
	NODES = 8,
	ROUNDS = 5,
	ROUNDS_NS = 20000000, /* and no more rounds after so many nanoseconds */
	BUFFER_TYPES_MAX = 8,
	TYPE_F32 = 0
};

struct trial {
	int type;
	const struct weights_format *format;
	size_t rows, bytes;
	unsigned char *stored;
	float *x, *y;
};

/* Of this thread's processor time, which others on the processor change least. */
static unsigned long long spent_ns(void)
{
	struct timespec spent;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent);
	return (unsigned long long)spent.tv_sec * 1000000000ULL + (unsigned long long)spent.tv_nsec;
}

/* ---- the host ---- */

/* A graph of the host's: weights in one of its buffer types. */
struct host_side {
	struct ggml_backend *cpu; /* lent */
	struct ggml_context *weights_context, *context;
	struct ggml_backend_buffer *weights_buffer, *buffer;
	struct ggml_cgraph *graph;
};

static void host_fini(struct host_side *side)
{
	if (side->buffer)
		ggml_host.buffer_free(side->buffer);
	if (side->weights_buffer)
		ggml_host.buffer_free(side->weights_buffer);
	if (side->context)
		ggml_host.free(side->context);
	if (side->weights_context)
		ggml_host.free(side->weights_context);
}

/* 0: the buffer type is not for such products. */
static int host_init(struct host_side *side, const struct trial *trial, struct ggml_backend *cpu,
		     struct ggml_backend_buffer_type *type, size_t tokens, size_t nodes)
{
	struct ggml_tensor *weights, *x, *y = NULL;

	*side = (struct host_side){ .cpu = cpu,
				    .weights_context = ggml_host_new_context(),
				    .context = ggml_host_new_context() };
	if (!side->weights_context || !side->context)
		return 0;
	weights = ggml_host.new_tensor_2d(side->weights_context, trial->type, COLUMNS, (int64_t)trial->rows);
	x = ggml_host.new_tensor_2d(side->context, TYPE_F32, COLUMNS, (int64_t)tokens);
	if (ggml_host.nbytes(weights) != trial->bytes ||
	    !(side->weights_buffer = ggml_host.alloc_ctx_tensors(side->weights_context, type)))
		return 0;
	side->graph = ggml_host.new_graph(side->context);
	for (size_t i = 0; i < nodes; i++) {
		y = ggml_host.mul_mat(side->context, weights, x);
		ggml_host.build_forward_expand(side->graph, y);
	}
	if (!ggml_host.dev_supports_op(ggml_host.get_device(cpu), y) ||
	    !(side->buffer = ggml_host.alloc_ctx_tensors(side->context, ggml_host.cpu_buffer_type())))
		return 0;
	ggml_host.tensor_set(weights, trial->stored, 0, trial->bytes);
	ggml_host.tensor_set(x, trial->x, 0, tokens * COLUMNS * sizeof(float));
	return 1;
}

static unsigned long long host_ns(const struct host_side *side)
{
	const unsigned long long began = spent_ns();

	if (ggml_host.graph_compute(side->cpu, side->graph) != 0)
		return 0;
	return spent_ns() - began;
}

/* The plain one and those that repack for kernels of their own; how many. */
static size_t buffer_types(struct ggml_backend *cpu, struct ggml_backend_buffer_type *out[BUFFER_TYPES_MAX])
{
	struct ggml_backend_device *device = ggml_host.get_device(cpu);
	void *found =
		ggml_host.reg_get_proc_address(ggml_host.dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts");
	struct ggml_backend_buffer_type **(*extra)(struct ggml_backend_device *);
	struct ggml_backend_buffer_type **list = NULL;
	size_t count = 0;

	out[count++] = ggml_host.cpu_buffer_type();
	memcpy(&extra, &found, sizeof(extra));
	if (extra)
		list = extra(device);
	while (list && *list && count < BUFFER_TYPES_MAX)
		out[count++] = *list++;
	return count;
}

/* ---- ours ---- */

struct our_side {
	struct tcbrt_plan *plan;
	void *packed, *workspace, *operand[3];
	size_t nodes;
};

static void our_fini(struct our_side *side)
{
	tcbrt_plan_destroy(side->plan);
	tcbrt_weights_free(side->packed);
	free(side->workspace);
}

static int our_init(struct our_side *side, const struct tcbrt *rt, const struct trial *trial, size_t tokens,
		    size_t nodes)
{
	char op[2 * FORMAT_NAME_MAX];
	const struct tcbrt_query query = {
		.op = op, .m = tokens, .n = trial->rows, .k = COLUMNS, .threads = 1, .layout = TCBRT_LAYOUT_ANY_M
	};
	struct tcbrt_plan_info info;

	*side = (struct our_side){ .nodes = nodes };
	format_op(trial->format, tokens, op);
	if (tcbrt_plan_create(rt, &query, &side->plan, NULL) != TCBRT_OK)
		return 0;
	tcbrt_plan_info(side->plan, &info);
	if (tcbrt_weights_alloc(info.packed_bytes ? info.packed_bytes : trial->bytes, &side->packed, NULL, NULL) !=
	    TCBRT_OK)
		return 0;
	if (info.packed_bytes)
		tcbrt_pack(side->plan, trial->stored, side->packed);
	else
		memcpy(side->packed, trial->stored, trial->bytes);
	if (info.workspace_bytes) {
		const size_t bytes = (info.workspace_bytes + TCBRT_ALIGNMENT - 1) / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT;

		if (!(side->workspace = aligned_alloc(TCBRT_ALIGNMENT, bytes)))
			return 0;
		tcbrt_workspace_init(side->plan, side->workspace);
	}
	for (int i = 0; i < 3; i++)
		side->operand[i] = trial->x;
	side->operand[info.weights] = side->packed;
	side->operand[info.output] = trial->y;
	return 1;
}

static unsigned long long our_ns(const struct our_side *side)
{
	const unsigned long long began = spent_ns();

	for (size_t i = 0; i < side->nodes; i++)
		if (tcbrt_execute(side->plan, side->operand, side->workspace, NULL) != TCBRT_OK)
			return 0;
	return spent_ns() - began;
}

/* ---- both ---- */

static unsigned long long least(unsigned long long a, unsigned long long b)
{
	return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The least times of the host in buffers of TYPE and of ours, in turns, added to what they are. */
static void measure(const struct trial *trial, const struct our_side *ours, struct ggml_backend *cpu,
		    struct ggml_backend_buffer_type *type, size_t tokens, unsigned long long *host,
		    unsigned long long *our)
{
	struct host_side side;
	const unsigned long long began = spent_ns();

	if (host_init(&side, trial, cpu, type, tokens, ours->nodes))
		for (int round = 0; round < ROUNDS && spent_ns() - began < ROUNDS_NS; round++) {
			*host = least(*host, host_ns(&side));
			*our = least(*our, our_ns(ours));
		}
	host_fini(&side);
}

static double compare(const struct tcbrt *rt, const struct trial *trial, struct ggml_backend *cpu, size_t tokens)
{
	const size_t nodes = NODES > tokens ? NODES / tokens : 1;
	struct ggml_backend_buffer_type *types[BUFFER_TYPES_MAX];
	const size_t count = buffer_types(cpu, types);
	unsigned long long host = 0, our = 0;
	struct our_side ours;

	if (our_init(&ours, rt, trial, tokens, nodes))
		for (size_t i = 0; i < count; i++)
			measure(trial, &ours, cpu, types[i], tokens, &host, &our);
	our_fini(&ours);
	return host && our ? (double)host / (double)our : 0;
}

/* Likewise, of a few tokens, by the op that is faster. */
static double compare_few(const struct tcbrt *rt, const struct trial *trial, struct ggml_backend *cpu, size_t tokens,
			  struct weights_format *format)
{
	double by_matmul, by_matvec;

	format->few_by_matvec = 1;
	by_matvec = compare(rt, trial, cpu, tokens);
	format->few_by_matvec = 0;
	by_matmul = compare(rt, trial, cpu, tokens);
	format->few_by_matvec = by_matvec > by_matmul;
	return by_matvec > by_matmul ? by_matvec : by_matmul;
}

/* Blocks of chance, so that lookups are as in real weights; results may be infinite, which takes as long.  Where values
 * are floats, chance would make some so small that processors are slow: they are zeros. */
static void draw(unsigned char *bytes, size_t count)
{
	uint32_t state = 1;

	for (size_t i = 0; i < count; i++) {
		state = state * 1664525u + 1013904223u; /* Numerical Recipes */
		bytes[i] = (unsigned char)(state >> 24);
	}
}

/* For a process that ends with it: nothing is freed. */
static int trial_init(struct trial *trial, int type, const struct weights_format *format)
{
	const size_t row = COLUMNS / format->values * format->bytes;
	size_t rows = WEIGHTS_BYTES / row / ROWS_STEP * ROWS_STEP;

	if (rows < ROWS_LEAST)
		rows = ROWS_LEAST;
	*trial = (struct trial){ .type = type,
				 .format = format,
				 .rows = rows,
				 .bytes = rows * row,
				 .stored = calloc(rows, row),
				 .x = malloc(TOKENS_MAX * COLUMNS * sizeof(float)),
				 .y = malloc(TOKENS_MAX * rows * sizeof(float)) };
	if (!trial->stored || !trial->x || !trial->y)
		return 0;
	if (format->values > 1)
		draw(trial->stored, trial->bytes);
	for (size_t i = 0; i < (size_t)TOKENS_MAX * COLUMNS; i++)
		trial->x[i] = (float)(i % 37) - 18;
	return 1;
}

/* What a child is told and tells. */
struct answer {
	const struct tcbrt *rt;
	int type, is_measured;
	struct weights_format format;
	double ratio[TRIAL_POINTS];
};

static void run(void *ctx)
{
	struct answer *answer = ctx;
	struct ggml_backend *cpu = ggml_host_cpu();
	struct trial trial;

	if (!cpu || !trial_init(&trial, answer->type, &answer->format))
		return;
	answer->is_measured = 1;
	for (size_t i = 0; i < TRIAL_POINTS; i++) {
		const size_t tokens = trial_tokens[i];

		answer->ratio[i] = tokens > 1 && tokens <= FEW_TOKENS
					   ? compare_few(answer->rt, &trial, cpu, tokens, &answer->format)
					   : compare(answer->rt, &trial, cpu, tokens);
		answer->is_measured &= answer->ratio[i] > 0;
	}
}

int trial_run(const struct tcbrt *rt, int type, struct weights_format *format, double ratio[TRIAL_POINTS])
{
	struct answer *answer = ggml_host.init_by_type ? guarded_alloc(sizeof(*answer)) : NULL;
	int is_measured = 0;

	if (!answer)
		return 0;
	*answer = (struct answer){ .rt = rt, .type = type, .format = *format };
	if (guarded_run(run, answer) == GUARDED_RETURNED && answer->is_measured) {
		is_measured = 1;
		format->few_by_matvec = answer->format.few_by_matvec;
		memcpy(ratio, answer->ratio, sizeof(answer->ratio));
	}
	guarded_free(answer, sizeof(*answer));
	return is_measured;
}
