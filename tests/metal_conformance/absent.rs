//! What the software Metal leaves out on purpose.

const ABSENT: &str = include_str!("absent.txt");

/// Entries of `missing` that no line of the list names, and lines that name nothing.
pub fn unexplained(missing: &[String]) -> Vec<String> {
    let patterns: Vec<&str> = ABSENT
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .collect();
    let named = |entry: &&String| patterns.iter().any(|pattern| matches(pattern, entry));
    let unnamed = missing.iter().filter(|entry| !named(entry)).cloned();
    let idle = |pattern: &&&str| !missing.iter().any(|entry| matches(pattern, entry));
    let idle = patterns.iter().filter(idle);
    unnamed
        .chain(idle.map(|pattern| format!("absent.txt: `{pattern}` names nothing")))
        .collect()
}

/// `*` stands for any text.
fn matches(pattern: &str, text: &str) -> bool {
    let Some((first, mut left)) = pattern.split_once('*') else {
        return pattern == text;
    };
    let Some(mut rest) = text.strip_prefix(first) else {
        return false;
    };
    while let Some((piece, after)) = left.split_once('*') {
        let Some(at) = rest.find(piece) else {
            return false;
        };
        rest = &rest[at + piece.len()..];
        left = after;
    }
    rest.ends_with(left)
}

#[test]
fn patterns_match_as_said() {
    assert!(matches("class MTL4*", "class MTL4Compiler"));
    assert!(matches(
        "MTLDevice -*Texture*",
        "MTLDevice -newTextureWithDescriptor:"
    ));
    assert!(!matches(
        "MTLDevice -*Texture*",
        "MTLHeap -newTextureWithDescriptor:"
    ));
    assert!(!matches("class MTLArgument", "class MTLArgumentEncoder"));
    assert!(!matches("class *Argument", "class MTLArgumentEncoder"));
}
