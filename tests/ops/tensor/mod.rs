//! Operations on tensors of every type, in every layout, against float64 or exact integers.

mod binary;
mod convert;
mod layouts;
mod unary;
mod values;
