//! groups 1 1 1
//! fill * random -4 4
//! tolerance 2e-3 2e-3
enable f16;
struct Item {
    a: f16,
    b: vec3<f16>,
    c: vec2<f16>,
    m: mat3x2<f16>,
    f: f32,
}
@group(0) @binding(0) var<storage, read> items: array<Item, 32>;
@group(0) @binding(1) var<storage, read_write> copies: array<Item, 32>;
@group(0) @binding(2) var<storage, read_write> wide: array<vec4<f32>, 32>;

@compute @workgroup_size(32)
fn main(@builtin(local_invocation_index) i: u32) {
    let item = items[i];
    copies[i] = item;
    copies[i].b = item.b.zyx * item.a + vec3<f16>(0.5h);
    copies[i].c = item.m * item.b;
    wide[i] = vec4<f32>(vec2<f32>(item.c), f32(dot(item.b, item.b)), f32(i32(item.a)));
}
