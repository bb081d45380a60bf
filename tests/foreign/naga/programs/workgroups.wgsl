//! groups 3 2 1
//! fill values random -9 9
// Reductions, scans and a transposition in workgroup memory, which is zero at the start.
@group(0) @binding(0) var<storage, read> values: array<i32, 768>;
@group(0) @binding(1) var<storage, read_write> scanned: array<i32, 768>;
@group(0) @binding(2) var<storage, read_write> reduced: array<i32, 24>;
@group(0) @binding(3) var<storage, read_write> turned: array<vec4<i32>, 384>;
@group(0) @binding(4) var<storage, read_write> fresh: array<u32, 768>;

struct Corner {
    row: vec3<i32>,
    total: i32,
    cells: array<vec2<i32>, 3>,
}

var<workgroup> scan: array<i32, 128>;
var<workgroup> tile: array<array<vec4<i32>, 9>, 8>;
var<workgroup> corner: Corner;
var<workgroup> limit: i32;

@compute @workgroup_size(16, 8, 1)
fn main(@builtin(local_invocation_id) at: vec3<u32>, @builtin(local_invocation_index) index: u32,
        @builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let start = (group.y * groups.x + group.x) * 128u;
    let number = group.y * groups.x + group.x;
    fresh[start + index] = u32(scan[index] | corner.total | tile[at.y][at.x % 9u].w);
    workgroupBarrier();
    scan[index] = values[start + index];
    workgroupBarrier();
    for (var step = 1u; step < 128u; step <<= 1u) {
        var sum = scan[index];
        if index >= step {
            sum += scan[index - step];
        }
        workgroupBarrier();
        scan[index] = sum;
        workgroupBarrier();
    }
    scanned[start + index] = scan[index];

    if index == 5u {
        corner = Corner(vec3<i32>(scan[0], scan[1], scan[2]), scan[127],
            array<vec2<i32>, 3>(vec2<i32>(1, 2), vec2<i32>(scan[9], 4), vec2<i32>(5)));
        limit = scan[64];
    }
    let uniform_limit = workgroupUniformLoad(&limit);
    if index == 0u {
        reduced[number * 4u] = corner.total;
        reduced[number * 4u + 1u] = corner.row.y + corner.cells[1].x;
        reduced[number * 4u + 2u] = uniform_limit;
        reduced[number * 4u + 3u] = corner.cells[2].y;
    }
    if at.x < 8u {
        tile[at.y][at.x] = vec4<i32>(i32(at.x), i32(at.y), scan[index], uniform_limit);
    }
    workgroupBarrier();
    if at.x < 8u {
        turned[number * 64u + at.y * 8u + at.x] = tile[at.x][at.y].yxzw + tile[7u - at.y][at.x];
    }
}
