//! candle's CPU kernels for quantized weights.

use std::borrow::Cow;
use std::hint::black_box;
use std::sync::Arc;

use candle_core::quantized::{GgmlDType, QMatMul, QStorage, QTensor};
use candle_core::{Device, Module, Result, Tensor};

use super::Product;

/// candle's product of rows of activations with a Q8_0 matrix, `rows` by `columns` and in GGUF's own bytes. Each call allocates its
/// result, as candle does it.
///
/// # Panics
/// If candle takes no such matrix.
pub fn candle_product(weight: &[u8], shape: [usize; 2], activations: &[f32]) -> Option<Product> {
    Some(product(weight, shape, activations).expect("candle's product"))
}

fn product(weight: &[u8], [rows, columns]: [usize; 2], activations: &[f32]) -> Result<Product> {
    let storage = QStorage::from_data(Cow::Borrowed(weight), &Device::Cpu, GgmlDType::Q8_0)?;
    let weight = QMatMul::from_arc(Arc::new(QTensor::new(storage, (rows, columns))?))?;
    let shape = (activations.len() / columns, columns);
    let x = Tensor::from_slice(activations, shape, &Device::Cpu)?;
    Ok(Box::new(move || {
        black_box(weight.forward(black_box(&x)).expect("candle's product"));
    }))
}
