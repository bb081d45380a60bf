//! The software Metal's headers say what Apple's do: every selector with its arguments and result, every enumeration and
//! constant, every structure; and they lack nothing of Apple's except what `absent.txt` names with a reason.
//!
//! Apple's side is read from the sources of `objc2-metal` and of its siblings for Metal Performance Shaders (generated
//! from Apple's headers), which are parsed and not built.
#![cfg(software_metal)]

mod absent;
mod bindings;
mod compare;
mod headers;
mod interface;
mod rust_types;

use std::path::Path;
use std::sync::LazyLock;

use compare::Comparison;
use interface::Interface;

static APPLES: LazyLock<Interface> = LazyLock::new(bindings::read);
/// Shows what the comparison prints.
const PAGE: &str = include_str!("../../docs/software-metal.md");
const HEADERS: &str = "#import <Metal/Metal.h>\n#import <MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h>\n";

#[test]
fn our_interface_is_apples() {
    let apples = &*APPLES;
    let ours = headers::read(HEADERS, &apples.values.keys().collect::<Vec<_>>());
    let comparison = Comparison::of(&ours, apples);
    let counts = comparison.counts.to_string();
    println!("{counts}");
    let differences = &comparison.differences;
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    comparison.counts.expect_many();

    let unexplained = absent::unexplained(&comparison.missing);
    assert!(
        unexplained.is_empty(),
        "neither declared nor in absent.txt (or in absent.txt and not missing):\n{}",
        unexplained.join("\n")
    );
    assert!(
        PAGE.contains(&format!("\n{counts}\n")),
        "docs/software-metal.md does not show this line:\n{counts}"
    );
}

#[test]
fn each_kind_of_disagreement_is_seen() {
    let apples = &*APPLES;
    for (declaration, culprit) in [
        (
            "@protocol MTLFence <NSObject>\n- (void)wave;\n@end",
            "-wave",
        ),
        (
            "@protocol MTLFence <NSObject>\n- (NSUInteger)label;\n@end",
            "-label",
        ),
        (
            "@protocol MTLEvent <NSObject>\n- (void)setLabel:(NSUInteger)label;\n@end",
            "-setLabel:",
        ),
        (
            "@interface MTLHeapDescriptor : NSObject\n+ (NSUInteger)size;\n@end",
            "+size",
        ),
        ("@protocol MTLWave <NSObject>\n@end", "MTLWave"),
        (
            "typedef NS_ENUM(NSUInteger, MTLHeapType) { MTLHeapTypeAutomatic = 0 };",
            "MTLHeapType",
        ),
        (
            "typedef NS_ENUM(NSInteger, MTLHeapType) { MTLHeapTypeAutomatic = 1 };",
            "MTLHeapTypeAutomatic",
        ),
        (
            "#define MTLResourceStorageModeShift 5",
            "MTLResourceStorageModeShift",
        ),
        (
            "typedef struct { NSUInteger width, depth, height; } MTLSize;",
            "MTLSize",
        ),
        ("extern NSString *const MTLWave;", "MTLWave"),
        ("void MTLWave(void);", "MTLWave"),
        (
            "@interface MPSKernel : NSObject\n- (NSUInteger)label;\n@end",
            "-label",
        ),
        (
            "@interface MPSGraphType : NSObject\n- (void)wave;\n@end",
            "-wave",
        ),
    ] {
        let source = format!("#import <Foundation/Foundation.h>\n{declaration}\n");
        let ours = headers::read(&source, &apples.values.keys().collect::<Vec<_>>());
        let lines = Comparison::of(&ours, apples).differences;
        assert_eq!(lines.len(), 1, "{declaration}: {lines:?}");
        assert!(lines[0].contains(culprit), "{declaration}: {lines:?}");
    }
}

/// Each header can be the only one that a program includes, and all of them are C++ as well.
#[test]
fn headers_stand_alone() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("native/software/include");
    let mut count = 0;
    for part in [
        "Metal",
        "MetalPerformanceShaders/MPSCore",
        "MetalPerformanceShaders/MPSMatrix",
        "MetalPerformanceShaders/MPSNDArray",
        "MetalPerformanceShaders",
        "MetalPerformanceShadersGraph",
        "SoftwareMetal",
        "dispatch",
        "os",
        "simd",
        "sys",
        ".",
    ] {
        for entry in std::fs::read_dir(folder.join(part)).expect("a folder of headers") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "h") {
                headers::check_alone(&path, "objective-c");
                count += 1;
            }
        }
    }
    for header in [
        "Metal/Metal.h",
        "MetalPerformanceShadersGraph/MetalPerformanceShadersGraph.h",
    ] {
        headers::check_alone(&folder.join(header), "objective-c++");
    }
    println!("{count} headers stand alone");
    assert!(count > 50);
}
