//! The rules of `docs/architecture.md`, read from the sources.

mod files;
mod imports;
mod includes;
mod layers;
mod lines;
mod names;
mod oldest_rust;
mod paths;
mod platforms;
mod sizes;
mod sources;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use imports::{Imports, circle};
use sources::Sources;

fn crate_sources() -> Sources {
    Sources::read("src")
}

/// The sources of each package, behind their folder.
fn packages() -> Vec<(String, Sources)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("crates");
    let names = fs::read_dir(crates).expect("a folder").map(|entry| {
        let name = entry.expect("an entry").file_name();
        format!("crates/{}/src", name.to_str().expect("UTF-8"))
    });
    let folders = names.chain(["src".to_owned()]);
    folders
        .map(|folder| (folder.clone(), Sources::read(&folder)))
        .collect()
}

/// What the files of each package import, behind its folder. Parsing takes seconds, and several tests ask.
static IMPORTS: LazyLock<BTreeMap<String, Imports>> = LazyLock::new(|| {
    let packages = packages().into_iter();
    let imports = packages.map(|(folder, sources)| (folder, Imports::of(&sources)));
    imports.collect()
});

#[test]
fn no_files_import_each_other_in_a_circle() {
    let mut uses = 0;
    for (folder, imports) in IMPORTS.iter() {
        uses += imports.edges().count();
        assert_eq!(circle(imports), None, "{folder}");
    }
    assert!(uses > 300, "the reader sees {uses} imports only");
}

#[test]
fn a_circle_is_seen() {
    let mut sources = crate_sources();
    sources.change(
        "metal/access/mod.rs",
        "use super::slots::QueuePosition;",
        |line| format!("{line}\nuse crate::BlitEncoder;"),
    );
    let circle = circle(&Imports::of(&sources)).expect("a circle");
    for file in ["metal/access/mod.rs", "metal/blit.rs"] {
        assert!(circle.iter().any(|path| path.ends_with(file)), "{circle:?}");
    }
}

/// Whether a text has a block of foreign declarations: `extern`, the name of an interface or none, and a brace. Blocks in
/// macros count, which a parser of Rust does not see.
fn declares_foreign(text: &str) -> bool {
    text.split("extern").skip(1).any(|rest| {
        let rest = rest.trim_start();
        let name = rest.strip_prefix('"').and_then(|rest| rest.split_once('"'));
        name.map_or(rest, |(_, rest)| rest.trim_start())
            .starts_with('{')
    })
}

/// What else declares foreign functions: each file those of native code that nobody but this file calls.
const FOREIGN_ELSEWHERE: [&str; 5] = [
    // The C++ of metal-cudart.
    "crates/cudart/src/runtime/contained.rs",
    // Objective-C that the package of the file compiles.
    "benches/bridge.rs",
    "benches/software/main.rs",
    "tests/support/src/objects.rs",
    // The software Metal's injections, which take numbers alone.
    "tests/support/src/failures.rs",
];

#[test]
fn foreign_functions_are_declared_in_sys_alone() {
    let mut declaring = BTreeSet::new();
    let others = ["tests", "benches", "examples", "build"];
    let others = others.map(|folder| (folder.to_owned(), Sources::read(folder)));
    for (folder, sources) in packages().into_iter().chain(others) {
        let texts = sources.0.iter();
        let declares = texts.filter(|(_, text)| declares_foreign(text));
        declaring.extend(declares.map(|(file, _)| Path::new(&folder).join(file)));
    }
    // The texts with which the test below tries the search.
    assert!(declaring.remove(Path::new("tests/architecture/main.rs")));
    for elsewhere in FOREIGN_ELSEWHERE {
        assert!(declaring.remove(Path::new(elsewhere)), "{elsewhere}");
    }
    assert!(
        !declaring.is_empty() && declaring.iter().all(|file| file.starts_with("src/sys")),
        "{declaring:?}"
    );
}

#[test]
fn every_foreign_block_is_seen() {
    for block in [
        "unsafe extern \"C\" {\n}",
        "unsafe extern \"C-unwind\"\n{}",
        "extern {}",
        "macro_rules! m { () => { unsafe extern \"system\"{} } }",
    ] {
        assert!(declares_foreign(block), "{block}");
    }
    let others = "extern crate a; extern \"C\" fn f() {} type F = extern \"C\" fn(); // external {";
    assert!(!declares_foreign(others));
}

/// The lines that give back or take references to the bridge's objects.
fn references(text: &str) -> Vec<&str> {
    let is_one = |line: &&str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_')
            .any(|name| {
                name.starts_with("mtb_")
                    && (name.ends_with("_release") || name.ends_with("_retain"))
            })
    };
    let lines = text.lines().map(str::trim).filter(is_one);
    lines.filter(|line| !line.starts_with("pub fn ")).collect()
}

#[test]
fn one_file_owns_references_to_objects() {
    let mut owning = BTreeSet::new();
    for (folder, sources) in packages() {
        let files = sources.0.iter();
        let files = files.filter(|(_, text)| !references(text).is_empty());
        owning.extend(files.map(|(file, _)| Path::new(&folder).join(file)));
    }
    assert_eq!(owning, BTreeSet::from(["src/sys/handle.rs".into()]));
}

#[test]
fn a_reference_is_seen() {
    assert_eq!(
        references("    unsafe { sys::mtb_buffer_release(raw) }").len(),
        1
    );
    assert_eq!(references("mtb_device: mtb_device_retain,").len(), 1);
    assert_eq!(
        references("pub fn mtb_event_release(event: *mut mtb_event);"),
        [""; 0]
    );
    assert_eq!(
        references("mtb_transfer_release_later(); mtb_string_free(text);"),
        [""; 0]
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
