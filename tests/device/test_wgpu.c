/* SPDX-License-Identifier: MIT
 *
 * WebGPU where it is: what an adapter says of itself, memory that comes back as
 * it was sent, and errors that say where.
 */
#include "wgpu_place.h"

#include <stdlib.h>
#include <string.h>

#include "base/kind.h"
#include "base/kinds/wgpu_kind.h"
#include "base/util.h"
#include "device/wgpu.h"

static void open_session(struct tcb_wgpu_session *out)
{
	struct tcb_place place;
	struct tcb_error err;

	wgpu_place(&place);
	if (tcb_wgpu_session_open(0, out, &err) != TCB_OK)
		fail_msg("%s", err.message);
}

/* Never less than what the standard guarantees; stored and read back alike. */
static void an_adapter_tells_what_it_has(void **state)
{
	struct tcb_place place, again;
	struct tcb_device portable;
	struct tcb_target read = { .kind = TCB_TARGET_WGPU };
	struct tcb_str limits = { 0 };
	struct tcb_error err;
	char name[80];

	(void)state;
	wgpu_place(&place);
	tcb_wgpu_portable(&portable);
	const struct tcb_wgpu_target *has = &place.device.target.wgpu, *least = &portable.target.wgpu;
	assert_string_equal(place.address, "wgpu:0");
	assert_true(strlen(place.device.model) > 0 && strlen(place.device.driver) > 0);
	assert_int_equal(strlen(place.device.key), 16);
	assert_true(tcb_kind_stored(place.device.name, NULL) == &tcb_kind_wgpu);
	assert_true(has->workgroup_most >= least->workgroup_most && has->grid_most >= least->grid_most);
	assert_true(has->bindings_most >= least->bindings_most && has->workgroup_bytes >= least->workgroup_bytes);
	assert_true(has->binding_bytes >= least->binding_bytes);
	assert_int_equal(has->subgroup_least > 0, has->features >> TCB_WGPU_SUBGROUPS & 1u);
	tcb_kind_print_limits(&place.device.target, &limits);
	assert_int_equal(tcb_kind_read_limits(limits.data, &read), 0);
	assert_memory_equal(&read.wgpu, has, sizeof *has);
	assert_int_equal(read.isa_mask, place.device.target.isa_mask);
	snprintf(name, sizeof name, "%s:%s", place.device.name, place.device.key);
	assert_int_equal(tcb_place_open(name, 0, 1, &again, &err), TCB_OK);
	assert_string_equal(again.address, "wgpu:0");
	tcb_str_fini(&limits);
}

static void what_is_not_there(void **state)
{
	struct tcb_place place;
	struct tcb_error err;

	(void)state;
	wgpu_place(&place);
	assert_int_equal(tcb_place_open("wgpu:99", 0, 1, &place, &err), TCB_E_NOT_FOUND);
	assert_non_null(strstr(err.message, "wgpu:99 is not there"));
	assert_int_equal(tcb_place_open("wgpu-apple:0123456789abcdef", 0, 1, &place, &err), TCB_E_NOT_FOUND);
	assert_int_equal(tcb_place_open(TCB_WGPU_PORTABLE_NAME, 0, 0, &place, &err), TCB_OK);
	assert_true(place.is_absent);
	assert_string_equal(place.device.name, "wgpu-portable");
}

/* From any byte on, more than goes through at once. */
static void memory_comes_back(void **state)
{
	enum { BYTES = 70 << 20 };
	struct tcb_wgpu_session session;
	struct tcb_error err;
	unsigned char *sent = malloc(BYTES), *got = malloc(BYTES);
	struct tcb_rng rng;

	(void)state;
	open_session(&session);
	tcb_rng_init(&rng, 1);
	for (size_t i = 0; i < BYTES / 8; i++)
		((uint64_t *)(void *)sent)[i] = tcb_rng_next(&rng);
	const WGPUBuffer buffer = tcb_wgpu_buffer(&session, BYTES);
	assert_int_equal(tcb_wgpu_write(&session, buffer, 0, sent, BYTES, &err), TCB_OK);
	for (size_t skip = 0; skip < 6; skip++) {
		const size_t at = skip * 1000003, bytes = skip % 2 ? 17 : BYTES - at - skip;

		assert_int_equal(tcb_wgpu_read(&session, buffer, at, bytes, got, &err), TCB_OK);
		assert_memory_equal(got, sent + at, bytes);
	}
	tcb_wgpu_buffer_free(&session, buffer);
	tcb_wgpu_session_close(&session);
	free(sent);
	free(got);
}

static void errors_say_where(void **state)
{
	static const struct {
		const char *text, *words[2];
	} rows[] = {
		{ "fn f() -> u32 {\n    return 1u +;\n}\n", { "wgsl:2:16", "expected expression" } },
		{ "fn f() -> u32 {\n    return 1.5;\n}\n", { "wgsl:2:12", "" } },
		{ "@compute @workgroup_size(1)\nfn f() {\n    var x = y[0];\n}\n", { "wgsl:3:13", "y" } },
	};
	struct tcb_wgpu_session session;
	char why[TCB_WGPU_WHY_MAX];

	(void)state;
	open_session(&session);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const WGPUShaderModule module = tcb_wgpu_module(&session, rows[i].text, 1);

		assert_true(tcb_wgpu_failed(&session, why));
		print_message("%s\n", why);
		for (size_t w = 0; w < 2; w++)
			if (!strstr(why, rows[i].words[w]))
				fail_msg("'%s' is not in '%s'", rows[i].words[w], why);
		assert_false(tcb_wgpu_failed(&session, why));
		if (module)
			session.wgpu->module_release(module);
	}
	/* Of pages, whose directive the library does not know. */
	session.wgpu->module_release(tcb_wgpu_module(&session, "enable subgroups;\nfn f() {}\n", 1));
	assert_false(tcb_wgpu_failed(&session, why));
	const WGPUBuffer huge = tcb_wgpu_buffer(&session, (size_t)1 << 50); /* it is not NULL */
	assert_true(tcb_wgpu_failed(&session, why));
	tcb_wgpu_buffer_free(&session, huge);
	tcb_wgpu_session_close(&session);
}

static void names(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int is_asked, is_stored, ordinal;
	} rows[] = {
		{ "wgpu:0", 1, 0, 0 },
		{ "wgpu:17", 1, 0, 17 },
		{ "wgpu:", 0, 0, -1 },
		{ "wgpu:x", 0, 0, -1 },
		{ "wgpu:0x", 0, 0, -1 },
		{ TCB_WGPU_PORTABLE_NAME, 1, 0, -1 },
		{ "wgpu-nvidia", 1, 1, -1 },
		{ "wgpu-nvidia:0123456789abcdef", 1, 1, -1 },
		{ "wgpu-nvidia:0123456789abcde", 0, 0, -1 },
		{ "wgpu-nvidia:0123456789abcdef0", 0, 0, -1 },
		{ "wgpu-nobody", 0, 0, -1 },
		{ "wgpu:0" TCB_WGPU_TRUSTED, 1, 0, 0 },
		{ "wgpu:17" TCB_WGPU_TRUSTED, 1, 0, 17 },
		{ "wgpu:0:trust", 0, 0, -1 },
		{ "wgpu:" TCB_WGPU_TRUSTED, 0, 0, -1 },
		{ TCB_WGPU_PORTABLE_NAME TCB_WGPU_TRUSTED, 0, 0, -1 },
		{ "wgpu-nvidia-trusted", 1, 1, -1 },
		{ "wgpu-nvidia-trusted:0123456789abcdef", 1, 1, -1 },
		{ "wgpu-nvidia:trusted", 0, 0, -1 },
		{ "wgpu-nvidia-trustedly", 0, 0, -1 },
		{ "wgpu-portable-trusted", 0, 0, -1 },
		{ "wgpu", 0, 0, -1 },
	};

	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		assert_int_equal(tcb_kind_asked(rows[i].name) == &tcb_kind_wgpu, rows[i].is_asked);
		assert_int_equal(tcb_kind_stored(rows[i].name, NULL) == &tcb_kind_wgpu, rows[i].is_stored);
		assert_int_equal(tcb_wgpu_ordinal(rows[i].name), rows[i].ordinal);
	}
}

/* By each of its names, as it was stored, and apart from the device with checks. */
static void a_trusting_program_has_a_device_of_its_own(void **state)
{
	struct tcb_place checked, trusted, again;
	struct tcb_target recalled = { .kind = TCB_TARGET_WGPU };
	struct tcb_device known[TCB_WGPU_VENDOR_COUNT * 2];
	struct tcb_str limits = { 0 };
	struct tcb_error err;
	char name[80], arch[TCB_DEVICE_NAME_MAX];
	size_t count, found = 0;

	(void)state;
	wgpu_place(&checked);
	assert_int_equal(tcb_place_open("wgpu:0" TCB_WGPU_TRUSTED, 0, 1, &trusted, &err), TCB_OK);
	assert_string_equal(trusted.address, "wgpu:0" TCB_WGPU_TRUSTED);
	assert_true(checked.device.target.wgpu.is_checked && !trusted.device.target.wgpu.is_checked);
	assert_string_not_equal(trusted.device.key, checked.device.key);
	snprintf(name, sizeof name, "%s-trusted", checked.device.name);
	assert_string_equal(trusted.device.name, name);
	assert_string_equal(trusted.device.arch, name);
	snprintf(name, sizeof name, "%s:%s", trusted.device.name, trusted.device.key);
	assert_int_equal(tcb_place_open(name, 0, 1, &again, &err), TCB_OK);
	assert_string_equal(again.address, trusted.address);
	assert_true(tcb_kind_split(name, arch, NULL));
	assert_string_equal(arch, trusted.device.name);
	snprintf(name, sizeof name, "%s:%s", trusted.device.name, checked.device.key);
	assert_int_equal(tcb_place_open(name, 0, 1, &again, &err), TCB_E_NOT_FOUND);
	tcb_kind_print_limits(&trusted.device.target, &limits);
	assert_int_equal(tcb_kind_read_limits(limits.data, &recalled), 0);
	assert_int_equal(recalled.wgpu.is_checked, 0);
	tcb_str_fini(&limits);
	count = tcb_kind_wgpu.known(known, sizeof known / sizeof *known, &err);
	for (size_t i = 0; i < count; i++)
		if (strcmp(known[i].name, trusted.device.name) == 0) {
			found++;
			assert_int_equal(known[i].target.wgpu.is_checked, 0);
		}
	assert_int_equal(found, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names),
		cmocka_unit_test(an_adapter_tells_what_it_has),
		cmocka_unit_test(a_trusting_program_has_a_device_of_its_own),
		cmocka_unit_test(what_is_not_there),
		cmocka_unit_test(memory_comes_back),
		cmocka_unit_test(errors_say_where),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
