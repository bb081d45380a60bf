//! What the scripts that find and install the toolchain do, with programs of the test's own instead of real ones.
#![cfg(target_os = "linux")]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder with these scripts in it, by name.
fn programs(scripts: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, script) in scripts {
        let path = folder.path().join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    folder
}

/// Runs a script of the repository, which finds no programs but those of the folder.
fn run(script: &str, arguments: &[&str], programs: &TempDir, clang: &str) -> Output {
    for tool in [
        "bash", "cut", "dirname", "env", "grep", "mktemp", "rm", "sed", "tee", "uname", "xargs",
    ] {
        let paths = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(tool));
        let real = paths.iter().find(|path| path.exists());
        let real = real.unwrap_or_else(|| panic!("no {tool}"));
        symlink(real, programs.path().join(tool)).unwrap();
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scripts")
        .join(script);
    Command::new(script)
        .args(arguments)
        .env("PATH", programs.path())
        .env("METAL_BRIDGE_CLANG", clang)
        .output()
        .unwrap()
}

#[test]
fn a_clang_that_is_too_old_is_refused() {
    for (version, is_taken) in [("18.1.0", false), ("19.0.0", true)] {
        let says =
            format!("[ $1 = -dumpversion ] && echo {version} || echo clang version {version}");
        let programs = programs(&[("some-clang", &says)]);
        let found = run("find-clang", &[], &programs, "some-clang");
        assert_eq!(found.status.success(), is_taken, "{version}: {found:?}");
        let path = programs.path().join("some-clang");
        let expected = if is_taken {
            format!("{}\n", path.display())
        } else {
            String::new()
        };
        assert_eq!(String::from_utf8(found.stdout).unwrap(), expected);
    }
}

/// What `scripts/setup check` has apt-get do, which installs a clang-format, if apt-get's first two updates fail with a
/// message; and what it says.
fn set_up(message: &str) -> (Vec<String>, String) {
    let apt_get = format!(
        "calls=$(dirname \"$0\")/calls\necho \"$*\" >> \"$calls\"\n\
         [ \"$1\" = update ] || exit 0\n\
         [ \"$(sed -n '$=' \"$calls\")\" -gt 2 ] || {{ echo '{message}' >&2; exit 100; }}"
    );
    let programs = programs(&[
        ("apt-get", &apt_get),
        ("cargo", ""),
        ("gcc", "echo 14"),
        ("id", "echo 0"),
        ("sleep", ""),
        ("some-clang", "echo 19.0.0"),
    ]);
    let output = run("setup", &["check"], &programs, "some-clang");
    assert!(output.status.success(), "{output:?}");
    let calls = fs::read_to_string(programs.path().join("calls")).unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    (calls.lines().map(str::to_owned).collect(), said)
}

#[test]
fn setup_waits_for_apts_lock() {
    let (calls, said) = set_up("E: Could not get lock /var/lib/apt/lists/lock.");
    assert_eq!(calls[..3], ["update -q"; 3], "{said}");
    assert_eq!(
        said.matches("another program holds apt").count(),
        2,
        "{said}"
    );
    let install = calls[3].split(' ').collect::<Vec<_>>();
    assert!(
        install.contains(&"install") && install.contains(&"clang-format-19"),
        "{calls:?}"
    );
    assert_eq!(calls.len(), 4);
}

#[test]
fn setup_does_not_wait_for_other_failures_of_apt() {
    let (calls, said) = set_up("E: Failed to fetch http://example.org/InRelease");
    assert_eq!(calls.len(), 2, "{calls:?}");
    assert!(
        calls[0] == "update -q" && calls[1].contains(" install "),
        "{calls:?}"
    );
    assert!(said.contains("going on"), "{said}");
}

/// What `scripts/with-metal` passes on of these lines.
fn passed_on(arguments: &[&str], lines: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("programs");
    fs::write(&input, lines).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/with-metal");
    let output = Command::new(script)
        .args(arguments)
        .stdin(fs::File::open(input).unwrap())
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// `make test` runs each program once: shuffled, or with `cargo-tests --rest`.
#[test]
fn a_program_is_shuffled_or_one_of_the_rest() {
    let root = env!("CARGO_MANIFEST_DIR");
    let line = |folder: &str, program: &str| format!("{root}{folder}\t{root}/target/{program}\n");
    let shuffled = [
        line("", "ops-1f\ttensor::\tSOFTWARE_METAL_OPTIMIZE=1"),
        line("", "memory-0a"),
        line("/crates/llama", "engine-1"),
        line("/crates/cli", "metal_bridge-2"),
    ];
    let rest = [
        line("", "abi-1"),
        line("/crates/llama", "tokenizer-2"),
        line("/crates/cudart", "cuda_runtime-3"),
        line("/crates/cudart", "memory-4"),
    ];
    let lines = [&shuffled[..], &rest[..]].concat().concat();
    assert_eq!(passed_on(&[], &lines), shuffled.concat());
    assert_eq!(passed_on(&["-v"], &lines), rest.concat());
}

/// What `scripts/two-at-a-time` prints for targets of a Makefile that fail if they begin with `bad`, in order, and whether
/// it succeeds.
fn run_targets(targets: &[&str]) -> (Vec<String>, bool) {
    let make = "echo $2 $3; case $2 in bad*) exit 2 ;; esac";
    let output = run("two-at-a-time", targets, &programs(&[("make", make)]), "");
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<_> = printed.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    (lines, output.status.success())
}

#[test]
fn no_target_begins_after_one_has_failed() {
    let (lines, succeeded) = run_targets(&["a N=1", "b", "c N=3"]);
    assert_eq!(lines, ["a N=1: a N=1", "b: b", "c N=3: c N=3"]);
    assert!(succeeded);
    // Both of the first two fail, so that nothing ends well before a failure is seen.
    let (lines, succeeded) = run_targets(&["bad1", "bad2", "c"]);
    assert_eq!(lines[0], "bad1: bad1");
    assert!(!lines.contains(&"c: c".to_owned()), "{lines:?}");
    assert!(!succeeded);
}
