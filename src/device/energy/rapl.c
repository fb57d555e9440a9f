/* SPDX-License-Identifier: MIT
 *
 * RAPL: energy of the processor packages and of their memory, as Linux shows it below /sys/class/powercap
 * (Documentation/power/powercap/powercap.rst): a folder per zone, its name, a counter of microjoules that wraps.
 * What others on the machine do is counted, too.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/energy/meter.h"

enum { ZONES_MAX = 32 };
static const char ROOT[] = "/sys/class/powercap";

struct rapl {
	size_t count;
	struct zone {
		char path[PATH_MAX]; /* of its counter */
		uint64_t range, last;
		double joules; /* since it was opened */
	} zones[ZONES_MAX];
};

static int read_number(const char *path, uint64_t *out)
{
	FILE *file = fopen(path, "re");
	const int got = file ? fscanf(file, "%" SCNu64, out) : 0;

	if (file)
		fclose(file);
	return got == 1 ? 0 : -1;
}

static int read_name(const char *folder, const char *zone, char out[32])
{
	char path[PATH_MAX];
	FILE *file;

	if (snprintf(path, sizeof path, "%s/%s/name", folder, zone) >= (int)sizeof path || !(file = fopen(path, "re")))
		return -1;
	const int got = fscanf(file, "%31s", out);
	fclose(file);
	return got == 1 ? 0 : -1;
}

static int rapl_read(struct tcb_meter *meter, double *out)
{
	struct rapl *rapl = meter->own;

	*out = 0;
	for (size_t i = 0; i < rapl->count; i++) {
		struct zone *zone = &rapl->zones[i];
		uint64_t now;
		if (read_number(zone->path, &now) != 0)
			return -1;
		zone->joules += 1e-6 * (double)(now >= zone->last ? now - zone->last : now + zone->range - zone->last);
		zone->last = now;
		*out += zone->joules;
	}
	return 0;
}

static void rapl_close(struct tcb_meter *meter)
{
	free(meter->own);
}

/* Packages, and the memory at them; cores and graphics are parts of a package, psys is more than the processor. */
static int is_counted(const char *zone, const char *name)
{
	if (!strchr(zone, ':'))
		return 0;
	return strncmp(name, "package", 7) == 0 ||
	       (strcmp(name, "dram") == 0 && strchr(zone, ':') != strrchr(zone, ':'));
}

static enum tcb_status add_zone(struct rapl *rapl, const char *folder, const char *name, struct tcb_error *err)
{
	struct zone *zone = &rapl->zones[rapl->count];
	char range[PATH_MAX];

	if (snprintf(zone->path, sizeof zone->path, "%s/%s/energy_uj", folder, name) >= (int)sizeof zone->path ||
	    snprintf(range, sizeof range, "%s/%s/max_energy_range_uj", folder, name) >= (int)sizeof range)
		return TCB_OK;
	if (read_number(zone->path, &zone->last) != 0)
		return tcb_fail(
			err, TCB_E_UNSUPPORTED,
			"energy cannot be measured: %.200s cannot be read (%s); who administers this machine can "
			"let you: chmod a+r",
			zone->path, strerror(errno ? errno : EINVAL));
	if (read_number(range, &zone->range) != 0)
		zone->range = 0;
	rapl->count++;
	return TCB_OK;
}

static enum tcb_status find_zones(struct rapl *rapl, const char *folder, struct tcb_error *err)
{
	DIR *zones = opendir(folder);
	enum tcb_status status = TCB_OK;
	const struct dirent *entry;
	char name[32];

	while (zones && (entry = readdir(zones)) != NULL && status == TCB_OK && rapl->count < ZONES_MAX)
		if (read_name(folder, entry->d_name, name) == 0 && is_counted(entry->d_name, name))
			status = add_zone(rapl, folder, entry->d_name, err);
	if (zones)
		closedir(zones);
	if (status == TCB_OK && rapl->count == 0)
		status =
			tcb_fail(err, TCB_E_UNSUPPORTED,
				 "energy cannot be measured: there is no RAPL zone of a processor in %.200s: a virtual "
				 "machine, a container, or a processor without one",
				 folder);
	return status;
}

enum tcb_status tcb_meter_rapl(struct tcb_meter *out, struct tcb_error *err)
{
	const char *folder = getenv("TCBTUNE_POWERCAP");
	struct rapl *rapl = calloc(1, sizeof *rapl);

	*out = (struct tcb_meter){ .source = "rapl", .read = rapl_read, .close = rapl_close, .own = rapl };
	if (!rapl)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for RAPL");
	const enum tcb_status status = find_zones(rapl, folder && *folder ? folder : ROOT, err);
	if (status != TCB_OK)
		tcb_meter_close(out);
	return status;
}
