/* SPDX-License-Identifier: MIT
 *
 * libtcbrt: tuned kernels at run time.
 *
 * Introduction
 *
 * `tcbtune sweep` measures how a kernel is best tiled on this machine and keeps the winners in a database.  This
 * library runs them in other programs, as FFTW does: a query becomes a plan, weights are packed once, and the plan
 * is executed as often as needed.
 *
 *     struct tcbrt *rt;
 *     struct tcbrt_plan *plan;
 *     struct tcbrt_pool *pool;
 *     struct tcbrt_plan_info info;
 *     struct tcbrt_error err;
 *     struct tcbrt_query query = { .op = "q4k_matvec", .m = 1, .n = 4096, .k = 14336 };
 *
 *     if (tcbrt_open(NULL, &rt, &err) != TCBRT_OK && tcbrt_open_empty(&rt, &err) != TCBRT_OK)
 *             return err.code;
 *     if (tcbrt_plan_create(rt, &query, &plan, &err) != TCBRT_OK)
 *             return err.code;
 *     tcbrt_plan_info(plan, &info);                    what runs, why, and what it needs
 *     if (tcbrt_weights_alloc(info.packed_bytes, &packed, NULL, &err) != TCBRT_OK)
 *             return err.code;                         in 2 MiB pages, where the kernel has them
 *     tcbrt_pack(plan, weights, packed);               once
 *     workspace = aligned_alloc(TCBRT_ALIGNMENT, info.workspace_bytes);
 *     tcbrt_workspace_init(plan, workspace);           once
 *     tcbrt_pool_create(info.threads, &pool, &err);    once; threads on cores of their own
 *     void *operand[] = { packed, x, y };              info.operand says which is which
 *     tcbrt_execute(plan, operand, workspace, pool);   as often as needed
 *
 * (Where info.packed_bytes is 0 the kernel reads the weights as they are stored:
 * read them into memory of tcbrt_weights_alloc then, and pack nothing.)
 *
 * Nothing is measured unless tcbrt_tune is called.  A program that has its own kernels can ask for the geometry
 * alone: tcbrt_lookup.  Several calls as one: tcbrt_chain.h.
 *
 * With TCBRT_VERBOSE=1 in the environment when the results are opened, each plan
 * that is made or loaded with them writes one line to standard error:
 *
 *     tcbrt: plan q4k_matvec 1x4096x14336 contract=q8 device=cpu threads=2 source=exact
 *     expected_ns=1042331 speedup=1.31 geometry=macro=... variant=q4k_matvec_...
 *     reason="measured at this shape on this device"
 *
 * (here in three), by a single write; nothing is written by lookups or executions.  A process that runs with another
 * user's rights (setuid) ignores the variable.
 *
 * Opening reads the whole database.  Half a second for 100,000 entries becomes a millisecond with a snapshot
 * ("tuning.db.snapshot"), a file that opening leaves for the next time.  A snapshot is a cache.  It is used only if
 * it was made of the database in its present state, by this library, on this host; a stale or damaged one is made
 * again.  It may be deleted at any time.  No snapshot is kept of fewer than 256 entries, or of a database that is
 * just being written.  If the database's folder is not writable, the snapshot is kept in $XDG_CACHE_HOME/tcbtune (or
 * ~/.cache/tcbtune).
 *
 * Lookups on a CPU read no file, allocate nothing and take no lock.  For a GPU, the first lookup that meets an entry
 * generates its kernel once, to see whether it is still the one that was measured; this allocates and takes a few
 * milliseconds, and a fall-back may meet up to eight entries.  The outcome is written into the snapshot when the
 * struct tcbrt is closed.
 *
 * A lookup of a tuned shape takes tens of nanoseconds, the first one of each entry a few microseconds.  A lookup of
 * any other shape falls back, in a few microseconds, and says to what and why (see enum tcbrt_source).  The answer
 * is never a geometry that the stored measurements call worse than the op's default. Entries that were measured with
 * another version of a kernel than the one in this library are stale: they answer only where their gain was large
 * (EARLIER).
 *
 * Threads.  Any number of threads may use one struct tcbrt at once, as long as none closes it.  After fork(), the
 * child may use everything that its parent made, except threads (see tcbrt_pool_create) and CUDA, which do not
 * survive it.
 *
 * Stacks.  A thread that calls needs 128 KiB of stack.  Kernels for GPUs are written (by tcbrt_plan_create,
 * tcbrt_plan_load and the lookups that compare one) in a thread of the library's own for that moment, which has 8 MiB,
 * where the caller's has fewer than 2 MiB left or is not one of the thread library's making.
 *
 * Linking.  CMake: find_package(tcbrt) and tcbrt::tcbrt (or tcbrt::static); otherwise `pkg-config --cflags --libs
 * tcbrt` (with --static for libtcbrt.a).
 */
#ifndef TCBRT_H
#define TCBRT_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define TCBRT_API __attribute__((visibility("default")))
#else
#define TCBRT_API
#endif

/*
 * Version
 *
 * Before 1.0 the structs below may change with the minor version; if they do, the library gets another name
 * (SOVERSION).  0.2 has the structs and the name of 0.1.  Within one minor version, functions and codes are only added,
 * and structs grow only into their reserved words.  The caller sets the reserved words of the structs that it fills to
 * zero, and zero keeps the old meaning; the library sets those of the structs that it fills.  struct tcbrt_tile and
 * struct tcbrt_gpu_arguments have no reserved words and do not change.  Opaque structs may change at any time.
 */
#define TCBRT_VERSION_MAJOR 0
#define TCBRT_VERSION_MINOR 2
#define TCBRT_VERSION_PATCH 0
#define TCBRT_VERSION (TCBRT_VERSION_MAJOR * 10000 + TCBRT_VERSION_MINOR * 100 + TCBRT_VERSION_PATCH)

/* TCBRT_VERSION of the library that is linked; compare with the macro, which is that of this header. */
TCBRT_API int tcbrt_version(void);

/*
 * Errors
 *
 * The numbers are pinned; new codes may be added.
 */
enum tcbrt_code {
	TCBRT_OK = 0,
	TCBRT_E_FAILED = 1,    /* anything else; the message says what */
	TCBRT_E_USAGE = 2,     /* NULL for a pointer; a query that no database could answer: no op, empty shape,
				* unknown contract */
	TCBRT_E_NOT_FOUND = 3, /* no such database; no such op in this library, or no kernel of it for the query */
	TCBRT_E_NOMEM = 6,
	TCBRT_E_IO = 7,           /* the file cannot be read */
	TCBRT_E_FORMAT = 8,       /* not a tuning database, or a damaged one */
	TCBRT_E_OVERFLOW = 9,     /* a shape that is too large */
	TCBRT_E_UNSUPPORTED = 11, /* a device that this host does not have */
	TCBRT_E_BUSY = 12,        /* another process kept the database locked */
	TCBRT_E_VERSION = 13      /* the database has another schema than this library knows */
};

/* What went wrong and what to do about it, in one line. */
struct tcbrt_error {
	int code;
	char message[512];
	size_t reserved[2];
};

/*
 * Simple API
 */

/* The loaded tuning results of one database. */
struct tcbrt;

/*
 * Loads the database at PATH, and no other.  NULL loads two: the user's database, and the system's below it.  The
 * user's is the file named by the environment variable TCBTUNE_DB, else $XDG_DATA_HOME/tcbtune/tuning.db, else
 * ~/.local/share/tcbtune/tuning.db.  The system's is only read: the file named by TCBTUNE_SYSTEM_DB (empty: none), else
 * share/tcbtune/system.db of the prefix that the library (or the program that it is linked into) was installed to,
 * which may have been moved, else of the prefix that it was built for.  One of the two may be missing.  A usable entry
 * of the user's goes before one of the system's with the same source.  If the system's database cannot be read, it is
 * left out, and the reason of a DEFAULT says so.  Rows that cannot be read are left out, see tcbrt_count.  On failure
 * *OUT is NULL and ERR (which may be NULL) is filled.
 */
TCBRT_API int tcbrt_open(const char *path, struct tcbrt **out, struct tcbrt_error *err);

/* A struct tcbrt without any entries: every lookup answers with the op's default, as where there is no database. */
TCBRT_API int tcbrt_open_empty(struct tcbrt **out, struct tcbrt_error *err);

/* NULL is fine. */
TCBRT_API void tcbrt_close(struct tcbrt *rt);

/* The activation type that a kernel may use inside.  Results of different contracts are never exchanged. */
enum tcbrt_contract {
	TCBRT_CONTRACT_DEFAULT = 0, /* the op's own */
	TCBRT_CONTRACT_F32 = 1, /* MatVecs of quantised weights: activations up to 2^100 (1.2e30); beyond that a result
				 * may be infinite or NaN although it is small, or its weights are zeros */
	TCBRT_CONTRACT_F16 = 2,
	TCBRT_CONTRACT_Q8 = 3, /* activations quantised to 8 bits on the fly */
	/* The fastest of all that are at least as exact as the op's own, f16 or q8 (f32 before f16 before q8) and have
	 * the same operands; tuning.contract says which.  With query.geometry: the one named.  docs/whole-models.md */
	TCBRT_CONTRACT_AUTO = 4,
	TCBRT_CONTRACT_AUTO_F16 = 6,
	TCBRT_CONTRACT_AUTO_Q8 = 7
};

/* What the caches hold when the kernel is called: weights that were last used long ago, or just now. */
enum tcbrt_state { TCBRT_COLD = 0, TCBRT_HOT = 1 };

struct tcbrt_wgpu_adapter; /* tcbrt_wgpu.h */
#define TCBRT_LAYOUT_ANY_M "any-m"

/* What is asked for.  Set the rest to zero: it means the usual. */
struct tcbrt_query {
	const char *op;     /* "q4k_matvec" */
	const char *device; /* NULL or "cpu": this host; "cpu:avx2": this host, restricted to that family and
			     * scalar; a GPU, attached or not: "sm_90:4f7512987695c574", its kind and key, as
			     * tcbrt_gpu_device tells them; "sm_90": any of that kind; likewise of WebGPU
			     * "wgpu-nvidia:2c1f0f3bd2d52e4e" as tcbrt_wgpu_device tells it, "wgpu-nvidia", and
			     * "wgpu-portable": what runs on every device of WebGPU */
	/* 0: as many as there are cores that this process may use (when tcbrt_open was called), or another number where
	 * that was measured to be faster at this very shape; at most 1024; a GPU has none */
	unsigned threads;
	enum tcbrt_contract contract;
	enum tcbrt_state state;
	size_t m, n, k; /* as for tcbtune's --shape; k is 0 for row ops such as softmax */
	/* Of tcbrt_plan_create: the weights are packed already, in this layout (tcbrt_plan_info.layout of another plan
	 * of the same weight format, n and k): only kernels that read it are planned.  TCBRT_LAYOUT_ANY_M, for CPUs:
	 * the one in which weights serve any m, of the format's MatVec, matmul and products of experts.  NULL: any. */
	const char *layout;
	const char *words; /* "h32/8,b4" of attention, "e128/8" of experts, "bits" (docs/bits.md); NULL: none */
	/* This geometry and no other, whatever is stored: its text as tcbtune and struct tcbrt_tuning print it, for A/B
	 * tests in the program itself.  It must be legal for the shape and device; else TCBRT_E_USAGE, and the message
	 * names the constraint that it breaks and the nearest legal change.  With threads == 0 the geometry's own
	 * number of threads.  NULL: the tuned one. */
	const char *geometry;
	/* Of WebGPU: the device that will run it.  Answers are within its limits, and with device NULL they are for it.
	 * NULL: as devices of query.device usually are. */
	const struct tcbrt_wgpu_adapter *wgpu;
	size_t reserved[1]; /* zeros */
};

/*
 * Where a tuning comes from, best first.
 *
 * EXACT: the shape was tuned on this device (same processor and number of threads; a GPU of the same key), and its
 * measurements prove the winner at least as fast as the default.  If fewer than 20 candidates were tried, the default
 * must also still be the one that was measured beside them.
 *
 * NEAREST: another shape was tuned.  Among the shapes whose m, n and k are each within a factor of 4, the one nearest
 * in log2(m), log2(n), log2(k) is taken; of attention and rope_append the number of KV heads of all sequences is such a
 * size in place of k, and k (the size of a head), query heads for each KV head and all other words are the same; of
 * mixtures the numbers of experts are, however tokens spread over them.  The words add, bias, eps, apart, gelu, xTYPE
 * and yTYPE change no shape.  In the hot state both must fit the same caches.  A small gain may be a loss elsewhere. So
 * the winner must be the best of at least 20 candidates, and must be measured against the default of today; the lower
 * end of the 95 % interval of its speedup over it must be at least 1.02, and 0.05 more for each doubling between the
 * shapes. Tiles that were as large as that shape's m, n or k become as large as this one's.  The result must satisfy
 * every constraint of the op at this shape.
 *
 * ARCHITECTURE: the same rules, for this shape too, with results from another machine of the same architecture: another
 * processor, or a GPU of the same kind and another key.  The reason names it ("measured on NVIDIA H200 (key
 * 4f7512987695c574)").  A query for "sm_90" names no GPU, so this is the best answer that it can get.
 *
 * DEFAULT: the op's default geometry, by a rule derived from measurements where this build has one.  Also where the
 * shape was tuned and its own measurements do not prove the winner faster than the default.
 *
 * MODELLED: the shape was ranked by a model for this device or for a GPU of its kind (which the reason names), was
 * never measured, and the model expects no loss.  It replaces the op's default, but not a default by rule.
 *
 * PROVISIONAL: in place of EXACT, the best so far of a sweep that has not finished, or was stopped before it proved its
 * winner.
 *
 * ASKED: the geometry of query.geometry.
 *
 * EARLIER: the shape was measured on this device with another version of its kernel than the one in this library: an
 * older one, or one that another compiler built.  It answers where its gain over what is the default today was large
 * and proven: at least 1.2 x, the lower bound.  Sweeping again makes it EXACT.
 *
 * A result for fewer threads than the query asks for says nothing about that number: it is neither EXACT nor NEAREST.
 *
 * Other stale entries are never used, nor is a geometry that breaks a constraint of the op: a database may be damaged,
 * or come from anybody.  Modelled and provisional entries answer for their own shape only.
 */
enum tcbrt_source {
	TCBRT_SOURCE_NONE = 0, /* the lookup failed */
	TCBRT_SOURCE_EXACT = 1,
	TCBRT_SOURCE_NEAREST = 2,
	TCBRT_SOURCE_ARCHITECTURE = 3,
	TCBRT_SOURCE_DEFAULT = 4,
	TCBRT_SOURCE_MODELLED = 5,
	TCBRT_SOURCE_PROVISIONAL = 6,
	TCBRT_SOURCE_ASKED = 7,
	TCBRT_SOURCE_EARLIER = 8
};

/* How reliable the stored result behind an answer is.  THIN: too little of the space was tried for the gain that was
 * still expected.  NOISY: the interval of its speedup or time is too wide.  The same sweep run again repairs both. */
enum tcbrt_verdict {
	TCBRT_VERDICT_NONE = 0, /* nothing stored is behind the answer */
	TCBRT_VERDICT_TUNED = 1,
	TCBRT_VERDICT_THIN = 2,
	TCBRT_VERDICT_NOISY = 3,
	TCBRT_VERDICT_PROVISIONAL = 4,
	TCBRT_VERDICT_MODELLED = 5
};

enum { TCBRT_GEOMETRY_MAX = 1024, TCBRT_VARIANT_MAX = 64, TCBRT_REASON_MAX = 512, TCBRT_KNOBS_MAX = 64 };

struct tcbrt_tile {
	size_t m, n, k;
};

/* The answer.  It holds no pointers: copy it, keep it after tcbrt_close. */
struct tcbrt_tuning {
	enum tcbrt_source source;
	int modelled;     /* ranked by a model, never measured */
	int provisional;  /* measured, not proven: the best so far of a sweep */
	unsigned threads; /* threads to run with; with query.threads == 0 the choice that was made */
	struct tcbrt_tile macro, midi, micro; /* one core's share; one task, for the L2 cache; registers */
	int knobs[TCBRT_KNOBS_MAX];           /* read them with tcbrt_knob() */
	/* EXACT, PROVISIONAL, EARLIER and (by the model) MODELLED only, else 0: time of one call in nanoseconds (on a
	 * GPU with TCBRT_GPU_OVERLAP); the default's time over it, and that ratio's lower 95 % bound */
	double expected_ns, speedup, speedup_lo;
	size_t tuned_m, tuned_n, tuned_k;  /* the shape that was measured; 0 for DEFAULT */
	char geometry[TCBRT_GEOMETRY_MAX]; /* canonical text, as `tcbtune` prints it */
	char variant[TCBRT_VARIANT_MAX];   /* the compiled kernel of tcbtune that it names */
	char reason[TCBRT_REASON_MAX];     /* why this source, in one line; on failure what to do */
	enum tcbrt_verdict verdict;        /* on the result that was found; of NEAREST the other shape's */
	/* of attention and rope_append: of the shape that was measured; its other words are the query's */
	unsigned tuned_query_heads, tuned_kv_heads, tuned_sequences;
	/* On a GPU, where the kernel can overlap with what is before it (pdl=1): time of one call of the same geometry
	 * without that, in nanoseconds, as the same sweeps measured it.  Over expected_ns it is what TCBRT_GPU_OVERLAP
	 * is worth.  0: unknown (pdl=0 was not tried with this geometry, or expected_ns is 0, too). */
	double plain_ns;
	enum tcbrt_contract contract; /* F32, F16 or Q8, also where the query has another */
	unsigned reserved[1];
};

/*
 * Fills OUT.  Returns TCBRT_OK for DEFAULT, too.  Another code means that the query itself cannot be answered (NULL, a
 * query of zeros, unknown op, illegal shape, a shape that no kernel of this contract computes, a device that this host
 * does not have); OUT->reason says why.
 */
TCBRT_API int tcbrt_lookup(const struct tcbrt *rt, const struct tcbrt_query *query, struct tcbrt_tuning *out);

/* Value of a knob or of a parameter of the op's own: a number, or a word's number (tcbrt_knob_word has a knob's word,
 * the geometry's text also those of parameters).  -1: the op does not use it, or there is none of that name.  NAME:
 * "isa", "layout", "threads", "sched", "unroll", "prefetch", ... as in the geometry's text. */
TCBRT_API int tcbrt_knob(const struct tcbrt_tuning *tuning, const char *name);
/* "avx2" for "isa", "native" for "layout"; NULL if the knob is a number or not set. */
TCBRT_API const char *tcbrt_knob_word(const struct tcbrt_tuning *tuning, const char *name);

/* "exact", "nearest", "architecture", "default", "modelled", "provisional", "asked", "earlier", "none" */
TCBRT_API const char *tcbrt_source_text(enum tcbrt_source source);
/* "tuned", "thin", "noisy", "provisional", "modelled", "none" */
TCBRT_API const char *tcbrt_verdict_text(enum tcbrt_verdict verdict);

/*
 * Plans
 *
 * A plan is one kernel, prepared for one problem on one device.  Making it looks the tuning up (tcbrt_lookup) and
 * measures nothing.  A plan never changes: any number of threads may execute the same plan at once, each with its own
 * outputs and workspace.  The struct tcbrt that it was made with may be closed.
 */
struct tcbrt_plan;

enum tcbrt_role { TCBRT_ROLE_INPUT = 0, TCBRT_ROLE_WEIGHTS = 1, TCBRT_ROLE_OUTPUT = 2 };

/*
 * One operand, a row-major matrix.  Their order:
 *
 *     quantised products (q4k_matvec, ...)   weights N x K, x M x K, y M x N(, norm K)(, added M x N, not y)(, bias N)
 *     of experts (q4k_experts_matmul, ...)   weights, x, y, ids(, bias); of experts_swiglu gate, x, y, ids, up(, biases
 *                                            of both); of experts_sum weights, x, y, ids, factors(, bias)
 *     matmul_f32, _f16, _bf16                a M x K, b K x N, c M x N
 *     rmsnorm, layernorm                     x M x N, w N, (layernorm: b N,) y M x N(, added, sum M x N)
 *     *_get_rows; topk                       weights N x K, ids M (i32), y M x K; x M x N, values, columns (i32) M x K
 *     softmax; reduce2d_sum...; route_f32    x M x N, y M x N; one number; scores M x N, ids M x K, factors M x K
 *     attention_decode_*, attention_prefill_* q, k(, v), lengths, out(, pages)(, sinks)(, slopes)(, prefix)
 *     rope_append_*                          qkv, rotation, lengths, q, k, v(, pages)(, q_norm, k_norm)(, positions,
 *                                            sections)(, new_k, new_v)
 *     delta_*, ssd_*                         qkv, g, beta, y, states_out, states, key_heads, counts, slots(, skip)
 *     short_conv_*                           x, weights, bias, y, states_out, states, counts, slots
 * Attention: q and out have a row for each query token, k and v for each KV token of the cache, of all heads side by
 * side.  lengths (i32) are the KV tokens that each sequence has at the time of the call, from 0 to N: one plan serves a
 * cache as it grows.  Queries are the last M of these tokens.  With the word causal each sees its own token and those
 * before it, with w1024 1024 of these at most, otherwise all.  pages (i32), with the word p16, has
 * where each 16 tokens of a sequence are.  examples/attention.c.
 * rope_append has three outputs, each where the caller wants it: q has a row for each new token, k and v are the caches
 * as attention reads them, of which the new tokens' rows are written and the others left as they are.  rotation has
 * cos and sin of the angles, N x K (rot64: N x 64), of whatever frequencies and factors; the other words: docs/ops.md.
 *
 * Experts: with words e128/8 weights are 128 matrices N x K one after another, and ids (i32, M x 8) say which of them
 * each token uses.  y has a row for each token and expert that it uses; so has x with the word each and of experts_sum,
 * else one for each token; y of experts_sum has one for each, the sum of its products times factors (f32, M x 8).  For
 * other ids nothing is read, and their products count as zeros.  With bias, biases (f32, 128 x N) are added; with oai
 * gate and up are joined as in gpt-oss; with shared1 weights are 129 matrices, ids and factors M x 9.
 * An op may have several outputs, and several operands of weights, each packed by itself.
 */
struct tcbrt_operand {
	char name[16]; /* "x", "weights", "y" */
	/* "f32", "f16", "bf16", "i32"; "blocks": of the op's weight format, as in a GGUF file; a KV cache's: Q8_0, 34
	 * bytes for 32 columns */
	char type[8];
	enum tcbrt_role role;
	size_t rows, columns; /* in elements */
	size_t bytes;         /* as the caller has it */
	size_t alignment;     /* of its address, in bytes; of packed weights TCBRT_ALIGNMENT */
	size_t packed_bytes;  /* as the kernel reads it, in place of bytes; 0: as it is stored (info.packed_bytes) */
	size_t stride;        /* elements from a row to the next, where it is not columns (tcbrt_chain.h); else 0 */
};

enum {
	TCBRT_OPERANDS_MAX = 12,     /* that a plan has */
	TCBRT_INFO_OPERANDS_MAX = 6, /* that struct tcbrt_plan_info tells */
	TCBRT_ALIGNMENT = 256,       /* of packed weights and workspaces */
	TCBRT_LAYOUT_MAX = 32
};

struct tcbrt_plan_info {
	struct tcbrt_tuning tuning; /* which kernel and geometry, where they come from and why */
	size_t operand_count;       /* all of them, in the order in which tcbrt_execute takes them */
	/* The first ones; tcbrt_plan_operand tells all.  Of ops that 0.2 has there are no more. */
	struct tcbrt_operand operand[TCBRT_INFO_OPERANDS_MAX];
	int weights, output; /* index of the first operand of weights (-1: there are none) and the first output */
	/* Of those weights as the kernel reads them, in place of operand[weights].bytes; 0: as they are stored. */
	size_t packed_bytes;
	char layout[TCBRT_LAYOUT_MAX]; /* "r16"; "native": as they are stored */
	size_t pack_rows;              /* tcbrt_pack_rows takes multiples of so many rows; 0: all rows at once only */
	size_t workspace_bytes;        /* scratch of one execution at a time */
	unsigned threads;              /* that it was tuned for; 0 for a GPU */
	int is_gpu;
	/* Of a GPU's launches, how many TCBRT_GPU_OVERLAP lets begin early; 0: it changes nothing.  What that is worth:
	 * tuning.plain_ns. */
	size_t overlap_launches;
	size_t reserved[3];
};

/* Makes the plan for QUERY.  query.m is the number of tokens (rows); plans of several m may share packed weights: give
 * the layout of the first in query.layout.  On failure *OUT is NULL, and ERR (which may be NULL) says why.  For a GPU
 * ("sm_90"), which need not be there, it writes the kernel and assembles it where nvJitLink or ptxas is found (tens of
 * milliseconds). */
TCBRT_API int tcbrt_plan_create(const struct tcbrt *rt, const struct tcbrt_query *query, struct tcbrt_plan **out,
				struct tcbrt_error *err);
/* NULL is fine. */
TCBRT_API void tcbrt_plan_destroy(struct tcbrt_plan *plan);
TCBRT_API int tcbrt_plan_info(const struct tcbrt_plan *plan, struct tcbrt_plan_info *out);
/* Operand INDEX of info.operand_count.  TCBRT_E_USAGE: there are not so many. */
TCBRT_API int tcbrt_plan_operand(const struct tcbrt_plan *plan, size_t index, struct tcbrt_operand *out);

/*
 * Packs WEIGHTS, as they are stored, into info.packed_bytes at PACKED, an address that is a multiple of
 * TCBRT_ALIGNMENT. Both are in host memory; for a GPU, copy the result to the device.  If packed_bytes is 0 there is
 * nothing to pack (TCBRT_E_USAGE).
 *
 * In chunks: ROWS rows from FIRST on, both multiples of info.pack_rows but at the end; WEIGHTS begins with row FIRST,
 * PACKED is the whole.  Chunks may be packed in any order and by several threads at once.
 */
TCBRT_API int tcbrt_pack(const struct tcbrt_plan *plan, const void *weights, void *packed);
TCBRT_API int tcbrt_pack_rows(const struct tcbrt_plan *plan, size_t first, size_t rows, const void *weights,
			      void *packed);
/* The same of operand INDEX of the plan, which is packed (tcbrt_plan_operand), where there are several. */
TCBRT_API int tcbrt_pack_operand(const struct tcbrt_plan *plan, size_t index, const void *weights, void *packed);
TCBRT_API int tcbrt_unpack_operand(const struct tcbrt_plan *plan, size_t index, const void *packed, void *weights);
/* The weights as they were stored, byte for byte; all of them, or chunks of rows, which go to WEIGHTS. */
TCBRT_API int tcbrt_unpack(const struct tcbrt_plan *plan, const void *packed, void *weights);
TCBRT_API int tcbrt_unpack_rows(const struct tcbrt_plan *plan, size_t first, size_t rows, const void *packed,
				void *weights);

/* Row ROW of PLAN's weights as OUT's K values, dequantised as ggml does, from WEIGHTS as the plan reads them, so that a
 * table which is both looked up and multiplied with is kept once.  Any threads; allocates nothing.  TCBRT_E_USAGE: no
 * such row, no weights in blocks, or a GPU's.  TCBRT_E_UNSUPPORTED: packed otherwise than by TCBRT_LAYOUT_ANY_M. */
TCBRT_API int tcbrt_read_row(const struct tcbrt_plan *plan, size_t row, const void *weights, float *out);

/*
 * BYTES of zeros for weights, packed or as they are stored, at a multiple of TCBRT_ALIGNMENT; free it with
 * tcbrt_weights_free.  0 bytes are TCBRT_E_USAGE.
 *
 * A product of few tokens reads its weights once per call, so fast that finding the page of each address takes a good
 * part of the time where pages have 4 KiB.  So this asks the kernel for pages of 2 MiB (madvise), as far as BYTES fill
 * them, and touches them, which is when the kernel gives them.  *HUGE_OUT (which may be NULL) gets how many of the
 * bytes lie in such pages: 0 where transparent huge pages are "never" (/sys/kernel/mm/transparent_hugepage/enabled),
 * less than BYTES where memory is fragmented.  The kernel may have to move other pages first; where a page takes more
 * than TCBRT_HUGE_PAGE_MS of the thread's processor time on average, the rest is left to the system's default, so that
 * the call takes at most about 1 s per GiB.  Pages are taken on the NUMA node of the calling thread, or by its memory
 * policy (numactl --interleave).
 */
enum { TCBRT_HUGE_PAGE_MS = 2 };
TCBRT_API int tcbrt_weights_alloc(size_t bytes, void **out, size_t *huge_out, struct tcbrt_error *err);
/* NULL is fine. */
TCBRT_API void tcbrt_weights_free(void *weights);

/* Prepares info.workspace_bytes at WORKSPACE, an address that is a multiple of TCBRT_ALIGNMENT, for executions of PLAN
 * on a CPU, one after another.  Call it once; it is not needed if workspace_bytes is 0.  The workspace then serves any
 * other plan, too, that needs no more bytes. */
TCBRT_API int tcbrt_workspace_init(const struct tcbrt_plan *plan, void *workspace);

/*
 * Pools
 *
 * 1 to 1024 threads that execute: the caller, whichever thread that is, and threads - 1 workers.  A pool is for one
 * call at a time.  In a child of fork() the workers are not there: the caller works alone, and destroys the pool all
 * the same.
 *
 * Workers are pinned to processors of the affinity mask that the creating thread has, one per core, as `tcbtune bench`
 * pins its threads: a core before the second hardware thread of any, powerful cores first; never outside of the mask.
 * So create the pool before you pin the thread that does it.  Where the mask has fewer processors than the pool has
 * threads nothing is pinned.  The caller's affinity is not changed: a worker that is found on the caller's core moves
 * to the one that is left free.  Several programs that share a machine should each have processors of their own
 * (taskset, or a control group's cpuset); where they cannot, TCBRT_POOL_UNPINNED leaves the placing to the system.
 *
 * Work is claimed, so a worker that others keep from its processor is not waited for unless it is in the middle of a
 * piece.  Workers that have nothing to do spin for some 30 us, offer their processor to others for 0.2 ms, then sleep.
 */
struct tcbrt_pool;
enum { TCBRT_POOL_UNPINNED = 1 };
TCBRT_API int tcbrt_pool_create(unsigned threads, struct tcbrt_pool **out, struct tcbrt_error *err);
/* FLAGS: 0, or TCBRT_POOL_UNPINNED. */
TCBRT_API int tcbrt_pool_create_flags(unsigned threads, unsigned flags, struct tcbrt_pool **out,
				      struct tcbrt_error *err);
TCBRT_API void tcbrt_pool_destroy(struct tcbrt_pool *pool); /* NULL is fine */
/* How many threads, the caller included; 1 for NULL. */
TCBRT_API unsigned tcbrt_pool_threads(const struct tcbrt_pool *pool);

/*
 * The caller's own work on the pool's threads, so that a program needs no second pool beside it: FN once for each TASK
 * from 0 to TASKS - 1, each claimed by a thread that has nothing else to do, in order; returns when all are done, and
 * what they wrote is visible then.  THREAD, 0 to the pool's number - 1, is the one that runs it: 0 is the caller; no
 * two tasks run on one THREAD at once, so it may number scratch memory.  A claim costs some tens of nanoseconds, so a
 * task should take some microseconds.  FN must not use the same pool.  POOL: NULL for the caller alone.
 */
typedef void tcbrt_task(void *ctx, size_t task, unsigned thread);
TCBRT_API int tcbrt_pool_run(struct tcbrt_pool *pool, size_t tasks, tcbrt_task *fn, void *ctx);

/*
 * Runs PLAN on a CPU: OPERAND in the order of info.operand, the packed weights in place of the weights.  POOL: whose
 * threads share the work, as far as the plan has use for them; NULL: the caller alone.  TCBRT_E_USAGE: what
 * tcbrt_execute_check says.
 *
 * No allocation and no lock.  System calls are made only to wake workers of POOL that sleep, to move a worker off the
 * core that the caller has come to, and, by a caller that waits for a worker, to offer the processor to others (after
 * some 30 us) and to sleep (after 1 ms).  With POOL NULL there are none.
 *
 * What a call changes in a thread, the caller's or a worker's: nothing that outlasts it.
 *   - Affinity, priority, signal masks, signal handlers and alternate stacks are not touched.  Workers are made with
 *     the creating thread's signal mask.
 *   - MXCSR (FPCR): kernels compute in the rounding mode that they find.  Some count subnormal numbers as zeros while
 *     they run; the caller's modes are as before when the call returns, the exception flags are not.
 *   - Tiles of AMX: a thread that has a tile configuration has the same one afterwards, but the tiles hold zeros, as
 *     they are the callee's to use (System V ABI); one that has none is left in the initial state.
 *     The process asks Linux for permission to use tiles when the first plan with AMX kernels is made, and not before:
 *     from then on an alternate signal stack (sigaltstack) must have room for 8 KiB of tiles more (AT_MINSIGSTKSZ).
 *     Where it is refused, since a thread has a smaller one already or a seccomp filter says no, plans have the
 *     default without AMX, and their reason says so; a geometry with isa=amx that is asked for is then
 *     TCBRT_E_UNSUPPORTED, as is a saved plan with AMX kernels.
 *   - Upper halves of vector registers are zeroed, as by any function that uses AVX.
 */
TCBRT_API int tcbrt_execute(const struct tcbrt_plan *plan, void *const operand[], void *workspace,
			    struct tcbrt_pool *pool);

/*
 * The same with the caller's threads: each of THREADS threads calls it with the same arguments, except THREAD = 0, 1,
 * ... THREADS - 1, and returns when all have finished.  They wait for each other by spinning, so each should have its
 * own core: pin them, each to another core of the process's mask (pthread_setaffinity_np), before the first call;
 * threads that the system places come to share cores, and a call then takes several times as long.  Any number of
 * threads works; the plan's number is the fastest.  No allocation, no lock, and no system call except sched_yield in a
 * thread that has waited for some 30 us.
 */
TCBRT_API int tcbrt_execute_thread(const struct tcbrt_plan *plan, void *const operand[], void *workspace,
				   unsigned thread, unsigned threads);

/* What is wrong with the arguments of tcbrt_execute or tcbrt_execute_thread, in words: which operand, by number and
 * name, is NULL or not aligned.  TCBRT_OK: nothing.  Sizes cannot be checked. */
TCBRT_API int tcbrt_execute_check(const struct tcbrt_plan *plan, void *const operand[], const void *workspace,
				  struct tcbrt_error *err);

/*
 * Saved plans
 *
 * A plan as bytes: which of this library's kernels it is, for which problem and device; no machine code.
 * TCBRT_E_UNSUPPORTED where it was made for another device (for a CPU: another kind of machine), TCBRT_E_VERSION where
 * the kernel has changed since, TCBRT_E_FORMAT where the bytes are damaged: plan again then.  Loading a GPU's plan
 * writes its kernel again, compares it, and assembles it, as tcbrt_plan_create does; nothing is looked up.
 *
 * The bytes may come from anybody.  Whatever they are, a loaded plan runs a kernel of this library with a geometry that
 * is legal for the problem that info describes, so look at info where the bytes are not your own: they choose problem,
 * geometry and threads, and so the speed, and what tuning.source and tuning.reason say is theirs.
 */

/* BLOB: CAPACITY bytes, or NULL to learn how many are needed, which *BYTES_OUT gets in any case.  TCBRT_E_OVERFLOW: too
 * few. */
TCBRT_API int tcbrt_plan_save(const struct tcbrt_plan *plan, void *blob, size_t capacity, size_t *bytes_out);
/* RT says what this host is. */
TCBRT_API int tcbrt_plan_load(const struct tcbrt *rt, const void *blob, size_t bytes, struct tcbrt_plan **out,
			      struct tcbrt_error *err);

/*
 * Measuring
 *
 * Sweeps the problem of QUERY, as `tcbtune sweep` does, into the database at PATH (NULL: the default one), within about
 * SECONDS; what was measured before is not measured again.  Candidates may be wrong, hang or fault, so this is done by
 * the program tcbtune in a process of its own: that of the environment variable TCBTUNE, else the one that was
 * installed with this library, else the one in PATH.  Returns when it is done.  Open the database again afterwards;
 * plans that were made before stay as they are.
 *
 * QUERY is one problem of one op, as for tcbrt_lookup: names of families, or words that the op does not take, are
 * errors, before anything is started.  query.device may be "cuda:0", too.  Strings are values, whatever they begin
 * with. query.state, query.layout and query.geometry are not used: both states are measured, any layout and all
 * geometries. TCBRT_OK says that the database has a result of the problem on that device (modelled, for a GPU that is
 * not attached); everything else is an error.  Of WebGPU name the
 * device, "wgpu:0" or as tcbrt_wgpu_device does; query.wgpu alone does not.
 */
TCBRT_API int tcbrt_tune(const char *path, const struct tcbrt_query *query, double seconds, struct tcbrt_error *err);

/*
 * Plans for a GPU
 *
 * The kernels run in the caller's CUDA context and on its stream, through the driver API; the library opens the driver
 * (libcuda.so.1) itself, when one of these functions is first called.  All of it may be captured into a graph.
 *
 *     tcbrt_gpu_device(name, &err);              "sm_90:4f7512987695c574": for query.device
 *     tcbrt_plan_create(rt, &query, &plan, &err);
 *     tcbrt_gpu_load(plan, &gpu, &err);          into the current context
 *     cuMemsetD8(workspace, 0, info.workspace_bytes);   once
 *     tcbrt_gpu_execute(gpu, operand, workspace, stream, TCBRT_GPU_OVERLAP);
 *
 * The last argument is what `tcbtune bench` measures with: without it short kernels wait for each other's launch, which
 * examples/measure_gpu.c measures on your GPU.  It is right in a chain of products and of other kernels on one stream,
 * as an engine has it, where weights were written long before; TCBRT_GPU_OVERLAP says what may not be written just
 * before.
 */

/* The GPU of the calling thread's current context to NAME: its kind and the key that results are stored under, a hash
 * of its model, multiprocessors, memory, caches, clocks and ECC, which alike cards share: "sm_90:4f7512987695c574". */
enum { TCBRT_GPU_NAME_MAX = 32 };
TCBRT_API int tcbrt_gpu_device(char name[TCBRT_GPU_NAME_MAX], struct tcbrt_error *err);

/* A plan whose code is in a context.  PLAN is lent: it must live longer. */
struct tcbrt_gpu;
/* Loads PLAN's code into the calling thread's current context.  TCBRT_E_UNSUPPORTED where it was made for a GPU of
 * another kind or key; a plan for "sm_90" is for any of that kind. */
TCBRT_API int tcbrt_gpu_load(const struct tcbrt_plan *plan, struct tcbrt_gpu **out, struct tcbrt_error *err);
/* With the same context current; nothing of it may be running or in a graph that is launched again.  NULL is fine. */
TCBRT_API void tcbrt_gpu_unload(struct tcbrt_gpu *gpu);

enum {
	/* Kernels that can begin while what is before them in the stream ends do so (programmatic dependent launch).
	 * What is before them may write every operand but those that are read early: those whose role is
	 * TCBRT_ROLE_WEIGHTS, and w and b of norms.  Everything else, KV caches and page tables too, is read and
	 * written after it has ended.  So it is right wherever weights were written long before, and the first
	 * execution behind a kernel that writes weights (unpacks or swaps them) goes without it.  It has no effect on
	 * kernels with pdl=0 (info.overlap_launches is 0), nor behind a copy.  What it is worth: tuning.plain_ns. */
	TCBRT_GPU_OVERLAP = 1
};
/*
 * Queues all launches of the plan on STREAM, a CUstream, with the context current; does not wait.  OPERAND: device
 * addresses in the order of info.operand, the packed weights in place of the weights; WORKSPACE: info.workspace_bytes
 * at a multiple of TCBRT_ALIGNMENT, zeroed before the first execution, of one stream at a time (0 where none is
 * needed). FLAGS: 0, or TCBRT_GPU_OVERLAP.  Any number of threads may call it.  TCBRT_E_FAILED: the driver refused.
 */
TCBRT_API int tcbrt_gpu_execute(const struct tcbrt_gpu *gpu, const unsigned long long operand[],
				unsigned long long workspace, void *stream, unsigned flags);

/*
 * For programs that load and launch with a driver of their own: the code and what to launch.
 */
struct tcbrt_gpu_launch {
	const char *entry;                      /* name of the kernel in the code */
	unsigned grid[3], block[3], cluster[3]; /* cluster: zeros for none */
	unsigned shared_bytes;                  /* dynamic; above 48 KiB the function's attribute must allow it */
	int may_overlap; /* it may be launched with programmatic stream serialization, see TCBRT_GPU_OVERLAP */
	unsigned argument_count;
	size_t reserved[4];
};
enum { TCBRT_LAUNCHES_MAX = 4, TCBRT_ARGUMENTS_MAX = 12 };
struct tcbrt_gpu_code {
	const void *code; /* a cubin, or PTX that ends with NUL; lent by the plan */
	size_t bytes;
	int is_ptx;
	unsigned launch_count; /* all go to one stream, in order */
	struct tcbrt_gpu_launch launch[TCBRT_LAUNCHES_MAX];
	size_t reserved[4];
};
TCBRT_API int tcbrt_gpu_code(const struct tcbrt_plan *plan, struct tcbrt_gpu_code *out);

/* What cuLaunchKernel takes as kernelParams: .pointer.  It leads into the struct itself, which must not be copied. */
struct tcbrt_gpu_arguments {
	void *pointer[TCBRT_ARGUMENTS_MAX];
	unsigned long long storage[96];
};
/* Lays out the arguments of launch INDEX. */
TCBRT_API int tcbrt_gpu_arguments(const struct tcbrt_plan *plan, unsigned index, const unsigned long long operand[],
				  unsigned long long workspace, struct tcbrt_gpu_arguments *out,
				  struct tcbrt_error *err);

/*
 * Advanced API
 */

/* One stored winner, as it is; strings are lent until tcbrt_close. */
struct tcbrt_entry {
	const char *op, *contract, *state; /* "q8"; "cold" */
	const char *device, *device_key, *arch, *model;
	int is_this_host;
	unsigned threads;
	size_t m, n, k;
	const char *geometry, *variant, *signature, *measured_at;
	int modelled, provisional;
	double ns, ns_lo, ns_hi;
	double speedup, speedup_lo, speedup_hi;
	const char *refused;  /* why lookups pass this entry over ("kernel ... changed since"), or NULL */
	const char *database; /* the file that it is from */
	int is_system;        /* which is the system's */
	const char *words;    /* of an attention's shape, "" for other ops; until EACH returns */
	size_t reserved[3];
};

/* Calls EACH for every entry, ordered by op, device and shape, until it returns nonzero; returns what it returned. */
TCBRT_API int tcbrt_each(const struct tcbrt *rt, int (*each)(void *ctx, const struct tcbrt_entry *entry), void *ctx);

/* How many entries there are, and how many of them lookups pass over.  Rows that could not be read count among both;
 * tcbrt_each does not show them. */
TCBRT_API size_t tcbrt_count(const struct tcbrt *rt, size_t *refused_out);

/* How many rows could not be read.  Unlike REFUSED_OUT of tcbrt_count it looks at no entry, and so writes no kernel. */
TCBRT_API size_t tcbrt_unreadable(const struct tcbrt *rt);

#ifdef __cplusplus
}
#endif

#endif
