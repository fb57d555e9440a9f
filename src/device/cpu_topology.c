/* SPDX-License-Identifier: MIT
 *
 * In: an hwloc topology and the set of allowed processors.  Out: the order in
 * which threads take them, and the caches of the first core.
 */
#include "device/cpu_topology.h"

#include <stdlib.h>

struct core {
	hwloc_obj_t object;
	int efficiency; /* hwloc: higher is more powerful; -1 unknown */
	unsigned position;
};

static int compare_cores(const void *a, const void *b)
{
	const struct core *x = a, *y = b;
	if (x->efficiency != y->efficiency)
		return x->efficiency > y->efficiency ? -1 : 1;
	return x->position < y->position ? -1 : x->position > y->position;
}

static int core_efficiency(hwloc_topology_t topology, hwloc_obj_t core)
{
	int efficiency = -1, kind = hwloc_cpukinds_get_by_cpuset(topology, core->cpuset, 0);
	if (kind < 0 || hwloc_cpukinds_get_info(topology, (unsigned)kind, NULL, &efficiency, NULL, NULL, 0) != 0)
		return -1;
	return efficiency;
}

/* OS number of the INDEXth allowed processor of CORE in logical order, or -1. */
static int nth_cpu(hwloc_topology_t topology, hwloc_obj_t core, hwloc_const_cpuset_t allowed, unsigned index)
{
	for (hwloc_obj_t pu = NULL;
	     (pu = hwloc_get_next_obj_inside_cpuset_by_type(topology, core->cpuset, HWLOC_OBJ_PU, pu));) {
		if (hwloc_bitmap_isset(allowed, pu->os_index) && index-- == 0)
			return (int)pu->os_index;
	}
	return -1;
}

static void read_caches(hwloc_obj_t core, struct tcb_cpu_order *out)
{
	for (hwloc_obj_t above = core; above; above = above->parent) {
		if (!hwloc_obj_type_is_dcache(above->type))
			continue;
		size_t bytes = (size_t)above->attr->cache.size;
		if (above->type == HWLOC_OBJ_L1CACHE) {
			out->l1d_bytes = bytes;
			out->line_bytes = above->attr->cache.linesize;
			continue;
		}
		if (above->type == HWLOC_OBJ_L2CACHE)
			out->l2_bytes = bytes;
		out->llc_bytes = bytes; /* the last one seen on the way up */
	}
}

static void read_clock(hwloc_topology_t topology, hwloc_obj_t core, struct tcb_cpu_order *out)
{
	struct hwloc_info_s *infos;
	unsigned info_count;
	int kind = hwloc_cpukinds_get_by_cpuset(topology, core->cpuset, 0);
	if (kind < 0 || hwloc_cpukinds_get_info(topology, (unsigned)kind, NULL, NULL, &info_count, &infos, 0) != 0)
		return;
	for (unsigned i = 0; i < info_count; i++)
		if (strcmp(infos[i].name, "FrequencyBaseMHz") == 0)
			out->clock_khz = (unsigned)strtoul(infos[i].value, NULL, 10) * 1000;
}

void tcb_cpu_order(hwloc_topology_t topology, hwloc_const_cpuset_t allowed, struct tcb_cpu_order *out)
{
	/* Some virtual machines tell no cores: then each processor counts as one. */
	hwloc_obj_type_t type = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
	static const struct tcb_cpu_order none;
	struct core cores[TCB_CPUS_MAX];
	unsigned count = 0, added = 1;

	*out = none;
	for (hwloc_obj_t core = NULL; (core = hwloc_get_next_obj_by_type(topology, type, core));) {
		out->core_count++;
		if (count < TCB_CPUS_MAX && hwloc_bitmap_intersects(core->cpuset, allowed)) {
			cores[count] = (struct core){ core, core_efficiency(topology, core), count };
			count++;
		}
	}
	out->allowed_core_count = count;
	if (count == 0)
		return;
	qsort(cores, count, sizeof *cores, compare_cores);
	for (unsigned round = 0; added; round++) {
		added = 0;
		for (unsigned i = 0; i < count && out->cpu_count < TCB_CPUS_MAX; i++) {
			int cpu = nth_cpu(topology, cores[i].object, allowed, round);
			if (cpu < 0)
				continue;
			out->cpus[out->cpu_count++] = cpu;
			added = 1;
		}
	}
	read_caches(cores[0].object, out);
	read_clock(topology, cores[0].object, out);
}
