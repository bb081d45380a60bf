//! Metal's objects as handles with Metal's names, and the rules that keep safe code sound.
//!
//! Their public names stand at the crate's root.

pub(crate) mod access;
mod barriers;
pub(crate) mod blit;
pub(crate) mod buffer;
pub(crate) mod command;
pub(crate) mod completion;
pub(crate) mod compute;
mod cpu_access;
pub(crate) mod device;
pub(crate) mod device_position;
pub(crate) mod dispatches;
pub(crate) mod event;
pub(crate) mod function_constants;
pub(crate) mod functions;
pub(crate) mod guards;
pub(crate) mod handle;
pub(crate) mod hazards;
pub(crate) mod lent_owner;
pub(crate) mod library;
pub(crate) mod loan;
pub(crate) mod no_copy;
pub(crate) mod ordered;
pub(crate) mod pipeline;
pub(crate) mod process;
pub(crate) mod queue;
mod queue_id;
pub(crate) mod recording;
pub(crate) mod slots;
pub(crate) mod statistics;
pub(crate) mod submission;
pub(crate) mod wait;
