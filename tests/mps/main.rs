//! Metal Performance Shaders: each kernel against float64, what each bad argument gives, and what calls leave behind.
#![cfg(metal_backend)]

mod errors;
mod graph;
mod leftovers;
mod matrix;
mod nd_array;
mod sizes;
mod support;
