//! A folder of sources, which `metal-bridge check` and `metal-bridge analyze` are called in.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use metal_bridge_test_support::Printed;
use tempfile::TempDir;

/// Variables that select other checks, other colors, or another order in which threads meet a bug.
const VARIABLES: [&str; 5] = [
    "NO_COLOR",
    "SOFTWARE_METAL_PROFILE",
    "SOFTWARE_METAL_SANITIZE",
    "SOFTWARE_METAL_SANITIZE_EXIT",
    "SOFTWARE_METAL_SHUFFLE",
];

pub struct Folder {
    directory: TempDir,
    /// The first words of every command.
    words: &'static [&'static str],
}

impl Folder {
    pub fn new(words: &'static [&'static str]) -> Folder {
        let directory = tempfile::tempdir().unwrap();
        Folder { directory, words }
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    pub fn file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        fs::write(&path, contents).unwrap();
        path
    }

    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_metal-bridge"));
        for variable in VARIABLES {
            command.env_remove(variable);
        }
        command.args(self.words).args(arguments);
        command.current_dir(self.path()).stdin(Stdio::null());
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Printed {
        self.command(arguments).output().unwrap().into()
    }

    pub fn run_stdin(&self, arguments: &[&str], source: &[u8]) -> Printed {
        let mut command = self.command(arguments);
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = streams.stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(source).unwrap();
        child.wait_with_output().unwrap().into()
    }
}
