//! What the command line gives for buffers and function constants.

use std::str::FromStr;

use half::{bf16, f16};
use metal_bridge::FunctionConstantValues;
use metal_bridge::software::FunctionConstant;

use crate::failure::Failure;

/// A value for a function constant, whose type the source knows.
#[derive(Clone)]
pub struct Constant {
    name: String,
    value: String,
}

impl Constant {
    /// Whether the name is the constant's name or index.
    pub fn is_for(&self, constant: &FunctionConstant) -> bool {
        self.name == constant.name || self.name == constant.index.to_string()
    }
}

pub fn parse_constant(text: &str) -> Result<Constant, String> {
    let (name, value) = text
        .split_once('=')
        .ok_or_else(|| format!("\"{text}\" is not NAME=VALUE"))?;
    Ok(Constant {
        name: name.to_owned(),
        value: value.to_owned(),
    })
}

/// The values, each in the type that the source gives its constant.
pub fn constant_values(
    given: &[Constant],
    declared: &[FunctionConstant],
) -> Result<FunctionConstantValues, Failure> {
    let mut values = FunctionConstantValues::new();
    for constant in given {
        let mut all = declared.iter();
        let Some(known) = all.find(|known| constant.is_for(known)) else {
            let message = format!(
                "--constant: there is no function constant '{}'",
                constant.name
            );
            return Err(Failure::new(message));
        };
        let set = set_constant(&mut values, known, &constant.value);
        set.map_err(|error| Failure::new(format!("--constant {}: {error}", constant.name)))?;
    }
    Ok(values)
}

fn set_constant(
    values: &mut FunctionConstantValues,
    constant: &FunctionConstant,
    text: &str,
) -> Result<(), String> {
    let (index, name) = (constant.index as usize, constant.type_name.as_str());
    macro_rules! set {
        ($($metal:literal: $type:ty)*) => {
            match name {
                "bool" => values.set(index, parse_bool(text)?),
                $($metal => values.set(index, parse::<$type>(text, name)?),)*
                _ => return Err(format!("values of type {name} cannot be given")),
            }
        };
    }
    set! {
        "char": i8 "uchar": u8 "short": i16 "ushort": u16 "int": i32 "uint": u32 "long": i64 "ulong": u64
        "half": f16 "bfloat": bf16 "float": f32
    };
    Ok(())
}

/// The bytes of the comma-separated `values`, in the type that Metal calls `name`.
pub fn bytes_of(name: &str, values: &str) -> Result<Vec<u8>, String> {
    macro_rules! bytes {
        ($($metal:literal: $type:ty)*) => {
            match name {
                "bool" => each(values, |value| Ok([u8::from(parse_bool(value)?)])),
                $($metal => each(values, |value| Ok(parse::<$type>(value, name)?.to_ne_bytes())),)*
                _ => Err(format!("\"{name}\" is not a type such as float, half, int or uchar")),
            }
        };
    }
    bytes! {
        "char": i8 "uchar": u8 "short": i16 "ushort": u16 "int": i32 "uint": u32 "long": i64 "ulong": u64
        "half": f16 "bfloat": bf16 "float": f32
    }
}

fn each<const SIZE: usize>(
    values: &str,
    to_bytes: impl Fn(&str) -> Result<[u8; SIZE], String>,
) -> Result<Vec<u8>, String> {
    let all: Result<Vec<_>, _> = values
        .split(',')
        .map(|value| to_bytes(value.trim()))
        .collect();
    Ok(all?.concat())
}

fn parse<T: FromStr>(text: &str, name: &str) -> Result<T, String> {
    let wrong = |_| format!("\"{text}\" is not a value of type {name}");
    text.parse().map_err(wrong)
}

fn parse_bool(text: &str) -> Result<bool, String> {
    match text {
        "true" | "1" => Ok(true),
        "false" | "0" => Ok(false),
        _ => Err(format!("\"{text}\" is neither true nor false")),
    }
}
