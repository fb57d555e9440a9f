// topk 1x32000x40, contract f32, for wgpu-portable
// geometry: macro=1x32768x64,midi=1x8192x64,micro=1x4x1,isa=wgsl,vec=16,splitk=4,join=launch,workgroup=256
// source: default
// constants: rows = 1, scores = 32000, k = 40, kept = 40, vectors = 8000, slice = 2000, across = 1
// workspace: 1280 bytes
//
// dispatch 1: find, workgroups of 256, dispatchWorkgroups(4, 1, 1)
//   binding 0: x, 128000 bytes, input of f32
//   binding 3: workspace, 1280 bytes from 0 on, zero before the first call
//
// dispatch 2: join, workgroups of 256, dispatchWorkgroups(1, 1, 1)
//   binding 3: workspace, 1280 bytes from 0 on, zero before the first call
//   binding 0: x, 128000 bytes, input of f32
//   binding 1: values, 160 bytes, output of f32
//   binding 2: columns, 160 bytes, output of i32

@group(0) @binding(0) var<storage, read> x: array<vec4<u32>>;
@group(0) @binding(1) var<storage, read_write> values: array<u32>;
@group(0) @binding(2) var<storage, read_write> columns: array<i32>;
@group(0) @binding(3) var<storage, read_write> keys: array<vec2<u32>>;
override rows: u32;
override scores: u32;
override k: u32;
override kept: u32;
override vectors: u32;
override slice: u32;
override across: u32;

// A score's bits as a word that is the larger the score is; a NaN's is the least, above 0.
fn rank_of(bits: u32) -> u32 {
    let plain = select(bits, 0u, bits == 0x80000000u); // no -0
    let word = select(plain | 0x80000000u, ~plain, plain >> 31u == 1u);
    return select(word, 1u, (bits & 0x7fffffffu) > 0x7f800000u);
}

// What the digits that are known so far are, and where the next one is.
struct Digits {
    prefix: vec2<u32>,
    mask: vec2<u32>,
    is_low: bool,
    shift: u32,
}

var<workgroup> counts: array<atomic<u32>, 256>; // keys of each digit
var<workgroup> sixteens: array<u32, 16>;
var<workgroup> found: atomic<u32>;
var<workgroup> digit_left_done: vec3<u32>;
var<workgroup> chosen: array<vec2<u32>, 64>;

fn count_key(key: vec2<u32>, known: Digits) {
    if (all(((key ^ known.prefix) & known.mask) == vec2<u32>(0u))) {
        let word = select(key.x, key.y, known.is_low);
        atomicAdd(&counts[(word >> known.shift) & 255u], 1u);
    }
}

fn is_more(a: vec2<u32>, b: vec2<u32>) -> bool {
    return a.x > b.x || (a.x == b.x && a.y > b.y);
}

fn gather_key(key: vec2<u32>, known: Digits) {
    if (!is_more(known.prefix, key)) {
        chosen[atomicAdd(&found, 1u)] = key;
    }
}

// Of keys that are counted: which digit the one of place LEFT has, its place among those with that digit, and
// whether all of these are wanted.
fn digit_of(left: u32, local: u32) -> vec3<u32> {
    workgroupBarrier();
    if (local < 16u) {
        var sum = 0u;
        for (var i = 0u; i < 16u; i++) {
            sum += atomicLoad(&counts[local * 16u + i]);
        }
        sixteens[local] = sum;
    }
    workgroupBarrier();
    for (var digit = local; digit < 256u; digit += 256u) {
        var above = 0u;
        for (var i = digit / 16u + 1u; i < 16u; i++) {
            above += sixteens[i];
        }
        for (var i = digit + 1u; i % 16u > 0u; i++) {
            above += atomicLoad(&counts[i]);
        }
        let own = atomicLoad(&counts[digit]);
        if (above < left && left <= above + own) {
            digit_left_done = vec3<u32>(digit, left - above, u32(left - above == own));
        }
    }
    return workgroupUniformLoad(&digit_left_done);
}

@compute @workgroup_size(256)
fn find(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = group.y + group.z * across;
    if (row >= rows) {
        return;
    }
    let first = group.x * slice;
    let end = min(first + slice, vectors);
    let want = min(kept, (end - first) * 4u);
    let to = (row * 4u + group.x) * kept;
    var known = Digits(vec2<u32>(0u), vec2<u32>(0u), false, 24u);
    var left = want;
    for (var digit = 0u; digit < 8u; digit++) {
        known.is_low = digit > 3u;
        known.shift = 24u - digit % 4u * 8u;
        for (var i = local; i < 256u; i += 256u) {
            atomicStore(&counts[i], 0u);
        }
        workgroupBarrier();
        for (var at = first + local; at < end; at += 256u) {
            let bits = x[row * vectors + at];
            count_key(vec2<u32>(rank_of(bits.x), ~(at * 4u + 0u)), known);
            count_key(vec2<u32>(rank_of(bits.y), ~(at * 4u + 1u)), known);
            count_key(vec2<u32>(rank_of(bits.z), ~(at * 4u + 2u)), known);
            count_key(vec2<u32>(rank_of(bits.w), ~(at * 4u + 3u)), known);
        }
        let next = digit_of(left, local);
        let word = vec2<u32>(next.x, 255u) << vec2<u32>(known.shift);
        if (known.is_low) {
            known.prefix.y |= word.x;
            known.mask.y |= word.y;
        } else {
            known.prefix.x |= word.x;
            known.mask.x |= word.y;
        }
        left = next.y;
        if (next.z == 1u) {
            break;
        }
    }
    if (local == 0u) {
        atomicStore(&found, 0u);
    }
    workgroupBarrier();
    for (var at = first + local; at < end; at += 256u) {
        let bits = x[row * vectors + at];
        gather_key(vec2<u32>(rank_of(bits.x), ~(at * 4u + 0u)), known);
        gather_key(vec2<u32>(rank_of(bits.y), ~(at * 4u + 1u)), known);
        gather_key(vec2<u32>(rank_of(bits.z), ~(at * 4u + 2u)), known);
        gather_key(vec2<u32>(rank_of(bits.w), ~(at * 4u + 3u)), known);
    }
    workgroupBarrier();
    for (var i = local; i < want; i += 256u) {
        let key = chosen[i];
        var place = 0u;
        for (var j = 0u; j < want; j++) {
            place += u32(is_more(chosen[j], key));
        }
        keys[to + place] = key;
    }
    for (var place = want + local; place < kept; place += 256u) {
        keys[to + place] = vec2<u32>(0u);
    }
}

@compute @workgroup_size(256)
fn join(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let row = group.y + group.z * across;
    if (row >= rows) {
        return;
    }
    let want = kept;
    var known = Digits(vec2<u32>(0u), vec2<u32>(0u), false, 24u);
    var left = want;
    for (var digit = 0u; digit < 8u; digit++) {
        known.is_low = digit > 3u;
        known.shift = 24u - digit % 4u * 8u;
        for (var i = local; i < 256u; i += 256u) {
            atomicStore(&counts[i], 0u);
        }
        workgroupBarrier();
        for (var at = local; at < kept * 4u; at += 256u) {
            count_key(keys[row * kept * 4u + at], known);
        }
        let next = digit_of(left, local);
        let word = vec2<u32>(next.x, 255u) << vec2<u32>(known.shift);
        if (known.is_low) {
            known.prefix.y |= word.x;
            known.mask.y |= word.y;
        } else {
            known.prefix.x |= word.x;
            known.mask.x |= word.y;
        }
        left = next.y;
        if (next.z == 1u) {
            break;
        }
    }
    if (local == 0u) {
        atomicStore(&found, 0u);
    }
    workgroupBarrier();
    for (var at = local; at < kept * 4u; at += 256u) {
        gather_key(keys[row * kept * 4u + at], known);
    }
    workgroupBarrier();
    for (var i = local; i < want; i += 256u) {
        let key = chosen[i];
        var place = 0u;
        for (var j = 0u; j < want; j++) {
            place += u32(is_more(chosen[j], key));
        }
        let column = ~key.y;
        let element = row * scores + column;
        values[row * k + place] = x[element / 4u][element % 4u];
        columns[row * k + place] = i32(column);
    }
    for (var place = want + local; place < k; place += 256u) {
        values[row * k + place] = 0x7fc00000u;
        columns[row * k + place] = -1;
    }
}
