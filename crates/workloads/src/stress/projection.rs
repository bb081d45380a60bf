//! Made-up Q8_0 matrices for the scenarios, with the exact products.

use half::f16;
use metal_bridge::ops::WeightType;

use super::random::Random;

/// A made-up Q8_0 matrix and its product with the made-up vector of its width, in float64.
pub(super) struct Projection {
    pub(super) rows: usize,
    pub(super) columns: usize,
    /// The blocks, as `WeightType::Q8_0` says.
    pub(super) weights: Vec<u8>,
    pub(super) x: Vec<f32>,
    expected: Vec<f64>,
}

impl Projection {
    /// The same matrix and vector for the same arguments; `columns` is a multiple of 32.
    pub(super) fn new(rows: usize, columns: usize, seed: u64) -> Projection {
        let mut random = Random::new(seed);
        let x: Vec<f32> = (0..columns).map(|_| random.unit()).collect();
        let block = WeightType::Q8_0.block_elements();
        let mut weights =
            Vec::with_capacity(rows * columns / block * WeightType::Q8_0.block_bytes());
        let mut expected = Vec::with_capacity(rows);
        for _ in 0..rows {
            let mut sum = 0.0;
            for values in x.chunks_exact(block) {
                let scale = f16::from_f32(0.001 + 0.001 * random.unit().abs());
                weights.extend_from_slice(&scale.to_le_bytes());
                for &value in values {
                    let quant = random.next() as i8;
                    weights.extend_from_slice(&quant.to_le_bytes());
                    sum += scale.to_f64() * f64::from(quant) * f64::from(value);
                }
            }
            expected.push(sum);
        }
        Projection {
            rows,
            columns,
            weights,
            x,
            expected,
        }
    }

    /// The relative error of `y`: the length of the difference over the length of the exact product.
    pub(super) fn deviation(&self, y: &[f32]) -> f64 {
        let square =
            |values: &mut dyn Iterator<Item = f64>| values.map(|value| value * value).sum::<f64>();
        let mut differences = self
            .expected
            .iter()
            .zip(y)
            .map(|(right, &got)| right - f64::from(got));
        (square(&mut differences) / square(&mut self.expected.iter().copied())).sqrt()
    }
}
