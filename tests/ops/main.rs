//! The kernels behind `metal_bridge::ops`, each against float64.
#![cfg(metal_backend)]

#[cfg(software_metal)]
mod address_spaces;
mod addresses;
mod argmax;
mod attention;
mod backend;
mod batch;
mod choice;
mod chosen;
mod embed;
mod error_texts;
mod experts;
mod gate;
mod linear;
mod matmul_at_once;
mod metal_demo;
mod metrics;
mod norm;
mod not_finite;
mod operations;
mod product_rows;
mod rope;
mod rounded;
mod sequence;
mod steady;
mod support;
mod tensor;
#[cfg(software_metal)]
mod without_onednn;
