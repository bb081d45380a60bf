//! The rules that the handles leave to the compiler: each case breaks one, and has to be refused for it.

use std::process::Command;

/// The compiler whose words the `.stderr` files are: others say the same things differently.
const RECORDED_WITH: &str = "rustc 1.95.";

#[test]
fn what_breaks_the_rules_does_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("cases/within_the_rules.rs");
    let version = Command::new("rustc")
        .arg("--version")
        .output()
        .expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout);
    if version.starts_with(RECORDED_WITH) {
        cases.compile_fail("cases/refused_*.rs");
    } else {
        println!(
            "the cases that are refused are compared with the messages of {RECORDED_WITH}x only, not {version}"
        );
    }
}
