//! How floats become weights of a format: the rounding of the reference's quantizers, in f32 as theirs.

use half::{bf16, f16};
use metal_bridge::ops::WeightType;

use super::super_blocks;

/// Appends `values` in a format; they fill whole blocks, and are finite.
pub(super) type Quantizer = fn(values: &[f32], out: &mut Vec<u8>);

/// The quantizer of a format; `None` if it has none.
pub(super) fn quantizer(kind: WeightType) -> Option<Quantizer> {
    Some(match kind {
        WeightType::F16 => |values, out| out.extend(values.iter().flat_map(|v| half(*v))),
        WeightType::BF16 => |values, out| {
            out.extend(values.iter().flat_map(|v| bf16::from_f32(*v).to_le_bytes()));
        },
        WeightType::Q8_0 => |values, out| each_block(values, out, q8_0),
        WeightType::Q4_0 => |values, out| each_block(values, out, q4_0),
        WeightType::Q4_1 => |values, out| each_block(values, out, q4_1),
        WeightType::Q5_0 => |values, out| each_block(values, out, q5_0),
        WeightType::Q5_1 => |values, out| each_block(values, out, q5_1),
        WeightType::Q2_K => |values, out| each_block(values, out, super_blocks::q2_k),
        WeightType::Q3_K => |values, out| each_block(values, out, super_blocks::q3_k),
        WeightType::Q4_K => |values, out| each_block(values, out, super_blocks::q4_k),
        WeightType::Q5_K => |values, out| each_block(values, out, super_blocks::q5_k),
        WeightType::Q6_K => |values, out| each_block(values, out, super_blocks::q6_k),
        WeightType::IQ4_NL => |values, out| each_block(values, out, super_blocks::iq4_nl),
        WeightType::IQ4_XS => |values, out| each_block(values, out, super_blocks::iq4_xs),
        WeightType::MXFP4 => |values, out| each_block(values, out, mxfp4),
        _ => return None,
    })
}

const BLOCK: usize = 32;
type Block = [f32; BLOCK];

fn each_block<const N: usize>(
    values: &[f32],
    out: &mut Vec<u8>,
    quantize: fn(&[f32; N], &mut Vec<u8>),
) {
    let blocks = values.chunks_exact(N);
    for block in blocks.filter_map(|block| block.try_into().ok()) {
        quantize(block, out);
    }
}

fn half(value: f32) -> [u8; 2] {
    f16::from_f32(value).to_le_bytes()
}

/// One over the scale. A block of numbers too small to have a scale is zero.
fn inverse(scale: f32) -> f32 {
    let inverse = scale.recip();
    if inverse.is_finite() { inverse } else { 0.0 }
}

/// The first of the values that are furthest from zero, with its sign.
fn furthest(block: &Block) -> f32 {
    let further = |best: f32, value: f32| {
        if value.abs() > best.abs() {
            value
        } else {
            best
        }
    };
    block.iter().copied().fold(block[0], further)
}

fn q8_0(block: &Block, out: &mut Vec<u8>) {
    let scale = furthest(block).abs() / 127.0;
    out.extend(half(scale));
    out.extend(block.map(|value| (value * inverse(scale)).round() as i8 as u8));
}

/// Each value as a whole number from 0 to `most`; `half` is what rounds to the next.
fn levels(block: &Block, scale: f32, least: f32, half: f32, most: u8) -> [u8; BLOCK] {
    block.map(|value| (((value - least) * inverse(scale) + half) as u8).min(most))
}

/// The lower four bits of the values: the first 16 in the lower halves of 16 bytes.
fn nibbles(values: [u8; BLOCK]) -> [u8; BLOCK / 2] {
    std::array::from_fn(|i| (values[i] & 15) | values[i + BLOCK / 2] << 4)
}

/// The fifth bits of the values.
fn fifth_bits(values: [u8; BLOCK]) -> [u8; 4] {
    let bits = values.iter().rev();
    bits.fold(0u32, |word, value| word << 1 | u32::from(value >> 4 & 1))
        .to_le_bytes()
}

fn q4_0(block: &Block, out: &mut Vec<u8>) {
    let scale = furthest(block) / -8.0;
    out.extend(half(scale));
    out.extend(nibbles(levels(block, scale, 0.0, 8.5, 15)));
}

fn q5_0(block: &Block, out: &mut Vec<u8>) {
    let scale = furthest(block) / -16.0;
    let levels = levels(block, scale, 0.0, 16.5, 31);
    out.extend(half(scale));
    out.extend(fifth_bits(levels));
    out.extend(nibbles(levels));
}

/// The scale, the least value, and the levels between it and the largest, of which there are `most` and one.
fn between(block: &Block, most: u8) -> (f32, f32, [u8; BLOCK]) {
    // Of a zero and a negative zero the first counts.
    let lesser = |best: f32, value: f32| if value < best { value } else { best };
    let least = block.iter().copied().fold(block[0], lesser);
    let largest = block.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let scale = (largest - least) / f32::from(most);
    (scale, least, levels(block, scale, least, 0.5, most))
}

fn q4_1(block: &Block, out: &mut Vec<u8>) {
    let (scale, least, levels) = between(block, 15);
    out.extend(half(scale));
    out.extend(half(least));
    out.extend(nibbles(levels));
}

fn q5_1(block: &Block, out: &mut Vec<u8>) {
    let (scale, least, levels) = between(block, 31);
    out.extend(half(scale));
    out.extend(half(least));
    out.extend(fifth_bits(levels));
    out.extend(nibbles(levels));
}

/// The numbers that four bits stand for.
const FLOATS: [f32; 16] = [
    0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, -0.0, -0.5, -1.0, -1.5, -2.0, -3.0, -4.0, -6.0,
];

fn mxfp4(block: &Block, out: &mut Vec<u8>) {
    let largest = furthest(block).abs();
    // The largest of the numbers is 6, between 2^2 and 2^3.
    let exponent = match largest > 0.0 {
        true => (largest.log2().floor() - 2.0 + 127.0).clamp(0.0, 254.0),
        false => 0.0,
    };
    let scale = (exponent - 127.0).exp2();
    let nearest = |value: f32| {
        let distance = |index: usize| (scale * FLOATS[index] - value).abs();
        let nearer = |best, index| {
            if distance(index) < distance(best) {
                index
            } else {
                best
            }
        };
        (1..FLOATS.len()).fold(0, nearer) as u8
    };
    out.push(exponent as u8);
    out.extend(nibbles(block.map(nearest)));
}
