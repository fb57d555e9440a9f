/* SPDX-License-Identifier: MIT
 *
 * GPUs of NVIDIA: "cuda:0" and "cuda:all" are attached ones, "sm_90" those of a
 * capability, "sm_90:KEY" one model of it.  Results are of models.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/gpu_table.h"
#include "base/kind.h"

enum {
	KIB = 1024,
	SHARED_STATIC_MAX = 48 * KIB, /* what a kernel may declare without opting in (CUDA C programming guide) */
	BLOCK_THREADS_MAX = 1024,
	GRID_X_MAX = 0x7fffffff,
	GRID_YZ_MAX = 65535
};

int tcb_gpu_ordinal(const char *name)
{
	int value = 0;

	if (strncmp(name, "cuda:", 5) != 0 || !name[5])
		return -1;
	for (const char *digit = name + 5; *digit; digit++) {
		if (*digit < '0' || *digit > '9' || value > 1000)
			return -1;
		value = 10 * value + (*digit - '0');
	}
	return value;
}

static int is_asked(const char *name)
{
	return tcb_gpu_parse(name, NULL, NULL) || strcmp(name, "cuda:all") == 0 || tcb_gpu_ordinal(name) >= 0;
}

/* "gpu:3", "cuda3". */
static int understand_number(const char *folded, char out[TCB_DEVICE_NAME_MAX])
{
	static const char *const words[] = { "gpu", "cuda", "nvidia" };

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const size_t length = strlen(words[i]);
		const char *number =
			folded + length + (strncmp(folded, words[i], length) == 0 && folded[length] == ':');

		if (strncmp(folded, words[i], length) == 0 && *number && strlen(number) < 4 &&
		    strspn(number, "0123456789") == strlen(number)) {
			snprintf(out, TCB_DEVICE_NAME_MAX, "cuda:%d", atoi(number));
			return 1;
		}
	}
	return 0;
}

/* "sm90", "compute_90", "sm_90a": the kernels of a capability use what the letter stands for anyway. */
static int understand_capability(const char *folded, char out[TCB_DEVICE_NAME_MAX])
{
	static const char *const words[] = { "sm", "compute", "cc" };
	unsigned capability;
	char letter, rest;

	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		const size_t length = strlen(words[i]);
		const int read = strncmp(folded, words[i], length) == 0
					 ? sscanf(folded + length, "%3u%c%c", &capability, &letter, &rest)
					 : 0;

		if (read < 1 || read > 2 || (read == 2 && !strchr("af", letter)))
			continue;
		snprintf(out, TCB_DEVICE_NAME_MAX, "sm_%u", capability);
		return tcb_gpu_parse(out, NULL, NULL);
	}
	return 0;
}

static int understand(const char *folded, char out[TCB_DEVICE_NAME_MAX])
{
	return understand_number(folded, out) || understand_capability(folded, out);
}

/* "h100", "rtx4090": a card of the table. */
static void advise(const char *folded, struct tcb_str *out)
{
	struct tcb_gpu gpu;
	char model[TCB_DEVICE_TEXT_MAX];
	const int has_digit = strpbrk(folded, "0123456789") != NULL;

	for (size_t i = 0; strlen(folded) >= 2 && has_digit && tcb_gpu_table_row(i, &gpu); i++) {
		size_t length = 0;
		for (const char *at = gpu.device.model; *at; at++)
			if (!strchr("_- ", *at))
				model[length++] = (char)tolower((unsigned char)*at);
		model[length] = '\0';
		if (!strstr(model, folded))
			continue;
		tcb_str_addf(out, "; %s is an %s: cuda:0 if it is attached, %s as its specification has it",
			     gpu.device.model, gpu.device.arch, gpu.device.arch);
		return;
	}
}

static void add_names(struct tcb_str *out)
{
	tcb_str_add(out, " cuda:0 cuda:all");
}

static void add_forms(struct tcb_str *out)
{
	tcb_str_add(out, "cuda:0, cuda:1, ..., cuda:all and sm_75 ... sm_120");
}

static int is_stored(const char *name, const char **key_out)
{
	return tcb_gpu_parse(name, NULL, key_out);
}

static size_t known(struct tcb_device *out, size_t capacity, struct tcb_error *err)
{
	struct tcb_gpu gpu;
	size_t count = 0;

	(void)err;
	for (size_t kind = 0; count < capacity && tcb_gpu_kind(kind, &gpu); kind++) {
		/* Several cards of one kind: the first stands for it. */
		if (count && strcmp(out[count - 1].name, gpu.device.name) == 0)
			continue;
		out[count++] = gpu.device;
	}
	return count;
}

/* One that is not recorded has what the nearest recorded one below it has. */
static void describe(const char *name, struct tcb_target *out)
{
	unsigned capability = 0;
	size_t shared_most = 0;
	struct tcb_gpu gpu, below;

	tcb_gpu_parse(name, &capability, NULL);
	tcb_gpu_table_row(0, &below);
	for (size_t row = 0; tcb_gpu_table_row(row, &gpu); row++) {
		const struct tcb_target *target = &gpu.device.target;

		if (target->cuda.capability <= capability &&
		    target->cuda.capability > below.device.target.cuda.capability)
			below = gpu;
		if (target->cuda.shared_optin_bytes > shared_most)
			shared_most = target->cuda.shared_optin_bytes;
	}
	if (below.device.target.cuda.capability != capability) {
		below.device.target.cuda.capability = capability;
		/* What was measured there ran: nobody knows a smaller limit. */
		below.device.target.cuda.shared_optin_bytes = shared_most;
		tcb_gpu_complete(&below);
	}
	*out = below.device.target;
}

static int recall(struct tcb_device *device)
{
	struct tcb_gpu gpu;
	unsigned capability;

	if (!tcb_gpu_parse(device->arch, &capability, NULL) || tcb_gpu_table(capability, &gpu, NULL) != TCB_OK)
		return 0;
	device->target = gpu.device.target;
	return 1;
}

static int stand_in(const struct tcb_target *target, char *out, size_t capacity)
{
	const unsigned nearest = tcb_gpu_nearest(target->cuda.capability);

	snprintf(out, capacity, "sm_%u", nearest);
	return nearest != target->cuda.capability;
}

static void name_arch(const struct tcb_target *target, char *out, size_t capacity)
{
	snprintf(out, capacity, "sm_%u", target->cuda.capability);
}

/* Those of the most common card of its capability, with as many multiprocessors. */
static double specified_rate(const struct tcb_target *target, enum tcb_compute_kind kind)
{
	return tcb_gpu_nominal_rate(target->cuda.capability, target->cuda.sm_count, kind);
}

static const struct tcb_alias words[] = {
	{ "gpu", "cuda:0", NULL },
	{ "cuda", "cuda:0", NULL },
	{ "nvidia", "cuda:0", NULL },
	{ "gpus", "cuda:all", NULL },
	{ "gpu:all", "cuda:all", NULL },
	{ "hopper", NULL, "Hopper is sm_90; cuda:0 is the first attached GPU" },
	{ "ada", NULL, "Ada is sm_89; cuda:0 is the first attached GPU" },
	{ "ampere", NULL, "Ampere is sm_80 or sm_86; cuda:0 is the first attached GPU" },
	{ "turing", NULL, "Turing is sm_75; cuda:0 is the first attached GPU" },
	{ "blackwell", NULL, "Blackwell is sm_100 or sm_120; cuda:0 is the first attached GPU" },
	{ NULL, NULL, NULL },
};

/* SPEC H5; a capability that is not listed gets what every device has. */
static size_t shared_bytes(const struct tcb_target *target)
{
	static const struct {
		unsigned capability;
		size_t kib;
	} rows[] = { { 75, 64 }, { 80, 163 }, { 86, 99 }, { 89, 99 }, { 90, 227 }, { 100, 227 } };

	if (target->cuda.shared_optin_bytes)
		return target->cuda.shared_optin_bytes;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].capability == target->cuda.capability)
			return rows[i].kib * KIB;
	return SHARED_STATIC_MAX;
}

static void block_limits(const struct tcb_target *target, struct tcb_block_limits *out)
{
	const struct tcb_cuda_target *cuda = &target->cuda;

	*out = (struct tcb_block_limits){
		.shared_bytes = shared_bytes(target),
		.static_bytes = SHARED_STATIC_MAX,
		.threads = cuda->block_threads_max && cuda->block_threads_max < BLOCK_THREADS_MAX
				   ? cuda->block_threads_max
				   : BLOCK_THREADS_MAX,
		.threads_step = cuda->warp_threads ? cuda->warp_threads : 32,
		.thread_registers = cuda->thread_registers_max ? cuda->thread_registers_max : 255,
		.registers = cuda->block_registers_max ? cuda->block_registers_max : 65536,
		.grid = { GRID_X_MAX, GRID_YZ_MAX, GRID_YZ_MAX },
	};
}

static const struct tcb_kind_limit limits[] = {
	{ "capability", offsetof(struct tcb_target, cuda.capability), 0 },
	{ "sm_count", offsetof(struct tcb_target, cuda.sm_count), 0 },
	{ "shared_bytes", offsetof(struct tcb_target, cuda.shared_optin_bytes), 1 },
	{ "l2_bytes", offsetof(struct tcb_target, l2_bytes), 1 },
	{ NULL, 0, 0 },
};

const struct tcb_kind tcb_kind_cuda = {
	.name = "cuda",
	.side = TCB_TARGET_CUDA,
	.is_emitted = 1,
	.has_passes = 1,
	.has_model = 1,
	.multiplies_f16 = 1,
	.unit = TCB_MIDI,
	.knobs = TCB_SCOPE_GPU,
	.counters = "cupti",
	.advice = { .launch = "fewer and larger calls: several products in one launch, or dependent launches (pdl=1) "
			      "that hide the next call's start",
		    .compute = "cheaper operations: a contract of smaller types (q8, f16); no other geometry can gain "
			       "more than what is left to the limit",
		    .issue = "fewer instructions per value: matrix instructions (isa=mma, wgmma), a contract of "
			     "smaller types, larger register tiles, bulk copies",
		    .latency = "more bytes in flight: more stages, more warps or blocks per SM, more rows per thread",
		    .cache = "the L2" },
	.limits = limits,
	.complete = tcb_target_complete_gpu,
	.block_limits = block_limits,
	.is_asked = is_asked,
	.words = words,
	.understand = understand,
	.advise = advise,
	.add_names = add_names,
	.add_forms = add_forms,
	.is_stored = is_stored,
	.known = known,
	.describe = describe,
	.recall = recall,
	.stand_in = stand_in,
	.name_arch = name_arch,
	.specified_rate = specified_rate,
};
