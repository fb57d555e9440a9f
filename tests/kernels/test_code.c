/* SPDX-License-Identifier: MIT
 *
 * Candidates' code: images and what damage does to them, equal PTX assembled
 * once, compiling ahead, what the assembler says of spills and errors, and
 * images that are let go.
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "kernels/code.h"
#include "kernels/gpu/ptx_code.h"
#include "worker/planted_gpu.h"

static const struct tcb_target target = { .kind = TCB_TARGET_CUDA,
					  .cuda.capability = 90,
					  .isa_mask = 1u << TCB_ISA_FMA,
					  .cuda.warp_threads = 32,
					  .cuda.block_threads_max = 1024 };

/* Two small shapes: one output, and five. */
static size_t small_shapes(const struct tcb_problem *problem, const struct tcb_target *at,
			   const struct tcb_geometry *geometry, struct tcb_shape shapes[TCB_CODE_UNITS_MAX],
			   struct tcb_geometry fitted[TCB_CODE_UNITS_MAX])
{
	(void)at;
	for (size_t i = 0; i < 2; i++) {
		shapes[i] = (struct tcb_shape){ 1, 1 + 4 * i, problem->shape.k };
		fitted[i] = *geometry;
	}
	return 2;
}

static struct tcb_codes *codes_with(const char *assembler, int allow_spills)
{
	struct tcb_problem problem;
	struct tcb_codes *codes = NULL;
	struct tcb_error err;
	planted_gpu_problem(&problem);
	struct tcb_codes_setup setup = { .problem = &problem,
					 .target = &target,
					 .workers = 2,
					 .seconds_limit = 60,
					 .allow_spills = allow_spills,
					 .shapes_of = small_shapes };
	setenv("TCBTUNE_ASSEMBLER", assembler, 1);
	if (tcb_codes_create(&setup, &codes, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return codes;
}

static const struct tcb_code *get(struct tcb_codes *codes, enum planted_gpu behaviour, unsigned stages)
{
	struct tcb_geometry geometry;
	const struct tcb_code *code;
	struct tcb_error err;
	planted_gpu_geometry(behaviour, 0, 2, stages, &geometry);
	if (tcb_codes_get(codes, &geometry, &code, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return code;
}

/* Skips the test where there is no ptxas. */
static struct tcb_codes *codes_with_ptxas(int allow_spills)
{
	struct tcb_assembler_info info;
	unsetenv("TCBTUNE_ASSEMBLER");
	if (tcb_assembler_find_kind(TCB_ASSEMBLER_PTXAS, &info, NULL) != TCB_OK)
		skip_because("no ptxas here");
	return codes_with("ptxas", allow_spills);
}

/* --- images --- */

static void images_hold_each_shape_and_equal_code_once(void **state)
{
	(void)state;
	struct tcb_codes *codes = codes_with("none", 0);
	assert_string_equal(tcb_codes_assembler(codes), "the driver");
	assert_int_equal(tcb_codes_ahead(codes), 1);
	const struct tcb_code *code = get(codes, PLANTED_GPU_GOOD, 1);
	assert_int_equal(code->outcome, TCB_OUTCOME_OK);
	assert_int_equal(strlen(code->signature), TCB_SIGNATURE_MAX - 1);
	const struct tcb_code_image *image = code->image;
	assert_true(tcb_code_image_valid(&tcb_language_ptx, image, image->bytes));
	assert_int_equal(image->unit_count, 3);
	assert_true(image->is_text);
	for (size_t i = 0; i < 3; i++) {
		const struct tcb_code_unit *unit = &image->unit[i];
		assert_int_equal(unit->shape.n, i == 0 ? PLANTED_GPU_N : i == 1 ? 1 : 5);
		assert_int_equal(unit->workspace_bytes, 4 * unit->shape.n);
		assert_int_equal(unit->launch_count, 1);
		assert_int_equal(unit->launch[0].argument[4].value, unit->shape.n);
		assert_int_equal(unit->offset, image->unit[0].offset); /* the text is the same */
		assert_string_equal(unit->launch[0].entry, "planted");
	}
	/* Where the text differs at small shapes, they have their own; among themselves they are the same again. */
	image = get(codes, PLANTED_GPU_WRONG_FULL, 1)->image;
	assert_true(image->unit[1].offset >= image->unit[0].offset + image->unit[0].bytes);
	assert_int_equal(image->unit[1].offset, image->unit[2].offset);
	assert_null(strstr((const char *)image + image->unit[1].offset, "setp.ge.u32 %q"));
	tcb_codes_destroy(codes);
	tcb_codes_destroy(NULL);
}

static void damaged_images_are_refused(void **state)
{
	(void)state;
	struct tcb_codes *codes = codes_with("none", 0);
	const struct tcb_code_image *good = get(codes, PLANTED_GPU_GOOD, 1)->image;
	const size_t bytes = good->bytes;
	struct tcb_code_image *image = malloc(bytes);
	assert_non_null(image);
#define REFUSED(change)                                                              \
	do {                                                                         \
		memcpy(image, good, bytes);                                          \
		assert_true(tcb_code_image_valid(&tcb_language_ptx, image, bytes));  \
		change;                                                              \
		assert_false(tcb_code_image_valid(&tcb_language_ptx, image, bytes)); \
	} while (0)
	struct tcb_code_unit *unit = &image->unit[1];
	REFUSED(image->bytes--);
	REFUSED(image->bytes++);
	REFUSED(image->unit_count = 0);
	REFUSED(image->unit_count = TCB_CODE_UNITS_MAX + 1);
	REFUSED(unit->offset = sizeof *image - 1);
	REFUSED(unit->offset = bytes + 1);
	REFUSED(unit->bytes = bytes);
	REFUSED(unit->bytes = SIZE_MAX - unit->offset + 1);
	REFUSED(unit->bytes--); /* the text lacks its end */
	REFUSED(((char *)image)[unit->offset] = '\0');
	REFUSED(unit->launch_count = 0);
	REFUSED(unit->launch_count = TCB_LAUNCHES_MAX + 1);
	REFUSED(unit->class = TCB_CLASS_COUNT);
	REFUSED(unit->layout = TCB_LAYOUT_COUNT);
	REFUSED(unit->launch[0].argument_count = TCB_ARGUMENTS_MAX + 1);
	REFUSED(unit->launch[0].argument[0].value = TCB_OPERANDS_MAX);
	REFUSED(unit->launch[0].argument[0].kind = (enum tcb_argument_kind)(TCB_ARGUMENT_U64 + 1));
	REFUSED(unit->launch[0].argument[0] = ((struct tcb_argument){ TCB_ARGUMENT_OWN, TCB_TENSORS_MAX }));
	REFUSED(unit->launch[0].argument[0].kind = TCB_ARGUMENT_OWN;
		((struct tcb_launch_ptx *)(void *)unit->launch[0].own)->tensor[0].operand = TCB_OPERANDS_MAX);
	REFUSED(memset(unit->launch[0].entry, 'x', sizeof unit->launch[0].entry));
	REFUSED(unit->launch[0].entry[0] = '\0');
#undef REFUSED
	assert_false(tcb_code_image_valid(&tcb_language_ptx, NULL, bytes));
	/* Cut off anywhere, or with random bytes in the head: never read beyond its end (the sanitizers watch). */
	for (size_t length = 0; length < bytes; length += length < sizeof *image + 64 ? 1 : 97) {
		char *cut = malloc(length ? length : 1);
		assert_non_null(cut);
		memcpy(cut, good, length);
		assert_false(tcb_code_image_valid(&tcb_language_ptx, cut, length));
		free(cut);
	}
	struct tcb_rng rng;
	tcb_rng_init(&rng, 1);
	for (int i = 0; i < 20000; i++) {
		memcpy(image, good, bytes);
		for (int j = 0; j < 3; j++)
			((unsigned char *)image)[tcb_rng_below(&rng, sizeof *image)] ^=
				(unsigned char)(1u << tcb_rng_below(&rng, 8));
		(void)tcb_code_image_valid(&tcb_language_ptx, image, bytes);
	}
	free(image);
	tcb_codes_destroy(codes);
}

static uint64_t hash_code(const struct tcb_code_image *image)
{
	return tcb_hash64((const char *)image + image->unit[0].offset, image->bytes - image->unit[0].offset, 0);
}

static void images_are_let_go_and_made_again(void **state)
{
	(void)state;
	enum { MANY = 2100 };
	struct tcb_codes *codes = codes_with("none", 0);
	uint64_t hash = 0;
	for (unsigned i = 1; i <= MANY; i++) {
		const struct tcb_code_image *image = get(codes, PLANTED_GPU_GOOD, i)->image;
		assert_non_null(image);
		if (i == 1)
			hash = hash_code(image);
	}
	for (unsigned i = 1; i <= 3; i++) {
		const struct tcb_code_image *again = get(codes, PLANTED_GPU_GOOD, i)->image;
		assert_non_null(again);
		if (i == 1)
			assert_true(hash == hash_code(again));
	}
	tcb_codes_destroy(codes);
}

static void what_cannot_be_emitted_is_an_outcome(void **state)
{
	(void)state;
	struct tcb_codes *codes = codes_with("none", 0);
	static const enum planted_gpu cases[] = { PLANTED_GPU_UNEMITTED, PLANTED_GPU_ODD_MISSING };
	for (size_t i = 0; i < 2; i++) {
		const struct tcb_code *code = get(codes, cases[i], 1);
		assert_int_equal(code->outcome, TCB_OUTCOME_LAUNCH_FAILED);
		assert_string_equal(code->message, "planted: no such kernel");
		assert_null(code->image);
	}
	tcb_codes_destroy(codes);
}

/* --- assemblers --- */

static void candidates_are_assembled_ahead(void **state)
{
	(void)state;
	struct tcb_codes *codes = codes_with_ptxas(0);
	struct tcb_geometry geometry;
	enum { WANTED = 5 };
	assert_non_null(strstr(tcb_codes_assembler(codes), "ptxas "));
	assert_true(tcb_codes_ahead(codes) >= 2);
	/* One that breaks off after its first shape went to the assembler, then more than the queue takes. */
	planted_gpu_geometry(PLANTED_GPU_ODD_MISSING, 0, 2, 1, &geometry);
	assert_int_equal(tcb_codes_want(codes, &geometry, NULL), TCB_OK);
	for (unsigned i = 1; i <= WANTED; i++) {
		planted_gpu_geometry(PLANTED_GPU_GOOD, 0, 2, i, &geometry);
		assert_int_equal(tcb_codes_want(codes, &geometry, NULL), TCB_OK);
		assert_int_equal(tcb_codes_want(codes, &geometry, NULL), TCB_OK);
	}
	/* Taken in another order. */
	for (unsigned i = WANTED; i >= 1; i--) {
		const struct tcb_code *code = get(codes, PLANTED_GPU_GOOD, i);
		assert_int_equal(code->outcome, TCB_OUTCOME_OK);
		const struct tcb_code_image *image = code->image;
		assert_true(tcb_code_image_valid(&tcb_language_ptx, image, image->bytes));
		assert_false(image->is_text);
		assert_memory_equal((const char *)image + image->unit[0].offset, "\177ELF", 4);
		assert_int_equal(image->unit[0].offset % 16, 0);
		assert_true(code->resources.registers > 4 && code->resources.registers < 64);
		assert_int_equal(code->resources.spill_store_bytes, 0);
		assert_true(code->occupancy.blocks >= 8 && code->seconds > 0);
		assert_ptr_equal(get(codes, PLANTED_GPU_GOOD, i)->image, image);
	}
	assert_int_equal(get(codes, PLANTED_GPU_ODD_MISSING, 1)->outcome, TCB_OUTCOME_LAUNCH_FAILED);
	tcb_codes_destroy(codes);
}

static void the_assembler_is_quoted(void **state)
{
	(void)state;
	struct tcb_codes *codes = codes_with_ptxas(0);
	const struct tcb_code *code = get(codes, PLANTED_GPU_REJECTED, 1);
	assert_int_equal(code->outcome, TCB_OUTCOME_COMPILE_FAILED);
	assert_non_null(strstr(code->message, "shared"));
	assert_null(strchr(code->message, '\n'));
	assert_null(code->image);
	assert_int_equal(get(codes, PLANTED_GPU_GOOD, 1)->outcome, TCB_OUTCOME_OK);
	tcb_codes_destroy(codes);
}

static void spills_are_told(void **state)
{
	(void)state;
	struct tcb_codes *codes = codes_with_ptxas(0);
	const struct tcb_code *code = get(codes, PLANTED_GPU_SPILLS, 1);
	assert_int_equal(code->outcome, TCB_OUTCOME_SPILLED);
	assert_non_null(strstr(code->message, "bytes to local memory at 24 registers per thread (F314)"));
	assert_null(code->image);
	tcb_codes_destroy(codes);
	codes = codes_with_ptxas(1);
	code = get(codes, PLANTED_GPU_SPILLS, 1);
	assert_int_equal(code->outcome, TCB_OUTCOME_OK);
	assert_true(code->resources.spill_store_bytes > 0 && code->image);
	tcb_codes_destroy(codes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(images_hold_each_shape_and_equal_code_once),
		cmocka_unit_test(damaged_images_are_refused),
		cmocka_unit_test(images_are_let_go_and_made_again),
		cmocka_unit_test(what_cannot_be_emitted_is_an_outcome),
		cmocka_unit_test(candidates_are_assembled_ahead),
		cmocka_unit_test(the_assembler_is_quoted),
		cmocka_unit_test(spills_are_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
