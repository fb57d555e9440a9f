// SPDX-License-Identifier: MIT
// nvcc -ptx -arch=sm_90a: one warp loads with bulk copies, two warp groups consume; mbarriers between them, named
// barriers with counts within the consumers, registers handed over by setmaxnreg.

enum { STAGES = 4, BYTES = 4096, CONSUMERS = 256 };

static __device__ unsigned shared_address(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

static __device__ void wait_for(unsigned long long *barrier, unsigned parity)
{
	asm volatile("{\n\t.reg .pred p;\nwait:\n\t"
		     "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t@p bra done;\n\tbra wait;\ndone:\n\t}" ::"r"(
			     shared_address(barrier)),
		     "r"(parity)
		     : "memory");
}

static __device__ void arrive(unsigned long long *barrier)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

extern "C" __global__ void __launch_bounds__(CONSUMERS + 128, 1)
	warp_specialised(const char *__restrict__ in, float *out, int tiles)
{
	__shared__ alignas(128) float stage[STAGES][BYTES / 4];
	__shared__ unsigned long long full[STAGES], empty[STAGES];
	__shared__ float result[2][128];
	int group = __shfl_sync(0xffffffff, threadIdx.x / 128, 0);

	if (threadIdx.x == 0) {
		for (int i = 0; i < STAGES; i++) {
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(&full[i])));
			asm volatile("mbarrier.init.shared::cta.b64 [%0], 256;" ::"r"(shared_address(&empty[i])));
		}
		asm volatile("fence.mbarrier_init.release.cluster;");
	}
	__syncthreads();
	if (group == 0) {
		asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
		if (threadIdx.x == 0)
			for (int tile = 0; tile < tiles; tile++) {
				int slot = tile % STAGES;

				wait_for(&empty[slot], (tile / STAGES + 1) & 1);
				asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
						     shared_address(&full[slot])),
					     "r"(BYTES));
				asm volatile(
					"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
						shared_address(stage[slot])),
					"l"(in + ((size_t)blockIdx.x * tiles + tile) * BYTES), "r"(BYTES),
					"r"(shared_address(&full[slot]))
					: "memory");
			}
	} else {
		int thread = threadIdx.x - 128, lane = thread % 128;
		float sum = 0;

		asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
		for (int tile = 0; tile < tiles; tile++) {
			int slot = tile % STAGES;

			wait_for(&full[slot], tile / STAGES & 1);
			for (int i = thread; i < BYTES / 4; i += CONSUMERS)
				sum += stage[slot][i];
			arrive(&empty[slot]);
		}
		result[group - 1][lane] = sum;
		if (group == 1)
			asm volatile("bar.sync 1, 128;" ::: "memory");
		else
			asm volatile("bar.sync 2, 128;" ::: "memory");
		sum += result[group - 1][(lane + 1) % 128];
		asm volatile("bar.sync 3, 256;" ::: "memory");
		if (group == 1)
			out[blockIdx.x * 128 + lane] = sum + result[1][lane];
	}
}
