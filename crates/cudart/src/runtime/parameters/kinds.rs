//! How a parameter is taken, from its tokens: whether it is a value or a pointer, if they show that.

use super::source::{SPACES, Source};
use super::tokens::{Why, is_identifier};

/// The last word of each parameter, and whether it is a value: `None` if it is neither plainly.
pub(super) fn parameters<'a>(
    source: &Source,
    tokens: &[&'a str],
) -> Result<Vec<(&'a str, Option<bool>)>, Why> {
    let parameters = split(tokens)
        .ok_or("the kernel's parameters have brackets or operators that may mean several things")?;
    let parameter = |(all, outer): &(Vec<_>, Vec<_>)| {
        let name = outer.last().copied().unwrap_or_default();
        (name, is_value(source, all, outer))
    };
    Ok(parameters.iter().map(parameter).collect())
}

/// The tokens of each parameter without those in parentheses and attributes, and those of them outside `<>`; `None` if
/// `<` may compare.
fn split<'a>(tokens: &[&'a str]) -> Option<Vec<(Vec<&'a str>, Vec<&'a str>)>> {
    let mut parameters = vec![(Vec::new(), Vec::new())];
    let mut open = Vec::new();
    let mut before = "";
    for token in tokens {
        let is_nested = open.iter().any(|bracket| *bracket != "<");
        let is_outer = open.is_empty();
        match *token {
            "(" | "[" => open.push(*token),
            ")" | "]" => drop(open.pop()?),
            _ if is_nested => {}
            "<" if is_identifier(before) => open.push("<"),
            ">" => drop(open.pop()?),
            // `<` compares; a default value, `->`, `>=` or `<=`.
            "<" | "=" | "-" | "{" | ";" => return None,
            "," if is_outer => parameters.push((Vec::new(), Vec::new())),
            _ => {}
        }
        before = token;
        let (all, outer) = parameters.last_mut()?;
        if !is_nested && !matches!(*token, "[" | ",") {
            all.push(*token);
            outer.extend(is_outer.then_some(*token));
        }
    }
    open.is_empty().then_some(parameters)
}

fn is_value(source: &Source, all: &[&str], outer: &[&str]) -> Option<bool> {
    let has = |token| outer.contains(&token);
    let (name, kind) = outer.split_last()?;
    // `T (&n)[4]`, functions and `decltype` have parentheses.
    if has("(") || !is_identifier(name) || has("*") == has("&") {
        return None;
    }
    if has("*") {
        // There are no pointers to references: this is a pointer, whatever the type's name stands for.
        let after = kind.rsplit(|token| *token == "*").next()?;
        let words = ["const", "volatile", "__restrict", "__restrict__"];
        let is_qualifier = |token| words.contains(token) || SPACES.contains(token);
        return after.iter().all(is_qualifier).then_some(false);
    }
    let [kind @ .., "&", _] = all else {
        return None;
    };
    // A reference to a reference is as the inner one says.
    if source.may_be_reference(kind) {
        return None;
    }
    let spaces = SPACES.iter().filter(|space| kind.contains(space));
    match spaces.copied().collect::<Vec<_>>().as_slice() {
        ["constant"] => Some(true),
        ["device"] => Some(false),
        _ => None,
    }
}
