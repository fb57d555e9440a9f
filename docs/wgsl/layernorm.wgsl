// layernorm 512x4096, contract f32, for wgpu-portable
// geometry: macro=512x4096x1,midi=1x4096x1,micro=1x4x1,isa=wgsl,unroll=4,vec=16,splitk=1,xin=regs,lead=0,join=none,workgroup=256,tree=shared
// source: default
// constants: rows = 512, columns = 1024, across = 512, whole = 1
//
// dispatch 1: layernorm, workgroups of 256, dispatchWorkgroups(1, 512, 1)
//   binding 0: x, 8388608 bytes, input of f32
//   binding 3: y, 8388608 bytes, output of f32
//   binding 1: w, 16384 bytes, input of f32
//   binding 2: b, 16384 bytes, input of f32

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> w: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> b: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> y: array<vec4<f32>>;
override rows: u32;
override columns: u32;
override across: u32;
override whole: u32;

// Is a vector at AT one of those up to END?
fn is_there(at: u32, end: u32) -> bool {
    return whole == 1u || at < end;
}

fn sum_of(v: vec4<f32>) -> f32 {
    return (v.x + v.y) + (v.z + v.w);
}

var<workgroup> sum_of_row_parts: array<f32, 256>;

fn sum_of_row(value: f32, local: u32) -> f32 {
    workgroupBarrier();
    sum_of_row_parts[local] = value;
    for (var left = 128u; left > 0u; left /= 2u) {
        workgroupBarrier();
        if (local < left) {
            sum_of_row_parts[local] = sum_of_row_parts[local] + sum_of_row_parts[local + left];
        }
    }
    workgroupBarrier();
    return sum_of_row_parts[0];
}

@compute @workgroup_size(256)
fn layernorm(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = group.y + group.z * across;
    let member = local;
    let base = row * columns;
    let first = 0u;
    let end = select(0u, columns, row < rows);
    let at0 = member;
    let has0 = is_there(at0, end);
    let at1 = member + 256u;
    let has1 = is_there(at1, end);
    let at2 = member + 512u;
    let has2 = is_there(at2, end);
    let at3 = member + 768u;
    let has3 = is_there(at3, end);
    var v0 = vec4<f32>(0.0);
    if (has0) {
        v0 = x[base + at0];
    }
    var v1 = vec4<f32>(0.0);
    if (has1) {
        v1 = x[base + at1];
    }
    var v2 = vec4<f32>(0.0);
    if (has2) {
        v2 = x[base + at2];
    }
    var v3 = vec4<f32>(0.0);
    if (has3) {
        v3 = x[base + at3];
    }
    let size = f32((end - first) * 4u);
    var sum = 0.0;
    sum += sum_of((v0 + v1) + (v2 + v3));
    let mean = sum_of_row(sum, local) / size;
    var apart = 0.0;
    let far0 = select(vec4<f32>(0.0), v0 - mean, has0);
    let squares0 = far0 * far0;
    let far1 = select(vec4<f32>(0.0), v1 - mean, has1);
    let squares1 = far1 * far1;
    let far2 = select(vec4<f32>(0.0), v2 - mean, has2);
    let squares2 = far2 * far2;
    let far3 = select(vec4<f32>(0.0), v3 - mean, has3);
    let squares3 = far3 * far3;
    apart += sum_of((squares0 + squares1) + (squares2 + squares3));
    let total = sum_of_row(apart, local);
    let factor = inverseSqrt(total / f32(columns * 4u) + 1e-05);
    if (has0) {
        y[base + at0] = (v0 - mean) * factor * w[at0] + b[at0];
    }
    if (has1) {
        y[base + at1] = (v1 - mean) * factor * w[at1] + b[at1];
    }
    if (has2) {
        y[base + at2] = (v2 - mean) * factor * w[at2] + b[at2];
    }
    if (has3) {
        y[base + at3] = (v3 - mean) * factor * w[at3] + b[at3];
    }
}
