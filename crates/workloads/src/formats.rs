//! Weights of each [`WeightType`]: blocks of random bits, and the numbers that blocks stand for by the definitions of their
//! formats, in float64.

use half::{bf16, f16};
use metal_bridge::ops::WeightType;
use rand_pcg::rand_core::RngCore;

/// Where a block of a format has its scale and its offset in half precision, and what makes numbers of one size of them.
struct Scales {
    scale: usize,
    /// Where the offset is, and how many times the scale makes the mean of random blocks zero.
    offset: Option<(usize, f32)>,
    /// The root mean square of random blocks whose scale is 1.
    size: f32,
}

/// Nothing for formats without a scale in half precision.
fn scales(kind: WeightType) -> Option<Scales> {
    let (scale, offset, size) = match kind {
        WeightType::F32 | WeightType::F16 | WeightType::BF16 | WeightType::MXFP4 => return None,
        WeightType::Q8_0 => (0, None, 73.9),
        WeightType::Q4_0 => (0, None, 4.64),
        WeightType::Q4_1 => (0, Some((2, -7.5)), 4.61),
        WeightType::Q5_0 => (0, None, 9.25),
        WeightType::Q5_1 => (0, Some((2, -15.5)), 9.23),
        WeightType::IQ4_NL => (0, None, 68.0),
        WeightType::Q2_K => (80, Some((82, 1.5)), 14.0),
        WeightType::Q3_K => (108, None, 43.3),
        WeightType::Q4_K => (0, Some((2, 7.5)), 257.0),
        WeightType::Q5_K => (0, Some((2, 15.5)), 523.0),
        WeightType::Q6_K => (208, None, 1366.0),
        WeightType::IQ4_XS => (0, None, 1270.0),
    };
    Some(Scales {
        scale,
        offset,
        size,
    })
}

/// The bytes of `count` random weights whose mean is about zero and whose root mean square is about `size`: every bit of a
/// quantized format is random but those of the scales. The scale of each block is within a fourth of what `size` asks.
///
/// `count` must be a multiple of the format's block; a part of a block is left out.
pub fn random(
    kind: WeightType,
    count: usize,
    size: f32,
    random: &mut (impl RngCore + ?Sized),
) -> Vec<u8> {
    let blocks = count / kind.block_elements();
    let mut bytes = vec![0; blocks * kind.block_bytes()];
    for block in bytes.chunks_exact_mut(kind.block_bytes()) {
        // A uniform distribution from -1 to 1 has a root mean square of the square root of a third.
        let float = size * 3f32.sqrt() * (2.0 * unit(random) - 1.0);
        match kind {
            WeightType::F32 => block.copy_from_slice(&float.to_le_bytes()),
            WeightType::F16 => block.copy_from_slice(&f16::from_f32(float).to_le_bytes()),
            WeightType::BF16 => block.copy_from_slice(&bf16::from_f32(float).to_le_bytes()),
            _ => quantized(kind, size, random, block),
        }
    }
    bytes
}

fn quantized(kind: WeightType, size: f32, random: &mut (impl RngCore + ?Sized), block: &mut [u8]) {
    let spread = 0.75 + 0.5 * unit(random);
    random.fill_bytes(block);
    match scales(kind) {
        Some(Scales {
            scale: at,
            offset,
            size: of_one,
        }) => {
            let scale = size / of_one * spread;
            let mut set = |at: usize, value| {
                block[at..][..2].copy_from_slice(&f16::from_f32(value).to_le_bytes())
            };
            set(at, scale);
            if let Some((at, times)) = offset {
                set(at, scale * times);
            }
        }
        // The scale is a power of two; the root mean square of the sixteen numbers is 2.93.
        None => {
            let exponent = (size * spread / 2.93).log2().round();
            block[0] = (exponent + 127.0).clamp(0.0, 254.0) as u8;
        }
    }
}

/// A number from 0 to 1.
fn unit(random: &mut (impl RngCore + ?Sized)) -> f32 {
    random.next_u32() as f32 / u32::MAX as f32
}

/// What the bytes of weights stand for.
pub fn decode(kind: WeightType, bytes: &[u8]) -> Vec<f64> {
    let block: fn(&[u8]) -> Vec<f64> = match kind {
        WeightType::F32 => return each(bytes, |b| f32::from_le_bytes(b).into()),
        WeightType::F16 => return each(bytes, |b| f16::from_le_bytes(b).to_f64()),
        WeightType::BF16 => return each(bytes, |b| bf16::from_le_bytes(b).to_f64()),
        WeightType::Q8_0 => q8_0,
        WeightType::Q4_0 => q4_0,
        WeightType::Q4_1 => q4_1,
        WeightType::Q5_0 => q5_0,
        WeightType::Q5_1 => q5_1,
        WeightType::IQ4_NL => iq4_nl,
        WeightType::MXFP4 => mxfp4,
        WeightType::Q2_K => q2_k,
        WeightType::Q3_K => q3_k,
        WeightType::Q4_K => q4_k,
        WeightType::Q5_K => q5_k,
        WeightType::Q6_K => q6_k,
        WeightType::IQ4_XS => iq4_xs,
    };
    bytes
        .chunks_exact(kind.block_bytes())
        .flat_map(block)
        .collect()
}

/// Numbers of `N` bytes each.
fn each<const N: usize>(bytes: &[u8], number: fn([u8; N]) -> f64) -> Vec<f64> {
    let numbers = bytes.chunks_exact(N);
    numbers
        .filter_map(|b| b.try_into().ok())
        .map(number)
        .collect()
}

fn half_at(block: &[u8], offset: usize) -> f64 {
    f16::from_le_bytes([block[offset], block[offset + 1]]).to_f64()
}

fn word_at(block: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| block[offset + byte]))
}

/// The low halves of the bytes, then the high ones.
fn nibbles(bytes: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let low = bytes.iter().map(|byte| byte & 15);
    low.chain(bytes.iter().map(|byte| byte >> 4))
}

fn q4_0(block: &[u8]) -> Vec<f64> {
    let scale = half_at(block, 0);
    nibbles(&block[2..])
        .map(|q| scale * (f64::from(q) - 8.0))
        .collect()
}

fn q4_1(block: &[u8]) -> Vec<f64> {
    let (scale, least) = (half_at(block, 0), half_at(block, 2));
    nibbles(&block[4..])
        .map(|q| scale * f64::from(q) + least)
        .collect()
}

/// Four bits of each number, and a fifth in a word.
fn five_bits(bytes: &[u8], high: u32) -> impl Iterator<Item = f64> + '_ {
    let quants = nibbles(bytes).enumerate();
    quants.map(move |(index, low)| f64::from(u32::from(low) | (high >> index & 1) << 4))
}

fn q5_0(block: &[u8]) -> Vec<f64> {
    let scale = half_at(block, 0);
    five_bits(&block[6..], word_at(block, 2))
        .map(|q| scale * (q - 16.0))
        .collect()
}

fn q5_1(block: &[u8]) -> Vec<f64> {
    let (scale, least) = (half_at(block, 0), half_at(block, 2));
    five_bits(&block[8..], word_at(block, 4))
        .map(|q| scale * q + least)
        .collect()
}

fn q8_0(block: &[u8]) -> Vec<f64> {
    let scale = half_at(block, 0);
    block[2..]
        .iter()
        .map(|q| scale * f64::from(*q as i8))
        .collect()
}

/// Two bits of each number: four numbers a byte, 32 bytes for each 128 numbers.
fn two_bits(bytes: &[u8], index: usize) -> u8 {
    bytes[index / 128 * 32 + index % 32] >> (index % 128 / 32 * 2) & 3
}

fn q2_k(block: &[u8]) -> Vec<f64> {
    let (scale, least) = (half_at(block, 80), half_at(block, 82));
    let number = |index: usize| {
        let part = block[index / 16];
        let q = f64::from(two_bits(&block[16..80], index));
        scale * f64::from(part & 15) * q - least * f64::from(part >> 4)
    };
    (0..256).map(number).collect()
}

fn q3_k(block: &[u8]) -> Vec<f64> {
    let (scale, scales) = (half_at(block, 108), &block[96..108]);
    // Sixteen scales of six bits: four low ones in eight bytes, two high ones in four.
    let part = |index: usize| {
        let low = if index < 8 {
            scales[index] & 15
        } else {
            scales[index - 8] >> 4
        };
        let high = scales[8 + index % 4] >> (index / 4 * 2) & 3;
        f64::from(low | high << 4) - 32.0
    };
    let number = |index: usize| {
        let high = block[index % 32] >> (index / 32) & 1;
        let q = f64::from(two_bits(&block[32..96], index)) - if high == 1 { 0.0 } else { 4.0 };
        scale * part(index / 16) * q
    };
    (0..256).map(number).collect()
}

/// A scale and a least value of six bits each, of eight of each in twelve bytes.
fn six_bits(scales: &[u8], index: usize) -> (f64, f64) {
    let (scale, least) = match index < 4 {
        true => (scales[index] & 63, scales[index + 4] & 63),
        false => (
            scales[index + 4] & 15 | scales[index - 4] >> 6 << 4,
            scales[index + 4] >> 4 | scales[index] >> 6 << 4,
        ),
    };
    (f64::from(scale), f64::from(least))
}

/// Four bits of each number: the low halves of 32 bytes, then the high ones.
fn four_bits(bytes: &[u8], index: usize) -> u8 {
    bytes[index / 64 * 32 + index % 32] >> (index % 64 / 32 * 4) & 15
}

fn q4_k(block: &[u8]) -> Vec<f64> {
    let (scale, least) = (half_at(block, 0), half_at(block, 2));
    let number = |index: usize| {
        let (part, lowest) = six_bits(&block[4..16], index / 32);
        scale * part * f64::from(four_bits(&block[16..], index)) - least * lowest
    };
    (0..256).map(number).collect()
}

fn q5_k(block: &[u8]) -> Vec<f64> {
    let (scale, least) = (half_at(block, 0), half_at(block, 2));
    let number = |index: usize| {
        let (part, lowest) = six_bits(&block[4..16], index / 32);
        let high = block[16 + index % 32] >> (index / 32) & 1;
        let q = four_bits(&block[48..], index) | high << 4;
        scale * part * f64::from(q) - least * lowest
    };
    (0..256).map(number).collect()
}

fn q6_k(block: &[u8]) -> Vec<f64> {
    let scale = half_at(block, 208);
    let number = |index: usize| {
        // The first 64 of each 128 numbers are in the low halves of 64 bytes, the others in the high ones.
        let (half, within) = (index / 128, index % 128);
        let low = block[half * 64 + within % 64] >> (within / 64 * 4) & 15;
        let high = block[128 + half * 32 + within % 32] >> (within / 32 * 2) & 3;
        let part = f64::from(block[192 + index / 16] as i8);
        scale * part * (f64::from(low | high << 4) - 32.0)
    };
    (0..256).map(number).collect()
}

/// The numbers that four bits stand for in the formats called non-linear.
const STEPS: [f64; 16] = [
    -127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0,
    89.0, 113.0,
];

fn iq4_nl(block: &[u8]) -> Vec<f64> {
    let scale = half_at(block, 0);
    nibbles(&block[2..])
        .map(|q| scale * STEPS[usize::from(q)])
        .collect()
}

fn iq4_xs(block: &[u8]) -> Vec<f64> {
    let scale = half_at(block, 0);
    let high = u16::from_le_bytes([block[2], block[3]]);
    let part = |index: usize| {
        let low = block[4 + index / 2] >> (index % 2 * 4) & 15;
        f64::from(u16::from(low) | (high >> (2 * index) & 3) << 4) - 32.0
    };
    let quants = block[8..].chunks(16).enumerate();
    quants
        .flat_map(|(index, bytes)| {
            nibbles(bytes).map(move |q| scale * part(index) * STEPS[usize::from(q)])
        })
        .collect()
}

/// The numbers of four bits in MXFP4: a sign, two bits of exponent, one of mantissa.
const FLOATS: [f64; 8] = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0];

fn mxfp4(block: &[u8]) -> Vec<f64> {
    let scale = (f64::from(block[0]) - 127.0).exp2();
    let float = |q: u8| FLOATS[usize::from(q & 7)] * if q < 8 { scale } else { -scale };
    nibbles(&block[1..]).map(float).collect()
}
