//! Headers in sources: Metal's run-time compiler has no path to look for them.

use std::collections::HashSet;

/// The source `text` with each `#include "file"` of one of `headers` replaced by that header, ready for
/// [`Device::new_library_with_source`](crate::Device::new_library_with_source). `headers` are pairs of names and texts. An
/// include finds the header of its name, or else the first one with the same last part. `#line` directives keep the names and
/// lines of the files in diagnostics; `name` is the source's own.
///
/// A header stands where it is included first, as if it began with `#pragma once`: other includes of it give nothing, also if
/// `#if` leaves out the first. Includes in comments count too. `#import` is the same as `#include`.
///
/// ```
/// let headers = [("halves.h", "inline float half_of(float x) { return x / 2; }\n")];
/// let source = metal_bridge::inline_headers("k.metal", "#include \"halves.h\"\n", &headers);
/// assert!(source.contains("half_of") && !source.contains("#include"));
/// ```
pub fn inline_headers(name: &str, text: &str, headers: &[(&str, &str)]) -> String {
    let mut inlined = Inlined {
        headers,
        seen: HashSet::new(),
        source: String::with_capacity(text.len() + 8192),
    };
    inlined.append(name, text);
    inlined.source
}

struct Inlined<'a> {
    headers: &'a [(&'a str, &'a str)],
    /// Headers that are there, by their indices.
    seen: HashSet<usize>,
    source: String,
}

/// A file that is not at its end yet.
struct Open<'a> {
    name: &'a str,
    lines: std::str::Lines<'a>,
    /// How many lines have been read.
    read: usize,
}

impl<'a> Inlined<'a> {
    fn append(&mut self, name: &'a str, text: &'a str) {
        // A list and no recursion: headers may include each other deeper than the stack is.
        let mut open = vec![self.begin(name, text)];
        while let Some(file) = open.last_mut() {
            let Some(line) = file.lines.next() else {
                open.pop();
                if let Some(around) = open.last() {
                    self.line(around.read + 1, around.name);
                }
                continue;
            };
            file.read += 1;
            match self.included(line) {
                Some(header) if self.seen.insert(header) => {
                    let (name, text) = self.headers[header];
                    let begun = self.begin(name, text);
                    open.push(begun);
                }
                Some(_) => self.line(file.read + 1, file.name),
                // Its own text is no main file, whose `#pragma once` the compiler warns of.
                None if line.trim() == "#pragma once" => self.source.push('\n'),
                None => {
                    self.source.push_str(line);
                    self.source.push('\n');
                }
            }
        }
    }

    fn begin(&mut self, name: &'a str, text: &'a str) -> Open<'a> {
        self.line(1, name);
        Open {
            name,
            lines: text.lines(),
            read: 0,
        }
    }

    /// Says which line the next one is.
    fn line(&mut self, number: usize, name: &str) {
        let name = name.replace('\\', "\\\\").replace('"', "\\\"");
        self.source
            .push_str(&format!("#line {number} \"{name}\"\n"));
    }

    /// The index of the header that this line includes, if it is one of these.
    fn included(&self, line: &str) -> Option<usize> {
        let directive = line.trim().strip_prefix('#')?.trim_start();
        let operand = directive
            .strip_prefix("include")
            .or_else(|| directive.strip_prefix("import"))?;
        let (name, _) = operand.trim_start().strip_prefix('"')?.split_once('"')?;
        let position = |is_it: &dyn Fn(&str) -> bool| {
            self.headers.iter().position(|(header, _)| is_it(header))
        };
        position(&|header| header == name)
            .or_else(|| position(&|header| last_part(header) == last_part(name)))
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_stands_where_it_is_included_first() {
        let headers = [
            ("a.h", "#pragma once\n#include \"b.h\"\nint a;"),
            ("x/b.h", "  # import \"y/a.h\" // and back\nint b;"),
            ("y/c.h", "int y;"),
            ("z/c.h", "int z;"),
        ];
        let text = "#include <b.h>\n#include \"a.h\"\n#include \"b.h\"\n#include \"d.h\"\n#include \"z/c.h\"";
        let source = inline_headers("k", text, &headers);
        let expected = "#line 1 \"k\"\n#include <b.h>\n#line 1 \"a.h\"\n\n#line 1 \"x/b.h\"\n#line 2 \"x/b.h\"\nint b;\n\
                        #line 3 \"a.h\"\nint a;\n#line 3 \"k\"\n#line 4 \"k\"\n#include \"d.h\"\n\
                        #line 1 \"z/c.h\"\nint z;\n#line 6 \"k\"\n";
        assert_eq!(source, expected);
    }

    #[test]
    fn headers_that_include_those_before_them_twice_stay_small() {
        let include = |i: usize| format!("#include \"{}.h\"\n", i.saturating_sub(1)).repeat(2);
        let all: Vec<(String, String)> = (0..200).map(|i| (format!("{i}.h"), include(i))).collect();
        let headers: Vec<(&str, &str)> = all.iter().map(|(n, t)| (&**n, &**t)).collect();
        let source = inline_headers("k", "#include \"199.h\"", &headers);
        assert!(source.len() < 20_000, "{}", source.len());
        assert_eq!(source.matches("#line 1 \"0.h\"").count(), 1);
    }

    #[test]
    fn names_are_quoted() {
        let source = inline_headers("a\"b\\c", "", &[]);
        assert_eq!(source, "#line 1 \"a\\\"b\\\\c\"\n");
    }
}
