//! Finds what the software Metal is built with: clang, GNUstep, GCC's Objective-C runtime and the blocks runtime.

use std::env;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::settings::Settings;

/// Names the clang to use, before any that is found.
pub const CLANG_VARIABLE: &str = "METAL_BRIDGE_CLANG";

pub struct Toolchain {
    pub clang: PathBuf,
    pub includes: Vec<PathBuf>,
    /// Where the linker would not look by itself.
    pub library_folders: Vec<PathBuf>,
}

/// Everything that is missing, for one message.
pub struct Missing {
    what: Vec<String>,
    packages: Vec<&'static str>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "the software Metal cannot be built: {}. On Debian and Ubuntu install what is missing with `sudo apt-get \
             install {}`. Without it, build with `--no-default-features` (and the features wanted): no native toolchain \
             is needed then, and no device is found",
            self.what.join("; "),
            self.packages.join(" ")
        )
    }
}

impl Missing {
    fn add(&mut self, what: impl Into<String>, package: &'static str) {
        self.what.push(what.into());
        if !self.packages.contains(&package) {
            self.packages.push(package);
        }
    }
}

impl Toolchain {
    /// Finds everything, or says all that is missing at once. `products` receives the include folder described at
    /// [`objc_compatibility_folder`].
    pub fn find(products: &Path, settings: &Settings) -> Result<Toolchain, Missing> {
        let mut missing = Missing {
            what: Vec::new(),
            packages: Vec::new(),
        };
        let clang = find_clang(settings, &mut missing);
        let gnustep = find_gnustep();
        if gnustep.is_none() {
            missing.add(
                "no GNUstep headers (Foundation/Foundation.h)",
                "libgnustep-base-dev",
            );
        }
        if !Path::new("/usr/include/Block.h").exists()
            && !Path::new("/usr/local/include/Block.h").exists()
        {
            missing.add("no blocks runtime (Block.h)", "libblocksruntime-dev");
        }
        let gcc = find_gcc_objc();
        if gcc.is_none() {
            missing.add("no Objective-C runtime of GCC (objc/objc.h)", "gobjc");
        }
        if let Some(clang) = &clang {
            if !compiles_cxx(clang, products) {
                missing.add("clang finds no C++ standard library", "g++");
            }
        }
        let (Some(clang), Some(gnustep), Some(gcc)) = (clang, gnustep, gcc) else {
            return Err(missing);
        };
        if !missing.what.is_empty() {
            return Err(missing);
        }
        let compatibility = objc_compatibility_folder(products, &gcc.join("include/objc"))
            .map_err(|error| {
                let mut failed = Missing {
                    what: Vec::new(),
                    packages: Vec::new(),
                };
                failed.add(
                    format!("cannot write to {}: {error}", products.display()),
                    "libgnustep-base-dev",
                );
                failed
            })?;
        let mut includes = vec![compatibility];
        includes.extend(gnustep);
        let library_folders = if linker_finds_libobjc() {
            Vec::new()
        } else {
            vec![gcc]
        };
        Ok(Toolchain {
            clang,
            includes,
            library_folders,
        })
    }
}

fn find_clang(settings: &Settings, missing: &mut Missing) -> Option<PathBuf> {
    let named = env::var(CLANG_VARIABLE)
        .ok()
        .filter(|name| !name.is_empty());
    let candidates: Vec<String> = match &named {
        Some(name) => vec![name.clone()],
        None => settings.words("CLANG_NAMES"),
    };
    let oldest = settings
        .words("OLDEST_CLANG")
        .first()
        .and_then(|word| word.parse().ok())
        .unwrap_or(0);
    let mut too_old = Vec::new();
    for candidate in &candidates {
        match clang_version(candidate) {
            Some(version) if version >= oldest => return Some(absolute_program(candidate)),
            Some(version) => too_old.push(format!("{candidate} is version {version}")),
            None => {}
        }
    }
    let mut what = match named {
        Some(name) => {
            format!("{CLANG_VARIABLE}={name} is not a clang of version {oldest} or newer")
        }
        None => format!("no clang of version {oldest} or newer"),
    };
    if !too_old.is_empty() {
        what = format!("{what} ({})", too_old.join(", "));
    }
    missing.add(what, "clang-19");
    None
}

fn clang_version(program: &str) -> Option<u32> {
    let output = Command::new(program).arg("--version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let (_, version) = text.split_once("clang version ")?;
    version.split('.').next()?.trim().parse().ok()
}

/// The program's whole path, since it is also recorded for run time, where PATH may differ.
fn absolute_program(program: &str) -> PathBuf {
    if program.contains('/') {
        return PathBuf::from(program);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
        .unwrap_or_else(|| PathBuf::from(program))
}

/// GNUstep's include folders: as gnustep-config says, else where Debian, Ubuntu and local installations put them.
fn find_gnustep() -> Option<Vec<PathBuf>> {
    let has_foundation = |folder: &PathBuf| folder.join("Foundation/Foundation.h").is_file();
    let mut folders: Vec<PathBuf> = Vec::new();
    if let Ok(output) = Command::new("gnustep-config").arg("--objc-flags").output() {
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        folders.extend(
            text.split_whitespace()
                .filter_map(|word| word.strip_prefix("-I"))
                .map(PathBuf::from),
        );
    }
    folders.push(PathBuf::from("/usr/include/GNUstep"));
    folders.push(PathBuf::from("/usr/local/include/GNUstep"));
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    folders.push(PathBuf::from(format!(
        "/usr/include/{architecture}-linux-gnu/GNUstep"
    )));
    let found = folders.into_iter().find(has_foundation)?;
    Some(vec![found])
}

/// The newest GCC folder that has the Objective-C headers, such as `/usr/lib/gcc/x86_64-linux-gnu/12`.
fn find_gcc_objc() -> Option<PathBuf> {
    let architecture = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    let mut found: Vec<(u32, PathBuf)> = Vec::new();
    for triple in fs::read_dir("/usr/lib/gcc").ok()?.flatten() {
        if !triple
            .file_name()
            .to_string_lossy()
            .starts_with(&architecture)
        {
            continue;
        }
        for version in fs::read_dir(triple.path()).ok()?.flatten() {
            let name = version.file_name().to_string_lossy().into_owned();
            let major = name.split('.').next().and_then(|text| text.parse().ok());
            if let Some(major) =
                major.filter(|_| version.path().join("include/objc/objc.h").is_file())
            {
                found.push((major, version.path()));
            }
        }
    }
    found.into_iter().max().map(|(_, folder)| folder)
}

fn linker_finds_libobjc() -> bool {
    let output = Command::new("cc")
        .arg("-print-file-name=libobjc.so")
        .output();
    // The answer is the bare name if there is no such file.
    output.is_ok_and(|output| output.stdout.contains(&b'/'))
}

fn compiles_cxx(clang: &Path, out: &Path) -> bool {
    let probe = out.join("probe.cpp");
    if fs::write(&probe, "#include <atomic>\n#include <string>\n").is_err() {
        return false;
    }
    let arguments = ["-x", "c++", "-std=c++20", "-fsyntax-only"];
    Command::new(clang)
        .args(arguments)
        .arg(&probe)
        .output()
        .is_ok_and(|output| output.status.success())
}

/// An include folder with GCC's `objc/` headers and nothing else of GCC's: the folder beside it also holds a
/// `stdatomic.h` that breaks clang. GNUstep further asks for `objc/blocks_runtime.h`, which no package ships.
fn objc_compatibility_folder(out: &Path, gcc_objc: &Path) -> std::io::Result<PathBuf> {
    let include = out.join("objc-compatibility");
    let objc = include.join("objc");
    fs::create_dir_all(&objc)?;
    for header in fs::read_dir(gcc_objc)? {
        let header = header?;
        let copy = objc.join(header.file_name());
        // Written once: a newer file would make every object look out of date.
        if !copy.exists() {
            fs::copy(header.path(), copy)?;
        }
    }
    let blocks = objc.join("blocks_runtime.h");
    if !blocks.exists() {
        fs::write(&blocks, "#include <Block.h>\n")?;
    }
    Ok(include)
}
