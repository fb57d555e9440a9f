/* SPDX-License-Identifier: MIT
 *
 * A candidate's calls as they are timed: over so many copies, so many in a row.
 */
#include <math.h>

#include "base/util.h"
#include "worker/gpu_worker.h"

enum {
	COPIES_MIN = 4,     /* of a rotation, however large one copy is */
	COPIES_MAX = 512,   /* however small: a graph of more calls takes longer to make than to run */
	CALLS_MIN = 32,     /* in a graph, where calls are short */
	HOT_CALLS = 64,     /* the first finds the L2 cold, and a run before the sample sees to that */
	FLUSH_MULTIPLE = 2, /* of what drives a rotation that is smaller out of the L2 */
};

int tcb_gpu_is_lost(const struct tcb_gpu_worker *worker, enum tcb_status status)
{
	const struct tcb_gpu_driver *driver = worker->session.driver;
	return status != TCB_OK && driver->is_lost && driver->is_lost(worker->session.own);
}

size_t tcb_gpu_copies(const struct tcb_gpu_worker *worker, const struct tcb_code_unit *unit, enum tcb_state state)
{
	if (state == TCB_HOT)
		return 1;
	size_t bytes = tcb_gpu_memory_streamed(worker->full.memory, unit->packed_bytes);
	size_t copies = bytes ? (worker->rotation_bytes + bytes - 1) / bytes : 1;
	return copies < COPIES_MIN ? COPIES_MIN : copies > COPIES_MAX ? COPIES_MAX : copies;
}

/* COPIES that do not reach beyond the L2 are driven out of it before each sample. */
static enum tcb_status need_flush(struct tcb_gpu_worker *worker, struct tcb_gpu_runner *runner, size_t copies,
				  struct tcb_error *err)
{
	const size_t l2 = worker->config->place->device.target.l2_bytes;
	const size_t bytes = tcb_gpu_memory_streamed(worker->full.memory, runner->unit->packed_bytes);
	if (copies < COPIES_MAX || copies * bytes >= worker->rotation_bytes || !l2)
		return TCB_OK;
	if (!worker->flush.bytes)
		TCB_TRY(tcb_gpu_buffer_alloc(&worker->session, FLUSH_MULTIPLE * l2, &worker->flush, err));
	runner->flush = worker->flush;
	return TCB_OK;
}

static const double graph_ns[] = { [TCB_GPU_SCREENED] = 5e5, [TCB_GPU_FINALIST] = 4e6 };

/* How many calls of NS each a graph of WANTED_NS is to have, MOST where they are short. */
static size_t calls_for(double wanted_ns, double ns, size_t most)
{
	const double calls = ns > 0 ? ceil(wanted_ns / ns) : (double)most;
	return calls < (double)most ? (size_t)calls : most;
}

/* Of COPIES in turn: whole turns, or, where samples GO_ON from one to the next, as even a part of one as holds CALLS:
 * none is read again before the others were. */
static size_t calls_of_turn(size_t calls, size_t copies, int go_on)
{
	if (!go_on || 2 * calls > copies)
		return (calls + copies - 1) / copies * copies;
	const size_t parts = copies / calls;
	return (copies + parts - 1) / parts;
}

enum tcb_status tcb_gpu_record(struct tcb_gpu_worker *worker, struct tcb_gpu_runner *runner, enum tcb_state state,
			       enum tcb_gpu_stage stage, double *pack_ns, enum tcb_gpu_fault *fault_out, char why[256],
			       struct tcb_error *err)
{
	enum tcb_layout layout = (enum tcb_layout)runner->unit->layout;
	size_t copies = tcb_gpu_copies(worker, runner->unit, state);
	struct tcb_gpu_buffer operand[TCB_OPERANDS_MAX];
	double ns;
	tcb_watch_phase(worker->config->watch, 0, "copying the operands to measure on");
	TCB_TRY(tcb_gpu_memory_need(worker->full.memory, layout, runner->unit->packed_bytes, copies, pack_ns, err));
	runner->flush.bytes = 0;
	if (state == TCB_COLD)
		TCB_TRY(need_flush(worker, runner, copies, err));
	tcb_watch_phase(worker->config->watch, 1, "measuring %s", tcb_state_text(state));
	tcb_gpu_memory_operands(worker->full.memory, layout, 0, operand);
	*fault_out = tcb_gpu_runner_once(runner, operand, &ns, why);
	if (*fault_out != TCB_GPU_FINE)
		return TCB_OK;
	size_t calls = calls_for(graph_ns[stage], ns, state == TCB_COLD ? CALLS_MIN : HOT_CALLS);
	if (state == TCB_COLD)
		calls = calls_of_turn(calls, copies, stage == TCB_GPU_SCREENED && runner->session->driver->goes_on);
	*fault_out = tcb_gpu_runner_record(runner, worker->full.memory, layout, copies, calls, why);
	return TCB_OK;
}

double tcb_gpu_sample(struct tcb_gpu_runner *runner, enum tcb_state state, char why[256])
{
	if (state == TCB_HOT && tcb_gpu_runner_sample(runner, why) < 0) /* what others left in the L2 goes */
		return -1;
	return tcb_gpu_runner_sample(runner, why);
}
