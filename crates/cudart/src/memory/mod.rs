//! The memory that programs allocate and register, and what their pointers mean.

pub(crate) mod addresses;
pub(crate) mod allocation;
pub(crate) mod pages;
pub(crate) mod pointers;
pub(crate) mod ranges;
