//! The CPU libraries that the kernels are measured beside, on as many threads as the machine has cores.

use candle_core::quantized::{GgmlDType, QMatMul, QStorage, QTensor};
use candle_core::{Device, Module, Result, Tensor};
use rayon::prelude::*;
use std::borrow::Cow;
use std::sync::Arc;

/// A quantized weight matrix of candle's, `rows` by `columns`, from GGUF's own bytes.
pub fn candle_q8_0(bytes: &[u8], rows: usize, columns: usize) -> Result<QMatMul> {
    let storage = QStorage::from_data(Cow::Borrowed(bytes), &Device::Cpu, GgmlDType::Q8_0)?;
    QMatMul::from_arc(Arc::new(QTensor::new(storage, (rows, columns))?))
}

/// Activations for candle, `rows` by `columns`.
pub fn candle_activations(values: &[f32], rows: usize, columns: usize) -> Result<Tensor> {
    Tensor::from_slice(values, (rows, columns), &Device::Cpu)
}

/// One product with candle: the result is allocated anew, as candle does it.
pub fn candle_product(weight: &QMatMul, x: &Tensor) -> Result<Tensor> {
    weight.forward(x)
}

/// `y[m, n] = x[m, k] * w[n, k]^T` with the gemm crate, all matrices row-major, on all cores.
///
/// # Panics
/// If a slice does not hold its matrix.
pub fn gemm_product<T: Copy + 'static>(
    y: &mut [T],
    x: &[T],
    w: &[T],
    [m, n, k]: [usize; 3],
    one: T,
    zero: T,
) {
    assert!(y.len() >= m * n && x.len() >= m * k && w.len() >= n * k);
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    // SAFETY: the assertion above keeps every access inside the slices; strides are those of row-major matrices, with w
    // read transposed.
    unsafe {
        gemm::gemm(
            m,
            n,
            k,
            y.as_mut_ptr(),
            1,
            n as isize,
            false,
            x.as_ptr(),
            1,
            k as isize,
            w.as_ptr(),
            k as isize,
            1,
            zero,
            one,
            false,
            false,
            false,
            gemm::Parallelism::Rayon(threads),
        );
    }
}

/// The parts of a slice of `length` that the threads take.
fn part(length: usize) -> usize {
    length.div_ceil(rayon::current_num_threads()).max(1)
}

/// `memcpy` on all cores, a part each.
///
/// # Panics
/// If the slices differ in length.
pub fn copy(to: &mut [f32], from: &[f32]) {
    assert_eq!(to.len(), from.len());
    let part = part(from.len());
    to.par_chunks_mut(part)
        .zip(from.par_chunks(part))
        .for_each(|(to, from)| to.copy_from_slice(from));
}

/// The sum on all cores, as vector code.
pub fn sum(values: &[f32]) -> f32 {
    const LANES: usize = 64;
    values
        .par_chunks(part(values.len()))
        .map(|values| {
            let mut sums = [0.0f32; LANES];
            let chunks = values.chunks_exact(LANES);
            let rest: f32 = chunks.remainder().iter().sum();
            for chunk in chunks {
                for (sum, value) in sums.iter_mut().zip(chunk) {
                    *sum += value;
                }
            }
            rest + sums.iter().sum::<f32>()
        })
        .sum()
}
