//! groups 2 1 1
//! fill floats random -1.3 1.3
//! fill bits bits
//! tolerance 1e-6 0
@group(0) @binding(0) var<storage, read> floats: array<vec4<f32>, 64>;
@group(0) @binding(1) var<storage, read> bits: array<u32, 64>;
@group(0) @binding(2) var<storage, read_write> packed: array<u32, 1024>;
@group(0) @binding(3) var<storage, read_write> unpacked: array<vec4<f32>, 320>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let v = floats[id.x];
    let w = bits[id.x];
    let other = bits[63u - id.x];
    let at = id.x * 16u;
    packed[at] = pack4x8snorm(v);
    packed[at + 1u] = pack4x8unorm(v);
    packed[at + 2u] = pack2x16snorm(v.xy);
    packed[at + 3u] = pack2x16unorm(v.zw);
    packed[at + 4u] = pack2x16float(v.yz * 100.0);
    packed[at + 5u] = pack4xI8(vec4<i32>(v * 200.0));
    packed[at + 6u] = pack4xU8(vec4<u32>(abs(v) * 400.0));
    packed[at + 7u] = pack4xI8Clamp(vec4<i32>(v * 200.0));
    packed[at + 8u] = pack4xU8Clamp(vec4<u32>(abs(v) * 400.0));
    packed[at + 9u] = dot4U8Packed(w, other);
    packed[at + 10u] = bitcast<u32>(dot4I8Packed(w, other));
    packed[at + 11u] = pack4xU8(unpack4xU8(w).wzyx);
    packed[at + 12u] = bitcast<u32>(unpack4xI8(w).x * unpack4xI8(other).w);
    packed[at + 13u] = bitcast<u32>(bitcast<vec2<i32>>(vec2<u32>(w, other)).y);
    packed[at + 14u] = bitcast<u32>(v.x);
    packed[at + 15u] = u32(any(unpack4xI8(w) < unpack4xI8(other)));
    unpacked[id.x * 5u] = unpack4x8snorm(w);
    unpacked[id.x * 5u + 1u] = unpack4x8unorm(w);
    unpacked[id.x * 5u + 2u] = vec4<f32>(unpack2x16snorm(w), unpack2x16unorm(w));
    // Bits that are not a number are left out.
    unpacked[id.x * 5u + 3u] = vec4<f32>(unpack2x16float(w & 0x7bff7bffu), unpack2x16float(w & 0x83ff83ffu));
    unpacked[id.x * 5u + 4u] = bitcast<vec4<f32>>(vec4<u32>(w & 0x7effffffu, 1u << 30u, 0x3f800000u, 0xbf000000u));
}
