/* SPDX-License-Identifier: MIT
 *
 * Runs a kernel that somebody else wrote on their data: arguments are described
 * in words, checked against the kernel's parameters, laid out, and mapped in the
 * emulator's memory.
 *
 *     tcb_ptx_run_open(kernel, &run, err);
 *     tcb_ptx_run_argument(run, "buf:f32[1024]=random", seed, err);     for each parameter, in order
 *     tcb_ptx_run_argument(run, "u32=1024", seed, err);
 *     tcb_ptx_run_launch(run, &launch, &sink, &counts, err);
 *     ... run->arguments[0].data ...
 *     tcb_ptx_run_close(run);
 *
 * An argument is one of
 *
 *     buf:TYPE[N][:ro]=FILL      device memory: N elements, or NxM; the parameter is its address
 *     tex:TYPE[WxH][:OPTION]...=FILL    a texture object: linear, normalised, wrap, mirror, border, channels=4
 *     TYPE=VALUE                 a scalar
 *     b8[N]=hex:00ff.. | @FILE | zero    a struct by value: its bytes
 *     tmap:BUF:TYPE[WxH]:box=64x8[:swizzle=128][:nan]    a tensor map of the buffer that is argument number BUF
 *     tmap:TYPE[WxH]:box=64x8[:...][:ro]=FILL            a tensor map of memory that no other argument has
 *
 * FILL is zero, random, random:LO:HI, iota (0, 1, 2, ...), a number, or @FILE: raw bytes, or .npy.
 */
#ifndef TCB_PTX_RUN_H
#define TCB_PTX_RUN_H

#include "ptx/emulate/emulate.h"
#include "ptx/ir/tensor_map.h"

enum tcb_ptx_argument_kind { TCB_PTX_ARG_SCALAR, TCB_PTX_ARG_BYTES, TCB_PTX_ARG_BUFFER, TCB_PTX_ARG_TENSOR_MAP };

struct tcb_ptx_argument {
	enum tcb_ptx_argument_kind kind;
	enum tcb_ptx_word type;               /* of an element */
	uint64_t count;                       /* elements */
	uint64_t extent[TCB_PTX_TENSOR_RANK]; /* as they were given, whose product COUNT is */
	unsigned rank;                        /* how many of them */
	int is_read_only;
	uint8_t *data;    /* COUNT elements, owned; NULL: a tensor map of another argument's */
	size_t bytes;     /* of DATA */
	uint64_t address; /* where the kernel sees DATA as device memory; 0: it does not */
	uint8_t map[TCB_PTX_TENSOR_MAP_BYTES];
	struct tcb_ptx_texture texture; /* of a BUFFER: rank 0 when it is none */
	const struct tcb_ptx_symbol *parameter;
};

struct tcb_ptx_run {
	struct tcb_ptx_function *kernel; /* lent, with its module */
	struct tcb_ptx_program *program;
	struct tcb_ptx_memory *memory;
	struct tcb_ptx_argument *arguments;
	unsigned argument_count, parameter_count; /* arguments so far; of the kernel */
};

/* run.c */
/* TCB_E_UNSUPPORTED names the first instruction that cannot be emulated. */
enum tcb_status tcb_ptx_run_open(struct tcb_ptx_function *kernel, struct tcb_ptx_run **out, struct tcb_error *err);
void tcb_ptx_run_close(struct tcb_ptx_run *run);
/* The next parameter's value.  SEED and the parameter's number decide what is random. */
enum tcb_status tcb_ptx_run_argument(struct tcb_ptx_run *run, const char *text, uint64_t seed, struct tcb_error *err);
/* Fills LAUNCH's parameters in and runs it; as tcb_ptx_emulate.  TCB_E_USAGE while parameters have no value. */
enum tcb_status tcb_ptx_run_launch(struct tcb_ptx_run *run, struct tcb_ptx_launch *launch,
				   const struct tcb_ptx_sink *sink, struct tcb_ptx_emulation *out,
				   struct tcb_error *err);
/* The argument that WORD of LENGTH names, by number from 0 or by the parameter's name; NULL: none. */
struct tcb_ptx_argument *tcb_ptx_run_find(const struct tcb_ptx_run *run, const char *word, size_t length);

/* run_value.c: elements as numbers */
int tcb_ptx_is_element(enum tcb_ptx_word type);
double tcb_ptx_element_get(enum tcb_ptx_word type, const uint8_t *at);
/* The element in words: integers with all their digits. */
enum { TCB_PTX_ELEMENT_TEXT = 32 };
void tcb_ptx_element_text(enum tcb_ptx_word type, const uint8_t *at, char out[TCB_PTX_ELEMENT_TEXT]);
/* From a number in words; 0: it is none, or TYPE cannot hold it. */
int tcb_ptx_element_parse(enum tcb_ptx_word type, const char *text, uint8_t *at);
/* DATA of COUNT elements from FILL; PLACE tells errors what it is for. */
enum tcb_status tcb_ptx_fill(const char *fill, enum tcb_ptx_word type, uint64_t count, uint64_t seed, uint8_t *data,
			     struct tcb_error *err);
/* How RESULT differs from WANTED: elements that are neither equal nor both NaN nor within TOLERANCE * (1 + |wanted|).
 */
uint64_t tcb_ptx_compare(enum tcb_ptx_word type, uint64_t count, const uint8_t *result, const uint8_t *wanted,
			 double tolerance, uint64_t *first_out);

/* run_file.c: raw bytes, or NumPy's .npy of the same type in C's order */
enum tcb_status tcb_ptx_elements_read(const char *path, enum tcb_ptx_word type, uint64_t count, uint8_t *data,
				      struct tcb_error *err);
/* What stands in a .npy before the elements: LENGTH_OUT bytes at OUT. */
enum { TCB_PTX_NPY_MAX = 256 };
void tcb_ptx_npy_head(const struct tcb_ptx_argument *argument, char out[TCB_PTX_NPY_MAX], size_t *length_out);

#endif
