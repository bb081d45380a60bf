//! Operations of [`MetalOps`] on tensors, buffers and addresses.

use crate::backend::slices::MetalOps;
use crate::error::Result;
use crate::metal::buffer::Buffer;
use crate::metal::compute::ComputeEncoder;
use crate::ops::{Binary, Comparison, Element, Matmul, Right, Tensor, Unary};

/// Calls of [`Ops`](crate::ops::Ops) with the same arguments, at once and for a batch; in brackets their parameters besides `'a`.
macro_rules! at_once {
    ($($name:ident $([$($parameter:tt)*])? ($($argument:ident: $type:ty),*);)*) => {
        impl crate::backend::slices::MetalOps {
            $(
                #[doc = concat!("[`Ops::", stringify!($name), "`](crate::ops::Ops::", stringify!($name), "), at once.")]
                ///
                /// # Errors
                ///
                /// See [`MetalOps`](crate::MetalOps).
                pub fn $name<'a $(, $($parameter)*)?>(&self, $($argument: $type),*) -> crate::error::Result<()> {
                    self.at_once(|encoder| self.backend().ops().$name(encoder, $($argument),*))
                }
            )*
        }

        impl crate::backend::batch::Batch<'_> {
            $(
                #[doc = concat!("Queues [`Ops::", stringify!($name), "`](crate::ops::Ops::", stringify!($name), ").")]
                ///
                /// # Errors
                ///
                /// See [`Batch::encode`](crate::Batch::encode).
                pub fn $name<'a $(, $($parameter)*)?>(&mut self, $($argument: $type),*) -> crate::error::Result<()> {
                    self.encode(|ops, encoder| ops.$name(encoder, $($argument),*))
                }
            )*
        }
    };
}
pub(super) use at_once;

at_once! {
    unary(operation: Unary, x: impl Into<Tensor<'a>>, y: impl Into<Tensor<'a>>);
    binary(operation: Binary, a: impl Into<Tensor<'a>>, b: impl Into<Right<'a>>, y: impl Into<Tensor<'a>>);
    compare(comparison: Comparison, a: impl Into<Tensor<'a>>, b: impl Into<Right<'a>>, y: impl Into<Tensor<'a>>);
    select(
        condition: impl Into<Tensor<'a>>,
        a: impl Into<Tensor<'a>>,
        b: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>
    );
    convert(x: impl Into<Tensor<'a>>, y: impl Into<Tensor<'a>>);
}

impl MetalOps {
    pub(super) fn at_once(
        &self,
        encode: impl FnOnce(&mut ComputeEncoder<'_>) -> Result<()>,
    ) -> Result<()> {
        let mut batch = self.batch();
        batch.encode(|_, encoder| encode(encoder))?;
        batch.run()
    }

    /// [`Ops::matmul`](crate::ops::Ops::matmul), at once, or the same product through Metal Performance Shaders
    /// ([`Choice`](crate::Choice)).
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn matmul_with<'a>(
        &self,
        options: Matmul<'a>,
        a: impl Into<Tensor<'a>>,
        b: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let mut batch = self.batch();
        batch.matmul(options, a, b, y)?;
        batch.run()
    }

    /// `y = A B` for row-major matrices at the beginning of buffers of `f32`, at once: A is `[m, k]`, B `[k, n]` and y `[m, n]`.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn matmul(
        &self,
        a: &Buffer,
        b: &Buffer,
        y: &Buffer,
        m: usize,
        n: usize,
        k: usize,
    ) -> Result<()> {
        self.matmul_with(
            Matmul::default(),
            Tensor::of::<f32>(a, &[m, k])?,
            Tensor::of::<f32>(b, &[k, n])?,
            Tensor::of::<f32>(y, &[m, n])?,
        )
    }

    /// `y = A B` for row-major matrices of floats at addresses inside of
    /// [`MetalBackend::allocate`](crate::MetalBackend::allocate)d memory, at once: A is `[m, k]`, B `[k, n]` and y `[m, n]`.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`]; [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an address that is not memory of the
    /// backend, [`Error::OutOfRange`](crate::Error::OutOfRange) if its allocation ends earlier,
    /// [`Error::Unsupported`](crate::Error::Unsupported) for integers.
    pub fn matmul_ptr<T: Element>(
        &self,
        a: *const T,
        b: *const T,
        y: *mut T,
        m: usize,
        n: usize,
        k: usize,
    ) -> Result<()> {
        const FUNCTION: &str = "MetalOps::matmul_ptr";
        let allocations = &self.backend().allocations;
        self.matmul_with(
            Matmul::default(),
            &allocations.tensor(FUNCTION, "a", a, &[m, k])?,
            &allocations.tensor(FUNCTION, "b", b, &[k, n])?,
            &allocations.tensor(FUNCTION, "y", y.cast_const(), &[m, n])?,
        )
    }

    fn on_addresses<T: Element>(
        &self,
        function: &'static str,
        operation: Binary,
        [a, b]: [*const T; 2],
        y: *mut T,
        count: usize,
    ) -> Result<()> {
        let allocations = &self.backend().allocations;
        let shape = [count];
        self.binary(
            operation,
            &allocations.tensor(function, "a", a, &shape)?,
            &allocations.tensor(function, "b", b, &shape)?,
            &allocations.tensor(function, "y", y.cast_const(), &shape)?,
        )
    }
}

/// The calls of each function of two operands on plain buffers and on addresses.
macro_rules! named {
    ($($formula:literal $operation:ident: $on_buffers:ident, $on_addresses:ident;)*) => {
        impl MetalOps {
            $(
                #[doc = concat!("`", $formula, "` for the first `count` elements of buffers of `f32`, at once. `y` may be `a` or `b`.")]
                ///
                /// # Errors
                ///
                /// See [`MetalOps`].
                pub fn $on_buffers(&self, a: &Buffer, b: &Buffer, y: &Buffer, count: usize) -> Result<()> {
                    let shape = [count];
                    self.binary(
                        Binary::$operation,
                        Tensor::of::<f32>(a, &shape)?,
                        Tensor::of::<f32>(b, &shape)?,
                        Tensor::of::<f32>(y, &shape)?,
                    )
                }

                #[doc = concat!("`", $formula, "` for `count` elements at addresses inside of [`MetalBackend::allocate`](crate::MetalBackend::allocate)d memory, at once. `y` may be `a` or `b`.")]
                ///
                /// # Errors
                ///
                /// See [`MetalOps`]; [`Error::InvalidArgument`](crate::Error::InvalidArgument) for an address that is not
                /// memory of the backend, [`Error::OutOfRange`](crate::Error::OutOfRange) if its allocation ends earlier.
                pub fn $on_addresses<T: Element>(
                    &self,
                    a: *const T,
                    b: *const T,
                    y: *mut T,
                    count: usize,
                ) -> Result<()> {
                    let function = concat!("MetalOps::", stringify!($on_addresses));
                    self.on_addresses(function, Binary::$operation, [a, b], y, count)
                }
            )*
        }
    };
}

named! {
    "y = a + b" Add: add, add_ptr;
    "y = a - b" Sub: sub, sub_ptr;
    "y = a * b" Mul: mul, mul_ptr;
    "y = a / b" Div: div, div_ptr;
    "y = min(a, b)" Min: min, min_ptr;
    "y = max(a, b)" Max: max, max_ptr;
    "y = a ^ b" Pow: pow, pow_ptr;
    "y = a mod b" Mod: modulo, modulo_ptr;
}
