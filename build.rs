//! Compiles `native/` and links it: against Metal.framework on Apple's hosts, against the software Metal elsewhere.
//!
//! Sets `cfg(metal_backend)` if there is a Metal to call, and `cfg(software_metal)` where it is the software Metal (for
//! tests, and for what only the software Metal has). Without a Metal (no feature `software`, not Apple) the crate builds
//! with no native toolchain and every `Device` constructor returns `Error::NoDevice`.

#[path = "build/embedded.rs"]
mod embedded;
#[path = "build/objects.rs"]
mod objects;
#[path = "build/settings.rs"]
mod settings;
#[path = "build/toolchain.rs"]
mod toolchain;

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

use objects::{Flags, Language, Objects};
use settings::Settings;
use toolchain::{Missing, Toolchain};

/// Sanitizers for the native code, as `-fsanitize=` takes them; whoever sets it links with clang and the same flag.
const SANITIZE_VARIABLE: &str = "METAL_BRIDGE_SANITIZE";

/// The `libSoftwareMetal.a` to link, which this script compiles unless told; of the same sanitizers.
const SOFTWARE_METAL_VARIABLE: &str = "METAL_BRIDGE_SOFTWARE_METAL";

/// Set where all builds of one profile are to share what is compiled, as in a checkout of this project (.cargo/config.toml):
/// Cargo gives each choice of packages and features a folder of its own, and would compile the same native code for each.
/// Builds with sanitizers share nothing: their objects would have the same names.
const SHARE_VARIABLE: &str = "METAL_BRIDGE_SHARE_OBJECTS";

fn main() {
    println!("cargo::rustc-check-cfg=cfg(metal_backend, software_metal)");
    for path in ["build.rs", "build", "native"] {
        println!("cargo::rerun-if-changed={path}");
    }
    for variable in [
        toolchain::CLANG_VARIABLE,
        SANITIZE_VARIABLE,
        SOFTWARE_METAL_VARIABLE,
    ] {
        println!("cargo::rerun-if-env-changed={variable}");
    }

    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let apple = env::var("CARGO_CFG_TARGET_VENDOR").is_ok_and(|vendor| vendor == "apple");
    let software = env::var_os("CARGO_FEATURE_SOFTWARE").is_some();
    let result = if apple {
        build_for_apple(&root)
    } else if software {
        build_on_software_metal(&root)
    } else {
        return;
    };
    if let Err(message) = result {
        // One line, so that cargo shows the whole of it as the error of this package.
        println!("cargo::error={}", message.replace('\n', " "));
        exit(1);
    }
    println!("cargo::rustc-cfg=metal_backend");
}

/// The bridge on Apple's own frameworks, with the compiler of the Xcode command line tools.
fn build_for_apple(root: &Path) -> Result<(), String> {
    let os = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if os != "macos" {
        return Err(format!(
            "of Apple's systems metal-bridge supports macOS, not {os}"
        ));
    }
    let include = root.join("native/include");
    let native = format!(
        "-Wall -Wextra -O2 -g1 -mmacosx-version-min={}",
        deployment_target()
    );
    let flags = Flags {
        native: [words(&native), sanitizer_flags()].concat(),
        c: words("-std=gnu17"),
        objective_c: words("-fno-objc-arc -fblocks -fobjc-exceptions"),
        cxx: words("-std=c++17"),
    };
    let products = products();
    let generated = products.join("generated");
    let kernels = embedded::bridge_kernels(&root.join("native"), &generated)?;
    let mut objects = Objects::new(None, &products);
    let bridge = root.join("native/bridge");
    for path in [&bridge, &bridge.join("platform/apple"), &kernels] {
        objects.add(path, &flags, &[include.clone(), bridge.clone()])?;
    }
    objects.archive("metal_bridge_native")?;
    // CoreGraphics: without it MTLCreateSystemDefaultDevice() finds no device in a command-line program.
    // The oldest macOS that the build is for has all of them.
    for framework in [
        "Metal",
        "MetalPerformanceShaders",
        "MetalPerformanceShadersGraph",
        "Foundation",
        "CoreGraphics",
    ] {
        println!("cargo::rustc-link-lib=framework={framework}");
    }
    link_clang_runtime();
    let exported = [flags.objective_c, words(&native)].concat();
    export_metadata("", &exported, &[include]);
    Ok(())
}

/// The oldest macOS that the build is for: as asked for, but no older than the bridge knows. rustc's own default for Intel
/// Macs is older.
fn deployment_target() -> String {
    const OLDEST: &str = "11.0";
    println!("cargo::rerun-if-env-changed=MACOSX_DEPLOYMENT_TARGET");
    let asked = env::var("MACOSX_DEPLOYMENT_TARGET").unwrap_or_default();
    let major = asked
        .split('.')
        .next()
        .and_then(|text| text.parse::<u32>().ok());
    if major.is_some_and(|major| major >= 11) {
        asked
    } else {
        OLDEST.to_owned()
    }
}

/// What `@available` calls is in clang's runtime, which rustc leaves out (`-nodefaultlibs`). Rust's standard library has it
/// only in newer versions than the oldest that this crate builds with.
fn link_clang_runtime() {
    let output = Command::new("clang").arg("-print-resource-dir").output();
    // Without an answer there is nothing to add: if the runtime is missing after all, the linker names it.
    let Ok(output) = output else { return };
    let folder = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("lib/darwin");
    if folder.join("libclang_rt.osx.a").exists() {
        println!("cargo::rustc-link-search=native={}", folder.display());
        println!("cargo::rustc-link-lib=clang_rt.osx");
    }
}

/// The bridge and the software Metal on GNUstep, with clang.
fn build_on_software_metal(root: &Path) -> Result<(), String> {
    let os = env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if os != "linux" {
        return Err(format!(
            "the software Metal runs on Linux, not on {os}: build with `--no-default-features` (and the features \
             wanted), which needs no native toolchain and finds no device"
        ));
    }
    let products = products();
    let native = root.join("native");
    let software = native.join("software");
    let settings = Settings::read(&software.join("flags.mk"))?;
    let toolchain =
        Toolchain::find(&products, &settings).map_err(|missing: Missing| missing.to_string())?;

    let mut includes = vec![
        native.join("include"),
        software.join("include"),
        software.clone(),
    ];
    includes.extend(toolchain.includes.iter().cloned());
    let dialect = settings.words("OBJC_DIALECT");
    let flags = Flags {
        native: [settings.words("NATIVE_FLAGS"), sanitizer_flags()].concat(),
        c: settings.words("C_STANDARD"),
        objective_c: dialect.clone(),
        cxx: [
            settings.words("CXX_STANDARD"),
            settings.words("LIBRARY_CXX_FLAGS"),
        ]
        .concat(),
    };

    let generated = products.join("generated");
    let kernels = embedded::bridge_kernels(&native, &generated)?;
    let mut objects = Objects::new(Some(&toolchain.clang), &products);
    let objective_c = software.join("precompiled_objc.h");
    objects.precompile(&objective_c, Language::ObjectiveC, &flags, &includes)?;
    let bridge = native.join("bridge");
    let bridge_includes = [includes.as_slice(), std::slice::from_ref(&bridge)].concat();
    for path in [&bridge, &bridge.join("platform/software_metal"), &kernels] {
        objects.add(path, &flags, &bridge_includes)?;
    }
    if let Some(library) = env::var_os(SOFTWARE_METAL_VARIABLE) {
        link_software_metal(Path::new(&library))?;
    } else {
        let headers = embedded::shading_headers(&software, &generated, &toolchain.clang)?;
        let cxx = software.join("precompiled.h");
        objects.precompile(&cxx, Language::Cxx, &flags, &includes)?;
        for path in [&software, &headers] {
            objects.add(path, &flags, &includes)?;
        }
    }
    objects.archive("metal_bridge_native")?;

    for folder in &toolchain.library_folders {
        println!("cargo::rustc-link-search=native={}", folder.display());
    }
    for library in settings.words("LIBRARIES") {
        println!("cargo::rustc-link-lib=dylib={library}");
    }
    println!("cargo::rustc-cfg=software_metal");
    let exported = [dialect, settings.words("NATIVE_FLAGS")].concat();
    export_metadata(&toolchain.clang.display().to_string(), &exported, &includes);
    Ok(())
}

fn link_software_metal(library: &Path) -> Result<(), String> {
    let folder = library
        .parent()
        .filter(|_| library.ends_with("libSoftwareMetal.a") && library.exists());
    let Some(folder) = folder else {
        return Err(format!(
            "{SOFTWARE_METAL_VARIABLE} must be the path of a libSoftwareMetal.a, and is {}",
            library.display()
        ));
    };
    println!("cargo::rerun-if-changed={}", library.display());
    println!("cargo::rustc-link-search=native={}", folder.display());
    // Classes register themselves from constructors that no symbol refers to.
    println!("cargo::rustc-link-lib=static:+whole-archive=SoftwareMetal");
    Ok(())
}

/// Where sources are generated and compiled.
fn products() -> PathBuf {
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    // The folder is build/PACKAGE-HASH/out, and Cargo lets one build at a time use `build`.
    let shared = out
        .ancestors()
        .nth(2)
        .map(|builds| builds.join("metal-bridge-native"));
    let shares = env::var_os(SHARE_VARIABLE).is_some() && sanitizer_flags().is_empty();
    shared
        .filter(|folder| shares && fs::create_dir_all(folder).is_ok())
        .unwrap_or(out)
}

/// What a crate that depends on this one needs to compile Objective-C beside it: `DEP_METAL_BRIDGE_CLANG`, `_FLAGS` and
/// `_INCLUDE` in its build script.
fn export_metadata(clang: &str, flags: &[String], includes: &[PathBuf]) {
    let include = env::join_paths(includes).expect("no colon in an include path");
    println!("cargo::metadata=CLANG={clang}");
    println!("cargo::metadata=FLAGS={}", flags.join(" "));
    println!("cargo::metadata=INCLUDE={}", include.to_string_lossy());
}

fn words(text: &str) -> Vec<String> {
    text.split_whitespace().map(str::to_owned).collect()
}

/// What [`SANITIZE_VARIABLE`] asks for.
fn sanitizer_flags() -> Vec<String> {
    let sanitizers = env::var(SANITIZE_VARIABLE).unwrap_or_default();
    if sanitizers.is_empty() {
        return Vec::new();
    }
    // The check of virtual tables calls a runtime that only a C++ link brings along.
    let mut flags = words("-fno-sanitize=vptr -fno-omit-frame-pointer -g");
    flags.insert(0, format!("-fsanitize={sanitizers}"));
    flags
}
