/* SPDX-License-Identifier: MIT
 *
 * Items 51 to 65, loop splitting.
 */
#include "verify/claim.h"

const struct tcb_claim tcb_claims_splitting[] = {
	{ 0 },
};
