//! Tensors of every type and any strides: the operations that go element by element, and those along axes.

mod attention;
mod binary;
mod convert;
mod convolution;
mod data_type;
mod layout;
mod matmul;
mod matmul_options;
mod norm;
mod normalized;
mod pooling;
mod reduction;
mod rows;
mod softmax;
mod unary;
mod view;
mod walk;
mod window;

pub use attention::{Attention, Causality, KeyLengths};
pub use binary::{Binary, Comparison, Right};
pub use convolution::Convolution;
pub use data_type::{DataType, Element};
pub use layout::MAX_RANK;
pub use matmul_options::Matmul;
pub use norm::{Norm, RunningStatistics};
pub use pooling::{Interpolation, Pooling, Windows};
pub use reduction::{ArgReduction, Reduction};
pub use unary::Unary;
pub use view::Tensor;
