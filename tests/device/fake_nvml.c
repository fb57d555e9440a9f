/* SPDX-License-Identifier: MIT
 *
 * A libnvidia-ml.so.1 of one GPU that draws FAKE_NVML_WATTS.  FAKE_NVML says what it tells: "energy", in steps of 20
 * ms; "power" alone; "stuck", a counter that stands; "none".
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NOT_SUPPORTED = 3, NOT_FOUND = 6, STEP_MS = 20, MILLIWATTS = 300000 };

/* The product finds these by dlsym. */
#define EXPORTED __attribute__((visibility("default")))
EXPORTED int nvmlInit_v2(void);
EXPORTED int nvmlDeviceGetHandleByUUID(const char *uuid, void **device);
EXPORTED int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz);
EXPORTED int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons);
EXPORTED int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius);
EXPORTED int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts);
EXPORTED int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules);

static int tells(const char *what)
{
	const char *said = getenv("FAKE_NVML");

	return said && strcmp(said, what) == 0;
}

int nvmlInit_v2(void)
{
	return 0;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
	static int gpu;

	*device = &gpu;
	return strncmp(uuid, "GPU-fa", 6) == 0 ? 0 : NOT_FOUND;
}

int nvmlDeviceGetClockInfo(void *device, int which, unsigned *mhz)
{
	(void)device;
	(void)which;
	*mhz = 1500;
	return 0;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
	(void)device;
	*reasons = 0;
	return 0;
}

int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
	(void)device;
	(void)sensor;
	*celsius = 50;
	return 0;
}

int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
	(void)device;
	*milliwatts = MILLIWATTS;
	return tells("none") ? NOT_SUPPORTED : 0;
}

int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
	struct timespec now;

	(void)device;
	clock_gettime(CLOCK_MONOTONIC, &now);
	const unsigned long long ms =
		1000ull * (unsigned long long)now.tv_sec + (unsigned long long)now.tv_nsec / 1000000;
	*millijoules = tells("stuck") ? 5000 : ms / STEP_MS * STEP_MS * (MILLIWATTS / 1000);
	return tells("energy") || tells("stuck") ? 0 : NOT_SUPPORTED;
}
