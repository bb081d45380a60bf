//! groups 2 1 1
//! fill * bits
// Integers of 64 bits.
@group(0) @binding(0) var<storage, read> first: array<i64, 64>;
@group(0) @binding(1) var<storage, read> second: array<u64, 64>;
@group(0) @binding(2) var<storage, read_write> signed: array<i64, 512>;
@group(0) @binding(3) var<storage, read_write> unsigned: array<u64, 512>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let a = first[id.x];
    let b = second[id.x];
    let at = id.x * 8u;
    signed[at] = a * 3li - first[63u - id.x];
    signed[at + 1u] = a / 1000003li;
    signed[at + 2u] = a % 1000003li;
    signed[at + 3u] = a >> 21u;
    signed[at + 4u] = abs(a) ^ i64(b);
    signed[at + 5u] = clamp(a, -1000000000000li, 1000000000000li);
    signed[at + 6u] = i64(i32(a));
    signed[at + 7u] = select(min(a, 5li), max(a, 7li), b > 9223372036854775807lu);
    unsigned[at] = b + 12345678901234567lu;
    unsigned[at + 1u] = b / 77777lu;
    unsigned[at + 2u] = b % 77777lu;
    unsigned[at + 3u] = b << 33u;
    unsigned[at + 4u] = ~b & u64(a);
    unsigned[at + 5u] = u64(u32(b));
    unsigned[at + 6u] = b * b;
    unsigned[at + 7u] = dot(vec3<u64>(b, 2lu, 3lu), vec3<u64>(4lu, b, 5lu));
}
