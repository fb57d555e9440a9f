// attention_decode_f16 1x4096x128,h32/8, contract f16, for wgpu-portable
// geometry: macro=1x128x128,midi=1x8x128,micro=1x1x8,isa=wgsl,vec=16,stages=1,splitk=32,join=launch,heads=4,workgroup=128,tree=shared
// source: default
// constants: queries = 1, kv_heads = 8, sharing = 4, room = 4096, causal = 0, window = 0, cap = 0, rows = 32
// workspace: 532480 bytes
//
// dispatch 1: attend, workgroups of 128, dispatchWorkgroups(32, 8, 1)
//   binding 0: q, 8192 bytes, input of f16
//   binding 1: k, 8388608 bytes, input of f16
//   binding 2: v, 8388608 bytes, input of f16
//   binding 3: lengths, 16 bytes, input of i32
//   binding 5: workspace, 524288 bytes from 0 on, zero before the first call
//   binding 6: workspace, 8192 bytes from 524288 on, zero before the first call
//
// dispatch 2: join, workgroups of 128, dispatchWorkgroups(8, 1, 1)
//   binding 4: out, 8192 bytes, output of f16
//   binding 5: workspace, 524288 bytes from 0 on, zero before the first call
//   binding 6: workspace, 8192 bytes from 524288 on, zero before the first call

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
@group(0) @binding(5) var<storage, read_write> parts: array<vec4<f32>>;
@group(0) @binding(6) var<storage, read_write> statistics: array<vec2<f32>>;
override rows: u32;

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

var<workgroup> sum_of_team_parts: array<vec4<f32>, 128>;

fn sum_of_team(value: vec4<f32>, local: u32) -> vec4<f32> {
    let member = local % 16u;
    workgroupBarrier();
    sum_of_team_parts[local] = value;
    for (var left = 8u; left > 0u; left /= 2u) {
        workgroupBarrier();
        if (member < left) {
            sum_of_team_parts[local] = sum_of_team_parts[local] + sum_of_team_parts[local + left];
        }
    }
    workgroupBarrier();
    return sum_of_team_parts[local - member];
}

var<workgroup> largest_of_parts: array<vec4<f32>, 128>;

fn largest_of(value: vec4<f32>, local: u32) -> vec4<f32> {
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

var<workgroup> sum_of_parts: array<vec4<f32>, 128>;

fn sum_of(value: vec4<f32>, local: u32) -> vec4<f32> {
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

// Of every team the sums of a query row.
var<workgroup> of_teams: array<vec4<f32>, 256>;

@compute @workgroup_size(128)
fn attend(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let token_tiles = (queries + 0u) / 1u;
    let head_tiles = (sharing + 3u) / 4u;
    let kv_head = group.y / head_tiles;
    let first_head = group.y % head_tiles * 4u;
    let sequence = group.z / token_tiles;
    let first_query = group.z % token_tiles * 1u;
    let length = lengths[sequence];
    let begin = begin_of(length, first_query);
    let end = end_of(length, min(first_query + 0u, queries - 1u));
    let pieces = (end - min(begin, end) + 7u) / 8u;
    let each = (pieces + 31u) / 32u;
    let first = group.x * each;
    let last = min(first + each, pieces);
    let team = local / 16u;
    let member = local % 16u; // of the team
    let four0 = (member + 0u) * 2u + 0u;
    let four1 = (member + 0u) * 2u + 1u;
    let query0 = min(first_query + 0u, queries - 1u);
    let from0 = begin_of(length, query0);
    let to0 = end_of(length, query0);
    let of0 = row_of(sequence, kv_head, query0, min(first_head + 0u, sharing - 1u));
    let q0_0 = q_at(of0, four0);
    var o0_0 = vec4<f32>(0.0);
    let q0_1 = q_at(of0, four1);
    var o0_1 = vec4<f32>(0.0);
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
    var largest1 = -0x1.fffffep+127f;
    var sum1 = 0.0;
    let query2 = min(first_query + 0u, queries - 1u);
    let from2 = begin_of(length, query2);
    let to2 = end_of(length, query2);
    let of2 = row_of(sequence, kv_head, query2, min(first_head + 2u, sharing - 1u));
    let q2_0 = q_at(of2, four0);
    var o2_0 = vec4<f32>(0.0);
    let q2_1 = q_at(of2, four1);
    var o2_1 = vec4<f32>(0.0);
    var largest2 = -0x1.fffffep+127f;
    var sum2 = 0.0;
    let query3 = min(first_query + 0u, queries - 1u);
    let from3 = begin_of(length, query3);
    let to3 = end_of(length, query3);
    let of3 = row_of(sequence, kv_head, query3, min(first_head + 3u, sharing - 1u));
    let q3_0 = q_at(of3, four0);
    var o3_0 = vec4<f32>(0.0);
    let q3_1 = q_at(of3, four1);
    var o3_1 = vec4<f32>(0.0);
    var largest3 = -0x1.fffffep+127f;
    var sum3 = 0.0;
    for (var piece = first; piece < last; piece++) {
        let token0 = begin + piece * 8u + 0u + team;
        let row0 = kv_row(sequence, min(token0, end - 1u), kv_head);
        let k0_0 = k_at(row0, member + 0u);
        let key0_0 = from_halves(k0_0.xy);
        let key0_1 = from_halves(k0_0.zw);
        var product0 = dot(q0_0, key0_0);
        product0 += dot(q0_1, key0_1);
        var product1 = dot(q1_0, key0_0);
        product1 += dot(q1_1, key0_1);
        var product2 = dot(q2_0, key0_0);
        product2 += dot(q2_1, key0_1);
        var product3 = dot(q3_0, key0_0);
        product3 += dot(q3_1, key0_1);
        let score_of0 = sum_of_team(vec4<f32>(product0, product1, product2, product3), local);
        let score0 = score_of0.x;
        let score1 = score_of0.y;
        let score2 = score_of0.z;
        let score3 = score_of0.w;
        let v0_0 = v_at(row0, member + 0u);
        let seen0 = token0 >= from0 && token0 < to0;
        let logit0 = select(-0x1.fffffep+127f, capped(score0), seen0);
        let seen1 = token0 >= from1 && token0 < to1;
        let logit1 = select(-0x1.fffffep+127f, capped(score1), seen1);
        let seen2 = token0 >= from2 && token0 < to2;
        let logit2 = select(-0x1.fffffep+127f, capped(score2), seen2);
        let seen3 = token0 >= from3 && token0 < to3;
        let logit3 = select(-0x1.fffffep+127f, capped(score3), seen3);
        var now0 = max(largest0, logit0);
        var now1 = max(largest1, logit1);
        var now2 = max(largest2, logit2);
        var now3 = max(largest3, logit3);
        if (now0 > largest0 || now1 > largest1 || now2 > largest2 || now3 > largest3) {
            let shrink0 = exp(largest0 - now0);
            largest0 = now0;
            sum0 *= shrink0;
            o0_0 *= shrink0;
            o0_1 *= shrink0;
            let shrink1 = exp(largest1 - now1);
            largest1 = now1;
            sum1 *= shrink1;
            o1_0 *= shrink1;
            o1_1 *= shrink1;
            let shrink2 = exp(largest2 - now2);
            largest2 = now2;
            sum2 *= shrink2;
            o2_0 *= shrink2;
            o2_1 *= shrink2;
            let shrink3 = exp(largest3 - now3);
            largest3 = now3;
            sum3 *= shrink3;
            o3_0 *= shrink3;
            o3_1 *= shrink3;
        }
        let weight0 = select(0.0, exp(logit0 - largest0), seen0);
        sum0 += weight0;
        let weight1 = select(0.0, exp(logit1 - largest1), seen1);
        sum1 += weight1;
        let weight2 = select(0.0, exp(logit2 - largest2), seen2);
        sum2 += weight2;
        let weight3 = select(0.0, exp(logit3 - largest3), seen3);
        sum3 += weight3;
        let value0_0 = from_halves(v0_0.xy);
        o0_0 = fma(vec4<f32>(weight0), value0_0, o0_0);
        o1_0 = fma(vec4<f32>(weight1), value0_0, o1_0);
        o2_0 = fma(vec4<f32>(weight2), value0_0, o2_0);
        o3_0 = fma(vec4<f32>(weight3), value0_0, o3_0);
        let value0_1 = from_halves(v0_0.zw);
        o0_1 = fma(vec4<f32>(weight0), value0_1, o0_1);
        o1_1 = fma(vec4<f32>(weight1), value0_1, o1_1);
        o2_1 = fma(vec4<f32>(weight2), value0_1, o2_1);
        o3_1 = fma(vec4<f32>(weight3), value0_1, o3_1);
    }
    let top_of0 = largest_of(vec4<f32>(largest0, largest1, largest2, largest3), local);
    let top0 = top_of0.x;
    let top1 = top_of0.y;
    let top2 = top_of0.z;
    let top3 = top_of0.w;
    let shrink0 = exp(largest0 - top0);
    let own0 = select(0.0, sum0 * shrink0, member == 0u);
    let shrink1 = exp(largest1 - top1);
    let own1 = select(0.0, sum1 * shrink1, member == 0u);
    let shrink2 = exp(largest2 - top2);
    let own2 = select(0.0, sum2 * shrink2, member == 0u);
    let shrink3 = exp(largest3 - top3);
    let own3 = select(0.0, sum3 * shrink3, member == 0u);
    let total_of0 = sum_of(vec4<f32>(own0, own1, own2, own3), local);
    let total0 = total_of0.x;
    let total1 = total_of0.y;
    let total2 = total_of0.z;
    let total3 = total_of0.w;
    workgroupBarrier();
    of_teams[team * 32u + four0] = o0_0 * shrink0;
    of_teams[team * 32u + four1] = o0_1 * shrink0;
    workgroupBarrier();
    if (first_query + 0u < queries && first_head + 0u < sharing) {
        for (var four = local; four < 32u; four += 128u) {
            var all = of_teams[four];
            for (var i = 1u; i < 8u; i++) {
                all += of_teams[i * 32u + four];
            }
            parts[(of0 * 32u + group.x) * 32u + four] = all;
        }
        if (local == 0u) {
            statistics[of0 * 32u + group.x] = vec2<f32>(top0, total0);
        }
    }
    workgroupBarrier();
    of_teams[team * 32u + four0] = o1_0 * shrink1;
    of_teams[team * 32u + four1] = o1_1 * shrink1;
    workgroupBarrier();
    if (first_query + 0u < queries && first_head + 1u < sharing) {
        for (var four = local; four < 32u; four += 128u) {
            var all = of_teams[four];
            for (var i = 1u; i < 8u; i++) {
                all += of_teams[i * 32u + four];
            }
            parts[(of1 * 32u + group.x) * 32u + four] = all;
        }
        if (local == 0u) {
            statistics[of1 * 32u + group.x] = vec2<f32>(top1, total1);
        }
    }
    workgroupBarrier();
    of_teams[team * 32u + four0] = o2_0 * shrink2;
    of_teams[team * 32u + four1] = o2_1 * shrink2;
    workgroupBarrier();
    if (first_query + 0u < queries && first_head + 2u < sharing) {
        for (var four = local; four < 32u; four += 128u) {
            var all = of_teams[four];
            for (var i = 1u; i < 8u; i++) {
                all += of_teams[i * 32u + four];
            }
            parts[(of2 * 32u + group.x) * 32u + four] = all;
        }
        if (local == 0u) {
            statistics[of2 * 32u + group.x] = vec2<f32>(top2, total2);
        }
    }
    workgroupBarrier();
    of_teams[team * 32u + four0] = o3_0 * shrink3;
    of_teams[team * 32u + four1] = o3_1 * shrink3;
    workgroupBarrier();
    if (first_query + 0u < queries && first_head + 3u < sharing) {
        for (var four = local; four < 32u; four += 128u) {
            var all = of_teams[four];
            for (var i = 1u; i < 8u; i++) {
                all += of_teams[i * 32u + four];
            }
            parts[(of3 * 32u + group.x) * 32u + four] = all;
        }
        if (local == 0u) {
            statistics[of3 * 32u + group.x] = vec2<f32>(top3, total3);
        }
    }
}

@compute @workgroup_size(128)
fn join(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let at = group.x * 128u + local;
    let row = at / 32u;
    let four = at % 32u;
    if (row < rows) {
        var top = -0x1.fffffep+127f;
        for (var i = 0u; i < 32u; i++) {
            top = max(top, statistics[row * 32u + i].x);
        }
        var total = 0.0;
        var all = vec4<f32>(0.0);
        for (var i = 0u; i < 32u; i++) {
            let part = statistics[row * 32u + i];
            let shrink = exp(part.x - top);
            total += part.y * shrink;
            all += parts[(row * 32u + i) * 32u + four] * shrink;
        }
        put(row, four, all * select(1.0 / total, 0.0, total == 0.0));
    }
}
