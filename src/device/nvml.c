/* SPDX-License-Identifier: MIT
 *
 * NVML as far as measuring needs it.  The numbers are those of nvml.h; idling
 * and what an application asked for (bits 0, 1 and 8) are no trouble.
 */
#include "device/nvml.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/energy/meter.h"

enum { CLOCK_SM = 1, CLOCK_MEMORY = 2, SENSOR_GPU = 0 };

static const struct reason {
	unsigned long long bit;
	const char *text;
} reasons[] = {
	{ 1ull << 2, "power cap" },
	{ 1ull << 3, "hardware slowdown" },
	{ 1ull << 4, "sync boost" },
	{ 1ull << 5, "software thermal slowdown" },
	{ 1ull << 6, "hardware thermal slowdown" },
	{ 1ull << 7, "power brake" },
};
enum { REASONS = sizeof reasons / sizeof *reasons };

#define FUNCTIONS(X)                                                                                           \
	X(init, "nvmlInit_v2", (void))                                                                         \
	X(find, "nvmlDeviceGetHandleByUUID", (const char *uuid, void **device))                                \
	X(clock, "nvmlDeviceGetClockInfo", (void *device, int which, unsigned *mhz))                           \
	X(held_back, "nvmlDeviceGetCurrentClocksThrottleReasons", (void *device, unsigned long long *reasons)) \
	X(temperature, "nvmlDeviceGetTemperature", (void *device, int sensor, unsigned *celsius))              \
	X(power, "nvmlDeviceGetPowerUsage", (void *device, unsigned *milliwatts))

struct tcb_nvml {
	void *library, *device;
	int (*energy)(void *device, unsigned long long *millijoules); /* NULL: a driver without it */
#define MEMBER(name, symbol, parameters) int(*name) parameters;
	FUNCTIONS(MEMBER)
#undef MEMBER
};

/* The functions of nvml->library, and the GPU of UUID. */
static enum tcb_status open_with(struct tcb_nvml *nvml, const char *uuid, struct tcb_error *err)
{
	void *symbol;
	if (!nvml->library)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "no NVML: %s; it comes with the NVIDIA driver", dlerror());
#define FIND(name, text, parameters)                                                               \
	symbol = dlsym(nvml->library, text);                                                       \
	if (!symbol)                                                                               \
		return tcb_fail(err, TCB_E_UNSUPPORTED, "NVML lacks %s; update the driver", text); \
	memcpy(&nvml->name, &symbol, sizeof symbol);
	FUNCTIONS(FIND)
#undef FIND
	symbol = dlsym(nvml->library, "nvmlDeviceGetTotalEnergyConsumption");
	memcpy(&nvml->energy, &symbol, sizeof symbol);
	int result = nvml->init();
	if (result == 0)
		result = nvml->find(uuid, &nvml->device);
	return result == 0 ? TCB_OK
			   : tcb_fail(err, TCB_E_UNSUPPORTED, "NVML does not find %s (error %d)", uuid, result);
}

/* A process that was forked from one with NVML has the library's state and none of its open files; a copy of the
 * library in a namespace of its own has neither. */
static enum tcb_status load(struct tcb_nvml *nvml, const char *uuid, struct tcb_error *err)
{
	nvml->library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	if (open_with(nvml, uuid, err) == TCB_OK)
		return TCB_OK;
	if (nvml->library)
		nvml->library = dlmopen(LM_ID_NEWLM, "libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	return nvml->library ? open_with(nvml, uuid, err) : TCB_E_UNSUPPORTED;
}

enum tcb_status tcb_nvml_open(const char *uuid, struct tcb_nvml **out, struct tcb_error *err)
{
	struct tcb_nvml *nvml = calloc(1, sizeof *nvml);
	if (!nvml)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for NVML");
	enum tcb_status status = load(nvml, uuid, err);
	if (status == TCB_OK)
		*out = nvml;
	else
		tcb_nvml_close(nvml);
	return status;
}

void tcb_nvml_close(struct tcb_nvml *nvml)
{
	/* The library stays initialised: shutting it down costs more than it gives back, and the process ends soon. */
	free(nvml);
}

void tcb_nvml_state(struct tcb_nvml *nvml, struct tcb_gpu_state *out)
{
	unsigned long long all = 0;
	memset(out, 0, sizeof *out);
	if (nvml->clock(nvml->device, CLOCK_SM, &out->sm_mhz) != 0)
		out->sm_mhz = 0;
	if (nvml->clock(nvml->device, CLOCK_MEMORY, &out->memory_mhz) != 0)
		out->memory_mhz = 0;
	if (nvml->temperature(nvml->device, SENSOR_GPU, &out->celsius) != 0)
		out->celsius = 0;
	if (nvml->power(nvml->device, &out->milliwatts) != 0)
		out->milliwatts = 0;
	if (nvml->held_back(nvml->device, &all) == 0)
		for (size_t i = 0; i < REASONS; i++)
			out->held_back |= all & reasons[i].bit;
}

static int read_energy(struct tcb_meter *meter, double *out)
{
	const struct tcb_nvml *nvml = meter->own;
	unsigned long long millijoules;
	if (nvml->energy(nvml->device, &millijoules) != 0)
		return -1;
	*out = 1e-3 * (double)millijoules;
	return 0;
}

static int read_power(struct tcb_meter *meter, double *out)
{
	const struct tcb_nvml *nvml = meter->own;
	unsigned milliwatts;
	if (nvml->power(nvml->device, &milliwatts) != 0)
		return -1;
	*out = 1e-3 * milliwatts;
	return 0;
}

static void close_meter(struct tcb_meter *meter)
{
	tcb_nvml_close(meter->own);
}

enum tcb_status tcb_meter_nvml(const char *uuid, struct tcb_meter *out, struct tcb_error *err)
{
	struct tcb_nvml *nvml;
	struct tcb_error why;
	double value;
	if (tcb_nvml_open(uuid, &nvml, &why) != TCB_OK)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "energy cannot be measured: %.400s", why.message);
	*out = (struct tcb_meter){ .source = "nvml-energy", .read = read_energy, .close = close_meter, .own = nvml };
	if (nvml->energy && read_energy(out, &value) == 0)
		return TCB_OK;
	*out = (struct tcb_meter){
		.source = "nvml-power", .is_power = 1, .read = read_power, .close = close_meter, .own = nvml
	};
	if (read_power(out, &value) == 0)
		return TCB_OK;
	tcb_meter_close(out);
	return tcb_fail(err, TCB_E_UNSUPPORTED, "energy cannot be measured: NVML tells neither energy nor power of %s",
			uuid);
}

void tcb_nvml_reasons(unsigned long long held_back, char *out, unsigned bytes)
{
	size_t used = 0;
	out[0] = '\0';
	for (size_t i = 0; i < REASONS; i++) {
		if (!(held_back & reasons[i].bit) || used + 1 >= bytes)
			continue;
		int more = snprintf(out + used, bytes - used, "%s%s", used ? ", " : "", reasons[i].text);
		used += more > 0 ? (size_t)more : 0;
	}
}
