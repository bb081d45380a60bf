//! The calls of `MetalOps` and of `Batch` that compare, choose, move, index and order elements do what those of `Ops` do.

use metal_bridge::ops::{ArgReduction, Comparison, Ops, Random, Right, ScanOrder, SortOrder};
use metal_bridge::{MetalBackend, MetalOps, Result};

use super::places::{Memory, Place};
use super::values::Sample;
use crate::support::device;

/// Makes a call for a result that is full of sevens, and compares what it then begins with.
fn begins_with<T: Sample>(
    y: &Memory,
    exact: &[T],
    call: impl FnOnce() -> Result<()>,
) -> Result<()> {
    y.write(&[7i32; 16]);
    call()?;
    assert_eq!(y.read::<T>()[..exact.len()], *exact);
    Ok(())
}

#[test]
fn calls_at_once_reach_their_kernels() -> Result<()> {
    let metal = MetalOps::new(MetalBackend::with_device(device())?);
    Place::ALL
        .into_iter()
        .try_for_each(|place| calls(&metal, place))
}

fn calls(metal: &MetalOps, place: Place) -> Result<()> {
    let x_memory = place.holding(metal, &[5, 1, 4, 2]);
    let index_memory = place.holding(metal, &[3u32, 0, 3, 9]);
    let (y_memory, scratch_memory) = (
        place.holding(metal, &[0; 16]),
        place.holding(metal, &[0u32; 8]),
    );
    let (x, index) = (x_memory.of::<i32>(&[4]), index_memory.of::<u32>(&[4]));
    let scratch = scratch_memory.view();
    // Behind four elements of y.
    let indices = y_memory.of::<u32>(&[8]).narrow(0, 4, 4)?;
    let y = |shape: &[usize]| y_memory.of::<i32>(shape);
    /// Makes a call at once and then in a batch.
    macro_rules! gives {
        ($exact:expr, $name:ident($($argument:expr),*)) => {
            begins_with(&y_memory, &$exact, || metal.$name($($argument),*))?;
            begins_with(&y_memory, &$exact, || {
                let mut batch = metal.batch();
                batch.$name($($argument),*)?;
                batch.commit()?.wait()
            })?;
        };
    }
    gives!([5, 1, 4, 2, 5, 1, 4, 2], concat(&[x, x], 0, y(&[8])));
    gives!([9, 5, 1, 4, 2, 9], pad(x, &[[1, 1]], 9, y(&[6])));
    let two = x.narrow(0, 0, 2)?;
    gives!([5, 1, 5, 1], tile(two, &[2], y(&[4])));
    gives!([5, 5, 1, 1], repeat(two, 0, 2, y(&[4])));
    gives!([2, 5, 2, 0], gather(x, 0, index, y(&[4])));
    gives!([2, 5, 2, 0], index_select(x, 0, index, y(&[4])));
    let square = x_memory.of::<i32>(&[2, 2]);
    let rows = [0, 0, 5, 1, 0, 0, 0, 0];
    gives!(rows, embedding(square, index, y(&[4, 2])));
    gives!([8, 8, 7, 7], fill(8, y(&[2])));
    gives!([8, 7, 7, 16], scatter_add(x, 0, index, y(&[4])));
    let first = index.narrow(0, 0, 2)?;
    gives!([1, 7, 7, 5], scatter(two, 0, first, y(&[4])));
    gives!([5, 1, 0, 2], triu(square, 0, y(&[2, 2])));
    gives!([5, 0, 4, 2], tril(square, 0, y(&[2, 2])));
    let ones = [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0];
    gives!(ones, one_hot(index.narrow(0, 1, 3)?, y(&[3, 4])));
    let plain = ScanOrder::default();
    gives!([5, 6, 10, 12], cumsum(x, 0, plain, y(&[4])));
    gives!([5, 5, 20, 40], cumprod(x, 0, plain, y(&[4])));
    let order = SortOrder::default();
    assert_eq!(Ops::sort_scratch(&[4], 0)?, 0);
    let sorted = [1, 2, 4, 5, 1, 3, 2, 0];
    gives!(sorted, sort(order, x, y(&[4]), indices, scratch));
    let largest = SortOrder {
        descending: true,
        ..order
    };
    let sorted = [7, 7, 7, 7, 0, 2, 3, 1];
    gives!(sorted, argsort(largest, x, indices, scratch));
    let positions = indices.narrow(0, 0, 2)?;
    let top = [5, 4, 7, 7, 0, 2, 7];
    gives!(top, top_k(largest, x, y(&[2]), positions, scratch));
    let random = Random::default();
    gives!([0x6627_e8d5, 7], random_bits(random, y(&[1])));
    let floats = y_memory.of::<f32>(&[4]);
    gives!([2.0f32; 4], uniform(random, 2.0, 2.0, floats));
    gives!([-3.0f32; 4], normal(random, -3.0, 0.0, floats));
    let bytes = y_memory.of::<u8>(&[4]);
    let greater = Comparison::Greater;
    gives!(
        [1u8, 0, 1, 0, 7],
        compare(greater, x, Right::scalar(2), bytes)
    );
    let condition_memory = place.holding(metal, &[0u8, 2, 0, 255]);
    let condition = condition_memory.of::<u8>(&[4]);
    let last = x.narrow(0, 3, 1)?;
    gives!([2, 1, 2, 2], select(condition, x, last, y(&[4])));
    gives!([5.0f32, 1.0, 4.0, 2.0], convert(x, floats));
    let position = indices.narrow(0, 0, 1)?;
    gives!(
        [7, 7, 7, 7, 1, 7],
        arg_reduce(ArgReduction::Min, x, 0, position)
    );
    let zeros_memory = place.holding(metal, &[0.0f32; 4]);
    let zeros = zeros_memory.of::<f32>(&[4]);
    let exact = [-std::f32::consts::LN_2 * 2.0; 4];
    gives!(exact, log_softmax(zeros, 0, floats));
    gives!([0.25f32; 4], softmax(zeros, 0, floats));
    Ok(())
}
