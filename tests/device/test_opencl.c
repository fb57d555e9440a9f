/* SPDX-License-Identifier: MIT
 *
 * OpenCL's kind of device: names, and where there is a device, what it says of itself, by each
 * of its names and as it is stored.
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/kinds/opencl_kind.h"
#include "base/util.h"
#include "device/device.h"
#include "device/opencl/opencl.h"

static void names(void **state)
{
	static const struct {
		const char *name;
		int is_asked, is_stored, ordinal;
	} rows[] = {
		{ "opencl:0", 1, 0, 0 },
		{ "opencl:17", 1, 0, 17 },
		{ "opencl:", 0, 0, -1 },
		{ "opencl:x", 0, 0, -1 },
		{ "opencl:0x", 0, 0, -1 },
		{ "opencl:1001", 0, 0, -1 },
		{ "opencl:99999999999999999999", 0, 0, -1 },
		{ "opencl", 0, 0, -1 },
		{ "opencl-nvidia", 1, 1, -1 },
		{ "opencl-cpu:0123456789abcdef", 1, 1, -1 },
		{ "opencl-cpu:0123456789abcde", 0, 0, -1 },
		{ "opencl-cpu:0123456789abcdef0", 0, 0, -1 },
		{ "opencl-cpu:0123456789abcdeg", 0, 0, -1 },
		{ "opencl-nobody", 0, 0, -1 },
		{ "opencl-", 0, 0, -1 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(tcb_kind_asked(rows[i].name) == &tcb_kind_opencl, rows[i].is_asked);
		assert_int_equal(tcb_kind_stored(rows[i].name, NULL) == &tcb_kind_opencl, rows[i].is_stored);
		assert_int_equal(tcb_opencl_ordinal(rows[i].name), rows[i].ordinal);
	}
}

/* Each vendor is a group; a processor is one of its own; each fact that sets devices apart is in the key. */
static void identities(void **state)
{
	static const struct tcb_opencl_identity rows[] = {
		{ 0x10de, 0, "NVIDIA CUDA", "OpenCL 3.0", "H100", "570.1" },
		{ 0x1002, 0, "AMD", "OpenCL 2.1", "MI300", "1" },
		{ 0x8086, 0, "Intel", "OpenCL 3.0", "Arc", "1" },
		{ 0x8086, 1, "Intel", "OpenCL 3.0", "Arc", "1" },
		{ 0x10de, 0, "NVIDIA CUDA", "OpenCL 3.0", "H100", "580.1" },
		{ 0x10de, 0, "NVIDIA CUDA", "OpenCL 3.1", "H100", "570.1" },
		{ 0x10de, 0, "Rusticl", "OpenCL 3.0", "H100", "570.1" },
		{ 0x10de, 0, "NVIDIA CUDA", "OpenCL 3.0", "H200", "570.1" },
		{ 0x1, 0, "NVIDIA CUDA", "OpenCL 3.0", "H100", "570.1" },
	};
	static const char *const groups[] = { "opencl-nvidia", "opencl-amd",    "opencl-intel",
					      "opencl-cpu",    "opencl-nvidia", "opencl-nvidia",
					      "opencl-nvidia", "opencl-nvidia", "opencl-other" };
	enum { ROWS = sizeof rows / sizeof *rows };
	struct tcb_device devices[ROWS];

	(void)state;
	for (size_t i = 0; i < ROWS; i++) {
		devices[i] = (struct tcb_device){ .has_ecc = -1 };
		tcb_opencl_identify(&rows[i], &devices[i]);
		assert_string_equal(devices[i].name, groups[i]);
		assert_string_equal(devices[i].arch, groups[i]);
		assert_int_equal(devices[i].target.kind, TCB_TARGET_OPENCL);
		assert_true(tcb_target_has(&devices[i].target, TCB_ISA_OPENCL));
		for (size_t j = 0; j < i; j++) /* the third and the fourth are one device by their names alone */
			assert_int_equal(strcmp(devices[i].key, devices[j].key) == 0, i == 3 && j == 2);
	}
	devices[0].target.opencl.compute_units = 7;
	tcb_opencl_identify(&rows[0], &devices[0]);
	assert_string_not_equal(devices[0].key, devices[4].key);
}

static void groups_are_known(void **state)
{
	struct tcb_device known[TCB_OPENCL_VENDOR_COUNT + 1], recalled = { .arch = "opencl-arm" },
							      none = { .arch = "sm_90" };
	struct tcb_error err;
	char group[TCB_DEVICE_NAME_MAX];
	const char *key;

	(void)state;
	assert_int_equal(tcb_kind_opencl.known(known, TCB_OPENCL_VENDOR_COUNT + 1, &err), TCB_OPENCL_VENDOR_COUNT);
	for (size_t i = 0; i < TCB_OPENCL_VENDOR_COUNT; i++)
		assert_true(tcb_kind_stored(known[i].name, NULL) == &tcb_kind_opencl);
	assert_true(tcb_kind_opencl.recall(&recalled) && recalled.target.opencl.vendor == TCB_OPENCL_ARM);
	assert_false(tcb_kind_opencl.recall(&none));
	assert_true(tcb_kind_split("opencl-amd:0123456789abcdef", group, &key));
	assert_string_equal(group, "opencl-amd");
	assert_string_equal(key, "0123456789abcdef");
}

/* Stored and read back alike, and found again by its name and key. */
static void a_device_tells_what_it_has(void **state)
{
	struct tcb_place place, again;
	struct tcb_target read = { .kind = TCB_TARGET_OPENCL };
	struct tcb_str limits = { 0 };
	struct tcb_error err;
	char name[80];

	(void)state;
	if (tcb_place_open("opencl:0", 0, 1, &place, &err) != TCB_OK)
		skip_because("%s", err.message);
	const struct tcb_opencl_target *has = &place.device.target.opencl;
	assert_string_equal(place.address, "opencl:0");
	assert_true(strlen(place.device.model) > 0 && strlen(place.device.driver) > 0 &&
		    strlen(place.device.key) == 16);
	assert_true(has->workgroup_most >= 1 && has->compute_units >= 1 && has->local_bytes >= 1024);
	for (int d = 0; d < 3; d++)
		assert_true(has->side_most[d] >= 1);
	tcb_kind_print_limits(&place.device.target, &limits);
	assert_int_equal(tcb_kind_read_limits(limits.data, &read), 0);
	assert_memory_equal(&read.opencl, has, sizeof *has);
	assert_int_equal(read.isa_mask, place.device.target.isa_mask);
	tcb_str_fini(&limits);
	snprintf(name, sizeof name, "%s:%s", place.device.name, place.device.key);
	assert_int_equal(tcb_place_open(name, 0, 1, &again, &err), TCB_OK);
	assert_string_equal(again.address, "opencl:0");
	assert_int_equal(tcb_place_open("opencl:999", 0, 1, &again, &err), TCB_E_NOT_FOUND);
	assert_non_null(strstr(err.message, "opencl:999 is not there"));
}

static void statuses_have_words(void **state)
{
	(void)state;
	assert_string_equal(tcb_opencl_text(TCB_CL_OUT_OF_RESOURCES), "out of resources");
	assert_string_equal(tcb_opencl_text(-9998), "error -9998");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(identities),
		cmocka_unit_test(groups_are_known),
		cmocka_unit_test(statuses_have_words),
		cmocka_unit_test(a_device_tells_what_it_has),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
