// Tensor maps and mbarriers, by the instructions themselves.
struct alignas(64) tensor_map {
	char bytes[128];
};

__device__ unsigned shared(const void *at)
{
	return (unsigned)__cvta_generic_to_shared(at);
}

__device__ void barrier_init(unsigned long long *barrier, unsigned count)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(barrier)), "r"(count) : "memory");
}

__device__ void barrier_expect(unsigned long long *barrier, unsigned bytes)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared(barrier)), "r"(bytes)
		     : "memory");
}

__device__ void barrier_arrive(unsigned long long *barrier)
{
	asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared(barrier)) : "memory");
}

__device__ void barrier_wait(unsigned long long *barrier, unsigned parity)
{
	unsigned done;

	do
		asm volatile("{\n\t.reg .pred done;\n\t"
			     "mbarrier.try_wait.parity.shared::cta.b64 done, [%1], %2;\n\t"
			     "selp.u32 %0, 1, 0, done;\n\t}"
			     : "=r"(done)
			     : "r"(shared(barrier)), "r"(parity)
			     : "memory");
	while (!done);
}

__device__ void fetch_box(void *to, const tensor_map *map, int x, int y, unsigned long long *barrier)
{
	asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
		     "%3}], [%4];" ::"r"(shared(to)),
		     "l"(map), "r"(x), "r"(y), "r"(shared(barrier))
		     : "memory");
}

__device__ void store_box(const tensor_map *map, int x, int y, const void *from)
{
	asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], [%3];\n\t"
		     "cp.async.bulk.commit_group;\n\t"
		     "cp.async.bulk.wait_group 0;" ::"l"(map),
		     "r"(x), "r"(y), "r"(shared(from))
		     : "memory");
}
