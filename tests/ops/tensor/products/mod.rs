//! Products of matrices: their operands, and the bound of their errors.

mod matmul;
mod matmul_int8;
mod weights;

use metal_bridge::Buffer;
use metal_bridge::ops::{DataType, Matmul, Tensor, Unary, View};
use rand::Rng;
use rand::rngs::SmallRng;

use crate::chosen::By;
use crate::support::{EPSILON, buffer, run};
use crate::tensor::layouts::{offsets, random_strides};
use crate::tensor::unary;
use crate::tensor::values::{Sample, half_unit, least, read};

/// A tensor of random strides with its values in row-major order.
pub struct Operand<T> {
    pub shape: Vec<usize>,
    strides: Vec<usize>,
    offsets: Vec<usize>,
    pub values: Vec<T>,
    buffer: Buffer,
}

impl<T: Sample> Operand<T> {
    pub fn new(rng: &mut SmallRng, shape: &[usize], value: impl FnMut(&mut SmallRng) -> T) -> Self {
        let strides = random_strides(rng, shape);
        Operand::strided(rng, shape, &strides, value)
    }

    /// Behind one element that is not its own.
    pub fn strided(
        rng: &mut SmallRng,
        shape: &[usize],
        strides: &[usize],
        mut value: impl FnMut(&mut SmallRng) -> T,
    ) -> Self {
        let offsets: Vec<usize> = offsets(shape, strides);
        let end = offsets.iter().max().map_or(0, |last| last + 1);
        let mut memory = vec![T::nearest(f64::NAN); 1 + end];
        let values: Vec<T> = offsets.iter().map(|_| value(rng)).collect();
        for (index, value) in offsets.iter().zip(&values) {
            memory[1 + index] = *value;
        }
        Operand {
            shape: shape.to_vec(),
            strides: strides.to_vec(),
            offsets,
            values,
            buffer: buffer(&memory),
        }
    }

    pub fn tensor(&self) -> Tensor<'_> {
        let view = View::new(&self.buffer, size_of::<T>());
        Tensor::strided(view, T::DATA_TYPE, &self.shape, &self.strides).expect("a tensor")
    }

    /// What is there now, in row-major order; fails where memory between the elements has changed.
    pub fn read(&self) -> Vec<T> {
        let memory = read::<T>(&self.buffer);
        let gaps = (0..memory.len()).filter(|at| *at == 0 || !self.offsets.contains(&(at - 1)));
        let empty = T::nearest(f64::NAN);
        for at in gaps.filter(|_| self.offsets.len() < 1000) {
            let (is, was): (&[u8], &[u8]) =
                (bytemuck::bytes_of(&memory[at]), bytemuck::bytes_of(&empty));
            assert_eq!(is, was, "between the elements");
        }
        self.offsets.iter().map(|index| memory[1 + index]).collect()
    }

    /// The element at the last two of these indices, by the rules of broadcasting.
    pub fn at(&self, index: &[usize]) -> T {
        let skipped = index.len() - self.shape.len();
        let number = self
            .shape
            .iter()
            .zip(&index[skipped..])
            .fold(0, |number, (size, index)| {
                number * size + if *size == 1 { 0 } else { *index }
            });
        self.values[number]
    }
}

/// The indices of the positions of a shape, in row-major order.
pub fn positions(shape: &[usize]) -> impl Iterator<Item = Vec<usize>> + '_ {
    (0..shape.iter().product()).map(move |mut at| {
        let mut index = vec![0; shape.len()];
        for axis in (0..shape.len()).rev() {
            index[axis] = at % shape[axis];
            at /= shape[axis];
        }
        index
    })
}

/// The activations that a product may have, and none.
pub const ACTIVATIONS: [Option<Unary>; 7] = [
    None,
    Some(Unary::Relu),
    Some(Unary::Gelu),
    Some(Unary::GeluTanh),
    Some(Unary::Silu),
    Some(Unary::Sigmoid),
    Some(Unary::Tanh),
];

/// What an activation makes of `exact` if that may be off by `before`, and how far its result may then be off.
pub fn activated(activation: Option<Unary>, exact: f64, before: f64) -> (f64, f64) {
    let Some(activation) = activation else {
        return (exact, before);
    };
    // The activations are nowhere steeper than 1.13, and their own errors are relative to what goes in.
    let lost = 1.13 * before + 24.0 * EPSILON * (1.0 + exact.abs());
    (unary::exact(activation, exact), lost)
}

/// A product and its options, as the tests have them.
pub struct Case<T, Y> {
    pub a: Operand<T>,
    pub b: Operand<T>,
    pub c: Option<Operand<Y>>,
    pub bias: Option<Operand<Y>>,
    pub y: Operand<Y>,
    pub alpha: f32,
    pub beta: f32,
    pub activation: Option<Unary>,
}

impl<T: Sample, Y: Sample> Case<T, Y> {
    pub fn options(&self) -> Matmul<'_> {
        Matmul {
            alpha: self.alpha,
            beta: self.beta,
            c: self.c.as_ref().map(Operand::tensor),
            bias: self.bias.as_ref().map(Operand::tensor),
            activation: self.activation,
            ..Matmul::default()
        }
    }

    pub fn run(&self, by: impl Into<By>) {
        self.run_with(self.options(), by.into());
    }

    pub fn run_with(&self, options: Matmul<'_>, by: By) {
        let (a, b, y) = (self.a.tensor(), self.b.tensor(), self.y.tensor());
        match by {
            By::Kernels(ops) => run(|encoder| ops.matmul(encoder, options, a, b, y)),
            By::Mps(ops) => ops.matmul_with(options, a, b, y).expect("multiplies"),
        }
    }

    /// Compares with float64.
    pub fn check(&self, what: &str) {
        let k = *self.a.shape.last().unwrap();
        let gamma = (k as f64 + 2.0) * EPSILON / (1.0 - (k as f64 + 2.0) * EPSILON);
        let (alpha, beta) = (f64::from(self.alpha), f64::from(self.beta));
        for (index, y) in positions(&self.y.shape).zip(self.y.read()) {
            let (mut left, mut right) = (index.clone(), index.clone());
            let rank = index.len();
            let (mut sum, mut size) = (0.0, 0.0);
            for at in 0..k {
                (left[rank - 1], right[rank - 2]) = (at, at);
                let term = self.a.at(&left).exact() * self.b.at(&right).exact();
                (sum, size) = (sum + term, size + term.abs());
            }
            let c = self
                .c
                .as_ref()
                .filter(|_| beta != 0.0)
                .map_or(0.0, |c| beta * c.at(&index).exact());
            let bias = self
                .bias
                .as_ref()
                .map_or(0.0, |bias| bias.at(&index).exact());
            let exact = alpha * sum + c + bias;
            let sizes = (alpha * size).abs() + c.abs() + bias.abs();
            let before = alpha.abs() * size * gamma + 4.0 * EPSILON * sizes;
            let (result, lost) = activated(self.activation, exact, before);
            let lost = lost + f64::from(f32::MIN_POSITIVE);
            let rounding = match Y::DATA_TYPE {
                DataType::F32 => 0.0,
                half => (result.abs() + lost) * half_unit(half) + least(half),
            };
            let off = (y.exact() - result).abs();
            assert!(
                off <= lost + rounding,
                "{what}, a {:?}, b {:?}, y {:?} at {index:?}: {y:?} is not {result}: off by {off:e}, allowed {:e}",
                self.a.shape,
                self.b.shape,
                self.y.shape,
                lost + rounding
            );
        }
    }
}

pub fn small<T: Sample>(rng: &mut SmallRng) -> T {
    T::nearest(rng.random_range(-1.0..1.0))
}
