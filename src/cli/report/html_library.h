/* SPDX-License-Identifier: MIT
 *
 * What a page carries besides its content: the style sheet and script of ours,
 * and the JavaScript library that the script uses, as it is installed here.
 */
#ifndef TCB_CLI_HTML_LIBRARY_H
#define TCB_CLI_HTML_LIBRARY_H

#include "base/util.h"

struct cli_html_library {
	struct tcb_str code, licence; /* empty where there is none */
	char note[200];               /* what is missing and what would bring it; or the file that was taken */
};

/* D3 and its licence from TCBTUNE_D3 (a folder), else from where Debian's libjs-d3 has them. */
void cli_html_library_find(struct cli_html_library *out);
void cli_html_library_fini(struct cli_html_library *library);

/* html_report.css and html_report.js, which the build puts into the binary. */
const char *cli_html_style(void);
const char *cli_html_script(void);

#endif
