// q4k_matmul 8x4096x4096, contract q8, for wgpu-portable
// geometry: macro=8x16x256,midi=8x16x256,micro=4x2x32,isa=wgsl,layout=native,stages=1,splitk=1,join=none,workgroup=16
// source: default
// constants: rows = 4096, tokens = 8, pieces = 128, steps = 16, blocks = 16, x_groups = 1024
// workspace: 49152 bytes
//
// dispatch 1: prepare, workgroups of 64, dispatchWorkgroups(16, 1, 1)
//   binding 0: x, 131072 bytes, input of f32
//   binding 3: workspace, 32768 bytes from 0 on, zero before the first call
//   binding 4: workspace, 16384 bytes from 32768 on, zero before the first call
//
// dispatch 2: matmul, workgroups of 16, dispatchWorkgroups(256, 1, 1)
//   binding 2: weights, 9437184 bytes, weights of blocks
//   binding 1: y, 131072 bytes, output of f32
//   binding 3: workspace, 32768 bytes from 0 on, zero before the first call
//   binding 4: workspace, 16384 bytes from 32768 on, zero before the first call

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
override rows: u32;
override tokens: u32;
override pieces: u32;
override steps: u32;
@group(0) @binding(2) var<storage, read> weights: array<vec4<u32>>;
override blocks: u32;

fn bytes16(at: u32) -> vec4<u32> {
    return weights[at];
}

// Which sixteen of its row a piece's low values are; the high ones are 2 on.
fn first_of(piece: u32) -> u32 {
    return (piece >> 1u) * 4u + (piece & 1u);
}

// A piece of a row, as loaded.
struct Stored {
    codes: vec4<u32>,
    scales: vec4<u32>,
}

fn load(row: u32, piece: u32) -> Stored {
    var stored: Stored;
    let part = piece & 7u;
    let block = (row * blocks + (piece >> 3u)) * 9u;
    let codes_at = block + 1u + part * 1u;
    stored.codes = bytes16(codes_at);
    stored.scales = bytes16(block + 0u);
    return stored;
}

// The same as codes: 16 low values, 16 high ones, four a word; a value is scale * code - offset.
struct Piece {
    low: vec4<u32>,
    high: vec4<u32>,
    scale: vec2<f32>,
    offset: vec2<f32>,
}

fn decode(stored: Stored, piece: u32) -> Piece {
    var out: Piece;
    let part = piece & 7u;
    out.low = stored.codes & vec4<u32>(0x0f0f0f0fu);
    out.high = (stored.codes >> vec4<u32>(4u)) & vec4<u32>(0x0f0f0f0fu);
    let d = unpack2x16float(stored.scales.x);
    let words = stored.scales.yzw >> vec3<u32>((part & 2u) * 8u);
    let is_first = part < 4u;
    let scales = select((words.z & 0x0f0fu) | ((words.x & 0xc0c0u) >> 2u), words.x & 0x3f3fu, is_first);
    let mins = select(((words.z >> 4u) & 0x0f0fu) | ((words.y & 0xc0c0u) >> 2u), words.y & 0x3f3fu, is_first);
    out.scale = d.x * vec2<f32>(vec2<u32>(scales & 255u, scales >> 8u));
    out.offset = d.y * vec2<f32>(vec2<u32>(mins & 255u, mins >> 8u));
    return out;
}
@group(0) @binding(3) var<storage, read_write> all_codes: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> all_scales: array<vec2<f32>>;

fn size_of(values: vec4<f32>) -> vec4<u32> {
    return bitcast<vec4<u32>>(values) & vec4<u32>(0x7fffffffu);
}

// The scale of values whose sizes are at most these, and what they are multiplied by.
fn scale_of(most: vec4<u32>) -> vec2<f32> {
    let bits = max(max(most.x, most.y), max(most.z, most.w));
    let is_large = bits >= 0x03fe0000u; // 127 * 2^-126
    let is_coded = is_large && bits < 0x7f800000u;
    let scale = select(0.0, bitcast<f32>(bits) * (1.0 / 127.0), is_large);
    let rough = 127.0 / bitcast<f32>(select(0x3f800000u, bits, is_coded));
    let inverse = select(0.0, fma(rough, fma(-scale, rough, 1.0), rough), is_coded);
    return vec2<f32>(scale, inverse);
}

fn pack(codes: vec4<i32>) -> u32 {
    let bytes = (bitcast<vec4<u32>>(codes) & vec4<u32>(255u)) << vec4<u32>(0u, 8u, 16u, 24u);
    return bytes.x | bytes.y | bytes.z | bytes.w;
}

// 32 activations, from vector x_at on, to codes of 8 bits with one scale.
fn quantize(x_at: u32, to: u32) {
    let x0 = x[x_at + 0u];
    let x1 = x[x_at + 1u];
    let x2 = x[x_at + 2u];
    let x3 = x[x_at + 3u];
    let x4 = x[x_at + 4u];
    let x5 = x[x_at + 5u];
    let x6 = x[x_at + 6u];
    let x7 = x[x_at + 7u];
    var most = size_of(x0);
    most = max(most, size_of(x1));
    most = max(most, size_of(x2));
    most = max(most, size_of(x3));
    most = max(most, size_of(x4));
    most = max(most, size_of(x5));
    most = max(most, size_of(x6));
    most = max(most, size_of(x7));
    let both = scale_of(most);
    let scale = both.x;
    let codes0 = vec4<i32>(round(x0 * both.y));
    let codes1 = vec4<i32>(round(x1 * both.y));
    let codes2 = vec4<i32>(round(x2 * both.y));
    let codes3 = vec4<i32>(round(x3 * both.y));
    let codes4 = vec4<i32>(round(x4 * both.y));
    let codes5 = vec4<i32>(round(x5 * both.y));
    let codes6 = vec4<i32>(round(x6 * both.y));
    let codes7 = vec4<i32>(round(x7 * both.y));
    let sum0 = codes0 + codes1 + codes2 + codes3;
    let at0 = (to + 0u);
    all_codes[at0] = vec4<u32>(pack(codes0), pack(codes1), pack(codes2), pack(codes3));
    all_scales[at0] = vec2<f32>(scale, scale * f32(sum0.x + sum0.y + sum0.z + sum0.w));
    let sum1 = codes4 + codes5 + codes6 + codes7;
    let at1 = (to + 1u);
    all_codes[at1] = vec4<u32>(pack(codes4), pack(codes5), pack(codes6), pack(codes7));
    all_scales[at1] = vec2<f32>(scale, scale * f32(sum1.x + sum1.y + sum1.z + sum1.w));
}
override x_groups: u32;

@compute @workgroup_size(64)
fn prepare(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let i = group.x * 64u + local;
    if (i < x_groups) {
        quantize(i * 8u, i * 2u);
    }
}

fn signed_of(codes: u32) -> vec4<i32> {
    let up = vec4<u32>(codes) << vec4<u32>(24u, 16u, 8u, 0u);
    return bitcast<vec4<i32>>(up) >> vec4<u32>(24u);
}

fn dot_four(a: u32, b: u32) -> i32 {
    let products = signed_of(a) * signed_of(b);
    return products.x + products.y + products.z + products.w;
}

fn dot_of(a: vec4<u32>, b: vec4<u32>) -> i32 {
    return dot_four(a.x, b.x) + dot_four(a.y, b.y) + dot_four(a.z, b.z) + dot_four(a.w, b.w);
}

// A step's codes, sixteen of a row or a token each, and of 32 values the scale and the offset; for tokens the scale
// times the sum of the codes, too.  Those that lie across k follow each other.
var<workgroup> w_codes: array<vec4<u32>, 272>;
var<workgroup> w_scales: array<vec2<f32>, 136>;
var<workgroup> x_codes: array<vec4<u32>, 144>;
var<workgroup> x_scales: array<vec2<f32>, 72>;

// A piece of a row of the tile to workgroup memory.
fn keep(stored: Stored, row: u32, piece: u32, step: u32) {
    let w = decode(stored, piece);
    let s = first_of(piece) - step * 16u;
    w_codes[s * 17u + row] = w.low;
    w_codes[(s + 2u) * 17u + row] = w.high;
    if ((piece & 1u) == 0u) {
        w_scales[(s / 2u + 0u) * 17u + row] = vec2<f32>(w.scale.x, w.offset.x);
        w_scales[(s / 2u + 1u) * 17u + row] = vec2<f32>(w.scale.y, w.offset.y);
    }
}

fn codes_at(token: u32, sixteen: u32) -> vec4<u32> {
    let at = min(token, tokens - 1u) * pieces * 2u + min(sixteen, pieces * 2u - 1u);
    return select(vec4<u32>(0u), all_codes[at], sixteen < pieces * 2u);
}

fn scales_at_run(token: u32, run: u32) -> vec2<f32> {
    let at = (min(token, tokens - 1u) * pieces + min(run, pieces - 1u)) * 2u;
    let scale = all_scales[at];
    return select(vec2<f32>(0.0), vec2<f32>(scale.x, scale.y + all_scales[at + 1u].y), run < pieces);
}

@compute @workgroup_size(16)
fn matmul(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first_row = group.x * 16u;
    let first_token = group.y * 8u;
    let at_n = local % 8u;
    let at_m = local / 8u;
    var sum0_0 = 0.0;
    var sum0_1 = 0.0;
    var sum1_0 = 0.0;
    var sum1_1 = 0.0;
    var sum2_0 = 0.0;
    var sum2_1 = 0.0;
    var sum3_0 = 0.0;
    var sum3_1 = 0.0;
    for (var step = 0u; step < steps; step++) {
        let w_next0 = load(min(first_row + (local + 0u) / 8u, rows - 1u), min(step * 8u + (local + 0u) % 8u, pieces - 1u));
        let w_next1 = load(min(first_row + (local + 16u) / 8u, rows - 1u), min(step * 8u + (local + 16u) % 8u, pieces - 1u));
        let w_next2 = load(min(first_row + (local + 32u) / 8u, rows - 1u), min(step * 8u + (local + 32u) % 8u, pieces - 1u));
        let w_next3 = load(min(first_row + (local + 48u) / 8u, rows - 1u), min(step * 8u + (local + 48u) % 8u, pieces - 1u));
        let w_next4 = load(min(first_row + (local + 64u) / 8u, rows - 1u), min(step * 8u + (local + 64u) % 8u, pieces - 1u));
        let w_next5 = load(min(first_row + (local + 80u) / 8u, rows - 1u), min(step * 8u + (local + 80u) % 8u, pieces - 1u));
        let w_next6 = load(min(first_row + (local + 96u) / 8u, rows - 1u), min(step * 8u + (local + 96u) % 8u, pieces - 1u));
        let w_next7 = load(min(first_row + (local + 112u) / 8u, rows - 1u), min(step * 8u + (local + 112u) % 8u, pieces - 1u));
        let x_next0 = codes_at(first_token + (local + 0u) / 16u, step * 16u + (local + 0u) % 16u);
        let x_next1 = codes_at(first_token + (local + 16u) / 16u, step * 16u + (local + 16u) % 16u);
        let x_next2 = codes_at(first_token + (local + 32u) / 16u, step * 16u + (local + 32u) % 16u);
        let x_next3 = codes_at(first_token + (local + 48u) / 16u, step * 16u + (local + 48u) % 16u);
        let x_next4 = codes_at(first_token + (local + 64u) / 16u, step * 16u + (local + 64u) % 16u);
        let x_next5 = codes_at(first_token + (local + 80u) / 16u, step * 16u + (local + 80u) % 16u);
        let x_next6 = codes_at(first_token + (local + 96u) / 16u, step * 16u + (local + 96u) % 16u);
        let x_next7 = codes_at(first_token + (local + 112u) / 16u, step * 16u + (local + 112u) % 16u);
        let s_next0 = scales_at_run(first_token + (local + 0u) / 8u, step * 8u + (local + 0u) % 8u);
        let s_next1 = scales_at_run(first_token + (local + 16u) / 8u, step * 8u + (local + 16u) % 8u);
        let s_next2 = scales_at_run(first_token + (local + 32u) / 8u, step * 8u + (local + 32u) % 8u);
        let s_next3 = scales_at_run(first_token + (local + 48u) / 8u, step * 8u + (local + 48u) % 8u);
        workgroupBarrier();
        keep(w_next0, (local + 0u) / 8u, step * 8u + (local + 0u) % 8u, step);
        keep(w_next1, (local + 16u) / 8u, step * 8u + (local + 16u) % 8u, step);
        keep(w_next2, (local + 32u) / 8u, step * 8u + (local + 32u) % 8u, step);
        keep(w_next3, (local + 48u) / 8u, step * 8u + (local + 48u) % 8u, step);
        keep(w_next4, (local + 64u) / 8u, step * 8u + (local + 64u) % 8u, step);
        keep(w_next5, (local + 80u) / 8u, step * 8u + (local + 80u) % 8u, step);
        keep(w_next6, (local + 96u) / 8u, step * 8u + (local + 96u) % 8u, step);
        keep(w_next7, (local + 112u) / 8u, step * 8u + (local + 112u) % 8u, step);
        x_codes[((local + 0u) % 16u) * 9u + (local + 0u) / 16u] = x_next0;
        x_codes[((local + 16u) % 16u) * 9u + (local + 16u) / 16u] = x_next1;
        x_codes[((local + 32u) % 16u) * 9u + (local + 32u) / 16u] = x_next2;
        x_codes[((local + 48u) % 16u) * 9u + (local + 48u) / 16u] = x_next3;
        x_codes[((local + 64u) % 16u) * 9u + (local + 64u) / 16u] = x_next4;
        x_codes[((local + 80u) % 16u) * 9u + (local + 80u) / 16u] = x_next5;
        x_codes[((local + 96u) % 16u) * 9u + (local + 96u) / 16u] = x_next6;
        x_codes[((local + 112u) % 16u) * 9u + (local + 112u) / 16u] = x_next7;
        x_scales[((local + 0u) % 8u) * 9u + (local + 0u) / 8u] = s_next0;
        x_scales[((local + 16u) % 8u) * 9u + (local + 16u) / 8u] = s_next1;
        x_scales[((local + 32u) % 8u) * 9u + (local + 32u) / 8u] = s_next2;
        x_scales[((local + 48u) % 8u) * 9u + (local + 48u) / 8u] = s_next3;
        workgroupBarrier();
        {
            let w_scale0 = w_scales[at_n + 0u];
            let w0_0 = w_codes[at_n + 0u];
            let w1_0 = w_codes[at_n + 17u];
            let w_scale1 = w_scales[at_n + 8u];
            let w0_1 = w_codes[at_n + 8u];
            let w1_1 = w_codes[at_n + 25u];
            let x_scale0 = x_scales[at_m + 0u];
            let x0_0 = x_codes[at_m + 0u];
            let x1_0 = x_codes[at_m + 9u];
            let dot0_0 = f32(dot_of(w0_0, x0_0) + dot_of(w1_0, x1_0));
            let dot0_1 = f32(dot_of(w0_1, x0_0) + dot_of(w1_1, x1_0));
            sum0_0 += w_scale0.x * x_scale0.x * dot0_0 - w_scale0.y * x_scale0.y;
            sum0_1 += w_scale1.x * x_scale0.x * dot0_1 - w_scale1.y * x_scale0.y;
            let x_scale1 = x_scales[at_m + 2u];
            let x0_1 = x_codes[at_m + 2u];
            let x1_1 = x_codes[at_m + 11u];
            let dot1_0 = f32(dot_of(w0_0, x0_1) + dot_of(w1_0, x1_1));
            let dot1_1 = f32(dot_of(w0_1, x0_1) + dot_of(w1_1, x1_1));
            sum1_0 += w_scale0.x * x_scale1.x * dot1_0 - w_scale0.y * x_scale1.y;
            sum1_1 += w_scale1.x * x_scale1.x * dot1_1 - w_scale1.y * x_scale1.y;
            let x_scale2 = x_scales[at_m + 4u];
            let x0_2 = x_codes[at_m + 4u];
            let x1_2 = x_codes[at_m + 13u];
            let dot2_0 = f32(dot_of(w0_0, x0_2) + dot_of(w1_0, x1_2));
            let dot2_1 = f32(dot_of(w0_1, x0_2) + dot_of(w1_1, x1_2));
            sum2_0 += w_scale0.x * x_scale2.x * dot2_0 - w_scale0.y * x_scale2.y;
            sum2_1 += w_scale1.x * x_scale2.x * dot2_1 - w_scale1.y * x_scale2.y;
            let x_scale3 = x_scales[at_m + 6u];
            let x0_3 = x_codes[at_m + 6u];
            let x1_3 = x_codes[at_m + 15u];
            let dot3_0 = f32(dot_of(w0_0, x0_3) + dot_of(w1_0, x1_3));
            let dot3_1 = f32(dot_of(w0_1, x0_3) + dot_of(w1_1, x1_3));
            sum3_0 += w_scale0.x * x_scale3.x * dot3_0 - w_scale0.y * x_scale3.y;
            sum3_1 += w_scale1.x * x_scale3.x * dot3_1 - w_scale1.y * x_scale3.y;
        }
        {
            let w_scale0 = w_scales[at_n + 17u];
            let w0_0 = w_codes[at_n + 34u];
            let w1_0 = w_codes[at_n + 51u];
            let w_scale1 = w_scales[at_n + 25u];
            let w0_1 = w_codes[at_n + 42u];
            let w1_1 = w_codes[at_n + 59u];
            let x_scale0 = x_scales[at_m + 9u];
            let x0_0 = x_codes[at_m + 18u];
            let x1_0 = x_codes[at_m + 27u];
            let dot0_0 = f32(dot_of(w0_0, x0_0) + dot_of(w1_0, x1_0));
            let dot0_1 = f32(dot_of(w0_1, x0_0) + dot_of(w1_1, x1_0));
            sum0_0 += w_scale0.x * x_scale0.x * dot0_0 - w_scale0.y * x_scale0.y;
            sum0_1 += w_scale1.x * x_scale0.x * dot0_1 - w_scale1.y * x_scale0.y;
            let x_scale1 = x_scales[at_m + 11u];
            let x0_1 = x_codes[at_m + 20u];
            let x1_1 = x_codes[at_m + 29u];
            let dot1_0 = f32(dot_of(w0_0, x0_1) + dot_of(w1_0, x1_1));
            let dot1_1 = f32(dot_of(w0_1, x0_1) + dot_of(w1_1, x1_1));
            sum1_0 += w_scale0.x * x_scale1.x * dot1_0 - w_scale0.y * x_scale1.y;
            sum1_1 += w_scale1.x * x_scale1.x * dot1_1 - w_scale1.y * x_scale1.y;
            let x_scale2 = x_scales[at_m + 13u];
            let x0_2 = x_codes[at_m + 22u];
            let x1_2 = x_codes[at_m + 31u];
            let dot2_0 = f32(dot_of(w0_0, x0_2) + dot_of(w1_0, x1_2));
            let dot2_1 = f32(dot_of(w0_1, x0_2) + dot_of(w1_1, x1_2));
            sum2_0 += w_scale0.x * x_scale2.x * dot2_0 - w_scale0.y * x_scale2.y;
            sum2_1 += w_scale1.x * x_scale2.x * dot2_1 - w_scale1.y * x_scale2.y;
            let x_scale3 = x_scales[at_m + 15u];
            let x0_3 = x_codes[at_m + 24u];
            let x1_3 = x_codes[at_m + 33u];
            let dot3_0 = f32(dot_of(w0_0, x0_3) + dot_of(w1_0, x1_3));
            let dot3_1 = f32(dot_of(w0_1, x0_3) + dot_of(w1_1, x1_3));
            sum3_0 += w_scale0.x * x_scale3.x * dot3_0 - w_scale0.y * x_scale3.y;
            sum3_1 += w_scale1.x * x_scale3.x * dot3_1 - w_scale1.y * x_scale3.y;
        }
        {
            let w_scale0 = w_scales[at_n + 34u];
            let w0_0 = w_codes[at_n + 68u];
            let w1_0 = w_codes[at_n + 85u];
            let w_scale1 = w_scales[at_n + 42u];
            let w0_1 = w_codes[at_n + 76u];
            let w1_1 = w_codes[at_n + 93u];
            let x_scale0 = x_scales[at_m + 18u];
            let x0_0 = x_codes[at_m + 36u];
            let x1_0 = x_codes[at_m + 45u];
            let dot0_0 = f32(dot_of(w0_0, x0_0) + dot_of(w1_0, x1_0));
            let dot0_1 = f32(dot_of(w0_1, x0_0) + dot_of(w1_1, x1_0));
            sum0_0 += w_scale0.x * x_scale0.x * dot0_0 - w_scale0.y * x_scale0.y;
            sum0_1 += w_scale1.x * x_scale0.x * dot0_1 - w_scale1.y * x_scale0.y;
            let x_scale1 = x_scales[at_m + 20u];
            let x0_1 = x_codes[at_m + 38u];
            let x1_1 = x_codes[at_m + 47u];
            let dot1_0 = f32(dot_of(w0_0, x0_1) + dot_of(w1_0, x1_1));
            let dot1_1 = f32(dot_of(w0_1, x0_1) + dot_of(w1_1, x1_1));
            sum1_0 += w_scale0.x * x_scale1.x * dot1_0 - w_scale0.y * x_scale1.y;
            sum1_1 += w_scale1.x * x_scale1.x * dot1_1 - w_scale1.y * x_scale1.y;
            let x_scale2 = x_scales[at_m + 22u];
            let x0_2 = x_codes[at_m + 40u];
            let x1_2 = x_codes[at_m + 49u];
            let dot2_0 = f32(dot_of(w0_0, x0_2) + dot_of(w1_0, x1_2));
            let dot2_1 = f32(dot_of(w0_1, x0_2) + dot_of(w1_1, x1_2));
            sum2_0 += w_scale0.x * x_scale2.x * dot2_0 - w_scale0.y * x_scale2.y;
            sum2_1 += w_scale1.x * x_scale2.x * dot2_1 - w_scale1.y * x_scale2.y;
            let x_scale3 = x_scales[at_m + 24u];
            let x0_3 = x_codes[at_m + 42u];
            let x1_3 = x_codes[at_m + 51u];
            let dot3_0 = f32(dot_of(w0_0, x0_3) + dot_of(w1_0, x1_3));
            let dot3_1 = f32(dot_of(w0_1, x0_3) + dot_of(w1_1, x1_3));
            sum3_0 += w_scale0.x * x_scale3.x * dot3_0 - w_scale0.y * x_scale3.y;
            sum3_1 += w_scale1.x * x_scale3.x * dot3_1 - w_scale1.y * x_scale3.y;
        }
        {
            let w_scale0 = w_scales[at_n + 51u];
            let w0_0 = w_codes[at_n + 102u];
            let w1_0 = w_codes[at_n + 119u];
            let w_scale1 = w_scales[at_n + 59u];
            let w0_1 = w_codes[at_n + 110u];
            let w1_1 = w_codes[at_n + 127u];
            let x_scale0 = x_scales[at_m + 27u];
            let x0_0 = x_codes[at_m + 54u];
            let x1_0 = x_codes[at_m + 63u];
            let dot0_0 = f32(dot_of(w0_0, x0_0) + dot_of(w1_0, x1_0));
            let dot0_1 = f32(dot_of(w0_1, x0_0) + dot_of(w1_1, x1_0));
            sum0_0 += w_scale0.x * x_scale0.x * dot0_0 - w_scale0.y * x_scale0.y;
            sum0_1 += w_scale1.x * x_scale0.x * dot0_1 - w_scale1.y * x_scale0.y;
            let x_scale1 = x_scales[at_m + 29u];
            let x0_1 = x_codes[at_m + 56u];
            let x1_1 = x_codes[at_m + 65u];
            let dot1_0 = f32(dot_of(w0_0, x0_1) + dot_of(w1_0, x1_1));
            let dot1_1 = f32(dot_of(w0_1, x0_1) + dot_of(w1_1, x1_1));
            sum1_0 += w_scale0.x * x_scale1.x * dot1_0 - w_scale0.y * x_scale1.y;
            sum1_1 += w_scale1.x * x_scale1.x * dot1_1 - w_scale1.y * x_scale1.y;
            let x_scale2 = x_scales[at_m + 31u];
            let x0_2 = x_codes[at_m + 58u];
            let x1_2 = x_codes[at_m + 67u];
            let dot2_0 = f32(dot_of(w0_0, x0_2) + dot_of(w1_0, x1_2));
            let dot2_1 = f32(dot_of(w0_1, x0_2) + dot_of(w1_1, x1_2));
            sum2_0 += w_scale0.x * x_scale2.x * dot2_0 - w_scale0.y * x_scale2.y;
            sum2_1 += w_scale1.x * x_scale2.x * dot2_1 - w_scale1.y * x_scale2.y;
            let x_scale3 = x_scales[at_m + 33u];
            let x0_3 = x_codes[at_m + 60u];
            let x1_3 = x_codes[at_m + 69u];
            let dot3_0 = f32(dot_of(w0_0, x0_3) + dot_of(w1_0, x1_3));
            let dot3_1 = f32(dot_of(w0_1, x0_3) + dot_of(w1_1, x1_3));
            sum3_0 += w_scale0.x * x_scale3.x * dot3_0 - w_scale0.y * x_scale3.y;
            sum3_1 += w_scale1.x * x_scale3.x * dot3_1 - w_scale1.y * x_scale3.y;
        }
        {
            let w_scale0 = w_scales[at_n + 68u];
            let w0_0 = w_codes[at_n + 136u];
            let w1_0 = w_codes[at_n + 153u];
            let w_scale1 = w_scales[at_n + 76u];
            let w0_1 = w_codes[at_n + 144u];
            let w1_1 = w_codes[at_n + 161u];
            let x_scale0 = x_scales[at_m + 36u];
            let x0_0 = x_codes[at_m + 72u];
            let x1_0 = x_codes[at_m + 81u];
            let dot0_0 = f32(dot_of(w0_0, x0_0) + dot_of(w1_0, x1_0));
            let dot0_1 = f32(dot_of(w0_1, x0_0) + dot_of(w1_1, x1_0));
            sum0_0 += w_scale0.x * x_scale0.x * dot0_0 - w_scale0.y * x_scale0.y;
            sum0_1 += w_scale1.x * x_scale0.x * dot0_1 - w_scale1.y * x_scale0.y;
            let x_scale1 = x_scales[at_m + 38u];
            let x0_1 = x_codes[at_m + 74u];
            let x1_1 = x_codes[at_m + 83u];
            let dot1_0 = f32(dot_of(w0_0, x0_1) + dot_of(w1_0, x1_1));
            let dot1_1 = f32(dot_of(w0_1, x0_1) + dot_of(w1_1, x1_1));
            sum1_0 += w_scale0.x * x_scale1.x * dot1_0 - w_scale0.y * x_scale1.y;
            sum1_1 += w_scale1.x * x_scale1.x * dot1_1 - w_scale1.y * x_scale1.y;
            let x_scale2 = x_scales[at_m + 40u];
            let x0_2 = x_codes[at_m + 76u];
            let x1_2 = x_codes[at_m + 85u];
            let dot2_0 = f32(dot_of(w0_0, x0_2) + dot_of(w1_0, x1_2));
            let dot2_1 = f32(dot_of(w0_1, x0_2) + dot_of(w1_1, x1_2));
            sum2_0 += w_scale0.x * x_scale2.x * dot2_0 - w_scale0.y * x_scale2.y;
            sum2_1 += w_scale1.x * x_scale2.x * dot2_1 - w_scale1.y * x_scale2.y;
            let x_scale3 = x_scales[at_m + 42u];
            let x0_3 = x_codes[at_m + 78u];
            let x1_3 = x_codes[at_m + 87u];
            let dot3_0 = f32(dot_of(w0_0, x0_3) + dot_of(w1_0, x1_3));
            let dot3_1 = f32(dot_of(w0_1, x0_3) + dot_of(w1_1, x1_3));
            sum3_0 += w_scale0.x * x_scale3.x * dot3_0 - w_scale0.y * x_scale3.y;
            sum3_1 += w_scale1.x * x_scale3.x * dot3_1 - w_scale1.y * x_scale3.y;
        }
        {
            let w_scale0 = w_scales[at_n + 85u];
            let w0_0 = w_codes[at_n + 170u];
            let w1_0 = w_codes[at_n + 187u];
            let w_scale1 = w_scales[at_n + 93u];
            let w0_1 = w_codes[at_n + 178u];
            let w1_1 = w_codes[at_n + 195u];
            let x_scale0 = x_scales[at_m + 45u];
            let x0_0 = x_codes[at_m + 90u];
            let x1_0 = x_codes[at_m + 99u];
            let dot0_0 = f32(dot_of(w0_0, x0_0) + dot_of(w1_0, x1_0));
            let dot0_1 = f32(dot_of(w0_1, x0_0) + dot_of(w1_1, x1_0));
            sum0_0 += w_scale0.x * x_scale0.x * dot0_0 - w_scale0.y * x_scale0.y;
            sum0_1 += w_scale1.x * x_scale0.x * dot0_1 - w_scale1.y * x_scale0.y;
            let x_scale1 = x_scales[at_m + 47u];
            let x0_1 = x_codes[at_m + 92u];
            let x1_1 = x_codes[at_m + 101u];
            let dot1_0 = f32(dot_of(w0_0, x0_1) + dot_of(w1_0, x1_1));
            let dot1_1 = f32(dot_of(w0_1, x0_1) + dot_of(w1_1, x1_1));
            sum1_0 += w_scale0.x * x_scale1.x * dot1_0 - w_scale0.y * x_scale1.y;
            sum1_1 += w_scale1.x * x_scale1.x * dot1_1 - w_scale1.y * x_scale1.y;
            let x_scale2 = x_scales[at_m + 49u];
            let x0_2 = x_codes[at_m + 94u];
            let x1_2 = x_codes[at_m + 103u];
            let dot2_0 = f32(dot_of(w0_0, x0_2) + dot_of(w1_0, x1_2));
            let dot2_1 = f32(dot_of(w0_1, x0_2) + dot_of(w1_1, x1_2));
            sum2_0 += w_scale0.x * x_scale2.x * dot2_0 - w_scale0.y * x_scale2.y;
            sum2_1 += w_scale1.x * x_scale2.x * dot2_1 - w_scale1.y * x_scale2.y;
            let x_scale3 = x_scales[at_m + 51u];
            let x0_3 = x_codes[at_m + 96u];
            let x1_3 = x_codes[at_m + 105u];
            let dot3_0 = f32(dot_of(w0_0, x0_3) + dot_of(w1_0, x1_3));
            let dot3_1 = f32(dot_of(w0_1, x0_3) + dot_of(w1_1, x1_3));
            sum3_0 += w_scale0.x * x_scale3.x * dot3_0 - w_scale0.y * x_scale3.y;
            sum3_1 += w_scale1.x * x_scale3.x * dot3_1 - w_scale1.y * x_scale3.y;
        }
        {
            let w_scale0 = w_scales[at_n + 102u];
            let w0_0 = w_codes[at_n + 204u];
            let w1_0 = w_codes[at_n + 221u];
            let w_scale1 = w_scales[at_n + 110u];
            let w0_1 = w_codes[at_n + 212u];
            let w1_1 = w_codes[at_n + 229u];
            let x_scale0 = x_scales[at_m + 54u];
            let x0_0 = x_codes[at_m + 108u];
            let x1_0 = x_codes[at_m + 117u];
            let dot0_0 = f32(dot_of(w0_0, x0_0) + dot_of(w1_0, x1_0));
            let dot0_1 = f32(dot_of(w0_1, x0_0) + dot_of(w1_1, x1_0));
            sum0_0 += w_scale0.x * x_scale0.x * dot0_0 - w_scale0.y * x_scale0.y;
            sum0_1 += w_scale1.x * x_scale0.x * dot0_1 - w_scale1.y * x_scale0.y;
            let x_scale1 = x_scales[at_m + 56u];
            let x0_1 = x_codes[at_m + 110u];
            let x1_1 = x_codes[at_m + 119u];
            let dot1_0 = f32(dot_of(w0_0, x0_1) + dot_of(w1_0, x1_1));
            let dot1_1 = f32(dot_of(w0_1, x0_1) + dot_of(w1_1, x1_1));
            sum1_0 += w_scale0.x * x_scale1.x * dot1_0 - w_scale0.y * x_scale1.y;
            sum1_1 += w_scale1.x * x_scale1.x * dot1_1 - w_scale1.y * x_scale1.y;
            let x_scale2 = x_scales[at_m + 58u];
            let x0_2 = x_codes[at_m + 112u];
            let x1_2 = x_codes[at_m + 121u];
            let dot2_0 = f32(dot_of(w0_0, x0_2) + dot_of(w1_0, x1_2));
            let dot2_1 = f32(dot_of(w0_1, x0_2) + dot_of(w1_1, x1_2));
            sum2_0 += w_scale0.x * x_scale2.x * dot2_0 - w_scale0.y * x_scale2.y;
            sum2_1 += w_scale1.x * x_scale2.x * dot2_1 - w_scale1.y * x_scale2.y;
            let x_scale3 = x_scales[at_m + 60u];
            let x0_3 = x_codes[at_m + 114u];
            let x1_3 = x_codes[at_m + 123u];
            let dot3_0 = f32(dot_of(w0_0, x0_3) + dot_of(w1_0, x1_3));
            let dot3_1 = f32(dot_of(w0_1, x0_3) + dot_of(w1_1, x1_3));
            sum3_0 += w_scale0.x * x_scale3.x * dot3_0 - w_scale0.y * x_scale3.y;
            sum3_1 += w_scale1.x * x_scale3.x * dot3_1 - w_scale1.y * x_scale3.y;
        }
        {
            let w_scale0 = w_scales[at_n + 119u];
            let w0_0 = w_codes[at_n + 238u];
            let w1_0 = w_codes[at_n + 255u];
            let w_scale1 = w_scales[at_n + 127u];
            let w0_1 = w_codes[at_n + 246u];
            let w1_1 = w_codes[at_n + 263u];
            let x_scale0 = x_scales[at_m + 63u];
            let x0_0 = x_codes[at_m + 126u];
            let x1_0 = x_codes[at_m + 135u];
            let dot0_0 = f32(dot_of(w0_0, x0_0) + dot_of(w1_0, x1_0));
            let dot0_1 = f32(dot_of(w0_1, x0_0) + dot_of(w1_1, x1_0));
            sum0_0 += w_scale0.x * x_scale0.x * dot0_0 - w_scale0.y * x_scale0.y;
            sum0_1 += w_scale1.x * x_scale0.x * dot0_1 - w_scale1.y * x_scale0.y;
            let x_scale1 = x_scales[at_m + 65u];
            let x0_1 = x_codes[at_m + 128u];
            let x1_1 = x_codes[at_m + 137u];
            let dot1_0 = f32(dot_of(w0_0, x0_1) + dot_of(w1_0, x1_1));
            let dot1_1 = f32(dot_of(w0_1, x0_1) + dot_of(w1_1, x1_1));
            sum1_0 += w_scale0.x * x_scale1.x * dot1_0 - w_scale0.y * x_scale1.y;
            sum1_1 += w_scale1.x * x_scale1.x * dot1_1 - w_scale1.y * x_scale1.y;
            let x_scale2 = x_scales[at_m + 67u];
            let x0_2 = x_codes[at_m + 130u];
            let x1_2 = x_codes[at_m + 139u];
            let dot2_0 = f32(dot_of(w0_0, x0_2) + dot_of(w1_0, x1_2));
            let dot2_1 = f32(dot_of(w0_1, x0_2) + dot_of(w1_1, x1_2));
            sum2_0 += w_scale0.x * x_scale2.x * dot2_0 - w_scale0.y * x_scale2.y;
            sum2_1 += w_scale1.x * x_scale2.x * dot2_1 - w_scale1.y * x_scale2.y;
            let x_scale3 = x_scales[at_m + 69u];
            let x0_3 = x_codes[at_m + 132u];
            let x1_3 = x_codes[at_m + 141u];
            let dot3_0 = f32(dot_of(w0_0, x0_3) + dot_of(w1_0, x1_3));
            let dot3_1 = f32(dot_of(w0_1, x0_3) + dot_of(w1_1, x1_3));
            sum3_0 += w_scale0.x * x_scale3.x * dot3_0 - w_scale0.y * x_scale3.y;
            sum3_1 += w_scale1.x * x_scale3.x * dot3_1 - w_scale1.y * x_scale3.y;
        }
    }
    let token0 = first_token + at_m + 0u;
    if (token0 < tokens) {
        if (first_row + at_n + 0u < rows) {
            y[token0 * rows + first_row + at_n + 0u] = sum0_0;
        }
        if (first_row + at_n + 8u < rows) {
            y[token0 * rows + first_row + at_n + 8u] = sum0_1;
        }
    }
    let token1 = first_token + at_m + 2u;
    if (token1 < tokens) {
        if (first_row + at_n + 0u < rows) {
            y[token1 * rows + first_row + at_n + 0u] = sum1_0;
        }
        if (first_row + at_n + 8u < rows) {
            y[token1 * rows + first_row + at_n + 8u] = sum1_1;
        }
    }
    let token2 = first_token + at_m + 4u;
    if (token2 < tokens) {
        if (first_row + at_n + 0u < rows) {
            y[token2 * rows + first_row + at_n + 0u] = sum2_0;
        }
        if (first_row + at_n + 8u < rows) {
            y[token2 * rows + first_row + at_n + 8u] = sum2_1;
        }
    }
    let token3 = first_token + at_m + 6u;
    if (token3 < tokens) {
        if (first_row + at_n + 0u < rows) {
            y[token3 * rows + first_row + at_n + 0u] = sum3_0;
        }
        if (first_row + at_n + 8u < rows) {
            y[token3 * rows + first_row + at_n + 8u] = sum3_1;
        }
    }
}
