/* SPDX-License-Identifier: MIT
 *
 * Requests: bytes after bytes.
 */
#include "worker/request.h"

#include <stdlib.h>
#include <string.h>

void tcb_request_add(struct tcb_request *request, const void *data, size_t bytes)
{
	if (bytes == 0 || request->failed)
		return;
	if (request->capacity - request->bytes < bytes) {
		size_t capacity = 2 * request->capacity + bytes;
		char *grown = realloc(request->data, capacity);
		if (!grown) {
			request->failed = 1;
			return;
		}
		request->data = grown;
		request->capacity = capacity;
	}
	memcpy(request->data + request->bytes, data, bytes);
	request->bytes += bytes;
}

void tcb_request_code(struct tcb_request *request, const struct tcb_code_image *image)
{
	uint64_t bytes = image ? image->bytes : 0;
	tcb_request_add(request, &bytes, sizeof(bytes));
	tcb_request_add(request, image, (size_t)bytes);
}
