#!/bin/bash
# SPDX-License-Identifier: MIT
#
# GPU products that lagged: before and after, in one run with the read limit (bench prints it) and cuBLAS.
#
#     scripts/products-before-after.sh TCBTUNE [BEFORE]     BEFORE: tcbtune of the commit to compare with
#
# Each bench has geometries side by side; the first is the best that earlier sweeps found.  Two minutes.
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

# Dense f16: WHICH SHAPE, its N rounded up to a power of two, BUDGET of each of two benches (which take six geometries):
# warpgroups that share a tile, then by turns, both whole and dealt by steps (stream-K).  What is not legal, as stream-K
# is not where rounds are whole, is left out.
dense() {
	local shared=midi=128x256x64,micro=64x256x64,stages=4 wide=midi=256x128x64,micro=128x128x64
	tiles "$@" $shared,cluster=1 $shared,cluster=1,sched=streamk $shared,cluster=2 $shared,cluster=2,sched=streamk \
		$wide,stages=4,cluster=2 $wide,stages=4,cluster=2,sched=streamk
	tiles "$@" $shared,cluster=1 $wide,stages=6,cluster=1,turns=1 $wide,stages=6,cluster=1,turns=1,sched=streamk \
		$wide,stages=6,cluster=2,turns=1 $wide,stages=6,cluster=2,turns=1,sched=streamk \
		$shared,cluster=2,turns=1,sched=streamk
}

# The same arguments, and the geometries but for what they have in common.
tiles() {
	local which=$1 shape=$2 n=$3 k=${2##*x} budget=$4 args=() tile geometry
	shift 4
	for tile in "$@"; do
		geometry=macro=2048x${n}x$k,$tile,isa=wgmma,vec=16,splitk=1,copy=bulk,blocks=1,pdl=0,occ=1
		"$which" space --op matmul_f16 --device cuda:0 --shape "$shape" --any-size --explain "$geometry" >/dev/null 2>&1 &&
			args+=(--geometry "$geometry")
	done
	bench "$which" matmul_f16 f16 "$shape" "$budget" "${args[@]}"
}

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
python3 "$here/peers/matmul_torch.py" 512x8192x8192,nt 8192x4096x2048,nn 4096x4096x4096,nn 2304x4096x4096,nn 1536x6144x4096,nn
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
		--geometry macro=512x8192x8192,midi=256x128x8192,micro=256x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=1,ksplit=1,copy=bulk,prep=grid,lead=2,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=4 \
		--geometry macro=512x8192x8192,midi=256x128x8192,micro=256x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=1,ksplit=1,copy=bulk,prep=grid,lead=2,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=5 \
		--geometry macro=512x8192x8192,midi=256x128x8192,micro=256x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=2,splitk=1,ksplit=1,copy=bulk,prep=grid,lead=2,blocks=0,pdl=1,occ=1,join=none,cluster=2,xstages=4
bench "$now" matmul_f16 f16 8192x4096x2048 5s \
		--geometry macro=512x4096x2048,midi=128x128x64,micro=64x128x64,isa=wgmma,vec=16,stages=4,splitk=1,copy=bulk,blocks=1,pdl=0,occ=1,cluster=1 \
		--geometry macro=2048x4096x2048,midi=128x256x64,micro=64x256x64,isa=wgmma,vec=16,stages=4,splitk=1,copy=bulk,blocks=1,pdl=0,occ=1,cluster=1 \
		--geometry macro=1024x4096x2048,midi=128x256x64,micro=64x256x64,isa=wgmma,vec=16,stages=4,splitk=1,copy=bulk,blocks=1,pdl=0,occ=1,cluster=2 \
		--geometry macro=1024x4096x2048,midi=256x128x64,micro=128x128x64,isa=wgmma,vec=16,stages=4,splitk=1,copy=bulk,blocks=1,pdl=0,occ=1,cluster=2
dense "$now" 8192x4096x2048 4096 4s
dense "$now" 4096x4096x4096 4096 4s
dense "$now" 2304x4096x4096 4096 4s
dense "$now" 1536x6144x4096 8192 4s
bench "$now" q4k_matmul f16 32x14336x4096 2s \
		--geometry macro=32x16384x4096,midi=32x64x4096,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=4,stages=3,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=8 \
		--geometry macro=32x16384x4096,midi=32x128x4096,micro=32x64x256,isa=wgmma,layout=f,unroll=1,warps=8,stages=3,splitk=1,ksplit=1,copy=bulk,prep=launch,lead=3,blocks=0,pdl=1,occ=1,join=none,cluster=1,xstages=8
