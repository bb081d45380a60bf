//! Runs a test in a process of its own, whose standard error is looked at: what a runtime reports there fails nothing by
//! itself.

use std::env;
use std::process::{Command, ExitStatus};

use crate::MISSING_POOL_REPORTS;

/// Names the test that a child process is for.
const CHILD_VARIABLE: &str = "METAL_BRIDGE_TEST_CHILD";

/// What a child process left behind.
#[derive(Debug)]
pub struct ChildOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output and standard error.
    pub text: String,
}

impl ChildOutput {
    /// Lines that report an object autoreleased without a pool.
    pub fn missing_pools(&self) -> usize {
        let reports = |line: &&str| {
            MISSING_POOL_REPORTS
                .iter()
                .any(|report| line.contains(report))
        };
        self.text.lines().filter(reports).count()
    }
}

/// Runs `scenario` in a child process, on its main thread: the test called `test` is the only one there, and gets to the
/// same call. In the parent, gives what the child left behind; in the child, `None`.
pub fn run_child(test: &str, scenario: impl FnOnce()) -> Option<ChildOutput> {
    if env::var(CHILD_VARIABLE).is_ok_and(|name| name == test) {
        scenario();
        return None;
    }
    let program = env::current_exe().expect("a test knows its program");
    let output = Command::new(program)
        // One test thread: libtest then runs the test on the main thread.
        .args([
            test,
            "--exact",
            "--nocapture",
            "--test-threads=1",
            "--include-ignored",
        ])
        .env(CHILD_VARIABLE, test)
        .env("OBJC_DEBUG_MISSING_POOLS", "YES")
        .output()
        .expect("the test's own program runs");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(
        text.contains("1 passed") || !output.status.success(),
        "no test {test} in the child:\n{text}"
    );
    Some(ChildOutput {
        status: output.status,
        text,
    })
}

/// Runs `scenario` as [`run_child`] does, and fails the test where the child fails or reports a missing pool.
pub fn in_child(test: &str, scenario: impl FnOnce()) {
    let Some(output) = run_child(test, scenario) else {
        return;
    };
    assert!(
        output.status.success(),
        "{test} failed in its process ({}):\n{}",
        output.status,
        output.text
    );
    assert_eq!(
        output.missing_pools(),
        0,
        "{test} lacked an autorelease pool:\n{}",
        output.text
    );
}
