//! Operations on tensors of every type, in every layout, against float64 or exact integers.

mod attention;
mod binary;
mod convert;
mod convolution;
mod layouts;
mod matmul;
mod products;
mod norm;
mod pooling;
mod reduction;
mod reduction_axes;
mod rows;
mod softmax;
mod unary;
mod values;
