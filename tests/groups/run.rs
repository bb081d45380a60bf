//! Runs `kernels.metal` for one type of numbers.

use metal_bridge::groups::with_header;
use metal_bridge::{CompileOptions, ComputePipeline, DispatchType, StorageMode};
use metal_bridge_test_support::{device, queue};

use crate::model::Threads;

pub const TYPES: [&str; 4] = ["int", "half", "bfloat", "ulong"];
/// Threadgroups of a dispatch.
pub const GROUPS: usize = 3;
/// More than any of the kernels stores of a thread.
const CALLS: usize = 256;

/// The source, with the header.
pub fn source(kind: &str) -> String {
    let kernels = include_str!("kernels.metal");
    let source = with_header("kernels.metal", kernels);
    format!("#define number {kind}\n{source}")
}

pub struct Kernels {
    pipeline: ComputePipeline,
    is_block: bool,
}

impl Kernels {
    pub fn new(kind: &str, kernel: &str) -> Kernels {
        let library = device()
            .new_library_with_source(&source(kind), &CompileOptions::new())
            .unwrap();
        let function = library.new_function(kernel).unwrap();
        Kernels {
            pipeline: device().new_compute_pipeline_state(&function).unwrap(),
            is_block: kernel == "block",
        }
    }

    /// What the threads have stored: all results of the first call, then of the second, ...
    pub fn run(&self, threads: &Threads) -> Vec<i64> {
        let count = threads.values.len();
        let shared = StorageMode::Shared;
        let values = device()
            .new_buffer_with_data(&threads.values, shared)
            .unwrap();
        let choices = device()
            .new_buffer_with_data(&threads.choices, shared)
            .unwrap();
        let results = device()
            .new_buffer_with_data(&vec![i64::MIN; count * CALLS], shared)
            .unwrap();
        let queue = queue();
        let mut commands = queue.command_buffer().unwrap();
        let mut encoder = commands
            .compute_command_encoder(DispatchType::Serial)
            .unwrap();
        encoder.set_compute_pipeline_state(&self.pipeline).unwrap();
        for (index, buffer) in [&values, &choices, &results].into_iter().enumerate() {
            encoder.set_buffer(buffer, 0, index).unwrap();
        }
        if self.is_block {
            for (index, length) in [32 * 8, 32 * 8, 1024 * 8].into_iter().enumerate() {
                encoder
                    .set_threadgroup_memory_length(length, index)
                    .unwrap();
            }
        }
        // SAFETY: the kernels write less than `CALLS` numbers a thread, and read one of each buffer.
        unsafe { encoder.dispatch_threadgroups(GROUPS, threads.size).unwrap() };
        encoder.end_encoding().unwrap();
        commands.commit().unwrap().wait().unwrap();
        results.wait_read::<i64>().unwrap().to_vec()
    }
}
