/* SPDX-License-Identifier: MIT
 *
 * Recorded specifications: a common card for each capability that tcbtune emits
 * code for; of several of one capability, the first stands for it.  Limits of a multiprocessor are those of the CUDA
 * C++ Programming Guide 13.0, "Technical Specifications per Compute Capability"; the rest is from the maker's paper
 * named in the row.
 */
#include "base/gpu_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { KIB = 1024, MIB = 1024 * 1024, CAPABILITY_DIGITS = 4 };

struct row {
	const char *model, *source;
	unsigned capability, sm_count;
	unsigned clock_mhz; /* boost */
	unsigned l2_mib, memory_gib, memory_mhz, bus_bits;
	double bandwidth_gb_s;
	unsigned threads_max, blocks_max; /* a multiprocessor */
	unsigned shared_kib, optin_kib;   /* a multiprocessor, a block */
	int has_ecc;
};

static const struct row rows[] = {
	{ "Tesla T4", "T4 datasheet, 2019", 75, 40, 1590, 4, 16, 5001, 256, 320, 1024, 16, 64, 64, 1 },
	{ "NVIDIA A100-SXM4-80GB", "A100 datasheet, 2021; Ampere architecture whitepaper", 80, 108, 1410, 40, 80, 1593,
	  5120, 2039, 2048, 32, 164, 163, 1 },
	{ "NVIDIA GeForce RTX 3090", "GA102 whitepaper v2.1", 86, 82, 1695, 6, 24, 9751, 384, 936, 1536, 16, 100, 99,
	  0 },
	{ "NVIDIA GeForce RTX 4090", "Ada architecture whitepaper v1.1", 89, 128, 2520, 72, 24, 10501, 384, 1008, 1536,
	  24, 100, 99, 0 },
	{ "NVIDIA H100 80GB HBM3", "H100 architecture whitepaper v1.04", 90, 132, 1980, 50, 80, 2619, 5120, 3352, 2048,
	  32, 228, 227, 1 },
	/* A second one of its capability, for what was measured on it; sm_90 means the first. */
	{ "NVIDIA H200", "H200 datasheet, 2024; the rest as driver 580 tells it", 90, 132, 1980, 60, 139, 3201, 6016,
	  4814, 2048, 32, 228, 227, 1 },
	{ "NVIDIA B200", "Blackwell datasheet, 2024", 100, 148, 1965, 126, 180, 3996, 8192, 8000, 2048, 32, 228, 227,
	  1 },
	{ "NVIDIA GeForce RTX 5090", "RTX Blackwell architecture whitepaper v1.1", 120, 170, 2407, 96, 32, 14001, 512,
	  1792, 1536, 24, 100, 99, 0 },
};

enum { ROWS = sizeof rows / sizeof *rows };

void tcb_target_complete_gpu(struct tcb_target *target)
{
	target->kind = TCB_TARGET_CUDA;
	target->cuda.warp_threads = 32;
	target->cuda.block_threads_max = 1024;
	target->cuda.thread_registers_max = 255;
	if (target->cuda.block_registers_max == 0)
		target->cuda.block_registers_max = 65536;
	target->line_bytes = 128;
	target->llc_bytes = target->l2_bytes;
	target->isa_mask = 1u << TCB_ISA_FMA | 1u << TCB_ISA_DP4A;
	if (target->cuda.capability >= 75) /* the first with all shapes of mma.sync that are used */
		target->isa_mask |= 1u << TCB_ISA_MMA;
	if (target->cuda.capability == 90)
		target->isa_mask |= 1u << TCB_ISA_WGMMA;
}

void tcb_gpu_complete(struct tcb_gpu *gpu)
{
	struct tcb_device *device = &gpu->device;
	struct tcb_target *target = &device->target;
	char identity[320];

	tcb_target_complete_gpu(target);
	device->cores = target->cuda.sm_count;
	snprintf(device->name, sizeof device->name, "sm_%u", target->cuda.capability);
	snprintf(device->arch, sizeof device->arch, "sm_%u", target->cuda.capability);
	snprintf(identity, sizeof identity, "cuda|%s|%u|%u|%llu|%zu|%u|%u|%u|%d", device->model,
		 target->cuda.capability, target->cuda.sm_count, (unsigned long long)device->memory_bytes >> 28,
		 target->l2_bytes, device->clock_khz, gpu->memory_khz, gpu->bus_bits, device->has_ecc);
	tcb_hash_hex(identity, strlen(identity), device->key);
}

int tcb_gpu_parse(const char *name, unsigned *capability_out, const char **key_out)
{
	static const char digits[] = "0123456789", hex[] = "0123456789abcdef";
	const char *number = name + strlen("sm_"), *key = NULL;
	size_t length;

	if (strncmp(name, "sm_", strlen("sm_")) != 0)
		return 0;
	length = strspn(number, digits);
	if (number[length] == ':')
		key = number + length + 1;
	if (length < 1 || length > CAPABILITY_DIGITS || (!key && number[length] != '\0') ||
	    (key && (strspn(key, hex) != TCB_DEVICE_KEY_MAX - 1 || key[TCB_DEVICE_KEY_MAX - 1] != '\0')))
		return 0;
	if (capability_out)
		*capability_out = (unsigned)strtoul(number, NULL, 10);
	if (key_out)
		*key_out = key;
	return 1;
}

int tcb_gpu_table_row(size_t index, struct tcb_gpu *out)
{
	if (index >= ROWS)
		return 0;
	const struct row *row = &rows[index];
	struct tcb_target *target = &out->device.target;

	memset(out, 0, sizeof *out);
	out->ordinal = -1;
	out->source = row->source;
	snprintf(out->device.model, sizeof out->device.model, "%s", row->model);
	target->cuda.capability = row->capability;
	target->cuda.sm_count = row->sm_count;
	target->l2_bytes = (size_t)row->l2_mib * MIB;
	target->cuda.shared_optin_bytes = (size_t)row->optin_kib * KIB;
	out->device.memory_bytes = (uint64_t)row->memory_gib << 30;
	out->device.clock_khz = row->clock_mhz * 1000;
	out->device.has_ecc = row->has_ecc;
	out->threads_max = row->threads_max;
	out->blocks_max = row->blocks_max;
	out->registers_max = 65536;
	out->shared_max = (size_t)row->shared_kib * KIB;
	out->shared_reserved_block = row->capability >= 80 ? KIB : 0;
	out->memory_khz = row->memory_mhz * 1000;
	out->bus_bits = row->bus_bits;
	out->read_bytes_s = row->bandwidth_gb_s * 1e9;
	tcb_gpu_complete(out);
	return 1;
}

/* Capabilities that kernels may be for: the oldest that our PTX is for (Volta), and room for those to come. */
enum { CAPABILITY_LEAST = 70, CAPABILITY_MOST = 199 };

unsigned tcb_gpu_nearest(unsigned capability)
{
	unsigned below = 0, above = 0;

	if (capability < CAPABILITY_LEAST || capability > CAPABILITY_MOST)
		return 0;
	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].capability <= capability)
			below = rows[i].capability;
		else if (!above)
			above = rows[i].capability;
	}
	/* Those of one major version have most in common, and a later one has what an earlier one has. */
	return below && (below / 10 == capability / 10 || above / 10 != capability / 10) ? below : above;
}

/* Capabilities that PTX has names for and no card is recorded of, with their memory: CUDA C++ Programming Guide 12.9
 * and 13.0, "Technical Specifications per Compute Capability". */
static const struct {
	unsigned capability, shared_kib, optin_kib;
} others[] = {
	{ 70, 96, 96 },    { 72, 96, 96 },    { 87, 164, 163 },  { 88, 100, 99 },
	{ 101, 228, 227 }, { 103, 228, 227 }, { 110, 228, 227 }, { 121, 100, 99 },
};

int tcb_gpu_kind(size_t index, struct tcb_gpu *out)
{
	if (index < ROWS)
		return tcb_gpu_table_row(index, out);
	index -= ROWS;
	return index < sizeof others / sizeof *others && tcb_gpu_table(others[index].capability, out, NULL) == TCB_OK;
}

/* The card of CAPABILITY KNOWN stands for one of CAPABILITY, and says so. */
static void stand_for(unsigned capability, unsigned known, struct tcb_gpu *gpu)
{
	char model[sizeof gpu->device.model];

	snprintf(model, sizeof model, "%.80s (sm_%u, the nearest recorded)", gpu->device.model, known);
	memcpy(gpu->device.model, model, sizeof model);
	gpu->device.target.cuda.capability = capability;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		if (others[i].capability != capability)
			continue;
		gpu->shared_max = (size_t)others[i].shared_kib * KIB;
		gpu->device.target.cuda.shared_optin_bytes = (size_t)others[i].optin_kib * KIB;
	}
	gpu->device.target.isa_mask = 0;
	gpu->nearest = known;
	tcb_gpu_complete(gpu);
}

enum tcb_status tcb_gpu_table(unsigned capability, struct tcb_gpu *out, struct tcb_error *err)
{
	const unsigned known = tcb_gpu_nearest(capability);
	struct tcb_str recorded = { 0 };

	for (size_t i = 0; i < ROWS; i++) {
		if (rows[i].capability == known) {
			tcb_gpu_table_row(i, out);
			if (known != capability)
				stand_for(capability, known, out);
			tcb_str_fini(&recorded);
			return TCB_OK;
		}
		if (i == 0 || rows[i].capability != rows[i - 1].capability)
			tcb_str_addf(&recorded, "%ssm_%u", i ? ", " : "", rows[i].capability);
	}
	tcb_fail(err, TCB_E_NOT_FOUND,
		 "no GPU of capability sm_%u is attached, and none is recorded or near one; recorded are %s",
		 capability, recorded.failed ? "others" : recorded.data);
	tcb_str_fini(&recorded);
	return TCB_E_NOT_FOUND;
}

/*
 * By the CUDA C++ Programming Guide 13.0 ("Throughput of Native Arithmetic Instructions") and, for matrices without
 * sparsity and with sums of f32, the makers' papers that the rows above name (A100: 312 TFLOPS f16 at 1410 MHz and 108
 * multiprocessors; H100 SXM: 989 at 1830 and 132; RTX 4090: 165 at 2520 and 128).
 */
static const struct arithmetic {
	unsigned capability;
	double fma, matrix_f16, matrix_i8;
} arithmetics[] = {
	{ 75, 128, 1024, 2048 }, { 80, 128, 2048, 4096 }, { 86, 256, 512, 2048 },  { 89, 256, 512, 2048 },
	{ 90, 256, 4096, 8192 }, { 100, 256, 0, 0 },      { 120, 256, 512, 2048 },
};

double tcb_gpu_operations_a_cycle(unsigned capability, enum tcb_compute_kind kind)
{
	const unsigned known = tcb_gpu_nearest(capability);

	for (size_t i = 0; i < sizeof arithmetics / sizeof *arithmetics; i++) {
		const struct arithmetic *row = &arithmetics[i];
		if (row->capability != known)
			continue;
		if (kind == TCB_COMPUTE_INT8 || kind == TCB_COMPUTE_INT8_SYNC)
			return row->matrix_i8;
		return kind == TCB_COMPUTE_F16 || (kind == TCB_COMPUTE_BF16 && capability >= 80) ? row->matrix_f16
												 : row->fma;
	}
	return 0;
}

double tcb_gpu_nominal_rate(unsigned capability, unsigned sm_count, enum tcb_compute_kind kind)
{
	struct tcb_gpu gpu;

	if (tcb_gpu_table(capability, &gpu, NULL) != TCB_OK)
		return 0;
	return tcb_gpu_operations_a_cycle(capability, kind) * (sm_count ? sm_count : gpu.device.target.cuda.sm_count) *
	       gpu.device.clock_khz * 1e-6;
}
