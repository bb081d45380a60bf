//! groups 2 1 1
//! fill * random -3 3
//! tolerance 1e-5 1e-5
@group(0) @binding(0) var<storage, read> first: array<vec4<f32>, 64>;
@group(0) @binding(1) var<storage, read> second: array<vec4<f32>, 64>;
@group(0) @binding(2) var<storage, read_write> result: array<vec4<f32>, 1024>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    let a = first[id.x];
    let b = second[id.x];
    let at = id.x * 16u;
    result[at] = vec4<f32>(dot(a.xy, b.xy), dot(a.xyz, b.xyz), dot(a, b), f32(dot(vec3<i32>(a.xyz), vec3<i32>(b.xyz))));
    result[at + 1u] = vec4<f32>(length(a.x), length(a.xy), length(a.xyz), length(a));
    result[at + 2u] = vec4<f32>(distance(a.x, b.x), distance(a.xy, b.xy), distance(a.xyz, b.xyz), distance(a, b));
    result[at + 3u] = vec4<f32>(cross(a.xyz, b.xyz), 1.0);
    result[at + 4u] = normalize(a);
    result[at + 5u] = vec4<f32>(normalize(a.xyz), normalize(b.xy).y);
    result[at + 6u] = reflect(a, normalize(b));
    result[at + 7u] = vec4<f32>(refract(normalize(a.xyz), normalize(b.xyz), 0.7), reflect(a.xy, b.xy).x);
    result[at + 8u] = faceForward(a, b, a.yxwz);
    let m = mat3x3<f32>(a.xyz, b.xyz, a.wzy);
    let n = mat4x4<f32>(a, b, a.wzyx, b.yxwz);
    result[at + 9u] = vec4<f32>(m * b.xyz, determinant(m) / 16.0);
    result[at + 10u] = n * a;
    result[at + 11u] = a * n;
    result[at + 12u] = vec4<f32>((transpose(m) * m)[1], (n * transpose(n))[2].z);
    result[at + 13u] = (n + n * 0.5 - mat4x4<f32>())[3];
    result[at + 14u] = vec4<f32>(mix(a.xyz, b.xyz, 0.25), mix(a, b, vec4<f32>(0.5)).w);
    let compared = vec3<bool>(a.x < b.x, all(a < b), any(a < b));
    result[at + 15u] = vec4<f32>(select(vec3<f32>(), vec3<f32>(1.0), compared), f32(compared.y) + f32(compared.z));
}
