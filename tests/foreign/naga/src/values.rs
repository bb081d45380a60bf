//! The bytes of buffers: what they are before a launch, and how two of them compare after it.

use naga::{Scalar, ScalarKind};
use rand::rngs::SmallRng;
use rand::{Rng, RngCore, SeedableRng};

use crate::module::Binding;
use crate::program::{Fill, Program, Tolerance};

/// The bytes of a buffer before the launch: the same in each run.
pub fn initial(binding: &Binding, program: &Program) -> Vec<u8> {
    let seed = u64::from(binding.group) << 32 | u64::from(binding.binding);
    let mut rng = SmallRng::seed_from_u64(seed);
    let fill = program.fill(&binding.name);
    let mut bytes = vec![0; binding.size];
    for (index, (offset, scalar)) in binding.numbers.iter().enumerate() {
        let width = usize::from(scalar.width);
        let number = number(fill, index, *scalar, &mut rng);
        bytes[*offset..offset + width].copy_from_slice(&number[..width]);
    }
    bytes
}

fn number(fill: &Fill, index: usize, scalar: Scalar, rng: &mut SmallRng) -> [u8; 8] {
    match fill {
        Fill::Random(low, high) if scalar.kind == ScalarKind::Float => {
            encode(rng.random_range(*low..*high), scalar)
        }
        Fill::Random(low, high) => {
            encode(rng.random_range(*low as i64..*high as i64) as f64, scalar)
        }
        Fill::Values(values) => encode(values[index % values.len()], scalar),
        Fill::Bits => loop {
            let bits = rng.next_u64().to_le_bytes();
            if scalar.kind != ScalarKind::Float || decode(&bits, scalar).is_finite() {
                return bits;
            }
        },
    }
}

fn encode(number: f64, scalar: Scalar) -> [u8; 8] {
    let mut bytes = [0; 8];
    match (scalar.kind, scalar.width) {
        (ScalarKind::Float, 2) => {
            bytes[..2].copy_from_slice(&half::f16::from_f64(number).to_le_bytes());
        }
        (ScalarKind::Float, 4) => bytes[..4].copy_from_slice(&(number as f32).to_le_bytes()),
        (ScalarKind::Float, _) => bytes = number.to_le_bytes(),
        _ => bytes = (number as i128 as u64).to_le_bytes(),
    }
    bytes
}

fn decode(bytes: &[u8], scalar: Scalar) -> f64 {
    let mut wide = [0; 8];
    let width = usize::from(scalar.width);
    wide[..width].copy_from_slice(&bytes[..width]);
    match (scalar.kind, scalar.width) {
        (ScalarKind::Float, 2) => half::f16::from_le_bytes([wide[0], wide[1]]).to_f64(),
        (ScalarKind::Float, 4) => {
            f64::from(f32::from_le_bytes([wide[0], wide[1], wide[2], wide[3]]))
        }
        (ScalarKind::Float, _) => f64::from_le_bytes(wide),
        (ScalarKind::Sint, 4) => {
            f64::from(i32::from_le_bytes([wide[0], wide[1], wide[2], wide[3]]))
        }
        (ScalarKind::Sint, _) => i64::from_le_bytes(wide) as f64,
        _ => u64::from_le_bytes(wide) as f64,
    }
}

/// Numbers that differ are named, this many.
const SHOWN: usize = 4;

/// Compares what Metal left in a buffer with what Vulkan did: how many numbers were compared, or what differs.
pub fn compare(
    binding: &Binding,
    program: &Program,
    metal: &[u8],
    vulkan: &[u8],
) -> Result<usize, String> {
    let mut pairs: Vec<(usize, Scalar, &[u8], &[u8])> = binding
        .numbers
        .iter()
        .map(|(offset, scalar)| (*offset, *scalar, &metal[*offset..], &vulkan[*offset..]))
        .collect();
    if program.unordered.contains(&binding.name) {
        let sorted = |pick: fn(&(usize, Scalar, &'_ [u8], &'_ [u8])) -> f64| {
            let mut values: Vec<f64> = pairs.iter().map(pick).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let ours = sorted(|pair| decode(pair.2, pair.1));
        let theirs = sorted(|pair| decode(pair.3, pair.1));
        return match ours == theirs {
            true => Ok(pairs.len()),
            false => Err(format!("{}: other elements", binding.name)),
        };
    }
    let count = pairs.len();
    pairs.retain(|(_, scalar, ours, theirs)| !agree(*scalar, ours, theirs, program.tolerance));
    if pairs.is_empty() {
        return Ok(count);
    }
    let described: Vec<String> = pairs
        .iter()
        .take(SHOWN)
        .map(|(offset, scalar, ours, theirs)| {
            let index = binding.numbers.iter().position(|(at, _)| at == offset);
            let (ours, theirs) = (decode(ours, *scalar), decode(theirs, *scalar));
            format!("[{}] {ours:?}, not {theirs:?}", index.unwrap_or_default())
        })
        .collect();
    let name = &binding.name;
    Err(format!(
        "{name}: {} of {count} differ: {}",
        pairs.len(),
        described.join("; ")
    ))
}

fn agree(scalar: Scalar, ours: &[u8], theirs: &[u8], tolerance: Tolerance) -> bool {
    let width = usize::from(scalar.width);
    if ours[..width] == theirs[..width] {
        return true;
    }
    let (ours, theirs) = (decode(ours, scalar), decode(theirs, scalar));
    let near = tolerance.absolute + tolerance.relative * theirs.abs();
    scalar.kind == ScalarKind::Float
        && (ours == theirs || (ours - theirs).abs() <= near || ours.is_nan() && theirs.is_nan())
}
