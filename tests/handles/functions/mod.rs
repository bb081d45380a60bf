//! Functions that kernels do not have in their own source: tables of linked ones, and dynamic libraries.

mod dynamic_libraries;
mod refusals;
mod tables;

use metal_bridge::{ComputePipelineDescriptor, Function, VisibleFunctionTable};

use crate::*;

const COUNT: usize = 64;

const SOURCE: &str = r#"
#include <metal_stdlib>
using namespace metal;

[[visible]] int doubled(int x) { return 2 * x; }
[[visible]] int negative(int x) { return -x; }
[[visible]] int named(int x);

kernel void call(device int *values [[buffer(0)]], visible_function_table<int(int)> table [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    values[i] = table[i % 2](values[i]);
}

kernel void call_by_name(device int *values [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    values[i] = named(values[i]);
}

kernel void take_memory(device int *values [[buffer(0)]], device int *more [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
    values[i] = more[i];
}
"#;

/// A pipeline of `call` with both functions.
struct Scene {
    library: Library,
    doubled: Function,
    negative: Function,
    call: ComputePipeline,
}

impl Scene {
    fn new(device: &Device) -> Scene {
        let library = device
            .new_library_with_source(SOURCE, &CompileOptions::new())
            .unwrap();
        let function = |name| library.new_function(name).unwrap();
        let (doubled, negative) = (function("doubled"), function("negative"));
        let descriptor = ComputePipelineDescriptor::new(&function("call"))
            .link(&doubled)
            .link(&negative);
        let call = device.new_compute_pipeline_state_with_descriptor(&descriptor);
        Scene {
            call: call.unwrap(),
            library,
            doubled,
            negative,
        }
    }

    /// A table of the pipeline's with the two functions.
    fn table(&self, first: &Function, second: &Function) -> VisibleFunctionTable {
        let table = self.call.new_visible_function_table(2).unwrap();
        for (index, function) in [first, second].into_iter().enumerate() {
            let handle = self.call.function_handle(function).unwrap();
            table.set_function(Some(&handle), index).unwrap();
        }
        table
    }
}

/// Made once: a compilation is dear. `None` if the device has no function pointers.
static SCENE: LazyLock<Option<Scene>> = LazyLock::new(|| {
    device()
        .supports_function_pointers()
        .then(|| Scene::new(device()))
});

/// The values 0, 1, 2, ...
fn numbers() -> Buffer {
    let values: Vec<i32> = (0..COUNT as i32).collect();
    device()
        .new_buffer_with_data(&values, StorageMode::Shared)
        .unwrap()
}

/// Encodes a launch of `call`, behind `gate` if there is one.
fn encode_call(
    queue: &CommandQueue,
    values: &Buffer,
    table: &VisibleFunctionTable,
    gate: Option<&SharedEvent>,
) -> metal_bridge::Result<CommandBuffer> {
    let mut commands = queue.command_buffer().unwrap();
    if let Some(gate) = gate {
        commands.encode_wait_for_event(gate, 1).unwrap();
    }
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder
        .set_compute_pipeline_state(table.pipeline())
        .unwrap();
    encoder.set_buffer(values, 0, 0).unwrap();
    encoder.set_visible_function_table(table, 1)?;
    // SAFETY: one integer a thread, as many as the buffer has, and the table has functions of its type at both indices.
    unsafe { encoder.dispatch_threads(COUNT, 32)? };
    encoder.end_encoding().unwrap();
    Ok(commands)
}

#[track_caller]
fn assert_values(buffer: &Buffer, expected: impl Fn(i32) -> i32) {
    let expected: Vec<i32> = (0..COUNT as i32).map(expected).collect();
    assert_eq!(*buffer.wait_read::<i32>().unwrap(), expected);
}
