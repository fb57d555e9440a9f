/* SPDX-License-Identifier: MIT
 *
 * F301 to F382, the criteria of the specification.
 */
#include "verify/claim.h"

const struct tcb_claim tcb_claims_criteria[] = {
	{ 0 },
};
