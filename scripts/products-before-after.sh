#!/bin/bash
# SPDX-License-Identifier: MIT
#
# GPU products that lagged: before and after, in one run with the read limit (bench prints it) and cuBLAS.
#
#     scripts/products-before-after.sh TCBTUNE [BEFORE]     BEFORE: tcbtune of the commit to compare with
#
# Each bench has geometries side by side; the first is the best that earlier sweeps found.  A minute.
set -u
now=$1 before=${2:-}
here=$(cd "$(dirname "$0")" && pwd)

# WHICH OP CONTRACT SHAPE BUDGET GEOMETRIES
bench() {
	local which=$1 op=$2 contract=$3 shape=$4 budget=$5
	shift 5
	echo "== $op $contract $shape: $("$which" version)"
	timeout 60 "$which" bench --op "$op" --contract "$contract" --device cuda:0 --shape "$shape" --budget "$budget" \
		--db none.db "$@" 2>&1 | sed '/bound by:/,/roofline:/d'
}

# f16 and q8, 32 tokens
few() {
	bench "$1" q4k_matmul f16 32x4096x4096 "$2" \
		--geometry macro=32x4096x4096,midi=32x64x4096,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1 \
		--geometry macro=32x4096x4096,midi=32x64x4096,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1 \
		--geometry macro=32x4096x4096,midi=32x64x4096,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=4,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1 \
		--geometry macro=32x4096x4096,midi=32x64x4096,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=4,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1 \
		--geometry macro=32x4096x4096,midi=32x64x4096,micro=32x64x256,isa=wgmma,layout=f,unroll=2,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1 \
		--geometry macro=32x4096x4096,midi=32x64x4096,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=warps,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
	bench "$1" q4k_matmul q8 32x4096x4096 "$2" \
		--geometry macro=32x4096x4096,midi=16x128x4096,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=1,copy=bulk,group=256,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1 \
		--geometry macro=32x4096x4096,midi=16x128x4096,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=1,copy=bulk,group=256,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1 \
		--geometry macro=32x4096x4096,midi=16x64x4096,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=1,ksplit=2,copy=bulk,group=256,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=1 \
		--geometry macro=32x4096x4096,midi=32x64x4096,micro=32x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,group=256,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1 \
		--geometry macro=32x4096x4096,midi=32x64x4096,micro=32x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=4,splitk=2,ksplit=2,copy=bulk,group=256,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1 \
		--geometry macro=32x4096x4096,midi=16x128x4096,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=16,stages=2,splitk=2,ksplit=2,copy=bulk,group=256,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
python3 "$here/peers/matmul_torch.py" 512x8192x8192,nt 8192x4096x2048,nn
if [ -n "$before" ]; then
	bench "$before" q4k_matmul f16 32x4096x4096 2s \
		--geometry macro=32x4096x4096,midi=32x64x4096,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=2,ksplit=2,copy=bulk,prep=launch,lead=1,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
	bench "$before" q4k_matmul q8 32x4096x4096 2s \
		--geometry macro=32x4096x4096,midi=16x128x4096,micro=16x16x256,isa=mma,layout=g,unroll=1,warps=8,stages=2,splitk=2,ksplit=1,copy=bulk,group=256,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=cluster,cluster=1,xstages=1
	bench "$before" q4k_matmul f16 512x8192x8192 2s \
		--geometry macro=512x8192x8192,midi=128x128x8192,micro=128x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=8
fi
few "$now" 4s
bench "$now" q4k_matmul f16 512x8192x8192 6s \
		--geometry macro=512x8192x8192,midi=128x128x8192,micro=128x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=8 \
		--geometry macro=512x8192x8192,midi=256x128x8192,micro=256x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=4 \
		--geometry macro=512x8192x8192,midi=256x128x8192,micro=256x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,cluster=2,xstages=4 \
		--geometry macro=512x8192x8192,midi=256x128x8192,micro=256x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=2,blocks=0,pdl=1,occ=1,join=none,cluster=2,xstages=5
bench "$now" matmul_f16 f16 8192x4096x2048 5s \
		--geometry macro=512x4096x2048,midi=128x128x64,micro=64x128x64,isa=wgmma,vec=16,stages=4,splitk=1,copy=bulk,blocks=1,pdl=0,occ=1,cluster=1 \
		--geometry macro=2048x4096x2048,midi=128x256x64,micro=64x256x64,isa=wgmma,vec=16,stages=4,splitk=1,copy=bulk,blocks=1,pdl=0,occ=1,cluster=1 \
		--geometry macro=1024x4096x2048,midi=128x256x64,micro=64x256x64,isa=wgmma,vec=16,stages=4,splitk=1,copy=bulk,blocks=1,pdl=0,occ=1,cluster=2 \
		--geometry macro=1024x4096x2048,midi=256x128x64,micro=128x128x64,isa=wgmma,vec=16,stages=4,splitk=1,copy=bulk,blocks=1,pdl=0,occ=1,cluster=2
bench "$now" q4k_matmul f16 32x14336x4096 2s \
		--geometry macro=32x16384x4096,midi=32x64x4096,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=3,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=8 \
		--geometry macro=32x16384x4096,midi=32x128x4096,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=3,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=8
