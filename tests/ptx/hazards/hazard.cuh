// SPDX-License-Identifier: MIT
// What the planted hazards share: the two switches, and names for instructions that CUDA C++ has no word for.
#pragma once

#ifdef IS_PLANTED
#define PLANTED(...) __VA_ARGS__
#define MENDED(...)
#else
#define PLANTED(...)
#define MENDED(...) __VA_ARGS__
#endif

typedef unsigned long long u64;

static __device__ __forceinline__ unsigned shared_address(const void *p)
{
	return (unsigned)__cvta_generic_to_shared(p);
}

// --- mbarriers ---

static __device__ __forceinline__ void mbarrier_init(u64 *barrier, unsigned count)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(count) : "memory");
}

static __device__ __forceinline__ void mbarrier_init_fence()
{
	asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

static __device__ __forceinline__ void mbarrier_arrive(u64 *barrier)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

static __device__ __forceinline__ void mbarrier_expect(u64 *barrier, unsigned bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
		     : "memory");
}

static __device__ __forceinline__ void mbarrier_wait(u64 *barrier, unsigned parity)
{
	asm volatile("{\n\t.reg .pred done;\nagain:\n\t"
		     "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n\t@!done bra again;\n\t}" ::"r"(
			     shared_address(barrier)),
		     "r"(parity)
		     : "memory");
}

// --- copies by threads ---

static __device__ __forceinline__ void copy4(void *to, const void *from)
{
	asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

static __device__ __forceinline__ void copy16(void *to, const void *from)
{
	asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
}

static __device__ __forceinline__ void copy_commit()
{
	asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> static __device__ __forceinline__ void copy_wait()
{
	asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

// --- bulk copies ---

static __device__ __forceinline__ void bulk_load(void *to, const void *from, unsigned bytes, u64 *barrier)
{
	asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
			     shared_address(to)),
		     "l"(from), "r"(bytes), "r"(shared_address(barrier))
		     : "memory");
}

static __device__ __forceinline__ void bulk_store(void *to, const void *from, unsigned bytes)
{
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(to), "r"(shared_address(from)),
		     "r"(bytes)
		     : "memory");
}

static __device__ __forceinline__ void bulk_commit()
{
	asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

static __device__ __forceinline__ void bulk_wait_read()
{
	asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}

static __device__ __forceinline__ void bulk_wait()
{
	asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

static __device__ __forceinline__ void proxy_fence()
{
	asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void tensor_load(void *to, const void *map, int x, int y, u64 *barrier)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], "
		     "[%4];" ::"r"(shared_address(to)),
		     "l"(map), "r"(x), "r"(y), "r"(shared_address(barrier))
		     : "memory");
}

static __device__ __forceinline__ void tensor_store(const void *map, int x, int y, const void *from)
{
	asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(map), "r"(x),
		     "r"(y), "r"(shared_address(from))
		     : "memory");
}

// --- wgmma: 64 x 8 of f32 by 16 of f16, operands without swizzling ---

static __device__ __forceinline__ u64 matrix(const void *tile)
{
	return (shared_address(tile) & 0x3ffff) >> 4 | (u64)(128 >> 4) << 16 | (u64)(256 >> 4) << 32;
}

static __device__ __forceinline__ void wgmma_fence()
{
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void wgmma(float d[4], u64 a, u64 b)
{
	asm volatile("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0, %1, %2, %3}, %4, %5, 1, 1, 1, 0, 0;"
		     : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
		     : "l"(a), "l"(b));
}

static __device__ __forceinline__ void wgmma_commit()
{
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

template <int PENDING> static __device__ __forceinline__ void wgmma_wait()
{
	asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(PENDING) : "memory");
}

// --- clusters ---

static __device__ __forceinline__ unsigned cluster_rank()
{
	unsigned rank;

	asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
	return rank;
}

static __device__ __forceinline__ void cluster_arrive()
{
	asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}

static __device__ __forceinline__ void cluster_wait()
{
	asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

static __device__ __forceinline__ unsigned mapa(const void *p, unsigned rank)
{
	unsigned address;

	asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(address) : "r"(shared_address(p)), "r"(rank));
	return address;
}

static __device__ __forceinline__ float remote_load(unsigned address)
{
	float x;

	asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(x) : "r"(address) : "memory");
	return x;
}

static __device__ __forceinline__ void remote_store(unsigned address, float x)
{
	asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(address), "f"(x) : "memory");
}
