/* SPDX-License-Identifier: MIT
 *
 * Kernels for places in chains (pdl=2 and more, which are in no space), in the emulator: they compute what their
 * likes compute, and read early no more than they say.
 */
#include "gpu_bench.h"

#include <string.h>

#include "kernels/gpu/gpu_rules.h"
#include "kernels/gpu/ptx_code.h"

#define SHARES "isa=dp4a,vec=16,splitk=1,copy=bulk,xin=regs,prep=block,blocks=1,occ=1"
#define LIMITS "isa=mma,vec=16,copy=async,heads=4"
#define ROPE_ONE "micro=1x1x4,isa=fma,unroll=1,vec=8,stream=0,parts=1"

static const struct {
	const char *op;
	enum tcb_contract contract;
	const char *shape, *geometry;
	int is_joined; /* pairs of blocks share rows in place of pairs of warps, too */
	const int32_t pdl[3];
} places[] = {
	{ "q4k_rmsnorm_matvec",
	  TCB_CONTRACT_Q8,
	  "1x100x2048",
	  "macro=1x128x2048,midi=1x4x2048,micro=1x2x256,layout=s,unroll=1,warps=4,stages=2,ksplit=2,group=32,lead="
	  "1," SHARES,
	  1,
	  { 1, TCB_PDL_OPENS, TCB_PDL_BESIDE } },
	{ "q6k_matvec",
	  TCB_CONTRACT_Q8,
	  "1x100x2048,add,xbf16",
	  "macro=1x128x2048,midi=1x4x2048,micro=1x2x256,layout=s,unroll=1,warps=4,stages=2,ksplit=2,group=256,lead="
	  "2," SHARES,
	  1,
	  { 1, TCB_PDL_OPENS, TCB_PDL_BESIDE } },
	{ "q4k_rmsnorm_swiglu_matvec",
	  TCB_CONTRACT_Q8,
	  "1x100x2048,ybf16",
	  "macro=1x128x2048,midi=1x4x2048,micro=1x2x256,layout=s,unroll=1,warps=4,stages=2,ksplit=2,group=32,lead="
	  "2," SHARES,
	  1,
	  { 1, TCB_PDL_OPENS, TCB_PDL_BESIDE } },
	{ "rope_append_f16",
	  TCB_CONTRACT_F32,
	  "1x64x64,h4/2,b3,ragged,pairs,apart",
	  "macro=1x1x64,midi=1x1x64,warps=2," ROPE_ONE,
	  0,
	  { TCB_PDL_EARLY } },
	{ "rope_append_f16",
	  TCB_CONTRACT_F32,
	  "3x64x64,h4/2,p16,qknorm6",
	  "macro=4x1x64,midi=1x1x64,warps=1," ROPE_ONE,
	  0,
	  { TCB_PDL_EARLY } },
	{ "rope_append_q80",
	  TCB_CONTRACT_F32,
	  "1x64x64,h4/2,pairs",
	  "macro=1x1x64,midi=1x1x64,warps=1," ROPE_ONE,
	  0,
	  { TCB_PDL_EARLY } },
	{ "attention_decode_f16",
	  TCB_CONTRACT_F32,
	  "1x200x64,h4/1,b2,ragged",
	  "macro=1x256x64,midi=1x32x64,micro=1x16x64,warps=2,stages=3,splitk=2,occ=2,join=last,cluster=1," LIMITS,
	  0,
	  { TCB_PDL_EARLY } },
	{ "attention_decode_f16",
	  TCB_CONTRACT_F32,
	  "3x200x64,h4/1,w90,sinks",
	  "macro=4x256x64,midi=1x32x64,micro=1x16x64,warps=2,stages=2,splitk=2,occ=2,join=cluster,cluster=2," LIMITS,
	  0,
	  { TCB_PDL_EARLY } },
	{ "attention_decode_bf16",
	  TCB_CONTRACT_F32,
	  "1x33x64,h4/1",
	  "macro=1x64x64,midi=1x16x64,micro=1x16x64,warps=1,stages=4,splitk=1,occ=1,join=none,cluster=1," LIMITS,
	  0,
	  { TCB_PDL_EARLY } },
};

static struct tcb_problem problem_of(size_t i)
{
	const struct tcb_op *op = tcb_op_find(places[i].op);
	struct tcb_shape shape;
	struct tcb_error err;

	assert_non_null(op);
	if (tcb_shape_parse(places[i].shape, &shape, &err) != TCB_OK)
		fail_msg("%s", err.message);
	return gpu_problem(op, places[i].contract, shape);
}

static void places_are_right(void **state)
{
	const struct tcb_target target = gpu_target(90, 4);
	struct gpu_tally tally = { 0, 0, 0 };

	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		for (size_t j = 0; j < 3 && places[i].pdl[j]; j++)
			for (int joined = 0; joined <= places[i].is_joined; joined++) {
				const struct tcb_problem p = problem_of(i);
				struct tcb_geometry g = gpu_geometry(places[i].geometry);

				g.knob[TCB_KNOB_PDL] = places[i].pdl[j];
				if (joined) {
					g.tile[TCB_MIDI].n *= 2;
					g.knob[TCB_KNOB_KSPLIT] = 1;
					g.knob[TCB_KNOB_SPLITK] = 2;
					g.knob[TCB_KNOB_JOIN] = TCB_JOIN_CLUSTER;
				}
				gpu_check_run(&p, &target, &g, 1 + j, &tally);
			}
	gpu_tally_print(&tally);
}

/* What libtcbrt reads of a kernel: what it reads early, and what it appends. */
static void places_tell_what_they_read(void **state)
{
	const struct tcb_target target = gpu_target(90, 4);

	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		const struct tcb_problem p = problem_of(i);
		struct tcb_geometry g = gpu_geometry(places[i].geometry);
		const int is_rope = strncmp(places[i].op, "rope", 4) == 0, is_attention = places[i].op[0] == 'a';
		const struct tcb_launch_ptx *own;
		struct tcb_kernel kernel;

		g.knob[TCB_KNOB_PDL] = places[i].pdl[0];
		gpu_emit(&p, &target, &g, &kernel);
		own = &tcb_kernel_ptx(&kernel)->launch[0];
		/* rope_append: rotation and lengths, of qkv, rotation, lengths, q, k, v; attention: q, k, v, lengths */
		assert_int_equal(own->early, is_rope ? 6 : is_attention ? 8 : 0);
		assert_int_equal(own->early_old, is_attention ? 6 : 0);
		assert_int_equal(own->appended, is_rope ? 16 + 32 : 0);
		assert_int_equal(own->lengths, is_rope ? 4 : is_attention ? 8 : 0);
		tcb_kernel_fini(&kernel);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(places_are_right),
					    cmocka_unit_test(places_tell_what_they_read) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
