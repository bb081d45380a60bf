//! What `cargo package` makes of every package that may be published: all that it is built from, nothing that only the repository
//! needs, and not more than a registry takes. `make package` builds each from its package alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Bytes of the compressed package.
const LARGEST: u64 = 3 << 20;

/// What is built into a package, where it has such.
const BUILT: [&str; 6] = ["build.rs", "build", "include", "native", "shaders", "src"];
/// What only the repository needs, wherever it lies.
const LEFT_OUT: [&str; 6] = ["benches", "docs", "models", "scripts", "target", "tests"];
const READ: [&str; 4] = ["Cargo.toml", "LICENSE-APACHE", "LICENSE-MIT", "README.md"];

struct Package {
    name: String,
    folder: PathBuf,
}

impl Package {
    /// The paths in the package, from the folder of its manifest.
    fn files(&self) -> BTreeSet<PathBuf> {
        let listed = cargo(&[
            "package",
            "--list",
            "--allow-dirty",
            "--package",
            &self.name,
        ]);
        listed.lines().map(PathBuf::from).collect()
    }
}

fn cargo(arguments: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(env!("CARGO_MANIFEST_DIR"));
    let output = command.args(arguments).arg("--offline").output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

/// Those of the workspace that may be published.
fn packages() -> Vec<Package> {
    let metadata = cargo(&["metadata", "--no-deps", "--format-version=1"]);
    let metadata: Value = serde_json::from_str(&metadata).unwrap();
    let members = metadata["packages"].as_array().unwrap();
    let published = members.iter().filter(|member| member["publish"].is_null());
    published
        .map(|member| {
            let manifest = Path::new(member["manifest_path"].as_str().unwrap());
            Package {
                name: member["name"].as_str().unwrap().to_owned(),
                folder: manifest.parent().unwrap().to_owned(),
            }
        })
        .collect()
}

/// The files at or below `path`, less those in folders that are left out.
fn collect(path: &Path, found: &mut Vec<PathBuf>) {
    if path.is_file() {
        found.push(path.to_owned());
    } else if path.is_dir() && !LEFT_OUT.iter().any(|name| path.ends_with(name)) {
        for entry in fs::read_dir(path).unwrap() {
            collect(&entry.unwrap().path(), found);
        }
    }
}

#[test]
fn all_but_what_only_the_repository_runs_may_be_published() {
    let names: BTreeSet<String> = packages().into_iter().map(|package| package.name).collect();
    for name in [
        "metal-bridge",
        "metal-bridge-llama",
        "metal-bridge-cli",
        "metal-cudart",
    ] {
        assert!(names.contains(name), "{names:?}");
    }
}

#[test]
fn packages_hold_all_that_they_are_built_from() {
    for package in packages() {
        let files = package.files();
        let mut needed = Vec::new();
        for name in BUILT.into_iter().chain(READ) {
            collect(&package.folder.join(name), &mut needed);
        }
        let needed = needed
            .iter()
            .map(|path| path.strip_prefix(&package.folder).unwrap());
        let missing: Vec<&Path> = needed.filter(|path| !files.contains(*path)).collect();
        assert!(missing.is_empty(), "{} lacks {missing:?}", package.name);
        let unread = READ.iter().find(|name| !files.contains(Path::new(name)));
        assert_eq!(unread, None, "in {}", package.name);
    }
}

#[test]
fn packages_leave_out_what_only_the_repository_needs() {
    for package in packages() {
        let files = package.files();
        let is_left_out = |path: &&PathBuf| {
            path.iter()
                .any(|part| LEFT_OUT.iter().any(|name| part == *name))
        };
        let others: Vec<&PathBuf> = files.iter().filter(is_left_out).collect();
        assert!(others.is_empty(), "{} holds {others:?}", package.name);
    }
}

#[test]
fn packages_are_of_a_size_that_a_registry_takes() {
    let target = concat!(env!("CARGO_TARGET_TMPDIR"), "/packages");
    cargo(&[
        "package",
        "--no-verify",
        "--allow-dirty",
        "--quiet",
        "--package=metal-bridge",
        "--target-dir",
        target,
    ]);
    let version = env!("CARGO_PKG_VERSION");
    let packed = format!("{target}/package/metal-bridge-{version}.crate");
    let size = fs::metadata(&packed).unwrap().len();
    assert!(
        (100_000..=LARGEST).contains(&size),
        "{packed} has {size} bytes"
    );
    // Older cargos pack a package only when those that it depends on are in a registry. The others are small before they are compressed.
    for package in packages()
        .iter()
        .filter(|package| package.name != "metal-bridge")
    {
        let sizes = package
            .files()
            .into_iter()
            .filter_map(|path| fs::metadata(package.folder.join(path)).ok());
        let size: u64 = sizes.map(|metadata| metadata.len()).sum();
        assert!(
            (1..=LARGEST).contains(&size),
            "{} has {size} bytes",
            package.name
        );
    }
}
