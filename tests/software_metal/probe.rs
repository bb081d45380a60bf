//! A kernel whose accesses a test chooses, and what one launch of it adds to the profile of the process.

use metal_bridge::analysis::{AccessProfile, KernelProfile, MeetingProfile, Profile};
use metal_bridge::{
    CommandQueue, CompileOptions, ComputePipeline, Device, DispatchType, StorageMode,
};

pub const THREADS: usize = 128;
pub const PER_THREADGROUP: usize = 64;

/// Each line that a test asks for has one access to an object.
const SOURCE: &str = "#include <metal_stdlib>
using namespace metal;
#line 1
kernel void probe(device const uint *data [[buffer(0)]], device const uint *at [[buffer(1)]],
                  device const uint *banks [[buffer(2)]], device const uint *loops [[buffer(3)]],
                  device uint *out [[buffer(4)]], threadgroup uint *tile [[threadgroup(0)]],
                  uint i [[thread_position_in_grid]], uint t [[thread_index_in_threadgroup]]) {
    uint from = at[i];
    uint word = banks[t];
    uint value = data[from];
    tile[word] = value;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    value += tile[word];
    uint n = loops[t];
    for (uint k = 0; k < n; k++)
        value += data[k];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (t % 32 < n) {
        value += simd_sum(value);
        out[i] = value;
    }
}
";

pub struct Probe {
    queue: CommandQueue,
    pipeline: ComputePipeline,
    device: Device,
}

impl Probe {
    pub fn new() -> Probe {
        let device = Device::system_default().unwrap();
        let library = device
            .new_library_with_source(SOURCE, &CompileOptions::new())
            .unwrap();
        let function = library.new_function("probe").unwrap();
        let pipeline = device.new_compute_pipeline_state(&function).unwrap();
        let queue = device.new_command_queue().unwrap();
        Probe {
            queue,
            pipeline,
            device,
        }
    }

    /// The profile of one launch: thread `i` accesses `data[at[i]]`, and `tile[banks[t]]`; thread `t` of a threadgroup loops
    /// `loops[t]` times.
    pub fn launch(&self, at: &[u32], banks: &[u32], loops: &[u32]) -> KernelProfile {
        let before = Profile::of_process().unwrap().unwrap();
        let mut commands = self.queue.command_buffer().unwrap();
        let mut encoder = commands
            .compute_command_encoder(DispatchType::Serial)
            .unwrap();
        encoder.set_compute_pipeline_state(&self.pipeline).unwrap();
        let words = at.iter().max().unwrap() + 1;
        let data = self
            .device
            .new_buffer(words as usize * 4, StorageMode::Shared)
            .unwrap();
        encoder.set_buffer(&data, 0, 0).unwrap();
        for (index, values) in [(1, at), (2, banks), (3, loops)] {
            let buffer = self
                .device
                .new_buffer_with_data(values, StorageMode::Shared)
                .unwrap();
            encoder.set_buffer(&buffer, 0, index).unwrap();
        }
        let out = self
            .device
            .new_buffer(THREADS * 4, StorageMode::Shared)
            .unwrap();
        encoder.set_buffer(&out, 0, 4).unwrap();
        encoder.set_threadgroup_memory_length(16 << 10, 0).unwrap();
        // SAFETY: the indices are those of words of `data` and `tile`.
        unsafe { encoder.dispatch_threads(THREADS, PER_THREADGROUP).unwrap() };
        encoder.end_encoding().unwrap();
        commands.commit().unwrap().wait().unwrap();
        let after = Profile::of_process().unwrap().unwrap();
        difference(
            after.kernels.into_iter().next().unwrap(),
            before.kernels.into_iter().next(),
        )
    }
}

/// What a launch has added.
fn difference(mut after: KernelProfile, before: Option<KernelProfile>) -> KernelProfile {
    let Some(before) = before else { return after };
    after.launches -= before.launches;
    after.threads -= before.threads;
    for access in &mut after.accesses {
        let same = |old: &&AccessProfile| old.at == access.at && old.object == access.object;
        let Some(old) = before.accesses.iter().find(same) else {
            continue;
        };
        access.executions -= old.executions;
        access.lanes -= old.lanes;
        access.all_lanes -= old.all_lanes;
        access.bytes -= old.bytes;
        access.lines_of_64 -= old.lines_of_64;
        access.lines_of_128 -= old.lines_of_128;
        access.least_lines_of_128 -= old.least_lines_of_128;
        access.misaligned -= old.misaligned;
        access.turns -= old.turns;
        access.least_turns -= old.least_turns;
        access.broadcast -= old.broadcast;
        access.sequential -= old.sequential;
        access.strided -= old.strided;
        access.gathered -= old.gathered;
        for (stride, count) in &mut access.strides {
            let same = |old: &&(i64, u64)| old.0 == *stride;
            *count -= old.strides.iter().find(same).map_or(0, |old| old.1);
        }
        access.strides.retain(|&(_, count)| count > 0);
    }
    let meetings = |after: &mut Vec<MeetingProfile>, before: &[MeetingProfile]| {
        for meeting in after {
            let Some(old) = before.iter().find(|old| old.at == meeting.at) else {
                continue;
            };
            meeting.executions -= old.executions;
            meeting.lanes -= old.lanes;
            meeting.all_lanes -= old.all_lanes;
            meeting.work -= old.work;
            meeting.full_work -= old.full_work;
        }
    };
    meetings(&mut after.barriers, &before.barriers);
    meetings(&mut after.simd_functions, &before.simd_functions);
    for one in &mut after.operations {
        let mut old = before.operations.iter();
        if let Some(old) = old.find(|old| old.at == one.at) {
            one.operations.int -= old.operations.int;
        }
    }
    for branch in &mut after.branches {
        let mut old = before.branches.iter();
        if let Some(old) = old.find(|old| old.at == branch.at) {
            branch.executions -= old.executions;
            branch.lanes -= old.lanes;
            branch.all_lanes -= old.all_lanes;
            branch.taken -= old.taken;
            branch.diverged -= old.diverged;
        }
    }
    for object in &mut after.objects {
        let Some(old) = before
            .objects
            .iter()
            .find(|old| old.object == object.object)
        else {
            continue;
        };
        object.asked_to_read -= old.asked_to_read;
        object.read -= old.read;
        object.lines_read -= old.lines_read;
    }
    after
}
