// matmul_f32 1024x1024x1024, contract f32, for wgpu-portable
// geometry: macro=64x64x16,midi=64x64x16,micro=8x8x16,isa=wgsl,vec=16,stages=2,workgroup=64
// source: default
// constants: m = 1024, n = 1024, k = 1024, steps = 64, whole = 1
//
// dispatch 1: matmul, workgroups of 64, dispatchWorkgroups(16, 16, 1)
//   binding 0: a, 4194304 bytes, input of f32
//   binding 1: b, 4194304 bytes, input of f32
//   binding 2: c, 4194304 bytes, output of f32

@group(0) @binding(0) var<storage, read> a: array<vec4<f32>>;
@group(0) @binding(1) var<storage, read> b: array<vec4<f32>>;
@group(0) @binding(2) var<storage, read_write> c: array<vec4<f32>>;
override m: u32;
override n: u32;
override k: u32;
override steps: u32;
override whole: u32;

// Four values of a row of A from 4 * VECTOR on; what is not there counts as zeros.
fn a_at(row: u32, vector: u32) -> vec4<f32> {
    var values = vec4<f32>(0.0);
    if (whole == 1u || (row < m && vector * 4u < k)) {
        values = a[row * (k / 4u) + vector];
    }
    return values;
}

fn b_at(row: u32, vector: u32) -> vec4<f32> {
    var values = vec4<f32>(0.0);
    if (whole == 1u || (row < k && vector * 4u < n)) {
        values = b[row * (n / 4u) + vector];
    }
    return values;
}

fn put(row: u32, vector: u32, values: vec4<f32>) {
    if (whole == 1u || (row < m && vector * 4u < n)) {
        c[row * (n / 4u) + vector] = values;
    }
}

// A step's values: of each k four rows of A, and four columns of B, together.
var<workgroup> a_values: array<vec4<f32>, 272>;
var<workgroup> b_values: array<vec4<f32>, 256>;

@compute @workgroup_size(64)
fn matmul(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(local_invocation_index) local: u32,
) {
    let first_row = group.y * 64u;
    let first_vector = group.x * 16u; // of four columns
    let at_n = local % 8u;
    let at_m = local / 8u;
    var sum0_0 = vec4<f32>(0.0);
    var sum0_1 = vec4<f32>(0.0);
    var sum1_0 = vec4<f32>(0.0);
    var sum1_1 = vec4<f32>(0.0);
    var sum2_0 = vec4<f32>(0.0);
    var sum2_1 = vec4<f32>(0.0);
    var sum3_0 = vec4<f32>(0.0);
    var sum3_1 = vec4<f32>(0.0);
    var sum4_0 = vec4<f32>(0.0);
    var sum4_1 = vec4<f32>(0.0);
    var sum5_0 = vec4<f32>(0.0);
    var sum5_1 = vec4<f32>(0.0);
    var sum6_0 = vec4<f32>(0.0);
    var sum6_1 = vec4<f32>(0.0);
    var sum7_0 = vec4<f32>(0.0);
    var sum7_1 = vec4<f32>(0.0);
    var a_next0 = a_at(first_row + (local + 0u) / 4u, 0u * 4u + (local + 0u) % 4u);
    var a_next1 = a_at(first_row + (local + 64u) / 4u, 0u * 4u + (local + 64u) % 4u);
    var a_next2 = a_at(first_row + (local + 128u) / 4u, 0u * 4u + (local + 128u) % 4u);
    var a_next3 = a_at(first_row + (local + 192u) / 4u, 0u * 4u + (local + 192u) % 4u);
    var b_next0 = b_at(0u * 16u + (local + 0u) / 16u, first_vector + (local + 0u) % 16u);
    var b_next1 = b_at(0u * 16u + (local + 64u) / 16u, first_vector + (local + 64u) % 16u);
    var b_next2 = b_at(0u * 16u + (local + 128u) / 16u, first_vector + (local + 128u) % 16u);
    var b_next3 = b_at(0u * 16u + (local + 192u) / 16u, first_vector + (local + 192u) % 16u);
    for (var step = 0u; step < steps; step++) {
        workgroupBarrier();
        let row0 = (local + 0u) / 4u;
        let to0 = (local + 0u) % 4u * 68u + row0 / 4u;
        a_values[to0 + 0u][row0 % 4u] = a_next0.x;
        a_values[to0 + 17u][row0 % 4u] = a_next0.y;
        a_values[to0 + 34u][row0 % 4u] = a_next0.z;
        a_values[to0 + 51u][row0 % 4u] = a_next0.w;
        let row1 = (local + 64u) / 4u;
        let to1 = (local + 64u) % 4u * 68u + row1 / 4u;
        a_values[to1 + 0u][row1 % 4u] = a_next1.x;
        a_values[to1 + 17u][row1 % 4u] = a_next1.y;
        a_values[to1 + 34u][row1 % 4u] = a_next1.z;
        a_values[to1 + 51u][row1 % 4u] = a_next1.w;
        let row2 = (local + 128u) / 4u;
        let to2 = (local + 128u) % 4u * 68u + row2 / 4u;
        a_values[to2 + 0u][row2 % 4u] = a_next2.x;
        a_values[to2 + 17u][row2 % 4u] = a_next2.y;
        a_values[to2 + 34u][row2 % 4u] = a_next2.z;
        a_values[to2 + 51u][row2 % 4u] = a_next2.w;
        let row3 = (local + 192u) / 4u;
        let to3 = (local + 192u) % 4u * 68u + row3 / 4u;
        a_values[to3 + 0u][row3 % 4u] = a_next3.x;
        a_values[to3 + 17u][row3 % 4u] = a_next3.y;
        a_values[to3 + 34u][row3 % 4u] = a_next3.z;
        a_values[to3 + 51u][row3 % 4u] = a_next3.w;
        b_values[local + 0u] = b_next0;
        b_values[local + 64u] = b_next1;
        b_values[local + 128u] = b_next2;
        b_values[local + 192u] = b_next3;
        workgroupBarrier();
        if (step + 1u < steps) {
            let after = step + 1u;
            a_next0 = a_at(first_row + (local + 0u) / 4u, after * 4u + (local + 0u) % 4u);
            a_next1 = a_at(first_row + (local + 64u) / 4u, after * 4u + (local + 64u) % 4u);
            a_next2 = a_at(first_row + (local + 128u) / 4u, after * 4u + (local + 128u) % 4u);
            a_next3 = a_at(first_row + (local + 192u) / 4u, after * 4u + (local + 192u) % 4u);
            b_next0 = b_at(after * 16u + (local + 0u) / 16u, first_vector + (local + 0u) % 16u);
            b_next1 = b_at(after * 16u + (local + 64u) / 16u, first_vector + (local + 64u) % 16u);
            b_next2 = b_at(after * 16u + (local + 128u) / 16u, first_vector + (local + 128u) % 16u);
            b_next3 = b_at(after * 16u + (local + 192u) / 16u, first_vector + (local + 192u) % 16u);
        }
        {
            let a0 = a_values[at_m + 0u];
            let a1 = a_values[at_m + 8u];
            let b0 = b_values[at_n + 0u];
            let b1 = b_values[at_n + 8u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 17u];
            let a1 = a_values[at_m + 25u];
            let b0 = b_values[at_n + 16u];
            let b1 = b_values[at_n + 24u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 34u];
            let a1 = a_values[at_m + 42u];
            let b0 = b_values[at_n + 32u];
            let b1 = b_values[at_n + 40u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 51u];
            let a1 = a_values[at_m + 59u];
            let b0 = b_values[at_n + 48u];
            let b1 = b_values[at_n + 56u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 68u];
            let a1 = a_values[at_m + 76u];
            let b0 = b_values[at_n + 64u];
            let b1 = b_values[at_n + 72u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 85u];
            let a1 = a_values[at_m + 93u];
            let b0 = b_values[at_n + 80u];
            let b1 = b_values[at_n + 88u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 102u];
            let a1 = a_values[at_m + 110u];
            let b0 = b_values[at_n + 96u];
            let b1 = b_values[at_n + 104u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 119u];
            let a1 = a_values[at_m + 127u];
            let b0 = b_values[at_n + 112u];
            let b1 = b_values[at_n + 120u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 136u];
            let a1 = a_values[at_m + 144u];
            let b0 = b_values[at_n + 128u];
            let b1 = b_values[at_n + 136u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 153u];
            let a1 = a_values[at_m + 161u];
            let b0 = b_values[at_n + 144u];
            let b1 = b_values[at_n + 152u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 170u];
            let a1 = a_values[at_m + 178u];
            let b0 = b_values[at_n + 160u];
            let b1 = b_values[at_n + 168u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 187u];
            let a1 = a_values[at_m + 195u];
            let b0 = b_values[at_n + 176u];
            let b1 = b_values[at_n + 184u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 204u];
            let a1 = a_values[at_m + 212u];
            let b0 = b_values[at_n + 192u];
            let b1 = b_values[at_n + 200u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 221u];
            let a1 = a_values[at_m + 229u];
            let b0 = b_values[at_n + 208u];
            let b1 = b_values[at_n + 216u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 238u];
            let a1 = a_values[at_m + 246u];
            let b0 = b_values[at_n + 224u];
            let b1 = b_values[at_n + 232u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
        {
            let a0 = a_values[at_m + 255u];
            let a1 = a_values[at_m + 263u];
            let b0 = b_values[at_n + 240u];
            let b1 = b_values[at_n + 248u];
            sum0_0 = fma(vec4<f32>(a0.x), b0, sum0_0);
            sum0_1 = fma(vec4<f32>(a0.x), b1, sum0_1);
            sum1_0 = fma(vec4<f32>(a0.y), b0, sum1_0);
            sum1_1 = fma(vec4<f32>(a0.y), b1, sum1_1);
            sum2_0 = fma(vec4<f32>(a0.z), b0, sum2_0);
            sum2_1 = fma(vec4<f32>(a0.z), b1, sum2_1);
            sum3_0 = fma(vec4<f32>(a0.w), b0, sum3_0);
            sum3_1 = fma(vec4<f32>(a0.w), b1, sum3_1);
            sum4_0 = fma(vec4<f32>(a1.x), b0, sum4_0);
            sum4_1 = fma(vec4<f32>(a1.x), b1, sum4_1);
            sum5_0 = fma(vec4<f32>(a1.y), b0, sum5_0);
            sum5_1 = fma(vec4<f32>(a1.y), b1, sum5_1);
            sum6_0 = fma(vec4<f32>(a1.z), b0, sum6_0);
            sum6_1 = fma(vec4<f32>(a1.z), b1, sum6_1);
            sum7_0 = fma(vec4<f32>(a1.w), b0, sum7_0);
            sum7_1 = fma(vec4<f32>(a1.w), b1, sum7_1);
        }
    }
    put(first_row + (at_m + 0u) * 4u + 0u, first_vector + at_n + 0u, sum0_0);
    put(first_row + (at_m + 0u) * 4u + 0u, first_vector + at_n + 8u, sum0_1);
    put(first_row + (at_m + 0u) * 4u + 1u, first_vector + at_n + 0u, sum1_0);
    put(first_row + (at_m + 0u) * 4u + 1u, first_vector + at_n + 8u, sum1_1);
    put(first_row + (at_m + 0u) * 4u + 2u, first_vector + at_n + 0u, sum2_0);
    put(first_row + (at_m + 0u) * 4u + 2u, first_vector + at_n + 8u, sum2_1);
    put(first_row + (at_m + 0u) * 4u + 3u, first_vector + at_n + 0u, sum3_0);
    put(first_row + (at_m + 0u) * 4u + 3u, first_vector + at_n + 8u, sum3_1);
    put(first_row + (at_m + 8u) * 4u + 0u, first_vector + at_n + 0u, sum4_0);
    put(first_row + (at_m + 8u) * 4u + 0u, first_vector + at_n + 8u, sum4_1);
    put(first_row + (at_m + 8u) * 4u + 1u, first_vector + at_n + 0u, sum5_0);
    put(first_row + (at_m + 8u) * 4u + 1u, first_vector + at_n + 8u, sum5_1);
    put(first_row + (at_m + 8u) * 4u + 2u, first_vector + at_n + 0u, sum6_0);
    put(first_row + (at_m + 8u) * 4u + 2u, first_vector + at_n + 8u, sum6_1);
    put(first_row + (at_m + 8u) * 4u + 3u, first_vector + at_n + 0u, sum7_0);
    put(first_row + (at_m + 8u) * 4u + 3u, first_vector + at_n + 8u, sum7_1);
}
