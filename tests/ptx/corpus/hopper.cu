// SPDX-License-Identifier: MIT
// Clusters, mbarriers, bulk copies and dependent launches, as inline PTX (sm_90 and later).
extern "C" __global__ void __cluster_dims__(2, 1, 1) bulk(const float *in, float *out, unsigned bytes)
{
	__shared__ __align__(128) float tile[1024];
	__shared__ __align__(8) unsigned long long barrier;
	unsigned t = (unsigned)__cvta_generic_to_shared(tile), b = (unsigned)__cvta_generic_to_shared(&barrier), rank;

	asm volatile("griddepcontrol.wait;" ::: "memory");
	asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	if (threadIdx.x == 0) {
		asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(b));
		asm volatile("fence.mbarrier_init.release.cluster;");
		asm volatile("fence.proxy.async.shared::cta;");
		asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(b), "r"(bytes));
		asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(t),
			     "l"(in), "r"(bytes), "r"(b)
			     : "memory");
	}
	__syncthreads();
	asm volatile("{\n\t.reg .pred p;\n"
		     "waiting:\n\t"
		     "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n\t"
		     "@p bra done;\n\tbra waiting;\ndone:\n\t}" ::"r"(b),
		     "r"(0u)
		     : "memory");
	asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
	out[blockIdx.x * blockDim.x + threadIdx.x] = tile[threadIdx.x] + (float)rank;
	asm volatile("griddepcontrol.launch_dependents;");
}
