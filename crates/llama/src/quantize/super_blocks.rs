//! The formats whose scales are quantized too: super-blocks of 256 weights, the parts of which have scales of their own in a few bits.
//! And IQ4_NL, whose numbers are those of IQ4_XS.

use half::f16;

use super::search::{
    LeastSearch, NEGLIGIBLE, furthest, nearest, nearest_of_table, of_table, symmetric,
    symmetric_by_levels, with_least,
};

pub(super) const SUPER_BLOCK: usize = 256;
type Values = [f32; SUPER_BLOCK];
type Levels = [u8; SUPER_BLOCK];

/// Bits of the levels from `shift` on, so many of each. A byte has those of levels that are `stride` apart.
fn packed(levels: &Levels, shift: u32, bits: u32, stride: usize) -> Vec<u8> {
    let per_byte = 8 / bits as usize;
    let groups = levels.chunks_exact(stride * per_byte);
    let byte = |group: &[u8], first: usize| {
        let part = |index: usize| group[first + index * stride] >> shift & ((1 << bits) - 1);
        (0..per_byte).fold(0, |byte, index| byte | part(index) << (index as u32 * bits))
    };
    groups
        .flat_map(|group| (0..stride).map(move |first| byte(group, first)))
        .collect()
}

/// A super-block whose parts have a scale and a least value each, from 0 to the highest level of scales.
struct WithLeast {
    scale: f16,
    least: f16,
    scales: Vec<u8>,
    leasts: Vec<u8>,
    levels: Levels,
}

impl WithLeast {
    /// In parts of so many values, whose weights in the search `weigh` finds.
    fn new(
        values: &Values,
        part: usize,
        search: &LeastSearch,
        weigh: fn(&[f32]) -> Vec<f32>,
        highest: u8,
    ) -> Self {
        let mut levels = [0; SUPER_BLOCK];
        let parts = values.chunks_exact(part).zip(levels.chunks_exact_mut(part));
        let found =
            parts.map(|(values, levels)| with_least(values, &weigh(values), search, levels));
        let (scales, leasts): (Vec<f32>, Vec<f32>) = found.unzip();
        let (scale, scales) = leveled(&scales, highest);
        let (least, leasts) = leveled(&leasts, highest);
        for (number, (values, levels)) in values
            .chunks_exact(part)
            .zip(levels.chunks_exact_mut(part))
            .enumerate()
        {
            let scale = scale.to_f32() * f32::from(scales[number]);
            // Without a scale the levels are those of the search.
            if scale == 0.0 {
                continue;
            }
            let least = least.to_f32() * f32::from(leasts[number]);
            for (level, &value) in levels.iter_mut().zip(values) {
                *level = nearest((value + least) / scale).clamp(0, search.most.into()) as u8;
            }
        }
        Self {
            scale,
            least,
            scales,
            leasts,
            levels,
        }
    }

    /// Scales and least values of six bits each in twelve bytes.
    fn six_bits(&self) -> [u8; 12] {
        let (scales, leasts) = (&self.scales, &self.leasts);
        std::array::from_fn(|byte| match byte {
            0..4 => scales[byte] | (scales[byte + 4] >> 4) << 6,
            4..8 => leasts[byte - 4] | (leasts[byte] >> 4) << 6,
            _ => scales[byte - 4] & 15 | leasts[byte - 4] << 4,
        })
    }
}

/// Numbers as levels from 0 to `highest`, and the scale of these. Only numbers above 0 count for the scale.
fn leveled(numbers: &[f32], highest: u8) -> (f16, Vec<u8>) {
    let further = |best: f32, &number: &f32| if number > best { number } else { best };
    let (largest, levels) = (numbers.iter().fold(0.0, further), f32::from(highest));
    let inverse = if largest > 0.0 { levels / largest } else { 0.0 };
    let level = |number: &f32| (nearest(inverse * number) as u8).min(highest);
    let all = numbers.iter().map(level).collect();
    (f16::from_f32(largest / levels), all)
}

/// Weights by the distance from zero, and the same for all.
fn by_size_and_mean(values: &[f32]) -> Vec<f32> {
    let squares = values.iter().fold(0.0, |sum, value| sum + value * value);
    let mean = (squares / values.len() as f32).sqrt();
    values.iter().map(|value| mean + value.abs()).collect()
}

fn by_size(values: &[f32]) -> Vec<f32> {
    values.iter().map(|value| value.abs()).collect()
}

pub(super) fn q2_k(values: &Values, out: &mut Vec<u8>) {
    let search = LeastSearch {
        most: 3,
        start: -0.5,
        steps: 15,
        is_absolute: true,
    };
    let block = WithLeast::new(values, 16, &search, by_size, 15);
    let parts = block.scales.iter().zip(&block.leasts);
    out.extend(parts.map(|(scale, least)| scale | least << 4));
    out.extend(packed(&block.levels, 0, 2, 32));
    out.extend([block.scale, block.least].map(f16::to_le_bytes).concat());
}

pub(super) fn q4_k(values: &Values, out: &mut Vec<u8>) {
    let search = LeastSearch {
        most: 15,
        start: -1.0,
        steps: 20,
        is_absolute: false,
    };
    let block = WithLeast::new(values, 32, &search, by_size_and_mean, 63);
    out.extend([block.scale, block.least].map(f16::to_le_bytes).concat());
    out.extend(block.six_bits());
    out.extend(packed(&block.levels, 0, 4, 32));
}

pub(super) fn q5_k(values: &Values, out: &mut Vec<u8>) {
    let search = LeastSearch {
        most: 31,
        start: -0.5,
        steps: 15,
        is_absolute: false,
    };
    let block = WithLeast::new(values, 32, &search, by_size_and_mean, 63);
    out.extend([block.scale, block.least].map(f16::to_le_bytes).concat());
    out.extend(block.six_bits());
    out.extend(packed(&block.levels, 4, 1, 32));
    out.extend(packed(&block.levels, 0, 4, 32));
}

/// Levels of parts whose values are from `-most` to `most - 1` times a scale. Those without a scale stay.
fn level_parts(values: &Values, levels: &mut Levels, most: i32, scale: impl Fn(usize) -> f32) {
    let parts = values.chunks_exact(16).zip(levels.chunks_exact_mut(16));
    for (number, (values, levels)) in parts.enumerate() {
        let scale = scale(number);
        if scale == 0.0 {
            continue;
        }
        for (level, value) in levels.iter_mut().zip(values) {
            *level = (nearest(value / scale).clamp(-most, most - 1) + most) as u8;
        }
    }
}

/// The scales of parts of 16 values by a search, which finds levels too.
fn search_parts(
    values: &Values,
    most: i32,
    search: fn(&[f32], i32, &mut [u8]) -> f32,
) -> (Vec<f32>, Levels) {
    let mut levels = [0; SUPER_BLOCK];
    let parts = values.chunks_exact(16).zip(levels.chunks_exact_mut(16));
    let scales = parts.map(|(values, levels)| search(values, most, levels));
    (scales.collect(), levels)
}

pub(super) fn q3_k(values: &Values, out: &mut Vec<u8>) {
    let (scales, mut levels) = search_parts(values, 4, symmetric_by_levels);
    let furthest = furthest(&scales);
    let (mut parts, mut scale) = ([0u8; 16], f16::ZERO);
    if furthest != 0.0 {
        let inverse = -32.0 / furthest;
        scale = f16::from_f32(inverse.recip());
        for (part, of_part) in parts.iter_mut().zip(&scales) {
            *part = (nearest(inverse * of_part).clamp(-32, 31) + 32) as u8;
        }
    }
    level_parts(values, &mut levels, 4, |number| {
        scale.to_f32() * f32::from(parts[number] as i8 - 32)
    });
    out.extend(packed(&levels, 2, 1, 32));
    out.extend(packed(&levels, 0, 2, 32));
    // The lower four bits of each scale, and then the upper two.
    out.extend((0..8).map(|i| parts[i] & 15 | parts[i + 8] << 4));
    let upper = |i: usize| (0..4).fold(0, |byte, k| byte | parts[i + 4 * k] >> 4 << (2 * k));
    out.extend((0..4).map(upper));
    out.extend(scale.to_le_bytes());
}

pub(super) fn q6_k(values: &Values, out: &mut Vec<u8>) {
    let (scales, mut levels) = search_parts(values, 32, symmetric);
    let furthest = furthest(&scales);
    let (mut parts, mut scale) = ([0i8; 16], f16::ZERO);
    if furthest.abs() < NEGLIGIBLE {
        levels = [0; SUPER_BLOCK];
    } else {
        let inverse = -128.0 / furthest;
        scale = f16::from_f32(inverse.recip());
        for (part, of_part) in parts.iter_mut().zip(&scales) {
            *part = nearest(inverse * of_part).min(127) as i8;
        }
        level_parts(values, &mut levels, 32, |number| {
            scale.to_f32() * f32::from(parts[number])
        });
    }
    out.extend(packed(&levels, 0, 4, 64));
    out.extend(packed(&levels, 4, 2, 32));
    out.extend(parts.map(|part| part as u8));
    out.extend(scale.to_le_bytes());
}

/// One over a scale, or zero.
fn inverse(scale: f32) -> f32 {
    if scale == 0.0 { 0.0 } else { scale.recip() }
}

pub(super) fn iq4_nl(values: &[f32; 32], out: &mut Vec<u8>) {
    let scale = of_table(values);
    let inverse = inverse(scale);
    out.extend(f16::from_f32(scale).to_le_bytes());
    let number = |index: usize| nearest_of_table(inverse * values[index]);
    out.extend((0..16).map(|index| number(index) | number(index + 16) << 4));
}

pub(super) fn iq4_xs(values: &Values, out: &mut Vec<u8>) {
    let scales: Vec<f32> = values.chunks_exact(32).map(of_table).collect();
    let scale = -furthest(&scales) / 32.0;
    let of_scale = inverse(scale);
    let part = |of_part: &f32| nearest(of_scale * of_part).clamp(-32, 31);
    let parts: Vec<i32> = scales.iter().map(part).collect();
    let mut levels = [0; SUPER_BLOCK];
    let blocks = values.chunks_exact(32).zip(levels.chunks_exact_mut(32));
    for ((values, levels), &part) in blocks.zip(&parts) {
        let inverse = inverse(scale * part as f32);
        for (level, value) in levels.iter_mut().zip(values) {
            *level = nearest_of_table(inverse * value);
        }
    }
    let parts: Vec<u16> = parts.iter().map(|part| (part + 32) as u16).collect();
    let upper = parts
        .iter()
        .rev()
        .fold(0, |word, part| word << 2 | part >> 4);
    out.extend(f16::from_f32(scale).to_le_bytes());
    out.extend(u16::to_le_bytes(upper));
    let pairs = parts.chunks_exact(2);
    out.extend(pairs.map(|pair| (pair[0] & 15 | (pair[1] & 15) << 4) as u8));
    out.extend(packed(&levels, 0, 4, 16));
}
