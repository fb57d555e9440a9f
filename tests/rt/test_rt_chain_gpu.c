/* SPDX-License-Identifier: MIT
 *
 * A GPU's chain, on the first GPU that the driver has: which calls get kernels for their places, and that the graph
 * computes what the calls do one by one.  A token's attention: q and k, beside them v in another format, positions,
 * KV.
 */
#include "cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "device/cuda.h"
#include "tcbrt_chain.h"

enum { HIDDEN = 512, HEADS = 4, HEAD = 64, CONTEXT = 64, LENGTH = 41, CALLS = 4, BUFFER = 1 << 18 };
enum { QK, V, ROPE, ATTENTION };
/* Buffers: x is read first; the last one is nobody's. */
enum { X, NORM, Q, VALUES, ROTATION, LENGTHS, ROTATED, K_CACHE, V_CACHE, SEEN, WEIGHTS_QK, WEIGHTS_V, BUFFERS };

static const struct tcbrt_query queries[CALLS] = {
	[QK] = { .op = "q4k_rmsnorm_matvec",
		 .m = 1,
		 .n = (HEADS + 1) * HEAD,
		 .k = HIDDEN,
		 .contract = TCBRT_CONTRACT_Q8,
		 .geometry = "macro=1x512x512,midi=1x8x512,micro=1x1x256,isa=dp4a,layout=native,unroll=1,warps=8,vec=8,"
			     "stages=1,splitk=1,ksplit=1,copy=ldg,xin=shared,group=32,prep=block,lead=0,blocks=0,"
			     "pdl=1,occ=1" },
	[V] = { .op = "q6k_rmsnorm_matvec",
		.m = 1,
		.n = HEAD,
		.k = HIDDEN,
		.contract = TCBRT_CONTRACT_Q8,
		.geometry = "macro=1x64x512,midi=1x8x512,micro=1x1x256,isa=dp4a,layout=p,unroll=1,warps=8,vec=8,"
			    "stages=1,splitk=1,ksplit=1,copy=ldg,xin=shared,group=32,prep=block,lead=0,blocks=0,pdl=1,"
			    "occ=1" },
	[ROPE] = { .op = "rope_append_f16",
		   .m = 1,
		   .n = CONTEXT,
		   .k = HEAD,
		   .words = "h4/1,pairs,apart",
		   .contract = TCBRT_CONTRACT_F32,
		   .geometry = "macro=1x1x64,midi=1x1x64,micro=1x1x4,isa=fma,unroll=1,warps=1,vec=8,stream=0,pdl=1,"
			       "parts=1" },
	[ATTENTION] = { .op = "attention_decode_f16",
			.m = 1,
			.n = CONTEXT,
			.k = HEAD,
			.words = "h4/1",
			.contract = TCBRT_CONTRACT_F32,
			.geometry = "macro=1x64x64,midi=1x16x64,micro=1x16x64,isa=mma,warps=1,vec=16,stages=2,splitk=1,"
				    "copy=async,pdl=1,occ=4,join=none,cluster=1,heads=4" }
};

static const struct tcb_cuda *cuda;
static char no_gpu[sizeof((struct tcb_error *)0)->message], kind[TCBRT_GPU_NAME_MAX];
static CUstream stream;
static struct tcbrt *rt;
static struct tcbrt_plan *plans[CALLS];
static struct tcbrt_gpu *gpus[CALLS];
static uint64_t at[BUFFERS];

static void check(int result)
{
	if (result != TCB_CUDA_SUCCESS)
		fail_msg("the driver says %s", tcb_cuda_error_name(cuda, result));
}

static int open_gpu(void **state)
{
	struct tcb_error err;
	CUcontext context;
	int device;

	(void)state;
	cuda = tcb_cuda_open(&err);
	if (!cuda) {
		snprintf(no_gpu, sizeof(no_gpu), "%s", err.message);
		return 0;
	}
	return cuda->device_get(&device, 0) || cuda->context_retain(&context, device) || cuda->context_set(context) ||
	       cuda->stream_create(&stream, TCB_CUDA_STREAM_NON_BLOCKING) || tcbrt_gpu_device(kind, NULL);
}

/* Values near 0 of any type of floats that weights' scales, caches and rows have, by the seed of the buffer. */
static void fill(unsigned buffer, int is_half)
{
	static unsigned char bytes[BUFFER];
	struct tcb_rng rng;

	tcb_rng_init(&rng, buffer + 1);
	for (size_t i = 0; i < BUFFER; i++) /* no half nor float has its largest exponent */
		bytes[i] = (unsigned char)(tcb_rng_next(&rng) & (is_half && i % 2 ? 0xb3 : 0xff));
	for (size_t i = 0; !is_half && i + 4 <= BUFFER; i += 4) {
		const float value = tcb_rng_normal(&rng);
		memcpy(bytes + i, &value, sizeof(value));
	}
	check(cuda->copy_in(at[buffer], bytes, BUFFER));
}

static void fill_all(void)
{
	const int32_t length = LENGTH;

	for (unsigned i = 0; i < BUFFERS; i++)
		fill(i, i == K_CACHE || i == V_CACHE || i == WEIGHTS_QK || i == WEIGHTS_V);
	check(cuda->copy_in(at[LENGTHS], &length, sizeof(length)));
	check(cuda->context_sync()); /* such copies may be under way behind their return */
}

/* The calls, with what of the GPU's memory they are about. */
static void make_calls(struct tcbrt_call calls[CALLS])
{
	const unsigned long long k = at[Q] + 4 * HEADS * HEAD;
	const struct tcbrt_call all[CALLS] = { [QK] = { .operand = { at[WEIGHTS_QK], at[X], at[Q], at[NORM] } },
					       [V] = { .operand = { at[WEIGHTS_V], at[X], at[VALUES], at[NORM] } },
					       [ROPE] = { .operand = { at[Q], at[ROTATION], at[LENGTHS], at[ROTATED],
								       at[K_CACHE], at[V_CACHE], k, at[VALUES] } },
					       [ATTENTION] = { .operand = { at[ROTATED], at[K_CACHE], at[V_CACHE],
									    at[LENGTHS], at[SEEN] } } };

	for (size_t i = 0; i < CALLS; i++) {
		calls[i] = all[i];
		calls[i].gpu = gpus[i];
	}
}

static struct tcbrt_chain_info info_of(const struct tcbrt_call *calls, size_t count)
{
	struct tcbrt_chain_info info;
	struct tcbrt_chain *chain;
	struct tcbrt_error err;

	if (tcbrt_chain_create(calls, count, &chain, &err) != TCBRT_OK)
		fail_msg("%s", err.message);
	tcbrt_chain_info(chain, &info);
	tcbrt_chain_destroy(chain);
	return info;
}

/* What is left in the buffers that calls write. */
static void read_all(unsigned char *out)
{
	static const int written[] = { Q, VALUES, ROTATED, K_CACHE, V_CACHE, SEEN };

	check(cuda->stream_sync(stream));
	for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++)
		check(cuda->copy_out(out + i * BUFFER, at[written[i]], BUFFER));
}

static void load_all(void)
{
	struct tcbrt_error err;

	assert_int_equal(tcbrt_open_empty(&rt, &err), TCBRT_OK);
	for (size_t i = 0; i < CALLS; i++) {
		struct tcbrt_query query = queries[i];

		query.device = kind;
		if (tcbrt_plan_create(rt, &query, &plans[i], &err) != TCBRT_OK ||
		    tcbrt_gpu_load(plans[i], &gpus[i], &err) != TCBRT_OK)
			fail_msg("%s: %s", query.op, err.message);
	}
	for (size_t i = 0; i < BUFFERS; i++)
		check(cuda->alloc(&at[i], BUFFER));
	fill_all();
}

static void places(void **state)
{
	struct tcbrt_call calls[CALLS], other[CALLS];
	struct tcbrt_chain_info info;

	(void)state;
	if (!cuda)
		skip_because("%s", no_gpu);
	load_all();
	make_calls(calls);
	info = info_of(calls, CALLS);
	assert_int_equal(info.beside, 1);
	assert_int_equal(info.early, 2);
	/* v writes what q and k read, or overwrites q. */
	make_calls(other);
	other[V].operand[2] = at[X];
	assert_int_equal(info_of(other, CALLS).beside, 0);
	make_calls(other);
	other[V].operand[2] = at[Q];
	assert_int_equal(info_of(other, CALLS).beside, 0);
	/* Lengths are what a call computes: neither reads early. */
	make_calls(other);
	other[V].operand[2] = at[LENGTHS];
	assert_int_equal(info_of(other, CALLS).early, 0);
	/* Another call between the two, lengths from elsewhere, or the cache shifted: attention waits. */
	make_calls(other);
	other[V] = other[ROPE];
	other[ROPE] = calls[V];
	assert_int_equal(info_of(other, CALLS).early, 1);
	make_calls(other);
	other[ATTENTION].operand[3] = at[LENGTHS] + 256;
	assert_int_equal(info_of(other, CALLS).early, 1);
	make_calls(other);
	other[ATTENTION].operand[1] = at[K_CACHE] + 1024;
	assert_int_equal(info_of(other, CALLS).early, 1);
}

static void graph_is_right(void **state)
{
	struct tcbrt_call calls[CALLS];
	unsigned char *one, *graph;
	struct tcbrt_chain_info info;
	struct tcbrt_chain *chain;
	uint64_t workspace = 0;

	(void)state;
	if (!cuda)
		skip_because("%s", no_gpu);
	one = calloc(6, BUFFER);
	graph = calloc(6, BUFFER);
	make_calls(calls);
	for (size_t i = 0; i < CALLS; i++)
		assert_int_equal(tcbrt_gpu_execute(gpus[i], calls[i].operand, 0, stream, 0), TCBRT_OK);
	read_all(one);
	fill_all();
	assert_int_equal(tcbrt_chain_create(calls, CALLS, &chain, NULL), TCBRT_OK);
	tcbrt_chain_info(chain, &info);
	if (info.workspace_bytes)
		check(cuda->alloc(&workspace, info.workspace_bytes));
	assert_int_equal(tcbrt_chain_record(chain, workspace, stream, NULL), TCBRT_OK);
	assert_int_equal(tcbrt_chain_launch(chain, stream), TCBRT_OK);
	read_all(graph);
	assert_memory_equal(one, graph, 6 * BUFFER);
	tcbrt_chain_destroy(chain);
	free(one);
	free(graph);
	for (size_t i = 0; i < CALLS; i++) {
		tcbrt_gpu_unload(gpus[i]);
		tcbrt_plan_destroy(plans[i]);
	}
	tcbrt_close(rt);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(places), cmocka_unit_test(graph_is_right) };

	return cmocka_run_group_tests(tests, open_gpu, NULL);
}
