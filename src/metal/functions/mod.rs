//! Functions that are not in a kernel's own source: those that its pipeline links, and those of dynamic libraries.

pub(crate) mod descriptor;
pub(crate) mod dynamic_library;
pub(crate) mod table;
