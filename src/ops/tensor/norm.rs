//! Layer norm, group norm, batch norm and RMS norm of tensors.

use crate::error::{Error, Failure, Result};
use crate::metal::compute::ComputeEncoder;
use crate::ops::Ops;
use crate::ops::tensor::data_type::DataType;
use crate::ops::tensor::layout::MAX_RANK;
use crate::ops::tensor::normalized::{Form, Normalized, Statistics};
use crate::ops::tensor::reduction::require_axes;
use crate::ops::tensor::view::Tensor;
use crate::ops::tensor::walk::{require_float, require_type};

/// What norms have besides their input: the default is `epsilon` of 1e-5 and nothing else.
#[derive(Debug, Clone, Copy)]
pub struct Norm<'a> {
    /// What normalized elements are multiplied by.
    pub weight: Option<Tensor<'a>>,
    /// What is added to them then. It has the type of `weight`.
    pub bias: Option<Tensor<'a>>,
    /// Added to the variance: finite and not negative.
    pub epsilon: f32,
}

impl Default for Norm<'_> {
    fn default() -> Self {
        Norm {
            weight: None,
            bias: None,
            epsilon: 1e-5,
        }
    }
}

/// The statistics that [`Ops::batch_norm_training`] updates: each becomes `(1 - momentum) old + momentum new`.
#[derive(Debug, Clone, Copy)]
pub struct RunningStatistics<'a> {
    /// The mean of each channel, `[c]` of `f32`.
    pub mean: Tensor<'a>,
    /// The variance of each channel, `[c]` of `f32`. The new one is unbiased: divided by the number of elements minus 1.
    pub variance: Tensor<'a>,
    /// From 0 to 1; 0.1 as a rule.
    pub momentum: f32,
}

impl Ops {
    /// `y = (x - mean(x)) / sqrt(var(x) + epsilon) * weight + bias`, mean and variance along `axes` (Ba et al. 2016,
    /// arXiv:1607.06450; there the last ones): `x` and `y` have one shape and one type, which is a float; `weight` and `bias`
    /// broadcast to that shape, and have that type or `f32`. All is computed as `f32` and rounded once. The mean has twice the
    /// digits of `f32`, so that no large mean spoils the variance: with `u = 2^-24`, an element is wrong by at most
    /// `16 u |y - bias| + 2 u |y|` before that, and by some `u^2 |mean|` in the scale of `x`. NaN or infinity in a row makes the
    /// row NaN. The bounds hold if no sum and no square of a difference leaves the range of `f32`, at either end. `y` may be `x`.
    /// Kernel `normalize` of that type.
    ///
    /// # Errors
    ///
    /// [`Error::Unsupported`] for integers; [`Error::InvalidArgument`] for an axis that `x` does not have or that is named
    /// twice, if types or shapes do not fit, for an epsilon that is negative or not finite, if the tensors overlap otherwise
    /// than by `y` being `x`, or if positions of `y` share an element; [`Error::OutOfRange`] if elements are not inside their
    /// buffer, or for 2^32 rows or more; [`Error::Misaligned`] if they do not begin at a multiple of their size.
    pub fn layer_norm<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        axes: &[usize],
        norm: &Norm<'a>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let tensors = (x.into(), axes, y.into());
        self.norm_along("Ops::layer_norm", encoder, Form::Centred, norm, tensors)
    }

    /// `y = x / sqrt(mean(x^2) + epsilon) * weight + bias`, the mean along `axes` (Zhang and Sennrich 2019, arXiv:1910.07467):
    /// otherwise as [`Ops::layer_norm`]. For matrices of `f32` that lie without gaps there is [`Ops::rms_norm`]. A square beyond
    /// the range of `f32` makes its row 0, and one below it counts as 0. NaN makes its row NaN; infinity gives NaN at its
    /// position, and 0 at the others of its row. Kernel `normalize`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::layer_norm`].
    pub fn rms_norm_along<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        axes: &[usize],
        norm: &Norm<'a>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let tensors = (x.into(), axes, y.into());
        self.norm_along("Ops::rms_norm_along", encoder, Form::Rms, norm, tensors)
    }

    /// [`Ops::layer_norm`] of each group of channels (Wu and He 2018, arXiv:1803.08494): `x` and `y` are `[n, c, ...]`, the `c`
    /// channels are `groups` of neighbours, and `weight` and `bias` are `[c]`. What lies with channels last is
    /// [permuted](Tensor::permute) to this order. Kernel `normalize`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::layer_norm`]; [`Error::InvalidArgument`] also if `groups` does not divide the channels, or if `x` has
    /// fewer than 2 dimensions or 8.
    pub fn group_norm<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        groups: usize,
        norm: &Norm<'a>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::group_norm";
        let (x, y) = (x.into(), y.into());
        let channels = channels_of(FUNCTION, &x)?;
        if x.rank() == MAX_RANK || groups == 0 || channels % groups != 0 {
            let message = format!(
                "x of shape {:?} has {channels} channels, and there are {groups} groups: they must divide the channels, and x \
                 must have fewer than {MAX_RANK} dimensions",
                x.shape()
            );
            return Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
        }
        require_shape(FUNCTION, &x, &y)?;
        let split = |tensor: Tensor<'a>| {
            let (mut shape, mut strides) = (tensor.shape().to_vec(), tensor.strides().to_vec());
            let size = channels / groups;
            shape.splice(1..2, [groups, size]);
            strides.splice(1..2, [strides[1].saturating_mul(size), strides[1]]);
            Tensor::strided(tensor.view(), tensor.data_type(), &shape, &strides)
        };
        let scale = |name, tensor: Option<Tensor<'a>>| match tensor {
            Some(tensor) => split(along_channels(FUNCTION, name, tensor, &x)?).map(Some),
            None => Ok(None),
        };
        let norm = Norm {
            weight: scale("weight", norm.weight)?,
            bias: scale("bias", norm.bias)?,
            ..*norm
        };
        let axes: Vec<usize> = (2..=x.rank()).collect();
        let tensors = (split(x)?, &axes[..], split(y)?);
        self.norm_along(FUNCTION, encoder, Form::Centred, &norm, tensors)
    }

    /// `y = (x - mean) / sqrt(variance + epsilon) * weight + bias` with a mean and a variance for each channel (Ioffe and
    /// Szegedy 2015, arXiv:1502.03167; this is inference): `x` and `y` are `[n, c, ...]`, and the others `[c]`, `mean` and
    /// `variance` of type `f32`. An element is wrong by at most `5 u |y - bias| + 2 u |y|` before it is rounded to its type; a
    /// variance below `-epsilon` gives NaN. Otherwise as [`Ops::group_norm`]. Kernel `normalize`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::layer_norm`]; [`Error::InvalidArgument`] also if `x` has fewer than 2 dimensions.
    pub fn batch_norm<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        mean: impl Into<Tensor<'a>>,
        variance: impl Into<Tensor<'a>>,
        norm: &Norm<'a>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        let statistics = Statistics {
            mean: mean.into(),
            variance: variance.into(),
            momentum: 0.0,
        };
        self.norm_of_channels(
            "Ops::batch_norm",
            encoder,
            Some(statistics),
            norm,
            (Form::Given, x.into(), y.into()),
        )
    }

    /// [`Ops::batch_norm`] with the mean and the variance that each channel of `x` has over all other dimensions, computed as
    /// those of [`Ops::layer_norm`]; updates the running statistics, if there are any. The variance that divides is not the
    /// unbiased one. Kernel `normalize`.
    ///
    /// # Errors
    ///
    /// Those of [`Ops::batch_norm`]; [`Error::InvalidArgument`] also for a momentum that is not from 0 to 1, if positions of the
    /// running statistics share an element, or if a channel of less than 2 elements would give the running variance.
    pub fn batch_norm_training<'a>(
        &self,
        encoder: &mut ComputeEncoder<'_>,
        x: impl Into<Tensor<'a>>,
        running: Option<RunningStatistics<'a>>,
        norm: &Norm<'a>,
        y: impl Into<Tensor<'a>>,
    ) -> Result<()> {
        const FUNCTION: &str = "Ops::batch_norm_training";
        let (x, y) = (x.into(), y.into());
        if let Some(running) = &running {
            let channels = channels_of(FUNCTION, &x)?;
            let refused = |message| Err(Error::InvalidArgument(Failure::new(FUNCTION, message)));
            if !(0.0..=1.0).contains(&running.momentum) {
                return refused(format!(
                    "the momentum is {}: it must be from 0 to 1",
                    running.momentum
                ));
            }
            if x.count() < channels.saturating_mul(2) {
                return refused(format!(
                    "x of shape {:?} must have at least 2 elements in each channel to update the running variance",
                    x.shape()
                ));
            }
            running.mean.require_own_elements(FUNCTION, "mean")?;
            running
                .variance
                .require_own_elements(FUNCTION, "variance")?;
        }
        let statistics = running.map(|running| Statistics {
            mean: running.mean,
            variance: running.variance,
            momentum: running.momentum,
        });
        self.norm_of_channels(FUNCTION, encoder, statistics, norm, (Form::Centred, x, y))
    }

    fn norm_of_channels<'a>(
        &self,
        function: &'static str,
        encoder: &mut ComputeEncoder<'_>,
        statistics: Option<Statistics<'a>>,
        norm: &Norm<'a>,
        (form, x, y): (Form, Tensor<'a>, Tensor<'a>),
    ) -> Result<()> {
        channels_of(function, &x)?;
        let of_channels = |name, tensor| along_channels(function, name, tensor, &x);
        let statistic = |name, tensor: Tensor<'a>| {
            require_type(function, name, &tensor, DataType::F32)?;
            of_channels(name, tensor)
        };
        let statistics = match statistics {
            Some(statistics) => Some(Statistics {
                mean: statistic("mean", statistics.mean)?,
                variance: statistic("variance", statistics.variance)?,
                ..statistics
            }),
            None => None,
        };
        let norm = Norm {
            weight: norm
                .weight
                .map(|weight| of_channels("weight", weight))
                .transpose()?,
            bias: norm
                .bias
                .map(|bias| of_channels("bias", bias))
                .transpose()?,
            ..*norm
        };
        // With given statistics rows may be any: those along which x lies most densely.
        let has_channels_last = x.shape()[1] > 1 && x.strides()[1] == 1;
        let axes: Vec<usize> = match form {
            Form::Given if has_channels_last => vec![1],
            Form::Given => (2..x.rank()).collect(),
            _ => (0..x.rank()).filter(|axis| *axis != 1).collect(),
        };
        self.encode_norm(function, encoder, form, &norm, (x, &axes, y), statistics)
    }

    fn norm_along(
        &self,
        function: &'static str,
        encoder: &mut ComputeEncoder<'_>,
        form: Form,
        norm: &Norm<'_>,
        tensors: (Tensor<'_>, &[usize], Tensor<'_>),
    ) -> Result<()> {
        self.encode_norm(function, encoder, form, norm, tensors, None)
    }

    fn encode_norm(
        &self,
        function: &'static str,
        encoder: &mut ComputeEncoder<'_>,
        form: Form,
        norm: &Norm<'_>,
        (x, axes, y): (Tensor<'_>, &[usize], Tensor<'_>),
        statistics: Option<Statistics<'_>>,
    ) -> Result<()> {
        require_type(function, "y", &y, x.data_type())?;
        require_float(function, "x", &x)?;
        require_axes(function, &x, axes)?;
        require_shape(function, &x, &y)?;
        if !(norm.epsilon >= 0.0 && norm.epsilon.is_finite()) {
            let message = format!(
                "epsilon is {}: it must be finite and not negative",
                norm.epsilon
            );
            return Err(Error::InvalidArgument(Failure::new(function, message)));
        }
        if let (Some(weight), Some(bias)) = (&norm.weight, &norm.bias) {
            require_type(function, "bias", bias, weight.data_type())?;
        }
        Normalized {
            function,
            form,
            x,
            y,
            axes,
            epsilon: norm.epsilon,
            weight: norm.weight,
            bias: norm.bias,
            statistics,
        }
        .encode(self, encoder)
    }
}

/// The size of the second dimension; an error if there is none.
fn channels_of(function: &'static str, x: &Tensor<'_>) -> Result<usize> {
    match x.shape().get(1) {
        Some(channels) => Ok(*channels),
        None => {
            let message = format!("x of shape {:?} does not have channels", x.shape());
            Err(Error::InvalidArgument(Failure::new(function, message)))
        }
    }
}

/// `tensor`, which has one element for each channel, in the shape of `x`.
fn along_channels<'a>(
    function: &'static str,
    name: &str,
    tensor: Tensor<'a>,
    x: &Tensor<'_>,
) -> Result<Tensor<'a>> {
    if tensor.shape() != &x.shape()[1..2] {
        let message = format!(
            "{name} has the shape {:?}, but x of shape {:?} needs [{}], an element for each channel",
            tensor.shape(),
            x.shape(),
            x.shape()[1]
        );
        return Err(Error::InvalidArgument(Failure::new(function, message)));
    }
    let mut strides = vec![0; x.rank()];
    strides[1] = tensor.strides()[0];
    Tensor::strided(tensor.view(), tensor.data_type(), x.shape(), &strides)
}

/// An error unless `y` has the shape of `x`.
fn require_shape(function: &'static str, x: &Tensor<'_>, y: &Tensor<'_>) -> Result<()> {
    if x.shape() == y.shape() {
        return Ok(());
    }
    let message = format!(
        "y has the shape {:?}, but must have x's shape {:?}",
        y.shape(),
        x.shape()
    );
    Err(Error::InvalidArgument(Failure::new(function, message)))
}
