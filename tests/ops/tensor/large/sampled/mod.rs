//! [`Room`]: operations whose results or operands have more elements than 31 or 32 bits count, compared at sampled positions.

mod elements;
mod layers;
mod products;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Instant;

use half::f16;
use metal_bridge::ops::{Ops, Tensor};
use metal_bridge::{Buffer, ComputeEncoder, Result};
use rand::Rng;

use super::{holding, marked, over, sparse};
use crate::support::{rng, run};
use crate::tensor::values::{Sample, is_close};

/// The bytes of the largest result: 2^32 of a byte, or 2^31 of an `f16`, and some more.
const BYTES: usize = (1 << 32) + (1 << 22);
/// Where numbers of 31 and 32 bits end.
const EDGES: [usize; 3] = [0, 1 << 31, 1 << 32];
const AROUND_AN_EDGE: usize = 3;
const ELSEWHERE: usize = 64;

/// An operand's element at an offset, no two neighbours alike.
fn value(offset: usize) -> f64 {
    (offset % 1_000_003 * 7 % 11 + 1) as f64
}

fn offset_of(shape: &[usize], index: &[usize]) -> usize {
    assert_eq!(shape.len(), index.len());
    let dimensions = shape.iter().zip(index);
    dimensions.fold(0, |offset, (size, index)| {
        assert!(index < size, "{index} of {size}");
        offset * size + index
    })
}

fn index_of(shape: &[usize], mut offset: usize) -> Vec<usize> {
    let mut index = vec![0; shape.len()];
    for (index, size) in index.iter_mut().zip(shape).rev() {
        (*index, offset) = (offset % size, offset / size);
    }
    index
}

/// Offsets on both sides of all edges, the last ones, and some in between.
fn sampled(count: usize) -> Vec<usize> {
    let mut rng = rng(1300);
    let near = |edge: usize| edge.saturating_sub(AROUND_AN_EDGE)..edge + AROUND_AN_EDGE;
    let edges = EDGES.into_iter().chain([count]).flat_map(near);
    let mut offsets: Vec<usize> = edges.filter(|offset| *offset < count).collect();
    offsets.extend((0..ELSEWHERE).map(|_| rng.random_range(0..count)));
    offsets
}

fn halves(values: &[f64]) -> Buffer {
    holding(&Vec::from_iter(
        values.iter().map(|value| f16::from_f64(*value)),
    ))
}

/// The elements of an operand by their index.
type Elements<'a> = &'a dyn Fn(&[usize]) -> f64;

/// Memory for large results, one after another.
struct Room(Buffer);

impl Room {
    fn new(bytes: usize) -> Room {
        Room(over(sparse(bytes)))
    }

    /// Runs a call with an operand x and a result y, and compares y at sampled positions. `exact` says what y has at an index, and asks
    /// for the elements of x that this depends on; all others are 0.
    fn check<X: Sample, Y: Sample>(
        &self,
        what: &str,
        (ops, x_shape, y_shape): (&Ops, &[usize], &[usize]),
        call: impl FnOnce(&Ops, &mut ComputeEncoder<'_>, Tensor<'_>, Tensor<'_>) -> Result<()>,
        exact: impl Fn(Elements<'_>, &[usize]) -> f64,
    ) {
        let begun = Instant::now();
        let offsets = sampled(y_shape.iter().product());
        let asked = RefCell::new(BTreeMap::new());
        let x_of = |index: &[usize]| {
            let offset = offset_of(x_shape, index);
            asked.borrow_mut().insert(offset, X::nearest(value(offset)));
            value(offset)
        };
        let expected = offsets
            .iter()
            .map(|offset| exact(&x_of, &index_of(y_shape, *offset)));
        let expected: Vec<f64> = expected.collect();
        let x = marked::<X>(
            x_shape.iter().product(),
            &Vec::from_iter(asked.into_inner()),
        );
        self.spoil::<Y>(&offsets);
        let y = Tensor::of::<Y>(&self.0, y_shape).unwrap();
        run(|encoder| call(ops, encoder, Tensor::of::<X>(&x, x_shape)?, y));
        for (offset, exact) in offsets.iter().zip(expected) {
            let y = self.0.wait_read::<Y>().expect("readable")[*offset];
            assert!(
                is_close(y, exact, 16.0),
                "{what}: {y:?} at {:?}, offset {offset}, not {exact}",
                index_of(y_shape, *offset)
            );
        }
        println!("{what}: {:.1} s", begun.elapsed().as_secs_f64());
    }

    /// Compares y as one call makes it with parts that calls make of small tensors: `part` makes so many elements from an offset on.
    fn check_parts<Y: Sample>(
        &self,
        what: &str,
        count: usize,
        whole: impl FnOnce(&mut ComputeEncoder<'_>, Tensor<'_>) -> Result<()>,
        part: impl Fn(&mut ComputeEncoder<'_>, usize, Tensor<'_>) -> Result<()>,
    ) {
        let begun = Instant::now();
        let offsets = sampled(count);
        self.spoil::<Y>(&offsets);
        run(|encoder| whole(encoder, Tensor::of::<Y>(&self.0, &[count])?));
        let single = holding(&[0i64]);
        for offset in offsets {
            let one = Tensor::of::<Y>(&single, &[1]).unwrap();
            run(|encoder| part(encoder, offset, one));
            let y = self.0.wait_read::<Y>().expect("readable")[offset];
            let expected = single.wait_read::<Y>().expect("readable")[0];
            assert_eq!(y, expected, "{what} at {offset}");
        }
        println!("{what}: {:.1} s", begun.elapsed().as_secs_f64());
    }

    /// What an operation has left out cannot pass for what another one wrote.
    fn spoil<Y: Sample>(&self, offsets: &[usize]) {
        let mut all = self.0.wait_write::<Y>().expect("writable");
        for offset in offsets {
            all[*offset] = Y::nearest(99.0);
        }
    }
}
