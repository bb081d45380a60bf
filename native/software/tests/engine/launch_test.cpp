/* What a kernel sees of its launch, and which launches are refused. */
#include <algorithm>
#include <numeric>

#include "check.h"
#include "metal_program.h"

namespace {

const char *const source = R"(
struct seen {
    uint3 position, local, group, size, dispatch_size, groups, grid;
    uint index, lane, simdgroup, simdgroups, dispatch_simdgroups, width, quad, quad_lane;
};

kernel void look(device seen *all [[buffer(0)]],
                 uint3 position [[thread_position_in_grid]],
                 ushort3 local [[thread_position_in_threadgroup]],
                 uint3 group [[threadgroup_position_in_grid]],
                 ushort3 size [[threads_per_threadgroup]],
                 uint3 dispatch_size [[dispatch_threads_per_threadgroup]],
                 uint3 groups [[threadgroups_per_grid]],
                 uint3 grid [[threads_per_grid]],
                 ushort index [[thread_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]],
                 ushort simdgroup [[simdgroup_index_in_threadgroup]],
                 uint simdgroups [[simdgroups_per_threadgroup]],
                 uint dispatch_simdgroups [[dispatch_simdgroups_per_threadgroup]],
                 uint width [[threads_per_simdgroup]],
                 uint quad [[quadgroup_index_in_threadgroup]],
                 uint quad_lane [[thread_index_in_quadgroup]]) {
    device seen &s = all[position.x + grid.x * (position.y + grid.y * position.z)];
    s.position = position;
    s.local = uint3(local);
    s.group = group;
    s.size = uint3(size);
    s.dispatch_size = dispatch_size;
    s.groups = groups;
    s.grid = grid;
    s.index = index;
    s.lane = lane;
    s.simdgroup = simdgroup;
    s.simdgroups = simdgroups;
    s.dispatch_simdgroups = dispatch_simdgroups;
    s.width = width;
    s.quad = quad;
    s.quad_lane = quad_lane;
}

/* The same where threads block: each starts on its own. */
kernel void count_after_barrier(device atomic_uint *counts [[buffer(0)]], uint3 position [[thread_position_in_grid]],
                                uint3 grid [[threads_per_grid]]) {
    threadgroup_barrier(mem_flags::mem_none);
    atomic_fetch_add_explicit(&counts[position.x + grid.x * (position.y + grid.y * position.z)], 1u, memory_order_relaxed);
}

kernel void square(device float *x [[buffer(0)]], uint2 p [[thread_position_in_grid]]) { x[p.x] *= x[p.x]; }

struct parameters {
    uint n;
    float scale;
};
kernel void scale(device const float *x [[buffer(2)]], device float *y [[buffer(5)]], constant parameters &p [[buffer(7)]],
                  uint i [[thread_position_in_grid]]) {
    if (i < p.n)
        y[i] = p.scale * x[i];
}

kernel void borrow(device float *x [[buffer(0)]], threadgroup float *shared [[threadgroup(1)]],
                   uint i [[thread_index_in_threadgroup]]) {
    shared[i] = x[i];
    x[i] = shared[i] + 1;
}

kernel void own(device float *x [[buffer(0)]], uint i [[thread_index_in_threadgroup]]) {
    threadgroup float shared[1000];
    shared[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] = shared[i ^ 1];
}
)";

struct alignas(16) triple {
    uint32_t x, y, z, unused;
};
struct seen {
    triple position, local, group, size, dispatch_size, groups, grid;
    uint32_t index, lane, simdgroup, simdgroups, dispatch_simdgroups, width, quad, quad_lane;
};

bool equal(const triple &t, uint32_t x, uint32_t y, uint32_t z) { return t.x == x && t.y == y && t.z == z; }
bool equal(const triple &t, size3 s) { return equal(t, s.x, s.y, s.z); }
uint32_t volume(size3 s) { return s.x * s.y * s.z; }

void attributes(metal_program &program, size3 grid, size3 group) {
    std::vector<seen> all(volume(grid));
    CHECK(launch(program.kernel("look")).buffer(0, all).run(grid, group).empty());
    const auto groups = [](uint32_t n, uint32_t size) { return (n + size - 1) / size; };
    const size3 count = {groups(grid.x, group.x), groups(grid.y, group.y), groups(grid.z, group.z)};
    unsigned wrong = 0;
    for (uint32_t z = 0; z < grid.z; ++z)
        for (uint32_t y = 0; y < grid.y; ++y)
            for (uint32_t x = 0; x < grid.x; ++x) {
                const seen &s = all[x + grid.x * (y + grid.y * z)];
                const size3 g = {x / group.x, y / group.y, z / group.z}, l = {x % group.x, y % group.y, z % group.z};
                const auto actual = [](uint32_t n, uint32_t size, uint32_t at) {
                    return std::min(size, n - at * size);
                };
                const size3 size = {actual(grid.x, group.x, g.x), actual(grid.y, group.y, g.y),
                                    actual(grid.z, group.z, g.z)};
                const uint32_t index = l.x + size.x * (l.y + size.y * l.z);
                const bool right = equal(s.position, x, y, z) && equal(s.local, l) && equal(s.group, g) &&
                                   equal(s.size, size) && equal(s.dispatch_size, group) && equal(s.groups, count) &&
                                   equal(s.grid, grid) && s.index == index && s.lane == index % 32 &&
                                   s.simdgroup == index / 32 && s.simdgroups == groups(volume(size), 32) &&
                                   s.dispatch_simdgroups == groups(volume(group), 32) && s.width == 32 &&
                                   s.quad == index / 4 && s.quad_lane == index % 4;
                wrong += !right;
            }
    CHECK(wrong == 0);

    std::vector<uint32_t> counts(volume(grid));
    CHECK(launch(program.kernel("count_after_barrier")).buffer(0, counts).run(grid, group).empty());
    unsigned not_once = 0;
    for (uint32_t c : counts) not_once += c != 1;
    CHECK(not_once == 0);
}

void bindings(metal_program &program) {
    std::vector<float> x(1000), y(1000, -1.0f);
    std::iota(x.begin(), x.end(), 0.0f);
    struct {
        uint32_t n;
        float scale;
    } parameters = {900, 2.5f};
    const auto bound = [&] {
        return launch(program.kernel("scale")).buffer(2, x).buffer(5, y).constant(7, parameters);
    };
    CHECK(bound().run({1000}, {64}).empty());
    CHECK(y[899] == 899 * 2.5f && y[900] == -1.0f);

    launch lacks_output = bound();
    lacks_output.raw.buffers[5] = nullptr;
    CHECK(mentions(lacks_output.run({1000}, {64}), {"scale", "buffer argument 5", "nothing is bound"}));
    CHECK(mentions(bound().bytes(7, &parameters, 4).run({1000}, {64}), {"buffer argument 7", "8 bytes", "has 4"}));
    CHECK(bound().run({1000}, {64}).empty());
}

void limits(metal_program &program) {
    std::vector<float> x(2048, 3.0f);
    const auto square = [&] { return launch(program.kernel("square")).buffer(0, x); };
    CHECK(mentions(square().run({2048}, {1025}), {"square", "1025 x 1 x 1", "1024"}));
    CHECK(mentions(square().run({2048}, {64, 64}), {"64 x 64 x 1"}));
    CHECK(mentions(square().run({2048}, {UINT32_MAX, UINT32_MAX, UINT32_MAX}), {"1024"}));
    for (size3 none : {size3{0, 1, 1}, size3{1, 0, 1}, size3{1, 1, 0}}) {
        CHECK(square().run(none, {32}).empty());
        CHECK(square().run({32}, none).empty());
    }
    CHECK(x[0] == 3.0f);
    CHECK(square().run({2048}, {1024}).empty());
    CHECK(x[0] == 9.0f && x[2047] == 9.0f);
}

void threadgroup_memory(metal_program &program) {
    std::vector<float> x(1000);
    std::iota(x.begin(), x.end(), 0.0f);
    const auto borrow = [&] { return launch(program.kernel("borrow")).buffer(0, x); };
    CHECK(mentions(borrow().run({1000}, {1000}), {"borrow", "invalid memory"}));
    CHECK(mentions(borrow().threadgroup_memory(1, 32784).run({1000}, {1000}), {"32784", "32768"}));
    CHECK(borrow().threadgroup_memory(1, 4000).run({1000}, {1000}).empty());
    CHECK(x[0] == 1.0f && x[999] == 1000.0f);

    CHECK(smtl_kernel_static_threadgroup_memory(program.kernel("own")) == 4000);
    CHECK(smtl_kernel_static_threadgroup_memory(program.kernel("borrow")) == 0);
    CHECK(launch(program.kernel("own")).buffer(0, x).run({1000}, {1000}).empty());
    CHECK(x[0] == 2.0f && x[1] == 1.0f && x[999] == 999.0f);
    CHECK(mentions(launch(program.kernel("own")).buffer(0, x).threadgroup_memory(0, 32000).run({1000}, {1000}),
                   {"36000"}));
}

void loading() {
    char *error = nullptr;
    CHECK(smtl_kernel_load("/nonexistent.so", "smtl_entry", &error) == nullptr);
    CHECK(error != nullptr && mentions(error, {"/nonexistent.so"}));
    std::free(error);
}

}  // namespace

int main() {
    metal_program program(source);
    attributes(program, {1}, {1});
    attributes(program, {1000}, {64});
    attributes(program, {70, 9, 5}, {16, 4, 2});
    attributes(program, {33, 7, 3}, {8, 8, 8});
    attributes(program, {3, 2, 2}, {1024});
    attributes(program, {1, 300}, {1, 256});
    bindings(program);
    limits(program);
    threadgroup_memory(program);
    loading();
    return check::report("engine/launch_test");
}
