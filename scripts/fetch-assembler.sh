#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Prints where the tests find an assembler for PTX, for CUDA_HOME; nothing where
# ptxas is installed.  Else ptxas, nvJitLink and the headers that tests compare
# with are fetched from PyPI into build/cuda: wheels of one version whose hashes
# are in cuda-wheels.txt, 90 MB.
# Exit: 0 done, 1 nothing could be fetched (the last line says why).
set -eu
cd "$(dirname "$0")/.."
home=$PWD/build/cuda

for folder in "${CUDA_HOME:-}" "${CUDA_PATH:-}" /usr/local/cuda /opt/cuda /usr/lib/nvidia-cuda-toolkit; do
	[ ! -x "$folder/bin/ptxas" ] || exit 0
done
! command -v ptxas >/dev/null || exit 0
if [ -x "$home/bin/ptxas" ]; then
	echo "$home"
	exit 0
fi

scripts/install-deps.sh pip
wheels=$(mktemp -d)
trap 'rm -rf "$wheels"' EXIT
echo "fetching an assembler for PTX" >&2
python3 -m pip download --quiet --disable-pip-version-check --no-deps --only-binary=:all: --require-hashes \
	--dest "$wheels" --requirement scripts/cuda-wheels.txt >&2

# Whole or not at all: what is there is not fetched again.
rm -rf "$home.new"
python3 - "$home.new" "$wheels"/*.whl <<'END'
import pathlib, sys, zipfile

home = pathlib.Path(sys.argv[1])
for wheel in map(zipfile.ZipFile, sys.argv[2:]):
    for name in wheel.namelist():
        inside = pathlib.PurePath(*pathlib.PurePath(name).parts[2:])  # without nvidia/cu13
        if inside.parts[:1] == ("include",) or str(inside) in ("bin/ptxas", "lib/libnvJitLink.so.13"):
            (home / inside).parent.mkdir(parents=True, exist_ok=True)
            (home / inside).write_bytes(wheel.read(name))
(home / "bin/ptxas").chmod(0o755)
END
mv "$home.new" "$home"
echo "$home"
