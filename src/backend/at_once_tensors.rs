//! Operations of [`MetalOps`](crate::MetalOps) that move, index and order the elements of tensors, and random numbers.

use crate::backend::at_once::at_once;
use crate::ops::{Element, Random, ScanOrder, SortOrder, Tensor, View};

at_once! {
    concat(inputs: &[Tensor<'a>], axis: usize, y: impl Into<Tensor<'a>>);
    tile(x: impl Into<Tensor<'a>>, times: &[usize], y: impl Into<Tensor<'a>>);
    repeat(x: impl Into<Tensor<'a>>, axis: usize, times: usize, y: impl Into<Tensor<'a>>);
    gather(x: impl Into<Tensor<'a>>, axis: usize, index: impl Into<Tensor<'a>>, y: impl Into<Tensor<'a>>);
    index_select(x: impl Into<Tensor<'a>>, axis: usize, index: impl Into<Tensor<'a>>, y: impl Into<Tensor<'a>>);
    embedding(x: impl Into<Tensor<'a>>, index: impl Into<Tensor<'a>>, y: impl Into<Tensor<'a>>);
    scatter(x: impl Into<Tensor<'a>>, axis: usize, index: impl Into<Tensor<'a>>, y: impl Into<Tensor<'a>>);
    scatter_add(x: impl Into<Tensor<'a>>, axis: usize, index: impl Into<Tensor<'a>>, y: impl Into<Tensor<'a>>);
    triu(x: impl Into<Tensor<'a>>, diagonal: i64, y: impl Into<Tensor<'a>>);
    tril(x: impl Into<Tensor<'a>>, diagonal: i64, y: impl Into<Tensor<'a>>);
    one_hot(index: impl Into<Tensor<'a>>, y: impl Into<Tensor<'a>>);
    cumsum(x: impl Into<Tensor<'a>>, axis: usize, order: ScanOrder, y: impl Into<Tensor<'a>>);
    cumprod(x: impl Into<Tensor<'a>>, axis: usize, order: ScanOrder, y: impl Into<Tensor<'a>>);
    sort(
        order: SortOrder,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
        indices: impl Into<Tensor<'a>>,
        scratch: impl Into<View<'a>>
    );
    argsort(
        order: SortOrder,
        x: impl Into<Tensor<'a>>,
        indices: impl Into<Tensor<'a>>,
        scratch: impl Into<View<'a>>
    );
    top_k(
        order: SortOrder,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
        indices: impl Into<Tensor<'a>>,
        scratch: impl Into<View<'a>>
    );
    random_bits(random: Random, y: impl Into<Tensor<'a>>);
    uniform(random: Random, low: f32, high: f32, y: impl Into<Tensor<'a>>);
    normal(random: Random, mean: f32, deviation: f32, y: impl Into<Tensor<'a>>);
    fill[T: Element](value: T, y: impl Into<Tensor<'a>>);
    pad[T: Element](x: impl Into<Tensor<'a>>, padding: &[[usize; 2]], value: T, y: impl Into<Tensor<'a>>);
}
