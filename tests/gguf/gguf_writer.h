/* SPDX-License-Identifier: MIT
 *
 * Writes small GGUF files, good and bad, piece by piece in memory.
 */
#ifndef TCB_TESTS_GGUF_WRITER_H
#define TCB_TESTS_GGUF_WRITER_H

#include <stdint.h>
#include <string.h>

#include "cmocka_all.h"

/* A GGUF file under construction. */
struct writer {
	uint8_t data[8192];
	size_t bytes;
};

static inline void put(struct writer *w, uint64_t value, size_t bytes)
{
	assert_true(w->bytes + bytes <= sizeof w->data);
	for (size_t i = 0; i < bytes; i++)
		w->data[w->bytes++] = (uint8_t)(value >> (8 * i));
}

static inline void put_string(struct writer *w, const char *text)
{
	put(w, strlen(text), 8);
	for (const char *c = text; *c; c++)
		put(w, (uint8_t)*c, 1);
}

static inline void put_header(struct writer *w, uint32_t version, uint64_t tensors, uint64_t values)
{
	*w = (struct writer){ { 0 }, 0 };
	put(w, 0x46554747, 4);
	put(w, version, 4);
	put(w, tensors, 8);
	put(w, values, 8);
}

static inline void put_tensor(struct writer *w, const char *name, unsigned dim_count, const uint64_t *dims,
			      uint32_t type, uint64_t offset)
{
	put_string(w, name);
	put(w, dim_count, 4);
	for (unsigned d = 0; d < dim_count; d++)
		put(w, dims[d], 8);
	put(w, type, 4);
	put(w, offset, 8);
}

static inline void pad(struct writer *w, size_t alignment)
{
	while (w->bytes % alignment)
		put(w, 0, 1);
}

#endif
