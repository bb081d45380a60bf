//! The mirror of `native/include/metal_bridge_mps.h`.

use super::*;

pub const MTB_MPS_MAX_RANK: u32 = 4;
pub const MTB_MPS_MAX_TOP_K: u32 = 16;

opaque! {
    mtb_mps_kernel
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_mps_array {
    pub buffer: *mut mtb_buffer,
    pub offset: usize,
    pub data_type: mtb_data_type,
    pub rank: usize,
    pub shape: [usize; 4],
    pub strides: [usize; 4],
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_mps_matrix_multiplication {
    pub transpose_left: bool,
    pub transpose_right: bool,
    pub result_rows: usize,
    pub result_columns: usize,
    pub interior_columns: usize,
    pub alpha: f64,
    pub beta: f64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_mps_matrix_vector_multiplication {
    pub transpose: bool,
    pub rows: usize,
    pub columns: usize,
    pub alpha: f64,
    pub beta: f64,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_mps_array_multiplication {
    pub transpose_left: bool,
    pub transpose_right: bool,
    pub has_addend: bool,
    pub alpha: f64,
    pub beta: f64,
}

pub type mtb_mps_layout = u32;
pub const MTB_MPS_NCHW: mtb_mps_layout = 0;
pub const MTB_MPS_NHWC: mtb_mps_layout = 1;

pub type mtb_mps_weights_layout = u32;
pub const MTB_MPS_OIHW: mtb_mps_weights_layout = 0;
pub const MTB_MPS_HWIO: mtb_mps_weights_layout = 1;

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_mps_convolution_2d {
    pub data_type: mtb_data_type,
    pub layout: mtb_mps_layout,
    pub weights_layout: mtb_mps_weights_layout,
    pub batch: usize,
    pub input_channels: usize,
    pub output_channels: usize,
    pub input_height: usize,
    pub input_width: usize,
    pub kernel_height: usize,
    pub kernel_width: usize,
    pub stride_y: usize,
    pub stride_x: usize,
    pub dilation_y: usize,
    pub dilation_x: usize,
    pub padding_top: usize,
    pub padding_bottom: usize,
    pub padding_left: usize,
    pub padding_right: usize,
    pub groups: usize,
    pub has_bias: bool,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_mps_batch_normalization {
    pub data_type: mtb_data_type,
    pub layout: mtb_mps_layout,
    pub batch: usize,
    pub channels: usize,
    pub height: usize,
    pub width: usize,
    pub epsilon: f64,
    pub has_gamma: bool,
    pub has_beta: bool,
}

#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct mtb_mps_attention {
    pub data_type: mtb_data_type,
    pub batch: usize,
    pub query_heads: usize,
    pub key_heads: usize,
    pub queries: usize,
    pub keys: usize,
    pub head_size: usize,
    pub value_size: usize,
    pub mask_batch: usize,
    pub mask_heads: usize,
    pub scale: f64,
}

abi! {
    pub fn mtb_mps_supports_device(device: *const mtb_device) -> bool;

    pub fn mtb_mps_kernel_retain(kernel: *mut mtb_mps_kernel) -> *mut mtb_mps_kernel;
    pub fn mtb_mps_kernel_release(kernel: *mut mtb_mps_kernel);
    pub fn mtb_mps_kernel_encode(
        kernel: *mut mtb_mps_kernel,
        command_buffer: *mut mtb_command_buffer,
        operands: *const mtb_mps_array,
        count: usize,
        error: *mut *mut mtb_error,
    ) -> mtb_status;

    pub fn mtb_mps_matrix_multiplication_create(
        device: *mut mtb_device,
        descriptor: *const mtb_mps_matrix_multiplication,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_mps_kernel;
    pub fn mtb_mps_matrix_vector_multiplication_create(
        device: *mut mtb_device,
        descriptor: *const mtb_mps_matrix_vector_multiplication,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_mps_kernel;
    pub fn mtb_mps_matrix_softmax_create(
        device: *mut mtb_device,
        is_logarithm: bool,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_mps_kernel;
    pub fn mtb_mps_matrix_find_top_k_create(
        device: *mut mtb_device,
        count: usize,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_mps_kernel;

    pub fn mtb_mps_array_multiplication_create(
        device: *mut mtb_device,
        descriptor: *const mtb_mps_array_multiplication,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_mps_kernel;

    pub fn mtb_mps_convolution_2d_create(
        device: *mut mtb_device,
        descriptor: *const mtb_mps_convolution_2d,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_mps_kernel;
    pub fn mtb_mps_batch_normalization_create(
        device: *mut mtb_device,
        descriptor: *const mtb_mps_batch_normalization,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_mps_kernel;
    pub fn mtb_mps_attention_create(
        device: *mut mtb_device,
        descriptor: *const mtb_mps_attention,
        error: *mut *mut mtb_error,
    ) -> *mut mtb_mps_kernel;
}
