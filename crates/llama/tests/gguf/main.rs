//! GGUF files that are sound, and GGUF files that are not: what the reader gives and what it says.

mod reading;
mod refusals;

use std::io::Write;

use metal_bridge_llama::gguf::{Array, Gguf, GgufError, GgufWriter, TensorType, Value};

/// Builds the bytes of a GGUF file, without the checks of the writer.
#[derive(Default)]
struct Raw(Vec<u8>);

impl Raw {
    fn header(version: u32, tensors: u64, entries: u64) -> Self {
        Self::default()
            .bytes(b"GGUF")
            .u32(version)
            .u64(tensors)
            .u64(entries)
    }

    fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    fn u32(self, value: u32) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    fn u64(self, value: u64) -> Self {
        self.bytes(&value.to_le_bytes())
    }

    fn string(self, string: &str) -> Self {
        self.u64(string.len() as u64).bytes(string.as_bytes())
    }

    fn tensor(self, name: &str, dimensions: &[u64], element_type: u32, offset: u64) -> Self {
        let start = self.string(name).u32(dimensions.len() as u32);
        let shaped = dimensions
            .iter()
            .fold(start, |raw, &dimension| raw.u64(dimension));
        shaped.u32(element_type).u64(offset)
    }

    /// Pads to the alignment and adds as many bytes of data.
    fn data(mut self, count: usize) -> Self {
        self.0.resize(self.0.len().next_multiple_of(32) + count, 7);
        self
    }

    fn open(&self) -> Result<Gguf, GgufError> {
        open(&self.0)
    }

    fn refusal(&self) -> GgufError {
        self.open().expect_err("the file is not sound")
    }
}

fn open(bytes: &[u8]) -> Result<Gguf, GgufError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    Gguf::open(file.path())
}

/// Bytes of a file that has room for whatever a header may claim. It takes no room on the disk.
const SPARSE: u64 = 4 << 40;

/// Opens a file that begins with `bytes` and is zeros up to [`SPARSE`].
fn open_sparse(bytes: &[u8]) -> Result<Gguf, GgufError> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    file.as_file().set_len(SPARSE).unwrap();
    Gguf::open(file.path())
}

fn values() -> Vec<(&'static str, Value)> {
    let nested = vec![
        Array::U32(vec![1, 2]),
        Array::String(["a", "", "ü"].iter().collect()),
    ];
    vec![
        ("u8", Value::U8(200)),
        ("i8", Value::I8(-100)),
        ("u16", Value::U16(60_000)),
        ("i16", Value::I16(-30_000)),
        ("u32", Value::U32(4_000_000_000)),
        ("i32", Value::I32(-2_000_000_000)),
        ("f32", Value::F32(1.5)),
        ("bool", Value::Bool(true)),
        ("string", Value::String("naïve".into())),
        ("u64", Value::U64(u64::MAX)),
        ("i64", Value::I64(i64::MIN)),
        ("f64", Value::F64(-2.25)),
        // Longer than the reader's buffer, so that elements straddle two of its fillings.
        (
            "bytes",
            Value::Array(Array::U8((0..100_001).map(|i| i as u8).collect())),
        ),
        (
            "longs",
            Value::Array(Array::I64((0..20_003).map(|i| -i).collect())),
        ),
        ("bools", Value::Array(Array::Bool(vec![true, false, true]))),
        ("empty", Value::Array(Array::F64(vec![]))),
        ("nested", Value::Array(Array::Array(nested))),
    ]
}
