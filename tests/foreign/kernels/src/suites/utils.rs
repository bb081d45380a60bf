//! `utils.metal`: functions that the package's kernels use, and no kernel. Three written here call them.

use crate::buffers::{Arg, sizes, value};
use crate::layout::{VIEWS, count, indices};
use crate::rig::{File, Grid};
use crate::types::Type;

/// Stands behind the file's own text.
pub const KERNELS: &str = r#"
kernel void powers_of_two(
    device const uint *numbers, device uint *next, device uint *previous, device uint *not_zero,
    uint i [[thread_position_in_grid]]
) {
    next[i] = next_p2(numbers[i]);
    previous[i] = prev_p2(numbers[i]);
    not_zero[i] = nonzero(numbers[i] - 2) + nonzero<0>() + nonzero<3>();
}

kernel void shared_memory(device const uint *wanted, device uint2 *granted, uint i [[thread_position_in_grid]]) {
    granted[i] = uint2(max_shared_mem<float>(wanted[i]), max_shared_mem<half>(wanted[i]));
}

kernel void strided(
    constant uint &num_dims, constant size_t *dims, constant size_t *strides, device uint *offsets,
    uint i [[thread_position_in_grid]]
) {
    offsets[i] = get_strided_index(i, num_dims, dims, strides);
}
"#;

pub fn run(file: &File) {
    let numbers: Vec<f64> = (2..2050).map(f64::from).collect();
    powers_of_two(file, &numbers);
    shared_memory(file, &numbers);
    for (shape, strides) in VIEWS {
        strided(file, shape, strides);
    }
}

/// A function's name and its value.
type Function = (&'static str, fn(f64) -> f64);

fn powers_of_two(file: &File, numbers: &[f64]) {
    let input = file.input(Type::U32, numbers);
    let outputs: [_; 3] = std::array::from_fn(|_| file.output(Type::U32, numbers.len()));
    let mut arguments = vec![Arg::In(&input)];
    arguments.extend(outputs.iter().map(Arg::Out));
    let launched = file.launch(
        "powers_of_two",
        &[],
        &arguments,
        Grid::Linear(numbers.len()),
    );
    let functions: [Function; 3] = [
        ("next_p2", |x| f64::from((x as u32).next_power_of_two())),
        ("prev_p2", |x| 2f64.powi((x as u32).ilog2() as i32)),
        ("nonzero", |x| (x - 2.0).max(1.0) + 1.0 + 3.0),
    ];
    for ((case, function), output) in functions.iter().zip(&outputs) {
        let expected: Vec<f64> = numbers.iter().map(|x| function(*x)).collect();
        file.check_exact("powers_of_two", case, launched.clone(), output, &expected);
    }
}

/// As many elements as are wanted, at most the largest power of two that fits into 32 KiB less one byte.
fn shared_memory(file: &File, numbers: &[f64]) {
    let wanted: Vec<f64> = numbers.iter().map(|x| x * 16.0).collect();
    let (input, output) = (
        file.input(Type::U32, &wanted),
        file.output(Type::U32, 2 * wanted.len()),
    );
    let arguments = [Arg::In(&input), Arg::Out(&output)];
    let launched = file.launch("shared_memory", &[], &arguments, Grid::Linear(wanted.len()));
    let expected: Vec<f64> = wanted
        .iter()
        .flat_map(|x| [x.min(4096.0), x.min(8192.0)])
        .collect();
    file.check_exact("shared_memory", "32 KiB", launched, &output, &expected);
}

fn strided(file: &File, shape: &[usize], strides: &[usize]) {
    let length = count(shape);
    let output = file.output(Type::U32, length);
    let arguments = [
        value(shape.len() as u32),
        sizes(shape),
        sizes(strides),
        Arg::Out(&output),
    ];
    // The kernel has no bound of its own.
    let grid = Grid::Threads(length.into(), 32.into());
    let launched = file.launch("strided", &[], &arguments, grid);
    let offsets = indices(shape, strides);
    let expected: Vec<f64> = offsets.iter().map(|offset| *offset as f64).collect();
    file.check_exact(
        "strided",
        &format!("{shape:?} by {strides:?}"),
        launched,
        &output,
        &expected,
    );
}
