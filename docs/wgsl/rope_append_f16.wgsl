// rope_append_f16 512x2048x128,h32/8, contract f16, for wgpu-portable
// geometry: macro=512x1x128,midi=1x1x128,micro=1x1x8,isa=wgsl,unroll=1,vec=16,workgroup=128
// source: default
// constants: tokens = 512, news = 512, query = 32, kv_heads = 8, room = 2048, across = 1536
//
// dispatch 1: rope_append, workgroups of 128, dispatchWorkgroups(1536, 1, 1)
//   binding 0: qkv, 6291456 bytes, input of f16
//   binding 1: rotation, 1048576 bytes, input of f32
//   binding 2: lengths, 16 bytes, input of i32
//   binding 3: q, 4194304 bytes, output of f16
//   binding 4: k, 4194304 bytes, output of f16
//   binding 5: v, 4194304 bytes, output of f16

@group(0) @binding(0) var<storage, read> qkv: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read> rotation: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read> lengths: array<u32>;
@group(0) @binding(3) var<storage, read_write> q: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> k: array<vec4<u32>>;
@group(0) @binding(5) var<storage, read_write> v: array<vec4<u32>>;
override tokens: u32;
override news: u32;
override query: u32;
override kv_heads: u32;
override room: u32;
override across: u32;

fn from_halves(words: vec2<u32>) -> vec4<f32> {
    return vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
}

// To nearest, of two that are as near to the even one.
fn to_halves(values: vec4<f32>) -> vec2<u32> {
    let bits = bitcast<vec4<u32>>(values);
    let odd = (bits >> vec4<u32>(13u)) & vec4<u32>(1u);
    let near = (bits + odd + vec4<u32>(0xfffu)) & vec4<u32>(0xffffe000u);
    let rounded = bitcast<vec4<f32>>(near);
    return vec2<u32>(pack2x16float(rounded.xy), pack2x16float(rounded.zw));
}

// The position of a new token of all sequences; below 0: there is none.
fn position_of(token: u32) -> i32 {
    return i32(lengths[token / news]) - i32(news) + i32(token % news);
}

// Where the cache has a token.
fn cache_token(sequence: u32, position: u32) -> u32 {
    return sequence * room + position;
}

@compute @workgroup_size(128)
fn rope_append(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let item = (group.x + group.y * across) * 128u + local;
    let heads = query + 2u * kv_heads;
    let head_groups = (heads + 0u) / 1u;
    let chunk = item % 8u;
    let first_head = item / 8u % head_groups * 1u;
    let token = item / 8u / head_groups;
    if (token >= tokens || position_of(token) < 0) {
        return;
    }
    let position = u32(position_of(token));
    let angle = position * 32u + chunk * 2u;
    let cosine0 = rotation[angle + 0u];
    let sine0 = rotation[angle + 16u];
    let cosine1 = rotation[angle + 1u];
    let sine1 = rotation[angle + 17u];
    let head0 = min(first_head + 0u, heads - 1u);
    let from0 = (token * (query + 2u * kv_heads) + head0) * 16u + chunk * 1u;
    let a_words0 = qkv[from0];
    let a0_0 = from_halves(a_words0.xy);
    let a0_1 = from_halves(a_words0.zw);
    let b_words0 = qkv[from0 + 8u];
    let b0_0 = from_halves(b_words0.xy);
    let b0_1 = from_halves(b_words0.zw);
    let cache = cache_token(token / news, position) * kv_heads;
    let is_plain0 = head0 >= query + kv_heads;
    let cos0_0 = select(cosine0, vec4<f32>(1.0), is_plain0);
    let sin0_0 = select(sine0, vec4<f32>(0.0), is_plain0);
    let cos0_1 = select(cosine1, vec4<f32>(1.0), is_plain0);
    let sin0_1 = select(sine1, vec4<f32>(0.0), is_plain0);
    let low0_0 = a0_0;
    let high0_0 = b0_0;
    let new_low0_0 = low0_0 * cos0_0 - high0_0 * sin0_0;
    let new_high0_0 = high0_0 * cos0_0 + low0_0 * sin0_0;
    let low0_1 = a0_1;
    let high0_1 = b0_1;
    let new_low0_1 = low0_1 * cos0_1 - high0_1 * sin0_1;
    let new_high0_1 = high0_1 * cos0_1 + low0_1 * sin0_1;
    let halves_a0_0 = to_halves(new_low0_0);
    let halves_a0_1 = to_halves(new_low0_1);
    var to_a0 = vec4<u32>(halves_a0_0, halves_a0_1);
    to_a0 = select(to_a0, a_words0, is_plain0);
    let halves_b0_0 = to_halves(new_high0_0);
    let halves_b0_1 = to_halves(new_high0_1);
    var to_b0 = vec4<u32>(halves_b0_0, halves_b0_1);
    to_b0 = select(to_b0, b_words0, is_plain0);
    if (first_head + 0u < heads) {
        if (head0 < query) {
            let to = (token * query + head0) * 16u + chunk * 1u;
            q[to + 0u] = to_a0;
            q[to + 8u] = to_b0;
        } else if (head0 < query + kv_heads) {
            let to = (cache + head0 - query) * 16u + chunk * 1u;
            k[to + 0u] = to_a0;
            k[to + 8u] = to_b0;
        } else {
            let to = (cache + head0 - query - kv_heads) * 16u + chunk * 1u;
            v[to + 0u] = to_a0;
            v[to + 8u] = to_b0;
        }
    }
}
