/* SPDX-License-Identifier: MIT
 *
 * Views and partitions against brute force: every element of a tensor is
 * covered by exactly one tile, at the offset that the strides say (items 31 to
 * 33, 37, 38, 41 to 45, 47, 48 and 50 of seeds 002).
 */
#include "cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "base/view.h"

/* Calls for every index of VIEW in row-major order; returns 0 after the last. */
static int next_index(const struct tcb_view *view, size_t *index)
{
	for (unsigned dim = view->rank; dim-- > 0;) {
		if (++index[dim] < view->shape[dim])
			return 1;
		index[dim] = 0;
	}
	return 0;
}

static void contiguous_views_count_up(void **state)
{
	static const size_t shape[] = { 2, 3, 5, 7 };
	static const size_t stride[] = { 105, 35, 7, 1 };

	(void)state;
	for (unsigned rank = 1; rank <= 4; rank++) {
		struct tcb_view view;
		size_t index[4] = { 0 }, at = 0;

		assert_int_equal(tcb_view_init(&view, rank, shape, NULL), TCB_OK);
		assert_true(tcb_view_is_contiguous(&view));
		if (rank == 4)
			assert_memory_equal(view.stride, stride, sizeof stride);
		do
			assert_int_equal(tcb_view_at(&view, index), at++);
		while (next_index(&view, index));
		assert_int_equal(at, tcb_view_count(&view));
	}
}

static void slices_keep_strides_and_transposes_swap_them(void **state)
{
	struct tcb_view view, slice, transposed, back;
	const size_t index[] = { 1, 2 }, swapped[] = { 2, 1 }, inner[] = { 0, 0 };

	(void)state;
	assert_int_equal(tcb_view_init(&view, 2, (const size_t[]){ 4, 6 }, NULL), TCB_OK);
	assert_int_equal(tcb_view_slice(&view, 1, 2, 3, &slice, NULL), TCB_OK);
	assert_int_equal(slice.stride[0], 6);
	assert_int_equal(tcb_view_at(&slice, inner), 2);
	assert_false(tcb_view_is_contiguous(&slice));
	assert_int_equal(tcb_view_transpose(&view, 0, 1, &transposed, NULL), TCB_OK);
	assert_int_equal(transposed.stride[0], 1);
	assert_int_equal(transposed.stride[1], 6);
	assert_int_equal(tcb_view_at(&transposed, swapped), tcb_view_at(&view, index));
	assert_int_equal(tcb_view_transpose(&transposed, 0, 1, &back, NULL), TCB_OK);
	assert_memory_equal(&back, &view, sizeof view);
	assert_int_equal(tcb_view_slice(&view, 1, 5, 2, &slice, NULL), TCB_E_USAGE);
	assert_int_equal(tcb_view_slice(&view, 1, 6, 1, &slice, NULL), TCB_E_USAGE);
	assert_int_equal(tcb_view_slice(&view, 1, 0, 0, &slice, NULL), TCB_E_USAGE);
	assert_int_equal(tcb_view_slice(&view, 2, 0, 1, &slice, NULL), TCB_E_USAGE);
}

static void impossible_views_are_refused(void **state)
{
	struct tcb_view view;
	const size_t huge[] = { SIZE_MAX / 2, 3 };

	(void)state;
	assert_int_equal(tcb_view_init(&view, 2, huge, NULL), TCB_E_OVERFLOW);
	assert_int_equal(tcb_view_init(&view, 0, huge, NULL), TCB_E_USAGE);
	assert_int_equal(tcb_view_init(&view, 5, huge, NULL), TCB_E_USAGE);
	assert_int_equal(tcb_view_init(&view, 1, (const size_t[]){ 0 }, NULL), TCB_E_USAGE);
	assert_int_equal(
		tcb_view_init_strided(&view, 1, (const size_t[]){ 3 }, (const size_t[]){ SIZE_MAX / 2 }, 0, NULL),
		TCB_OK);
	assert_int_equal(
		tcb_view_init_strided(&view, 1, (const size_t[]){ 3 }, (const size_t[]){ SIZE_MAX / 2 }, 4, NULL),
		TCB_E_OVERFLOW);
}

/* Marks every element of every tile of PARTITION; each must be marked once. */
static void check_partition(const struct tcb_partition *partition)
{
	size_t count = tcb_view_count(&partition->view);
	unsigned char *seen = calloc(1, count);
	struct tcb_view dense;

	assert_non_null(seen);
	assert_int_equal(tcb_view_init(&dense, partition->view.rank, partition->view.shape, NULL), TCB_OK);
	for (size_t t = 0; t < partition->total; t++) {
		struct tcb_tile_info info;
		struct tcb_view tile;
		size_t index[4] = { 0 };
		int cut = 0;

		tcb_partition_tile(partition, t, &info);
		tcb_partition_tile_view(partition, t, &tile);
		assert_int_equal(info.offset, tcb_view_at(&partition->view, info.start));
		for (unsigned dim = 0; dim < tile.rank; dim++)
			cut |= tile.shape[dim] != partition->tile[dim];
		assert_int_equal(info.is_edge, cut);
		do {
			size_t global[4];

			for (unsigned dim = 0; dim < tile.rank; dim++)
				global[dim] = info.start[dim] + index[dim];
			assert_int_equal(tcb_view_at(&tile, index), tcb_view_at(&partition->view, global));
			assert_int_equal(seen[tcb_view_at(&dense, global)]++, 0);
		} while (next_index(&tile, index));
	}
	for (size_t i = 0; i < count; i++)
		assert_int_equal(seen[i], 1);
	free(seen);
}

static void tiles_cover_every_element_once(void **state)
{
	struct tcb_rng rng;

	(void)state;
	tcb_rng_init(&rng, 7);
	for (int round = 0; round < 2000; round++) {
		unsigned rank = 1 + (unsigned)tcb_rng_below(&rng, 4);
		size_t shape[4], tile[4];
		struct tcb_view view;
		struct tcb_partition partition;

		for (unsigned dim = 0; dim < rank; dim++) {
			shape[dim] = 1 + tcb_rng_below(&rng, rank > 2 ? 7 : 40);
			tile[dim] = 1 + tcb_rng_below(&rng, 12); /* also larger than the tensor */
		}
		assert_int_equal(tcb_view_init(&view, rank, shape, NULL), TCB_OK);
		if (rank > 1 && tcb_rng_below(&rng, 2))
			assert_int_equal(tcb_view_transpose(&view, 0, rank - 1, &view, NULL), TCB_OK);
		if (view.shape[0] > 2 && tcb_rng_below(&rng, 2))
			assert_int_equal(tcb_view_slice(&view, 0, 1, view.shape[0] - 2, &view, NULL), TCB_OK);
		assert_int_equal(tcb_partition_init(&partition, &view, tile, NULL), TCB_OK);
		check_partition(&partition);
	}
	assert_int_equal(tcb_partition_init(&(struct tcb_partition){ 0 },
					    &(struct tcb_view){ .rank = 1, .shape = { 4 }, .stride = { 1 } },
					    (const size_t[]){ 0 }, NULL),
			 TCB_E_USAGE);
}

/* SPEC section 2: block b covers rows from (b / T_N) m and columns from (b mod T_N) n; the seed's formula
 * (b mod (N / n)) is wrong where n does not divide N, and must not be what we compute. */
static void block_order_is_the_spec_s(void **state)
{
	const size_t shape[] = { 100, 100 }, tile[] = { 16, 16 };
	struct tcb_view view;
	struct tcb_partition partition;
	struct tcb_tile_info info;
	int seed_differs = 0;

	(void)state;
	assert_int_equal(tcb_view_init(&view, 2, shape, NULL), TCB_OK);
	assert_int_equal(tcb_partition_init(&partition, &view, tile, NULL), TCB_OK);
	assert_int_equal(partition.count[0], 7);
	assert_int_equal(partition.count[1], 7);
	for (size_t b = 0; b < partition.total; b++) {
		size_t seed_offset = b / (100 / 16) * 16 * 100 + b % (100 / 16) * 16;

		tcb_partition_tile(&partition, b, &info);
		assert_int_equal(info.start[0], b / 7 * 16);
		assert_int_equal(info.start[1], b % 7 * 16);
		seed_differs |= info.offset != seed_offset;
	}
	assert_true(seed_differs);
	tcb_partition_tile(&partition, 48, &info);
	assert_int_equal(info.extent[0], 4);
	assert_int_equal(info.extent[1], 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(contiguous_views_count_up),
		cmocka_unit_test(slices_keep_strides_and_transposes_swap_them),
		cmocka_unit_test(impossible_views_are_refused),
		cmocka_unit_test(tiles_cover_every_element_once),
		cmocka_unit_test(block_order_is_the_spec_s),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
