/* SPDX-License-Identifier: MIT
 *
 * Items 66 to 80, tokens.
 */
#include "verify/claim.h"

const struct tcb_claim tcb_claims_tokens[] = {
	{ 0 },
};
