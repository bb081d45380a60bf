//! The sources below a folder, which a test may change before it reads them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Texts behind paths relative to their folder.
pub struct Sources(pub BTreeMap<PathBuf, String>);

impl Sources {
    /// The Rust files below a folder of the repository.
    pub fn read(folder: &str) -> Sources {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        let mut files = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() && path.file_name().is_some_and(|name| name != "target") {
                    folders.push(path);
                } else if path.extension().is_some_and(|of| of == "rs") {
                    let text = fs::read_to_string(&path).expect("UTF-8");
                    let path = path.strip_prefix(&root).expect("below the folder");
                    files.insert(path.to_owned(), text);
                }
            }
        }
        Sources(files)
    }

    /// The files that hold `text`.
    pub fn files_with<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a Path> {
        let files = self.0.iter();
        files.filter_map(move |(path, of)| of.contains(text).then_some(path.as_path()))
    }

    /// Replaces `line`, which must be in the file.
    pub fn change(&mut self, file: &str, line: &str, change: impl FnOnce(&str) -> String) {
        let text = self.0.get_mut(Path::new(file)).expect("a file");
        assert!(text.contains(line), "{file}: {line}");
        *text = text.replacen(line, &change(line), 1);
    }
}
