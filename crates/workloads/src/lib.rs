//! What metal-bridge is measured and tried with, by its command line and its tests: [`synthetic`] models, and scenarios to
//! [`stress`] it with for as long as asked.

#![warn(missing_docs)]
#![warn(clippy::undocumented_unsafe_blocks)]

pub mod stress;
pub mod synthetic;
