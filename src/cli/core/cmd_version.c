/* SPDX-License-Identifier: MIT
 *
 * tcbtune version: what this build is.
 */
#include "base/build_info.h"
#include "cli/core/cli.h"
#include "cli/core/emit.h"

struct version_args {
	const struct tcb_registry *ops;
	int json;
};

static const struct cli_option options[] = {
	CLI_OPTION_JSON(struct version_args),
	CLI_OPTION_END,
};

static enum tcb_status run_version(const void *arguments, struct tcb_error *err)
{
	const struct version_args *args = arguments;
	const struct tcb_build_info *build = tcb_build_info();
	struct tcb_str out = { 0 };

	if (args->json)
		return cli_emit_json(json_pack("{s:s, s:s, s:s, s:s, s:s}", "schema", "tcbtune.version.1", "version",
					       build->version, "commit", build->commit, "compiler", build->compiler,
					       "build_type", build->type),
				     err);
	tcb_str_addf(&out, "tcbtune %s (commit %s, %s, %s build)\n", build->version, build->commit, build->compiler,
		     build->type);
	return cli_emit_text(&out, err);
}

const struct cli_command cli_command_version = {
	.name = "version",
	.summary = "print version, commit and compiler",
	.description = "Prints what this build is: version, git commit, compiler and build type.",
	.options = options,
	.args_bytes = sizeof(struct version_args),
	.run = run_version,
};
