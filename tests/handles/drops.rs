//! Handles dropped in every order, on other threads, and while the GPU uses what they stand for.

use std::any::Any;

use crate::*;

/// Everything that one committed command buffer needs, each behind its own handle.
fn handles(gate: &SharedEvent) -> (Vec<Box<dyn Any + Send>>, Buffer) {
    let device = Device::at(0).unwrap();
    let queue = device.new_command_queue().unwrap();
    let library = device
        .new_library_with_source(KERNELS, &CompileOptions::new())
        .unwrap();
    let function = library.new_function("add").unwrap();
    let pipeline = device.new_compute_pipeline_state(&function).unwrap();
    let (a, b, sum) = (shared(&[1.0; 64]), shared(&[2.0; 64]), shared(&[0.0; 64]));
    let mut commands = queue.command_buffer().unwrap();
    commands.encode_wait_for_event(gate, 1).unwrap();
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder.set_compute_pipeline_state(&pipeline).unwrap();
    encoder.set_buffer_read_only(&a, 0, 0).unwrap();
    encoder.set_buffer_read_only(&b, 0, 1).unwrap();
    encoder.set_buffer(&sum, 0, 2).unwrap();
    // SAFETY: a float a thread.
    unsafe { encoder.dispatch_threads(64, 32).unwrap() };
    encoder.end_encoding().unwrap();
    let submission = commands.commit().unwrap();
    let all: Vec<Box<dyn Any + Send>> = vec![
        Box::new(device),
        Box::new(queue),
        Box::new(library),
        Box::new(function),
        Box::new(pipeline),
        Box::new(a),
        Box::new(b),
        Box::new(submission),
    ];
    (all, sum)
}

#[test]
fn handles_go_in_any_order_while_the_gpu_works() {
    let count = 8;
    for rotation in 0..count {
        for reversed in [false, true] {
            let gate = device().new_shared_event().unwrap();
            let (mut all, sum) = handles(&gate);
            all.rotate_left(rotation);
            if reversed {
                all.reverse();
            }
            all.into_iter().for_each(drop);
            gate.set_signaled_value(1).unwrap();
            drop(gate);
            assert_eq!(*sum.wait_read::<f32>().unwrap(), [3.0; 64]);
        }
    }
}

#[test]
fn handles_go_on_other_threads() {
    let gate = device().new_shared_event().unwrap();
    let (all, sum) = handles(&gate);
    let threads: Vec<_> = all
        .into_iter()
        .map(|handle| std::thread::spawn(move || drop(handle)))
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    std::thread::spawn(move || gate.set_signaled_value(1).unwrap())
        .join()
        .unwrap();
    assert_eq!(*sum.wait_read::<f32>().unwrap(), [3.0; 64]);
    std::thread::spawn(move || drop(sum)).join().unwrap();
}

#[test]
fn objects_outlive_what_they_were_made_from() {
    let function = {
        let device = Device::at(0).unwrap();
        let library = device
            .new_library_with_source(KERNELS, &CompileOptions::new())
            .unwrap();
        library.new_function("increment").unwrap()
    };
    let pipeline = Device::at(0)
        .unwrap()
        .new_compute_pipeline_state(&function)
        .unwrap();
    drop(function);
    let mut commands = Device::at(0)
        .unwrap()
        .new_command_queue()
        .unwrap()
        .command_buffer()
        .unwrap();
    let buffer = shared(&[0.0; 8]);
    let mut encoder = commands
        .compute_command_encoder(DispatchType::Serial)
        .unwrap();
    encoder.set_compute_pipeline_state(&pipeline).unwrap();
    drop(pipeline);
    encoder.set_buffer(&buffer, 0, 0).unwrap();
    // SAFETY: a float a thread.
    unsafe { encoder.dispatch_threads(8, 8).unwrap() };
    drop(encoder);
    commands.commit().unwrap().wait().unwrap();
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [1.0; 8]);
}

#[test]
fn what_is_recorded_and_dropped_never_runs() {
    let (queue, buffer) = (queue(), shared(&[0.0; 8]));
    let mut commands = queue.command_buffer().unwrap();
    commands.enqueue().unwrap();
    let mut blit = commands.blit_command_encoder().unwrap();
    blit.fill(&buffer, 0..32, 0xff).unwrap();
    drop(blit);
    drop(commands);
    // The position in the queue is free: what comes later runs.
    increment(&queue, &buffer, None).wait_timeout(LONG).unwrap();
    assert_eq!(*buffer.wait_read::<f32>().unwrap(), [1.0; 8]);
}
