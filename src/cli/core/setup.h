/* SPDX-License-Identifier: MIT
 *
 * From words to records: ops, devices, contracts, shapes and the database as
 * the commands share them.  Every failure is one line that says what would do.
 */
#ifndef TCB_CLI_SETUP_H
#define TCB_CLI_SETUP_H

#include "cli/core/cli.h"
#include "db/db.h"
#include "device/device.h"
#include "kernels/op_registry.h"

enum tcb_status cli_find_op(const struct tcb_registry *ops, const char *name, const struct tcb_op **out,
			    struct tcb_error *err);
/* TCB_E_USAGE with the nearest name where NAME is no device. */
enum tcb_status cli_check_device(const char *name, struct tcb_error *err);
enum tcb_status cli_check_threads(uint64_t threads, struct tcb_error *err);
/* A GPU that is named by its capability may be absent: out->is_absent then. */
enum tcb_status cli_open_device(const char *name, uint64_t threads, struct tcb_place *out, struct tcb_error *err);
/* TEXT NULL: the op's own. */
enum tcb_status cli_find_contract(const struct tcb_op *op, const char *text, enum tcb_contract *out,
				  struct tcb_error *err);
/* What --contract says: LEAST, and with IS_AUTO ("auto", "auto:f16") whatever is at least as exact (contracts.h). */
struct cli_contracts {
	enum tcb_contract least;
	int is_auto;
};
/* TEXT NULL: the op's own. */
enum tcb_status cli_find_contracts(const struct tcb_op *op, const char *text, struct cli_contracts *out,
				   struct tcb_error *err);
/* Whether a size of TEXT is a list or a range, which shape_axes.h reads. */
int cli_shape_has_axes(const char *text);
/* TEXT as a shape of OP (NULL: of any): also as people write it, "4096,4096", or the matrix alone where an op of one
 * row is meant; what is understood so is said. */
enum tcb_status cli_read_shape(const struct tcb_op *op, const char *text, struct tcb_shape *out, struct tcb_error *err);
/* Op, contract and shape in one; TEXT NULL: the op's first default shape. */
enum tcb_status cli_make_problem(const struct tcb_op *op, const char *contract, const char *shape,
				 struct tcb_problem *out, struct tcb_error *err);
/* Parsed, checked against the constraints (any size) and planned; the error names the constraint. */
enum tcb_status cli_find_geometry(const struct tcb_op *op, const struct tcb_problem *problem,
				  const struct tcb_target *target, const char *text, struct tcb_geometry *out,
				  struct tcb_error *err);
/* gguf_shapes.c: the shapes of a model file's tensors of the op's weight type, one token each, each shape once.  Free
 * *OUT.  IS_NAMED: this very op was asked for, so what the file holds besides is said. */
enum tcb_status cli_gguf_shapes(const struct tcb_registry *ops, const struct tcb_op *op, const char *path, int is_named,
				struct tcb_shape **out, size_t *count_out, struct tcb_error *err);

/* As long as the database takes. */
enum { CLI_PATH_MAX = 512 };
/* PATH_OUT gets the file's name, for messages. */
enum tcb_status cli_open_db(const struct tcb_registry *ops, const char *option, enum tcb_db_mode mode,
			    char path_out[CLI_PATH_MAX], struct tcb_db **out, struct tcb_error *err);
/* The file PATH itself; its problems have their ops of OPS, as those of the other have. */
enum tcb_status cli_open_db_file(const struct tcb_registry *ops, const char *path, enum tcb_db_mode mode,
				 struct tcb_db **out, struct tcb_error *err);
/* TCB_E_USAGE if OUT (--out; nullable) is a file of the database: its results would be lost. */
enum tcb_status cli_check_out_db(const char *out, const char *option, struct tcb_error *err);
/* Says which rows could not be read, if any.  NULL is fine. */
void cli_close_db(struct tcb_db *db);

#endif
