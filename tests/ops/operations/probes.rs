//! A call of each operation on tensors without elements: its launcher checks all, and compiles and encodes nothing.

use std::cell::RefCell;
use std::collections::BTreeSet;

use metal_bridge::ops::{
    ArgReduction, Attention, Binary, Comparison, Convolution, DataType, Interpolation, Matmul,
    Norm, Pooling, Random, Reduction, ScanOrder, SortOrder, Tensor, Unary, Weight, WeightType,
    Windows,
};
use metal_bridge::{Buffer, ComputeEncoder, DispatchType, Error, Result};

use crate::support::{buffer, ops, queue};

/// A size that operands have where the result has it, and nowhere else: one of them has 1 there to ask whether it broadcasts.
const FREE: usize = 5;

/// The tensors of one call.
struct Probe<'a> {
    inputs: &'a Buffer,
    outputs: &'a Buffer,
    data_type: DataType,
    /// The operand that is to broadcast.
    repeated: Option<&'static str>,
    /// Those that could be.
    names: RefCell<BTreeSet<&'static str>>,
}

impl Probe<'_> {
    fn of(&self, name: &'static str, data_type: DataType, shape: &[usize]) -> Tensor<'_> {
        let mut shape = shape.to_vec();
        if let Some(free) = shape.iter_mut().find(|size| **size == FREE) {
            self.names.borrow_mut().insert(name);
            if self.repeated == Some(name) {
                *free = 1;
            }
        }
        Tensor::new(self.inputs, data_type, &shape).expect("a shape")
    }

    fn x(&self, name: &'static str, shape: &[usize]) -> Tensor<'_> {
        self.of(name, self.data_type, shape)
    }

    fn y(&self, shape: &[usize]) -> Tensor<'_> {
        self.y_of(self.data_type, shape)
    }

    fn y_of(&self, data_type: DataType, shape: &[usize]) -> Tensor<'_> {
        assert_eq!(shape[0], 0, "nothing is to be encoded");
        Tensor::new(self.outputs, data_type, shape).expect("a shape")
    }
}

type Call = Box<dyn Fn(&mut ComputeEncoder<'_>, &Probe<'_>) -> Result<()>>;

/// An operation.
pub struct Row {
    pub name: String,
    /// As in `unary(Unary::Neg)`.
    pub call: String,
    make: Call,
}

impl Row {
    /// The method.
    pub fn method(&self) -> &str {
        self.call.split('(').next().expect("a first part")
    }

    /// The function, if the method has several: `Unary::Neg`.
    pub fn variant(&self) -> Option<&str> {
        let (_, rest) = self.call.split_once('(')?;
        rest.split(['(', ')', ' ']).next()
    }

    /// What calls of `MetalOps` are named after.
    pub fn names_at_once(&self) -> impl Iterator<Item = &str> {
        let function = (self.method() == "binary").then_some(match self.name.as_str() {
            // The other word is one of Rust's.
            "mod" => "modulo",
            name => name,
        });
        [self.method()].into_iter().chain(function)
    }

    pub fn takes(&self, data_type: DataType) -> bool {
        match self.answer(data_type, None).0 {
            Ok(()) => true,
            Err(Error::Unsupported(_)) => false,
            Err(error) => panic!("{} of {}: {error}", self.call, data_type.name()),
        }
    }

    /// The operands that broadcast, for the first type that the operation takes.
    pub fn broadcast(&self) -> BTreeSet<&'static str> {
        let mut types = DataType::ALL.into_iter();
        let data_type = types
            .find(|data_type| self.takes(*data_type))
            .expect("a type");
        let mut names = self.answer(data_type, None).1;
        names.retain(|name| match self.answer(data_type, Some(name)).0 {
            Ok(()) => true,
            Err(Error::InvalidArgument(_)) => false,
            Err(error) => panic!("{} with {name} repeated: {error}", self.call),
        });
        names
    }

    fn answer(
        &self,
        data_type: DataType,
        repeated: Option<&'static str>,
    ) -> (Result<()>, BTreeSet<&'static str>) {
        let (inputs, outputs) = (buffer(&[0u64; 64]), buffer(&[0u64; 64]));
        let probe = Probe {
            inputs: &inputs,
            outputs: &outputs,
            data_type,
            repeated,
            names: RefCell::default(),
        };
        let mut commands = queue().command_buffer().expect("a command buffer");
        let mut encoder = commands
            .compute_command_encoder(DispatchType::Serial)
            .expect("an encoder");
        let answer = (self.make)(&mut encoder, &probe);
        (answer, probe.names.into_inner())
    }
}

/// `LeakyRelu(0.01)` as `leaky_relu`.
fn snake(variant: &str) -> String {
    let mut name = String::new();
    for letter in variant
        .split([' ', '('])
        .next()
        .expect("a first part")
        .chars()
    {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

/// The rows of operations with one function, `"name" method(arguments);`, and of those with several,
/// `"prefix" each f of Enumeration: method(arguments);`. The arguments follow the encoder `e`, and `p` makes the tensors.
macro_rules! rows {
    ($e:ident, $p:ident; $($rest:tt)*) => {{
        let mut rows: Vec<Row> = Vec::new();
        rows!(@ rows $e $p $($rest)*);
        rows
    }};
    (@ $rows:ident $e:ident $p:ident) => {};
    (@ $rows:ident $e:ident $p:ident $name:literal $method:ident: $call:expr; $($rest:tt)*) => {
        $rows.push(Row {
            name: $name.into(),
            call: stringify!($method).into(),
            make: Box::new(move |$e, $p| $call),
        });
        rows!(@ $rows $e $p $($rest)*);
    };
    (@ $rows:ident $e:ident $p:ident $name:literal $method:ident($($argument:expr),*); $($rest:tt)*) => {
        rows!(@ $rows $e $p $name $method: ops().$method($e, $($argument),*); $($rest)*);
    };
    (@ $rows:ident $e:ident $p:ident $prefix:literal each $f:ident of $all:ident $method:ident($($argument:expr),*); $($rest:tt)*) => {
        $rows.extend($all::ALL.into_iter().map(|$f| {
            let variant = format!("{:?}", $f);
            Row {
                name: format!("{}{}", $prefix, snake(&variant).replace('_', " ")),
                call: format!("{}({}::{variant})", stringify!($method), stringify!($all)),
                make: Box::new(move |$e, $p| ops().$method($e, $($argument),*)),
            }
        }));
        rows!(@ $rows $e $p $($rest)*);
    };
}

/// A call that is generic over the type of elements, with a zero of it.
macro_rules! typed {
    ($data_type:expr, $zero:ident => $call:expr; $($name:ident $value:expr),*) => {
        match $data_type {
            $(DataType::$name => {
                let $zero = $value;
                $call
            })*
        }
    };
    ($data_type:expr, $zero:ident => $call:expr) => {
        typed!($data_type, $zero => $call; F32 0f32, F16 half::f16::ZERO, BF16 half::bf16::ZERO, I8 0i8, U8 0u8, I32 0i32,
               U32 0u32, I64 0i64)
    };
}

fn norm<'a>(p: &'a Probe<'_>) -> Norm<'a> {
    Norm {
        weight: Some(p.x("weight", &[FREE])),
        bias: Some(p.x("bias", &[FREE])),
        ..Norm::default()
    }
}

fn product(e: &mut ComputeEncoder<'_>, p: &Probe<'_>) -> Result<()> {
    let (b, y) = match p.data_type {
        DataType::I8 | DataType::U8 => (DataType::I8, DataType::I32),
        other => (other, other),
    };
    let options = Matmul {
        c: Some(p.of("c", y, &[0, FREE, 2, 3])),
        bias: Some(p.of("bias", y, &[3])),
        ..Matmul::default()
    };
    let (a, b) = (p.x("a", &[0, FREE, 2, 4]), p.of("b", b, &[0, FREE, 4, 3]));
    ops().matmul(e, options, a, b, p.y_of(y, &[0, FREE, 2, 3]))
}

fn weight(p: &Probe<'_>) -> Weight {
    Weight::new(p.inputs.clone(), 0, 3, 4, WeightType::F32).expect("3 rows of 4")
}

/// The rest of what the convolutions take.
fn depthwise() -> Convolution<1> {
    Convolution {
        groups: FREE,
        ..Convolution::default()
    }
}

fn masked<'a>(p: &'a Probe<'_>) -> Attention<'a> {
    Attention {
        mask: Some(p.of("mask", DataType::U8, &[0, FREE, 2, 2])),
        ..Attention::default()
    }
}

/// All operations on tensors.
pub fn rows() -> Vec<Row> {
    const A: &[usize] = &[0, FREE];
    const B: &[usize] = &[0, FREE, 2];
    const C: &[usize] = &[0, FREE, 3];
    const D: &[usize] = &[0, FREE, 2, 4];
    const U8: DataType = DataType::U8;
    const U32: DataType = DataType::U32;
    const F32: DataType = DataType::F32;
    let order = SortOrder::default;
    let random = Random::default;
    rows! { e, p;
        "" each f of Unary unary(f, p.x("x", A), p.y(A));
        "" each f of Binary binary(f, p.x("a", A), p.x("b", A), p.y(A));
        "" each f of Comparison compare(f, p.x("a", A), p.x("b", A), p.y_of(U8, A));
        "where" select(p.of("condition", U8, A), p.x("a", A), p.x("b", A), p.y(A));
        "cast, copy" convert: DataType::ALL.into_iter().try_for_each(|to| ops().convert(e, p.x("x", A), p.y_of(to, A)));
        "fill" fill: typed!(p.data_type, zero => ops().fill(e, zero, p.y(A)));
        "matmul" matmul: product(e, p);
        "product with weights" matmul_weights(&weight(p), p.x("x", &[0, 4]), p.y(&[0, 3]));
        "product with weights, added" matmul_weights_add(&weight(p), p.x("x", &[0, 4]), p.y(&[0, 3]));
        "" each f of Reduction reduce(f, p.x("x", C), &[2], p.y(A));
        "arg" each f of ArgReduction arg_reduce(f, p.x("x", C), 2, p.y_of(U32, A));
        "cumsum" cumsum(p.x("x", A), 1, ScanOrder::default(), p.y(A));
        "cumprod" cumprod(p.x("x", A), 1, ScanOrder::default(), p.y(A));
        "softmax" softmax(p.x("x", A), 1, p.y(A));
        "log softmax" log_softmax(p.x("x", A), 1, p.y(A));
        "sort" sort(order(), p.x("x", A), p.y(A), p.y_of(U32, A), p.outputs);
        "argsort" argsort(order(), p.x("x", A), p.y_of(U32, A), p.outputs);
        "top-k" top_k(order(), p.x("x", A), p.y(A), p.y_of(U32, A), p.outputs);
        "layer norm" layer_norm(p.x("x", A), &[1], &norm(p), p.y(A));
        "RMS norm" rms_norm_along(p.x("x", A), &[1], &norm(p), p.y(A));
        "group norm" group_norm(p.x("x", B), 1, &norm(p), p.y(B));
        "batch norm, inference"
            batch_norm(p.x("x", B), p.of("mean", F32, &[FREE]), p.of("variance", F32, &[FREE]), &norm(p), p.y(B));
        "batch norm, training" batch_norm_training(p.x("x", B), None, &norm(p), p.y(B));
        "convolution"
            convolution(p.x("x", C), p.x("weight", &[FREE, 1, 2]), Some(p.x("bias", &[FREE])), &depthwise(), p.y(B));
        "transposed convolution"
            transposed_convolution(p.x("x", B), p.x("weight", &[FREE, 1, 2]), Some(p.x("bias", &[FREE])), &depthwise(), p.y(C));
        "pooling: " each f of Pooling pool(f, p.x("x", C), &Windows::of([2]), p.y(&[0, FREE, 1]));
        "adaptive pooling: " each f of Pooling adaptive_pool(f, p.x("x", C), p.y(B));
        "upsampling: " each f of Interpolation resample(f, p.x("x", B), p.y(C));
        "concat" concat(&[p.x("x", C)], 2, p.y(C));
        "pad" pad: typed!(p.data_type, zero => ops().pad(e, p.x("x", B), &[[0; 2], [0; 2], [1, 0]], zero, p.y(C)));
        "tile" tile(p.x("x", A), &[1, 1], p.y(A));
        "repeat" repeat(p.x("x", A), 1, 1, p.y(A));
        "gather" gather(p.x("x", C), 2, p.of("index", U32, B), p.y(B));
        "index select" index_select(p.x("x", C), 2, p.of("index", U32, &[2]), p.y(B));
        "embedding" embedding(p.x("x", &[3, FREE]), p.of("index", U32, &[0]), p.y(A));
        "scatter" scatter(p.x("x", B), 2, p.of("index", U32, B), p.y(C));
        "scatter add" scatter_add(p.x("x", B), 2, p.of("index", U32, B), p.y(C));
        "upper triangles" triu(p.x("x", A), 0, p.y(A));
        "lower triangles" tril(p.x("x", A), 0, p.y(A));
        "one hot" one_hot(p.of("index", U32, A), p.y(C));
        "attention" scaled_dot_product_attention(p.x("q", D), p.x("k", D), p.x("v", D), &masked(p), p.y(D));
        "random bits" random_bits(random(), p.y(A));
        "random: uniform" uniform(random(), 0.0, 1.0, p.y(A));
        "random: normal" normal(random(), 0.0, 1.0, p.y(A));
    }
}
