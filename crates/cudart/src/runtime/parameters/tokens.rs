//! The tokens of Metal source before its directives are looked at: words, literals, and every other character alone.

/// What stands for the end of a line, where a directive ends.
pub(super) const LINE_END: &str = "\n";

/// The source with one kind of line end, and its continued lines joined, which comes before all else in C++.
pub(super) fn joined(source: &str) -> String {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    let mut text = String::with_capacity(source.len());
    let mut rest = source.as_str();
    while let Some(place) = rest.find('\\') {
        let (before, after) = (&rest[..place], &rest[place + 1..]);
        text.push_str(before);
        // Clang joins lines with blanks after the backslash, too.
        let line = after.trim_start_matches([' ', '\t', '\u{b}', '\u{c}']);
        rest = match line.strip_prefix('\n') {
            Some(next) => next,
            None => {
                text.push('\\');
                after
            }
        };
    }
    text + rest
}

/// The tokens of joined lines, without comments. Some spellings make this reader and a compiler see different tokens:
/// then the error says which.
pub(super) fn tokens(text: &str) -> Result<Vec<&str>, String> {
    if text.contains("??/") {
        return Err("the source has a trigraph".to_owned());
    }
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = if first == '\n' {
            1
        } else if first.is_whitespace() {
            rest = &rest[first.len_utf8()..];
            continue;
        } else if rest.starts_with("//") {
            rest = &rest[rest.find('\n').unwrap_or(rest.len())..];
            continue;
        } else if let Some(comment) = rest.strip_prefix("/*") {
            rest = &rest[comment.find("*/").map_or(rest.len(), |end| end + 4)..];
            continue;
        } else if matches!(first, '"' | '\'') {
            literal_length(rest, first)
        } else if is_word(first) {
            let length = word_length(rest);
            if rest[..length].ends_with('R') && rest[length..].starts_with('"') {
                return Err("the source has a raw string".to_owned());
            }
            length
        } else {
            symbol_length(rest, first)?
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || !c.is_ascii()
}

/// Bytes of the word at the start of `text`; in a number, a quote may separate digits.
fn word_length(text: &str) -> usize {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    let mut chars = text.char_indices().peekable();
    while let Some((place, c)) = chars.next() {
        let separates =
            is_number && c == '\'' && chars.peek().is_some_and(|(_, next)| is_word(*next));
        if !separates && (!is_word(c) || c.is_whitespace()) {
            return place;
        }
    }
    text.len()
}

/// Bytes of the literal at the start of `text`, its quotes included. Without a second quote it ends with the line.
fn literal_length(text: &str, quote: char) -> usize {
    let mut is_escaped = false;
    for (place, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return place,
            c if c == quote && !is_escaped => return place + 1,
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    text.len()
}

/// Bytes of the character at the start of `text`, which must not begin another spelling of a bracket or of `#`.
fn symbol_length(text: &str, first: char) -> Result<usize, String> {
    let begins = |spelling: &&str| text.starts_with(*spelling);
    // `<::` is `<` and `::`, except before these two.
    let is_bracket = text.starts_with("<:")
        && (!text.starts_with("<::") || text.starts_with("<:::") || text.starts_with("<::>"));
    if is_bracket || ["<%", "%>", "%:", ":>"].iter().any(begins) {
        return Err("the source has a digraph".to_owned());
    }
    let trigraphs = ["??=", "??'", "??(", "??)", "??!", "??<", "??>", "??-"];
    if trigraphs.iter().any(begins) {
        return Err("the source has a trigraph".to_owned());
    }
    Ok(first.len_utf8())
}

pub(super) fn is_identifier(token: &str) -> bool {
    token.starts_with(|c: char| is_word(c) && !c.is_ascii_digit())
}
