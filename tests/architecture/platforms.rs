//! The bridge does not know which Metal it runs on, and the software Metal does not know who uses it.

use crate::files::{self, Files};

/// Names that tell platforms, compilers or Objective-C runtimes apart. Which headers a system has tells systems apart.
const PLATFORMS: [&str; 11] = [
    "__APPLE__",
    "__MACH__",
    "TARGET_OS_",
    "__linux__",
    "__unix__",
    "_WIN32",
    "GNUSTEP",
    "__GNU_LIBOBJC__",
    "SOFTWARE_METAL",
    "SoftwareMetal",
    "__has_include",
];

/// The preprocessor's conditions that ask for a platform, and what includes a header of the software Metal alone.
fn platform_conditions(files: &Files) -> Vec<String> {
    found(files, |line| {
        let directive = line.trim_start().strip_prefix('#');
        let directive = directive.map_or("", str::trim_start);
        let decides = ["if", "elif", "include", "import"]
            .iter()
            .any(|word| directive.starts_with(word));
        decides && PLATFORMS.iter().any(|name| directive.contains(name))
    })
}

/// Lines that name the bridge or the crate.
fn names_of_the_bridge(files: &Files) -> Vec<String> {
    found(files, |line| {
        let line = line.to_lowercase();
        [
            "mtb_",
            "mtbi_",
            "metal_bridge",
            "metal-bridge",
            "metalbridge",
        ]
        .iter()
        .any(|name| line.contains(name))
    })
}

fn found(files: &Files, is_wrong: impl Fn(&str) -> bool) -> Vec<String> {
    let lines = files.iter().flat_map(|(path, text)| {
        let numbered = text.lines().enumerate();
        numbered.map(move |(index, line)| (path, index + 1, line))
    });
    lines
        .filter(|(.., line)| is_wrong(line))
        .map(|(path, number, line)| format!("{path}:{number}: {line}"))
        .collect()
}

#[test]
fn the_bridge_asks_for_no_platform() {
    let mut files = files::read(&["native/bridge"]);
    // Two folders, of which the build takes one.
    files.retain(|path, _| !path.starts_with("native/bridge/platform/"));
    files::assert_none(&platform_conditions(&files));
}

#[test]
fn a_question_for_the_platform_is_found() {
    let files = files::made_up(&[(
        "a.m",
        "#ifdef __OBJC__\n#if defined(__APPLE__)\n# elif TARGET_OS_OSX\n#import <SoftwareMetal/SoftwareMetal.h>\n\
         #include <Metal/Metal.h>\n// #if __APPLE__ in a comment\n#if __has_include(<xlocale.h>)\n",
    )]);
    let found = platform_conditions(&files);
    let lines: Vec<_> = found.iter().map(|line| &line[..6]).collect();
    assert_eq!(lines, ["a.m:2:", "a.m:3:", "a.m:4:", "a.m:7:"]);
}

#[test]
fn the_software_metal_does_not_name_the_bridge() {
    let mut files = files::read(&["native/software"]);
    // Its tests may be called what the repository is called, in folders for temporary files.
    files.retain(|path, _| !path.starts_with("native/software/tests/"));
    files::assert_none(&names_of_the_bridge(&files));
}

#[test]
fn a_name_of_the_bridge_is_found() {
    let files = files::made_up(&[
        ("a.h", "struct mtb_buffer;\nint mtbl;\n"),
        ("b.cpp", "folder + \"/metal-bridge\";\n"),
    ]);
    assert_eq!(names_of_the_bridge(&files).len(), 2);
}
