//! Operations on tensors of every type, in every layout, against float64 or exact integers.

mod arrange;
mod attention;
mod at_once;
mod binary;
mod convert;
mod convolution;
mod index;
mod layouts;
mod mask;
mod matmul;
mod matmul_int8;
mod norm;
mod pooling;
mod products;
mod random;
mod reduction;
mod reduction_axes;
mod rows;
mod scan;
mod scatter;
mod softmax;
mod sort;
mod spread;
mod unary;
mod values;
