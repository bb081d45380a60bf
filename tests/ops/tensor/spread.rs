//! Tensors whose elements lie in a random layout, and what is in the gaps between them.

use metal_bridge::Buffer;
use metal_bridge::ops::{Tensor, View};
use rand::Rng;
use rand::rngs::SmallRng;

use super::layouts::{places, random_strides};
use super::values::{Sample, read};
use crate::support::buffer;

/// Bytes of nobody: in the gaps, and in results to begin with.
const GAP: u8 = 0xA5;

/// Elements of one type, some places into their buffer.
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
        let places = places(shape, &strides);
        let offset = rng.random_range(0..3);
        let count = offset + places.iter().max().map_or(0, |last| last + 1);
        let mut all = vec![gap::<T>(); count];
        for (place, value) in places.iter().zip(values) {
            all[offset + place] = *value;
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
        let places = places(&self.shape, &self.strides);
        let elements: Vec<T> = places
            .iter()
            .map(|place| all[self.offset + place])
            .collect();
        for place in places {
            all[self.offset + place] = gap();
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

/// Small numbers of any type.
pub fn small<T: Sample>(rng: &mut SmallRng, count: usize) -> Vec<T> {
    (0..count)
        .map(|_| T::nearest(f64::from(rng.random_range(1..100))))
        .collect()
}
