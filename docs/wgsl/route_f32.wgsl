// route_f32 1x128x8, contract f32, for wgpu-portable
// geometry: macro=1x128x8,midi=1x128x8,micro=1x1x1,isa=wgsl,workgroup=128
// source: default
// constants: rows = 1, experts = 128, used = 8, across = 1
//
// dispatch 1: route, workgroups of 128, dispatchWorkgroups(1, 1, 1)
//   binding 0: scores, 512 bytes, input of f32
//   binding 1: ids, 32 bytes, output of i32
//   binding 2: factors, 32 bytes, output of f32

@group(0) @binding(0) var<storage, read> scores: array<u32>;
@group(0) @binding(1) var<storage, read_write> ids: array<i32>;
@group(0) @binding(2) var<storage, read_write> factors: array<f32>;
override rows: u32;
override experts: u32;
override used: u32;
override across: u32;

// A score's bits as they count: finite, a NaN the lowest.
fn counted(bits: u32) -> u32 {
    let size = bits & 0x7fffffffu;
    let near = select(bits, (bits & 0x80000000u) | 0x7f7fffffu, size == 0x7f800000u);
    return select(near, 0xff7fffffu, size > 0x7f800000u);
}

// Of expert AT of row ROW a word that is the larger the score is; 0: there is none.
fn order_of(row: u32, at: u32) -> u32 {
    if (at >= experts) {
        return 0u;
    }
    let bits = counted(scores[row * experts + at]);
    let plain = select(bits, 0u, bits == 0x80000000u); // no -0
    return select(plain | 0x80000000u, ~plain, plain >> 31u == 1u);
}

var<workgroup> orders: array<vec4<u32>, 32>;
var<workgroup> chosen: array<f32, 8>;

@compute @workgroup_size(128)
fn route(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = group.y + group.z * across;
    if (row >= rows) {
        return;
    }
    let fours = (experts + 3u) / 4u;
    for (var i = local; i < fours; i += 128u) {
        orders[i] = vec4<u32>(order_of(row, 4u * i), order_of(row, 4u * i + 1u), order_of(row, 4u * i + 2u), order_of(row, 4u * i + 3u));
    }
    workgroupBarrier();
    for (var expert = local; expert < experts; expert += 128u) {
        let own = vec4<u32>(orders[expert / 4u][expert % 4u]);
        var before = vec4<u32>(0u);
        for (var i = 0u; i < fours; i++) {
            let other = orders[i];
            let is_lower = vec4<u32>(4u * i) + vec4<u32>(0u, 1u, 2u, 3u) < vec4<u32>(expert);
            before += select(vec4<u32>(0u), vec4<u32>(1u), (other > own) | ((other == own) & is_lower));
        }
        let place = (before.x + before.y) + (before.z + before.w);
        if (place < used) {
            ids[row * used + place] = i32(expert);
            chosen[place] = bitcast<f32>(counted(scores[row * experts + expert]));
        }
    }
    workgroupBarrier();
    let first = chosen[0] * 0.5;
    workgroupBarrier();
    for (var u = local; u < used; u += 128u) {
        chosen[u] = exp(2.0 * max(chosen[u] * 0.5 - first, -60.0));
    }
    workgroupBarrier();
    var sum = 0.0;
    for (var u = 0u; u < used; u++) {
        sum += chosen[u];
    }
    for (var u = local; u < used; u += 128u) {
        factors[row * used + u] = chosen[u] / sum;
    }
}
