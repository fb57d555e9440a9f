// SPDX-License-Identifier: MIT
// to = the transpose of `from`, rows x columns, in tiles that pass through workgroup memory.
override rows: u32;
override columns: u32;

const tile = ${TILE}u;
const pad = ${PAD}u;

@group(0) @binding(0) var<storage, read> source: array<f32>;
@group(0) @binding(1) var<storage, read_write> goal: array<f32>;

var<workgroup> part: array<f32, tile * (tile + pad)>;

@compute @workgroup_size(tile, ${LINES})
fn transpose(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_id) at: vec3<u32>) {
    let x = group.x * tile + at.x;
    for (var y = at.y; y < tile; y += ${LINES}u) {
        let row = group.y * tile + y;
        if (row < rows && x < columns) {
            part[y * (tile + pad) + at.x] = source[row * columns + x];
        }
    }
    workgroupBarrier();
    let row = group.y * tile + at.x;
    for (var y = at.y; y < tile; y += ${LINES}u) {
        let column = group.x * tile + y;
        if (row < rows && column < columns) {
            goal[column * rows + row] = part[at.x * (tile + pad) + y];
        }
    }
}
