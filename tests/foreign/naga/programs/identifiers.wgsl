//! groups 3 2 2
@group(0) @binding(0) var<storage, read_write> result: array<array<vec4<u32>, 5>, 576>;

struct Identifiers {
    @builtin(global_invocation_id) global: vec3<u32>,
    @builtin(local_invocation_id) local: vec3<u32>,
    @builtin(local_invocation_index) index: u32,
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
}

@compute @workgroup_size(4, 3, 4)
fn main(ids: Identifiers) {
    let number = (ids.group.z * ids.groups.y + ids.group.y) * ids.groups.x + ids.group.x;
    let at = number * 48u + ids.index;
    result[at][0] = vec4<u32>(ids.global, 1u);
    result[at][1] = vec4<u32>(ids.local, ids.index);
    result[at][2] = vec4<u32>(ids.group, number);
    result[at][3] = vec4<u32>(ids.groups, at);
    result[at][4] = vec4<u32>(ids.global - ids.group * vec3<u32>(4u, 3u, 4u) - ids.local, 0u);
}
