//! The repository's sources, and those that a test makes up.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Texts behind paths relative to the repository's root, with `/`.
pub type Files = BTreeMap<String, String>;

/// The texts below some folders, without folders of products and hidden ones.
pub fn read(folders: &[&str]) -> Files {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Files::new();
    let mut waiting: Vec<_> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display())) {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let is_product = ["target", "__pycache__"].contains(&name.as_str());
            if path.is_symlink() || is_product || name.starts_with('.') {
                continue;
            }
            if path.is_dir() {
                waiting.push(path);
            } else if let Ok(text) = fs::read_to_string(&path) {
                let path = path.strip_prefix(root).unwrap().to_str().unwrap();
                files.insert(path.to_owned(), text);
            }
        }
    }
    assert!(!files.is_empty(), "{folders:?} hold no text");
    files
}

/// The folder that a path is in.
pub fn folder(path: &str) -> &str {
    path.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// Sources that a test makes up.
pub fn made_up(files: &[(&str, &str)]) -> Files {
    let owned = |(path, text): &(&str, &str)| (path.to_string(), text.to_string());
    files.iter().map(owned).collect()
}

/// Fails with one line for each violation.
#[track_caller]
pub fn assert_none(violations: &[String]) {
    assert!(violations.is_empty(), "{}", violations.join("\n"));
}
