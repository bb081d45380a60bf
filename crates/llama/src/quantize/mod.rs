//! GGUF files in smaller formats: the matrices of a file in another [`WeightType`], bit for bit as the reference's
//! quantizers make them.
//!
//! The formats ([`FORMATS`]) are those that need no calibration.

mod blocks;
mod search;
mod super_blocks;

use std::io::{self, Write};

use half::{bf16, f16};
use metal_bridge::ops::WeightType;

use crate::gguf::{Gguf, GgufError, GgufWriter, TensorInfo, TensorType, Value};

/// The formats that [`quantize`] makes.
pub const FORMATS: [WeightType; 15] = [
    WeightType::F16,
    WeightType::BF16,
    WeightType::Q8_0,
    WeightType::Q6_K,
    WeightType::Q5_0,
    WeightType::Q5_1,
    WeightType::Q5_K,
    WeightType::Q4_0,
    WeightType::Q4_1,
    WeightType::Q4_K,
    WeightType::IQ4_NL,
    WeightType::IQ4_XS,
    WeightType::MXFP4,
    WeightType::Q3_K,
    WeightType::Q2_K,
];

/// The keys that say what a file is.
const FILE_TYPE: &str = "general.file_type";
const VERSION: &str = "general.quantization_version";

/// Why a file cannot be quantized.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum QuantizeError {
    /// F32, which is not a smaller format.
    #[error("no quantizer makes {0}; possible are {names}", names = names())]
    Unsupported(TensorType),
    /// A weight that no format can hold: infinite, not a number, or over the largest that the format or a block's
    /// scale can be.
    #[error("tensor {tensor:?}: element {index} is {value}, which {kind} cannot hold")]
    Value {
        /// Name of the tensor.
        tensor: String,
        /// The element, counted from the tensor's first.
        index: u64,
        /// What it is.
        value: f32,
        /// The format.
        kind: TensorType,
    },
    /// The file pads tensors to more bytes than a [`GgufWriter`] does.
    #[error(
        "general.alignment: {0} bytes of padding, and files are written with {most} at most",
        most = GgufWriter::MAX_ALIGNMENT
    )]
    Alignment(u64),
    /// The file that is read.
    #[error(transparent)]
    Gguf(#[from] GgufError),
    /// The file that is written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// What became of a file's tensors.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quantized {
    /// Tensors in the new format.
    pub quantized: usize,
    /// Names of the matrices that stay as they are: rows that do not fill whole blocks, elements that are quantized
    /// already, and the routers of experts.
    pub kept: Vec<String>,
}

/// Writes `input` to `out` with its matrices in another format. Vectors stay as they are, and so do the matrices that
/// [`Quantized::kept`] names. `general.file_type` and `general.quantization_version` say what the new file is,
/// unless all matrices stay.
///
/// One tensor is in memory at a time.
///
/// # Errors
///
/// [`QuantizeError`]; what was written to `out` before is not a whole file.
pub fn quantize(
    input: &Gguf,
    kind: WeightType,
    out: impl Write,
) -> Result<Quantized, QuantizeError> {
    let of = TensorType::of(kind);
    let (Some(quantizer), Some(file_type)) = (blocks::quantizer(kind), file_type(kind)) else {
        return Err(QuantizeError::Unsupported(of));
    };
    let alignment = u32::try_from(input.alignment()).unwrap_or(u32::MAX);
    if alignment > GgufWriter::MAX_ALIGNMENT {
        return Err(QuantizeError::Alignment(input.alignment()));
    }
    let mut writer = GgufWriter::with_alignment(alignment)?;
    // A file that keeps all its matrices is still what it said.
    let is_new = input.tensors().iter().any(|tensor| is_taken(tensor, kind));
    let (alignment, own) = ("general.alignment", [FILE_TYPE, VERSION]);
    let is_kept = |key: &str| key != alignment && !(is_new && own.contains(&key));
    for (key, value) in input.metadata().filter(|(key, _)| is_kept(key)) {
        writer.metadata(key, value.clone());
    }
    if is_new {
        writer.metadata(FILE_TYPE, Value::U32(file_type));
        writer.metadata(VERSION, Value::U32(2));
    }
    let mut result = Quantized::default();
    for tensor in input.tensors() {
        let changes = is_taken(tensor, kind);
        let element_type = if changes { of } else { tensor.element_type() };
        writer.tensor(tensor.name(), tensor.dimensions(), element_type)?;
        match changes {
            true => result.quantized += 1,
            false if is_matrix(tensor) && tensor.element_type() != of => {
                result.kept.push(tensor.name().to_owned())
            }
            false => {}
        }
    }
    let mut failure = None;
    let written = writer.write(out, |tensor, out| {
        convert(input, tensor, quantizer, kind, out).map_err(|error| match error {
            QuantizeError::Io(error) => error,
            error => {
                failure = Some(error);
                io::Error::other("a tensor cannot be quantized")
            }
        })
    });
    match failure {
        Some(error) => Err(error),
        None => Ok(written.map(|()| result)?),
    }
}

fn is_matrix(tensor: &TensorInfo) -> bool {
    tensor.dimensions().len() > 1 && tensor.name().ends_with(".weight")
}

/// Whether a tensor is a matrix that takes the new format.
fn is_taken(tensor: &TensorInfo, kind: WeightType) -> bool {
    let floats = [
        TensorType::F32,
        TensorType::F16,
        TensorType::of(WeightType::BF16),
    ];
    is_matrix(tensor)
        && floats.contains(&tensor.element_type())
        && tensor.element_type() != TensorType::of(kind)
        && tensor.dimensions()[0] % kind.block_elements() as u64 == 0
        // Small, and a token's experts depend on it.
        && !tensor.name().contains("ffn_gate_inp")
}

/// The names of [`FORMATS`], for errors.
fn names() -> String {
    FORMATS.map(|kind| TensorType::of(kind).name()).join(", ")
}

/// What `general.file_type` calls a file whose matrices have this format.
fn file_type(kind: WeightType) -> Option<u32> {
    Some(match kind {
        WeightType::F16 => 1,
        WeightType::Q4_0 => 2,
        WeightType::Q4_1 => 3,
        WeightType::Q8_0 => 7,
        WeightType::Q5_0 => 8,
        WeightType::Q5_1 => 9,
        WeightType::Q2_K => 10,
        WeightType::Q3_K => 11,
        WeightType::Q4_K => 14,
        WeightType::Q5_K => 16,
        WeightType::Q6_K => 18,
        WeightType::IQ4_NL => 25,
        WeightType::IQ4_XS => 30,
        WeightType::BF16 => 32,
        WeightType::MXFP4 => 38,
        WeightType::F32 => return None,
    })
}

/// Elements that are converted at a time: whole blocks of every format.
const PART: usize = 1 << 14;

/// Writes the data of `tensor`, a tensor of the new file.
fn convert(
    input: &Gguf,
    tensor: &TensorInfo,
    quantizer: blocks::Quantizer,
    kind: WeightType,
    out: &mut dyn Write,
) -> Result<(), QuantizeError> {
    let source = input.tensor(tensor.name())?;
    let bytes = input.tensor_bytes(source)?;
    if source.element_type() == tensor.element_type() {
        return Ok(out.write_all(&bytes)?);
    }
    let size = source.element_type().block_bytes() as usize;
    let (mut values, mut part) = (Vec::with_capacity(PART), Vec::new());
    for (number, chunk) in bytes.chunks(PART * size).enumerate() {
        values.clear();
        part.clear();
        values.extend(chunk.chunks_exact(size).map(|bytes| match *bytes {
            [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
            [a, b] if source.element_type() == TensorType::F16 => {
                f16::from_le_bytes([a, b]).to_f32()
            }
            [a, b] => bf16::from_le_bytes([a, b]).to_f32(),
            _ => f32::NAN,
        }));
        if let Some(index) = values
            .iter()
            .position(|value| value.abs() > largest(kind) || value.is_nan())
        {
            return Err(QuantizeError::Value {
                tensor: tensor.name().to_owned(),
                index: (number * PART + index) as u64,
                value: values[index],
                kind: tensor.element_type(),
            });
        }
        quantizer(&values, &mut part);
        out.write_all(&part)?;
    }
    Ok(())
}

/// The largest weight of a format: its block's scale, or itself, is a finite half. A search finds a scale that differs from that of
/// the furthest weight, by less than the half of it.
fn largest(kind: WeightType) -> f32 {
    let half = f16::MAX.to_f32();
    match kind {
        WeightType::F16 | WeightType::Q4_1 | WeightType::Q5_1 => half,
        WeightType::Q8_0 => half * 127.0,
        WeightType::Q4_0 => half * 8.0,
        WeightType::Q5_0 => half * 16.0,
        // The offset is that of the least weight, in so many levels.
        WeightType::Q2_K => half * 15.0 / 2.0,
        WeightType::Q4_K | WeightType::Q5_K => half * 63.0 / 2.0,
        WeightType::Q3_K => half * 32.0 * 4.0 / 2.0,
        WeightType::Q6_K => half * 128.0 * 32.0 / 2.0,
        WeightType::IQ4_NL => half * 113.0 / 2.0,
        WeightType::IQ4_XS => half * 32.0 * 113.0 / 2.0,
        WeightType::BF16 => bf16::MAX.to_f32(),
        WeightType::F32 | WeightType::MXFP4 => f32::MAX,
    }
}
