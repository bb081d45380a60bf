//! The rules of `docs/architecture.md`, read from the sources.

mod files;
mod imports;
mod includes;
mod layers;
mod oldest_rust;
mod paths;
mod platforms;
mod sizes;
mod sources;
mod words;

use imports::{Imports, circle};
use sources::Sources;

fn crate_sources() -> Sources {
    Sources::read("src")
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
