//! The rules of `docs/architecture.md`, read from the sources.

mod files;
mod imports;
mod includes;
mod oldest_rust;
mod platforms;
mod recipes;
mod sizes;
mod sources;
mod words;

use std::path::Path;

use imports::{Imports, circle};
use sources::Sources;

/// Folder of `src/`, and the folders that it may use. What stands in `src/` itself is named by its file.
const LAYERS: [(&str, &[&str]); 8] = [
    ("sys", &[]),
    ("error.rs", &["sys"]),
    ("metal", &["sys", "error.rs"]),
    ("memory", &["sys", "error.rs", "metal"]),
    ("ops", &["sys", "error.rs", "metal"]),
    ("software", &["sys", "error.rs", "metal"]),
    ("sanitizer.rs", &["sys", "error.rs"]),
    ("backend.rs", &["error.rs", "metal", "ops"]),
];

fn crate_sources() -> Sources {
    Sources::read("src")
}

/// The folder, or the file of `src/` itself, that a file belongs to.
fn layer(file: &Path) -> String {
    let first = file.iter().next().expect("a path");
    first.to_string_lossy().into_owned()
}

/// The uses of a layer that it must not have.
fn forbidden(imports: &Imports) -> Vec<String> {
    let mut forbidden = Vec::new();
    for (file, used) in imports.edges() {
        let (of, used_layer) = (layer(file), layer(used));
        if of == used_layer || of == "lib.rs" {
            continue;
        }
        let allowed = LAYERS.iter().find(|(name, _)| *name == of);
        if !allowed.is_some_and(|(_, allowed)| allowed.contains(&&*used_layer)) {
            forbidden.push(format!("{} uses {}", file.display(), used.display()));
        }
    }
    forbidden
}

#[test]
fn no_files_import_each_other_in_a_circle() {
    let imports = Imports::of(&crate_sources());
    assert!(imports.edges().count() > 100, "the reader sees imports");
    assert_eq!(circle(&imports), None);
}

#[test]
fn a_circle_is_seen() {
    let mut sources = crate_sources();
    sources.change("metal/access.rs", "use super::slots::Turn;", |line| {
        format!("{line}\nuse crate::BlitEncoder;")
    });
    let circle = circle(&Imports::of(&sources)).expect("a circle");
    for file in ["metal/access.rs", "metal/blit.rs"] {
        assert!(circle.iter().any(|path| path.ends_with(file)), "{circle:?}");
    }
}

#[test]
fn layers_use_only_what_is_below_them() {
    let forbidden = forbidden(&Imports::of(&crate_sources()));
    assert!(forbidden.is_empty(), "{}", forbidden.join("\n"));
}

#[test]
fn a_look_upwards_is_seen() {
    let mut sources = crate_sources();
    sources.change("metal/access.rs", "use super::slots::Turn;", |line| {
        format!("{line}\ntype Above = crate::memory::Batch<'static>;")
    });
    let forbidden = forbidden(&Imports::of(&sources));
    assert_eq!(forbidden, ["metal/access.rs uses memory/batch.rs"]);
}

#[test]
fn foreign_functions_are_declared_in_sys_alone() {
    let sources = crate_sources();
    let declaring: Vec<_> = sources.files_with("extern \"C\" {").collect();
    assert!(
        !declaring.is_empty() && declaring.iter().all(|file| file.starts_with("sys")),
        "{declaring:?}"
    );
}

#[test]
fn only_the_build_script_asks_for_the_vendor() {
    for folder in ["src", "crates", "tests", "examples", "benches", "build"] {
        let sources = Sources::read(folder);
        // Written so that this file does not hold it.
        let asking: Vec<_> = sources
            .files_with(concat!("cfg(target_", "vendor"))
            .collect();
        assert!(asking.is_empty(), "{folder}: {asking:?}");
    }
}
