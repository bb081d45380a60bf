//! groups 2 1 1
//! length 128
//! fill data random 0 1000
// Several entry points, of which each uses other buffers and functions.
@group(0) @binding(0) var<storage, read_write> data: array<u32>;
@group(0) @binding(1) var<storage, read_write> flags: array<u32>;
@group(1) @binding(0) var<uniform> shift: vec4<u32>;

fn mixed(a: u32, b: u32) -> u32 {
    return (a ^ (b << 13u)) * 2654435761u + (a >> 7u);
}

@compute @workgroup_size(64)
fn hash(@builtin(global_invocation_id) id: vec3<u32>) {
    data[id.x] = mixed(data[id.x], shift.y);
}

@compute @workgroup_size(32, 2)
fn mark(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_id) local: vec3<u32>) {
    flags[id.x * 2u + local.y] = mixed(id.x, local.y) + arrayLength(&flags);
}

@compute @workgroup_size(1)
fn sort() {
    for (var i = 1u; i < arrayLength(&data); i++) {
        var j = i;
        while j > 0u && data[j - 1u] > data[j] {
            let held = data[j];
            data[j] = data[j - 1u];
            data[j - 1u] = held;
            j--;
        }
    }
}
