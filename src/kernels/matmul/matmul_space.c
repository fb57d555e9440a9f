/* SPDX-License-Identifier: MIT
 *
 * The search space of the dense products on a CPU, their default geometry and
 * the numbers that the constraints judge.
 */
#include <string.h>

#include "kernels/matmul/matmul_gpu.h"

enum { DEFAULT_BLOCK = 64, DEFAULT_K = 256, OPERAND_REGISTERS = 3 };

static size_t power_of_two_above(size_t value)
{
	size_t power = 1;
	while (power < value && power <= SIZE_MAX / 4)
		power *= 2;
	return power;
}

static struct tcb_axis *axis(struct tcb_axis *out, size_t *count, enum tcb_axis_kind kind, int which)
{
	struct tcb_axis *a = &out[(*count)++];
	memset(a, 0, sizeof(*a));
	a->kind = kind;
	a->which = which;
	return a;
}

/* VALUE, unless the axis has it. */
static void add(struct tcb_axis *to, size_t value)
{
	for (size_t i = 0; i < to->count; i++)
		if (to->values[i] == (int64_t)value)
			return;
	if (to->count < TCB_AXIS_VALUES_MAX)
		to->values[to->count++] = (int64_t)value;
}

/* The sizes of micro tiles that the op's variants have along m (DIM 0) or n. */
static void add_micro(struct tcb_axis *to, const struct tcb_op *op, const struct tcb_target *target, int dim)
{
	const struct tcb_variant *variant;
	for (size_t i = 0; (variant = tcb_variant_at(op, i)); i++)
		if (tcb_target_has(target, variant->isa))
			add(to, dim ? variant->micro.n : variant->micro.m);
}

/* Blocks of a dimension of SIZE whose register tiles are as wide as those of TILES. */
static void add_blocks(struct tcb_axis *to, const struct tcb_axis *tiles, size_t size, size_t most)
{
	for (size_t i = 0; i < tiles->count; i++) {
		const size_t tile = (size_t)tiles->values[i];
		for (size_t block = tile; block <= most && (block == tile || block < 2 * size); block *= 2)
			if (block >= DEFAULT_BLOCK / 2 || block >= size)
				add(to, block);
	}
}

size_t matmul_axes(const struct tcb_problem *problem, const struct tcb_target *target,
		   struct tcb_axis out[TCB_AXES_MAX])
{
	const struct tcb_op *op = tcb_op_find(problem->op);
	const size_t m = problem->shape.m, n = problem->shape.n, whole_k = power_of_two_above(problem->shape.k);
	size_t count = 0;
	if (target->kind == TCB_TARGET_CUDA)
		return matmul_gpu_axes(problem, target, out);
	struct tcb_axis *a = axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_ISA), *micro_m, *micro_n;
	for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
		const struct tcb_variant *variant;
		for (size_t i = 0; (variant = tcb_variant_at(op, i)); i++)
			if ((int)variant->isa == isa && tcb_target_has(target, variant->isa))
				add(a, (size_t)isa);
	}
	if (!a->count) /* nothing runs here; V1 says so */
		add(a, TCB_ISA_SCALAR);
	micro_m = axis(out, &count, TCB_AXIS_TILE_M, TCB_MICRO);
	micro_n = axis(out, &count, TCB_AXIS_TILE_N, TCB_MICRO);
	add_micro(micro_m, op, target, 0);
	add_micro(micro_n, op, target, 1);
	a = axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_THREADS);
	for (unsigned threads = 1; threads < target->threads && a->count < TCB_AXIS_VALUES_MAX - 1; threads *= 2)
		add(a, threads);
	add(a, target->threads);
	a = axis(out, &count, TCB_AXIS_KNOB, TCB_KNOB_SCHED);
	add(a, TCB_SCHED_STATIC);
	add(a, TCB_SCHED_DYNAMIC);
	add_blocks(axis(out, &count, TCB_AXIS_TILE_M, TCB_MACRO), micro_m, m, 1024);
	add_blocks(axis(out, &count, TCB_AXIS_TILE_N, TCB_MACRO), micro_n, n, 1024);
	add(axis(out, &count, TCB_AXIS_TILE_K, TCB_MACRO), whole_k);
	add_blocks(axis(out, &count, TCB_AXIS_TILE_M, TCB_MIDI), micro_m, m, 256);
	add_blocks(axis(out, &count, TCB_AXIS_TILE_N, TCB_MIDI), micro_n, n, 256);
	a = axis(out, &count, TCB_AXIS_TILE_K, TCB_MIDI);
	for (size_t k = DEFAULT_K / 2; k <= 2 * DEFAULT_K && k < whole_k; k *= 2)
		add(a, k);
	if (!a->count || whole_k <= 2 * DEFAULT_K)
		add(a, whole_k);
	return count;
}

/* The widest instructions that there are variants for, and their largest register tile. */
static const struct tcb_variant *best_variant(const struct tcb_op *op, const struct tcb_target *target)
{
	const struct tcb_variant *best = NULL, *variant;
	for (size_t i = 0; (variant = tcb_variant_at(op, i)); i++) {
		if (!tcb_target_has(target, variant->isa))
			continue;
		if (!best || variant->isa > best->isa ||
		    (variant->isa == best->isa && variant->micro.m * variant->micro.n > best->micro.m * best->micro.n))
			best = variant;
	}
	return best ? best : tcb_variant_at(op, 0);
}

static size_t block_of(size_t size, size_t tile)
{
	size_t block = tile;
	while (block * 2 <= DEFAULT_BLOCK && block < size)
		block *= 2;
	return block;
}

/* The seed's blocks of 64 x 64, made legal, a task each. */
void matmul_default_geometry(const struct tcb_problem *problem, const struct tcb_target *target,
			     struct tcb_geometry *out)
{
	const struct tcb_variant *variant = best_variant(tcb_op_find(problem->op), target);
	const size_t whole_k = power_of_two_above(problem->shape.k);
	const size_t m = block_of(problem->shape.m, variant->micro.m);
	const size_t n = block_of(problem->shape.n, variant->micro.n);
	const size_t tasks = ((problem->shape.m - 1) / m + 1) * ((problem->shape.n - 1) / n + 1);
	if (target->kind == TCB_TARGET_CUDA) {
		matmul_gpu_default_geometry(problem, target, out);
		return;
	}
	tcb_geometry_init(out);
	out->tile[TCB_MACRO] = (struct tcb_tile){ m, n, whole_k };
	out->tile[TCB_MIDI] = (struct tcb_tile){ m, n, whole_k < DEFAULT_K ? whole_k : DEFAULT_K };
	out->tile[TCB_MICRO] = (struct tcb_tile){ variant->micro.m, variant->micro.n, 1 };
	out->knob[TCB_KNOB_ISA] = (int32_t)variant->isa;
	out->knob[TCB_KNOB_THREADS] = (int32_t)(tasks < target->threads ? tasks : target->threads);
	out->knob[TCB_KNOB_SCHED] = TCB_SCHED_STATIC;
}

static size_t lanes(int32_t isa)
{
	return isa == TCB_ISA_AVX2 ? 8 : isa == TCB_ISA_AVX512 ? 16 : isa == TCB_ISA_NEON ? 4 : 0;
}

void matmul_footprint(const struct tcb_problem *problem, const struct tcb_target *target,
		      const struct tcb_geometry *geometry, struct tcb_footprint *out)
{
	const struct tcb_tile *micro = &geometry->tile[TCB_MICRO];
	const size_t vector = lanes(geometry->knob[TCB_KNOB_ISA]);
	if (target->kind == TCB_TARGET_CUDA) {
		matmul_gpu_footprint(problem, target, geometry, out);
		return;
	}
	memset(out, 0, sizeof(*out));
	out->element_bytes = sizeof(float);
	out->accumulators = (unsigned)(micro->m * micro->n / (vector ? vector : 1));
	/* A row of B, and a value of A spread; scalar code spills and is no slower for it. */
	out->vector_registers = vector ? out->accumulators + (unsigned)(micro->n / vector) + 1 : OPERAND_REGISTERS;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		const struct tcb_tile *t = &geometry->tile[level];
		out->level_bytes[level] = sizeof(float) * (t->m * t->k + t->k * t->n + t->m * t->n);
	}
}
