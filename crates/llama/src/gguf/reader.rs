//! [`Reader`]: reads the values of a GGUF header. Before it allocates anything, it compares its length with what is
//! left of the file, and with what is left of the memory that a header may take: a sparse file can have any number of
//! bytes.

use std::io::{BufRead, BufReader, Read};

use super::allocation::with_capacity;
use super::error::GgufError;
use super::tensor::{MAX_DIMENSIONS, TensorInfo, TensorType};
use super::value::{Array, StringArray, Value, type_id, type_name};

/// Arrays of arrays deeper than this are refused: nothing writes them, and each level costs stack.
const MAX_ARRAY_DEPTH: u32 = 8;
/// The most memory that a header may take: some ten times what the largest vocabularies take.
const MAX_MEMORY: u64 = 256 << 20;
/// The most bytes of a metadata key (the format's limit) and of a tensor's name: error messages repeat both.
const MAX_NAME_BYTES: u64 = 65_535;
/// Fewest bytes of an array in an array: type, count.
const MIN_ARRAY_BYTES: u64 = 4 + 8;
/// Describes what is being read; called only for an error.
pub(super) type What<'a> = &'a dyn Fn() -> String;

pub(super) struct Reader<R> {
    inner: BufReader<R>,
    /// Bytes read so far.
    pub(super) position: u64,
    file_size: u64,
    /// What is left of [`MAX_MEMORY`].
    memory: u64,
}

impl<R: Read> Reader<R> {
    /// Reads a file of `file_size` bytes from its start.
    pub(super) fn new(file: R, file_size: u64) -> Self {
        Self {
            inner: BufReader::with_capacity(1 << 16, file),
            position: 0,
            file_size,
            memory: MAX_MEMORY,
        }
    }

    pub(super) fn magic_and_version(&mut self) -> Result<u32, GgufError> {
        let mut magic = Vec::with_capacity(4);
        self.inner.by_ref().take(4).read_to_end(&mut magic)?;
        self.position = magic.len() as u64;
        if magic != *b"GGUF" {
            return Err(GgufError::NotGguf { found: magic });
        }
        let version = u32::from_le_bytes(self.bytes(&|| "version".into())?);
        match version {
            2 | 3 => Ok(version),
            // Versions are small numbers: this one is small in the other byte order.
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
    pub(super) fn expect_rest(&self, count: u64, bytes: u64, what: What) -> Result<(), GgufError> {
        let needed = count.saturating_mul(bytes);
        if needed <= self.available() {
            return Ok(());
        }
        Err(GgufError::Truncated {
            what: what(),
            offset: self.position,
            needed,
            available: self.available(),
        })
    }

    /// An empty list with a capacity of `count` elements, each of which takes at least `bytes` bytes in the file.
    pub(super) fn list<T>(
        &mut self,
        count: u64,
        bytes: u64,
        what: What,
    ) -> Result<Vec<T>, GgufError> {
        self.expect_rest(count, bytes, what)?;
        let needed = count.saturating_mul(size_of::<T>() as u64);
        let Some(left) = self.memory.checked_sub(needed) else {
            return Err(GgufError::TooLarge {
                what: what(),
                offset: self.position,
                needed,
                limit: MAX_MEMORY,
            });
        };
        self.memory = left;
        // A number of bytes below the limit fits into a `usize`.
        with_capacity(count as usize, what)
    }

    fn fill(&mut self, into: &mut [u8], what: What) -> Result<(), GgufError> {
        self.expect_rest(into.len() as u64, 1, what)?;
        self.inner.read_exact(into)?;
        self.position += into.len() as u64;
        Ok(())
    }

    fn bytes<const N: usize>(&mut self, what: What) -> Result<[u8; N], GgufError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes, what)?;
        Ok(bytes)
    }

    pub(super) fn u64(&mut self, what: &str) -> Result<u64, GgufError> {
        Ok(u64::from_le_bytes(self.bytes(&|| what.into())?))
    }

    fn string(&mut self, what: What) -> Result<String, GgufError> {
        let length = u64::from_le_bytes(self.bytes(what)?);
        self.text(length, what)
    }

    /// A string that error messages repeat.
    pub(super) fn name(&mut self, what: What) -> Result<String, GgufError> {
        let length = u64::from_le_bytes(self.bytes(what)?);
        if length > MAX_NAME_BYTES {
            self.expect_rest(length, 1, what)?;
            let reason =
                format!("the name has {length} bytes, but at most {MAX_NAME_BYTES} are allowed");
            return Err(self.invalid(what, reason));
        }
        self.text(length, what)
    }

    fn text(&mut self, length: u64, what: What) -> Result<String, GgufError> {
        let offset = self.position;
        let mut bytes = self.list(length, 1, what)?;
        bytes.resize(length as usize, 0);
        self.fill(&mut bytes, what)?;
        String::from_utf8(bytes).map_err(|error| GgufError::Invalid {
            what: what(),
            offset: offset + error.utf8_error().valid_up_to() as u64,
            reason: "not UTF-8".into(),
        })
    }

    pub(super) fn value(&mut self, key: &str) -> Result<Value, GgufError> {
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
                let mut list = self.list(count, 1, what)?;
                for _ in 0..count {
                    list.push(self.boolean(what)?);
                }
                Array::Bool(list)
            }
            type_id::STRING => Array::String(self.strings(count, what)?),
            type_id::ARRAY if depth < MAX_ARRAY_DEPTH => {
                let mut list = self.list(count, MIN_ARRAY_BYTES, what)?;
                for _ in 0..count {
                    list.push(self.array(what, depth + 1)?);
                }
                Array::Array(list)
            }
            type_id::ARRAY => {
                let reason = format!("arrays nested more than {MAX_ARRAY_DEPTH} deep");
                return Err(self.invalid(what, reason));
            }
            _ => return Err(self.invalid(what, format!("unknown element type {id}"))),
        })
    }

    fn strings(&mut self, count: u64, what: What) -> Result<StringArray, GgufError> {
        let mut strings = StringArray {
            text: String::new(),
            ends: self.list(count, 8, what)?,
        };
        for index in 0..count {
            let what: What = &|| format!("element {index} of {}", what());
            let string = self.string(what)?;
            let reserved = strings.text.try_reserve(string.len());
            reserved.map_err(|_| GgufError::OutOfMemory {
                what: what(),
                bytes: (strings.text.len() + string.len()) as u64,
            })?;
            strings.push(&string);
        }
        Ok(strings)
    }

    fn boolean(&mut self, what: What) -> Result<bool, GgufError> {
        match self.bytes(what)? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(self.invalid(
                what,
                format!("{other} is not a {}", type_name(type_id::BOOL)),
            )),
        }
    }

    fn scalar<T: Scalar>(&mut self, what: What) -> Result<T, GgufError> {
        let mut bytes = [0; 8];
        self.fill(&mut bytes[..size_of::<T>()], what)?;
        Ok(T::from_le(&bytes[..size_of::<T>()]))
    }

    fn scalars<T: Scalar>(&mut self, count: u64, what: What) -> Result<Vec<T>, GgufError> {
        let mut scalars = self.list(count, size_of::<T>() as u64, what)?;
        let count = count as usize;
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

    pub(super) fn tensor(&mut self, index: u64) -> Result<TensorInfo, GgufError> {
        let name = self.name(&|| format!("name of tensor {index}"))?;
        let what: What = &|| format!("entry of tensor {name:?}");
        let dimension_count: u32 = self.scalar(what)?;
        if dimension_count as usize > MAX_DIMENSIONS {
            let reason = format!(
                "the tensor has {dimension_count} dimensions, but at most {MAX_DIMENSIONS} are allowed"
            );
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
            file: 0,
            offset,
            byte_len,
            made: None,
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
    let product = |all: &[u64]| {
        all.iter()
            .try_fold(1u64, |product, &d| product.checked_mul(d))
    };
    let rows = product(dimensions.get(1..).unwrap_or_default());
    let bytes = rows.and_then(|rows| element_type.row_bytes(columns)?.checked_mul(rows));
    // A block can have more weights than bytes, so the number of weights can overflow where the bytes do not.
    bytes
        .filter(|_| product(dimensions).is_some())
        .ok_or_else(|| format!("shape {dimensions:?} overflows"))
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
