//! The memory of all ranks, as the documentation says it changes.

use half::{bf16, f16};
use metal_bridge::devices::Combine;
use metal_bridge::ops::DataType;

/// A buffer of each rank: bytes.
pub type Memory = Vec<Vec<u8>>;

/// The combination of the ranks' elements, whose bytes these are.
pub fn combined(data_type: DataType, combine: Combine, ranks: &[Vec<u8>]) -> Vec<u8> {
    let size = data_type.size();
    let mut result = Vec::new();
    for start in (0..ranks[0].len()).step_by(size) {
        let values = ranks
            .iter()
            .map(|bytes| decode(data_type, &bytes[start..start + size]));
        let combination = values.reduce(|a, b| match combine {
            Combine::Min => a.min(b),
            Combine::Max => a.max(b),
            _ => a + b,
        });
        result.extend(encode(data_type, combination.expect("a rank")));
    }
    result
}

fn decode(data_type: DataType, bytes: &[u8]) -> f32 {
    match data_type {
        DataType::F16 => f16::from_le_bytes(bytes.try_into().unwrap()).to_f32(),
        DataType::BF16 => bf16::from_le_bytes(bytes.try_into().unwrap()).to_f32(),
        _ => f32::from_le_bytes(bytes.try_into().unwrap()),
    }
}

pub fn encode(data_type: DataType, value: f32) -> Vec<u8> {
    match data_type {
        DataType::F16 => f16::from_f32(value).to_le_bytes().to_vec(),
        DataType::BF16 => bf16::from_f32(value).to_le_bytes().to_vec(),
        _ => value.to_le_bytes().to_vec(),
    }
}
