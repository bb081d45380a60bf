//! [`read_header`]: all that precedes the tensors' data, and whether it makes sense.

use std::io::Read;

use super::allocation::collected;
use super::error::GgufError;
use super::reader::{Reader, What};
use super::tensor::TensorInfo;
use super::value::Value;

/// Fewest bytes of a metadata entry: length of an empty key, type, a one-byte value.
const MIN_ENTRY_BYTES: u64 = 8 + 4 + 1;
/// Fewest bytes of a tensor's entry: length of an empty name, dimension count, type, offset.
const MIN_TENSOR_BYTES: u64 = 8 + 4 + 4 + 8;
/// Alignment of tensor data if the file does not say.
pub(super) const DEFAULT_ALIGNMENT: u64 = 32;
/// The metadata key of the alignment.
pub(super) const ALIGNMENT_KEY: &str = "general.alignment";

/// All that precedes the tensors' data.
pub(super) struct Header {
    pub version: u32,
    pub alignment: u64,
    pub metadata: Vec<(Box<str>, Value)>,
    pub tensors: Vec<TensorInfo>,
}

impl Header {
    /// The header of a model in another form: refuses names that appear twice.
    pub fn new(
        metadata: Vec<(Box<str>, Value)>,
        tensors: Vec<TensorInfo>,
    ) -> Result<Self, GgufError> {
        let keys = collected("metadata keys", metadata.iter().map(|(key, _)| &**key))?;
        refuse_duplicates("metadata key", keys)?;
        let names = collected("tensor names", tensors.iter().map(TensorInfo::name))?;
        refuse_duplicates("tensor", names)?;
        Ok(Self {
            version: 3,
            alignment: DEFAULT_ALIGNMENT,
            metadata,
            tensors,
        })
    }
}

/// Reads and checks the header of a file of `file_size` bytes.
pub(super) fn read_header(file: impl Read, file_size: u64) -> Result<Header, GgufError> {
    let mut reader = Reader::new(file, file_size);
    let version = reader.magic_and_version()?;
    let tensor_count = reader.u64("tensor count")?;
    let entry_count = reader.u64("metadata count")?;
    let tensors_in_words: What = &|| "list of tensors".into();
    reader.expect_rest(tensor_count, MIN_TENSOR_BYTES, tensors_in_words)?;

    let mut metadata: Vec<(Box<str>, Value)> =
        reader.list(entry_count, MIN_ENTRY_BYTES, &|| "list of metadata".into())?;
    for index in 0..entry_count {
        let key = reader.name(&|| format!("metadata key {index}"))?;
        let value = reader.value(&key)?;
        metadata.push((key.into_boxed_str(), value));
    }
    refuse_duplicates(
        "metadata key",
        collected("metadata keys", metadata.iter().map(|(key, _)| &**key))?,
    )?;
    let alignment = alignment(&metadata, reader.position)?;

    let mut tensors = reader.list(tensor_count, MIN_TENSOR_BYTES, tensors_in_words)?;
    for index in 0..tensor_count {
        tensors.push(reader.tensor(index)?);
    }
    let names = collected("tensor names", tensors.iter().map(TensorInfo::name))?;
    refuse_duplicates("tensor", names)?;
    locate_tensors(&mut tensors, reader.position, alignment, file_size)?;
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

fn refuse_duplicates(what: &'static str, mut names: Vec<&str>) -> Result<(), GgufError> {
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
fn locate_tensors(
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
    let mut by_offset = collected("offsets of tensors", tensors.iter())?;
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
