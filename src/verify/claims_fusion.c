/* SPDX-License-Identifier: MIT
 *
 * Items 16 to 30, fused multiply-adds.
 */
#include "verify/claim.h"

const struct tcb_claim tcb_claims_fusion[] = {
	{ 0 },
};
