/* SPDX-License-Identifier: MIT
 *
 * Items 101 to 115, barriers.
 */
#include "verify/claim.h"

const struct tcb_claim tcb_claims_barriers[] = {
	{ 0 },
};
