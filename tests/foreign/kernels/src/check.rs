//! Compares what a kernel wrote with what it should have written, and refuses comparisons that prove nothing.

use approx::abs_diff_eq;

use crate::types::Type;

/// A number that is known up to an error: that of computing it in the kernel's arithmetic, not that of storing it.
#[derive(Clone, Copy, Debug)]
pub struct Approx {
    pub value: f64,
    pub error: f64,
}

/// Known exactly.
pub fn exact(value: f64) -> Approx {
    Approx { value, error: 0.0 }
}

/// Known up to `error`.
pub fn approx(value: f64, error: f64) -> Approx {
    Approx { value, error }
}

/// All known exactly.
pub fn exactly(values: &[f64]) -> Vec<Approx> {
    values.iter().map(|value| exact(*value)).collect()
}

fn agrees(kind: Type, got: f64, expected: Approx) -> bool {
    let Approx { value, error } = expected;
    if value.is_nan() || value.is_infinite() {
        return got.is_nan() == value.is_nan() && (value.is_nan() || got == value);
    }
    abs_diff_eq!(
        got,
        value,
        epsilon = error + kind.rounding(value.abs() + error)
    )
}

/// The first difference, in words.
pub fn compare(kind: Type, got: &[f64], expected: &[Approx]) -> Result<(), String> {
    if got.len() != expected.len() {
        return Err(format!(
            "{} elements, expected {}",
            got.len(),
            expected.len()
        ));
    }
    let differs = |index: &usize| !agrees(kind, got[*index], expected[*index]);
    let Some(first) = (0..got.len()).find(differs) else {
        return Ok(());
    };
    let count = (0..got.len()).filter(differs).count();
    let Approx { value, error } = expected[first];
    let tolerance = error + kind.rounding(value.abs() + error);
    Err(format!(
        "element {first} of {}: expected {value:e} within {tolerance:e}, got {:e}; {count} differ",
        got.len(),
        got[first],
    ))
}

/// Whether the comparison could fail: zeros everywhere have to be told apart from what is expected, unless just they are
/// expected.
pub fn is_decisive(kind: Type, expected: &[Approx]) -> Result<(), String> {
    let zeros = vec![0.0; expected.len()];
    let all_zero = expected.iter().all(|expected| expected.value == 0.0);
    if !all_zero && compare(kind, &zeros, expected).is_ok() {
        return Err("the tolerance would let zeros pass".into());
    }
    match expected.iter().any(|expected| expected.error.is_nan()) {
        true => Err("a tolerance is not a number".into()),
        false => Ok(()),
    }
}
