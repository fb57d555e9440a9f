/* SPDX-License-Identifier: MIT
 *
 * Programs call from threads with small stacks.  Each op is planned for a CPU and for
 * two GPUs, packed, executed, saved and loaded from a thread that has STACK_BYTES.
 */
#include "cmocka_all.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "instrumented.h"
#include "rt/rt_plan.h"
#include "shape_for.h"
#include "tcbrt.h"

/* What tcbrt.h says is enough; instrumented frames are several times as large. */
enum { STACK_BYTES = TEST_IS_INSTRUMENTED ? 1 << 20 : 128 << 10 };

struct task {
	const struct tcb_op *op;
	const char *device;
	char message[512]; /* what went wrong */
};

static void *alloc(size_t bytes)
{
	return aligned_alloc(TCBRT_ALIGNMENT, (bytes + TCBRT_ALIGNMENT) / TCBRT_ALIGNMENT * TCBRT_ALIGNMENT);
}

/* Of data that the op fills; no result is looked at. */
static int execute(const struct tcbrt_plan *plan)
{
	void *stored[TCBRT_OPERANDS_MAX] = { NULL }, *operand[TCBRT_OPERANDS_MAX];
	struct tcbrt_operand operands[TCBRT_OPERANDS_MAX];
	struct tcbrt_plan_info info;
	int code = tcbrt_plan_info(plan, &info);

	for (size_t i = 0; i < info.operand_count; i++) {
		code |= tcbrt_plan_operand(plan, i, &operands[i]);
		stored[i] = alloc(operands[i].bytes);
	}
	plan->problem.op->fill(&plan->problem, 1, stored);
	memcpy(operand, stored, sizeof(operand));
	for (size_t i = 0; i < info.operand_count; i++)
		if (operands[i].packed_bytes) {
			operand[i] = alloc(operands[i].packed_bytes);
			code |= tcbrt_pack_operand(plan, i, stored[i], operand[i]);
		}
	void *workspace = alloc(info.workspace_bytes);
	if (!info.is_gpu) {
		code |= tcbrt_workspace_init(plan, workspace);
		code |= tcbrt_execute(plan, operand, workspace, NULL);
	}
	free(workspace);
	for (size_t i = 0; i < info.operand_count; i++) {
		if (operand[i] != stored[i])
			free(operand[i]);
		free(stored[i]);
	}
	return code;
}

static int use(const struct tcbrt *rt, const struct tcbrt_query *query, struct tcbrt_error *err)
{
	struct tcbrt_plan *plan, *loaded = NULL;
	size_t bytes;
	int code = tcbrt_plan_create(rt, query, &plan, err);

	if (code != TCBRT_OK)
		return code;
	code = execute(plan) | tcbrt_plan_save(plan, NULL, 0, &bytes);
	void *blob = malloc(bytes);
	code |= tcbrt_plan_save(plan, blob, bytes, &bytes);
	code |= tcbrt_plan_load(rt, blob, bytes, &loaded, err);
	free(blob);
	tcbrt_plan_destroy(loaded);
	tcbrt_plan_destroy(plan);
	return code;
}

static void *work(void *argument)
{
	struct task *task = argument;
	const struct tcb_shape shape = shape_for(task->op, (struct tcb_shape){ 33, 300, 512 });
	char words[TCB_WORDS_TEXT_MAX];
	struct tcbrt_query query = {
		.op = task->op->name, .device = task->device, .m = shape.m, .n = shape.n, .k = shape.k
	};
	struct tcbrt_error err = { .message = "" };
	struct tcbrt *rt;

	tcb_words_print(&shape.words, words);
	query.words = words;
	int code = tcbrt_open_empty(&rt, &err);
	if (code == TCBRT_OK)
		code = use(rt, &query, &err);
	tcbrt_close(rt);
	if (code != TCBRT_OK)
		snprintf(task->message, sizeof(task->message), "code %d %.400s", code, err.message);
	return NULL;
}

static void every_op_fits(void **state)
{
	static const char *const devices[] = { "cpu", "sm_90", "sm_80" };
	pthread_attr_t attributes;
	size_t count;
	const struct tcb_op *const *ops = tcb_ops(&count);

	(void)state;
	assert_int_equal(setenv("TCBTUNE_ASSEMBLER", "none", 1), 0);
	assert_int_equal(pthread_attr_init(&attributes), 0);
	assert_int_equal(pthread_attr_setstacksize(&attributes, STACK_BYTES), 0);
	for (size_t i = 0; i < 3 * count; i++) {
		struct task task = { .op = ops[i / 3], .device = devices[i % 3] };
		pthread_t thread;

		if (test_leaves_out(i) || (i % 3 && !tcb_op_gpu(task.op)))
			continue;
		assert_int_equal(pthread_create(&thread, &attributes, work, &task), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		if (task.message[0])
			fail_msg("%s on %s: %s", task.op->name, task.device, task.message);
	}
	pthread_attr_destroy(&attributes);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(every_op_fits) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
