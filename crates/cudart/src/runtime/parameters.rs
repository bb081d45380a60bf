//! How a kernel takes its buffer arguments, from its declaration in the source: what Metal's reflection does not tell.
//!
//! A reference to constant memory (`constant uint &count`) is a value for `cudaLaunchKernel`, and everything else a
//! pointer. The declaration is looked for as it is written: if it comes from a macro or a template, the program says
//! which argument is what.

/// A parameter that is declared as a pointer or a reference.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    pub(crate) name: String,
    pub(crate) is_value: bool,
}

/// The pointers and references among the parameters of the kernel called `kernel`; `None` if its declaration is not
/// found.
pub(crate) fn declared_parameters(source: &str, kernel: &str) -> Option<Vec<Declared>> {
    let text = without_comments(source);
    let tokens = tokens(&text);
    let open = declaration(&tokens, kernel)?;
    let parameters = parameters(&tokens[open + 1..])?;
    Some(parameters.iter().filter_map(|p| declared(p)).collect())
}

/// `None` for a parameter that is neither, or whose type is an alias, so that the source does not show it.
fn declared(parameter: &[&str]) -> Option<Declared> {
    let (is_pointer, is_reference) = (parameter.contains(&"*"), parameter.contains(&"&"));
    // The name is the last identifier: attributes are left out.
    let name = parameter.iter().rev().find(|token| is_identifier(token))?;
    (is_pointer || is_reference).then(|| Declared {
        name: (*name).to_owned(),
        is_value: is_reference && !is_pointer && parameter.contains(&"constant"),
    })
}

/// The place of the parenthesis after the kernel's name, if what is before makes it a declaration of a kernel.
fn declaration(tokens: &[&str], kernel: &str) -> Option<usize> {
    let mut is_kernel = false;
    for (place, token) in tokens.iter().enumerate() {
        match *token {
            "kernel" => is_kernel = true,
            // The end of a declaration or a body.
            ";" | "{" | "}" => is_kernel = false,
            token if token == kernel && is_kernel && tokens.get(place + 1) == Some(&"(") => {
                return Some(place + 1);
            }
            _ => {}
        }
    }
    None
}

/// The tokens of each parameter up to the closing parenthesis, without what is in brackets; `None` if the parenthesis
/// is missing.
fn parameters<'a>(tokens: &[&'a str]) -> Option<Vec<Vec<&'a str>>> {
    let mut parameters = vec![Vec::new()];
    let (mut depth, mut brackets) = (0usize, 0usize);
    for token in tokens {
        match *token {
            "[" => brackets += 1,
            "]" => brackets = brackets.checked_sub(1)?,
            _ if brackets > 0 => {}
            ")" if depth == 0 => return Some(parameters),
            "," if depth == 0 => parameters.push(Vec::new()),
            token => {
                match token {
                    "(" | "<" | "{" => depth += 1,
                    ")" | ">" | "}" => depth = depth.checked_sub(1)?,
                    _ => {}
                }
                parameters.last_mut()?.push(token);
            }
        }
    }
    None
}

fn is_identifier(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Words, and everything else character by character.
fn tokens(text: &str) -> Vec<&str> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match is_word(first) {
            true => rest.find(|c| !is_word(c)).unwrap_or(rest.len()),
            false => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    tokens
}

/// The source with its comments and the contents of its strings as blanks.
fn without_comments(source: &str) -> String {
    let mut text = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            comment.find("*/").map_or(rest.len(), |end| end + 4)
        } else if first == '"' {
            string_length(rest)
        } else {
            text.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        };
        text.push(' ');
        rest = &rest[skipped..];
    }
    text
}

/// Bytes of the string at the start of `text`, its quotes included.
fn string_length(text: &str) -> usize {
    let mut is_escaped = false;
    for (place, c) in text.char_indices().skip(1) {
        match c {
            '"' if !is_escaped => return place + 1,
            _ => is_escaped = c == '\\' && !is_escaped,
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::declared_parameters;

    fn values(source: &str, kernel: &str) -> Option<Vec<String>> {
        let declared = declared_parameters(source, kernel)?.into_iter();
        Some(declared.filter(|d| d.is_value).map(|d| d.name).collect())
    }

    #[test]
    fn what_does_not_show_its_kind_is_left_out() {
        let source = "using Count = constant uint &; #define MORE device float *y
            kernel void f(device float *x [[buffer(0)]], Count n, MORE, constant uint &m, uint i [[thread_position_in_grid]]) {}";
        let declared = declared_parameters(source, "f").unwrap();
        let names: Vec<&str> = declared.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["x", "m"]);
    }

    #[test]
    fn references_to_constants_are_values() {
        let source = r#"
            // kernel void saxpy(constant float &wrong [[buffer(0)]]) {}
            constant float factor = 2.0f;
            struct Shape { uint rows, columns; };
            float saxpy_of(float a, constant Shape &s) { return a; }
            kernel void other(constant uint &count [[buffer(0)]]) {}
            [[kernel]] void saxpy(device const float *x [[buffer(0)]], constant /* , */ float &a[[buffer(2)]],
                device float *y [[ buffer(1) ]], constant Shape& shape [[buffer(3)]],
                constant packed<float, 3> &triple [[buffer(4)]], constant float *table [[buffer(5)]],
                device atomic_uint &done [[buffer(6)]], uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }
        "#;
        let expected = ["a", "shape", "triple"].map(str::to_owned).to_vec();
        assert_eq!(values(source, "saxpy"), Some(expected));
        assert_eq!(values(source, "other"), Some(vec!["count".to_owned()]));
        assert_eq!(values(source, "saxpy_of"), None);
    }

    #[test]
    fn what_is_not_declared_as_it_stands_is_not_guessed() {
        assert_eq!(
            values("kernel void a(device float *x [[buffer(0)]]", "a"),
            None
        );
        assert_eq!(values("kernel void a]) {}", "a"), None);
        assert_eq!(values("DEFINE(a)", "a"), None);
        assert_eq!(values("kernel void a(x ]) {}", "a"), None);
        assert_eq!(values("kernel void a() {}", "a"), Some(Vec::new()));
        assert_eq!(values("char *s = \"kernel void a(\\\"\";", "a"), None);
        assert_eq!(values("/* kernel void a() {}", "a"), None);
    }
}
