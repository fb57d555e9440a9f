/* SPDX-License-Identifier: MIT
 *
 * The table of plans: lists that grow at their heads and never shrink.
 */
#include "plans.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a. */
static size_t bucket_of(const unsigned char *key, size_t bytes)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ key[i]) * 16777619u;
	return hash % PLAN_BUCKETS;
}

/* Operands are as the library says by name. */
static void find_operands(struct plan *made, const struct tcbrt_plan_info *info)
{
	made->weights = info->weights;
	made->y = info->output;
	for (size_t i = 0; i < info->operand_count; i++)
		if (strcmp(info->operand[i].name, "x") == 0)
			made->x = (int)i;
		else if (strcmp(info->operand[i].name, "ids") == 0)
			made->ids = (int)i;
}

static struct plan *make_plan(const void *key, size_t bytes, plan_make_fn *make, const void *ctx,
			      struct tcbrt_error *err)
{
	struct plan *made = calloc(1, sizeof(*made));
	struct tcbrt_plan_info info;

	if (!made || make(ctx, &made->plan, err) != TCBRT_OK) {
		free(made);
		return NULL;
	}
	tcbrt_plan_info(made->plan, &info);
	made->workspace_bytes = info.workspace_bytes;
	memcpy(made->key, key, bytes);
	find_operands(made, &info);
	return made;
}

const struct plan *plan_find(struct plan_table *table, const void *key, size_t bytes, plan_make_fn *make,
			     const void *ctx, struct tcbrt_error *err)
{
	_Atomic(struct plan *) *bucket = &table->bucket[bucket_of(key, bytes)];
	struct plan *first = atomic_load_explicit(bucket, memory_order_acquire), *found = first;

	assert(bytes <= PLAN_KEY_MAX);
	while (found && memcmp(found->key, key, bytes) != 0)
		found = found->next;
	if (found || !(found = make_plan(key, bytes, make, ctx, err)))
		return found;
	/* Another thread may have made the same one: both stay, and both are right. */
	do
		found->next = first;
	while (!atomic_compare_exchange_weak_explicit(bucket, &first, found, memory_order_release,
						      memory_order_acquire));
	return found;
}
