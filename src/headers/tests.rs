//! What becomes of includes, wherever they stand.

use super::*;

const FIVE: (&str, &str) = ("a.h", "int five;");
const INLINED: &str = "#line 1 \"a.h\"\nint five;\n";

#[test]
fn a_header_stands_where_it_is_included_first() {
    let headers = [
        ("a.h", "#pragma once\n#include \"b.h\"\nint a;"),
        ("x/b.h", "  # import \"y/a.h\" // and back\nint b;"),
        ("y/c.h", "int y;"),
        ("z/c.h", "int z;"),
    ];
    let text =
        "#include <b.h>\n#include \"a.h\"\n#include \"b.h\"\n#include \"d.h\"\n#include \"z/c.h\"";
    let source = inline_headers("k", text, &headers);
    let expected = "#line 1 \"k\"\n#include <b.h>\n#line 1 \"a.h\"\n\n#line 1 \"x/b.h\"\n  \n#line 1 \"x/b.h\"\n\
                    // and back\nint b;\n#line 3 \"a.h\"\nint a;\n#line 3 \"k\"\n#line 4 \"k\"\n#include \"d.h\"\n\
                    #line 1 \"z/c.h\"\nint z;\n#line 5 \"k\"\n";
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

#[test]
fn includes_are_found_in_every_spelling() {
    for text in [
        "#include \"a.h\"",
        "\u{feff}#include \"a.h\"",
        "#include/*x*/\"a.h\"",
        "/* c\n */ # /* c */ include \"a.h\" more",
        "#\\\ninclude \"a.h\"",
        "#inc\\\r\nlude \\\n \"a.h\"",
        "// it's\n#include \"a.h\"",
        "int i = 1'000 + '\\''; // \"\n#include \"a.h\"",
        "const char *s = \"\\\"/*\";\n#include \"a.h\"",
        "#if 0\ndon't\n#endif\n#include \"a.h\"",
    ] {
        let source = inline_headers("k", text, &[FIVE]);
        assert!(source.contains(INLINED), "{text:?}: {source}");
        assert!(
            !source.contains("lude") && !source.contains('\u{feff}'),
            "{text:?}: {source}"
        );
    }
}

#[test]
fn what_only_looks_like_an_include_stays() {
    for text in [
        "/*\n#include \"a.h\"\n*/",
        "// \\\n#include \"a.h\"",
        "constant char s[] = R\"(\n#include \"a.h\"\n)\";",
        "constant char s[] = u8R\"x(\n)\"\n#include \"a.h\"\n)x\";",
        "x #include \"a.h\"",
        "#define I \\\n#include \"a.h\"",
        "#include <a.h>",
        "#include A",
    ] {
        let source = inline_headers("k", text, &[FIVE]);
        assert_eq!(source, format!("#line 1 \"k\"\n{text}\n"));
    }
}

#[test]
fn comments_behind_an_include_stay() {
    let text = "#include \"a.h\" /* of\nfive */ ignored \\\n\n#include \"a.h\"\nint six;";
    let source = inline_headers("k", text, &[FIVE]);
    let expected = "#line 2 \"k\"\n/* of\nfive */\n#line 5 \"k\"\nint six;\n";
    assert_eq!(source, format!("#line 1 \"k\"\n{INLINED}{expected}"));
}

#[test]
fn a_known_header_is_there() {
    let text = "#if __has_include(\"a.h\") && !__has_include ( \"b.h\" )\n";
    let source = inline_headers("k", text, &[FIVE]);
    assert_eq!(
        source,
        "#line 1 \"k\"\n#if 1 && !__has_include ( \"b.h\" )\n"
    );
}

#[test]
fn lines_that_a_source_names_stay_its_own() {
    let text = "#line 100 \"z\\\"y\"\n\n#include \"a.h\"\nint k;\n#line 7\n#include \"a.h\"";
    let source = inline_headers("k", text, &[FIVE]);
    assert!(
        source.contains(&format!("\n\n{INLINED}#line 102 \"z\\\"y\"\nint k;\n")),
        "{source}"
    );
    assert!(
        source.ends_with("#line 7\n#line 7 \"z\\\"y\"\n"),
        "{source}"
    );
}

#[test]
fn numbers_of_lines_do_not_overflow() {
    for number in ["4294967295", "18446744073709551615"] {
        let text = format!("#line {number}\n\nint x;\n#include \"a.h\"\n");
        assert!(inline_headers("k", &text, &[FIVE]).contains(INLINED));
    }
}

#[test]
fn a_last_line_goes_on_with_nothing() {
    for text in ["#define X 3 \\", "#define X 3 \\\n", "#define X 3 \\\r\n"] {
        let source = inline_headers("k", "#include \"a.h\"\nint y = X;", &[("a.h", text)]);
        let lines: Vec<&str> = source.lines().collect();
        assert_eq!(&lines[3..5], ["", "#line 2 \"k\""], "{source}");
    }
}
