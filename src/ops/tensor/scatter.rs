//! Elements scattered by their index along an axis.

use crate::error::Result;
use crate::metal::compute::ComputeEncoder;
use crate::ops::launch::Cost;
use crate::ops::pipelines::{Constant, KernelName};
use crate::ops::shader::Shader;
use crate::ops::tensor::arrange::require_axis;
use crate::ops::tensor::index::{
    Along, kernel_of_size, layout_of, require_index, require_within, strides_but,
};
use crate::ops::tensor::layout::{Layout, MAX_RANK};
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{KernelNames, Part, Walked, kernel_names, require_type};
use crate::ops::{LaneExecution, Ops};

const SCATTERS: [&str; 4] = ["scatter_1", "scatter_2", "scatter_4", "scatter_8"];
const SCATTERED_SUMS: KernelNames = kernel_names!("scatter_add");

impl Ops {
    /// `y[i, index[i, j, k], k] = x[i, j, k]`, for `axis` 1 of three, and so on; the rest of `y` stays. `index` broadcasts to the
    /// shape of `x`, which along each axis but `axis` is at most as large as `y`. `x` and `y` have one type, of any kind; `index` is
    /// of type `i32`, `u32` or `i64`. Where an index is negative, or not less than the size of `y` along `axis`, nothing is written.
    /// If several positions of `x` have the same offset in `y`, one of them is there in the end, and which one is not
    /// determined. Kernel `scatter`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::gather`], for the axes of `y`.
    pub fn scatter<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        axis: usize,
        index: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let tensors = (x.into(), axis, index.into(), y.into());
        self.scattered("Ops::scatter", encoder, tensors, false)
    }

    /// `y[i, index[i, j, k], k] += x[i, j, k]`, for `axis` 1 of three, and so on; shapes, types and indices out of range as for
    /// [`Ops::scatter`]. Elements of `x` for one element of `y` are added in their order along `axis`, so that the result is
    /// determined on every device: integers wrap, and floats are rounded to their type after each addition. With `n`
    /// additions to an element of `f32` it is wrong by at most `1.01 n u sum(|x|)`, where `u` is 2^-24 and the sum has what `y` was
    /// before. One thread adds all elements along `axis`: a GPU is busy only if the other axes have many positions. Kernel
    /// `scatter_add` of that type.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::scatter`].
    pub fn scatter_add<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        axis: usize,
        index: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let tensors = (x.into(), axis, index.into(), y.into());
        self.scattered("Ops::scatter_add", encoder, tensors, true)
    }

    fn scattered(
        &self,
        function: &'static str,
        encoder: &mut ComputeEncoder<'_>,
        (x, axis, index, y): (Tensor<'_>, usize, Tensor<'_>, Tensor<'_>),
        adds: bool,
    ) -> Result<()> {
        require_type(function, "y", &y, x.data_type())?;
        require_axis(function, "y", &y, axis)?;
        require_index(function, &index)?;
        let index = index.broadcast(function, "index", x.shape())?;
        require_within(function, ("x", &x), ("y", &y), axis)?;
        y.require_own_elements(function, "y")?;
        let mut along = Along {
            size: y.shape()[axis],
            stride: y.strides()[axis],
            count: 1,
            index_stride: 0,
            x_stride: 0,
        };
        let y_layout = layout_of(&x, &strides_but(&y, axis, x.rank()));
        let mut layouts = [y_layout, *index.layout(), *x.layout()];
        // Threads that own what they write do not race, but there may be too few of them for a GPU.
        let owns = adds || self.lanes == LaneExecution::InTurn;
        if owns {
            let count = x.shape()[axis];
            along.count = count;
            along.index_stride = index.strides()[axis];
            along.x_stride = x.strides()[axis];
            // One position along the axis stands for all of them; of none the kernel makes nothing.
            let mut shape = [1; MAX_RANK];
            shape[..x.rank()].copy_from_slice(x.shape());
            shape[axis] = count.min(1);
            layouts = layouts.map(|layout| {
                let layout = Layout::strided(&shape[..x.rank()], layout.strides());
                layout.expect("it has less elements than x")
            });
        }
        let [y_layout, index_layout, x_layout] = layouts;
        let parts = [
            Part::write(function, &y, y_layout)?,
            Part::read(function, "index", &index, index_layout)?,
            Part::read(function, "x", &x, x_layout)?,
        ];
        let mut walked = Walked {
            function,
            scalar: index.data_type() as u64,
            parameters: along.parameters(),
            parts: &parts,
            per_thread: None,
            cost: match adds {
                true => Cost::new(y.data_type().name(), [x.count()]),
                false => Cost::bytes_only(y.data_type().name()),
            },
        };
        if along.size == 0 {
            return walked.check(self);
        }
        let walk = walked.walk();
        // Where lanes run in turn, a thread that takes many positions goes through them for each step along the axis: that
        // pays if they are closer to each other than the steps.
        if self.lanes == LaneExecution::InTurn && walk.strides[0][2] > along.x_stride {
            walked.per_thread = Some(1);
        }
        let kernel = |is_dense| {
            let name = if adds {
                SCATTERED_SUMS[y.data_type() as usize]
            } else {
                kernel_of_size(&SCATTERS, y.data_type())
            };
            KernelName::new(Shader::Index, name).with(Constant::Bool(0, is_dense))
        };
        // SAFETY: the kernel writes y at positions of the walk, which leaves out the axis of the index, and along that axis at
        // indices that are less than its size; it reads the other tensors at positions of x.
        unsafe { walked.encode(self, encoder, &walk, kernel) }
    }
}
