/* SPDX-License-Identifier: MIT
 *
 * In: libpapi, if there is one.  Out: hardware events of all threads of the
 * process, summed.
 *
 * The library is opened at run time and its header is not used at build time:
 * the dozen functions below have kept their signatures since PAPI 5, and a
 * binary must run where PAPI is not installed, or is another version than the
 * one it was built beside.  The version number that PAPI_library_init wants is
 * found by trying: it refuses all but its own.
 *
 * A kernel can be run again, so events that do not fit the hardware's counters
 * together are counted one group after the other instead of being multiplexed:
 * every number is a count, none is extrapolated.  Each thread gets an event set
 * of its own (PAPI_attach); the pool's threads exist before counting starts,
 * and inheritance would miss them.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/counters_private.h"

enum {
	PAPI_OK = 0,
	PAPI_NULL = -1,
	EVENT_NAMES_MAX = 3,
	EVENTS_MAX = 16,
};

#define PAPI_FUNCTIONS(X)                                                \
	X(int, PAPI_library_init, (int version))                         \
	X(char *, PAPI_strerror, (int error))                            \
	X(int, PAPI_get_component_index, (const char *name))             \
	X(int, PAPI_create_eventset, (int *set))                         \
	X(int, PAPI_assign_eventset_component, (int set, int component)) \
	X(int, PAPI_attach, (int set, unsigned long tid))                \
	X(int, PAPI_add_named_event, (int set, const char *name))        \
	X(int, PAPI_start, (int set))                                    \
	X(int, PAPI_stop, (int set, long long *values))                  \
	X(int, PAPI_cleanup_eventset, (int set))                         \
	X(int, PAPI_destroy_eventset, (int *set))                        \
	X(void, PAPI_shutdown, (void))

struct library {
	void *handle;
	int version;
#define PAPI_MEMBER(type, name, arguments) type(*name) arguments;
	PAPI_FUNCTIONS(PAPI_MEMBER)
#undef PAPI_MEMBER
};

/* What is counted, and the events that count it, first choice first: PAPI's presets, then native events of the
 * processors that have no preset for it. */
static const struct {
	const char *name;
	const char *events[EVENT_NAMES_MAX];
} wanted[] = {
	{ "cycles", { "PAPI_TOT_CYC" } },
	{ "instructions", { "PAPI_TOT_INS" } },
	{ "l1d_misses", { "PAPI_L1_DCM" } },
	{ "l2_misses", { "PAPI_L2_TCM", "PAPI_L2_DCM" } },
	{ "l3_misses", { "PAPI_L3_TCM", "LONGEST_LAT_CACHE:MISS" } },
	{ "dtlb_misses", { "PAPI_TLB_DM" } },
	{ "split_loads", { "MEM_INST_RETIRED:SPLIT_LOADS", "MEM_UOPS_RETIRED:SPLIT_LOADS", "LS_MISAL_LOADS:MA64" } },
};
enum { WANTED_COUNT = sizeof wanted / sizeof *wanted };
_Static_assert((int)WANTED_COUNT <= (int)EVENTS_MAX, "all fit one group");

struct event {
	const char *name, *event;
};

struct tcb_papi {
	struct library library;
	size_t event_count, group_count;
	struct event events[EVENTS_MAX]; /* sorted by group */
	size_t group_size[EVENTS_MAX];
};

/* Opens libpapi and binds its functions.  0, or -1 with the reason. */
static int load(struct library *library, char why[TCB_COUNTER_NOTE_MAX])
{
	static const char *const names[] = { "libpapi.so.7.3", "libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0",
					     "libpapi.so.7",   "libpapi.so.6.0", "libpapi.so.5.7", "libpapi.so" };
	const char *given = getenv("TCBTUNE_PAPI");

	memset(library, 0, sizeof *library);
	if (given) {
		library->handle = dlopen(given, RTLD_NOW | RTLD_LOCAL);
		if (!library->handle) {
			snprintf(why, TCB_COUNTER_NOTE_MAX, "TCBTUNE_PAPI: %s", dlerror());
			return -1;
		}
	}
	for (size_t i = 0; i < sizeof names / sizeof *names && !library->handle; i++)
		library->handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	if (!library->handle) {
		snprintf(why, TCB_COUNTER_NOTE_MAX,
			 "PAPI is not installed (package libpapi7.0 on Debian and Ubuntu, papi on Fedora)");
		return -1;
	}
#define PAPI_BIND(type, name, arguments)                                                                  \
	*(void **)&library->name = dlsym(library->handle, #name);                                         \
	if (!library->name) {                                                                             \
		snprintf(why, TCB_COUNTER_NOTE_MAX, "libpapi has no %s: PAPI 5.7 to 7 is needed", #name); \
		return -1;                                                                                \
	}
	PAPI_FUNCTIONS(PAPI_BIND)
#undef PAPI_BIND
	/* The handle stays open for good: PAPI leaves thread-specific data and exit handlers behind. */
	return 0;
}

static int start_library(struct library *library, char why[TCB_COUNTER_NOTE_MAX])
{
	for (int major = 7; major >= 5; major--) {
		for (int minor = 9; minor >= 0; minor--) {
			int version = major << 24 | minor << 16;
			if (library->PAPI_library_init(version) == version) {
				library->version = version;
				return 0;
			}
		}
	}
	snprintf(why, TCB_COUNTER_NOTE_MAX,
		 "libpapi did not start: it is not one of the versions 5.0 to 7.9, or broken");
	return -1;
}

int tcb_papi_probe(char version[16], char path[128], char why[TCB_COUNTER_NOTE_MAX])
{
	struct library library;
	Dl_info info;
	if (load(&library, why) != 0 || start_library(&library, why) != 0)
		return -1;
	snprintf(version, 16, "%d.%d", library.version >> 24, library.version >> 16 & 0xff);
	path[0] = '\0';
	if (dladdr(*(void **)&library.PAPI_library_init, &info) && info.dli_fname)
		snprintf(path, 128, "%s", info.dli_fname);
	library.PAPI_shutdown();
	return 0;
}

static void drop_set(const struct library *library, int *set)
{
	if (*set == PAPI_NULL)
		return;
	library->PAPI_cleanup_eventset(*set);
	library->PAPI_destroy_eventset(set);
	*set = PAPI_NULL;
}

/* An event set of EVENTS for thread TID; 0: the calling thread.  PAPI_OK or PAPI's error, and then no set is left. */
static int make_set(const struct library *library, const struct event *events, size_t count, pid_t tid, int *set_out)
{
	int component = library->PAPI_get_component_index("perf_event");
	*set_out = PAPI_NULL;
	if (component < 0)
		return component;
	int error = library->PAPI_create_eventset(set_out);
	if (error == PAPI_OK)
		error = library->PAPI_assign_eventset_component(*set_out, component);
	if (error == PAPI_OK && tid)
		error = library->PAPI_attach(*set_out, (unsigned long)tid);
	for (size_t i = 0; i < count && error == PAPI_OK; i++)
		error = library->PAPI_add_named_event(*set_out, events[i].event);
	if (error != PAPI_OK)
		drop_set(library, set_out);
	return error;
}

/* Whether EVENTS can be counted together: some conflicts show only when counting starts. */
static int try_events(const struct library *library, const struct event *events, size_t count)
{
	long long values[EVENTS_MAX];
	int set, error = make_set(library, events, count, 0, &set);
	if (error != PAPI_OK)
		return error;
	error = library->PAPI_start(set);
	if (error == PAPI_OK)
		error = library->PAPI_stop(set, values);
	drop_set(library, &set);
	return error;
}

static void add_missing(char *note, const char *name)
{
	size_t used = strlen(note);
	snprintf(note + used, TCB_COUNTER_NOTE_MAX - used, "%s%s",
		 used ? ", " : "not counted on this processor: ", name);
}

/* Finds the events that work, then packs them into groups that fit the hardware together. */
static void choose_events(struct tcb_papi *papi, char note[TCB_COUNTER_NOTE_MAX], int *error_out)
{
	const struct library *library = &papi->library;
	struct event waiting[EVENTS_MAX];
	size_t count = 0;

	for (size_t w = 0; w < WANTED_COUNT; w++) {
		size_t before = count;
		for (size_t e = 0; e < EVENT_NAMES_MAX && wanted[w].events[e] && count == before; e++) {
			waiting[count] = (struct event){ wanted[w].name, wanted[w].events[e] };
			int error = try_events(library, &waiting[count], 1);
			if (error == PAPI_OK)
				count++;
			else if (w == 0)
				*error_out = error;
		}
		if (count == before)
			add_missing(note, wanted[w].name);
	}
	while (count > 0) {
		struct event *group = papi->events + papi->event_count;
		size_t size = 0, left = 0;
		for (size_t i = 0; i < count; i++) {
			group[size] = waiting[i];
			/* One alone was seen to work. */
			if (size == 0 || try_events(library, group, size + 1) == PAPI_OK)
				size++;
			else
				waiting[left++] = waiting[i];
		}
		papi->group_size[papi->group_count++] = size;
		papi->event_count += size;
		count = left;
	}
}

struct tcb_papi *tcb_papi_open(char note[TCB_COUNTER_NOTE_MAX])
{
	struct tcb_papi *papi = calloc(1, sizeof *papi);
	int error = PAPI_OK;

	note[0] = '\0';
	if (!papi)
		return NULL;
	if (load(&papi->library, note) != 0 || start_library(&papi->library, note) != 0) {
		free(papi);
		return NULL;
	}
	choose_events(papi, note, &error);
	if (papi->event_count == 0) {
		snprintf(note, TCB_COUNTER_NOTE_MAX, "PAPI %d.%d offers no hardware event: %s",
			 papi->library.version >> 24, papi->library.version >> 16 & 0xff,
			 papi->library.PAPI_strerror(error));
		tcb_papi_close(papi);
		return NULL;
	}
	return papi;
}

void tcb_papi_close(struct tcb_papi *papi)
{
	if (!papi)
		return;
	papi->library.PAPI_shutdown();
	free(papi);
}

/* Counts one group in all threads.  0 with SUMS filled, or -1 if some thread could not be counted. */
static int count_group(struct tcb_papi *papi, const struct event *events, size_t size,
		       const struct tcb_counted *counted, double *sums)
{
	const struct library *library = &papi->library;
	int *sets = malloc(counted->tid_count * sizeof *sets);
	size_t made = 0, started = 0;
	int failed = !sets;

	for (; !failed && made < counted->tid_count; made++)
		if (make_set(library, events, size, made == 0 ? 0 : counted->tids[made], &sets[made]) != PAPI_OK)
			break;
	failed |= made < counted->tid_count;
	/* The calling thread is started last and stopped first: it starts the others. */
	while (!failed && started < made) {
		failed = library->PAPI_start(sets[made - 1 - started]) != PAPI_OK;
		started += !failed;
	}
	if (!failed)
		for (unsigned i = 0; i < counted->calls; i++)
			counted->run(counted->ctx);
	for (size_t i = made - started; i < made; i++) {
		long long values[EVENTS_MAX] = { 0 };
		int stopped = library->PAPI_stop(sets[i], values) == PAPI_OK;
		failed |= !stopped;
		for (size_t e = 0; e < size; e++)
			sums[e] += (double)values[e];
	}
	for (size_t i = 0; i < made; i++)
		drop_set(library, &sets[i]);
	free(sets);
	return failed ? -1 : 0;
}

size_t tcb_papi_measure(struct tcb_papi *papi, const struct tcb_counted *counted, struct tcb_counter *out,
			size_t capacity)
{
	const struct event *events = papi->events;
	size_t filled = 0;
	for (size_t g = 0; g < papi->group_count; events += papi->group_size[g++]) {
		double sums[EVENTS_MAX] = { 0 };
		int failed = count_group(papi, events, papi->group_size[g], counted, sums);
		for (size_t e = 0; e < papi->group_size[g] && !failed && filled < capacity; e++) {
			struct tcb_counter *counter = &out[filled++];
			*counter = (struct tcb_counter){ .value = sums[e] / counted->calls };
			snprintf(counter->name, sizeof counter->name, "%s", events[e].name);
			snprintf(counter->source, sizeof counter->source, "papi");
		}
	}
	return filled;
}
