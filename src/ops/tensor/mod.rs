//! Tensors of every type and any strides, and the operations that go element by element.

mod binary;
mod convert;
mod data_type;
mod layout;
mod unary;
mod view;
mod walk;

pub use binary::{Binary, Comparison, Right};
pub use data_type::{DataType, Element};
pub use layout::MAX_RANK;
pub use unary::Unary;
pub use view::Tensor;
