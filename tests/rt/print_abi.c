/* SPDX-License-Identifier: MIT
 *
 * print_abi: sizes and offsets of all that is public in tcbrt.h, one a line, as
 * tests/rt/abi.txt holds them.
 */
#include <stdio.h>
#include <tcbrt.h>

#define SIZE(type) printf("%s %zu\n", #type, sizeof(struct type))
#define AT(type, member) \
	printf("%s.%s %zu %zu\n", #type, #member, offsetof(struct type, member), sizeof(((struct type *)0)->member))

int main(void)
{
	SIZE(tcbrt_error);
	AT(tcbrt_error, code);
	AT(tcbrt_error, message);
	AT(tcbrt_error, reserved);
	SIZE(tcbrt_query);
	AT(tcbrt_query, op);
	AT(tcbrt_query, device);
	AT(tcbrt_query, threads);
	AT(tcbrt_query, contract);
	AT(tcbrt_query, state);
	AT(tcbrt_query, m);
	AT(tcbrt_query, n);
	AT(tcbrt_query, k);
	AT(tcbrt_query, layout);
	AT(tcbrt_query, words);
	AT(tcbrt_query, geometry);
	AT(tcbrt_query, reserved);
	SIZE(tcbrt_tile);
	AT(tcbrt_tile, m);
	AT(tcbrt_tile, n);
	AT(tcbrt_tile, k);
	SIZE(tcbrt_tuning);
	AT(tcbrt_tuning, source);
	AT(tcbrt_tuning, modelled);
	AT(tcbrt_tuning, provisional);
	AT(tcbrt_tuning, threads);
	AT(tcbrt_tuning, macro);
	AT(tcbrt_tuning, midi);
	AT(tcbrt_tuning, micro);
	AT(tcbrt_tuning, knobs);
	AT(tcbrt_tuning, expected_ns);
	AT(tcbrt_tuning, speedup);
	AT(tcbrt_tuning, speedup_lo);
	AT(tcbrt_tuning, tuned_m);
	AT(tcbrt_tuning, tuned_n);
	AT(tcbrt_tuning, tuned_k);
	AT(tcbrt_tuning, geometry);
	AT(tcbrt_tuning, variant);
	AT(tcbrt_tuning, reason);
	AT(tcbrt_tuning, verdict);
	AT(tcbrt_tuning, tuned_query_heads);
	AT(tcbrt_tuning, tuned_kv_heads);
	AT(tcbrt_tuning, tuned_sequences);
	AT(tcbrt_tuning, plain_ns);
	AT(tcbrt_tuning, reserved);
	SIZE(tcbrt_operand);
	AT(tcbrt_operand, name);
	AT(tcbrt_operand, type);
	AT(tcbrt_operand, role);
	AT(tcbrt_operand, rows);
	AT(tcbrt_operand, columns);
	AT(tcbrt_operand, bytes);
	AT(tcbrt_operand, alignment);
	AT(tcbrt_operand, packed_bytes);
	AT(tcbrt_operand, reserved);
	SIZE(tcbrt_plan_info);
	AT(tcbrt_plan_info, tuning);
	AT(tcbrt_plan_info, operand_count);
	AT(tcbrt_plan_info, operand);
	AT(tcbrt_plan_info, weights);
	AT(tcbrt_plan_info, output);
	AT(tcbrt_plan_info, packed_bytes);
	AT(tcbrt_plan_info, layout);
	AT(tcbrt_plan_info, pack_rows);
	AT(tcbrt_plan_info, workspace_bytes);
	AT(tcbrt_plan_info, threads);
	AT(tcbrt_plan_info, is_gpu);
	AT(tcbrt_plan_info, overlap_launches);
	AT(tcbrt_plan_info, reserved);
	SIZE(tcbrt_gpu_launch);
	AT(tcbrt_gpu_launch, entry);
	AT(tcbrt_gpu_launch, grid);
	AT(tcbrt_gpu_launch, block);
	AT(tcbrt_gpu_launch, cluster);
	AT(tcbrt_gpu_launch, shared_bytes);
	AT(tcbrt_gpu_launch, may_overlap);
	AT(tcbrt_gpu_launch, argument_count);
	AT(tcbrt_gpu_launch, reserved);
	SIZE(tcbrt_gpu_code);
	AT(tcbrt_gpu_code, code);
	AT(tcbrt_gpu_code, bytes);
	AT(tcbrt_gpu_code, is_ptx);
	AT(tcbrt_gpu_code, launch_count);
	AT(tcbrt_gpu_code, launch);
	AT(tcbrt_gpu_code, reserved);
	SIZE(tcbrt_gpu_arguments);
	AT(tcbrt_gpu_arguments, pointer);
	AT(tcbrt_gpu_arguments, storage);
	SIZE(tcbrt_entry);
	AT(tcbrt_entry, op);
	AT(tcbrt_entry, contract);
	AT(tcbrt_entry, state);
	AT(tcbrt_entry, device);
	AT(tcbrt_entry, device_key);
	AT(tcbrt_entry, arch);
	AT(tcbrt_entry, model);
	AT(tcbrt_entry, is_this_host);
	AT(tcbrt_entry, threads);
	AT(tcbrt_entry, m);
	AT(tcbrt_entry, n);
	AT(tcbrt_entry, k);
	AT(tcbrt_entry, geometry);
	AT(tcbrt_entry, variant);
	AT(tcbrt_entry, signature);
	AT(tcbrt_entry, measured_at);
	AT(tcbrt_entry, modelled);
	AT(tcbrt_entry, provisional);
	AT(tcbrt_entry, ns);
	AT(tcbrt_entry, ns_lo);
	AT(tcbrt_entry, ns_hi);
	AT(tcbrt_entry, speedup);
	AT(tcbrt_entry, speedup_lo);
	AT(tcbrt_entry, speedup_hi);
	AT(tcbrt_entry, refused);
	AT(tcbrt_entry, database);
	AT(tcbrt_entry, is_system);
	AT(tcbrt_entry, words);
	AT(tcbrt_entry, reserved);
	return 0;
}
