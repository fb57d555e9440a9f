/* SPDX-License-Identifier: MIT
 *
 * Items 91 to 100, numbers.
 */
#include "verify/claim.h"

const struct tcb_claim tcb_claims_numbers[] = {
	{ 0 },
};
