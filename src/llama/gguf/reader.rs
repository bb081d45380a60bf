//! Reads a GGUF header. Every length is compared with what is left of the file before anything is allocated for it.

use std::io::{BufRead, BufReader, Read};

use super::error::GgufError;
use super::tensor::{MAX_DIMENSIONS, TensorInfo, TensorType};
use super::value::{Array, StringArray, Value, type_id, type_name};

/// Arrays of arrays deeper than this are refused: nothing writes them, and each level costs stack.
const MAX_ARRAY_DEPTH: u32 = 8;
/// Fewest bytes of a metadata entry: length of an empty key, type, a one-byte value.
const MIN_ENTRY_BYTES: u64 = 8 + 4 + 1;
/// Fewest bytes of a tensor's entry: length of an empty name, dimension count, type, offset.
const MIN_TENSOR_BYTES: u64 = 8 + 4 + 4 + 8;
/// Alignment of tensor data where the file does not say.
pub(super) const DEFAULT_ALIGNMENT: u64 = 32;
/// Where a file says it.
pub(super) const ALIGNMENT_KEY: &str = "general.alignment";

/// All that precedes the tensors' data.
pub(super) struct Header {
    pub version: u32,
    pub alignment: u64,
    pub metadata: Vec<(Box<str>, Value)>,
    pub tensors: Vec<TensorInfo>,
}

/// Reads and checks the header of a file of `file_size` bytes.
pub(super) fn read_header(reader: impl Read, file_size: u64) -> Result<Header, GgufError> {
    let mut cursor = Cursor {
        inner: BufReader::with_capacity(1 << 16, reader),
        position: 0,
        file_size,
    };
    let version = cursor.magic_and_version()?;
    let tensor_count = cursor.u64("tensor count")?;
    let entry_count = cursor.u64("metadata count")?;
    cursor.room(tensor_count, MIN_TENSOR_BYTES, || "list of tensors".into())?;
    let entry_count = cursor.room(entry_count, MIN_ENTRY_BYTES, || "list of metadata".into())?;

    let mut metadata = Vec::with_capacity(entry_count);
    for index in 0..entry_count {
        let key = cursor.string(&|| format!("metadata key {index}"))?;
        let value = cursor.value(&key)?;
        metadata.push((key.into_boxed_str(), value));
    }
    refuse_duplicates("metadata key", metadata.iter().map(|(key, _)| &**key))?;
    let alignment = alignment(&metadata, cursor.position)?;

    let tensor_count = cursor.room(tensor_count, MIN_TENSOR_BYTES, || "list of tensors".into())?;
    let mut tensors = Vec::with_capacity(tensor_count);
    for index in 0..tensor_count {
        tensors.push(cursor.tensor(index)?);
    }
    refuse_duplicates("tensor", tensors.iter().map(TensorInfo::name))?;
    place_tensors(&mut tensors, cursor.position, alignment, file_size)?;
    Ok(Header {
        version,
        alignment,
        metadata,
        tensors,
    })
}

fn alignment(metadata: &[(Box<str>, Value)], offset: u64) -> Result<u64, GgufError> {
    let Some((_, value)) = metadata.iter().find(|(key, _)| &**key == ALIGNMENT_KEY) else {
        return Ok(DEFAULT_ALIGNMENT);
    };
    match *value {
        Value::U32(alignment) if alignment.is_power_of_two() => Ok(alignment.into()),
        Value::U32(alignment) => Err(GgufError::Invalid {
            what: format!("metadata key {ALIGNMENT_KEY:?}"),
            offset,
            reason: format!("{alignment} is not a power of two"),
        }),
        ref other => Err(GgufError::WrongType {
            key: ALIGNMENT_KEY.into(),
            expected: "u32",
            found: other.type_name(),
        }),
    }
}

fn refuse_duplicates<'a>(
    what: &'static str,
    names: impl Iterator<Item = &'a str>,
) -> Result<(), GgufError> {
    let mut names: Vec<&str> = names.collect();
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(GgufError::Duplicate {
            what,
            name: pair[0].to_owned(),
        }),
        None => Ok(()),
    }
}

/// Turns offsets from the data section into offsets from the start of the file, and checks that no tensor lies
/// outside of the file or on another one.
fn place_tensors(
    tensors: &mut [TensorInfo],
    header_end: u64,
    alignment: u64,
    file_size: u64,
) -> Result<(), GgufError> {
    let invalid = |tensor: &TensorInfo, reason: String| GgufError::Invalid {
        what: format!("offset of tensor {:?}", tensor.name),
        offset: header_end,
        reason,
    };
    let data_start = header_end.next_multiple_of(alignment);
    for tensor in &mut *tensors {
        if tensor.offset % alignment != 0 {
            let reason = format!(
                "{} is not a multiple of the alignment {alignment}",
                tensor.offset
            );
            return Err(invalid(tensor, reason));
        }
        let start = data_start.checked_add(tensor.offset);
        let end = start.and_then(|start| start.checked_add(tensor.byte_len));
        let (Some(start), Some(end)) = (start, end) else {
            return Err(invalid(tensor, format!("{} overflows", tensor.offset)));
        };
        if end > file_size {
            return Err(GgufError::TensorOutOfRange {
                tensor: tensor.name.to_string(),
                start,
                end,
                file_size,
            });
        }
        tensor.offset = start;
    }
    let mut by_offset: Vec<&TensorInfo> = tensors.iter().collect();
    by_offset.sort_unstable_by_key(|tensor| tensor.offset);
    for pair in by_offset.windows(2) {
        if pair[0].offset + pair[0].byte_len > pair[1].offset {
            return Err(GgufError::TensorOverlap {
                first: pair[0].name.to_string(),
                second: pair[1].name.to_string(),
                offset: pair[1].offset,
            });
        }
    }
    Ok(())
}

/// What is being read, made into words only when something is wrong with it.
type What<'a> = &'a dyn Fn() -> String;

struct Cursor<R> {
    inner: BufReader<R>,
    position: u64,
    file_size: u64,
}

impl<R: Read> Cursor<R> {
    fn magic_and_version(&mut self) -> Result<u32, GgufError> {
        let mut magic = Vec::with_capacity(4);
        self.inner.by_ref().take(4).read_to_end(&mut magic)?;
        self.position = magic.len() as u64;
        if magic != *b"GGUF" {
            return Err(GgufError::NotGguf { found: magic });
        }
        let version = u32::from_le_bytes(self.bytes(&|| "version".into())?);
        match version {
            2 | 3 => Ok(version),
            // Only one of the two byte orders makes a small number of it.
            _ if version & 0xffff == 0 && version != 0 => Err(GgufError::UnsupportedVersion {
                version: version.swap_bytes(),
                big_endian: true,
            }),
            _ => Err(GgufError::UnsupportedVersion {
                version,
                big_endian: false,
            }),
        }
    }

    fn available(&self) -> u64 {
        self.file_size.saturating_sub(self.position)
    }

    /// Checks that `count` things of at least `bytes` each fit into the rest of the file.
    fn room(&self, count: u64, bytes: u64, what: impl Fn() -> String) -> Result<usize, GgufError> {
        let needed = count.saturating_mul(bytes);
        match usize::try_from(count) {
            Ok(count) if needed <= self.available() => Ok(count),
            _ => Err(GgufError::Truncated {
                what: what(),
                offset: self.position,
                needed,
                available: self.available(),
            }),
        }
    }

    fn fill(&mut self, into: &mut [u8], what: What) -> Result<(), GgufError> {
        self.room(into.len() as u64, 1, what)?;
        self.inner.read_exact(into)?;
        self.position += into.len() as u64;
        Ok(())
    }

    fn bytes<const N: usize>(&mut self, what: What) -> Result<[u8; N], GgufError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }

    fn u64(&mut self, what: &str) -> Result<u64, GgufError> {
        Ok(u64::from_le_bytes(self.bytes(&|| what.into())?))
    }

    fn string(&mut self, what: What) -> Result<String, GgufError> {
        let length = u64::from_le_bytes(self.bytes(what)?);
        let offset = self.position;
        let mut bytes = vec![0; self.room(length, 1, what)?];
        self.fill(&mut bytes, what)?;
        String::from_utf8(bytes).map_err(|error| GgufError::Invalid {
            what: what(),
            offset: offset + error.utf8_error().valid_up_to() as u64,
            reason: "not UTF-8".into(),
        })
    }

    fn value(&mut self, key: &str) -> Result<Value, GgufError> {
        let what: What = &|| format!("value of metadata key {key:?}");
        let id = u32::from_le_bytes(self.bytes(what)?);
        Ok(match id {
            type_id::U8 => Value::U8(self.scalar(what)?),
            type_id::I8 => Value::I8(self.scalar(what)?),
            type_id::U16 => Value::U16(self.scalar(what)?),
            type_id::I16 => Value::I16(self.scalar(what)?),
            type_id::U32 => Value::U32(self.scalar(what)?),
            type_id::I32 => Value::I32(self.scalar(what)?),
            type_id::F32 => Value::F32(self.scalar(what)?),
            type_id::U64 => Value::U64(self.scalar(what)?),
            type_id::I64 => Value::I64(self.scalar(what)?),
            type_id::F64 => Value::F64(self.scalar(what)?),
            type_id::BOOL => Value::Bool(self.boolean(what)?),
            type_id::STRING => Value::String(self.string(what)?),
            type_id::ARRAY => Value::Array(self.array(what, 0)?),
            _ => return Err(self.invalid(what, format!("unknown value type {id}"))),
        })
    }

    fn array(&mut self, what: What, depth: u32) -> Result<Array, GgufError> {
        let id = u32::from_le_bytes(self.bytes(what)?);
        let count = u64::from_le_bytes(self.bytes(what)?);
        Ok(match id {
            type_id::U8 => Array::U8(self.scalars(count, what)?),
            type_id::I8 => Array::I8(self.scalars(count, what)?),
            type_id::U16 => Array::U16(self.scalars(count, what)?),
            type_id::I16 => Array::I16(self.scalars(count, what)?),
            type_id::U32 => Array::U32(self.scalars(count, what)?),
            type_id::I32 => Array::I32(self.scalars(count, what)?),
            type_id::F32 => Array::F32(self.scalars(count, what)?),
            type_id::U64 => Array::U64(self.scalars(count, what)?),
            type_id::I64 => Array::I64(self.scalars(count, what)?),
            type_id::F64 => Array::F64(self.scalars(count, what)?),
            type_id::BOOL => {
                let count = self.room(count, 1, what)?;
                Array::Bool(
                    (0..count)
                        .map(|_| self.boolean(what))
                        .collect::<Result<_, _>>()?,
                )
            }
            type_id::STRING => Array::String(self.strings(count, what)?),
            type_id::ARRAY if depth < MAX_ARRAY_DEPTH => {
                let count = self.room(count, 4 + 8, what)?;
                let elements = (0..count).map(|_| self.array(what, depth + 1));
                Array::Array(elements.collect::<Result<_, _>>()?)
            }
            type_id::ARRAY => {
                let reason = format!("arrays nested more than {MAX_ARRAY_DEPTH} deep");
                return Err(self.invalid(what, reason));
            }
            _ => return Err(self.invalid(what, format!("unknown element type {id}"))),
        })
    }

    fn strings(&mut self, count: u64, what: What) -> Result<StringArray, GgufError> {
        let mut strings = StringArray::default();
        for index in 0..self.room(count, 8, what)? {
            strings.push(&self.string(&|| format!("element {index} of {}", what()))?);
        }
        Ok(strings)
    }

    fn boolean(&mut self, what: What) -> Result<bool, GgufError> {
        match self.bytes(what)? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => {
                Err(self.invalid(what, format!("{other} is no {}", type_name(type_id::BOOL))))
            }
        }
    }

    fn scalar<T: Scalar>(&mut self, what: What) -> Result<T, GgufError> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes[..size_of::<T>()], what)?;
        Ok(T::from_le(&bytes[..size_of::<T>()]))
    }

    fn scalars<T: Scalar>(&mut self, count: u64, what: What) -> Result<Vec<T>, GgufError> {
        let count = self.room(count, size_of::<T>() as u64, what)?;
        let mut scalars = Vec::with_capacity(count);
        while scalars.len() < count {
            let ready = self.inner.fill_buf()?;
            let whole = (ready.len() / size_of::<T>()).min(count - scalars.len());
            scalars.extend(
                ready[..whole * size_of::<T>()]
                    .chunks_exact(size_of::<T>())
                    .map(T::from_le),
            );
            self.inner.consume(whole * size_of::<T>());
            self.position += (whole * size_of::<T>()) as u64;
            if whole == 0 {
                // An element that straddles two fillings of the buffer, or the end of the file.
                scalars.push(self.scalar(what)?);
            }
        }
        Ok(scalars)
    }

    fn tensor(&mut self, index: usize) -> Result<TensorInfo, GgufError> {
        let name = self.string(&|| format!("name of tensor {index}"))?;
        let what: What = &|| format!("entry of tensor {name:?}");
        let dimension_count: u32 = self.scalar(what)?;
        if dimension_count as usize > MAX_DIMENSIONS {
            let reason = format!("{dimension_count} dimensions, {MAX_DIMENSIONS} are the most");
            return Err(self.invalid(what, reason));
        }
        let mut dimensions = [1; MAX_DIMENSIONS];
        for dimension in &mut dimensions[..dimension_count as usize] {
            *dimension = self.scalar::<u64>(what)?;
        }
        let id: u32 = self.scalar(what)?;
        let Some(element_type) = TensorType::from_id(id) else {
            return Err(self.invalid(what, format!("unknown tensor type {id}")));
        };
        let byte_len =
            byte_len(&dimensions, element_type).map_err(|reason| self.invalid(what, reason))?;
        let offset = self.scalar(what)?;
        Ok(TensorInfo {
            name: name.into_boxed_str(),
            dimensions,
            dimension_count: dimension_count as u8,
            element_type,
            offset,
            byte_len,
        })
    }

    fn invalid(&self, what: What, reason: String) -> GgufError {
        GgufError::Invalid {
            what: what(),
            offset: self.position,
            reason,
        }
    }
}

/// Bytes of a tensor of this shape, or what is wrong with the shape.
pub(super) fn byte_len(dimensions: &[u64], element_type: TensorType) -> Result<u64, String> {
    let columns = dimensions.first().copied().unwrap_or(1);
    if dimensions.contains(&0) {
        return Err(format!("shape {dimensions:?} has a dimension of zero"));
    }
    if columns % element_type.block_len() != 0 {
        let block = element_type.block_len();
        return Err(format!(
            "rows of {columns} weights are not whole {element_type} blocks of {block}"
        ));
    }
    let rows = dimensions
        .iter()
        .skip(1)
        .try_fold(1u64, |product, &d| product.checked_mul(d));
    let bytes = rows.and_then(|rows| element_type.row_bytes(columns)?.checked_mul(rows));
    bytes.ok_or_else(|| format!("shape {dimensions:?} overflows"))
}

/// Numbers as the file stores them.
trait Scalar: Copy {
    /// From exactly as many little-endian bytes as the type has.
    fn from_le(bytes: &[u8]) -> Self;
}

macro_rules! scalar {
    ($($t:ty),*) => {$(
        impl Scalar for $t {
            fn from_le(bytes: &[u8]) -> Self {
                let mut array = [0; size_of::<$t>()];
                array.copy_from_slice(bytes);
                <$t>::from_le_bytes(array)
            }
        }
    )*};
}
scalar!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);
