#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Prints the path of a library of WebGPU, for TCBTUNE_WGPU; what that names already,
# if it names one.  Else wgpu-native, with the headers that tests compare with, is
# fetched from PyPI into build/wgpu: a wheel whose hash is in wgpu-wheels.txt, 4 MB.
# Exit: 0 done, 1 nothing could be fetched (the last line says why).
set -eu
cd "$(dirname "$0")/.."
home=$PWD/build/wgpu

if [ -e "${TCBTUNE_WGPU:-}" ]; then
	echo "$TCBTUNE_WGPU"
	exit 0
fi
if [ -e "$home/libwgpu_native.so" ]; then
	echo "$home/libwgpu_native.so"
	exit 0
fi

scripts/install-deps.sh pip
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
echo "fetching wgpu-native" >&2
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
	--dest "$wheels" --requirement scripts/wgpu-wheels.txt >&2

# Whole or not at all: what is there is not fetched again.
rm -rf "$home.new"
python3 - "$home.new" "$wheels"/*.whl <<'END_OF_PROGRAM'
import pathlib, sys, zipfile

home = pathlib.Path(sys.argv[1])
home.mkdir(parents=True)
with zipfile.ZipFile(sys.argv[2]) as wheel:
    for name, to in (("libwgpu_native-release.so", "libwgpu_native.so"), ("webgpu.h", "webgpu.h"), ("wgpu.h", "wgpu.h")):
        (home / to).write_bytes(wheel.read("wgpu/resources/" + name))
END_OF_PROGRAM
mv "$home.new" "$home"
echo "$home/libwgpu_native.so"
