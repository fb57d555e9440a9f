/* SPDX-License-Identifier: MIT
 *
 * mbarriers in the emulator.  The 64 bits in shared memory are the whole state:
 * arrivals left of this phase, arrivals of a phase, bytes still to come, the
 * phase's parity.  A GPU's layout is not documented; ours is free.
 *
 * Beside them, by address, stand two vectors of ticks: what those who arrived in
 * this phase knew, and what all completed phases' did.  A wait that succeeds
 * learns the latter, so the check for races sees the barrier as the program does.
 *
 * A wait that fails lets others go first, and the scheduler sees when all that
 * happens is such waits.
 */
#include <string.h>

#include "ptx/emulate/emu_async.h"
#include "ptx/emulate/emu_program.h"

#define COUNT_MAX ((1u << 20) - 1) /* of arrivals, and of bytes either way (PTX ISA, "mbarrier") */
#define VALID (1ull << 63)
#define PARITY (1ull << 62)
#define PARITY_OF(bits) ((bits) >> 62 & 1)

enum { PENDING_AT = 0, EXPECTED_AT = 20, BYTES_AT = 40, BYTES_BITS = 22 };

/* What waiters learn. */
struct order {
	struct order *next;
	uint32_t offset;
	struct tcb_emu_clock gathering, done;
	uint32_t init_agent, init_lane, init_tick; /* who initialised it, and when */
};

struct barrier {
	struct tcb_emu_run *run;
	struct tcb_emu_block *block;
	struct order *order;
	uint8_t *host;
	int is_valid, parity;
	uint32_t pending, expected;
	int32_t bytes;
};

static uint64_t encode(const struct barrier *b)
{
	return (b->is_valid ? VALID : 0) | (b->parity ? PARITY : 0) | (uint64_t)b->pending << PENDING_AT |
	       (uint64_t)b->expected << EXPECTED_AT |
	       ((uint64_t)(uint32_t)b->bytes & ((1u << BYTES_BITS) - 1)) << BYTES_AT;
}

static void decode(struct barrier *b, uint64_t bits)
{
	uint32_t bytes = (uint32_t)(bits >> BYTES_AT) & ((1u << BYTES_BITS) - 1);

	b->is_valid = (bits & VALID) != 0;
	b->parity = (bits & PARITY) != 0;
	b->pending = (uint32_t)(bits >> PENDING_AT) & COUNT_MAX;
	b->expected = (uint32_t)(bits >> EXPECTED_AT) & COUNT_MAX;
	b->bytes = (int32_t)(bytes ^ 1u << (BYTES_BITS - 1)) - (1 << (BYTES_BITS - 1));
}

static struct order *order_of(struct tcb_emu_block *block, uint32_t offset)
{
	struct order **list = (struct order **)&block->unit[TCB_EMU_UNIT_MBARRIER], *o;

	for (o = *list; o; o = o->next)
		if (o->offset == offset)
			return o;
	o = tcb_arena_alloc(&block->arena, sizeof *o);
	if (!o)
		return NULL;
	o->offset = offset;
	if (!tcb_emu_clock_init(block->run, &block->arena, &o->gathering) ||
	    !tcb_emu_clock_init(block->run, &block->arena, &o->done))
		return NULL;
	o->next = *list;
	*list = o;
	return o;
}

static int find_order(struct tcb_emu_warp *warp, struct barrier *b, uint32_t address)
{
	uint32_t offset;

	b->run = warp->run;
	b->block = tcb_emu_shared_block(warp, address, &offset);
	b->order = b->block ? order_of(b->block, offset) : NULL;
	if (!b->order)
		tcb_emu_no_memory(warp->run);
	return b->order != NULL;
}

/* The barrier at ADDRESS for LANE; 0 after a fault. */
static int load_at(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t address, int lane, unsigned flags,
		   struct barrier *b)
{
	uint64_t bits;

	if (warp->run->fault)
		return 0;
	b->host = tcb_emu_shared(warp, in, lane, address, 8, 8, flags, NULL);
	if (!b->host || !find_order(warp, b, address))
		return 0;
	memcpy(&bits, b->host, sizeof bits);
	decode(b, bits);
	if (!b->is_valid && !(flags & TCB_EMU_INIT)) {
		tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_MBARRIER,
			      "shared address 0x%x holds no mbarrier: initialise it first, and let the others wait for "
			      "that",
			      address);
		return 0;
	}
	/* later atomics hide the store that initialised it from the check for races */
	if (!(flags & TCB_EMU_INIT) && b->order->init_agent != warp->agent &&
	    !tcb_emu_knows(warp, (unsigned)lane, b->order->init_agent, 1u << b->order->init_lane, b->order->init_tick))
		tcb_emu_report(
			warp, in, lane, TCB_PTX_RULE_RACE, TCB_PTX_ERROR,
			"uses the mbarrier at shared address 0x%x, which warp %u initialised with nothing between "
			"that orders them",
			address, b->order->init_agent);
	return 1;
}

/* The barrier of LANE's address operand; 0 after a fault. */
static int load(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_operand *op, int lane,
		unsigned flags, struct barrier *b)
{
	uint32_t address =
		tcb_emu_shared_address(warp, in, op, tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SPACE), (unsigned)lane);

	return load_at(warp, in, address, lane, flags, b);
}

/* The addresses of the lanes of ACTIVE; 0 after a fault. */
static int load_addresses(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, const struct tcb_emu_operand *op,
			  uint32_t active, uint32_t *address)
{
	TCB_EMU_EACH(lane, active)
	address[lane] = tcb_emu_shared_address(warp, in, op, tcb_ptx_mod(in->ins, TCB_PTX_SLOT_SPACE), lane);
	return !warp->run->fault;
}

/* Those of LANES whose address is that of the first. */
static uint32_t alike(const uint32_t *address, uint32_t lanes)
{
	uint32_t result = 0;

	TCB_EMU_EACH(lane, lanes)
	result |= (uint32_t)(address[lane] == address[__builtin_ctz(lanes)]) << lane;
	return result;
}

static void store(const struct barrier *b)
{
	uint64_t bits = encode(b);

	memcpy(b->host, &bits, sizeof bits);
}

/* Ends the phase when nothing is missing any more. */
static void advance(struct barrier *b)
{
	tcb_emu_progress(b->run);
	if (b->pending || b->bytes)
		return;
	b->parity = !b->parity;
	b->pending = b->expected;
	tcb_emu_clock_merge(b->run, &b->order->done, &b->order->gathering);
}

static int add_bytes(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, struct barrier *b,
		     int64_t bytes)
{
	int64_t sum = b->bytes + bytes;

	if (sum > (int64_t)COUNT_MAX || sum < -(int64_t)COUNT_MAX) {
		tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_MBARRIER,
			      "an mbarrier would count %lld bytes, and its limit is %u: more bytes arrive than are "
			      "expected, or fewer",
			      (long long)sum, COUNT_MAX);
		return 0;
	}
	b->bytes = (int32_t)sum;
	return 1;
}

void tcb_emu_mbarrier_complete(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, struct tcb_emu_block *block,
			       uint32_t offset, uint32_t bytes)
{
	struct barrier b = { .run = warp->run, .order = order_of(block, offset), .host = block->shared + offset };
	uint64_t bits;

	if (!b.order) {
		tcb_emu_no_memory(warp->run);
		return;
	}
	memcpy(&bits, b.host, sizeof bits);
	decode(&b, bits);
	if (!b.is_valid) {
		tcb_emu_fault(
			warp, in, -1, TCB_PTX_RULE_MBARRIER,
			"%u bytes arrive, and their mbarrier at offset 0x%x of block %u does not exist (any more)",
			bytes, offset, block->rank);
		return;
	}
	if (!add_bytes(warp, in, -1, &b, -(int64_t)bytes))
		return;
	tcb_emu_release_async(warp->run, &b.order->gathering);
	advance(&b);
	store(&b);
}

/* --- handlers --- */

static void run_init(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	{
		uint32_t count = (uint32_t)tcb_emu_get(warp, &in->op[1], lane);
		struct barrier b;

		if (!load(warp, in, &in->op[0], (int)lane, TCB_EMU_WRITE | TCB_EMU_INIT, &b))
			return;
		if (count < 1 || count > COUNT_MAX) {
			tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_MBARRIER,
				      "an mbarrier for %u arrivals: 1 to %u are possible", count, COUNT_MAX);
			return;
		}
		b.order->init_agent = warp->agent;
		b.order->init_lane = lane;
		b.order->init_tick = warp->run->tick;
		b.is_valid = 1;
		b.parity = 0;
		b.pending = b.expected = count;
		b.bytes = 0;
		tcb_emu_clock_clear(warp->run, &b.order->gathering);
		tcb_emu_clock_clear(warp->run, &b.order->done);
		store(&b);
	}
}

static void run_inval(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	{
		struct barrier b;

		/* as an arrival, which libcu++ orders by an atomic of one lane for all; who comes later finds no
		 * mbarrier */
		if (!load(warp, in, &in->op[0], (int)lane, TCB_EMU_WRITE | TCB_EMU_ATOMIC, &b))
			return;
		b.is_valid = 0;
		store(&b);
	}
}

static void run_bytes(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	int completes = in->ins->op == TCB_PTX_OP_MBARRIER_COMPLETE_TX;

	TCB_EMU_EACH(lane, active)
	{
		int64_t bytes = (int64_t)tcb_emu_get(warp, &in->op[1], lane);
		struct barrier b;

		if (!load(warp, in, &in->op[0], (int)lane, TCB_EMU_READ | TCB_EMU_WRITE | TCB_EMU_ATOMIC, &b) ||
		    !add_bytes(warp, in, (int)lane, &b, completes ? -bytes : bytes))
			return;
		if (completes)
			advance(&b);
		store(&b);
	}
}

/* Which of the arriving instructions it is. */
enum { EXPECTS_BYTES = 1, DROPS = 2, MUST_NOT_COMPLETE = 4, IS_RELAXED = 8 };

static int arrive(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, int lane, struct barrier *b)
{
	uint32_t number = in->op_count > 2 ? (uint32_t)tcb_emu_get(warp, &in->op[2], (unsigned)lane) : 0;
	uint32_t count = in->op_count > 2 && !(in->a & EXPECTS_BYTES) ? number : 1;

	if ((in->a & EXPECTS_BYTES) && !add_bytes(warp, in, lane, b, number))
		return 0;
	if (count < 1 || count > b->pending) {
		tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_MBARRIER,
			      "%u arrivals at an mbarrier that misses %u of %u in this phase: more threads arrive than "
			      "mbarrier.init said, or one arrives twice",
			      count, b->pending, b->expected);
		return 0;
	}
	b->pending -= count;
	if (in->a & DROPS)
		b->expected -= count;
	if ((in->a & MUST_NOT_COMPLETE) && !b->pending && !b->bytes) {
		tcb_emu_fault(warp, in, lane, TCB_PTX_RULE_MBARRIER, ".noComplete completes the phase");
		return 0;
	}
	advance(b);
	return 1;
}

static void run_arrive(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	uint32_t address[TCB_EMU_LANES], waiting = in->a & IS_RELAXED ? 0 : active; /* to be released */

	if (!load_addresses(warp, in, &in->op[1], active, address))
		return;
	TCB_EMU_EACH(lane, active)
	{
		struct barrier b;
		uint64_t before;

		if (!load_at(warp, in, address[lane], (int)lane, TCB_EMU_READ | TCB_EMU_WRITE | TCB_EMU_ATOMIC, &b))
			return;
		if (waiting >> lane & 1) {
			uint32_t group = alike(address, waiting);

			tcb_emu_release(warp, group, &b.order->gathering);
			waiting &= ~group;
		}
		before = encode(&b);
		if (!arrive(warp, in, (int)lane, &b))
			return;
		store(&b);
		tcb_emu_set(warp, &in->op[0], lane, before);
	}
}

int tcb_emu_mbarrier_find(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane,
			  struct tcb_emu_block **block_out, uint32_t *offset_out)
{
	struct barrier b;

	if (!load(warp, in, &in->op[0], (int)lane, TCB_EMU_READ | TCB_EMU_WRITE | TCB_EMU_ATOMIC | TCB_EMU_COMPLETES,
		  &b))
		return 0;
	*block_out = b.block;
	*offset_out = (uint32_t)(b.host - b.block->shared);
	return 1;
}

/* The mbarrier at OFFSET of BLOCK, which INS of LANE arrives at later; 0 after a fault. */
static int load_later(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane,
		      struct tcb_emu_block *block, uint32_t offset, const char *who, struct barrier *b)
{
	uint64_t bits;

	*b = (struct barrier){
		.run = warp->run, .block = block, .order = order_of(block, offset), .host = block->shared + offset
	};
	if (!b->order || b->run->fault)
		return 0;
	memcpy(&bits, b->host, sizeof bits);
	decode(b, bits);
	if (b->is_valid && b->pending)
		return 1;
	tcb_emu_fault(warp, in, (int)lane, TCB_PTX_RULE_MBARRIER,
		      "%s at an mbarrier that expects no more arrivals in this phase", who);
	return 0;
}

void tcb_emu_mbarrier_commit(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, unsigned lane,
			     struct tcb_emu_block *block, uint32_t offset, uint32_t before)
{
	struct barrier b;
	uint32_t *known;

	if (!load_later(warp, in, lane, block, offset, "a commit arrives", &b))
		return;
	b.pending--;
	known = &b.order->gathering.whole[warp->run->agents - 2];
	*known = *known < before ? before : *known;
	advance(&b);
	store(&b);
}

/* --- arrival of a thread's own copies: cp.async.mbarrier.arrive --- */

struct arrival {
	struct tcb_emu_deferred deferred; /* first */
	struct tcb_emu_warp *warp;
	const struct tcb_emu_ins *in;
	struct tcb_emu_block *block;
	uint32_t offset, lane;
};

static void run_arrival(struct tcb_emu_deferred *self)
{
	struct arrival *a = (struct arrival *)self;
	struct barrier b;

	if (a->warp->run->fault)
		return;
	tcb_emu_copies_arrive(a->warp, a->lane);
	if (!load_later(a->warp, a->in, a->lane, a->block, a->offset, "copies arrive", &b))
		return;
	b.pending--;
	tcb_emu_release(a->warp, 1u << a->lane, &b.order->gathering);
	advance(&b);
	store(&b);
}

static void run_copies_arrive(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	int counts_itself = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MODE) != TCB_PTX_NOINC;

	TCB_EMU_EACH(lane, active)
	{
		struct arrival *a = tcb_arena_alloc(&warp->block->arena, sizeof *a);
		struct barrier b;

		if (!a) {
			tcb_emu_no_memory(warp->run);
			return;
		}
		if (!load(warp, in, &in->op[0], (int)lane, TCB_EMU_READ | TCB_EMU_WRITE | TCB_EMU_ATOMIC, &b))
			return;
		b.pending += (uint32_t)counts_itself;
		store(&b);
		*a = (struct arrival){ { NULL, run_arrival }, warp, in, NULL, 0, lane };
		a->block = b.block;
		a->offset = b.order->offset;
		tcb_emu_defer(warp->run, &a->deferred);
	}
}

static void run_wait(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	int by_parity = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MODE) == TCB_PTX_PARITY;
	int is_relaxed = tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ORDER) == TCB_PTX_RELAXED;
	uint32_t done = 0, address[TCB_EMU_LANES];

	if (!load_addresses(warp, in, &in->op[1], active, address))
		return;
	TCB_EMU_EACH(lane, active)
	{
		uint64_t phase = tcb_emu_get(warp, &in->op[2], lane);
		int awaited = (int)(by_parity ? phase & 1 : PARITY_OF(phase));
		struct barrier b;

		/* as an atomic that writes nothing new: waits and arrivals do not race */
		if (!load_at(warp, in, address[lane], (int)lane, TCB_EMU_READ | TCB_EMU_WRITE | TCB_EMU_ATOMIC, &b))
			return;
		done |= (uint32_t)(b.parity != awaited) << lane;
	}
	for (uint32_t group, rest = is_relaxed ? 0 : done; rest; rest &= ~group) {
		struct barrier b = { 0 };

		group = alike(address, rest);
		if (find_order(warp, &b, address[__builtin_ctz(group)]))
			tcb_emu_acquire(warp, group, &b.order->done);
	}
	tcb_emu_put_pred(warp, &in->op[0], done, active);
	if (!done)
		tcb_emu_spin(warp);
}

static void run_pending_count(struct tcb_emu_warp *warp, const struct tcb_emu_ins *in, uint32_t active)
{
	TCB_EMU_EACH(lane, active)
	{
		struct barrier b;

		decode(&b, tcb_emu_get(warp, &in->op[1], lane));
		tcb_emu_set(warp, &in->op[0], lane, b.pending);
	}
}

enum tcb_status tcb_emu_bind_mbarrier(struct tcb_emu_decoder *decoder, struct tcb_emu_ins *in, struct tcb_error *err)
{
	static const struct tcb_emu_runner runners[] = {
		{ TCB_PTX_OP_MBARRIER_INIT, run_init },
		{ TCB_PTX_OP_MBARRIER_INVAL, run_inval },
		{ TCB_PTX_OP_MBARRIER_EXPECT_TX, run_bytes },
		{ TCB_PTX_OP_MBARRIER_COMPLETE_TX, run_bytes },
		{ TCB_PTX_OP_MBARRIER_TEST_WAIT, run_wait },
		{ TCB_PTX_OP_MBARRIER_TRY_WAIT, run_wait },
		{ TCB_PTX_OP_CP_ASYNC_MBARRIER_ARRIVE, run_copies_arrive },
		{ TCB_PTX_OP_MBARRIER_PENDING_COUNT, run_pending_count },
	};
	const enum tcb_ptx_op op = (enum tcb_ptx_op)in->ins->op;

	(void)decoder;
	(void)err;
	if (tcb_ptx_mod(in->ins, TCB_PTX_SLOT_ORDER) == TCB_PTX_RELAXED)
		in->a |= IS_RELAXED;
	if (tcb_ptx_mod(in->ins, TCB_PTX_SLOT_MODE) == TCB_PTX_NOCOMPLETE)
		in->a |= MUST_NOT_COMPLETE;
	if (op == TCB_PTX_OP_MBARRIER_ARRIVE_DROP || op == TCB_PTX_OP_MBARRIER_ARRIVE_DROP_EXPECT_TX)
		in->a |= DROPS;
	if (op == TCB_PTX_OP_MBARRIER_ARRIVE_EXPECT_TX || op == TCB_PTX_OP_MBARRIER_ARRIVE_DROP_EXPECT_TX)
		in->a |= EXPECTS_BYTES;
	in->run = run_arrive;
	tcb_emu_run_by(in, runners, sizeof runners / sizeof *runners);
	return TCB_OK;
}
