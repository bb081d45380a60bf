//! [`Normalized`]: the one launcher of the kernel of norms.

use bytemuck::{Pod, Zeroable};

use crate::error::Result;
use crate::metal::compute::ComputeEncoder;
use crate::ops::Ops;
use crate::ops::launch::{Cost, Launch, Operand};
use crate::ops::pipelines::{Constant, KernelName};
use crate::ops::shader::Shader;
use crate::ops::tensor::data_type::DataType;
use crate::ops::tensor::layout::{Layout, MAX_RANK};
use crate::ops::tensor::rows::{self, Axes, Division, axes_of, walks};
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{
    KernelNames, kernel_names, read_operand, require_type, write_operand,
};

const KERNELS: KernelNames = kernel_names!("normalize");

/// `NormArguments` of `shaders/tensor/normalization.metal`.
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Arguments {
    rows: rows::Arguments,
    epsilon: f32,
    momentum: f32,
    kept_scales: Axes,
    reduced_scales: Axes,
    kept_statistics: Axes,
    reduced_statistics: Axes,
}

/// What rows are normalized by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Their mean and variance.
    Centred,
    /// The mean of their squares.
    Rms,
    /// A mean and a variance that are given.
    Given,
}

/// A mean and a variance for each row: read in the form [`Form::Given`], and updated in the form [`Form::Centred`].
#[derive(Clone, Copy)]
pub(super) struct Statistics<'a> {
    pub(super) mean: Tensor<'a>,
    pub(super) variance: Tensor<'a>,
    /// The part of the new values in what is updated.
    pub(super) momentum: f32,
}

/// A norm of each row of `x`: all elements along `axes` at one position of the other axes.
pub(super) struct Normalized<'a> {
    pub(super) function: &'static str,
    pub(super) form: Form,
    pub(super) x: Tensor<'a>,
    pub(super) y: Tensor<'a>,
    pub(super) axes: &'a [usize],
    pub(super) epsilon: f32,
    /// Both broadcast to the shape of `x`.
    pub(super) weight: Option<Tensor<'a>>,
    pub(super) bias: Option<Tensor<'a>>,
    /// Both have the shape of `x`; where they are updated, they repeat along `axes`.
    pub(super) statistics: Option<Statistics<'a>>,
}

impl<'a> Normalized<'a> {
    /// Checks the tensors and encodes the dispatch.
    pub(super) fn encode(self, ops: &Ops, encoder: &mut ComputeEncoder<'_>) -> Result<()> {
        let function = self.function;
        let (weight, bias) = (
            self.scale("weight", self.weight)?,
            self.scale("bias", self.bias)?,
        );
        let operands = self.operands(&weight, &bias)?;
        if self.y.count() == 0 {
            return operands
                .iter()
                .try_for_each(|operand| operand.check(function));
        }
        let layouts = self.layouts(&weight, &bias);
        let (kept, reduced) = walks(self.axes, &layouts);
        let division = Division::new(function, &self.y, ops.lanes, &kept, &reduced, true)?;
        let kernel = KernelName::new(Shader::Normalization, KERNELS[self.x.data_type() as usize])
            .with(Constant::Bool(0, division.is_dense))
            .with(Constant::Uint(1, self.operation(&weight, &bias)))
            .with(Constant::Bool(2, division.is_alone));
        let pipeline = ops.pipelines.pipeline(kernel)?;
        let count = reduced.shape.iter().product::<usize>();
        let divisor = (count - 1) as f32;
        let (rows, grid) = division.arguments(&pipeline, divisor, &kept, &reduced);
        let launch = Launch {
            function,
            pipeline: &pipeline,
            arguments: Arguments {
                rows,
                epsilon: self.epsilon,
                momentum: self
                    .statistics
                    .map_or(0.0, |statistics| statistics.momentum),
                kept_scales: axes_of(&kept, [2, 3]),
                reduced_scales: axes_of(&reduced, [2, 3]),
                kept_statistics: axes_of(&kept, [4, 5]),
                reduced_statistics: axes_of(&reduced, [4, 5]),
            },
            operands: &operands,
            cost: self.cost(),
            threadgroup_memory: 0,
            grid,
        };
        // SAFETY: the kernel has one thread or threadgroup for each position of `kept`, and goes to the positions of `reduced`
        // from there: together the positions of `x`, whose offsets in all tensors are inside the extents of the operands. What
        // the operation lacks is not read.
        unsafe { launch.encode(encoder) }
    }

    /// The steps of the formula for an element: sum, difference, square, sum of squares and quotient; without the first two of
    /// them, or with the difference and the quotient alone; then the product with the weight and the sum with the bias.
    fn cost(&self) -> Cost {
        let steps = match self.form {
            Form::Centred => 5,
            Form::Rms => 3,
            Form::Given => 2,
        };
        let scales = [self.weight, self.bias].into_iter().flatten().count();
        Cost::new(self.x.data_type().name(), [self.x.count(), steps + scales])
    }

    /// `tensor` in the shape of x; an error unless it has a type that scales may have.
    fn scale(&self, name: &'static str, tensor: Option<Tensor<'a>>) -> Result<Option<Tensor<'a>>> {
        let Some(tensor) = tensor else {
            return Ok(None);
        };
        if tensor.data_type() != DataType::F32 {
            require_type(self.function, name, &tensor, self.x.data_type())?;
        }
        Ok(Some(tensor.broadcast(
            self.function,
            name,
            self.x.shape(),
        )?))
    }

    fn operation(&self, weight: &Option<Tensor<'_>>, bias: &Option<Tensor<'_>>) -> u32 {
        let is_f32 = |scale: &Option<Tensor<'_>>| {
            scale.is_some_and(|scale| scale.data_type() == DataType::F32)
        };
        self.form as u32
            | u32::from(weight.is_some()) << 2
            | u32::from(bias.is_some()) << 3
            | u32::from(self.form == Form::Centred && self.statistics.is_some()) << 4
            | u32::from(is_f32(weight) || is_f32(bias)) << 5
    }

    /// Those of x, y, weight, bias, mean and variance in the shape of x. What the operation lacks lies as another scale does, so
    /// that it hinders nothing.
    fn layouts(&self, weight: &Option<Tensor<'_>>, bias: &Option<Tensor<'_>>) -> [Layout; 6] {
        let nowhere = Layout::strided(self.x.shape(), &[0; MAX_RANK][..self.x.rank()])
            .expect("the shape of a tensor is one");
        let of = |tensor: &Tensor<'_>| *tensor.layout();
        let [mean, variance] = match &self.statistics {
            Some(statistics) => [Some(of(&statistics.mean)), Some(of(&statistics.variance))],
            None => [None, None],
        };
        let (weight, bias) = (weight.as_ref().map(of), bias.as_ref().map(of));
        let any = weight.or(bias).or(mean).unwrap_or(nowhere);
        let all = [weight, bias, mean, variance].map(|layout| layout.unwrap_or(any));
        [of(&self.x), of(&self.y), all[0], all[1], all[2], all[3]]
    }

    fn operands(
        &self,
        weight: &Option<Tensor<'a>>,
        bias: &Option<Tensor<'a>>,
    ) -> Result<[Operand<'_>; 6]> {
        let function = self.function;
        let (x, y) = (&self.x, &self.y);
        y.require_own_elements(function, "y")?;
        let is_same = x.require_apart(function, "x", y, Some(y))?;
        let read = read_operand(function, "x", x)?;
        let write = write_operand(function, "y", y)?;
        let write = if is_same { write.in_place() } else { write };
        // What the operation lacks is bound to x.
        let none = read.moving(0);
        let mut operands = [read, write, none, none, none, none];
        let statistics = self.statistics.as_ref();
        let others = [
            ("weight", weight.as_ref()),
            ("bias", bias.as_ref()),
            ("mean", statistics.map(|statistics| &statistics.mean)),
            (
                "variance",
                statistics.map(|statistics| &statistics.variance),
            ),
        ];
        for (index, (name, tensor)) in others.into_iter().enumerate() {
            let Some(tensor) = tensor else {
                continue;
            };
            tensor.require_apart(function, name, y, None)?;
            let is_written = index >= 2 && self.form == Form::Centred;
            operands[index + 2] = match is_written {
                true => write_operand(function, name, tensor)?,
                false => read_operand(function, name, tensor)?,
            };
        }
        Ok(operands)
    }
}
