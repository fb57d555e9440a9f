/* SPDX-License-Identifier: MIT
 *
 * Where candidates run.  place.c: a device by its name, whose kind's files open it (cpu_device.h, gpu.h).  bandwidth.c
 * and compute.c: the measured limits of reading or copying and of arithmetic that results are compared with.
 * counters.c: what a kernel call did (PAPI when hardware events exist, the kernel's software events otherwise).
 */
#ifndef TCB_DEVICE_DEVICE_H
#define TCB_DEVICE_DEVICE_H

#include <stddef.h>
#include <stdint.h>

#include "base/compute.h"
#include "base/target.h"
#include "base/trial.h"

enum { TCB_CPUS_MAX = 1024, TCB_UUID_MAX = 48, TCB_PLACE_OWN_MAX = 5120 };
/* A device that candidates run on: the processors of this host, or a GPU. */
struct tcb_place {
	struct tcb_device device;
	char address[TCB_DEVICE_NAME_MAX]; /* as this machine names it: "cuda:0" */
	char uuid[TCB_UUID_MAX];           /* that no other card has; empty where there is none */
	const char *source;                /* what it is known by: "driver", a data sheet; NULL: by itself */
	int is_absent;                     /* known by its specification alone: nothing can run on it */
	int is_nearest;                    /* not even by its own: the model's name says whose it is */
	size_t cache_bytes; /* as measured (cache.h), which cold calls go beyond, whatever is reported; 0: unknown */
	/* What its kind has besides, for the files of that kind alone: struct tcb_cpus (cpus.h), struct tcb_gpu
	 * (gpu.h). */
	_Alignas(max_align_t) unsigned char own[TCB_PLACE_OWN_MAX];
};

struct tcb_cache;
struct tcb_deadline;
struct tcb_doctor_row;
struct tcb_facts;
struct tcb_meter;
struct tcb_nvml;

/* What the doctor looks at, below ROOT ("": this machine). */
struct tcb_doctor_check {
	const char *what; /* "PAPI" */
	void (*look)(const char *root, struct tcb_doctor_row *row);
};

/* What is asked of a kind of device here (base/kind.h has the rest). */
struct tcb_device_kind {
	/* As tcb_place_open; OUT is zeros. */
	enum tcb_status (*open)(const char *name, unsigned threads, int attached_only, struct tcb_place *out,
				struct tcb_error *err);
	/* As tcb_place_open_others; NULL: a name means one device. */
	enum tcb_status (*open_others)(const char *name, struct tcb_place **others_out, size_t *count_out,
				       struct tcb_error *err);
	/* Those that are here: OUT is the caller's to free.  A failure says why there are none. */
	enum tcb_status (*list)(struct tcb_place **out, size_t *count_out, struct tcb_error *err);
	/* Device INDEX of those that a specification is recorded of; 0: past the end.  NULL: there is none. */
	int (*specified)(size_t index, struct tcb_place *out);
	/* What there is to tell of PLACE beside its identity (facts.h); NULL: its limits (base/kind.h). */
	void (*tell)(const struct tcb_place *place, struct tcb_facts *out);
	const char *told_as;                   /* the list of `tcbtune devices --json` that has them; NULL: "devices" */
	const struct tcb_doctor_check *checks; /* up to one without a name; NULL: nothing but itself is needed */
	/* The cache that PLACE has, as cache.h says; NULL: it cannot be measured. */
	enum tcb_status (*measure_cache)(const struct tcb_place *place, struct tcb_deadline deadline,
					 struct tcb_cache *out, struct tcb_error *err);
	/* Something that tells its clocks and what holds them back; NULL: there is no such thing. */
	enum tcb_status (*watch)(const struct tcb_place *place, struct tcb_nvml **out, struct tcb_error *err);
	/* As tcb_meter_open; NULL: there is no such thing. */
	enum tcb_status (*meter)(const struct tcb_place *place, struct tcb_meter *out, struct tcb_error *err);
};
extern const struct tcb_device_kind *const tcb_device_kinds[]; /* device_kinds.c: by enum tcb_target_kind */
extern const struct tcb_device_kind tcb_device_cpu, tcb_device_cuda, tcb_device_wgpu, tcb_device_opencl;

/* place.c */
/*
 * The device that a person names so (tcb_kind_asked; else TCB_E_USAGE).  THREADS: of a kind that has them, 0 for as
 * many as are good.  Unless ATTACHED_ONLY one that is absent may be had for its specification.
 */
enum tcb_status tcb_place_open(const char *name, unsigned threads, int attached_only, struct tcb_place *out,
			       struct tcb_error *err);
/* Where NAME means several identical devices, "cuda:all": those beside the first, which the caller frees; else NULL. */
enum tcb_status tcb_place_open_others(const char *name, struct tcb_place **others_out, size_t *count_out,
				      struct tcb_error *err);
/* For a kind that has one device, that of NAME: its `list`. */
enum tcb_status tcb_place_list(const char *name, struct tcb_place **out, size_t *count_out, struct tcb_error *err);
/* Close it with tcb_nvml_close; NULL where nobody tells. */
struct tcb_nvml *tcb_place_watch(const struct tcb_place *place);

/*
 * bandwidth.c: the limit, so that a "percent of the limit" is honest: the nanoseconds that the best of many loops takes
 * for as many bytes under the same conditions.  For an op that writes as much as it reads they copy: a line that is
 * written costs more than one that is read, as it is read first unless it is stored past the caches.
 */
enum tcb_traffic { TCB_TRAFFIC_READ, TCB_TRAFFIC_COPY };
struct tcb_pool;
struct tcb_bandwidth; /* a loop over rotating buffers, ready to be called */
/*
 * BYTES a call (of a copy: read and written together), by THREADS threads of POOL (contiguous shares, or smaller pieces
 * in turn where that is faster), from a rotation of at least ROTATION_BYTES (cold), or from the same buffer each time
 * when ROTATION_BYTES <= BYTES (hot).  Tries every loop this host has and keeps the fastest, in about SECONDS (0: a
 * second); with fewer the choice is less sure.  Owns ROTATION_BYTES of memory, in huge pages
 * where they can be had in SECONDS, unless LENT is so much memory, which reads take place in.
 */
enum tcb_status tcb_bandwidth_create(struct tcb_pool *pool, unsigned threads, enum tcb_traffic kind, size_t bytes,
				     size_t rotation_bytes, const void *lent, double seconds,
				     struct tcb_bandwidth **out, struct tcb_error *err);
/* BYTES, at least those of a call, instead of what was lent before. */
void tcb_bandwidth_lend(struct tcb_bandwidth *bandwidth, const void *lent, size_t bytes);
void tcb_bandwidth_destroy(struct tcb_bandwidth *bandwidth);             /* NULL is fine; before the pool's */
double tcb_bandwidth_call(struct tcb_bandwidth *bandwidth);              /* one timed pass: nanoseconds */
const char *tcb_bandwidth_method(const struct tcb_bandwidth *bandwidth); /* "avx512, 4 streams, prefetch 2048 t0" */

/*
 * compute.c: the compute limit: the nanoseconds that the fastest arithmetic of the instruction families in ISA_MASK
 * takes for as many operations, from registers.  A product that is added counts two operations.
 */
struct tcb_compute;
/* Tries the loops that this host's families in ISA_MASK have; takes some milliseconds. */
enum tcb_status tcb_compute_create(struct tcb_pool *pool, unsigned threads, uint32_t isa_mask,
				   enum tcb_compute_kind kind, struct tcb_compute **out, struct tcb_error *err);
void tcb_compute_destroy(struct tcb_compute *compute); /* NULL is fine; before the pool's */
/* Arithmetic by all threads for about as long as OPERATIONS take, 0.5 to 100 ms: nanoseconds for OPERATIONS at that
 * rate. */
double tcb_compute_call(struct tcb_compute *compute, double operations);
const char *tcb_compute_method(const struct tcb_compute *compute); /* "avx512vnni: 512-bit dpbusd" */

/* counters.c */
struct tcb_counters;
/*
 * Opens what there is.  Never fails for lack of counters: SOURCE tells the best that was found ("papi": hardware
 * events; "perf-software": the kernel's software events; "rusage": getrusage, where even those are forbidden), and
 * NOTE, one line, why nothing better or which events are missing; empty if nothing is.
 */
enum tcb_status tcb_counters_open(struct tcb_counters **out, struct tcb_error *err);
void tcb_counters_close(struct tcb_counters *counters); /* NULL is fine */
const char *tcb_counters_source(const struct tcb_counters *counters);
const char *tcb_counters_note(const struct tcb_counters *counters);
/*
 * Counts while RUN(ctx) is called CALLS times; fills OUT (per call; the state member is the caller's to set) and
 * returns how many (at most CAPACITY; 16 are enough).  All threads that the process has when it is called are
 * counted and summed, a pool's also while they wait, in user mode; software events in the kernel too.  RUN is called
 * CALLS times for each group of events that fit the hardware's counters together, and once more for the software
 * events: nothing is multiplexed or extrapolated.
 */
size_t tcb_counters_measure(struct tcb_counters *counters, void (*run)(void *ctx), void *ctx, unsigned calls,
			    struct tcb_counter *out, size_t capacity);

/* doctor.c: one row per thing that tcbtune can use. */
enum tcb_doctor_state { TCB_DOCTOR_OK, TCB_DOCTOR_LIMITED, TCB_DOCTOR_MISSING };
struct tcb_doctor_row {
	const char *what; /* "PAPI", "huge pages", "CUDA driver", "CUPTI", "NVML", "ptxas", ... */
	enum tcb_doctor_state state;
	char found[160];  /* version, path or measured fact */
	char advice[200]; /* what to do about it, empty when OK */
};
size_t tcb_doctor(struct tcb_doctor_row *out, size_t capacity);

#endif
