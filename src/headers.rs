//! Headers in sources: Metal's run-time compiler has no path to look for them.

/// The source `text` with each `#include "file"` of one of `headers` replaced by that header, ready for
/// [`Device::new_library_with_source`](crate::Device::new_library_with_source). `headers` are pairs of names and texts; an
/// include finds its header by the last part of both names. Headers may include each other, and need include guards as
/// always. `#line` directives keep the names and lines of the files in diagnostics; `name` is the source's own.
///
/// ```
/// let headers = [("halves.h", "inline float half_of(float x) { return x / 2; }\n")];
/// let source = metal_bridge::inline_headers("k.metal", "#include \"halves.h\"\n", &headers);
/// assert!(source.contains("half_of") && !source.contains("#include"));
/// ```
pub fn inline_headers(name: &str, text: &str, headers: &[(&str, &str)]) -> String {
    let mut inlined = Inlined {
        headers,
        open: Vec::new(),
        source: String::with_capacity(text.len() + 8192),
    };
    inlined.append(name, text);
    inlined.source
}

struct Inlined<'a> {
    headers: &'a [(&'a str, &'a str)],
    /// Headers that are not at their ends yet. Their guards make nothing of another include.
    open: Vec<&'a str>,
    source: String,
}

impl<'a> Inlined<'a> {
    fn append(&mut self, name: &str, text: &str) {
        self.source.push_str(&format!("#line 1 \"{name}\"\n"));
        for (index, line) in text.lines().enumerate() {
            let Some((header, contents)) = self.included(line) else {
                self.source.push_str(line);
                self.source.push('\n');
                continue;
            };
            if !self.open.contains(&header) {
                self.open.push(header);
                self.append(header, contents);
                self.open.pop();
            }
            self.source
                .push_str(&format!("#line {} \"{name}\"\n", index + 2));
        }
    }

    /// The header that this line includes, if it is one of these.
    fn included(&self, line: &str) -> Option<(&'a str, &'a str)> {
        let directive = line.trim().strip_prefix('#')?.trim_start();
        let name = directive
            .strip_prefix("include")?
            .trim()
            .strip_prefix('"')?;
        let name = last_part(name.split_once('"')?.0);
        let is_named = |(header, _): &&(&str, &str)| last_part(header) == name;
        self.headers.iter().find(is_named).copied()
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_that_include_each_other_end() {
        let headers = [
            ("a.h", "#include \"b.h\"\nint a;"),
            ("x/b.h", "  # include \"y/a.h\" // and back\nint b;"),
        ];
        let source = inline_headers(
            "k",
            "#include <b.h>\n#include \"a.h\"\n#include \"c.h\"\nint k;",
            &headers,
        );
        let expected = "#line 1 \"k\"\n#include <b.h>\n#line 1 \"a.h\"\n#line 1 \"x/b.h\"\n#line 2 \"x/b.h\"\nint b;\n\
                        #line 2 \"a.h\"\nint a;\n#line 3 \"k\"\n#include \"c.h\"\nint k;\n";
        assert_eq!(source, expected);
    }
}
