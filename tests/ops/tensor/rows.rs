//! What the tests of reductions and of the softmax share: results of one row, from kernels for both kinds of lanes.

use std::sync::OnceLock;

use metal_bridge::ops::{ArgReduction, LaneExecution, Ops, Reduction, Tensor};

use super::values::{Sample, read, room};
use crate::support::{buffer, device, ops, run};

/// The operations that spread a row over a threadgroup, as on a GPU.
pub fn lockstep() -> &'static Ops {
    static LOCKSTEP: OnceLock<Ops> = OnceLock::new();
    LOCKSTEP.get_or_init(|| {
        Ops::with_lane_execution(device(), LaneExecution::Lockstep).expect("the operations")
    })
}

pub fn both() -> [&'static Ops; 2] {
    [ops(), lockstep()]
}

/// Reduces each row of `x`, a matrix with rows of `columns` elements.
pub fn rows_of<T: Sample>(ops: &Ops, reduction: Reduction, x: &[T], columns: usize) -> Vec<T> {
    let rows = x.len() / columns;
    let (x_buffer, y_buffer) = (buffer(x), room::<T>(rows));
    let x = Tensor::of::<T>(&x_buffer, &[rows, columns]).unwrap();
    let y = Tensor::of::<T>(&y_buffer, &[rows]).unwrap();
    run(|encoder| ops.reduce(encoder, reduction, x, &[1], y));
    read::<T>(&y_buffer)
}

/// The index of the extreme of each row.
pub fn indices_of<T: Sample>(
    ops: &Ops,
    reduction: ArgReduction,
    x: &[T],
    columns: usize,
) -> Vec<u32> {
    let rows = x.len() / columns;
    let (x_buffer, y_buffer) = (buffer(x), room::<u32>(rows));
    let x = Tensor::of::<T>(&x_buffer, &[rows, columns]).unwrap();
    let y = Tensor::of::<u32>(&y_buffer, &[rows, 1]).unwrap();
    run(|encoder| ops.arg_reduce(encoder, reduction, x, 1, y));
    read::<u32>(&y_buffer)
}
