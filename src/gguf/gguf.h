/* SPDX-License-Identifier: MIT
 *
 * Reader of GGUF model files, versions 2 and 3 (the format of ggml; see
 * docs/gguf.md in the ggml repository).  The file is mapped, not copied;
 * every length is checked against the file before it is used.
 */
#ifndef TCB_GGUF_GGUF_H
#define TCB_GGUF_GGUF_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct tcb_gguf;

enum { TCB_GGUF_DIMS_MAX = 4 };

/* Strings point into the mapping and are not NUL-terminated. */
struct tcb_gguf_string {
	const char *data;
	size_t length;
};

struct tcb_gguf_tensor {
	struct tcb_gguf_string name;
	uint32_t type;         /* ggml type number */
	const char *type_name; /* as ggml writes it, or "unknown" */
	unsigned dim_count;
	uint64_t dims[TCB_GGUF_DIMS_MAX]; /* dims[0] is the contiguous one: K; dims[1] is N; 1 from dim_count on */
	const void *data;                 /* multiple of general.alignment from the start of the file's data */
	size_t bytes;                     /* 0 for types whose size is not known here */
};

/* GGUF value types, numbered by the format. */
enum tcb_gguf_value_type {
	TCB_GGUF_U8,
	TCB_GGUF_I8,
	TCB_GGUF_U16,
	TCB_GGUF_I16,
	TCB_GGUF_U32,
	TCB_GGUF_I32,
	TCB_GGUF_F32,
	TCB_GGUF_BOOL,
	TCB_GGUF_STRING,
	TCB_GGUF_ARRAY,
	TCB_GGUF_U64,
	TCB_GGUF_I64,
	TCB_GGUF_F64,
	TCB_GGUF_VALUE_TYPE_COUNT
};

struct tcb_gguf_value {
	struct tcb_gguf_string key;
	uint32_t type;      /* enum tcb_gguf_value_type */
	const void *data;   /* little-endian payload in the mapping, unaligned; for arrays the first element.  A string
			     * is its length in 8 bytes, then its characters; a nested array its type in 4 bytes, its
			     * count in 8, then its elements. */
	uint32_t item_type; /* arrays */
	uint64_t count;     /* arrays; 1 otherwise */
};

/* What is known of a ggml tensor type: BLOCK_VALUES values take BLOCK_BYTES bytes. */
struct tcb_gguf_type {
	const char *name;
	uint32_t block_values, block_bytes;
};
const struct tcb_gguf_type *tcb_gguf_type(uint32_t type); /* NULL if unknown */

/* The file must not be cut short while it is open: reading past its new end would fault. */
enum tcb_status tcb_gguf_open(const char *path, struct tcb_gguf **out, struct tcb_error *err);
/* Parses BYTES of DATA that the caller keeps alive and unchanged; for tests and fuzzing. */
enum tcb_status tcb_gguf_parse(const void *data, size_t bytes, struct tcb_gguf **out, struct tcb_error *err);
/* The same where only the tables are wanted: of tensors whose data the file does not hold, as in the first megabytes of
 * a model, data is NULL. */
enum tcb_status tcb_gguf_open_tables(const char *path, struct tcb_gguf **out, struct tcb_error *err);
enum tcb_status tcb_gguf_parse_tables(const void *data, size_t bytes, struct tcb_gguf **out, struct tcb_error *err);
void tcb_gguf_close(struct tcb_gguf *gguf); /* NULL is fine */

uint32_t tcb_gguf_version(const struct tcb_gguf *gguf);
size_t tcb_gguf_tensor_count(const struct tcb_gguf *gguf);
const struct tcb_gguf_tensor *tcb_gguf_tensor(const struct tcb_gguf *gguf, size_t index);
const struct tcb_gguf_tensor *tcb_gguf_find(const struct tcb_gguf *gguf, const char *name); /* NULL if absent */
size_t tcb_gguf_value_count(const struct tcb_gguf *gguf);
const struct tcb_gguf_value *tcb_gguf_value(const struct tcb_gguf *gguf, size_t index);
const struct tcb_gguf_value *tcb_gguf_find_value(const struct tcb_gguf *gguf, const char *key); /* NULL if absent */
/* 1 and the number of an integer value that is not negative; 0 for others. */
int tcb_gguf_value_unsigned(const struct tcb_gguf_value *value, uint64_t *out);
/* The characters of a string value; {NULL, 0} for a value of another type. */
struct tcb_gguf_string tcb_gguf_value_string(const struct tcb_gguf_value *value);
/* Item ITEM of an array, or 0 of what is not one.  1 and the number, of booleans 1 or 0; 0 for others, and beyond the
 * end.  The characters of a string; {NULL, 0} for others. */
int tcb_gguf_value_number(const struct tcb_gguf_value *value, uint64_t item, double *out);
struct tcb_gguf_string tcb_gguf_value_text(const struct tcb_gguf_value *value, uint64_t item);

#endif
