/* SPDX-License-Identifier: MIT
 *
 * Kernels in OpenCL C as images: whole ones are valid, what another process broke is not; the read limit
 * is a kernel of any problem, one that reads nothing included.
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "kernels/limit.h"
#include "kernels/opencl/opencl_code.h"

static struct tcb_code_image *make_image(void)
{
	struct tcb_kernel kernel = { .class = TCB_CLASS_BOUNDED };
	struct tcb_kernel_opencl *code = tcb_kernel_opencl_new(&kernel);
	struct tcb_code_image *image;
	struct tcb_target target;
	struct tcb_error err;

	assert_non_null(code);
	tcb_kind_opencl.describe("opencl-nvidia", &target);
	tcb_geometry_init(&kernel.geometry);
	kernel.launch[0] = (struct tcb_launch){ .entry = "scale",
						.grid = { 1, 1, 1 },
						.block = { 64, 1, 1 },
						.argument_count = 4,
						.argument = { { TCB_ARGUMENT_OPERAND, 1 },
							      { TCB_ARGUMENT_U32, 7 },
							      { TCB_ARGUMENT_OWN, 256 },
							      { TCB_ARGUMENT_WORKSPACE, 0 } } };
	code->launch.scalar_bytes[1] = 4;
	strcpy(code->launch.folder, "kernels");
	tcb_str_add(&code->text, TCB_OPENCL_OPTIONS "\nkernel void scale() {}\n");
	assert_int_equal(tcb_code_compile(&kernel, 1, &target, &image, &err), TCB_OK);
	tcb_kernel_fini(&kernel);
	return image;
}

static int is_valid(const struct tcb_code_image *image)
{
	return tcb_code_image_valid(&tcb_language_opencl, image, image->bytes);
}

static void broken_images_are_refused(void **state)
{
	struct tcb_code_image *image = make_image();
	struct tcb_code_launch *launch = &image->unit[0].launch[0];
	struct tcb_launch_opencl *own = (void *)launch->own;

	(void)state;
	assert_true(is_valid(image));
	assert_non_null(strstr((const char *)image + image->unit[0].offset, "kernel void scale"));
	for (unsigned bytes = 0; bytes <= 16; bytes++) {
		own->scalar_bytes[1] = (uint8_t)bytes;
		assert_int_equal(is_valid(image), bytes >= 1 && bytes <= 8);
	}
	own->scalar_bytes[1] = 4;
	launch->argument[2].value = 0; /* no local memory has 0 bytes */
	assert_false(is_valid(image));
	launch->argument[2].value = 1;
	launch->argument[3].value = 16; /* behind where the workspace begins */
	assert_false(is_valid(image));
	launch->argument[3].value = 0;
	strcpy(own->folder, "a b");
	assert_false(is_valid(image));
	memset(own->folder, 'x', sizeof own->folder);
	assert_false(is_valid(image));
	own->folder[0] = '\0';
	assert_true(is_valid(image));
	free(image);
}

/* What is signed: all that tells candidates apart, and no place of this machine. */
static void signatures_have_no_folder(void **state)
{
	struct tcb_kernel kernel = { .class = TCB_CLASS_BOUNDED };
	struct tcb_kernel_opencl *code = tcb_kernel_opencl_new(&kernel);
	struct tcb_str before = { 0 }, moved = { 0 }, other = { 0 };

	(void)state;
	kernel.launch[0] = (struct tcb_launch){
		.entry = "scale", .block = { 64, 1, 1 }, .argument_count = 1, .argument = { { TCB_ARGUMENT_U32, 7 } }
	};
	code->launch.scalar_bytes[0] = 4;
	tcb_language_opencl.describe(&kernel, &before);
	strcpy(code->launch.folder, "elsewhere");
	tcb_language_opencl.describe(&kernel, &moved);
	kernel.launch[0].block[0] = 128;
	tcb_language_opencl.describe(&kernel, &other);
	assert_string_equal(before.data, moved.data);
	assert_string_not_equal(before.data, other.data);
	tcb_str_fini(&before);
	tcb_str_fini(&moved);
	tcb_str_fini(&other);
	tcb_kernel_fini(&kernel);
}

static size_t output_alone(const struct tcb_problem *problem, struct tcb_operand out[TCB_OPERANDS_MAX])
{
	out[0] = (struct tcb_operand){ .name = "y",
				       .role = TCB_ROLE_OUTPUT,
				       .type = TCB_TYPE_F32,
				       .rows = 1,
				       .cols = problem->shape.n,
				       .bytes = 4 * problem->shape.n,
				       .streams = 1 };
	return 1;
}

static double some_bytes(const struct tcb_problem *problem)
{
	return 4 * (double)problem->shape.n;
}

static void limits_of_ops_that_read_nothing(void **state)
{
	const struct tcb_op op = { .name = "made", .operands = output_alone, .traffic = some_bytes };
	const struct tcb_problem problem = { .op = &op, .shape = { .m = 1, .n = 100 } };
	struct tcb_code_image *image;
	struct tcb_target target;
	struct tcb_error err;

	(void)state;
	tcb_kind_opencl.describe("opencl-cpu", &target);
	assert_int_equal(tcb_limit_image(&problem, &target, 0, &image, &err), TCB_OK);
	assert_true(is_valid(image) && image->unit_count >= 2);
	assert_int_equal(tcb_has_compute_limit(&target), 0);
	free(image);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(broken_images_are_refused),
		cmocka_unit_test(signatures_have_no_folder),
		cmocka_unit_test(limits_of_ops_that_read_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
