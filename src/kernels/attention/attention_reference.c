/* SPDX-License-Identifier: MIT
 *
 * The reference of the attention ops: operands in, results in double and what a
 * kernel may be off by out.  A task has up to TASK_ROWS query rows that share a KV
 * head; it goes over KV in blocks with an online softmax in double.
 */
#include <math.h>
#include <string.h>

#include "base/sizes.h"
#include "kernels/attention/attention.h"
#include "kernels/reference_tiles.h"

enum {
	ROWS = TCB_REFERENCE_M,
	COLUMNS = TCB_REFERENCE_N,
	TILES = 8, /* of ROWS query rows in a task */
	TASK_ROWS = TILES * ROWS,
	BLOCK = 64, /* KV tokens */
	HEAD = ATTENTION_HEAD_MAX,
	UNIT = ATTENTION_BLOCK,
	UNITS = HEAD / UNIT,
};

/* Eight query rows. */
struct tile {
	size_t from[ROWS], to[ROWS]; /* KV tokens that they see */
	double q[HEAD * ROWS];       /* [k][row], times 1 / sqrt(k) */
	double slope[ROWS];          /* ALiBi's; 0: none */
	double own[ROWS];            /* the token's place in its sequence, which may be negative */
	double norm[ROWS];           /* of q's rows */
	double coded[ROWS];          /* of what they lose as whole numbers of a unit */
	double max[ROWS], largest[ROWS], sum[ROWS];
	double of_units[UNITS * ROWS]; /* [unit][row]: sums of p and the largest value that a block may have */
	double y[HEAD * ROWS], size[HEAD * ROWS]; /* [k / COLUMNS][row][COLUMNS]: sums of p v and of p |v| */
};

/* A query row of a task. */
struct place {
	size_t token; /* of its sequence */
	size_t row;   /* of q, whose rows are heads */
	size_t to;    /* its first element of the results */
};

struct job {
	const struct tcb_problem *problem;
	void *const *operand;
	const struct tcb_reference_tiles *loops;
	struct tcb_reference *out;
	size_t rows, parts; /* that share a KV head; tasks of these */
};

struct work {
	double k[HEAD * BLOCK], v[HEAD * BLOCK]; /* [token / COLUMNS][k][COLUMNS]; [k / COLUMNS][token][COLUMNS] */
	double p[BLOCK * ROWS];                  /* [token][row] */
	double most[BLOCK * UNITS];              /* [token][unit]: 128 times the scale of a block of V */
	double v_size[HEAD];                     /* sums of |v| of all tokens */
	double k_norm;                           /* the largest of a token */
	struct tile tile[TILES];
};

static size_t q_row(const struct tcb_shape *s, size_t sequence, size_t head, size_t row)
{
	const size_t group = attention_group(s);
	return (sequence * s->m + row / group) * s->words.query + head * group + row % group;
}

/*
 * How far Q is from whole numbers of a power of two, the smallest of which the largest value is at most 32,639: what
 * two signed digits in base 256 are (attention_gpu_q.c).  0 for what is not finite.
 */
static double coded_error(const float *q, size_t k)
{
	const double room = 2 - 0x10101 * 0x1p-23; /* of a significand */
	double largest = 0, square = 0;
	int exponent;
	for (size_t i = 0; i < k; i++)
		largest = isfinite(q[i]) ? fmax(largest, fabs((double)q[i])) : HUGE_VAL;
	if (!isfinite(largest) || largest == 0)
		return 0;
	const int is_next = 2 * frexp(largest, &exponent) >= room;
	const double unit = ldexp(1, exponent + is_next - 15);
	for (size_t i = 0; i < k; i++) {
		const double off = (double)q[i] - unit * rint((double)q[i] / unit);
		square += off * off;
	}
	return sqrt(square);
}

/* Contract f16 of attention_decode with blocks: weights times V's scales may become integers. */
static int is_in_integers(const struct tcb_problem *problem)
{
	const struct attention_op *attention = attention_of(problem);
	return attention->multiplies_codes && tcb_kv_kind_format(attention_v_kind(problem)) &&
	       problem->contract == TCB_CONTRACT_F16;
}

/* The query rows of PLACES, which see nothing yet but their sinks, of a sequence of LENGTH with a PREFIX. */
static void open_tile(const struct job *job, size_t length, size_t prefix, const struct place *places, size_t rows,
		      struct tile *tile)
{
	const struct tcb_shape *s = &job->problem->shape;
	const enum tcb_type io = attention_io_type(job->problem);
	const float *sinks = attention_data(&s->words, job->operand, ATTENTION_SINKS);
	const float *slopes = attention_data(&s->words, job->operand, ATTENTION_SLOPES);
	memset(tile, 0, sizeof(*tile));
	for (size_t r = 0; r < rows; r++) {
		const size_t head = places[r].row % s->words.query;
		const size_t token = places[r].row / s->words.query;
		const char *at = (const char *)job->operand[ATTENTION_Q] +
				 (token * attention_q_apart(job->problem) + head * s->k) * tcb_type_bytes(io);
		float q[HEAD];
		tcb_type_to_f32(io, at, s->k, q);
		attention_visible(s, length, prefix, places[r].token, &tile->from[r], &tile->to[r]);
		tile->slope[r] = slopes ? (double)slopes[head] : 0;
		tile->own[r] = (double)length - (double)s->m + (double)places[r].token;
		tile->max[r] = sinks ? (double)sinks[head] : -HUGE_VAL;
		/* Of one that is infinite or a NaN all that is divided by it is a NaN. */
		tile->sum[r] = isfinite(tile->max[r]) ? 1 : tile->max[r] == -HUGE_VAL ? 0 : (double)NAN;
		tile->largest[r] = tile->sum[r] > 0 ? fabs(tile->max[r]) : 0;
		for (size_t i = 0; i < s->k; i++) {
			tile->q[i * ROWS + r] = (double)q[i] / sqrt((double)s->k);
			tile->norm[r] += tile->q[i * ROWS + r] * tile->q[i * ROWS + r];
		}
		tile->norm[r] = sqrt(tile->norm[r]);
		tile->coded[r] = coded_error(q, s->k) / sqrt((double)s->k);
	}
}

/* What no value of block U of a row of V is beyond; 0 where its scale is no number. */
static double most_of_block(const struct tcb_format *f, const char *row, size_t u)
{
	uint16_t half; /* blocks begin anywhere */
	memcpy(&half, row + u * f->block_bytes + f->d_at, sizeof(half));
	const float scale = tcb_f16_to_f32(half);
	return isfinite(scale) ? (double)(1 << (f->code_bits - 1)) * fabs((double)scale) : 0;
}

/* Tokens FIRST to FIRST + COUNT - 1; those of a block past them are zeros. */
static void load_block(const struct job *job, size_t sequence, size_t head, size_t first, size_t count,
		       struct work *work)
{
	const struct tcb_shape *s = &job->problem->shape;
	const enum tcb_kv_kind k_kind = attention_k_kind(job->problem), v_kind = attention_v_kind(job->problem);
	const int32_t *table = attention_data(&s->words, job->operand, ATTENTION_TABLE);
	const char *k_from = job->operand[ATTENTION_K], *v_from = job->operand[attention_v_operand(&s->words)];
	const size_t width = attention_v(s);
	memset(work->k, 0, sizeof(work->k));
	memset(work->v, 0, sizeof(work->v));
	memset(work->most, 0, sizeof(work->most));
	for (size_t t = 0; t < count; t++) {
		const size_t at = tcb_kv_token(s, table, sequence, first + t) * s->words.kv + head;
		const char *v_row = v_from + tcb_kv_kind_bytes(v_kind, at * attention_v_apart(s));
		float k[HEAD], v[HEAD];
		double norm = 0;
		tcb_kv_kind_to_f32(k_kind, k_from + tcb_kv_kind_bytes(k_kind, at * s->k), s->k, k);
		tcb_kv_kind_to_f32(v_kind, v_row, width, v);
		for (size_t u = 0; is_in_integers(job->problem) && u < width / UNIT; u++)
			work->most[t * UNITS + u] = most_of_block(tcb_kv_kind_format(v_kind), v_row, u);
		for (size_t i = 0; i < s->k; i++) {
			work->k[t / COLUMNS * COLUMNS * s->k + i * COLUMNS + t % COLUMNS] = (double)k[i];
			norm += (double)k[i] * (double)k[i];
		}
		for (size_t i = 0; i < width; i++) {
			work->v[i / COLUMNS * COLUMNS * BLOCK + t * COLUMNS + i % COLUMNS] = (double)v[i];
			work->v_size[i] += isfinite(v[i]) ? (double)fabsf(v[i]) : 0;
		}
		/* Infinite scores are as they are. */
		work->k_norm = isfinite(norm) ? fmax(work->k_norm, sqrt(norm)) : work->k_norm;
	}
}

static double capped(const struct tcb_shape *shape, double score)
{
	const double cap = shape->words.cap;
	return cap > 0 ? cap * tanh(score / cap) : score;
}

/* Weights of one row from its scores, of all tokens of a block; the row's sums are brought to the new maximum. */
static void weigh(const struct tcb_shape *shape, struct tile *tile, size_t r, size_t first, double *p)
{
	double max = tile->max[r];
	for (size_t t = 0; t < BLOCK; t++) {
		double *score = &p[t * ROWS + r];
		const int is_seen = first + t >= tile->from[r] && first + t < tile->to[r];
		const double distance = tile->slope[r] * fabs(tile->own[r] - (double)(first + t));
		*score = is_seen ? capped(shape, *score) - distance : -HUGE_VAL;
		max = *score > max ? *score : max;
		if (is_seen && isfinite(*score))
			tile->largest[r] = fmax(tile->largest[r], fabs(*score) + fabs(distance));
	}
	const double base = max > -HUGE_VAL ? max : 0, factor = exp(tile->max[r] - base);
	tile->sum[r] *= factor;
	for (size_t u = 0; u < UNITS; u++)
		tile->of_units[u * ROWS + r] *= factor;
	for (size_t i = 0; i < attention_v(shape); i++) {
		const size_t at = i / COLUMNS * COLUMNS * ROWS + r * COLUMNS + i % COLUMNS;
		tile->y[at] *= factor;
		tile->size[at] *= factor;
	}
	for (size_t t = 0; t < BLOCK; t++) {
		p[t * ROWS + r] = exp(p[t * ROWS + r] - base);
		tile->sum[r] += p[t * ROWS + r];
	}
	tile->max[r] = max;
}

static int sees(const struct tile *tile, size_t first)
{
	for (size_t r = 0; r < ROWS; r++)
		if (first < tile->to[r] && first + BLOCK > tile->from[r])
			return 1;
	return 0;
}

static void add_block(const struct job *job, struct work *work, struct tile *tile, size_t first)
{
	const struct tcb_shape *s = &job->problem->shape;
	if (!sees(tile, first))
		return;
	for (size_t t = 0; t < BLOCK; t += COLUMNS) {
		double scores[ROWS * COLUMNS] = { 0 };
		job->loops->wide(tile->q, work->k + t * s->k, s->k, scores);
		for (size_t r = 0; r < ROWS; r++)
			for (size_t j = 0; j < COLUMNS; j++)
				work->p[(t + j) * ROWS + r] = scores[r * COLUMNS + j];
	}
	for (size_t r = 0; r < ROWS; r++)
		weigh(s, tile, r, first, work->p);
	for (size_t t = 0; is_in_integers(job->problem) && t < BLOCK; t++)
		for (size_t u = 0; u < attention_v(s) / UNIT; u++)
			for (size_t r = 0; r < ROWS; r++)
				tile->of_units[u * ROWS + r] += work->p[t * ROWS + r] * work->most[t * UNITS + u];
	for (size_t i = 0; i < attention_v(s); i += COLUMNS) {
		job->loops->wide(work->p, work->v + i * BLOCK, BLOCK, tile->y + i * ROWS);
		job->loops->sizes(work->p, work->v + i * BLOCK, BLOCK, tile->size + i * ROWS);
	}
}

/*
 * What a row's results may be off by beside the sums of p v and of p, which the kernel's chain counts:
 *   a score     gamma(4 k + 8) |q||k| for its sum (tensor cores cut; matmul_gpu_work.c), roundings of what is near it
 *               and of ALiBi's distance;
 *               with KV of blocks and contract f16: of prefill K's rounding to f16, of decode q's to whole numbers
 *               of two bytes; three bytes, of contract f32, are at most sqrt(k) / 2^23 off and within gamma
 *   a value     with KV of blocks and contract f16 V's rounding to f16
 *   a weight    that error through exp, exp's own, and with contract f16 its rounding to K's type, of numbers below the
 *               normal ones, too
 *               for decode of blocks with contract f16, half of 1 / 32767 of the largest of 32 tokens' weights times
 *               scales, for each of the 32
 *   the result  its rounding to out's type
 *   flushed     CPUs take subnormal operands and results for 0: values of q and K (those of q times a power of two that
 *               is half of 1 / sqrt(k) or more), two results a value of a score; weights; of a value of V its product
 *               or its sum, and three results more where each token is a tile and a split
 * Errors of weights count twice: in the sum of p v and in the sum of p.
 */
static void close_row(const struct job *job, const struct work *work, const struct tile *tile, size_t r,
		      const struct place *place)
{
	static const double unit[TCB_TYPE_COUNT] = { [TCB_TYPE_F16] = 0x1p-11, [TCB_TYPE_BF16] = 0x1p-8 };
	static const double tiny[TCB_TYPE_COUNT] = { [TCB_TYPE_F16] = 0x1p-25, [TCB_TYPE_BF16] = 0x1p-134 };
	const struct tcb_shape *s = &job->problem->shape;
	const enum tcb_type io = attention_io_type(job->problem);
	const struct attention_op *attention = attention_of(job->problem);
	const int is_f16 = io == TCB_TYPE_F16;
	const int is_k_rounded = is_f16 && tcb_kv_kind_format(attention_k_kind(job->problem)) != NULL;
	const int is_v_rounded = is_f16 && tcb_kv_kind_format(attention_v_kind(job->problem)) != NULL;
	const double sum = tile->sum[r], u = 0x1p-24, of_v = is_v_rounded ? unit[TCB_TYPE_F16] : 0;
	const double below = is_v_rounded ? tiny[TCB_TYPE_F16] : 0;
	const double least = 0x1p-126, root = sqrt((double)s->k);
	const double of_k =
		is_k_rounded ? tile->norm[r] * (unit[TCB_TYPE_F16] * work->k_norm + tiny[TCB_TYPE_F16] * root) : 0;
	const double of_codes = is_k_rounded ? tile->coded[r] * work->k_norm : 0;
	const double of_operands = attention->multiplies_codes ? of_codes : of_k;
	const double flushed = 4 * least * root * (tile->norm[r] + work->k_norm + root);
	const double score = of_operands + flushed + tcb_gamma(4 * (double)s->k + 8) * tile->norm[r] * work->k_norm +
			     16 * u * (tile->largest[r] + (double)s->words.cap);
	const double of_integers = is_in_integers(job->problem) ? 0.51 * 32 / 32767 : 0;
	const double weight = expm1(score) + 16 * u + unit[io];
	const double of_values = 4 * least * (double)(tile->to[r] - tile->from[r]);
	for (size_t i = 0; i < attention_v(s); i++) {
		const size_t at = i / COLUMNS * COLUMNS * ROWS + r * COLUMNS + i % COLUMNS, to = place->to + i;
		const double y = sum == 0 ? 0 : tile->y[at] / sum, size = sum == 0 ? 0 : tile->size[at] / sum;
		const double of_unit = sum == 0 ? 0 : of_integers * tile->of_units[i / UNIT * ROWS + r] / sum;
		const double of_weights = weight * (size + fabs(y)) + of_v * size + below + of_unit +
					  (sum > 0 ? ((tiny[io] + least) * work->v_size[i] + of_values) / sum : 0);
		job->out->y[to] = y;
		job->out->magnitude[to] = size + fabs(y);
		/* Weights of huge scores may be off by anything, which no unit multiplies to a NaN. */
		const double of_out = unit[io] > 0 ? unit[io] * (fabs(y) + of_weights) : 0;
		job->out->extra[to] = 1.01 * (of_weights + of_out) + tiny[io] + least;
	}
}

/* COUNT query rows of a sequence that share KV head HEAD, in the order of their tokens. */
static void attend(const struct job *job, size_t sequence, size_t head, const struct place *places, size_t count)
{
	const struct tcb_words *words = &job->problem->shape.words;
	const int32_t *lengths = attention_data(words, job->operand, ATTENTION_LENGTHS);
	const size_t length = (size_t)lengths[sequence], prefix = attention_prefix(words, job->operand, sequence);
	struct work work;
	size_t from = length, to = 0;
	work.k_norm = 0;
	memset(work.v_size, 0, sizeof(work.v_size));
	for (size_t r = 0; r < count; r += ROWS) {
		struct tile *tile = &work.tile[r / ROWS];
		const size_t rows = tcb_least(ROWS, count - r);
		open_tile(job, length, prefix, places + r, rows, tile);
		from = tcb_least(from, tile->from[0]);
		to = tcb_most(to, tile->to[rows - 1]);
	}
	for (size_t t = from; t < to; t += BLOCK) {
		load_block(job, sequence, head, t, tcb_least(BLOCK, to - t), &work);
		for (size_t r = 0; r < count; r += ROWS)
			add_block(job, &work, &work.tile[r / ROWS], t);
	}
	for (size_t r = 0; r < count; r++)
		close_row(job, &work, &work.tile[r / ROWS], r % ROWS, &places[r]);
}

static void run_task(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->problem->shape;
	const size_t head = task / job->parts % s->words.kv, sequence = task / job->parts / s->words.kv;
	const size_t first = task % job->parts * TASK_ROWS, count = tcb_least(TASK_ROWS, job->rows - first);
	struct place places[TASK_ROWS];
	(void)thread;
	for (size_t r = 0; r < count; r++) {
		const size_t row = q_row(s, sequence, head, first + r);
		places[r] = (struct place){ (first + r) / attention_group(s), row, row * attention_v(s) };
	}
	attend(job, sequence, head, places, count);
}

/* Some rows of a grid for one of its query heads; rows of one sequence are next to each other. */
static void run_grid_task(void *ctx, size_t task, unsigned thread)
{
	const struct job *job = ctx;
	const struct tcb_shape *s = &job->problem->shape;
	const struct tcb_grid *grid = job->out->grid;
	const size_t column = task / job->parts * attention_v(s);
	const size_t head = tcb_grid_column(grid, column) / attention_v(s);
	const size_t first = task % job->parts * TASK_ROWS, end = tcb_least(grid->row_count, first + TASK_ROWS);
	(void)thread;
	for (size_t i = first; i < end;) {
		const size_t sequence = tcb_grid_row(grid, i) / s->m;
		struct place places[TASK_ROWS];
		size_t count = 0;
		for (; i < end && tcb_grid_row(grid, i) / s->m == sequence; i++) {
			const size_t row = tcb_grid_row(grid, i);
			places[count++] = (struct place){ row % s->m, row * s->words.query + head,
							  i * grid->column_count + column };
		}
		attend(job, sequence, head / attention_group(s), places, count);
	}
}

void attention_reference(const struct tcb_problem *problem, void *const operand[], struct tcb_reference *out)
{
	const struct tcb_shape *s = &problem->shape;
	const struct tcb_grid *grid = out->grid;
	struct job job = { .problem = problem, .operand = operand, .loops = tcb_reference_tiles(), .out = out };
	job.rows = grid ? grid->row_count : s->m * attention_group(s);
	job.parts = tcb_div_up(job.rows, TASK_ROWS);
	if (grid)
		tcb_reference_share(out, grid->column_count / attention_v(s) * job.parts, run_grid_task, &job);
	else
		tcb_reference_share(out, s->words.sequences * s->words.kv * job.parts, run_task, &job);
}

size_t attention_drawn_columns(const struct tcb_problem *problem)
{
	return attention_v(&problem->shape);
}
