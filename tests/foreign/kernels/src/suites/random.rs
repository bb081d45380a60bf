//! `random.metal`: numbers that are the same for a seed and look like no pattern.

use crate::buffers::{Arg, size, value};
use crate::rig::{File, Grid};
use crate::types::Type;

/// Enough for the statistics below.
const SAMPLES: usize = 60_000;
/// Deviations of an estimate from its expectation that happen once in a hundred million honest tries.
const SIGMAS: f64 = 5.7;

/// A distribution: its kernel's name, its two parameters, mean, deviation, and the share of values below a number.
struct Distribution {
    name: &'static str,
    parameters: [f64; 2],
    mean: f64,
    deviation: f64,
    below: fn(f64) -> f64,
}

fn distributions() -> [Distribution; 2] {
    [
        Distribution {
            name: "rand_uniform",
            parameters: [-2.0, 6.0],
            mean: 2.0,
            deviation: 8.0 / 12f64.sqrt(),
            below: |x| (x + 2.0) / 8.0,
        },
        Distribution {
            name: "rand_normal",
            parameters: [1.0, 2.0],
            mean: 1.0,
            deviation: 2.0,
            below: |x| normal_below((x - 1.0) / 2.0),
        },
    ]
}

/// The share of a standard normal distribution below `x`, by the integral's series.
fn normal_below(x: f64) -> f64 {
    let (mut term, mut sum) = (x, x);
    for n in 1..200 {
        term *= x * x / f64::from(2 * n + 1);
        sum += term;
    }
    0.5 + sum * (-x * x / 2.0).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

pub fn run(file: &File) {
    for distribution in distributions() {
        for kind in Type::FLOATS {
            let kernel = format!("{}_{}", distribution.name, kind.name());
            let sample = |length, seed| draw(file, &kernel, &distribution, kind, length, seed);
            let outcome = sample(SAMPLES, 299_792_458)
                .and_then(|(numbers, _)| is_distributed(&numbers, &distribution, kind));
            file.note(&kernel, &format!("{SAMPLES} numbers"), outcome);
            for length in [1, 2, 37, 1000] {
                let outcome = is_seeded(|seed| sample(length, seed));
                file.note(&kernel, &format!("{length} numbers, seeds"), outcome);
            }
        }
    }
}

/// The numbers, and the seed that the kernel leaves for the next launch.
fn draw(
    file: &File,
    kernel: &str,
    distribution: &Distribution,
    kind: Type,
    length: usize,
    seed: u32,
) -> Result<(Vec<f64>, Vec<f64>), String> {
    let seeds = file.output_holding(Type::U32, &[0.0, f64::from(seed)]);
    let output = file.output(kind, length);
    let arguments = [
        size(length),
        value(distribution.parameters[0] as f32),
        value(distribution.parameters[1] as f32),
        Arg::Out(&seeds),
        Arg::Out(&output),
    ];
    file.launch(kernel, &[], &arguments, Grid::Linear(length.div_ceil(2)))?;
    Ok((output.read()?, seeds.read()?))
}

/// The same seed gives the same numbers, another one others; the seed moves on.
fn is_seeded(
    mut sample: impl FnMut(u32) -> Result<(Vec<f64>, Vec<f64>), String>,
) -> Result<(), String> {
    let (first, moved) = sample(7)?;
    let (again, moved_again) = sample(7)?;
    let (other, _) = sample(8)?;
    if first != again || moved != moved_again {
        return Err("the same seed gives different numbers".into());
    }
    if moved == [0.0, 7.0] {
        return Err("the seed does not move on".into());
    }
    let same = first.iter().zip(&other).filter(|(a, b)| a == b).count();
    // Coarse types have few values, which small samples may share.
    match first.len() > 8 && same * 4 > first.len() {
        true => Err(format!(
            "{same} of {} numbers are those of another seed",
            first.len()
        )),
        false => Ok(()),
    }
}

fn is_distributed(numbers: &[f64], distribution: &Distribution, kind: Type) -> Result<(), String> {
    let count = numbers.len() as f64;
    let near = |what: &str, got: f64, expected: f64, error: f64| match (got - expected).abs()
        <= SIGMAS * error + kind.epsilon() * expected.abs()
    {
        true => Ok(()),
        false => Err(format!(
            "{what}: expected {expected} within {SIGMAS} times {error}, got {got}"
        )),
    };
    let Distribution {
        mean, deviation, ..
    } = *distribution;
    let average = numbers.iter().sum::<f64>() / count;
    near("the mean", average, mean, deviation / count.sqrt())?;
    let square = numbers.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / count;
    near(
        "the variance",
        square,
        deviation.powi(2),
        deviation.powi(2) * (2.0 / count).sqrt(),
    )?;
    let pairs = numbers
        .windows(2)
        .map(|pair| (pair[0] - mean) * (pair[1] - mean));
    let together = pairs.sum::<f64>() / count / deviation.powi(2);
    near(
        "the correlation of neighbours",
        together,
        0.0,
        1.0 / count.sqrt(),
    )?;
    // Kolmogorov's statistic: its tail beyond 2.95 has the weight of the other tests'. What is rounded to a coarse type
    // piles up at the type's values, by the share of the numbers that round to the largest of them.
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let share = |(rank, x): (usize, &f64)| ((distribution.below)(*x) - rank as f64 / count).abs();
    let largest = sorted.iter().enumerate().map(share).fold(0.0, f64::max);
    let allowed = 2.95 / count.sqrt() + 4.0 * kind.epsilon();
    match largest <= allowed {
        true => Ok(()),
        false => Err(format!(
            "the distribution is {largest} off, {allowed} allowed"
        )),
    }
}
