/* SPDX-License-Identifier: MIT
 *
 * The limit's kernels: they read (or copy) each byte once, touch nothing else,
 * and assemble for every target.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "device/gpu.h"
#include "kernels/gpu/ptx_code.h"
#include "kernels/limit.h"
#include "ptx/emulate/emulate.h"
#include "ptx/text/text.h"

/* Bytes of outputs of which a call writes some: a few more than some blocks, little, and enough. */
static const size_t parts[] = { 2 * 2048 * 16 + 16, 32, 1 << 20 };

/* An op that moves N bytes to few (m of 1), to as many (2), or two times N to few, of which a call reads half (3), or
 * N bytes to parts of three outputs (4), or two times N to as many as N (5), or N and half of N to few (6). */
static size_t operands(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	size_t bytes = problem->shape.n;
	out[0] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, 2, 8, 0 };
	if (problem->shape.m == 3 || problem->shape.m == 5)
		out[0] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, bytes / 4, bytes, 1 };
	if (problem->shape.m == 6)
		out[0] = (struct tcb_operand){ "x", TCB_ROLE_INPUT, TCB_TYPE_F32, 1, bytes / 8, bytes / 2, 1 };
	out[1] = (struct tcb_operand){ "w", TCB_ROLE_WEIGHTS, TCB_TYPE_F32, 1, bytes / 4, bytes, 1 };
	const size_t output = problem->shape.m == 2 || problem->shape.m == 5 ? bytes : 4;
	out[2] = (struct tcb_operand){ "y", TCB_ROLE_OUTPUT, TCB_TYPE_F32, 1, 1, output, 1 };
	if (problem->shape.m != 4)
		return 3;
	for (size_t i = 0; i < 3; i++)
		out[2 + i] = (struct tcb_operand){
			.name = "part", .role = TCB_ROLE_OUTPUT, .bytes = parts[i], .streams = 1, .is_partly_written = 1
		};
	return 5;
}

static double traffic(const struct tcb_problem *problem)
{
	if (problem->shape.m >= 5)
		return (problem->shape.m == 5 ? 3.0 : 1.5) * (double)problem->shape.n;
	return (double)problem->shape.n + (problem->shape.m % 2 == 0 ? (double)problem->shape.n : 4);
}

static const struct tcb_op moving_op = { .name = "moving", .operands = operands, .traffic = traffic };

static struct tcb_code_image *image_of(unsigned capability, size_t bytes, int kind, int dependent)
{
	struct tcb_problem problem = { .op_name = "moving", .op = &moving_op, .shape = { 1 + (size_t)kind, bytes, 0 } };
	struct tcb_code_image *image = NULL;
	struct tcb_error err;
	struct tcb_gpu gpu;
	assert_int_equal(tcb_gpu_table(capability, &gpu, &err), TCB_OK);
	if (tcb_limit_image(&problem, &gpu.device.target, dependent, &image, &err) != TCB_OK)
		fail_msg("sm_%u: %s", capability, err.message);
	assert_true(tcb_code_image_valid(&tcb_language_ptx, image, image->bytes));
	return image;
}

static void see(void *ctx, const struct tcb_ptx_finding *finding)
{
	(void)ctx;
	print_error("%s\n", finding->message);
}

/* Runs UNIT on BYTES of WEIGHTS, the first half of them where a second operand is read, too.  Several outputs are one
 * behind the other. */
static void emulate(const struct tcb_code_image *image, size_t index, unsigned char *weights, unsigned char *output,
		    size_t bytes, size_t output_bytes, struct tcb_ptx_emulation *out)
{
	const struct tcb_code_unit *unit = &image->unit[index];
	const struct tcb_code_launch *launch = &unit->launch[0];
	const char *text = (const char *)image + unit->offset;
	struct tcb_ptx_module *module;
	struct tcb_ptx_program *program;
	struct tcb_ptx_memory *memory;
	struct tcb_error err;
	uint64_t values[TCB_ARGUMENTS_MAX], workspace[2] = { 0 }, at[3];
	if (tcb_ptx_parse("limit", text, strlen(text), &module, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_int_equal(tcb_ptx_program_create(module->functions, &program, &err), TCB_OK);
	assert_int_equal(tcb_ptx_memory_create(&memory, &err), TCB_OK);
	assert_int_equal(tcb_ptx_memory_add(memory, "w", weights, bytes, 256, TCB_PTX_READ_ONLY, &at[0], &err), TCB_OK);
	assert_int_equal(tcb_ptx_memory_add(memory, "y", output, output_bytes, 256, TCB_PTX_MAY_WRITE, &at[1], &err),
			 TCB_OK);
	assert_int_equal(tcb_ptx_memory_add(memory, "workspace", workspace, unit->workspace_bytes, 256,
					    TCB_PTX_MAY_WRITE, &at[2], &err),
			 TCB_OK);
	assert_in_range(launch->argument_count, 3, 5);
	for (size_t i = 0; i < launch->argument_count; i++)
		values[i] = launch->argument[i].kind == TCB_ARGUMENT_OPERAND && launch->argument[i].value == 0
				    ? at[0] + bytes / 2
			    : launch->argument[i].kind == TCB_ARGUMENT_WORKSPACE ? at[2]
			    : launch->argument[i].kind == TCB_ARGUMENT_U32       ? launch->argument[i].value
			    : launch->argument[i].value == 1                     ? at[0]
			    : launch->argument[i].value == 2                     ? at[1]
			    : launch->argument[i].value == 3                     ? at[1] + parts[0]
										 : at[1] + parts[0] + parts[1];
	struct tcb_ptx_launch run = { .params = values, .param_bytes = (uint32_t)(8 * launch->argument_count - 4) };
	memcpy(run.grid, launch->grid, sizeof run.grid);
	memcpy(run.block, launch->block, sizeof run.block);
	if (tcb_ptx_emulate(program, &run, memory, &(struct tcb_ptx_sink){ .see = see }, out, &err) != TCB_OK)
		fail_msg("%s", err.message);
	tcb_ptx_memory_destroy(memory);
	tcb_ptx_program_destroy(program);
	tcb_ptx_module_destroy(module);
}

/* One byte more or less than blocks take; a single piece; many blocks. */
static const size_t sizes[] = { 16, 2048 * 16, 2048 * 16 - 16, 2048 * 16 + 16, 5 * 2048 * 16 + 48 };

static void each_byte_is_read_once(void **state)
{
	(void)state;
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		for (int dependent = 0; dependent < 2; dependent++) {
			struct tcb_code_image *image = image_of(90, sizes[s], 0, dependent);
			unsigned char *weights = calloc(1, sizes[s]), output[16] = { 7 };
			assert_non_null(weights);
			assert_int_equal(image->unit_count, 3);
			for (size_t unit = 0; unit < image->unit_count; unit++) {
				struct tcb_ptx_emulation counted;
				const struct tcb_code_launch *launch = &image->unit[unit].launch[0];
				emulate(image, unit, weights, output, sizes[s], sizeof output, &counted);
				assert_int_equal(counted.findings, 0);
				assert_int_equal(counted.global_read_bytes, sizes[s]);
				assert_int_equal(counted.global_write_bytes, 0);
				assert_int_equal(counted.total.sectors, counted.total.sectors_ideal);
				assert_int_equal(tcb_launch_ptx(launch->own)->is_dependent, dependent);
				assert_int_equal(strncmp(launch->entry, "read_", 5), 0);
				assert_int_equal(strstr(launch->entry, "_dependent") != NULL, dependent);
			}
			free(weights);
			free(image);
		}
	}
}

/* Of two operands of one size, as K and V, what a call reads of them. */
static void both_operands_are_read(void **state)
{
	enum { EACH = 5 * 2048 * 16 + 48 };
	(void)state;
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	struct tcb_code_image *image = image_of(90, 2 * EACH, 2, 0);
	unsigned char *both = calloc(2, EACH), output[16] = { 7 };
	assert_non_null(both);
	for (size_t unit = 0; unit < image->unit_count; unit++) {
		struct tcb_ptx_emulation counted;
		emulate(image, unit, both, output, 2 * EACH, sizeof output, &counted);
		assert_int_equal(counted.findings, 0);
		assert_int_equal(counted.global_read_bytes, 2 * EACH);
	}
	free(both);
	free(image);
}

/* Of two operands of different sizes, as K and V of different widths, all. */
static void operands_of_two_sizes_are_read(void **state)
{
	enum { EACH = 5 * 2048 * 16 + 96 };
	(void)state;
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	struct tcb_code_image *image = image_of(90, EACH, 5, 0);
	unsigned char *both = calloc(2, EACH), output[16] = { 7 };
	assert_non_null(both);
	for (size_t unit = 0; unit < image->unit_count; unit++) {
		struct tcb_ptx_emulation counted;
		emulate(image, unit, both, output, 2 * EACH, sizeof output, &counted);
		assert_int_equal(counted.findings, 0);
		assert_int_equal(counted.global_read_bytes, EACH + EACH / 2);
	}
	free(both);
	free(image);
}

/* A launch without blocks is an error of the driver's. */
static void less_than_a_piece_is_a_launch(void **state)
{
	(void)state;
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	for (int is_copy = 0; is_copy < 2; is_copy++) {
		struct tcb_code_image *image = image_of(90, 12, is_copy, 0);
		unsigned char from[12] = { 1 }, to[12] = { 2 };
		for (size_t unit = 0; unit < image->unit_count; unit++) {
			struct tcb_ptx_emulation counted;
			assert_int_equal(image->unit[unit].launch[0].grid[0], 1);
			emulate(image, unit, from, to, sizeof from, sizeof to, &counted);
			assert_int_equal(counted.findings, 0);
			assert_int_equal(counted.global_read_bytes + counted.global_write_bytes, 0);
		}
		free(image);
	}
}

/* What is read is used: bytes that fold to the one value that is looked for are stored. */
static void nothing_is_optimised_away(void **state)
{
	(void)state;
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	struct tcb_code_image *image = image_of(90, 64, 0, 0);
	unsigned char weights[64] = { 0 }, output[16];
	const uint32_t magic = 0x5eed1e55;
	struct tcb_ptx_emulation counted;
	memcpy(weights + 36, &magic, sizeof magic);
	emulate(image, 0, weights, output, sizeof weights, sizeof output, &counted);
	assert_int_equal(counted.findings, 0);
	assert_int_equal(counted.global_write_bytes, 4);
	free(image);
}

static void each_byte_is_copied_once(void **state)
{
	(void)state;
	struct tcb_rng rng;
	tcb_rng_init(&rng, 3);
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		struct tcb_code_image *image = image_of(90, sizes[s], 1, 0);
		unsigned char *from = malloc(sizes[s]), *to = malloc(sizes[s]);
		assert_true(from && to);
		for (size_t i = 0; i < sizes[s]; i++)
			from[i] = (unsigned char)tcb_rng_below(&rng, 256);
		for (size_t unit = 0; unit < image->unit_count; unit++) {
			struct tcb_ptx_emulation counted;
			memset(to, 0, sizes[s]);
			emulate(image, unit, from, to, sizes[s], sizes[s], &counted);
			assert_int_equal(counted.findings, 0);
			assert_memory_equal(from, to, sizes[s]);
			assert_int_equal(counted.global_read_bytes, sizes[s]);
			assert_int_equal(counted.global_write_bytes, sizes[s]);
			assert_int_equal(strncmp(image->unit[unit].launch[0].entry, "copy_", 5), 0);
		}
		free(image);
		free(from);
		free(to);
	}
}

/* As element-wise ops of two operands: each byte of both is read once, and all of it is in what is written. */
static void two_operands_are_joined(void **state)
{
	struct tcb_rng rng;
	(void)state;
	tcb_rng_init(&rng, 3);
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		struct tcb_code_image *image = image_of(90, sizes[s], 4, 0);
		unsigned char *both = malloc(2 * sizes[s]), *to = malloc(sizes[s]);
		assert_true(both && to);
		for (size_t i = 0; i < 2 * sizes[s]; i++)
			both[i] = (unsigned char)tcb_rng_below(&rng, 256);
		for (size_t unit = 0; unit < image->unit_count; unit++) {
			struct tcb_ptx_emulation counted;
			memset(to, 0, sizes[s]);
			emulate(image, unit, both, to, 2 * sizes[s], sizes[s], &counted);
			assert_int_equal(counted.findings, 0);
			for (size_t i = 0; i < sizes[s]; i++)
				assert_int_equal(to[i], both[i] ^ both[sizes[s] + i]);
			assert_int_equal(counted.global_read_bytes, 2 * sizes[s]);
			assert_int_equal(counted.global_write_bytes, sizes[s]);
			assert_int_equal(strncmp(image->unit[unit].launch[0].entry, "join_", 5), 0);
		}
		free(image);
		free(both);
		free(to);
	}
}

/* As many bytes as a call moves, to one output after the other. */
static void several_outputs_are_copied_to(void **state)
{
	const size_t room = parts[0] + parts[1] + parts[2];
	unsigned char *from = malloc(room), *to = malloc(room);
	struct tcb_rng rng;
	(void)state;
	assert_true(from && to);
	tcb_rng_init(&rng, 3);
	for (size_t i = 0; i < room; i++)
		from[i] = (unsigned char)(1 + tcb_rng_below(&rng, 255));
	setenv("TCBTUNE_ASSEMBLER", "none", 1);
	for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
		struct tcb_code_image *image = image_of(90, sizes[s], 3, 0);
		for (size_t unit = 0; unit < image->unit_count; unit++) {
			struct tcb_ptx_emulation counted;
			memset(to, 0, room);
			emulate(image, unit, from, to, sizes[s], room, &counted);
			assert_int_equal(counted.findings, 0);
			assert_memory_equal(from, to, sizes[s]);
			assert_int_equal(counted.global_read_bytes, sizes[s]);
			assert_int_equal(counted.global_write_bytes, sizes[s]);
		}
		free(image);
	}
	free(from);
	free(to);
}

static void every_target_assembles(void **state)
{
	(void)state;
	struct tcb_assembler_info info;
	struct tcb_gpu gpu;
	unsetenv("TCBTUNE_ASSEMBLER");
	if (tcb_assembler_find(&info, NULL) != TCB_OK)
		skip_because("no assembler for PTX");
	for (size_t i = 0; tcb_gpu_table_row(i, &gpu); i++) {
		unsigned capability = gpu.device.target.cuda.capability;
		if (!tcb_assembler_knows(&info, capability))
			continue;
		/* reading, copying, joining, reading as a dependent launch */
		for (int form = 0; form < (capability >= 90 ? 4 : 3); form++) {
			const int kind = form == 1 ? 1 : form == 2 ? 4 : 0;
			struct tcb_code_image *image = image_of(capability, 1 << 20, kind, form == 3);
			assert_false(image->is_text);
			assert_memory_equal((const char *)image + image->unit[2].offset, "\177ELF", 4);
			free(image);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_byte_is_read_once),    cmocka_unit_test(less_than_a_piece_is_a_launch),
		cmocka_unit_test(nothing_is_optimised_away), cmocka_unit_test(each_byte_is_copied_once),
		cmocka_unit_test(both_operands_are_read),    cmocka_unit_test(operands_of_two_sizes_are_read),
		cmocka_unit_test(two_operands_are_joined),   cmocka_unit_test(several_outputs_are_copied_to),
		cmocka_unit_test(every_target_assembles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
