//! [`ChoiceFile`]: where measurements outlive the process.

use std::collections::BTreeMap;
use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::{env, fs, io, process};

use crate::backend::choice::{Faster, Found};
use crate::metal::device::Device;

/// All devices' measurements.
type Devices = BTreeMap<String, Found>;

/// The part of the file that is about one device. The file is a cache: what cannot be read or written is measured again.
pub(super) struct ChoiceFile {
    path: Option<PathBuf>,
    device: String,
}

impl ChoiceFile {
    pub(super) fn of(device: &Device) -> ChoiceFile {
        let version = env!("CARGO_PKG_VERSION");
        ChoiceFile {
            path: folder().map(|folder| folder.join("choices.json")),
            device: format!("{}, system {}, crate {version}", device.name(), system()),
        }
    }

    /// What is known about the device.
    pub(super) fn read(&self) -> Found {
        let path = self.path.as_deref();
        path.map(read)
            .unwrap_or_default()
            .remove(&self.device)
            .unwrap_or_default()
    }

    /// Adds a class and who was faster.
    pub(super) fn add(&self, found: &(String, Faster)) {
        let Some(path) = &self.path else { return };
        // What processes find at one time, some measure again.
        static ADDING: Mutex<()> = Mutex::new(());
        let _adding = ADDING.lock().unwrap_or_else(PoisonError::into_inner);
        let mut devices = read(path);
        let device = devices.entry(self.device.clone()).or_default();
        device.insert(found.0.clone(), found.1);
        // Readers see the old file or the new one.
        let _ = write(path, &devices);
    }
}

fn read(path: &Path) -> Devices {
    let text = fs::read(path).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

fn write(path: &Path, devices: &Devices) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let own = folder.join(format!("choices.{}.json", process::id()));
    let written = fs::write(&own, serde_json::to_vec_pretty(devices)?);
    let renamed = written.and_then(|()| fs::rename(&own, path));
    if renamed.is_err() {
        let _ = fs::remove_file(&own);
    }
    renamed
}

/// `METAL_BRIDGE_CACHE`, or `metal-bridge` in the user's folder for caches.
fn folder() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty());
    if let Some(own) = variable("METAL_BRIDGE_CACHE") {
        return Some(own.into());
    }
    let user = variable("HOME").map(PathBuf::from);
    let caches = variable("XDG_CACHE_HOME").map(PathBuf::from).or_else(|| {
        // The first is there on Apple's systems.
        let library = user.as_ref()?.join("Library/Caches");
        Some(if library.is_dir() {
            library
        } else {
            user?.join(".cache")
        })
    });
    caches
        .filter(|caches| caches.is_absolute())
        .map(|caches| caches.join("metal-bridge"))
}

/// The system's version (`uname -r`).
fn system() -> String {
    let mut names = MaybeUninit::<libc::utsname>::uninit();
    // SAFETY: fills the structure, with strings that end in zero, if it returns zero.
    unsafe {
        if libc::uname(names.as_mut_ptr()) != 0 {
            return String::new();
        }
        let names = names.assume_init();
        CStr::from_ptr(names.release.as_ptr())
            .to_string_lossy()
            .into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    fn file(path: PathBuf) -> ChoiceFile {
        ChoiceFile {
            path: Some(path),
            device: "a device".to_owned(),
        }
    }

    #[test]
    fn threads_add_what_they_find_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let file = file(folder.path().join("choices.json"));
        thread::scope(|scope| {
            for class in 0..32 {
                let file = &file;
                scope.spawn(move || file.add(&(class.to_string(), Faster::Kernels)));
            }
        });
        assert_eq!(file.read().len(), 32);
    }

    #[test]
    fn a_file_that_cannot_be_replaced_leaves_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("choices.json");
        fs::create_dir(&path).unwrap();
        file(path).add(&("a class".to_owned(), Faster::Kernels));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
