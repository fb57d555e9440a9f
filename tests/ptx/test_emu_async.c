/* SPDX-License-Identifier: MIT
 *
 * Asynchronous copies and wgmma through the emulator: kernels that are right give
 * the right numbers without a finding, and each mistake planted in them is found.
 */
#include "emu_tools.h"

#include <math.h>

#include "ptx/emulate/emu_float.h"
#include "ptx/emulate/tensor/emu_matrix.h"
#include "ptx/ir/tensor_map.h"

/* --- a ring of bulk copies --- */

enum { STEPS_MAX = 11 };

struct ring {
	float in[STEPS_MAX * 64], out[64];
};

static void run_ring(const char *text, struct ring *ring, unsigned steps, uint64_t seed, struct emu_job *job)
{
	struct {
		uint64_t in, out;
		uint32_t steps, unused;
	} params = { .steps = steps };
	struct tcb_ptx_launch launch = {
		.grid = { 1, 1, 1 }, .block = { 64, 1, 1 }, .params = &params, .param_bytes = 20, .seed = seed
	};

	for (unsigned i = 0; i < STEPS_MAX * 64; i++)
		ring->in[i] = (float)(i % 97) - 40;
	memset(ring->out, 0xff, sizeof ring->out);
	emu_start(job, text);
	params.in = emu_add(job, "in", ring->in, (size_t)steps * 256, TCB_PTX_READ_ONLY);
	params.out = emu_add(job, "out", ring->out, sizeof ring->out, TCB_PTX_MAY_WRITE);
	emu_run(job, &launch);
}

static int ring_is_right(const struct ring *ring, unsigned steps)
{
	for (unsigned i = 0; i < 64; i++) {
		float sum = 0;

		for (unsigned s = 0; s < steps; s++)
			sum += ring->in[s * 64 + i];
		if (!(sum == ring->out[i]))
			return 0;
	}
	return 1;
}

static void ring_of_copies(void **state)
{
	char *text = emu_read("ring.ptx");
	struct ring ring;
	struct emu_job job;

	(void)state;
	for (unsigned steps = 1; steps <= STEPS_MAX; steps++)
		for (uint64_t seed = 0; seed < 3; seed++) {
			run_ring(text, &ring, steps, seed, &job);
			emu_expect_none(&job);
			assert_true(ring_is_right(&ring, steps));
			emu_end(&job);
		}
	free(text);
}

struct mistake {
	const char *what, *old, *new;
	enum tcb_ptx_rule rule;
	enum tcb_ptx_rule or_rule; /* when the copy happens to be done by then; 0: no other */
};

static void expect_mistake(const struct emu_job *job, const struct mistake *mistake)
{
	if (!job->found[mistake->rule] && !(mistake->or_rule && job->found[mistake->or_rule]))
		fail_msg("%s: no %s; first: %s", mistake->what, tcb_ptx_rule_name(mistake->rule),
			 job->first[0] ? job->first : "none");
}

static void ring_mistakes(void **state)
{
	static const struct mistake mistakes[] = {
		{ "no wait for the tile", "@!%p2 bra wait_full;", "", TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_RULE_RACE },
		{ "the wrong phase", "parity.shared.b64 %p2, [%r12], %r10", "parity.shared.b64 %p2, [%r12], 1",
		  TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_RULE_RACE },
		{ "no expect_tx", "arrive.expect_tx.shared.b64 _, [%r12], 256", "arrive.shared.b64 _, [%r12]",
		  TCB_PTX_RULE_ASYNC_PENDING, TCB_PTX_RULE_DEADLOCK },
		{ "too many bytes expected", "[%r12], 256", "[%r12], 272", TCB_PTX_RULE_DEADLOCK, 0 },
		{ "no wait for the readers", "@!%p2 bra wait_empty;", "", TCB_PTX_RULE_RACE, 0 },
		{ "no arrival of the readers", "mbarrier.arrive.shared.b64 _, [%r13];", "", TCB_PTX_RULE_DEADLOCK, 0 },
		{ "not initialised", "mbarrier.init.shared.b64 [%r3+16], 1;", "", TCB_PTX_RULE_MBARRIER, 0 },
		{ "too few arrivals expected", "[%r4+8], 64", "[%r4+8], 32", TCB_PTX_RULE_RACE, TCB_PTX_RULE_DEADLOCK },
		{ "no barrier after initialising", "started:\n\tbar.sync 0;", "started:", TCB_PTX_RULE_RACE, 0 },
		{ "half a chunk", "[%r8], [%rd2], 256", "[%r8], [%rd2], 248", TCB_PTX_RULE_BULK_COPY, 0 },
		{ "not aligned", "add.u64 %rd3, %rd0, %rd3;", "add.u64 %rd3, %rd0, 4;", TCB_PTX_RULE_MISALIGNED, 0 },
		{ "beyond the input", "add.u64 %rd3, %rd0, %rd3;", "add.u64 %rd3, %rd0, 4096;",
		  TCB_PTX_RULE_OUT_OF_BOUNDS, 0 },
		{ "no barrier before the sums leave", "cta;\n\tbar.sync 0;", "cta;", TCB_PTX_RULE_RACE, 0 },
		{ "no fence between the proxies", "fence.proxy.async.shared::cta;", "", TCB_PTX_RULE_PROXY_FENCE, 0 },
	};
	char *text = emu_read("ring.ptx");
	struct ring ring;
	struct emu_job job;

	(void)state;
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		char *edited = emu_edit(text, mistakes[i].old, mistakes[i].new);

		run_ring(edited, &ring, STEPS_MAX, 0, &job);
		expect_mistake(&job, &mistakes[i]);
		emu_end(&job);
		free(edited);
	}
	free(text);
}

/* --- copies of threads, and sums that leave --- */

static void run_sums(const char *text, float in[64], float out[64], struct emu_job *job)
{
	struct {
		uint64_t in, out;
	} params;
	struct tcb_ptx_launch launch = {
		.grid = { 1, 1, 1 }, .block = { 64, 1, 1 }, .params = &params, .param_bytes = sizeof params
	};

	for (int i = 0; i < 64; i++) {
		in[i] = (float)(i + 1);
		out[i] = 1000;
	}
	emu_start(job, text);
	params.in = emu_add(job, "in", in, 256, TCB_PTX_READ_ONLY);
	params.out = emu_add(job, "out", out, 256, TCB_PTX_MAY_WRITE);
	emu_run(job, &launch);
}

static void sums_that_leave(void **state)
{
	char *text = emu_read("reduce_out.ptx"), *edited;
	float in[64], out[64];
	struct emu_job job;

	(void)state;
	run_sums(text, in, out, &job);
	emu_expect_none(&job);
	for (int i = 0; i < 64; i++)
		assert_true(out[i] == 1000 + in[i] * (i < 32 ? 2 : 1));
	emu_end(&job);
	/* nobody waits for the copies of the threads; the arrivals count themselves and nobody else arrives; a minimum
	 * is no sum */
	edited = emu_edit(text, "@!%p1 bra again;", "");
	run_sums(edited, in, out, &job);
	assert_true(job.found[TCB_PTX_RULE_ASYNC_PENDING] || job.found[TCB_PTX_RULE_RACE] ||
		    job.found[TCB_PTX_RULE_UNWRITTEN_SHARED]);
	emu_end(&job);
	free(edited);
	edited = emu_edit(text, "arrive.noinc", "arrive");
	run_sums(edited, in, out, &job);
	emu_expect(&job, TCB_PTX_RULE_DEADLOCK);
	emu_end(&job);
	free(edited);
	edited = emu_edit(text, "bulk_group.add.f32", "bulk_group.add.u32");
	run_sums(edited, in, out, &job);
	emu_expect_none(&job);
	assert_true(out[0] != 1000 + 2 * in[0]);
	emu_end(&job);
	free(edited);
	free(text);
}

/* --- boxes of tensors --- */

enum { WIDTH = 90, HEIGHT = 40, PITCH = 96 };

struct boxes {
	uint16_t in[HEIGHT * PITCH], out[HEIGHT * PITCH], raw[2048];
};

struct box_case {
	unsigned swizzle, width, height;
	int x, y, fill_nan;
};

static struct tcb_ptx_tensor_map map_of(const struct box_case *c, uint64_t address)
{
	return (struct tcb_ptx_tensor_map){ .type = TCB_PTX_F16,
					    .rank = 2,
					    .address = address,
					    .size = { WIDTH, HEIGHT },
					    .stride = { 0, 2 * PITCH },
					    .box = { c->width, c->height },
					    .swizzle = c->swizzle,
					    .fill_nan = c->fill_nan };
}

static void run_boxes(const char *text, struct boxes *b, const struct box_case *from, const struct box_case *to,
		      struct emu_job *job)
{
	struct {
		uint8_t from[128], to[128];
		uint64_t raw;
		int32_t x, y;
		uint32_t bytes, unused;
	} params = { .x = from->x, .y = from->y, .bytes = 2 * from->width * from->height };
	struct tcb_ptx_launch launch = {
		.grid = { 1, 1, 1 }, .block = { 32, 1, 1 }, .params = &params, .param_bytes = 276
	};
	struct tcb_ptx_tensor_map map;

	for (unsigned i = 0; i < HEIGHT * PITCH; i++) {
		b->in[i] = (uint16_t)(i + 1);
		b->out[i] = 0xffff;
	}
	emu_start(job, text);
	map = map_of(from, emu_add(job, "in", b->in, sizeof b->in, TCB_PTX_READ_ONLY));
	assert_int_equal(tcb_ptx_tensor_map_encode(&map, params.from, NULL), TCB_OK);
	map = map_of(to, emu_add(job, "out", b->out, sizeof b->out, TCB_PTX_MAY_WRITE));
	assert_int_equal(tcb_ptx_tensor_map_encode(&map, params.to, NULL), TCB_OK);
	params.raw = emu_add(job, "raw", b->raw, sizeof b->raw, TCB_PTX_MAY_WRITE);
	emu_run(job, &launch);
}

/* What shared memory should hold: the tile lies at a multiple of 1024, so offsets swizzle like addresses. */
static void expected_raw(const struct boxes *b, const struct box_case *c, uint16_t *raw)
{
	unsigned pitch = 2 * c->width > c->swizzle ? 2 * c->width : c->swizzle;

	for (unsigned i = 0; i < 2048; i++)
		raw[i] = i % 2 ? 0xdead : 0xbeef;
	for (unsigned r = 0; r < c->height; r++)
		for (unsigned q = 0; q < c->width; q++) {
			int x = c->x + (int)q, y = c->y + (int)r;
			int here = x >= 0 && x < WIDTH && y >= 0 && y < HEIGHT;
			uint16_t outside = c->fill_nan ? 0x7ff7 : 0;

			raw[tcb_ptx_swizzle(r * pitch + 2 * q, c->swizzle) / 2] = here ? b->in[y * PITCH + x] : outside;
		}
}

static void boxes_of_tensors(void **state)
{
	/* the shapes that were held against an H200, and what they gave there */
	static const struct box_case cases[] = {
		{ 0, 64, 8, 0, 0, 0 },    { 32, 16, 16, 16, 3, 0 },   { 64, 32, 16, 0, 1, 0 },
		{ 128, 64, 16, 8, 5, 0 }, { 128, 32, 16, 0, 0, 0 },   { 0, 64, 16, 80, 30, 0 },
		{ 0, 64, 16, 80, 30, 1 }, { 128, 64, 16, -8, -3, 0 },
	};
	char *text = emu_read("boxes.ptx");
	uint16_t raw[2048];
	struct boxes b;
	struct emu_job job;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const struct box_case *c = &cases[i];

		run_boxes(text, &b, c, c, &job);
		expected_raw(&b, c, raw);
		assert_memory_equal(b.raw, raw, sizeof raw);
		if (c->x < 0) { /* it may come from there, but not go there */
			emu_expect(&job, TCB_PTX_RULE_BULK_COPY);
			emu_end(&job);
			continue;
		}
		emu_expect_none(&job);
		for (int y = 0; y < HEIGHT; y++)
			for (int x = 0; x < PITCH; x++) {
				int inside = x >= c->x && x < c->x + (int)c->width && y >= c->y &&
					     y < c->y + (int)c->height && x < WIDTH;

				assert_int_equal(b.out[y * PITCH + x], inside ? b.in[y * PITCH + x] : 0xffff);
			}
		emu_end(&job);
	}
	/* controls: other swizzling on the way out; a coordinate that no GPU takes; half the bytes expected */
	{
		struct box_case c = cases[3], other = c;

		other.swizzle = 0;
		run_boxes(text, &b, &c, &other, &job);
		emu_expect_none(&job);
		assert_int_not_equal(b.out[6 * PITCH + 8], b.in[6 * PITCH + 8]);
		emu_end(&job);
		c.x = 5;
		run_boxes(text, &b, &c, &c, &job);
		emu_expect(&job, TCB_PTX_RULE_BULK_COPY);
		emu_end(&job);
	}
	free(text);
}

static void map_rules(void **state)
{
	struct box_case c = { 128, 64, 16, 0, 0, 0 };
	struct tcb_ptx_tensor_map good = map_of(&c, 4096), bad, back;
	uint8_t bytes[128];

	(void)state;
	assert_int_equal(tcb_ptx_tensor_map_encode(&good, bytes, NULL), TCB_OK);
	assert_int_equal(tcb_ptx_tensor_map_decode(bytes, &back, NULL), TCB_OK);
	assert_int_equal(back.size[0], WIDTH);
	assert_int_equal(back.stride[1], 2 * PITCH);
	assert_int_equal(back.swizzle, 128);
	assert_int_equal(tcb_ptx_tensor_map_box_bytes(&back), 2048);
#define REFUSED(change)                                                                        \
	do {                                                                                   \
		bad = good;                                                                    \
		bad.change;                                                                    \
		assert_int_equal(tcb_ptx_tensor_map_encode(&bad, bytes, NULL), TCB_E_ILLEGAL); \
	} while (0)
	REFUSED(address += 8);
	REFUSED(rank = 6);
	REFUSED(stride[1] = 100);
	REFUSED(box[0] = 72);
	REFUSED(box[1] = 257);
	REFUSED(box[0] = 3);
	REFUSED(element_stride[0] = 9);
	REFUSED(swizzle = 16);
	REFUSED(size[1] = 0);
	REFUSED(type = TCB_PTX_S8);
#undef REFUSED
	bytes[0] ^= 1;
	assert_int_equal(tcb_ptx_tensor_map_decode(bytes, &back, NULL), TCB_E_FORMAT);
}

/* --- two blocks of a cluster --- */

static void pair_of_blocks(void **state)
{
	char *text = emu_read("cluster.ptx"), *edited;
	uint32_t in[32], out[64][4];
	struct {
		uint64_t in, out;
	} params;
	struct tcb_ptx_launch launch = { .grid = { 2, 1, 1 },
					 .block = { 32, 1, 1 },
					 .cluster = { 2, 1, 1 },
					 .params = &params,
					 .param_bytes = sizeof params };
	struct emu_job job;

	(void)state;
	for (uint32_t i = 0; i < 32; i++)
		in[i] = 5000 + i;
	emu_start(&job, text);
	params.in = emu_add(&job, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	params.out = emu_add(&job, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run(&job, &launch);
	emu_expect_none(&job);
	for (uint32_t i = 0; i < 64; i++) {
		uint32_t rank = i / 32, lane = i % 32;

		assert_int_equal(out[i][0], (1 - rank) * 1000 + lane);
		assert_int_equal(out[i][1], 5000 + lane);
		assert_int_equal(out[i][2], rank * 1000 + lane); /* what this thread sent */
		assert_int_equal(out[i][3], 1 - rank);
	}
	emu_end(&job);
	/* controls: 32 stores and half of the copy are not 256 bytes; block 2 of 2 */
	edited = emu_edit(text, "[%rd0], 128, [%r4]", "[%rd0], 64, [%r4]");
	emu_start(&job, edited);
	params.in = emu_add(&job, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	params.out = emu_add(&job, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run(&job, &launch);
	emu_expect(&job, TCB_PTX_RULE_DEADLOCK);
	emu_end(&job);
	free(edited);
	edited = emu_edit(text, "xor.b32 %r5, %r1, 1", "add.u32 %r5, %r1, 1");
	emu_start(&job, edited);
	params.in = emu_add(&job, "in", in, sizeof in, TCB_PTX_READ_ONLY);
	params.out = emu_add(&job, "out", out, sizeof out, TCB_PTX_MAY_WRITE);
	emu_run(&job, &launch);
	emu_expect(&job, TCB_PTX_RULE_OUT_OF_BOUNDS);
	emu_end(&job);
	free(edited);
	free(text);
}

/* --- wgmma, as nvcc compiled it --- */

enum { M = 64, N = 128, K = 320 };

struct gemm {
	uint16_t a[M * K], b[N * K];
	float c[M * N];
};

static void run_gemm(const char *text, struct gemm *g, unsigned swizzle, struct emu_job *job)
{
	struct {
		uint8_t a[128], b[128];
		uint64_t c;
		int32_t n, k;
	} params = { .n = N, .k = K };
	struct tcb_ptx_launch launch = { .grid = { N / 64, M / 64, 1 },
					 .block = { 128, 1, 1 },
					 .dynamic_shared = 3 * 2 * 8192,
					 .params = &params,
					 .param_bytes = 272,
					 .seed = 5 };
	struct tcb_ptx_tensor_map map = { .type = TCB_PTX_F16,
					  .rank = 2,
					  .size = { K, M },
					  .stride = { 0, 2 * K },
					  .box = { 64, 64 },
					  .swizzle = swizzle };
	struct tcb_rng rng;

	tcb_rng_init(&rng, 2);
	for (int i = 0; i < M * K; i++)
		g->a[i] = (uint16_t)tcb_ptx_f32_to_f16(tcb_rng_normal(&rng));
	for (int i = 0; i < N * K; i++)
		g->b[i] = (uint16_t)tcb_ptx_f32_to_f16(tcb_rng_normal(&rng));
	memset(g->c, 0xff, sizeof g->c);
	emu_start(job, text);
	map.address = emu_add(job, "a", g->a, sizeof g->a, TCB_PTX_READ_ONLY);
	assert_int_equal(tcb_ptx_tensor_map_encode(&map, params.a, NULL), TCB_OK);
	map.address = emu_add(job, "b", g->b, sizeof g->b, TCB_PTX_READ_ONLY);
	map.size[1] = N;
	assert_int_equal(tcb_ptx_tensor_map_encode(&map, params.b, NULL), TCB_OK);
	params.c = emu_add(job, "c", g->c, sizeof g->c, TCB_PTX_MAY_WRITE);
	emu_run(job, &launch);
}

static double worst(const struct gemm *g)
{
	double worst = 0;

	for (int i = 0; i < M; i++)
		for (int j = 0; j < N; j++) {
			double sum = 0, size = 0, miss;

			for (int l = 0; l < K; l++) {
				double product = (double)tcb_ptx_f16_to_f32(g->a[i * K + l]) *
						 (double)tcb_ptx_f16_to_f32(g->b[j * K + l]);

				sum += product;
				size += fabs(product);
			}
			miss = fabs((double)g->c[i * N + j] - sum) / (size * (K / 16) * 0x1p-22);
			if (!(miss <= worst))
				worst = miss;
		}
	return worst;
}

static void tiles_of_wgmma(void **state)
{
	static const struct mistake mistakes[] = {
		{ "no wait for wgmma", "wgmma.wait_group.sync.aligned 0;", "", TCB_PTX_RULE_ASYNC_PENDING, 0 },
		{ "a wait that leaves one in flight", "wgmma.wait_group.sync.aligned 0;",
		  "wgmma.wait_group.sync.aligned 1;", TCB_PTX_RULE_ASYNC_PENDING, 0 },
		{ "no fence", "wgmma.fence.sync.aligned;", "", TCB_PTX_RULE_WGMMA_ORDER, 0 },
		{ "no barrier after initialising", "bar.sync \t0;", "", TCB_PTX_RULE_RACE,
		  TCB_PTX_RULE_UNWRITTEN_SHARED },
		{ "too few readers", ", 128;\n", ", 96;\n", TCB_PTX_RULE_RACE, 0 },
		{ "tiles reused too early", "mbarrier.arrive.shared::cta.b64 _, [%r86];", "", TCB_PTX_RULE_DEADLOCK,
		  0 },
	};
	char *text = emu_read("gemm_wgmma.ptx");
	static struct gemm g;
	struct emu_job job;

	(void)state;
	run_gemm(text, &g, 128, &job);
	emu_expect_none(&job);
	assert_true(worst(&g) < 1);
	assert_int_equal(job.out.by_class[TCB_PTX_COUNT_MATRIX], 2 * 4 * 5 * 7);
	emu_end(&job);
	/* the tiles come in another order than the descriptors say */
	run_gemm(text, &g, 0, &job);
	emu_expect_none(&job);
	assert_true(worst(&g) > 1000);
	emu_end(&job);
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		char *edited = emu_edit(text, mistakes[i].old, mistakes[i].new);

		run_gemm(edited, &g, 128, &job);
		expect_mistake(&job, &mistakes[i]);
		emu_end(&job);
		free(edited);
	}
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ring_of_copies),   cmocka_unit_test(ring_mistakes), cmocka_unit_test(sums_that_leave),
		cmocka_unit_test(boxes_of_tensors), cmocka_unit_test(map_rules),     cmocka_unit_test(pair_of_blocks),
		cmocka_unit_test(tiles_of_wgmma),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
