//! `libmetal_cudart`: the functions of `metal_bridge::cuda` under C's names, and nothing else.

pub use metal_bridge::cuda::*;
