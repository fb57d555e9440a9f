/* SPDX-License-Identifier: MIT
 *
 * The part of CUPTI's ABI (API version 24 and later) that cupti.c uses.  Each
 * call takes one struct that begins with its own size; members are in the
 * order of the toolkit's headers, which tests/device/test_cupti_abi.cpp holds
 * them against where there is a toolkit.
 */
#ifndef TCB_DEVICE_CUPTI_ABI_H
#define TCB_DEVICE_CUPTI_ABI_H

#include <stddef.h>
#include <stdint.h>

enum {
	TCB_CUPTI_TYPE_RANGE_PROFILER = 0,
	TCB_CUPTI_USER_RANGE = 2,
	TCB_CUPTI_USER_REPLAY = 3,
	TCB_CUPTI_INSUFFICIENT_PRIVILEGES = 35,
	TCB_CUPTI_VIRTUALIZED_INSUFFICIENT_PRIVILEGES = 40
};

struct tcb_cupti_head {
	size_t bytes;
	void *private_data;
};
struct tcb_cupti_chip {
	struct tcb_cupti_head head;
	size_t device;
	const char *name;
};
struct tcb_cupti_availability {
	struct tcb_cupti_head head;
	void *context;
	size_t image_bytes;
	uint8_t *image;
};
struct tcb_cupti_host_init {
	struct tcb_cupti_head head;
	int type;
	const char *chip;
	const uint8_t *availability;
	void *host;
};
struct tcb_cupti_host {
	struct tcb_cupti_head head;
	void *host;
};
struct tcb_cupti_properties {
	struct tcb_cupti_head head;
	void *host;
	const char *metric, *description, *unit, *dimension;
	int type;
};
struct tcb_cupti_metrics {
	struct tcb_cupti_head head;
	void *host;
	const char **names;
	size_t count;
};
struct tcb_cupti_config_size {
	struct tcb_cupti_head head;
	void *host;
	size_t config_bytes;
};
struct tcb_cupti_config {
	struct tcb_cupti_head head;
	void *host;
	size_t config_bytes;
	uint8_t *config;
};
struct tcb_cupti_passes {
	struct tcb_cupti_head head;
	size_t config_bytes;
	uint8_t *config;
	size_t passes;
};
struct tcb_cupti_values {
	struct tcb_cupti_head head;
	void *host;
	const uint8_t *data;
	size_t data_bytes, range;
	const char **names;
	size_t count;
	double *values;
};
struct tcb_cupti_enable {
	struct tcb_cupti_head head;
	void *context, *profiler;
};
struct tcb_cupti_profiler {
	struct tcb_cupti_head head;
	void *profiler;
};
struct tcb_cupti_data_size {
	struct tcb_cupti_head head;
	void *profiler;
	const char **names;
	size_t count, ranges;
	uint32_t nodes;
	size_t data_bytes;
};
struct tcb_cupti_data {
	struct tcb_cupti_head head;
	void *profiler;
	size_t data_bytes;
	uint8_t *data;
};
struct tcb_cupti_set_config {
	struct tcb_cupti_head head;
	void *profiler;
	size_t config_bytes;
	const uint8_t *config;
	size_t data_bytes;
	uint8_t *data;
	int range, replay;
	size_t ranges;
	uint16_t nesting_levels, nesting_least;
	size_t pass;
	uint16_t nesting_target;
};
struct tcb_cupti_stop {
	struct tcb_cupti_head head;
	void *profiler;
	size_t pass, nesting;
	uint8_t is_done;
};
struct tcb_cupti_push {
	struct tcb_cupti_head head;
	void *profiler;
	const char *name;
};
struct tcb_cupti_decode {
	struct tcb_cupti_head head;
	void *profiler;
	size_t dropped;
};

#endif
