//! [`Error`]: everything that can go wrong, by what a caller would do about it.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::sys;

/// The result of every fallible call of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong and where. Whatever failed, every handle involved stays usable.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no Metal device: no GPU, or a build without one of Apple's hosts and without the feature `software`.
    #[error("there is no Metal device")]
    NoDevice,
    /// There are devices, but none at this index.
    #[error("there is no Metal device {index}: the system has {count}")]
    NoSuchDevice {
        /// The index that was asked for.
        index: usize,
        /// The number of devices.
        count: usize,
    },
    /// A zero size, an unknown value, a string with a NUL in it.
    #[error("invalid argument: {0}")]
    InvalidArgument(Box<Failure>),
    /// A range, index, size or count beyond what the object or the device has.
    #[error("out of range: {0}")]
    OutOfRange(Box<Failure>),
    /// An offset, length or address that is not the multiple that it has to be.
    #[error("misaligned: {0}")]
    Misaligned(Box<Failure>),
    /// Objects of two devices in one call.
    #[error("objects of different devices: {0}")]
    WrongDevice(Box<Failure>),
    /// Metal or the host could not allocate.
    #[error("out of memory: {0}")]
    OutOfMemory(Box<Failure>),
    /// More than the budget, or the limit, of a pool of memory allows beside what is in use.
    #[error("over budget: {0}")]
    OverBudget(Box<Failure>),
    /// A library or pipeline did not compile: the message is the compiler's log, with the source's own line numbers.
    #[error("compilation failed: {0}")]
    Compile(Box<Failure>),
    /// There is no function or file of that name.
    #[error("not found: {0}")]
    NotFound(Box<Failure>),
    /// The dispatched kernel has an argument that nothing is bound to; the message names it.
    #[error("missing argument: {0}")]
    MissingArgument(Box<Failure>),
    /// The GPU ended a command buffer with an error: [`Failure::code`] is one of
    /// [`command_buffer_error`](crate::command_buffer_error).
    #[error("the GPU failed: {0}")]
    CommandBuffer(Box<Failure>),
    /// The time given to a wait went by. What was waited for goes on.
    #[error("timed out: {0}")]
    Timeout(Box<Failure>),
    /// A wait that could never end: a completion handler, a host function or the destructor of a no-copy buffer's owner
    /// waits for work that comes after it; or a thread waits behind a command buffer that only this thread, or a thread that
    /// has ended, could have committed or dropped; or a command buffer waits for an event that nobody can signal any more.
    #[error("deadlock: {0}")]
    Deadlock(Box<Failure>),
    /// The buffer is in use in a way that this access conflicts with, and that only the caller can end: a command buffer that
    /// is not committed uses the buffer, or a guard for CPU access lives. If the access does not wait: a command buffer that
    /// has not completed uses the buffer.
    #[error("in use: {0}")]
    InUse(Box<Failure>),
    /// A call was to write to a buffer whose memory is read only.
    #[error("read only: {0}")]
    ReadOnly(Box<Failure>),
    /// The CPU has no access: the buffer's storage mode is private.
    #[error("not visible to the CPU: {0}")]
    NotVisible(Box<Failure>),
    /// Not possible in the object's present state.
    #[error("invalid state: {0}")]
    InvalidState(Box<Failure>),
    /// The device or the system cannot do this.
    #[error("unsupported: {0}")]
    Unsupported(Box<Failure>),
    /// Metal raised an Objective-C exception, or failed without a reason.
    #[error("Metal failed: {0}")]
    Internal(Box<Failure>),
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: Arc<std::io::Error>,
    },
}

/// The particulars of an [`Error`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    function: Cow<'static, str>,
    message: Cow<'static, str>,
    domain: Cow<'static, str>,
    code: i64,
}

impl Failure {
    pub(crate) fn new(
        function: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) -> Box<Failure> {
        let message = message.into();
        Box::new(Failure {
            function: function.into(),
            message,
            domain: "metal_bridge".into(),
            code: 0,
        })
    }

    /// The call that failed: of this crate, or of the bridge under it (`mtb_...`).
    pub fn function(&self) -> &str {
        &self.function
    }

    /// What went wrong, and with which values.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// The `NSError` domain if Metal gave an error, `metal_bridge` otherwise.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// The `NSError` code if Metal gave an error, zero otherwise.
    pub fn code(&self) -> i64 {
        self.code
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (in {}", self.message, self.function)?;
        if self.code != 0 {
            write!(f, ", {} code {}", self.domain, self.code)?;
        }
        f.write_str(")")
    }
}

/// What an error with particulars gives, and what one without them.
macro_rules! with_failure {
    ($error:expr, $failure:ident => $some:expr, $none:expr) => {
        match $error {
            Error::InvalidArgument($failure)
            | Error::OutOfRange($failure)
            | Error::Misaligned($failure)
            | Error::WrongDevice($failure)
            | Error::OutOfMemory($failure)
            | Error::Compile($failure)
            | Error::NotFound($failure)
            | Error::MissingArgument($failure)
            | Error::CommandBuffer($failure)
            | Error::Timeout($failure)
            | Error::Deadlock($failure)
            | Error::InUse($failure)
            | Error::ReadOnly($failure)
            | Error::NotVisible($failure)
            | Error::InvalidState($failure)
            | Error::OverBudget($failure)
            | Error::Unsupported($failure)
            | Error::Internal($failure) => $some,
            Error::NoDevice | Error::NoSuchDevice { .. } | Error::Io { .. } => $none,
        }
    };
}

impl Error {
    /// The particulars, if the variant has them.
    pub fn failure(&self) -> Option<&Failure> {
        with_failure!(self, failure => Some(failure), None)
    }

    /// The same error, with a message that first says where it happened.
    pub(crate) fn at(mut self, place: &str) -> Error {
        with_failure!(
            &mut self,
            failure => failure.message = format!("{place}: {}", failure.message).into(),
            ()
        );
        self
    }

    /// Names the file that an operating system's error is about.
    pub fn io(path: impl Into<PathBuf>, source: std::io::Error) -> Error {
        Error::Io {
            path: path.into(),
            source: Arc::new(source),
        }
    }
}

impl From<sys::OwnedError> for Error {
    fn from(error: sys::OwnedError) -> Error {
        let failure = Box::new(Failure {
            function: error.function.into(),
            message: error.message.into(),
            domain: error.domain.into(),
            code: error.code,
        });
        match error.status {
            sys::MTB_INVALID_ARGUMENT => Error::InvalidArgument(failure),
            sys::MTB_OUT_OF_RANGE => Error::OutOfRange(failure),
            sys::MTB_MISALIGNED => Error::Misaligned(failure),
            sys::MTB_WRONG_DEVICE => Error::WrongDevice(failure),
            sys::MTB_NO_DEVICE => Error::NoDevice,
            sys::MTB_OUT_OF_MEMORY => Error::OutOfMemory(failure),
            sys::MTB_COMPILE_FAILED => Error::Compile(failure),
            sys::MTB_NOT_FOUND => Error::NotFound(failure),
            sys::MTB_MISSING_ARGUMENT => Error::MissingArgument(failure),
            sys::MTB_COMMAND_BUFFER_FAILED => Error::CommandBuffer(failure),
            sys::MTB_TIMEOUT => Error::Timeout(failure),
            sys::MTB_INVALID_STATE => Error::InvalidState(failure),
            sys::MTB_UNSUPPORTED => Error::Unsupported(failure),
            sys::MTB_OVER_BUDGET => Error::OverBudget(failure),
            sys::MTB_DEADLOCK => Error::Deadlock(failure),
            _ => Error::Internal(failure),
        }
    }
}
