/* SPDX-License-Identifier: MIT
 *
 * Recorded results as JSON: files of other tuners in, and out again.
 */
#ifndef TCB_SEARCH_RECORDED_RESULTS_H
#define TCB_SEARCH_RECORDED_RESULTS_H

#include <jansson.h>

#include "base/status.h"

/* What a T4 file has; what a cache of Kernel Tuner has, in that form, with its header below metadata.kernel_tuner. */
struct tcb_results {
	json_t *head; /* an object: all of the file but its results */
	json_t *list; /* of results, objects */
	int is_open;  /* as in struct tcb_recorded */
};
/* TCB_E_NOT_FOUND for what is neither a T4 nor a cache file, TCB_E_FORMAT for what is wrong inside; NAME for messages.
 */
enum tcb_status tcb_results_read(const char *text, size_t bytes, const char *name, struct tcb_results *out,
				 struct tcb_error *err);
void tcb_results_fini(struct tcb_results *results);
/* What its file calls the kernel and the device; NULL: it does not. */
const char *tcb_results_kernel(const struct tcb_results *results);
const char *tcb_results_device(const struct tcb_results *results);
/* The time that RESULT found, in milliseconds; infinite where it failed. */
double tcb_result_ms(const json_t *result);

/* The file; NULL without memory.  tcb_results_read reads both back as they were. */
json_t *tcb_results_t4(const struct tcb_results *results);
json_t *tcb_results_cache(const struct tcb_results *results);

#endif
