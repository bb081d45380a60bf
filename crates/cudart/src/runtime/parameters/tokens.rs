//! The tokens of Metal source before its directives are looked at: words, literals, and every other character alone.

/// Why the source does not show the parameters.
pub(crate) type Why = &'static str;

/// What stands for the end of a line, where a directive ends.
pub(super) const LINE_END: &str = "\n";

/// The source with its continued lines joined, which comes before all else in C++.
pub(super) fn joined(source: &str) -> Result<String, Why> {
    let text = source.replace("\r\n", "\n").replace("\\\n", "");
    let is_odd = |line: &str| line.contains('\r') || line.trim_end().ends_with('\\');
    if text.contains("??/") || text.lines().any(is_odd) {
        return Err(
            "a line of the source ends in a carriage return or a backslash and blanks, or has the trigraph ??/",
        );
    }
    Ok(text)
}

/// The tokens of joined lines, without comments.
pub(super) fn tokens(text: &str) -> Result<Vec<&str>, Why> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let (length, is_token) = match first {
            '\n' => (1, true),
            '"' | '\'' => (literal_length(rest, first), true),
            _ if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), false),
            _ if rest.starts_with("/*") => {
                let end = rest[2..].find("*/");
                (end.map_or(rest.len(), |end| end + 4), false)
            }
            _ if is_word(first) => (word_length(rest), true),
            _ => (first.len_utf8(), !first.is_whitespace()),
        };
        let (token, after) = rest.split_at(length);
        let odd = ["\\", "??", "<:", ":>", "<%", "%>", "%:"];
        let is_raw = token.ends_with('R') && after.starts_with('"');
        if is_token {
            if is_raw || odd.iter().any(|odd| rest.starts_with(odd)) {
                return Err("the source has a raw string, a backslash, a digraph or a trigraph");
            }
            tokens.push(token);
        }
        rest = after;
    }
    Ok(tokens)
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || (!c.is_ascii() && !c.is_whitespace())
}

/// Bytes of the word at the start of `text`; a number has points, and quotes between its digits.
fn word_length(text: &str) -> usize {
    let is_number = text.starts_with(|c: char| c.is_ascii_digit());
    let mut chars = text.char_indices().peekable();
    while let Some((offset, c)) = chars.next() {
        let is_quote = c == '\'' && chars.peek().is_some_and(|(_, next)| is_word(*next));
        if !is_word(c) && !(is_number && (is_quote || c == '.')) {
            return offset;
        }
    }
    text.len()
}

/// Bytes of the literal at the start of `text`, its quotes included. Without a second quote it ends with the line.
fn literal_length(text: &str, quote: char) -> usize {
    let mut is_escaped = true;
    let end = text.find(|c| {
        let ends = c == '\n' || c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.map_or(text.len(), |end| {
        end + usize::from(!text[end..].starts_with('\n'))
    })
}

pub(super) fn is_identifier(token: &str) -> bool {
    token.starts_with(|c: char| is_word(c) && !c.is_ascii_digit())
}
