//! The folders of `src/` use only those below them.

use std::path::Path;

use crate::crate_sources;
use crate::imports::Imports;

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
