//! [`FunctionConstantValues`]: values that are fixed when a function is made.

use half::{bf16, f16};

use super::handle::{Handle, c_string, check, create};
use crate::error::Result;
use crate::sys;

/// Values for the function constants of a kernel (`MTLFunctionConstantValues`), by index or by name.
///
/// ```
/// use metal_bridge::FunctionConstantValues;
///
/// let mut values = FunctionConstantValues::new();
/// values.set(0, true).set(1, 64u32).set_named("scale", 0.5f32);
/// ```
#[derive(Debug, Clone, Default)]
pub struct FunctionConstantValues {
    values: Vec<Value>,
}

#[derive(Debug, Clone)]
struct Value {
    key: Key,
    data_type: sys::mtb_data_type,
    bytes: [u8; VALUE_SIZE],
}

#[derive(Debug, Clone)]
enum Key {
    Index(usize),
    Name(String),
}

/// Bytes of the largest value: four floats.
const VALUE_SIZE: usize = 16;

impl FunctionConstantValues {
    /// No values yet.
    pub fn new() -> FunctionConstantValues {
        FunctionConstantValues::default()
    }

    /// Gives the constant at `index` a value (`setConstantValue:type:atIndex:`). The call that makes a pipeline
    /// checks whether the constant is of this type. Metal ignores a value that is for none of the library's constants.
    pub fn set<T: ConstantValue>(&mut self, index: usize, value: T) -> &mut FunctionConstantValues {
        self.push(Key::Index(index), value)
    }

    /// Gives the constant called `name` a value (`setConstantValue:type:withName:`), as [`set`](Self::set) does.
    pub fn set_named<T: ConstantValue>(
        &mut self,
        name: &str,
        value: T,
    ) -> &mut FunctionConstantValues {
        self.push(Key::Name(name.to_owned()), value)
    }

    fn push<T: ConstantValue>(&mut self, key: Key, value: T) -> &mut FunctionConstantValues {
        let mut bytes = [0; VALUE_SIZE];
        value.write(&mut bytes);
        self.values.push(Value {
            key,
            data_type: T::DATA_TYPE,
            bytes,
        });
        self
    }

    pub(crate) fn to_handle(&self) -> Result<Handle<sys::mtb_constant_values>> {
        // SAFETY: returns owned values, or NULL and an owned error.
        let handle = unsafe { create(|error| sys::mtb_constant_values_create(error)) }?;
        for Value {
            key,
            data_type,
            bytes,
        } in &self.values
        {
            let bytes = bytes.as_ptr().cast();
            match key {
                // SAFETY: the values are live, and the bytes are as many as the largest type has.
                Key::Index(index) => unsafe {
                    check(|error| {
                        sys::mtb_constant_values_set_at(
                            handle.as_ptr(),
                            *index,
                            *data_type,
                            bytes,
                            error,
                        )
                    })?;
                },
                Key::Name(name) => {
                    let name = c_string("FunctionConstantValues::set_named", "the name", name)?;
                    // SAFETY: as above; the name lives during the call.
                    unsafe {
                        check(|error| {
                            let name = name.as_ptr();
                            sys::mtb_constant_values_set_named(
                                handle.as_ptr(),
                                name,
                                *data_type,
                                bytes,
                                error,
                            )
                        })?;
                    }
                }
            }
        }
        Ok(handle)
    }
}

mod sealed {
    use crate::sys;

    /// A constant's type and bytes, as Metal takes them.
    pub trait MetalConstant {
        const DATA_TYPE: sys::mtb_data_type;
        fn write(self, bytes: &mut [u8; super::VALUE_SIZE]);
    }
}
use sealed::MetalConstant;

/// Types that a function constant can have: booleans, integers of 8 to 64 bits, `f16`, `bf16`, `f32`, and arrays of 2 to
/// 4 for the vectors that Metal has.
pub trait ConstantValue: MetalConstant {}

impl<T: MetalConstant> ConstantValue for T {}

macro_rules! scalars {
    ($($scalar:ty: $data_type:ident, $to_bytes:expr;)*) => {
        $(
            impl MetalConstant for $scalar {
                const DATA_TYPE: sys::mtb_data_type = sys::$data_type;

                fn write(self, bytes: &mut [u8; VALUE_SIZE]) {
                    let to_bytes: fn($scalar) -> [u8; size_of::<$scalar>()] = $to_bytes;
                    bytes[..size_of::<$scalar>()].copy_from_slice(&to_bytes(self));
                }
            }
        )*
    };
}

macro_rules! vectors {
    ($($scalar:ty, $count:literal: $data_type:ident;)*) => {
        $(
            impl MetalConstant for [$scalar; $count] {
                const DATA_TYPE: sys::mtb_data_type = sys::$data_type;

                fn write(self, bytes: &mut [u8; VALUE_SIZE]) {
                    for (to, component) in bytes.chunks_exact_mut(size_of::<$scalar>()).zip(self) {
                        let mut scalar = [0; VALUE_SIZE];
                        component.write(&mut scalar);
                        to.copy_from_slice(&scalar[..size_of::<$scalar>()]);
                    }
                }
            }
        )*
    };
}

scalars! {
    bool: MTB_TYPE_BOOL, |value| [u8::from(value)];
    i8: MTB_TYPE_CHAR, i8::to_ne_bytes;
    u8: MTB_TYPE_UCHAR, u8::to_ne_bytes;
    i16: MTB_TYPE_SHORT, i16::to_ne_bytes;
    u16: MTB_TYPE_USHORT, u16::to_ne_bytes;
    i32: MTB_TYPE_INT, i32::to_ne_bytes;
    u32: MTB_TYPE_UINT, u32::to_ne_bytes;
    i64: MTB_TYPE_LONG, i64::to_ne_bytes;
    u64: MTB_TYPE_ULONG, u64::to_ne_bytes;
    f16: MTB_TYPE_HALF, f16::to_ne_bytes;
    bf16: MTB_TYPE_BFLOAT, bf16::to_ne_bytes;
    f32: MTB_TYPE_FLOAT, f32::to_ne_bytes;
}

vectors! {
    bool, 2: MTB_TYPE_BOOL2;
    bool, 3: MTB_TYPE_BOOL3;
    bool, 4: MTB_TYPE_BOOL4;
    i8, 2: MTB_TYPE_CHAR2;
    i8, 3: MTB_TYPE_CHAR3;
    i8, 4: MTB_TYPE_CHAR4;
    u8, 2: MTB_TYPE_UCHAR2;
    u8, 3: MTB_TYPE_UCHAR3;
    u8, 4: MTB_TYPE_UCHAR4;
    i16, 2: MTB_TYPE_SHORT2;
    i16, 3: MTB_TYPE_SHORT3;
    i16, 4: MTB_TYPE_SHORT4;
    u16, 2: MTB_TYPE_USHORT2;
    u16, 3: MTB_TYPE_USHORT3;
    u16, 4: MTB_TYPE_USHORT4;
    i32, 2: MTB_TYPE_INT2;
    i32, 3: MTB_TYPE_INT3;
    i32, 4: MTB_TYPE_INT4;
    u32, 2: MTB_TYPE_UINT2;
    u32, 3: MTB_TYPE_UINT3;
    u32, 4: MTB_TYPE_UINT4;
    f16, 2: MTB_TYPE_HALF2;
    f16, 3: MTB_TYPE_HALF3;
    f16, 4: MTB_TYPE_HALF4;
    f32, 2: MTB_TYPE_FLOAT2;
    f32, 3: MTB_TYPE_FLOAT3;
    f32, 4: MTB_TYPE_FLOAT4;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes<T: ConstantValue>(value: T) -> [u8; VALUE_SIZE] {
        let mut values = FunctionConstantValues::new();
        values.set(0, value);
        values.values[0].bytes
    }

    #[test]
    fn values_are_laid_out_as_in_metal() {
        assert_eq!(bytes(true)[..2], [1, 0]);
        assert_eq!(bytes(-2i16)[..2], (-2i16).to_ne_bytes());
        assert_eq!(bytes(f16::from_f32(1.5))[..2], 0x3e00u16.to_ne_bytes());
        let vector = bytes([1.0f32, 2.0, 3.0]);
        assert_eq!(vector[8..12], 3.0f32.to_ne_bytes());
        assert_eq!(vector[12..], [0; 4]);
        assert_eq!(bytes([1u8, 2, 3, 4])[..5], [1, 2, 3, 4, 0]);
    }
}
