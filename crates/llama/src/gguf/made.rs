//! Tensors of models in other forms than a GGUF file.

use half::{bf16, f16};

use super::reader::byte_len;
use super::tensor::{Joined, MAX_DIMENSIONS, Made, TensorInfo, TensorType};

/// A tensor that lies in a file as it is. The error says what is wrong with the shape.
pub(crate) fn in_file(
    name: &str,
    dimensions: &[u64],
    element_type: TensorType,
    (file, offset): (usize, u64),
) -> Result<TensorInfo, String> {
    if dimensions.len() > MAX_DIMENSIONS {
        let count = dimensions.len();
        return Err(format!(
            "it has {count} dimensions, more than {MAX_DIMENSIONS}"
        ));
    }
    let mut all = [1; MAX_DIMENSIONS];
    all[..dimensions.len()].copy_from_slice(dimensions);
    Ok(TensorInfo {
        name: name.into(),
        dimensions: all,
        dimension_count: dimensions.len() as u8,
        element_type,
        file,
        offset,
        byte_len: byte_len(dimensions, element_type)?,
        made: None,
    })
}

/// A tensor that is made when somebody asks for its bytes.
pub(crate) fn made(
    name: &str,
    dimensions: &[u64],
    element_type: TensorType,
    made: Made,
) -> Result<TensorInfo, String> {
    let tensor = in_file(name, dimensions, element_type, (0, 0))?;
    Ok(TensorInfo {
        made: Some(Box::new(made)),
        ..tensor
    })
}

/// Whether a tensor has the bytes of its parts as they are: experts take too much memory for a second copy.
pub(super) fn is_concatenation(tensor: &TensorInfo, joined: &Joined) -> bool {
    let keeps_elements = joined.element_type == tensor.element_type && !joined.plus_one;
    keeps_elements && joined.interleaved_heads.is_none()
}

/// Appends the bytes of `tensor`, which `joined` makes of `parts`.
pub(super) fn make(tensor: &TensorInfo, joined: &Joined, parts: &[u8], bytes: &mut Vec<u8>) {
    let size = joined.element_type.block_bytes() as usize;
    let rows = match tensor.dimensions() {
        [_, rows, ..] => *rows as usize,
        [rows] => *rows as usize,
        [] => 1,
    };
    let row_bytes = parts.len() / rows.max(1);
    let mut append = |part: &[u8]| {
        if joined.element_type == tensor.element_type && !joined.plus_one {
            return bytes.extend_from_slice(part);
        }
        for element in part.chunks_exact(size) {
            let value = match *element {
                [a, b, c, d] => f32::from_le_bytes([a, b, c, d]),
                [a, b] if joined.element_type == TensorType::F16 => {
                    f16::from_le_bytes([a, b]).to_f32()
                }
                [a, b] => bf16::from_le_bytes([a, b]).to_f32(),
                _ => f32::NAN,
            };
            let value = if joined.plus_one { value + 1.0 } else { value };
            bytes.extend_from_slice(&value.to_le_bytes());
        }
    };
    let Some(heads) = joined.interleaved_heads else {
        return append(parts);
    };
    let head = rows / heads;
    for row in 0..rows {
        let (start, within) = (row / head * head, row % head);
        let source = start + within % 2 * (head / 2) + within / 2;
        append(&parts[source * row_bytes..(source + 1) * row_bytes]);
    }
}
