#!/bin/sh
# SPDX-License-Identifier: MIT
#
# ptx_identity IDENTITY: two lists of the same tree are equal, and one changed hash is found.
set -eu
identity=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

"$identity" --op softmax --spare 0 >"$folder/before" 2>/dev/null
"$identity" --op softmax --spare 0 >"$folder/after" 2>/dev/null
"$identity" --compare "$folder/before" "$folder/after" | grep -q ', 0 differ; 0 are .* only, 0 in'

sed '3s/ [0-9a-f]*\( [0-9]* [0-9]*\)$/ 0\1/' "$folder/before" >"$folder/after"
if "$identity" --compare "$folder/before" "$folder/after" >"$folder/said"; then
	echo "a changed hash passed" && exit 1
fi
grep -q ', 1 differ; 0 are' "$folder/said"

"$identity" --text "$(sed -n 3p "$folder/before")" | grep -q '^.visible .entry softmax'
