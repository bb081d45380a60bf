//! Writes GGUF files.

use std::io::{self, Read, Write};

use super::header::{ALIGNMENT_KEY, DEFAULT_ALIGNMENT};
use super::reader::byte_len;
use super::tensor::{MAX_DIMENSIONS, TensorInfo, TensorType};
use super::value::{Array, Value};

/// Builds a GGUF v3 file: takes metadata and the tensors' shapes first, and the tensors' data when it writes.
///
/// ```
/// use metal_bridge_llama::gguf::{GgufWriter, TensorType, Value};
///
/// let mut writer = GgufWriter::new();
/// writer.metadata("general.architecture", Value::String("llama".into()));
/// writer.tensor("output_norm.weight", &[256], TensorType::F32)?;
/// let mut file = Vec::new();
/// writer.write(&mut file, |_, data| {
///     (0..256).try_for_each(|_| data.write_all(&1f32.to_le_bytes()))
/// })?;
/// assert_eq!(&file[..4], b"GGUF");
/// # std::io::Result::Ok(())
/// ```
#[derive(Clone, Debug)]
pub struct GgufWriter {
    alignment: u64,
    metadata: Vec<(String, Value)>,
    tensors: Vec<TensorInfo>,
}

impl Default for GgufWriter {
    fn default() -> Self {
        Self {
            alignment: DEFAULT_ALIGNMENT,
            metadata: Vec::new(),
            tensors: Vec::new(),
        }
    }
}

impl GgufWriter {
    /// The largest alignment that a writer takes: so much padding may follow the header and each tensor.
    pub const MAX_ALIGNMENT: u32 = 1 << 20;

    /// A file without metadata and tensors, with the format's default alignment of tensor data, 32 bytes.
    pub fn new() -> Self {
        Self::default()
    }

    /// A file that aligns tensor data to another power of two, and says so in `general.alignment`.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if `alignment` is not a power of two, or exceeds [`Self::MAX_ALIGNMENT`].
    pub fn with_alignment(alignment: u32) -> io::Result<Self> {
        if !alignment.is_power_of_two() || alignment > Self::MAX_ALIGNMENT {
            let most = Self::MAX_ALIGNMENT;
            let reason =
                format!("an alignment of {alignment}, which is not a power of two up to {most}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, reason));
        }
        let mut writer = Self {
            alignment: alignment.into(),
            ..Self::default()
        };
        writer.metadata(ALIGNMENT_KEY, Value::U32(alignment));
        Ok(writer)
    }

    /// Adds a metadata entry.
    pub fn metadata(&mut self, key: &str, value: Value) -> &mut Self {
        self.metadata.push((key.to_owned(), value));
        self
    }

    /// Declares a tensor; `dimensions` begin with the contiguous one. [`write`](Self::write) asks for the data, in the
    /// order of declaration.
    ///
    /// # Errors
    ///
    /// [`io::ErrorKind::InvalidInput`] if there are more than four dimensions, if rows are not whole blocks, or if the
    /// tensor would lie past the largest offset that a file can have.
    pub fn tensor(
        &mut self,
        name: &str,
        dimensions: &[u64],
        element_type: TensorType,
    ) -> io::Result<&mut Self> {
        let invalid = |reason| {
            io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("tensor {name:?}: {reason}"),
            )
        };
        if dimensions.len() > MAX_DIMENSIONS {
            return Err(invalid(format!("{} dimensions", dimensions.len())));
        }
        let byte_len = byte_len(dimensions, element_type).map_err(invalid)?;
        let mut padded = [1; MAX_DIMENSIONS];
        padded[..dimensions.len()].copy_from_slice(dimensions);
        let last = self.tensors.last();
        let end = last.map_or(Some(0), |last| last.offset.checked_add(last.byte_len));
        let offset = end
            .and_then(|end| end.checked_next_multiple_of(self.alignment))
            .filter(|offset| offset.checked_add(byte_len).is_some())
            .ok_or_else(|| invalid("its offset in the file overflows".into()))?;
        self.tensors.push(TensorInfo {
            name: name.into(),
            dimensions: padded,
            dimension_count: dimensions.len() as u8,
            element_type,
            file: 0,
            offset,
            byte_len,
            made: None,
        });
        Ok(self)
    }

    /// Writes the file. `fill` is called once a tensor and writes exactly [`TensorInfo::byte_len`] bytes.
    ///
    /// # Errors
    ///
    /// What `out` or `fill` report, and [`io::ErrorKind::InvalidData`] if `fill` wrote another number of bytes.
    pub fn write<W: Write>(
        &self,
        out: W,
        mut fill: impl FnMut(&TensorInfo, &mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut out = Counted {
            inner: out,
            count: 0,
        };
        self.write_header(&mut out)?;
        out.pad(self.alignment)?;
        for tensor in &self.tensors {
            let start = out.count;
            fill(tensor, &mut out)?;
            if out.count - start != tensor.byte_len {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    format!(
                        "tensor {:?} has {} bytes, {} were written",
                        tensor.name,
                        tensor.byte_len,
                        out.count - start
                    ),
                ));
            }
            out.pad(self.alignment)?;
        }
        out.flush()
    }

    fn write_header(&self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(b"GGUF")?;
        out.write_all(&3u32.to_le_bytes())?;
        out.write_all(&(self.tensors.len() as u64).to_le_bytes())?;
        out.write_all(&(self.metadata.len() as u64).to_le_bytes())?;
        for (key, value) in &self.metadata {
            write_string(out, key)?;
            out.write_all(&value.type_id().to_le_bytes())?;
            write_value(out, value)?;
        }
        for tensor in &self.tensors {
            write_string(out, &tensor.name)?;
            out.write_all(&u32::from(tensor.dimension_count).to_le_bytes())?;
            for dimension in tensor.dimensions() {
                out.write_all(&dimension.to_le_bytes())?;
            }
            out.write_all(&tensor.element_type.id().to_le_bytes())?;
            out.write_all(&tensor.offset.to_le_bytes())?;
        }
        Ok(())
    }
}

fn write_string(out: &mut impl Write, string: &str) -> io::Result<()> {
    out.write_all(&(string.len() as u64).to_le_bytes())?;
    out.write_all(string.as_bytes())
}

fn write_value(out: &mut impl Write, value: &Value) -> io::Result<()> {
    match value {
        Value::U8(v) => out.write_all(&v.to_le_bytes()),
        Value::I8(v) => out.write_all(&v.to_le_bytes()),
        Value::U16(v) => out.write_all(&v.to_le_bytes()),
        Value::I16(v) => out.write_all(&v.to_le_bytes()),
        Value::U32(v) => out.write_all(&v.to_le_bytes()),
        Value::I32(v) => out.write_all(&v.to_le_bytes()),
        Value::F32(v) => out.write_all(&v.to_le_bytes()),
        Value::Bool(v) => out.write_all(&[u8::from(*v)]),
        Value::String(v) => write_string(out, v),
        Value::Array(v) => write_array(out, v),
        Value::U64(v) => out.write_all(&v.to_le_bytes()),
        Value::I64(v) => out.write_all(&v.to_le_bytes()),
        Value::F64(v) => out.write_all(&v.to_le_bytes()),
    }
}

fn write_array(out: &mut impl Write, array: &Array) -> io::Result<()> {
    out.write_all(&array.element_type_id().to_le_bytes())?;
    out.write_all(&(array.len() as u64).to_le_bytes())?;
    macro_rules! scalars {
        ($v:expr) => {
            $v.iter().try_for_each(|v| out.write_all(&v.to_le_bytes()))
        };
    }
    match array {
        Array::U8(v) => out.write_all(v),
        Array::I8(v) => scalars!(v),
        Array::U16(v) => scalars!(v),
        Array::I16(v) => scalars!(v),
        Array::U32(v) => scalars!(v),
        Array::I32(v) => scalars!(v),
        Array::F32(v) => scalars!(v),
        Array::Bool(v) => v.iter().try_for_each(|v| out.write_all(&[u8::from(*v)])),
        Array::String(v) => v.iter().try_for_each(|v| write_string(out, v)),
        Array::Array(v) => v.iter().try_for_each(|v| write_array(out, v)),
        Array::U64(v) => scalars!(v),
        Array::I64(v) => scalars!(v),
        Array::F64(v) => scalars!(v),
    }
}

/// Counts what is written, to align what follows.
struct Counted<W> {
    inner: W,
    count: u64,
}

impl<W: Write> Counted<W> {
    fn pad(&mut self, alignment: u64) -> io::Result<()> {
        let padding = self.count.next_multiple_of(alignment) - self.count;
        io::copy(&mut io::repeat(0).take(padding), self).map(drop)
    }
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.inner.write(bytes)?;
        self.count += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}
