//! The header under the rules of Apple's compiler, and what it refuses.

use metal_bridge::groups::with_header;
use metal_bridge::software::{CheckOptions, check_source};

use crate::run::{TYPES, source};

#[test]
fn the_header_obeys_the_rules_of_apples_compiler() {
    for kind in TYPES {
        let options = CheckOptions {
            name: "kernels.metal".to_owned(),
            strict: true,
            ..CheckOptions::default()
        };
        let check = check_source(source(kind).as_bytes(), &options).expect("a check");
        assert!(check.succeeded, "{:#?}", check.diagnostics);
        assert_eq!(check.kernels.len(), 3);
    }
}

#[test]
fn kernels_of_grids_obey_the_rules_of_apples_compiler() {
    let options = CheckOptions {
        strict: true,
        ..CheckOptions::default()
    };
    for source in [
        &with_header("grid.metal", include_str!("grid.metal")),
        include_str!("../../shaders/grid_probe.metal"),
        include_str!("../../shaders/scan.metal"),
    ] {
        let check = check_source(source.as_bytes(), &options).expect("a check");
        assert!(check.succeeded, "{:#?}", check.diagnostics);
    }
}

#[test]
fn tiles_have_up_to_32_threads() {
    let pattern = "#include \"cooperative_groups.h\"\nusing tile = cooperative_groups::thread_block_tile<SIZE>;\n\
                  kernel void k(device uint *x) { x[0] = tile::max_size(); }\n";
    for (size, is_good) in [(32, true), (0, false), (3, false), (64, false)] {
        let source = with_header("k.metal", &pattern.replace("SIZE", &size.to_string()));
        let check = check_source(source.as_bytes(), &CheckOptions::default()).expect("a check");
        assert_eq!(check.succeeded, is_good, "{size}");
    }
}
