/* SPDX-License-Identifier: MIT
 *
 * Layouts by marked memory (probe.h).
 */
#include "probe.h"

#include <string.h>

#include "host.h"

enum { WORDS = 96, BYTES = WORDS * sizeof(void *), UNTOUCHED = 0xA5 };

/* Word i holds the address of marked[i]. */
static void *words[WORDS];
static char marked[WORDS];

static void mark(void)
{
	for (size_t i = 0; i < WORDS; i++)
		words[i] = &marked[i];
}

/* Bytes before the word that was read as FOUND; 0: none of ours, or the first, which all structs keep for functions. */
static size_t place_of(const void *found)
{
	const char *at = found;

	return at > marked && at < marked + WORDS ? (size_t)(at - marked) * sizeof(void *) : 0;
}

static size_t inside(const void *found)
{
	const char *at = found, *base = (const char *)words;

	return at > base && at < base + BYTES ? (size_t)(at - base) : 0;
}

/* ggml_backend_buffer_init, where what it is to copy is longer than any version's. */
struct long_calls {
	void *word[WORDS / 2];
};
typedef void *buffer_init_fn(void *type, struct long_calls calls, void *context, size_t size);

static size_t buffer_type_place(void)
{
	struct long_calls calls;
	void *type = &marked[WORDS - 1], **buffer;

	memcpy(&calls, words, sizeof(calls));
	buffer = ((buffer_init_fn *)ggml_host.buffer_init)(type, calls, NULL, 0);
	/* As far as functions are copied; never freed, since nobody knows yet how. */
	for (size_t i = 0; buffer && i < WORDS / 2; i++)
		if (buffer[i] != calls.word[i])
			return buffer[i] == type ? i * sizeof(void *) : 0;
	return 0;
}

static void do_nothing(void)
{
}

/* ggml clears the struct before it asks the device. */
static size_t properties_bytes(void)
{
	unsigned char properties[BYTES];
	ggml_host_fn *calls[WORDS];
	size_t bytes = 0;

	for (size_t i = 0; i < WORDS; i++)
		calls[i] = do_nothing;
	memset(properties, UNTOUCHED, sizeof(properties));
	ggml_host.dev_get_props((struct ggml_backend_device *)calls, properties);
	while (bytes < sizeof(properties) && properties[bytes] != UNTOUCHED)
		bytes++;
	return bytes;
}

void probe_layout(struct ggml_layout *out)
{
	mark();
	/* A registry begins with its interface version. */
	if (ggml_host.reg_count && ggml_host.reg_get && ggml_host.reg_count() > 0)
		out->interface_version = (size_t) * (const int *)(const void *)ggml_host.reg_get(0);
	out->tensor_overhead = ggml_host.tensor_overhead();
	out->tensor_data = place_of(ggml_host.get_data((const struct ggml_tensor *)words));
	out->tensor_name = inside(ggml_host.get_name((const struct ggml_tensor *)words));
	out->type_device = place_of(ggml_host.buft_get_device((struct ggml_backend_buffer_type *)words));
	out->stream_device = place_of(ggml_host.get_device((struct ggml_backend *)words));
	out->device_reg = place_of(ggml_host.dev_backend_reg((struct ggml_backend_device *)words));
	out->buffer_type = buffer_type_place();
	out->properties = properties_bytes();
}

size_t probe_differences(const struct ggml_layout *host, const struct ggml_layout *shim, struct probe_difference *first)
{
	static const char *const names[GGML_LAYOUT_FACTS] = {
		"its interface version",       "bytes of a tensor",
		"place of a tensor's data",    "place of a tensor's name",
		"place of a buffer's type",    "place of a buffer type's device",
		"place of a backend's device", "place of a device's registry",
		"bytes of properties",
	};
	size_t has[GGML_LAYOUT_FACTS], wants[GGML_LAYOUT_FACTS], count = 0;

	memcpy(has, host, sizeof(has));
	memcpy(wants, shim, sizeof(wants));
	for (size_t i = 0; i < GGML_LAYOUT_FACTS; i++)
		if (has[i] && has[i] != wants[i] && count++ == 0)
			*first = (struct probe_difference){ names[i], has[i], wants[i] };
	return count;
}
