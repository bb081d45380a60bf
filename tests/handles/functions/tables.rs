//! What tables do, who may change them when, and what they keep alive.

use std::thread;

use metal_bridge::{ArgumentKind, ObjectKind};
use metal_bridge_test_support::{in_child, in_time, leak};

use super::*;

fn in_use(error: &Error) -> bool {
    matches!(error, Error::InUse(_))
}

#[test]
fn kernels_call_through_tables() {
    let Some(scene) = &*SCENE else { return };
    let (queue, values) = (queue(), numbers());
    let table = scene.table(&scene.doubled, &scene.negative);
    let kinds: Vec<_> = (scene.call.arguments().iter())
        .map(|argument| argument.kind)
        .collect();
    assert_eq!(
        kinds,
        [ArgumentKind::Buffer, ArgumentKind::VisibleFunctionTable]
    );
    assert_eq!(table.function_count(), 2);
    let handle = scene.call.function_handle(&scene.negative).unwrap();
    assert_eq!(handle.name(), "negative");

    let commands = encode_call(&queue, &values, &table, None).unwrap();
    commands.commit().unwrap().wait().unwrap();
    assert_values(&values, |i| if i % 2 == 0 { 2 * i } else { -i });
    // The work has completed: the table may change.
    table.set_function(Some(&handle), 0).unwrap();
    let commands = encode_call(&queue, &values, &table, None).unwrap();
    commands.commit().unwrap();
    assert_values(&values, |i| if i % 2 == 0 { -2 * i } else { i });
}

#[test]
fn kernels_call_private_functions_by_name() {
    let Some(scene) = &*SCENE else { return };
    let source = "#include <metal_stdlib>\n[[visible]] int named(int x) { return x + 7; }";
    let others = device()
        .new_library_with_source(source, &CompileOptions::new())
        .unwrap();
    let named = others.new_function("named").unwrap();
    let kernel = scene.library.new_function("call_by_name").unwrap();
    let descriptor = ComputePipelineDescriptor::new(&kernel).max_call_stack_depth(2);
    let alone = device().new_compute_pipeline_state_with_descriptor(&descriptor);
    assert_error(alone, |e| matches!(e, Error::Compile(_)), "named");
    let descriptor = descriptor.link_privately(&named);
    let pipeline = device()
        .new_compute_pipeline_state_with_descriptor(&descriptor)
        .unwrap();
    let not_found = |e: &Error| matches!(e, Error::NotFound(_));
    assert_error(pipeline.function_handle(&named), not_found, "`named`");
    drop((others, named, descriptor));

    let values = numbers();
    let mut commands = queue().command_buffer().unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder.set_compute_pipeline_state(&pipeline).unwrap();
    encoder.set_buffer(&values, 0, 0).unwrap();
    // SAFETY: one integer a thread, as many as the buffer has.
    unsafe { encoder.dispatch_threads(COUNT, 32).unwrap() };
    encoder.end_encoding().unwrap();
    commands.commit().unwrap();
    assert_values(&values, |i| i + 7);
}

/// The device's largest buffer is the only limit.
#[test]
fn a_table_is_as_large_as_a_buffer() {
    let Some(scene) = &*SCENE else { return };
    let made = scene.call.new_visible_function_table((1 << 24) + 1);
    assert_eq!(made.unwrap().function_count(), (1 << 24) + 1);
    let most = device().limits().max_buffer_length / 8;
    let made = scene.call.new_visible_function_table(most as usize + 1);
    let out_of_range = |error: &Error| matches!(error, Error::OutOfRange(_));
    assert_error(made, out_of_range, &format!("which holds {most}"));
}

#[test]
fn a_table_in_use_does_not_change() {
    let Some(scene) = &*SCENE else { return };
    in_time(|| {
        let (queue, values) = (queue(), numbers());
        let gate = device().new_shared_event().unwrap();
        let table = scene.table(&scene.doubled, &scene.negative);
        let change = || table.set_function(None, 0);

        let commands = encode_call(&queue, &values, &table, None).unwrap();
        assert_error(change(), in_use, "a command buffer that is not committed");
        drop(commands);
        change().unwrap();
        let handle = scene.call.function_handle(&scene.doubled).unwrap();
        table.set_function(Some(&handle), 0).unwrap();

        let commands = encode_call(&queue, &values, &table, Some(&gate)).unwrap();
        let submission = commands.commit().unwrap();
        assert_error(change(), in_use, "visible function table of 2 functions");
        assert_error(change(), in_use, "a committed command buffer");
        // Others may use it meanwhile.
        drop(encode_call(&queue, &values, &table, None).unwrap());
        thread::scope(|scope| {
            let refused =
                scope.spawn(|| assert_error(change(), in_use, "a committed command buffer"));
            refused.join().unwrap();
            let waiting = scope.spawn(|| table.wait_until_idle());
            gate.set_signaled_value(1).unwrap();
            waiting.join().unwrap().unwrap();
        });
        change().unwrap();
        submission.wait().unwrap();
        assert_values(&values, |i| if i % 2 == 0 { 2 * i } else { -i });

        // An encoder that is never ended costs nothing once its command buffer is gone.
        let mut commands = queue.command_buffer().unwrap();
        let mut encoder = commands
            .compute_command_encoder(DispatchType::Serial)
            .unwrap();
        encoder.set_visible_function_table(&table, 1).unwrap();
        leak(encoder);
        assert_error(change(), in_use, "a command buffer that is not committed");
        drop(commands);
        change().unwrap();
    });
}

#[test]
fn threads_share_a_table() {
    let Some(scene) = &*SCENE else { return };
    let table = scene.table(&scene.negative, &scene.doubled);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let (queue, values) = (queue(), numbers());
                for _ in 0..2 {
                    let commands = encode_call(&queue, &values, &table, None).unwrap();
                    commands.commit().unwrap();
                }
                assert_values(&values, |i| if i % 2 == 0 { i } else { 4 * i });
            });
        }
    });
    table.wait_until_idle().unwrap();
    table.set_function(None, 0).unwrap();
}

#[test]
fn work_keeps_what_it_uses_in_every_order_of_drops() {
    in_child(
        "functions::tables::work_keeps_what_it_uses_in_every_order_of_drops",
        || {
            if !device().supports_function_pointers() {
                return;
            }
            let (queue, values) = (queue(), numbers());
            let round = |order: usize| {
                let gate = device().new_shared_event().unwrap();
                let scene = Scene::new(device());
                let table = scene.table(&scene.doubled, &scene.doubled);
                let handle = scene.call.function_handle(&scene.negative).unwrap();
                let commands = encode_call(&queue, &values, &table, Some(&gate)).unwrap();
                let submission = commands.commit().unwrap();
                // What is dropped first is another one each time; none of them is there when the kernel runs.
                let mut parts: Vec<Box<dyn Send>> = vec![
                    Box::new(table),
                    Box::new(handle),
                    Box::new(scene.call),
                    Box::new((scene.doubled, scene.negative)),
                    Box::new(scene.library),
                ];
                parts.rotate_left(order);
                thread::spawn(|| drop(parts)).join().unwrap();
                gate.set_signaled_value(1).unwrap();
                submission.wait().unwrap();
            };
            (0..5).for_each(round);
            assert_values(&values, |i| 32 * i);
            // A completion handler may have the last ones a little longer.
            let kinds = [
                ObjectKind::Library,
                ObjectKind::Function,
                ObjectKind::ComputePipeline,
                ObjectKind::FunctionHandle,
                ObjectKind::VisibleFunctionTable,
            ];
            wait_for("all is released", || {
                let live = Device::live_objects();
                kinds.iter().all(|kind| live.live(*kind) == 0)
            });
        },
    );
}
