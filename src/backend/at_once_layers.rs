//! Norms, convolutions, poolings and attention of [`MetalOps`] on tensors.

use crate::backend::slices::MetalOps;
use crate::error::Result;
use crate::ops::{
    Attention, Convolution, Interpolation, Norm, Pooling, RunningStatistics, Tensor, Windows,
};

impl MetalOps {
    /// [`Ops::layer_norm`](crate::ops::Ops::layer_norm), at once.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn layer_norm<'a>(
        &self,
        x: impl Into<Tensor<'a>>,
        axes: &[usize],
        norm: &Norm<'a>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        self.at_once(|encoder| self.backend().ops().layer_norm(encoder, x, axes, norm, y))
    }

    /// [`Ops::rms_norm_along`](crate::ops::Ops::rms_norm_along), at once.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn rms_norm_along<'a>(
        &self,
        x: impl Into<Tensor<'a>>,
        axes: &[usize],
        norm: &Norm<'a>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        self.at_once(|encoder| {
            self.backend()
                .ops()
                .rms_norm_along(encoder, x, axes, norm, y)
        })
    }

    /// [`Ops::group_norm`](crate::ops::Ops::group_norm), at once.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn group_norm<'a>(
        &self,
        x: impl Into<Tensor<'a>>,
        groups: usize,
        norm: &Norm<'a>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        self.at_once(|encoder| self.backend().ops().group_norm(encoder, x, groups, norm, y))
    }

    /// [`Ops::batch_norm`](crate::ops::Ops::batch_norm), at once.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn batch_norm<'a>(
        &self,
        x: impl Into<Tensor<'a>>,
        mean: impl Into<Tensor<'a>>,
        variance: impl Into<Tensor<'a>>,
        norm: &Norm<'a>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let ops = self.backend().ops();
        self.at_once(|encoder| ops.batch_norm(encoder, x, mean, variance, norm, y))
    }

    /// [`Ops::batch_norm_training`](crate::ops::Ops::batch_norm_training), at once.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn batch_norm_training<'a>(
        &self,
        x: impl Into<Tensor<'a>>,
        running: Option<RunningStatistics<'a>>,
        norm: &Norm<'a>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let ops = self.backend().ops();
        self.at_once(|encoder| ops.batch_norm_training(encoder, x, running, norm, y))
    }

    /// [`Ops::convolution`](crate::ops::Ops::convolution), at once.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn convolution<'a, const D: usize>(
        &self,
        x: impl Into<Tensor<'a>>,
        weight: impl Into<Tensor<'a>>,
        bias: Option<Tensor<'a>>,
        convolution: &Convolution<D>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let ops = self.backend().ops();
        self.at_once(|encoder| ops.convolution(encoder, x, weight, bias, convolution, y))
    }

    /// [`Ops::transposed_convolution`](crate::ops::Ops::transposed_convolution), at once.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn transposed_convolution<'a, const D: usize>(
        &self,
        x: impl Into<Tensor<'a>>,
        weight: impl Into<Tensor<'a>>,
        bias: Option<Tensor<'a>>,
        convolution: &Convolution<D>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let ops = self.backend().ops();
        self.at_once(|encoder| ops.transposed_convolution(encoder, x, weight, bias, convolution, y))
    }

    /// [`Ops::pool`](crate::ops::Ops::pool), at once.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn pool<'a, const D: usize>(
        &self,
        pooling: Pooling,
        x: impl Into<Tensor<'a>>,
        windows: &Windows<D>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        self.at_once(|encoder| self.backend().ops().pool(encoder, pooling, x, windows, y))
    }

    /// [`Ops::adaptive_pool`](crate::ops::Ops::adaptive_pool), at once.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn adaptive_pool<'a>(
        &self,
        pooling: Pooling,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        self.at_once(|encoder| self.backend().ops().adaptive_pool(encoder, pooling, x, y))
    }

    /// [`Ops::resample`](crate::ops::Ops::resample), at once.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn resample<'a>(
        &self,
        interpolation: Interpolation,
        x: impl Into<Tensor<'a>>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        self.at_once(|encoder| self.backend().ops().resample(encoder, interpolation, x, y))
    }

    /// [`Ops::scaled_dot_product_attention`](crate::ops::Ops::scaled_dot_product_attention), at once.
    ///
    /// # Errors
    ///
    /// See [`MetalOps`].
    pub fn scaled_dot_product_attention<'a>(
        &self,
        q: impl Into<Tensor<'a>>,
        k: impl Into<Tensor<'a>>,
        v: impl Into<Tensor<'a>>,
        attention: &Attention<'a>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let ops = self.backend().ops();
        self.at_once(|encoder| ops.scaled_dot_product_attention(encoder, q, k, v, attention, y))
    }
}
