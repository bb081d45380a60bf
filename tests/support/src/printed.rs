//! What a command line printed, and how it exited.

use std::process::Output;

use serde_json::Value;

/// A run of a program that prints text.
pub struct Printed {
    /// Its exit status; none if a signal ended it.
    pub code: Option<i32>,
    /// Its standard output.
    pub out: String,
    /// Its standard error.
    pub err: String,
}

impl From<Output> for Printed {
    fn from(output: Output) -> Printed {
        Printed {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).expect("text is UTF-8"),
            err: String::from_utf8(output.stderr).expect("text is UTF-8"),
        }
    }
}

impl Printed {
    /// Fails where it exited otherwise.
    #[track_caller]
    pub fn exits_with(self, code: i32) -> Printed {
        assert_eq!(self.code, Some(code), "{}{}", self.out, self.err);
        self
    }

    /// Fails where one of `lines` is not on standard error.
    #[track_caller]
    pub fn says(self, lines: &[&str]) -> Printed {
        for line in lines {
            assert!(self.err.contains(line), "{line}\n{}", self.err);
        }
        self
    }

    /// Standard output, which must be JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {}", self.out))
    }
}
