/* SPDX-License-Identifier: MIT
 *
 * Private to src/rt: what tcbrt_open builds and lookups read.  Nothing of it
 * changes after that but what is found out about a GPU's entry once, which is
 * why lookups need no lock.
 *
 * Names of ops and devices are numbered (interned), so that a key is 40 bytes
 * of integers.  Two keys lead to an entry: its own, and one with threads 0 for
 * the fastest entry of its device, problem and state.
 */
#ifndef TCB_RT_RUNTIME_H
#define TCB_RT_RUNTIME_H

#include <stdint.h>

#include "db/db.h"
#include "kernels/constraint.h"
#include "tcbrt.h"

/* 40 bytes without padding: hashed and compared as they lie in memory. */
struct rt_key {
	uint32_t op, device;
	uint16_t contract, state;
	uint32_t threads;
	uint64_t m, n, k;
};

enum rt_refusal {
	RT_FINE,
	RT_NO_OP,          /* this library has no such op */
	RT_NO_VARIANT,     /* ... or no kernel for the geometry */
	RT_OTHER_KERNEL,   /* the kernel changed since */
	RT_OTHER_GEOMETRY, /* the text does not parse */
	RT_ILLEGAL,        /* ... or breaks a constraint at its shape */
	RT_UNSEEN,         /* of a GPU, where it takes milliseconds to see whether the kernel changed */
	RT_REFUSAL_COUNT
};

struct rt_entry {
	struct rt_key key; /* with its own threads */
	struct tcb_geometry geometry;
	struct tcb_interval ns, speedup;
	float log_m, log_n, log_k;                      /* log2; 0 for k == 0 */
	uint32_t text, variant, signature, measured_at; /* offsets into strings */
	uint16_t text_length, variant_length;
	uint8_t modelled, provisional; /* neither: proven */
	_Atomic uint8_t refusal;       /* enum rt_refusal, see rt_refusal() */
};

/* What ENTRY rests on, the more the better: a model, the screening of a sweep, its finals. */
static inline int rt_proof(const struct rt_entry *entry)
{
	return entry->modelled ? 0 : entry->provisional ? 1 : 2;
}

/* A CPU device of this host, a recorded kind of GPU, or a device of the database. */
struct rt_device {
	char name[TCB_DEVICE_NAME_MAX], key[TCB_DEVICE_KEY_MAX], arch[32], model[TCB_DEVICE_TEXT_MAX];
	int is_this_host, is_gpu;
	struct tcb_target target;      /* of this host's devices and of GPUs */
	struct tcb_target measured_on; /* a GPU of the database, as it is stored */
};

struct rt_op {
	char name[TCB_OP_NAME_MAX];
	const struct tcb_op *op; /* NULL: only the database knows it */
	uint32_t begin, end;     /* its entries: the database orders them by op */
};

enum { RT_NONE = UINT32_MAX };

struct tcbrt {
	struct rt_entry *entries;
	uint32_t entry_count, entry_capacity;
	char *strings;
	size_t string_bytes, string_capacity;
	struct rt_op *ops;
	uint32_t op_count;
	struct rt_device *devices; /* this host's come first, then recorded GPUs, then the database's others */
	uint32_t device_count, host_device_count;
	size_t unreadable; /* rows that the database left out */
	/* open addressing: slot_count is a power of two, an unused slot has entry RT_NONE */
	struct rt_slot {
		uint32_t tag; /* upper half of the hash */
		uint32_t entry;
		uint32_t threads; /* of the key, 0 or the entry's own; the rest of the key is in the entry */
	} * slots;
	uint32_t slot_count;
	unsigned processors; /* this process may use */
	unsigned cores;      /* physical ones among them */
};

/* rt_host.c: fills the devices "cpu" and "cpu:FAMILY" of this host, in that order; returns how many (at most CAPACITY).
 */
enum { RT_HOST_DEVICES_MAX = 8 };
uint32_t rt_host_devices(struct rt_device *out, uint32_t capacity, struct tcb_error *err);
/* Processors that this process may use, and how many physical cores they are. */
void rt_host_processors(unsigned *processors_out, unsigned *cores_out);

/* rt_table.c */
/* Indexes the entries; TCB_E_NOMEM if there is no room. */
enum tcb_status rt_table_build(struct tcbrt *rt, struct tcb_error *err);
/* The entry of KEY, or NULL. */
const struct rt_entry *rt_table_find(const struct tcbrt *rt, const struct rt_key *key);

/* rt_signature.c: why ENTRY is not answered with.  Of a GPU's entry the kernel is written and compared with the one
 * that was measured when it is first asked for, which allocates; whoever asks, and how many at a time, the answer is
 * the same and stays. */
enum rt_refusal rt_refusal(const struct tcbrt *rt, const struct rt_entry *entry);

/* rt_fallback.c: everything after the exact entry; EXACT is the one that was found and is refused, or NULL. */
int rt_fallback(const struct tcbrt *rt, const struct rt_key *key, const struct rt_entry *exact,
		struct tcbrt_tuning *out);

/* rt_lookup.c: what QUERY, which tcbrt_lookup has answered, is about. */
enum tcb_status rt_query_problem(const struct tcbrt *rt, const struct tcbrt_query *query, struct tcb_problem *problem,
				 const struct rt_device **device_out, struct tcb_error *err);

/* rt_gpu.c: "sm_90" and the like. */
enum { RT_GPU_DEVICES_MAX = 16 };
int rt_is_gpu_name(const char *name);
/* Fills a device for each recorded kind; returns how many (at most CAPACITY). */
uint32_t rt_gpu_devices(struct rt_device *out, uint32_t capacity);
/* What kernels may use on a GPU of that NAME, recorded or not. */
void rt_gpu_target(const char *name, struct tcb_target *out);

/* rt_legal.c: may a program be handed GEOMETRY?  WHY (may be NULL) names the constraint that it breaks. */
int rt_is_legal(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_target *target,
		const struct tcb_geometry *geometry, char why[TCB_WHY_MAX]);

/* rt_tuning.c */
void rt_tuning_geometry(struct tcbrt_tuning *out, const struct tcb_geometry *geometry);
/* Why ENTRY is passed over, as a phrase. */
const char *rt_refusal_text(enum rt_refusal refusal);

#endif
