//! The texts of a folder's files, which a test may change before they are read.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Texts behind paths relative to their folder.
pub type Files = BTreeMap<PathBuf, String>;

/// The files with this extension below a folder of the repository.
pub fn read(folder: &str, extension: &str) -> Files {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let mut files = Files::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|of| of == extension) {
                let text = fs::read_to_string(&path).expect("UTF-8");
                let path = path.strip_prefix(&root).expect("below the folder");
                files.insert(path.to_owned(), text);
            }
        }
    }
    files
}

/// Writes the files below `folder`.
pub fn write(folder: &Path, files: &Files) {
    for (path, text) in files {
        let path = folder.join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a new folder");
        fs::write(path, text).expect("a new file");
    }
}

/// Replaces the first `from`, which must be in one of the files.
pub fn changed(files: &Files, from: &str, to: &str) -> Files {
    let mut files = files.clone();
    let text = files
        .values_mut()
        .find(|text| text.contains(from))
        .unwrap_or_else(|| panic!("no `{from}` to change"));
    *text = text.replacen(from, to, 1);
    files
}
