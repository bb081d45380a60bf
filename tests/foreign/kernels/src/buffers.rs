//! What kernels read and write: buffers with an offset, outputs whose surroundings are watched, and inline values.

use bytemuck::NoUninit;
use metal_bridge::{Buffer, Device, StorageMode};

use crate::types::Type;

/// Values that a kernel reads, from `offset` bytes on to the very end of their buffer.
pub struct Input {
    pub buffer: Buffer,
    pub offset: usize,
}

/// Room for what a kernel writes, with bytes around it that nobody may touch.
pub struct Output {
    pub buffer: Buffer,
    pub kind: Type,
    bytes: usize,
}

/// Bytes before and behind an output; a multiple of every vector's alignment.
pub const GUARD: usize = 64;
const GUARD_BYTE: u8 = 0xC3;
/// What an output holds to begin with: no result of any kernel.
const UNWRITTEN: u8 = 0xA5;

fn buffer(device: &Device, bytes: &[u8]) -> Result<Buffer, String> {
    device
        .new_buffer_with_data(bytes, StorageMode::Shared)
        .map_err(|error| error.to_string())
}

impl Input {
    /// `bytes` behind `offset` others.
    pub fn new(device: &Device, offset: usize, bytes: &[u8]) -> Result<Input, String> {
        let mut all = vec![GUARD_BYTE; offset];
        all.extend_from_slice(bytes);
        let buffer = buffer(device, &all)?;
        Ok(Input { buffer, offset })
    }
}

impl Output {
    /// Room for `count` elements that no kernel has written.
    pub fn new(device: &Device, kind: Type, count: usize) -> Result<Output, String> {
        Output::holding(device, kind, &vec![UNWRITTEN; count * kind.size()])
    }

    /// Room that holds these elements to begin with.
    pub fn holding(device: &Device, kind: Type, elements: &[u8]) -> Result<Output, String> {
        let all = [&[GUARD_BYTE; GUARD][..], elements, &[GUARD_BYTE; GUARD]].concat();
        let buffer = buffer(device, &all)?;
        let bytes = elements.len();
        Ok(Output {
            buffer,
            kind,
            bytes,
        })
    }

    /// How many elements it has room for.
    pub fn count(&self) -> usize {
        self.bytes / self.kind.size()
    }

    /// The bytes that are there now; an error where one around them has changed.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let all = self
            .buffer
            .wait_read::<u8>()
            .map_err(|error| error.to_string())?;
        let (before, rest) = all.split_at(GUARD);
        let (inner, after) = rest.split_at(self.bytes);
        match before.iter().chain(after).all(|byte| *byte == GUARD_BYTE) {
            true => Ok(inner.to_vec()),
            false => Err("written outside of the output".into()),
        }
    }

    /// The elements that are there now.
    pub fn read(&self) -> Result<Vec<f64>, String> {
        Ok(self.kind.decode(&self.bytes()?))
    }
}

/// An argument of a kernel, at its index.
#[derive(Clone)]
pub enum Arg<'a> {
    /// Read by the kernel.
    In(&'a Input),
    /// Written by the kernel.
    Out(&'a Output),
    /// Written by an earlier kernel and read by this one.
    Made(&'a Output),
    /// Inline bytes.
    Bytes(Vec<u8>),
    /// Nothing is bound: the kernel has no such argument with its function constants.
    Nothing,
}

/// One value, laid out as in memory.
pub fn value<T: NoUninit>(value: T) -> Arg<'static> {
    Arg::Bytes(bytemuck::bytes_of(&value).to_vec())
}

/// A `size_t`.
pub fn size(value: usize) -> Arg<'static> {
    self::value(value as u64)
}

/// An array of `size_t`: dimensions or strides.
pub fn sizes(values: &[usize]) -> Arg<'static> {
    let values: Vec<u64> = values.iter().map(|value| *value as u64).collect();
    Arg::Bytes(bytemuck::cast_slice(&values).to_vec())
}

/// An array of `uint`: dimensions or strides.
pub fn uints(values: &[usize]) -> Arg<'static> {
    let values: Vec<u32> = values.iter().map(|value| *value as u32).collect();
    Arg::Bytes(bytemuck::cast_slice(&values).to_vec())
}
