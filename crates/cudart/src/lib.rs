//! CUDA's runtime API on Metal: what `libmetal_cudart` exports, for C and C++ programs.
//!
//! The header is `include/cuda_runtime.h`, and `docs/cuda-runtime.md` says what each call does and where it differs
//! from CUDA. Rust can call the functions too. A function is `unsafe` if the header asks something of its caller: that
//! host memory and pointers to results are valid. The runtime checks everything else.
//!
//! A stream is a Metal queue; what orders streams are shared events that queues wait for, never the calling thread.

#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]
// The text above says what all functions ask of their callers.
#![allow(clippy::missing_safety_doc)]
#![warn(missing_docs)]
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]

mod api;
mod codes;
mod memory;
mod runtime;
mod types;

pub use api::*;
pub use codes::*;
pub use types::*;
