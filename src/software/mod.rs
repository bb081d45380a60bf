//! What the software Metal offers beyond Metal's interface, in builds that are linked with it: checks of sources.
//! What its sanitizer finds is in [`sanitizer`](crate::sanitizer), which every build has.

mod source_check;

pub use source_check::{
    Access, Argument, ArgumentKind, CheckOptions, Diagnostic, FunctionConstant, Kernel, Member,
    Severity, SourceCheck, check_source,
};
