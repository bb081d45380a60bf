//! The folders of `src/` use only those below them, and no package has a circle of folders.

use std::path::Path;
use std::sync::LazyLock;

use crate::imports::{Imports, circle};
use crate::{IMPORTS, crate_sources};

/// Folder of `src/`, and the folders that it may use. What stands in `src/` itself is named by its file.
const LAYERS: [(&str, &[&str]); 14] = [
    ("sys", &[]),
    ("error.rs", &["sys"]),
    ("metal", &["sys", "error.rs"]),
    ("memory", &["sys", "error.rs", "metal"]),
    ("headers", &[]),
    ("analysis", &["sys", "error.rs"]),
    ("groups", &["error.rs", "headers", "metal"]),
    ("indirect", &["sys", "error.rs", "headers", "metal"]),
    ("mps", &["sys", "error.rs", "metal"]),
    ("ops", &["sys", "error.rs", "headers", "indirect", "metal"]),
    ("devices", &["error.rs", "metal", "memory", "ops"]),
    ("software", &["sys", "error.rs", "metal"]),
    ("sanitizer.rs", &["sys", "error.rs"]),
    ("backend", &["error.rs", "metal", "memory", "mps", "ops"]),
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
    let forbidden = forbidden(&IMPORTS["src"]);
    assert!(forbidden.is_empty(), "{}", forbidden.join("\n"));
}

#[test]
fn no_folders_import_each_other_in_a_circle() {
    let mut uses = 0;
    for (package, imports) in IMPORTS.iter() {
        let folders = imports.between(|file| layer(file).into());
        uses += folders.edges().count();
        assert_eq!(circle(&folders), None, "{package}");
    }
    assert!(uses > 50, "the reader sees {uses} uses of folders only");
}

#[test]
fn a_circle_of_folders_is_seen() {
    let folders = LOOKING_UPWARDS.between(|file| layer(file).into());
    let mut circle = circle(&folders).expect("a circle");
    circle.sort();
    assert_eq!(circle, ["memory", "metal"].map(Path::new));
}

/// What the sources import, with a file of `metal` that uses the layer above it.
static LOOKING_UPWARDS: LazyLock<Imports> = LazyLock::new(|| {
    let mut sources = crate_sources();
    sources.change(
        "metal/access/mod.rs",
        "use super::slots::QueuePosition;",
        |line| format!("{line}\ntype Above = crate::memory::Batch<'static>;"),
    );
    Imports::of(&sources)
});

#[test]
fn a_look_upwards_is_seen() {
    let forbidden = forbidden(&LOOKING_UPWARDS);
    assert_eq!(forbidden, ["metal/access/mod.rs uses memory/batch.rs"]);
}
