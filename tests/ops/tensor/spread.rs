//! Tensors whose elements lie in a random layout, and what is in the gaps between them.

use metal_bridge::ops::{Ops, Tensor, View};
use metal_bridge::{Buffer, ComputeEncoder, Result};
use rand::Rng;
use rand::rngs::SmallRng;

use super::layouts::{offsets, random_strides};
use super::rows::both;
use super::values::{Sample, read};
use crate::support::{buffer, rng, run};

/// Bytes of nobody: in the gaps, and in results to begin with.
const GAP: u8 = 0xA5;

/// Elements of one type, behind some others in their buffer.
pub struct Spread {
    buffer: Buffer,
    offset: usize,
    shape: Vec<usize>,
    strides: Vec<usize>,
}

impl Spread {
    /// `values` in row-major order.
    pub fn of<T: Sample>(rng: &mut SmallRng, shape: &[usize], values: &[T]) -> Spread {
        let strides = random_strides(rng, shape);
        let offsets = offsets(shape, &strides);
        let offset = rng.random_range(0..3);
        let count = offset + offsets.iter().max().map_or(0, |last| last + 1);
        let mut all = vec![gap::<T>(); count];
        for (index, value) in offsets.iter().zip(values) {
            all[offset + index] = *value;
        }
        // Metal has no buffers without bytes.
        all.resize(count.max(1), gap());
        Spread {
            buffer: buffer(&all),
            offset,
            shape: shape.to_vec(),
            strides,
        }
    }

    /// Room for a result.
    pub fn room<T: Sample>(rng: &mut SmallRng, shape: &[usize]) -> Spread {
        Spread::of(rng, shape, &vec![gap::<T>(); shape.iter().product()])
    }

    pub fn tensor<T: Sample>(&self) -> Tensor<'_> {
        let view = View::new(&self.buffer, self.offset * size_of::<T>());
        Tensor::strided(view, T::DATA_TYPE, &self.shape, &self.strides).unwrap()
    }

    /// The elements in row-major order; fails where something is between them that was not there.
    pub fn read<T: Sample>(&self) -> Vec<T> {
        let mut all: Vec<T> = read(&self.buffer);
        let offsets = offsets(&self.shape, &self.strides);
        let elements: Vec<T> = offsets
            .iter()
            .map(|index| all[self.offset + index])
            .collect();
        for index in offsets {
            all[self.offset + index] = gap();
        }
        let bytes: &[u8] = bytemuck::cast_slice(&all);
        assert!(
            bytes.iter().all(|byte| *byte == GAP),
            "written between the elements"
        );
        elements
    }
}

fn gap<T: Sample>() -> T {
    bytemuck::pod_read_unaligned(&vec![GAP; size_of::<T>()])
}

/// Small shapes: some axes of one element, some of many.
pub fn shape_of_rank(rng: &mut SmallRng, rank: usize) -> Vec<usize> {
    let long = rng.random_range(0..rank.max(1));
    (0..rank)
        .map(|axis| match rng.random_range(0..5) {
            0 => 1,
            1 if axis == long => rng.random_range(10..40),
            _ => rng.random_range(1..5),
        })
        .collect()
}

/// The positions of a shape, in row-major order.
pub fn positions(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &size in shape {
        all = all
            .iter()
            .flat_map(|position: &Vec<usize>| {
                (0..size).map(move |i| [position.as_slice(), &[i]].concat())
            })
            .collect();
    }
    all
}

/// The number of a position in row-major order.
pub fn number(shape: &[usize], position: &[usize]) -> usize {
    shape
        .iter()
        .zip(position)
        .fold(0, |number, (size, i)| number * size + i)
}

/// The number of the element, in a tensor of shape `own`, that stands at this position of a larger shape.
pub fn repeated(own: &[usize], position: &[usize]) -> usize {
    let own_position = position
        .iter()
        .zip(own)
        .map(|(i, size)| *i.min(&(size - 1)));
    number(own, &Vec::from_iter(own_position))
}

/// A call of two tensors, and of the one that it fills.
pub type Encode = fn(&Ops, &mut ComputeEncoder<'_>, [Tensor<'_>; 2], Tensor<'_>) -> Result<()>;

/// Compares a call of two tensors with a function of their elements. Both may repeat along any axis, and all have random layouts.
pub fn layouts_agree<T: Sample, U: Sample>(seed: u64, encode: Encode, exact: impl Fn(T, T) -> U) {
    let mut rng = rng(seed);
    for round in 0..16 {
        let rank = rng.random_range(0..=4);
        let shape = shape_of_rank(&mut rng, rank);
        let operands = [(); 2].map(|()| {
            let size = |size: &usize| if rng.random_bool(0.3) { 1 } else { *size };
            let own = Vec::from_iter(shape.iter().map(size));
            let values: Vec<T> = small(&mut rng, own.iter().product());
            (Spread::of(&mut rng, &own, &values), own, values)
        });
        let y = Spread::room::<U>(&mut rng, &shape);
        let tensors = operands.each_ref().map(|(spread, ..)| spread.tensor::<T>());
        run(|encoder| encode(both()[round % 2], encoder, tensors, y.tensor::<U>()));
        let exact = positions(&shape).into_iter().map(|position| {
            let [a, b] = operands
                .each_ref()
                .map(|(_, own, values)| values[repeated(own, &position)]);
            exact(a, b)
        });
        let types = (T::DATA_TYPE, U::DATA_TYPE);
        assert_eq!(y.read::<U>(), Vec::from_iter(exact), "{types:?}, {shape:?}");
    }
}

/// Small numbers of any type.
pub fn small<T: Sample>(rng: &mut SmallRng, count: usize) -> Vec<T> {
    (0..count)
        .map(|_| T::nearest(f64::from(rng.random_range(1..100))))
        .collect()
}
