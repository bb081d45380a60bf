//! The searches for a block's scale: candidates are tried, and the one with the least error by weighted least squares is taken.
//!
//! Sums and products are those of the reference in its order, since another order rounds otherwise.

use std::cmp::Ordering;

/// Blocks whose weights are all closer to zero than this are zero.
pub(super) const NEGLIGIBLE: f32 = 1e-15;

/// The next whole number, the even one of two that are equally near. The reference finds it in the last bits of a sum with
/// 1.5 * 2^23; this does so too, because values beyond 2^22 and NaN give whole numbers as well.
pub(super) fn nearest(value: f32) -> i32 {
    let bits = (value + 12_582_912.0).to_bits();
    (bits & 0x7f_ffff) as i32 - 0x40_0000
}

/// The first of the values that are furthest from zero, with its sign.
pub(super) fn furthest(values: &[f32]) -> f32 {
    let further = |best: f32, &value: &f32| {
        if value.abs() > best.abs() {
            value
        } else {
            best
        }
    };
    values.iter().fold(0.0, further)
}

/// The same; nothing if all are negligible.
fn furthest_of_some(values: &[f32]) -> Option<f32> {
    Some(furthest(values)).filter(|furthest| furthest.abs() >= NEGLIGIBLE)
}

/// The weighted sums of values times levels and of squares of levels. Their ratio is the scale with the least error.
#[derive(Clone, Copy, Default)]
struct Fit {
    products: f32,
    squares: f32,
}

impl Fit {
    /// Adds a value, whose weight is its square.
    fn add(&mut self, value: f32, level: f32) {
        let weight = value * value;
        self.products += weight * value * level;
        self.squares += weight * level * level;
    }

    fn scale(self) -> f32 {
        if self.squares > 0.0 {
            self.products / self.squares
        } else {
            0.0
        }
    }
}

/// The scale of the best of several fits, and what made that fit. Of equally good ones it is the first.
fn best<T>(candidates: impl Iterator<Item = (Fit, T)>) -> Option<(f32, T)> {
    let mut kept: Option<(f32, f32, T)> = None;
    for (fit, candidate) in candidates {
        let is_better = kept.as_ref().is_none_or(|(_, gain, _)| {
            fit.squares > 0.0 && fit.products * fit.products > gain * fit.squares
        });
        if is_better {
            let scale = fit.scale();
            kept = Some((scale, scale * fit.products, candidate));
        }
    }
    kept.map(|(scale, _, candidate)| (scale, candidate))
}

/// The scale of values whose levels are whole numbers from `-most` to `most - 1`, and the levels from 0 on.
pub(super) fn symmetric(values: &[f32], most: i32, levels: &mut [u8]) -> f32 {
    levels.fill(0);
    let Some(furthest) = furthest_of_some(values) else {
        return 0.0;
    };
    let level = |value: f32, inverse: f32| nearest(inverse * value).clamp(-most, most - 1);
    // The furthest value gets the lowest level first, and then a little less or more.
    let steps = [0].into_iter().chain(-9..=-1).chain(1..=9);
    let candidates = steps.map(|step| {
        let inverse = -(most as f32 + 0.1 * step as f32) / furthest;
        let mut fit = Fit::default();
        for &value in values {
            fit.add(value, level(value, inverse) as f32);
        }
        (fit, inverse)
    });
    let Some((scale, inverse)) = best(candidates) else {
        return 0.0;
    };
    for (out, &value) in levels.iter_mut().zip(values) {
        *out = (level(value, inverse) + most) as u8;
    }
    scale
}

/// The same for few levels: instead of other scales, it tries other levels of single values, in up to five rounds.
pub(super) fn symmetric_by_levels(values: &[f32], most: i32, levels: &mut [u8]) -> f32 {
    levels.fill(0);
    let Some(furthest) = furthest_of_some(values) else {
        return 0.0;
    };
    let bounded = |value: f32| nearest(value).clamp(-most, most - 1);
    let inverse = -most as f32 / furthest;
    let mut chosen: Vec<i32> = values
        .iter()
        .map(|value| bounded(inverse * value))
        .collect();
    let mut fit = Fit::default();
    for (&value, &level) in values.iter().zip(&chosen) {
        fit.add(value, level as f32);
    }
    for _ in 0..5 {
        let mut has_changed = false;
        for (&value, level) in values.iter().zip(&mut chosen) {
            let (weight, old) = (value * value, *level as f32);
            // Without this value.
            let mut other = Fit {
                products: fit.products - weight * value * old,
                squares: fit.squares - weight * old * old,
            };
            if other.products <= 0.0 || other.products.is_nan() {
                continue;
            }
            let new = bounded(value * other.squares / other.products);
            if new == *level {
                continue;
            }
            other.add(value, new as f32);
            let gains = other.products * other.products * fit.squares
                > fit.products * fit.products * other.squares;
            if other.squares > 0.0 && gains {
                (*level, fit, has_changed) = (new, other, true);
            }
        }
        if !has_changed {
            break;
        }
    }
    for (out, level) in levels.iter_mut().zip(chosen) {
        *out = (level + most) as u8;
    }
    fit.scale()
}

/// How [`with_least`] searches.
#[derive(Clone, Copy)]
pub(super) struct LeastSearch {
    /// The highest level.
    pub most: u8,
    /// The first candidate spreads the values over so many levels more than `most`, and each next one over 0.1 more.
    pub start: f32,
    pub steps: u32,
    /// Whether an error is a distance, and not its square.
    pub is_absolute: bool,
}

impl LeastSearch {
    fn error(&self, distance: f32) -> f32 {
        if self.is_absolute {
            distance.abs()
        } else {
            distance * distance
        }
    }
}

/// The scale of values whose levels go from 0 to `most`, and the negative of what level 0 stands for, which is at most 0.
pub(super) fn with_least(
    values: &[f32],
    weights: &[f32],
    search: &LeastSearch,
    levels: &mut [u8],
) -> (f32, f32) {
    levels.fill(0);
    let (mut least, mut largest) = (values[0], values[0]);
    let (mut sum_weights, mut sum_values) = (weights[0], weights[0] * values[0]);
    for (&value, &weight) in values.iter().zip(weights).skip(1) {
        least = if value < least { value } else { least };
        largest = if value > largest { value } else { largest };
        sum_weights += weight;
        sum_values += weight * value;
    }
    least = if least > 0.0 { 0.0 } else { least };
    if largest == least {
        return (0.0, -least);
    }
    let most = f32::from(search.most);
    let level = |value: f32, least: f32, inverse: f32| {
        nearest(inverse * (value - least)).clamp(0, search.most.into()) as u8
    };
    let error = |scale: f32, least: f32, levels: &[u8]| {
        let all = values.iter().zip(weights).zip(levels);
        all.fold(0.0, |sum, ((&value, &weight), &level)| {
            sum + weight * search.error(scale * f32::from(level) + least - value)
        })
    };
    let inverse = most / (largest - least);
    let mut scale = inverse.recip();
    for (out, &value) in levels.iter_mut().zip(values) {
        *out = level(value, least, inverse);
    }
    let mut least_error = error(scale, least, levels);
    let mut candidate = vec![0; levels.len()];
    for step in 0..=search.steps {
        // From the least value that was the best so far.
        let inverse = (search.start + 0.1 * step as f32 + most) / (largest - least);
        let (mut sum_levels, mut squares, mut products) = (0.0, 0.0, 0.0);
        for ((out, &value), &weight) in candidate.iter_mut().zip(values).zip(weights) {
            *out = level(value, least, inverse);
            let level = f32::from(*out);
            sum_levels += weight * level;
            squares += weight * level * level;
            products += weight * level * value;
        }
        let determinant = sum_weights * squares - sum_levels * sum_levels;
        if determinant > 0.0 {
            let mut new_scale = (sum_weights * products - sum_values * sum_levels) / determinant;
            let mut new_least = (squares * sum_values - sum_levels * products) / determinant;
            if new_least > 0.0 {
                (new_scale, new_least) = (products / squares, 0.0);
            }
            let new_error = error(new_scale, new_least, &candidate);
            if new_error < least_error {
                levels.copy_from_slice(&candidate);
                (scale, least, least_error) = (new_scale, new_least, new_error);
            }
        }
    }
    (scale, -least)
}

/// The numbers that the four bits of IQ4_NL and IQ4_XS stand for.
const TABLE: [f32; 16] = [
    -127.0, -104.0, -83.0, -65.0, -49.0, -35.0, -22.0, -10.0, 1.0, 13.0, 25.0, 38.0, 53.0, 69.0,
    89.0, 113.0,
];

/// The index of the number of the table that is nearest to a value, the higher one of two that are equally near.
pub(super) fn nearest_of_table(value: f32) -> u8 {
    // A NaN is below nothing.
    let is_below = |number: &f32| value.partial_cmp(number) == Some(Ordering::Less);
    let above = TABLE
        .partition_point(|number| !is_below(number))
        .clamp(1, TABLE.len() - 1);
    let is_lower = value - TABLE[above - 1] < TABLE[above] - value;
    (above - usize::from(is_lower)) as u8
}

/// The scale of values that numbers of the table stand for.
pub(super) fn of_table(values: &[f32]) -> f32 {
    let Some(furthest) = furthest_of_some(values) else {
        return 0.0;
    };
    let fit = |inverse: f32| {
        let mut fit = Fit::default();
        for &value in values {
            let number = TABLE[usize::from(nearest_of_table(inverse * value))];
            let weight = value * value;
            fit.products += weight * number * value;
            fit.squares += weight * number * number;
        }
        (fit, ())
    };
    let first = (-furthest / TABLE[0]).recip();
    let others = (-7..=7).map(|step| (step as f32 + TABLE[0]) / furthest);
    let candidates = [first].into_iter().chain(others).map(fit);
    best(candidates).map_or(0.0, |(scale, ())| scale)
}
