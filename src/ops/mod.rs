//! The kernels under `shaders/` as safe calls that encode into a [`ComputeEncoder`](crate::ComputeEncoder).
//!
//! | operation | call | kernel |
//! |---|---|---|
//! | product with weights of any [`WeightType`] | [`Ops::linear`], [`Ops::linear_add`], [`Ops::linear_with`]; on tensors [`Ops::matmul_weights`], [`Ops::matmul_weights_add`] | `matvec.metal`, `matvec_blocks.metal`, `matmul.metal` |
//! | product of 8-bit activations with weights in blocks | [`Ops::round_activations`], [`Ops::linear_rounded`], [`Ops::linear_chosen_rounded`] | `round_activations.metal`, `matvec_rounded.metal`, `matvec_rounded_blocks.metal` |
//! | embedding rows | [`Ops::embed`], [`Ops::embed_scaled`] | `embed.metal` |
//! | RMS norm, also with a residual added first, or added to a residual | [`Ops::rms_norm`], [`Ops::add_rms_norm`], [`Ops::rms_norm_add`] | `norm.metal` |
//! | rotary embedding | [`Ops::rope`], [`rope_frequencies`] | `rope.metal` |
//! | attention over a KV cache | [`Ops::kv_append`], [`Ops::attention`], [`Ops::attention_with_sinks`] | `kv_cache.metal`, `attention_in_turn.metal`, `attention_vector.metal`, `attention_tile.metal` |
//! | mixtures of experts: the choice, the products, the sum | [`Ops::choose_experts`], [`Ops::linear_chosen`], [`Ops::mix_experts`] | `experts.metal`, `matvec.metal`, `matvec_blocks.metal` |
//! | gates of SiLU and GELU; soft caps | [`Ops::gate`], [`Ops::silu_multiply`], [`Ops::soft_cap`] | `gate.metal` |
//! | functions of one tensor, of two, comparisons, for all types and strides | [`Ops::unary`], [`Ops::binary`], [`Ops::compare`] | `tensor/unary.metal`, `tensor/binary.metal` |
//! | other types and layouts, the choice between two tensors | [`Ops::convert`], [`Ops::select`] | `tensor/convert.metal`, `tensor/select.metal` |
//! | tensors one behind the other, padded, repeated, filled; views: [`Tensor::narrow`], [`Tensor::step`], [`Tensor::permute`], [`Tensor::broadcast_to`] | [`Ops::concat`], [`Ops::pad`], [`Ops::tile`], [`Ops::repeat`], [`Ops::fill`] | `tensor/select.metal` |
//! | elements by index | [`Ops::gather`], [`Ops::index_select`], [`Ops::embedding`], [`Ops::scatter`], [`Ops::scatter_add`] | `tensor/index.metal` |
//! | triangles of matrices, rows with a one at an index | [`Ops::triu`], [`Ops::tril`], [`Ops::one_hot`] | `tensor/mask.metal` |
//! | sums and products up to each element | [`Ops::cumsum`], [`Ops::cumprod`] | `tensor/scan.metal` |
//! | sorted rows, their indices, the first few of them | [`Ops::sort`], [`Ops::argsort`], [`Ops::top_k`] | `tensor/sort.metal` |
//! | random bits, uniform and normal numbers | [`Ops::random_bits`], [`Ops::uniform`], [`Ops::normal`] | `tensor/random.metal` |
//! | sums, products, extremes, means, variances along axes, and where extremes are | [`Ops::reduce`], [`Ops::arg_reduce`] | `tensor/reduction.metal` |
//! | softmax and its logarithm | [`Ops::softmax`], [`Ops::log_softmax`] | `tensor/softmax.metal` |
//! | layer norm, RMS norm, group norm, batch norm | [`Ops::layer_norm`], [`Ops::rms_norm_along`], [`Ops::group_norm`], [`Ops::batch_norm`], [`Ops::batch_norm_training`] | `tensor/normalization.metal` |
//! | convolutions, also transposed, of sequences and images | [`Ops::convolution`], [`Ops::transposed_convolution`] | `tensor/convolution.metal` |
//! | poolings, images in other sizes | [`Ops::pool`], [`Ops::adaptive_pool`], [`Ops::resample`] | `tensor/pooling.metal`, `tensor/resampling.metal` |
//! | attention of tensors | [`Ops::scaled_dot_product_attention`] | `tensor/scaled_dot_product.metal` |
//! | product of matrices, in batches, with a sum, scales and an activation | [`Ops::matmul`], [`Matmul`] | `tensor/gemm.metal`, `tensor/gemv.metal` |
//! | largest element | [`Ops::argmax`] | `argmax.metal` |
//!
//! Operations on a [`Tensor`] take every type, shape and stride that it may have. The engine's own operations take plain views:
//! activations are 32-bit floats, row-major. They take any [`LaunchTarget`]: a [`DispatchSequence`] records them once for many executions. Every call checks shapes, alignment, buffer ranges and overlaps before it
//! encodes anything. A call that fails dispatches nothing, but what it has bound by then stays bound. Calls are
//! encoded, not run: results are there when the command buffer has completed. A serial encoder runs calls in order; in
//! a concurrent one, the caller places barriers between dependent calls, as with any dispatch.

mod activations;
mod argmax;
mod attention;
mod embed;
mod experts;
mod gate;
mod kv_cache;
mod lane_execution;
mod launch;
mod linear;
mod norm;
mod operand;
#[expect(clippy::module_inception)] // It holds `Ops`.
mod ops;
mod peak;
mod pipelines;
mod product;
mod product_kernels;
mod rope;
mod rounded;
mod sequence;
mod shader;
mod target;
mod tensor;
mod view;
mod weight;

pub(crate) use launch::bytes4;

pub use activations::Activations;
pub use attention::AttentionShape;
pub use experts::ExpertShape;
pub use gate::Gate;
pub use kv_cache::{KV_PAGE_POSITIONS, KvCache, KvElement, KvShape, MAX_HEAD_SIZE};
pub use lane_execution::LaneExecution;
pub use ops::Ops;
pub use product::Epilogue;
pub use product_kernels::ProductKernels;
pub use rope::{RopePairing, RopeShape, rope_frequencies};
pub use sequence::{DispatchSequence, SequenceRecorder};
pub use shader::shader_sources;
pub use target::LaunchTarget;
pub use tensor::*;
pub use view::View;
pub use weight::{Weight, WeightType};
