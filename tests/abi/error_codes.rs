//! The crate's names for Metal's error codes stand for the numbers of Metal's header.

use std::collections::BTreeMap;

use crate::files;

/// The names of `MTLCommandBufferError` in upper snake case, with their numbers.
fn header_codes() -> BTreeMap<String, i64> {
    let headers = files::read("native/software/include/Metal", "h");
    let text = &headers[std::path::Path::new("MTLCommandBuffer.h")];
    let (_, rest) = text
        .split_once("NS_ENUM(NSUInteger, MTLCommandBufferError) {")
        .expect("the enumeration");
    let (inside, _) = rest.split_once('}').expect("its end");
    let codes = inside.split(',').filter_map(|line| {
        let (name, value) = line.trim().split_once(" = ")?;
        let name = name
            .strip_prefix("MTLCommandBufferError")
            .expect("its prefix");
        let mut snake = String::new();
        for letter in name.chars() {
            if letter.is_uppercase() && !snake.is_empty() {
                snake.push('_');
            }
            snake.extend(letter.to_uppercase());
        }
        Some((snake, value.parse().expect("a number")))
    });
    codes.collect()
}

/// The constants of a file in Rust.
fn crate_codes(text: &str) -> BTreeMap<String, i64> {
    let lines = text.lines().filter_map(|line| {
        let (name, value) = line.strip_prefix("pub const ")?.split_once(": i64 = ")?;
        Some((
            name.to_owned(),
            value.trim_end_matches(';').parse().unwrap(),
        ))
    });
    lines.collect()
}

#[test]
fn error_codes_are_those_of_metals_header() {
    let mut header = header_codes();
    // No error, and an older name of AccessRevoked.
    assert_eq!(header.remove("NONE"), Some(0));
    assert_eq!(header.remove("BLACKLISTED"), Some(4));
    let codes = crate_codes(include_str!("../../src/command_buffer_error.rs"));
    assert_eq!(codes, header);
    assert_eq!(
        codes["PAGE_FAULT"],
        metal_bridge::command_buffer_error::PAGE_FAULT
    );
}
