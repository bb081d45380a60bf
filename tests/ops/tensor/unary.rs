//! Every function of one tensor, for every type.

use approx::relative_eq;
use half::{bf16, f16};
use metal_bridge::Error;
use metal_bridge::ops::{Ops, Tensor, Unary};

use super::rows::both;
use super::spread::{Encode, layouts_agree};
use super::values::{Sample, is_close, read, room, samples};
use crate::support::{buffer, ops, refused, rng, run};

type Function = fn(f64) -> f64;

/// The functions of floats, their values, and how many units in the last place of an `f32` their kernels may miss; those of
/// GELU also miss by what the rounding of the argument makes of an exponential.
const FLOATS: [(Unary, Function, f64); 28] = [
    (Unary::Neg, |x| -x, 0.0),
    (Unary::Abs, f64::abs, 0.0),
    (Unary::Sign, |x| if x == 0.0 { x } else { x.signum() }, 0.0),
    (Unary::Square, |x| x * x, 0.5),
    (Unary::Sqrt, f64::sqrt, 0.5),
    (Unary::Rsqrt, |x| 1.0 / x.sqrt(), 1.5),
    (Unary::Recip, |x| 1.0 / x, 0.5),
    (Unary::Exp, f64::exp, 4.0),
    (Unary::Expm1, f64::exp_m1, 12.0),
    (Unary::Log, f64::ln, 4.0),
    (Unary::Log1p, f64::ln_1p, 8.0),
    (Unary::Sin, f64::sin, 4.0),
    (Unary::Cos, f64::cos, 4.0),
    (Unary::Tanh, f64::tanh, 6.0),
    (Unary::Erf, erf, 6.0),
    (Unary::Sigmoid, sigmoid, 6.0),
    (
        Unary::Relu,
        |x| if x > 0.0 || x.is_nan() { x } else { 0.0 },
        0.0,
    ),
    (
        Unary::LeakyRelu(0.125),
        |x| if x >= 0.0 { x } else { 0.125 * x },
        0.5,
    ),
    (
        Unary::Elu(1.5),
        |x| if x > 0.0 { x } else { 1.5 * x.exp_m1() },
        13.0,
    ),
    (Unary::Gelu, |x| 0.5 * x * erfc(-x / 2f64.sqrt()), 8.0),
    (Unary::GeluTanh, gelu_tanh, 8.0),
    (Unary::Silu, |x| x * sigmoid(x), 8.0),
    (Unary::Softplus, softplus, 8.0),
    (Unary::Mish, |x| x * softplus(x).tanh(), 16.0),
    (
        Unary::HardSwish,
        |x| x * (x / 6.0 + 0.5).clamp(0.0, 1.0),
        2.0,
    ),
    (Unary::Floor, f64::floor, 0.0),
    (Unary::Ceil, f64::ceil, 0.0),
    (Unary::Round, f64::round_ties_even, 0.0),
];

/// What a function of floats gives.
pub fn exact(operation: Unary, x: f64) -> f64 {
    let known = FLOATS.iter().find(|known| known.0 == operation);
    known.expect("among the tests").1(x)
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p() + if x.is_nan() { x } else { 0.0 }
}

fn gelu_tanh(x: f64) -> f64 {
    x * sigmoid(2.0 * (2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x * x * x))
}

/// The error function, by its series near 0.
fn erf(x: f64) -> f64 {
    if x.abs() > 2.5 {
        return x.signum() * (1.0 - erfc(x.abs()));
    }
    let (mut term, mut sum) = (x, x);
    for n in 1..100 {
        term *= -x * x / f64::from(n);
        sum += term / f64::from(2 * n + 1);
    }
    sum * 2.0 / std::f64::consts::PI.sqrt()
}

/// One minus it, by its continued fraction far from 0.
fn erfc(x: f64) -> f64 {
    if x < 2.5 {
        return 1.0 - erf(x);
    }
    let fraction = (1..200)
        .rev()
        .fold(x, |below, n| x + f64::from(n) / 2.0 / below);
    (-x * x).exp() / fraction / std::f64::consts::PI.sqrt()
}

fn results<T: Sample>(ops: &Ops, operation: Unary, x: &[T]) -> Vec<T> {
    let (x_buffer, y_buffer) = (buffer(x), room::<T>(x.len()));
    let tensor = |buffer| Tensor::of::<T>(buffer, &[x.len()]).unwrap();
    run(|encoder| ops.unary(encoder, operation, tensor(&x_buffer), tensor(&y_buffer)));
    read::<T>(&y_buffer)
}

fn floats<T: Sample>(seed: u64) {
    let x: Vec<T> = samples(&mut rng(seed), 2051);
    for (operation, exact, units) in FLOATS {
        let found = both().map(|ops| results(ops, operation, &x));
        for (x, y) in x.iter().cycle().zip(found.concat()) {
            let units = match operation {
                Unary::Gelu => units + x.exact().powi(2),
                Unary::GeluTanh => units + x.exact().abs().powi(3),
                _ => units,
            };
            let exact = exact(x.exact());
            assert!(
                is_close(y, exact, units),
                "{operation:?} of {x:?}, a {}: {y:?} is not {exact}",
                T::DATA_TYPE.name()
            );
        }
    }
}

#[test]
fn functions_of_floats_agree_with_float64() {
    floats::<f32>(50);
    floats::<f16>(51);
    floats::<bf16>(52);
}

#[test]
fn gelu_keeps_the_sign_of_zero() {
    let x = [-0.0f32, -1e3, -8192.0, -8200.0, -1e4, -1e10, -1e20];
    for ops in both() {
        let y = results(ops, Unary::Gelu, &x);
        let is_minus_zero = |y: &f32| *y == 0.0 && y.is_sign_negative();
        assert!(y.iter().all(is_minus_zero), "{y:?}");
    }
}

/// Where `exp(-x)` overflows, the sigmoid is subnormal: its product with `x` is 0 only on a device without such numbers.
#[test]
fn silu_far_below_zero_is_not_zero() {
    let x = [-88.5f32, -89.0, -90.0, -92.5, -95.0];
    for ops in both() {
        let [exponentials, found] = [Unary::Exp, Unary::Silu].map(|of| results(ops, of, &x));
        for ((x, y), _) in x
            .iter()
            .zip(found)
            .zip(exponentials)
            .filter(|(_, exponential)| *exponential != 0.0)
        {
            let exact = exact(Unary::Silu, f64::from(*x));
            assert!(
                relative_eq!(f64::from(y), exact, epsilon = 0.0, max_relative = 1e-3),
                "silu({x}): {y} is not {exact}"
            );
        }
    }
}

/// `expected` is None if the type does not have the function.
fn integers<T: Sample>(expected: impl Fn(Unary, T) -> Option<T>) {
    let x: Vec<T> = samples(&mut rng(53), 1029);
    let x_buffer = buffer(&x);
    let tensor = Tensor::of::<T>(&x_buffer, &[x.len()]).unwrap();
    for (operation, ..) in FLOATS {
        let exact: Option<Vec<T>> = x.iter().map(|x| expected(operation, *x)).collect();
        assert_eq!(
            operation.has(T::DATA_TYPE),
            exact.is_some(),
            "{operation:?}"
        );
        let Some(exact) = exact else {
            let error = refused(|encoder| ops().unary(encoder, operation, tensor, tensor));
            assert!(matches!(error, Error::Unsupported(_)), "{error}");
            continue;
        };
        for ops in both() {
            assert_eq!(results(ops, operation, &x), exact, "{operation:?}");
        }
    }
}

#[test]
fn functions_take_every_layout() {
    fn negates<T: Sample + std::ops::Neg<Output = T>>(seed: u64) {
        let encode: Encode = |ops, encoder, [x, _], y| ops.unary(encoder, Unary::Neg, x, y);
        layouts_agree(seed, encode, |x: T, _| -x);
    }
    negates::<f32>(54);
    negates::<f16>(55);
    negates::<bf16>(56);
    negates::<i8>(57);
    negates::<i32>(58);
    negates::<i64>(59);
    let square: Encode = |ops, encoder, [x, _], y| ops.unary(encoder, Unary::Square, x, y);
    layouts_agree(54, square, |x: u8, _| x.wrapping_mul(x));
    layouts_agree(55, square, |x: u32, _| x * x);
}

macro_rules! signed {
    ($($rust:ty),*) => {
        $(integers::<$rust>(|operation, x| match operation {
            Unary::Neg => Some(x.wrapping_neg()),
            Unary::Abs => Some(x.wrapping_abs()),
            Unary::Sign => Some(x.signum()),
            Unary::Square => Some(x.wrapping_mul(x)),
            Unary::Relu => Some(x.max(0)),
            _ => None,
        });)*
    };
}

macro_rules! unsigned {
    ($($rust:ty),*) => {
        $(integers::<$rust>(|operation, x| match operation {
            Unary::Abs | Unary::Relu => Some(x),
            Unary::Sign => Some(x.min(1)),
            Unary::Square => Some(x.wrapping_mul(x)),
            _ => None,
        });)*
    };
}

#[test]
fn functions_of_integers_are_exact() {
    signed!(i8, i32, i64);
    unsigned!(u8, u32);
}
