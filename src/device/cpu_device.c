/* SPDX-License-Identifier: MIT
 *
 * In: a device name and a thread count.  Out: this host's identity (CPUID,
 * through base/cpu_identity.h) and the processors to pin to (hwloc).
 * Processors are allowed if control groups and the calling thread's affinity
 * (taskset) both allow them.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/cgroup.h"
#include "base/cpu_identity.h"
#include "base/cpu_isas.h"
#include "base/tiles.h"
#include "device/cache.h"
#include "device/cpu_device.h"
#include "device/cpu_topology.h"
#include "device/doctor_private.h"
#include "device/energy/meter.h"
#include "device/facts.h"

static enum tcb_status load_topology(hwloc_topology_t *out, struct tcb_error *err)
{
	/* Only processors and caches are read, and those need no plugin; on some systems the plugins bring OpenCL
	 * and X libraries into the process. */
	setenv("HWLOC_PLUGINS_PATH", "", 0);
	if (hwloc_topology_init(out) != 0)
		return tcb_fail(err, TCB_E_NOMEM, "no memory for the processor topology");
	/* Disallowed cores are kept: they are part of the machine's description. */
	hwloc_topology_set_flags(*out, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
	if (hwloc_topology_load(*out) != 0) {
		int reason = errno;
		hwloc_topology_destroy(*out);
		return tcb_fail(err, TCB_E_FAILED, "hwloc cannot read this machine's topology: %s", strerror(reason));
	}
	if (!hwloc_topology_is_thissystem(*out)) {
		hwloc_topology_destroy(*out);
		return tcb_fail(err, TCB_E_USAGE,
				"an HWLOC_ variable in the environment describes another machine; unset HWLOC_XMLFILE "
				"and HWLOC_SYNTHETIC to use this one");
	}
	return TCB_OK;
}

/* The order of those processors that control groups and affinity allow. */
static enum tcb_status order_allowed(hwloc_topology_t topology, struct tcb_cpu_order *out, struct tcb_error *err)
{
	hwloc_const_cpuset_t granted = hwloc_topology_get_allowed_cpuset(topology);
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc();
	if (!allowed)
		return tcb_fail(err, TCB_E_NOMEM, "no memory for a set of processors");
	if (hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_THREAD) == 0)
		hwloc_bitmap_and(allowed, allowed, granted);
	else
		hwloc_bitmap_copy(allowed, granted);
	tcb_cpu_order(topology, allowed, out);
	hwloc_bitmap_free(allowed);
	if (out->cpu_count == 0)
		return tcb_fail(err, TCB_E_FAILED, "this process may use no processor that hwloc knows of");
	return TCB_OK;
}

static unsigned default_threads(const struct tcb_cpu_order *order)
{
	struct tcb_cgroup granted;
	tcb_cgroup_read("", &granted);
	return granted.processors && granted.processors < order->allowed_core_count ? granted.processors
										    : order->allowed_core_count;
}

/* CPUID's cache sizes are part of the key and stay; hwloc's stand in where CPUID tells none. */
static void fill_caches(struct tcb_target *target, const struct tcb_cpu_order *order)
{
	if (!target->line_bytes)
		target->line_bytes = order->line_bytes;
	if (!target->l1d_bytes)
		target->l1d_bytes = order->l1d_bytes;
	if (!target->l2_bytes)
		target->l2_bytes = order->l2_bytes;
	if (!target->llc_bytes)
		target->llc_bytes = order->llc_bytes;
}

/* What is opened is measured or run.  Without the tiles this is still the same processor, with its other families. */
static enum tcb_status ask_tiles(const char *name, struct tcb_target *target, struct tcb_error *err)
{
	struct tcb_error why;
	if (!tcb_cpu_isas_tiled(target->isa_mask) || tcb_tiles_ask(&why) == TCB_OK)
		return TCB_OK;
	if (strcmp(name, "cpu") != 0)
		return tcb_fail(err, TCB_E_UNSUPPORTED, "%.40s: %s", name, why.message);
	target->isa_mask &= ~tcb_cpu_isas_tiled(target->isa_mask);
	return TCB_OK;
}

enum tcb_status tcb_cpu_open(const char *name, unsigned threads, struct tcb_place *out, struct tcb_error *err)
{
	struct tcb_cpu_order order;
	struct tcb_device device;
	hwloc_topology_t topology;

	TCB_TRY(tcb_cpu_identify(name, threads, &device, err));
	TCB_TRY(ask_tiles(name, &device.target, err));
	TCB_TRY(load_topology(&topology, err));
	enum tcb_status status = order_allowed(topology, &order, err);
	hwloc_topology_destroy(topology);
	if (status != TCB_OK)
		return status;
	if (threads == 0)
		threads = default_threads(&order);
	if (threads > order.cpu_count)
		return tcb_fail(err, TCB_E_USAGE,
				"%u threads asked for, but this process may use %u processors (%u cores); "
				"use --threads %u or fewer",
				threads, order.cpu_count, order.allowed_core_count, order.cpu_count);
	fill_caches(&device.target, &order);
	device.target.threads = threads;
	device.cores = order.core_count;
	device.clock_khz = order.clock_khz;
	out->device = device;
	memcpy(out->address, device.name, sizeof out->address);
	tcb_place_cpus(out)->count = threads;
	memcpy(tcb_place_cpus(out)->list, order.cpus, sizeof order.cpus);
	return TCB_OK;
}

static enum tcb_status open_place(const char *name, unsigned threads, int attached_only, struct tcb_place *out,
				  struct tcb_error *err)
{
	(void)attached_only; /* it is */
	return tcb_cpu_open(name, threads, out, err);
}

static enum tcb_status list(struct tcb_place **out, size_t *count_out, struct tcb_error *err)
{
	return tcb_place_list("cpu", out, count_out, err);
}

static void tell_families(const struct tcb_target *target, struct tcb_facts *out)
{
	struct tcb_str line = { 0 }, names = { 0 };

	for (int isa = 0; isa < TCB_ISA_COUNT; isa++) {
		const char *name = tcb_isa_text((enum tcb_isa)isa);

		if (!tcb_target_has(target, (enum tcb_isa)isa))
			continue;
		tcb_str_addf(&line, "%s%s", line.length ? " " : "", name);
		tcb_str_addf(&names, "%s\"%s\"", names.length ? "," : "", name);
	}
	tcb_fact_line(out, "families", "%s", line.data ? line.data : "");
	tcb_fact_member(out, "families", "[%s]", names.data ? names.data : "");
	tcb_str_fini(&line);
	tcb_str_fini(&names);
}

static void tell_processors(const struct tcb_place *place, struct tcb_facts *out)
{
	const struct tcb_cpus *cpus = tcb_cpus_of(place);
	struct tcb_str pinned = { 0 };

	for (unsigned i = 0; i < cpus->count; i++)
		tcb_str_addf(&pinned, "%s%d", i ? "," : "", cpus->list[i]);
	tcb_fact_line(out, "processors", "%u cores, default %u threads", place->device.cores,
		      place->device.target.threads);
	tcb_fact_member(out, "cores", "%u", place->device.cores);
	tcb_fact_member(out, "threads", "%u", place->device.target.threads);
	tcb_fact_member(out, "processors", "[%s]", pinned.data ? pinned.data : "");
	tcb_str_fini(&pinned);
}

static void tell(const struct tcb_place *place, struct tcb_facts *out)
{
	const struct tcb_target *target = &place->device.target;
	char text[TCB_SIZE_TEXT_MAX];

	tell_families(target, out);
	tell_processors(place, out);
	tcb_fact_member(out, "line_bytes", "%zu", target->line_bytes);
	tcb_fact_size(out, "L1d", "l1d_bytes", target->l1d_bytes);
	tcb_fact_size(out, "L2", "l2_bytes", target->l2_bytes);
	tcb_fact_size(out, "last cache", "llc_bytes", target->llc_bytes);
	if (place->cache_bytes) {
		tcb_size_text(place->cache_bytes, text);
		tcb_fact_line(out, "measured", "%s, by all %u threads: what cold calls go beyond", text,
			      target->threads);
		tcb_fact_member(out, "cache_bytes", "%zu", place->cache_bytes);
	} else {
		tcb_fact_member(out, "cache_bytes", "null");
	}
}

static enum tcb_status meter(const struct tcb_place *place, struct tcb_meter *out, struct tcb_error *err)
{
	(void)place;
	return tcb_meter_rapl(out, err);
}

const struct tcb_device_kind tcb_device_cpu = {
	.open = open_place,
	.list = list,
	.tell = tell,
	.checks = tcb_doctor_cpu,
	.measure_cache = tcb_cache_measure,
	.meter = meter,
};
