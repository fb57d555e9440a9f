/* SPDX-License-Identifier: MIT
 *
 * Tensor and partition views.  All sizes are checked when a view is made, so
 * that offsets inside it cannot overflow.
 */
#include "base/view.h"

#include <assert.h>

#include "base/problem.h"

/* The offset of the last element, which bounds every offset inside the view. */
static int last_offset(const struct tcb_view *view, size_t *out)
{
	size_t last = view->offset;

	for (unsigned dim = 0; dim < view->rank; dim++) {
		size_t reach;

		if (tcb_mul_size(view->shape[dim] - 1, view->stride[dim], &reach) || tcb_add_size(last, reach, &last))
			return -1;
	}
	*out = last;
	return 0;
}

enum tcb_status tcb_view_init_strided(struct tcb_view *view, unsigned rank, const size_t *shape, const size_t *stride,
				      size_t offset, struct tcb_error *err)
{
	size_t count = 1, last;

	if (rank < 1 || rank > TCB_VIEW_RANK_MAX)
		return tcb_fail(err, TCB_E_USAGE, "a view has 1 to %d dimensions, not %u", TCB_VIEW_RANK_MAX, rank);
	*view = (struct tcb_view){ .rank = rank, .offset = offset };
	for (unsigned dim = 0; dim < rank; dim++) {
		if (shape[dim] == 0)
			return tcb_fail(err, TCB_E_USAGE, "dimension %u of a view is 0", dim);
		view->shape[dim] = shape[dim];
		view->stride[dim] = stride[dim];
		if (tcb_mul_size(count, shape[dim], &count))
			return tcb_fail(err, TCB_E_OVERFLOW, "the element count of a view overflows");
	}
	if (last_offset(view, &last))
		return tcb_fail(err, TCB_E_OVERFLOW, "the strides of a view reach beyond the address space");
	return TCB_OK;
}

enum tcb_status tcb_view_init(struct tcb_view *view, unsigned rank, const size_t *shape, struct tcb_error *err)
{
	size_t stride[TCB_VIEW_RANK_MAX], step = 1;

	if (rank < 1 || rank > TCB_VIEW_RANK_MAX)
		return tcb_fail(err, TCB_E_USAGE, "a view has 1 to %d dimensions, not %u", TCB_VIEW_RANK_MAX, rank);
	for (unsigned dim = rank; dim-- > 0;) {
		stride[dim] = step;
		if (tcb_mul_size(step, shape[dim], &step))
			return tcb_fail(err, TCB_E_OVERFLOW, "the element count of a view overflows");
	}
	return tcb_view_init_strided(view, rank, shape, stride, 0, err);
}

enum tcb_status tcb_view_slice(const struct tcb_view *view, unsigned dim, size_t start, size_t count,
			       struct tcb_view *out, struct tcb_error *err)
{
	if (dim >= view->rank)
		return tcb_fail(err, TCB_E_USAGE, "a view of rank %u has no dimension %u", view->rank, dim);
	if (count == 0 || start >= view->shape[dim] || count > view->shape[dim] - start)
		return tcb_fail(err, TCB_E_USAGE, "slice %zu+%zu is outside dimension %u of %zu elements", start, count,
				dim, view->shape[dim]);
	*out = *view;
	out->shape[dim] = count;
	out->offset += start * view->stride[dim];
	return TCB_OK;
}

enum tcb_status tcb_view_transpose(const struct tcb_view *view, unsigned dim_a, unsigned dim_b, struct tcb_view *out,
				   struct tcb_error *err)
{
	struct tcb_view result = *view;

	if (dim_a >= view->rank || dim_b >= view->rank)
		return tcb_fail(err, TCB_E_USAGE, "a view of rank %u has no dimension %u", view->rank,
				dim_a > dim_b ? dim_a : dim_b);
	result.shape[dim_a] = view->shape[dim_b];
	result.shape[dim_b] = view->shape[dim_a];
	result.stride[dim_a] = view->stride[dim_b];
	result.stride[dim_b] = view->stride[dim_a];
	*out = result;
	return TCB_OK;
}

int tcb_view_is_contiguous(const struct tcb_view *view)
{
	size_t step = 1;

	for (unsigned dim = view->rank; dim-- > 0;) {
		if (view->shape[dim] > 1 && view->stride[dim] != step)
			return 0;
		step *= view->shape[dim];
	}
	return 1;
}

size_t tcb_view_count(const struct tcb_view *view)
{
	size_t count = 1;

	for (unsigned dim = 0; dim < view->rank; dim++)
		count *= view->shape[dim];
	return count;
}

size_t tcb_view_at(const struct tcb_view *view, const size_t *index)
{
	size_t at = view->offset;

	for (unsigned dim = 0; dim < view->rank; dim++) {
		assert(index[dim] < view->shape[dim]);
		at += index[dim] * view->stride[dim];
	}
	return at;
}

enum tcb_status tcb_partition_init(struct tcb_partition *partition, const struct tcb_view *view, const size_t *tile,
				   struct tcb_error *err)
{
	*partition = (struct tcb_partition){ .view = *view, .total = 1 };
	for (unsigned dim = 0; dim < view->rank; dim++) {
		if (tile[dim] == 0)
			return tcb_fail(err, TCB_E_USAGE, "dimension %u of a tile is 0", dim);
		partition->tile[dim] = tile[dim];
		partition->count[dim] = (view->shape[dim] - 1) / tile[dim] + 1;
		/* No overflow: there are at most as many tiles as elements. */
		partition->total *= partition->count[dim];
	}
	return TCB_OK;
}

void tcb_partition_tile(const struct tcb_partition *partition, size_t index, struct tcb_tile_info *out)
{
	const struct tcb_view *view = &partition->view;

	assert(index < partition->total);
	*out = (struct tcb_tile_info){ .offset = view->offset };
	for (unsigned dim = view->rank; dim-- > 0;) {
		size_t start = index % partition->count[dim] * partition->tile[dim];
		size_t left = view->shape[dim] - start;

		index /= partition->count[dim];
		out->start[dim] = start;
		out->extent[dim] = left < partition->tile[dim] ? left : partition->tile[dim];
		out->is_edge |= left < partition->tile[dim];
		out->offset += start * view->stride[dim];
	}
}

void tcb_partition_tile_view(const struct tcb_partition *partition, size_t index, struct tcb_view *out)
{
	struct tcb_tile_info tile;

	tcb_partition_tile(partition, index, &tile);
	*out = partition->view;
	out->offset = tile.offset;
	for (unsigned dim = 0; dim < out->rank; dim++)
		out->shape[dim] = tile.extent[dim];
}
