//! What the tests of metal-bridge share: scenarios in child processes, a small executor, counts of Objective-C objects,
//! and Metal called without an autorelease pool.

mod child;
#[cfg(metal_backend)]
mod clang;
mod descriptors;
#[cfg(metal_backend)]
mod devices;
mod errors;
mod executor;
#[cfg(software_metal)]
pub mod failures;
mod fork;
mod leak;
#[cfg(metal_backend)]
mod objects;
mod printed;
mod waits;

pub use child::{Case, ChildOutput, in_child, in_child_with, main};
#[cfg(metal_backend)]
pub use clang::{objective_c_arguments, run_clang};
pub use descriptors::without_descriptors;
#[cfg(metal_backend)]
pub use devices::{MODES, complete_nothing, device, other_device, queue};
pub use errors::assert_error;
pub use executor::block_on;
pub use fork::in_fork;
pub use leak::leak;
#[cfg(metal_backend)]
pub use objects::{
    SLACK, count_objects, live_objects, metal_without_pool, print_live_objects, resting_objects,
    settled_handles, settled_objects,
};
pub use printed::Printed;
pub use waits::{LONG, SHORT, in_time, wait_for};

// Links the library whose classes the Objective-C beside this file calls.
use metal_bridge as _;

/// What the system's Objective-C runtime says of an object that is autoreleased without a pool.
pub const MISSING_POOL_REPORTS: [&str; 2] = [
    // GNUstep.
    "autorelease called without pool",
    // Apple's, with OBJC_DEBUG_MISSING_POOLS=YES.
    "autoreleased with no pool in place",
];
