// elementwise_relu_f32 4096x4096, contract f32, for wgpu-portable
// geometry: macro=4096x4096x1,midi=1x1024x1,micro=1x4x1,isa=wgsl,unroll=1,vec=16,workgroup=256
// source: default
// constants: count = 16777216, across = 16384
//
// dispatch 1: elementwise, workgroups of 256, dispatchWorkgroups(16384, 1, 1)
//   binding 0: x, 67108864 bytes, input of f32
//   binding 1: y, 67108864 bytes, output of f32

@group(0) @binding(0) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> y: array<vec4<u32>>;
override count: u32;
override across: u32;

// 0 for the bits from those of -0 on to those of -inf.
fn result(x: vec4<u32>) -> vec4<u32> {
    return select(x, vec4<u32>(0u), (x - vec4<u32>(0x80000000u)) <= vec4<u32>(0x7f800000u));
}

// Where the matrix ends: the first of a vector's elements, as many as are left.
fn store_end(at: u32, value: vec4<u32>, left: u32) {
    if (left > 0u) {
        y[at].x = value.x;
    }
    if (left > 1u) {
        y[at].y = value.y;
    }
    if (left > 2u) {
        y[at].z = value.z;
    }
    if (left > 3u) {
        y[at].w = value.w;
    }
}

@compute @workgroup_size(256)
fn elementwise(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first = (group.x + group.y * across) * 256u + local;
    if ((first + 1u) * 4u <= count) {
        let x0 = x[first + 0u];
        y[first + 0u] = result(x0);
    } else {
        for (var i = 0u; i < 1u; i++) {
            let at = first + i * 256u;
            if (at * 4u < count) {
                store_end(at, result(x[at]), count - at * 4u);
            }
        }
    }
}
