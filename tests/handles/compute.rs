use bytemuck::{Pod, Zeroable};
use metal_bridge::{CommandBuffer, ComputeEncoder, Error, MAX_BINDINGS, MAX_INLINE_BYTES, Result};

use crate::*;

fn out_of_range(error: &Error) -> bool {
    matches!(error, Error::OutOfRange(_))
}

fn invalid_argument(error: &Error) -> bool {
    matches!(error, Error::InvalidArgument(_))
}

/// Encodes with `encode`, runs what it encoded.
fn run(encode: impl FnOnce(&mut ComputeEncoder<'_>)) {
    let mut commands = queue().command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encode(&mut encoder);
    encoder.end_encoding().unwrap();
    commands.commit().unwrap().wait().unwrap();
}

fn commands() -> CommandBuffer {
    queue().command_buffer().unwrap()
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Line {
    slope: f32,
    intercept: f32,
}

#[test]
fn both_dispatches_cover_the_grid() {
    let (a, b, sum) = (
        shared(&[1.0; 100]),
        shared(&[2.0; 100]),
        shared(&[0.0; 100]),
    );
    let bind = |encoder: &mut ComputeEncoder<'_>| {
        encoder.set_label("sum").unwrap();
        encoder
            .set_compute_pipeline_state(&pipeline("add"))
            .unwrap();
        encoder.set_buffer_read_only(&a, 0, 0).unwrap();
        encoder.set_buffer_read_only(&b, 0, 1).unwrap();
        encoder.set_buffer(&sum, 0, 2).unwrap();
    };
    run(|encoder| {
        bind(encoder);
        // SAFETY: a float a thread; the last threadgroup is cut at the grid's edge.
        unsafe { encoder.dispatch_threads(100, 32).unwrap() };
    });
    assert_eq!(*sum.wait_read::<f32>().unwrap(), [3.0; 100]);
    run(|encoder| {
        bind(encoder);
        encoder.set_buffer_offset(50 * 4, 2).unwrap();
        // SAFETY: five groups of ten threads, a float each, from the middle on.
        unsafe { encoder.dispatch_threadgroups((5, 1), (10, 1, 1)).unwrap() };
    });
    assert_eq!(sum.wait_read::<f32>().unwrap()[49..51], [3.0, 3.0]);
}

#[test]
fn bytes_and_values_are_copied_when_they_are_set() {
    let values = shared(&[1.0, 2.0, 3.0]);
    run(|encoder| {
        encoder
            .set_compute_pipeline_state(&pipeline("line"))
            .unwrap();
        let mut line = Line {
            slope: 2.0,
            intercept: 1.0,
        };
        encoder.set_value(&line, 0).unwrap();
        encoder.set_buffer(&values, 0, 1).unwrap();
        // SAFETY: a float a thread.
        unsafe { encoder.dispatch_threads(3, 3).unwrap() };
        line.slope = 10.0;
        encoder.set_bytes(bytemuck::bytes_of(&line), 0).unwrap();
        // SAFETY: as above.
        unsafe { encoder.dispatch_threads(1, 1).unwrap() };
    });
    assert_eq!(*values.wait_read::<f32>().unwrap(), [31.0, 5.0, 7.0]);
}

#[test]
fn threadgroup_memory_is_given_by_the_encoder() {
    let values = shared(&(0..64).map(|i| i as f32).collect::<Vec<_>>());
    run(|encoder| {
        encoder
            .set_compute_pipeline_state(&pipeline("reverse"))
            .unwrap();
        encoder.set_buffer(&values, 0, 0).unwrap();
        encoder.set_threadgroup_memory_length(64 * 4, 0).unwrap();
        // SAFETY: a float a thread, in the buffer and in the threadgroup's memory.
        unsafe { encoder.dispatch_threadgroups(1, 64).unwrap() };
    });
    assert_eq!(values.wait_read::<f32>().unwrap()[..3], [63.0, 62.0, 61.0]);
}

#[test]
fn barriers_order_concurrent_dispatches() {
    let values = shared(&[0.0; 64]);
    let mut commands = commands();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Concurrent)
        .unwrap();
    encoder
        .set_compute_pipeline_state(&pipeline("increment"))
        .unwrap();
    encoder.set_buffer(&values, 0, 0).unwrap();
    for step in 0..10 {
        // SAFETY: a float a thread.
        unsafe { encoder.dispatch_threads(64, 32).unwrap() };
        match step % 2 {
            0 => encoder.memory_barrier().unwrap(),
            _ => encoder.memory_barrier_buffers(&[&values]).unwrap(),
        }
    }
    encoder.end_encoding().unwrap();
    commands.commit().unwrap().wait().unwrap();
    assert_eq!(*values.wait_read::<f32>().unwrap(), [10.0; 64]);
}

#[test]
fn bad_bindings_are_refused() {
    let (mut commands, buffer) = (commands(), shared(&[0.0; 4]));
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    assert_error(
        encoder.set_buffer(&buffer, 0, MAX_BINDINGS),
        out_of_range,
        "31",
    );
    assert_error(encoder.set_buffer(&buffer, 16, 0), out_of_range, "16");
    assert_error(
        encoder.set_buffer_read_only(&buffer, usize::MAX, 0),
        out_of_range,
        "mtb_compute_encoder_set_buffer",
    );
    assert_error(
        encoder.set_buffer_offset(0, 3),
        |e| matches!(e, Error::InvalidState(_)),
        "3",
    );
    assert_error(encoder.set_bytes(&[], 0), out_of_range, "0 bytes");
    assert_error(
        encoder.set_bytes(&[0; MAX_INLINE_BYTES + 1], 0),
        out_of_range,
        "4097",
    );
    encoder
        .set_bytes(&[0; MAX_INLINE_BYTES], MAX_BINDINGS - 1)
        .unwrap();
    assert_error(
        encoder.set_threadgroup_memory_length(17, 0),
        |e| matches!(e, Error::Misaligned(_)),
        "17",
    );
    assert_error(
        encoder.set_threadgroup_memory_length(1 << 30, 0),
        out_of_range,
        "mtb_compute",
    );
    assert_error(
        encoder.memory_barrier_buffers(&[]),
        invalid_argument,
        "mtb_compute_encoder_memory_barrier_buffers",
    );
    assert_error(
        encoder.pop_debug_group(),
        |e| matches!(e, Error::InvalidState(_)),
        "group",
    );
    encoder.push_debug_group("left open").unwrap();
    // Usable after all of it.
    encoder.set_buffer(&buffer, 12, 0).unwrap();
    encoder.end_encoding().unwrap();
    commands.commit().unwrap().wait().unwrap();
}

/// What a dispatch gives; the sizes are in range for the kernels, the rest is up to the test.
fn dispatch(encoder: &mut ComputeEncoder<'_>, threads: usize, group: usize) -> Result<()> {
    // SAFETY: the tests bind a float for every thread, or nothing, which is refused.
    unsafe { encoder.dispatch_threads(threads, group) }
}

#[test]
fn bad_dispatches_are_refused() {
    let (mut commands, buffer) = (commands(), shared(&[0.0; 4]));
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    assert_error(
        dispatch(&mut encoder, 4, 4),
        |e| matches!(e, Error::InvalidState(_)),
        "pipeline",
    );
    let increment = pipeline("increment");
    encoder.set_compute_pipeline_state(&increment).unwrap();
    assert_error(
        dispatch(&mut encoder, 4, 4),
        |e| matches!(e, Error::MissingArgument(_)),
        "values",
    );
    encoder.set_buffer(&buffer, 0, 0).unwrap();
    let most = increment.max_total_threads_per_threadgroup();
    assert_error(
        dispatch(&mut encoder, 4, most + 1),
        out_of_range,
        &(most + 1).to_string(),
    );
    // SAFETY: refused.
    let overflow = unsafe { encoder.dispatch_threadgroups(1, (usize::MAX, 2, 1)) };
    assert_error(
        overflow,
        out_of_range,
        "mtb_compute_encoder_dispatch_threadgroups",
    );
    dispatch(&mut encoder, 4, 4).unwrap();
    encoder.end_encoding().unwrap();
    commands.commit().unwrap().wait().unwrap();
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [1.0; 4]);
}

/// Nothing has to be set for it, and what is around it runs.
#[test]
fn a_dispatch_without_threads_does_nothing() {
    let buffer = shared(&[0.0; 4]);
    run(|encoder| {
        for _ in 0..2 {
            dispatch(encoder, 0, 4).unwrap();
            dispatch(encoder, 4, 0).unwrap();
            // SAFETY: no thread runs.
            unsafe {
                encoder.dispatch_threadgroups((3, 0, 1), 4).unwrap();
                encoder.dispatch_threadgroups(3, (4, 1, 0)).unwrap();
            }
            encoder
                .set_compute_pipeline_state(&pipeline("increment"))
                .unwrap();
        }
        encoder.set_buffer(&buffer, 0, 0).unwrap();
        dispatch(encoder, 4, 4).unwrap();
        dispatch(encoder, 0, 4).unwrap();
    });
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [1.0; 4]);
}

#[test]
fn objects_of_another_device_are_refused() {
    let Some(other) = other_device() else { return };
    let wrong = |error: &Error| matches!(error, Error::WrongDevice(_));
    let foreign = other.new_buffer(16, StorageMode::Shared).unwrap();
    let foreign_library = other
        .new_library_with_source(KERNELS, &CompileOptions::new())
        .unwrap();
    let function = foreign_library.new_function("increment").unwrap();
    assert_error(
        device().new_compute_pipeline_state(&function),
        wrong,
        "increment",
    );
    let foreign_pipeline = other.new_compute_pipeline_state(&function).unwrap();

    let mut commands = commands();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    assert_error(
        encoder.set_compute_pipeline_state(&foreign_pipeline),
        wrong,
        "set_pipeline",
    );
    assert_error(encoder.set_buffer(&foreign, 0, 0), wrong, "set_buffer");
    assert_error(encoder.use_buffer_read_only(&foreign), wrong, "use_buffer");
    assert_error(
        encoder.memory_barrier_buffers(&[&foreign]),
        wrong,
        "memory_barrier",
    );
    drop(encoder);
    let (mut blit, buffer) = (commands.blit_command_encoder().unwrap(), shared(&[0.0; 4]));
    assert_error(
        blit.copy(&foreign, 0, &buffer, 0, 4),
        wrong,
        "mtb_blit_encoder_copy",
    );
    assert_error(
        blit.copy(&buffer, 0, &foreign, 0, 4),
        wrong,
        "mtb_blit_encoder_copy",
    );
    assert_error(blit.fill(&foreign, 0..4, 0), wrong, "mtb_blit_encoder_fill");
    drop(blit);
    commands.commit().unwrap().wait().unwrap();
}

#[test]
fn a_use_of_an_address_is_a_use() {
    let (mut commands, buffer) = (commands(), shared(&[0.0; 4]));
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder.use_buffer_read_only(&buffer).unwrap();
    assert!(buffer.wait_read::<f32>().is_ok());
    encoder.use_buffer(&buffer).unwrap();
    assert!(buffer.wait_read::<f32>().is_err());
}
