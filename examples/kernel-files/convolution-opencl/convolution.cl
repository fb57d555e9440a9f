/* SPDX-License-Identifier: MIT
 *
 * A two-dimensional convolution: each work-group computes a tile of the output from a tile of the input that is
 * larger by the filter's edge, each work-item WORK_X by WORK_Y values of it.
 *
 * STAGED: the work-group brings its part of the input to local memory first.  APART: a work-item's values lie a
 * work-group apart, so that neighbours read neighbours; else side by side, as a processor's vectors like them.
 */
#define TILE_X (GROUP_X * WORK_X)
#define TILE_Y (GROUP_Y * WORK_Y)
#define TILE_STRIDE (TILE_X + FILTER - 1 + PAD)
#define INPUT_X (columns + FILTER - 1)
#define STEP_X (APART ? GROUP_X : 1)
#define STEP_Y (APART ? GROUP_Y : 1)

kernel void convolution(global const float *restrict input, constant float *filter, global float *restrict output,
			local float *tile)
{
	const int x = get_local_id(0) * (APART ? 1 : WORK_X), y = get_local_id(1) * (APART ? 1 : WORK_Y);
	const int first_x = get_group_id(0) * TILE_X, first_y = get_group_id(1) * TILE_Y;
	float sum[WORK_Y][WORK_X] = { { 0 } };

	if (STAGED) {
		for (int i = get_local_id(1); i < TILE_Y + FILTER - 1; i += GROUP_Y)
			for (int j = get_local_id(0); j < TILE_X + FILTER - 1; j += GROUP_X)
				tile[i * TILE_STRIDE + j] = input[(first_y + i) * INPUT_X + first_x + j];
		barrier(CLK_LOCAL_MEM_FENCE);
	}
	for (int i = 0; i < FILTER; i++)
		for (int j = 0; j < FILTER; j++) {
			const float weight = filter[i * FILTER + j];

			for (int v = 0; v < WORK_Y; v++)
				for (int u = 0; u < WORK_X; u++) {
					const int row = y + v * STEP_Y + i, column = x + u * STEP_X + j;

					sum[v][u] += weight * (STAGED ? tile[row * TILE_STRIDE + column]
								      : input[(first_y + row) * INPUT_X + first_x + column]);
				}
		}
	for (int v = 0; v < WORK_Y; v++)
		for (int u = 0; u < WORK_X; u++)
			output[(first_y + y + v * STEP_Y) * columns + first_x + x + u * STEP_X] = sum[v][u];
}
