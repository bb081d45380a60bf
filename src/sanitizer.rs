//! What the software Metal's sanitizer finds in kernels: accesses out of bounds, data races, reads of what nothing has written.
//!
//! It is switched on by the environment variable `SOFTWARE_METAL_SANITIZE` (`bounds`, `race`, `uninit`, several of them with
//! commas, or `all`), which is read once, at the first use of Metal. `docs/sanitizer.md` in the repository says what it finds.
//! On Apple's Metal and in builds without a Metal no check is on, and nothing is reported.
//!
//! ```
//! use metal_bridge::sanitizer;
//!
//! // ... launch kernels and wait for them ...
//! for report in sanitizer::reports() {
//!     eprintln!("{}:{}: {}", report.access.file, report.access.line, report.summary);
//! }
//! sanitizer::clear_reports();
//! # assert_eq!(sanitizer::report_count(), 0);
//! ```

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::sys::{self, text};

/// Which checks are on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Checks {
    /// Accesses outside of the object that the address was made from.
    pub bounds: bool,
    /// Accesses to the same bytes by threads in no order, one of them writing.
    pub race: bool,
    /// Reads of what nothing has written.
    pub uninitialized: bool,
}

impl Checks {
    /// Whether any check is on.
    pub fn any(self) -> bool {
        self != Checks::default()
    }
}

/// What a report is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ReportKind {
    /// An access outside of the object that the address was made from.
    Bounds,
    /// Two accesses to the same bytes by threads in no order, one of them writing.
    Race,
    /// A read of what nothing has written.
    Uninitialized,
    /// Not all threads of a threadgroup come to the same barrier.
    Barrier,
    /// A thread waits in a loop for what cannot happen.
    Deadlock,
}

impl ReportKind {
    fn from_sys(kind: sys::mtb_report_kind) -> ReportKind {
        match kind {
            sys::MTB_REPORT_RACE => ReportKind::Race,
            sys::MTB_REPORT_UNINITIALIZED => ReportKind::Uninitialized,
            sys::MTB_REPORT_BARRIER => ReportKind::Barrier,
            sys::MTB_REPORT_DEADLOCK => ReportKind::Deadlock,
            _ => ReportKind::Bounds,
        }
    }

    /// What reports call it.
    pub fn name(self) -> &'static str {
        match self {
            ReportKind::Bounds => "out of bounds",
            ReportKind::Race => "data race",
            ReportKind::Uninitialized => "uninitialized memory",
            ReportKind::Barrier => "divergent barrier",
            ReportKind::Deadlock => "deadlock",
        }
    }
}

/// A position in a grid or threadgroup, by dimension.
pub type Position = [usize; 3];

/// One thread's access to memory, or its way into a barrier.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The kernel's name.
    pub kernel: String,
    /// The function that contains the line; empty if it is not known.
    pub function: String,
    /// As the source or its `#line` names it, `program_source` by default; empty if it is not known.
    pub file: String,
    /// From 1; 0 if it is not known.
    pub line: u32,
    /// Whether it writes.
    pub is_write: bool,
    /// Whether it is atomic.
    pub is_atomic: bool,
    /// Whether all lanes of the SIMD-group together load or store a matrix; the positions are those of its first thread.
    pub is_whole_simdgroup: bool,
    /// In bytes.
    pub size: u64,
    /// `thread_position_in_grid`
    pub thread_position_in_grid: Position,
    /// `threadgroup_position_in_grid`
    pub threadgroup_position_in_grid: Position,
    /// `thread_position_in_threadgroup`
    pub thread_position_in_threadgroup: Position,
}

/// Something that the sanitizer has found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// What it is about.
    pub kind: ReportKind,
    /// What was done to what, in one line.
    pub summary: String,
    /// All of it, for people, in several lines; also what [`Display`](fmt::Display) shows.
    pub text: String,
    /// Who did it, and where.
    pub access: Access,
    /// The earlier access that this one is in conflict with.
    pub earlier: Option<Access>,
    /// The buffer's label, or the name of the kernel's argument or variable; empty for no object.
    pub object: String,
    /// The binding index of the object in this dispatch.
    pub argument_index: Option<u32>,
    /// From the object's start to the access, in bytes.
    pub offset: i64,
    /// Bytes of the object.
    pub length: u64,
    /// How often it was found on these lines.
    pub occurrences: u64,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// The checks that are on in this process.
pub fn checks() -> Checks {
    if !cfg!(metal_backend) {
        return Checks::default();
    }
    // SAFETY: takes nothing and may be called from any thread.
    let bits = unsafe { sys::mtb_sanitizer_checks() };
    let is_on = |check: sys::mtb_sanitizer_check| bits & check != 0;
    Checks {
        bounds: is_on(sys::MTB_SANITIZE_BOUNDS),
        race: is_on(sys::MTB_SANITIZE_RACE),
        uninitialized: is_on(sys::MTB_SANITIZE_UNINITIALIZED),
    }
}

/// How many reports there are: one for each kind and pair of lines, since the process began or they were cleared. What a
/// command buffer gives rise to is there once it has completed.
pub fn report_count() -> usize {
    if !cfg!(metal_backend) {
        return 0;
    }
    // SAFETY: takes nothing and may be called from any thread.
    unsafe { sys::mtb_report_count() }
}

/// Copies of the reports, the oldest first.
pub fn reports() -> Vec<Report> {
    (0..report_count()).map_while(copy_report).collect()
}

/// Forgets all reports: what has been found is reported again when it is found again.
pub fn clear_reports() {
    if cfg!(metal_backend) {
        // SAFETY: takes nothing and may be called from any thread.
        unsafe { sys::mtb_reports_clear() }
    }
}

/// `None` if somebody has cleared them meanwhile.
fn copy_report(index: usize) -> Option<Report> {
    // SAFETY: takes a number, may be called from any thread, and gives a report of our own or null.
    let raw = unsafe { sys::mtb_report_copy(index) };
    // SAFETY: a pointer that is not null is to a report, which lives until it is freed below.
    let native = unsafe { raw.as_ref() }?;
    // SAFETY: the strings of a report end with zeros and live as long as it does.
    let (summary, all, object) =
        unsafe { (text(native.summary), text(native.text), text(native.object)) };
    let report = Report {
        kind: ReportKind::from_sys(native.kind),
        summary,
        text: all,
        // SAFETY: the accesses are those of a report that is alive.
        access: unsafe { copy_access(&native.access) },
        earlier: native
            .has_earlier
            // SAFETY: as above.
            .then(|| unsafe { copy_access(&native.earlier) }),
        object,
        argument_index: u32::try_from(native.argument_index).ok(),
        offset: native.offset,
        length: native.length,
        occurrences: native.occurrences,
    };
    // SAFETY: it is ours, and nothing refers to it any more.
    unsafe { sys::mtb_report_free(raw) };
    Some(report)
}

/// # Safety
///
/// The access is part of a report that has not been freed.
unsafe fn copy_access(access: &sys::mtb_reported_access) -> Access {
    let position = |size: sys::mtb_size| [size.width, size.height, size.depth];
    // SAFETY: as promised by the caller, and then its strings end with zeros.
    let (kernel, function, file) = unsafe {
        (
            text(access.kernel),
            text(access.function),
            text(access.file),
        )
    };
    Access {
        kernel,
        function,
        file,
        line: access.line,
        is_write: access.is_write,
        is_atomic: access.is_atomic,
        is_whole_simdgroup: access.is_whole_simdgroup,
        size: access.size,
        thread_position_in_grid: position(access.thread_position_in_grid),
        threadgroup_position_in_grid: position(access.threadgroup_position_in_grid),
        thread_position_in_threadgroup: position(access.thread_position_in_threadgroup),
    }
}
