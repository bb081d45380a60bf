//! groups 1 1 1
//! length 24
//! fill * random -30 30
// Structures whose members have every alignment, in both kinds of buffers, copied whole and in parts.
struct Small {
    a: f32,
    b: vec3<f32>,
    c: vec2<i32>,
}
struct Large {
    first: u32,
    rows: mat3x3<f32>,
    pairs: mat2x2<f32>,
    tall: mat2x4<f32>,
    wide: mat4x2<f32>,
    slim: mat3x2<f32>,
    deep: mat4x3<f32>,
    small: Small,
    several: array<Small, 3>,
    vectors: array<vec3<f32>, 4>,
    last: i32,
}
struct Sized {
    @size(32) a: u32,
    @align(64) b: vec2<f32>,
    c: array<vec4<u32>, 2>,
}
struct Open {
    count: u32,
    direction: vec3<f32>,
    items: array<Small>,
}

@group(0) @binding(0) var<uniform> fixed: Large;
@group(0) @binding(1) var<storage, read> given: Open;
@group(1) @binding(0) var<storage, read_write> copy: Large;
@group(1) @binding(3) var<storage, read_write> open: Open;
@group(2) @binding(7) var<storage, read_write> sized: array<Sized, 3>;
@group(2) @binding(1) var<storage, read_write> sums: array<vec4<f32>, 16>;

fn total(items: array<Small, 3>) -> vec3<f32> {
    var copy = items;
    copy[1].b.y = 0.5;
    return copy[0].b + copy[1].b + copy[2].b * copy[0].a;
}

@compute @workgroup_size(8)
fn main(@builtin(local_invocation_index) i: u32) {
    if i == 0u {
        copy = fixed;
        copy.rows[1] = fixed.rows * fixed.vectors[2];
        copy.deep[2].y = 3.25;
        copy.several[2] = fixed.small;
        copy.wide = fixed.wide * 2.0;
        open.count = arrayLength(&given.items);
        open.direction = given.direction.zxy;
        sums[8] = vec4<f32>(total(fixed.several), f32(arrayLength(&open.items)));
        sums[9] = vec4<f32>(fixed.pairs * vec2<f32>(1.0, 2.0), fixed.slim * fixed.small.b);
        sums[10] = fixed.tall * fixed.small.b.xy;
        sums[11] = vec4<f32>(fixed.deep * vec4<f32>(1.0, 2.0, 3.0, 4.0), 0.0);
        sums[12] = vec4<f32>(transpose(fixed.deep) * fixed.small.b);
        sums[13] = vec4<f32>((fixed.rows * fixed.rows)[2], determinant(fixed.pairs));
        sums[14] = vec4<f32>(fixed.small.b * fixed.rows, determinant(fixed.rows));
        sums[15] = vec4<f32>((fixed.tall * fixed.wide)[1]);
    }
    for (var k = i; k < arrayLength(&open.items); k += 8u) {
        open.items[k] = given.items[arrayLength(&given.items) - 1u - k];
        open.items[k].b.z += given.items[k].a;
        open.items[k].c = given.items[k].c.yx;
    }
    if i < 6u { sized[i % 3u].c[i / 3u][i & 3u] = i; }
    if i < 6u { sized[i % 3u].b[i / 3u] = f32(i); }
    sums[i] = vec4<f32>(fixed.several[i % 3u].b, fixed.vectors[i & 3u][i % 3u]);
}
