/* SPDX-License-Identifier: MIT
 *
 * CUPTI's ABI as device/cupti_abi.h declares it, held against the toolkit's
 * headers: sizes, the offset of the last member, numbers.  Built only where
 * there is a toolkit.
 */
#include "cmocka_all.h"

#include <cupti_profiler_host.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

#include "device/cupti_abi.h"

struct row {
	const char *name;
	size_t their_bytes, our_bytes, their_last, our_last;
};

#define ROW(theirs, their_member, ours, our_member)                                         \
	{                                                                                   \
#ours, sizeof(theirs), sizeof(struct ours), offsetof(theirs, their_member), \
			offsetof(struct ours, our_member)                                   \
	}

static void layouts_agree(void **state)
{
	static const struct row rows[] = {
		ROW(CUpti_Device_GetChipName_Params, pChipName, tcb_cupti_chip, name),
		ROW(CUpti_Profiler_GetCounterAvailability_Params, pCounterAvailabilityImage, tcb_cupti_availability,
		    image),
		ROW(CUpti_Profiler_Host_Initialize_Params, pHostObject, tcb_cupti_host_init, host),
		ROW(CUpti_Profiler_Host_Deinitialize_Params, pHostObject, tcb_cupti_host, host),
		ROW(CUpti_Profiler_Host_GetMetricProperties_Params, metricType, tcb_cupti_properties, type),
		ROW(CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics, tcb_cupti_metrics, count),
		ROW(CUpti_Profiler_Host_GetConfigImageSize_Params, configImageSize, tcb_cupti_config_size,
		    config_bytes),
		ROW(CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage, tcb_cupti_config, config),
		ROW(CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues, tcb_cupti_values, values),
		ROW(CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject, tcb_cupti_enable, profiler),
		ROW(CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject, tcb_cupti_profiler, profiler),
		ROW(CUpti_RangeProfiler_Start_Params, pRangeProfilerObject, tcb_cupti_profiler, profiler),
		ROW(CUpti_RangeProfiler_PopRange_Params, pRangeProfilerObject, tcb_cupti_profiler, profiler),
		ROW(CUpti_RangeProfiler_GetCounterDataSize_Params, counterDataSize, tcb_cupti_data_size, data_bytes),
		ROW(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, pCounterData, tcb_cupti_data, data),
		ROW(CUpti_RangeProfiler_SetConfig_Params, targetNestingLevel, tcb_cupti_set_config, nesting_target),
		ROW(CUpti_RangeProfiler_SetConfig_Params, numNestingLevels, tcb_cupti_set_config, nesting_levels),
		ROW(CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted, tcb_cupti_stop, is_done),
		ROW(CUpti_RangeProfiler_PushRange_Params, pRangeName, tcb_cupti_push, name),
		ROW(CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped, tcb_cupti_decode, dropped),
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (rows[i].their_bytes != rows[i].our_bytes || rows[i].their_last != rows[i].our_last)
			fail_msg("%s: %zu bytes with the last member at %zu, CUPTI has %zu and %zu", rows[i].name,
				 rows[i].our_bytes, rows[i].our_last, rows[i].their_bytes, rows[i].their_last);
	}
}

static void numbers_agree(void **state)
{
	(void)state;
	assert_int_equal(TCB_CUPTI_TYPE_RANGE_PROFILER, CUPTI_PROFILER_TYPE_RANGE_PROFILER);
	assert_int_equal(TCB_CUPTI_USER_RANGE, CUPTI_UserRange);
	assert_int_equal(TCB_CUPTI_USER_REPLAY, CUPTI_UserReplay);
	assert_int_equal(TCB_CUPTI_INSUFFICIENT_PRIVILEGES, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES);
	assert_int_equal(TCB_CUPTI_VIRTUALIZED_INSUFFICIENT_PRIVILEGES,
			 CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(layouts_agree),
		cmocka_unit_test(numbers_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
