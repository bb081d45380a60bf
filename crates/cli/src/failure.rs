//! How a command ends when it does not end well: one line on standard error and an exit code.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use metal_bridge_llama as llama;
use metal_bridge_workloads::stress;

use super::terminal::harmless;

/// The exit codes, for `--help`.
pub const EXIT_CODES: &str =
    "Exit codes: 0 success, 1 failure, 2 wrong arguments, 3 no Metal device";

/// Why a command ended.
pub enum Failure {
    /// Something failed; what and where.
    Error(String),
    /// The arguments do not fit together.
    #[cfg(software_metal)]
    WrongArguments(&'static str),
    /// There is nothing to run on.
    NoDevice(String),
    /// Something is wrong with what was checked, and the user has been told.
    #[cfg(software_metal)]
    Reported,
    /// Nobody reads the output any more, as after `metal-bridge ... | head`: no reason to complain.
    BrokenPipe,
}

impl Failure {
    /// Something failed that has a message of its own.
    pub fn new(message: impl fmt::Display) -> Self {
        Self::Error(message.to_string())
    }

    /// Tells the user, and gives the exit code.
    pub fn report(&self) -> ExitCode {
        let (message, code) = match self {
            Self::Error(message) => (message.as_str(), 1),
            #[cfg(software_metal)]
            Self::WrongArguments(message) => (*message, 2),
            Self::NoDevice(message) => (message.as_str(), 3),
            #[cfg(software_metal)]
            Self::Reported => return ExitCode::from(1),
            Self::BrokenPipe => return ExitCode::SUCCESS,
        };
        // Messages repeat what is in files, be it a template's exception or the name of a tensor.
        let message = harmless(message);
        // Without standard error there is nobody left to tell.
        let _ = writeln!(io::stderr(), "metal-bridge: {message}");
        ExitCode::from(code)
    }
}

impl From<metal_bridge::Error> for Failure {
    fn from(error: metal_bridge::Error) -> Self {
        match error {
            metal_bridge::Error::NoDevice | metal_bridge::Error::NoSuchDevice { .. } => {
                Self::NoDevice(error.to_string())
            }
            _ => Self::new(error),
        }
    }
}

impl From<llama::Error> for Failure {
    fn from(error: llama::Error) -> Self {
        match error {
            llama::Error::Metal(error) => error.into(),
            _ => Self::new(error),
        }
    }
}

impl From<stress::Error> for Failure {
    fn from(error: stress::Error) -> Self {
        match error {
            stress::Error::Metal(error) => error.into(),
            _ => Self::new(error),
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::BrokenPipe,
            _ => Self::new(error),
        }
    }
}

/// What became of output of a command whose exit code answers the question: if nobody reads the output any more, the command goes
/// on, and its exit code still tells.
pub fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

impl From<serde_json::Error> for Failure {
    fn from(error: serde_json::Error) -> Self {
        io::Error::from(error).into()
    }
}
