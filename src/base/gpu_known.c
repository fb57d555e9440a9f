/* SPDX-License-Identifier: MIT
 *
 * The GPUs that a driver has told this process of, by key: what "sm_90:KEY" means to libtcbrt, which asks no driver,
 * where no database has that card.  Read without a lock: a card is written before it is counted, and none is ever taken
 * out.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/gpu_table.h"

enum { KNOWN_MAX = 32 };

static struct known {
	char key[TCB_DEVICE_KEY_MAX];
	struct tcb_target target;
} known[KNOWN_MAX];
static atomic_size_t known_count;
static pthread_mutex_t writing = PTHREAD_MUTEX_INITIALIZER;

static const struct known *find(const char *key, size_t length)
{
	const size_t count = atomic_load_explicit(&known_count, memory_order_acquire);
	for (size_t i = 0; i < count; i++)
		if (strlen(known[i].key) == length && memcmp(known[i].key, key, length) == 0)
			return &known[i];
	return NULL;
}

void tcb_gpu_remember(const struct tcb_gpu *gpu)
{
	pthread_mutex_lock(&writing);
	const size_t count = atomic_load_explicit(&known_count, memory_order_relaxed);
	if (count < KNOWN_MAX && !find(gpu->device.key, strlen(gpu->device.key))) {
		memcpy(known[count].key, gpu->device.key, sizeof known->key);
		known[count].target = gpu->device.target;
		atomic_store_explicit(&known_count, count + 1, memory_order_release);
	}
	pthread_mutex_unlock(&writing);
}

int tcb_gpu_recall(const char *name, struct tcb_target *out)
{
	const char *colon = strchr(name, ':');
	const struct known *card = colon ? find(colon + 1, strlen(colon + 1)) : NULL;
	if (card)
		*out = card->target;
	return card != NULL;
}
