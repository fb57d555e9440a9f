/* SPDX-License-Identifier: MIT
 *
 * The emulator against a GPU: every instruction of emu_op_list.h over the same
 * operands, bit for bit, the approximate functions within their tolerance.
 * Skipped where there is no driver or no device of capability 9.0 or later.
 */
#include "emu_bench.h"
#include "emu_op_list.h"

#include <dlfcn.h>

typedef int call_init(unsigned flags);
typedef int call_device(int *device, int ordinal);
typedef int call_attribute(int *value, int attribute, int device);
typedef int call_retain(void **context, int device);
typedef int call_current(void *context);
typedef int call_load(void **module, const void *image, unsigned count, int *options, void **values);
typedef int call_function(void **function, void *module, const char *name);
typedef int call_alloc(uint64_t *address, size_t bytes);
typedef int call_to(uint64_t to, const void *from, size_t bytes);
typedef int call_from(void *to, uint64_t from, size_t bytes);
typedef int call_launch(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz,
			unsigned shared, void *stream, void **params, void **extra);

enum { MAJOR = 75, MINOR = 76, LOG = 5, LOG_BYTES = 6 };

static struct {
	void *library, *module;
	call_function *function;
	call_alloc *alloc;
	call_to *to;
	call_from *from;
	call_launch *launch;
	uint64_t rows, out;
} gpu;

static void *entry(const char *name)
{
	void *found = dlsym(gpu.library, name);

	assert_non_null(found);
	return found;
}

static void load(int target)
{
	static char log[8192];
	struct tcb_str text = { 0 };
	int options[] = { LOG, LOG_BYTES };
	void *values[] = { log, (void *)sizeof log };

	tcb_str_addf(&text, ".version 8.6\n.target sm_%d\n.address_size 64\n", target);
	for (unsigned i = 0; i < EMU_OPS; i++) {
		char name[16];

		snprintf(name, sizeof name, "k%u", i);
		emu_op_text(&emu_ops[i], name, &text);
	}
	if (((call_load *)entry("cuModuleLoadDataEx"))(&gpu.module, text.data, 2, options, values) != 0)
		fail_msg("the driver refuses the module: %s", log);
	tcb_str_fini(&text);
}

static int open_gpu(void **state)
{
	int device, major = 0, minor = 0;
	void *context;

	(void)state;
	gpu.library = dlopen("libcuda.so.1", RTLD_NOW);
	if (!gpu.library || ((call_init *)entry("cuInit"))(0) != 0 ||
	    ((call_device *)entry("cuDeviceGet"))(&device, 0) != 0)
		return 0;
	((call_attribute *)entry("cuDeviceGetAttribute"))(&major, MAJOR, device);
	((call_attribute *)entry("cuDeviceGetAttribute"))(&minor, MINOR, device);
	if (major < 9)
		return 0;
	assert_int_equal(((call_retain *)entry("cuDevicePrimaryCtxRetain"))(&context, device), 0);
	assert_int_equal(((call_current *)entry("cuCtxSetCurrent"))(context), 0);
	gpu.function = (call_function *)entry("cuModuleGetFunction");
	gpu.alloc = (call_alloc *)entry("cuMemAlloc_v2");
	gpu.to = (call_to *)entry("cuMemcpyHtoD_v2");
	gpu.from = (call_from *)entry("cuMemcpyDtoH_v2");
	gpu.launch = (call_launch *)entry("cuLaunchKernel");
	load(90);
	assert_int_equal(gpu.alloc(&gpu.rows, OPS_ROWS * 24), 0);
	assert_int_equal(gpu.alloc(&gpu.out, OPS_ROWS * 8), 0);
	return 0;
}

static void on_gpu(unsigned index, uint64_t (*rows)[3], uint64_t *out)
{
	void *params[] = { &gpu.rows, &gpu.out }, *function;
	char name[16];

	snprintf(name, sizeof name, "k%u", index);
	assert_int_equal(gpu.function(&function, gpu.module, name), 0);
	assert_int_equal(gpu.to(gpu.rows, rows, OPS_ROWS * 24), 0);
	assert_int_equal(gpu.launch(function, OPS_ROWS / OPS_BLOCK, 1, 1, OPS_BLOCK, 1, 1, 0, NULL, params, NULL), 0);
	assert_int_equal(gpu.from(out, gpu.out, OPS_ROWS * 8), 0);
}

static void emulated(const struct emu_op *op, uint64_t (*rows)[3], uint64_t *out)
{
	struct tcb_str text = { 0 };
	struct emu_bench b;

	tcb_str_add(&text, ".version 8.6\n.target sm_90\n.address_size 64\n");
	emu_op_text(op, "k", &text);
	emu_open(&b, text.data, "k", OPS_BLOCK);
	tcb_str_fini(&text);
	emu_buffer(&b, "rows", rows, OPS_ROWS * 24, TCB_PTX_READ_ONLY);
	emu_buffer(&b, "out", out, OPS_ROWS * 8, TCB_PTX_MAY_WRITE);
	b.launch.grid[0] = OPS_ROWS / OPS_BLOCK;
	emu_run_clean(&b);
	emu_close(&b);
}

/* sin, cos and lg2 near 1 have absolute bounds (PTX ISA, 9.7.3): 2^-20.5 within a period, 2^-22.6; tanh 2^-11 of it. */
static int within(const struct emu_op *op, const uint64_t *row, uint64_t got, uint64_t want)
{
	float x = ref_f(row[0]), a = ref_f(got), b = ref_f(want);

	if (strncmp(op->ins, "sin", 3) == 0 || strncmp(op->ins, "cos", 3) == 0)
		return fabsf(x) > 3.1416f || (isnan(a) && isnan(b)) || fabsf(a - b) <= 0x1p-20f;
	if (strncmp(op->ins, "lg2", 3) == 0 && x > 0.5f && x < 2)
		return fabsf(a - b) <= 0x1p-22f;
	if (strncmp(op->ins, "tanh.approx.f32", 15) == 0)
		return (isnan(a) && isnan(b)) || fabsf(a - b) <= 0x1p-10f * fabsf(b);
	return emu_op_same(emu_op_types(op->types).name[0], got, want, op->ulps);
}

static void the_emulator_agrees_with_the_device(void **state)
{
	static uint64_t rows[OPS_ROWS][3], device[OPS_ROWS], host[OPS_ROWS];
	unsigned bad = 0, furthest;

	(void)state;
	if (!gpu.module)
		skip_because("no GPU of capability 9.0 or later");
	for (unsigned i = 0; i < EMU_OPS; i++) {
		furthest = 0;
		for (uint64_t seed = 1; seed <= 3; seed++) {
			unsigned wrong = 0;

			emu_op_rows(&emu_ops[i], 1000 * i + seed, rows);
			on_gpu(i, rows, device);
			emulated(&emu_ops[i], rows, host);
			for (unsigned r = 0; r < OPS_ROWS; r++) {
				while (emu_ops[i].ulps && furthest < 1000 &&
				       !emu_op_same(emu_op_types(emu_ops[i].types).name[0], host[r], device[r],
						    furthest))
					furthest++;
				if (within(&emu_ops[i], rows[r], host[r], device[r]))
					continue;
				if (wrong++ < 3)
					print_message("%s of %llx %llx %llx: emulated %llx, the device %llx\n",
						      emu_ops[i].ins, (unsigned long long)rows[r][0],
						      (unsigned long long)rows[r][1], (unsigned long long)rows[r][2],
						      (unsigned long long)host[r], (unsigned long long)device[r]);
			}
			if (wrong) {
				print_message("%s: %u of %d differ\n", emu_ops[i].ins, wrong, OPS_ROWS);
				bad++;
				break;
			}
		}
		if (emu_ops[i].ulps)
			print_message("%s: within %u units in the last place\n", emu_ops[i].ins, furthest);
	}
	assert_int_equal(bad, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(the_emulator_agrees_with_the_device) };

	return cmocka_run_group_tests(tests, open_gpu, NULL);
}
