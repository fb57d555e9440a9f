// q4k_matvec 1x4096x4096, contract q8, for wgpu-portable
// geometry: macro=1x8x4096,midi=1x8x4096,micro=1x1x32,isa=wgsl,layout=native,unroll=4,stages=2,xin=shared,group=32,prep=block,workgroup=256,tree=shared
// source: default
// constants: rows = 4096, blocks = 16
//
// dispatch 1: matvec, workgroups of 256, dispatchWorkgroups(512, 1, 1)
//   binding 2: weights, 9437184 bytes, weights of blocks
//   binding 1: y, 16384 bytes, output of f32
//   binding 0: x, 16384 bytes, input of f32

@group(0) @binding(0) var<storage, read> x: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
override rows: u32;
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

// The activations of a token: codes of 8 bits, four a word, and of sixteen at a time the scale, and
// that times the sum of the codes.
var<workgroup> x_codes: array<vec4<u32>, 256>;
var<workgroup> x_scales: array<vec2<f32>, 256>;

// Where a sixteen is kept: the low ones of all pieces, then the high ones.
fn place_of(sixteen: u32) -> u32 {
    let of_two = sixteen % 4u;
    return sixteen / 4u * 2u + of_two % 2u + select(0u, 128u, of_two >= 2u);
}

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
    let at0 = place_of(to + 0u);
    x_codes[at0] = vec4<u32>(pack(codes0), pack(codes1), pack(codes2), pack(codes3));
    x_scales[at0] = vec2<f32>(scale, scale * f32(sum0.x + sum0.y + sum0.z + sum0.w));
    let sum1 = codes4 + codes5 + codes6 + codes7;
    let at1 = place_of(to + 1u);
    x_codes[at1] = vec4<u32>(pack(codes4), pack(codes5), pack(codes6), pack(codes7));
    x_scales[at1] = vec2<f32>(scale, scale * f32(sum1.x + sum1.y + sum1.z + sum1.w));
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

// The activations that a piece meets.
struct Met {
    low: vec4<u32>,
    high: vec4<u32>,
    scale: vec2<f32>,
    sum: vec2<f32>,
}

// Of a token, whose first sixteen is token_at.
fn met_by(piece: u32, token_at: u32) -> Met {
    let low = token_at + piece;
    let high = low + 128u;
    let low_scale = x_scales[low];
    let high_scale = x_scales[high];
    return Met(x_codes[low], x_codes[high], vec2<f32>(low_scale.x, high_scale.x), vec2<f32>(low_scale.y, high_scale.y));
}

fn product_of(stored: Stored, piece: u32, x: Met) -> f32 {
    let w = decode(stored, piece);
    let sums = vec2<f32>(vec2<i32>(dot_of(w.low, x.low), dot_of(w.high, x.high)));
    let both = w.scale * x.scale * sums;
    let offsets = w.offset * x.sum;
    return (both.x - offsets.x) + (both.y - offsets.y);
}

var<workgroup> parts: array<f32, 256>;

fn of_lanes(value: f32, local: u32) -> f32 {
    workgroupBarrier();
    parts[local] = value;
    for (var left = 16u; left > 0u; left /= 2u) {
        workgroupBarrier();
        if (local % 32u < left) {
            parts[local] += parts[local + left];
        }
    }
    return parts[local];
}

fn row_at(row: u32) -> u32 {
    return min(row, rows - 1u);
}

@compute @workgroup_size(256)
fn matvec(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let lane = local % 32u;
    let row = group.x * 8u + (local / 32u) * 1u;
    let w0_0_0 = load(row_at(row + 0u), lane + 0u + 0u);
    let w0_1_0 = load(row_at(row + 0u), lane + 0u + 32u);
    let w0_2_0 = load(row_at(row + 0u), lane + 0u + 64u);
    let w0_3_0 = load(row_at(row + 0u), lane + 0u + 96u);
    if (local < 128u) {
        let i = local + 0u;
        quantize(group.y * 1024u + i * 8u, i * 2u);
    }
    workgroupBarrier();
    let token_at = 0u;
    var sum0_0 = 0.0;
    sum0_0 += product_of(w0_0_0, lane + 0u, met_by(lane + 0u, token_at));
    sum0_0 += product_of(w0_1_0, lane + 32u, met_by(lane + 32u, token_at));
    sum0_0 += product_of(w0_2_0, lane + 64u, met_by(lane + 64u, token_at));
    sum0_0 += product_of(w0_3_0, lane + 96u, met_by(lane + 96u, token_at));
    let total_sum0_0 = of_lanes(sum0_0, local);
    if (lane == 0u && row + 0u < rows) {
        y[group.y * rows + row + 0u] = total_sum0_0;
    }
}
