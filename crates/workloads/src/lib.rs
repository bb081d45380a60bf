//! What the command line and the tests measure and try metal-bridge with: weights in all [`formats`], [`synthetic`] models,
//! [`wide`] ones of other architectures, and scenarios to [`stress`] it with for as long as asked.

#![warn(missing_docs)]
#![warn(clippy::undocumented_unsafe_blocks)]

pub mod formats;
pub mod stress;
pub mod synthetic;
pub mod wide;
