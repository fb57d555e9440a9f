/* SPDX-License-Identifier: MIT
 *
 * The index map: the only place where tile offsets are computed (SPEC
 * section 2; seeds 002 section 3.2 and 003).
 *
 * A tensor view is a shape, strides and an offset, all in elements, over a
 * buffer it does not own.  A partition view cuts a tensor view into tiles;
 * tiles at the far edge are cut to the tensor.  Neither allocates.
 */
#ifndef TCB_BASE_VIEW_H
#define TCB_BASE_VIEW_H

#include <stddef.h>

#include "base/status.h"

enum { TCB_VIEW_RANK_MAX = 4 };

struct tcb_view {
	unsigned rank; /* 1 to TCB_VIEW_RANK_MAX */
	size_t shape[TCB_VIEW_RANK_MAX];
	size_t stride[TCB_VIEW_RANK_MAX];
	size_t offset;
};

/* Row-major view of SHAPE.  TCB_E_OVERFLOW if the element count does not fit, TCB_E_USAGE on rank or zero. */
enum tcb_status tcb_view_init(struct tcb_view *view, unsigned rank, const size_t *shape, struct tcb_error *err);
enum tcb_status tcb_view_init_strided(struct tcb_view *view, unsigned rank, const size_t *shape, const size_t *stride,
				      size_t offset, struct tcb_error *err);
/* COUNT elements from START along DIM; strides are kept. */
enum tcb_status tcb_view_slice(const struct tcb_view *view, unsigned dim, size_t start, size_t count,
			       struct tcb_view *out, struct tcb_error *err);
enum tcb_status tcb_view_transpose(const struct tcb_view *view, unsigned dim_a, unsigned dim_b, struct tcb_view *out,
				   struct tcb_error *err);
int tcb_view_is_contiguous(const struct tcb_view *view);
size_t tcb_view_count(const struct tcb_view *view);
/* Element offset of INDEX in the buffer; INDEX must lie inside the shape (asserted). */
size_t tcb_view_at(const struct tcb_view *view, const size_t *index);

struct tcb_partition {
	struct tcb_view view;
	size_t tile[TCB_VIEW_RANK_MAX];
	size_t count[TCB_VIEW_RANK_MAX]; /* tiles along each dimension: ceil(shape / tile) */
	size_t total;
};

struct tcb_tile_info {
	size_t start[TCB_VIEW_RANK_MAX];
	size_t extent[TCB_VIEW_RANK_MAX]; /* cut at the tensor's edge, never 0 */
	size_t offset;                    /* element offset of the tile's first element */
	int is_edge;                      /* some extent is less than the tile's */
};

/* Tiles of TILE elements; a tile larger than the tensor counts as one cut tile. */
enum tcb_status tcb_partition_init(struct tcb_partition *partition, const struct tcb_view *view, const size_t *tile,
				   struct tcb_error *err);
/* Tile INDEX in row-major order of tiles, INDEX < total (asserted). */
void tcb_partition_tile(const struct tcb_partition *partition, size_t index, struct tcb_tile_info *out);
/* The view of that tile alone. */
void tcb_partition_tile_view(const struct tcb_partition *partition, size_t index, struct tcb_view *out);

#endif
