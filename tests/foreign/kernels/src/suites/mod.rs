//! One suite for each file of kernels: inputs, launches as the package's host code makes them, references.

mod affine;
mod binary;
mod cast;
mod conv;
mod fill;
mod gemv;
mod ggml;
mod indexing;
mod mlx_gemm;
mod mlx_sort;
mod normalize;
mod quantized;
mod random;
mod reduce;
mod rotate;
mod scaled_dot_product_attention;
mod sort;
mod ternary;
mod tiled_attention;
mod unary;
mod utils;

use crate::package::Source;
use crate::rig::{Constants, File};

/// What belongs to one file.
pub struct Suite {
    /// Values of the function constants for the pass that makes a pipeline of every kernel.
    pub constants: &'static Constants,
    /// Runs kernels and checks what they give.
    pub run: fn(&File),
}

/// The suite of a file.
pub fn of(file: &str) -> Option<Suite> {
    let (constants, run): (&'static Constants, fn(&File)) = match file {
        "affine.metal" => (&[], affine::run),
        "binary.metal" => (&[], binary::run),
        "cast.metal" => (&[], cast::run),
        "conv.metal" => (&[], conv::run),
        "fill.metal" => (&[], fill::run),
        "gemv.metal" => (&[], gemv::run),
        "indexing.metal" => (&[], indexing::run),
        "mlx_gemm.metal" => (mlx_gemm::CONSTANTS, mlx_gemm::run),
        "mlx_sort.metal" => (&[], mlx_sort::run),
        "quantized.metal" => (&[], quantized::run),
        "random.metal" => (&[], random::run),
        "reduce.metal" => (&[], reduce::run),
        "scaled_dot_product_attention.metal" => (
            scaled_dot_product_attention::CONSTANTS,
            scaled_dot_product_attention::run,
        ),
        "sort.metal" => (&[], sort::run),
        "ternary.metal" => (ternary::CONSTANTS, ternary::run),
        "unary.metal" => (&[], unary::run),
        "utils.metal" => (&[], utils::run),
        _ => return None,
    };
    Some(Suite { constants, run })
}

/// The file, and behind it what its suite adds: one that has functions and no kernels needs some that call them.
pub fn with_additions(source: &Source) -> Source {
    let additions = match source.name.as_str() {
        "utils.metal" => utils::KERNELS,
        _ => "",
    };
    Source {
        name: source.name.clone(),
        text: format!("{}{additions}", source.text),
    }
}
