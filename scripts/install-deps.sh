#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Installs what the build and the tests need and this machine lacks, with apt.
#   install-deps.sh build      compiler, CMake and the libraries that are linked
#   install-deps.sh test       the same and what the tests need
#   install-deps.sh papi       PAPI's run-time library, which counts the processor's events
#   install-deps.sh pip        what fetches from PyPI
#   install-deps.sh neon       the same as build and what builds and runs the kernels for 64-bit Arm
# Does nothing, and asks for no rights, when all is there.
set -eu

build="gcc libc6-dev cmake ninja-build pkg-config git libsqlite3-dev libhwloc-dev libjansson-dev libxxhash-dev zlib1g-dev"
# What unpacks the committed results into the database that is installed.
build="$build python3 xz-utils"
# g++ compiles the header as C++.
# slurm-wlm and munge: a Slurm of its own that a test starts.
# chromium: what opens HTML reports.
# opencl-headers, ocl-icd-libopencl1 and pocl-opencl-icd: OpenCL on processors, and what its interface is.
# libvulkan1 and mesa-vulkan-drivers: Vulkan in software, for WebGPU.
tests="libcmocka-dev valgrind python3-jsonschema python3-yaml python3-numpy clang-format g++ slurm-wlm munge tmux chromium opencl-headers ocl-icd-libopencl1 pocl-opencl-icd libvulkan1 mesa-vulkan-drivers"
neon="gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static"

case "${1:-}" in
build) wanted="$build" ;;
test) wanted="$build $tests" ;;
papi) wanted="libpapi7.0" ;;
pip) wanted="python3-pip" ;;
neon) wanted="$build $neon" ;;
*)
	echo "usage: $0 build|test|papi|pip|neon" >&2
	exit 2
	;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
	[ "${TCB_DEPS_DONE:-}" = 1 ] && exit 0
	echo "install-deps.sh: this system has no dpkg; install these (under your system's names) yourself, then" >&2
	echo "run again with TCB_DEPS_DONE=1: $wanted" >&2
	exit 1
fi

missing=""
for package in $wanted; do
	dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

sudo=""
if [ "$(id -u)" -ne 0 ]; then
	sudo="sudo"
	if ! command -v sudo >/dev/null 2>&1; then
		echo "install-deps.sh: run as root, or install these first:$missing" >&2
		exit 1
	fi
fi
echo "installing:$missing" >&2
$sudo apt-get update -qq
# shellcheck disable=SC2086 # one word per package is wanted
DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null
