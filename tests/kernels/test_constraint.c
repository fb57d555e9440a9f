/* SPDX-License-Identifier: MIT
 *
 * Each constraint on both of its sides, on hand-made geometries, footprints
 * and targets; and every suggested fix is applied and must be legal.
 */
#include "kernels/constraint.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "cmocka_all.h"
#include "toy_op.h"

static const struct tcb_constraint *constraint(const char *id)
{
	size_t count;
	const struct tcb_constraint *rows = tcb_constraints(&count);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(rows[i].id, id) == 0)
			return &rows[i];
	}
	fail_msg("no constraint %s", id);
	return NULL;
}

/* A candidate that every constraint accepts; tests then spoil one thing. */
struct fixture {
	struct tcb_problem problem;
	struct tcb_target target;
	struct tcb_geometry geometry;
	struct tcb_candidate candidate;
};

static void fixture_init(struct fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->problem = toy_problem;
	f->target = toy_target;
	toy_default(&f->problem, &f->target, &f->geometry);
	f->candidate = (struct tcb_candidate){ &toy_op, &f->problem, &f->target, &f->geometry, { 0 }, 0, 0, 0, 0 };
}

static void fixture_cuda(struct fixture *f, unsigned capability)
{
	fixture_init(f);
	f->target = (struct tcb_target){ .kind = TCB_TARGET_CUDA, .cuda.capability = capability };
}

static void accepts(const char *id, const struct fixture *f)
{
	char why[TCB_WHY_MAX] = "";
	if (constraint(id)->check(&f->candidate, why))
		fail_msg("%s rejects what it should accept: %s", id, why);
	assert_int_equal(constraint(id)->check(&f->candidate, NULL), 0);
}

static void rejects(const char *id, const struct fixture *f, const char *reason_part)
{
	char why[TCB_WHY_MAX] = "";
	if (!constraint(id)->check(&f->candidate, why))
		fail_msg("%s accepts what it should reject", id);
	if (!strstr(why, reason_part))
		fail_msg("%s says \"%s\", which lacks \"%s\"", id, why, reason_part);
	assert_int_equal(constraint(id)->check(&f->candidate, NULL), -1);
}

static void test_default_is_legal(void **state)
{
	(void)state;
	char why[TCB_WHY_MAX];
	struct fixture f;
	fixture_init(&f);
	const struct tcb_constraint *row = tcb_constraint_violated(&toy_op, &f.problem, &f.target, &f.geometry, 0, why);
	if (row)
		fail_msg("%s", why);
}

static void test_h1_positive(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	accepts("H1", &f);
	f.geometry.tile[TCB_MIDI].n = 0;
	rejects("H1", &f, "midi.n=0");
	fixture_init(&f);
	f.geometry.tile[TCB_MACRO] = (struct tcb_tile){ 1, SIZE_MAX / 2, 2 };
	accepts("H1", &f);
	f.geometry.tile[TCB_MACRO].k = 3;
	rejects("H1", &f, "macro=");
	fixture_init(&f);
	f.problem.shape = (struct tcb_shape){ SIZE_MAX / 2, 3, 0 };
	rejects("H1", &f, "shape");
	fixture_init(&f);
	f.geometry.knob[TCB_KNOB_THREADS] = 0;
	rejects("H1", &f, "threads=0");
	fixture_init(&f);
	f.geometry.knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_COUNT;
	rejects("H1", &f, "layout");
	fixture_init(&f);
	f.geometry.knob[TCB_KNOB_WARPS] = 4;
	rejects("H1", &f, "warps is a knob of GPUs only");
	fixture_init(&f);
	f.target.kind = TCB_TARGET_CUDA;
	f.geometry.knob[TCB_KNOB_PREFETCH] = 0;
	rejects("H1", &f, "is a knob of CPUs only");
}

static void test_h2_nesting(void **state)
{
	(void)state;
	struct fixture f;
	for (int dim = 0; dim < 3; dim++) {
		for (int level = TCB_MIDI; level < TCB_LEVEL_COUNT; level++) {
			struct tcb_field field = { (enum tcb_axis_kind)dim, level };
			struct tcb_field above = { (enum tcb_axis_kind)dim, level - 1 };
			fixture_init(&f);
			accepts("H2", &f);
			tcb_field_set(field, 2 * tcb_field_get(above, &f.geometry), &f.geometry);
			rejects("H2", &f, "does not divide");
		}
	}
	/* The problem is cut, not divided: 64 covers 48; 128 would be beyond what it needs, unless a micro tile is. */
	fixture_init(&f);
	f.geometry.tile[TCB_MACRO].n = 64;
	accepts("H2", &f);
	f.geometry.tile[TCB_MACRO].n = 128;
	rejects("H2", &f, "macro.n=128");
	f.geometry.tile[TCB_MIDI].n = 128;
	f.geometry.tile[TCB_MICRO].n = 128;
	accepts("H2", &f);
	/* Register tiles of 14: 56 are enough for 48, and less than 96 is no waste. */
	f.geometry.tile[TCB_MICRO].n = 14;
	f.geometry.tile[TCB_MIDI].n = f.geometry.tile[TCB_MACRO].n = 84;
	accepts("H2", &f);
	f.geometry.tile[TCB_MIDI].n = f.geometry.tile[TCB_MACRO].n = 98;
	rejects("H2", &f, "midi.n=98");
	f.geometry.tile[TCB_MICRO].n = 98;
	accepts("H2", &f);
	/* A row op has no k. */
	fixture_init(&f);
	f.problem.shape.k = 0;
	for (int level = 0; level < TCB_LEVEL_COUNT; level++)
		f.geometry.tile[level].k = 1;
	accepts("H2", &f);
	f.geometry.tile[TCB_MACRO].k = 2;
	rejects("H2", &f, "no k dimension");
}

static void test_h3_alignment(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	accepts("H3", &f); /* no alignment wanted */
	struct tcb_footprint *p = &f.candidate.footprint;
	*p = (struct tcb_footprint){
		.element_bytes = 4, .alignment_bytes = 16, .leading_bytes = 208, .base_bytes = 64
	};
	accepts("H3", &f);
	p->alignment_bytes = 24;
	rejects("H3", &f, "power of two");
	p->alignment_bytes = 2;
	rejects("H3", &f, "power of two of at least 4");
	p->alignment_bytes = 32;
	rejects("H3", &f, "leading dimension");
	p->leading_bytes = 256;
	accepts("H3", &f);
	p->base_bytes = 16;
	rejects("H3", &f, "base");
}

static void test_h4_superblock(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	f.problem.shape.k = 1024;
	f.geometry.tile[TCB_MACRO].k = 1024;
	f.geometry.tile[TCB_MIDI].k = 512;
	f.geometry.tile[TCB_MICRO].k = 256;
	struct tcb_footprint *p = &f.candidate.footprint;
	*p = (struct tcb_footprint){ .k_multiple = 256, .k_step_multiple = 64 };
	accepts("H4", &f);
	f.problem.shape.k = 1000;
	rejects("H4", &f, "K=1024 would be");
	f.problem.shape.k = 1024;
	f.geometry.tile[TCB_MACRO].k = 128;
	rejects("H4", &f, "macro.k=128");
	f.geometry.tile[TCB_MACRO].k = 1024;
	f.geometry.tile[TCB_MIDI].k = 96;
	rejects("H4", &f, "midi.k=96");
	f.geometry.tile[TCB_MIDI].k = 64;
	accepts("H4", &f);
	f.geometry.tile[TCB_MICRO].k = 32;
	rejects("H4", &f, "micro.k=32");
	p->k_step_multiple = 32;
	accepts("H4", &f);
	f.geometry.knob[TCB_KNOB_SPLITK] = 2;
	accepts("H4", &f);
	f.geometry.knob[TCB_KNOB_SPLITK] = 3;
	rejects("H4", &f, "splitk=3");
	f.geometry.knob[TCB_KNOB_SPLITK] = 8;
	rejects("H4", &f, "splitk=8");
}

static void test_h5_shared(void **state)
{
	(void)state;
	static const struct {
		unsigned capability;
		size_t kib;
	} rows[] = { { 75, 64 }, { 80, 163 }, { 86, 99 }, { 89, 99 }, { 90, 227 }, { 100, 227 }, { 70, 48 } };
	struct fixture f;
	struct tcb_footprint *p = &f.candidate.footprint;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fixture_cuda(&f, rows[i].capability);
		p->shared_dynamic = 1;
		p->shared_bytes = rows[i].kib * 1024;
		accepts("H5", &f);
		p->shared_bytes++;
		rejects("H5", &f, "shared memory, but sm_");
	}
	/* The device's word wins over the table. */
	fixture_cuda(&f, 89);
	f.target.cuda.shared_optin_bytes = 120 * 1024;
	p->shared_dynamic = 1;
	p->shared_bytes = 120 * 1024;
	accepts("H5", &f);
	/* Static up to 48 KiB. */
	p->shared_dynamic = 0;
	p->shared_bytes = 48 * 1024;
	accepts("H5", &f);
	p->shared_bytes++;
	rejects("H5", &f, "must be dynamic");
	fixture_init(&f);
	p->shared_bytes = SIZE_MAX;
	accepts("H5", &f); /* a CPU has none */
}

static void test_h6_threads(void **state)
{
	(void)state;
	struct fixture f;
	struct tcb_footprint *p = &f.candidate.footprint;
	fixture_cuda(&f, 89);
	p->block_threads = 1024;
	accepts("H6", &f);
	p->block_threads = 1056;
	rejects("H6", &f, "1024 are the most");
	p->block_threads = 48;
	rejects("H6", &f, "multiple of the warp of 32");
	f.target.cuda.warp_threads = 16;
	accepts("H6", &f);
	f.target.cuda.block_threads_max = 32;
	rejects("H6", &f, "32 are the most");
	fixture_init(&f);
	f.geometry.knob[TCB_KNOB_THREADS] = 4;
	accepts("H6", &f);
	f.geometry.knob[TCB_KNOB_THREADS] = 5;
	rejects("H6", &f, "threads=5");
}

static void test_h9_cpu_registers(void **state)
{
	(void)state;
	static const struct {
		enum tcb_isa isa;
		unsigned registers;
	} rows[] = { { TCB_ISA_AVX2, 16 },
		     { TCB_ISA_AVX512, 32 },
		     { TCB_ISA_AVX512VNNI, 32 },
		     { TCB_ISA_AVX512BF16, 32 },
		     { TCB_ISA_NEON, 32 } };
	struct fixture f;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		fixture_init(&f);
		f.geometry.knob[TCB_KNOB_ISA] = (int32_t)rows[i].isa;
		f.candidate.footprint.vector_registers = rows[i].registers;
		accepts("H9", &f);
		f.candidate.footprint.vector_registers++;
		rejects("H9", &f, tcb_isa_text(rows[i].isa));
	}
	fixture_cuda(&f, 89);
	f.geometry.knob[TCB_KNOB_ISA] = TCB_ISA_MMA;
	f.candidate.footprint.vector_registers = 200;
	accepts("H9", &f);
}

static void test_h11_grid(void **state)
{
	(void)state;
	struct fixture f;
	fixture_cuda(&f, 90);
	struct tcb_footprint *p = &f.candidate.footprint;
	*p = (struct tcb_footprint){ .grid = { 0x7fffffff, 65535, 65535 }, .barriers = 16 };
	accepts("H11", &f);
	p->grid[0]++;
	rejects("H11", &f, "along x");
	p->grid[0] = 1;
	p->grid[1]++;
	rejects("H11", &f, "along y");
	p->grid[1] = 1;
	p->grid[2]++;
	rejects("H11", &f, "along z");
	p->grid[2] = 1;
	p->barriers = 17;
	rejects("H11", &f, "17 barriers");
}

static void test_h12_swizzle(void **state)
{
	(void)state;
	struct fixture f;
	fixture_cuda(&f, 90);
	struct tcb_footprint *p = &f.candidate.footprint;
#define TILE(form, pitch, rows, granule, vector)                     \
	(*p = (struct tcb_footprint){ .swizzle = TCB_SWIZZLE_##form, \
				      .swizzle_pitch = pitch,        \
				      .swizzle_rows = rows,          \
				      .swizzle_granule = granule,    \
				      .vector_bytes = vector })
	TILE(NONE, 20, 7, 16, 16);
	accepts("H12", &f);
	TILE(PAD, 32, 32, 4, 4);
	accepts("H12", &f);
	TILE(PAD, 32, 32, 4, 16); /* W+1 breaks 16-byte vectors, W+4 does not */
	rejects("H12", &f, "16 bytes wide");
	TILE(PAD, 32, 32, 16, 16);
	accepts("H12", &f);
	TILE(XOR, 32, 64, 4, 4);
	accepts("H12", &f);
	TILE(XOR, 16, 64, 4, 4); /* row 16 and on swap columns beyond 15 */
	rejects("H12", &f, "swizzle=xor");
	TILE(XOR, 16, 16, 4, 4);
	accepts("H12", &f);
	TILE(XOR, 48, 32, 4, 4); /* columns 32 and on land in the next row */
	rejects("H12", &f, "swizzle=xor");
	TILE(XOR, 32, 32, 16, 16);
	rejects("H12", &f, "breaks granules");
	TILE(CHUNK, 32, 64, 16, 16);
	accepts("H12", &f);
	TILE(CHUNK, 16, 8, 16, 16);
	rejects("H12", &f, "swizzle=chunk");
	TILE(SEED, 32, 32, 4, 4);
	accepts("H12", &f);
	TILE(SEED, 24, 32, 4, 4); /* no power of two, yet closed: below 1024 words it stays within runs of 32 */
	accepts("H12", &f);
	TILE(SEED, 24, 50, 4, 4);
	rejects("H12", &f, "swizzle=seed");
	TILE(SEED, 32, 32, 16, 16);
	rejects("H12", &f, "breaks granules");
	TILE(NONE, SIZE_MAX, 2, 4, 4);
	rejects("H12", &f, "larger than any shared memory");
	TILE(NONE, 0, 0, 0, 16); /* no shared tile */
	accepts("H12", &f);
#undef TILE
}

static void test_h13_vector(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	struct tcb_footprint *p = &f.candidate.footprint;
	*p = (struct tcb_footprint){
		.vector_bytes = 16, .base_bytes = 64, .leading_bytes = 208, .tile_offset_bytes = 32
	};
	accepts("H13", &f);
	p->vector_bytes = 32;
	rejects("H13", &f, "16 would do");
	p->leading_bytes = 256;
	accepts("H13", &f);
	p->tile_offset_bytes = 24;
	rejects("H13", &f, "8 would do");
	p->tile_offset_bytes = 32;
	p->base_bytes = 4;
	rejects("H13", &f, "base alignment");
	p->vector_bytes = 0;
	accepts("H13", &f);
}

static void test_h15_power_of_two(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	accepts("H15", &f); /* macro.k is the problem's 192 */
	f.geometry.tile[TCB_MACRO].n = 48;
	accepts("H15", &f); /* the problem's own */
	f.geometry.tile[TCB_MIDI].n = 24;
	rejects("H15", &f, "midi.n=24");
	f.candidate.any_size = 1;
	accepts("H15", &f);
	/* A CPU counts in register tiles: powers of two of them, and even shares of macro tiles for the threads. */
	fixture_init(&f);
	f.problem.shape.n = 1000;
	f.target.threads = 2;
	f.geometry.tile[TCB_MICRO].n = 14;
	f.geometry.tile[TCB_MIDI].n = 14 * 4;
	f.geometry.tile[TCB_MACRO].n = 14 * 4 * 9;
	accepts("H15", &f); /* 504: two of them */
	f.geometry.tile[TCB_MACRO].n = 14 * 4 * 10;
	rejects("H15", &f, "macro.n=560"); /* two of 504 would do */
	f.geometry.tile[TCB_MACRO].n = 14 * 4 * 2;
	accepts("H15", &f); /* 112: nine of them, but eight register tiles */
	f.geometry.tile[TCB_MIDI].n = 14 * 3;
	f.geometry.tile[TCB_MACRO].n = 14 * 36;
	rejects("H15", &f, "midi.n=42");
	f.target.kind = TCB_TARGET_CUDA;
	f.geometry.tile[TCB_MIDI].n = 14 * 4;
	rejects("H15", &f, "macro.n=504");
}

/* Before all that ask the side. */
static void test_no_side(void **state)
{
	struct fixture f;
	char why[TCB_WHY_MAX];
	(void)state;
	fixture_cuda(&f, 90);
	rejects("V4", &f, "op toy has no kernels for such a device");
	for (int knob = 0; knob < TCB_KNOB_COUNT; knob++)
		f.geometry.knob[knob] = TCB_KNOB_UNSET;
	assert_string_equal(tcb_constraint_violated(&toy_op, &f.problem, &f.target, &f.geometry, 0, why)->id, "V4");
}

static void test_v1_variant(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	accepts("V1", &f);
	f.geometry.tile[TCB_MICRO].n = 2;
	rejects("V1", &f, "no toy kernel of contract f32 was built for isa=scalar");
	f.geometry.tile[TCB_MICRO].n = 8;
	rejects("V1", &f, "micro.n=8");
	f.geometry.knob[TCB_KNOB_ISA] = TCB_ISA_AVX2;
	accepts("V1", &f);
	f.geometry.knob[TCB_KNOB_UNROLL] = 2;
	rejects("V1", &f, "unroll 2");
	f.geometry.knob[TCB_KNOB_UNROLL] = TCB_KNOB_UNSET; /* unset is 1 */
	accepts("V1", &f);
	f.geometry.knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_R8;
	rejects("V1", &f, "layout r8");
	f.problem.contract = TCB_CONTRACT_Q8;
	accepts("V1", &f);
	f.target.isa_mask = 1u << TCB_ISA_SCALAR;
	rejects("V1", &f, "the device has no avx2");
	f.geometry.knob[TCB_KNOB_ISA] = TCB_KNOB_UNSET;
	rejects("V1", &f, "isa is not set");
}

static void test_v2_idle_knob(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	accepts("V2", &f);
	f.geometry.knob[TCB_KNOB_HINT] = TCB_HINT_NTA;
	rejects("V2", &f, "hint=nta has no effect");
	f.geometry.knob[TCB_KNOB_PREFETCH] = 64;
	accepts("V2", &f);
	f.geometry.knob[TCB_KNOB_SCHED] = TCB_SCHED_DYNAMIC;
	rejects("V2", &f, "sched=dynamic has no effect");
	f.geometry.knob[TCB_KNOB_THREADS] = 2;
	accepts("V2", &f);
}

static void test_v3_plan(void **state)
{
	(void)state;
	struct fixture f;
	fixture_init(&f);
	accepts("V3", &f);
	f.geometry.knob[TCB_KNOB_THREADS] = 4;
	rejects("V3", &f, "more than toy can do");
}

static void test_soft(void **state)
{
	(void)state;
	struct fixture f;
	struct tcb_soft soft;
	fixture_init(&f);
	f.problem.shape = (struct tcb_shape){ 1, 50, 192 };
	tcb_constraint_soft(&f.problem, &f.target, &f.geometry, &soft);
	assert_float_equal(soft.padding_waste, 1 - 50.0 / 52.0, 1e-12);
	assert_float_equal(soft.cache_fraction[TCB_MIDI], 4.0 * 8 * 32 / (1 << 20), 1e-12);
	assert_float_equal(soft.cache_fraction[TCB_MACRO], 0, 0); /* the last-level cache is unknown */
	assert_float_equal(soft.accumulator_fraction, 0.5, 1e-12);
	f.problem.shape.n = 52;
	tcb_constraint_soft(&f.problem, &f.target, &f.geometry, &soft);
	assert_float_equal(soft.padding_waste, 0, 0);
}

/* Applies "midi.n=64,isa=avx2". */
static void apply_fix(char *text, struct tcb_geometry *geometry)
{
	for (char *part = strtok(text, ","); part; part = strtok(NULL, ",")) {
		char *value = strchr(part, '=');
		int found = 0;
		assert_non_null(value);
		*value++ = '\0';
		for (unsigned bit = 0; bit < TCB_FIELD_COUNT && !found; bit++) {
			struct tcb_field field = tcb_field_at(bit);
			char key[32];
			if (field.kind == TCB_AXIS_KNOB)
				snprintf(key, sizeof(key), "%s", tcb_knob_key((enum tcb_knob)field.which));
			else
				snprintf(key, sizeof(key), "%s.%c", tcb_level_text((enum tcb_level)field.which),
					 "mnk"[field.kind]);
			assert_int_equal(tcb_field_bit(field), UINT64_C(1) << bit);
			if (strcmp(key, part) != 0)
				continue;
			int64_t number = strtoll(value, NULL, 10);
			if (field.kind == TCB_AXIS_KNOB && tcb_knob_word((enum tcb_knob)field.which, 0)) {
				number = 0;
				while (strcmp(tcb_knob_word((enum tcb_knob)field.which, (int32_t)number), value) != 0)
					number++;
			}
			tcb_field_set(field, number, geometry);
			found = 1;
		}
		if (!found)
			fail_msg("unknown key %s in a fix", part);
	}
}

/* Random spoilt geometries: each message names its constraint; each suggestion, applied, is legal. */
static void test_every_fix_is_legal(void **state)
{
	(void)state;
	static const int64_t numbers[] = { 0, 1, 2, 3, 4, 5, 8, 12, 24, 32, 48, 64, 96, 100, 192, 512, 4096 };
	size_t fixed = 0, illegal = 0;
	struct fixture f;
	struct tcb_rng rng;
	tcb_rng_init(&rng, 7);
	for (int round = 0; round < 3000; round++) {
		char why[TCB_WHY_MAX], again[TCB_WHY_MAX];
		fixture_init(&f);
		for (uint64_t spoil = 1 + tcb_rng_below(&rng, 3); spoil > 0; spoil--) {
			struct tcb_field field = tcb_field_at((unsigned)tcb_rng_below(&rng, TCB_FIELD_COUNT));
			int64_t value = numbers[tcb_rng_below(&rng, sizeof(numbers) / sizeof(numbers[0]))];
			if (field.kind == TCB_AXIS_KNOB && f.geometry.knob[field.which] == TCB_KNOB_UNSET)
				continue;
			tcb_field_set(field, value, &f.geometry);
		}
		const struct tcb_constraint *row =
			tcb_constraint_violated(&toy_op, &f.problem, &f.target, &f.geometry, 0, why);
		if (!row)
			continue;
		illegal++;
		assert_int_equal(strncmp(why, row->id, strlen(row->id)), 0);
		char *fix = strstr(why, "nearest legal: ");
		if (!fix) {
			assert_non_null(strstr(why, "default geometry"));
			continue;
		}
		fixed++;
		apply_fix(fix + strlen("nearest legal: "), &f.geometry);
		if (tcb_constraint_violated(&toy_op, &f.problem, &f.target, &f.geometry, 0, again))
			fail_msg("the fix in \"%s\" is illegal: %s", why, again);
	}
	assert_true(illegal > 1000);
	assert_true(fixed > illegal / 3);
}

static void test_fix_is_the_nearest(void **state)
{
	(void)state;
	char why[TCB_WHY_MAX];
	struct fixture f;
	fixture_init(&f);
	f.geometry.tile[TCB_MIDI].n = 24;
	tcb_constraint_violated(&toy_op, &f.problem, &f.target, &f.geometry, 0, why);
	assert_string_equal(why, "H2 nesting: midi.n=24 does not divide macro.n=64; nearest legal: midi.n=32");
	fixture_init(&f);
	f.geometry.knob[TCB_KNOB_UNROLL] = 2; /* no scalar kernel unrolls, and its own knob alone can go back */
	tcb_constraint_violated(&toy_op, &f.problem, &f.target, &f.geometry, 0, why);
	assert_non_null(strstr(why, "V1 variant: no toy kernel"));
	assert_non_null(strstr(why, "nearest legal: unroll=1"));
	fixture_init(&f);
	f.geometry.knob[TCB_KNOB_UNROLL] = 2;
	f.geometry.knob[TCB_KNOB_LAYOUT] = TCB_LAYOUT_R8;
	f.geometry.knob[TCB_KNOB_ISA] = TCB_ISA_AVX2; /* micro 1x4: tile of the variant must come along */
	tcb_constraint_violated(&toy_op, &f.problem, &f.target, &f.geometry, 0, why);
	assert_non_null(strstr(why, "nearest legal: micro.m=2,micro.n=8"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_default_is_legal),
		cmocka_unit_test(test_h1_positive),
		cmocka_unit_test(test_h2_nesting),
		cmocka_unit_test(test_h3_alignment),
		cmocka_unit_test(test_h4_superblock),
		cmocka_unit_test(test_h5_shared),
		cmocka_unit_test(test_h6_threads),
		cmocka_unit_test(test_h9_cpu_registers),
		cmocka_unit_test(test_h11_grid),
		cmocka_unit_test(test_h12_swizzle),
		cmocka_unit_test(test_h13_vector),
		cmocka_unit_test(test_h15_power_of_two),
		cmocka_unit_test(test_no_side),
		cmocka_unit_test(test_v1_variant),
		cmocka_unit_test(test_v2_idle_knob),
		cmocka_unit_test(test_v3_plan),
		cmocka_unit_test(test_soft),
		cmocka_unit_test(test_every_fix_is_legal),
		cmocka_unit_test(test_fix_is_the_nearest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
