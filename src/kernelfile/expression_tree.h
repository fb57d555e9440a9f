/* SPDX-License-Identifier: MIT
 *
 * What expression_parse.c makes of a text and expression.c goes through.
 */
#ifndef TCB_KERNELFILE_EXPRESSION_TREE_H
#define TCB_KERNELFILE_EXPRESSION_TREE_H

#include "kernelfile/expression.h"

enum tcb_node_kind {
	TCB_NODE_VALUE,
	TCB_NODE_NAME,
	/* Of one operand, `left`. */
	TCB_NODE_NOT,
	TCB_NODE_PLUS,
	TCB_NODE_MINUS,
	TCB_NODE_INVERT,
	/* Of two. */
	TCB_NODE_ADD,
	TCB_NODE_SUBTRACT,
	TCB_NODE_MULTIPLY,
	TCB_NODE_DIVIDE,
	TCB_NODE_FLOOR_DIVIDE,
	TCB_NODE_REMAINDER,
	TCB_NODE_POWER,
	TCB_NODE_SHIFT_LEFT,
	TCB_NODE_SHIFT_RIGHT,
	TCB_NODE_BIT_AND,
	TCB_NODE_BIT_XOR,
	TCB_NODE_BIT_OR,
	TCB_NODE_AND,
	TCB_NODE_OR,
	TCB_NODE_CHOICE, /* `left` if `right` else `next` */
	/* Comparisons: COMPARED is the first operand (`left`) and the list of what it is compared with (`next`): links
	 * with an operand each (`left`), kind by kind. */
	TCB_NODE_COMPARED,
	TCB_NODE_EQUAL,
	TCB_NODE_UNEQUAL,
	TCB_NODE_LESS,
	TCB_NODE_LESS_EQUAL,
	TCB_NODE_GREATER,
	TCB_NODE_GREATER_EQUAL,
	TCB_NODE_IN,     /* one of the ITEMs from `left` on; -1: there are none */
	TCB_NODE_NOT_IN, /* the same */
	TCB_NODE_ITEM,   /* of a list or of arguments: `left`, and the `next` one */
	TCB_NODE_CALL    /* of `function`, with the ITEMs from `left` on */
};

enum tcb_node_function {
	TCB_FUNCTION_MIN,
	TCB_FUNCTION_MAX,
	TCB_FUNCTION_ABS,
	TCB_FUNCTION_INT,
	TCB_FUNCTION_FLOAT,
	TCB_FUNCTION_ROUND,
	TCB_FUNCTION_CEIL,
	TCB_FUNCTION_FLOOR,
	TCB_FUNCTION_SQRT,
	TCB_FUNCTION_LOG2,
	TCB_FUNCTION_COUNT
};

/* Operands by their places among the nodes; -1: none. */
struct tcb_node {
	enum tcb_node_kind kind;
	int left, right, next;
	union {
		struct tcb_value value;
		size_t name;
		enum tcb_node_function function;
	};
};

struct tcb_expression {
	struct tcb_node *nodes;
	size_t count, capacity;
	int root;
	uint64_t reads;
	char *text;   /* as it was written */
	char *quoted; /* what stands in quotes, each with a zero behind it */
};

#endif
