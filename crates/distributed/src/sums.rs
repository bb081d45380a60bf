//! Elements of several ranks combined into one, always in the order of the ranks.

use std::ptr;

use half::slice::HalfFloatSliceExt;
use half::{bf16, f16};
use metal_bridge::devices::Combine;
use metal_bridge::ops::DataType;

/// Elements that are combined at a time: their floats stay in the first cache.
const BLOCK: usize = 1024;

/// Whether elements of this type can be combined.
pub(crate) fn combines(data_type: DataType) -> bool {
    matches!(data_type, DataType::F32 | DataType::F16 | DataType::BF16)
}

/// Combines `count` elements of each of `ranks`, in this order: `((x0 + x1) + x2) + ...` in F32, rounded to the type once. So the
/// result is the same whoever computes it, and however the elements are divided into parts.
///
/// # Safety
///
/// Each pointer is valid for `count` elements, to read and, `result`, to write, with any alignment. `result` may be one of `ranks`.
/// Nobody else writes there meanwhile but a GPU, whose bytes are then whatever is copied.
pub(crate) unsafe fn combine(
    combine: Combine,
    data_type: DataType,
    ranks: &[*const u8],
    result: *mut u8,
    count: usize,
) {
    let size = data_type.size();
    let mut bytes = Bytes([0; BLOCK]);
    let (mut sums, mut next) = ([0.0; BLOCK], [0.0; BLOCK]);
    let mut start = 0;
    while start < count {
        let block = BLOCK.min(count - start);
        let (offset, length) = (start * size, block * size);
        for (index, rank) in ranks.iter().enumerate() {
            // SAFETY: the block is among the `count` elements, and no longer than `bytes`. No reference to memory of a buffer is
            // made: the bytes are copied, as a transfer does it.
            unsafe { ptr::copy_nonoverlapping(rank.add(offset), bytes.as_mut_ptr(), length) };
            if index == 0 {
                bytes.decode(data_type, &mut sums[..block]);
            } else {
                bytes.decode(data_type, &mut next[..block]);
                fold(combine, &mut sums[..block], &next[..block]);
            }
        }
        bytes.encode(data_type, &sums[..block]);
        // SAFETY: as above.
        unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), result.add(offset), length) };
        start += block;
    }
}

fn fold(combine: Combine, sums: &mut [f32], next: &[f32]) {
    let pairs = sums.iter_mut().zip(next);
    match combine {
        Combine::Min => pairs.for_each(|(a, b)| *a = if *b < *a || b.is_nan() { *b } else { *a }),
        Combine::Max => pairs.for_each(|(a, b)| *a = if *b > *a || b.is_nan() { *b } else { *a }),
        _ => pairs.for_each(|(a, b)| *a += b),
    }
}

/// A block of elements of any type.
struct Bytes([u32; BLOCK]);

impl Bytes {
    fn as_ptr(&self) -> *const u8 {
        self.0.as_ptr().cast()
    }

    fn as_mut_ptr(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }

    /// The first bytes as elements of 16 bits, which all bits are.
    fn halves(&mut self) -> &mut [u16; BLOCK] {
        // SAFETY: the block has twice as many bytes, aligned to 4; any bits are a `u16`.
        unsafe { &mut *self.as_mut_ptr().cast() }
    }

    fn decode(&mut self, data_type: DataType, floats: &mut [f32]) {
        let count = floats.len();
        match data_type {
            DataType::F16 => {
                let values: &[f16] =
                    half::slice::HalfBitsSliceExt::reinterpret_cast(&self.halves()[..count]);
                values.convert_to_f32_slice(floats);
            }
            DataType::BF16 => {
                let values: &[bf16] =
                    half::slice::HalfBitsSliceExt::reinterpret_cast(&self.halves()[..count]);
                values.convert_to_f32_slice(floats);
            }
            _ => floats
                .iter_mut()
                .zip(&self.0)
                .for_each(|(float, bits)| *float = f32::from_bits(*bits)),
        }
    }

    fn encode(&mut self, data_type: DataType, floats: &[f32]) {
        let count = floats.len();
        match data_type {
            DataType::F16 => {
                let values: &mut [f16] = half::slice::HalfBitsSliceExt::reinterpret_cast_mut(
                    &mut self.halves()[..count],
                );
                values.convert_from_f32_slice(floats);
            }
            DataType::BF16 => {
                let values: &mut [bf16] = half::slice::HalfBitsSliceExt::reinterpret_cast_mut(
                    &mut self.halves()[..count],
                );
                values.convert_from_f32_slice(floats);
            }
            _ => self
                .0
                .iter_mut()
                .zip(floats)
                .for_each(|(bits, float)| *bits = float.to_bits()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined(how: Combine, data_type: DataType, ranks: &[Vec<u8>], count: usize) -> Vec<u8> {
        let mut result = ranks[0].clone();
        let pointers: Vec<*const u8> = ranks.iter().map(|rank| rank.as_ptr()).collect();
        // SAFETY: all have `count` elements.
        unsafe { combine(how, data_type, &pointers, result.as_mut_ptr(), count) };
        result
    }

    fn bytes(values: &[f32]) -> Vec<u8> {
        values.iter().flat_map(|v| v.to_le_bytes()).collect()
    }

    #[test]
    fn sums_are_in_the_order_of_the_ranks() {
        let (big, one) = (1e8f32, 1.0f32);
        let ranks = [
            bytes(&[big; 1500]),
            bytes(&[one; 1500]),
            bytes(&[-big; 1500]),
        ];
        let sums = combined(Combine::Sum, DataType::F32, &ranks, 1500);
        assert_eq!(sums, bytes(&[(big + one) - big; 1500]));
    }

    #[test]
    fn short_floats_are_rounded_once() {
        // 2048 + 1 is 2048 in F16, and so is adding 1 again; 2048 + 2 is not.
        let half = |value: f32| f16::from_f32(value).to_le_bytes().to_vec();
        let ranks = [half(2048.0), half(1.0), half(1.0)];
        assert_eq!(
            combined(Combine::Sum, DataType::F16, &ranks, 1),
            half(2050.0)
        );
        let short = |value: f32| bf16::from_f32(value).to_le_bytes().to_vec();
        let ranks = [short(256.0), short(1.0), short(1.0)];
        assert_eq!(
            combined(Combine::Sum, DataType::BF16, &ranks, 1),
            short(258.0)
        );
    }

    #[test]
    fn a_nan_wins_wherever_it_is() {
        for how in [Combine::Min, Combine::Max, Combine::Sum] {
            for at in 0..3 {
                let mut ranks = [bytes(&[1.0]), bytes(&[2.0]), bytes(&[3.0])];
                ranks[at] = bytes(&[f32::NAN]);
                let result = combined(how, DataType::F32, &ranks, 1);
                let result = f32::from_le_bytes(result.try_into().unwrap());
                assert!(result.is_nan(), "{how:?} {at}");
            }
        }
        let ranks = [bytes(&[1.0, -5.0]), bytes(&[2.0, 5.0])];
        assert_eq!(
            combined(Combine::Min, DataType::F32, &ranks, 2),
            bytes(&[1.0, -5.0])
        );
        assert_eq!(
            combined(Combine::Max, DataType::F32, &ranks, 2),
            bytes(&[2.0, 5.0])
        );
    }
}
