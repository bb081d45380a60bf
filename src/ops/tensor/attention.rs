//! Attention of tensors.

use bytemuck::{Pod, Zeroable};

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::metal::device::Size;
use crate::ops::launch::{Cost, Grid, Launch};
use crate::ops::pipelines::{Constant, KernelName, SIMD_WIDTH};
use crate::ops::shader::Shader;
use crate::ops::tensor::data_type::DataType;
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{
    KernelNames, kernel_names, read_operand, require_float, require_type, write_operand,
};
use crate::ops::{LaneExecution, Ops};

const ROWS: KernelNames = kernel_names!("attention_rows");
const ROW: KernelNames = kernel_names!("attention_row");

/// The most elements of a head.
const MAX_SIZE: usize = 256;

/// Which keys a row of queries sees by its position, among those of its sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Causality {
    /// All.
    #[default]
    None,
    /// Row number `i` sees the keys up to number `i`.
    FromFirst,
    /// The last row sees all keys, and the row before it one less: rows are the newest positions. A row that would see less
    /// than none sees none.
    FromLast,
}

/// How many keys there are, in tensors of `u32` or `i32`. What is beyond the keys of `k` counts as its end, and what is
/// negative as 0.
#[derive(Debug, Clone, Copy, Default)]
pub enum KeyLengths<'a> {
    /// All keys of `k`.
    #[default]
    Whole,
    /// So many of the first keys of each batch: `[batch]`. Others are not read.
    Each(Tensor<'a>),
    /// Sequences that follow one another, in `q` and in `k`: `[sequences + 1]`, where sequence `i` has the rows and keys from
    /// element `i` to before element `i + 1`. The elements must not decrease. A row outside of all sequences sees no key, and
    /// a row sees no key of another sequence.
    Offsets(Tensor<'a>),
}

/// What attention has besides queries, keys and values: by default all rows see all keys.
#[derive(Debug, Clone, Copy, Default)]
pub struct Attention<'a> {
    /// Broadcasts to `[batch, heads, rows, keys]`. Elements of type `u8` are 0 where a row does not see a key. Elements of type
    /// `f32`, or of the type of `q`, are added to the scores.
    pub mask: Option<Tensor<'a>>,
    /// Which keys a row sees by its position.
    pub causality: Causality,
    /// What scores are multiplied by, instead of `1 / sqrt(head size)`.
    pub scale: Option<f32>,
    /// How many keys there are.
    pub lengths: KeyLengths<'a>,
}

/// `AttentionArguments` of `shaders/tensor/scaled_dot_product.metal`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    rows: u32,
    keys: u32,
    heads: u32,
    group: u32,
    head_size: u32,
    value_size: u32,
    causality: u32,
    lengths_form: u32,
    lengths: u32,
    are_signed: u32,
    scale: f32,
    unused: u32,
    q_strides: [u64; 4],
    k_strides: [u64; 4],
    v_strides: [u64; 4],
    y_strides: [u64; 4],
    mask_strides: [u64; 4],
    lengths_stride: u64,
}

/// The sizes that the tensors have together.
struct Sizes {
    batch: usize,
    heads: usize,
    kv_heads: usize,
    rows: usize,
    keys: usize,
    head_size: usize,
    value_size: usize,
}

impl Ops {
    /// `y[b, h, i] = softmax(scale q[b, h, i] . k[b, h', j] + mask) . v[b, h', j]` over the keys `j` that row `i` sees: `q` is
    /// `[batch, heads, rows, size]`, `k` `[batch, kv heads, keys, size]`, `v` `[batch, kv heads, keys, value size]`, `y` `[batch,
    /// heads, rows, value size]`; both sizes are at most 256. The heads of `q` share those of `k` and `v` in groups of
    /// neighbours (Ainslie et al. 2023, arXiv:2305.13245). All have one type, which is a float; all is computed as `f32` and
    /// rounded once. No row of scores is stored (Milakov and Gimelshein 2018, arXiv:1805.02867). A row that sees no key is 0; a
    /// row with NaN or positive infinity among its scores is NaN. Keys that a mask or the order hides may be multiplied by 0, so
    /// their values have to be finite; those beyond the lengths are not read, and those of other sequences may hold anything.
    /// With `u = 2^-24`, `d` elements of a head and `n` keys, `e = 2 (d + 2) u scale max(|q| . |k|) + (n + 40) u` and all weights `p`, an element is wrong by at most
    /// `e sum(p |v|)`, to the first order. Kernels `attention_rows` and, on GPUs, `attention_row` of that type. [`Ops::attention`] is
    /// the engine's, over a [`KvCache`](crate::ops::KvCache).
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for integers; [`Error::InvalidArgument`] if types or shapes do not fit, for a head of no elements or
    /// more than 256, for a scale that is not finite, for offsets with several batches or with other numbers of rows and keys, if `y`
    /// overlaps another tensor, or if positions of `y` share an element; [`Error::OutOfRange`] if elements are not inside their
    /// buffer, or for sizes that 31 bits do not count; [`Error::Misaligned`] if they do not begin at a multiple of their size.
    pub fn scaled_dot_product_attention<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        q: impl Into<Tensor<'a>>,
        k: impl Into<Tensor<'a>>,
        v: impl Into<Tensor<'a>>,
        attention: &Attention<'a>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::scaled_dot_product_attention";
        let (q, k, v, y) = (q.into(), k.into(), v.into(), y.into());
        require_float(FUNCTION, "q", &q)?;
        for (name, tensor) in [("k", &k), ("v", &v), ("y", &y)] {
            require_type(FUNCTION, name, tensor, q.data_type())?;
        }
        y.require_own_elements(FUNCTION, "y")?;
        let sizes = Sizes::of(FUNCTION, [&q, &k, &v, &y])?;
        let scale = attention
            .scale
            .unwrap_or(1.0 / (sizes.head_size as f32).sqrt());
        if !scale.is_finite() {
            let message = format!("the scale is {scale}: it must be finite");
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        let (mask, mask_form) = mask_of(FUNCTION, attention.mask, q.data_type(), &sizes)?;
        let (lengths, lengths_form) = lengths_of(FUNCTION, attention.lengths, &sizes)?;
        let read = |name, tensor: &Tensor<'a>| read_operand(FUNCTION, name, tensor);
        let queries = read("q", &q)?;
        let operands = [
            queries,
            read("k", &k)?,
            read("v", &v)?,
            write_operand(FUNCTION, "y", &y)?,
            // What there is not is bound to q, and not read.
            mask.as_ref()
                .map_or(Ok(queries.moving(0)), |mask| read("mask", mask))?,
            lengths
                .as_ref()
                .map_or(Ok(queries.moving(0)), |lengths| read("lengths", lengths))?,
        ];
        if y.count() == 0 {
            return operands
                .iter()
                .try_for_each(|operand| operand.check(FUNCTION));
        }
        let (kernels, threads) = match self.lanes {
            LaneExecution::InTurn => (&ROWS, 1),
            LaneExecution::Lockstep => (&ROW, SIMD_WIDTH),
        };
        let tile_rows = match self.lanes {
            LaneExecution::InTurn => 32,
            LaneExecution::Lockstep => 1,
        };
        let kernel = KernelName::new(Shader::ScaledDotProduct, kernels[q.data_type() as usize])
            .with(Constant::Uint(1, mask_form));
        let strides = |tensor: &Tensor<'_>| {
            let strides = tensor.strides();
            [0, 1, 2, 3].map(|axis| strides[axis] as u64)
        };
        let launch = Launch {
            function: FUNCTION,
            pipeline: &self.pipelines.pipeline(kernel)?,
            arguments: Arguments {
                rows: sizes.rows as u32,
                keys: sizes.keys as u32,
                heads: sizes.heads as u32,
                group: (sizes.heads / sizes.kv_heads) as u32,
                head_size: sizes.head_size as u32,
                value_size: sizes.value_size as u32,
                causality: attention.causality as u32,
                lengths_form,
                lengths: lengths.map_or(0, |lengths| lengths.count() as u32),
                are_signed: lengths
                    .is_some_and(|lengths| lengths.data_type() == DataType::I32)
                    .into(),
                scale,
                unused: 0,
                q_strides: strides(&q),
                k_strides: strides(&k),
                v_strides: strides(&v),
                y_strides: strides(&y),
                mask_strides: mask.as_ref().map_or([0; 4], strides),
                lengths_stride: lengths.map_or(0, |lengths| lengths.strides()[0] as u64),
            },
            operands: &operands,
            cost: Cost::new(
                q.data_type().name(),
                [
                    2,
                    sizes.batch,
                    sizes.heads,
                    sizes.rows,
                    sizes.keys,
                    sizes.head_size + sizes.value_size,
                ],
            ),
            threadgroup_memory: 0,
            grid: Grid::of_groups(
                Size::new(sizes.rows.div_ceil(tile_rows), sizes.heads, sizes.batch),
                threads,
            ),
        };
        // SAFETY: the kernels take rows and heads inside of q and y, heads of k and v that are shared by these, and keys below
        // `keys`, whatever the lengths hold; what there is not is not read.
        unsafe { launch.encode(encoder) }
    }
}

impl Sizes {
    fn of(function: &'static str, [q, k, v, y]: [&Tensor<'_>; 4]) -> Result<Sizes> {
        let refused = |message| Err(Error::InvalidArgument(Failure::new(function, message)));
        let shapes = [q, k, v, y].map(|tensor| <[usize; 4]>::try_from(tensor.shape()));
        let [Ok(q), Ok(k), Ok(v), Ok(y)] = shapes else {
            return refused(format!(
                "q, k, v and y have the shapes {:?}, {:?}, {:?} and {:?}: each must have 4 dimensions",
                q.shape(),
                k.shape(),
                v.shape(),
                y.shape()
            ));
        };
        let sizes = Sizes {
            batch: q[0],
            heads: q[1],
            kv_heads: k[1],
            rows: q[2],
            keys: k[2],
            head_size: q[3],
            value_size: v[3],
        };
        let fits = k == [q[0], k[1], k[2], q[3]]
            && v == [q[0], k[1], k[2], v[3]]
            && y == [q[0], q[1], q[2], v[3]]
            && (sizes.heads == 0 || (sizes.kv_heads > 0 && sizes.heads % sizes.kv_heads == 0));
        if !fits {
            return refused(format!(
                "q, k, v and y of the shapes {q:?}, {k:?}, {v:?} and {y:?} do not fit together"
            ));
        }
        if ![sizes.head_size, sizes.value_size]
            .iter()
            .all(|size| (1..=MAX_SIZE).contains(size))
        {
            return refused(format!(
                "heads have {} elements, and {} of values: there must be from 1 to {MAX_SIZE}",
                sizes.head_size, sizes.value_size
            ));
        }
        if let Some(size) = [q, k]
            .as_flattened()
            .iter()
            .find(|size| **size > i32::MAX as usize)
        {
            let message =
                format!("there are {size} elements along a dimension, more than 31 bits count");
            return Err(Error::OutOfRange(Failure::new(function, message)));
        }
        Ok(sizes)
    }
}

/// The mask in its whole shape, and the number of its form in the shader.
fn mask_of<'a>(
    function: &'static str,
    mask: Option<Tensor<'a>>,
    data_type: DataType,
    sizes: &Sizes,
) -> Result<(Option<Tensor<'a>>, u32)> {
    let Some(mask) = mask else {
        return Ok((None, 0));
    };
    let code = match mask.data_type() {
        DataType::U8 => 1,
        DataType::F32 => 2,
        _ => {
            require_type(function, "mask", &mask, data_type)?;
            3
        }
    };
    let shape = [sizes.batch, sizes.heads, sizes.rows, sizes.keys];
    Ok((Some(mask.broadcast(function, "mask", &shape)?), code))
}

/// The lengths or offsets, and the number of their form in the shader.
fn lengths_of<'a>(
    function: &'static str,
    lengths: KeyLengths<'a>,
    sizes: &Sizes,
) -> Result<(Option<Tensor<'a>>, u32)> {
    let refused = |message| Err(Error::InvalidArgument(Failure::new(function, message)));
    let (tensor, form) = match lengths {
        KeyLengths::Whole => return Ok((None, 0)),
        KeyLengths::Each(tensor) if tensor.shape() != [sizes.batch] => {
            return refused(format!(
                "lengths has the shape {:?}, but needs [{}], an element for each batch",
                tensor.shape(),
                sizes.batch
            ));
        }
        KeyLengths::Each(tensor) => (tensor, 1),
        KeyLengths::Offsets(tensor) => {
            if sizes.batch != 1 || sizes.rows != sizes.keys || tensor.rank() != 1 {
                return refused(format!(
                    "lengths are offsets of shape {:?} for {} batches of {} rows and {} keys: they need one dimension, one \
                     batch and as many rows as keys",
                    tensor.shape(),
                    sizes.batch,
                    sizes.rows,
                    sizes.keys
                ));
            }
            (tensor, 2)
        }
    };
    if tensor.count() > i32::MAX as usize {
        let message = format!(
            "lengths has {} elements, more than 31 bits count",
            tensor.count()
        );
        return Err(Error::OutOfRange(Failure::new(function, message)));
    }
    if tensor.data_type() != DataType::I32 {
        require_type(function, "lengths", &tensor, DataType::U32)?;
    }
    Ok((Some(tensor), form))
}
