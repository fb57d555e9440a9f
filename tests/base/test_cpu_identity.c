/* SPDX-License-Identifier: MIT
 *
 * The host's identity against what the kernel says in /proc/cpuinfo (item 86 of
 * seeds 002: CPUID and XCR0 against the kernel's view).
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "base/cpu_identity.h"

/* Whether the flags line of /proc/cpuinfo holds the word FLAG. */
static int kernel_has(const char *flag)
{
	static char flags[16384];
	char word[64];

	if (!flags[0]) {
		FILE *file = fopen("/proc/cpuinfo", "r");
		char line[8192];

		assert_non_null(file);
		while (fgets(line, sizeof line, file))
			if (strncmp(line, "flags", 5) == 0) {
				line[strcspn(line, "\n")] = '\0';
				snprintf(flags, sizeof flags, "%s ", strchr(line, ':') + 1);
				break;
			}
		fclose(file);
	}
	snprintf(word, sizeof word, " %s ", flag);
	return strstr(flags, word) != NULL;
}

static void families_agree_with_the_kernel(void **state)
{
	struct tcb_device device;
	int avx512;

	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 3, &device, NULL), TCB_OK);
	assert_int_equal(device.target.threads, 3);
	assert_true(tcb_target_has(&device.target, TCB_ISA_SCALAR));
#if defined(__x86_64__)
	avx512 = kernel_has("avx512f") && kernel_has("avx512bw") && kernel_has("avx512vl") && kernel_has("avx512dq");
	assert_int_equal(tcb_target_has(&device.target, TCB_ISA_AVX2),
			 kernel_has("avx2") && kernel_has("fma") && kernel_has("f16c"));
	assert_int_equal(tcb_target_has(&device.target, TCB_ISA_AVX512), avx512);
	assert_int_equal(tcb_target_has(&device.target, TCB_ISA_AVX512VNNI), avx512 && kernel_has("avx512_vnni"));
	assert_int_equal(tcb_target_has(&device.target, TCB_ISA_AVX512BF16),
			 avx512 && kernel_has("avx512_vnni") && kernel_has("avx512_bf16"));
	assert_null(strstr(device.arch, "bf16")); /* a processor stays in its group, whatever came later */
	assert_int_equal(tcb_target_has(&device.target, TCB_ISA_AMX),
			 avx512 && kernel_has("avx512_bf16") && kernel_has("amx_tile") && kernel_has("amx_int8") &&
				 kernel_has("amx_bf16"));
	assert_int_equal(device.is_virtual, kernel_has("hypervisor"));
#else
	(void)avx512;
	(void)kernel_has;
#endif
	assert_int_equal(strlen(device.key), 16);
	assert_true(strlen(device.model) > 0 && strlen(device.arch) > 0);
	assert_true(device.target.l1d_bytes >= 8192 && device.target.llc_bytes >= device.target.l2_bytes);
}

static void restriction_keeps_the_key(void **state)
{
	struct tcb_device all, scalar;

	(void)state;
	assert_int_equal(tcb_cpu_identify("cpu", 1, &all, NULL), TCB_OK);
	assert_int_equal(tcb_cpu_identify("cpu:scalar", 1, &scalar, NULL), TCB_OK);
	assert_int_equal(scalar.target.isa_mask, 1u << TCB_ISA_SCALAR);
	assert_string_equal(all.key, scalar.key);
	assert_string_equal(scalar.name, "cpu:scalar");
}

static void wrong_names_are_refused(void **state)
{
	struct tcb_device device;
	struct tcb_error err;

	(void)state;
	assert_int_equal(tcb_cpu_identify("gpu", 1, &device, &err), TCB_E_USAGE);
	assert_int_equal(tcb_cpu_identify("cpu:sse9", 1, &device, &err), TCB_E_USAGE);
	assert_non_null(strstr(err.message, "avx2"));
	assert_int_equal(tcb_cpu_identify("cpu:wgmma", 1, &device, &err), TCB_E_USAGE);
#if defined(__x86_64__)
	assert_int_equal(tcb_cpu_identify("cpu:neon", 1, &device, &err), TCB_E_UNSUPPORTED);
#endif
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(families_agree_with_the_kernel),
		cmocka_unit_test(restriction_keeps_the_key),
		cmocka_unit_test(wrong_names_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
