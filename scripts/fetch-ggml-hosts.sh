#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Fetches the programs that the plug-in for ggml is tested in, from PyPI into
# build/ggml-hosts: one wheel per interface version of ggml, 45 MB.  What is
# there is not fetched again.
# Exit: 0 done, 1 nothing could be fetched (the last line says why).
set -eu
cd "$(dirname "$0")/.."
home=$PWD/build/ggml-hosts
hosts="xllamacpp==2026.10.11549 pywhispercpp==1.5.1"

[ "$(cat "$home/hosts.txt" 2>/dev/null)" != "$hosts" ] || exit 0
scripts/install-deps.sh pip
rm -rf "$home.new"
# shellcheck disable=SC2086 # one word per wheel is wanted
python3 -m pip install --quiet --disable-pip-version-check --no-deps --only-binary=:all: --target "$home.new" \
	$hosts >&2
echo "$hosts" >"$home.new/hosts.txt"
rm -rf "$home"
mv "$home.new" "$home"
