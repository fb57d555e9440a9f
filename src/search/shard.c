/* SPDX-License-Identifier: MIT
 *
 * Which candidates are a shard's, and its text.  The hash is part of what users
 * keep: were it changed, shards that were measured before and after would no
 * longer cover the space.
 */
#include "search/shard.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

/* Reads the digits at *TEXT; 0 if there are none, or the number is beyond TCB_SHARDS_MOST. */
static unsigned take_number(const char **text)
{
	unsigned number = 0;

	for (; **text >= '0' && **text <= '9'; ++*text)
		if (number <= TCB_SHARDS_MOST)
			number = 10 * number + (unsigned)(**text - '0');
	return number <= TCB_SHARDS_MOST ? number : 0;
}

enum tcb_status tcb_shard_parse(const char *text, struct tcb_shard *out, struct tcb_error *err)
{
	const char *at = text;
	struct tcb_shard shard = { 0, 0 };

	shard.index = take_number(&at);
	if (shard.index && *at == '/') {
		at++;
		shard.count = take_number(&at);
	}
	if (*at || shard.count == 0 || shard.index > shard.count)
		return tcb_fail(err, TCB_E_USAGE,
				"shard '%.40s' is not I/N with 1 <= I <= N <= %d, as in 3/4 for the third of four",
				text, TCB_SHARDS_MOST);
	*out = shard;
	return TCB_OK;
}

void tcb_shard_print(const struct tcb_shard *shard, char out[TCB_SHARD_TEXT_MAX])
{
	out[0] = '\0';
	if (shard->count > 1)
		snprintf(out, TCB_SHARD_TEXT_MAX, "%u/%u", shard->index, shard->count);
}

int tcb_shard_has(const struct tcb_shard *shard, const struct tcb_geometry *geometry)
{
	char text[TCB_GEOMETRY_TEXT_MAX];

	if (shard->count == 0)
		return 1;
	tcb_geometry_print(geometry, text);
	return tcb_hash64(text, strlen(text), 0) % shard->count + 1 == shard->index;
}

void tcb_shard_narrow(const struct tcb_shard *shard, struct tcb_space *space)
{
	size_t count = 0, ordered = 0, default_index = 0;

	for (size_t i = 0; i < space->count; i++) {
		if (i != space->default_index && !tcb_shard_has(shard, &space->geometries[i]))
			continue;
		ordered += i < space->ordered;
		if (i == space->default_index)
			default_index = count;
		space->geometries[count++] = space->geometries[i];
	}
	space->count = count;
	space->ordered = ordered;
	space->default_index = default_index;
}
