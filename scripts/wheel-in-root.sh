#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The Python package in a Debian 12 that has nothing else:
#   scripts/wheel-in-root.sh WHEEL FOLDER [PREFIX...]
# makes the root FOLDER/root with debootstrap (or takes the one that is there), and in it
# a virtual environment of Debian's Python and of each other one, whose PREFIX (what
# sys.prefix says, as of pyenv) is copied into it.  In each, pip installs WHEEL with NumPy, and a
# product of NumPy arrays and a tune_kernel of C are run (tests/rt/test_wheel.py).  Needs
# root, debootstrap and a network.
#   BARE_ROOT_MIRROR   where Debian is fetched from (http://deb.debian.org/debian)
#   BARE_ROOT_CERTS    a file of certificates to trust, where a proxy has its own
# Exit: 0 all passed, 1 one did not, 2 wrong usage or no root could be made.
set -eu
if [ $# -lt 2 ] || [ ! -f "$1" ]; then
	echo "usage: $0 WHEEL FOLDER [PREFIX...]" >&2
	exit 2
fi
if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
	echo "wheel-in-root.sh: needs root and debootstrap" >&2
	exit 2
fi
wheel=$(readlink -f "$1")
mkdir -p "$2"
folder=$(cd "$2" && pwd)
root=$folder/root
shift 2
cd "$(dirname "$0")/.."

# What a Python that was built elsewhere needs of the system, and a compiler for kernels in C.
packages=python3,python3-venv,gcc,libc6-dev,libssl3,libffi8,zlib1g,libbz2-1.0,liblzma5,libsqlite3-0,libreadline8
if [ ! -x "$root/bin/sh" ]; then
	debootstrap --variant=minbase --include="$packages" bookworm "$root" \
		"${BARE_ROOT_MIRROR:-http://deb.debian.org/debian}" >"$folder/debootstrap.log" || exit 2
fi
rm -rf "$root/check"
mkdir "$root/check"
cp "$wheel" tests/rt/test_wheel.py "$root/check"
[ -z "${BARE_ROOT_CERTS:-}" ] || cp "$BARE_ROOT_CERTS" "$root/check/trusted.pem"

failed=0
# try PYTHON LOG: all of it in an environment of PYTHON, a path in the root.
try() {
	status=0
	# shellcheck disable=SC2016 # it expands there
	unshare --mount --pid --fork sh -c '
		mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" || exit 2
		exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 ${3:+PIP_CERT="$3"} TCBTUNE_OTHERS=ignore \
			chroot "$1" sh -euc "
				rm -rf /check/env
				$2 -m venv /check/env
				/check/env/bin/pip install -q numpy /check/*.whl
				cd /check
				/check/env/bin/python -c \"
import sys, numpy, tcbtune, test_wheel
test_wheel.tune(tcbtune)
test_wheel.multiply()
print(f\\\"Python {sys.version.split()[0]}, NumPy {numpy.__version__}, tcbtune {tcbtune.__version__}: passed\\\")\"
			"
	' sh "$root" "$1" "${BARE_ROOT_CERTS:+/check/trusted.pem}" >"$folder/$2.log" 2>&1 || status=$?
	tail -n 1 "$folder/$2.log"
	[ "$status" -eq 0 ] || failed=1
}

try /usr/bin/python3 debian
for prefix in "$@"; do
	mkdir -p "$root$prefix"
	cp -a "$prefix/." "$root$prefix"
	try "$prefix/bin/python3" "$(basename "$prefix")"
	rm -rf "${root:?}$prefix"
done
exit "$failed"
