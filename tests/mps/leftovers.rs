//! Thousands of calls from threads without autorelease pools leave nothing behind.

use std::sync::Mutex;
use std::thread;

use approx::{abs_diff_eq, abs_diff_ne};
use metal_bridge::mps::*;
use metal_bridge::{Device, ObjectKind};
use metal_bridge_test_support::{
    SLACK, count_objects, device, in_child, print_live_objects, queue, resting_objects,
    settled_handles, settled_objects,
};

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
    let input = Elements::random(Strided::packed(1, 2, 2), DataType::Float32, 1);
    let result = Elements::random(Strided::packed(1, 2, 2), DataType::Float32, 2);
    run(|commands| clone.encode(commands, &input.matrix(), &result.matrix()));
}

#[test]
fn a_kernel_outlives_its_handles_until_the_work_is_done() {
    let queue = queue();
    let input = Elements::random(Strided::packed(1, 3, 5), DataType::Float32, 1);
    let result = Elements::random(Strided::packed(1, 3, 5), DataType::Float32, 2);
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
    let is_one = |sum: &f64| abs_diff_eq!(*sum, 1.0, epsilon = 1e-6);
    assert!(sums.iter().all(is_one), "{sums:?}");
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
                let left = Elements::random(Strided::packed(1, 5, 7), DataType::Float32, seed);
                let right = Elements::random(Strided::packed(1, 7, 6), DataType::Float32, seed + 9);
                let result = Elements::random(Strided::packed(1, 5, 6), DataType::Float32, 0);
                for _ in 0..50 {
                    let mut commands = queue.command_buffer().unwrap();
                    let (left, right) = (left.matrix(), right.matrix());
                    kernel
                        .encode(&mut commands, &left, &right, &result.matrix())
                        .unwrap();
                    commands.commit().unwrap().wait().unwrap();
                }
                let exact: f64 = (0..7).map(|i| left.values[i] * right.values[i * 6]).sum();
                if abs_diff_ne!(result.read()[0], exact, epsilon = 1e-5) {
                    failures.lock().unwrap().push(seed);
                }
            });
        }
    });
    assert_eq!(*failures.lock().unwrap(), [0u64; 0]);
}

/// Makes and encodes each kind of kernel, `times` times, on this thread.
fn make_and_encode(times: usize) {
    let queue = queue();
    let [a, b, c, d] = [1, 2, 3, 4].map(|seed| {
        let strided = Strided::packed(1, 4, 4);
        Elements::random(strided, DataType::Float32, seed)
    });
    let indices = Elements::new(a.strided, DataType::UInt32, &[0.0; 16]);
    let array = |of: &Elements| of.array(&[1, 1, 4, 4]);
    let descriptor = Convolution2dDescriptor::new(DataType::Float32, 1, 1, [4, 4], [1, 1]);
    let weights = Elements::random(Strided::packed(1, 1, 1), DataType::Float32, 5);
    for _ in 0..times {
        let mut commands = queue.command_buffer().unwrap();
        let product = MatrixMultiplication::new(device(), 4, 4, 4).unwrap();
        let (left, right) = (a.matrix(), b.matrix());
        let encoded = product.encode(&mut commands, &left, &right, &c.matrix());
        encoded.unwrap();
        let softmax = MatrixSoftMax::new(device()).unwrap();
        softmax.encode(&mut commands, &left, &d.matrix()).unwrap();
        let top = MatrixFindTopK::new(device(), 4).unwrap();
        let encoded = top.encode(&mut commands, &left, &indices.matrix(), &c.matrix());
        encoded.unwrap();
        let product = NdArrayMatrixMultiplication::new(device(), &Default::default()).unwrap();
        let encoded = product.encode(&mut commands, &array(&a), &array(&b), None, &array(&c));
        encoded.unwrap();
        let convolution = Convolution2d::new(device(), &descriptor).unwrap();
        let encoded = convolution.encode(
            &mut commands,
            &array(&a),
            &weights.array(&[1, 1, 1, 1]),
            None,
            &array(&d),
        );
        encoded.unwrap();
        // Refused and never committed: neither leaves anything.
        assert!(MatrixFindTopK::new(device(), 17).is_err());
        assert!(softmax.encode(&mut commands, &left, &left).is_err());
        commands.commit().unwrap().wait().unwrap();
        let mut dropped = queue.command_buffer().unwrap();
        softmax.encode(&mut dropped, &left, &d.matrix()).unwrap();
    }
}

fn on_threads(times: usize) {
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| make_and_encode(times));
        }
    });
}

#[test]
fn thousands_of_calls_leave_nothing() {
    in_child("leftovers::thousands_of_calls_leave_nothing", || {
        count_objects();
        on_threads(5);
        let objects = resting_objects();
        let handles = Device::live_objects();
        on_threads(200);
        let left = settled_objects(objects);
        if left > objects + SLACK {
            print_live_objects();
        }
        assert!(left <= objects + SLACK, "from {objects} objects to {left}");
        let left = settled_handles(&handles);
        assert!(left.same_live(&handles), "from {handles} to {left}");
    });
}
