//! Thousands of calls from threads without autorelease pools leave nothing behind.

use std::sync::Mutex;
use std::thread;

use metal_bridge::mps::*;
use metal_bridge::{Device, ObjectKind};
use metal_bridge_test_support::{device, queue};

use crate::support::*;

#[test]
fn kernels_are_counted_and_released() {
    // Other tests of this program make kernels too: only the number that were ever made tells.
    let made = || Device::live_objects().made(ObjectKind::MpsKernel);
    let before = made();
    let kernel = MatrixSoftMax::new(device()).unwrap();
    let clone = kernel.clone();
    assert!(made() > before);
    drop(kernel);
    let input = Elements::random(Place::packed(1, 2, 2), DataType::Float32, 1);
    let result = Elements::random(Place::packed(1, 2, 2), DataType::Float32, 2);
    run(|commands| clone.encode(commands, &input.matrix(), &result.matrix()));
}

#[test]
fn a_kernel_outlives_its_handles_until_the_work_is_done() {
    let queue = queue();
    let input = Elements::random(Place::packed(1, 3, 5), DataType::Float32, 1);
    let result = Elements::random(Place::packed(1, 3, 5), DataType::Float32, 2);
    let mut commands = queue.command_buffer().unwrap();
    let kernel = MatrixSoftMax::new(device()).unwrap();
    kernel
        .encode(&mut commands, &input.matrix(), &result.matrix())
        .unwrap();
    drop(kernel);
    drop(queue);
    commands.commit().unwrap().wait().unwrap();
    let sums: Vec<f64> = result
        .read()
        .chunks(5)
        .map(|row| row.iter().sum())
        .collect();
    assert!(sums.iter().all(|sum| (sum - 1.0).abs() < 1e-6), "{sums:?}");
}

#[test]
fn threads_share_a_kernel() {
    let kernel = MatrixMultiplication::new(device(), 5, 6, 7).unwrap();
    let failures = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for seed in 0..4 {
            let (kernel, failures) = (&kernel, &failures);
            scope.spawn(move || {
                let queue = queue();
                let left = Elements::random(Place::packed(1, 5, 7), DataType::Float32, seed);
                let right = Elements::random(Place::packed(1, 7, 6), DataType::Float32, seed + 9);
                let result = Elements::random(Place::packed(1, 5, 6), DataType::Float32, 0);
                for _ in 0..50 {
                    let mut commands = queue.command_buffer().unwrap();
                    let (left, right) = (left.matrix(), right.matrix());
                    kernel
                        .encode(&mut commands, &left, &right, &result.matrix())
                        .unwrap();
                    commands.commit().unwrap().wait().unwrap();
                }
                let exact: f64 = (0..7).map(|i| left.values[i] * right.values[i * 6]).sum();
                if (result.read()[0] - exact).abs() > 1e-5 {
                    failures.lock().unwrap().push(seed);
                }
            });
        }
    });
    assert_eq!(*failures.lock().unwrap(), [0u64; 0]);
}
