/* SPDX-License-Identifier: MIT
 *
 * Any bytes as results of another tuner.  What is accepted and written as T4 is read back as it was; written as a
 * cache it is read back, too.
 */
#include <math.h>
#include <string.h>

#include "fuzz.h"
#include "search/replay/recorded_results.h"

/* FILE, which it takes, read again. */
static enum tcb_status again(json_t *file, struct tcb_results *out, struct tcb_error *err)
{
	char *text = json_dumps(file, JSON_COMPACT);

	FUZZ_CHECK(text);
	const enum tcb_status status = tcb_results_read(text, strlen(text), "again", out, err);
	free(text);
	json_decref(file);
	return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
	struct tcb_results results, other;
	struct tcb_error err = { TCB_OK, "" };

	if (tcb_results_read((const char *)data, bytes, "fuzz", &results, &err) != TCB_OK) {
		FUZZ_CHECK(err.message[0] && !strchr(err.message, '\n'));
		return 0;
	}
	FUZZ_CHECK(json_array_size(results.list) > 0);
	for (size_t i = 0; i < json_array_size(results.list); i++)
		FUZZ_CHECK(tcb_result_ms(json_array_get(results.list, i)) > 0);
	FUZZ_CHECK(again(tcb_results_t4(&results), &other, &err) == TCB_OK);
	FUZZ_CHECK(json_equal(other.list, results.list) && json_equal(other.head, results.head));
	tcb_results_fini(&other);
	/* Configurations that look the same are one record. */
	if (again(tcb_results_cache(&results), &other, &err) == TCB_OK) {
		FUZZ_CHECK(json_array_size(other.list) <= json_array_size(results.list));
		tcb_results_fini(&other);
	} else {
		FUZZ_CHECK(err.message[0]);
	}
	tcb_results_fini(&results);
	return 0;
}
