// SPDX-License-Identifier: MIT
// Votes, matches, reductions and shuffles of every kind.
extern "C" __global__ void shuffles(const int *in, int *out)
{
	int i = threadIdx.x, v = in[i];
	unsigned all = 0xffffffffu;

	v += __shfl_sync(all, v, 3) + __shfl_up_sync(all, v, 2, 16) + __shfl_down_sync(all, v, 1, 8);
	v ^= __shfl_xor_sync(all, v, 4);
	v += __popc(__ballot_sync(all, v > 7)) + __any_sync(all, v == 9) + __all_sync(all, v < 100);
	v += __reduce_add_sync(all, v) + (int)__reduce_xor_sync(all, (unsigned)v);
	v += (int)__match_any_sync(all, v);
	int same;
	v += (int)__match_all_sync(all, v, &same) + same;
	__syncwarp();
	out[i] = v + (int)__activemask();
}
