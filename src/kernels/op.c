/* SPDX-License-Identifier: MIT
 *
 * What every op shares: making a problem, finding a variant, signatures, and
 * the judgement of one output array against the reference (SPEC section 4).
 */
#include "kernels/op.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/kind.h"
#include "base/sizes.h"
#include "base/util.h"
#include "kernels/formats.h"
#include "kernels/language.h"

/* Half an ulp of binary32 at 1: the unit roundoff u. */
#define UNIT_ROUNDOFF 0x1p-24
#define ULP 0x1p-23

enum tcb_status tcb_op_check_shape(const struct tcb_op *op, const struct tcb_shape *shape, struct tcb_error *err)
{
	const uint64_t other = tcb_words_given(&shape->words) & ~op->words;
	char unknown[TCB_WORDS_LIST_MAX], known[TCB_WORDS_LIST_MAX];
	if (!other)
		return op->check_shape(op, shape, err);
	if (!op->words)
		return tcb_fail(err, TCB_E_USAGE, "op %s takes no words after its shape %s", op->name, op->shape_form);
	tcb_words_list(other, unknown);
	tcb_words_list(op->words, known);
	return tcb_fail(err, TCB_E_USAGE, "op %s does not take words of a shape such as %s; it takes %s", op->name,
			unknown, known);
}

enum tcb_status tcb_problem_init(const struct tcb_op *op, enum tcb_contract contract, const struct tcb_shape *shape,
				 struct tcb_problem *out, struct tcb_error *err)
{
	if (!((op->contracts >> contract) & 1u)) {
		char known[64] = "";
		for (int c = 0; c < TCB_CONTRACT_COUNT; c++) {
			if (!((op->contracts >> c) & 1u))
				continue;
			size_t used = strlen(known);
			snprintf(known + used, sizeof(known) - used, "%s%s", used ? ", " : "",
				 tcb_contract_text((enum tcb_contract)c));
		}
		return tcb_fail(err, TCB_E_USAGE, "op %s has no contract %s; it has: %s", op->name,
				tcb_contract_text(contract), known);
	}
	TCB_TRY(tcb_op_check_shape(op, shape, err));
	memset(out, 0, sizeof(*out));
	out->op = op;
	snprintf(out->op_name, sizeof(out->op_name), "%s", op->name);
	out->contract = contract;
	out->shape = *shape;
	return TCB_OK;
}

static int operand_of_role(const struct tcb_operand *operands, size_t count, enum tcb_role role)
{
	for (size_t i = 0; i < count; i++) {
		if (operands[i].role == role)
			return (int)i;
	}
	return -1;
}

enum tcb_status tcb_problem_stride(struct tcb_problem *problem, size_t x_stride, size_t y_stride, struct tcb_error *err)
{
	enum { STRIDE_MAX = INT32_MAX / 8 }; /* whose bytes a number of 32 bits has */
	const size_t strides[2] = { x_stride, y_stride }, unit = problem->op->stride_unit;
	struct tcb_operand all[TCB_OPERANDS_MAX];
	const size_t count = problem->op->operands(problem, all);
	if (!x_stride && !y_stride)
		return TCB_OK;
	if (!unit)
		return tcb_fail(err, TCB_E_USAGE, "op %s has rows that follow each other: it takes no strides",
				problem->op->name);
	for (int i = 0; i < 2; i++) {
		const struct tcb_operand *of = &all[(i ? tcb_operand_output : tcb_operand_input)(all, count)];
		if (strides[i] &&
		    (strides[i] < of->cols || strides[i] > STRIDE_MAX || strides[i] > INT32_MAX / of->rows))
			return tcb_fail(err, TCB_E_USAGE,
					"rows of %s of %s have %zu elements: a stride of %zu is less, or too large",
					of->name, problem->op->name, of->cols, strides[i]);
		if (strides[i] % unit)
			return tcb_fail(err, TCB_E_USAGE, "strides of %s are multiples of %zu elements, not %zu",
					problem->op->name, unit, strides[i]);
	}
	problem->x_stride = x_stride;
	problem->y_stride = y_stride;
	return TCB_OK;
}

struct tcb_operand tcb_operand_rows(const char *name, enum tcb_role role, enum tcb_type type, size_t rows, size_t cols,
				    size_t stride)
{
	const size_t apart = stride ? stride : cols;
	return (struct tcb_operand){ .name = name,
				     .role = role,
				     .type = type,
				     .rows = rows,
				     .cols = cols,
				     .bytes = ((rows - 1) * apart + cols) * tcb_type_bytes(type),
				     .stride = apart == cols ? 0 : stride };
}

int tcb_operand_input(const struct tcb_operand *operands, size_t count)
{
	return operand_of_role(operands, count, TCB_ROLE_INPUT);
}

int tcb_operand_output(const struct tcb_operand *operands, size_t count)
{
	return operand_of_role(operands, count, TCB_ROLE_OUTPUT);
}

int tcb_operand_weights(const struct tcb_operand *operands, size_t count)
{
	return operand_of_role(operands, count, TCB_ROLE_WEIGHTS);
}

size_t tcb_packed_total(const size_t packed_bytes[TCB_OPERANDS_MAX])
{
	size_t total = 0;
	for (size_t i = 0; i < TCB_OPERANDS_MAX; i++)
		total += packed_bytes[i];
	return total;
}

size_t tcb_references_lay_out(const struct tcb_operand *operands, size_t count, double *data,
			      struct tcb_reference out[TCB_OUTPUTS_MAX])
{
	size_t used = 0;
	for (size_t i = 0, output = 0; i < count; i++) {
		const size_t elements = operands[i].rows * operands[i].cols;
		if (operands[i].role != TCB_ROLE_OUTPUT)
			continue;
		if (out)
			out[output++] = (struct tcb_reference){ .y = data + used,
								.magnitude = data + used + elements,
								.extra = data + used + 2 * elements };
		used += 3 * elements;
	}
	return used;
}

const struct tcb_variant *tcb_variant_at(const struct tcb_side *side, size_t index)
{
	for (const struct tcb_variant *const *list = side ? side->variants : NULL; list && *list; list++) {
		for (const struct tcb_variant *variant = *list; variant->name; variant++) {
			if (index-- == 0)
				return variant;
		}
	}
	return NULL;
}

/* Does GEOMETRY, whose knobs are set, name VARIANT?  IS_WRITTEN: to emit, for which it is any of its isa. */
static int is_named(const struct tcb_variant *variant, const struct tcb_geometry *geometry, int is_written)
{
	const int32_t *knob = geometry->knob;
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const int32_t layout = knob[TCB_KNOB_LAYOUT] == TCB_KNOB_UNSET ? TCB_LAYOUT_NATIVE : knob[TCB_KNOB_LAYOUT];
	const int32_t unroll = knob[TCB_KNOB_UNROLL] == TCB_KNOB_UNSET ? 1 : knob[TCB_KNOB_UNROLL];
	return (int32_t)variant->isa == knob[TCB_KNOB_ISA] &&
	       (is_written || ((int32_t)variant->layout == layout && variant->unroll == unroll &&
			       variant->micro.m == micro->m && variant->micro.n == micro->n));
}

const struct tcb_variant *tcb_variant_find(const struct tcb_op *op, enum tcb_contract contract,
					   const struct tcb_geometry *geometry)
{
	for (int kind = 0; kind < TCB_SIDES_MAX; kind++) {
		const struct tcb_side *side = op->side[kind];
		for (const struct tcb_variant *const *list = side ? side->variants : NULL; list && *list; list++)
			for (const struct tcb_variant *variant = *list; variant->name; variant++)
				if (variant->contract == contract && is_named(variant, geometry, !side->plan))
					return variant;
	}
	return NULL;
}

static int is_side_like(const struct tcb_side *a, const struct tcb_side *b)
{
	return a && b ? a->space->axes == b->space->axes : a == b;
}

int tcb_op_is_like(const struct tcb_op *a, const struct tcb_op *b)
{
	for (int kind = 0; kind < TCB_SIDES_MAX; kind++)
		if (!is_side_like(a->side[kind], b->side[kind]))
			return 0;
	return 1;
}

static void chain(const struct tcb_variant *variant, uint64_t *hash)
{
	const char *signature = tcb_variant_signature(variant);
	*hash = tcb_hash64(signature, strlen(signature), *hash);
	*hash = tcb_hash64(variant->name, strlen(variant->name), *hash);
}

enum tcb_status tcb_op_require(const struct tcb_op *op, const struct tcb_target *target, struct tcb_error *err)
{
	if (tcb_op_side(op, target))
		return TCB_OK;
	return tcb_fail(err, TCB_E_UNSUPPORTED,
			"op %s has no %s kernels; use a device of another kind ('tcbtune devices' lists them)",
			op->name, tcb_kind_of(target)->name);
}

void tcb_op_signature(const struct tcb_op *op, char out[TCB_SIGNATURE_MAX])
{
	/* Chained, so that the order of variants counts and nothing is allocated. */
	uint64_t low = 0, high = 1;
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(tcb_op_cpu(op), i)) != NULL; i++) {
		chain(variant, &low);
		chain(variant, &high);
	}
	snprintf(out, TCB_SIGNATURE_MAX, "%016llx%016llx", (unsigned long long)high, (unsigned long long)low);
}

enum tcb_status tcb_plan_make(const struct tcb_problem *problem, const struct tcb_geometry *geometry,
			      struct tcb_plan *out, struct tcb_error *err)
{
	const struct tcb_side *side = tcb_op_cpu(problem->op);
	TCB_TRY(side->plan(problem, geometry, out, err));
	return side->make ? side->make(out, err) : TCB_OK;
}

const char *tcb_type_text(enum tcb_type type)
{
	static const char *const texts[TCB_TYPE_COUNT] = {
		"f32", "f16", "bf16", "blocks", "i32", "u32", "f64", "e4m3"
	};
	return texts[type];
}

void tcb_type_to_f32(enum tcb_type type, const void *elements, size_t count, float *out)
{
	const uint16_t *half = elements;
	if (type == TCB_TYPE_F32)
		memcpy(out, elements, count * sizeof(float));
	else if (type == TCB_TYPE_F16)
		for (size_t i = 0; i < count; i++)
			out[i] = tcb_f16_to_f32(half[i]);
	else if (type == TCB_TYPE_E4M3)
		for (size_t i = 0; i < count; i++)
			out[i] = tcb_e4m3_to_f32(((const uint8_t *)elements)[i]);
	else
		for (size_t i = 0; i < count; i++)
			out[i] = tcb_bf16_to_f32(half[i]);
}

void tcb_type_from_f32(enum tcb_type type, const float *values, size_t count, void *out)
{
	uint16_t *half = out;
	if (type == TCB_TYPE_F32)
		memcpy(out, values, count * sizeof(float));
	else if (type == TCB_TYPE_E4M3)
		for (size_t i = 0; i < count; i++)
			((uint8_t *)out)[i] = tcb_f32_to_e4m3(values[i]);
	else
		for (size_t i = 0; i < count; i++)
			half[i] = type == TCB_TYPE_F16 ? tcb_f32_to_f16(values[i]) : tcb_f32_to_bf16(values[i]);
}

size_t tcb_element_bytes(enum tcb_type type)
{
	return type == TCB_TYPE_F64 ? sizeof(double) : type == TCB_TYPE_U32 ? sizeof(uint32_t) : tcb_type_bytes(type);
}

size_t tcb_operand_place(const struct tcb_operand *operand, size_t index, size_t *bytes)
{
	const struct tcb_format *format = operand->format;
	*bytes = format ? format->block_bytes : tcb_element_bytes(operand->type);
	if (operand->stride)
		index = index / operand->cols * operand->stride + index % operand->cols;
	return index / (format ? format->block_values : 1) * *bytes;
}

static int are_all(const uint8_t *bytes, size_t count, uint8_t byte)
{
	for (size_t i = 0; i < count; i++)
		if (bytes[i] != byte)
			return 0;
	return 1;
}

static void block_to_f32(const struct tcb_format *format, const uint8_t *block, float *out)
{
	if (!are_all(block + format->d_at, sizeof(uint16_t), TCB_POISON) ||
	    are_all(block, format->block_bytes, TCB_POISON)) {
		tcb_dequantize(format, block, 1, out);
		return;
	}
	for (size_t i = 0; i < format->block_values; i++)
		out[i] = INFINITY;
}

/* Do floats not hold all its values? */
static int is_wide(enum tcb_type type)
{
	return type == TCB_TYPE_F64 || type == TCB_TYPE_I32 || type == TCB_TYPE_U32;
}

void tcb_operand_to_f32(const struct tcb_operand *operand, const void *data, size_t first, size_t count, float *out)
{
	const struct tcb_format *format = operand->format;
	const uint8_t *from = data;
	float values[256];
	size_t bytes;
	if (is_wide(operand->type)) {
		for (size_t i = 0; i < count; i++)
			out[i] = (float)tcb_operand_value(operand, data, first + i);
		return;
	}
	if (operand->stride) { /* row by row */
		for (size_t i = 0, piece; i < count; i += piece) {
			piece = tcb_least(operand->cols - (first + i) % operand->cols, count - i);
			tcb_type_to_f32(operand->type, from + tcb_operand_place(operand, first + i, &bytes), piece,
					out + i);
		}
		return;
	}
	if (!format) {
		tcb_type_to_f32(operand->type, from + tcb_operand_place(operand, first, &bytes), count, out);
		return;
	}
	for (size_t i = 0, piece; i < count; i += piece) {
		const size_t at = (first + i) % format->block_values;
		piece = format->block_values - at < count - i ? format->block_values - at : count - i;
		block_to_f32(format, from + tcb_operand_place(operand, first + i, &bytes), values);
		memcpy(out + i, values + at, piece * sizeof *out);
	}
}

int tcb_operand_gaps_are(const struct tcb_operand *operand, const void *data, unsigned char byte)
{
	const size_t each = tcb_element_bytes(operand->type), row = operand->cols * each;
	const size_t apart = operand->stride * each;
	for (size_t r = 0; operand->stride && r + 1 < operand->rows; r++)
		if (!are_all((const uint8_t *)data + r * apart + row, apart - row, byte))
			return 0;
	return 1;
}

void tcb_reference_share(const struct tcb_reference *out, size_t tasks, tcb_task_fn *fn, void *ctx)
{
	if (out->pool && tasks > 1) {
		tcb_pool_run(out->pool, tcb_pool_threads(out->pool), TCB_SCHED_DYNAMIC, tasks, fn, ctx);
		return;
	}
	for (size_t task = 0; task < tasks; task++)
		fn(ctx, task, 0);
}

struct fill {
	const struct tcb_problem *problem;
	uint64_t seed;
	void *const *operand;
};

static void fill_part(void *ctx, size_t part, unsigned thread)
{
	const struct fill *fill = ctx;
	(void)thread;
	fill->problem->op->fill_part(fill->problem, fill->seed, fill->operand, part);
}

void tcb_op_fill(const struct tcb_problem *problem, uint64_t seed, void *const operand[], struct tcb_pool *pool)
{
	struct fill fill = { problem, seed, operand };
	if (pool && problem->op->fill_part)
		tcb_pool_run(pool, tcb_pool_threads(pool), TCB_SCHED_DYNAMIC, problem->op->fill_parts(problem),
			     fill_part, &fill);
	else
		problem->op->fill(problem, seed, operand);
}

void tcb_fill_in_parts(const struct tcb_problem *problem, uint64_t seed, void *const operand[])
{
	const size_t parts = problem->op->fill_parts(problem);
	for (size_t part = 0; part < parts; part++)
		problem->op->fill_part(problem, seed, operand, part);
}

void tcb_part_rng(uint64_t seed, size_t part, struct tcb_rng *out)
{
	tcb_rng_init(out, seed ^ (uint64_t)part * 0xd1342543de82ef95u);
}

double tcb_sum_factor(size_t column)
{
	/* splitmix64 of the column; 7 bits of size, so that products with a factor are exact. */
	uint64_t bits = ((uint64_t)column + 1) * 0x9e3779b97f4a7c15u;
	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9u;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebu;
	bits ^= bits >> 31;
	const double size = 0.5 + (double)(bits >> 57) / 128;
	return bits & 1 ? -size : size;
}

double tcb_gamma(double chain)
{
	return chain * UNIT_ROUNDOFF / (1 - chain * UNIT_ROUNDOFF);
}

/* With an error of E at most before it, rounding moves y by unit * (|y| + E) or by half of the smallest number; what
 * ulps allow is far below 2^-10 of y. */
void tcb_reference_round(const struct tcb_reference *out, enum tcb_type type, size_t count)
{
	static const double units[TCB_TYPE_COUNT] = { [TCB_TYPE_F16] = 0x1p-11, [TCB_TYPE_BF16] = 0x1p-8 };
	static const double tiny[TCB_TYPE_COUNT] = { [TCB_TYPE_F16] = 0x1p-25, [TCB_TYPE_BF16] = 0x1p-134 };
	const double unit = units[type];
	for (size_t i = 0; unit > 0 && i < count; i++) {
		out->magnitude[i] *= 1 + unit;
		out->extra[i] = (1 + unit) * out->extra[i] + unit * (1 + 0x1p-10) * fabs(out->y[i]) + tiny[type];
		if (type == TCB_TYPE_F16 && fabs(out->y[i]) >= 65520) {
			out->y[i] = copysign(INFINITY, out->y[i]);
			out->magnitude[i] = out->extra[i] = 0;
		}
	}
}

/* |got - y| over what is allowed; values that no distance can judge must agree in kind. */
static double ratio_of(double got, double y, double allowed)
{
	if (isnan(y) || isnan(got))
		return isnan(y) && isnan(got) ? 0 : INFINITY;
	if (isinf(y) || isinf(got))
		return got == y ? 0 : INFINITY;
	double error = fabs(got - y);
	if (error == 0)
		return 0;
	return allowed > 0 ? error / allowed : INFINITY;
}

/* What is allowed at an output is gamma * magnitude + extra + ulps * |y|. */
struct bound {
	double gamma, ulps;
	const struct tcb_reference *reference;
	const float *got;
};

static double ratio_at(const struct bound *bound, size_t i)
{
	const double y = bound->reference->y[i];
	return ratio_of((double)bound->got[i], y,
			bound->gamma * bound->reference->magnitude[i] + bound->reference->extra[i] +
				bound->ulps * fabs(y));
}

/* GCC and Clang cut these to what the machine has. */
enum { LANES = 8 };
typedef double vector __attribute__((vector_size(LANES * sizeof(double))));
typedef float narrow __attribute__((vector_size(LANES * sizeof(float))));
typedef long long mask __attribute__((vector_size(LANES * sizeof(double))));

/* The largest ratio of COUNT outputs from START on, a multiple of LANES; NaN where one has no plain ratio. */
static inline __attribute__((always_inline)) double largest_of(const struct bound *bound, size_t start, size_t count)
{
	const mask positive = ~(((mask){ 0 } + 1) << 63);
	vector largest = { 0 }, odd = { 0 };
	for (size_t i = start; i < start + count; i += LANES) {
		vector y, magnitude, extra;
		narrow got;
		memcpy(&y, bound->reference->y + i, sizeof y);
		memcpy(&magnitude, bound->reference->magnitude + i, sizeof magnitude);
		memcpy(&extra, bound->reference->extra + i, sizeof extra);
		memcpy(&got, bound->got + i, sizeof got);
		const vector value = __builtin_convertvector(got, vector);
		const vector error = (vector)((mask)(value - y) & positive);
		const vector size = (vector)((mask)y & positive);
		const mask agrees = (value == y) | ((value != value) & (y != y));
		const vector quotient = error / (bound->gamma * magnitude + extra + bound->ulps * size);
		const vector ratio = (vector)((mask)quotient & ~agrees);
		const mask more = ratio > largest;
		largest = (vector)(((mask)ratio & more) | ((mask)largest & ~more));
		odd += ratio - ratio; /* 0, or NaN of an infinity or a NaN */
	}
	double most = 0, sum = 0;
	for (int lane = 0; lane < LANES; lane++) {
		most = largest[lane] > most ? largest[lane] : most;
		sum += odd[lane];
	}
	return most + sum;
}

static double largest_any(const struct bound *bound, size_t start, size_t count)
{
	return largest_of(bound, start, count);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static double largest_avx2(const struct bound *bound, size_t start, size_t count)
{
	return largest_of(bound, start, count);
}

__attribute__((target("avx512f,avx512dq"))) static double largest_avx512(const struct bound *bound, size_t start,
									 size_t count)
{
	return largest_of(bound, start, count);
}
#endif

typedef double largest_fn(const struct bound *bound, size_t start, size_t count);

static largest_fn *best_largest(void)
{
#if defined(__x86_64__)
	if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
		return largest_avx512;
	if (__builtin_cpu_supports("avx2"))
		return largest_avx2;
#endif
	return largest_any;
}

double tcb_error_ratio(const struct tcb_plan *plan, const struct tcb_reference *reference, const float *got,
		       size_t count, size_t *first_bad_out)
{
	enum { BLOCK = 64 * LANES };
	const struct bound bound = { tcb_gamma(plan->chain), plan->ulps * ULP, reference, got };
	largest_fn *largest_in = best_largest();
	double largest = 0;
	int bad_seen = 0;
	for (size_t start = 0; start < count; start += BLOCK) {
		const size_t end = count - start < BLOCK ? count : start + BLOCK;
		const double most = end - start == BLOCK ? largest_in(&bound, start, BLOCK) : NAN;
		if (most <= 1) {
			largest = most > largest ? most : largest;
			continue;
		}
		for (size_t i = start; i < end; i++) {
			const double ratio = ratio_at(&bound, i);
			if (ratio > 1 && !bad_seen) {
				bad_seen = 1;
				if (first_bad_out)
					*first_bad_out = i;
			}
			largest = ratio > largest ? ratio : largest;
		}
	}
	return largest;
}

double tcb_operand_value(const struct tcb_operand *operand, const void *data, size_t index)
{
	const char *at = (const char *)data + index * tcb_element_bytes(operand->type);
	float single;
	double value;
	int32_t whole;
	uint32_t natural;

	switch (operand->type) {
	case TCB_TYPE_F64:
		memcpy(&value, at, sizeof value);
		return value;
	case TCB_TYPE_I32:
		memcpy(&whole, at, sizeof whole);
		return whole;
	case TCB_TYPE_U32:
		memcpy(&natural, at, sizeof natural);
		return natural;
	default:
		tcb_operand_to_f32(operand, data, index, 1, &single);
		return (double)single;
	}
}

/* Of types whose values floats do not hold. */
static double wide_error_ratio(const struct tcb_plan *plan, const struct tcb_operand *output,
			       const struct tcb_reference *reference, const void *got, size_t first, size_t count,
			       size_t *first_bad_out)
{
	const double gamma = tcb_gamma(plan->chain), ulps = plan->ulps * 0x1p-23;
	double largest = 0;

	for (size_t i = first + count; i-- > first;) {
		const double y = reference->y[i];
		const double ratio = ratio_of(tcb_operand_value(output, got, i), y,
					      gamma * reference->magnitude[i] + reference->extra[i] + ulps * fabs(y));

		largest = ratio > largest ? ratio : largest;
		if (ratio > 1 && first_bad_out)
			*first_bad_out = i;
	}
	return largest;
}

double tcb_output_error_ratio(const struct tcb_plan *plan, const struct tcb_operand *output,
			      const struct tcb_reference *reference, const void *got, size_t first, size_t count,
			      size_t *first_bad_out)
{
	enum { PIECE = 4096 };
	double largest = 0;
	int bad_seen = 0;
	if (is_wide(output->type))
		return wide_error_ratio(plan, output, reference, got, first, count, first_bad_out);
	for (size_t i = first, piece; i < first + count; i += piece) {
		float values[PIECE];
		const float *as_floats = values;
		size_t bad = SIZE_MAX;
		piece = first + count - i < PIECE ? first + count - i : PIECE;
		if (output->type == TCB_TYPE_F32 && !output->stride)
			as_floats = (const float *)got + i;
		else
			tcb_operand_to_f32(output, got, i, piece, values);
		const struct tcb_reference part = { .y = reference->y + i,
						    .magnitude = reference->magnitude + i,
						    .extra = reference->extra + i };
		const double ratio = tcb_error_ratio(plan, &part, as_floats, piece, &bad);
		largest = ratio > largest ? ratio : largest;
		if (bad != SIZE_MAX && !bad_seen && first_bad_out)
			*first_bad_out = i + bad;
		bad_seen |= bad != SIZE_MAX;
	}
	return largest;
}

double tcb_outputs_error_ratio(const struct tcb_plan *plan, const struct tcb_operand *operands, size_t count,
			       const struct tcb_reference *references, void *const data[], size_t *output_out,
			       size_t *first_bad_out)
{
	double largest = -1;
	for (size_t i = 0; i < count; i++) {
		size_t bad = 0;
		if (operands[i].role != TCB_ROLE_OUTPUT)
			continue;
		const double ratio = tcb_output_error_ratio(plan, &operands[i], references++, data[i], 0,
							    operands[i].rows * operands[i].cols, &bad);
		if (ratio <= largest)
			continue;
		largest = ratio;
		if (output_out)
			*output_out = i;
		if (first_bad_out)
			*first_bad_out = bad;
	}
	return largest;
}

void tcb_kernel_fini(struct tcb_kernel *kernel)
{
	if (!kernel)
		return;
	if (kernel->language)
		kernel->language->destroy(kernel->code);
	memset(kernel, 0, sizeof(*kernel));
}

void tcb_kernel_print(const struct tcb_kernel *kernel, struct tcb_str *out)
{
	kernel->language->print(kernel->code, out);
}
