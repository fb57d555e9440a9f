/* SPDX-License-Identifier: MIT
 *
 * The constraints of SPEC section 2: a candidate comes in, the first violated
 * constraint and its reason go out.  One function per row of the table at the
 * end; constraint_fix.c finds the nearest legal change.
 */
#include "kernels/constraint.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/cpu_isas.h"
#include "base/kind.h"
#include "base/sizes.h"

enum {
	SHARED_WORDS_MAX = 1 << 16, /* 256 KiB in 4-byte words: more than any device has */
	BARRIERS_MAX = 16,
	FMA_CHAINS = 8, /* S7: latency 4 x 2 ports on today's x86 */
};

static int reject(char why[TCB_WHY_MAX], const char *format, ...) __attribute__((format(printf, 2, 3)));
static int reject(char why[TCB_WHY_MAX], const char *format, ...)
{
	if (why) {
		va_list args;
		va_start(args, format);
		vsnprintf(why, TCB_WHY_MAX, format, args);
		va_end(args);
	}
	return -1;
}

/* Fields. */

static const char dim_names[3] = { 'm', 'n', 'k' };

static size_t *tile_dim(struct tcb_geometry *geometry, int level, int dim)
{
	struct tcb_tile *tile = &geometry->tile[level];
	return dim == 0 ? &tile->m : dim == 1 ? &tile->n : &tile->k;
}

static size_t get_dim(const struct tcb_geometry *geometry, int level, int dim)
{
	const struct tcb_tile *tile = &geometry->tile[level];
	return dim == 0 ? tile->m : dim == 1 ? tile->n : tile->k;
}

/* The problem's own dimension; 1 for the k of a row op. */
static size_t shape_dim(const struct tcb_shape *shape, int dim)
{
	return dim == 0 ? shape->m : dim == 1 ? shape->n : shape->k ? shape->k : 1;
}

tcb_fields tcb_field_bit(struct tcb_field field)
{
	unsigned bit = field.kind == TCB_AXIS_KNOB ? 3u * TCB_LEVEL_COUNT + (unsigned)field.which
						   : 3u * (unsigned)field.which + (unsigned)field.kind;
	return TCB_FIELD_BIT(bit);
}

struct tcb_field tcb_field_at(unsigned bit_number)
{
	if (bit_number >= 3u * TCB_LEVEL_COUNT)
		return (struct tcb_field){ TCB_AXIS_KNOB, (int)(bit_number - 3u * TCB_LEVEL_COUNT) };
	return (struct tcb_field){ (enum tcb_axis_kind)(bit_number % 3), (int)(bit_number / 3) };
}

int64_t tcb_field_get(struct tcb_field field, const struct tcb_geometry *geometry)
{
	if (field.kind == TCB_AXIS_KNOB)
		return geometry->knob[field.which];
	return (int64_t)get_dim(geometry, field.which, (int)field.kind);
}

void tcb_field_set(struct tcb_field field, int64_t value, struct tcb_geometry *geometry)
{
	if (field.kind == TCB_AXIS_KNOB)
		geometry->knob[field.which] = (int32_t)value;
	else
		*tile_dim(geometry, field.which, (int)field.kind) = (size_t)value;
}

/* Hard constraints. */

static int volume(size_t m, size_t n, size_t k, size_t *out)
{
	return tcb_mul_size(m, n, out) || tcb_mul_size(*out, k, out) ? -1 : 0;
}

int tcb_constraint_knob(const struct tcb_target *target, enum tcb_knob knob, int32_t value, char *why)
{
	const int is_count = knob == TCB_KNOB_THREADS || knob == TCB_KNOB_UNROLL || knob == TCB_KNOB_WARPS ||
			     knob == TCB_KNOB_VEC || knob == TCB_KNOB_STAGES || knob == TCB_KNOB_SPLITK;
	const enum tcb_knob_scope scope = tcb_kind_of(target)->knobs, of = tcb_knob_scope(knob);
	if (value == TCB_KNOB_UNSET)
		return 0;
	if (is_count && value < 1)
		return reject(why, "%s=%d must be at least 1", tcb_knob_key(knob), value);
	if (value < 0 || (!tcb_knob_word(knob, value) && tcb_knob_word(knob, 0)))
		return reject(why, "%s has no value %d", tcb_knob_key(knob), value);
	if (of != TCB_SCOPE_COMMON && of != scope)
		return reject(why, "%s is a knob of %s only", tcb_knob_key(knob),
			      of == TCB_SCOPE_GPU ? "GPUs" : "CPUs");
	if (knob == TCB_KNOB_SCHED && value == (scope == TCB_SCOPE_CPU ? TCB_SCHED_STREAMK : TCB_SCHED_STATIC))
		return reject(why, "sched=%s is a value of %s only", tcb_knob_word(knob, value),
			      scope == TCB_SCOPE_CPU ? "GPUs" : "CPUs");
	return 0;
}

/* Parameters are those of the op, each a value that it has. */
static int check_parameters(const struct tcb_candidate *c, char *why)
{
	const struct tcb_geometry *geometry = c->geometry;
	const int count = tcb_geometry_knobs(geometry);
	if (geometry->parameters != c->op->parameters)
		return reject(why, "it does not have the parameters of op %s", c->op->name);
	for (int knob = TCB_KNOB_COUNT; knob < TCB_KNOBS_MAX; knob++) {
		const int32_t value = geometry->knob[knob];
		if (value == TCB_KNOB_UNSET)
			continue;
		if (knob >= count)
			return reject(why, "it has more parameters than op %s", c->op->name);
		if (value < 0 || (tcb_geometry_word(geometry, knob, 0) && !tcb_geometry_word(geometry, knob, value)))
			return reject(why, "%s has no value %d", tcb_geometry_key(geometry, knob), value);
	}
	return 0;
}

/* In a walk knobs have legal values only (space.c), so that tiles alone are read. */
static int check_positive(const struct tcb_candidate *c, char *why)
{
	const struct tcb_shape *shape = &c->problem->shape;
	size_t product;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++) {
		for (int dim = 0; dim < 3; dim++) {
			if (get_dim(c->geometry, level, dim) == 0)
				return reject(why, "%s.%c=0, but every dimension must be at least 1",
					      tcb_level_text((enum tcb_level)level), dim_names[dim]);
		}
		const struct tcb_tile *tile = &c->geometry->tile[level];
		if (volume(tile->m, tile->n, tile->k, &product))
			return reject(why, "%s=%zux%zux%zu has more elements than can be counted",
				      tcb_level_text((enum tcb_level)level), tile->m, tile->n, tile->k);
	}
	if (shape->m == 0 || shape->n == 0 || volume(shape->m, shape->n, shape_dim(shape, 2), &product))
		return reject(why, "the shape %zux%zux%zu has no elements, or more than can be counted", shape->m,
			      shape->n, shape->k);
	for (int knob = 0; !c->is_walk && !c->is_placed && knob < TCB_KNOB_COUNT; knob++)
		if (c->geometry->knob[knob] != TCB_KNOB_UNSET && /* most are */
		    tcb_constraint_knob(c->target, (enum tcb_knob)knob, c->geometry->knob[knob], why))
			return -1;
	return check_parameters(c, why);
}

/*
 * The problem itself is not divided but cut (SPEC's index map), so the level above macro only bounds it: no tile is
 * twice as large as the problem or more, unless with one tile less of the level below it would not cover it.
 */
static int check_nesting_dim(const struct tcb_candidate *c, int dim, char *why)
{
	const size_t size = shape_dim(&c->problem->shape, dim);
	for (int level = TCB_MACRO; level < TCB_LEVEL_COUNT; level++) {
		size_t value = get_dim(c->geometry, level, dim);
		if (value == 0) /* H1 says so */
			continue;
		if (dim == 2 && c->problem->shape.k == 0 && value != 1)
			return reject(why, "%s.k=%zu, but %s has no k dimension, so it must be 1",
				      tcb_level_text((enum tcb_level)level), value, c->problem->op_name);
		const size_t below = level < TCB_MICRO ? get_dim(c->geometry, level + 1, dim) : value;
		const size_t above = level > TCB_MACRO ? get_dim(c->geometry, level - 1, dim) : 0;
		if (above % value)
			return reject(why, "%s.%c=%zu does not divide %s.%c=%zu", tcb_level_text((enum tcb_level)level),
				      dim_names[dim], value, tcb_level_text((enum tcb_level)(level - 1)),
				      dim_names[dim], above);
		if (!c->is_kernel && value / 2 >= size && below < value && value - below >= size)
			return reject(why, "%s.%c=%zu is larger than the problem's %zu needs",
				      tcb_level_text((enum tcb_level)level), dim_names[dim], value, size);
	}
	return 0;
}

static int check_nesting(const struct tcb_candidate *c, char *why)
{
	for (int dim = 0; dim < 3; dim++)
		if (check_nesting_dim(c, dim, why))
			return -1;
	return 0;
}

/* Before the others, so that these may rely on the rules, and on a side. */
static int check_rules(const struct tcb_candidate *c, char *why)
{
	const struct tcb_side *side = tcb_op_side(c->op, c->target);
	if (!side)
		return reject(why, "op %s has no kernels for such a device", c->op->name);
	for (const struct tcb_rule *rule = tcb_space_of(c->problem, c->target, c->geometry)->rules;
	     !tcb_rule_is_end(rule); rule++) {
		const int is_done = (c->is_walk && rule->reads) || (rule->kind == TCB_RULE_POLICY && c->any_size) ||
				    (rule->kind == TCB_RULE_DOUBLE && c->is_kernel);
		const char *reason = is_done ? NULL : tcb_rule_broken(rule, c->problem, c->target, c->geometry);
		if (reason)
			return reject(why, "%s%s", reason,
				      rule->kind == TCB_RULE_POLICY ? " (--any-size lifts this)" : "");
	}
	return 0;
}

static int check_alignment(const struct tcb_candidate *c, char *why)
{
	const struct tcb_footprint *f = &c->footprint;
	size_t alignment = f->alignment_bytes;
	if (!alignment)
		return 0;
	if (!tcb_is_power_of_two(alignment) || alignment < f->element_bytes)
		return reject(why, "an alignment of %zu bytes; it must be a power of two of at least %zu", alignment,
			      tcb_power_of_two_up(f->element_bytes));
	if (f->base_bytes % alignment)
		return reject(why, "the packed base is aligned to %zu bytes, %zu are needed", f->base_bytes, alignment);
	if (f->leading_bytes % alignment)
		return reject(why, "the leading dimension of %zu bytes is not a multiple of the alignment, %zu",
			      f->leading_bytes, alignment);
	return 0;
}

static int check_superblock(const struct tcb_candidate *c, char *why)
{
	const struct tcb_footprint *f = &c->footprint;
	size_t k = c->problem->shape.k;
	if (f->k_multiple) {
		if (k % f->k_multiple)
			return reject(why, "K=%zu is not a multiple of the block of %zu values; K=%zu would be", k,
				      f->k_multiple, tcb_div_up(k, f->k_multiple) * f->k_multiple);
		int32_t slices = c->geometry->knob[TCB_KNOB_SPLITK];
		if (slices > 1 && (k / f->k_multiple) % (size_t)slices)
			return reject(why, "splitk=%d does not cut K=%zu at multiples of %zu", slices, k,
				      f->k_multiple);
		if (c->geometry->tile[TCB_MACRO].k % f->k_multiple)
			return reject(why, "macro.k=%zu is not a multiple of the block of %zu values",
				      c->geometry->tile[TCB_MACRO].k, f->k_multiple);
	}
	for (int level = TCB_MIDI; f->k_step_multiple && level < TCB_LEVEL_COUNT; level++) {
		size_t step = c->geometry->tile[level].k;
		if (step % f->k_step_multiple)
			return reject(why, "%s.k=%zu is not a multiple of %zu", tcb_level_text((enum tcb_level)level),
				      step, f->k_step_multiple);
	}
	return 0;
}

/* All 0 of a kind whose candidates are not blocks of threads. */
static struct tcb_block_limits block_limits(const struct tcb_target *target)
{
	struct tcb_block_limits limits = { 0 };
	if (tcb_kind_of(target)->block_limits)
		tcb_kind_of(target)->block_limits(target, &limits);
	return limits;
}

size_t tcb_shared_limit(const struct tcb_target *target)
{
	return block_limits(target).shared_bytes;
}

static int check_shared(const struct tcb_candidate *c, char *why)
{
	const struct tcb_block_limits limits = block_limits(c->target);
	const size_t bytes = c->footprint.shared_bytes;
	char arch[TCB_DEVICE_NAME_MAX];
	if (limits.shared_bytes && bytes > limits.shared_bytes) {
		tcb_kind_of(c->target)->name_arch(c->target, arch, sizeof arch);
		return reject(why, "%zu bytes of shared memory, but %s has %zu", bytes, arch, limits.shared_bytes);
	}
	if (limits.static_bytes && bytes > limits.static_bytes && !c->footprint.shared_dynamic)
		return reject(why, "%zu bytes of static shared memory; above %zu it must be dynamic", bytes,
			      limits.static_bytes);
	return 0;
}

static int check_threads(const struct tcb_candidate *c, char *why)
{
	const struct tcb_block_limits limits = block_limits(c->target);
	if (tcb_kind_of(c->target)->has_threads) {
		int32_t threads = c->geometry->knob[TCB_KNOB_THREADS];
		if (threads != TCB_KNOB_UNSET && threads > (int32_t)c->target->threads)
			return reject(why, "threads=%d, but the device gives %u", threads, c->target->threads);
		return 0;
	}
	const unsigned threads = c->footprint.block_threads;
	if (threads % limits.threads_step)
		return reject(why, "%u threads in a block are not a multiple of the warp of %u", threads,
			      limits.threads_step);
	if (threads > limits.threads)
		return reject(why, "%u threads in a block, but %u are the most", threads, limits.threads);
	return 0;
}

/* A warp's registers are handed out 256 at a time (occupancy tables of sm_75 to sm_120). */
static int check_thread_registers(const struct tcb_candidate *c, char *why)
{
	const struct tcb_block_limits limits = block_limits(c->target);
	const unsigned each = (c->footprint.thread_registers + 7) / 8 * 8, threads = c->footprint.block_threads;
	const unsigned blocks = c->footprint.blocks_together ? c->footprint.blocks_together : 1;
	if (!limits.registers || !each || c->is_kernel)
		return 0;
	if (c->footprint.thread_registers > limits.thread_registers)
		return reject(why, "about %u registers per thread, but %u are the most", c->footprint.thread_registers,
			      limits.thread_registers);
	if (each * threads * blocks > limits.registers)
		return reject(why, "about %u registers in each of %u threads of %u blocks, but there are %u", each,
			      threads, blocks, limits.registers);
	return 0;
}

static int check_cpu_registers(const struct tcb_candidate *c, char *why)
{
	int32_t isa = c->geometry->knob[TCB_KNOB_ISA];
	const unsigned have = tcb_cpu_isa(isa)->registers;
	if (tcb_kind_of(c->target)->is_emitted || !have || c->footprint.vector_registers <= have)
		return 0;
	return reject(why, "the micro tile needs %u vector registers, but %s has %u", c->footprint.vector_registers,
		      tcb_isa_text((enum tcb_isa)isa), have);
}

static int check_grid(const struct tcb_candidate *c, char *why)
{
	const struct tcb_block_limits limits = block_limits(c->target);
	const size_t *grid = c->footprint.grid;
	for (int dim = 0; dim < 3; dim++) {
		if (limits.grid[dim] && grid[dim] > limits.grid[dim])
			return reject(why, "%zu blocks along %c, but %zu are the most", grid[dim], "xyz"[dim],
				      limits.grid[dim]);
	}
	if (c->footprint.barriers > BARRIERS_MAX)
		return reject(why, "%u barriers, but their ids end at %d", c->footprint.barriers, BARRIERS_MAX - 1);
	return 0;
}

/* Where word C of row R of a tile goes (SPEC section 2, forms of the swizzle); PAD_WORDS: what "pad" adds to a row. */
static size_t swizzled(enum tcb_swizzle form, size_t pitch, size_t pad_words, size_t r, size_t c)
{
	size_t i = r * pitch + c;
	switch (form) {
	case TCB_SWIZZLE_PAD:
		return r * (pitch + pad_words) + c;
	case TCB_SWIZZLE_XOR:
		return r * pitch + (c ^ (r & 31));
	case TCB_SWIZZLE_CHUNK:
		return r * pitch + ((c / 4 ^ (r & 7)) * 4 + c % 4);
	case TCB_SWIZZLE_SEED:
		return i ^ (i >> 5);
	default:
		return i;
	}
}

/* By enumeration: every word lands inside the tile, no two on the same word, and granules stay whole and aligned. */
static int check_swizzle(const struct tcb_candidate *c, char *why)
{
	const struct tcb_footprint *f = &c->footprint;
	size_t pitch = f->swizzle_pitch, rows = f->swizzle_rows, words;
	if (!pitch || !rows)
		return 0;
	const char *form = tcb_knob_word(TCB_KNOB_SWIZZLE, (int32_t)f->swizzle);
	if (f->swizzle_granule < f->vector_bytes)
		return reject(why, "swizzle=%s keeps %zu bytes together, but accesses are %zu bytes wide", form,
			      f->swizzle_granule, f->vector_bytes);
	size_t granule = f->swizzle_granule < 4 ? 1 : f->swizzle_granule / 4;
	size_t pad_words = f->swizzle == TCB_SWIZZLE_PAD ? granule : 0;
	if (tcb_add_size(pitch, pad_words, &words) || tcb_mul_size(words, rows, &words) || words > SHARED_WORDS_MAX)
		return reject(why, "a tile of %zu rows of %zu words is larger than any shared memory", rows, pitch);
	if (pitch % granule)
		return reject(why, "rows of %zu words are not a multiple of the granule of %zu bytes", pitch,
			      4 * granule);
	uint64_t taken[SHARED_WORDS_MAX / 64] = { 0 };
	for (size_t r = 0; r < rows; r++) {
		size_t first = 0;
		for (size_t col = 0; col < pitch; col++) {
			size_t to = swizzled(f->swizzle, pitch, pad_words, r, col);
			if (to >= words)
				return reject(why, "swizzle=%s leaves the tile of %zu rows of %zu words", form, rows,
					      pitch);
			if ((taken[to / 64] >> (to % 64)) & 1u)
				return reject(why, "swizzle=%s is not a bijection on %zu rows of %zu words", form, rows,
					      pitch);
			taken[to / 64] |= UINT64_C(1) << (to % 64);
			if (col % granule == 0)
				first = to;
			if (first % granule || to != first + col % granule)
				return reject(why, "swizzle=%s breaks granules of %zu bytes", form, 4 * granule);
		}
	}
	return 0;
}

static int check_vector(const struct tcb_candidate *c, char *why)
{
	const struct tcb_footprint *f = &c->footprint;
	if (!f->vector_bytes)
		return 0;
	const struct {
		const char *what;
		size_t bytes;
	} parts[] = { { "base alignment", f->base_bytes },
		      { "leading dimension", f->leading_bytes },
		      { "tile offset", f->tile_offset_bytes } };
	size_t together = 0;
	for (size_t i = 0; i < 3; i++)
		together |= parts[i].bytes;
	for (size_t i = 0; i < 3; i++) {
		if (parts[i].bytes % f->vector_bytes)
			return reject(why, "the %s of %zu bytes is not a multiple of the vector of %zu; %zu would do",
				      parts[i].what, parts[i].bytes, f->vector_bytes, together & (~together + 1));
	}
	return 0;
}

/*
 * On a CPU rows and columns are counted in register tiles, whose sizes are those of the vectors and registers: a power
 * of two of them.  A macro tile may also be an even share for the threads, with no tile more than is needed.
 */
static int is_even_on_cpu(const struct tcb_candidate *c, int level, int dim)
{
	const size_t value = get_dim(c->geometry, level, dim), micro = get_dim(c->geometry, TCB_MICRO, dim);
	const size_t macro = get_dim(c->geometry, TCB_MACRO, dim), midi = get_dim(c->geometry, TCB_MIDI, dim);
	const size_t size = shape_dim(&c->problem->shape, dim), most_parts = 4 * (size_t)c->target->threads;
	if (tcb_kind_of(c->target)->is_emitted || dim == 2 || !micro || value % micro)
		return 0;
	if (tcb_is_power_of_two(value / micro))
		return 1;
	const size_t parts = tcb_div_up(size, value);
	return value == macro && parts <= most_parts &&
	       value == tcb_round_up(tcb_div_up(size, parts), midi == macro ? micro : midi);
}

static int check_power(const struct tcb_candidate *c, int level, int dim, char *why)
{
	const size_t value = get_dim(c->geometry, level, dim), size = shape_dim(&c->problem->shape, dim);
	if (!value || tcb_is_power_of_two(value) || value == size ||
	    is_even_on_cpu(c, level, dim)) /* H1 says so of 0 */
		return 0;
	return reject(why, "%s.%c=%zu is not a power of two nor the problem's %zu (--any-size lifts this)",
		      tcb_level_text((enum tcb_level)level), dim_names[dim], value, size);
}

static int check_power_of_two(const struct tcb_candidate *c, char *why)
{
	for (int level = 0; !c->any_size && level < TCB_LEVEL_COUNT; level++)
		for (int dim = 0; dim < 3; dim++)
			if (check_power(c, level, dim, why))
				return -1;
	return 0;
}

static int check_power_of_two_dim(const struct tcb_candidate *c, int dim, char *why)
{
	for (int level = 0; !c->any_size && level < TCB_LEVEL_COUNT; level++)
		if (check_power(c, level, dim, why))
			return -1;
	return 0;
}

static int check_variant(const struct tcb_candidate *c, char *why)
{
	if (!tcb_op_side(c->op, c->target)->plan)
		return 0;
	const struct tcb_geometry *g = c->geometry;
	int32_t isa = g->knob[TCB_KNOB_ISA];
	if (isa == TCB_KNOB_UNSET)
		return reject(why, "isa is not set");
	if (isa < 0 || isa >= TCB_ISA_COUNT || !tcb_target_has(c->target, (enum tcb_isa)isa))
		return reject(why, "the device has no %s", tcb_knob_word(TCB_KNOB_ISA, isa));
	if (tcb_variant_find(c->op, c->problem->contract, g))
		return 0;
	int32_t layout = g->knob[TCB_KNOB_LAYOUT], unroll = g->knob[TCB_KNOB_UNROLL];
	return reject(
		why, "no %s kernel of contract %s was built for isa=%s, layout %s, unroll %d, micro.m=%zu, micro.n=%zu",
		c->op->name, tcb_contract_text(c->problem->contract), tcb_isa_text((enum tcb_isa)isa),
		layout == TCB_KNOB_UNSET ? "native" : tcb_knob_word(TCB_KNOB_LAYOUT, layout),
		unroll == TCB_KNOB_UNSET ? 1 : unroll, g->tile[TCB_MICRO].m, g->tile[TCB_MICRO].n);
}

static int check_idle_knob(const struct tcb_candidate *c, char *why)
{
	const int32_t *knob = c->geometry->knob;
	if (knob[TCB_KNOB_PREFETCH] == 0 && knob[TCB_KNOB_HINT] > 0)
		return reject(why, "hint=%s has no effect with prefetch=0, so it must be %s",
			      tcb_knob_word(TCB_KNOB_HINT, knob[TCB_KNOB_HINT]), tcb_knob_word(TCB_KNOB_HINT, 0));
	if (knob[TCB_KNOB_THREADS] == 1 && knob[TCB_KNOB_SCHED] > 0)
		return reject(why, "sched=%s has no effect with threads=1, so it must be %s",
			      tcb_knob_word(TCB_KNOB_SCHED, knob[TCB_KNOB_SCHED]), tcb_knob_word(TCB_KNOB_SCHED, 0));
	return 0;
}

static int check_plan(const struct tcb_candidate *c, char *why)
{
	const struct tcb_side *side = tcb_op_side(c->op, c->target);
	struct tcb_plan plan;
	struct tcb_error err;
	if (!side->plan || side->plan(c->problem, c->geometry, &plan, why ? &err : NULL) == TCB_OK)
		return 0;
	return reject(why, "%.180s", why ? err.message : "");
}

static int check_bits(const struct tcb_candidate *c, char *why)
{
	const struct tcb_side_space *space = tcb_space_of(c->problem, c->target, c->geometry);
	if (!c->problem->shape.words.bits)
		return 0;
	if (!space->reorders)
		return reject(why, "op %s does not promise the same bits on such a device", c->op->name);
	const char *reason = space->reorders(c->problem, c->target, c->geometry);
	return reason ? reject(why, "%s", reason) : 0;
}

#define VARIANT_READS \
	(TCB_FIELD_MICRO_M | TCB_FIELD_MICRO_N | TCB_FIELD_KNOB(ISA) | TCB_FIELD_KNOB(LAYOUT) | TCB_FIELD_KNOB(UNROLL))
#define IDLE_READS (TCB_FIELD_KNOB(PREFETCH) | TCB_FIELD_KNOB(HINT) | TCB_FIELD_KNOB(THREADS) | TCB_FIELD_KNOB(SCHED))

enum { FOOTPRINT_FROM = 3 }; /* rows before this one do without: a footprint may divide by what they make sane */
static const struct tcb_constraint constraints[] = {
	{ "H1", "positive", TCB_FIELD_TILES, check_positive },
	{ "H2", "nesting", TCB_FIELD_TILES, check_nesting, check_nesting_dim },
	{ "V4", "rule", 0, check_rules },
	{ "H3", "alignment", 0, check_alignment },
	{ "H4", "superblock", 0, check_superblock },
	{ "H5", "shared memory", 0, check_shared },
	{ "H6", "threads", 0, check_threads },
	{ "H7", "registers", 0, check_thread_registers },
	{ "H9", "CPU registers", 0, check_cpu_registers },
	{ "H11", "grid", 0, check_grid },
	{ "H12", "swizzle", 0, check_swizzle },
	{ "H13", "vector access", 0, check_vector },
	{ "H15", "power of two", TCB_FIELD_TILES, check_power_of_two, check_power_of_two_dim },
	{ "V1", "variant", VARIANT_READS, check_variant },
	{ "V2", "idle knob", IDLE_READS, check_idle_knob },
	{ "V3", "plan", 0, check_plan },
	{ "V5", "bits", 0, check_bits },
};

const struct tcb_constraint *tcb_constraints(size_t *count_out)
{
	*count_out = sizeof(constraints) / sizeof(constraints[0]);
	return constraints;
}

const struct tcb_constraint *tcb_constraint_first(struct tcb_candidate *c, char reason[TCB_WHY_MAX])
{
	for (size_t i = 0; i < sizeof(constraints) / sizeof(constraints[0]); i++) {
		if (i == FOOTPRINT_FROM)
			tcb_space_of(c->problem, c->target, c->geometry)
				->footprint(c->problem, c->target, c->geometry, &c->footprint);
		if (constraints[i].check(c, reason) != 0)
			return &constraints[i];
	}
	return NULL;
}

enum tcb_status tcb_constraint_require(const struct tcb_problem *problem, const struct tcb_target *target,
				       const struct tcb_geometry *geometry, struct tcb_error *err)
{
	const struct tcb_op *op = problem->op;
	struct tcb_candidate candidate = {
		.op = op, .problem = problem, .target = target, .geometry = geometry, .any_size = 1, .is_kernel = 1
	};
	struct tcb_problem checked;
	struct tcb_error refused;
	char reason[TCB_WHY_MAX];
	if (!op || tcb_problem_init(op, problem->contract, &problem->shape, &checked, &refused) != TCB_OK)
		return tcb_fail(err, TCB_E_ILLEGAL, "%s", op ? refused.message : "no such op");
	const struct tcb_constraint *row = tcb_constraint_first(&candidate, reason);
	return row ? tcb_fail(err, TCB_E_ILLEGAL, "%s %s: %s", row->id, row->title, reason) : TCB_OK;
}

const struct tcb_constraint *tcb_constraint_left(struct tcb_candidate *candidate)
{
	for (size_t i = 0; i < sizeof(constraints) / sizeof(constraints[0]); i++) {
		const struct tcb_constraint *row = &constraints[i];
		if (i == FOOTPRINT_FROM)
			tcb_space_of(candidate->problem, candidate->target, candidate->geometry)
				->footprint(candidate->problem, candidate->target, candidate->geometry,
					    &candidate->footprint);
		if (!row->reads && row->check(candidate, NULL) != 0)
			return row;
	}
	return NULL;
}

/* Soft constraints. */

void tcb_constraint_soft(const struct tcb_problem *problem, const struct tcb_target *target,
			 const struct tcb_geometry *geometry, struct tcb_soft *out)
{
	const struct tcb_shape *shape = &problem->shape;
	const struct tcb_tile *tile = &geometry->tile[tcb_kind_of(target)->unit];
	const size_t cache[TCB_LEVEL_COUNT] = { target->llc_bytes, target->l2_bytes, target->l1d_bytes };
	struct tcb_footprint footprint = { 0 };
	tcb_space_of(problem, target, geometry)->footprint(problem, target, geometry, &footprint);

	double used = (double)shape->m * (double)shape->n * (double)shape_dim(shape, 2);
	double padded = (double)tcb_round_up(shape->m, tile->m) * (double)tcb_round_up(shape->n, tile->n) *
			(double)tcb_round_up(shape_dim(shape, 2), tile->k);
	out->padding_waste = 1 - used / padded;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		out->cache_fraction[level] =
			cache[level] ? (double)footprint.level_bytes[level] / (double)cache[level] : 0;
	out->accumulator_fraction = (double)footprint.accumulators / FMA_CHAINS;
}
