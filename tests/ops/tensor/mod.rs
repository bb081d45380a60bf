//! Operations on tensors of every type, in every layout, against float64 or exact integers.

mod arrange;
mod at_once;
mod at_once_layers;
mod attention;
mod attention_model;
mod binary;
mod convert;
pub mod convolution;
mod convolution_model;
mod empty;
mod index;
#[cfg(software_metal)]
mod large;
mod layouts;
mod mask;
mod named;
mod norm;
mod norm_channels;
mod not_finite;
mod places;
mod pooling;
pub mod products;
mod random;
mod reduction;
mod resampling;
pub mod rows;
mod scan;
mod scatter;
mod softmax;
mod sort;
mod spread;
mod steps;
mod unary;
pub mod values;
