/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a saved plan of this machine whose checksum is right: refused with
 * a reason, or a plan that says of itself what was saved.
 */
#include <string.h>

#include "fuzz.h"
#include "rt/rt_plan.h"

/* What is of this machine, and what a change elsewhere would have changed as well. */
static void sign(const struct tcbrt *rt, unsigned char *blob)
{
	struct rt_saved head;

	memcpy(&head, blob, sizeof(head));
	memcpy(head.magic, "tcbplan", sizeof(head.magic));
	head.format = RT_SAVED_FORMAT;
	head.head_bytes = sizeof(head);
	for (uint32_t i = 0; i < rt->device_count; i++)
		if (strncmp(head.device, rt->devices[i].name, sizeof(head.device)) == 0)
			memcpy(head.device_key, rt->devices[i].key, sizeof(head.device_key));
	rt_saved_sign(&head);
	memcpy(blob, &head, sizeof(head));
}

static void check_plan(const struct tcbrt_plan *plan, const unsigned char *blob, size_t bytes)
{
	struct tcbrt_plan_info info;
	unsigned char *again = malloc(bytes);
	size_t count = 0;

	FUZZ_CHECK(again && tcbrt_plan_info(plan, &info) == TCBRT_OK);
	FUZZ_CHECK(info.operand_count > 0 && info.operand_count <= TCBRT_OPERANDS_MAX);
	FUZZ_CHECK(info.output >= 0 && info.operand[info.output].bytes > 0);
	FUZZ_CHECK(tcbrt_plan_save(plan, again, bytes, &count) == TCBRT_OK && count == bytes);
	FUZZ_CHECK(strcmp(((const struct rt_saved *)(const void *)again)->op,
			  ((const struct rt_saved *)(const void *)blob)->op) == 0);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	static struct tcbrt *rt;
	struct tcbrt_plan *plan;
	struct tcbrt_error err;
	unsigned char *blob;

	if (!rt)
		FUZZ_CHECK(tcbrt_open_empty(&rt, NULL) == TCBRT_OK);
	if (bytes > sizeof(struct rt_saved)) /* longer ones are all refused alike */
		bytes = sizeof(struct rt_saved);
	blob = malloc(bytes + !bytes);
	FUZZ_CHECK(blob);
	memcpy(blob, data, bytes);
	if (bytes == sizeof(struct rt_saved))
		sign(rt, blob);
	if (tcbrt_plan_load(rt, blob, bytes, &plan, &err) == TCBRT_OK)
		check_plan(plan, blob, bytes);
	else
		FUZZ_CHECK(!plan && err.code != TCBRT_OK && err.message[0]);
	tcbrt_plan_destroy(plan);
	free(blob);
	return 0;
}
