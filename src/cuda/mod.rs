//! CUDA's runtime API on Metal: what `libmetal_cudart` exports, for C and C++ programs.
//!
//! The header is `native/include/cuda/cuda_runtime.h`, and `docs/cuda-runtime.md` says what each call does and where it
//! differs from CUDA. The functions are here for Rust too, as they are: `unsafe` where the header asks something of the
//! caller, which is that host memory and places for results are valid. All else is checked.
//!
//! A stream is a Metal queue; what orders streams are shared events that queues wait for, never the calling thread.

#![allow(non_camel_case_types, non_snake_case, non_upper_case_globals)]
// What is asked of the callers of all of them stands above.
#![allow(clippy::missing_safety_doc)]

mod addresses;
mod allocation;
mod awaited;
mod calls;
mod codes;
mod commands;
mod copy_calls;
mod device_calls;
mod devices;
mod error_calls;
mod event_calls;
mod failure;
mod fill_calls;
mod handles;
mod host_calls;
mod kernel_calls;
mod memory_calls;
mod modules;
mod out;
mod pages;
mod parameters;
mod pointers;
mod properties;
mod ranges;
mod registry;
mod route;
mod setting_calls;
mod stream;
mod stream_calls;
mod transfer;
mod types;

pub use codes::*;
pub use copy_calls::{
    cudaMemcpy, cudaMemcpy_ptds, cudaMemcpy2D, cudaMemcpy2D_ptds, cudaMemcpy2DAsync,
    cudaMemcpy2DAsync_ptsz, cudaMemcpyAsync, cudaMemcpyAsync_ptsz, cudaMemcpyPeer,
    cudaMemcpyPeer_ptds, cudaMemcpyPeerAsync, cudaMemcpyPeerAsync_ptsz,
};
pub use device_calls::*;
pub use error_calls::*;
pub use event_calls::*;
pub use fill_calls::*;
pub use host_calls::*;
pub use kernel_calls::*;
pub use memory_calls::*;
pub use pointers::{cudaMetalGetGpuAddress, cudaPointerGetAttributes};
pub use setting_calls::*;
pub use stream_calls::*;
pub use types::*;
