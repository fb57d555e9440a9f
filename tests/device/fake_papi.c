/* SPDX-License-Identifier: MIT
 *
 * A libpapi for tests: it counts ticks that the test makes.  Every event has a
 * weight; in the thread that ticks an event adds its weight, in each thread
 * attached to it adds a hundred times that.  FAKE_PAPI in the environment says
 * which machine it plays:
 *   full          every event the product asks for, any number at once
 *   two_counters  at most two events at a time (seen when an event is added)
 *   late_conflict the same, but seen only when counting starts
 *   few_events    cycles and the native L3 event only
 *   no_attach     counts the calling thread only
 *   no_hardware   starts, but has no event
 *   version_8     another version of the library
 */
#include <stdlib.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

enum { SETS_MAX = 64, EVENTS_MAX = 16, VERSION = 7 << 24 | 1 << 16 };
enum { OK = 0, EINVAL_ = -1, ENOEVNT = -7, ECNFLCT = -8, ENOEVST = -11, ENOSUPP = -18 };

static const struct {
	const char *name;
	long long weight;
} all_events[] = {
	{ "PAPI_TOT_CYC", 1000 },
	{ "PAPI_TOT_INS", 2000 },
	{ "PAPI_L1_DCM", 30 },
	{ "PAPI_L2_DCM", 20 },
	{ "LONGEST_LAT_CACHE:MISS", 10 },
	{ "PAPI_L3_TCM", 11 },
	{ "PAPI_TLB_DM", 5 },
	{ "MEM_INST_RETIRED:SPLIT_LOADS", 7 },
};

struct set {
	int used, running, attached, count;
	long long weight[EVENTS_MAX], started;
};
static struct set sets[SETS_MAX];
static long long ticks;
static int is_shut_down;

EXPORT void fake_papi_tick(void);
EXPORT int fake_papi_sets_in_use(void);
EXPORT int fake_papi_is_shut_down(void);
EXPORT int PAPI_library_init(int version);
EXPORT char *PAPI_strerror(int error);
EXPORT int PAPI_get_component_index(const char *name);
EXPORT int PAPI_create_eventset(int *set);
EXPORT int PAPI_assign_eventset_component(int set, int component);
EXPORT int PAPI_attach(int set, unsigned long tid);
EXPORT int PAPI_add_named_event(int set, const char *name);
EXPORT int PAPI_start(int set);
EXPORT int PAPI_stop(int set, long long *values);
EXPORT int PAPI_cleanup_eventset(int set);
EXPORT int PAPI_destroy_eventset(int *set);
EXPORT void PAPI_shutdown(void);

static int plays(const char *machine)
{
	const char *name = getenv("FAKE_PAPI");
	return name && strcmp(name, machine) == 0;
}

static struct set *find(int set)
{
	return set >= 0 && set < SETS_MAX && sets[set].used ? &sets[set] : NULL;
}

void fake_papi_tick(void)
{
	ticks++;
}

int fake_papi_sets_in_use(void)
{
	int used = 0;
	for (int i = 0; i < SETS_MAX; i++)
		used += sets[i].used;
	return used;
}

int fake_papi_is_shut_down(void)
{
	return is_shut_down;
}

int PAPI_library_init(int version)
{
	if (version != (plays("version_8") ? 8 << 24 : VERSION))
		return EINVAL_;
	is_shut_down = 0;
	return version;
}

char *PAPI_strerror(int error)
{
	static char text[] = "Component containing event is disabled";
	return error == OK ? NULL : text;
}

int PAPI_get_component_index(const char *name)
{
	return strcmp(name, "perf_event") == 0 ? 3 : ENOEVNT;
}

int PAPI_create_eventset(int *set)
{
	for (int i = 0; i < SETS_MAX; i++) {
		if (!sets[i].used) {
			memset(&sets[i], 0, sizeof sets[i]);
			sets[i].used = 1;
			*set = i;
			return OK;
		}
	}
	return EINVAL_;
}

int PAPI_assign_eventset_component(int set, int component)
{
	return find(set) && component == 3 ? OK : EINVAL_;
}

int PAPI_attach(int set, unsigned long tid)
{
	if (plays("no_attach"))
		return ENOSUPP;
	if (!find(set) || tid == 0)
		return ENOEVST;
	find(set)->attached = 1;
	return OK;
}

int PAPI_add_named_event(int set, const char *name)
{
	struct set *s = find(set);
	if (!s)
		return ENOEVST;
	if (plays("no_hardware") ||
	    (plays("few_events") && strcmp(name, "PAPI_TOT_CYC") != 0 && strcmp(name, "LONGEST_LAT_CACHE:MISS") != 0))
		return ENOEVNT;
	if (plays("two_counters") && s->count == 2)
		return ECNFLCT;
	for (size_t i = 0; i < sizeof all_events / sizeof *all_events; i++) {
		if (strcmp(all_events[i].name, name) == 0) {
			s->weight[s->count++] = all_events[i].weight;
			return OK;
		}
	}
	return ENOEVNT;
}

int PAPI_start(int set)
{
	struct set *s = find(set);
	if (!s || s->count == 0)
		return EINVAL_;
	if (plays("late_conflict") && s->count > 2)
		return ECNFLCT;
	s->running = 1;
	s->started = ticks;
	return OK;
}

int PAPI_stop(int set, long long *values)
{
	struct set *s = find(set);
	if (!s || !s->running)
		return EINVAL_;
	for (int i = 0; i < s->count; i++)
		values[i] = (ticks - s->started) * s->weight[i] * (s->attached ? 100 : 1);
	s->running = 0;
	return OK;
}

int PAPI_cleanup_eventset(int set)
{
	if (!find(set) || find(set)->running)
		return EINVAL_;
	find(set)->count = 0;
	return OK;
}

int PAPI_destroy_eventset(int *set)
{
	if (!find(*set) || find(*set)->count)
		return EINVAL_;
	find(*set)->used = 0;
	*set = -1;
	return OK;
}

void PAPI_shutdown(void)
{
	is_shut_down = 1;
}
