/* SPDX-License-Identifier: MIT
 *
 * Meters that tests make: NVML's of a library of the tests' own, RAPL's of files.
 */
#include "device/energy/meter.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cmocka_all.h"

static const double WATTS = 300, SECONDS = 0.3;

static void work(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static enum tcb_status run(struct tcb_meter *meter, struct tcb_metered *out, struct tcb_error *err)
{
	struct tcb_meter_run run;
	int over = 0;

	tcb_meter_begin(&run, meter, SECONDS);
	while (!over) {
		work();
		const enum tcb_status status = tcb_meter_look(&run, 10, &over, err);
		if (status != TCB_OK)
			return status;
	}
	tcb_meter_end(&run, out);
	return TCB_OK;
}

static void check_nvml(const char *tells, const char *source, int is_stepped)
{
	struct tcb_meter meter;
	struct tcb_metered metered;

	setenv("FAKE_NVML", tells, 1);
	assert_int_equal(tcb_meter_nvml("GPU-fake-0", &meter, NULL), TCB_OK);
	assert_string_equal(meter.source, source);
	assert_int_equal(run(&meter, &metered, NULL), TCB_OK);
	assert_true(metered.seconds >= SECONDS && metered.seconds < 20 * SECONDS);
	/* However long the steps, calls and joules are of the same time: from one to another. */
	assert_true(metered.joules / metered.seconds > 0.9 * WATTS && metered.joules / metered.seconds < 1.1 * WATTS);
	assert_true(metered.calls > 0 && metered.calls <= 10 * metered.seconds / 0.001 + 10);
	if (is_stepped)
		assert_true(metered.step_s > 0.015);
	tcb_meter_close(&meter);
	tcb_meter_close(&meter);
}

static void test_nvml(void **state)
{
	struct tcb_meter meter;
	struct tcb_metered metered;
	struct tcb_error err;

	(void)state;
	check_nvml("energy", "nvml-energy", 1);
	check_nvml("power", "nvml-power", 0);
	setenv("FAKE_NVML", "none", 1);
	assert_int_equal(tcb_meter_nvml("GPU-fake-0", &meter, &err), TCB_E_UNSUPPORTED);
	assert_non_null(strstr(err.message, "neither energy nor power"));
	assert_int_equal(tcb_meter_nvml("GPU-other", &meter, &err), TCB_E_UNSUPPORTED);
	assert_non_null(strstr(err.message, "energy cannot be measured"));
	setenv("FAKE_NVML", "stuck", 1);
	assert_int_equal(tcb_meter_nvml("GPU-fake-0", &meter, NULL), TCB_OK);
	assert_int_equal(run(&meter, &metered, &err), TCB_E_UNSUPPORTED);
	assert_non_null(strstr(err.message, "did not move"));
	tcb_meter_close(&meter);
}

static void put(const char *folder, const char *zone, const char *file, const char *text)
{
	char path[512];

	(void)snprintf(path, sizeof path, "%s/%s", folder, zone);
	(void)mkdir(path, 0700);
	(void)snprintf(path, sizeof path, "%s/%s/%s", folder, zone, file);
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void test_rapl(void **state)
{
	char folder[] = "/tmp/tcb-meter-XXXXXX", remove[64];
	struct tcb_meter meter;
	struct tcb_error err;
	double joules;

	(void)state;
	assert_non_null(mkdtemp(folder));
	setenv("TCBTUNE_POWERCAP", folder, 1);
	assert_int_equal(tcb_meter_rapl(&meter, &err), TCB_E_UNSUPPORTED);
	assert_non_null(strstr(err.message, folder));
	put(folder, "intel-rapl:0", "name", "package-0\n");
	assert_int_equal(tcb_meter_rapl(&meter, &err), TCB_E_UNSUPPORTED);
	assert_non_null(strstr(err.message, "energy_uj"));
	put(folder, "intel-rapl:0", "energy_uj", "7000000\n");
	put(folder, "intel-rapl:0", "max_energy_range_uj", "9000000\n");
	put(folder, "intel-rapl:0:0", "name", "core\n");
	put(folder, "intel-rapl:0:1", "name", "dram\n");
	put(folder, "intel-rapl:0:1", "energy_uj", "100\n");
	put(folder, "intel-rapl:0:1", "max_energy_range_uj", "9000000\n");
	put(folder, "intel-rapl:1", "name", "psys\n");
	assert_int_equal(tcb_meter_rapl(&meter, &err), TCB_OK);
	put(folder, "intel-rapl:0", "energy_uj", "8500000\n");
	assert_int_equal(meter.read(&meter, &joules), 0);
	assert_true(joules > 1.4999 && joules < 1.5001);
	put(folder, "intel-rapl:0", "energy_uj", "500000\n"); /* it wrapped */
	put(folder, "intel-rapl:0:1", "energy_uj", "250100\n");
	assert_int_equal(meter.read(&meter, &joules), 0);
	assert_true(joules > 2.7499 && joules < 2.7501);
	put(folder, "intel-rapl:0", "energy_uj", "nothing\n");
	assert_int_equal(meter.read(&meter, &joules), -1);
	tcb_meter_close(&meter);
	(void)snprintf(remove, sizeof remove, "rm -r %s", folder);
	assert_int_equal(system(remove), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_nvml), cmocka_unit_test(test_rapl) };

	if (!dlopen(FAKE_NVML_PATH, RTLD_NOW | RTLD_GLOBAL)) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
