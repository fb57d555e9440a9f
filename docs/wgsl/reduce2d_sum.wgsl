// reduce2d_sum 4096x4096, contract f32, for wgpu-portable
// geometry: macro=4x4096x1,midi=1x4096x1,micro=1x4x1,isa=wgsl,unroll=4,vec=16,join=launch,form=lanes,workgroup=256,tree=shared
// source: default
// constants: count = 16777216, groups = 1024
// workspace: 4096 bytes
//
// dispatch 1: reduce, workgroups of 256, dispatchWorkgroups(1024, 1, 1)
//   binding 0: x, 67108864 bytes, input of f32
//   binding 2: workspace, 4096 bytes from 0 on, zero before the first call
//
// dispatch 2: join, workgroups of 256, dispatchWorkgroups(1, 1, 1)
//   binding 2: workspace, 4096 bytes from 0 on, zero before the first call
//   binding 1: y, 16 bytes, output of f32

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> partials: array<f32>;
override count: u32;
override groups: u32;

fn load(at: u32) -> vec4<f32> {
    return x[at];
}

// The same where the matrix ends.
fn load_end(at: u32) -> vec4<f32> {
    if (at * 4u >= count) {
        return vec4<f32>(0.0);
    }
    let place = vec4<u32>(at * 4u) + vec4<u32>(0u, 1u, 2u, 3u);
    return select(vec4<f32>(0.0), load(at), place < vec4<u32>(count));
}

var<workgroup> of_workgroup_parts: array<f32, 256>;

fn of_workgroup(value: f32, local: u32) -> f32 {
    workgroupBarrier();
    of_workgroup_parts[local] = value;
    for (var left = 128u; left > 0u; left /= 2u) {
        workgroupBarrier();
        if (local < left) {
            of_workgroup_parts[local] = of_workgroup_parts[local] + of_workgroup_parts[local + left];
        }
    }
    workgroupBarrier();
    return of_workgroup_parts[0];
}

@compute @workgroup_size(256)
fn reduce(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    var sum0 = vec4<f32>(0.0);
    var sum1 = vec4<f32>(0.0);
    var sum2 = vec4<f32>(0.0);
    var sum3 = vec4<f32>(0.0);
    let whole = count / 4096u; // steps
    for (var step = group.x; step < whole; step += groups) {
        let first = step * 1024u + local;
        sum0 += load(first);
        sum1 += load(first + 256u);
        sum2 += load(first + 512u);
        sum3 += load(first + 768u);
    }
    if (whole % groups == group.x) {
        let first = whole * 1024u + local;
        sum0 += load_end(first);
        sum1 += load_end(first + 256u);
        sum2 += load_end(first + 512u);
        sum3 += load_end(first + 768u);
    }
    sum0 = sum0 + sum2;
    sum1 = sum1 + sum3;
    sum0 = sum0 + sum1;
    let own = (sum0.x + sum0.y) + (sum0.z + sum0.w);
    let total = of_workgroup(own, local);
    if (local == 0u) {
        partials[group.x] = total;
    }
}

@compute @workgroup_size(256)
fn join(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    var sum0 = f32(0.0);
    for (var i = local; i < groups; i += 256u) {
        sum0 += partials[i];
    }
    let own = sum0;
    let total = of_workgroup(own, local);
    if (local == 0u) {
        y[0] = total;
    }
}
