/* SPDX-License-Identifier: MIT
 *
 * Private to src/rt: what tcbrt_open builds and lookups read.  Nothing of it
 * changes after that but what is found out about an entry when it is first
 * used, which is why lookups need no lock.
 *
 * A handle has layers: the user's database and, below it, the system's.  Each
 * is an image (image.h); a layer says which of the image's ops and devices are
 * which of this process.  Numbers of ops and devices are the process's unless a
 * name says "stored".
 */
#ifndef TCB_RT_RUNTIME_H
#define TCB_RT_RUNTIME_H

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>

#include "base/kind.h"
#include "db/db.h"
#include "kernels/constraint.h"
#include "kernels/op_registry.h"
#include "rt/image.h"
#include "tcbrt.h"

enum rt_refusal {
	RT_UNSEEN, /* nobody looked at the entry yet */
	RT_SOUND,  /* ... but at its checksum */
	RT_FINE,
	RT_DAMAGED,        /* its checksum is another */
	RT_NO_OP,          /* this library has no such op */
	RT_NO_VARIANT,     /* ... or no kernel for the geometry */
	RT_OTHER_KERNEL,   /* the kernel changed since */
	RT_OTHER_GEOMETRY, /* the text does not parse */
	RT_ILLEGAL,        /* ... or breaks a constraint at its shape */
	RT_REFUSAL_COUNT
};

/* What ENTRY rests on, the more the better: a model, the screening of a sweep, its finals. */
static inline int rt_proof(const struct rt_entry *entry)
{
	return entry->modelled ? 0 : entry->provisional ? 1 : 2;
}

/* A CPU device of this host, a kind of GPU, or a model of one.  What is stored for a GPU is some model's: no result is
 * a kind's own. */
struct rt_device {
	char name[TCB_DEVICE_NAME_MAX]; /* "cpu:avx2", "sm_90", "sm_90:KEY" */
	char key[TCB_DEVICE_KEY_MAX];   /* of a CPU */
	char arch[32];
	size_t length; /* of the name */
	uint32_t kind; /* of a model of GPU its kind, else itself */
	struct tcb_target target;
};

struct rt_op {
	char name[TCB_OP_NAME_MAX];
	size_t length; /* of the name */
	const struct tcb_op *op;
};

/* What a stored device is to this process. */
struct rt_relation {
	uint32_t own; /* the one whose results these are, by name and key, or RT_NONE */
	uint32_t kin; /* the kind that is of the same name and architecture, or RT_NONE */
};

/* Behind the refusals of a layer. */
enum rt_mark {
	RT_HAS_DAMAGE, /* one of them is RT_DAMAGED */
	RT_HAS_NEWS,   /* a GPU's kernel was written and compared */
	RT_MARK_COUNT
};

struct rt_layer {
	struct rt_image image;
	void *memory; /* the image's: mapped or allocated */
	int is_mapped, is_system;
	_Atomic uint8_t *refusals;      /* enum rt_refusal of each entry, and behind them enum rt_mark */
	uint8_t *kept;                  /* those of GPUs' kernels that another process found out, or NULL */
	uint32_t *ops;                  /* of each op of this process the stored one, or RT_NONE */
	struct rt_relation *relations;  /* of each stored device */
	uint32_t *own, own_count;       /* of each device of this process the stored one, or RT_NONE */
	char path[512], snapshot[1024]; /* the database; the file that holds its image, or "" */
};

enum { RT_LAYERS_MAX = 2, RT_OP_SLOTS = 1024 };

/* Of a query, an entry, a pool: as many processors as the system lets a process name.  Defaults are looked for among
 * all ways to share work out, which takes the square of it. */
enum { RT_THREADS_MAX = 1024 };

struct tcbrt {
	struct rt_op *ops;
	uint32_t op_count, op_slots[RT_OP_SLOTS]; /* their numbers by a hash of the name */
	struct rt_device *devices; /* this host's come first, then recorded GPUs, then others of the databases */
	uint32_t device_count, host_device_count;
	struct rt_layer layers[RT_LAYERS_MAX];
	unsigned layer_count;
	unsigned processors; /* this process may use */
	unsigned cores;      /* physical ones among them: the full count of threads */
	int is_verbose;      /* TCBRT_VERBOSE */
	char left_out[152];  /* why the system database is, or "" */
};

/* An entry and where it is. */
struct rt_found {
	const struct rt_layer *layer; /* NULL: none */
	const struct rt_entry *entry;
};

/* rt_open.c: tcbrt_open, and tcbrt_open_empty where IS_EMPTY, for the ops that OPS has now, which outlive *OUT. */
int rt_open(const struct tcb_registry *ops, const char *path, int is_empty, struct tcbrt **out,
	    struct tcbrt_error *err);

/* rt_host.c: fills the devices that are known without a database but for their number and length, this host's first,
 * and of these "cpu" before all; returns how many (at most CAPACITY).  HOST_COUNT_OUT: how many are this host's. */
enum { RT_KNOWN_DEVICES_MAX = 64 };
uint32_t rt_known_devices(struct rt_device *out, uint32_t capacity, uint32_t *host_count_out, struct tcb_error *err);
static inline int rt_has_threads(const struct rt_device *device)
{
	return tcb_kind_of(&device->target)->has_threads;
}
/* Processors that this process may use, and how many threads a sweep takes by default: the physical cores among them,
 * or what its control group grants. */
void rt_host_processors(unsigned *processors_out, unsigned *cores_out);

/* rt_processors.c: a processor that a thread may use. */
struct rt_processor {
	int cpu;        /* its OS number */
	int core;       /* the lowest number of a hardware thread of its core */
	unsigned place; /* 0: the first of its core that may be used, 1: the second */
	long package;   /* 0 where unknown */
	long capacity;  /* the more, the more powerful; 0: all are alike */
};
#define RT_SYSFS_CPUS "/sys/devices/system/cpu"
enum { RT_PROCESSORS_MAX = CPU_SETSIZE }; /* that sched_getaffinity tells of */
/* Those in ALLOWED, by number, without package and capacity.  SYSFS: RT_SYSFS_CPUS.  Returns how many. */
unsigned rt_processors(const char *sysfs, const cpu_set_t *allowed, struct rt_processor out[RT_PROCESSORS_MAX]);
/* Puts them into the order in which threads should take them: one of each core first, the more powerful cores before
 * the others, those of a package together. */
void rt_processors_order(const char *sysfs, struct rt_processor *all, unsigned count);

/* rt_device.c */
/* RT's ops have room for it; RT_OP_SLOTS / 2 of them at most. */
void rt_op_add(struct tcbrt *rt, const struct tcb_op *op);
/* Number of the op or device of that NAME; RT_NONE if there is none.  Of a model of GPU of which nothing is stored: its
 * kind's. */
uint32_t rt_op_find(const struct tcbrt *rt, const char *name);
uint32_t rt_device_find(const struct tcbrt *rt, const char *name);
/* The same for what a database holds, which may add a kind of GPU; TCB_E_NOMEM. */
enum tcb_status rt_device_add(struct tcbrt *rt, const char *name, uint32_t *out, struct tcb_error *err);
/* And for a model of the GPU of kind NAME; *OUT is RT_NONE for what is none. */
enum tcb_status rt_device_add_model(struct tcbrt *rt, const struct rt_stored_device *stored, uint32_t *out,
				    struct tcb_error *err);
/* What results for a device may use that were measured on MEASURED_ON: what is known of the device, or what that had,
 * of a kind whose devices differ. */
void rt_device_take_limits(const struct tcb_target *measured_on, struct rt_device *device);

/* rt_legal.c: may a program be handed GEOMETRY?  WHY (may be NULL) names the constraint that it breaks. */
int rt_is_legal(const struct tcb_op *op, const struct tcb_problem *problem, const struct tcb_target *target,
		const struct tcb_geometry *geometry, char why[TCB_WHY_MAX]);

/* rt_judge.c */
/* What a stored winner says. */
struct rt_claim {
	enum tcb_contract contract;
	struct tcb_shape shape;
	unsigned threads;
	const char *geometry, *variant, *signature;
};
/* Why CLAIM is passed over, and its geometry.  OP and DEVICE, its own one, may be NULL.  Of a GPU's kernel all but its
 * signature is looked at. */
enum rt_refusal rt_judge(const struct tcb_op *op, const struct rt_device *device, const struct rt_claim *claim,
			 struct tcb_geometry *geometry_out);
/* What is known of entry INDEX of LAYER. */
static inline enum rt_refusal rt_known(const struct rt_layer *layer, uint32_t index)
{
	return atomic_load_explicit(&layer->refusals[index], memory_order_relaxed);
}
static inline int rt_mark(const struct rt_layer *layer, enum rt_mark mark)
{
	return atomic_load_explicit(&layer->refusals[layer->image.entry_count + (uint32_t)mark], memory_order_relaxed);
}
static inline void rt_set_mark(const struct rt_layer *layer, enum rt_mark mark)
{
	atomic_store_explicit(&layer->refusals[layer->image.entry_count + (uint32_t)mark], 1, memory_order_relaxed);
}
/* Looks at entry INDEX of LAYER: RT_SOUND, RT_DAMAGED or what is known of it.  The same answer, whoever asks and how
 * many at a time. */
enum rt_refusal rt_look_at(const struct rt_layer *layer, uint32_t index);
/* Why it is passed over; the first time all that is in it is looked at, and a GPU's kernel is written and compared with
 * the one that was measured, which allocates. */
enum rt_refusal rt_refusal(const struct tcbrt *rt, const struct rt_found *found);
/* ENTRY's geometry, with the parameters of OP, its own: an image has no pointers. */
static inline struct tcb_geometry rt_entry_geometry(const struct rt_entry *entry, const struct tcb_op *op)
{
	struct tcb_geometry geometry = entry->geometry;

	geometry.parameters = op->parameters;
	return geometry;
}
/* As a phrase. */
const char *rt_refusal_text(enum rt_refusal refusal);
/* Its texts, lent; of a sound entry only. */
struct rt_texts {
	const char *geometry, *variant, *signature, *measured_at;
};
static inline struct rt_texts rt_entry_texts(const struct rt_found *found)
{
	const struct rt_entry *entry = found->entry;
	const char *geometry = found->layer->image.texts + entry->texts;
	const char *variant = geometry + entry->geometry_length + 1, *signature = variant + entry->variant_length + 1;

	return (struct rt_texts){ geometry, variant, signature, signature + entry->signature_length + 1 };
}

/* rt_build.c: the image of the database DB, one block of BYTES_OUT; free() it. */
enum tcb_status rt_build(struct tcbrt *rt, struct tcb_db *db, const struct tcb_db_stamp *stamp, void **image_out,
			 size_t *bytes_out, struct tcb_error *err);
/* What the refusals of an image depend on beside the database: this library's kernels and this host. */
uint64_t rt_stamp_library(const struct tcbrt *rt);

/* rt_snapshot.c: images as files.  FOLDERS: beside the database, else in the user's cache folder. */
/* A mapped image of the database at PATH in the state STAMP, made by such a library; MEMORY_OUT NULL: there is none. */
void rt_snapshot_load(const char *path, const struct tcb_db_stamp *stamp, uint64_t library, struct rt_layer *out);
/* Writes LAYER's image, whole or not at all, and names the file in it; where that cannot be done, it is not. */
void rt_snapshot_save(struct rt_layer *layer);

/* rt_kept.c */
/* The refusals that LAYER's image has from this build. */
void rt_kept_load(struct rt_layer *layer);
/* Puts what was found out into LAYER's snapshot, if that is this user's. */
void rt_kept_save(const struct rt_layer *layer);

/* rt_layer.c */
/* Adds LAYER, whose image is open, to RT, which then owns it; TCB_E_NOMEM. */
enum tcb_status rt_layer_add(struct tcbrt *rt, struct rt_layer *layer, struct tcb_error *err);
void rt_layer_fini(struct rt_layer *layer);

/* rt_exact.c: what is stored for the very shape. */
struct rt_exact {
	struct rt_found found;  /* the answer; no layer: there is none */
	struct rt_found slower; /* the best that is stored, and its measurements call the default better */
	struct rt_found model;  /* the best that is stored is a model's */
	struct rt_found refused;
	struct rt_found unfit;   /* the answer, but for the device that is asked for: it lacks what that needs */
	struct rt_found earlier; /* of another version of its kernel, with a gain that was large and proven */
	unsigned other_threads;  /* nothing is stored for the full count of threads, but for this one; 0: neither */
	int is_damaged;          /* an entry that cannot be read may be that of the shape */
};
/* KEY's threads 0: any, on a CPU.  Where there is an answer no more of OUT is filled. */
void rt_exact(const struct tcbrt *rt, const struct rt_key *key, struct rt_exact *out);
/* What a model ranked best for another GPU of the kind of KEY's. */
struct rt_found rt_exact_modelled(const struct tcbrt *rt, const struct rt_key *key);

/* rt_lookup.c: what QUERY, which tcbrt_lookup has answered, is about; the device has the name that was asked for. */
enum tcb_status rt_query_problem(const struct tcbrt *rt, const struct tcbrt_query *query, struct tcb_problem *problem,
				 struct rt_device *device_out, struct tcb_error *err);

/* rt_fallback.c: everything after the exact entry, for DEVICE, as it was asked for. */
int rt_fallback(const struct tcbrt *rt, const struct rt_device *device, const struct rt_key *open,
		const struct rt_exact *exact, struct tcbrt_tuning *out);

/* The entries of KEY's op, contract, state and threads that near shapes may use, the nearest first, on this device or
 * on others of its architecture; those that are passed over are not among them.  Returns how many. */
enum { RT_NEAR_MAX = 8 };
unsigned rt_near(const struct tcbrt *rt, const struct rt_device *device, const struct rt_key *key, int is_own,
		 struct rt_found out[RT_NEAR_MAX]);

/* rt_contract.c */
/* What a query for OP asks for: LEAST, and with IS_AUTO whatever is at least as exact.  0: it is none of the header's.
 */
int rt_contract_read(const struct tcb_op *op, enum tcbrt_contract asked, enum tcb_contract *least, int *is_auto);
enum tcbrt_contract rt_contract_told(enum tcb_contract contract);
/* The fastest contract for KEY's problem on DEVICE that is at least as exact as KEY's. */
enum tcb_contract rt_contract_choose(const struct tcbrt *rt, const struct rt_device *device, const struct rt_key *key);

/* rt_asked.c: the geometry that is ASKED for itself, held against the op's constraints on DEVICE. */
int rt_asked(const struct tcbrt *rt, const char *asked, const struct rt_device *device, const struct rt_key *key,
	     struct tcbrt_tuning *out);

/* rt_wgpu_limits.c */
/* The name of ADAPTER's results. */
void rt_wgpu_name(const struct tcbrt_wgpu_adapter *adapter, char out[TCB_DEVICE_NAME_MAX]);
/* Makes TARGET, of such a device, what ADAPTER says. */
void rt_wgpu_limit(const struct tcbrt_wgpu_adapter *adapter, struct tcb_target *target);

/* rt_tuning.c */
/* GEOMETRY with VARIANT (NULL: none) as the answer; without its reason. */
void rt_tuning_fill(struct tcbrt_tuning *out, enum tcbrt_source source, const struct tcb_geometry *geometry,
		    const struct tcb_variant *variant, unsigned threads);
void rt_tuning_geometry(struct tcbrt_tuning *out, const struct tcb_geometry *geometry);
/* FOUND as it is stored, but for source and reason. */
void rt_tuning_stored(struct tcbrt_tuning *out, const struct rt_found *found);

#endif
