//! Kernels that cannot be made: what each bad size, scale and type gives.

use metal_bridge::Error;
use metal_bridge::mps::*;
use metal_bridge_test_support::{assert_error, device};

fn invalid(error: &Error) -> bool {
    matches!(error, Error::InvalidArgument(_))
}

fn out_of_range(error: &Error) -> bool {
    matches!(error, Error::OutOfRange(_))
}

const LARGE: usize = 1 << 31;

#[test]
fn products_of_wrong_sizes_are_refused() {
    let refuse = |change: &dyn Fn(&mut MatrixMultiplicationDescriptor), is, says| {
        let mut descriptor = MatrixMultiplicationDescriptor {
            transpose_left: false,
            transpose_right: false,
            result_rows: 2,
            result_columns: 2,
            interior_columns: 2,
            alpha: 1.0,
            beta: 0.0,
        };
        change(&mut descriptor);
        let made = MatrixMultiplication::with_descriptor(device(), &descriptor);
        assert_error(made, is, says);
    };
    refuse(&|d| d.result_rows = 0, invalid, "the result's rows is zero");
    refuse(&|d| d.result_columns = 0, invalid, "columns is zero");
    refuse(&|d| d.interior_columns = 0, invalid, "columns is zero");
    refuse(
        &|d| d.result_rows = LARGE,
        out_of_range,
        "the most is 2147483647",
    );
    refuse(
        &|d| d.interior_columns = LARGE / 2,
        out_of_range,
        "left matrix",
    );
    refuse(&|d| d.alpha = f64::NAN, invalid, "finite");
    refuse(&|d| d.beta = f64::INFINITY, invalid, "finite");

    let vectors = MatrixVectorMultiplication::new;
    assert_error(vectors(device(), 0, 1), invalid, "rows is zero");
    assert_error(vectors(device(), 1, 0), invalid, "columns is zero");
    assert_error(vectors(device(), 1 << 16, 1 << 15), out_of_range, "matrix");
    assert_error(MatrixFindTopK::new(device(), 0), invalid, "values is zero");
    let seventeen = MatrixFindTopK::new(device(), MAX_TOP_K + 1);
    assert_error(seventeen, out_of_range, "17: the most is 16");
    let descriptor = NdArrayMatrixMultiplicationDescriptor {
        beta: Some(f64::NAN),
        ..Default::default()
    };
    let made = NdArrayMatrixMultiplication::new(device(), &descriptor);
    assert_error(made, invalid, "finite");
}

#[test]
fn convolutions_of_wrong_sizes_are_refused() {
    let refuse = |change: &dyn Fn(&mut Convolution2dDescriptor), is, says| {
        let mut descriptor = Convolution2dDescriptor::new(DataType::Float32, 4, 6, [8, 8], [3, 3]);
        change(&mut descriptor);
        assert_error(Convolution2d::new(device(), &descriptor), is, says);
    };
    refuse(&|d| d.data_type = DataType::UInt32, invalid, "type 33");
    refuse(&|d| d.batch = 0, invalid, "pictures is zero");
    refuse(&|d| d.input_channels = 0, invalid, "input channels is zero");
    refuse(
        &|d| d.output_channels = 0,
        invalid,
        "output channels is zero",
    );
    refuse(
        &|d| d.input_size[0] = 0,
        invalid,
        "the input's rows is zero",
    );
    refuse(
        &|d| d.input_size[1] = 0,
        invalid,
        "the input's columns is zero",
    );
    refuse(
        &|d| d.kernel_size[0] = 0,
        invalid,
        "the kernel's rows is zero",
    );
    refuse(
        &|d| d.kernel_size[1] = 0,
        invalid,
        "the kernel's columns is zero",
    );
    refuse(&|d| d.stride[0] = 0, invalid, "stride in rows is zero");
    refuse(&|d| d.stride[1] = 0, invalid, "stride in columns is zero");
    refuse(&|d| d.dilation[0] = 0, invalid, "dilation in rows is zero");
    refuse(
        &|d| d.dilation[1] = 0,
        invalid,
        "dilation in columns is zero",
    );
    refuse(&|d| d.groups = 0, invalid, "groups is zero");
    let says = "4 groups do not divide 4 input channels and 6 output channels";
    refuse(&|d| d.groups = 4, invalid, says);
    let says = "larger than the padded input of 8 x 8";
    refuse(&|d| d.kernel_size[0] = 9, invalid, says);
    refuse(&|d| d.dilation[1] = 4, invalid, "dilated by 1 x 4");
    refuse(&|d| d.padding_before[0] = LARGE, out_of_range, "above");
    refuse(
        &|d| d.padding_before[1] = LARGE,
        out_of_range,
        "to the left",
    );
    refuse(&|d| d.padding_after[0] = LARGE, out_of_range, "below");
    refuse(
        &|d| d.padding_after[1] = LARGE,
        out_of_range,
        "to the right",
    );
    refuse(
        &|d| d.batch = LARGE / 64,
        out_of_range,
        "the input has more",
    );
    refuse(
        &|d| d.padding_after = [1 << 16; 2],
        out_of_range,
        "the result",
    );
}

#[test]
fn normalizations_of_wrong_sizes_are_refused() {
    let refuse = |change: &dyn Fn(&mut BatchNormalizationDescriptor), is, says| {
        let mut descriptor = BatchNormalizationDescriptor {
            data_type: DataType::Float32,
            layout: Layout::Nchw,
            batch: 1,
            channels: 2,
            size: [2, 2],
            epsilon: 0.0,
            has_gamma: false,
            has_beta: false,
        };
        change(&mut descriptor);
        assert_error(BatchNormalization::new(device(), &descriptor), is, says);
    };
    refuse(&|d| d.data_type = DataType::UInt32, invalid, "type 33");
    refuse(&|d| d.batch = 0, invalid, "pictures is zero");
    refuse(&|d| d.channels = 0, invalid, "channels is zero");
    refuse(&|d| d.size[0] = 0, invalid, "rows is zero");
    refuse(&|d| d.size[1] = 0, invalid, "columns is zero");
    refuse(&|d| d.epsilon = -1.0, invalid, "epsilon is -1");
    refuse(&|d| d.epsilon = f64::NAN, invalid, "epsilon is");
    refuse(&|d| d.channels = LARGE / 2, out_of_range, "the input has");
}

#[test]
fn attentions_of_wrong_sizes_are_refused() {
    let refuse = |change: &dyn Fn(&mut ScaledDotProductAttentionDescriptor), is, says| {
        let mut descriptor = ScaledDotProductAttentionDescriptor {
            data_type: DataType::Float32,
            batch: 2,
            query_heads: 4,
            key_heads: 2,
            queries: 1,
            keys: 1,
            head_size: 1,
            value_size: 1,
            scale: 1.0,
            mask: None,
        };
        change(&mut descriptor);
        let made = ScaledDotProductAttention::new(device(), &descriptor);
        assert_error(made, is, says);
    };
    refuse(&|d| d.data_type = DataType::UInt32, invalid, "type 33");
    refuse(&|d| d.batch = 0, invalid, "sequences is zero");
    refuse(&|d| d.query_heads = 0, invalid, "heads of queries is zero");
    refuse(&|d| d.key_heads = 0, invalid, "heads of keys is zero");
    refuse(&|d| d.queries = 0, invalid, "queries is zero");
    refuse(&|d| d.keys = 0, invalid, "keys is zero");
    refuse(&|d| d.head_size = 0, invalid, "key is zero");
    refuse(&|d| d.value_size = 0, invalid, "value is zero");
    let says = "3 heads of keys do not divide 4 heads of queries";
    refuse(&|d| d.key_heads = 3, invalid, says);
    refuse(&|d| d.scale = f64::INFINITY, invalid, "the scale is");
    refuse(&|d| d.mask = Some([3, 1]), invalid, "batch is 3");
    refuse(&|d| d.mask = Some([1, 2]), invalid, "number of heads is 2");
    refuse(&|d| d.mask = Some([0, 1]), invalid, "batch is 0");
    let says = "product of query and key";
    refuse(
        &|d| (d.queries, d.keys) = (64, LARGE / 256),
        out_of_range,
        says,
    );
    refuse(&|d| d.head_size = LARGE / 4, out_of_range, "query");
}
