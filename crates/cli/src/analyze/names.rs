//! What reports call lines, objects, accesses and patterns.

use metal_bridge::analysis::{AccessPattern, AccessProfile, Object, SourceLine, Space};

pub fn line_name(at: &SourceLine) -> String {
    match at.line {
        0 => "an unknown line".to_owned(),
        line => format!("{}:{line}", at.file),
    }
}

pub fn object_name(object: &Object) -> String {
    match (&object.name[..], object.space) {
        ("", Space::ConstantTable) => "a constant table".to_owned(),
        ("", Space::Elsewhere) => "memory of no argument".to_owned(),
        ("", _) if object.argument >= 0 => format!("argument {}", object.argument),
        (name, _) => name.to_owned(),
    }
}

pub fn access_name(access: &AccessProfile) -> String {
    let (what, of) = match (access.atomic, access.writes) {
        (true, _) => ("atomic", "on"),
        (false, true) => ("write", "to"),
        (false, false) => ("read", "of"),
    };
    let matrix = if access.collective {
        " matrix rows of"
    } else {
        ""
    };
    format!(
        "{what}{matrix} {} B {of} {}",
        access.size,
        object_name(&access.object)
    )
}

/// The pattern that most executions have, with the share of the executions if not all have it.
pub fn pattern_name(access: &AccessProfile) -> String {
    let Some((pattern, count)) = access.pattern() else {
        return "unknown".to_owned();
    };
    let name = match pattern {
        AccessPattern::Broadcast => "broadcast".to_owned(),
        AccessPattern::Sequential => "sequential".to_owned(),
        AccessPattern::Strided { stride } => format!("stride {stride} B"),
        _ => "gathered".to_owned(),
    };
    if count == access.executions {
        return name;
    }
    format!("{name} ({})", percent(count, access.executions))
}

pub fn operations_name(kind: &str) -> String {
    match kind {
        "functions" => "calls of functions".to_owned(),
        _ => format!("operations of {kind}"),
    }
}

pub fn percent(part: u64, whole: u64) -> String {
    match whole {
        0 => "-".to_owned(),
        _ => format!("{:.0} %", 100.0 * part as f64 / whole as f64),
    }
}
