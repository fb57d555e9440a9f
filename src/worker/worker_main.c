/* SPDX-License-Identifier: MIT
 *
 * The worker process: reads requests, has the device's backend carry them out,
 * and writes replies.  It has no terminal, no database and no files.
 */
#include "worker/worker.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "worker/backend.h"
#include "worker/channel.h"
#include "worker/fault.h"

enum { COUNTERS_MAX = 64 };

struct worker {
	int fd;
	const struct tcb_worker_config *config;
	const struct tcb_backend *backend;
	void *self;             /* the backend's */
	size_t timed;           /* candidates prepared */
	int has_limit;          /* prepared with them */
	struct tcb_meter meter; /* opened when it is asked for */
};

/* ---- what requests carry ---- */

/* Takes the code of one candidate off the end of a request: its length, then itself.  -1 if it is cut off. */
static int take_code(const char **at, size_t *left, struct tcb_work *work)
{
	uint64_t bytes;
	if (*left < sizeof(bytes))
		return -1;
	memcpy(&bytes, *at, sizeof(bytes));
	*at += sizeof(bytes);
	*left -= sizeof(bytes);
	if (bytes > *left)
		return -1;
	work->code = bytes ? *at : NULL;
	work->code_bytes = (size_t)bytes;
	*at += bytes;
	*left -= (size_t)bytes;
	return 0;
}

static enum tcb_status malformed(struct tcb_error *err)
{
	return tcb_fail(err, TCB_E_FORMAT, "a request that the worker cannot read");
}

/* ---- one function a request ---- */

static enum tcb_status serve_try(struct worker *worker, const struct tcb_message *message, struct tcb_error *err)
{
	struct tcb_try_request request;
	if (message->bytes < sizeof(request))
		return malformed(err);
	memcpy(&request, message->payload, sizeof(request));
	struct tcb_work work = { .geometry = request.geometry };
	const char *at = (const char *)message->payload + sizeof(request);
	size_t left = message->bytes - sizeof(request);
	if (take_code(&at, &left, &work) != 0)
		return malformed(err);
	size_t room = request.rule.samples_max * TCB_STATE_COUNT, count = 0;
	struct tcb_trial_reply *reply = calloc(1, sizeof(*reply) + 2 * room * sizeof(double));
	if (!reply)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu samples", room);
	double *samples = (double *)(void *)(reply + 1), *lost = samples + room;
	for (size_t i = 0; i < room; i++)
		lost[i] = NAN;
	enum tcb_status status =
		worker->backend->attempt(worker->self, &work, &request.rule, reply, samples, lost, err);
	for (size_t i = 0; i < reply->measurement_count; i++)
		count += reply->measurements[i].sample_count;
	memmove(samples + count, lost, count * sizeof(double));
	if (status == TCB_OK &&
	    tcb_channel_send(worker->fd, TCB_MESSAGE_TRIAL, reply, sizeof(*reply) + 2 * count * sizeof(double)) != 0)
		status = tcb_fail(err, TCB_E_IO, "the tuner is gone");
	free(reply);
	return status;
}

static enum tcb_status serve_prepare(struct worker *worker, const struct tcb_message *message, struct tcb_error *err)
{
	const struct tcb_prepare_request *request = message->payload;
	struct tcb_prepared_reply reply;
	memset(&reply, 0, sizeof(reply));
	if (message->bytes < sizeof(*request) ||
	    request->count > (message->bytes - sizeof(*request)) / sizeof(*request->geometries))
		return malformed(err);
	size_t head = sizeof(*request) + request->count * sizeof(*request->geometries);
	const char *at = (const char *)message->payload + head;
	size_t left = message->bytes - head;
	struct tcb_work *work = calloc(request->count + 1, sizeof(*work));
	if (!work)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %zu finalists", (size_t)request->count);
	enum tcb_status status = TCB_OK;
	for (size_t i = 0; i <= request->count && status == TCB_OK; i++) {
		if (i < request->count)
			work[i].geometry = request->geometries[i];
		if (take_code(&at, &left, &work[i]) != 0) /* the last is the limit's */
			status = malformed(err);
	}
	worker->timed = request->count;
	worker->has_limit = request->limit != TCB_LIMIT_NONE;
	if (status == TCB_OK)
		status = worker->backend->prepare(worker->self, (enum tcb_state)request->state, work, request->count,
						  (enum tcb_limit)request->limit, reply.limit_method, err);
	free(work);
	if (status == TCB_OK && tcb_channel_send(worker->fd, TCB_MESSAGE_PREPARED, &reply, sizeof(reply)) != 0)
		status = tcb_fail(err, TCB_E_IO, "the tuner is gone");
	return status;
}

static enum tcb_status serve_round(struct worker *worker, const struct tcb_message *message, struct tcb_error *err)
{
	const uint32_t *order = message->payload;
	size_t count = message->bytes / sizeof(*order);
	if (count > worker->timed + 1)
		return tcb_fail(err, TCB_E_FORMAT, "a round of %zu calls for %zu finalists", count, worker->timed);
	double *times = calloc(2 * count + 1, sizeof(*times)), *lost = times + count;
	if (!times)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for a round of %zu calls", count);
	tcb_watch_phase(worker->config->watch, 0, "measuring in the finals");
	enum tcb_status status = TCB_OK;
	size_t looked = 0;
	if (worker->backend->look)
		(void)worker->backend->look(worker->self, 1);
	for (size_t i = 0; i < count && status == TCB_OK; i++) {
		if (order[i] == TCB_ROUND_LIMIT ? !worker->has_limit : order[i] >= worker->timed)
			status = tcb_fail(err, TCB_E_FORMAT, "no finalist %u", order[i]);
		else
			status = worker->backend->time(worker->self, order[i], &times[i], err);
		const double share = worker->backend->look ? worker->backend->look(worker->self, i + 1 == count) : NAN;
		while (!(share < 0) && looked <= i)
			lost[looked++] = share;
	}
	tcb_watch_subject(worker->config->watch, 0, TCB_WATCH_NOBODY);
	if (status == TCB_OK && tcb_channel_send(worker->fd, TCB_MESSAGE_TIMES, times, 2 * count * sizeof(*times)) != 0)
		status = tcb_fail(err, TCB_E_IO, "the tuner is gone");
	free(times);
	return status;
}

static enum tcb_status serve_count(struct worker *worker, const struct tcb_message *message, struct tcb_error *err)
{
	struct tcb_count_request request;
	if (message->bytes < sizeof(request))
		return malformed(err);
	memcpy(&request, message->payload, sizeof(request));
	struct tcb_work work = { .geometry = request.geometry };
	const char *at = (const char *)message->payload + sizeof(request);
	size_t left = message->bytes - sizeof(request), count = 0;
	if (take_code(&at, &left, &work) != 0 || request.state >= TCB_STATE_COUNT)
		return malformed(err);
	struct tcb_counter *found = calloc(COUNTERS_MAX, sizeof(*found));
	if (!found)
		return tcb_fail(err, TCB_E_NOMEM, "out of memory for %d counters", COUNTERS_MAX);
	enum tcb_status status = worker->backend->count(worker->self, &work, (enum tcb_state)request.state,
							request.calls, found, COUNTERS_MAX, &count, err);
	if (status == TCB_OK && tcb_channel_send(worker->fd, TCB_MESSAGE_COUNTERS, found, count * sizeof(*found)) != 0)
		status = tcb_fail(err, TCB_E_IO, "the tuner is gone");
	free(found);
	return status;
}

static enum tcb_status serve_meter(struct worker *worker, const struct tcb_message *message, struct tcb_error *err)
{
	struct tcb_energy energy;
	struct tcb_meter_run run;
	double seconds;
	int over = 0;
	if (message->bytes != sizeof(seconds) || !worker->timed)
		return malformed(err);
	memcpy(&seconds, message->payload, sizeof(seconds));
	memset(&energy, 0, sizeof(energy));
	tcb_watch_phase(worker->config->watch, 0, "opening the meter");
	if (!worker->meter.read)
		TCB_TRY(tcb_meter_open(worker->config->place, &worker->meter, err));
	tcb_watch_phase(worker->config->watch, 1, "measuring energy");
	tcb_watch_subject(worker->config->watch, 1, 0);
	tcb_meter_begin(&run, &worker->meter, seconds);
	while (!over) {
		size_t calls = 0;
		TCB_TRY(worker->backend->go_on(worker->self, &calls, err));
		TCB_TRY(tcb_meter_look(&run, calls, &over, err));
	}
	tcb_watch_subject(worker->config->watch, 0, TCB_WATCH_NOBODY);
	tcb_meter_end(&run, &energy.metered);
	memcpy(energy.source, worker->meter.source, sizeof(energy.source));
	if (tcb_channel_send(worker->fd, TCB_MESSAGE_METERED, &energy, sizeof(energy)) != 0)
		return tcb_fail(err, TCB_E_IO, "the tuner is gone");
	return TCB_OK;
}

/* ---- the loop ---- */

static enum tcb_status serve(struct worker *worker, const struct tcb_message *message, struct tcb_error *err)
{
	atomic_store(&worker->config->watch->ran, 0);
	tcb_watch_subject(worker->config->watch, 0, TCB_WATCH_NOBODY);
	if (message->kind != TCB_MESSAGE_ROUND && message->kind != TCB_MESSAGE_PREPARE &&
	    message->kind != TCB_MESSAGE_METER)
		worker->backend->release(worker->self);
	switch (message->kind) {
	case TCB_MESSAGE_TRY:
		return serve_try(worker, message, err);
	case TCB_MESSAGE_PREPARE:
		return serve_prepare(worker, message, err);
	case TCB_MESSAGE_ROUND:
		return serve_round(worker, message, err);
	case TCB_MESSAGE_COUNT:
		return serve_count(worker, message, err);
	case TCB_MESSAGE_METER:
		return serve_meter(worker, message, err);
	default:
		return tcb_fail(err, TCB_E_FORMAT, "the worker does not know request %u", message->kind);
	}
}

static void send_error(int fd, enum tcb_status status, struct tcb_error *err)
{
	err->status = status;
	(void)tcb_channel_send(fd, TCB_MESSAGE_ERROR, err, sizeof(*err));
}

_Noreturn void tcb_worker_main(int fd, const struct tcb_worker_config *config)
{
	struct worker worker = { .fd = fd,
				 .config = config,
				 .backend = tcb_backends[config->place->device.target.kind] };
	struct tcb_error err;
	memset(&err, 0, sizeof(err));
	tcb_fault_install();
	enum tcb_status status = worker.backend->create(config, &worker.self, &err);
	if (status != TCB_OK) {
		send_error(fd, status, &err);
		_exit(1);
	}
	(void)tcb_channel_send(fd, TCB_MESSAGE_READY, NULL, 0);
	for (;;) {
		struct tcb_message message = { .kind = 0 };
		enum tcb_channel_state got;
		tcb_watch_phase(config->watch, 0, "waiting for the next candidate");
		while ((got = tcb_channel_receive(fd, &message)) == TCB_CHANNEL_MORE)
			tcb_channel_wait(fd, -1);
		/* The tuner is gone or makes no sense: no memory is worth tidying up, the process ends. */
		if (got != TCB_CHANNEL_DONE)
			_exit(got == TCB_CHANNEL_CLOSED ? 0 : 1);
		status = serve(&worker, &message, &err);
		if (status != TCB_OK)
			send_error(fd, status, &err);
		tcb_message_fini(&message);
	}
}
