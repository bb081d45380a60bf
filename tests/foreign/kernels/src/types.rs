//! The element types of the kernels. References compute in `f64`, which holds every value that the tests use exactly.

use half::{bf16, f16};

/// The type of an element in a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Type {
    F32,
    F16,
    Bf16,
    U8,
    I16,
    I32,
    U32,
    I64,
}

use Type::{Bf16, F16, F32, I16, I32, I64, U8, U32};

impl Type {
    pub const FLOATS: [Type; 3] = [F32, F16, Bf16];
    /// All that the package calls a data type.
    pub const ALL: [Type; 6] = [F32, F16, Bf16, U8, U32, I64];

    /// What the package's kernels call it.
    pub fn name(self) -> &'static str {
        match self {
            F32 => "f32",
            F16 => "f16",
            Bf16 => "bf16",
            U8 => "u8",
            I16 => "i16",
            I32 => "i32",
            U32 => "u32",
            I64 => "i64",
        }
    }

    pub fn size(self) -> usize {
        match self {
            U8 => 1,
            F16 | Bf16 | I16 => 2,
            F32 | I32 | U32 => 4,
            I64 => 8,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, F32 | F16 | Bf16)
    }

    /// The largest relative error of one rounding; zero for integers.
    pub fn epsilon(self) -> f64 {
        match self {
            F32 => 2f64.powi(-24),
            F16 => 2f64.powi(-11),
            Bf16 => 2f64.powi(-8),
            _ => 0.0,
        }
    }

    /// The largest absolute error of rounding a number of this size. GPUs may flush what is subnormal to zero.
    pub fn rounding(self, value: f64) -> f64 {
        let smallest_normal = match self {
            F16 => 2f64.powi(-14),
            F32 | Bf16 => 2f64.powi(-126),
            _ => return 0.0,
        };
        (value.abs() * self.epsilon()).max(smallest_normal)
    }

    /// The value nearest to `value` that the type has; integers cut what is behind the point and wrap around.
    pub fn nearest(self, value: f64) -> f64 {
        self.decode(&self.encode(&[value]))[0]
    }

    pub fn encode(self, values: &[f64]) -> Vec<u8> {
        let each = |bytes: &dyn Fn(f64) -> Vec<u8>| values.iter().flat_map(|v| bytes(*v)).collect();
        match self {
            F32 => each(&|v| (v as f32).to_le_bytes().to_vec()),
            F16 => each(&|v| f16::from_f64(v).to_le_bytes().to_vec()),
            Bf16 => each(&|v| bf16::from_f64(v).to_le_bytes().to_vec()),
            _ => each(&|v| (v as i64).to_le_bytes()[..self.size()].to_vec()),
        }
    }

    pub fn decode(self, bytes: &[u8]) -> Vec<f64> {
        let elements = bytes.chunks_exact(self.size());
        elements.map(|element| self.decode_one(element)).collect()
    }

    fn decode_one(self, element: &[u8]) -> f64 {
        let mut wide = [0; 8];
        wide[..element.len()].copy_from_slice(element);
        let bits = u64::from_le_bytes(wide);
        match self {
            F32 => f32::from_bits(bits as u32).into(),
            F16 => f16::from_bits(bits as u16).into(),
            Bf16 => bf16::from_bits(bits as u16).into(),
            I16 => (bits as i16).into(),
            I32 => (bits as i32).into(),
            I64 => bits as i64 as f64,
            U8 | U32 => bits as f64,
        }
    }
}
