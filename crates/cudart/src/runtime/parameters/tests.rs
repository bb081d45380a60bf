//! Tests: which declarations are read, and which are not.

use std::collections::HashMap;

use super::declared_values;

const VALUE: &str = "kernel void k(device uint *o, constant uint &n) { }";
const POINTER: &str = "kernel void k(device uint *o, constant uint *n) { }";

/// Whether the parameter `n` of `k` is a value.
fn kind(source: &str) -> Option<bool> {
    declared_values(source, "k").ok()?.get("n").copied()
}

#[test]
fn the_parameters_of_the_kernel_are_read() {
    let source = r#"
        // kernel void saxpy(constant float &wrong [[buffer(0)]]) {}
        #pragma METAL fp math_mode(safe)
        #define UNROLL _Pragma("clang loop unroll(full)")
        #if WIDE
        #define WIDTH 4
        #else
        #define WIDTH 2
        #endif
        struct alignas(16) Shape { uint rows, columns; };
        float helper(float a, constant Shape &saxpy) { uint other = 1; return a; }
        template <typename T> [[kernel]] void scale(device T *x, constant T *f) { SWAP(saxpy, x); }
        template [[host_name("scale_f")]] [[kernel]] void scale<float>(device float *, constant float *);
        kernel void other(constant uint &count [[buffer(0)]]) {}
        [[kernel, max_total_threads_per_threadgroup(64)]] void saxpy(
            device const float *x [[buffer(0)]], constant /* , */ float &a[[buffer(WIDTH)]],
            device float *__restrict y [[ buffer(1) ]], constant Shape& shape [[buffer(3)]],
            constant packed_vec<float, 3> &triple [[buffer(4)]], constant float *table [[buffer(5)]],
            constant array<uint, WIDTH> &sizes, uint i [[thread_position_in_grid]]) { saxpy = a; other(n); }
    "#;
    let expected = [("x", false), ("a", true), ("y", false), ("shape", true)].iter();
    let expected = expected.chain(&[("triple", true), ("table", false), ("sizes", true)]);
    let expected: HashMap<String, bool> =
        expected.map(|(name, is)| (name.to_string(), *is)).collect();
    assert_eq!(declared_values(source, "saxpy"), Ok(expected));
    assert_eq!(
        declared_values(source, "other").map(|read| read["count"]),
        Ok(true)
    );
    for name in ["helper", "scale", "scale_f", "Shape", "x", "missing", "n"] {
        assert!(declared_values(source, name).is_err(), "{name}");
    }
}

/// Each way to hide a declaration of the other kind, before the one that is compiled or after it.
#[test]
fn declarations_that_are_hidden_are_not_guessed() {
    let ways = r#"
        #ifdef A|{}|#endif
        #if 1|#else|{}|#endif
        namespace other {|{}}
        namespace other {|extern "C"|{|{}}}
        [[host_name("j")]] {}
        [[host_name("\153")]] kernel void j() { }|{}
        [[host_name("" "k")]] kernel void j() { }|{}
        template [[host_name("k")]] kernel void j<uint>(device uint *);|{}
        kernel void j() __asm__("k");|{}
        template <typename T> {}
        __attribute__((annotate(""))) {}
        #define KERNEL kernel|KERNEL void k(device uint *o, constant float4 &) { }|{}
        #define NAME k|kernel void NAME(device uint *o, constant float4 &) { }|{}
        #define CAT(a, b) a##b|CAT(ker, nel) void CAT(k,)(device uint *o, constant float4 &) { }|{}
        #define D(attribute, name) attribute void name(device uint *o) { }|D(kernel, k)|{}
        #define D(name) void name(device uint *o)|kernel D(void k) { }|{}
        #define SECOND(a, b, c) b|SECOND({, {}, })
        using V = void;|#define M(a) a|kernel M(V k)(device uint *o) { }|{}
        using V = void;|#define M(a) a|#define ID(a) a|kernel ID(M)(V k)(device uint *o) { }|{}
        kernel void (k)(device uint *o) { }|{}
        #define OUTER INNER|#define INNER kernel void k() { }|OUTER|{}
        #define OPEN IGNORE(|#define CLOSE )|kernel void OPEN { CLOSE k() { } OPEN } CLOSE ;|{}
        #define kernel kernel [[host_name("j")]]|{}
        #undef device|{}
        #include "other.h"|{}
        #include OTHER|{}
        #embed <metal_stdlib>|{}
        #warning /*|{}|// */
        %:define device|{}
        ??=define device|{}
        // ??/|{}
        constant char s[] = R"(|{}//)";
        constant float small = 1.e5'0, k; // '|{}
        kernel void|#if 0|{|#endif|k() { }|#if 0|}|#endif|{}
        kernel void|#if 0|{|#else|k() { }|}|#endif|{}
        _Pragma("push_macro")|{}
        #pragma redefine_extname j k|{}
        void f() { [[host_name("j")]] kernel void k(device uint *, constant float4 &); }|{}
        void f() { [[host_name("k")]] void j(device uint *, constant float4 &); }|{}
        [[host_name("j"), other({ })]] {}
        typedef void F(device uint *, constant uint &);|kernel F k;|{}"#;
    for way in ways.trim().lines() {
        let way = way.trim().replace('|', "\n");
        for (hidden, plain) in [(VALUE, POINTER), (POINTER, VALUE)] {
            let way = way.replace("{}", &format!("{hidden}\n"));
            for source in [
                format!("{hidden}\n{plain}"),
                format!("{way}\n{plain}"),
                format!("{plain}\n{way}"),
                way.clone(),
            ] {
                let read = declared_values(&source, "k");
                assert!(read.is_err(), "{read:?}\n{source}");
            }
        }
    }
}

/// Each text that the compiler does not see, or that declares no kernel of the name.
#[test]
fn declarations_that_are_none_change_nothing() {
    let ways = r#"
        // {}
        // \|{}
        /* {} */
        /* // */ /* " {} */
        constant char q = '"', r = '\'', s = '"'; constant char t[] = "{}";
        constant uint big = 1'000'000; // '
        constant float small = 1.e5'0; // '
        #error it's "odd
        #define SIZE 4|constant uint sizes[SIZE] = {SIZE};
        #define BLOCK(a) do { a; } while (0)|void f() { BLOCK(k); }
        #if A|constant uint a = 1;|#else|constant uint b = 1;|#endif
        #if A|#if B|#define SIZE 4|#endif|#endif
        template [[host_name("j")]] kernel j_t j<uint>;
        kernel void other(constant uint &k) { uint n = k; }
        struct S { void k(uint n) { auto k = n; } };
        namespace s { uint k(uint n) { return k(n - 1); } }"#;
    for way in ways.trim().lines() {
        for (hidden, plain, is_value) in [(VALUE, POINTER, false), (POINTER, VALUE, true)] {
            let way = way.trim().replace('|', "\n").replace("{}", hidden);
            for source in [format!("{way}\n{plain}"), format!("{plain}\n{way}\n")] {
                assert_eq!(kind(&source), Some(is_value), "{source}");
            }
        }
    }
}

/// Every combination of an address space, a type and a declarator: the kind, or nothing.
#[test]
fn spellings_of_a_parameter_show_their_kind() {
    let before = "struct Shape { uint rows; }; typedef struct { device uint *rows; } Other;
        using Params = Shape; using Number = const uint; typedef uint Third, Fourth;
        using Reference = device uint &; using Same = Reference; typedef device uint &Old, Older[4];
        typedef device uint &(Odd); typedef device uint &Last __attribute__((unused));
        Same typedef const Turned; using Space = device uint; template <class T = Same> using Made = T;
        using Later = S::Inner; struct S { using Inner = device uint &; };
        #if A\nusing Either = uint;\n#else\nusing Either = device uint &;\n#endif\n";
    let plain = "uint|uint const|array<uint, 2 * 2>|metal::array<array<float4, (2 > 1)>, (1 < 2)>|struct Shape|Shape\
        |Other|Params|Number|Third|Fourth|simd_float4x4";
    let hidden = "Reference|Same|Old|Older|Odd|Last|Turned|Space|Made<>|Later|Either|decltype(1u * 2u)|S::Inner\
        |add_lvalue_reference_t<uint>|vec<device uint &, 2>|vec<Same, 2>";
    let declarators = [
        (" *n", '*'),
        ("* const n", '*'),
        (" *constant *n", '*'),
        (" &n", '&'),
        ("& n [[buffer(1)]]", '&'),
        (" (&n)[4]", '?'),
        (" *&n", '?'),
        (" *constant &n", '?'),
        (" * bitand n", '?'),
        (" &&n", '?'),
        (" n[4]", '?'),
        (" (*n)(uint &)", '?'),
    ];
    let types = plain.split('|').map(|name| (name, true));
    for (name, is_plain) in types.chain(hidden.split('|').map(|name| (name, false))) {
        for (declarator, form) in declarators {
            for space in ["constant", "device", "const constant", ""] {
                let parameter = format!("{space} {name}{declarator}");
                let kernel = format!("kernel void k(device int *o, {parameter}, uint i) {{}}");
                let expected = match form {
                    '*' if !name.contains('(') || is_plain => Some(false),
                    '&' if is_plain && !space.is_empty() => Some(space.contains("constant")),
                    _ => None,
                };
                assert_eq!(kind(&format!("{before}{kernel}")), expected, "{kernel}");
            }
        }
    }
}

#[test]
fn what_is_not_declared_as_it_stands_is_not_guessed() {
    let sources = r#"
        #define NAME R|using NAME = device uint &;|{}
        #define TYPE uint|typedef TYPE R;|{}
        #define ALIAS(name) using name = device uint &;|{}
        kernel void k(device uint *o, constant uint &n
        kernel void k(device uint *o, constant uint &n])) { }
        kernel void k(device uint *o, constant vec<uint, 1 < 2> &n) { }
        kernel void k(device uint *o, constant uint &n = 1) { }
        {} }
        /* {}
        {} \
        {} \u006b"#;
    for source in sources.trim().lines() {
        let source = source.trim().replace('|', "\n").replace("{}", VALUE);
        assert_eq!(kind(&source), None, "{source}");
    }
    let pasted = VALUE.replace(" k(", " CAT(lo, ng)(") + &VALUE.replace(" k(", " long(");
    let pasted = format!("#define CAT(a, b) a##b\n{pasted}");
    assert!(declared_values(&pasted, "long").is_err());
    assert_eq!(kind(VALUE), Some(true));
}
