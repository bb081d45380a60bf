//! The functions that C programs call, by subject, as in CUDA's documentation.

mod calls;
mod copies;
mod devices;
mod ends;
mod errors;
mod events;
mod fills;
mod host_functions;
mod kernels;
mod memory;
mod out;
mod pointers;
mod route;
mod settings;
mod streams;

pub use copies::*;
pub use devices::*;
pub use errors::*;
pub use events::*;
pub use fills::*;
pub use host_functions::*;
pub use kernels::*;
pub use memory::*;
pub use pointers::*;
pub use settings::*;
pub use streams::*;
