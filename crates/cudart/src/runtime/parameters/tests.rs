//! Tests: which declarations are read, and which are not.

use super::declared_parameters;

fn values(source: &str, kernel: &str) -> Result<Vec<String>, String> {
    let declared = declared_parameters(source, kernel)?.into_iter();
    Ok(declared.filter(|d| d.is_value).map(|d| d.name).collect())
}

#[test]
fn references_to_constants_are_values() {
    let source = r#"
        // kernel void saxpy(constant float &wrong [[buffer(0)]]) {}
        constant float factor = 2.0f;
        struct alignas(16) Shape { uint rows, columns; };
        float saxpy_of(float a, constant Shape &s) { return a; }
        kernel void other(constant uint &count [[buffer(0)]]) {}
        [[kernel]] void saxpy(device const float *x [[buffer(0)]], constant /* , */ float &a[[buffer(2)]],
            device float *y [[ buffer(1) ]], constant Shape& shape [[buffer(3)]],
            constant packed_vec<float, 3> &triple [[buffer(4)]], constant float *table [[buffer(5)]],
            device atomic_uint &done [[buffer(6)]], uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }
    "#;
    let expected = ["a", "shape", "triple"].map(str::to_owned).to_vec();
    assert_eq!(values(source, "saxpy"), Ok(expected));
    assert_eq!(values(source, "other"), Ok(vec!["count".to_owned()]));
    let missing = "the source has no definition of saxpy_of outside namespaces";
    assert_eq!(values(source, "saxpy_of"), Err(missing.to_owned()));
}

#[test]
fn what_does_not_show_its_kind_is_left_out() {
    let source = "using Count = constant uint &;
        kernel void f(device float *x [[buffer(0)]], Count n, constant uint *constant &p, constant uint &m,
                      device Count &r, constant decltype(m) &d, constant uint a[2], constant X &t,
                      uint i [[thread_position_in_grid]]) {}";
    let declared = declared_parameters(source, "f").unwrap();
    let names: Vec<&str> = declared.iter().map(|d| d.name.as_str()).collect();
    assert_eq!(names, ["x", "m"]);
}

const VALUE: &str = "kernel void k(device uint *o, constant uint &n) { }\n";
const POINTER: &str = "kernel void k(device uint *o, constant uint *n) { }\n";

/// Each way to hide a declaration of the other kind, before the one that is compiled or after it.
#[test]
fn declarations_that_are_hidden_are_not_guessed() {
    let ways = [
        "#ifdef A\n{}#endif\n",
        "#if 1\n#else\n{}#endif\n",
        "namespace other {\n{}}\n",
        "namespace other {\nextern \"C\" {\n{}}}\n",
        "[[host_name(\"j\")]] {}",
        "[[host_name(\"\\153\")]] kernel void j() {}\n{}",
        "template [[host_name(\"k\")]] kernel void j<uint>(device uint *);\n{}",
        "template <typename T> {}",
        "__attribute__((annotate(\"\"))) {}",
        "#define KERNEL kernel\nKERNEL void k(device uint *o, constant float4 &) {}\n{}",
        "#define NAME k\nkernel void NAME(device uint *o, constant float4 &) {}\n{}",
        "#define CAT(a, b) a##b\nCAT(ker, nel) void CAT(k,)(device uint *o, constant float4 &) {}\n{}",
        "#define D(attribute, name) attribute void name(device uint *o, constant float4 &) {}\nD(kernel, k)\n{}",
        "#define OUTER INNER\n#define INNER kernel void k() {}\nOUTER\n{}",
        "#define OPEN IGNORE(\nOPEN\n{})\n",
        "#define kernel kernel [[host_name(\"j\")]]\n{}",
        "#undef device\n{}",
        "#include \"other.h\"\n{}",
        "#include OTHER\n{}",
        "#embed <metal_stdlib>\n{}",
        "%:define device\n{}",
        "??=define device\n{}",
        "// ??/\n{}",
        "constant char s[] = R\"(\n{})\";\n",
        "#if 0\n{\n#endif\n{}",
        "_Pragma(\"push_macro\")\n{}",
        "#pragma redefine_extname j k\n{}",
        "void f() { [[host_name(\"j\")]] kernel void k(device uint *, constant float4 &); }\n{}",
        "void f() { [[host_name(\"k\")]] void j(device uint *, constant float4 &); }\n{}",
        "[[host_name(\"j\"), other({ })]] {}",
        "typedef void F(device uint *, constant uint &);\nkernel F k;\n{}",
    ];
    for way in ways {
        for (hidden, plain) in [(VALUE, POINTER), (POINTER, VALUE)] {
            let way = way.replace("{}", hidden);
            for source in [format!("{way}{plain}"), format!("{plain}{way}"), way] {
                let read = values(&source, "k");
                assert!(read.is_err(), "{read:?}\n{source}");
            }
        }
    }
}

/// Each text that the compiler does not see, or that declares no kernel of the name.
#[test]
fn declarations_that_are_none_change_nothing() {
    let ways = [
        "// {}",
        "// \\\n{}",
        "// \\ \t\r\n{}",
        "/* {} */",
        "/* // */ /* \" {} */",
        "constant char q = '\"', r = '\\'', s = '\"'; constant char t[] = \"{}\";\n",
        "constant uint big = 1'000'000; // '\n",
        "#error it's \"odd\n",
        "#define UNUSED(name) kernel void name(constant uint &n) {}\n",
        "#define SIZE 4\nconstant uint sizes[SIZE] = {SIZE};\n",
        "#if A\nconstant uint a = 1;\n#else\nconstant uint b = 1;\n#endif\n",
        "template [[host_name(\"j\")]] kernel j_t j<uint>;\n",
        "kernel void other(constant uint &k) { uint n = k; }\n",
        "kernel void k(device uint *, constant uint KIND);\n",
        "extern \"C\" { kernel void k(device uint *, constant uint KIND); }\n",
    ];
    for way in ways {
        for (hidden, plain, kind, expected) in [(VALUE, POINTER, "*", 0), (POINTER, VALUE, "&", 1)]
        {
            let hidden = match way.starts_with("// \\") {
                true => hidden,
                false => hidden.trim_end(),
            };
            let way = way.replace("{}", hidden).replace("KIND", kind);
            for source in [format!("{way}\n{plain}"), format!("{plain}{way}\n")] {
                let read = values(&source, "k").map(|values| values.len());
                assert_eq!(read, Ok(expected), "{source}");
            }
        }
    }
}

/// Every combination of an address space, a type, a declarator and what is around it: the kind, or nothing.
#[test]
fn spellings_of_a_parameter_show_their_kind() {
    let before = "struct Shape { uint rows; }; typedef struct Other { uint rows; } Other;
        namespace shapes { enum class Form { square }; }
        using Number = const uint; using Reference = device uint &; using Same = Reference;
        template <class add_lvalue_reference_t> struct Template {};";
    let types = [
        ("uint", true),
        ("uint const", true),
        ("array<uint, 2 * 2>", true),
        ("metal::array<array<float4, (2 > 1)>, (1 < 2)>", true),
        ("struct Shape", true),
        ("Other", true),
        ("shapes::Form", true),
        ("Number", true),
        ("simd_float4x4", true),
        ("Reference", false),
        ("Same", false),
        ("decltype(1u * 2u)", false),
        ("Shape::type", false),
        ("add_lvalue_reference_t<device uint>", false),
        ("Unknown", false),
        ("array<uint, 1 < 2>", false),
    ];
    let declarators = [
        (" *n", '*'),
        ("* const n", '*'),
        (" *constant *n", '*'),
        (" (*n)[4]", '*'),
        (" &n", '&'),
        ("& n", '&'),
        (" (&n)[4]", '&'),
        (" *&n", '?'),
        (" *constant &n", '?'),
        (" &&n", '?'),
        (" n[4]", '?'),
        (" (*n)(uint &)", '?'),
    ];
    for ((kind, is_plain), (declarator, form)) in types
        .iter()
        .flat_map(|kind| declarators.iter().map(move |d| (*kind, *d)))
    {
        for space in ["constant", "device", "const constant", ""] {
            for attribute in ["", " [[buffer(1)]]"] {
                let parameter = format!("{space} {kind}{declarator}{attribute}");
                let source =
                    format!("{before} kernel void k(device int *o, {parameter}, uint i) {{}}");
                let read = declared_parameters(&source, "k");
                let found = read.iter().flatten().find(|d| d.name == "n");
                let is_value = found.map(|declared| declared.is_value);
                let is_unread = kind.contains("1 < 2>") || kind.starts_with("decltype");
                let expected = match form {
                    '*' if !is_unread => Some(false),
                    '&' if is_plain && !space.is_empty() => Some(space.contains("constant")),
                    _ => None,
                };
                assert_eq!(is_value, expected, "{source}");
            }
        }
    }
}

#[test]
fn types_that_may_be_references_are_no_values() {
    for before in [
        "using R = device uint &;",
        "typedef device uint &R;",
        "using Other = device uint &; Other typedef const R;",
        "using Other = device uint &; const Other typedef R;",
        "typedef device uint &(R);",
        "typedef uint Number, Other; typedef uint Third, R;",
        "template <int n> using Other = device uint &; using R = Other<1 < 2>; struct S { array<int, 2> a; };",
        "#define NAME R\nstruct R {}; using NAME = device uint &;",
        "#if A\nusing R = uint;\n#else\nusing R = device uint &;\n#endif\n",
        "struct S { using R = device uint &; };",
        "using R = R;",
        "#define struct typename\nstruct R;",
        "",
    ] {
        let source = format!("{before}\nkernel void k(device uint *o, constant R &n) {{ }}");
        let read = values(&source, "k");
        assert!(!read.is_ok_and(|values| values == ["n"]), "{source}");
    }
}

#[test]
fn what_is_not_declared_as_it_stands_is_not_guessed() {
    for source in [
        "kernel void a(device float *x [[buffer(0)]]",
        "kernel void a]) {}",
        "DEFINE(a)",
        "kernel void a(x ]) {}",
        "char *s = \"kernel void a(\\\"\";",
        "/* kernel void a() {}",
        "kernel void a();",
        "kernel void a() {} }",
        "kernel void a() {} #define x",
        "kernel void a() {} \\",
        "",
    ] {
        let is_odd = source.contains("{} #") || source.ends_with('\\');
        assert_eq!(values(source, "a").is_ok(), is_odd, "{source}");
    }
    assert_eq!(values("kernel void a() {}", "a"), Ok(Vec::new()));
}
