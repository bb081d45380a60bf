//! Programs over WGSL's built-in functions and operators, written out from a table: each for a scalar and vectors of all widths.

use crate::program::Program;

/// Expressions over the operands `A`, `B` and `C`. `F`, `I` and `U` stand for the floating-point, signed and unsigned types that
/// are as wide as these are.
struct Table {
    name: &'static str,
    /// Type of an operand's components and of the results'.
    operand: &'static str,
    result: &'static str,
    fill: &'static str,
    tolerance: &'static str,
    expressions: &'static [&'static str],
}

const EXACT: &str = "0 0";

const TABLES: &[Table] = &[
    Table {
        name: "float-exact",
        operand: "f32",
        result: "f32",
        fill: "random -100 100",
        tolerance: EXACT,
        expressions: &[
            "abs(A)",
            "ceil(A)",
            "floor(A)",
            "trunc(A)",
            "round(A)",
            "sign(A)",
            "-A",
            "min(A, B)",
            "max(A, B)",
            "clamp(A, min(B, C), max(B, C))",
            "step(A, B)",
            "select(A, B, A < C)",
            "select(A, B, A >= C)",
            "select(A, B, A == trunc(A))",
            "saturate(A)",
            "A + B",
            "A - B",
            "A * B",
            "F(I(A))",
            "F(U(abs(A)))",
            "bitcast<F>(bitcast<U>(A) ^ U(1u))",
            "quantizeToF16(A)",
            "modf(A).whole",
            "frexp(A).fract",
            "F(frexp(A).exp)",
            "ldexp(A, I(B) / I(4))",
        ],
    },
    Table {
        name: "float-arithmetic",
        operand: "f32",
        result: "f32",
        fill: "random 0.1 10",
        tolerance: "1e-6 1e-5",
        expressions: &[
            "A / B",
            "A % B",
            "fma(A, B, C)",
            "mix(A, B, C)",
            "smoothstep(A, A + B, C)",
            "fract(A)",
            "sqrt(A)",
            "inverseSqrt(A)",
            "degrees(A)",
            "radians(A)",
            "A * B + C",
            "A - B * C",
            "modf(A).fract",
            "-A % B",
        ],
    },
    Table {
        name: "float-exponential",
        operand: "f32",
        result: "f32",
        fill: "random 0.05 8",
        tolerance: "2e-5 1e-5",
        expressions: &[
            "exp(A)",
            "exp2(A)",
            "log(A)",
            "log2(A)",
            "pow(A, B)",
            "exp(-A)",
            "exp2(-A)",
            "pow(A, -B)",
            "sinh(A)",
            "cosh(A)",
            "tanh(A)",
            "tanh(-A)",
            "asinh(A)",
            "acosh(A + F(1.0))",
        ],
    },
    Table {
        name: "float-trigonometry",
        operand: "f32",
        result: "f32",
        fill: "random -0.95 0.95",
        tolerance: "1e-5 1e-5",
        expressions: &[
            "sin(A)",
            "cos(A)",
            "tan(A)",
            "atan(A)",
            "atan2(A, B)",
            "atanh(A)",
            "sin(A * F(3.0))",
            "cos(B * F(3.0))",
            "atan2(A, F(0.5))",
            "atan(A * F(20.0))",
            "tan(B * F(1.2))",
        ],
    },
    // Vulkan allows an error of 2^-11, and Mesa makes use of it.
    Table {
        name: "float-arcs",
        operand: "f32",
        result: "f32",
        fill: "random -0.95 0.95",
        tolerance: "0 5e-4",
        expressions: &["asin(A)", "acos(A)"],
    },
    Table {
        name: "float-conversions",
        operand: "f32",
        result: "u32",
        fill: "bits",
        tolerance: EXACT,
        expressions: &[
            "bitcast<U>(I(A))",
            "U(A)",
            "bitcast<U>(A)",
            "U(I(B))",
            "select(U(0u), U(1u), A < B)",
            "select(U(0u), U(1u), A != C)",
        ],
    },
    Table {
        name: "signed",
        operand: "i32",
        result: "i32",
        fill: "bits",
        tolerance: EXACT,
        expressions: &[
            "abs(A)",
            "-A",
            "~A",
            "sign(A)",
            "min(A, B)",
            "max(A, B)",
            "clamp(A, min(B, C), max(B, C))",
            "A + B",
            "A - B",
            "A * B",
            "A / B",
            "A % B",
            "A / (B >> U(20u))",
            "A % (B >> U(20u))",
            "A / (B - B)",
            "A % (C - C)",
            "A & B",
            "A | B",
            "A ^ B",
            "A << (U(B) & U(31u))",
            "A >> (U(B) & U(31u))",
            "countOneBits(A)",
            "countLeadingZeros(A)",
            "countTrailingZeros(A)",
            "reverseBits(A)",
            "firstLeadingBit(A)",
            "firstTrailingBit(A)",
            "firstLeadingBit(A >> U(20u))",
            "extractBits(A, 3u, 11u)",
            "extractBits(A, 0u, 32u)",
            "extractBits(A, 30u, 9u)",
            "extractBits(A, 40u, 3u)",
            "extractBits(A, 5u, 0u)",
            "insertBits(A, B, 3u, 11u)",
            "insertBits(A, B, 0u, 32u)",
            "insertBits(A, B, 30u, 9u)",
            "insertBits(A, B, 40u, 3u)",
            "select(A, B, A < C)",
            "select(A, B, A >= C)",
            "select(A, B, A == C)",
            "I(U(A))",
            "bitcast<I>(F(A))",
            "bitcast<I>(bitcast<U>(A) / U(3u))",
        ],
    },
    Table {
        name: "unsigned",
        operand: "u32",
        result: "u32",
        fill: "bits",
        tolerance: EXACT,
        expressions: &[
            "~A",
            "min(A, B)",
            "max(A, B)",
            "clamp(A, min(B, C), max(B, C))",
            "A + B",
            "A - B",
            "A * B",
            "A / B",
            "A % B",
            "A / (B >> U(20u))",
            "A % (B >> U(20u))",
            "A / (B - B)",
            "A % (C - C)",
            "A & B",
            "A | B",
            "A ^ B",
            "A << (B & U(31u))",
            "A >> (B & U(31u))",
            "countOneBits(A)",
            "countLeadingZeros(A)",
            "countLeadingZeros(A >> U(20u))",
            "countTrailingZeros(A)",
            "countTrailingZeros(A & U(0u))",
            "reverseBits(A)",
            "firstLeadingBit(A)",
            "firstLeadingBit(A & U(0u))",
            "firstTrailingBit(A)",
            "extractBits(A, 3u, 11u)",
            "extractBits(A, 0u, 32u)",
            "extractBits(A, 30u, 9u)",
            "extractBits(A, 40u, 3u)",
            "insertBits(A, B, 3u, 11u)",
            "insertBits(A, B, 0u, 32u)",
            "insertBits(A, B, 30u, 9u)",
            "insertBits(A, B, 40u, 3u)",
            "select(A, B, A < C)",
            "select(A, B, A >= C)",
            "select(A, B, A != C)",
            "U(I(A))",
            "bitcast<U>(F(A))",
            "abs(A)",
        ],
    },
    Table {
        name: "half",
        operand: "f16",
        result: "f16",
        fill: "random 0.25 4",
        tolerance: "4e-3 4e-3",
        expressions: &[
            "abs(A)",
            "ceil(A)",
            "floor(A)",
            "trunc(A)",
            "round(A)",
            "sign(-A)",
            "min(A, B)",
            "max(A, B)",
            "clamp(A, min(B, C), max(B, C))",
            "step(A, B)",
            "select(A, B, A < C)",
            "A + B",
            "A - B",
            "A * B",
            "A / B",
            "fma(A, B, C)",
            "mix(A, B, C)",
            "fract(A)",
            "sqrt(A)",
            "inverseSqrt(A)",
            "exp(A)",
            "exp2(A)",
            "log(A)",
            "log2(A)",
            "pow(A, B)",
            "sin(A)",
            "cos(A)",
            "tanh(A)",
            "atan(A)",
            "saturate(A)",
            "degrees(A)",
            "radians(A)",
        ],
    },
];

/// Invocations, and vectors of each operand.
const COUNT: u32 = 128;

pub fn programs() -> Result<Vec<Program>, String> {
    TABLES
        .iter()
        .map(|table| Program::new(table.name, &source(table)))
        .collect()
}

fn source(table: &Table) -> String {
    let Table {
        operand,
        result,
        fill,
        tolerance,
        ..
    } = table;
    let enable = if *operand == "f16" {
        "enable f16;\n"
    } else {
        ""
    };
    let count = table.expressions.len();
    let statements: String = table
        .expressions
        .iter()
        .enumerate()
        .map(|(index, expression)| {
            let wide = |width: usize| widened(expression, operand, width);
            format!(
                "    result[at + {index}u] = vec4<{result}>({}, ({}).y, ({}).z, ({}).w);\n",
                wide(1),
                wide(2),
                wide(3),
                wide(4)
            )
        })
        .collect();
    format!(
        "//! groups {groups} 1 1
//! length {length}
//! fill * {fill}
//! tolerance {tolerance}
{enable}
@group(0) @binding(0) var<storage, read> first: array<vec4<{operand}>, {COUNT}>;
@group(0) @binding(1) var<storage, read> second: array<vec4<{operand}>, {COUNT}>;
@group(0) @binding(2) var<storage, read> third: array<vec4<{operand}>, {COUNT}>;
@group(0) @binding(3) var<storage, read_write> result: array<vec4<{result}>>;

@compute @workgroup_size(32)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {{
    let a = first[id.x];
    let b = second[id.x];
    let c = third[id.x];
    let at = id.x * {count}u;
{statements}}}
",
        groups = COUNT / 32,
        length = COUNT as usize * count,
    )
}

/// The expression, of so many components.
fn widened(expression: &str, operand: &str, width: usize) -> String {
    let typed = |scalar: &str| match width {
        1 => scalar.to_owned(),
        width => format!("vec{width}<{scalar}>"),
    };
    let components = ["x", "xy", "xyz", "xyzw"][width - 1];
    let float = if operand == "f16" { "f16" } else { "f32" };
    let word = |word: &str| match word {
        "A" | "B" | "C" => format!("{}.{components}", word.to_ascii_lowercase()),
        "F" => typed(float),
        "I" => typed("i32"),
        "U" => typed("u32"),
        word => word.to_owned(),
    };
    let mut text = String::new();
    let mut name = String::new();
    for letter in expression.chars() {
        if letter.is_ascii_alphanumeric() {
            name.push(letter);
            continue;
        }
        text += &word(&std::mem::take(&mut name));
        text.push(letter);
    }
    text + &word(&name)
}
