//! The calls of `MetalOps` that move, index and order elements: each does what the one of `Ops` does.

use metal_bridge::ops::{Ops, Random, ScanOrder, SortOrder, Tensor};
use metal_bridge::{MetalBackend, MetalOps, Result};

use super::values::{read, room};
use crate::support::{buffer, device};

#[test]
fn calls_at_once_reach_their_kernels() -> Result<()> {
    let metal = MetalOps::new(MetalBackend::with_device(device())?);
    let (x_buffer, index_buffer) = (buffer(&[5, 1, 4, 2]), buffer(&[3u32, 0, 3, 9]));
    let (y_buffer, indices_buffer, scratch) = (room::<i32>(16), room::<u32>(4), buffer(&[0u32; 8]));
    let x = Tensor::of::<i32>(&x_buffer, &[4])?;
    let index = Tensor::of::<u32>(&index_buffer, &[4])?;
    let indices = Tensor::of::<u32>(&indices_buffer, &[4])?;
    let y = |shape: &[usize]| Tensor::of::<i32>(&y_buffer, shape);
    let is = |exact: &[i32]| assert_eq!(read::<i32>(&y_buffer)[..exact.len()], *exact);
    metal.concat(&[x, x], 0, y(&[8])?)?;
    is(&[5, 1, 4, 2, 5, 1, 4, 2]);
    metal.pad(x, &[[1, 1]], 9, y(&[6])?)?;
    is(&[9, 5, 1, 4, 2, 9]);
    metal.tile(x.narrow(0, 0, 2)?, &[2], y(&[4])?)?;
    is(&[5, 1, 5, 1]);
    metal.repeat(x.narrow(0, 0, 2)?, 0, 2, y(&[4])?)?;
    is(&[5, 5, 1, 1]);
    metal.gather(x, 0, index, y(&[4])?)?;
    is(&[2, 5, 2, 0]);
    metal.index_select(x, 0, index, y(&[4])?)?;
    is(&[2, 5, 2, 0]);
    metal.embedding(Tensor::of::<i32>(&x_buffer, &[2, 2])?, index, y(&[4, 2])?)?;
    is(&[0, 0, 5, 1, 0, 0, 0, 0]);
    metal.fill(7, y(&[4])?)?;
    metal.scatter_add(x, 0, index, y(&[4])?)?;
    is(&[8, 7, 7, 16]);
    metal.scatter(x.narrow(0, 0, 2)?, 0, index.narrow(0, 0, 2)?, y(&[4])?)?;
    is(&[1, 7, 7, 5]);
    let square = Tensor::of::<i32>(&x_buffer, &[2, 2])?;
    metal.triu(square, 0, y(&[2, 2])?)?;
    is(&[5, 1, 0, 2]);
    metal.tril(square, 0, y(&[2, 2])?)?;
    is(&[5, 0, 4, 2]);
    metal.one_hot(index.narrow(0, 1, 3)?, y(&[3, 4])?)?;
    is(&[1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0]);
    metal.cumsum(x, 0, ScanOrder::default(), y(&[4])?)?;
    is(&[5, 6, 10, 12]);
    metal.cumprod(x, 0, ScanOrder::default(), y(&[4])?)?;
    is(&[5, 5, 20, 40]);
    let order = SortOrder::default();
    assert_eq!(Ops::sort_scratch(&[4], 0)?, 0);
    metal.sort(order, x, y(&[4])?, indices, &scratch)?;
    is(&[1, 2, 4, 5]);
    assert_eq!(read::<u32>(&indices_buffer), [1, 3, 2, 0]);
    let largest = SortOrder {
        descending: true,
        ..order
    };
    metal.argsort(largest, x, indices, &scratch)?;
    assert_eq!(read::<u32>(&indices_buffer), [0, 2, 3, 1]);
    metal.top_k(largest, x, y(&[2])?, indices.narrow(0, 0, 2)?, &scratch)?;
    is(&[5, 4]);
    metal.random_bits(Random::default(), y(&[1])?)?;
    is(&[0x6627_e8d5]);
    let floats = Tensor::of::<f32>(&y_buffer, &[4])?;
    metal.uniform(Random::default(), 2.0, 2.0, floats)?;
    assert_eq!(read::<f32>(&y_buffer)[..4], [2.0; 4]);
    metal.normal(Random::default(), -3.0, 0.0, floats)?;
    assert_eq!(read::<f32>(&y_buffer)[..4], [-3.0; 4]);
    Ok(())
}
