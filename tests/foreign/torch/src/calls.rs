//! A request as a call of `Ops`.

use half::{bf16, f16};
use metal_bridge::ops::{
    ArgReduction, Attention, Binary, Causality, Comparison, Convolution, DataType, Interpolation,
    Matmul, Norm, Ops, Pooling, Reduction, Right, RunningStatistics, ScanOrder, SortOrder, Tensor,
    Unary, View, Windows,
};
use metal_bridge::{ComputeEncoder, MetalBackend, Result, StorageMode};

use crate::request::Arguments;

/// A call that is generic over the type of elements, with a number of it; integers wrap.
macro_rules! typed {
    ($data_type:expr, $number:expr, $value:ident => $call:expr) => {
        match $data_type {
            DataType::F32 => typed!(@ $number as f32, $value => $call),
            DataType::F16 => typed!(@ f16::from_f64($number), $value => $call),
            DataType::BF16 => typed!(@ bf16::from_f64($number), $value => $call),
            DataType::I8 => typed!(@ $number as i64 as i8, $value => $call),
            DataType::U8 => typed!(@ $number as i64 as u8, $value => $call),
            DataType::I32 => typed!(@ $number as i64 as i32, $value => $call),
            DataType::U32 => typed!(@ $number as i64 as u32, $value => $call),
            DataType::I64 => typed!(@ $number as i64, $value => $call),
        }
    };
    (@ $number:expr, $value:ident => $call:expr) => {{
        let $value = $number;
        $call
    }};
}

/// The second operand, or the number `scalar` in the type of the first.
fn right<'a>(a: &Arguments<'a>, first: &Tensor<'_>) -> Right<'a> {
    match (a.given("b"), a.bits("scalar")) {
        (Some(b), _) => Right::Tensor(b),
        (None, Some(number)) => {
            typed!(first.data_type(), number, value => Right::scalar(value))
        }
        (None, None) => panic!("neither b nor a number"),
    }
}

fn unary(a: &Arguments<'_>) -> Unary {
    match a.one_of("function", &Unary::ALL) {
        Unary::LeakyRelu(usual) => Unary::LeakyRelu(a.float("parameter").unwrap_or(usual)),
        Unary::Elu(usual) => Unary::Elu(a.float("parameter").unwrap_or(usual)),
        other => other,
    }
}

fn reduction(a: &Arguments<'_>) -> Reduction {
    match a.one_of("function", &Reduction::ALL) {
        Reduction::Var { .. } => Reduction::Var {
            correction: a.number("correction") as u32,
        },
        other => other,
    }
}

fn norm<'a>(a: &Arguments<'a>) -> Norm<'a> {
    Norm {
        weight: a.given("weight"),
        bias: a.given("bias"),
        epsilon: a.float("epsilon").expect("an epsilon"),
    }
}

fn order(a: &Arguments<'_>) -> SortOrder {
    SortOrder {
        axis: a.number("axis"),
        descending: a.is("descending"),
    }
}

/// A convolution or a pooling of `D` spatial dimensions.
fn windows<const D: usize>(
    call: &str,
    ops: &Ops,
    e: &mut ComputeEncoder<'_>,
    a: &Arguments<'_>,
) -> Result<()> {
    let (x, y) = (a.tensor("x"), a.tensor("y"));
    let padding = a
        .pairs("padding")
        .try_into()
        .expect("as many as dimensions");
    if call == "pool" {
        let windows = Windows::<D> {
            size: a.each("size"),
            stride: a.each("stride"),
            padding,
            dilation: a.each("dilation"),
        };
        return ops.pool(e, a.one_of("function", &Pooling::ALL), x, &windows, y);
    }
    let convolution = Convolution::<D> {
        stride: a.each("stride"),
        padding,
        dilation: a.each("dilation"),
        groups: a.number("groups"),
    };
    let (weight, bias) = (a.tensor("weight"), a.given("bias"));
    match call {
        "convolution" => ops.convolution(e, x, weight, bias, &convolution, y),
        _ => ops.transposed_convolution(e, x, weight, bias, &convolution, y),
    }
}

/// Encodes the call.
pub fn encode(
    call: &str,
    backend: &MetalBackend,
    e: &mut ComputeEncoder<'_>,
    a: &Arguments<'_>,
) -> Result<()> {
    let ops = backend.ops();
    let t = |name| a.tensor(name);
    let axis = || a.number("axis");
    match call {
        "unary" => ops.unary(e, unary(a), t("x"), t("y")),
        "binary" => {
            let function = a.one_of("function", &Binary::ALL);
            ops.binary(e, function, t("a"), right(a, &t("a")), t("y"))
        }
        "compare" => {
            let function = a.one_of("function", &Comparison::ALL);
            ops.compare(e, function, t("a"), right(a, &t("a")), t("y"))
        }
        "select" => ops.select(e, t("condition"), t("a"), t("b"), t("y")),
        "convert" => ops.convert(e, t("x"), t("y")),
        "fill" => {
            let number = a.bits("value").expect("a value");
            typed!(t("y").data_type(), number, value => ops.fill(e, value, t("y")))
        }
        "reduce" => ops.reduce(e, reduction(a), t("x"), &a.numbers("axes"), t("y")),
        "arg_reduce" => {
            let function = a.one_of("function", &ArgReduction::ALL);
            ops.arg_reduce(e, function, t("x"), axis(), t("y"))
        }
        "cumsum" => ops.cumsum(e, t("x"), axis(), ScanOrder::default(), t("y")),
        "cumprod" => ops.cumprod(e, t("x"), axis(), ScanOrder::default(), t("y")),
        "softmax" => ops.softmax(e, t("x"), axis(), t("y")),
        "log_softmax" => ops.log_softmax(e, t("x"), axis(), t("y")),
        "sort" | "argsort" | "top_k" => {
            let bytes = Ops::sort_scratch(t("x").shape(), axis())?;
            let scratch = backend.create_buffer(bytes.max(1), StorageMode::Private)?;
            let scratch = View::from(&scratch);
            match call {
                "sort" => ops.sort(e, order(a), t("x"), t("y"), t("indices"), scratch),
                "top_k" => ops.top_k(e, order(a), t("x"), t("y"), t("indices"), scratch),
                _ => ops.argsort(e, order(a), t("x"), t("indices"), scratch),
            }
        }
        "layer_norm" => ops.layer_norm(e, t("x"), &a.numbers("axes"), &norm(a), t("y")),
        "rms_norm_along" => ops.rms_norm_along(e, t("x"), &a.numbers("axes"), &norm(a), t("y")),
        "group_norm" => ops.group_norm(e, t("x"), a.number("groups"), &norm(a), t("y")),
        "batch_norm" => ops.batch_norm(e, t("x"), t("mean"), t("variance"), &norm(a), t("y")),
        "batch_norm_training" => {
            let running = a.given("mean").map(|mean| RunningStatistics {
                mean,
                variance: t("variance"),
                momentum: a.float("momentum").expect("a momentum"),
            });
            ops.batch_norm_training(e, t("x"), running, &norm(a), t("y"))
        }
        "pool" | "convolution" | "transposed_convolution" => match t("x").rank() {
            3 => windows::<1>(call, ops, e, a),
            _ => windows::<2>(call, ops, e, a),
        },
        "adaptive_pool" => {
            ops.adaptive_pool(e, a.one_of("function", &Pooling::ALL), t("x"), t("y"))
        }
        "resample" => {
            let function = a.one_of("function", &Interpolation::ALL);
            ops.resample(e, function, t("x"), t("y"))
        }
        "concat" => ops.concat(e, &a.list(), axis(), t("y")),
        "pad" => {
            let (number, padding) = (a.bits("value").expect("a value"), a.pairs("padding"));
            typed!(t("y").data_type(), number, value => ops.pad(e, t("x"), &padding, value, t("y")))
        }
        "tile" => ops.tile(e, t("x"), &a.numbers("times"), t("y")),
        "repeat" => ops.repeat(e, t("x"), axis(), a.number("times"), t("y")),
        "gather" => ops.gather(e, t("x"), axis(), t("index"), t("y")),
        "index_select" => ops.index_select(e, t("x"), axis(), t("index"), t("y")),
        "embedding" => ops.embedding(e, t("x"), t("index"), t("y")),
        "scatter" => ops.scatter(e, t("x"), axis(), t("index"), t("y")),
        "scatter_add" => ops.scatter_add(e, t("x"), axis(), t("index"), t("y")),
        "triu" => ops.triu(e, t("x"), a.integer("diagonal"), t("y")),
        "tril" => ops.tril(e, t("x"), a.integer("diagonal"), t("y")),
        "one_hot" => ops.one_hot(e, t("index"), t("y")),
        "matmul" => {
            let options = Matmul {
                alpha: a.float("alpha").unwrap_or(1.0),
                beta: a.float("beta").unwrap_or(1.0),
                c: a.given("c"),
                bias: a.given("bias"),
                ..Matmul::default()
            };
            ops.matmul(e, options, t("a"), t("b"), t("y"))
        }
        "scaled_dot_product_attention" => {
            let attention = Attention {
                mask: a.given("mask"),
                causality: match a.is("causal") {
                    true => Causality::FromFirst,
                    false => Causality::None,
                },
                scale: a.float("scale"),
                ..Attention::default()
            };
            ops.scaled_dot_product_attention(e, t("q"), t("k"), t("v"), &attention, t("y"))
        }
        other => panic!("{other} is not a call"),
    }
}
