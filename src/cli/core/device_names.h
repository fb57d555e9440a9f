/* SPDX-License-Identifier: MIT
 *
 * Devices as people tell them apart: two machines may both call theirs "cpu",
 * and all GPUs of a kind are "sm_90".  What --device means among stored results,
 * and how a table calls the devices that are in it.
 */
#ifndef TCB_CLI_DEVICE_NAMES_H
#define TCB_CLI_DEVICE_NAMES_H

#include "db/db.h"

/* What --device asks for of stored results; what is empty may be anything. */
struct cli_device_filter {
	char name[TCB_DEVICE_NAME_MAX];  /* "cpu", "sm_90" */
	char key[TCB_DEVICE_KEY_MAX];    /* of this machine's device, or as given; its beginning will do */
	char model[TCB_DEVICE_TEXT_MAX]; /* a part of it, in letters of any case */
	int is_named;                    /* as a sweep takes it, so that a sweep can be told to measure it */
};

/*
 * TEXT as it was given, among the COUNT winners that are stored.  "cpu", "cpu:avx2" and "cuda:0" are this machine's, as
 * long as there is a result of it, else any of that name, which is said; "sm_90" is any of that kind.  Else a device's
 * key or the beginning of one ("4f75"), or a part of its name ("H200").  TCB_E_USAGE where it is none of these.
 */
enum tcb_status cli_device_filter_make(const char *text, const struct tcb_best *list, size_t count,
				       struct cli_device_filter *out, struct tcb_error *err);
int cli_device_filter_has(const struct cli_device_filter *filter, const struct tcb_best *best);

enum { CLI_DEVICE_LABEL_MAX = 64 };
/* What BEST's device is called beside those of the COUNT others: its name, as long as that tells it apart, else as many
 * words of its model as do ("H100", "EPYC 9B14:avx2"), else its key with them. */
void cli_device_label(const struct tcb_best *best, const struct tcb_best *const *others, size_t count,
		      char out[CLI_DEVICE_LABEL_MAX]);
/* Whether both are of one device. */
int cli_is_one_device(const struct tcb_best *a, const struct tcb_best *b);

#endif
