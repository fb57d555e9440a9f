/* SPDX-License-Identifier: MIT
 *
 * Items 81 to 90, backends.
 */
#include "verify/claim.h"

const struct tcb_claim tcb_claims_backends[] = {
	{ 0 },
};
