/* SPDX-License-Identifier: MIT
 *
 * Times oneDNN's dense product on a CPU, for products-beside-onednn.py.
 *
 *     onednn_product TYPE LAYOUT M N K SECONDS MIB
 *
 * TYPE: of A and B, then of C: bf16-bf16, bf16-f32, f16-f16, f16-f32, f32-f32, s8-s32, s8-f32, u8-s32, u8-f32 (u8: A
 * is u8, B s8).  LAYOUT of B: nn, K rows of N, or nt, N rows of K.  Copies of B, MIB mebibytes together, are used in
 * turn (cold), then one of them again and again (hot); A and C stay.  Prints the library's version, then a line for
 * "plain", B as LAYOUT says, and for "reordered", B in the layout that the library prefers, brought there beforehand
 * and not timed: way, median cold and median hot microseconds, name of the implementation.  A type that it does not
 * have ends with status 3.  A few results of both ways are compared with sums in double.  The library takes as
 * many threads as the process may use processors (taskset).
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sys/mman.h>

#include "oneapi/dnnl/dnnl.h"

enum {
	COPIES_MAX = 4096,
	SAMPLES_MAX = 20000,
	WARM = 2,
	SAMPLES_LEAST = 5,
	HUGE_PAGE = 2 << 20,
	CHECKS = 32,
	UNKNOWN = 3
};

static void check(dnnl_status_t status, const char *what)
{
	if (status == dnnl_success)
		return;
	fprintf(stderr, "onednn_product: %s: status %d\n", what, (int)status);
	exit(status == dnnl_unimplemented ? UNKNOWN : 1);
}

/* What the second and the third version of the library have differently. */
#if DNNL_VERSION_MAJOR >= 3
typedef dnnl_memory_desc_t layout;
typedef const_dnnl_memory_desc_t layout_ref;

static layout_ref ref(const layout *l)
{
	return *l;
}

static layout tagged(const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
	layout out;
	check(dnnl_memory_desc_create_with_tag(&out, 2, dims, type, tag), "a layout");
	return out;
}

static dnnl_status_t describe_product(dnnl_primitive_desc_t *out, dnnl_engine_t cpu, const layout *a, const layout *b,
				      const layout *c)
{
	return dnnl_matmul_primitive_desc_create(out, cpu, *a, *b, NULL, *c, NULL);
}
#else
typedef dnnl_memory_desc_t layout;
typedef const dnnl_memory_desc_t *layout_ref;

static layout_ref ref(const layout *l)
{
	return l;
}

static layout tagged(const dnnl_dims_t dims, dnnl_data_type_t type, dnnl_format_tag_t tag)
{
	layout out;
	check(dnnl_memory_desc_init_by_tag(&out, 2, dims, type, tag), "a layout");
	return out;
}

static dnnl_status_t describe_product(dnnl_primitive_desc_t *out, dnnl_engine_t cpu, const layout *a, const layout *b,
				      const layout *c)
{
	dnnl_matmul_desc_t product;
	const dnnl_status_t status = dnnl_matmul_desc_init(&product, a, b, NULL, c);
	return status == dnnl_success ? dnnl_primitive_desc_create(out, &product, NULL, cpu, NULL) : status;
}
#endif

struct product {
	dnnl_engine_t cpu;
	dnnl_stream_t stream;
	dnnl_dim_t m, n, k;
	dnnl_data_type_t a_type, b_type, c_type;
	int is_nt;
	size_t copies;
	double seconds;
};

static size_t size_of(dnnl_data_type_t type)
{
	return type == dnnl_f32 || type == dnnl_s32 ? 4 : type == dnnl_bf16 || type == dnnl_f16 ? 2 : 1;
}

/* In pages of 2 MiB where the kernel gives them, as tcbtune has its buffers. */
static void *memory(size_t bytes)
{
	const size_t whole = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	void *out = aligned_alloc(HUGE_PAGE, whole);
	if (!out) {
		fprintf(stderr, "onednn_product: out of memory\n");
		exit(1);
	}
	madvise(out, whole, MADV_HUGEPAGE);
	memset(out, 0, whole);
	return out;
}

static double read_value(const void *from, size_t i, dnnl_data_type_t type)
{
	uint32_t bits;
	float f;
	_Float16 h;

	switch (type) {
	case dnnl_s8:
		return ((const int8_t *)from)[i];
	case dnnl_u8:
		return ((const uint8_t *)from)[i];
	case dnnl_s32:
		return ((const int32_t *)from)[i];
	case dnnl_f32:
		return ((const float *)from)[i];
	case dnnl_f16:
		memcpy(&h, (const char *)from + 2 * i, sizeof(h));
		return (double)h;
	default:
		bits = (uint32_t)((const uint16_t *)from)[i] << 16;
		memcpy(&f, &bits, sizeof(f));
		return f;
	}
}

static void write_value(void *to, size_t i, dnnl_data_type_t type, int value)
{
	const float f = (float)value / 128;
	const _Float16 h = (_Float16)f;
	uint32_t bits;

	switch (type) {
	case dnnl_s8:
		((int8_t *)to)[i] = (int8_t)value;
		break;
	case dnnl_u8:
		((uint8_t *)to)[i] = (uint8_t)(value + 128);
		break;
	case dnnl_f32:
		((float *)to)[i] = f;
		break;
	case dnnl_f16:
		memcpy((char *)to + 2 * i, &h, sizeof(h));
		break;
	default:
		memcpy(&bits, &f, sizeof(bits));
		((uint16_t *)to)[i] = (uint16_t)(bits >> 16); /* exact: eight bits */
	}
}

static void *random_matrix(size_t count, dnnl_data_type_t type)
{
	void *out = memory(count * size_of(type));
	uint64_t state = 88172645463325252;

	for (size_t i = 0; i < count; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		write_value(out, i, type, (int)(state >> 56) - 128);
	}
	return out;
}

static dnnl_memory_t over(const struct product *p, const layout *l, void *buffer)
{
	dnnl_memory_t out;
	check(dnnl_memory_create(&out, ref(l), p->cpu, buffer), "a matrix");
	return out;
}

static void reorder(const struct product *p, const layout *from, dnnl_memory_t source, const layout *to,
		    dnnl_memory_t target)
{
	dnnl_primitive_desc_t described;
	dnnl_primitive_t way;
	dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, source }, { DNNL_ARG_TO, target } };

	check(dnnl_reorder_primitive_desc_create(&described, ref(from), p->cpu, ref(to), p->cpu, NULL), "a reordering");
	check(dnnl_primitive_create(&way, described), "a reordering");
	check(dnnl_primitive_execute(way, p->stream, 2, args), "a reordering");
	check(dnnl_stream_wait(p->stream), "a reordering");
	dnnl_primitive_destroy(way);
	dnnl_primitive_desc_destroy(described);
}

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void call(const struct product *p, dnnl_primitive_t multiply, dnnl_memory_t a, dnnl_memory_t b, dnnl_memory_t c)
{
	const dnnl_exec_arg_t args[] = { { DNNL_ARG_SRC, a }, { DNNL_ARG_WEIGHTS, b }, { DNNL_ARG_DST, c } };
	check(dnnl_primitive_execute(multiply, p->stream, 3, args), "a product");
	check(dnnl_stream_wait(p->stream), "a product");
}

static double median_us(const struct product *p, dnnl_primitive_t multiply, dnnl_memory_t a, dnnl_memory_t *b,
			size_t copies, dnnl_memory_t c)
{
	static double sample[SAMPLES_MAX];
	size_t n = 0;

	for (size_t i = 0; i < copies && i < WARM; i++)
		call(p, multiply, a, b[copies - 1 - i], c);
	const double end = now_us() + 1e6 * p->seconds;
	while (n < SAMPLES_MAX && (n < SAMPLES_LEAST || now_us() < end)) {
		const double start = now_us();
		call(p, multiply, a, b[n % copies], c);
		sample[n++] = now_us() - start;
	}
	qsort(sample, n, sizeof(*sample), by_size);
	return sample[n / 2];
}

/* Results drawn at random against sums in double: that layouts are what is meant. */
static void compare(const struct product *p, const void *a, const void *b, const void *c, const char *way)
{
	const double unit = p->c_type == dnnl_bf16 ? 1.0 / 256 : p->c_type == dnnl_f16 ? 1.0 / 2048 : 1.0 / (1 << 20);

	for (dnnl_dim_t i = 0; i < CHECKS; i++) {
		const size_t row = (size_t)(i * 7919 % p->m), column = (size_t)(i * 104729 % p->n), k = (size_t)p->k;
		double sum = 0, magnitude = 0;
		for (size_t j = 0; j < k; j++) {
			const double x = read_value(a, row * k + j, p->a_type);
			const double y =
				read_value(b, p->is_nt ? column * k + j : j * (size_t)p->n + column, p->b_type);
			sum += x * y;
			magnitude += fabs(x * y);
		}
		const double got = read_value(c, row * (size_t)p->n + column, p->c_type);
		if (!(fabs(got - sum) <= unit * fabs(sum) + 1e-6 * magnitude)) {
			fprintf(stderr, "onednn_product: %s: row %zu, column %zu is %g, not %g\n", way, row, column,
				got, sum);
			exit(1);
		}
	}
}

static void run(const struct product *p, const char *way, dnnl_format_tag_t tag, void *a, void *b, void *c)
{
	const dnnl_dims_t a_dims = { p->m, p->k }, b_dims = { p->k, p->n }, c_dims = { p->m, p->n };
	const layout al = tagged(a_dims, p->a_type, dnnl_ab), cl = tagged(c_dims, p->c_type, dnnl_ab);
	const layout stored = tagged(b_dims, p->b_type, p->is_nt ? dnnl_ba : dnnl_ab),
		     asked = tagged(b_dims, p->b_type, tag);
	static dnnl_memory_t copy[COPIES_MAX];
	static void *buffer[COPIES_MAX];
	dnnl_primitive_desc_t described;
	dnnl_primitive_t multiply;
	const char *name = "";

	check(describe_product(&described, p->cpu, &al, &asked, &cl), "a product of these types");
	check(dnnl_primitive_create(&multiply, described), "a product");
	dnnl_primitive_desc_query(described, dnnl_query_impl_info_str, 0, (void *)&name);
	/* Copied by structure in the second version, by reference in the third. */
#if DNNL_VERSION_MAJOR >= 3
	layout used;
	check(dnnl_memory_desc_clone(&used, dnnl_primitive_desc_query_md(described, dnnl_query_weights_md, 0)),
	      "a layout");
	const size_t bytes = dnnl_memory_desc_get_size(used);
#else
	const layout used = *dnnl_primitive_desc_query_md(described, dnnl_query_weights_md, 0);
	const size_t bytes = dnnl_memory_desc_get_size(&used);
#endif
	dnnl_memory_t am = over(p, &al, a), bm = over(p, &stored, b), cm = over(p, &cl, c);
	for (size_t i = 0; i < p->copies; i++) {
		buffer[i] = memory(bytes);
		copy[i] = over(p, &used, buffer[i]);
		reorder(p, &stored, bm, &used, copy[i]);
	}
	call(p, multiply, am, copy[0], cm);
	compare(p, a, b, c, way);
	const double cold = median_us(p, multiply, am, copy, p->copies, cm),
		     hot = median_us(p, multiply, am, copy, 1, cm);
	printf("%s %.2f %.2f %s\n", way, cold, hot, name);
	for (size_t i = 0; i < p->copies; i++) {
		dnnl_memory_destroy(copy[i]);
		free(buffer[i]);
	}
	dnnl_memory_destroy(am);
	dnnl_memory_destroy(bm);
	dnnl_memory_destroy(cm);
	dnnl_primitive_destroy(multiply);
	dnnl_primitive_desc_destroy(described);
}

static dnnl_data_type_t type_named(const char *name, size_t length)
{
	static const struct {
		const char *name;
		dnnl_data_type_t type;
	} types[] = { { "bf16", dnnl_bf16 }, { "f16", dnnl_f16 }, { "f32", dnnl_f32 },
		      { "s8", dnnl_s8 },     { "u8", dnnl_u8 },   { "s32", dnnl_s32 } };

	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (strlen(types[i].name) == length && memcmp(types[i].name, name, length) == 0)
			return types[i].type;
	fprintf(stderr, "onednn_product: unknown type '%s'\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	if (argc != 8 || !strchr(argv[1], '-')) {
		fprintf(stderr, "usage: onednn_product TYPE LAYOUT M N K SECONDS MIB\n");
		return 2;
	}
	const char *result = strchr(argv[1], '-') + 1;
	struct product p = { .m = atoll(argv[3]), .n = atoll(argv[4]), .k = atoll(argv[5]), .seconds = atof(argv[6]) };
	p.is_nt = strcmp(argv[2], "nt") == 0;
	p.a_type = type_named(argv[1], (size_t)(result - argv[1]) - 1);
	p.b_type = p.a_type == dnnl_u8 ? dnnl_s8 : p.a_type;
	p.c_type = type_named(result, strlen(result));
	const size_t weights = (size_t)(p.k * p.n) * size_of(p.b_type);
	p.copies = ((size_t)atoll(argv[7]) << 20) / weights + 1;
	if (p.copies > COPIES_MAX)
		p.copies = COPIES_MAX;
	check(dnnl_engine_create(&p.cpu, dnnl_cpu, 0), "a processor");
	check(dnnl_stream_create(&p.stream, p.cpu, dnnl_stream_default_flags), "a stream");
	const dnnl_version_t *version = dnnl_version();
	printf("oneDNN %d.%d.%d\n", version->major, version->minor, version->patch);
	void *a = random_matrix((size_t)(p.m * p.k), p.a_type), *b = random_matrix((size_t)(p.k * p.n), p.b_type);
	void *c = memory((size_t)(p.m * p.n) * size_of(p.c_type));
	run(&p, "plain", p.is_nt ? dnnl_ba : dnnl_ab, a, b, c);
	run(&p, "reordered", dnnl_format_tag_any, a, b, c);
	return 0;
}
