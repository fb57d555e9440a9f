/* SPDX-License-Identifier: MIT
 *
 * The lookup: names become numbers, a probe of each layer's table, and a copy of
 * the entry.  Whatever is not an exact hit goes to rt_fallback.c.
 */
#include <stdio.h>
#include <string.h>

#include "base/gpu_table.h"
#include "rt/runtime.h"

static int fail(struct tcbrt_tuning *out, int code, const char *what, const char *name, const char *advice)
{
	memset(out, 0, sizeof(*out));
	snprintf(out->reason, sizeof(out->reason), "%s '%.80s': %s", what, name, advice);
	return code;
}

/* Of a fixed size, which is copied at once. */
enum { MEASURED_MAX = 64 };
static const char measured[2][MEASURED_MAX] = { "measured at this shape on this device",
						"measured at this shape on this device (system database)" };
static const char *const unproven[2] = {
	"provisional: the best so far at this shape on this device, of a sweep that has not held its finals, a shard "
	"or a merge; tcbtune sweep replaces it",
	"provisional: the best so far at this shape on this device (system database), of a sweep that has not held its "
	"finals, a shard or a merge; tcbtune sweep replaces it"
};

static char *put_number(char *out, unsigned number)
{
	char digits[10];
	size_t count = 0;

	do
		digits[count++] = (char)('0' + number % 10);
	while (number /= 10);
	while (count)
		*out++ = digits[--count];
	return out;
}

/* Without snprintf, which takes longer than the lookup. */
static void say_faster(const struct tcbrt *rt, unsigned threads, char *out)
{
	out = stpcpy(out, "; ");
	out = put_number(out, threads);
	out = stpcpy(out, threads == 1 ? " thread was" : " threads were");
	out = stpcpy(out, " measured to be faster than ");
	*put_number(out, rt->cores) = '\0';
}

static void copy_exact(const struct tcbrt *rt, const struct rt_key *key, const struct rt_found *found,
		       struct tcbrt_tuning *out)
{
	const int is_provisional = found->entry->provisional != 0, is_system = found->layer->is_system != 0;
	const unsigned threads = found->entry->key.threads;

	out->source = is_provisional ? TCBRT_SOURCE_PROVISIONAL : TCBRT_SOURCE_EXACT;
	rt_tuning_stored(out, found);
	if (is_provisional)
		memcpy(out->reason, unproven[is_system], strlen(unproven[is_system]) + 1);
	else
		memcpy(out->reason, measured[is_system], MEASURED_MAX);
	if (key->threads == 0 && threads != 0 && threads != rt->cores)
		say_faster(rt, threads, out->reason + strlen(out->reason));
}

static int is_of_models(const char *name)
{
	const struct tcb_kind *kind = tcb_kind_stored(name, NULL);

	return kind && kind->describe;
}

/* What QUERY calls its device; NULL: this host. */
static const char *name_of(const struct tcbrt_query *query, char room[TCB_DEVICE_NAME_MAX])
{
	if (query->device || !query->wgpu)
		return query->device;
	rt_wgpu_name(query->wgpu, room);
	return room;
}

/* The device of KEY as QUERY asks for it. */
static struct rt_device device_of(const struct tcbrt *rt, const struct tcbrt_query *query, const struct rt_key *key)
{
	struct rt_device device = rt->devices[key->device];
	char room[TCB_DEVICE_NAME_MAX];

	if (!rt_has_threads(&device))
		(void)snprintf(device.name, sizeof(device.name), "%s", name_of(query, room));
	if (query->wgpu)
		rt_wgpu_limit(query->wgpu, &device.target);
	else if (!rt_has_threads(&device)) /* what is attached is known by its key, in a database or not */
		(void)tcb_gpu_recall(device.name, &device.target);
	return device;
}

/* Names and numbers of QUERY as a key, or a code and OUT's reason. */
static int make_key(const struct tcbrt *rt, const struct tcbrt_query *query, struct rt_key *key,
		    struct tcbrt_tuning *out)
{
	char room[TCB_DEVICE_NAME_MAX];
	const char *name;
	const struct tcb_op *op;
	enum tcb_contract least;
	int is_auto;

	key->op = rt_op_find(rt, query->op);
	if (key->op == RT_NONE)
		return fail(out, TCBRT_E_NOT_FOUND, "this library has no op", query->op,
			    "see `tcbtune ops`, or upgrade libtcbrt");
	op = rt->ops[key->op].op;
	name = name_of(query, room);
	key->device = name ? rt_device_find(rt, name) : 0;
	if (key->device == RT_NONE && is_of_models(name))
		return fail(out, TCBRT_E_NOT_FOUND, "nothing is recorded or stored for", name,
			    "see `tcbtune devices`, or run `tcbtune sweep` on it");
	if (key->device == RT_NONE)
		return fail(out, TCBRT_E_UNSUPPORTED, "this host has no device", name,
			    "use \"cpu\", or see `tcbtune devices`");
	if (query->wgpu && tcb_kind_of(&rt->devices[key->device].target) != &tcb_kind_wgpu)
		return fail(out, TCBRT_E_USAGE, "query.wgpu is not of query.device", name, "leave one of them NULL");
	if (tcb_op_require(op, &rt->devices[key->device].target, NULL) != TCB_OK)
		return fail(out, TCBRT_E_UNSUPPORTED, "there are no GPU kernels of op", query->op, "ask for \"cpu\"");
	if (!rt_contract_read(op, query->contract, &least, &is_auto))
		return fail(out, TCBRT_E_USAGE, "query for op", query->op, "contract is outside enum tcbrt_contract");
	if ((unsigned)query->state >= TCB_STATE_COUNT)
		return fail(out, TCBRT_E_USAGE, "query for op", query->op, "state is outside enum tcbrt_state");
	_Static_assert((int)TCBRT_COLD == TCB_COLD && (int)TCBRT_HOT == TCB_HOT,
		       "the header's list follows that of base/problem.h");
	key->contract = (uint16_t)least;
	key->state = (uint16_t)query->state;
	key->threads = rt_has_threads(&rt->devices[key->device]) ? query->threads : 0;
	if (key->threads > RT_THREADS_MAX)
		return fail(out, TCBRT_E_USAGE, "query for op", query->op, "threads are more than 1024");
	key->m = query->m;
	key->n = query->n;
	key->k = query->k;
	key->words = (struct tcb_words){ 0 };
	if (query->words && tcb_words_parse(query->words, &key->words, NULL) != TCB_OK)
		return fail(out, TCBRT_E_USAGE, "query for op", query->op,
			    "words are invalid: they are those of a shape, as in \"h32/8,b4\"");
	if (is_auto && !query->geometry) {
		const struct rt_device device = device_of(rt, query, key);

		key->contract = (uint16_t)rt_contract_choose(rt, &device, key);
	}
	return TCBRT_OK;
}

/* What was measured with all that the adapter has is not for a device that was made with less. */
static void fit(const struct tcbrt *rt, const struct tcbrt_query *query, const struct rt_key *key,
		struct rt_exact *exact)
{
	const struct rt_device device = device_of(rt, query, key);
	const struct tcb_op *op = rt->ops[key->op].op;
	const struct tcb_geometry geometry = rt_entry_geometry(exact->found.entry, op);
	const struct tcb_shape shape = rt_key_shape(key);
	struct tcb_problem problem;

	if (tcb_problem_init(op, (enum tcb_contract)key->contract, &shape, &problem, NULL) == TCB_OK &&
	    rt_is_legal(op, &problem, &device.target, &geometry, NULL))
		return;
	*exact = (struct rt_exact){ .unfit = exact->found };
}

static int answer(const struct tcbrt *rt, const struct tcbrt_query *query, const struct rt_key *key,
		  struct tcbrt_tuning *out)
{
	struct rt_exact exact;
	struct rt_device device;

	if (query->geometry) {
		device = device_of(rt, query, key);
		return rt_asked(rt, query->geometry, &device, key, out);
	}
	rt_exact(rt, key, &exact);
	if (exact.found.layer && query->wgpu)
		fit(rt, query, key, &exact);
	if (!exact.found.layer) {
		device = device_of(rt, query, key);
		return rt_fallback(rt, &device, key, &exact, out);
	}
	copy_exact(rt, key, &exact.found, out);
	return TCBRT_OK;
}

int tcbrt_lookup(const struct tcbrt *rt, const struct tcbrt_query *query, struct tcbrt_tuning *out)
{
	struct rt_key key;
	int code;

	if (!out)
		return TCBRT_E_USAGE;
	if (!rt || !query || !query->op)
		return fail(out, TCBRT_E_USAGE, "a lookup wants",
			    !rt      ? "rt"
			    : !query ? "query"
				     : "query.op",
			    "it is NULL");
	code = make_key(rt, query, &key, out);
	if (code == TCBRT_OK)
		code = answer(rt, query, &key, out);
	if (code == TCBRT_OK)
		out->contract = rt_contract_told((enum tcb_contract)key.contract);
	return code;
}

enum tcb_status rt_query_problem(const struct tcbrt *rt, const struct tcbrt_query *query, struct tcb_problem *problem,
				 struct rt_device *device_out, struct tcb_error *err)
{
	struct tcbrt_tuning unused;
	struct rt_key key;

	if (make_key(rt, query, &key, &unused) != TCBRT_OK)
		return tcb_fail(err, TCB_E_USAGE, "%s", unused.reason);
	const struct tcb_shape shape = rt_key_shape(&key);
	*device_out = device_of(rt, query, &key);
	return tcb_problem_init(rt->ops[key.op].op, (enum tcb_contract)key.contract, &shape, problem, err);
}
