// attention_prefill_f16 512x512x128,h32/8,causal, contract f16, for wgpu-portable
// geometry: macro=32x512x128,midi=32x32x16,micro=4x32x4,isa=wgsl,vec=16,heads=1,workgroup=64,tree=shared
// source: default
// constants: queries = 512, kv_heads = 8, sharing = 4, room = 512, causal = 1, window = 0, cap = 0
//
// dispatch 1: attend, workgroups of 64, dispatchWorkgroups(16, 32, 1)
//   binding 0: q, 4194304 bytes, input of f16
//   binding 1: k, 1048576 bytes, input of f16
//   binding 2: v, 1048576 bytes, input of f16
//   binding 3: lengths, 16 bytes, input of i32
//   binding 4: out, 4194304 bytes, output of f16

@group(0) @binding(0) var<storage, read> q: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> k: array<vec4<u32>>;
@group(0) @binding(2) var<storage, read> v: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> lengths: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<vec2<u32>>;
override queries: u32;
override kv_heads: u32;
override sharing: u32;
override room: u32;
override causal: u32;
override window: u32;
override cap: u32;

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

// A row of q and out.
fn row_of(sequence: u32, kv_head: u32, token: u32, head: u32) -> u32 {
    return ((sequence * queries + token) * kv_heads + kv_head) * sharing + head;
}

// Four values of q, times 1 / sqrt(128).
fn q_at(row: u32, four: u32) -> vec4<f32> {
    return from_halves(q[row * 32u + four]) * 0.0883883476;
}

fn put(row: u32, four: u32, values: vec4<f32>) {
    out[row * 32u + four] = to_halves(values);
}

// A row of K and V: a token's of a KV head.
fn kv_row(sequence: u32, token: u32, kv_head: u32) -> u32 {
    return (sequence * room + token) * kv_heads + kv_head;
}

// A vector of K or V, as loaded.
alias Stored = vec4<u32>;

fn k_at(row: u32, vector: u32) -> Stored {
    return k[row * 16u + vector];
}

fn v_at(row: u32, vector: u32) -> Stored {
    return v[row * 16u + vector];
}

// The end of the tokens that query token TOKEN of a sequence of LENGTH sees; where they begin.
fn end_of(length: u32, token: u32) -> u32 {
    let end = i32(length) - i32(queries) + i32(token) + 1;
    return select(length, u32(max(end, 0)), causal == 1u);
}

fn begin_of(length: u32, token: u32) -> u32 {
    let end = end_of(length, token);
    return select(0u, end - min(end, window), window > 0u);
}

fn capped(score: f32) -> f32 {
    if (cap == 0u) {
        return score;
    }
    let twice = clamp(score / f32(cap), -20.0, 20.0) * 2.0;
    return f32(cap) * (1.0 - 2.0 / (exp(twice) + 1.0));
}

var<workgroup> largest_of_parts: array<vec4<f32>, 64>;

fn largest_of(value: vec4<f32>, local: u32) -> vec4<f32> {
    let member = local % 8u;
    workgroupBarrier();
    largest_of_parts[local] = value;
    for (var left = 4u; left > 0u; left /= 2u) {
        workgroupBarrier();
        if (member < left) {
            largest_of_parts[local] = max(largest_of_parts[local], largest_of_parts[local + left]);
        }
    }
    workgroupBarrier();
    return largest_of_parts[local - member];
}

var<workgroup> sum_of_parts: array<vec4<f32>, 64>;

fn sum_of(value: vec4<f32>, local: u32) -> vec4<f32> {
    let member = local % 8u;
    workgroupBarrier();
    sum_of_parts[local] = value;
    for (var left = 4u; left > 0u; left /= 2u) {
        workgroupBarrier();
        if (member < left) {
            sum_of_parts[local] = sum_of_parts[local] + sum_of_parts[local + left];
        }
    }
    workgroupBarrier();
    return sum_of_parts[local - member];
}

// A step's values of q, row by row, and behind them K's; or V of some tokens.
var<workgroup> values: array<vec4<f32>, 512>;
// Of each row, four tokens together.
var<workgroup> weights: array<vec4<f32>, 288>;

@compute @workgroup_size(64)
fn attend(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let head_tiles = (sharing + 0u) / 1u;
    let kv_head = group.y / head_tiles;
    let first_head = group.y % head_tiles * 1u;
    let sequence = group.z;
    let first_query = group.x * 32u;
    let length = lengths[sequence];
    let begin = begin_of(length, first_query);
    let end = end_of(length, min(first_query + 31u, queries - 1u));
    let member = local % 8u; // of the team that has some rows
    let at_row = local / 8u;
    let query0 = min(first_query + (at_row + 0u) / 1u, queries - 1u);
    let from0 = begin_of(length, query0);
    let to0 = end_of(length, query0);
    var largest0 = -0x1.fffffep+127f;
    var sum0 = 0.0;
    var o0_0 = vec4<f32>(0.0);
    var o0_1 = vec4<f32>(0.0);
    var o0_2 = vec4<f32>(0.0);
    var o0_3 = vec4<f32>(0.0);
    let query1 = min(first_query + (at_row + 8u) / 1u, queries - 1u);
    let from1 = begin_of(length, query1);
    let to1 = end_of(length, query1);
    var largest1 = -0x1.fffffep+127f;
    var sum1 = 0.0;
    var o1_0 = vec4<f32>(0.0);
    var o1_1 = vec4<f32>(0.0);
    var o1_2 = vec4<f32>(0.0);
    var o1_3 = vec4<f32>(0.0);
    let query2 = min(first_query + (at_row + 16u) / 1u, queries - 1u);
    let from2 = begin_of(length, query2);
    let to2 = end_of(length, query2);
    var largest2 = -0x1.fffffep+127f;
    var sum2 = 0.0;
    var o2_0 = vec4<f32>(0.0);
    var o2_1 = vec4<f32>(0.0);
    var o2_2 = vec4<f32>(0.0);
    var o2_3 = vec4<f32>(0.0);
    let query3 = min(first_query + (at_row + 24u) / 1u, queries - 1u);
    let from3 = begin_of(length, query3);
    let to3 = end_of(length, query3);
    var largest3 = -0x1.fffffep+127f;
    var sum3 = 0.0;
    var o3_0 = vec4<f32>(0.0);
    var o3_1 = vec4<f32>(0.0);
    var o3_2 = vec4<f32>(0.0);
    var o3_3 = vec4<f32>(0.0);
    for (var here = begin; here < end; here += 32u) {
        var score0_0 = 0.0;
        var score0_1 = 0.0;
        var score0_2 = 0.0;
        var score0_3 = 0.0;
        var score1_0 = 0.0;
        var score1_1 = 0.0;
        var score1_2 = 0.0;
        var score1_3 = 0.0;
        var score2_0 = 0.0;
        var score2_1 = 0.0;
        var score2_2 = 0.0;
        var score2_3 = 0.0;
        var score3_0 = 0.0;
        var score3_1 = 0.0;
        var score3_2 = 0.0;
        var score3_3 = 0.0;
        for (var step = 0u; step < 32u; step += 4u) {
            workgroupBarrier();
            for (var i = local; i < 128u; i += 64u) {
                let row = i / 4u;
                let query = min(first_query + row / 1u, queries - 1u);
                let head = min(first_head + row % 1u, sharing - 1u);
                values[row * 5u + i % 4u] = q_at(row_of(sequence, kv_head, query, head), step + i % 4u);
            }
            for (var i = local; i < 64u; i += 64u) {
                let token = i / 2u;
                let place = 32u + token % 4u * 8u + token / 4u;
                let to = place * 5u + i % 2u * 2u;
                let row = kv_row(sequence, min(here + token, end - 1u), kv_head);
                let stored = k_at(row, step / 2u + i % 2u);
                values[to + 0u] = from_halves(stored.xy);
                values[to + 1u] = from_halves(stored.zw);
            }
            workgroupBarrier();
            for (var f = 0u; f < 4u; f++) {
                let q0 = values[(at_row + 0u) * 5u + f];
                let q1 = values[(at_row + 8u) * 5u + f];
                let q2 = values[(at_row + 16u) * 5u + f];
                let q3 = values[(at_row + 24u) * 5u + f];
                let key0 = values[(32u + member) * 5u + f];
                let key1 = values[(40u + member) * 5u + f];
                let key2 = values[(48u + member) * 5u + f];
                let key3 = values[(56u + member) * 5u + f];
                score0_0 += dot(q0, key0);
                score0_1 += dot(q0, key1);
                score0_2 += dot(q0, key2);
                score0_3 += dot(q0, key3);
                score1_0 += dot(q1, key0);
                score1_1 += dot(q1, key1);
                score1_2 += dot(q1, key2);
                score1_3 += dot(q1, key3);
                score2_0 += dot(q2, key0);
                score2_1 += dot(q2, key1);
                score2_2 += dot(q2, key2);
                score2_3 += dot(q2, key3);
                score3_0 += dot(q3, key0);
                score3_1 += dot(q3, key1);
                score3_2 += dot(q3, key2);
                score3_3 += dot(q3, key3);
            }
        }
        let token0 = here + member * 4u + 0u;
        let token1 = here + member * 4u + 1u;
        let token2 = here + member * 4u + 2u;
        let token3 = here + member * 4u + 3u;
        var most0 = largest0;
        let seen0_0 = token0 >= from0 && token0 < to0;
        score0_0 = select(-0x1.fffffep+127f, capped(score0_0), seen0_0);
        most0 = max(most0, score0_0);
        let seen0_1 = token1 >= from0 && token1 < to0;
        score0_1 = select(-0x1.fffffep+127f, capped(score0_1), seen0_1);
        most0 = max(most0, score0_1);
        let seen0_2 = token2 >= from0 && token2 < to0;
        score0_2 = select(-0x1.fffffep+127f, capped(score0_2), seen0_2);
        most0 = max(most0, score0_2);
        let seen0_3 = token3 >= from0 && token3 < to0;
        score0_3 = select(-0x1.fffffep+127f, capped(score0_3), seen0_3);
        most0 = max(most0, score0_3);
        var most1 = largest1;
        let seen1_0 = token0 >= from1 && token0 < to1;
        score1_0 = select(-0x1.fffffep+127f, capped(score1_0), seen1_0);
        most1 = max(most1, score1_0);
        let seen1_1 = token1 >= from1 && token1 < to1;
        score1_1 = select(-0x1.fffffep+127f, capped(score1_1), seen1_1);
        most1 = max(most1, score1_1);
        let seen1_2 = token2 >= from1 && token2 < to1;
        score1_2 = select(-0x1.fffffep+127f, capped(score1_2), seen1_2);
        most1 = max(most1, score1_2);
        let seen1_3 = token3 >= from1 && token3 < to1;
        score1_3 = select(-0x1.fffffep+127f, capped(score1_3), seen1_3);
        most1 = max(most1, score1_3);
        var most2 = largest2;
        let seen2_0 = token0 >= from2 && token0 < to2;
        score2_0 = select(-0x1.fffffep+127f, capped(score2_0), seen2_0);
        most2 = max(most2, score2_0);
        let seen2_1 = token1 >= from2 && token1 < to2;
        score2_1 = select(-0x1.fffffep+127f, capped(score2_1), seen2_1);
        most2 = max(most2, score2_1);
        let seen2_2 = token2 >= from2 && token2 < to2;
        score2_2 = select(-0x1.fffffep+127f, capped(score2_2), seen2_2);
        most2 = max(most2, score2_2);
        let seen2_3 = token3 >= from2 && token3 < to2;
        score2_3 = select(-0x1.fffffep+127f, capped(score2_3), seen2_3);
        most2 = max(most2, score2_3);
        var most3 = largest3;
        let seen3_0 = token0 >= from3 && token0 < to3;
        score3_0 = select(-0x1.fffffep+127f, capped(score3_0), seen3_0);
        most3 = max(most3, score3_0);
        let seen3_1 = token1 >= from3 && token1 < to3;
        score3_1 = select(-0x1.fffffep+127f, capped(score3_1), seen3_1);
        most3 = max(most3, score3_1);
        let seen3_2 = token2 >= from3 && token2 < to3;
        score3_2 = select(-0x1.fffffep+127f, capped(score3_2), seen3_2);
        most3 = max(most3, score3_2);
        let seen3_3 = token3 >= from3 && token3 < to3;
        score3_3 = select(-0x1.fffffep+127f, capped(score3_3), seen3_3);
        most3 = max(most3, score3_3);
        let now_of0 = largest_of(vec4<f32>(most0, most1, most2, most3), local);
        let now0 = now_of0.x;
        let now1 = now_of0.y;
        let now2 = now_of0.z;
        let now3 = now_of0.w;
        let shrink0 = exp(largest0 - now0);
        largest0 = now0;
        sum0 *= shrink0;
        o0_0 *= shrink0;
        o0_1 *= shrink0;
        o0_2 *= shrink0;
        o0_3 *= shrink0;
        let weight0_0 = select(0.0, exp(score0_0 - now0), seen0_0);
        let weight0_1 = select(0.0, exp(score0_1 - now0), seen0_1);
        let weight0_2 = select(0.0, exp(score0_2 - now0), seen0_2);
        let weight0_3 = select(0.0, exp(score0_3 - now0), seen0_3);
        sum0 += (weight0_0 + weight0_1) + (weight0_2 + weight0_3);
        weights[(at_row + 0u) * 9u + member * 1u + 0u] = vec4<f32>(weight0_0, weight0_1, weight0_2, weight0_3);
        let shrink1 = exp(largest1 - now1);
        largest1 = now1;
        sum1 *= shrink1;
        o1_0 *= shrink1;
        o1_1 *= shrink1;
        o1_2 *= shrink1;
        o1_3 *= shrink1;
        let weight1_0 = select(0.0, exp(score1_0 - now1), seen1_0);
        let weight1_1 = select(0.0, exp(score1_1 - now1), seen1_1);
        let weight1_2 = select(0.0, exp(score1_2 - now1), seen1_2);
        let weight1_3 = select(0.0, exp(score1_3 - now1), seen1_3);
        sum1 += (weight1_0 + weight1_1) + (weight1_2 + weight1_3);
        weights[(at_row + 8u) * 9u + member * 1u + 0u] = vec4<f32>(weight1_0, weight1_1, weight1_2, weight1_3);
        let shrink2 = exp(largest2 - now2);
        largest2 = now2;
        sum2 *= shrink2;
        o2_0 *= shrink2;
        o2_1 *= shrink2;
        o2_2 *= shrink2;
        o2_3 *= shrink2;
        let weight2_0 = select(0.0, exp(score2_0 - now2), seen2_0);
        let weight2_1 = select(0.0, exp(score2_1 - now2), seen2_1);
        let weight2_2 = select(0.0, exp(score2_2 - now2), seen2_2);
        let weight2_3 = select(0.0, exp(score2_3 - now2), seen2_3);
        sum2 += (weight2_0 + weight2_1) + (weight2_2 + weight2_3);
        weights[(at_row + 16u) * 9u + member * 1u + 0u] = vec4<f32>(weight2_0, weight2_1, weight2_2, weight2_3);
        let shrink3 = exp(largest3 - now3);
        largest3 = now3;
        sum3 *= shrink3;
        o3_0 *= shrink3;
        o3_1 *= shrink3;
        o3_2 *= shrink3;
        o3_3 *= shrink3;
        let weight3_0 = select(0.0, exp(score3_0 - now3), seen3_0);
        let weight3_1 = select(0.0, exp(score3_1 - now3), seen3_1);
        let weight3_2 = select(0.0, exp(score3_2 - now3), seen3_2);
        let weight3_3 = select(0.0, exp(score3_3 - now3), seen3_3);
        sum3 += (weight3_0 + weight3_1) + (weight3_2 + weight3_3);
        weights[(at_row + 24u) * 9u + member * 1u + 0u] = vec4<f32>(weight3_0, weight3_1, weight3_2, weight3_3);
        for (var part = 0u; part < 32u; part += 16u) {
            workgroupBarrier();
            for (var i = local; i < 256u; i += 64u) {
                let token = min(here + part + i / 16u, end - 1u);
                let stored = v_at(kv_row(sequence, token, kv_head), i % 16u);
                let to = i * 2u;
                values[to + 0u] = from_halves(stored.xy);
                values[to + 1u] = from_halves(stored.zw);
            }
            workgroupBarrier();
            for (var f = 0u; f < 4u; f++) {
                let p0 = weights[(at_row + 0u) * 9u + part / 4u + f];
                let p1 = weights[(at_row + 8u) * 9u + part / 4u + f];
                let p2 = weights[(at_row + 16u) * 9u + part / 4u + f];
                let p3 = weights[(at_row + 24u) * 9u + part / 4u + f];
                let value0_0 = values[(f * 4u + 0u) * 32u + member + 0u];
                o0_0 = fma(vec4<f32>(p0.x), value0_0, o0_0);
                o1_0 = fma(vec4<f32>(p1.x), value0_0, o1_0);
                o2_0 = fma(vec4<f32>(p2.x), value0_0, o2_0);
                o3_0 = fma(vec4<f32>(p3.x), value0_0, o3_0);
                let value0_1 = values[(f * 4u + 0u) * 32u + member + 8u];
                o0_1 = fma(vec4<f32>(p0.x), value0_1, o0_1);
                o1_1 = fma(vec4<f32>(p1.x), value0_1, o1_1);
                o2_1 = fma(vec4<f32>(p2.x), value0_1, o2_1);
                o3_1 = fma(vec4<f32>(p3.x), value0_1, o3_1);
                let value0_2 = values[(f * 4u + 0u) * 32u + member + 16u];
                o0_2 = fma(vec4<f32>(p0.x), value0_2, o0_2);
                o1_2 = fma(vec4<f32>(p1.x), value0_2, o1_2);
                o2_2 = fma(vec4<f32>(p2.x), value0_2, o2_2);
                o3_2 = fma(vec4<f32>(p3.x), value0_2, o3_2);
                let value0_3 = values[(f * 4u + 0u) * 32u + member + 24u];
                o0_3 = fma(vec4<f32>(p0.x), value0_3, o0_3);
                o1_3 = fma(vec4<f32>(p1.x), value0_3, o1_3);
                o2_3 = fma(vec4<f32>(p2.x), value0_3, o2_3);
                o3_3 = fma(vec4<f32>(p3.x), value0_3, o3_3);
                let value1_0 = values[(f * 4u + 1u) * 32u + member + 0u];
                o0_0 = fma(vec4<f32>(p0.y), value1_0, o0_0);
                o1_0 = fma(vec4<f32>(p1.y), value1_0, o1_0);
                o2_0 = fma(vec4<f32>(p2.y), value1_0, o2_0);
                o3_0 = fma(vec4<f32>(p3.y), value1_0, o3_0);
                let value1_1 = values[(f * 4u + 1u) * 32u + member + 8u];
                o0_1 = fma(vec4<f32>(p0.y), value1_1, o0_1);
                o1_1 = fma(vec4<f32>(p1.y), value1_1, o1_1);
                o2_1 = fma(vec4<f32>(p2.y), value1_1, o2_1);
                o3_1 = fma(vec4<f32>(p3.y), value1_1, o3_1);
                let value1_2 = values[(f * 4u + 1u) * 32u + member + 16u];
                o0_2 = fma(vec4<f32>(p0.y), value1_2, o0_2);
                o1_2 = fma(vec4<f32>(p1.y), value1_2, o1_2);
                o2_2 = fma(vec4<f32>(p2.y), value1_2, o2_2);
                o3_2 = fma(vec4<f32>(p3.y), value1_2, o3_2);
                let value1_3 = values[(f * 4u + 1u) * 32u + member + 24u];
                o0_3 = fma(vec4<f32>(p0.y), value1_3, o0_3);
                o1_3 = fma(vec4<f32>(p1.y), value1_3, o1_3);
                o2_3 = fma(vec4<f32>(p2.y), value1_3, o2_3);
                o3_3 = fma(vec4<f32>(p3.y), value1_3, o3_3);
                let value2_0 = values[(f * 4u + 2u) * 32u + member + 0u];
                o0_0 = fma(vec4<f32>(p0.z), value2_0, o0_0);
                o1_0 = fma(vec4<f32>(p1.z), value2_0, o1_0);
                o2_0 = fma(vec4<f32>(p2.z), value2_0, o2_0);
                o3_0 = fma(vec4<f32>(p3.z), value2_0, o3_0);
                let value2_1 = values[(f * 4u + 2u) * 32u + member + 8u];
                o0_1 = fma(vec4<f32>(p0.z), value2_1, o0_1);
                o1_1 = fma(vec4<f32>(p1.z), value2_1, o1_1);
                o2_1 = fma(vec4<f32>(p2.z), value2_1, o2_1);
                o3_1 = fma(vec4<f32>(p3.z), value2_1, o3_1);
                let value2_2 = values[(f * 4u + 2u) * 32u + member + 16u];
                o0_2 = fma(vec4<f32>(p0.z), value2_2, o0_2);
                o1_2 = fma(vec4<f32>(p1.z), value2_2, o1_2);
                o2_2 = fma(vec4<f32>(p2.z), value2_2, o2_2);
                o3_2 = fma(vec4<f32>(p3.z), value2_2, o3_2);
                let value2_3 = values[(f * 4u + 2u) * 32u + member + 24u];
                o0_3 = fma(vec4<f32>(p0.z), value2_3, o0_3);
                o1_3 = fma(vec4<f32>(p1.z), value2_3, o1_3);
                o2_3 = fma(vec4<f32>(p2.z), value2_3, o2_3);
                o3_3 = fma(vec4<f32>(p3.z), value2_3, o3_3);
                let value3_0 = values[(f * 4u + 3u) * 32u + member + 0u];
                o0_0 = fma(vec4<f32>(p0.w), value3_0, o0_0);
                o1_0 = fma(vec4<f32>(p1.w), value3_0, o1_0);
                o2_0 = fma(vec4<f32>(p2.w), value3_0, o2_0);
                o3_0 = fma(vec4<f32>(p3.w), value3_0, o3_0);
                let value3_1 = values[(f * 4u + 3u) * 32u + member + 8u];
                o0_1 = fma(vec4<f32>(p0.w), value3_1, o0_1);
                o1_1 = fma(vec4<f32>(p1.w), value3_1, o1_1);
                o2_1 = fma(vec4<f32>(p2.w), value3_1, o2_1);
                o3_1 = fma(vec4<f32>(p3.w), value3_1, o3_1);
                let value3_2 = values[(f * 4u + 3u) * 32u + member + 16u];
                o0_2 = fma(vec4<f32>(p0.w), value3_2, o0_2);
                o1_2 = fma(vec4<f32>(p1.w), value3_2, o1_2);
                o2_2 = fma(vec4<f32>(p2.w), value3_2, o2_2);
                o3_2 = fma(vec4<f32>(p3.w), value3_2, o3_2);
                let value3_3 = values[(f * 4u + 3u) * 32u + member + 24u];
                o0_3 = fma(vec4<f32>(p0.w), value3_3, o0_3);
                o1_3 = fma(vec4<f32>(p1.w), value3_3, o1_3);
                o2_3 = fma(vec4<f32>(p2.w), value3_3, o2_3);
                o3_3 = fma(vec4<f32>(p3.w), value3_3, o3_3);
            }
        }
    }
    let total_of0 = sum_of(vec4<f32>(sum0, sum1, sum2, sum3), local);
    let total0 = total_of0.x;
    let total1 = total_of0.y;
    let total2 = total_of0.z;
    let total3 = total_of0.w;
    let head0 = first_head + (at_row + 0u) % 1u;
    if (first_query + (at_row + 0u) / 1u < queries && head0 < sharing) {
        let scale = select(1.0 / total0, 0.0, total0 == 0.0);
        let row = row_of(sequence, kv_head, query0, head0);
        put(row, member + 0u, o0_0 * scale);
        put(row, member + 8u, o0_1 * scale);
        put(row, member + 16u, o0_2 * scale);
        put(row, member + 24u, o0_3 * scale);
    }
    let head1 = first_head + (at_row + 8u) % 1u;
    if (first_query + (at_row + 8u) / 1u < queries && head1 < sharing) {
        let scale = select(1.0 / total1, 0.0, total1 == 0.0);
        let row = row_of(sequence, kv_head, query1, head1);
        put(row, member + 0u, o1_0 * scale);
        put(row, member + 8u, o1_1 * scale);
        put(row, member + 16u, o1_2 * scale);
        put(row, member + 24u, o1_3 * scale);
    }
    let head2 = first_head + (at_row + 16u) % 1u;
    if (first_query + (at_row + 16u) / 1u < queries && head2 < sharing) {
        let scale = select(1.0 / total2, 0.0, total2 == 0.0);
        let row = row_of(sequence, kv_head, query2, head2);
        put(row, member + 0u, o2_0 * scale);
        put(row, member + 8u, o2_1 * scale);
        put(row, member + 16u, o2_2 * scale);
        put(row, member + 24u, o2_3 * scale);
    }
    let head3 = first_head + (at_row + 24u) % 1u;
    if (first_query + (at_row + 24u) / 1u < queries && head3 < sharing) {
        let scale = select(1.0 / total3, 0.0, total3 == 0.0);
        let row = row_of(sequence, kv_head, query3, head3);
        put(row, member + 0u, o3_0 * scale);
        put(row, member + 8u, o3_1 * scale);
        put(row, member + 16u, o3_2 * scale);
        put(row, member + 24u, o3_3 * scale);
    }
}
