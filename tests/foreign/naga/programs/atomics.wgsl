//! groups 4 1 1
//! length 64
//! fill values random -50 50
//! fill signed random 0 1
//! fill unsigned random 0 1
//! fill exchanged values 7
//! fill claimed values 4000000000
//! unordered tickets
@group(0) @binding(0) var<storage, read> values: array<i32, 256>;
@group(0) @binding(1) var<storage, read_write> signed: array<atomic<i32>, 8>;
@group(0) @binding(2) var<storage, read_write> unsigned: array<atomic<u32>, 8>;
@group(0) @binding(3) var<storage, read_write> tickets: array<u32, 256>;
@group(0) @binding(4) var<storage, read_write> exchanged: array<atomic<u32>, 256>;
@group(0) @binding(5) var<storage, read_write> claimed: array<atomic<u32>, 4>;
@group(0) @binding(6) var<storage, read_write> sums: array<i32, 16>;
@group(0) @binding(7) var<storage, read_write> counter: atomic<u32>;

var<workgroup> local_sum: atomic<i32>;
var<workgroup> local_max: atomic<i32>;
var<workgroup> local_bits: array<atomic<u32>, 2>;

@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(local_invocation_index) local: u32,
        @builtin(workgroup_id) group: vec3<u32>) {
    let value = values[id.x];
    let bits = bitcast<u32>(value);
    atomicAdd(&signed[0], value);
    atomicSub(&signed[1], value);
    atomicMax(&signed[2], value);
    atomicMin(&signed[3], value);
    atomicAnd(&signed[4], value);
    atomicOr(&signed[5], value);
    atomicXor(&signed[6], value);
    atomicAdd(&unsigned[0], bits);
    atomicSub(&unsigned[1], bits);
    atomicMax(&unsigned[2], bits);
    atomicMin(&unsigned[3], bits);
    atomicAnd(&unsigned[4], bits);
    atomicOr(&unsigned[5], bits);
    atomicXor(&unsigned[6], bits);
    tickets[id.x] = atomicAdd(&counter, 1u);

    atomicExchange(&exchanged[id.x], bits);

    // One invocation alone gets each of the first slots.
    let slot = id.x % 4u;
    loop {
        let old = atomicLoad(&claimed[slot]);
        let result = atomicCompareExchangeWeak(&claimed[slot], old, old + 1u);
        if result.exchanged && result.old_value == old {
            break;
        }
    }

    if local == 0u {
        atomicStore(&local_max, -1000);
    }
    workgroupBarrier();
    atomicAdd(&local_sum, value);
    atomicMax(&local_max, value);
    atomicOr(&local_bits[0], 1u << (local & 31u));
    atomicXor(&local_bits[1], bits);
    workgroupBarrier();
    if local == 0u {
        sums[group.x * 4u] = atomicLoad(&local_sum);
        sums[group.x * 4u + 1u] = atomicLoad(&local_max);
        sums[group.x * 4u + 2u] = bitcast<i32>(atomicLoad(&local_bits[0]));
        sums[group.x * 4u + 3u] = bitcast<i32>(atomicLoad(&local_bits[1]));
    }
}
