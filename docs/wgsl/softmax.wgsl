// softmax 1x32000, contract f32, for wgpu-portable
// geometry: macro=1x32768x1,midi=1x32768x1,micro=1x4x1,isa=wgsl,unroll=4,vec=16,splitk=1,xin=l2,join=none,form=onepass,workgroup=256,tree=shared
// source: default
// constants: rows = 1, columns = 8000, across = 1, whole = 0
//
// dispatch 1: softmax, workgroups of 256, dispatchWorkgroups(1, 1, 1)
//   binding 0: x, 128000 bytes, input of f32
//   binding 1: y, 128000 bytes, output of f32

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<f32>>;
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

fn largest_of(v: vec4<f32>) -> f32 {
    return max(max(v.x, v.y), max(v.z, v.w));
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

var<workgroup> largest_of_row_parts: array<f32, 256>;

fn largest_of_row(value: f32, local: u32) -> f32 {
    workgroupBarrier();
    largest_of_row_parts[local] = value;
    for (var left = 128u; left > 0u; left /= 2u) {
        workgroupBarrier();
        if (local < left) {
            largest_of_row_parts[local] = max(largest_of_row_parts[local], largest_of_row_parts[local + left]);
        }
    }
    workgroupBarrier();
    return largest_of_row_parts[0];
}

@compute @workgroup_size(256)
fn softmax(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = group.y + group.z * across;
    let member = local;
    let base = row * columns;
    let first = 0u;
    let end = select(0u, columns, row < rows);
    var largest = -0x1.fffffep+127f;
    var sum = 0.0;
    for (var at = first + member; at < end; at += 1024u) {
        let at0 = at;
        let has0 = true;
        let at1 = at + 256u;
        let has1 = is_there(at1, end);
        let at2 = at + 512u;
        let has2 = is_there(at2, end);
        let at3 = at + 768u;
        let has3 = is_there(at3, end);
        var v0 = vec4<f32>(-0x1.fffffep+127f);
        if (has0) {
            v0 = x[base + at0];
        }
        var v1 = vec4<f32>(-0x1.fffffep+127f);
        if (has1) {
            v1 = x[base + at1];
        }
        var v2 = vec4<f32>(-0x1.fffffep+127f);
        if (has2) {
            v2 = x[base + at2];
        }
        var v3 = vec4<f32>(-0x1.fffffep+127f);
        if (has3) {
            v3 = x[base + at3];
        }
        let now = max(largest, largest_of(max(max(v0, v1), max(v2, v3))));
        v0 = select(vec4<f32>(0.0), exp(v0 - now), has0);
        v1 = select(vec4<f32>(0.0), exp(v1 - now), has1);
        v2 = select(vec4<f32>(0.0), exp(v2 - now), has2);
        v3 = select(vec4<f32>(0.0), exp(v3 - now), has3);
        sum = sum * exp(largest - now) + sum_of((v0 + v1) + (v2 + v3));
        largest = now;
    }
    let top = largest_of_row(largest, local);
    sum = select(sum * exp(largest - top), 0.0, sum == 0.0);
    let total = sum_of_row(sum, local);
    let scale = 1.0 / total;
    for (var at = first + member; at < end; at += 1024u) {
        let at0 = at;
        let has0 = true;
        let at1 = at + 256u;
        let has1 = is_there(at1, end);
        let at2 = at + 512u;
        let has2 = is_there(at2, end);
        let at3 = at + 768u;
        let has3 = is_there(at3, end);
        var v0 = vec4<f32>(-0x1.fffffep+127f);
        if (has0) {
            v0 = x[base + at0];
        }
        var v1 = vec4<f32>(-0x1.fffffep+127f);
        if (has1) {
            v1 = x[base + at1];
        }
        var v2 = vec4<f32>(-0x1.fffffep+127f);
        if (has2) {
            v2 = x[base + at2];
        }
        var v3 = vec4<f32>(-0x1.fffffep+127f);
        if (has3) {
            v3 = x[base + at3];
        }
        if (has0) {
            y[base + at0] = exp(v0 - top) * scale;
        }
        if (has1) {
            y[base + at1] = exp(v1 - top) * scale;
        }
        if (has2) {
            y[base + at2] = exp(v2 - top) * scale;
        }
        if (has3) {
            y[base + at3] = exp(v3 - top) * scale;
        }
    }
}
