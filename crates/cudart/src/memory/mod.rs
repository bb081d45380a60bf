//! The memory that programs allocate and register, and what their pointers mean.

pub(crate) mod access;
pub(crate) mod addresses;
pub(crate) mod allocation;
pub(crate) mod extent;
pub(crate) mod mappings;
pub(crate) mod pages;
pub(crate) mod permission;
pub(crate) mod pointers;
pub(crate) mod ranges;
pub(crate) mod system;
