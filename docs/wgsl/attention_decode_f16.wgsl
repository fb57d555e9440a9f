// attention_decode_f16 1x4096x128,h32/8, contract f16, for wgpu-portable
// geometry: macro=1x256x128,midi=1x64x128,micro=1x4x16,isa=wgsl,vec=8,stages=2,splitk=16,join=launch,heads=2,workgroup=128,tree=shared
// source: default
// constants: queries = 1, kv_heads = 8, sharing = 4, room = 4096, causal = 0, window = 0, cap = 0
// workspace: 266240 bytes
//
// dispatch 1: attend, workgroups of 128, dispatchWorkgroups(16, 16, 1)
//   binding 0: q, 8192 bytes, input of f16
//   binding 1: k, 8388608 bytes, input of f16
//   binding 2: v, 8388608 bytes, input of f16
//   binding 3: lengths, 16 bytes, input of i32
//   binding 5: workspace, 262144 bytes from 0 on, zero before the first call
//   binding 6: workspace, 4096 bytes from 262144 on, zero before the first call
//
// dispatch 2: join, workgroups of 128, dispatchWorkgroups(32, 1, 1)
//   binding 4: out, 8192 bytes, output of f16
//   binding 5: workspace, 262144 bytes from 0 on, zero before the first call
//   binding 6: workspace, 4096 bytes from 262144 on, zero before the first call

@group(0) @binding(0) var<storage, read> q: array<vec2<u32>>;
@group(0) @binding(1) var<storage, read> k: array<vec2<u32>>;
@group(0) @binding(2) var<storage, read> v: array<vec2<u32>>;
@group(0) @binding(3) var<storage, read> lengths: array<u32>;
@group(0) @binding(4) var<storage, read_write> out: array<vec2<u32>>;
override queries: u32;
override kv_heads: u32;
override sharing: u32;
override room: u32;
override causal: u32;
override window: u32;
override cap: u32;
@group(0) @binding(5) var<storage, read_write> parts: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> statistics: array<vec2<f32>>;

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
alias Stored = vec2<u32>;

fn k_at(row: u32, vector: u32) -> Stored {
    return k[row * 32u + vector];
}

fn v_at(row: u32, vector: u32) -> Stored {
    return v[row * 32u + vector];
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

var<workgroup> sum_of_team_parts: array<vec4<f32>, 128>;

fn sum_of_team(value: vec4<f32>, local: u32) -> vec4<f32> {
    let member = local % 8u;
    workgroupBarrier();
    sum_of_team_parts[local] = value;
    for (var left = 4u; left > 0u; left /= 2u) {
        workgroupBarrier();
        if (member < left) {
            sum_of_team_parts[local] = sum_of_team_parts[local] + sum_of_team_parts[local + left];
        }
    }
    workgroupBarrier();
    return sum_of_team_parts[local - member];
}

var<workgroup> largest_of_parts: array<vec2<f32>, 128>;

fn largest_of(value: vec2<f32>, local: u32) -> vec2<f32> {
    workgroupBarrier();
    largest_of_parts[local] = value;
    for (var left = 64u; left > 0u; left /= 2u) {
        workgroupBarrier();
        if (local < left) {
            largest_of_parts[local] = max(largest_of_parts[local], largest_of_parts[local + left]);
        }
    }
    workgroupBarrier();
    return largest_of_parts[0];
}

var<workgroup> sum_of_parts: array<vec2<f32>, 128>;

fn sum_of(value: vec2<f32>, local: u32) -> vec2<f32> {
    workgroupBarrier();
    sum_of_parts[local] = value;
    for (var left = 64u; left > 0u; left /= 2u) {
        workgroupBarrier();
        if (local < left) {
            sum_of_parts[local] = sum_of_parts[local] + sum_of_parts[local + left];
        }
    }
    workgroupBarrier();
    return sum_of_parts[0];
}

// Of every team the sums of 1 query row; of every row the largest score and the sum of weights.
var<workgroup> of_teams: array<vec4<f32>, 512>;
var<workgroup> of_rows: array<vec2<f32>, 2>;

@compute @workgroup_size(128)
fn attend(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let token_tiles = (queries + 0u) / 1u;
    let head_tiles = (sharing + 1u) / 2u;
    let kv_head = group.y / head_tiles;
    let first_head = group.y % head_tiles * 2u;
    let sequence = group.z / token_tiles;
    let first_query = group.z % token_tiles * 1u;
    let length = lengths[sequence];
    let begin = begin_of(length, first_query);
    let end = end_of(length, min(first_query + 0u, queries - 1u));
    let pieces = (end - min(begin, end) + 63u) / 64u;
    let each = (pieces + 15u) / 16u;
    let first = group.x * each;
    let last = min(first + each, pieces);
    let team = local / 8u;
    let member = local % 8u; // of the team
    let four0 = (member + 0u) * 1u + 0u;
    let four1 = (member + 8u) * 1u + 0u;
    let four2 = (member + 16u) * 1u + 0u;
    let four3 = (member + 24u) * 1u + 0u;
    let query0 = min(first_query + 0u, queries - 1u);
    let from0 = begin_of(length, query0);
    let to0 = end_of(length, query0);
    let of0 = row_of(sequence, kv_head, query0, min(first_head + 0u, sharing - 1u));
    let q0_0 = q_at(of0, four0);
    var o0_0 = vec4<f32>(0.0);
    let q0_1 = q_at(of0, four1);
    var o0_1 = vec4<f32>(0.0);
    let q0_2 = q_at(of0, four2);
    var o0_2 = vec4<f32>(0.0);
    let q0_3 = q_at(of0, four3);
    var o0_3 = vec4<f32>(0.0);
    var largest0 = -0x1.fffffep+127f;
    var sum0 = 0.0;
    let query1 = min(first_query + 0u, queries - 1u);
    let from1 = begin_of(length, query1);
    let to1 = end_of(length, query1);
    let of1 = row_of(sequence, kv_head, query1, min(first_head + 1u, sharing - 1u));
    let q1_0 = q_at(of1, four0);
    var o1_0 = vec4<f32>(0.0);
    let q1_1 = q_at(of1, four1);
    var o1_1 = vec4<f32>(0.0);
    let q1_2 = q_at(of1, four2);
    var o1_2 = vec4<f32>(0.0);
    let q1_3 = q_at(of1, four3);
    var o1_3 = vec4<f32>(0.0);
    var largest1 = -0x1.fffffep+127f;
    var sum1 = 0.0;
    var k0_0: Stored;
    var k0_1: Stored;
    var k0_2: Stored;
    var k0_3: Stored;
    var k1_0: Stored;
    var k1_1: Stored;
    var k1_2: Stored;
    var k1_3: Stored;
    var k2_0: Stored;
    var k2_1: Stored;
    var k2_2: Stored;
    var k2_3: Stored;
    var k3_0: Stored;
    var k3_1: Stored;
    var k3_2: Stored;
    var k3_3: Stored;
    if (first < last) {
        let first_token0 = begin + first * 64u + 0u + team;
        let first_row0 = kv_row(sequence, min(first_token0, end - 1u), kv_head);
        let first_token1 = begin + first * 64u + 16u + team;
        let first_row1 = kv_row(sequence, min(first_token1, end - 1u), kv_head);
        let first_token2 = begin + first * 64u + 32u + team;
        let first_row2 = kv_row(sequence, min(first_token2, end - 1u), kv_head);
        let first_token3 = begin + first * 64u + 48u + team;
        let first_row3 = kv_row(sequence, min(first_token3, end - 1u), kv_head);
        k0_0 = k_at(first_row0, member + 0u);
        k0_1 = k_at(first_row0, member + 8u);
        k0_2 = k_at(first_row0, member + 16u);
        k0_3 = k_at(first_row0, member + 24u);
        k1_0 = k_at(first_row1, member + 0u);
        k1_1 = k_at(first_row1, member + 8u);
        k1_2 = k_at(first_row1, member + 16u);
        k1_3 = k_at(first_row1, member + 24u);
        k2_0 = k_at(first_row2, member + 0u);
        k2_1 = k_at(first_row2, member + 8u);
        k2_2 = k_at(first_row2, member + 16u);
        k2_3 = k_at(first_row2, member + 24u);
        k3_0 = k_at(first_row3, member + 0u);
        k3_1 = k_at(first_row3, member + 8u);
        k3_2 = k_at(first_row3, member + 16u);
        k3_3 = k_at(first_row3, member + 24u);
    }
    for (var piece = first; piece < last; piece++) {
        let token0 = begin + piece * 64u + 0u + team;
        let row0 = kv_row(sequence, min(token0, end - 1u), kv_head);
        let token1 = begin + piece * 64u + 16u + team;
        let row1 = kv_row(sequence, min(token1, end - 1u), kv_head);
        let token2 = begin + piece * 64u + 32u + team;
        let row2 = kv_row(sequence, min(token2, end - 1u), kv_head);
        let token3 = begin + piece * 64u + 48u + team;
        let row3 = kv_row(sequence, min(token3, end - 1u), kv_head);
        let v0_0 = v_at(row0, member + 0u);
        let v0_1 = v_at(row0, member + 8u);
        let v0_2 = v_at(row0, member + 16u);
        let v0_3 = v_at(row0, member + 24u);
        let v1_0 = v_at(row1, member + 0u);
        let v1_1 = v_at(row1, member + 8u);
        let v1_2 = v_at(row1, member + 16u);
        let v1_3 = v_at(row1, member + 24u);
        let v2_0 = v_at(row2, member + 0u);
        let v2_1 = v_at(row2, member + 8u);
        let v2_2 = v_at(row2, member + 16u);
        let v2_3 = v_at(row2, member + 24u);
        let v3_0 = v_at(row3, member + 0u);
        let v3_1 = v_at(row3, member + 8u);
        let v3_2 = v_at(row3, member + 16u);
        let v3_3 = v_at(row3, member + 24u);
        let key0_0 = from_halves(k0_0);
        let key0_1 = from_halves(k0_1);
        let key0_2 = from_halves(k0_2);
        let key0_3 = from_halves(k0_3);
        let key1_0 = from_halves(k1_0);
        let key1_1 = from_halves(k1_1);
        let key1_2 = from_halves(k1_2);
        let key1_3 = from_halves(k1_3);
        let key2_0 = from_halves(k2_0);
        let key2_1 = from_halves(k2_1);
        let key2_2 = from_halves(k2_2);
        let key2_3 = from_halves(k2_3);
        let key3_0 = from_halves(k3_0);
        let key3_1 = from_halves(k3_1);
        let key3_2 = from_halves(k3_2);
        let key3_3 = from_halves(k3_3);
        var product0 = dot(q0_0, key0_0);
        product0 += dot(q0_1, key0_1);
        product0 += dot(q0_2, key0_2);
        product0 += dot(q0_3, key0_3);
        var product1 = dot(q1_0, key0_0);
        product1 += dot(q1_1, key0_1);
        product1 += dot(q1_2, key0_2);
        product1 += dot(q1_3, key0_3);
        var product2 = dot(q0_0, key1_0);
        product2 += dot(q0_1, key1_1);
        product2 += dot(q0_2, key1_2);
        product2 += dot(q0_3, key1_3);
        var product3 = dot(q1_0, key1_0);
        product3 += dot(q1_1, key1_1);
        product3 += dot(q1_2, key1_2);
        product3 += dot(q1_3, key1_3);
        var product4 = dot(q0_0, key2_0);
        product4 += dot(q0_1, key2_1);
        product4 += dot(q0_2, key2_2);
        product4 += dot(q0_3, key2_3);
        var product5 = dot(q1_0, key2_0);
        product5 += dot(q1_1, key2_1);
        product5 += dot(q1_2, key2_2);
        product5 += dot(q1_3, key2_3);
        var product6 = dot(q0_0, key3_0);
        product6 += dot(q0_1, key3_1);
        product6 += dot(q0_2, key3_2);
        product6 += dot(q0_3, key3_3);
        var product7 = dot(q1_0, key3_0);
        product7 += dot(q1_1, key3_1);
        product7 += dot(q1_2, key3_2);
        product7 += dot(q1_3, key3_3);
        let score_of0 = sum_of_team(vec4<f32>(product0, product1, product2, product3), local);
        let score0 = score_of0.x;
        let score1 = score_of0.y;
        let score2 = score_of0.z;
        let score3 = score_of0.w;
        let score_of4 = sum_of_team(vec4<f32>(product4, product5, product6, product7), local);
        let score4 = score_of4.x;
        let score5 = score_of4.y;
        let score6 = score_of4.z;
        let score7 = score_of4.w;
        if (piece + 1u < last) {
            let next_token0 = begin + (piece + 1u) * 64u + 0u + team;
            let next_row0 = kv_row(sequence, min(next_token0, end - 1u), kv_head);
            let next_token1 = begin + (piece + 1u) * 64u + 16u + team;
            let next_row1 = kv_row(sequence, min(next_token1, end - 1u), kv_head);
            let next_token2 = begin + (piece + 1u) * 64u + 32u + team;
            let next_row2 = kv_row(sequence, min(next_token2, end - 1u), kv_head);
            let next_token3 = begin + (piece + 1u) * 64u + 48u + team;
            let next_row3 = kv_row(sequence, min(next_token3, end - 1u), kv_head);
            k0_0 = k_at(next_row0, member + 0u);
            k0_1 = k_at(next_row0, member + 8u);
            k0_2 = k_at(next_row0, member + 16u);
            k0_3 = k_at(next_row0, member + 24u);
            k1_0 = k_at(next_row1, member + 0u);
            k1_1 = k_at(next_row1, member + 8u);
            k1_2 = k_at(next_row1, member + 16u);
            k1_3 = k_at(next_row1, member + 24u);
            k2_0 = k_at(next_row2, member + 0u);
            k2_1 = k_at(next_row2, member + 8u);
            k2_2 = k_at(next_row2, member + 16u);
            k2_3 = k_at(next_row2, member + 24u);
            k3_0 = k_at(next_row3, member + 0u);
            k3_1 = k_at(next_row3, member + 8u);
            k3_2 = k_at(next_row3, member + 16u);
            k3_3 = k_at(next_row3, member + 24u);
        }
        let seen0 = token0 >= from0 && token0 < to0;
        let logit0 = select(-0x1.fffffep+127f, capped(score0), seen0);
        let seen1 = token0 >= from1 && token0 < to1;
        let logit1 = select(-0x1.fffffep+127f, capped(score1), seen1);
        let seen2 = token1 >= from0 && token1 < to0;
        let logit2 = select(-0x1.fffffep+127f, capped(score2), seen2);
        let seen3 = token1 >= from1 && token1 < to1;
        let logit3 = select(-0x1.fffffep+127f, capped(score3), seen3);
        let seen4 = token2 >= from0 && token2 < to0;
        let logit4 = select(-0x1.fffffep+127f, capped(score4), seen4);
        let seen5 = token2 >= from1 && token2 < to1;
        let logit5 = select(-0x1.fffffep+127f, capped(score5), seen5);
        let seen6 = token3 >= from0 && token3 < to0;
        let logit6 = select(-0x1.fffffep+127f, capped(score6), seen6);
        let seen7 = token3 >= from1 && token3 < to1;
        let logit7 = select(-0x1.fffffep+127f, capped(score7), seen7);
        var now0 = max(largest0, logit0);
        now0 = max(now0, logit2);
        now0 = max(now0, logit4);
        now0 = max(now0, logit6);
        var now1 = max(largest1, logit1);
        now1 = max(now1, logit3);
        now1 = max(now1, logit5);
        now1 = max(now1, logit7);
        if (now0 > largest0 || now1 > largest1) {
            let shrink0 = exp(largest0 - now0);
            largest0 = now0;
            sum0 *= shrink0;
            o0_0 *= shrink0;
            o0_1 *= shrink0;
            o0_2 *= shrink0;
            o0_3 *= shrink0;
            let shrink1 = exp(largest1 - now1);
            largest1 = now1;
            sum1 *= shrink1;
            o1_0 *= shrink1;
            o1_1 *= shrink1;
            o1_2 *= shrink1;
            o1_3 *= shrink1;
        }
        let weight0 = select(0.0, exp(logit0 - largest0), seen0);
        sum0 += weight0;
        let weight1 = select(0.0, exp(logit1 - largest1), seen1);
        sum1 += weight1;
        let weight2 = select(0.0, exp(logit2 - largest0), seen2);
        sum0 += weight2;
        let weight3 = select(0.0, exp(logit3 - largest1), seen3);
        sum1 += weight3;
        let weight4 = select(0.0, exp(logit4 - largest0), seen4);
        sum0 += weight4;
        let weight5 = select(0.0, exp(logit5 - largest1), seen5);
        sum1 += weight5;
        let weight6 = select(0.0, exp(logit6 - largest0), seen6);
        sum0 += weight6;
        let weight7 = select(0.0, exp(logit7 - largest1), seen7);
        sum1 += weight7;
        let value0_0 = from_halves(v0_0);
        o0_0 = fma(vec4<f32>(weight0), value0_0, o0_0);
        o1_0 = fma(vec4<f32>(weight1), value0_0, o1_0);
        let value1_0 = from_halves(v1_0);
        o0_0 = fma(vec4<f32>(weight2), value1_0, o0_0);
        o1_0 = fma(vec4<f32>(weight3), value1_0, o1_0);
        let value2_0 = from_halves(v2_0);
        o0_0 = fma(vec4<f32>(weight4), value2_0, o0_0);
        o1_0 = fma(vec4<f32>(weight5), value2_0, o1_0);
        let value3_0 = from_halves(v3_0);
        o0_0 = fma(vec4<f32>(weight6), value3_0, o0_0);
        o1_0 = fma(vec4<f32>(weight7), value3_0, o1_0);
        let value0_1 = from_halves(v0_1);
        o0_1 = fma(vec4<f32>(weight0), value0_1, o0_1);
        o1_1 = fma(vec4<f32>(weight1), value0_1, o1_1);
        let value1_1 = from_halves(v1_1);
        o0_1 = fma(vec4<f32>(weight2), value1_1, o0_1);
        o1_1 = fma(vec4<f32>(weight3), value1_1, o1_1);
        let value2_1 = from_halves(v2_1);
        o0_1 = fma(vec4<f32>(weight4), value2_1, o0_1);
        o1_1 = fma(vec4<f32>(weight5), value2_1, o1_1);
        let value3_1 = from_halves(v3_1);
        o0_1 = fma(vec4<f32>(weight6), value3_1, o0_1);
        o1_1 = fma(vec4<f32>(weight7), value3_1, o1_1);
        let value0_2 = from_halves(v0_2);
        o0_2 = fma(vec4<f32>(weight0), value0_2, o0_2);
        o1_2 = fma(vec4<f32>(weight1), value0_2, o1_2);
        let value1_2 = from_halves(v1_2);
        o0_2 = fma(vec4<f32>(weight2), value1_2, o0_2);
        o1_2 = fma(vec4<f32>(weight3), value1_2, o1_2);
        let value2_2 = from_halves(v2_2);
        o0_2 = fma(vec4<f32>(weight4), value2_2, o0_2);
        o1_2 = fma(vec4<f32>(weight5), value2_2, o1_2);
        let value3_2 = from_halves(v3_2);
        o0_2 = fma(vec4<f32>(weight6), value3_2, o0_2);
        o1_2 = fma(vec4<f32>(weight7), value3_2, o1_2);
        let value0_3 = from_halves(v0_3);
        o0_3 = fma(vec4<f32>(weight0), value0_3, o0_3);
        o1_3 = fma(vec4<f32>(weight1), value0_3, o1_3);
        let value1_3 = from_halves(v1_3);
        o0_3 = fma(vec4<f32>(weight2), value1_3, o0_3);
        o1_3 = fma(vec4<f32>(weight3), value1_3, o1_3);
        let value2_3 = from_halves(v2_3);
        o0_3 = fma(vec4<f32>(weight4), value2_3, o0_3);
        o1_3 = fma(vec4<f32>(weight5), value2_3, o1_3);
        let value3_3 = from_halves(v3_3);
        o0_3 = fma(vec4<f32>(weight6), value3_3, o0_3);
        o1_3 = fma(vec4<f32>(weight7), value3_3, o1_3);
    }
    let top_of0 = largest_of(vec2<f32>(largest0, largest1), local);
    let top0 = top_of0.x;
    let top1 = top_of0.y;
    let shrink0 = exp(largest0 - top0);
    let own0 = select(0.0, sum0 * shrink0, member == 0u);
    let shrink1 = exp(largest1 - top1);
    let own1 = select(0.0, sum1 * shrink1, member == 0u);
    let total_of0 = sum_of(vec2<f32>(own0, own1), local);
    let total0 = total_of0.x;
    let total1 = total_of0.y;
    if (local == 0u) {
        of_rows[0] = vec2<f32>(top0, total0);
        of_rows[1] = vec2<f32>(top1, total1);
    }
    workgroupBarrier();
    of_teams[team * 32u + four0 + 0u] = o0_0 * shrink0;
    of_teams[team * 32u + four1 + 0u] = o0_1 * shrink0;
    of_teams[team * 32u + four2 + 0u] = o0_2 * shrink0;
    of_teams[team * 32u + four3 + 0u] = o0_3 * shrink0;
    workgroupBarrier();
    for (var i = local; i < 32u; i += 128u) {
        let row = i / 32u;
        let four = i % 32u;
        var all = of_teams[row * 512u + four];
        for (var j = 1u; j < 16u; j++) {
            all += of_teams[row * 512u + j * 32u + four];
        }
        let query = first_query + (row + 0u) / 2u;
        let head = first_head + (row + 0u) % 2u;
        if (query < queries && head < sharing) {
            let at = row_of(sequence, kv_head, query, head);
            parts[(at * 16u + group.x) * 32u + four] = all;
            if (four == 0u) {
                statistics[at * 16u + group.x] = of_rows[row + 0u];
            }
        }
    }
    workgroupBarrier();
    of_teams[team * 32u + four0 + 0u] = o1_0 * shrink1;
    of_teams[team * 32u + four1 + 0u] = o1_1 * shrink1;
    of_teams[team * 32u + four2 + 0u] = o1_2 * shrink1;
    of_teams[team * 32u + four3 + 0u] = o1_3 * shrink1;
    workgroupBarrier();
    for (var i = local; i < 32u; i += 128u) {
        let row = i / 32u;
        let four = i % 32u;
        var all = of_teams[row * 512u + four];
        for (var j = 1u; j < 16u; j++) {
            all += of_teams[row * 512u + j * 32u + four];
        }
        let query = first_query + (row + 1u) / 2u;
        let head = first_head + (row + 1u) % 2u;
        if (query < queries && head < sharing) {
            let at = row_of(sequence, kv_head, query, head);
            parts[(at * 16u + group.x) * 32u + four] = all;
            if (four == 0u) {
                statistics[at * 16u + group.x] = of_rows[row + 1u];
            }
        }
    }
}

// Of each part of a row: the largest score and the sum, then what its values are multiplied by.
var<workgroup> of_parts: array<vec2<f32>, 16>;
var<workgroup> weights: array<f32, 16>;
var<workgroup> shares: array<vec4<f32>, 128>;

@compute @workgroup_size(128)
fn join(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = group.x;
    let four = local % 32u;
    let share = min(local / 32u, 3u);
    let part0 = parts[(row * 16u + share + 0u) * 32u + four];
    let part1 = parts[(row * 16u + share + 4u) * 32u + four];
    let part2 = parts[(row * 16u + share + 8u) * 32u + four];
    let part3 = parts[(row * 16u + share + 12u) * 32u + four];
    if (local < 16u) {
        of_parts[local] = statistics[row * 16u + local];
    }
    workgroupBarrier();
    var top = -0x1.fffffep+127f;
    for (var i = 0u; i < 16u; i++) {
        top = max(top, of_parts[i].x);
    }
    if (local < 16u) {
        weights[local] = exp(of_parts[local].x - top);
    }
    workgroupBarrier();
    var total = 0.0;
    for (var i = 0u; i < 16u; i++) {
        total += of_parts[i].y * weights[i];
    }
    var all = part0 * weights[share];
    all += part1 * weights[share + 4u];
    all += part2 * weights[share + 8u];
    all += part3 * weights[share + 12u];
    shares[local] = all;
    workgroupBarrier();
    if (local < 32u) {
        for (var i = 1u; i < 4u; i++) {
            all += shares[i * 32u + four];
        }
        put(row, four, all * select(1.0 / total, 0.0, total == 0.0));
    }
}
