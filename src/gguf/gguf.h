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
	const char *type_name; /* "Q4_K", or "unknown" */
	unsigned dim_count;
	uint64_t dims[TCB_GGUF_DIMS_MAX]; /* dims[0] is the contiguous one: K; dims[1] is N */
	const void *data;
	size_t bytes; /* 0 for types whose size is not known here */
};

struct tcb_gguf_value {
	struct tcb_gguf_string key;
	uint32_t type;      /* GGUF value type */
	const void *data;   /* little-endian payload in the mapping; for arrays the first element */
	uint32_t item_type; /* arrays */
	uint64_t count;     /* arrays; 1 otherwise */
};

enum tcb_status tcb_gguf_open(const char *path, struct tcb_gguf **out, struct tcb_error *err);
/* Parses BYTES of DATA that the caller keeps alive and unchanged; for tests and fuzzing. */
enum tcb_status tcb_gguf_parse(const void *data, size_t bytes, struct tcb_gguf **out, struct tcb_error *err);
void tcb_gguf_close(struct tcb_gguf *gguf);

uint32_t tcb_gguf_version(const struct tcb_gguf *gguf);
size_t tcb_gguf_tensor_count(const struct tcb_gguf *gguf);
const struct tcb_gguf_tensor *tcb_gguf_tensor(const struct tcb_gguf *gguf, size_t index);
const struct tcb_gguf_tensor *tcb_gguf_find(const struct tcb_gguf *gguf, const char *name); /* NULL if absent */
size_t tcb_gguf_value_count(const struct tcb_gguf *gguf);
const struct tcb_gguf_value *tcb_gguf_value(const struct tcb_gguf *gguf, size_t index);

#endif
