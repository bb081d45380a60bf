//! The files that `CONTRIBUTING.md` and the pages of `docs/` name are there.

use std::fs;
use std::path::Path;

/// The paths of this repository in a text, which stand in backticks: `src/{a,b}.rs` is two.
fn paths(text: &str) -> Vec<String> {
    let folders = [
        "benches", "build", "crates", "docs", "examples", "native", "scripts", "shaders", "src",
        "tests",
    ];
    let quoted = text
        .lines()
        .flat_map(|line| line.split('`').skip(1).step_by(2));
    let ours = quoted.filter(|quoted| {
        let first = quoted.split_once('/').map(|(first, _)| first);
        let is_path = !quoted.contains(|letter: char| " *$<".contains(letter));
        is_path && first.is_some_and(|first| folders.contains(&first))
    });
    ours.flat_map(expanded).collect()
}

/// A path with alternatives in braces, one by one.
fn expanded(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else {
        return vec![path.to_owned()];
    };
    let (alternatives, after) = rest.split_once('}').expect("a closing brace");
    let one = |alternative| format!("{before}{alternative}{after}");
    alternatives.split(',').map(one).collect()
}

fn missing(text: &str) -> Vec<String> {
    let mut paths = paths(text);
    paths.retain(|path| !Path::new(env!("CARGO_MANIFEST_DIR")).join(path).exists());
    paths
}

#[test]
fn the_recipes_name_files_that_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut pages = vec![root.join("CONTRIBUTING.md")];
    pages.extend(
        fs::read_dir(root.join("docs"))
            .unwrap()
            .map(|entry| entry.unwrap().path()),
    );
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        assert_eq!(missing(&text), [""; 0], "{}", page.display());
    }
    let recipes = fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    assert!(
        paths(&recipes).len() > 40,
        "the reader of paths has gone blind"
    );
}

#[test]
fn a_file_that_is_gone_is_found() {
    let text = "`src/{lib,gone}.rs`, `make -C tests/gone`, `tests/ops/*`, gone/`x`, and `docs/`";
    assert_eq!(paths(text), ["src/lib.rs", "src/gone.rs", "docs/"]);
    assert_eq!(missing(text), ["src/gone.rs"]);
}
