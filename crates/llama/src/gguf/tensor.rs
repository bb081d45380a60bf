//! Element types of GGUF tensors, and where a tensor lies in its file.

use std::fmt;

use metal_bridge::ops::WeightType;

/// Element type of a tensor, by its number in the file.
///
/// Quantized types store blocks of weights: a row of `n` weights takes `n / block_len() * block_bytes()` bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TensorType(u32);

/// One line of the table of types.
struct Layout {
    id: u32,
    name: &'static str,
    /// Weights in a block, and its bytes.
    block: (u64, u64),
    /// How the kernels read it; `None` if they do not.
    weights: Option<WeightType>,
}

const fn weights(id: u32, name: &'static str, of: WeightType) -> Layout {
    Layout {
        id,
        name,
        block: (of.block_elements() as u64, of.block_bytes() as u64),
        weights: Some(of),
    }
}

const fn other(id: u32, name: &'static str, elements: u64, bytes: u64) -> Layout {
    Layout {
        id,
        name,
        block: (elements, bytes),
        weights: None,
    }
}

const LAYOUTS: &[Layout] = &[
    weights(0, "F32", WeightType::F32),
    weights(1, "F16", WeightType::F16),
    weights(2, "Q4_0", WeightType::Q4_0),
    weights(3, "Q4_1", WeightType::Q4_1),
    weights(6, "Q5_0", WeightType::Q5_0),
    weights(7, "Q5_1", WeightType::Q5_1),
    weights(8, "Q8_0", WeightType::Q8_0),
    other(9, "Q8_1", 32, 36),
    weights(10, "Q2_K", WeightType::Q2_K),
    weights(11, "Q3_K", WeightType::Q3_K),
    weights(12, "Q4_K", WeightType::Q4_K),
    weights(13, "Q5_K", WeightType::Q5_K),
    weights(14, "Q6_K", WeightType::Q6_K),
    other(15, "Q8_K", 256, 292),
    other(16, "IQ2_XXS", 256, 66),
    other(17, "IQ2_XS", 256, 74),
    other(18, "IQ3_XXS", 256, 98),
    other(19, "IQ1_S", 256, 50),
    weights(20, "IQ4_NL", WeightType::IQ4_NL),
    other(21, "IQ3_S", 256, 110),
    other(22, "IQ2_S", 256, 82),
    weights(23, "IQ4_XS", WeightType::IQ4_XS),
    other(24, "I8", 1, 1),
    other(25, "I16", 1, 2),
    other(26, "I32", 1, 4),
    other(27, "I64", 1, 8),
    other(28, "F64", 1, 8),
    other(29, "IQ1_M", 256, 56),
    weights(30, "BF16", WeightType::BF16),
    other(34, "TQ1_0", 256, 54),
    other(35, "TQ2_0", 256, 66),
    weights(39, "MXFP4", WeightType::MXFP4),
];

impl TensorType {
    /// 32-bit floats.
    pub const F32: Self = Self(0);
    /// 16-bit IEEE floats.
    pub const F16: Self = Self(1);
    /// Blocks of 32 weights of 4 bits and one half-precision scale.
    pub const Q4_0: Self = Self(2);
    /// Blocks of 32 weights of 8 bits and one half-precision scale.
    pub const Q8_0: Self = Self(8);

    /// The type that has this number in a file; `None` if GGUF has no such type.
    pub fn from_id(id: u32) -> Option<Self> {
        LAYOUTS.iter().any(|l| l.id == id).then_some(Self(id))
    }

    /// The type of tensors that hold weights in this format.
    pub fn of(weights: WeightType) -> Self {
        let mut layouts = LAYOUTS.iter();
        // Each format has its line, which a test checks.
        layouts
            .find(|l| l.weights == Some(weights))
            .map_or(Self::F32, |l| Self(l.id))
    }

    /// The format of the tensor's elements for the kernels; `None` if they do not read this type.
    pub fn weight_type(self) -> Option<WeightType> {
        self.layout().weights
    }

    /// The type's number in a file.
    pub fn id(self) -> u32 {
        self.0
    }

    /// The name that GGUF gives it, such as `Q8_0`.
    pub fn name(self) -> &'static str {
        self.layout().name
    }

    /// Weights in a block; 1 for types that are not quantized.
    pub fn block_len(self) -> u64 {
        self.layout().block.0
    }

    /// Bytes in a block.
    pub fn block_bytes(self) -> u64 {
        self.layout().block.1
    }

    /// Bytes of a row of `columns` weights; `None` if that is not a whole number of blocks or overflows.
    pub fn row_bytes(self, columns: u64) -> Option<u64> {
        if columns % self.block_len() != 0 {
            return None;
        }
        (columns / self.block_len()).checked_mul(self.block_bytes())
    }

    fn layout(self) -> &'static Layout {
        // A value is only made from a number in the table.
        LAYOUTS
            .iter()
            .find(|l| l.id == self.0)
            .unwrap_or(&LAYOUTS[0])
    }
}

impl fmt::Display for TensorType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Name, shape, type and position of one tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorInfo {
    pub(super) name: Box<str>,
    pub(super) dimensions: [u64; MAX_DIMENSIONS],
    pub(super) dimension_count: u8,
    pub(super) element_type: TensorType,
    /// Which of the model's files has it.
    pub(super) file: usize,
    pub(super) offset: u64,
    pub(super) byte_len: u64,
    pub(super) made: Option<Box<Made>>,
}

/// How a tensor is made that no file holds as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// It has been computed.
    Bytes(Vec<u8>),
    /// It consists of parts of files.
    Joined(Joined),
}

/// Parts of files, one after the other, and what is done to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Joined {
    pub spans: Vec<Span>,
    /// The type of their elements.
    pub element_type: TensorType,
    /// Of so many heads, the rows that the rotary embedding turns together lie half a head apart: here they come to lie side
    /// by side.
    pub interleaved_heads: Option<usize>,
    /// Whether 1 is added to each element.
    pub plus_one: bool,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    /// Which of the model's files.
    pub file: usize,
    pub offset: u64,
    pub byte_len: u64,
}

/// Most dimensions that a tensor can have.
pub(super) const MAX_DIMENSIONS: usize = 4;

impl TensorInfo {
    /// The tensor's name, such as `blk.0.attn_q.weight`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Dimensions, the contiguous one first: a matrix of `r` rows and `c` columns has `[c, r]`.
    pub fn dimensions(&self) -> &[u64] {
        &self.dimensions[..usize::from(self.dimension_count)]
    }

    /// Type of the elements.
    pub fn element_type(&self) -> TensorType {
        self.element_type
    }

    /// First byte of the data, from the start of its file; 0 if the tensor is made when it is loaded.
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Which of the model's files has the tensor as it is.
    pub(crate) fn file(&self) -> Option<usize> {
        self.made.is_none().then_some(self.file)
    }

    /// Bytes of data, padding excluded.
    pub fn byte_len(&self) -> u64 {
        self.byte_len
    }

    /// The number of elements.
    pub fn element_count(&self) -> u64 {
        self.dimensions().iter().product()
    }
}
