/* SPDX-License-Identifier: MIT
 *
 * In: a rule.  Out: what it asks for and why, for people who meet its name in a
 * report (SARIF shows it beside each finding; docs/ptx.md has no other list).
 */
#include "ptx/ir/finding.h"

const char *tcb_ptx_rule_help(enum tcb_ptx_rule rule)
{
	static const char *const help[TCB_PTX_RULE_COUNT] = {
		[TCB_PTX_RULE_SYNTAX] = "The text can be read as PTX.",
		[TCB_PTX_RULE_OPAQUE] =
			"What an instruction does is known; else its kernel is judged around it, as if it could do "
			"anything.",
		[TCB_PTX_RULE_BYTE_ARITHMETIC] =
			"Arithmetic has no 8-bit types: widen to 16 bits or more, and narrow when storing.",
		[TCB_PTX_RULE_HALF_MEMORY] = "Memory is read and written as .b16, not as .f16 or .bf16.",
		[TCB_PTX_RULE_CVT_ROUNDING] =
			"A conversion that can lose digits says how it rounds; one that cannot does not.",
		[TCB_PTX_RULE_CVT_SATURATION] = "A conversion saturates only where the types allow it.",
		[TCB_PTX_RULE_BIT_TYPES] = "Logic and moves of bits take .b types.",
		[TCB_PTX_RULE_ORDER_DIRECTION] = "A load acquires, a store releases, and only an atomic does both.",
		[TCB_PTX_RULE_ORDER_SCOPE] = "An access with a memory order also says its scope.",
		[TCB_PTX_RULE_WEAK_SCOPE] = "A weak access has no scope.",
		[TCB_PTX_RULE_ORDER_SPACE] = "Memory orders exist for generic, global and shared memory.",
		[TCB_PTX_RULE_OPERAND_TYPE] =
			"An operand's register has the type and size that the instruction asks for.",
		[TCB_PTX_RULE_IMMEDIATE_TYPE] = "An immediate operand has the instruction's kind: integer or float.",
		[TCB_PTX_RULE_IMMEDIATE_RANGE] = "An immediate operand fits where it stands.",
		[TCB_PTX_RULE_SPECIAL_TYPE] = "A special register is read with its own type.",
		[TCB_PTX_RULE_PACKING] = "A vector packed into a register has as many bits as the register.",
		[TCB_PTX_RULE_ADDRESS_TYPE] = "An address is a register of 32 or 64 bits, as its space has them.",
		[TCB_PTX_RULE_ADDRESS_SPACE] = "A symbol is accessed in the state space in which it is declared.",
		[TCB_PTX_RULE_SHARED_SYMBOL] =
			"Shared memory is addressed from a variable: raw addresses near 0 may belong to the system.",
		[TCB_PTX_RULE_ALIGNMENT] = "What is declared has the alignment that its accesses need.",
		[TCB_PTX_RULE_VECTOR_SIZE] = "A vector access moves at most 16 bytes (32 where the target has it).",
		[TCB_PTX_RULE_PARAM_WRITE] = "The parameters of a kernel are read-only.",
		[TCB_PTX_RULE_SHFL_CLAMP] =
			"The clamp of a shuffle is a lane, 0 to 31, with the segment's mask above it.",
		[TCB_PTX_RULE_COORDINATES] = "A tensor copy names as many coordinates as the tensor has dimensions.",
		[TCB_PTX_RULE_VERSION] = "The instruction exists in the PTX version that the text declares.",
		[TCB_PTX_RULE_TARGET] = "The instruction exists on the target that the text is for.",
		[TCB_PTX_RULE_UNDEFINED] = "A register is written before it is computed with; what it holds "
					   "otherwise is not defined.",
		[TCB_PTX_RULE_TERMINATOR] = "A function ends in an instruction that leaves it.",
		[TCB_PTX_RULE_LABEL] = "A branch goes to a label of its own function.",
		[TCB_PTX_RULE_CALL] = "A call passes what the function's prototype declares.",
		[TCB_PTX_RULE_SHARED_STATIC] =
			"A kernel has at most 48 KiB of static shared memory; more must be dynamic.",
		[TCB_PTX_RULE_PARAM_SIZE] = "The parameters of a kernel fit the space that launches have for them.",
		[TCB_PTX_RULE_LAUNCH_BOUNDS] = "The block fits the kernel's launch bounds and the SM.",
		[TCB_PTX_RULE_DUPLICATE] = "A name is declared once.",
		[TCB_PTX_RULE_BARRIER_DIVERGENT] =
			"All threads that a barrier counts come to the same barrier; threads that branch around it let "
			"the others wait for ever.",
		[TCB_PTX_RULE_BARRIER_PREDICATED] =
			"A barrier is executed by whole warps: under a predicate that differs between lanes it is not.",
		[TCB_PTX_RULE_BARRIER_SKIPPED] = "No thread leaves the kernel before a barrier that counts it.",
		[TCB_PTX_RULE_SHUFFLE_DIVERGENT] =
			"Every lane that a shuffle's or vote's mask names executes it together with the others.",
		[TCB_PTX_RULE_SHUFFLE_EXITED] = "The mask of a shuffle or vote names no lane that has left.",
		[TCB_PTX_RULE_MISALIGNED] = "An access is aligned to its own size; otherwise it faults.",
		[TCB_PTX_RULE_ALIGNMENT_UNPROVED] =
			"A vector access is aligned to its own size; here that follows from nothing in the text.",
		[TCB_PTX_RULE_SHARED_RACE] = "Accesses of two threads to one place of shared memory, one of them a "
					     "write, are ordered by a barrier.",
		[TCB_PTX_RULE_BARRIER_REDUNDANT] = "A barrier that orders no accesses costs time for nothing.",
		[TCB_PTX_RULE_BANK_CONFLICT] = "The lanes of a warp access different banks of shared memory, or the "
					       "same word: otherwise the access "
					       "is repeated.",
		[TCB_PTX_RULE_UNCOALESCED] = "The lanes of a warp access neighbouring addresses, so that few sectors "
					     "of 32 bytes hold them all.",
		[TCB_PTX_RULE_REGISTERS] =
			"The values of a kernel fit its registers; what does not is spilled to memory.",
		[TCB_PTX_RULE_SHUFFLE_MASK] = "The mask of a shuffle, vote or bar.warp.sync names every lane that "
					      "runs it, and the lanes that are read.",
		[TCB_PTX_RULE_SETMAXNREG] =
			"All four warps of a warp group run setmaxnreg with one number, and what is "
			"taken was given before.",
		[TCB_PTX_RULE_GRIDDEPCONTROL] = "What the launch before writes is touched behind griddepcontrol.wait.",
		[TCB_PTX_RULE_INDEX_OVERFLOW] =
			"An index fits the 32 bits in which it is computed, before it is widened to become an address.",
		[TCB_PTX_RULE_OUT_OF_BOUNDS] = "An access stays within the memory that it was given.",
		[TCB_PTX_RULE_READ_ONLY] = "Memory that is an input is not written.",
		[TCB_PTX_RULE_RACE] = "Accesses of two threads to one place, one of them a write, are ordered.",
		[TCB_PTX_RULE_DEADLOCK] = "Every wait ends: somebody arrives at what is waited for.",
		[TCB_PTX_RULE_UNWRITTEN_SHARED] = "Shared and local memory is written before it is read.",
		[TCB_PTX_RULE_UNWRITTEN_REGISTER] = "A register is written before it is read.",
		[TCB_PTX_RULE_ASYNC_PENDING] = "What an asynchronous copy brings is read after waiting for it, and "
					       "nothing is pending at the end.",
		[TCB_PTX_RULE_MBARRIER] = "An mbarrier is initialised, arrived at and waited for in its phases, with "
					  "the bytes that come.",
		[TCB_PTX_RULE_BULK_COPY] =
			"A bulk copy has the alignment, size and addresses that it asks for, and comes "
			"behind what is done with values that were loaded from where it writes.",
		[TCB_PTX_RULE_WGMMA_ORDER] =
			"wgmma is fenced, committed and waited for before its registers and operands are touched.",
		[TCB_PTX_RULE_TENSOR_MEMORY] =
			"Tensor Memory is allocated, reached by the warps whose lanes it is, and given back.",
		[TCB_PTX_RULE_CLUSTER] = "Shared memory of another block is accessed between two barriers of the "
					 "cluster that both blocks meet, and by a rank that the cluster has.",
		[TCB_PTX_RULE_PROXY_FENCE] = "Writes of threads are made visible to the asynchronous proxy by "
					     "fence.proxy.async before it reads them.",
		[TCB_PTX_RULE_NOT_EMULATED] = "The emulator knows the instruction.",
		[TCB_PTX_RULE_STEP_LIMIT] =
			"The kernel ends: each loop has a way out, within the emulator's number of steps.",
		[TCB_PTX_RULE_TRAP] = "The kernel does not trap.",
		[TCB_PTX_RULE_BLOCK_ASSUMED] =
			"The size of a block decides these findings, and neither the text nor --block says it.",
		[TCB_PTX_RULE_UNKNOWN_RULE] = "A comment that allows findings names a rule that exists.",
		[TCB_PTX_RULE_ASSEMBLER] = "The assembler accepts the text, and warns of nothing.",
	};

	return help[rule];
}
