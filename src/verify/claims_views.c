/* SPDX-License-Identifier: MIT
 *
 * Items 31 to 50, views and memory: the index map by brute force.  Random
 * views are made of slices and transpositions, and each element's offset is
 * held against one that is computed from the operations backwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/view.h"
#include "kernels/space.h"
#include "verify/claim.h"
#include "verify/measure_cache.h"
#include "verify/measure_time.h"
#include "verify/specimen.h"

enum { VIEWS = 400, OPERATIONS_MAX = 6, SIDE_MAX = 7, RANK = TCB_VIEW_RANK_MAX };
enum { SLICES = 1, TRANSPOSITIONS = 2 };

struct operation {
	int is_slice;
	unsigned a, b; /* dimensions; of a slice the first */
	size_t start;
};

/* A view, and how it came about. */
struct made {
	struct tcb_view view;
	size_t shape[RANK]; /* of the array */
	struct operation operation[OPERATIONS_MAX];
	unsigned count;
};

static size_t draw(struct tcb_rng *rng, size_t least, size_t most)
{
	return least + (size_t)tcb_rng_below(rng, most - least + 1);
}

static void make(struct tcb_rng *rng, unsigned rank, int kinds, struct made *out)
{
	*out = (struct made){ 0 };
	for (unsigned d = 0; d < rank; d++)
		out->shape[d] = draw(rng, 1, SIDE_MAX);
	(void)tcb_view_init(&out->view, rank, out->shape, NULL);
	const unsigned operations = kinds ? (unsigned)draw(rng, 1, OPERATIONS_MAX) : 0;
	while (out->count < operations) {
		struct operation *operation = &out->operation[out->count++];
		struct tcb_view next;
		operation->is_slice = kinds == SLICES || (kinds & SLICES && tcb_rng_below(rng, 2));
		operation->a = (unsigned)draw(rng, 0, rank - 1);
		operation->b = (unsigned)draw(rng, 0, rank - 1);
		if (operation->is_slice) {
			const size_t side = out->view.shape[operation->a];
			operation->start = draw(rng, 0, side - 1);
			(void)tcb_view_slice(&out->view, operation->a, operation->start,
					     draw(rng, 1, side - operation->start), &next, NULL);
		} else {
			(void)tcb_view_transpose(&out->view, operation->a, operation->b, &next, NULL);
		}
		out->view = next;
	}
}

/* Where element INDEX of the view is in the array, by the operations backwards. */
static size_t offset_of(const struct made *made, const size_t *index)
{
	size_t at[RANK], offset = 0;
	memcpy(at, index, sizeof at);
	for (unsigned i = made->count; i-- > 0;) {
		const struct operation *operation = &made->operation[i];
		if (operation->is_slice) {
			at[operation->a] += operation->start;
		} else {
			const size_t kept = at[operation->a];
			at[operation->a] = at[operation->b];
			at[operation->b] = kept;
		}
	}
	for (unsigned d = 0; d < made->view.rank; d++)
		offset = offset * made->shape[d] + at[d];
	return offset;
}

static int next_index(const struct tcb_view *view, size_t *index)
{
	for (unsigned d = view->rank; d-- > 0;) {
		if (++index[d] < view->shape[d])
			return 1;
		index[d] = 0;
	}
	return 0;
}

/* Elements of random views, and how many of them are elsewhere. */
static void compare(struct tcb_claim_lab *lab, unsigned least_rank, int kinds, int is_planted, struct tcb_finding *out)
{
	struct tcb_rng rng;
	size_t elements = 0, wrong = 0;
	tcb_rng_init(&rng, lab->seed);
	for (unsigned i = 0; i < VIEWS; i++) {
		struct made made;
		size_t index[RANK] = { 0 };
		make(&rng, least_rank + i % (RANK + 1 - least_rank), kinds, &made);
		if (is_planted)
			made.view.stride[0]++;
		do {
			elements++;
			wrong += tcb_view_at(&made.view, index) != offset_of(&made, index);
		} while (next_index(&made.view, index));
	}
	tcb_found(out, wrong == 0, "%zu of %zu elements of %d views at the wrong offset%s", wrong, elements, VIEWS,
		  is_planted ? " (a stride is one too large)" : "");
}

static void strided(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	compare(lab, 2, SLICES | TRANSPOSITIONS, plant == TCB_PLANT_DEFECT, out);
}

static void ranks(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	compare(lab, 1, 0, plant == TCB_PLANT_DEFECT, out);
}

static void slicing(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	compare(lab, 1, SLICES, plant == TCB_PLANT_DEFECT, out);
}

static void transposing(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	compare(lab, 2, TRANSPOSITIONS, plant == TCB_PLANT_DEFECT, out);
}

/* Every element of a tensor is in exactly one tile. */
static void partition(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct tcb_rng rng;
	size_t elements = 0, wrong = 0;
	unsigned char seen[SIDE_MAX * SIDE_MAX * SIDE_MAX * SIDE_MAX * 2];
	tcb_rng_init(&rng, lab->seed);
	for (unsigned i = 0; i < VIEWS; i++) {
		struct made made;
		struct tcb_partition tiles;
		size_t tile[RANK], count;
		make(&rng, 1 + i % RANK, 0, &made);
		count = tcb_view_count(&made.view);
		for (unsigned d = 0; d < RANK; d++)
			tile[d] = draw(&rng, 1, SIDE_MAX + 1);
		if (tcb_partition_init(&tiles, &made.view, tile, NULL) != TCB_OK) {
			wrong++;
			continue;
		}
		memset(seen, 0, sizeof seen);
		for (size_t t = 0; t < tiles.total; t++) {
			struct tcb_view view;
			size_t index[RANK] = { 0 };
			tcb_partition_tile_view(&tiles, t, &view);
			if (plant == TCB_PLANT_DEFECT && t > 0)
				view.offset--;
			do
				seen[tcb_view_at(&view, index)]++;
			while (next_index(&view, index));
		}
		for (size_t e = 0; e < count; e++)
			wrong += seen[e] != 1;
		elements += count;
	}
	tcb_found(out, wrong == 0, "%zu of %zu elements of %d partitions in no tile or in several%s", wrong, elements,
		  VIEWS, plant == TCB_PLANT_DEFECT ? " (tiles begin one element early)" : "");
}

/* Row-major, column-major and tiled strides against their formulas. */
static void layouts(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	size_t elements = 0, wrong = 0;
	(void)lab;
	for (size_t rows = 1; rows <= 12; rows++) {
		for (size_t cols = 4; cols <= 16; cols += 4) {
			const size_t shape[2] = { rows, cols },
				     by_column[2] = { 1, rows + (plant == TCB_PLANT_DEFECT) };
			const size_t tiled_shape[3] = { cols / 4, rows, 4 }, tiled[3] = { rows * 4, 4, 1 };
			struct tcb_view row_major, column_major, tiles;
			if (tcb_view_init(&row_major, 2, shape, NULL) != TCB_OK ||
			    tcb_view_init_strided(&column_major, 2, shape, by_column, 0, NULL) != TCB_OK ||
			    tcb_view_init_strided(&tiles, 3, tiled_shape, tiled, 0, NULL) != TCB_OK) {
				wrong++;
				continue;
			}
			for (size_t r = 0; r < rows; r++) {
				for (size_t c = 0; c < cols; c++) {
					elements += 3;
					wrong += tcb_view_at(&row_major, (size_t[]){ r, c }) != r * cols + c;
					wrong += tcb_view_at(&column_major, (size_t[]){ r, c }) != c * rows + r;
					wrong += tcb_view_at(&tiles, (size_t[]){ c / 4, r, c % 4 }) !=
						 c / 4 * (rows * 4) + r * 4 + c % 4;
				}
			}
		}
	}
	tcb_found(out, wrong == 0, "%zu of %zu offsets in three layouts are wrong", wrong, elements);
}

/* Tiles that are whole vectors wide begin at whole vectors. */
static void tile_alignment(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const size_t width = plant == TCB_PLANT_DEFECT ? 6 : 8;
	size_t tiles_seen = 0, wrong = 0;
	(void)lab;
	for (size_t rows = 1; rows <= 40; rows += 3) {
		for (size_t cols = 4; cols <= 100; cols += 4) {
			struct tcb_view view;
			struct tcb_partition tiles;
			struct tcb_tile_info info;
			if (tcb_view_init(&view, 2, (size_t[]){ rows, cols }, NULL) != TCB_OK ||
			    tcb_partition_init(&tiles, &view, (size_t[]){ 3, width }, NULL) != TCB_OK) {
				wrong++;
				continue;
			}
			for (size_t t = 0; t < tiles.total; t++) {
				tcb_partition_tile(&tiles, t, &info);
				wrong += info.offset * sizeof(float) % 16 != 0;
			}
			tiles_seen += tiles.total;
		}
	}
	tcb_found(out, wrong == 0, "%zu of %zu tiles, %zu floats wide, begin off a 16-byte boundary", wrong, tiles_seen,
		  width);
}

/* The view of one batch is the array of that batch. */
static void batches(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	enum { BATCHES = 5, ROWS = 4, COLS = 6 };
	float a[BATCHES * ROWS * COLS], want, got;
	size_t wrong = 0;
	struct tcb_view all, one;
	struct tcb_rng rng;
	tcb_rng_init(&rng, lab->seed);
	for (size_t i = 0; i < sizeof a / sizeof *a; i++)
		a[i] = (float)tcb_rng_below(&rng, 1000);
	(void)tcb_view_init(&all, 3, (size_t[]){ BATCHES, ROWS, COLS }, NULL);
	for (size_t b = 0; b < BATCHES; b++) {
		(void)tcb_view_slice(&all, 0, plant == TCB_PLANT_DEFECT ? 0 : b, 1, &one, NULL);
		want = got = 0;
		for (size_t r = 0; r < ROWS; r++) {
			for (size_t c = 0; c < COLS; c++) {
				got += a[tcb_view_at(&one, (size_t[]){ 0, r, c })] * (float)(r + c + 1);
				want += a[b * (ROWS * COLS) + r * COLS + c] * (float)(r + c + 1);
			}
		}
		wrong += got != want;
	}
	tcb_found(out, wrong == 0, "%zu of %d batches have another product than from plain indices", wrong, BATCHES);
}

/* Slices are refused exactly where they leave the view. */
static void bounds(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	size_t asked = 0, wrong = 0;
	(void)lab;
	for (size_t side = 1; side <= 12; side++) {
		for (size_t start = 0; start <= 14; start++) {
			for (size_t count = 0; count <= 14; count++) {
				struct tcb_view view, slice;
				(void)tcb_view_init(&view, 1, &side, NULL);
				const int is_taken = plant == TCB_PLANT_DEFECT ||
						     tcb_view_slice(&view, 0, start, count, &slice, NULL) == TCB_OK;
				wrong += is_taken != (count >= 1 && start + count <= side);
				asked++;
			}
		}
	}
	wrong += plant == TCB_PLANT_NONE &&
		 tcb_view_slice(&(struct tcb_view){ .rank = 1, .shape = { 4 }, .stride = { 1 } }, 0, SIZE_MAX, 2,
				&(struct tcb_view){ 0 }, NULL) == TCB_OK;
	tcb_found(out, wrong == 0, "%zu of %zu slices inside or outside of a view were judged wrong%s", wrong, asked,
		  plant == TCB_PLANT_DEFECT ? " (nothing is refused)" : "");
}

/* A view is contiguous exactly if its elements in order are neighbours. */
static void contiguous(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	struct tcb_rng rng;
	size_t wrong = 0, are = 0;
	tcb_rng_init(&rng, lab->seed);
	for (unsigned i = 0; i < 4 * VIEWS; i++) {
		struct made made;
		size_t index[RANK] = { 0 }, expected;
		make(&rng, 1 + i % RANK, i % 2 ? SLICES : SLICES | TRANSPOSITIONS, &made);
		int is_run = 1;
		expected = tcb_view_at(&made.view, index);
		do
			is_run &= tcb_view_at(&made.view, index) == expected++;
		while (next_index(&made.view, index));
		const int said = plant == TCB_PLANT_DEFECT ? made.view.stride[made.view.rank - 1] == 1
							   : tcb_view_is_contiguous(&made.view);
		are += (size_t)is_run;
		wrong += said != is_run;
	}
	tcb_found(out, wrong == 0, "%zu of %d views judged wrong, of which %zu are contiguous%s", wrong, 4 * VIEWS, are,
		  plant == TCB_PLANT_DEFECT ? " (asked for the last stride alone)" : "");
}

static void metadata(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	const double bytes = plant == TCB_PLANT_DEFECT ? 1 << 10 : 1 << 20;
	const double percent = 100 * (double)sizeof(struct tcb_partition) / bytes;
	(void)lab;
	tcb_found(out, percent < 1, "%zu bytes describe a partitioned tensor of %.0f bytes: %.3g %%",
		  sizeof(struct tcb_partition), bytes, percent);
}

/* Every geometry of an op's space as text and back. */
static void round_trip(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	size_t op_count, seen = 0, wrong = 0;
	const struct tcb_op *const *ops = tcb_ops(&op_count);
	struct tcb_target target = lab->place->device.target;
	for (size_t i = 0; i < op_count; i++) {
		struct tcb_problem problem;
		struct tcb_space *space;
		if ((lab->op && ops[i] != lab->op) ||
		    tcb_problem_init(ops[i], ops[i]->default_contract, &ops[i]->default_shapes[0], &problem, NULL) !=
			    TCB_OK ||
		    tcb_space_create(ops[i], &problem, &target, 0, &space, NULL) != TCB_OK)
			continue;
		for (size_t g = 0; g < space->count; g += 1 + space->count / 500) {
			char text[TCB_GEOMETRY_TEXT_MAX], again[TCB_GEOMETRY_TEXT_MAX];
			struct tcb_geometry back = { 0 };
			tcb_geometry_print(&space->geometries[g], text);
			char *last = strrchr(text, ',');
			if (plant == TCB_PLANT_DEFECT && last)
				*last = '\0';
			const int is_read = tcb_geometry_parse(text, &back, NULL) == TCB_OK;
			tcb_geometry_print(&back, again);
			wrong += !is_read || strcmp(text, again) != 0 ||
				 !tcb_geometry_equal(&back, &space->geometries[g]);
			seen++;
		}
		tcb_space_destroy(space);
	}
	tcb_found(out, wrong == 0 && seen > 0, "%zu of %zu geometries changed on the way to text and back%s", wrong,
		  seen, plant == TCB_PLANT_DEFECT ? " (the last knob is lost)" : "");
}

/* A strided load in PTX: element i * stride, by the emulator. */
static void strided_loads(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	static const char body[] = "mov.u32 %r1, %tid.x;\nld.param.u32 %r2, [stride];\nld.param.u64 %rd1, [in];\n"
				   "ld.param.u64 %rd2, [out];\nmul.lo.u32 %r3, %r1, %r2;\n"
				   "mul.wide.u32 %rd3, %r3, 4;\nadd.s64 %rd3, %rd1, %rd3;\n"
				   "ld.global.u32 %r4, [%rd3];\nmul.wide.u32 %rd4, %r1, 4;\n"
				   "add.s64 %rd4, %rd2, %rd4;\nst.global.u32 [%rd4], %r4;\n";
	size_t wrong = 0, loads = 0;
	(void)lab;
	for (unsigned stride = 1; stride <= 33; stride++) {
		struct tcb_specimen specimen;
		struct tcb_specimen_run run = { .block = 32,
						.grid = 1,
						.arguments = { "buf:u32[1056]=iota", "buf:u32[32]=zero" } };
		char text[32];
		(void)snprintf(text, sizeof text, "u32=%u", plant == TCB_PLANT_DEFECT ? stride + 1 : stride);
		run.arguments[2] = text;
		if (!tcb_specimen_open(&specimen, ".param .u64 in, .param .u64 out, .param .u32 stride", body, out))
			return;
		if (!tcb_specimen_run(&specimen, &run, out)) {
			tcb_specimen_close(&specimen);
			return;
		}
		const uint32_t *got = (const void *)tcb_specimen_buffer(&specimen, 1);
		for (unsigned lane = 0; lane < 32; lane++, loads++)
			wrong += got[lane] != lane * stride;
		tcb_specimen_close(&specimen);
	}
	tcb_found(out, wrong == 0, "%zu of %zu loads with strides 1 to 33 read another element (emulator)%s", wrong,
		  loads, plant == TCB_PLANT_DEFECT ? ", of a kernel whose stride is one too large" : "");
}

/* Blocked matrix product in a cache of 768 elements, one element a line, least recently used out. */
static void cache_rule(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	enum { CACHE = 768, SIDE = 64 };
	const size_t tile = plant == TCB_PLANT_DEFECT ? 32 : 16; /* sqrt(768 / 3) = 16 */
	(void)lab;
	struct tcb_cache *cache = tcb_cache_create(CACHE, CACHE, 1);
	if (!cache) {
		tcb_found_nothing(out, "out of memory");
		return;
	}
	for (size_t i0 = 0; i0 < SIDE; i0 += tile)
		for (size_t j0 = 0; j0 < SIDE; j0 += tile)
			for (size_t k0 = 0; k0 < SIDE; k0 += tile)
				for (size_t i = i0; i < i0 + tile; i++)
					for (size_t j = j0; j < j0 + tile; j++)
						for (size_t k = k0; k < k0 + tile; k++) {
							tcb_cache_touch(cache, i * SIDE + k);
							tcb_cache_touch(cache, 10000 + j * SIDE + k);
							tcb_cache_touch(cache, 20000 + i * SIDE + j);
						}
	const double hits = 100 * tcb_cache_hit_rate(cache);
	tcb_cache_destroy(cache);
	tcb_found(out, hits > 90,
		  "%.1f %% hits of a blocked product with tiles of %zu in a simulated cache of %d elements", hits, tile,
		  CACHE);
}

/* A transposition in tiles and in rows, in a cache of 32 KiB. */
static void tiled_misses(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	enum { SIDE = 512 };
	double misses[2];
	(void)lab;
	for (int is_tiled = 0; is_tiled < 2; is_tiled++) {
		const size_t tile = is_tiled && plant != TCB_PLANT_DEFECT ? 16 : SIDE;
		struct tcb_cache *cache = tcb_cache_create(512, 8, 64);
		struct tcb_view view;
		struct tcb_partition tiles;
		if (!cache || tcb_view_init(&view, 2, (size_t[]){ SIDE, SIDE }, NULL) != TCB_OK ||
		    tcb_partition_init(&tiles, &view, (size_t[]){ tile, tile }, NULL) != TCB_OK) {
			tcb_cache_destroy(cache);
			tcb_found_nothing(out, "out of memory");
			return;
		}
		for (size_t t = 0; t < tiles.total; t++) {
			struct tcb_tile_info info;
			tcb_partition_tile(&tiles, t, &info);
			for (size_t r = info.start[0]; r < info.start[0] + info.extent[0]; r++)
				for (size_t c = info.start[1]; c < info.start[1] + info.extent[1]; c++) {
					tcb_cache_touch(cache, 4 * (r * SIDE + c));
					tcb_cache_touch(cache, (1 << 24) + 4 * (c * (SIDE + 16) + r));
				}
		}
		misses[is_tiled] = 100 * (1 - tcb_cache_hit_rate(cache));
		tcb_cache_destroy(cache);
	}
	tcb_found(out, misses[1] < misses[0],
		  "%.1f %% misses of a transposition in tiles, %.1f %% in rows (simulated 32 KiB, 8 ways)", misses[1],
		  misses[0]);
}

/* Sums of 64x64 tiles found by the partition, and by hand. */
struct tiled_sum {
	const float *data;
	struct tcb_partition tiles;
	int is_planted; /* each element by tcb_view_at */
	float sum;
};

enum { SUM_SIDE = 1024, SUM_TILE = 64 };

static void sum_by_partition(void *ctx)
{
	struct tiled_sum *s = ctx;
	float sum = 0;
	for (size_t t = 0; t < s->tiles.total; t++) {
		struct tcb_tile_info info;
		tcb_partition_tile(&s->tiles, t, &info);
		for (size_t r = 0; r < info.extent[0]; r++) {
			const float *row = s->data + info.offset + r * SUM_SIDE;
			for (size_t c = 0; c < info.extent[1]; c++)
				sum += s->is_planted
					       ? s->data[tcb_view_at(&s->tiles.view, (size_t[]){ info.start[0] + r,
												 info.start[1] + c })]
					       : row[c];
		}
	}
	s->sum = sum;
}

static void sum_by_hand(void *ctx)
{
	struct tiled_sum *s = ctx;
	float sum = 0;
	for (size_t r0 = 0; r0 < SUM_SIDE; r0 += SUM_TILE)
		for (size_t c0 = 0; c0 < SUM_SIDE; c0 += SUM_TILE)
			for (size_t r = r0; r < r0 + SUM_TILE; r++)
				for (size_t c = c0; c < c0 + SUM_TILE; c++)
					sum += s->data[r * SUM_SIDE + c];
	s->sum = sum;
}

static void overhead(struct tcb_claim_lab *lab, enum tcb_plant plant, struct tcb_finding *out)
{
	float *data = calloc((size_t)SUM_SIDE * SUM_SIDE, sizeof *data);
	struct tiled_sum sum = { .data = data, .is_planted = plant == TCB_PLANT_DEFECT };
	struct tcb_view view;
	(void)lab;
	if (!data || tcb_view_init(&view, 2, (size_t[]){ SUM_SIDE, SUM_SIDE }, NULL) != TCB_OK ||
	    tcb_partition_init(&sum.tiles, &view, (size_t[]){ SUM_TILE, SUM_TILE }, NULL) != TCB_OK) {
		free(data);
		tcb_found_nothing(out, "out of memory");
		return;
	}
	const int is_true = plant == TCB_PLANT_TRUTH;
	const struct tcb_interval ratio =
		tcb_pair_time(is_true ? sum_by_hand : sum_by_partition, sum_by_hand, &sum, 41);
	free(data);
	tcb_found_below(out, &ratio, 1.01,
			is_true ? "time of sums over 64x64 tiles by hand, over itself"
				: "time of sums over 64x64 tiles found by a partition, over loops by hand");
}

const struct tcb_claim tcb_claims_views[] = {
	{ "I031", "a view addresses strided elements", "no wrong offset", "A", TCB_CLAIM_OURS, strided },
	{ "I032", "tiles of a partition do not overlap and leave nothing out", "each element in one tile", "A",
	  TCB_CLAIM_OURS, partition },
	{ "I033", "strides are right in row-major, column-major and tiled layouts", "no wrong offset", "A",
	  TCB_CLAIM_OURS, layouts },
	{ "I034", "tiles of sqrt(cache/3) elements a side keep a product in the cache (restated: a model of a cache)",
	  "> 90 % hits", "A", TCB_CLAIM_SOURCE, cache_rule },
	{ "I035", "coalesced access has four times the bandwidth of strided access", ">= 4x", "C", TCB_CLAIM_SOURCE,
	  NULL,
	  "bandwidth needs a GPU, and no kernel of the registry reads with a stride on purpose; F341 counts sectors" },
	{ "I036", "tiles found by a partition cost nothing", "< 1 % (undecided where the interval has 1.01)", "A",
	  TCB_CLAIM_SOURCE, overhead },
	{ "I037", "views have one to four dimensions", "no wrong offset", "A", TCB_CLAIM_OURS, ranks },
	{ "I038", "tiles of whole vectors begin at whole vectors", "all 16-byte aligned", "A", TCB_CLAIM_OURS,
	  tile_alignment },
	{ "I039", "strided loads in PTX read the right elements", "no wrong element", "A", TCB_CLAIM_OURS,
	  strided_loads },
	{ "I040", "the abstraction is type-safe at compile time", "-", "A", TCB_CLAIM_OURS, NULL,
	  "not applicable: views of this library count elements and know no element type" },
	{ "I041", "a slice keeps the strides", "no wrong offset", "A", TCB_CLAIM_OURS, slicing },
	{ "I042", "a transposition swaps the strides", "no wrong offset", "A", TCB_CLAIM_OURS, transposing },
	{ "I043", "the views of a batch are its matrices", "all products equal", "A", TCB_CLAIM_OURS, batches },
	{ "I044", "making views allocates nothing", "0 bytes", "A", TCB_CLAIM_OURS, tcb_claim_view_allocations },
	{ "I045", "slices outside of a view are refused", "all of them, and none inside", "A", TCB_CLAIM_OURS, bounds },
	{ "I046", "tiles have fewer cache misses than rows", "fewer misses", "A", TCB_CLAIM_SOURCE, tiled_misses },
	{ "I047", "contiguous views are recognised", "all, and no other", "A", TCB_CLAIM_OURS, contiguous },
	{ "I048", "what is written as text is read back (restated: geometries, the only views that are stored)",
	  "all identical", "A", TCB_CLAIM_OURS, round_trip },
	{ "I049", "views work with asynchronous transfers", "-", "C", TCB_CLAIM_OURS, NULL,
	  "not applicable: the library copies nothing to or from a GPU, it works in the caller's device memory" },
	{ "I050", "what describes a view is below 1 % of 1 MB of data", "< 1 %", "A", TCB_CLAIM_OURS, metadata },
	{ 0 },
};
