//! Products with weights, reductions, norms, convolutions, poolings and attention of [`MetalOps`](crate::MetalOps) on tensors.

use crate::backend::at_once::at_once;
use crate::ops::{
    ArgReduction, Attention, Convolution, Interpolation, Norm, Pooling, Reduction,
    RunningStatistics, Tensor, Weight, Windows,
};

at_once! {
    matmul_weights(weight: &Weight, x: impl Into<Tensor<'a>>, y: impl Into<Tensor<'a>>);
    matmul_weights_add(weight: &Weight, x: impl Into<Tensor<'a>>, y: impl Into<Tensor<'a>>);
    reduce(reduction: Reduction, x: impl Into<Tensor<'a>>, axes: &[usize], y: impl Into<Tensor<'a>>);
    arg_reduce(reduction: ArgReduction, x: impl Into<Tensor<'a>>, axis: usize, y: impl Into<Tensor<'a>>);
    softmax(x: impl Into<Tensor<'a>>, axis: usize, y: impl Into<Tensor<'a>>);
    log_softmax(x: impl Into<Tensor<'a>>, axis: usize, y: impl Into<Tensor<'a>>);
    layer_norm(x: impl Into<Tensor<'a>>, axes: &[usize], norm: &Norm<'a>, y: impl Into<Tensor<'a>>);
    rms_norm_along(x: impl Into<Tensor<'a>>, axes: &[usize], norm: &Norm<'a>, y: impl Into<Tensor<'a>>);
    group_norm(x: impl Into<Tensor<'a>>, groups: usize, norm: &Norm<'a>, y: impl Into<Tensor<'a>>);
    batch_norm(x: impl Into<Tensor<'a>>, mean: impl Into<Tensor<'a>>, variance: impl Into<Tensor<'a>>, norm: &Norm<'a>, y: impl Into<Tensor<'a>>);
    batch_norm_training(x: impl Into<Tensor<'a>>, running: Option<RunningStatistics<'a>>, norm: &Norm<'a>, y: impl Into<Tensor<'a>>);
    transposed_convolution[const D: usize](
        x: impl Into<Tensor<'a>>,
        weight: impl Into<Tensor<'a>>,
        bias: Option<Tensor<'a>>,
        convolution: &Convolution<D>,
        y: impl Into<Tensor<'a>>
    );
    pool[const D: usize](pooling: Pooling, x: impl Into<Tensor<'a>>, windows: &Windows<D>, y: impl Into<Tensor<'a>>);
    adaptive_pool(pooling: Pooling, x: impl Into<Tensor<'a>>, y: impl Into<Tensor<'a>>);
    resample(interpolation: Interpolation, x: impl Into<Tensor<'a>>, y: impl Into<Tensor<'a>>);
    scaled_dot_product_attention(q: impl Into<Tensor<'a>>, k: impl Into<Tensor<'a>>, v: impl Into<Tensor<'a>>, attention: &Attention<'a>, y: impl Into<Tensor<'a>>);
}
