/* SPDX-License-Identifier: MIT
 *
 * CUPTI's range profiler.  In: a context and calls; out: counters.  A metric
 * that the host library does not know spoils its object for all that follow,
 * so each is asked for its properties first.
 */
#include "device/cupti.h"

#include <dlfcn.h>
#include <glob.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/cupti_abi.h"

enum { PASSES_MAX = 64 };

/* What is asked for; those that a GPU does not know are left out. */
static const char *const wanted[] = {
	"gpu__time_duration.sum",
	"sm__warps_active.avg.pct_of_peak_sustained_active", /* achieved occupancy */
	"l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum",
	"l1tex__data_pipe_lsu_wavefronts_mem_shared.sum", /* with shuffles, and cycles that other units take */
	"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
	"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
	"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
	"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
	/* of the instructions themselves, whatever else goes on at the time */
	"sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
	"sm__sass_l1tex_data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
	"sm__sass_inst_executed_op_shared_ld.sum",
	"sm__sass_inst_executed_op_shared_st.sum",
	"l1tex__t_sector_hit_rate.pct",
	"lts__t_sector_hit_rate.pct",
	"dram__bytes_read.sum",
	"dram__bytes_write.sum",
	"dram__throughput.avg.pct_of_peak_sustained_elapsed",
	"l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio",
	"l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
	"l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
	"smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.pct",
	"smsp__thread_inst_executed_per_inst_executed.ratio", /* divergence: 32 when there is none */
	"smsp__inst_executed.sum",
	"sm__sass_branch_targets.sum",
	"sm__sass_branch_targets_threads_divergent.sum",
	"smsp__inst_executed_op_local_ld.sum",
	"smsp__issue_active.avg.pct_of_peak_sustained_active",
};
enum { WANTED = sizeof wanted / sizeof *wanted };

#define FUNCTIONS(X)                                                           \
	X(result_text, "cuptiGetResultString", (int, const char **))           \
	X(initialize, "cuptiProfilerInitialize", (void *))                     \
	X(chip_name, "cuptiDeviceGetChipName", (void *))                       \
	X(availability, "cuptiProfilerGetCounterAvailability", (void *))       \
	X(host_init, "cuptiProfilerHostInitialize", (void *))                  \
	X(host_fini, "cuptiProfilerHostDeinitialize", (void *))                \
	X(properties, "cuptiProfilerHostGetMetricProperties", (void *))        \
	X(add_metrics, "cuptiProfilerHostConfigAddMetrics", (void *))          \
	X(config_size, "cuptiProfilerHostGetConfigImageSize", (void *))        \
	X(config_image, "cuptiProfilerHostGetConfigImage", (void *))           \
	X(values, "cuptiProfilerHostEvaluateToGpuValues", (void *))            \
	X(enable, "cuptiRangeProfilerEnable", (void *))                        \
	X(disable, "cuptiRangeProfilerDisable", (void *))                      \
	X(data_size, "cuptiRangeProfilerGetCounterDataSize", (void *))         \
	X(data_init, "cuptiRangeProfilerCounterDataImageInitialize", (void *)) \
	X(set_config, "cuptiRangeProfilerSetConfig", (void *))                 \
	X(start, "cuptiRangeProfilerStart", (void *))                          \
	X(stop, "cuptiRangeProfilerStop", (void *))                            \
	X(push, "cuptiRangeProfilerPushRange", (void *))                       \
	X(pop, "cuptiRangeProfilerPopRange", (void *))                         \
	X(decode, "cuptiRangeProfilerDecodeData", (void *))

struct tcb_cupti {
	void *library;
#define MEMBER(name, symbol, parameters) int(*name) parameters;
	FUNCTIONS(MEMBER)
#undef MEMBER
	void *host, *profiler;
	uint8_t *counters, *config, *data; /* images: what the chip offers, what is wanted, what was counted */
	size_t config_bytes, data_bytes;
	const char *metrics[WANTED];
	size_t metric_count;
	char note[256];
};

/* The size up to the last member, as CUPTI counts it. */
#define HEAD(type, last)                                                                \
	{                                                                               \
		offsetof(struct type, last) + sizeof(((struct type *)NULL)->last), NULL \
	}

static enum tcb_status check(const struct tcb_cupti *cupti, int result, const char *what, struct tcb_error *err)
{
	const char *text = NULL;
	if (result == 0)
		return TCB_OK;
	if (cupti->result_text(result, &text) != 0 || !text)
		text = "unknown error";
	if (result == TCB_CUPTI_INSUFFICIENT_PRIVILEGES || result == TCB_CUPTI_VIRTUALIZED_INSUFFICIENT_PRIVILEGES)
		return tcb_fail(err, TCB_E_UNSUPPORTED,
				"no permission for GPU counters (%s): run as root, or load the nvidia module with "
				"NVreg_RestrictProfilingToAdminUsers=0",
				text);
	return tcb_fail(err, TCB_E_UNSUPPORTED, "CUPTI, %s: %s", what, text);
}

/* ---- opening ---- */

static void *open_library(void)
{
	static const char *const names[] = { "libcupti.so.13", "libcupti.so.12", "libcupti.so" };
	static const char *const patterns[] = {
		"/usr/local/cuda*/targets/x86_64-linux/lib/libcupti.so.1[23]",
		"/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.1[23]",
		"/usr/local/cuda*/lib64/libcupti.so.1[23]",
	};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (library)
			return library;
	}
	for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
		glob_t hits;
		void *library = NULL;
		if (glob(patterns[i], 0, NULL, &hits) == 0 && hits.gl_pathc > 0)
			library = dlopen(hits.gl_pathv[hits.gl_pathc - 1], RTLD_NOW | RTLD_LOCAL);
		globfree(&hits);
		if (library)
			return library;
	}
	return NULL;
}

static enum tcb_status load(struct tcb_cupti *cupti, struct tcb_error *err)
{
	void *symbol;
	cupti->library = open_library();
	if (!cupti->library)
		return tcb_fail(err, TCB_E_UNSUPPORTED,
				"no libcupti: install cuda-cupti of the CUDA toolkit, or put its folder into "
				"LD_LIBRARY_PATH");
#define FIND(name, text, parameters)                                                                                 \
	symbol = dlsym(cupti->library, text);                                                                        \
	if (!symbol)                                                                                                 \
		return tcb_fail(err, TCB_E_UNSUPPORTED,                                                              \
				"libcupti lacks " text "; the range profiler needs the CUDA toolkit 12.6 or later"); \
	memcpy(&cupti->name, &symbol, sizeof symbol);
	FUNCTIONS(FIND)
#undef FIND
	return TCB_OK;
}

/* The host object for this chip, and the metrics that it knows. */
static enum tcb_status choose_metrics(struct tcb_cupti *cupti, CUcontext context, int device, struct tcb_error *err)
{
	struct tcb_cupti_chip chip = { .head = HEAD(tcb_cupti_chip, name), .device = (size_t)device };
	struct tcb_cupti_availability availability = { .head = HEAD(tcb_cupti_availability, image),
						       .context = context };
	struct tcb_cupti_head begin = { sizeof begin, NULL };
	TCB_TRY(check(cupti, cupti->initialize(&begin), "starting", err));
	TCB_TRY(check(cupti, cupti->chip_name(&chip), "naming the chip", err));
	TCB_TRY(check(cupti, cupti->availability(&availability), "asking for counters", err));
	cupti->counters = calloc(1, availability.image_bytes + 1);
	if (!cupti->counters)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for CUPTI");
	availability.image = cupti->counters;
	TCB_TRY(check(cupti, cupti->availability(&availability), "asking for counters", err));
	struct tcb_cupti_host_init host = { .head = HEAD(tcb_cupti_host_init, host),
					    .type = TCB_CUPTI_TYPE_RANGE_PROFILER,
					    .chip = chip.name,
					    .availability = cupti->counters };
	TCB_TRY(check(cupti, cupti->host_init(&host), "making the host object", err));
	cupti->host = host.host;
	for (size_t i = 0; i < WANTED; i++) {
		struct tcb_cupti_properties properties = { .head = HEAD(tcb_cupti_properties, type),
							   .host = cupti->host,
							   .metric = wanted[i] };
		size_t used = strlen(cupti->note);
		if (cupti->properties(&properties) == 0)
			cupti->metrics[cupti->metric_count++] = wanted[i];
		else
			snprintf(cupti->note + used, sizeof cupti->note - used, "%s%s",
				 used ? ", " : "unknown on this GPU: ", wanted[i]);
	}
	return TCB_OK;
}

static enum tcb_status make_config(struct tcb_cupti *cupti, struct tcb_error *err)
{
	struct tcb_cupti_metrics metrics = { .head = HEAD(tcb_cupti_metrics, count),
					     .host = cupti->host,
					     .names = cupti->metrics,
					     .count = cupti->metric_count };
	struct tcb_cupti_config_size size = { .head = HEAD(tcb_cupti_config_size, config_bytes), .host = cupti->host };
	TCB_TRY(check(cupti, cupti->add_metrics(&metrics), "choosing metrics", err));
	TCB_TRY(check(cupti, cupti->config_size(&size), "sizing the configuration", err));
	cupti->config_bytes = size.config_bytes;
	cupti->config = calloc(1, size.config_bytes + 1);
	if (!cupti->config)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for CUPTI");
	struct tcb_cupti_config config = { .head = HEAD(tcb_cupti_config, config),
					   .host = cupti->host,
					   .config_bytes = size.config_bytes,
					   .config = cupti->config };
	return check(cupti, cupti->config_image(&config), "making the configuration", err);
}

static enum tcb_status make_data(struct tcb_cupti *cupti, CUcontext context, struct tcb_error *err)
{
	struct tcb_cupti_enable enable = { .head = HEAD(tcb_cupti_enable, profiler), .context = context };
	TCB_TRY(check(cupti, cupti->enable(&enable), "enabling the profiler", err));
	cupti->profiler = enable.profiler;
	struct tcb_cupti_data_size size = { .head = HEAD(tcb_cupti_data_size, data_bytes),
					    .profiler = cupti->profiler,
					    .names = cupti->metrics,
					    .count = cupti->metric_count,
					    .ranges = 1,
					    .nodes = 1 };
	TCB_TRY(check(cupti, cupti->data_size(&size), "sizing the counters", err));
	cupti->data_bytes = size.data_bytes;
	cupti->data = calloc(1, size.data_bytes + 1);
	return cupti->data ? TCB_OK : tcb_fail(err, TCB_E_NOMEM, "out of memory for CUPTI");
}

enum tcb_status tcb_cupti_open(CUcontext context, int device, struct tcb_cupti **out, struct tcb_error *err)
{
	struct tcb_cupti *cupti = calloc(1, sizeof *cupti);
	if (!cupti)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for CUPTI");
	enum tcb_status status = load(cupti, err);
	if (status == TCB_OK)
		status = choose_metrics(cupti, context, device, err);
	if (status == TCB_OK)
		status = make_config(cupti, err);
	if (status == TCB_OK)
		status = make_data(cupti, context, err);
	if (status == TCB_OK)
		*out = cupti;
	else
		tcb_cupti_close(cupti);
	return status;
}

void tcb_cupti_close(struct tcb_cupti *cupti)
{
	if (!cupti)
		return;
	struct tcb_cupti_profiler profiler = { .head = HEAD(tcb_cupti_profiler, profiler),
					       .profiler = cupti->profiler };
	struct tcb_cupti_host host = { .head = HEAD(tcb_cupti_host, host), .host = cupti->host };
	if (cupti->profiler)
		(void)cupti->disable(&profiler);
	if (cupti->host)
		(void)cupti->host_fini(&host);
	free(cupti->counters);
	free(cupti->config);
	free(cupti->data);
	free(cupti); /* the library stays: it has hooks in the driver */
}

const char *tcb_cupti_note(const struct tcb_cupti *cupti)
{
	return cupti->note;
}

/* ---- measuring ---- */

static enum tcb_status one_pass(struct tcb_cupti *cupti, int (*run)(void *ctx), void *ctx, int *done_out,
				struct tcb_error *err)
{
	struct tcb_cupti_profiler profiler = { .head = HEAD(tcb_cupti_profiler, profiler),
					       .profiler = cupti->profiler };
	struct tcb_cupti_push push = { .head = HEAD(tcb_cupti_push, name),
				       .profiler = cupti->profiler,
				       .name = "calls" };
	struct tcb_cupti_stop stop = { .head = HEAD(tcb_cupti_stop, is_done), .profiler = cupti->profiler };
	TCB_TRY(check(cupti, cupti->start(&profiler), "starting a pass", err));
	TCB_TRY(check(cupti, cupti->push(&push), "opening a range", err));
	if (run(ctx) != 0)
		return tcb_fail(err, TCB_E_FAILED, "the kernel failed while it was counted");
	TCB_TRY(check(cupti, cupti->pop(&profiler), "closing a range", err));
	TCB_TRY(check(cupti, cupti->stop(&stop), "ending a pass", err));
	*done_out = stop.is_done;
	return TCB_OK;
}

enum tcb_status tcb_cupti_measure(struct tcb_cupti *cupti, int (*run)(void *ctx), void *ctx, unsigned calls,
				  struct tcb_counter *out, size_t capacity, size_t *count_out, struct tcb_error *err)
{
	struct tcb_cupti_data data = { .head = HEAD(tcb_cupti_data, data),
				       .profiler = cupti->profiler,
				       .data_bytes = cupti->data_bytes,
				       .data = cupti->data };
	struct tcb_cupti_set_config config = { .head = HEAD(tcb_cupti_set_config, nesting_target),
					       .profiler = cupti->profiler,
					       .config_bytes = cupti->config_bytes,
					       .config = cupti->config,
					       .data_bytes = cupti->data_bytes,
					       .data = cupti->data,
					       .range = TCB_CUPTI_USER_RANGE,
					       .replay = TCB_CUPTI_USER_REPLAY,
					       .ranges = 1,
					       .nesting_levels = 1,
					       .nesting_least = 1,
					       .nesting_target = 1 };
	struct tcb_cupti_decode decode = { .head = HEAD(tcb_cupti_decode, dropped), .profiler = cupti->profiler };
	double values[WANTED];
	int done = 0;
	*count_out = 0;
	TCB_TRY(check(cupti, cupti->data_init(&data), "clearing the counters", err));
	TCB_TRY(check(cupti, cupti->set_config(&config), "configuring the profiler", err));
	for (int pass = 0; pass < PASSES_MAX && !done; pass++)
		TCB_TRY(one_pass(cupti, run, ctx, &done, err));
	TCB_TRY(check(cupti, cupti->decode(&decode), "decoding the counters", err));
	struct tcb_cupti_values evaluate = { .head = HEAD(tcb_cupti_values, values),
					     .host = cupti->host,
					     .data = cupti->data,
					     .data_bytes = cupti->data_bytes,
					     .names = cupti->metrics,
					     .count = cupti->metric_count,
					     .values = values };
	TCB_TRY(check(cupti, cupti->values(&evaluate), "evaluating the counters", err));
	for (size_t i = 0; i < cupti->metric_count && *count_out < capacity; i++) {
		struct tcb_counter *counter = &out[*count_out];
		size_t length = strlen(cupti->metrics[i]);
		int is_sum = length > 4 && strcmp(cupti->metrics[i] + length - 4, ".sum") == 0;
		if (!isfinite(values[i]))
			continue;
		memset(counter, 0, sizeof *counter);
		snprintf(counter->name, sizeof counter->name, "%s", cupti->metrics[i]);
		snprintf(counter->source, sizeof counter->source, "cupti");
		counter->value = is_sum && calls ? values[i] / calls : values[i];
		++*count_out;
	}
	return TCB_OK;
}
