/* SPDX-License-Identifier: MIT
 *
 * Any text as a shard.  If it is accepted, it is one of those that there are,
 * and printing and parsing it again gives the same.
 */
#include "search/shard.h"

#include <string.h>

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	char *text = malloc(bytes + 1), printed[TCB_SHARD_TEXT_MAX];
	struct tcb_shard shard, reparsed;
	struct tcb_error err = { TCB_OK, "" };
	FUZZ_CHECK(text);
	memcpy(text, data, bytes);
	text[bytes] = '\0';
	if (tcb_shard_parse(text, &shard, &err) == TCB_OK) {
		FUZZ_CHECK(shard.index >= 1 && shard.index <= shard.count && shard.count <= TCB_SHARDS_MOST);
		tcb_shard_print(&shard, printed);
		FUZZ_CHECK(tcb_shard_parse(printed, &reparsed, NULL) == TCB_OK);
		FUZZ_CHECK(shard.index == reparsed.index && shard.count == reparsed.count);
	} else {
		FUZZ_CHECK(err.message[0]);
	}
	free(text);
	return 0;
}
