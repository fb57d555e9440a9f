/* SPDX-License-Identifier: MIT
 *
 * print_tcbptx_abi: sizes and offsets of all that is public in tcbptx.h, one a
 * line, as tests/tcbptx/abi.txt holds them.
 */
#include <stdio.h>
#include <tcbptx.h>

#define SIZE(type) printf("%s %zu\n", #type, sizeof(struct type))
#define AT(type, member) \
	printf("%s.%s %zu %zu\n", #type, #member, offsetof(struct type, member), sizeof(((struct type *)0)->member))

int main(void)
{
	SIZE(tcbptx_error);
	AT(tcbptx_error, code);
	AT(tcbptx_error, message);
	SIZE(tcbptx_launch);
	AT(tcbptx_launch, grid);
	AT(tcbptx_launch, block);
	AT(tcbptx_launch, cluster);
	AT(tcbptx_launch, dynamic_shared);
	AT(tcbptx_launch, cooperative);
	AT(tcbptx_launch, threads);
	AT(tcbptx_launch, order);
	AT(tcbptx_launch, step_limit);
	SIZE(tcbptx_finding);
	AT(tcbptx_finding, severity);
	AT(tcbptx_finding, rule);
	AT(tcbptx_finding, message);
	AT(tcbptx_finding, line);
	AT(tcbptx_finding, file);
	AT(tcbptx_finding, source_line);
	AT(tcbptx_finding, where);
	SIZE(tcbptx_counts);
	AT(tcbptx_counts, line);
	AT(tcbptx_counts, warps);
	AT(tcbptx_counts, threads);
	AT(tcbptx_counts, requests);
	AT(tcbptx_counts, wavefronts);
	AT(tcbptx_counts, wavefronts_least);
	AT(tcbptx_counts, sectors);
	AT(tcbptx_counts, sectors_least);
	AT(tcbptx_counts, divergent);
	return 0;
}
