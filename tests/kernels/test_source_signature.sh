#!/bin/sh
# SPDX-License-Identifier: MIT
#
#     test_source_signature.sh COMPILER SOURCE_DIR
#
# What a CPU's kernels are signed with (cmake/sign_source.sh) changes when a
# header changes what is compiled into them, such as quant_codes.h, and not for
# a comment, a blank, an assertion's line, or for where the tree lies.
set -eu
compiler=$1 root=$2
work=$(mktemp -d)
trap 'rm -r "$work"' EXIT
cp -r "$root/src" "$work/src"

# The hash of the scalar preparation of activations to 8 bits, and that of a variant that runs with it.
sign() {
	sh "$root/cmake/sign_source.sh" text "$work/text" "$work/deps" "$compiler" -std=gnu17 -D_GNU_SOURCE -DNDEBUG -O2 \
		"-I$1" "$1/kernels/quant_matvec/quant_matvec_prepare.c"
	sh "$root/cmake/sign_source.sh" join "$work/join.c" tcb_signature_x "-O2" "$work/text"
	cat "$work/text" "$work/join.c"
}
fail() {
	echo "FAILED: $1"
	exit 1
}

first=$(sign "$root/src")
grep -q 'quant_codes\.h' "$work/deps" || fail "quant_codes.h is not among what the text depends on"
case $first in *"const char tcb_signature_x[] = \""*) ;; *) fail "no definition: $first" ;; esac
[ "$(sign "$work/src")" = "$first" ] || fail "the same tree elsewhere has another signature"

codes=$work/src/kernels/quant_codes.h
{ printf '/* A remark. */\n\n'; sed 's/max \/ 127;/max   \/\n\t\t127; \/\/ another/' "$root/src/kernels/quant_codes.h"; } >"$codes"
cmp -s "$codes" "$root/src/kernels/quant_codes.h" && fail "the header was not edited"
[ "$(sign "$work/src")" = "$first" ] || fail "comments and blanks change the signature"
sed 's/max \/ 127;/max \/ 126;/' "$root/src/kernels/quant_codes.h" >"$codes"
cmp -s "$codes" "$root/src/kernels/quant_codes.h" && fail "the header was not edited"
[ "$(sign "$work/src")" != "$first" ] || fail "another scale has the same signature"
echo "signatures follow what is compiled"
