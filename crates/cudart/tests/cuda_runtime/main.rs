//! CUDA's runtime API as a program sees it: codes, ranges, the order of streams, events and host functions, kernels.
//!
//! The runtime's state is the process's. What resets a device, makes its work fail or injects failures runs in a process
//! of its own.
#![cfg(software_metal)]

mod copies;
mod devices;
mod events;
mod failures;
mod header;
mod host_functions;
mod kernel_declarations;
mod kernels;
mod memory;
mod overlaps;
mod pointers;
mod program;
mod random_programs;
mod several_devices;
mod streams;
mod stress;
mod support;
mod unified_addresses;
