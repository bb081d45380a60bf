//! Products with a weight matrix.

use crate::error::{Error, Failure, Result};
use crate::ops::product::{Epilogue, Factor, Product};
use crate::ops::{DataType, LaunchTarget, Ops, Tensor, View, Weight};

impl Ops {
    /// `y = x . W^T`: `x` is `[m, weight.columns()]`, `y` is `[m, weight.rows()]`, both f32.
    ///
    /// For up to 8 rows this runs a kernel `matvec_*`, whose time is that of reading the weights, and for more rows `matmul_*`, which
    /// uses simdgroup matrices. On a device without simdgroup matrices the kernels for few rows take any number of rows. So do
    /// `matvec_blocks_*` on a device that runs lanes one after another ([`LaneExecution::InTurn`](super::LaneExecution::InTurn)).
    /// [`Ops::with_product_kernels`] fixes the kernels for any number of rows.
    ///
    /// A row of `y` has the same bits whatever the other rows of `x` are, and however many they are, as long as the same kind of
    /// kernels makes it: see [`ProductKernels`](super::ProductKernels).
    ///
    /// The arithmetic is f32 in all kernels. Those named `matvec_*` multiply a block's sum by its scale, and not each term, for
    /// Q8_0 and Q4_0: the sum of `x` times the block's whole numbers must be finite.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`](crate::Error::OutOfRange), [`Error::Misaligned`](crate::Error::Misaligned) and
    /// [`Error::InvalidArgument`](crate::Error::InvalidArgument) if `x` or `y` does not fit in its buffer, is not on a
    /// multiple of 4 bytes, or `y` overlaps what is read; and those of the encoder.
    pub fn linear<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        weight: &Weight,
        x: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        m: usize,
    ) -> Result<()> {
        self.product(
            target,
            &Product {
                function: "Ops::linear",
                weight,
                x: Factor::F32(x.into()),
                y: y.into(),
                m,
                epilogue: Epilogue::default(),
                chosen: None,
            },
        )
    }

    /// `y += x . W^T`, as [`Ops::linear`] otherwise: the residual connection in the same dispatch.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::linear`].
    pub fn linear_add<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        weight: &Weight,
        x: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        m: usize,
    ) -> Result<()> {
        self.product(
            target,
            &Product {
                function: "Ops::linear_add",
                weight,
                x: Factor::F32(x.into()),
                y: y.into(),
                m,
                epilogue: Epilogue::ADD,
                chosen: None,
            },
        )
    }

    /// `y = [y +] scale * (x . W^T [+ bias])`, as `epilogue` says, and as [`Ops::linear`] otherwise: the bias of a layer, and
    /// the scales that some models have, in the same dispatch.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::linear`], also for the bias; [`Error::InvalidArgument`] if the scale is not finite.
    pub fn linear_with<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        weight: &Weight,
        x: impl Into<View<'a>>,
        y: impl Into<View<'a>>,
        m: usize,
        epilogue: &Epilogue<'_>,
    ) -> Result<()> {
        self.product(
            target,
            &Product {
                function: "Ops::linear_with",
                weight,
                x: Factor::F32(x.into()),
                y: y.into(),
                m,
                epilogue: *epilogue,
                chosen: None,
            },
        )
    }

    /// `y = x . W^T` on tensors: `x` is `[.., weight.columns()]`, `y` is `[.., weight.rows()]` with the same dimensions before
    /// the last, both f32, row-major and without gaps. Weights are of any [`WeightType`](super::WeightType). Kernels and
    /// arithmetic are those of [`Ops::linear`]. A bias or an activation takes an elementwise call after this one.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::linear`]; [`Error::Unsupported`] if `x` does not have elements of type f32;
    /// [`Error::InvalidArgument`] if `y` has another type, or if shapes do not fit or have gaps.
    pub fn matmul_weights<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        weight: &Weight,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::matmul_weights";
        let (x, y) = (x.into(), y.into());
        let m = rows_of(FUNCTION, weight, &x, &y)?;
        self.product(
            target,
            &Product {
                function: FUNCTION,
                weight,
                x: Factor::F32(x.view()),
                y: y.view(),
                m,
                epilogue: Epilogue::default(),
                chosen: None,
            },
        )
    }

    /// `y += x . W^T`, as [`Ops::matmul_weights`] otherwise. Kernels are those of [`Ops::linear`].
    ///
    /// # Errors
    ///
    /// Those of [`Ops::matmul_weights`].
    pub fn matmul_weights_add<'a>(
        &self,
        target: &mut dyn LaunchTarget,
        weight: &Weight,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::matmul_weights_add";
        let (x, y) = (x.into(), y.into());
        let m = rows_of(FUNCTION, weight, &x, &y)?;
        self.product(
            target,
            &Product {
                function: FUNCTION,
                weight,
                x: Factor::F32(x.view()),
                y: y.view(),
                m,
                epilogue: Epilogue::ADD,
                chosen: None,
            },
        )
    }
}

/// The number of rows of `x`, if it and `y` are what a product with `weight` takes and gives.
fn rows_of(
    function: &'static str,
    weight: &Weight,
    x: &Tensor<'_>,
    y: &Tensor<'_>,
) -> Result<usize> {
    let invalid = |message| Err(Error::InvalidArgument(Failure::new(function, message)));
    if x.data_type() != DataType::F32 {
        let message = format!(
            "x has elements of type {}, but weights are multiplied by f32",
            x.data_type().name()
        );
        return Err(Error::Unsupported(Failure::new(function, message)));
    }
    if y.data_type() != DataType::F32 {
        return invalid(format!(
            "y has elements of type {}, but the product has f32",
            y.data_type().name()
        ));
    }
    let (n, k) = (weight.rows(), weight.columns());
    for (name, tensor, size) in [("x", x, k), ("y", y, n)] {
        if tensor.shape().last() != Some(&size) {
            return invalid(format!(
                "{name} has the shape {:?}, but weights of {n} rows and {k} columns need [.., {size}]",
                tensor.shape()
            ));
        }
        if !tensor.layout().is_contiguous() {
            return invalid(format!(
                "{name} has the strides {:?} for the shape {:?}: it must be row-major without gaps",
                tensor.strides(),
                tensor.shape()
            ));
        }
    }
    let [x_rows, y_rows] = [x, y].map(|tensor| &tensor.shape()[..tensor.rank() - 1]);
    if x_rows != y_rows {
        return invalid(format!(
            "y has the shape {:?}, but x of shape {:?} needs the same sizes before the last",
            y.shape(),
            x.shape()
        ));
    }
    Ok(x.count() / k)
}
