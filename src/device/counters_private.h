/* SPDX-License-Identifier: MIT
 *
 * Private to src/device: the two halves of counters.c that are files of their
 * own, and what tests and the doctor ask of them.
 */
#ifndef TCB_DEVICE_COUNTERS_PRIVATE_H
#define TCB_DEVICE_COUNTERS_PRIVATE_H

#include <sys/types.h>

#include "device/device.h"

enum { TCB_COUNTER_NOTE_MAX = 256 };

/* What is counted: RUN(ctx), CALLS times, in the threads TIDS (the calling thread first). */
struct tcb_counted {
	void (*run)(void *ctx);
	void *ctx;
	unsigned calls;
	const pid_t *tids;
	size_t tid_count;
};

/* counters_papi.c: hardware events through libpapi. */
struct tcb_papi;
/* NULL if libpapi is missing or offers no hardware event; NOTE then says why, else which events are missing. */
struct tcb_papi *tcb_papi_open(char note[TCB_COUNTER_NOTE_MAX]);
void tcb_papi_close(struct tcb_papi *papi);
/* Runs as many passes of counted->calls as the events need.  Returns how many counters it filled. */
size_t tcb_papi_measure(struct tcb_papi *papi, const struct tcb_counted *counted, struct tcb_counter *out,
			size_t capacity);
/* Loads libpapi as tcb_papi_open does and starts it.  0 and its version ("7.0") and path, or -1 and the reason. */
int tcb_papi_probe(char version[16], char path[128], char why[TCB_COUNTER_NOTE_MAX]);

/* counters_software.c: the kernel's software events, or resource usage where those are forbidden. */
enum tcb_software_kind { TCB_SOFTWARE_PERF, TCB_SOFTWARE_RUSAGE };
enum tcb_software_kind tcb_software_probe(void);
size_t tcb_software_measure(enum tcb_software_kind kind, const struct tcb_counted *counted, struct tcb_counter *out,
			    size_t capacity);

/* counters_software.c */
/* errno of opening a hardware cycle counter for this thread; 0 if it works. */
int tcb_perf_probe(void);
/* kernel.perf_event_paranoid, or -100 where there is no such file. */
int tcb_perf_paranoid(void);
/* Why there are no hardware events: PROBE from tcb_perf_probe.  Empty if they exist. */
void tcb_perf_explain(int probe, int paranoid, int is_virtual, char out[TCB_COUNTER_NOTE_MAX]);

#endif
