//! Products of matrices that have run when the call returns: on buffers, tensors and addresses.

use crate::support::metal;
use metal_bridge::ops::{Matmul, Tensor, Unary};
use metal_bridge::{Error, StorageMode};

#[test]
fn products_run_at_once_on_buffers_and_tensors() {
    let metal = metal();
    let backend = metal.backend();
    let buffer = |values: &[f32]| {
        let buffer = backend.create_buffer_with_data(values, StorageMode::Shared);
        buffer.expect("a buffer")
    };
    let (a, b, c) = (
        buffer(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        buffer(&[1.0, 0.0, -1.0, 2.0, 0.5, 1.0]),
        buffer(&[0.0; 4]),
    );
    metal.matmul(&a, &b, &c, 2, 2, 3).expect("multiplies");
    assert_eq!(
        *c.wait_read::<f32>().expect("readable"),
        [0.5, 7.0, 2.0, 16.0]
    );
    let error = metal
        .matmul(&a, &b, &c, 2, 3, 2)
        .expect_err("six results in room for four");
    assert!(error.to_string().contains("y takes 24 bytes"), "{error}");

    let square = |buffer| Tensor::of::<f32>(buffer, &[2, 2]).expect("a tensor");
    let options = Matmul {
        c: Some(square(&c)),
        activation: Some(Unary::Relu),
        ..Matmul::default()
    };
    metal
        .matmul_with(options, square(&a), square(&b), square(&c))
        .expect("multiplies");
    assert_eq!(
        *c.wait_read::<f32>().expect("readable"),
        [0.0, 11.0, 1.0, 24.0]
    );
}

#[test]
fn products_run_at_once_on_addresses() {
    let metal = metal();
    let backend = metal.backend();
    let allocation = backend.allocate(12 * 4).expect("memory");
    let base: *mut f32 = allocation.address.as_ptr().cast();
    // SAFETY: as many floats as were allocated, and none is used while something computes.
    let elements = || unsafe { std::slice::from_raw_parts_mut(base, 12) };
    elements()[..8].copy_from_slice(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
    let at = |index: usize| base.wrapping_add(index);
    metal
        .matmul_ptr(at(0), at(4), at(8), 2, 2, 2)
        .expect("multiplies");
    assert_eq!(elements()[8..], [19.0, 22.0, 43.0, 50.0]);
    let error = metal
        .matmul_ptr(at(0), at(4), at(9), 2, 2, 2)
        .expect_err("one too many");
    assert!(
        error
            .to_string()
            .contains("y of shape [2, 2] takes 16 bytes"),
        "{error}"
    );
    let error = metal
        .matmul_ptr(at(0), at(4), at(8), usize::MAX, 2, 2)
        .expect_err("too many");
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    let integers: *mut i32 = base.cast();
    let error = metal
        .matmul_ptr(integers, integers, integers.wrapping_add(4), 1, 1, 1)
        .expect_err("integers");
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
}
