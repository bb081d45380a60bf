//! The rules that the handles leave to the compiler: each case breaks one, and has to be refused for it. What keeps them has
//! compiled with the library of this package. A case that compiles here would have trybuild generate code for all packages.

use std::process::Command;
use std::{env, fs};

/// The compiler whose words the `.stderr` files are: others say the same things differently.
const RECORDED_WITH: &str = "rustc 1.95.";

#[test]
fn what_breaks_the_rules_does_not_compile() {
    let cases = trybuild::TestCases::new();
    let version = Command::new("rustc")
        .arg("--version")
        .output()
        .expect("rustc runs");
    let version = String::from_utf8_lossy(&version.stdout);
    if version.starts_with(RECORDED_WITH) {
        cases.compile_fail("cases/refused_*.rs");
        return;
    }
    println!(
        "compared with the messages of {RECORDED_WITH}x only; with {version} no case compiles"
    );
    // Without a recorded message next to it, a case passes whatever the message is.
    let unrecorded = tempfile::tempdir().unwrap();
    for entry in fs::read_dir("cases").unwrap() {
        let case = entry.unwrap().path();
        let name = case.file_name().unwrap().to_str().unwrap();
        if name.starts_with("refused_") && name.ends_with(".rs") {
            fs::copy(&case, unrecorded.path().join(name)).unwrap();
        }
    }
    // SAFETY: the process's only test, and nothing else runs beside it yet.
    unsafe { env::set_var("TRYBUILD", "overwrite") };
    cases.compile_fail(unrecorded.path().join("refused_*.rs"));
    // They run here, while the folder is there.
    drop(cases);
}
