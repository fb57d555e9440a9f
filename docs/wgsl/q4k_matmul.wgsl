// q4k_matmul 8x4096x4096, contract q8, for wgpu-portable
// geometry: macro=8x64x64,midi=8x64x64,micro=4x4x32,isa=wgsl,layout=native,stages=1,workgroup=32
// source: default
// constants: rows = 4096, tokens = 8, pieces = 128, steps = 64, blocks = 16, x_groups = 1024
// workspace: 49152 bytes
//
// dispatch 1: prepare, workgroups of 64, dispatchWorkgroups(16, 1, 1)
//   binding 0: x, 131072 bytes, input of f32
//   binding 3: workspace, 32768 bytes from 0 on, zero before the first call
//   binding 4: workspace, 16384 bytes from 32768 on, zero before the first call
//
// dispatch 2: matmul, workgroups of 32, dispatchWorkgroups(64, 1, 1)
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

// The 16 bytes from byte AT on, a multiple of 16.
fn bytes16(at: u32) -> vec4<u32> {
    return weights[at >> 4u];
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
    let block = (row * blocks + (piece >> 3u)) * 144u;
    let codes_at = block + 16u + part * 16u;
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
    let bits = max(max(most.x, most.y), max(most.z, most.w));
    let is_large = bits >= 0x03fe0000u; // 127 * 2^-126
    let is_coded = is_large && bits < 0x7f800000u;
    let scale = select(0.0, bitcast<f32>(bits) * (1.0 / 127.0), is_large);
    let rough = 127.0 / bitcast<f32>(select(0x3f800000u, bits, is_coded));
    let inverse = select(0.0, fma(rough, fma(-scale, rough, 1.0), rough), is_coded);
    let codes0 = vec4<i32>(round(x0 * inverse));
    let codes1 = vec4<i32>(round(x1 * inverse));
    let codes2 = vec4<i32>(round(x2 * inverse));
    let codes3 = vec4<i32>(round(x3 * inverse));
    let codes4 = vec4<i32>(round(x4 * inverse));
    let codes5 = vec4<i32>(round(x5 * inverse));
    let codes6 = vec4<i32>(round(x6 * inverse));
    let codes7 = vec4<i32>(round(x7 * inverse));
    let sum0 = codes0 + codes1 + codes2 + codes3;
    all_codes[to + 0u] = vec4<u32>(pack(codes0), pack(codes1), pack(codes2), pack(codes3));
    all_scales[to + 0u] = vec2<f32>(scale, scale * f32(sum0.x + sum0.y + sum0.z + sum0.w));
    let sum1 = codes4 + codes5 + codes6 + codes7;
    all_codes[to + 1u] = vec4<u32>(pack(codes4), pack(codes5), pack(codes6), pack(codes7));
    all_scales[to + 1u] = vec2<f32>(scale, scale * f32(sum1.x + sum1.y + sum1.z + sum1.w));
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
var<workgroup> w_codes: array<vec4<u32>, 260>;
var<workgroup> w_scales: array<vec2<f32>, 130>;
var<workgroup> x_codes: array<vec4<u32>, 36>;
var<workgroup> x_scales: array<vec2<f32>, 18>;

// A piece of a row of the tile to workgroup memory.
fn keep(stored: Stored, row: u32, piece: u32, step: u32) {
    let w = decode(stored, piece);
    let s = first_of(piece) - step * 4u;
    w_codes[s * 65u + row] = w.low;
    w_codes[(s + 2u) * 65u + row] = w.high;
    if ((piece & 1u) == 0u) {
        w_scales[(s / 2u + 0u) * 65u + row] = vec2<f32>(w.scale.x, w.offset.x);
        w_scales[(s / 2u + 1u) * 65u + row] = vec2<f32>(w.scale.y, w.offset.y);
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

@compute @workgroup_size(32)
fn matmul(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first_row = group.x * 64u;
    let first_token = group.y * 8u;
    let at_n = local % 16u;
    let at_m = local / 16u;
    var sum0_0 = 0.0;
    var sum0_1 = 0.0;
    var sum0_2 = 0.0;
    var sum0_3 = 0.0;
    var sum1_0 = 0.0;
    var sum1_1 = 0.0;
    var sum1_2 = 0.0;
    var sum1_3 = 0.0;
    var sum2_0 = 0.0;
    var sum2_1 = 0.0;
    var sum2_2 = 0.0;
    var sum2_3 = 0.0;
    var sum3_0 = 0.0;
    var sum3_1 = 0.0;
    var sum3_2 = 0.0;
    var sum3_3 = 0.0;
    for (var step = 0u; step < steps; step++) {
        let w_next0 = load(min(first_row + (local + 0u) / 2u, rows - 1u), min(step * 2u + (local + 0u) % 2u, pieces - 1u));
        let w_next1 = load(min(first_row + (local + 32u) / 2u, rows - 1u), min(step * 2u + (local + 32u) % 2u, pieces - 1u));
        let w_next2 = load(min(first_row + (local + 64u) / 2u, rows - 1u), min(step * 2u + (local + 64u) % 2u, pieces - 1u));
        let w_next3 = load(min(first_row + (local + 96u) / 2u, rows - 1u), min(step * 2u + (local + 96u) % 2u, pieces - 1u));
        let x_next0 = codes_at(first_token + (local + 0u) / 4u, step * 4u + (local + 0u) % 4u);
        let s_next0 = scales_at_run(first_token + (local + 0u) / 2u, step * 2u + (local + 0u) % 2u);
        workgroupBarrier();
        keep(w_next0, (local + 0u) / 2u, step * 2u + (local + 0u) % 2u, step);
        keep(w_next1, (local + 32u) / 2u, step * 2u + (local + 32u) % 2u, step);
        keep(w_next2, (local + 64u) / 2u, step * 2u + (local + 64u) % 2u, step);
        keep(w_next3, (local + 96u) / 2u, step * 2u + (local + 96u) % 2u, step);
        x_codes[((local + 0u) % 4u) * 9u + (local + 0u) / 4u] = x_next0;
        if (local + 0u < 16u) {
            x_scales[((local + 0u) % 2u) * 9u + (local + 0u) / 2u] = s_next0;
        }
        workgroupBarrier();
        for (var r = 0u; r < 2u; r++) {
            let w_scale0 = w_scales[r * 65u + at_n + 0u];
            let w0_0 = w_codes[(r * 2u + 0u) * 65u + at_n + 0u];
            let w1_0 = w_codes[(r * 2u + 1u) * 65u + at_n + 0u];
            let w_scale1 = w_scales[r * 65u + at_n + 16u];
            let w0_1 = w_codes[(r * 2u + 0u) * 65u + at_n + 16u];
            let w1_1 = w_codes[(r * 2u + 1u) * 65u + at_n + 16u];
            let w_scale2 = w_scales[r * 65u + at_n + 32u];
            let w0_2 = w_codes[(r * 2u + 0u) * 65u + at_n + 32u];
            let w1_2 = w_codes[(r * 2u + 1u) * 65u + at_n + 32u];
            let w_scale3 = w_scales[r * 65u + at_n + 48u];
            let w0_3 = w_codes[(r * 2u + 0u) * 65u + at_n + 48u];
            let w1_3 = w_codes[(r * 2u + 1u) * 65u + at_n + 48u];
            let x_scale0 = x_scales[r * 9u + at_m + 0u];
            let x0_0 = x_codes[(r * 2u + 0u) * 9u + at_m + 0u];
            let x1_0 = x_codes[(r * 2u + 1u) * 9u + at_m + 0u];
            let dot0_0 = f32(dot_of(w0_0, x0_0) + dot_of(w1_0, x1_0));
            let dot0_1 = f32(dot_of(w0_1, x0_0) + dot_of(w1_1, x1_0));
            let dot0_2 = f32(dot_of(w0_2, x0_0) + dot_of(w1_2, x1_0));
            let dot0_3 = f32(dot_of(w0_3, x0_0) + dot_of(w1_3, x1_0));
            sum0_0 += w_scale0.x * x_scale0.x * dot0_0 - w_scale0.y * x_scale0.y;
            sum0_1 += w_scale1.x * x_scale0.x * dot0_1 - w_scale1.y * x_scale0.y;
            sum0_2 += w_scale2.x * x_scale0.x * dot0_2 - w_scale2.y * x_scale0.y;
            sum0_3 += w_scale3.x * x_scale0.x * dot0_3 - w_scale3.y * x_scale0.y;
            let x_scale1 = x_scales[r * 9u + at_m + 2u];
            let x0_1 = x_codes[(r * 2u + 0u) * 9u + at_m + 2u];
            let x1_1 = x_codes[(r * 2u + 1u) * 9u + at_m + 2u];
            let dot1_0 = f32(dot_of(w0_0, x0_1) + dot_of(w1_0, x1_1));
            let dot1_1 = f32(dot_of(w0_1, x0_1) + dot_of(w1_1, x1_1));
            let dot1_2 = f32(dot_of(w0_2, x0_1) + dot_of(w1_2, x1_1));
            let dot1_3 = f32(dot_of(w0_3, x0_1) + dot_of(w1_3, x1_1));
            sum1_0 += w_scale0.x * x_scale1.x * dot1_0 - w_scale0.y * x_scale1.y;
            sum1_1 += w_scale1.x * x_scale1.x * dot1_1 - w_scale1.y * x_scale1.y;
            sum1_2 += w_scale2.x * x_scale1.x * dot1_2 - w_scale2.y * x_scale1.y;
            sum1_3 += w_scale3.x * x_scale1.x * dot1_3 - w_scale3.y * x_scale1.y;
            let x_scale2 = x_scales[r * 9u + at_m + 4u];
            let x0_2 = x_codes[(r * 2u + 0u) * 9u + at_m + 4u];
            let x1_2 = x_codes[(r * 2u + 1u) * 9u + at_m + 4u];
            let dot2_0 = f32(dot_of(w0_0, x0_2) + dot_of(w1_0, x1_2));
            let dot2_1 = f32(dot_of(w0_1, x0_2) + dot_of(w1_1, x1_2));
            let dot2_2 = f32(dot_of(w0_2, x0_2) + dot_of(w1_2, x1_2));
            let dot2_3 = f32(dot_of(w0_3, x0_2) + dot_of(w1_3, x1_2));
            sum2_0 += w_scale0.x * x_scale2.x * dot2_0 - w_scale0.y * x_scale2.y;
            sum2_1 += w_scale1.x * x_scale2.x * dot2_1 - w_scale1.y * x_scale2.y;
            sum2_2 += w_scale2.x * x_scale2.x * dot2_2 - w_scale2.y * x_scale2.y;
            sum2_3 += w_scale3.x * x_scale2.x * dot2_3 - w_scale3.y * x_scale2.y;
            let x_scale3 = x_scales[r * 9u + at_m + 6u];
            let x0_3 = x_codes[(r * 2u + 0u) * 9u + at_m + 6u];
            let x1_3 = x_codes[(r * 2u + 1u) * 9u + at_m + 6u];
            let dot3_0 = f32(dot_of(w0_0, x0_3) + dot_of(w1_0, x1_3));
            let dot3_1 = f32(dot_of(w0_1, x0_3) + dot_of(w1_1, x1_3));
            let dot3_2 = f32(dot_of(w0_2, x0_3) + dot_of(w1_2, x1_3));
            let dot3_3 = f32(dot_of(w0_3, x0_3) + dot_of(w1_3, x1_3));
            sum3_0 += w_scale0.x * x_scale3.x * dot3_0 - w_scale0.y * x_scale3.y;
            sum3_1 += w_scale1.x * x_scale3.x * dot3_1 - w_scale1.y * x_scale3.y;
            sum3_2 += w_scale2.x * x_scale3.x * dot3_2 - w_scale2.y * x_scale3.y;
            sum3_3 += w_scale3.x * x_scale3.x * dot3_3 - w_scale3.y * x_scale3.y;
        }
    }
    let token0 = first_token + at_m + 0u;
    if (token0 < tokens) {
        if (first_row + at_n + 0u < rows) {
            y[token0 * rows + first_row + at_n + 0u] = sum0_0;
        }
        if (first_row + at_n + 16u < rows) {
            y[token0 * rows + first_row + at_n + 16u] = sum0_1;
        }
        if (first_row + at_n + 32u < rows) {
            y[token0 * rows + first_row + at_n + 32u] = sum0_2;
        }
        if (first_row + at_n + 48u < rows) {
            y[token0 * rows + first_row + at_n + 48u] = sum0_3;
        }
    }
    let token1 = first_token + at_m + 2u;
    if (token1 < tokens) {
        if (first_row + at_n + 0u < rows) {
            y[token1 * rows + first_row + at_n + 0u] = sum1_0;
        }
        if (first_row + at_n + 16u < rows) {
            y[token1 * rows + first_row + at_n + 16u] = sum1_1;
        }
        if (first_row + at_n + 32u < rows) {
            y[token1 * rows + first_row + at_n + 32u] = sum1_2;
        }
        if (first_row + at_n + 48u < rows) {
            y[token1 * rows + first_row + at_n + 48u] = sum1_3;
        }
    }
    let token2 = first_token + at_m + 4u;
    if (token2 < tokens) {
        if (first_row + at_n + 0u < rows) {
            y[token2 * rows + first_row + at_n + 0u] = sum2_0;
        }
        if (first_row + at_n + 16u < rows) {
            y[token2 * rows + first_row + at_n + 16u] = sum2_1;
        }
        if (first_row + at_n + 32u < rows) {
            y[token2 * rows + first_row + at_n + 32u] = sum2_2;
        }
        if (first_row + at_n + 48u < rows) {
            y[token2 * rows + first_row + at_n + 48u] = sum2_3;
        }
    }
    let token3 = first_token + at_m + 6u;
    if (token3 < tokens) {
        if (first_row + at_n + 0u < rows) {
            y[token3 * rows + first_row + at_n + 0u] = sum3_0;
        }
        if (first_row + at_n + 16u < rows) {
            y[token3 * rows + first_row + at_n + 16u] = sum3_1;
        }
        if (first_row + at_n + 32u < rows) {
            y[token3 * rows + first_row + at_n + 32u] = sum3_2;
        }
        if (first_row + at_n + 48u < rows) {
            y[token3 * rows + first_row + at_n + 48u] = sum3_3;
        }
    }
}
