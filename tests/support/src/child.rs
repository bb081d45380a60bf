//! Runs a test in a process of its own, whose standard error is looked at: what a runtime reports there fails nothing by
//! itself.

use std::env;
use std::panic;
use std::process::{Command, ExitCode, ExitStatus};
use std::time::Instant;

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

    /// Fails the test where the child failed or reported a missing pool.
    pub fn assert_clean(&self) {
        assert!(
            self.status.success(),
            "failed in its process ({}):\n{}",
            self.status,
            self.text
        );
        assert_eq!(
            self.missing_pools(),
            0,
            "an autorelease pool was missing:\n{}",
            self.text
        );
    }
}

fn is_child_for(test: &str) -> bool {
    env::var(CHILD_VARIABLE).is_ok_and(|name| name == test)
}

/// Runs this program again, for `test`.
fn run_again(
    test: &str,
    arguments: &[&str],
    variables: &[(&str, &str)],
    leaks: bool,
) -> ChildOutput {
    let program = env::current_exe().expect("a test knows its program");
    let mut command = Command::new(program);
    if leaks {
        let options = env::var("ASAN_OPTIONS").unwrap_or_default();
        command.env("ASAN_OPTIONS", format!("{options}:detect_leaks=0"));
    }
    let output = command
        .args(arguments)
        .envs(variables.iter().copied())
        .env(CHILD_VARIABLE, test)
        .env("OBJC_DEBUG_MISSING_POOLS", "YES")
        .output()
        .expect("the test's own program runs");
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    ChildOutput {
        status: output.status,
        text,
    }
}

/// Runs `scenario` in a child process in which the test called `test` is the only one and gets to the same call; fails the
/// test where the child fails or reports a missing pool.
pub fn in_child(test: &str, scenario: impl FnOnce()) {
    in_child_with(test, &[], scenario);
}

/// The same, with these environment variables in the child.
pub fn in_child_with(test: &str, variables: &[(&str, &str)], scenario: impl FnOnce()) {
    if is_child_for(test) {
        return scenario();
    }
    let output = run_again(
        test,
        &[
            test,
            "--exact",
            "--include-ignored",
            "--nocapture",
            "--test-threads=1",
        ],
        variables,
        false,
    );
    output.assert_clean();
    // Shown with `--nocapture`, as the output of other tests is.
    print!("{}", output.text);
    assert!(
        output.text.contains("1 passed"),
        "there is no test {test}:\n{}",
        output.text
    );
}

/// A test of a program without libtest.
pub struct Case {
    /// Its name, for the filter and the report.
    pub name: &'static str,
    /// What runs in the child process, on its main thread.
    pub run: fn(),
    /// Looks at what the child left behind; panics where it is not as it should be.
    pub check: fn(&ChildOutput),
    /// It leaks on purpose, which LeakSanitizer is not to mind.
    pub leaks: bool,
}

/// The `main` of a test program whose tests need the main thread of a process of their own each, which libtest gives to
/// none. Takes part of a name as a filter, and `--list`, as libtest does.
pub fn main(cases: &[Case]) -> ExitCode {
    if let Some(case) = cases.iter().find(|case| is_child_for(case.name)) {
        (case.run)();
        return ExitCode::SUCCESS;
    }
    let arguments: Vec<String> = env::args().skip(1).collect();
    let filters: Vec<&String> = arguments
        .iter()
        .filter(|argument| !argument.starts_with('-'))
        .collect();
    let wanted = |case: &&Case| {
        filters.is_empty()
            || filters
                .iter()
                .any(|filter| case.name.contains(filter.as_str()))
    };
    if arguments.iter().any(|argument| argument == "--list") {
        cases
            .iter()
            .filter(wanted)
            .for_each(|case| println!("{}: test", case.name));
        return ExitCode::SUCCESS;
    }
    let mut failed = Vec::new();
    for case in cases.iter().filter(wanted) {
        let start = Instant::now();
        let output = run_again(case.name, &[], &[], case.leaks);
        let passed = panic::catch_unwind(|| (case.check)(&output)).is_ok();
        let seconds = start.elapsed().as_secs_f32();
        println!(
            "test {} ... {} ({seconds:.1} s)",
            case.name,
            if passed { "ok" } else { "FAILED" }
        );
        if !passed {
            failed.push(case.name);
        }
    }
    if failed.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("failed: {}", failed.join(", "));
    ExitCode::FAILURE
}
