//! What the bridge and the handles cost: each call beside the same calls made from plain Objective-C.

use std::ffi::CString;
use std::os::raw::c_char;
use std::time::{Duration, Instant};

use criterion::Criterion;
use metal_bridge::indirect::{IndirectCommandBuffer, IndirectCommandBufferDescriptor};
use metal_bridge::{
    Buffer, CommandQueue, CompileOptions, ComputePipeline, Device, DispatchType, Result, Size,
    StorageMode,
};
use metal_bridge_benches::opening::open;
use metal_bridge_benches::table::{self, Row};

const OURS: &str = "metal-bridge";
const PLAIN: &str = "plain Objective-C";
/// A kernel that does next to nothing: the calls are what is timed.
const SOURCE: &str = "
#include <metal_stdlib>
using namespace metal;
kernel void touch(device float *a [[buffer(0)]], device const float *b [[buffer(1)]], device const float *c [[buffer(2)]],
                  constant uint4 &n [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    if (i < n.x) {
        a[i] = b[i] + c[i];
    }
}
";
const FUNCTION: &str = "touch";
/// Buffers that the dispatches use by turns.
const BUFFERS: usize = 8;
/// Dispatches that one command buffer carries.
const BATCH: u64 = 256;

unsafe extern "C" {
    fn plain_open(source: *const c_char, function: *const c_char) -> bool;
    fn plain_buffer(count: u64, length: usize) -> u64;
    fn plain_empty_command_buffer(count: u64, has_handler: bool) -> u64;
    fn plain_encode(count: u64, batch: u64) -> u64;
}

struct Metal {
    device: Device,
    queue: CommandQueue,
    pipeline: ComputePipeline,
    buffers: Vec<Buffer>,
    /// The dispatches of a batch.
    recorded: IndirectCommandBuffer,
}

impl Metal {
    fn new() -> Result<Metal> {
        let device = Device::system_default()?;
        let queue = device.new_command_queue()?;
        let library = device.new_library_with_source(SOURCE, &CompileOptions::new())?;
        let function = library.new_function(FUNCTION)?;
        let pipeline = device.new_compute_pipeline_state(&function)?;
        let buffer = |_| device.new_buffer(4096, StorageMode::Shared);
        let buffers = (0..BUFFERS).map(buffer).collect::<Result<Vec<_>>>()?;
        let for_commands = device.new_compute_pipeline_state_for_indirect_commands(&function)?;
        let recorded = record(&device, &for_commands, &buffers)?;
        Ok(Metal {
            device,
            queue,
            pipeline,
            buffers,
            recorded,
        })
    }

    fn make_buffers(&self, count: u64, length: usize) -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..count {
            drop(self.device.new_buffer(length, StorageMode::Shared)?);
        }
        Ok(start.elapsed())
    }

    fn empty_command_buffers(&self, count: u64) -> Result<Duration> {
        let start = Instant::now();
        for _ in 0..count {
            self.queue.command_buffer()?.commit()?.wait()?;
        }
        Ok(start.elapsed())
    }

    /// As `plain_encode`: only the encoding is timed, to its end.
    fn encode(&self, mut count: u64) -> Result<Duration> {
        let mut spent = Duration::ZERO;
        while count > 0 {
            let n = count.min(BATCH);
            let mut commands = self.queue.command_buffer()?;
            let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
            let start = Instant::now();
            for i in 0..n as usize {
                encoder.set_compute_pipeline_state(&self.pipeline)?;
                for index in 0..3 {
                    encoder.set_buffer(&self.buffers[(i + index) % BUFFERS], 0, index)?;
                }
                encoder.set_value(&[1u32, 2, 3, i as u32], 3)?;
                // SAFETY: the kernel touches one element of three buffers that hold 1,024.
                unsafe { encoder.dispatch_threadgroups(Size::new(1, 1, 1), Size::new(32, 1, 1))? };
            }
            encoder.end_encoding()?;
            spent += start.elapsed();
            commands.commit()?.wait()?;
            count -= n;
        }
        Ok(spent)
    }

    /// As `encode`, by executions of what was recorded, whole batches each. The result is `count` dispatches' share.
    fn execute(&self, count: u64) -> Result<Duration> {
        let batches = count.div_ceil(BATCH);
        let mut spent = Duration::ZERO;
        for _ in 0..batches {
            let mut commands = self.queue.command_buffer()?;
            let mut encoder = commands.compute_command_encoder(DispatchType::Serial)?;
            let start = Instant::now();
            encoder.execute_commands_in_buffer(&self.recorded, 0..BATCH as usize)?;
            encoder.end_encoding()?;
            spent += start.elapsed();
            commands.commit()?.wait()?;
        }
        Ok(spent.mul_f64(count as f64 / (batches * BATCH) as f64))
    }
}

/// What `encode` encodes for a whole batch.
fn record(
    device: &Device,
    pipeline: &ComputePipeline,
    buffers: &[Buffer],
) -> Result<IndirectCommandBuffer> {
    let descriptor = IndirectCommandBufferDescriptor {
        max_kernel_buffer_bind_count: 4,
        ..Default::default()
    };
    let recorded = device.new_indirect_command_buffer(&descriptor, BATCH as usize)?;
    let sizes = device.new_buffer_with_data(&[1u32, 2, 3, 4], StorageMode::Shared)?;
    for i in 0..BATCH as usize {
        let mut command = recorded.indirect_compute_command(i)?;
        command.set_compute_pipeline_state(pipeline)?;
        for index in 0..3 {
            command.set_kernel_buffer(&buffers[(i + index) % BUFFERS], 0, index)?;
        }
        command.set_kernel_buffer(&sizes, 0, 3)?;
        command.set_barrier()?;
        // SAFETY: the kernel touches one element of three buffers that hold 1,024.
        unsafe { command.concurrent_dispatch_threadgroups(1, 32)? };
    }
    Ok(recorded)
}

/// Times `ours` and `plain`, which take a count of rounds.
fn compare(
    c: &mut Criterion,
    name: &str,
    ours: impl Fn(u64) -> Result<Duration>,
    plain: impl Fn(u64) -> u64,
) -> Row {
    let mut group = c.benchmark_group(name);
    group
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(2));
    group.bench_function(OURS, |b| {
        b.iter_custom(|count| ours(count).expect("a round through the bridge"))
    });
    group.bench_function(PLAIN, |b| {
        b.iter_custom(|count| {
            let spent = plain(count);
            assert!(spent > 0, "a plain call failed");
            Duration::from_nanos(spent)
        });
    });
    group.finish();
    Row {
        group: name.to_owned(),
        giga_work: 0.0,
        unit: "ns",
    }
}

fn main() {
    let (start, mut c, metal) = open("bridge", Metal::new());
    let source = CString::new(SOURCE).expect("no zero byte in the source");
    let function = CString::new(FUNCTION).expect("no zero byte in the name");
    // SAFETY: two strings that end in a zero byte.
    assert!(
        unsafe { plain_open(source.as_ptr(), function.as_ptr()) },
        "plain Objective-C found no Metal"
    );

    let mut rows = Vec::new();
    for length in [256, 65536, 16 << 20] {
        rows.push(compare(
            &mut c,
            &format!("buffer made and dropped {length} bytes"),
            |count| metal.make_buffers(count, length),
            // SAFETY: `plain_open` succeeded.
            |count| unsafe { plain_buffer(count, length) },
        ));
    }
    for (name, has_handler) in [
        ("empty command buffer", false),
        ("empty command buffer with a plain handler", true),
    ] {
        rows.push(compare(
            &mut c,
            name,
            |count| metal.empty_command_buffers(count),
            // SAFETY: `plain_open` succeeded.
            |count| unsafe { plain_empty_command_buffer(count, has_handler) },
        ));
    }
    rows.push(compare(
        &mut c,
        "dispatch encoded",
        |count| metal.encode(count),
        // SAFETY: `plain_open` succeeded.
        |count| unsafe { plain_encode(count, BATCH) },
    ));
    rows.push(compare(
        &mut c,
        "dispatch executed from a recording",
        |count| metal.execute(count),
        // SAFETY: `plain_open` succeeded. It encodes the dispatch.
        |count| unsafe { plain_encode(count, BATCH) },
    ));
    c.final_summary();
    table::print(&rows, start, OURS, &[PLAIN]);
}
