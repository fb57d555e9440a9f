// SPDX-License-Identifier: MIT
// Clusters: their barrier, and shared memory of other blocks.
#include "hazard.cuh"

// == neighbour_not_ready: shared memory of the neighbour is read before it has written it
// target: sm_90
// launch: --block 64
// run: --grid 2 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: race shared-race unwritten-shared cluster
extern "C" __global__ void __cluster_dims__(2, 1, 1) neighbour_not_ready(const float *in, float *out)
{
	__shared__ float line[64];
	int t = threadIdx.x, i = blockIdx.x * 64 + t;

	line[t] = in[i]; //!
	PLANTED(__syncthreads();)
	MENDED(cluster_arrive(); cluster_wait();)
	out[i] = remote_load(mapa(&line[63 - t], cluster_rank() ^ 1)); //!
	cluster_arrive();
	cluster_wait();
}

// == leaves_while_read: a block ends while its neighbour may still read its shared memory
// target: sm_90
// launch: --block 64
// run: --grid 2 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: race out-of-bounds cluster
extern "C" __global__ void __cluster_dims__(2, 1, 1) leaves_while_read(const float *in, float *out)
{
	__shared__ float line[64];
	int t = threadIdx.x, i = blockIdx.x * 64 + t;

	line[t] = in[i];
	cluster_arrive();
	cluster_wait();
	out[i] = remote_load(mapa(&line[63 - t], cluster_rank() ^ 1)); //!
	MENDED(cluster_arrive();
	cluster_wait();)
}

// == arrives_without_wait: a block arrives at the cluster's barrier and goes on without waiting
// target: sm_90
// launch: --block 64
// run: --grid 2 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: race shared-race unwritten-shared cluster deadlock barrier-divergent
extern "C" __global__ void __cluster_dims__(2, 1, 1) arrives_without_wait(const float *in, float *out)
{
	__shared__ float line[64];
	int t = threadIdx.x, i = blockIdx.x * 64 + t;

	line[t] = in[i];
	cluster_arrive(); //!
	MENDED(cluster_wait();)
	out[i] = remote_load(mapa(&line[t ^ 1], cluster_rank() ^ 1)); //!
	PLANTED(cluster_wait();)
	cluster_arrive();
	cluster_wait();
}

// == leader_alone_meets: only the cluster's first block comes to its barrier
// target: sm_90
// launch: --block 32
// run: --grid 2 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: race cluster deadlock barrier-divergent barrier-skipped
extern "C" __global__ void __cluster_dims__(2, 1, 1) leader_alone_meets(const float *in, float *out)
{
	__shared__ float line[32];
	int t = threadIdx.x, i = blockIdx.x * 32 + t;
	bool leads = cluster_rank() == 0;

	line[t] = in[i] * 0.5f;
	cluster_arrive();
	cluster_wait();
	PLANTED(if (leads)) //!
		out[i] = remote_load(mapa(&line[31 - t], cluster_rank() ^ 1)); //!
	PLANTED(if (leads)) { //!
		cluster_arrive(); //!
		cluster_wait(); //!
	}
}

// == rank_of_a_third: a cluster of two asks for the memory of a third block
// target: sm_90
// launch: --block 32
// run: --grid 4 --arg buf:f32[128]:ro=random --arg buf:f32[128]=zero
// rules: out-of-bounds cluster
extern "C" __global__ void __cluster_dims__(2, 1, 1) rank_of_a_third(const float *in, float *out)
{
	__shared__ float line[32];
	int t = threadIdx.x, i = blockIdx.x * 32 + t;

	line[t] = in[i];
	cluster_arrive();
	cluster_wait();
	out[i] = remote_load(mapa(&line[t], PLANTED(cluster_rank() + 1) MENDED((cluster_rank() + 1) % 2))); //!
	cluster_arrive();
	cluster_wait();
}

// == bins_of_the_neighbour: votes for the neighbour's bins begin before it has cleared them
// target: sm_90
// launch: --block 64
// run: --grid 2 --arg buf:s32[128]:ro=random:0:127 --arg buf:s32[128]=zero
// rules: race shared-race unwritten-shared cluster
extern "C" __global__ void __cluster_dims__(2, 1, 1) bins_of_the_neighbour(const int *in, int *out)
{
	__shared__ int bins[64];
	int t = threadIdx.x, i = blockIdx.x * 64 + t, v = in[i] & 127;

	bins[t] = 0; //!
	PLANTED(__syncthreads();)
	MENDED(cluster_arrive(); cluster_wait();)
	asm volatile("red.shared::cluster.add.u32 [%0], 1;" ::"r"(mapa(&bins[v % 64], v / 64)) : "memory"); //!
	cluster_arrive();
	cluster_wait();
	out[i] = bins[t];
}

// == relaxed_arrival: the arrival releases nothing, and the neighbour reads what was stored before
// target: sm_90
// launch: --block 32
// run: --grid 2 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: race shared-race unwritten-shared cluster
extern "C" __global__ void __cluster_dims__(2, 1, 1) relaxed_arrival(const float *in, float *out)
{
	__shared__ float line[32];
	int t = threadIdx.x, i = blockIdx.x * 32 + t;

	line[t] = in[i]; //!
	PLANTED(asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");) //!
	MENDED(cluster_arrive();)
	cluster_wait();
	out[i] = remote_load(mapa(&line[31 - t], cluster_rank() ^ 1)); //!
	cluster_arrive();
	cluster_wait();
}

// == remote_store_unread: a block reads what its neighbour stored in it after a barrier of its own alone
// target: sm_90
// launch: --block 32
// run: --grid 2 --arg buf:f32[64]:ro=random --arg buf:f32[64]=zero
// rules: race shared-race unwritten-shared cluster
extern "C" __global__ void __cluster_dims__(2, 1, 1) remote_store_unread(const float *in, float *out)
{
	__shared__ float inbox[32];
	int t = threadIdx.x, i = blockIdx.x * 32 + t;

	cluster_arrive();
	cluster_wait();
	remote_store(mapa(&inbox[t], cluster_rank() ^ 1), in[i]); //!
	PLANTED(__syncthreads();)
	MENDED(cluster_arrive(); cluster_wait();)
	out[i] = inbox[31 - t]; //!
	PLANTED(cluster_arrive(); cluster_wait();)
}
