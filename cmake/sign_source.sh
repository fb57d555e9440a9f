#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What TcbKernelSources.cmake signs the CPU's kernels with.
#
#     sign_source.sh text OUT DEPFILE COMPILER ARGUMENT... SOURCE
#         the hash of SOURCE's translation unit behind the preprocessor, without comments, lines, blanks and what
#         comes from system headers, so that it is the same with another C library
#     sign_source.sh join OUT SYMBOL FLAGS HASHFILE...
#         a C file that defines SYMBOL as the hash of FLAGS and of the hashes of such files
set -eu
mode=$1 out=$2
shift 2
case $mode in
text)
	deps=$1
	shift
	"$@" -E -MD -MF "$deps" -MT "$out" -o "$out.i"
	# A line "# 1 "file.h" 1 3" says where the next ones come from; 3: a system header.
	awk '/^# [0-9]+ "/ { is_system = $0 ~ /" ([0-9] )*3( [0-9])*$/; next } !is_system' "$out.i" |
		tr -s '[:space:]' ' ' | sed -E 's/ ?([^A-Za-z0-9_ ]) ?/\1/g' | sha256sum | cut -c 1-64 >"$out.new"
	rm "$out.i"
	;;
join)
	symbol=$1 flags=$2
	shift 2
	hash=$({ printf '%s\n' "$flags" && cat "$@"; } | sha256sum | cut -c 1-32)
	printf 'const char %s[] = "%s";\n' "$symbol" "$hash" >"$out.new"
	;;
esac
# What stays the same is left alone, so that nothing is compiled again for it.
if cmp -s "$out.new" "$out"; then rm "$out.new"; else mv "$out.new" "$out"; fi
