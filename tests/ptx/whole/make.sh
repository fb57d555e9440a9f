#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Makes the committed PTX of the kernels here again, each right and with its planted defect.  Needs nvcc.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-nvcc}

arch_of() {
	case $1 in
	gemm_wgmma) echo compute_90a ;;
	stencil_tma) echo compute_90 ;;
	*) echo compute_80 ;;
	esac
}

for source in *.cu; do
	name=${source%.cu}
	for kind in '' _defect; do
		"$nvcc" -std=c++17 -lineinfo -ptx -arch="$(arch_of "$name")" ${kind:+-DDEFECT} "$source" -o "$name$kind.ptx"
		# Without the folders of this machine, the build's number, what headers declare and nobody uses, and
		# with the oldest version that has all this, so that older drivers take it.
		sed -i -e 's|^\(\t\.file.*"\)/.*/|\1|' -e '/^\/\/ Cuda compilation/d' -e '/^\/\/ Compiler Build/d' \
			-e '/^\.global .*_INTERNAL_.*;$/d' -e 's/^\.version .*/.version 8.0/' "$name$kind.ptx"
	done
done
