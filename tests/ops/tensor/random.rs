//! Random numbers: the published words, equal bits in every layout, and the distributions.

use half::{bf16, f16};
use metal_bridge::Error;
use metal_bridge::ops::{Ops, Random, Tensor};

use super::rows::both;
use super::spread::Spread;
use super::values::{Sample, half_unit, read, room};
use crate::support::{buffer, ops, refused, rng, run};

/// The first two words of a group.
fn words(ops: &Ops, random: Random) -> [u32; 2] {
    let y_buffer = room::<i64>(1);
    run(|encoder| ops.random_bits(encoder, random, Tensor::of::<i64>(&y_buffer, &[1])?));
    let word = read::<i64>(&y_buffer)[0] as u64;
    [word as u32, (word >> 32) as u32]
}

/// The known answers that its authors publish with Random123: counter and key of zeros, of ones, and of digits of pi.
#[test]
fn philox_gives_the_published_words() {
    let pi = Random {
        seed: 0x299f_31d0_a409_3822,
        stream: 0x0370_7344_1319_8a2e,
        offset: 0x85a3_08d3_243f_6a88,
    };
    let ones = Random {
        seed: u64::MAX,
        stream: u64::MAX,
        offset: u64::MAX,
    };
    for ops in both() {
        assert_eq!(words(ops, Random::default()), [0x6627_e8d5, 0xe169_c58d]);
        assert_eq!(words(ops, ones), [0x408f_276d, 0x41c8_3b0e]);
        assert_eq!(words(ops, pi), [0xd16c_fe09, 0x94fd_cceb]);
    }
}

/// The same in plain Rust, for all groups.
fn philox(random: Random, element: u64) -> [u32; 4] {
    let number = random.offset.wrapping_add(element);
    let halves = |x: u64| [x as u32, (x >> 32) as u32];
    let ([mut a, mut b], [mut c, mut d]) = (halves(number), halves(random.stream));
    let [mut key, mut other] = halves(random.seed);
    for _ in 0..10 {
        let (first, second) = (0xD251_1F53 * u64::from(a), 0xCD9E_8D57 * u64::from(c));
        let ([first, first_high], [second, second_high]) = (halves(first), halves(second));
        (a, b, c, d) = (second_high ^ b ^ key, second, first_high ^ d ^ other, first);
        key = key.wrapping_add(0x9E37_79B9);
        other = other.wrapping_add(0xBB67_AE85);
    }
    [a, b, c, d]
}

const RANDOM: Random = Random {
    seed: 0x0123_4567_89AB_CDEF,
    stream: 77,
    offset: 0xFFFF_FF00,
};

/// Each element has the lower bits of its words; the lower word of the counter overflows on the way.
fn bits<T: Sample>(seed: u64, of_words: fn(u64) -> T) {
    let mut rng = rng(seed);
    for ops in both() {
        for shape in [&[2000][..], &[3, 7, 40], &[], &[0]] {
            let y = Spread::room::<T>(&mut rng, shape);
            run(|encoder| ops.random_bits(encoder, RANDOM, y.tensor::<T>()));
            let count: usize = shape.iter().product();
            let exact: Vec<T> = (0..count)
                .map(|n| philox(RANDOM, n as u64))
                .map(|words| of_words(u64::from(words[0]) | u64::from(words[1]) << 32))
                .collect();
            assert_eq!(y.read::<T>(), exact, "{shape:?}, {}", T::DATA_TYPE.name());
        }
    }
}

#[test]
fn elements_have_the_words_of_their_number() {
    bits::<u32>(360, |words| words as u32);
    bits::<i32>(362, |words| words as i32);
    bits::<i8>(363, |words| words as i8);
    bits::<u8>(364, |words| words as u8);
    bits::<i64>(365, |words| words as i64);
}

fn numbers<T: Sample>(ops: &Ops, random: Random, is_normal: bool, shape: &[usize]) -> Vec<T> {
    let y_buffer = room::<T>(shape.iter().product());
    run(|encoder| {
        let y = Tensor::of::<T>(&y_buffer, shape)?;
        match is_normal {
            true => ops.normal(encoder, random, 0.0, 1.0, y),
            false => ops.uniform(encoder, random, 0.0, 1.0, y),
        }
    });
    read::<T>(&y_buffer)
}

#[test]
fn layouts_lanes_and_calls_make_no_difference() {
    let mut rng = rng(361);
    for is_normal in [false, true] {
        let whole: Vec<f32> = numbers(ops(), RANDOM, is_normal, &[1500]);
        assert_eq!(numbers::<f32>(both()[1], RANDOM, is_normal, &[1500]), whole);
        let later = Random {
            offset: RANDOM.offset + 700,
            ..RANDOM
        };
        assert_eq!(
            numbers::<f32>(ops(), later, is_normal, &[20, 40]),
            whole[700..]
        );
        for ops in both() {
            let y = Spread::room::<f32>(&mut rng, &[30, 2, 25]);
            run(|encoder| match is_normal {
                true => ops.normal(encoder, RANDOM, 0.0, 1.0, y.tensor::<f32>()),
                false => ops.uniform(encoder, RANDOM, 0.0, 1.0, y.tensor::<f32>()),
            });
            assert_eq!(y.read::<f32>(), whole);
        }
        let other = Random { seed: 1, ..RANDOM };
        assert_ne!(numbers::<f32>(ops(), other, is_normal, &[1500]), whole);
    }
}

#[test]
fn uniform_numbers_are_those_of_the_words() {
    let y: Vec<f32> = numbers(ops(), RANDOM, false, &[3000]);
    for (n, y) in y.iter().enumerate() {
        let exact = f64::from(philox(RANDOM, n as u64)[0] >> 8) / f64::exp2(24.0);
        assert_eq!(f64::from(*y), exact, "{n}");
    }
    let y_buffer = room::<f32>(3000);
    run(|encoder| {
        ops().uniform(
            encoder,
            RANDOM,
            -3.0,
            5.5,
            Tensor::of::<f32>(&y_buffer, &[3000])?,
        )
    });
    for (scaled, y) in read::<f32>(&y_buffer).iter().zip(&y) {
        assert_eq!(*scaled, (8.5 * f64::from(*y) - 3.0) as f32);
    }
}

fn rounded<T: Sample>() {
    for is_normal in [false, true] {
        let wide: Vec<f32> = numbers(ops(), RANDOM, is_normal, &[700]);
        let y: Vec<T> = numbers(ops(), RANDOM, is_normal, &[700]);
        let exact: Vec<T> = wide.iter().map(|x| T::nearest(f64::from(*x))).collect();
        assert_eq!(y, exact);
        assert!(half_unit(T::DATA_TYPE) > 1e-6);
    }
}

#[test]
fn halves_are_rounded_numbers() {
    rounded::<f16>();
    rounded::<bf16>();
}

#[test]
fn normal_numbers_are_those_of_box_and_muller() {
    let random = Random { seed: 5, ..RANDOM };
    let y: Vec<f32> = numbers(ops(), random, true, &[20_000]);
    for (n, y) in y.iter().enumerate() {
        let [first, second, ..] = philox(random, n as u64).map(f64::from);
        // The share is an f32, rounded twice.
        let share = f64::from(((first as f32) as f64 * f64::exp2(-32.0) + f64::exp2(-33.0)) as f32);
        let radius = (-2.0 * share.ln()).sqrt();
        let exact = radius * (second * f64::exp2(-32.0) * std::f64::consts::TAU).cos();
        let off = (f64::from(*y) - exact).abs();
        assert!(
            off <= f64::exp2(-22.0) * radius.max(1.0),
            "{n}: {y} is off by {off:e}"
        );
    }
    let y_buffer = room::<f32>(20_000);
    run(|encoder| {
        ops().normal(
            encoder,
            random,
            2.0,
            0.25,
            Tensor::of::<f32>(&y_buffer, &[20_000])?,
        )
    });
    for (scaled, y) in read::<f32>(&y_buffer).iter().zip(&y) {
        assert_eq!(*scaled, (0.25 * f64::from(*y) + 2.0) as f32);
    }
}

/// `log_of` of the shader in Rust: each operation rounds as IEEE prescribes, here as on every device.
fn model_log(x: f32) -> f32 {
    let bits = x.to_bits() + (0x3f80_0000 - 0x3f35_04f3);
    let exponent = ((bits >> 23) as i32 - 127) as f32;
    let t = f32::from_bits((bits & 0x007f_ffff) + 0x3f35_04f3) - 1.0;
    let terms = [
        0.127_226_73_f32,
        -0.131_275_55,
        0.142_048_55,
        -0.166_266_46,
        0.200_012_34,
        -0.250_007_8,
        0.333_333_3,
        -0.499_999_97,
    ];
    let p = terms
        .iter()
        .fold(-0.076_736_41_f32, |p, term| p.mul_add(t, *term));
    exponent.mul_add(
        -1.904_654_2e-9,
        exponent.mul_add(std::f32::consts::LN_2, (t * t).mul_add(p, t)),
    )
}

/// `cosine_of_turns` of the shader.
fn model_cosine(turns: u32) -> f32 {
    let shifted = turns.wrapping_add(0x2000_0000);
    let quarter = shifted >> 30;
    let angle = ((shifted & 0x3fff_ffff) as i32 - 0x2000_0000) as f32 * 1.462_918_1e-9;
    let square = angle * angle;
    let along = |first: f32, terms: [f32; 3]| {
        terms
            .iter()
            .fold(first, |sum, term| sum.mul_add(square, *term))
    };
    let sine = along(
        2.724_992_6e-6,
        [-0.000_198_400_87, 0.008_333_332, -0.166_666_67],
    );
    let cosine = along(2.446_378_9e-5, [-0.001_388_758_9, 0.041_666_65, -0.5]);
    let value = match quarter % 2 {
        0 => square.mul_add(cosine, 1.0),
        _ => (angle * square).mul_add(sine, angle),
    };
    if matches!(quarter, 1 | 2) {
        -value
    } else {
        value
    }
}

/// Bits, not numbers: what a device may round in its own way would be seen.
#[test]
fn normal_numbers_have_the_bits_of_a_model() {
    let (count, mean, deviation) = (20_000, 0.75f32, 1.5f32);
    for ops in both() {
        for (mean, deviation) in [(0.0, 1.0), (mean, deviation)] {
            let y_buffer = room::<f32>(count);
            run(|encoder| {
                let y = Tensor::of::<f32>(&y_buffer, &[count])?;
                ops.normal(encoder, RANDOM, mean, deviation, y)
            });
            for (n, y) in read::<f32>(&y_buffer).into_iter().enumerate() {
                let [first, second, ..] = philox(RANDOM, n as u64);
                let share = (first as f32).mul_add(2.328_306_4e-10, 1.164_153_2e-10);
                let radius = (-2.0 * model_log(share)).sqrt();
                let exact = (radius * model_cosine(second)).mul_add(deviation, mean);
                assert_eq!(y.to_bits(), exact.to_bits(), "{n}: {y} is not {exact}");
            }
        }
    }
}

/// The numbers of a fixed seed: bounds of five standard deviations are passed or not, once and for all.
#[test]
fn moments_and_shares_are_those_of_the_distributions() {
    let count = 1 << 16;
    let bound = 5.0 / f64::from(count).sqrt();
    let moments = |y: &[f32]| {
        [1, 2, 3, 4].map(|power| {
            y.iter().map(|y| f64::from(*y).powi(power)).sum::<f64>() / f64::from(count)
        })
    };
    let uniform: Vec<f32> = numbers(ops(), RANDOM, false, &[count as usize]);
    assert!(uniform.iter().all(|y| (0.0..1.0).contains(y)));
    for (power, moment) in (1..).zip(moments(&uniform)) {
        let exact = 1.0 / f64::from(power + 1);
        // No power has a larger deviation than 0.3.
        assert!((moment - exact).abs() < 0.3 * bound, "{power}: {moment}");
    }
    let mut bins = [0.0; 64];
    uniform
        .iter()
        .for_each(|y| bins[(y * 64.0) as usize] += 1.0);
    let expected = f64::from(count) / 64.0;
    let chi: f64 = bins
        .iter()
        .map(|bin| (bin - expected) * (bin - expected) / expected)
        .sum();
    assert!((chi - 63.0).abs() < 5.0 * (2.0f64 * 63.0).sqrt(), "{chi}");
    let normal: Vec<f32> = numbers(ops(), RANDOM, true, &[count as usize]);
    // The deviations of the powers of a normal number: 1, sqrt(2), sqrt(15), sqrt(96).
    let exact = [
        (0.0, 1.0),
        (1.0, 2.0f64.sqrt()),
        (0.0, 15f64.sqrt()),
        (3.0, 96f64.sqrt()),
    ];
    for (moment, (exact, deviation)) in moments(&normal).into_iter().zip(exact) {
        assert!(
            (moment - exact).abs() < deviation * bound,
            "{moment} {exact}"
        );
    }
    for (limit, share) in [
        (1.0, 0.682_689_492),
        (2.0, 0.954_499_736),
        (3.0, 0.997_300_204),
    ] {
        let inside = normal.iter().filter(|y| y.abs() < limit).count() as f64 / f64::from(count);
        assert!(
            (inside - share).abs() < bound * (share * (1.0f64 - share)).sqrt(),
            "{limit}: {inside}"
        );
    }
    // Neighbours have nothing to do with each other.
    let product: f64 = normal
        .windows(2)
        .map(|pair| f64::from(pair[0] * pair[1]))
        .sum();
    assert!((product / f64::from(count)).abs() < bound, "{product}");
}

#[test]
fn bad_distributions_are_refused_by_name() {
    let y_buffer = buffer(&[0.0f32; 4]);
    let y = Tensor::of::<f32>(&y_buffer, &[4]).unwrap();
    let integers = Tensor::of::<i32>(&y_buffer, &[4]).unwrap();
    let random = Random::default();
    let infinite = "and their difference must be finite";
    for (low, high, text) in [
        (1.0, 0.0, "low (1) must not exceed high (0)"),
        (f32::NAN, 1.0, infinite),
        (0.0, f32::INFINITY, infinite),
        (-3e38, 3e38, infinite),
    ] {
        let error = refused(|encoder| ops().uniform(encoder, random, low, high, y));
        assert!(error.to_string().contains(text), "{error}");
    }
    let deviations = "must be finite and not negative";
    for (mean, deviation, text) in [
        (0.0, -1.0, deviations),
        (f32::NAN, 1.0, "mean (NaN) must be finite"),
        (0.0, f32::INFINITY, deviations),
    ] {
        let error = refused(|encoder| ops().normal(encoder, random, mean, deviation, y));
        assert!(error.to_string().contains(text), "{error}");
    }
    let error = refused(|encoder| ops().uniform(encoder, random, 0.0, 1.0, integers));
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let error = refused(|encoder| ops().normal(encoder, random, 0.0, 1.0, integers));
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let error = refused(|encoder| ops().random_bits(encoder, random, y));
    assert!(matches!(error, Error::Unsupported(_)), "{error}");
    let long = Tensor::of::<f32>(&y_buffer, &[5]).unwrap();
    let error = refused(|encoder| ops().uniform(encoder, random, 0.0, 1.0, long));
    assert!(matches!(error, Error::OutOfRange(_)), "{error}");
    assert_eq!(read::<f32>(&y_buffer), [0.0; 4]);
}
