//! What `cargo package` makes of every package that may be published: all that it is built from, nothing that only the repository
//! needs, and not more than a registry takes. `make package` builds each from its package alone, with the native code.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;

/// Bytes of the compressed package.
const LARGEST: u64 = 3 << 20;

/// Where cargo packs.
const TARGET: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/packages");
/// Where cargo compiled this test.
const PRODUCTS: &str = concat!(env!("CARGO_TARGET_TMPDIR"), "/..");

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

/// The files that cargo packs, by the names of their packages. Before 1.90 cargo packs a package only when those that it depends on
/// are in a registry, so there is only one.
fn packed() -> &'static BTreeMap<String, PathBuf> {
    static PACKED: LazyLock<BTreeMap<String, PathBuf>> = LazyLock::new(|| {
        let mut names: Vec<String> = packages().into_iter().map(|package| package.name).collect();
        if minor_version() < 90 {
            eprintln!("this cargo packs metal-bridge alone");
            names.retain(|name| name == "metal-bridge");
        }
        let mut arguments = vec!["package", "--no-verify", "--allow-dirty", "--quiet"];
        arguments.extend(["--target-dir", TARGET]);
        for name in &names {
            arguments.extend(["--package", name]);
        }
        cargo(&arguments);
        let version = env!("CARGO_PKG_VERSION");
        let packed = |name: String| {
            let file = format!("{TARGET}/package/{name}-{version}.crate");
            (name, file.into())
        };
        names.into_iter().map(packed).collect()
    });
    &PACKED
}

/// 95 for cargo 1.95.0.
fn minor_version() -> u32 {
    let output = Command::new(env!("CARGO")).arg("--version").output();
    let version = String::from_utf8(output.unwrap().stdout).unwrap();
    version.split('.').nth(1).unwrap().parse().unwrap()
}

#[test]
fn packages_are_of_a_size_that_a_registry_takes() {
    for package in packages() {
        let (least, size) = if let Some(file) = packed().get(&package.name) {
            (5_000, fs::metadata(file).unwrap().len())
        } else {
            // Small enough before it is compressed.
            let files = package.files().into_iter();
            let sizes = files.filter_map(|path| fs::metadata(package.folder.join(path)).ok());
            (1, sizes.map(|metadata| metadata.len()).sum())
        };
        let name = package.name;
        assert!((least..=LARGEST).contains(&size), "{name} has {size} bytes");
    }
}

/// Unpacks the packages into a workspace of their own, far from the repository's files, and has the compiler check them without the
/// native code. What they depend on is taken from where other commands have it: it takes seconds after `make lint`, which has checked
/// most of that. metal-cudart is native code over metal-bridge's, so it is left to `make package`.
#[test]
fn packages_compile_alone() {
    let alone = Path::new(TARGET).join("alone");
    drop(fs::remove_dir_all(&alone));
    fs::create_dir_all(&alone).unwrap();
    let (mut members, mut patches) = (String::new(), String::new());
    for (name, file) in packed() {
        if name == "metal-cudart" {
            continue;
        }
        let mut unpack = Command::new("tar");
        unpack.arg("-xzf").arg(file).arg("-C").arg(&alone);
        assert!(unpack.status().unwrap().success(), "{name}");
        let folder = file.file_stem().unwrap().to_str().unwrap();
        members += &format!("'{folder}', ");
        patches += &format!("{name} = {{ path = '{folder}' }}\n");
    }
    // Of another profile nothing is compiled yet.
    let manifest = include_str!("../Cargo.toml");
    let profile = &manifest[manifest.find("[profile.dev]").unwrap()..];
    let workspace = format!(
        "[workspace]\nresolver = '3'\nmembers = [{members}]\n[patch.crates-io]\n{patches}\n{profile}"
    );
    fs::write(alone.join("Cargo.toml"), workspace).unwrap();
    // The versions that the repository has are those that cargo finds without a network.
    let lock = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock");
    fs::copy(lock, alone.join("Cargo.lock")).unwrap();
    let mut check = Command::new(env!("CARGO"));
    check
        .args(["check", "--workspace", "--no-default-features", "--offline"])
        .args(["--target-dir", PRODUCTS])
        .current_dir(&alone)
        .env("CC", "/nonexistent")
        .env("CXX", "/nonexistent");
    let output = check.output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{errors}");
}
