/* SPDX-License-Identifier: MIT
 *
 * Signatures of GPU candidates: the same for the same kernel however often it
 * is written, others for other launches, texts and packings; and which stored
 * trials are taken for today's.
 */
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "device/gpu.h"
#include "kernels/signature.h"
#include "kernels/space.h"

static struct tcb_gpu h100;

static int setup(void **state)
{
	(void)state;
	return tcb_gpu_table(90, &h100, NULL) == TCB_OK ? 0 : -1;
}

static struct tcb_problem problem_of(const char *name, enum tcb_contract contract, struct tcb_shape shape)
{
	struct tcb_problem problem;
	assert_int_equal(tcb_problem_init(tcb_op_find(name), contract, &shape, &problem, NULL), TCB_OK);
	return problem;
}

static void sign(const struct tcb_problem *problem, const struct tcb_geometry *geometry, char out[TCB_SIGNATURE_MAX])
{
	struct tcb_packings packings = { .is_known = { 0 } };
	char variant[TCB_VARIANT_NAME_MAX];
	struct tcb_error err;
	if (tcb_candidate_identify(problem, &h100.device.target, geometry, &packings, variant, out, &err) != TCB_OK)
		fail_msg("%s", err.message);
	assert_true(variant[0] && strlen(out) == TCB_SIGNATURE_MAX - 1);
}

/* Candidates of a space differ in their kernels, or in nothing that a GPU gets to see. */
static void signatures_tell_kernels_apart(void **state)
{
	static const struct {
		const char *op;
		enum tcb_contract contract;
		struct tcb_shape shape;
	} rows[] = {
		{ "q4k_matvec", TCB_CONTRACT_Q8, { 1, 4096, 4096 } },
		{ "q6k_matmul", TCB_CONTRACT_F16, { 32, 512, 1024 } },
		{ "softmax", TCB_CONTRACT_F32, { 64, 1000, 0 } },
		{ "matmul_f16", TCB_CONTRACT_F16, { 256, 256, 256 } },
	};
	(void)state;
	for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
		const struct tcb_problem p = problem_of(rows[r].op, rows[r].contract, rows[r].shape);
		struct tcb_problem wider = p;
		char first[TCB_SIGNATURE_MAX], again[TCB_SIGNATURE_MAX], other[TCB_SIGNATURE_MAX];
		struct tcb_space *space;
		size_t differ = 0, tried = 0;
		assert_int_equal(tcb_space_create(p.op, &p, &h100.device.target, 0, &space, NULL), TCB_OK);
		sign(&p, &space->geometries[space->default_index], first);
		sign(&p, &space->geometries[space->default_index], again);
		assert_string_equal(first, again);
		for (size_t i = 0; i < space->count; i += space->count / 20 + 1, tried++) {
			sign(&p, &space->geometries[i], other);
			differ += strcmp(first, other) != 0;
		}
		assert_true(differ >= tried - 1 && tried > 10);
		wider.shape.m *= 2; /* of rows ops and products the grid, of others what the launch is told */
		sign(&wider, &space->geometries[space->default_index], other);
		assert_string_not_equal(first, other);
		tcb_space_destroy(space);
	}
}

/* The same PTX and launches on weights that lie otherwise are another kernel. */
static void spoilt_pack(const struct tcb_problem *problem, size_t which, enum tcb_layout layout, const void *weights,
			void *packed)
{
	tcb_op_find(problem->op_name)->pack(problem, which, layout, weights, packed);
	((unsigned char *)packed)[5] ^= 1;
}

static void packing_counts(void **state)
{
	const struct tcb_problem p = problem_of("q4k_matmul", TCB_CONTRACT_F16, (struct tcb_shape){ 32, 512, 1024 });
	struct tcb_op op = *p.op;
	struct tcb_problem spoilt = p;
	struct tcb_geometry geometry;
	char good[TCB_SIGNATURE_MAX], bad[TCB_SIGNATURE_MAX];
	(void)state;
	op.pack = spoilt_pack;
	spoilt.op = &op;
	tcb_op_standard(&p, &h100.device.target, &geometry);
	sign(&p, &geometry, good);
	sign(&spoilt, &geometry, bad);
	assert_string_not_equal(good, bad);
	assert_memory_equal(good, bad, 16); /* of the PTX */
}

static void stored_trials_are_of_today(void **state)
{
	enum { TRIALS = 40 };
	const struct tcb_problem p = problem_of("q4k_matvec", TCB_CONTRACT_Q8, (struct tcb_shape){ 1, 512, 1024 });
	struct tcb_trial *trials = calloc(TRIALS, sizeof *trials);
	struct tcb_current current;
	struct tcb_space *space;
	(void)state;
	assert_non_null(trials);
	assert_int_equal(tcb_space_create(p.op, &p, &h100.device.target, 0, &space, NULL), TCB_OK);
	for (size_t i = 0; i < TRIALS; i++) {
		trials[i].geometry = space->geometries[i * space->count / TRIALS];
		trials[i].pack_ns = (double)i;
		sign(&p, &trials[i].geometry, trials[i].signature);
		if (i % 4 == 1)
			trials[i].signature[0] ^= 1;
		if (i % 4 == 3)
			trials[i].geometry.tile[TCB_MIDI].k = 7; /* no longer legal: nobody writes it */
	}
	assert_int_equal(tcb_trials_current(&p, &h100.device.target, trials, TRIALS, 0, &current, NULL), TCB_OK);
	assert_int_equal(current.unseen, 0);
	assert_int_equal(current.count, TRIALS / 2);
	for (size_t i = 0; i < current.count; i++)
		assert_true(trials[i].pack_ns == 2 * (double)i);
	/* Without time nothing is seen, and nothing is taken for today's. */
	assert_int_equal(tcb_trials_current(&p, &h100.device.target, trials, TRIALS, 1e-9, &current, NULL), TCB_OK);
	assert_int_equal(current.unseen, TRIALS);
	assert_int_equal(current.count, 0);
	tcb_space_destroy(space);
	free(trials);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(signatures_tell_kernels_apart),
		cmocka_unit_test(packing_counts),
		cmocka_unit_test(stored_trials_are_of_today),
	};
	return cmocka_run_group_tests(tests, setup, NULL);
}
