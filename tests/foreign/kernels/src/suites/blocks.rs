//! Formats of quantized weights: blocks of random bits, and the numbers that they stand for by the formats' definitions.

use half::f16;
use rand::Rng;
use rand::rngs::SmallRng;

/// A format of blocks.
pub struct Format {
    /// What kernels call it.
    pub name: &'static str,
    /// Numbers in a block.
    pub elements: usize,
    /// Bytes of a block.
    pub bytes: usize,
    /// Where the block has scales in half precision.
    scales: &'static [usize],
    /// The numbers of a block.
    decode: fn(&[u8]) -> Vec<f64>,
}

pub const FORMATS: [Format; 12] = [
    Format {
        name: "q4_0",
        elements: 32,
        bytes: 18,
        scales: &[0],
        decode: q4_0,
    },
    Format {
        name: "q4_1",
        elements: 32,
        bytes: 20,
        scales: &[0, 2],
        decode: q4_1,
    },
    Format {
        name: "q5_0",
        elements: 32,
        bytes: 22,
        scales: &[0],
        decode: q5_0,
    },
    Format {
        name: "q5_1",
        elements: 32,
        bytes: 24,
        scales: &[0, 2],
        decode: q5_1,
    },
    Format {
        name: "q8_0",
        elements: 32,
        bytes: 34,
        scales: &[0],
        decode: q8_0,
    },
    Format {
        name: "q2_K",
        elements: 256,
        bytes: 84,
        scales: &[80, 82],
        decode: q2_k,
    },
    Format {
        name: "q3_K",
        elements: 256,
        bytes: 110,
        scales: &[108],
        decode: q3_k,
    },
    Format {
        name: "q4_K",
        elements: 256,
        bytes: 144,
        scales: &[0, 2],
        decode: q4_k,
    },
    Format {
        name: "q5_K",
        elements: 256,
        bytes: 176,
        scales: &[0, 2],
        decode: q5_k,
    },
    Format {
        name: "q6_K",
        elements: 256,
        bytes: 210,
        scales: &[208],
        decode: q6_k,
    },
    Format {
        name: "iq4_nl",
        elements: 32,
        bytes: 18,
        scales: &[0],
        decode: iq4_nl,
    },
    Format {
        name: "iq4_xs",
        elements: 256,
        bytes: 136,
        scales: &[0],
        decode: iq4_xs,
    },
];

impl Format {
    /// Blocks for so many numbers: every bit random but those of the scales, which are of a usual size.
    pub fn random(&self, rng: &mut SmallRng, count: usize) -> Vec<u8> {
        let mut blocks: Vec<u8> = (0..count / self.elements * self.bytes)
            .map(|_| rng.random())
            .collect();
        for block in blocks.chunks_mut(self.bytes) {
            for offset in self.scales {
                let scale = f16::from_f64(rng.random_range(0.01..0.1));
                block[*offset..][..2].copy_from_slice(&scale.to_le_bytes());
            }
        }
        blocks
    }

    /// What blocks stand for.
    pub fn decode(&self, blocks: &[u8]) -> Vec<f64> {
        blocks.chunks(self.bytes).flat_map(self.decode).collect()
    }
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
