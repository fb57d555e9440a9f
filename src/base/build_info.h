/* SPDX-License-Identifier: MIT
 *
 * What this build is, for the database's build row and `tcbtune version`.
 */
#ifndef TCB_BASE_BUILD_INFO_H
#define TCB_BASE_BUILD_INFO_H

struct tcb_build_info {
	const char *version;  /* "0.2.0" */
	const char *commit;   /* git commit, "-dirty" with uncommitted changes */
	const char *compiler; /* "GNU-12.2.0" */
	const char *type;     /* CMake build type */
};

const struct tcb_build_info *tcb_build_info(void);

#endif
