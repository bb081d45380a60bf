//! The CPU libraries that the kernels are measured beside, on as many threads as the machine has cores.

use rayon::prelude::*;

#[cfg(feature = "candle")]
mod candle;
pub mod reductions;

#[cfg(feature = "candle")]
pub use candle::candle_product;

/// A contender that computes a product at each call.
pub type Product = Box<dyn FnMut()>;

/// Without the feature `candle` there is no such contender.
#[cfg(not(feature = "candle"))]
pub fn candle_product(_: &[u8], _: [usize; 2], _: &[f32]) -> Option<Product> {
    None
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
