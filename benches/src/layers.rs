//! The convolutions of ResNet-50 (He et al. 2015, arXiv:1512.03385), its strides where later implementations have them: in the
//! convolutions of 3 x 3.

use std::fmt;

/// A convolution of one image, without its bias.
#[derive(Debug, Clone, Copy)]
pub struct Layer {
    pub inputs: usize,
    pub outputs: usize,
    /// Height and width of the source.
    pub size: usize,
    pub window: usize,
    pub stride: usize,
}

const fn layer(inputs: usize, outputs: usize, size: usize, window: usize, stride: usize) -> Layer {
    Layer {
        inputs,
        outputs,
        size,
        window,
        stride,
    }
}

/// Each of them once.
pub const RESNET_50: [Layer; 23] = [
    layer(3, 64, 224, 7, 2),
    layer(64, 64, 56, 1, 1),
    layer(64, 64, 56, 3, 1),
    layer(64, 256, 56, 1, 1),
    layer(256, 64, 56, 1, 1),
    layer(256, 128, 56, 1, 1),
    layer(128, 128, 56, 3, 2),
    layer(128, 128, 28, 3, 1),
    layer(128, 512, 28, 1, 1),
    layer(512, 128, 28, 1, 1),
    layer(256, 512, 56, 1, 2),
    layer(512, 256, 28, 1, 1),
    layer(256, 256, 28, 3, 2),
    layer(256, 256, 14, 3, 1),
    layer(256, 1024, 14, 1, 1),
    layer(1024, 256, 14, 1, 1),
    layer(512, 1024, 28, 1, 2),
    layer(1024, 512, 14, 1, 1),
    layer(512, 512, 14, 3, 2),
    layer(512, 512, 7, 3, 1),
    layer(512, 2048, 7, 1, 1),
    layer(2048, 512, 7, 1, 1),
    layer(1024, 2048, 14, 1, 2),
];

impl Layer {
    pub fn source(&self) -> [usize; 4] {
        [1, self.inputs, self.size, self.size]
    }

    pub fn weights(&self) -> [usize; 4] {
        [self.outputs, self.inputs, self.window, self.window]
    }

    pub fn result(&self) -> [usize; 4] {
        let size = self.size.div_ceil(self.stride);
        [1, self.outputs, size, size]
    }

    /// Rows and columns of zeros around the source.
    pub fn padding(&self) -> usize {
        self.window / 2
    }

    /// Floating-point operations, those on the zeros too.
    pub fn flops(&self) -> f64 {
        let results: usize = self.result().iter().product();
        2.0 * (results * self.inputs * self.window * self.window) as f64
    }
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Layer {
            inputs,
            outputs,
            size,
            window,
            stride,
        } = self;
        write!(
            f,
            "{window} x {window}, {inputs} to {outputs}, {size} x {size}"
        )?;
        match stride {
            1 => Ok(()),
            stride => write!(f, ", stride {stride}"),
        }
    }
}
