/* SPDX-License-Identifier: MIT
 *
 * A CUDA kernel in a test that needs no GPU: runs a kernel of a PTX file in the
 * emulator of libtcbptx, and tells what is wrong with it and what it costs.
 *
 *     nvcc -ptx -lineinfo saxpy.cu
 *     ./emulate saxpy.ptx saxpy 8 128 buf:f32[1000]:ro=iota buf:f32[1000]=1 f32=2 u32=1000
 *
 * Exit: 0 all is well, 1 there are findings, 2 it cannot be run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tcbptx.h>

static void see(void *ctx, const struct tcbptx_finding *finding)
{
	if (finding->where)
		printf("%s: ", finding->where);
	printf("line %u of the PTX: %s\n", (unsigned)finding->line, finding->message);
	if (finding->severity != TCBPTX_ADVICE)
		++*(int *)ctx;
}

static char *read_all(const char *path, size_t *length_out)
{
	FILE *file = fopen(path, "rb");
	char *text = NULL;
	long length;

	if (!file)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0 &&
	    (text = malloc((size_t)length + 1)) != NULL)
		*length_out = fread(text, 1, (size_t)length, file);
	fclose(file);
	return text;
}

static int run(struct tcbptx *module, char **argv, int argc, struct tcbptx_error *err)
{
	struct tcbptx_launch launch = { .grid = { 1, 1, 1 }, .block = { 1, 1, 1 }, .order = 1 };
	struct tcbptx_counts total;
	struct tcbptx_run *kernel;
	int findings = 0, code = tcbptx_prepare(module, argv[2], &kernel, err);

	if (code != TCBPTX_OK)
		return 2;
	launch.grid[0] = (uint32_t)strtoul(argv[3], NULL, 10);
	launch.block[0] = (uint32_t)strtoul(argv[4], NULL, 10);
	for (int i = 5; i < argc && code == TCBPTX_OK; i++)
		code = tcbptx_argument(kernel, argv[i], 1, err);
	if (code == TCBPTX_OK)
		code = tcbptx_launch(kernel, &launch, see, &findings, err);
	if (code == TCBPTX_OK && tcbptx_count(kernel, &total, 1))
		printf("%llu thread-instructions, %llu sectors of global memory, of which %llu would do\n",
		       (unsigned long long)total.threads, (unsigned long long)total.sectors,
		       (unsigned long long)total.sectors_least);
	tcbptx_close(kernel);
	return code != TCBPTX_OK ? 2 : findings != 0;
}

int main(int argc, char **argv)
{
	struct tcbptx_error err = { 0 };
	struct tcbptx *module = NULL;
	size_t length = 0;
	char *text;
	int code = 2;

	if (argc < 5) {
		fprintf(stderr, "usage: %s FILE KERNEL GRID BLOCK ARGUMENT...\n", argv[0]);
		return 2;
	}
	text = read_all(argv[1], &length);
	if (!text)
		perror(argv[1]);
	else if (tcbptx_load(argv[1], text, length, &module, &err) == TCBPTX_OK)
		code = run(module, argv, argc, &err);
	if (err.message[0])
		fprintf(stderr, "%s\n", err.message);
	tcbptx_unload(module);
	free(text);
	return code;
}
