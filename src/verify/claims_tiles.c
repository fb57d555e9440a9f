/* SPDX-License-Identifier: MIT
 *
 * Items 1 to 15, tile constraints.
 */
#include "verify/claim.h"

const struct tcb_claim tcb_claims_tiles[] = {
	{ 0 },
};
