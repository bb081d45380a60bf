//! [`ProductKernels`]: which kernels make products with weights.

/// Which kernels make the products of [`Ops::linear`](crate::ops::Ops::linear) and its like:
/// [`Ops::with_product_kernels`](crate::ops::Ops::with_product_kernels) fixes it.
///
/// The kernels add up a row's terms in different orders, so that the same row may differ in its last bits from one kind to
/// the other. Within a kind, a row of `y` has the same bits whatever the other rows of `x` are, and however many they are: a
/// caller that must not see a difference between a row alone and the row in a batch fixes the kind. Kernels are compiled in
/// the safe math mode for this, so that no variant of one adds up in another order. The tests compare the bits on the
/// software Metal; nothing has compared them on a GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum ProductKernels {
    /// The faster ones for the number of rows: `Vector` for few rows, `Matrix` for more.
    #[default]
    ByRows,
    /// The kernels for few rows (`matvec_*`, `matvec_blocks_*`) for any number of rows.
    Vector,
    /// The kernels for many rows (`matmul_*`) for any number of rows. On a device without simdgroup matrices this is
    /// `Vector`, and so are the products of [`Ops::linear_chosen`](crate::ops::Ops::linear_chosen) everywhere.
    Matrix,
}
