//! [`DataType`]: what a tensor's elements are.

/// The type of a tensor's elements, by its size and meaning. In Rust: `f32`, `half::f16`, `half::bf16`, `i8` and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DataType {
    /// 32-bit float.
    F32,
    /// 16-bit float of IEEE 754 (binary16).
    F16,
    /// The upper half of a 32-bit float.
    BF16,
    /// 8-bit signed integer.
    I8,
    /// 8-bit unsigned integer; 0 and 1 for what is false and true.
    U8,
    /// 32-bit signed integer.
    I32,
    /// 32-bit unsigned integer.
    U32,
    /// 64-bit signed integer.
    I64,
}

impl DataType {
    /// All types, in the order of their numbers in the shaders.
    pub const ALL: [DataType; 8] = [
        DataType::F32,
        DataType::F16,
        DataType::BF16,
        DataType::I8,
        DataType::U8,
        DataType::I32,
        DataType::U32,
        DataType::I64,
    ];

    /// Bytes of an element. Tensors begin at multiples of it.
    pub fn size(self) -> usize {
        match self {
            DataType::I8 | DataType::U8 => 1,
            DataType::F16 | DataType::BF16 => 2,
            DataType::F32 | DataType::I32 | DataType::U32 => 4,
            DataType::I64 => 8,
        }
    }

    /// Whether it is one of the floats.
    pub fn is_float(self) -> bool {
        matches!(self, DataType::F32 | DataType::F16 | DataType::BF16)
    }

    /// Whether it has negative numbers.
    pub fn is_signed(self) -> bool {
        !matches!(self, DataType::U8 | DataType::U32)
    }

    /// The name, as in `f32`. Kernels have it in theirs.
    pub fn name(self) -> &'static str {
        match self {
            DataType::F32 => "f32",
            DataType::F16 => "f16",
            DataType::BF16 => "bf16",
            DataType::I8 => "i8",
            DataType::U8 => "u8",
            DataType::I32 => "i32",
            DataType::U32 => "u32",
            DataType::I64 => "i64",
        }
    }
}

mod sealed {
    /// Bytes of another type behind an element's name would be read as what they are not.
    pub trait Sealed {}
}

/// A Rust type that tensors have as elements: `f32`, `f16`, `bf16`, `i8`, `u8`, `i32`, `u32` or `i64`.
pub trait Element: bytemuck::Pod + sealed::Sealed {
    /// Its name among the types of tensors.
    const DATA_TYPE: DataType;
}

macro_rules! elements {
    ($($rust:ty => $name:ident),*) => {
        $(impl sealed::Sealed for $rust {}

        impl Element for $rust {
            const DATA_TYPE: DataType = DataType::$name;
        })*
    };
}

elements!(
    f32 => F32, half::f16 => F16, half::bf16 => BF16, i8 => I8, u8 => U8, i32 => I32, u32 => U32, i64 => I64
);
